package composite

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/parser"

	"github.com/firstgood/firstgood/diagnostic"
)

// sourceName is the name of the body in the engine's stacks.
const sourceName = "body"

// The body is wrapped in lines of its own, so that its columns stay.
const (
	before = "(async function () {\n"
	after  = "\n})"
)

// problem is what is wrong with the text of a body.
type problem struct {
	at      place
	message string
}

// compile makes a program of a body, whose value is the async function.
func compile(source string) (*sobek.Program, *problem) {
	wrapped := before + source + after
	tree, err := parser.ParseFile(nil, sourceName, wrapped, 0, parser.WithDisableSourceMaps)
	if err != nil {
		var list parser.ErrorList
		if errors.As(err, &list) && len(list) > 0 {
			return nil, &problem{placeIn(source, list[0].Position.Line, list[0].Position.Column), decapitalise(list[0].Message)}
		}
		return nil, &problem{place{1, 1}, decapitalise(err.Error())}
	}
	if at, ok := closesEarly(tree, len(wrapped)); ok {
		return nil, &problem{placeAt(source, at-len(before)), "unexpected token }: no { is open here"}
	}
	program, err := sobek.CompileAST(tree, false)
	if err != nil {
		var wrong *sobek.CompilerSyntaxError
		if errors.As(err, &wrong) {
			at := wrong.File.Position(wrong.Offset)
			return nil, &problem{placeIn(source, at.Line, at.Column), decapitalise(wrong.Message)}
		}
		return nil, &problem{place{1, 1}, decapitalise(err.Error())}
	}
	return program, nil
}

// closesEarly reports whether a } of the body closes the function around it, and where in the wrapped text.
func closesEarly(tree *ast.Program, length int) (offset int, ok bool) {
	if len(tree.Body) == 0 {
		return 0, false
	}
	statement, isExpression := tree.Body[0].(*ast.ExpressionStatement)
	if !isExpression {
		return 0, false
	}
	function, isFunction := statement.Expression.(*ast.FunctionLiteral)
	if isFunction && int(function.Idx1())-1 == length-1 && len(tree.Body) == 1 {
		return 0, false
	}
	// The leftmost of what the expression is made of is the function, and it ends where the body closed it.
	var end int
	ast1 := statement.Expression
	for end == 0 {
		switch e := ast1.(type) {
		case *ast.FunctionLiteral:
			end = int(e.Idx1()) - 2
		case *ast.CallExpression:
			ast1 = e.Callee
		case *ast.DotExpression:
			ast1 = e.Left
		case *ast.BracketExpression:
			ast1 = e.Left
		case *ast.SequenceExpression:
			ast1 = e.Sequence[0]
		case *ast.BinaryExpression:
			ast1 = e.Left
		case *ast.ConditionalExpression:
			ast1 = e.Test
		default:
			end = len(before)
		}
	}
	return end, true
}

// placeIn turns a place of the engine, which counts the lines of the wrapped text as JavaScript does and columns in bytes,
// into one of the body, whose lines end with a line feed.
func placeIn(source string, line, column int) place {
	if line < 2 || column < 1 {
		return place{}
	}
	offset := 0
	for range line - 2 {
		next := lineEnd(source[offset:])
		if next < 0 {
			return placeAt(source, len(source))
		}
		offset += next
	}
	return placeAt(source, offset+column-1)
}

// lineEnd returns where the next line of JavaScript begins, or -1.
func lineEnd(s string) int {
	for i, r := range s {
		switch r {
		case '\r':
			if strings.HasPrefix(s[i:], "\r\n") {
				return i + 2
			}
			return i + 1
		case '\n', '\u2028', '\u2029':
			return i + utf8.RuneLen(r)
		}
	}
	return -1
}

// placeAt is the place of an offset of the body. What lies behind the body is at its end.
func placeAt(source string, offset int) place {
	offset = min(max(offset, 0), len(source))
	begin := strings.LastIndexByte(source[:offset], '\n') + 1
	return place{strings.Count(source[:offset], "\n") + 1, utf8.RuneCountInString(source[begin:offset]) + 1}
}

// pos is a place of the body in its document.
func (p place) pos(file string, line int) diagnostic.Pos {
	return diagnostic.Pos{File: file, Line: line + max(p.Line, 1) - 1, Column: max(p.Column, 1)}
}

// placeOfFrames is the place of the body's innermost frame of a stack.
func placeOfFrames(source string, stack []sobek.StackFrame) place {
	for i := range stack {
		if stack[i].SrcName() == sourceName {
			at := stack[i].Position()
			return placeIn(source, at.Line, at.Column)
		}
	}
	return place{}
}

var frame = regexp.MustCompile(`(?m)^\tat (?:.*\()?` + sourceName + `:(\d+):(\d+)\(\d+\)\)?$`)

// placeOfStack is the same for the property stack of an Error.
func placeOfStack(source, stack string) place {
	found := frame.FindStringSubmatch(stack)
	if found == nil {
		return place{}
	}
	line, _ := strconv.Atoi(found[1])
	column, _ := strconv.Atoi(found[2])
	return placeIn(source, line, column)
}

// decapitalise makes a message of the engine one of ours, which begin with a small letter.
func decapitalise(message string) string {
	if message == "" {
		return "syntax error"
	}
	return strings.ToLower(message[:1]) + message[1:]
}
