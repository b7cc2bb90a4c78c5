package document

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/firstgood/firstgood/diagnostic"
)

const (
	maxSize     = 1 << 20 // bytes of a file
	maxNesting  = 100     // lists and quotes within each other
	maxProblems = 100     // said about one file
	maxNames    = 1000    // slots, settings, inputs, fields, nodes or instances of one document
)

const byteOrderMark = "\uFEFF"

// reading is one file that is being read.
type reading struct {
	path     string
	text     string // UTF-8, lines end in \n
	starts   []int  // of lines in text
	problems Problems
	left     int // problems that were too many
	overfull map[string]bool
}

// newReading checks the bytes of a file. It returns false where they are no text that can be a document.
func newReading(path string, data []byte) (*reading, bool) {
	r := &reading{path: path, starts: []int{0}, overfull: map[string]bool{}}
	switch {
	case len(data) > maxSize:
		r.errorAt(r.pos(0), "the file is larger than 1 MiB, more than a document can be; is it the right file?")
		return r, false
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		r.errorAt(r.pos(0), "the file is in UTF-16; save it as UTF-8")
		return r, false
	}
	text := strings.TrimPrefix(string(data), byteOrderMark)
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	}
	r.text = text
	for i := range len(text) {
		if text[i] == '\n' {
			r.starts = append(r.starts, i+1)
		}
	}
	for i, char := range text {
		switch {
		case char == 0:
			r.errorAt(r.pos(i), "a NUL byte has no place in a text; is it the right file?")
			return r, false
		case char == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			r.text = strings.ToValidUTF8(text[:i], "?") // what stands after it is not shown
			r.errorAt(r.pos(i), "the byte 0x%02X is not UTF-8; save the file as UTF-8 text", text[i])
			return r, false
		}
	}
	return r, r.flat()
}

// flat reports lists and quotes that nest too deep: reading them takes time and stack in proportion to their depth.
func (r *reading) flat() bool {
	for _, start := range r.starts {
		line := r.text[start:]
		if end := strings.IndexByte(line, '\n'); end >= 0 {
			line = line[:end]
		}
		if depth := markers(line); depth > maxNesting {
			r.errorAt(r.pos(start), "lists and quotes nest %d deep here; %d is the most that is read", depth, maxNesting)
			return false
		}
	}
	return true
}

// markers counts the marks of lists and quotes that a line begins with.
func markers(line string) (depth int) {
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == ' ' || c == '\t':
		case c == '>':
			depth++
		case c == '-' || c == '*' || c == '+':
			if i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' {
				return depth
			}
			depth++
		case '0' <= c && c <= '9':
			for i < len(line) && '0' <= line[i] && line[i] <= '9' {
				i++
			}
			if i >= len(line) || line[i] != '.' && line[i] != ')' {
				return depth
			}
			depth++
		default:
			return depth
		}
	}
	return depth
}

// pos returns the place of the byte at index i of the text.
func (r *reading) pos(i int) Pos {
	i = min(max(i, 0), len(r.text))
	line, exact := slices.BinarySearch(r.starts, i)
	if !exact {
		line--
	}
	return Pos{File: r.path, Line: line + 1, Column: utf8.RuneCountInString(r.text[r.starts[line]:i]) + 1}
}

// line returns the text of a line, which counts from 1, or "".
func (r *reading) line(number int) string {
	if r == nil || number < 1 || number > len(r.starts) || r.starts[number-1] > len(r.text) {
		return ""
	}
	line, _, _ := strings.Cut(r.text[r.starts[number-1]:], "\n")
	return line
}

func (r *reading) errorAt(at Pos, format string, args ...any) {
	r.report(diagnostic.SeverityError, at, format, args...)
}

func (r *reading) warnAt(at Pos, format string, args ...any) {
	r.report(diagnostic.SeverityWarning, at, format, args...)
}

func (r *reading) noteAt(at Pos, format string, args ...any) {
	r.report(diagnostic.SeverityNote, at, format, args...)
}

func (r *reading) report(severity diagnostic.Severity, at Pos, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.left++
		return
	}
	r.problems = append(r.problems, Problem{Pos: at, Severity: severity, Message: oneLine(fmt.Sprintf(format, args...)), Source: r.line(at.Line)})
}

// done returns the problems, in order.
func (r *reading) done() Problems {
	r.problems.Sort()
	if r.left > 0 {
		last := r.problems[len(r.problems)-1]
		r.problems = append(r.problems, Problem{Pos: last.Pos, Severity: last.Severity, Message: fmt.Sprintf("there are %d problems more", r.left)})
	}
	return r.problems
}

// full reports whether there are as many of something as are read. It says so at the first that is one too many.
func (r *reading) full(count int, at Pos, what string) bool {
	if count < maxNames {
		return false
	}
	if !r.overfull[what] {
		r.overfull[what] = true
		r.errorAt(at, "there are more than %d %s; no more are read", maxNames, what)
	}
	return true
}

// oneLine keeps a message on one line, whatever is quoted in it.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// quote shows a text of the file in a message.
func quote(s string) string {
	const most = 60
	s = oneLine(s)
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	if strings.Contains(s, "`") {
		return `"` + s + `"`
	}
	return "`" + s + "`"
}
