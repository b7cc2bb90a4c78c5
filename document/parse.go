package document

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"go.yaml.in/yaml/v3"

	"github.com/firstgood/firstgood/diagnostic"
)

// Parse reads a document. The path stands in its places and problems and is not opened. All that is wrong is reported at once, in
// order; with an error among the problems the document holds what could be read, and is nil where that is nothing.
//
// The text is UTF-8; a byte order mark and any line ends are taken. More than 1 MiB, other encodings, NUL bytes, and lists and
// quotes that nest deeper than 100 are refused.
func Parse(path string, data []byte) (*Document, Problems) {
	r, ok := newReading(path, data)
	if !ok {
		return nil, r.done()
	}
	f := r.front()
	if f == nil {
		return nil, r.done()
	}
	blank := []byte(r.text)
	for i := range f.end {
		if blank[i] != '\n' {
			blank[i] = ' '
		}
	}
	parts := r.parts(string(blank))
	d := r.file(f, parts[0])
	if d == nil {
		return nil, r.done()
	}
	r.fill(d, parts[0], f)
	for _, p := range parts[1:] {
		r.node(d, p)
	}
	r.twice(d)
	return d, r.done()
}

// kinds are how each kind that is written is read.
var kinds = map[string]Kind{
	"pattern": Pattern, "composite": Composite, "function": Function,
	"service": Function, "responsibility": Function, "program": Function, "system": Function,
}

// refusals say why a kind is not read, and what to do.
var refusals = map[string]string{
	"gateway":      "a gateway waits for the outside world, and firstgood runs once; call what it emits",
	"test":         "a test is run by a harness of its own; run its subject",
	"program-node": "this is the form of before 2026; write kind: composite, and ### sections",
}

// file begins the document of a file. It returns nil where nothing can be said about its sections.
func (r *reading) file(f *front, p *part) *Document {
	d := &Document{Path: r.path, Name: f.name.text, Written: f.kind.text, Pos: f.name.pos, source: r}
	if d.Name == "" {
		d.Name, d.Pos = p.title, r.pos(0)
	}
	if d.Name == "" && !f.broken {
		r.errorAt(r.pos(0), "the document has no name; put name: into its front matter")
	}
	if f.kind.text == "" {
		if !f.broken {
			r.errorAt(r.pos(0), "the document has no kind; put kind: pattern, composite or function into its front matter")
		}
		return nil
	}
	kind, ok := kinds[f.kind.text]
	d.Kind = kind
	if why, refused := refusals[f.kind.text]; refused {
		r.errorAt(f.kind.pos, "kind: %s is not run: %s", f.kind.text, why)
		return nil
	}
	if !ok {
		hint := "want pattern, composite or function"
		if near := diagnostic.Nearest(f.kind.text, []string{"pattern", "composite", "function", "service", "responsibility"}); near != "" {
			hint = "did you mean " + near + "?"
		}
		r.errorAt(f.kind.pos, "unknown kind %s; %s", quote(f.kind.text), hint)
		return nil
	}
	if (d.Written == "program" || d.Written == "system") && p.section("execution") == nil {
		r.errorAt(f.kind.pos, "kind: %s wires its services by what their texts mean, which takes a model; write a function whose ### Execution calls them", d.Written)
		return nil
	}
	return d
}

// twice reports names that a file gives to an instance and to a node.
func (r *reading) twice(file *Document) {
	for _, d := range append([]*Document{file}, file.Nodes...) {
		for _, in := range d.Instances {
			if file.Node(in.Name) != nil {
				r.errorAt(in.Pos, "%s is an instance and a node of this file; a name can be one of them", quote(in.Name))
			}
		}
	}
}

// node adds an inline node to its file.
func (r *reading) node(file *Document, p *part) {
	d := &Document{Path: r.path, Name: p.name, Kind: Function, Pos: p.pos, Parent: file, source: r}
	if p.section("slots", "delegation", "delegation loop") != nil {
		d.Kind = Pattern
	}
	switch {
	case r.full(len(file.Nodes), p.pos, "nodes"):
		return
	case d.Name == "":
		r.errorAt(p.pos, "a ## heading without a name; it begins a node, which needs one")
		return
	case file.Node(d.Name) != nil:
		r.errorAt(p.pos, "the node %s stands twice in this file", quote(d.Name))
		return
	}
	file.Nodes = append(file.Nodes, d)
	r.fill(d, p, &front{})
}

// known are the sections that mean something. Each stands once.
var known = map[string]bool{
	"slots": true, "config": true, "requires": true, "parameters": true, "ensures": true, "returns": true, "maintains": true,
	"delegation": true, "delegation loop": true, "execution": true, "patterns": true, "services": true, "runtime": true,
	"description": true,
}

// fill reads the sections of a file or node.
func (r *reading) fill(d *Document, p *part, f *front) {
	r.older(p)
	seen := map[string]bool{}
	for _, s := range p.sections {
		if known[s.key] && seen[s.key] {
			r.errorAt(s.Pos, "the section %s stands twice; put both into one", s.Title)
		}
		seen[s.key] = true
		d.Sections = append(d.Sections, s.Section)
	}
	d.Description = p.intro
	if s := p.section("description"); s != nil {
		d.Description = s.Text
	}
	r.slots(d, p, f)
	r.config(d, p)
	r.inputs(d, p)
	r.runtime(d, p)
	if d.Kind == Function {
		r.returns(d, p)
		r.execution(d, p)
		d.Text = prompt(p, d.Body)
	} else {
		r.delegation(d, p)
		r.implicit(d)
	}
	r.instances(d, p, f)
}

// older turns lower-case blocks, a paragraph such as requires: before a list, into sections.
func (r *reading) older(p *part) {
	for i := 0; i+1 < len(p.blocks); i++ {
		if p.blocks[i].Kind() != ast.KindParagraph || p.blocks[i+1].Kind() != ast.KindList {
			continue
		}
		lines := r.lines(p.blocks[i])
		if len(lines) == 0 {
			continue
		}
		last := lines[len(lines)-1]
		key, ok := strings.CutSuffix(last.text, ":")
		if !ok || !known[key] {
			continue
		}
		if s := p.section(key); s != nil {
			r.warnAt(last.pos, "%s stands in lower case and as a section; the section in line %d counts", last.text, s.Pos.Line)
			continue
		}
		from, _ := r.lineAround(p.blocks[i+1].Pos())
		to := len(r.text)
		if i+2 < len(p.blocks) {
			to, _ = r.lineAround(p.blocks[i+2].Pos())
		} else if len(p.sections) > 0 {
			to = p.sections[0].from
			to, _ = r.lineAround(to - 1)
		}
		s := &section{Section: Section{Title: key, Pos: last.pos}, key: key, blocks: p.blocks[i+1 : i+2]}
		s.Text = strings.Trim(trimRight(r.text[from:max(from, to)]), "\n")
		p.sections = append(p.sections, s)
		p.intro, _, _ = strings.Cut(p.intro, last.text+"\n")
		p.intro = strings.TrimSpace(p.intro)
	}
}

func (r *reading) slots(d *Document, p *part, f *front) {
	add := func(s Slot) {
		switch {
		case r.full(len(d.Slots), s.Pos, "slots"):
		case !nameForm.MatchString(s.Name):
			r.errorAt(s.Pos, "a slot is named %s; want letters, digits, - and _", quote(s.Name))
		case d.Slot(s.Name) != nil:
			r.errorAt(s.Pos, "the slot %s stands twice", quote(s.Name))
		default:
			d.Slots = append(d.Slots, s)
		}
	}
	s := p.section("slots")
	if s == nil {
		if f.slots != nil && f.slots.Kind == yaml.SequenceNode {
			for _, n := range f.slots.Content {
				add(Slot{Name: n.Value, Pos: yamlText{r, 1, 0}.pos(n)})
			}
		}
		return
	}
	for _, it := range r.items(s.blocks) {
		text := it.whole()
		h, ok := parseHead(text.text)
		switch {
		case !ok && nameForm.MatchString(text.text) && !noneForm.MatchString(text.text):
			add(Slot{Name: text.text, Pos: text.pos})
		case ok:
			attributes := parseHints(h.attributes)
			add(Slot{Name: h.name, Pos: text.pos, Doc: h.text, Primary: attributes.primary, List: attributes.list || JSONType(attributes.kind) == "list"})
		case !noneForm.MatchString(text.text):
			r.errorAt(text.pos, "%s is no slot; write - `name`: what it does", quote(text.text))
		}
	}
}

func (r *reading) config(d *Document, p *part) {
	s := p.section("config")
	if s == nil {
		return
	}
	for _, it := range r.items(s.blocks) {
		text := it.whole()
		h, ok := parseHead(text.text)
		if !ok {
			if !noneForm.MatchString(text.text) {
				r.errorAt(text.pos, "%s is no setting; write - `name` (type, default: value): what it does", quote(text.text))
			}
			continue
		}
		setting := Setting{Name: h.name, Pos: text.pos, Doc: h.text}
		var found hints
		if h.group {
			found = parseHints(h.attributes)
		} else if value, ok := literal(h.text); ok {
			setting.Default, setting.Doc = value, ""
		} else {
			found, setting.Doc = hintsIn(h.text)
		}
		setting.Type = found.kind
		if found.hasDefault {
			setting.Default = r.initial(text.pos, h.name, found)
		} else if setting.Default == nil && found.optional {
			setting.Default = json.RawMessage("null")
		}
		setting.Required = setting.Default == nil
		switch {
		case r.full(len(d.Config), text.pos, "settings"):
		case !nameForm.MatchString(h.name):
			r.errorAt(text.pos, "a setting is named %s; want letters, digits, - and _", quote(h.name))
		case d.Setting(h.name) != nil:
			r.errorAt(text.pos, "the setting %s stands twice", quote(h.name))
		case d.Slot(h.name) != nil:
			r.errorAt(text.pos, "%s is a slot and a setting; a name can be one of them", quote(h.name))
		default:
			d.Config = append(d.Config, setting)
		}
	}
}

// initial returns the default of an item, and says where it is not what the type says.
func (r *reading) initial(at Pos, name string, h hints) json.RawMessage {
	value, ok := initial(h.kind, h.initial)
	if !ok {
		r.warnAt(at, "the default of %s is %s, which is no %s; it is taken as a text", name, quote(h.initial), h.kind)
	}
	return value
}

func (r *reading) inputs(d *Document, p *part) {
	declared := false
	for _, key := range []string{"parameters", "requires"} {
		s := p.section(key)
		if s == nil {
			continue
		}
		declared = true
		seen := map[string]bool{}
		for _, it := range r.items(s.blocks) {
			r.inputItem(d, it, seen)
		}
	}
	d.Open = !declared && d.Kind != Function
}

var stateForm = regexp.MustCompile(`(?:^|\s)&(controlState|compositeState)\b`)

// inputItem reads an item of Requires or Parameters: an input, or a line such as "Pattern instance receives:" above inputs.
func (r *reading) inputItem(d *Document, it item, seen map[string]bool) {
	first := it.head()
	h, ok := parseHead(first.text)
	switch {
	case strings.HasSuffix(first.text, ":") && (!ok || strings.HasPrefix(h.name, "&") || h.text == "" && len(it.items)+len(it.lines) > 1):
		if m := stateForm.FindStringSubmatch(first.text); m != nil {
			d.State = m[1]
		}
		r.inputBlock(d, it.lines[1:], seen)
		for _, child := range it.items {
			r.inputItem(d, child, seen)
		}
	case ok && !noneForm.MatchString(first.text):
		whole := it.whole()
		h, _ = parseHead(whole.text)
		r.input(d, whole.pos, h, seen)
	}
}

// inputBlock reads lines of name: type -- text. A line that is further right than the first goes on with the one above it.
func (r *reading) inputBlock(d *Document, lines []line, seen map[string]bool) {
	for i := 0; i < len(lines); {
		entry := lines[i]
		for i++; i < len(lines) && lines[i].pos.Column > lines[0].pos.Column; i++ {
			entry.text += " " + lines[i].text
		}
		h, ok := parseHead(entry.text)
		if !ok {
			r.errorAt(entry.pos, "%s is no input; write name: type -- what it is", quote(entry.text))
			continue
		}
		r.input(d, entry.pos, h, seen)
	}
}

// input adds an input, or what a line about a slot says of it.
func (r *reading) input(d *Document, at Pos, h head, seen map[string]bool) {
	if !nameForm.MatchString(h.name) {
		if h.quoted && d.Kind != Function { // a responsibility may subscribe to other things than names
			r.errorAt(at, "an input is named %s; want letters, digits, - and _", quote(h.name))
		}
		return
	}
	found, doc := hintsIn(h.text)
	if h.group {
		attributes := parseHints(h.attributes)
		found.optional = found.optional || attributes.optional
		if attributes.kind != "" {
			found.kind = attributes.kind
		}
		if attributes.hasDefault {
			found.hasDefault, found.initial = true, attributes.initial
		}
	}
	if r.full(len(d.Inputs), at, "inputs") {
		return
	}
	if seen[h.name] {
		r.errorAt(at, "the input %s stands twice", quote(h.name))
		return
	}
	seen[h.name] = true
	if slot := d.Slot(h.name); slot != nil {
		slot.List = slot.List || JSONType(found.kind) == "list"
		if slot.Doc == "" {
			slot.Doc = doc
		}
		return
	}
	if d.Input(h.name) != nil {
		return // Parameters said it
	}
	in := Input{Name: h.name, Pos: at, Type: found.kind, Optional: found.optional || found.hasDefault, Doc: doc}
	if found.hasDefault {
		kind := found.kind
		if s := d.Setting(h.name); s != nil && kind == "" {
			kind = s.Type
		}
		in.Default = r.initial(at, h.name, hints{kind: kind, initial: found.initial})
	}
	if s := d.Setting(h.name); s != nil && s.Default != nil {
		in.Optional = true
	}
	d.Inputs = append(d.Inputs, in)
}

// briefs are the inputs that a brief goes to, the first that a document has.
var briefs = []string{"task_brief", "brief", "input", "task"}

var taskBrief = regexp.MustCompile(`\btask_brief\b`)

// implicit adds task_brief to a pattern that reads it and lists no input of this kind, as the published fan-out does.
func (r *reading) implicit(d *Document) {
	if d.Body == nil || d.Open {
		return
	}
	for _, name := range briefs {
		if d.Input(name) != nil || d.Setting(name) != nil || d.Slot(name) != nil {
			return
		}
	}
	if m := taskBrief.FindStringIndex(d.Body.Source); m != nil {
		before := d.Body.Source[:m[0]]
		at := d.Body.Pos
		at.Line += strings.Count(before, "\n")
		at.Column += len(before) - strings.LastIndexByte(before, '\n') - 1
		d.Inputs = append(d.Inputs, Input{Name: "task_brief", Pos: at, Type: "string", Optional: true, Implicit: true, Doc: "the task"})
	}
}

func (r *reading) runtime(d *Document, p *part) {
	s := p.section("runtime")
	if s == nil {
		return
	}
	for _, it := range r.items(s.blocks) {
		h, ok := parseHead(it.whole().text)
		if !ok {
			continue
		}
		switch value := strings.Trim(h.text, "`\""); h.name {
		case "model":
			d.Model = value
		case "state.reads", "state.writes":
			if m := stateForm.FindStringSubmatch(h.text); m != nil && d.State == "" {
				d.State = m[1]
			}
		}
	}
}

// remarks begin items of Returns that are about the whole reply.
var remarks = map[string]bool{"postcondition": true, "postconditions": true, "note": true}

// returns reads the fields of a function's reply. An item without a name says something about all of it, and is no field.
func (r *reading) returns(d *Document, p *part) {
	s := p.section("returns", "ensures", "maintains")
	if s == nil {
		return
	}
	for _, it := range r.items(s.blocks) {
		text := it.all()
		first, rest, nested := strings.Cut(text, "\n")
		h, ok := parseHead(first)
		if !ok || !nameForm.MatchString(h.name) || !h.colon && !h.quoted {
			continue
		}
		doc := h.text
		if h.group {
			doc = strings.TrimSpace(fmt.Sprintf("(%s) %s", h.attributes, doc))
		}
		if nested {
			doc += "\n" + rest
		}
		if r.full(len(d.Returns), it.head().pos, "fields") {
			return
		}
		if !h.quoted && remarks[strings.ToLower(h.name)] {
			continue
		}
		if i := slices.IndexFunc(d.Returns, func(f Field) bool { return f.Name == h.name }); i >= 0 {
			d.Returns[i].Doc += "\n" + doc // more is said about it
			continue
		}
		d.Returns = append(d.Returns, Field{Name: h.name, Pos: it.head().pos, Doc: doc})
	}
}
