package config

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Check says what is wrong with the expression of a [RuleExpr] or the schema of a [RuleSchema], which this package
// does not read; nil for nothing. It is asked about each that a file or a setting holds, on the caller's goroutine, must
// not change or keep the criterion, and gives nil for rules that it does not know. It may read the SchemaFile. An error of
// type *[SourceError] is reported at the place that it names, any other at the start of the rule.
type Check func(*Criterion) error

// Extra is what a reader of files may be handed beside the kinds: a [Check] or *[Documents].
type Extra interface{ extend(*reading) }

func (c Check) extend(r *reading) { r.checks = append(r.checks, c) }

// SourceError is a fault in an expression or a schema whose place is known.
type SourceError struct {
	Offset  int    // in an expression: how many characters stand before it
	Pointer string // in a schema: a JSON pointer to what is wrong, "" for the whole
	Err     error  // what is wrong, without the place; must not be nil
}

func (e *SourceError) Error() string { return e.Err.Error() }
func (e *SourceError) Unwrap() error { return e.Err }

// check asks the checks about c, whose source is n.
func (r *reading) check(c *Criterion, n *node, path string) {
	for _, check := range r.checks {
		err := check(c)
		if err == nil {
			continue
		}
		said := oneLine(err.Error())
		if c.SchemaFile != "" && isMissing(err, c.SchemaFile) {
			from := "the folder of the file that names it"
			if r.origin {
				from = "the folder where the program was started"
			}
			r.errorf(n, path, "there is no file %s; a path begins at %s", quote(c.SchemaFile), from)
			return
		}
		pos, where := n.pos, ""
		at, placed := errors.AsType[*SourceError](err)
		switch {
		case placed && c.Rule == RuleExpr:
			pos, where = r.inExpr(n, at.Offset)
		case placed:
			pos, path, where = inSchema(n, path, at.Pointer)
		}
		switch {
		case c.Rule == RuleExpr:
			r.report(SeverityError, pos, path, "the expression is wrong%s: %s", where, said)
		case strings.HasPrefix(said, "schema") && where == "": // it says itself which
			r.report(SeverityError, pos, path, "the %s", said)
		case c.SchemaFile == "":
			r.report(SeverityError, pos, path, "the schema is wrong%s: %s", where, said)
		default:
			r.report(SeverityError, pos, path, "the schema %s is wrong%s: %s", quote(c.SchemaFile), where, said)
		}
		return
	}
}

// isMissing reports whether err says that there is no file of that path, and not one that it refers to.
func isMissing(err error, path string) bool {
	at, ok := errors.AsType[*fs.PathError](err)
	if !ok || !errors.Is(at, fs.ErrNotExist) {
		return false
	}
	whole, err := filepath.Abs(path)
	return at.Path == path || err == nil && at.Path == whole
}

// inExpr returns the position of a character of the expression n, or, where the source does not show it, that of n and
// the place in words.
func (r *reading) inExpr(n *node, offset int) (Pos, string) {
	runes := []rune(n.text)
	before := string(runes[:min(max(offset, 0), len(runes))])
	if pos, ok := r.find(n, len(before)); ok {
		return pos, ""
	}
	column := 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
	if line := 1 + strings.Count(before, "\n"); line > 1 {
		return n.pos, fmt.Sprintf(" in its line %d, column %d", line, column)
	}
	return n.pos, fmt.Sprintf(" in its column %d", column)
}

var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// inSchema returns the position and path of what a JSON pointer leads to in the schema n, as far as n has it, and the
// rest of the way in words.
func inSchema(n *node, path, pointer string) (Pos, string, string) {
	pos, rest := n.pos, strings.TrimPrefix(pointer, "/")
	if n.shape != mapping {
		if pointer == "" {
			return pos, path, ""
		}
		return pos, path, " at " + quote(pointer)
	}
	for rest != "" {
		token, after, _ := strings.Cut(rest, "/")
		key := pointerEscapes.Replace(token)
		if e := n.entry(key); e != nil {
			n, pos, path = e.value, e.value.pos, step(path, key)
		} else if i, err := strconv.Atoi(key); err == nil && 0 <= i && i < len(n.items) {
			n, pos, path = n.items[i], n.items[i].pos, index(path, i)
		} else {
			return pos, path, " at " + quote("/"+rest)
		}
		rest = after
	}
	return pos, path, ""
}

// oneLine returns s without line breaks and control characters, and not too long.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if runes := []rune(strings.ToValidUTF8(s, "\uFFFD")); len(runes) > 300 {
		return string(runes[:300]) + "…"
	}
	return s
}
