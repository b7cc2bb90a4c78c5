package syntax

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/firstgood/firstgood/diagnostic"
)

// Limits of a script.
const (
	MaxNesting  = 200 // how deep blocks, and how deep values, may stand in each other; also how many operators join one value
	maxProblems = 50  // how many problems are told
)

const byteOrderMark = "\uFEFF"

// source is the text, with what is needed to say where something is in it, and what is wrong with it.
type source struct {
	text     string
	lines    []int // where each line begins
	at       Pos   // of the first character
	near     int   // an offset whose column is known
	column   int   // its column in the text, from 0
	nearLine int   // the index of its line
	problems diagnostic.Problems
	leftOver int  // how many are not told
	bad      bool // one of them is an error
}

// newSource takes a text apart into lines. What may stand nowhere in it is reported and becomes a space.
func newSource(text string, at Pos) *source {
	at.Line, at.Column = max(at.Line, 1), max(at.Column, 1)
	text = strings.TrimPrefix(text, byteOrderMark)
	if strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	text, strays := scrub(text)
	s := &source{text: text, at: at, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	for _, stray := range strays {
		if stray.char == utf8.RuneError {
			s.errorf(stray.off, "got a byte that is not UTF-8; save the file as UTF-8")
		} else {
			s.errorf(stray.off, "got the control character U+%04X; take it out", stray.char)
		}
	}
	return s
}

// stray is a control character, or, as [utf8.RuneError], a byte that is not UTF-8.
type stray struct {
	off  int
	char rune
}

// scrub puts a space in the place of each stray, so that none is shown.
func scrub(text string) (string, []stray) {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || r != '\n' && r != '\t' && unicode.IsControl(r) }) {
		return text, nil
	}
	var b strings.Builder
	var strays []stray
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && size == 1 || r != '\n' && r != '\t' && unicode.IsControl(r) {
			strays = append(strays, stray{b.Len(), r})
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String(), strays
}

// line is the line of that index, without its end.
func (s *source) line(i int) string {
	to := len(s.text)
	if i+1 < len(s.lines) {
		to = s.lines[i+1] - 1
	}
	return s.text[s.lines[i]:to]
}

// index is that of the line in which off stands.
func (s *source) index(off int) int { return sort.SearchInts(s.lines, off+1) - 1 }

// pos is where off stands. Columns are counted on from the place that was asked for last, so that a long line costs no more
// than a short one.
func (s *source) pos(off int) Pos {
	if off < s.lines[s.nearLine] || s.nearLine+1 < len(s.lines) && off >= s.lines[s.nearLine+1] {
		s.nearLine = s.index(off)
		s.near, s.column = s.lines[s.nearLine], 0
	}
	if off < s.near {
		s.column -= utf8.RuneCountInString(s.text[off:s.near])
	} else {
		s.column += utf8.RuneCountInString(s.text[s.near:off])
	}
	s.near = off
	return Pos{File: s.at.File, Line: s.at.Line + s.nearLine, Column: s.at.Column + s.column}
}

func (s *source) errorf(off int, format string, args ...any) {
	s.report(diagnostic.SeverityError, off, format, args...)
}

func (s *source) report(severity diagnostic.Severity, off int, format string, args ...any) {
	s.bad = s.bad || severity == diagnostic.SeverityError
	if len(s.problems) == maxProblems {
		s.leftOver++
		return
	}
	at := s.pos(off)
	s.problems = append(s.problems, diagnostic.Problem{
		Pos: at, Severity: severity, Message: fmt.Sprintf(format, args...),
		Source: strings.Repeat(" ", s.at.Column-1) + s.line(at.Line-s.at.Line),
	})
}

// nearest is the word that was most likely meant, "" for none, or where it is not told any more.
func (s *source) nearest(text string, words []string) string {
	if len(s.problems) == maxProblems {
		return ""
	}
	return diagnostic.Nearest(text, words)
}

// told returns the problems by their places.
func (s *source) told() diagnostic.Problems {
	s.problems.Sort()
	if s.leftOver > 0 {
		last := s.problems[len(s.problems)-1]
		severity := diagnostic.SeverityWarning
		if s.bad {
			severity = diagnostic.SeverityError
		}
		s.problems = append(s.problems, diagnostic.Problem{Pos: last.Pos, Severity: severity, Message: fmt.Sprintf("%d more problems are not shown", s.leftOver)})
	}
	return s.problems
}
