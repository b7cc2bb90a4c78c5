package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood/composite"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/document/library"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

// WorldConfig is how documents are read.
type WorldConfig struct {
	// Dir is the folder in which names are looked up that stand in no document, and outside which none is; see
	// [document.ShelfConfig]. "" is the current folder.
	Dir string
	// Literal runs each document as it is written, also one whose steps firstgood has natively.
	Literal bool
	// Strict makes a condition that only a judge can decide an error.
	Strict bool
}

// World finds documents by name, for a file and for each other, and makes patterns and instances of them. A document is
// read once. It is not safe for concurrent use.
type World struct {
	cfg       WorldConfig
	shelf     *document.Shelf
	texts     map[*document.Document]*writing
	functions map[*document.Document]*config.Instance
	instances map[*document.Instance]*config.Instance
	told      map[*document.Document]bool // whose own problems were reported
	paths     map[string]*document.Document
	making    []*document.Instance // that are being made, each for the one before it
}

// NewWorld returns a world in which nothing is read yet. It fails where Dir is no folder.
func NewWorld(cfg WorldConfig) (*World, error) {
	shelf, err := document.NewShelf(document.ShelfConfig{Dir: cfg.Dir})
	if err != nil {
		return nil, err
	}
	return &World{
		cfg: cfg, shelf: shelf, texts: map[*document.Document]*writing{},
		functions: map[*document.Document]*config.Instance{}, instances: map[*document.Instance]*config.Instance{},
		told: map[*document.Document]bool{}, paths: map[string]*document.Document{},
	}, nil
}

// Extras are what a file is read with, so that it can name documents, and its expressions and schemas are checked.
func (w *World) Extras() []config.Extra {
	return []config.Extra{config.Check(Check), &config.Documents{Pattern: w.pattern, Member: w.member, Patterns: library.Names()}}
}

// writing is what a document says is done, ready to be run: what config knows as the document of a pattern or an instance.
type writing struct {
	doc     *document.Document
	native  string         // the pattern that does it; "" where it runs as it is written
	script  *syntax.Script // of a body in ProseScript
	program *check.Program // the same, resolved
	helpers []config.Slot  // what the body calls by name beside its slots, each with one member
	free    []string       // inputs that are read and not declared, of a document that declares none
}

// Asks reports whether the text may leave something to a judge, and whether it does so in any case.
func (t *writing) asks() (may, must bool) {
	if t.native != "" {
		return false, false
	}
	if t.program == nil {
		return false, false
	}
	for _, c := range t.program.Plan.Conditions {
		may = may || c.Need != check.NeedNever
		must = must || c.Need == check.NeedAlways
	}
	return may, must
}

// Open reads the document that a user names: a path, or std/… for one of the library.
func (w *World) Open(name string) (*document.Document, diagnostic.Problems) {
	if strings.HasPrefix(name, "std/") {
		doc, problems := w.resolve(name, nil, config.Pos{})
		if doc == nil && problems == nil {
			unknown := w.shelf.Unknown(name, config.Pos{File: name}, nil)
			problems = diagnostic.Problems{unknown}
		}
		return doc, problems
	}
	doc, problems := w.shelf.Load(name)
	if doc != nil {
		w.told[doc], w.paths[doc.Path] = true, doc
	}
	return doc, problems
}

// resolve finds what a name means where it stands in a document, or in the file. No document and no problem: it is unknown.
func (w *World) resolve(name string, from *document.Document, at config.Pos) (*document.Document, diagnostic.Problems) {
	doc, problems := w.shelf.Resolve(name, at, from)
	if doc == nil || w.told[doc] {
		return doc, slices.DeleteFunc(problems, func(p diagnostic.Problem) bool { return doc != nil && p.Severity != diagnostic.SeverityError })
	}
	w.told[doc], w.paths[doc.Path] = true, doc
	return doc, problems
}

// pattern finds the pattern of an instance in a file; see [config.Documents].
func (w *World) pattern(name string, at config.Pos) (config.Pattern, config.Problems) {
	doc, problems := w.resolve(name, nil, at)
	if doc == nil || problems.Failed() {
		return config.Pattern{}, problems
	}
	p, more := w.patternOf(doc, at)
	return p, append(problems, more...)
}

// member finds what a slot in a file is bound to, or what a document calls, beside which it is looked up; see
// [config.Documents].
func (w *World) member(name string, at config.Pos) (config.Ref, config.Problems) {
	doc, problems := w.resolve(name, w.paths[at.File], at)
	if doc == nil || problems.Failed() {
		return config.Ref{}, problems
	}
	in, more := w.function(doc, at)
	return config.Ref{Name: name, Pos: at, Instance: in}, append(problems, more...)
}

// patternOf returns the pattern that a document describes.
func (w *World) patternOf(doc *document.Document, at config.Pos) (config.Pattern, diagnostic.Problems) {
	if doc.Kind == document.Function {
		return config.Pattern{}, wrongly(at, "%s is a %s, not a pattern; bind it to a slot, or call it", doc.Name, cmp.Or(doc.Written, "function"))
	}
	t, problems := w.textOf(doc)
	if problems.Failed() {
		return config.Pattern{}, problems
	}
	if t.native != "" {
		p, _ := config.PatternNamed(t.native)
		p.Document = t
		return p, problems
	}
	p := config.Pattern{Name: doc.Name, Doc: doc.Description, Document: t, Helpers: t.helpers}
	for _, s := range doc.Slots {
		p.Slots = append(p.Slots, config.PatternSlot{Name: s.Name, List: s.List, Doc: cmp.Or(s.Doc, "a delegate, or an instance of a pattern")})
	}
	p.Settings = settingsOf(doc)
	p.WantsJudge, _ = t.asks()
	p.OffersModel = doc.Kind == document.Composite
	return p, problems
}

// settingsOf are the names that an instance of a document may set: its settings, and its inputs.
func settingsOf(doc *document.Document) []config.DocumentSetting {
	var settings []config.DocumentSetting
	for _, s := range doc.Config {
		settings = append(settings, config.DocumentSetting{Name: s.Name, Doc: cmp.Or(s.Doc, "a setting of "+doc.Name), Type: document.JSONType(s.Type)})
	}
	for _, in := range doc.Inputs {
		if doc.Setting(in.Name) == nil {
			settings = append(settings, config.DocumentSetting{Name: in.Name, Doc: cmp.Or(in.Doc, "an input of "+doc.Name), Type: document.JSONType(in.Type)})
		}
	}
	return settings
}

// function returns the instance as which a function runs. It is made once for each.
func (w *World) function(doc *document.Document, at config.Pos) (*config.Instance, diagnostic.Problems) {
	if in := w.functions[doc]; in != nil {
		return in, nil
	}
	if doc.Kind != document.Function {
		return nil, wrongly(at, "%s is a %s; make an instance of it, in which its slots are bound: {pattern: %s, with: {…}}", doc.Name, doc.Kind, doc.Name)
	}
	in := &config.Instance{Name: doc.Name, Pos: doc.Pos, Pattern: string(document.Function), Brought: true}
	w.functions[doc] = in // before what it calls, which may be itself
	t, problems := w.textOf(doc)
	if problems.Failed() {
		return in, problems
	}
	in.Document, in.Slots = t, slices.Clone(t.helpers)
	in.WantsJudge, _ = t.asks()
	switch {
	case doc.Body != nil:
	case doc.Model != "":
		in.Slots = append(in.Slots, config.Slot{Name: modelSlot, Pos: doc.Pos, Members: []config.Ref{{Name: doc.Model, Pos: doc.Pos}}})
	default:
		in.AsksModel = true
	}
	return in, problems
}

// modelSlot is the slot of the delegate that answers what names nobody.
const modelSlot = "model"

// instance returns the instance that a document describes. It is made once for each.
func (w *World) instance(di *document.Instance, doc *document.Document, name string) (*config.Instance, diagnostic.Problems) {
	if in := w.instances[di]; in != nil {
		return in, nil
	}
	if i := slices.Index(w.making, di); i >= 0 {
		var way []string
		for _, on := range append(w.making[i:len(w.making):len(w.making)], di) {
			way = append(way, cmp.Or(on.Name, on.Pattern))
		}
		problems := wrongly(di.Pos, "this leads back to %s: %s; break the cycle", way[0], strings.Join(way, " → "))
		return &config.Instance{Name: name, Pos: di.Pos}, w.lines(doc, problems)
	}
	w.making = append(w.making, di)
	defer func() { w.making = w.making[:len(w.making)-1] }()
	of, problems := w.resolve(di.Pattern, doc, di.At)
	if of == nil && !problems.Failed() {
		problems = append(problems, w.shelf.Unknown(di.Pattern, di.At, doc))
	}
	if problems.Failed() {
		return &config.Instance{Name: name, Pos: di.Pos}, problems
	}
	p, more := w.patternOf(of, di.At)
	problems = append(problems, more...)
	if problems.Failed() {
		return &config.Instance{Name: name, Pos: di.Pos}, problems
	}
	var also []string
	for _, key := range p.Keys() {
		also = append(also, key.Name)
	}
	problems = append(problems, document.CheckInstance(di, of, also...)...)
	if problems.Failed() {
		return &config.Instance{Name: name, Pos: di.Pos}, problems
	}
	key := di
	di = di.For(of)
	var slots []config.Slot
	for _, b := range di.With {
		slot := config.Slot{Name: b.Slot, Pos: b.Pos, List: b.List, Members: []config.Ref{}}
		for i, m := range b.Members {
			ref, more := w.ref(m, doc, fmt.Sprintf("%s.%s[%d]", name, b.Slot, i))
			problems = append(problems, more...)
			slot.Members = append(slot.Members, ref)
		}
		slots = append(slots, slot)
	}
	var set []config.Setting
	for _, v := range di.Config {
		set = append(set, config.Setting{Origin: v.Pos.String(), Key: v.Key, Value: string(v.JSON)})
	}
	for name, value := range w.nativeDefaults(of, p) {
		if !slices.ContainsFunc(set, func(s config.Setting) bool { return s.Key == name }) {
			set = append(set, config.Setting{Origin: of.Pos.String(), Key: name, Value: string(value)})
		}
	}
	in, more := config.Compose(p, name, di.Pos, slots, set, config.Kinds(), w.Extras()...)
	if in != nil && w.Native(of) != "" {
		in.WantsJudge = true // a call may bring criteria
	}
	w.instances[key] = in
	return in, append(problems, more...)
}

// ref finds a member of a slot in a document: a node or an instance of the same file, an instance that stands there, or
// a name that the file of delegates knows, or else a document.
func (w *World) ref(m document.Member, doc *document.Document, place string) (config.Ref, diagnostic.Problems) {
	ref := config.Ref{Name: cmp.Or(m.Name, place), Pos: m.Pos}
	var problems diagnostic.Problems
	switch {
	case m.Instance != nil:
		ref.Instance, problems = w.instance(m.Instance, doc, cmp.Or(m.Instance.Name, place))
	default:
		ref.Instance, problems = w.local(m.Name, doc)
	}
	return ref, problems
}

// local finds an instance or a node of a document's own file, nil for none.
func (w *World) local(name string, doc *document.Document) (*config.Instance, diagnostic.Problems) {
	if doc == nil {
		return nil, nil
	}
	for _, d := range []*document.Document{doc, doc.Parent} {
		if d == nil {
			continue
		}
		for _, di := range d.Instances {
			if di.Name == name {
				return w.instance(di, d, name)
			}
		}
	}
	if node := doc.Node(name); node != nil && node != doc {
		return w.function(node, node.Pos)
	}
	return nil, nil
}

// Locals are the names that a document's own file gives to functions and instances, for what is bound to it.
func (w *World) Locals(doc *document.Document) (map[string]config.Ref, diagnostic.Problems) {
	refs := map[string]config.Ref{}
	var problems diagnostic.Problems
	add := func(name string, pos config.Pos) {
		in, more := w.local(name, doc)
		problems = append(problems, more...)
		if in != nil {
			refs[name] = config.Ref{Name: name, Pos: pos, Instance: in}
		}
	}
	for _, di := range doc.Instances {
		if di.Name != "" {
			add(di.Name, di.Pos)
		}
	}
	for _, node := range doc.Nodes {
		if node.Kind == document.Function {
			add(node.Name, node.Pos)
		}
	}
	return refs, problems
}

// textOf makes a document ready to be run, once.
func (w *World) textOf(doc *document.Document) (*writing, diagnostic.Problems) {
	if t := w.texts[doc]; t != nil {
		return t, nil
	}
	t := &writing{doc: doc}
	w.texts[doc] = t
	if t.native = w.Native(doc); t.native != "" || doc.Body == nil {
		return t, nil
	}
	if doc.Body.Language == document.JavaScript {
		return t, composite.Check(doc.Body.Source, doc.Body.Pos)
	}
	script, problems := syntax.Parse(doc.Body.Source, doc.Body.Pos)
	if problems.Failed() {
		return t, problems
	}
	env := envOf(doc)
	if doc.Open { // what it reads and nobody binds is an input
		for _, name := range syntax.Free(script) {
			if doc.Slot(name.Text) == nil && doc.Setting(name.Text) == nil && doc.Input(name.Text) == nil && name.Text != "config" {
				env.Inputs = append(env.Inputs, check.Input{Name: name.Text, Kind: check.InputValue, Optional: true})
				t.free = append(t.free, name.Text)
			}
		}
	}
	env.Find = func(name syntax.Name) *check.Target {
		target, more := w.target(t, name)
		problems = append(problems, more...)
		return target
	}
	program, more := check.New(script, env)
	problems = append(problems, more...)
	if program != nil && w.cfg.Strict {
		problems = append(problems, program.Strict()...)
	}
	t.script, t.program = script, program
	return t, w.lines(doc, problems)
}

// lines gives each problem the line that it is about.
func (w *World) lines(doc *document.Document, problems diagnostic.Problems) diagnostic.Problems {
	for i := range problems {
		if p := &problems[i]; p.Source == "" && p.Pos.File == doc.Path {
			p.Source = doc.Line(p.Pos.Line)
		}
	}
	return problems
}

// envOf is what the body of a document is given.
func envOf(doc *document.Document) check.Env {
	var env check.Env
	if doc.Kind == document.Function {
		env.Surface = check.Execution
	}
	for _, s := range doc.Slots {
		kind := check.InputSlot
		if s.List {
			kind = check.InputList
		}
		env.Inputs = append(env.Inputs, check.Input{Name: s.Name, Kind: kind})
	}
	for _, s := range doc.Config {
		env.Inputs = append(env.Inputs, check.Input{Name: s.Name, Kind: check.InputConfig, Optional: true})
	}
	for _, in := range doc.Inputs {
		if doc.Setting(in.Name) == nil {
			env.Inputs = append(env.Inputs, check.Input{Name: in.Name, Kind: check.InputValue, Optional: true})
		}
	}
	return env
}

// target finds what a text calls that is neither a slot nor a variable, nil for nothing: the nodes and instances of its
// file, and, for a function, what only the file of delegates can know, which is left to it.
func (w *World) target(t *writing, name syntax.Name) (*check.Target, diagnostic.Problems) {
	if t.doc.Kind != document.Function && t.doc.Node(name.Text) == nil {
		return nil, nil // a pattern calls its slots, and the helpers that stand beside it
	}
	target := &check.Target{Name: name.Text, Open: true}
	if slices.ContainsFunc(t.helpers, func(s config.Slot) bool { return s.Name == name.Text }) {
		return target, nil
	}
	ref, problems := w.ref(document.Member{Name: name.Text, Pos: name.Pos}, t.doc, name.Text)
	if ref.Instance != nil && ref.Instance.Pattern == string(document.Function) {
		of := ref.Instance.Document.(*writing).doc
		target.Open = of.Open || len(of.Inputs) == 0
		for _, in := range of.Inputs {
			target.Inputs = append(target.Inputs, check.Param{Name: in.Name, Optional: in.Optional})
		}
	}
	t.helpers = append(t.helpers, config.Slot{Name: name.Text, Pos: name.Pos, Members: []config.Ref{ref}})
	return target, problems
}

func wrongly(at config.Pos, format string, args ...any) diagnostic.Problems {
	return diagnostic.Problems{{Pos: at, Message: fmt.Sprintf(format, args...)}}
}

// Instance makes a document ready to be bound, with what the file and the user say: an instance of a pattern with its slots
// bound and its config set, or a function. Names in with are those of the document's own file, of the file, or of
// documents.
func (w *World) Instance(file *config.File, doc *document.Document, with []config.Binding, set []config.Setting) (*config.Instance, diagnostic.Problems) {
	at := config.Pos{File: doc.Path}
	if doc.Kind == document.Function {
		in, problems := w.function(doc, at)
		for _, b := range with {
			problems = append(problems, wrongly(config.Pos{File: b.Origin}, "%s is a function and has no slots", doc.Name)...)
		}
		for _, s := range set {
			problems = append(problems, wrongly(config.Pos{File: s.Origin}, "%s is a function and has no config; give its inputs with --input", doc.Name)...)
		}
		if !problems.Failed() {
			problems = append(problems, file.Adopt(in)...)
		}
		return in, problems
	}
	p, problems := w.patternOf(doc, at)
	locals, more := w.Locals(doc)
	problems = append(problems, more...)
	if problems.Failed() {
		return nil, problems
	}
	for name, value := range w.nativeDefaults(doc, p) {
		var text string
		if json.Unmarshal(value, &text) == nil && !slices.ContainsFunc(set, func(s config.Setting) bool { return s.Key == name }) {
			set = append(set, config.Setting{Origin: doc.Pos.String(), Key: name, Value: strings.ReplaceAll(text, "${", "$${")})
		}
	}
	in, more := file.Make(doc.Name, p, locals, with, set)
	return in, append(problems, more...)
}

// nativeDefaults are the defaults that a document whose steps run natively gives to settings of the native pattern.
func (w *World) nativeDefaults(doc *document.Document, p config.Pattern) map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	if w.Native(doc) == "" {
		return values
	}
	for _, key := range p.Keys() {
		if value := doc.Default(key.Name); !isBlank(value) {
			values[key.Name] = value
		}
	}
	return values
}

// Native returns the pattern that firstgood runs in place of the document's text; "" where the text is run.
func (w *World) Native(doc *document.Document) string {
	if name, _, ok := document.Native(doc); ok && !w.cfg.Literal {
		return name
	}
	return ""
}

// Check reads everything that a document leads to, and says what is wrong with it as far as that can be known without the
// file of delegates and without what is bound.
func (w *World) Check(doc *document.Document) diagnostic.Problems {
	problems := w.follow(doc, map[any]bool{})
	problems.Sort()
	return slices.CompactFunc(problems, func(a, b diagnostic.Problem) bool { return a.Pos == b.Pos && a.Message == b.Message })
}

// follow checks a document and those that it names, except those in seen.
func (w *World) follow(doc *document.Document, seen map[any]bool) diagnostic.Problems {
	var problems diagnostic.Problems
	for _, d := range append([]*document.Document{doc}, doc.Nodes...) {
		if seen[d] {
			continue
		}
		seen[d] = true
		if d.Kind == document.Function {
			in, more := w.function(d, d.Pos)
			problems = append(append(problems, more...), w.members(in, d, seen)...)
			continue
		}
		_, more := w.patternOf(d, d.Pos)
		problems = append(problems, more...)
	}
	locals, more := w.Locals(doc)
	problems = append(problems, more...)
	for _, ref := range locals {
		problems = append(problems, w.members(ref.Instance, doc, seen)...)
	}
	return problems
}

// members checks the documents that stand in the slots of an instance by their names.
func (w *World) members(in *config.Instance, doc *document.Document, seen map[any]bool) diagnostic.Problems {
	var problems diagnostic.Problems
	if seen[in] {
		return nil
	}
	seen[in] = true
	for member := range membersOf(in) {
		if member.Instance != nil {
			problems = append(problems, w.members(member.Instance, doc, seen)...)
			continue
		}
		found, more := w.resolve(member.Name, doc, member.Pos)
		problems = append(problems, more...)
		if found != nil && found.Kind == document.Function {
			problems = append(problems, w.follow(found, seen)...)
		}
	}
	return problems
}

// Program is what a document's text does; nil where it is none, or is not run.
func (w *World) Program(doc *document.Document) *check.Program {
	if t := w.texts[doc]; t != nil {
		return t.program
	}
	return nil
}
