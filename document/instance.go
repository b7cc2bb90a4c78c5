package document

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/firstgood/firstgood/diagnostic"
)

// maxInstances is how deep instances nest in each other's slots.
const maxInstances = 50

// instances reads the instances of a file or node: the YAML of ### Patterns and ### Services, the older bullets of the latter, and
// the services of the front matter.
func (r *reading) instances(d *Document, p *part, f *front) {
	if f.services != nil {
		r.instanceList(d, yamlText{r, 1, 0}, f.services, false)
	}
	for _, s := range p.sections {
		if s.key != "patterns" && s.key != "services" {
			continue
		}
		found := false
		for _, f := range r.fences(s) {
			if f.info != "yaml" && f.info != "yml" && f.info != "" {
				continue
			}
			found = true
			y := yamlText{r, f.at.Line - 1, f.at.Column - 1}
			if root := y.parse(f.source, "what stands in the fence"); root != nil {
				r.instanceList(d, y, root, s.key == "patterns")
			}
		}
		switch items := r.items(s.blocks); {
		case s.key == "services":
			r.bullets(d, items)
		case !found && !(len(items) == 0 && noneForm.MatchString(strings.TrimSpace(s.Text))):
			r.errorAt(s.Pos, "%s holds no instances; write them as a list in a fence, ```yaml", s.Title)
		}
	}
}

// instanceList reads a list of instances. Where not all are instances, those without a pattern are names of services, which
// are bound nowhere.
func (r *reading) instanceList(d *Document, y yamlText, root *yaml.Node, all bool) {
	if root.Kind != yaml.SequenceNode {
		r.errorAt(y.pos(root), "got %s, want a list of instances: - name: …, pattern: …, with: …", describe(root))
		return
	}
	for _, n := range root.Content {
		switch {
		case n.Kind == yaml.ScalarNode && all:
			r.errorAt(y.pos(n), "%s alone is no instance; write - name: …, pattern: %s, with: …", quote(n.Value), quote(n.Value))
			continue
		case n.Kind == yaml.ScalarNode:
			r.decorator(y.pos(n), n.Value)
			continue
		case n.Kind != yaml.MappingNode:
			r.errorAt(y.pos(n), "got %s, want an instance: name, pattern, with, config", describe(n))
			continue
		}
		if !all && !hasKey(n, "pattern", "compose") {
			for key, value := range y.pairs(n) {
				if value.Kind == yaml.MappingNode {
					for inner, text := range y.pairs(value) {
						r.decorator(y.pos(inner), text.Value)
					}
				}
				r.decorator(y.pos(key), value.Value)
			}
			continue
		}
		if in := r.instance(y, n, 0); in != nil {
			r.addInstance(d, in)
		}
	}
}

func hasKey(n *yaml.Node, keys ...string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		for _, key := range keys {
			if n.Content[i].Value == key {
				return true
			}
		}
	}
	return false
}

func (r *reading) addInstance(d *Document, in *Instance) {
	switch {
	case r.full(len(d.Instances), in.Pos, "instances"):
		return
	case in.Name == "":
		r.errorAt(in.Pos, "the instance has no name; write name: …")
		return
	case !nameForm.MatchString(in.Name):
		r.errorAt(in.Pos, "an instance is named %s; want letters, digits, - and _", quote(in.Name))
		return
	case d.Slot(in.Name) != nil:
		r.errorAt(in.Pos, "%s is an instance and a slot; a name can be one of them", quote(in.Name))
		return
	}
	for _, other := range d.Instances {
		if other.Name == in.Name {
			r.errorAt(in.Pos, "the instance %s stands twice; the first is in line %d", quote(in.Name), other.Pos.Line)
			return
		}
	}
	d.Instances = append(d.Instances, in)
}

// instance reads an instance, or returns nil where it is none. Depth counts the instances that it is nested in.
func (r *reading) instance(y yamlText, n *yaml.Node, depth int) *Instance {
	in := &Instance{Pos: y.pos(n), source: r}
	if depth > maxInstances {
		r.errorAt(in.Pos, "instances nest deeper than %d", maxInstances)
		return nil
	}
	for key, value := range y.pairs(n) {
		at := y.pos(value)
		switch key.Value {
		case "name":
			in.Name, in.Pos = y.text(key, value).text, at
		case "pattern", "compose":
			if in.Pattern != "" {
				r.errorAt(y.pos(key), "pattern and compose say the same; keep one")
			}
			in.Pattern, in.At = y.text(key, value).text, at
			in.Older = key.Value == "compose"
			r.decorator(at, in.Pattern)
		case "with", "config": // below: their form depends on the key of the pattern
			if value.Kind != yaml.MappingNode && (value.Kind != yaml.ScalarNode || value.Tag != "!!null") {
				r.errorAt(at, "%s is %s, want keys", key.Value, describe(value))
			}
		default:
			hint := "an instance has name, pattern, with and config"
			if near := diagnostic.Nearest(key.Value, []string{"name", "pattern", "with", "config"}); near != "" {
				hint = "did you mean " + near + "?"
			}
			r.errorAt(y.pos(key), "unknown key %s; %s", quote(key.Value), hint)
		}
	}
	if in.Pattern == "" {
		if !hasKey(n, "pattern", "compose") {
			r.errorAt(in.Pos, "the instance has no pattern; write pattern: …")
		}
		return nil
	}
	for key, value := range unreported(y, n) {
		switch {
		case value.Kind != yaml.MappingNode:
		case key.Value == "with":
			for slot, bound := range y.pairs(value) {
				in.With = append(in.With, r.binding(y, in, slot, bound, depth))
			}
		case key.Value == "config":
			for name, set := range y.pairs(value) {
				v, err := toJSON(set)
				if err != nil {
					r.errorAt(y.pos(set), "%s: %v", name.Value, err)
				}
				in.Config = append(in.Config, Value{Key: name.Value, Pos: y.pos(name), At: y.pos(set), JSON: v})
			}
		}
	}
	return in
}

// unreported goes through the keys of a mapping whose faults were reported before.
func unreported(y yamlText, n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	y.r = &reading{path: y.r.path}
	return y.pairs(n)
}

// binding reads what is bound to a slot. In the older form it may be the value of a setting as well.
func (r *reading) binding(y yamlText, in *Instance, slot, bound *yaml.Node, depth int) Binding {
	b := Binding{Slot: slot.Value, Pos: y.pos(slot), List: bound.Kind == yaml.SequenceNode}
	if in.Older {
		if v, err := toJSON(bound); err == nil && !hasKey(bound, "pattern", "compose") {
			b.JSON = v
		}
	}
	members := []*yaml.Node{bound}
	if b.List {
		members = bound.Content
	}
	for _, m := range members {
		at := y.pos(m)
		switch {
		case m.Kind == yaml.MappingNode && len(m.Content) > 0 && r.decorator(at, decoratedIn.FindString(r.line(at.Line))):
		case m.Kind == yaml.ScalarNode && m.Tag == "!!str":
			if !r.decorator(at, m.Value) && m.Value == "" {
				r.errorAt(at, "%s has an empty name bound to it", quote(slot.Value))
			}
			b.Members = append(b.Members, Member{Name: strings.TrimSpace(m.Value), Pos: at})
		case m.Kind == yaml.MappingNode && (hasKey(m, "pattern", "compose") || b.JSON == nil):
			if nested := r.instance(y, m, depth+1); nested != nil {
				b.Members = append(b.Members, Member{Pos: at, Instance: nested})
			}
		case b.JSON != nil: // a setting
		case m.Kind == yaml.ScalarNode && m.Tag == "!!null":
			r.errorAt(at, "nothing is bound to %s; write the name of a delegate", quote(slot.Value))
		default:
			r.errorAt(at, "%s is bound to %s, want the name of a delegate or an instance; settings belong under config:", quote(slot.Value), describe(m))
		}
	}
	return b
}

var decoratedIn = regexp.MustCompile(`[\w./-]+\([\w-]+:[^()]*\)`)

var decorated = regexp.MustCompile(`^([\w./-]+)\(([^()]*)\)$`)

// decorator refuses the short form pattern(slot: x), and says how it is written out.
func (r *reading) decorator(at Pos, text string) bool {
	m := decorated.FindStringSubmatch(strings.Trim(strings.TrimSpace(text), "`"))
	if m == nil {
		return false
	}
	r.errorAt(at, "the short form %s is not read; write an instance: {pattern: %s, with: {…: …, %s}}, settings under config:", quote(m[0]), m[1], m[2])
	return true
}

// bullets reads the oldest form of instances, bullets below a name: `n`: `pattern`, and its slots and settings below it.
func (r *reading) bullets(d *Document, items []item) {
	for _, it := range items {
		h, ok := parseHead(it.whole().text)
		value := strings.Trim(h.text, "`")
		if !ok || !h.colon || len(it.items) == 0 || strings.ContainsAny(value, " ") {
			for _, child := range it.items {
				if h, ok := parseHead(child.whole().text); ok {
					r.decorator(child.head().pos, h.text)
				}
			}
			if ok {
				r.decorator(it.head().pos, h.text)
			}
			continue
		}
		in := &Instance{Name: h.name, Pos: it.head().pos, Pattern: value, At: it.head().pos, Older: true, source: r}
		for _, child := range it.items {
			text := child.whole()
			c, ok := parseHead(text.text)
			if !ok || !c.colon {
				r.errorAt(text.pos, "%s is no binding; write - `slot`: `delegate`", quote(text.text))
				continue
			}
			b := Binding{Slot: c.name, Pos: text.pos}
			if v, ok := literal(c.text); ok {
				b.JSON = v
			} else {
				b.JSON = jsonText(c.text)
			}
			if name := strings.Trim(c.text, "`"); !r.decorator(text.pos, name) && b.JSON[0] == '"' && !strings.ContainsAny(name, " {}[]\"") {
				b.Members = []Member{{Name: name, Pos: text.pos}}
			}
			in.With = append(in.With, b)
		}
		r.addInstance(d, in)
	}
}
