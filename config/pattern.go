package config

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
)

// Pattern describes a coordination algorithm: what an instance of it binds and sets.
type Pattern struct {
	Name  string
	Doc   string
	Slots []PatternSlot
	// Document is what the pattern was read from, where that is one; see [Documents]. Such a pattern has the Settings of its
	// own, and of those of all patterns timeout and budget alone, unless it is one of [Patterns], by another name.
	Document any
	Settings []DocumentSetting
	Helpers  []Slot // what its text calls beside its slots, bound already; they follow the slots of each instance

	WantsJudge  bool // the text may leave something to the file's judge; see [Instance.Judge]
	OffersModel bool // the text may ask the file's model, where there is one; see [Instance.AsksModel]

	own func(*Map, *Config) // reads the config that other patterns do not have
}

// PatternSlot is a place in a pattern that delegates are bound to.
type PatternSlot struct {
	Name string
	List bool // it holds a list of delegates, else one
	Doc  string
}

// Key is a key of a pattern's config.
type Key struct{ Name, Doc string }

// Patterns returns the patterns that an instance can be of.
func Patterns() []Pattern {
	return []Pattern{
		{Name: "fallback-chain", Doc: "try delegates in order of preference, move on only when one fails",
			Slots: []PatternSlot{{"chain", true, "the delegates, the preferred first"}}, own: func(*Map, *Config) {}},
		{Name: "race", Doc: "start all at once, take the first acceptable result, cancel the rest",
			Slots: []PatternSlot{{"candidates", true, "the delegates that race"}}, own: func(m *Map, c *Config) {
				c.Order = m.Enum("order", "eager: the first good reply wins; listed: the earliest-listed that is good", c.Order, "eager", "listed")
				c.StartAfter = m.span("start_after", "start one, and the next each time this much has passed or one has failed", c.StartAfter, "s", "ms")
				c.MaxParallel = m.Int("max_parallel", "how many may be under way at once; all unless said", 1, maxWidth, c.MaxParallel)
				c.HedgeCeiling = m.share("hedge_ceiling", "how many starts of start_after there may be, as a share of all runs, such as 10%; no bound unless said", 0.0001, c.HedgeCeiling)
			}},
		{Name: "fan-out", Doc: "give the brief to all, bring back every reply",
			Slots: []PatternSlot{{"delegates", true, "the delegates"}}, own: func(m *Map, c *Config) {
				c.Width = m.Int("width", "how many may be under way at once; all unless said", 1, maxWidth, c.Width)
			}},
		{Name: "retry-with-learning", Doc: "ask one delegate again, each time with what went wrong before",
			Slots: []PatternSlot{{"target", false, "the delegate that is asked"}}, own: func(m *Map, c *Config) {
				c.MaxRetries = m.Int("max_retries", "how many attempts are made altogether; 3 unless said", 1, maxRetries, c.MaxRetries)
			}},
	}
}

const maxWidth = 10_000

// shelves are the prefixes under which documents name the standard patterns.
var shelves = []string{"std/patterns/", "std/controls/", "std/composites/"}

// PatternNamed returns the pattern of the given name, which may begin with std/patterns/, std/controls/ or
// std/composites/.
func PatternNamed(name string) (Pattern, bool) {
	for _, shelf := range shelves {
		if rest, ok := strings.CutPrefix(name, shelf); ok {
			name = rest
			break
		}
	}
	for _, p := range Patterns() {
		if p.Name == name {
			return p, true
		}
	}
	return Pattern{}, false
}

func patternNames() []string {
	var names []string
	for _, p := range Patterns() {
		names = append(names, p.Name)
	}
	return names
}

// Slot returns the pattern's slot of that name.
func (p Pattern) Slot(name string) (PatternSlot, bool) {
	i := slices.IndexFunc(p.Slots, func(s PatternSlot) bool { return s.Name == name })
	if i < 0 {
		return PatternSlot{}, false
	}
	return p.Slots[i], true
}

// Keys returns the keys of the pattern's config.
func (p Pattern) Keys() []Key {
	m := &Map{r: &reading{}}
	p.config(m, &Config{})
	keys := make([]Key, len(m.fields))
	for i, f := range m.fields {
		keys[i] = Key{f.name, f.doc}
	}
	return keys
}

// config reads what an instance sets, on top of what c holds.
func (p Pattern) config(m *Map, c *Config) {
	if p.own == nil {
		p.document(m, c)
		return
	}
	p.own(m, c)
	if criterion := m.criterion("failure_criteria", "when a reply is bad"); m.Has("failure_criteria") {
		c.Failure = criterion
	}
	if criterion := m.criterion("acceptance_criteria", "when a reply is good"); m.Has("acceptance_criteria") {
		c.Acceptance = criterion
	}
	c.NonEmpty = m.Bool("nonempty", "true: a reply that says nothing is bad", c.NonEmpty)
	c.Timeout = m.Duration("timeout", "how long the run may take, or the attempt where the instance is nested", c.Timeout)
	if p.Name != "fan-out" {
		m.advancing(c, p.Slots[0].List)
		m.changes(c)
	}
	m.spending(c)
}

// Instance is a pattern with its slots bound and its config set. It is a delegate, too.
type Instance struct {
	Name    string // of one that stands in another's slot: the slot's place, such as quick.candidates[1]
	Pos     Pos
	Pattern string // the pattern's name without std/…
	Slots   []Slot // one for each of the pattern's slots, in the pattern's order
	Config  Config

	// Document is that of the pattern; see [Pattern]. Nil where the pattern comes from none.
	Document any
	// Judge weighs what the text of a document leaves open, once names are resolved; zero where it leaves nothing open, or
	// the file has no judge.
	Judge Ref
	// WantsJudge is true where Judge is to be found.
	WantsJudge bool
	// Brought is true of an instance that a document has brought: its names are resolved when something is bound to it.
	Brought bool
	// AsksModel is true of one that asks the file's model. Once its names are resolved it is false, and the model is in a
	// last slot of the name model. OffersModel is the same, but does without where the file names no model.
	AsksModel, OffersModel bool

	of     Pattern
	texts  []Text
	places map[string]place // of what is in Config and Slots, by key
}

// Slot is a slot and what is bound to it.
type Slot struct {
	Name    string
	Pos     Pos
	List    bool
	Members []Ref // exactly one unless it is a list, which may be empty

	path string
}

// Ref is a name where it is used, and what it names: a delegate or an instance, never both. The zero Ref names nothing.
type Ref struct {
	Name     string
	Pos      Pos
	Delegate *Delegate
	Instance *Instance

	path   string
	inline bool // the instance stands here and has no name in the file
}

// IsZero reports whether the ref names nothing.
func (r Ref) IsZero() bool { return r.Delegate == nil && r.Instance == nil }

// Config is what an instance sets. Keys that its pattern does not have keep their zero value.
type Config struct {
	Failure     *Criterion // nil: none
	Acceptance  *Criterion // nil: none
	NonEmpty    bool
	Timeout     time.Duration // 0: none
	Order       string        // race: "eager" or "listed"
	StartAfter  time.Duration // race: 0 starts all at once
	MaxParallel int           // race: 0 for all
	Width       int           // fan-out: 0 for all
	MaxRetries  int           // retry-with-learning: attempts altogether

	// What a failure does, but in a fan-out. At most one of AdvanceOn and StopOn is not nil; neither is empty.
	AdvanceOn []firstgood.Kind // any other kind stops the run
	StopOn    []firstgood.Kind // any other kind goes on
	OnRefusal *Refusal         // nil: a refusal is like other failures

	// What a run may take.
	Reserve         time.Duration // of Timeout, for each attempt still to come; 0: none
	Budget          *Budget       // nil: no bound
	HedgeCeiling    float64       // race: starts of StartAfter for each run, from 0.0001 to 1; 0: no bound
	WaitForRecovery time.Duration // when all are left alone for their health; 0: not at all

	// What is done with changes that delegates in places of their own make.
	Protect []Text // globs of paths that no change may touch; nil: the default list; empty: none
	Patch   *Patch // nil: any change will do, and none
	Apply   string // one of the Apply constants, or "", which is ApplyNone

	// Values are the settings of an instance of a document, by name; nil when there are none.
	Values map[string]Value
}

// newInstance returns an instance of p with nothing bound and the defaults of its config.
func newInstance(p Pattern, name string, pos Pos) *Instance {
	in := &Instance{Name: name, Pos: pos, Pattern: p.Name, Document: p.Document, WantsJudge: p.WantsJudge, OffersModel: p.OffersModel, of: p}
	switch p.Name {
	case "race":
		in.Config.Order = "eager"
	case "retry-with-learning":
		in.Config.MaxRetries = 3
	}
	for _, s := range p.Slots {
		in.Slots = append(in.Slots, Slot{Name: s.Name, List: s.List, Pos: pos})
	}
	for _, helper := range p.Helpers {
		helper.Members = slices.Clone(helper.Members) // they are resolved for each instance
		in.Slots = append(in.Slots, helper)
	}
	return in
}

// Bound returns what is bound to the slot of that name, nil where there is no such slot.
func (in *Instance) Bound(slot string) []Ref {
	for _, s := range in.Slots {
		if s.Name == slot {
			return s.Members
		}
	}
	return nil
}

// instance reads an instance. It is never nil; without a known pattern it has no slots.
func (r *reading) instance(m *Map, name string) *Instance {
	m.hint = func(key string) string {
		switch {
		case slices.ContainsFunc(r.kinds, func(k Kind) bool { return k.Name == key }):
			return "it makes a delegate, which goes under delegates"
		case slotOwner(key) != "":
			return "it is a slot; write it under with"
		case keyOwner(key) != "":
			return "it is a setting; write it under config"
		}
		return ""
	}
	kind, slot := false, false // keys that have no place here
	if m.node != nil {
		for _, e := range m.node.keys {
			kind = kind || slices.ContainsFunc(r.kinds, func(k Kind) bool { return k.Name == e.key })
			slot = slot || slotOwner(e.key) != ""
		}
	}
	p, ok := m.pattern("pattern", "which pattern this is an instance of, such as fallback-chain", !kind)
	in := newInstance(p, name, m.pos)
	with := func(w *Map) { r.slots(w, p, in) }
	config := func(c *Map) { r.configure(c, p, in) }
	if !ok { // what the slots and settings are cannot be known
		with, config = passOver, passOver
	}
	m.open("with", "what is bound to the pattern's slots", with)
	m.open("config", "the pattern's settings", config)
	if m.node != nil && ok && !slot && !m.Has("with") { // its slots are missing, then
		r.enter(&node{shape: mapping, pos: m.pos}, m.pos, step(m.path, "with"), with)
	}
	return in
}

// passOver asks for every key of a mapping and looks at none.
func passOver(m *Map) {
	if m.node == nil {
		return
	}
	for _, e := range m.node.keys {
		m.fields = append(m.fields, field{name: e.key})
	}
}

// slotOwner returns the name of the first pattern that has the slot, and keyOwner of the first whose config has
// the key, "" for none.
func slotOwner(slot string) string {
	for _, p := range Patterns() {
		if _, ok := p.Slot(slot); ok {
			return p.Name
		}
	}
	return ""
}

func keyOwner(key string) string {
	for _, p := range Patterns() {
		if slices.ContainsFunc(p.Keys(), func(k Key) bool { return k.Name == key }) {
			return p.Name
		}
	}
	return ""
}

// pattern returns the pattern that an instance names.
func (m *Map) pattern(key, doc string, required bool) (Pattern, bool) {
	var options []Option
	if required {
		options = append(options, Required)
	}
	n := m.take(key, doc, options, func() schema {
		var names []string
		for _, name := range patternNames() {
			names = append(names, name)
			for _, shelf := range shelves {
				names = append(names, shelf+name)
			}
		}
		if m.r.docs != nil {
			names = append(names, m.r.docs.Patterns...)
		}
		return schema{"anyOf": []any{schema{"enum": names}, schema{"type": "string", "pattern": `^(std|\.{1,2})/|\.md$`}}}
	})
	if n == nil {
		return Pattern{}, false
	}
	if !n.isText() {
		m.r.mismatch(n, m.at(key), "the name of a pattern", "write one of "+or(patternNames()))
		return Pattern{}, false
	}
	return m.r.patternNamed(n, m.at(key))
}

// patternNamed returns the pattern that n names, or reports that there is none.
func (r *reading) patternNamed(n *node, path string) (Pattern, bool) {
	if p, ok := PatternNamed(n.text); ok {
		return p, true
	}
	if p, ok, told := r.docs.pattern(n); ok || told {
		return p, ok
	}
	r.unknownPattern(n, path)
	return Pattern{}, false
}

func shortName(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// slots binds the slots of an instance.
func (r *reading) slots(m *Map, p Pattern, in *Instance) {
	m.noun, m.lenient = "slot", true
	m.hint = func(key string) string {
		switch owner := slotOwner(key); {
		case owner != "":
			return fmt.Sprintf("it is a slot of %s; that of %s is %s", owner, p.Name, p.Slots[0].Name)
		case keyOwner(key) != "":
			return "it is a setting; write it under config"
		}
		return ""
	}
	for i, s := range p.Slots {
		slot := &in.Slots[i]
		n := m.take(s.Name, s.Doc, []Option{Required}, func() schema {
			if s.List {
				return schema{"type": "array", "items": schema{"$ref": "#/$defs/member"}}
			}
			return schema{"$ref": "#/$defs/member"}
		})
		if n == nil {
			continue
		}
		slot.path, slot.Pos = m.at(s.Name), m.node.entry(s.Name).pos
		r.bind(slot, n, in.Name+"."+s.Name)
	}
	in.placed(m)
}

// bind binds a slot to what n says; name is the name of an instance that stands in it.
func (r *reading) bind(slot *Slot, n *node, name string) {
	switch {
	case !slot.List && n.shape != list:
		slot.Members = []Ref{r.member(n, slot.path, name)}
	case !slot.List:
		way := "write it without brackets"
		if len(n.items) == 1 && n.items[0].isText() {
			way = "write " + n.items[0].text
		}
		r.mismatch(n, slot.path, "one name", way)
	case n.shape == list:
		slot.Members = []Ref{}
		for i, item := range n.items {
			slot.Members = append(slot.Members, r.member(item, index(slot.path, i), index(name, i)))
		}
		if len(n.items) == 0 {
			r.report(SeverityWarning, n.pos, slot.path, "the list is empty, so a run makes no attempt and has no winner")
		}
	case n.isText() && strings.Trim(n.text, ", ") != "":
		names := strings.FieldsFunc(n.text, func(c rune) bool { return c == ',' || c == ' ' })
		r.mismatch(n, slot.path, "a list of names", "write ["+strings.Join(names, ", ")+"]")
	default:
		r.mismatch(n, slot.path, "a list of names", "write for example [fast, careful]")
	}
}

// member returns what stands in a slot: a name, or an instance of its own.
func (r *reading) member(n *node, path, name string) Ref {
	switch {
	case n.shape == mapping && n.entry("pattern") == nil && slices.ContainsFunc(r.kinds, func(k Kind) bool { return n.entry(k.Name) != nil }):
		r.errorf(n, path, "a delegate has no place in a slot; give it a name under delegates and write the name here")
	case n.shape == mapping:
		var in *Instance
		r.enter(n, n.pos, path, func(m *Map) { in = r.instance(m, name) })
		return Ref{Name: name, Pos: n.pos, Instance: in, path: path, inline: true}
	case !n.isText():
		r.mismatch(n, path, "the name of a delegate or pattern", quoting(n))
	case !r.emptyName(n, path):
		return Ref{Name: n.text, Pos: n.pos, path: path}
	}
	return Ref{}
}

// emptyName reports a name that is empty.
func (r *reading) emptyName(n *node, path string) bool {
	empty := strings.TrimSpace(n.text) == ""
	if empty {
		r.errorf(n, path, "the name is empty; write that of a delegate or pattern, or remove it")
	}
	return empty
}

// configure reads the config of in, an instance of p.
func (r *reading) configure(m *Map, p Pattern, in *Instance) {
	c := &in.Config
	m.hint = func(key string) string {
		switch owner := keyOwner(key); {
		case p.Name == "fan-out" && slices.Contains([]string{"advance_on", "stop_on", "on_refusal"}, key):
			return "a fan-out asks every delegate whatever fails, and keeps the failures; remove it"
		case owner != "":
			return fmt.Sprintf("it is a setting of %s, not of %s; remove it", owner, p.Name)
		case slotOwner(key) != "":
			return "it is a slot; write it under with"
		case key == "retries" || slices.Contains(delegateKeys, key):
			return "it belongs to a delegate"
		}
		return topHint(key)
	}
	p.config(m, c)
	in.placed(m)
	if m.Has("start_after") && c.MaxParallel == 1 {
		m.Warnf("start_after", "it has no effect with max_parallel: 1, under which the next starts only when one has failed")
	}
}
