package config

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxSize is the size in bytes above which a file is refused.
const maxSize = 1 << 20

const byteOrderMark = "\uFEFF"

// checkBytes returns data as text without its byte order mark, or reports why it is none.
func (r *reading) checkBytes(data []byte) (string, bool) {
	start := Pos{File: r.name, Line: 1, Column: 1}
	switch {
	case len(data) > maxSize:
		r.report(SeverityError, start, "", "the file is larger than 1 MiB, more than a configuration can be; is it the right file?")
		return "", false
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		r.report(SeverityError, start, "", "the file is in UTF-16; save it as UTF-8")
		return "", false
	}
	text := strings.TrimPrefix(string(data), byteOrderMark)
	for i := 0; i < len(text); {
		char, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case char == utf8.RuneError && size == 1:
			r.report(SeverityError, r.offset(text, i), "", "the byte 0x%02X is not UTF-8; save the file as UTF-8 text", text[i])
			return "", false
		case isControl(char):
			r.report(SeverityError, r.offset(text, i), "", "the control character U+%04X has no place in the file; remove it, or write it as an escape in double quotes", char)
			return "", false
		}
		i += size
	}
	return text, true
}

// isControl reports whether YAML forbids the character.
func isControl(c rune) bool {
	switch {
	case c == '\t', c == '\n', c == '\r', c == 0x85:
		return false
	case c < 0x20, 0x7F <= c && c < 0xA0, c == 0xFEFF, c == 0xFFFE, c == 0xFFFF:
		return true
	}
	return false
}

// offset returns the position of the byte at index i of text.
func (r *reading) offset(text string, i int) Pos {
	lines := splitLines(text[:i] + "x")
	last := lines[len(lines)-1]
	return Pos{File: r.name, Line: len(lines), Column: utf8.RuneCountInString(last)}
}

// splitLines cuts text where YAML sees a line break.
func splitLines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.ContainsAny(text, "\r\u0085\u2028\u2029") {
		text = strings.NewReplacer("\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(text)
	}
	return strings.Split(text, "\n")
}

// line returns the source line with the given number, or "".
func (r *reading) line(number int) string {
	if number < 1 || number > len(r.lines) {
		return ""
	}
	return r.lines[number-1]
}

// report enters a problem. The path is the key it is about, "" for none.
func (r *reading) report(severity Severity, pos Pos, path, format string, args ...any) {
	if len(r.problems) == maxProblems {
		r.left++
		return
	}
	message := fmt.Sprintf(format, args...)
	if path != "" {
		message = path + ": " + message
	}
	r.problems = append(r.problems, Problem{Pos: pos, Severity: severity, Message: message})
}

// errorf is report for errors, about the value of n.
func (r *reading) errorf(n *node, path, format string, args ...any) {
	r.report(SeverityError, n.pos, path, format, args...)
}

// maxProblems is how many problems one file is told; the rest is counted.
const maxProblems = 50

// finish returns the problems in order, each with its source line, and no credential in any.
func (r *reading) finish() Problems {
	r.problems.Sort()
	for i := range r.problems {
		p := &r.problems[i]
		if p.Pos.File == r.name && p.Pos.Line > 0 && p.Pos.Line != r.unshown {
			p.Source = r.mask.line(p.Pos.Line, r.line(p.Pos.Line))
		}
		p.Message, p.Source = r.mask.text(p.Message), r.mask.text(p.Source)
	}
	if r.left > 0 {
		last := r.problems[len(r.problems)-1].Pos
		r.problems = append(r.problems, Problem{Pos: last, Message: fmt.Sprintf("%d more problems are not shown", r.left)})
	}
	return r.problems
}
