package config

import (
	"fmt"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

func and(words []string) string { return join(words, "and") }
func or(words []string) string  { return join(words, "or") }

func join(words []string, last string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " " + last + " " + words[n-1]
}

// ref returns the name under key, not yet resolved; with a place but without the name where that is wrong.
func (m *Map) ref(key, doc string) Ref {
	n := m.take(key, doc, nil, func() schema { return schema{"type": "string", "pattern": nameText.String()} })
	if n == nil {
		return Ref{}
	}
	if !n.isText() {
		m.r.mismatch(n, m.at(key), "the name of a delegate or pattern", quoting(n))
		return Ref{Pos: n.pos}
	}
	if m.r.emptyName(n, m.at(key)) {
		return Ref{Pos: n.pos}
	}
	return Ref{Name: n.text, Pos: n.pos, path: m.at(key)}
}

// Lookup returns the delegate or instance of that name.
func (f *File) Lookup(name string) (Ref, bool) {
	for _, d := range f.Delegates {
		if d.Name == name {
			return Ref{Name: name, Pos: d.Pos, Delegate: d}, true
		}
	}
	for _, in := range f.Instances {
		if in.Name == name {
			return Ref{Name: name, Pos: in.Pos, Instance: in}, true
		}
	}
	return Ref{}, false
}

// Names returns the names of all delegates and instances, in the order of the file, delegates first.
func (f *File) Names() []string {
	names := make([]string, 0, len(f.Delegates)+len(f.Instances))
	for _, d := range f.Delegates {
		names = append(names, d.Name)
	}
	for _, in := range f.Instances {
		names = append(names, in.Name)
	}
	return names
}

// scope resolves names against a file.
type scope struct {
	*reading
	file   *File
	names  map[string]Ref
	unsafe map[*Instance]*Delegate // what unsafeIn found
	done   map[*Instance]bool      // those brought by documents whose names are resolved
}

// resolve turns every name of the file into what it names, and checks what only then can be checked.
func (r *reading) resolve(f *File) {
	s := r.scope(f)
	for _, in := range f.Instances {
		if d := s.names[in.Name].Delegate; d != nil {
			r.report(SeverityError, in.Pos, step("patterns", in.Name), "the name is taken by a delegate, at %v; delegates and patterns share their names, so rename one", d.Pos)
		}
	}
	s.bind(&f.Judge)
	s.bind(&f.Model)
	if f.Model.IsZero() {
		f.Model = f.Judge
	}
	for _, in := range f.Instances {
		s.instance(in)
	}
	paths := &paths{scope: s, depth: map[*Instance]int{}, at: map[*Instance]int{}}
	for _, in := range f.Instances {
		paths.visit(in, "")
		s.weigh(in)
	}
}

func (r *reading) scope(f *File) *scope {
	s := &scope{reading: r, file: f, names: make(map[string]Ref, len(f.Delegates)+len(f.Instances)), unsafe: map[*Instance]*Delegate{}, done: map[*Instance]bool{}}
	for _, in := range f.Instances {
		s.names[in.Name] = Ref{Instance: in}
	}
	for _, d := range f.Delegates {
		s.names[d.Name] = Ref{Delegate: d}
	}
	return s
}

// maxKnown is the number of names above which the nearest is not looked for.
const maxKnown = 2000

// bind resolves one name.
func (s *scope) bind(ref *Ref) {
	if ref.Name == "" || !ref.IsZero() {
		return
	}
	if found, ok := s.names[ref.Name]; ok {
		ref.Delegate, ref.Instance = found.Delegate, found.Instance
		return
	}
	if told := s.docs.member(ref); told || !ref.IsZero() {
		if ref.Instance != nil {
			s.brought(ref.Instance)
		}
		return
	}
	if len(s.problems) == maxProblems {
		s.left++
		return
	}
	known := s.file.Names()
	if len(known) > maxKnown {
		known = nil
	}
	way := "it is neither under delegates nor under patterns"
	switch near := diagnostic.Nearest(ref.Name, known); {
	case strings.HasPrefix(ref.Name, "x-"):
		way = "keys that begin with x- are free and name nothing; rename it"
	case near != "":
		way = fmt.Sprintf("did you mean %q?", near)
	case strings.Contains(ref.Name, "${"):
		way = "variables have no place in a name"
	case len(known) > 0:
		way = "there are " + and(known[:min(len(known), 12)])
		if len(known) > 12 {
			way += " …"
		}
	}
	s.report(SeverityError, ref.Pos, ref.path, "unknown delegate or pattern %s; %s", quote(ref.Name), way)
}

// brought resolves the names in an instance that a document has brought, once.
func (s *scope) brought(in *Instance) {
	if !s.done[in] {
		s.done[in] = true
		s.instance(in)
	}
}

// instance resolves the names in an instance and in those that stand in its slots.
func (s *scope) instance(in *Instance) {
	if in.WantsJudge {
		in.Judge, in.WantsJudge = s.file.Judge, false
	}
	if in.AsksModel || in.OffersModel && !s.file.Model.IsZero() {
		if s.file.Model.Pos == (Pos{}) {
			s.report(SeverityError, in.Pos, "", "%s asks a model; write model: NAME at the top of the file that names delegates", in.Name)
		}
		in.Slots = append(in.Slots[:len(in.Slots):len(in.Slots)], Slot{Name: "model", Pos: in.Pos, Members: []Ref{s.file.Model}})
		in.AsksModel, in.OffersModel = false, false
	}
	for _, slot := range in.Slots {
		for i := range slot.Members {
			member := &slot.Members[i]
			if member.inline {
				s.instance(member.Instance)
			}
			s.bind(member)
			if member.Instance != nil && member.Instance.Brought {
				s.brought(member.Instance)
			}
			s.note(in, member)
		}
	}
	for _, c := range []*Criterion{in.Config.Failure, in.Config.Acceptance} {
		c.Visit(s.judge)
	}
}

// weigh checks what an instance, and those that stand in its slots, say about what they lead to. All names are resolved.
func (s *scope) weigh(in *Instance) {
	for _, slot := range in.Slots {
		for _, member := range slot.Members {
			if member.inline {
				s.weigh(member.Instance)
			}
		}
	}
	s.settings(in)
	s.effects(in)
	s.costs(in)
}

// note says that a member may take longer than the run that it is part of.
func (s *scope) note(in *Instance, member *Ref) {
	limit := in.Config.Timeout
	switch d, inner := member.Delegate, member.Instance; {
	case limit == 0:
	case d != nil && d.ownTimeout && d.Timeout > limit:
		s.report(SeverityNote, member.Pos, member.path, "the timeout of %s, %v, is above that of %s, %v, which comes first", d.Name, d.Timeout, in.Name, limit)
	case inner != nil && inner.Config.Timeout > limit:
		s.report(SeverityNote, member.Pos, member.path, "the timeout of %s, %v, is above that of %s, %v, which comes first", inner.Name, inner.Config.Timeout, in.Name, limit)
	}
}

// judge finds the judge of a rule in plain language.
func (s *scope) judge(c *Criterion) {
	if c.Rule != RuleText {
		return
	}
	s.bind(&c.Judge)
	if c.Judge.Pos == (Pos{}) {
		c.Judge = s.file.Judge
	}
	if c.Judge.Pos == (Pos{}) { // else it is known, or was said to be wrong
		s.report(SeverityError, c.Pos, c.path, "a rule in plain language needs a judge: write judge: NAME at the top of the file, or {text: …, judge: NAME} here")
	}
}
