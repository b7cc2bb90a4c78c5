package document

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Given is an input with the value that a call gives it: a text, or any value that JSON has.
type Given struct {
	Name  string
	Value any
}

// told are the sections that a function's prompt repeats, in this order. Others are for people or for the runtime.
var told = []struct{ key, title string }{
	{"goal", "Goal"},
	{"strategies", "Strategies"},
	{"shape", "Shape"},
	{"invariants", "Invariants"},
	{"errors", "Errors"},
	{"execution", "Steps"},
}

// prompt is the part of a function's prompt that no call changes.
func prompt(p *part, body *Body) string {
	var pieces []string
	if p.intro != "" {
		pieces = append(pieces, p.intro)
	}
	if s := p.section("description"); s != nil && s.Text != "" && s.Text != p.intro {
		pieces = append(pieces, s.Text)
	}
	for _, t := range told {
		s := p.section(t.key)
		if s == nil || s.Text == "" || t.key == "execution" && body != nil {
			continue
		}
		pieces = append(pieces, "## "+t.title+"\n\n"+s.Text)
	}
	return strings.Join(pieces, "\n\n")
}

// Prompt returns what a model is asked when a function without a body is called, or when the whole of a function is left to a
// model. It is the same for the same document and inputs, and has, with a blank line between them:
//
//  1. Text: the paragraph under the title, the description, then the sections Goal, Strategies, Shape, Invariants, Errors, and an
//     Execution that is no ProseScript, each below its title;
//  2. the inputs, in the order in which they are given, each as a section of its name: a text as it is, any other value as
//     JSON. A null, an empty text, an empty list and an empty object are left out;
//  3. what is to be replied. One field: a text, of which the document says what it is. Several: a JSON object with those
//     keys. None: what Returns says, if anything.
//
// A value that JSON does not have is given as fmt prints it. A Text that is empty is replaced by the name.
func (d *Document) Prompt(given ...Given) string {
	var b strings.Builder
	b.WriteString(d.Text)
	if d.Text == "" {
		b.WriteString("You are " + d.Name + ".")
	}
	for _, g := range given {
		if text := show(g.Value); text != "" {
			b.WriteString("\n\n## " + g.Name + "\n\n" + text)
		}
	}
	b.WriteString(d.reply())
	return b.String()
}

// reply asks for the shape of the reply.
func (d *Document) reply() string {
	var b strings.Builder
	switch len(d.Returns) {
	case 0:
		for _, title := range []string{"Returns", "Ensures", "Maintains"} {
			if s := d.Section(title); s != nil && s.Text != "" {
				return "\n\n## Reply\n\n" + s.Text
			}
		}
		return ""
	case 1:
		f := d.Returns[0]
		b.WriteString("\n\n## Reply\n\nReply with " + f.Name)
		if f.Doc != "" {
			b.WriteString(": " + f.Doc)
		}
		b.WriteString("\n\nThe reply is that text alone, with nothing before or after it.")
	default:
		b.WriteString("\n\n## Reply\n\nReply with one JSON object and nothing else. Its keys:\n")
		for _, f := range d.Returns {
			fmt.Fprintf(&b, "\n- %q", f.Name)
			if f.Doc != "" {
				b.WriteString(": " + strings.ReplaceAll(f.Doc, "\n", "\n  "))
			}
		}
	}
	return b.String()
}

// show returns a value as a prompt shows it, "" where it is left out.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.RawMessage:
		var text string
		if json.Unmarshal(v, &text) == nil {
			return text
		}
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	switch text := strings.TrimSuffix(b.String(), "\n"); text {
	case "null", `""`, "[]", "{}":
		return ""
	default:
		return text
	}
}
