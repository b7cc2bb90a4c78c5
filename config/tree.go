package config

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

type shape int

const (
	scalar shape = iota
	list
	mapping
)

// node is a value of the file: checked YAML, with aliases replaced by what they stand for.
type node struct {
	shape  shape
	tag    string // of a scalar: !!str, !!int, !!float, !!bool, !!null
	text   string // of a scalar, as written
	flow   bool   // written in brackets or braces
	hidden bool   // holds a credential; no message shows it
	bad    bool   // something was said about it already
	loose  bool   // came from outside a file, where everything is a text
	size   int    // how many nodes it stands for
	pos    Pos
	items  []*node
	keys   []entry // in the order of the file
}

type entry struct {
	key   string
	pos   Pos
	value *node
}

func (n *node) entry(key string) *entry {
	for i := range n.keys {
		if n.keys[i].key == key {
			return &n.keys[i]
		}
	}
	return nil
}

func (n *node) isNull() bool { return n.shape == scalar && n.tag == "!!null" }
func (n *node) isText() bool { return n.shape == scalar && n.tag == "!!str" }

const (
	maxDepth   = 100    // levels of nesting
	maxAliased = 20_000 // values that stand behind aliases, altogether
)

// planter turns YAML nodes into checked ones.
type planter struct {
	*reading
	done    map[*yaml.Node]*node // what an alias may stand for
	aliased int
	deep    bool // the depth was reported
}

// parse reads text as one YAML document and returns its root, nil when there is none to speak of.
func (r *reading) parse(text string) *node {
	root := r.tree(text)
	switch {
	case root == nil:
		return nil
	case root.isNull():
		r.empty()
		return nil
	case root.shape != mapping:
		if !r.problems.Failed() {
			r.errorf(root, "", "got %s, want keys such as delegates and patterns", describe(root))
		}
		return nil
	}
	return root
}

func (r *reading) empty() {
	r.report(SeverityError, Pos{File: r.name, Line: 1, Column: 1}, "", "the file is empty; begin with delegates: {NAME: {openai: {model: …}}}")
}

// tree reads text as one YAML document and returns its root, nil when it is none.
func (r *reading) tree(text string) *node {
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		r.empty()
		return nil
	case err != nil:
		r.syntax(text, err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.report(SeverityError, r.separator(second.Line), "", "a second document begins here; keep one per file")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(text, err)
		return nil
	}
	p := planter{reading: r, done: map[*yaml.Node]*node{}}
	return p.plant(document.Content[0], "", false, 0)
}

// separator returns the position of the last --- at or above the line.
func (r *reading) separator(line int) Pos {
	for n := min(line, len(r.lines)); n > 1; n-- {
		if strings.HasPrefix(r.line(n), "---") {
			return Pos{File: r.name, Line: n, Column: 1}
		}
	}
	return Pos{File: r.name, Line: max(1, min(line, len(r.lines))), Column: 1}
}

// plant returns n as a checked node. The key is the one it stands under; hidden says that a key above makes it a
// credential.
func (p *planter) plant(n *yaml.Node, key string, hidden bool, depth int) *node {
	pos := p.place(n)
	out := &node{pos: pos, tag: "!!null", size: 1, flow: n.Style&yaml.FlowStyle != 0}
	p.mask.node(pos)
	switch {
	case depth > maxDepth:
		if !p.deep {
			p.report(SeverityError, pos, "", "nested more than %d levels deep", maxDepth)
			p.deep = true
		}
		out.bad = true
		return out
	case n.Kind == yaml.AliasNode:
		return p.alias(n, out)
	case n.Style&yaml.TaggedStyle != 0:
		p.report(SeverityError, pos, "", "a ! at the start of a value makes it a YAML tag, which is not used here; put a text in quotes")
		out.bad = true
		return out
	}
	switch n.Kind {
	case yaml.ScalarNode:
		out.tag, out.text = n.ShortTag(), n.Value
		if out.tag == "!!timestamp" || out.tag == "!!merge" {
			out.tag = "!!str"
		}
		secret := isSecretValue(n.Value)
		if (hidden || secret) && !justVariable.MatchString(n.Value) && !out.isNull() {
			out.hidden = true
			value := ""
			if secret || isCredentialKey(key) && out.tag == "!!str" {
				value = n.Value
			}
			p.mask.hide(pos, p.end(n), value)
		}
	case yaml.SequenceNode:
		out.shape = list
		for _, item := range n.Content {
			child := p.plant(item, key, hidden, depth+1)
			out.items, out.size = append(out.items, child), out.size+child.size
		}
	case yaml.MappingNode:
		out.shape = mapping
		first := map[string]Pos{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			p.pair(out, n.Content[i], n.Content[i+1], first, hidden, depth+1)
		}
	}
	p.done[n] = out
	return out
}

// pair adds a key and its value to a mapping.
func (p *planter) pair(out *node, k, v *yaml.Node, first map[string]Pos, hidden bool, depth int) {
	pos := p.place(k)
	p.mask.node(pos)
	if before, after, colon := strings.Cut(k.Value, ":"); colon && (hidden || isSecretKey(before) || isSecretValue(k.Value)) {
		p.mask.hide(pos, p.end(k), after) // a key and a credential without a space between
	}
	ok := false
	switch tag := k.ShortTag(); {
	case k.Kind == yaml.AliasNode:
		p.report(SeverityError, pos, "", "a key cannot be an alias; to begin a key with *, put it in quotes")
	case k.Kind != yaml.ScalarNode:
		p.report(SeverityError, pos, "", "a key must be a text; to begin a value with { or [, put it in quotes")
	case tag == "!!merge":
		p.report(SeverityError, pos, "", "the merge key << is not supported; repeat the keys, or let an alias (*name) stand for a whole value")
	case k.Style&yaml.TaggedStyle != 0:
		p.report(SeverityError, pos, "", "a ! at the start of a key makes it a YAML tag, which is not used here; put the key in quotes")
	case tag != "!!str" && tag != "!!timestamp":
		p.report(SeverityError, pos, "", "a key must be a text, got %s; put it in quotes: %q", describe(&node{tag: tag, text: k.Value}), k.Value)
	default:
		ok = true
	}
	if isSecretKey(k.Value) && (k.Value != "auth" || !justSpan.MatchString(v.Value)) { // a kind of failure and its cooldown
		hidden = hidden || fold(k.Value) != "api_key_env" || !isVariableName(v.Value)
	}
	child := p.plant(v, k.Value, hidden, depth)
	if !ok {
		out.bad = true
		return
	}
	if at, twice := first[k.Value]; twice {
		p.report(SeverityError, pos, "", "the key %s is here twice, first at %v; keep one", quote(k.Value), at)
		return
	}
	first[k.Value] = pos
	out.keys = append(out.keys, entry{k.Value, pos, child})
	out.size += child.size
}

// alias returns what the alias n stands for, at the alias's own position.
func (p *planter) alias(n *yaml.Node, out *node) *node {
	target := p.done[n.Alias]
	out.bad = true
	if target == nil {
		p.report(SeverityError, out.pos, "", "the alias *%s stands inside what it stands for", n.Value)
		return out
	}
	before := p.aliased
	if p.aliased += target.size; p.aliased > maxAliased {
		if before <= maxAliased {
			p.report(SeverityError, out.pos, "", "the aliases of this file stand for more than %d values; write fewer", maxAliased)
		}
		return out
	}
	same := *target
	same.pos = out.pos
	return &same
}

// place returns the position of a YAML node, inside the file whatever the library says.
func (r *reading) place(n *yaml.Node) Pos {
	if r.origin {
		return Pos{File: r.name}
	}
	line := min(max(n.Line, 1), len(r.lines))
	return Pos{File: r.name, Line: line, Column: min(max(n.Column, 1), utf8.RuneCountInString(r.line(line))+1)}
}

// end returns the position after a scalar that the source shows as it is on one line, else the zero Pos.
func (r *reading) end(n *yaml.Node) Pos {
	pos := r.place(n)
	line := []rune(r.line(pos.Line))
	if pos.Line == 0 || n.Value == "" || pos.Column > len(line) {
		return Pos{}
	}
	written := n.Value
	if q := line[pos.Column-1]; isQuote(q) {
		written = string(q) + written + string(q)
	}
	if !strings.HasPrefix(string(line[pos.Column-1:]), written) {
		return Pos{}
	}
	pos.Column += len([]rune(written))
	return pos
}

// describe says what a value is, as a reader of the file sees it.
func describe(n *node) string {
	what := map[string]string{"!!int": "the number", "!!float": "the number", "!!str": "the text"}[n.tag]
	switch {
	case n.shape == list:
		return "a list"
	case n.shape == mapping:
		return "a mapping"
	case n.isNull():
		return "no value"
	case n.hidden && what == "":
		return "true or false"
	case n.hidden:
		return "a" + strings.TrimPrefix(what, "the")
	case n.tag == "!!str":
		return what + " " + quote(n.text)
	case what == "":
		return n.text
	}
	return what + " " + n.text
}

// quotedLength is how much of a text is repeated in a message.
const quotedLength = 60

// quote returns a text as a message shows it: in quotes, with escapes, not too long.
func quote(s string) string {
	if runes := []rune(s); len(runes) > quotedLength {
		s = string(runes[:quotedLength]) + "…"
	}
	return strconv.Quote(s)
}

// step returns the path of a key below path, index that of an item.
func step(path, key string) string {
	if !nameText.MatchString(key) {
		key = quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func index(path string, i int) string {
	if path == "" {
		return ""
	}
	return fmt.Sprintf("%s[%d]", path, i)
}
