package document

import (
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// front is the front matter of a file.
type front struct {
	name, kind entry
	services   *yaml.Node
	slots      *yaml.Node
	end        int  // where it ends in the text; 0 without one
	broken     bool // something was said about it
}

// entry is a value of the front matter.
type entry struct {
	text string
	pos  Pos
}

// yamlText is YAML that stands in the file: its lines begin below the given one, and further right.
type yamlText struct {
	r             *reading
	line, columns int
}

func (y yamlText) pos(n *yaml.Node) Pos {
	return Pos{File: y.r.path, Line: y.line + n.Line, Column: y.columns + n.Column}
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// parse returns the root of the YAML, nil where it is empty or wrong, which it reports.
func (y yamlText) parse(source string, what string) *yaml.Node {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(source), &document); err != nil {
		at := Pos{File: y.r.path, Line: y.line + 1, Column: y.columns + 1}
		message := err.Error()
		if m := yamlLine.FindStringSubmatch(message); m != nil {
			if n, err := strconv.Atoi(m[1]); err == nil {
				at.Line = y.line + n
			}
			message = message[len(m[0]):]
		}
		if m := decoratedIn.FindStringSubmatchIndex(y.r.line(at.Line)); m != nil {
			text := y.r.line(at.Line)
			at.Column = utf8.RuneCountInString(text[:m[0]]) + 1
			y.r.decorator(at, text[m[0]:m[1]])
			return nil
		}
		y.r.errorAt(at, "%s is not YAML: %s", what, message)
		return nil
	}
	if len(document.Content) == 0 {
		return nil
	}
	return document.Content[0]
}

// front reads the front matter: what stands between two lines of three dashes at the very beginning.
func (r *reading) front() *front {
	f := &front{}
	first := strings.TrimRight(r.line(1), " \t")
	if first != "---" {
		r.errorAt(r.pos(0), "the document has no front matter; begin with a line ---, then name: and kind:, then a line ---")
		return nil
	}
	for n := 2; n <= len(r.starts); n++ {
		switch strings.TrimRight(r.line(n), " \t") {
		case "---", "...":
			body := r.text[r.starts[1]:r.starts[n-1]]
			_, f.end = r.lineAround(r.starts[n-1])
			y := yamlText{r, 1, 0}
			f.read(y, y.parse(body, "the front matter"))
			f.broken = r.problems.Failed()
			return f
		}
	}
	r.errorAt(r.pos(0), "the front matter that begins here has no end; put a line --- after it")
	return nil
}

func (f *front) read(y yamlText, root *yaml.Node) {
	if root == nil {
		return
	}
	if root.Kind != yaml.MappingNode {
		y.r.errorAt(y.pos(root), "the front matter is %s, want keys such as name: and kind:", describe(root))
		return
	}
	for key, value := range y.pairs(root) {
		switch strings.ToLower(key.Value) {
		case "name":
			f.name = y.text(key, value)
		case "kind":
			f.kind = y.text(key, value)
		case "services":
			f.services = value
		case "slots":
			f.slots = value
		}
	}
}

// text returns the text of a key.
func (y yamlText) text(key, value *yaml.Node) entry {
	if value.Kind != yaml.ScalarNode || value.Tag == "!!null" {
		y.r.errorAt(y.pos(value), "%s is %s, want a text", key.Value, describe(value))
		return entry{}
	}
	return entry{strings.TrimSpace(value.Value), y.pos(value)}
}

// pairs goes through the keys of a mapping, and reports what is no key and what stands twice.
func (y yamlText) pairs(mapping *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		seen := map[string]bool{}
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			key, value := mapping.Content[i], mapping.Content[i+1]
			switch {
			case key.Kind != yaml.ScalarNode:
				y.r.errorAt(y.pos(key), "a key is %s, want a name", describe(key))
				continue
			case seen[key.Value]:
				y.r.errorAt(y.pos(key), "%s stands twice", quote(key.Value))
				continue
			}
			seen[key.Value] = true
			if !yield(key, value) {
				return
			}
		}
	}
}

// describe says what a value is, for messages.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.Tag {
	case "!!null":
		return "empty"
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!bool":
		return "the boolean " + n.Value
	}
	return "the text " + quote(n.Value)
}

var errAlias = errors.New("aliases are not read here; write the value out")

// toJSON returns a value of YAML as JSON, keys in their order.
func toJSON(n *yaml.Node) (json.RawMessage, error) {
	var b strings.Builder
	if err := writeJSON(&b, n); err != nil {
		return nil, err
	}
	return json.RawMessage(b.String()), nil
}

func writeJSON(b *strings.Builder, n *yaml.Node) error {
	switch n.Kind {
	case yaml.AliasNode:
		return errAlias
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, child := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			if err := writeJSON(b, child); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case yaml.MappingNode:
		b.WriteByte('{')
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return errors.New("a key is " + describe(key) + ", want a name")
			}
			if seen[key.Value] {
				return errors.New(quote(key.Value) + " stands twice")
			}
			seen[key.Value] = true
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(jsonText(key.Value))
			b.WriteByte(':')
			if err := writeJSON(b, n.Content[i+1]); err != nil {
				return err
			}
		}
		b.WriteByte('}')
		return nil
	}
	return writeScalar(b, n)
}

func writeScalar(b *strings.Builder, n *yaml.Node) error {
	switch n.Tag {
	case "!!null":
		b.WriteString("null")
	case "!!bool", "!!int", "!!float":
		var v any
		if err := n.Decode(&v); err != nil {
			return err
		}
		data, err := json.Marshal(v)
		if err != nil {
			return errors.New(quote(n.Value) + " is no number of JSON")
		}
		b.Write(data)
	default:
		b.Write(jsonText(n.Value))
	}
	return nil
}

// jsonText returns a text as JSON, with no more escapes than JSON needs.
func jsonText(s string) json.RawMessage {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return json.RawMessage("null") // a string can always be encoded
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}
