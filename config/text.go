package config

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Text is a text of the file in which ${NAME} stands for a variable of the environment, ${NAME:-default} for one
// that may be unset or empty, and $${ for the characters ${. It is expanded by [Text.Expand] when it is used, so that
// a variable matters only to the runs that need it; what a variable holds is never read as YAML or expanded
// again. The zero Text is one that was not given, and empty.
type Text struct{ *template } // nil when not given; a pointer, so that not even a printed struct shows it

// template is a text taken apart.
type template struct {
	pos    Pos
	path   string
	raw    string
	parts  []part
	secret bool
}

// part is a literal text, or a variable when name is set.
type part struct {
	literal   string // or the default
	name      string
	defaulted bool
	pos       Pos
}

// Literal returns a Text that is s, with nothing expanded; the zero Text for "".
func Literal(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{&template{raw: strings.ReplaceAll(s, "${", "$${"), parts: []part{{literal: s}}}}
}

// Pos returns where the text stands, the zero Pos where it was not given.
func (t Text) Pos() Pos {
	if t.template == nil {
		return Pos{}
	}
	return t.pos
}

// IsZero reports whether the text was not given. One that was given may still be empty, or become so when it is expanded.
func (t Text) IsZero() bool { return t.template == nil }

// written returns the text as it stands in the file, a credential too.
func (t Text) written() string {
	if t.template == nil {
		return ""
	}
	return t.raw
}

// isSecret reports whether the text is not to be shown.
func (t Text) isSecret() bool { return t.template != nil && t.secret }

func (t Text) pieces() []part {
	if t.template == nil {
		return nil
	}
	return t.parts
}

// String returns the text as written, nothing expanded, and stars in place of a credential.
func (t Text) String() string {
	if t.isSecret() {
		return "******"
	}
	return t.written()
}

// GoString is [Text.String], so that no way of printing shows a credential.
func (t Text) GoString() string { return t.String() }

// Static returns the text and true when it holds no variable.
func (t Text) Static() (string, bool) {
	for _, p := range t.pieces() {
		if p.name != "" {
			return "", false
		}
	}
	return t.expand(nil), true
}

// Expand returns the text with the values of its variables, which lookup finds as [os.LookupEnv] does. The error
// is [Problems] that name each variable that is not set.
func (t Text) Expand(lookup func(string) (string, bool)) (string, error) {
	if unset := t.Unset(lookup); len(unset) > 0 {
		return "", unset
	}
	return t.expand(lookup), nil
}

func (t Text) expand(lookup func(string) (string, bool)) string {
	if parts := t.pieces(); len(parts) == 1 && parts[0].name == "" {
		return parts[0].literal
	}
	var b strings.Builder
	for _, p := range t.pieces() {
		value := p.literal
		if p.name != "" {
			if found, ok := lookup(p.name); ok && (found != "" || !p.defaulted) {
				value = found
			}
		}
		b.WriteString(value)
	}
	return b.String()
}

// Unset returns a problem for each variable that the text needs and lookup does not find.
func (t Text) Unset(lookup func(string) (string, bool)) Problems {
	var unset Problems
	for _, p := range t.pieces() {
		if p.name == "" || p.defaulted {
			continue
		}
		if _, ok := lookup(p.name); !ok {
			message := fmt.Sprintf("the environment variable %s is not set; set it, or give it a default: ${%s:-…}", p.name, p.name)
			if t.path != "" {
				message = t.path + ": " + message
			}
			unset = append(unset, Problem{Pos: p.pos, Message: message})
		}
	}
	return unset
}

var variable = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)

// parseText returns the text of n with its variables found, or reports those that are not written as such.
func (r *reading) parseText(n *node, path string) Text {
	t := Text{&template{pos: n.pos, path: path, raw: n.text, secret: n.hidden}}
	literal := ""
	rest := n.text
	for rest != "" {
		i := strings.Index(rest, "${")
		if i < 0 {
			literal += rest
			break
		}
		if i > 0 && rest[i-1] == '$' {
			literal += rest[:i-1] + "${"
			rest = rest[i+2:]
			continue
		}
		pos := r.within(n, len(n.text)-len(rest)+i)
		match := variable.FindStringSubmatch(rest[i+2:])
		if match == nil || strings.Contains(match[3], "${") {
			what := "${"
			if end := strings.IndexByte(rest[i:], '}'); end > 0 && !n.hidden {
				what = rest[i : i+end+1]
			}
			r.report(SeverityError, pos, path, "%s is not ${NAME} or ${NAME:-default}; write $${ for the characters themselves", strings.Trim(quote(what), `"`))
			return t
		}
		if literal += rest[:i]; literal != "" {
			t.parts = append(t.parts, part{literal: literal})
			literal = ""
		}
		t.parts = append(t.parts, part{literal: match[3], name: match[1], defaulted: match[2] != "", pos: pos})
		rest = rest[i+2+len(match[0]):]
	}
	if literal != "" {
		t.parts = append(t.parts, part{literal: literal})
	}
	if len(t.parts) > 0 {
		r.texts = append(r.texts, t)
	}
	return t
}

// within returns the position of the byte at index i of the scalar n where the source shows it, else n's own.
func (r *reading) within(n *node, i int) Pos {
	if pos, ok := r.find(n, i); ok {
		return pos
	}
	return n.pos
}

// find returns the position of the byte at index i of the scalar n, and whether the source shows n as it is: on one
// line, or as a block that begins with |.
func (r *reading) find(n *node, i int) (Pos, bool) {
	if n.pos.Line == 0 {
		return n.pos, false
	}
	pos := n.pos
	line := []rune(r.line(pos.Line))
	from := pos.Column - 1
	if from < len(line) && line[from] == '|' {
		return r.findInBlock(n, i)
	}
	if from < len(line) && isQuote(line[from]) {
		from++
	}
	if from > len(line) || !strings.HasPrefix(string(line[from:]), n.text) {
		return pos, false
	}
	pos.Column = from + 1 + utf8.RuneCountInString(n.text[:i])
	return pos, true
}

func (r *reading) findInBlock(n *node, i int) (Pos, bool) {
	indent := 0
	for number := n.pos.Line + 1; indent == 0 && number <= len(r.lines); number++ {
		if line := r.line(number); strings.TrimSpace(line) != "" {
			indent = indentation(line)
		}
	}
	before := n.text[:i]
	start := strings.LastIndexByte(before, '\n') + 1
	end := len(n.text)
	if length := strings.IndexByte(n.text[start:], '\n'); length >= 0 {
		end = start + length
	}
	pos := Pos{File: n.pos.File, Line: n.pos.Line + 1 + strings.Count(before, "\n"), Column: indent + 1 + utf8.RuneCountInString(before[start:])}
	if line := r.line(pos.Line); indent == 0 || len(line) < indent || line[indent:] != n.text[start:end] {
		return n.pos, false
	}
	return pos, true
}

// Value is any value that JSON has, with texts in it that are not yet expanded. The zero Value is null.
type Value struct {
	at *any // to nil, bool, int64, float64, Text, []Value or map[string]Value; nil for null
}

func valueOf(tree any) Value { return Value{&tree} }

func (v Value) tree() any {
	if v.at == nil {
		return nil
	}
	return *v.at
}

// Expand returns the value as Go has it (nil, bool, int64, float64, string, []any, map[string]any), with its texts
// expanded as by [Text.Expand]. Keys are not expanded.
func (v Value) Expand(lookup func(string) (string, bool)) (any, error) {
	if unset := v.Unset(lookup); len(unset) > 0 {
		return nil, unset
	}
	return v.expand(lookup), nil
}

func (v Value) expand(lookup func(string) (string, bool)) any {
	switch tree := v.tree().(type) {
	case Text:
		return tree.expand(lookup)
	case []Value:
		items := make([]any, len(tree))
		for i, item := range tree {
			items[i] = item.expand(lookup)
		}
		return items
	case map[string]Value:
		keys := make(map[string]any, len(tree))
		for key, value := range tree {
			keys[key] = value.expand(lookup)
		}
		return keys
	}
	return v.tree()
}

// Unset returns a problem for each variable that the value needs and lookup does not find, by position.
func (v Value) Unset(lookup func(string) (string, bool)) Problems {
	var unset Problems
	for text := range v.Texts {
		unset = append(unset, text.Unset(lookup)...)
	}
	unset.Sort()
	return unset
}

// Texts yields each text in the value, in no particular order.
func (v Value) Texts(yield func(Text) bool) { v.visit(yield) }

func (v Value) visit(yield func(Text) bool) bool {
	switch tree := v.tree().(type) {
	case Text:
		return yield(tree)
	case []Value:
		for _, item := range tree {
			if !item.visit(yield) {
				return false
			}
		}
	case map[string]Value:
		for _, value := range tree {
			if !value.visit(yield) {
				return false
			}
		}
	}
	return true
}
