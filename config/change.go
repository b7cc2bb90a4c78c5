package config

import (
	"maps"
	"slices"
	"strings"
)

// Binding binds a slot from outside a file.
type Binding struct {
	Origin string // how problems name the place it came from, such as "--with chain"
	Slot   string
	Names  []string // of delegates and instances of the file; a slot that is no list takes exactly one
}

// Setting sets a key of an instance's config from outside a file.
type Setting struct {
	Origin string // how problems name the place it came from, such as "--timeout"
	Key    string
	Value  string // as in the file, without quotes; a mapping is in braces, a list in brackets or separated by commas
}

// Compose returns an instance of a pattern, whose slots are bound to what the caller has found, and whose names, and those of
// its criteria's judges, are to be resolved by [File.Adopt], or when something is bound to it: it is Brought. Slots that
// are not in bound are missing; a slot's Members may be names alone. Its config is read as that of the file is, but
// holds no variables of the environment; each Value is JSON. Problems are at the position. Kinds and extras are as for [Parse].
func Compose(p Pattern, name string, at Pos, bound []Slot, set []Setting, kinds []Kind, extras ...Extra) (*Instance, Problems) {
	r := newReading(at.String(), kinds, extras)
	r.origin = true
	in := newInstance(p, name, at)
	in.Brought = true
	for i := range p.Slots {
		for _, slot := range bound {
			if slot.Name == in.Slots[i].Name {
				in.Slots[i].Members, in.Slots[i].Pos = slot.Members, slot.Pos
			}
		}
		if in.Slots[i].Members == nil {
			r.report(SeverityError, Pos{File: at.String()}, "", "the slot %q of %s is missing: %s", in.Slots[i].Name, name, p.Slots[i].Doc)
		}
	}
	for _, s := range set {
		r.name = s.Origin
		if n := r.tree(strings.ReplaceAll(s.Value, "${", "$${")); n != nil { // JSON is YAML
			r.one(s.Key, n, func(m *Map) { r.configure(m, p, in) })
		}
	}
	in.texts = r.texts
	return in, r.finish()
}

// Adopt resolves the names in an instance that is not in the file against the file, and checks it as one of the file is.
// The file does not change. The instance must not be used where one of the problems is an error.
func (f *File) Adopt(in *Instance) Problems {
	r := newReading(in.Name, f.kinds, f.extras)
	r.origin = true
	s := r.scope(f)
	s.brought(in)
	(&paths{scope: s, depth: map[*Instance]int{}, at: map[*Instance]int{}}).visit(in, "")
	s.weigh(in)
	return r.finish()
}

// Instance returns an instance that is not in the file, with the delegates, instances and judge of the file, checked as one in
// the file is. The pattern is named as in the file. Problems have the origin of what they are about as their
// position, and the instance's name where they are about no binding and no setting. The instance is nil when one
// of them is an error. The file does not change.
func (f *File) Instance(name, pattern string, with []Binding, set []Setting) (*Instance, Problems) {
	r := newReading(name, f.kinds, f.extras)
	r.origin = true
	p, ok := r.patternNamed(&node{tag: "!!str", text: pattern, pos: Pos{File: name}}, "")
	if !ok {
		return nil, r.finish()
	}
	return f.change(r, p, newInstance(p, name, Pos{File: name}), nil, nil, with, set)
}

// Make returns an instance of a pattern that a document describes. Names in locals come before those of the file.
func (f *File) Make(name string, p Pattern, locals map[string]Ref, with []Binding, set []Setting) (*Instance, Problems) {
	r := newReading(name, f.kinds, f.extras)
	r.origin = true
	return f.change(r, p, newInstance(p, name, Pos{File: name}), nil, locals, with, set)
}

// Change returns a copy of an instance of the file with some slots bound and keys set otherwise; see [File.Instance].
func (f *File) Change(in *Instance, with []Binding, set []Setting) (*Instance, Problems) {
	r := newReading(in.Name, f.kinds, f.extras)
	r.origin = true
	p := in.of
	same := *in
	same.Slots = append([]Slot(nil), in.Slots...)
	same.places = maps.Clone(in.places)
	return f.change(r, p, &same, in, nil, with, set)
}

func (f *File) change(r *reading, p Pattern, in, before *Instance, locals map[string]Ref, with []Binding, set []Setting) (*Instance, Problems) {
	for _, b := range with {
		r.name = b.Origin
		n := &node{shape: list, pos: Pos{File: b.Origin}}
		for _, name := range b.Names {
			n.items = append(n.items, &node{tag: "!!str", text: name, pos: n.pos})
		}
		if s, ok := p.Slot(b.Slot); ok && !s.List {
			switch len(n.items) {
			case 0:
				n = &node{tag: "!!str", pos: n.pos}
			case 1:
				n = n.items[0]
			}
		}
		r.one(b.Slot, n, func(m *Map) { r.slots(m, p, in) })
	}
	for _, s := range set {
		r.name = s.Origin
		if n := r.setting(s); n != nil {
			r.one(s.Key, n, func(m *Map) { r.configure(m, p, in) })
		}
	}
	for i, slot := range in.Slots {
		if slot.Members == nil && i < len(p.Slots) && !r.problems.Failed() {
			r.report(SeverityError, Pos{File: in.Name}, "", "the slot %q is missing: %s", slot.Name, p.Slots[i].Doc)
		}
	}
	in.texts = append(append([]Text(nil), in.texts...), r.texts...)
	s := r.scope(f)
	maps.Copy(s.names, locals)
	s.instance(in)
	(&paths{scope: s, depth: map[*Instance]int{}, at: map[*Instance]int{}, replaced: before}).visit(in, "")
	s.weigh(in)
	r.forget(f, before)
	problems := r.finish()
	if problems.Failed() {
		return nil, problems
	}
	return in, problems
}

// forget removes what was said already about the instance of the file that is changed.
func (r *reading) forget(f *File, before *Instance) {
	if before == nil || len(r.problems) == 0 {
		return
	}
	then := (&reading{name: r.name, origin: true, kinds: r.kinds}).scope(f)
	then.instance(before)
	then.weigh(before)
	r.problems = slices.DeleteFunc(r.problems, func(p Problem) bool {
		return slices.ContainsFunc(then.problems, func(q Problem) bool { return p.Pos == q.Pos && p.Message == q.Message })
	})
}

// one hands a mapping with a single key to decode.
func (r *reading) one(key string, n *node, decode func(*Map)) {
	m := &Map{r: r, pos: n.pos, outside: true, node: &node{shape: mapping, pos: n.pos, keys: []entry{{key, n.pos, n}}}}
	decode(m)
	for i := range m.fields {
		m.fields[i].required = false // the other slots may be bound already
	}
	m.finish()
}

// setting returns the value of a setting as a node of the file, nil when it cannot be read.
func (r *reading) setting(s Setting) *node {
	value := strings.TrimSpace(s.Value)
	within := func(open, end string) bool { return strings.HasPrefix(value, open) && strings.HasSuffix(value, end) }
	if within("{", "}") || within("[", "]") && !strings.HasSuffix(s.Key, "_criteria") {
		return r.tree(value)
	}
	return &node{tag: "!!str", text: s.Value, loose: true, pos: Pos{File: s.Origin}}
}
