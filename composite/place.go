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

// parse makes a tree of a body: a program whose value is the async function.
func parse(source string) (*ast.Program, *problem) {
	wrapped := before + source + after
	tree, err := parser.ParseFile(nil, sourceName, wrapped, 0, parser.WithDisableSourceMaps)
	if err != nil {
		var list parser.ErrorList
		if !errors.As(err, &list) || len(list) == 0 {
			return nil, &problem{place{1, 1}, decapitalise(err.Error())}
		}
		at, inside := placeIn(source, list[0].Position.Line, list[0].Position.Column)
		if !inside {
			if tree, err := parser.ParseFile(nil, sourceName, before+source+"\n)", 0, parser.WithDisableSourceMaps); err == nil {
				at, _ := closesEarly(tree, len(wrapped))
				return nil, closes(source, at)
			}
			return nil, &problem{at, "the body ends inside of something: a bracket, a string or a comment is not closed"}
		}
		return nil, &problem{at, decapitalise(list[0].Message)}
	}
	if at, ok := closesEarly(tree, len(wrapped)); ok {
		return nil, closes(source, at)
	}
	return tree, nil
}

func closes(source string, at int) *problem {
	return &problem{placeAt(source, at-len(before)), "unexpected token }: no { is open here"}
}

// compile makes code of a tree.
func compile(source string, tree *ast.Program) (*sobek.Program, *problem) {
	program, err := sobek.CompileAST(tree, false)
	var wrong *sobek.CompilerSyntaxError
	switch {
	case errors.As(err, &wrong):
		at := wrong.File.Position(wrong.Offset)
		where, _ := placeIn(source, at.Line, at.Column)
		return nil, &problem{where, decapitalise(wrong.Message)}
	case err != nil:
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
	first := statement.Expression
	for end == 0 {
		switch e := first.(type) {
		case *ast.FunctionLiteral:
			end = int(e.Idx1()) - 2
		case *ast.CallExpression:
			first = e.Callee
		case *ast.DotExpression:
			first = e.Left
		case *ast.BracketExpression:
			first = e.Left
		case *ast.SequenceExpression:
			first = e.Sequence[0]
		case *ast.BinaryExpression:
			first = e.Left
		case *ast.ConditionalExpression:
			first = e.Test
		default:
			end = len(before)
		}
	}
	return end, true
}

// placeIn turns a place of the engine, which counts the lines of the wrapped text as JavaScript does and columns in bytes,
// into one of the body, whose lines end with a line feed. What is not inside the body is at its end.
func placeIn(source string, line, column int) (at place, inside bool) {
	if line < 2 || column < 1 {
		return place{}, false
	}
	offset := 0
	for range line - 2 {
		next := lineEnd(source[offset:])
		if next < 0 {
			return placeAt(source, len(source)), false
		}
		offset += next
	}
	offset += column - 1
	return placeAt(source, offset), offset <= len(source)
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
			where, _ := placeIn(source, at.Line, at.Column)
			return where
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
	at, _ := placeIn(source, line, column)
	return at
}

// decapitalise makes a message of the engine one of ours, which begin with a small letter.
func decapitalise(message string) string {
	if message == "" {
		return "syntax error"
	}
	return strings.ToLower(message[:1]) + message[1:]
}
