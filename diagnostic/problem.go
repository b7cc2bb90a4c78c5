// Package diagnostic holds what is to be said about a file of the user: places, problems, and how they are shown.
package diagnostic

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Pos is a place in a file: line and column count from 1, the column in characters. A Pos without a line is not
// in a file; File then says where the value came from, such as a flag of the command line.
type Pos struct {
	File         string
	Line, Column int
}

// String returns file:line:col, or the origin alone where there is no line.
func (p Pos) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Before reports whether p stands before q in the same file.
func (p Pos) Before(q Pos) bool {
	return p.Line < q.Line || p.Line == q.Line && p.Column < q.Column
}

// Severity says how much a problem matters.
type Severity int

// The severities. Only an error makes a file unusable.
const (
	SeverityError   Severity = iota
	SeverityWarning          // it runs, but hardly as meant
	SeverityNote             // it runs as it says, which may surprise
)

func (s Severity) String() string {
	return [...]string{"error", "warning", "note"}[s]
}

// Problem is one thing to be said about a file. Neither the message nor the source line ever holds a credential.
type Problem struct {
	Pos      Pos
	Severity Severity
	Message  string // the place by key, what is wrong, and the way out; one line
	Source   string // the line of the file, with credentials masked; "" where there is none
	Err      error  // the error of the operating system behind it, or nil
}

// String returns the problem as file:line:col: message, with the severity before the message unless it is an error.
func (p Problem) String() string {
	if p.Severity == SeverityError {
		return p.Pos.String() + ": " + p.Message
	}
	return p.Pos.String() + ": " + p.Severity.String() + ": " + p.Message
}

// Problems are all that is to be said about a file, by position. As an error they print one problem a line; use
// [Problems.Err] where warnings alone must not be one.
type Problems []Problem

// Error returns the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors behind the problems.
func (ps Problems) Unwrap() []error {
	var errs []error
	for _, p := range ps {
		if p.Err != nil {
			errs = append(errs, p.Err)
		}
	}
	return errs
}

// Failed reports whether one of the problems is an error.
func (ps Problems) Failed() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == SeverityError })
}

// Err returns the problems as an error if one of them is an error, else nil.
func (ps Problems) Err() error {
	if ps.Failed() {
		return ps
	}
	return nil
}

// Sort orders the problems by file, line and column; those of one place keep their order.
func (ps Problems) Sort() {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Column, b.Pos.Column))
	})
}

// shownColumns is how much of a source line is shown around the caret.
const shownColumns = 100

// Render writes each problem for people: its line, then the source line with a caret under the column. With
// color it uses ANSI escapes.
func (ps Problems) Render(w io.Writer, color bool) error {
	paint := func(code, s string) string {
		if !color {
			return s
		}
		return "\x1b[" + code + "m" + s + "\x1b[0m"
	}
	var b strings.Builder
	for _, p := range ps {
		tone := [...]string{"31;1", "33;1", "36;1"}[p.Severity]
		fmt.Fprintf(&b, "%s: %s: %s\n", paint("1", p.Pos.String()), paint(tone, p.Severity.String()), p.Message)
		if p.Source == "" {
			continue
		}
		line, before := window([]rune(p.Source), p.Pos.Column-1)
		number := fmt.Sprint(p.Pos.Line)
		fmt.Fprintf(&b, "  %s | %s\n", number, line)
		fmt.Fprintf(&b, "  %s | %s%s\n", strings.Repeat(" ", len(number)), before, paint(tone, "^"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// window cuts a long line around the character at index at; before is the white space that puts a caret there.
func window(line []rune, at int) (text, before string) {
	at = min(max(at, 0), len(line))
	from := 0
	if at > shownColumns*2/3 {
		from = at - shownColumns/2
	}
	to := min(len(line), from+shownColumns)
	pad := make([]rune, at-from)
	for i, r := range line[from:at] {
		pad[i] = ' '
		if r == '\t' {
			pad[i] = '\t'
		}
	}
	text, before = string(line[from:to]), string(pad)
	if from > 0 {
		text, before = "…"+text, " "+before
	}
	if to < len(line) {
		text += "…"
	}
	return text, before
}
