package config

import (
	"fmt"
	"slices"

	"github.com/firstgood/firstgood/diagnostic"
)

// Documents finds what a file names and does not hold: patterns and delegates that are documents. A name is looked up as
// it stands in the file, at the position that it has there. The problems of a document are reported with those of the file;
// without a result and without a problem the name is unknown.
type Documents struct {
	// Pattern finds the pattern that an instance is of. It gets those alone that are none of [Patterns]. Nil finds none.
	Pattern func(name string, at Pos) (Pattern, Problems)
	// Member finds what is bound to a slot under a name that is neither a delegate nor a pattern of the file. Nil finds none.
	Member func(name string, at Pos) (Ref, Problems)
	// Patterns are the names of patterns that Pattern finds anywhere, for messages.
	Patterns []string
}

func (d *Documents) extend(r *reading) { r.docs = &documents{d, r} }

// documents are the Documents of one reading.
type documents struct {
	*Documents
	r *reading
}

// DocumentSetting is a key of the config of a document's pattern.
type DocumentSetting struct {
	Name, Doc string
	Type      string // string, number, integer, boolean, list, object, or "" for anything; another one is a warning
}

// document reads the config of an instance of a document.
func (p Pattern) document(m *Map, c *Config) {
	for _, s := range p.Settings {
		if m.Has(s.Name) { // from outside the file, all is text
			if e := m.node.entry(s.Name); e.value.loose && s.Type != "" && s.Type != "string" {
				if n := m.r.tree(e.value.text); n != nil {
					e.value = n
				}
			}
		}
		v, ok := m.Value(s.Name, s.Doc)
		if !ok {
			continue
		}
		if c.Values == nil {
			c.Values = map[string]Value{}
		}
		c.Values[s.Name] = v
		if want := s.Type; want != "" && !v.is(want) {
			m.Warnf(s.Name, "%s says that this is of type %s; it is given as it is", p.Name, want)
		}
	}
	if !slices.ContainsFunc(p.Settings, func(s DocumentSetting) bool { return s.Name == "timeout" }) {
		c.Timeout = m.Duration("timeout", "how long the run may take, or the attempt where the instance is nested", c.Timeout)
	}
	if !slices.ContainsFunc(p.Settings, func(s DocumentSetting) bool { return s.Name == "budget" }) {
		c.Budget = m.budget("budget", "what a run may spend: calls, tokens, cost in US dollars; judges count", c.Budget)
	}
}

// is reports whether the value is of a type, as far as that is known before its texts are expanded.
func (v Value) is(want string) bool {
	switch v.tree().(type) {
	case nil:
		return true
	case bool:
		return want == "boolean"
	case int64:
		return want == "integer" || want == "number"
	case float64:
		return want == "number"
	case Text:
		return want == "string"
	case []Value:
		return want == "list"
	case map[string]Value:
		return want == "object"
	}
	return false
}

// pattern finds the pattern that n names. Told is true where its problems were reported.
func (d *documents) pattern(n *node) (p Pattern, ok, told bool) {
	if d == nil || d.Pattern == nil {
		return Pattern{}, false, false
	}
	p, problems := d.Documents.Pattern(n.text, n.pos)
	d.r.foreign(problems)
	return p, p.Name != "", problems.Failed()
}

// member finds what ref names. Told is true where its problems were reported.
func (d *documents) member(ref *Ref) (told bool) {
	if d == nil || d.Member == nil {
		return false
	}
	found, problems := d.Documents.Member(ref.Name, ref.Pos)
	d.r.foreign(problems)
	ref.Delegate, ref.Instance = found.Delegate, found.Instance
	return problems.Failed()
}

// foreign enters problems of another file, each once.
func (r *reading) foreign(problems Problems) {
	for _, p := range problems {
		if !slices.ContainsFunc(r.problems, func(q Problem) bool { return p.Pos == q.Pos && p.Message == q.Message }) {
			r.problems = append(r.problems, p)
		}
	}
}

// unknownPattern reports that nothing is known under a pattern's name.
func (r *reading) unknownPattern(n *node, path string) {
	known := patternNames()
	if r.docs != nil {
		known = append(known, r.docs.Patterns...)
	}
	short := shortName(n.text)
	way := "firstgood patterns lists those that there are, and a document is named by its path"
	if near := diagnostic.Nearest(short, known); near != "" {
		way = fmt.Sprintf("did you mean %s?", near)
	}
	r.errorf(n, path, "unknown pattern %s; %s", quote(n.text), way)
}
