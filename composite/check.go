package composite

import (
	"fmt"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// What Check reads itself: the parser needs up to some kilobytes of stack for each byte, and reports each label that is
// nested in one of its name.
const (
	maxChecked = 32 << 10
	maxNesting = 1000
	maxColons  = 1000
)

// Check returns the syntax error of a body, without running it: the first one, since what the engine says after it is
// seldom true. At is where the body begins; a column of 0 is 1. It returns nil when there is none.
//
// Check runs in this process, in bounded memory. So it does not look at a body of more than 32 KiB, or with more than a thousand brackets
// open or a thousand colons: the syntax errors of those are found by [Run], in the child.
func Check(source string, at diagnostic.Pos) (problems diagnostic.Problems) {
	if len(source) > MaxSource {
		return diagnostic.Problems{{Pos: at, Message: fmt.Sprintf("the body has %d bytes, and may have %d", len(source), MaxSource)}}
	}
	if !ordinary(source) {
		return nil
	}
	report := func(where place, message string) {
		line, _ := strings.CutSuffix(lineOf(source, where.Line), "\r")
		problems = diagnostic.Problems{{Pos: where.pos(at.File, max(at.Line, 1)), Message: "JavaScript: " + message, Source: line}}
	}
	defer func() {
		if r := recover(); r != nil {
			report(place{1, 1}, "the engine cannot read it: "+firstLine(fmt.Sprint(r)))
		}
	}()
	tree, wrong := parse(source)
	if wrong == nil {
		_, wrong = compile(source, tree)
	}
	if wrong != nil {
		report(wrong.at, wrong.message)
	}
	return problems
}

// ordinary reports whether a body can be parsed in bounded memory. Strings and comments count as code.
func ordinary(source string) bool {
	if len(source) > maxChecked || strings.Count(source, ":") > maxColons {
		return false
	}
	open := 0
	for _, c := range []byte(source) {
		switch c {
		case '(', '[', '{':
			open++
		case ')', ']', '}':
			open = max(open-1, 0)
		}
		if open > maxNesting {
			return false
		}
	}
	return true
}

func lineOf(source string, line int) string {
	for range line - 1 {
		_, source, _ = strings.Cut(source, "\n")
	}
	source, _, _ = strings.Cut(source, "\n")
	return source
}
