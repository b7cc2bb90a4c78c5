package config

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/diagnostic"
)

// Refusal says what a refusal does to the run.
type Refusal struct {
	Stop bool     // it ends the run
	Ask  []string // else the names of the members that may be asked after it; the others are not started any more

	asked []place // where the names in Ask stand
}

// Budget is what a run may spend, everything in it counted. A field that is 0 sets no bound; at least one is above 0.
type Budget struct {
	Calls  int     // of delegates and judges
	Tokens int     // that they read and write
	Cost   float64 // in US dollars
}

// place is where a setting stands: in the file, or, without a line, outside it.
type place struct {
	pos  Pos
	path string
}

// advancing reads what decides whether a failure goes on to the next delegate. Several says that an instance has more than one
// delegate to choose from.
func (m *Map) advancing(c *Config, several bool) {
	c.AdvanceOn = m.kinds("advance_on", "the kinds of failure that go on to the next attempt; any other stops the run", c.AdvanceOn)
	c.StopOn = m.kinds("stop_on", "the kinds of failure that stop the run; any other goes on to the next attempt", c.StopOn)
	c.OnRefusal = m.refusal("on_refusal", several, c.OnRefusal)
}

// spending reads what bounds a run.
func (m *Map) spending(c *Config) {
	c.Reserve = m.Duration("reserve", "how much of timeout is kept for each attempt still to come, however long the ones before take", c.Reserve)
	c.Budget = m.budget("budget", "what a run may spend: calls, tokens, cost in US dollars; judges and losers count", c.Budget)
	c.WaitForRecovery = m.Duration("wait_for_recovery", "how long a run may wait when every delegate is left alone for its health", c.WaitForRecovery)
}

// kinds returns the kinds of failure listed under key.
func (m *Map) kinds(key, doc string, otherwise []firstgood.Kind) []firstgood.Kind {
	words := m.choice(key, doc, nil, failureKinds)
	if words == nil {
		return otherwise
	}
	kinds := make([]firstgood.Kind, len(words))
	for i, word := range words {
		kinds[i] = firstgood.Kind(word)
	}
	return kinds
}

func (m *Map) refusal(key string, several bool, otherwise *Refusal) *Refusal {
	doc := "stop: nobody else is asked after a refusal; or a list of the delegates that may be"
	if !several {
		doc = "stop: the delegate is not asked again after a refusal"
	}
	n := m.take(key, doc, nil, func() schema {
		stop := schema{"const": "stop"}
		if !several {
			return stop
		}
		return schema{"anyOf": []any{stop, schema{"type": "array", "items": schema{"type": "string", "minLength": 1}, "minItems": 1, "uniqueItems": true}}}
	})
	if n == nil {
		return otherwise
	}
	if n.isText() && n.text == "stop" {
		return &Refusal{Stop: true}
	}
	names, ok := n.list()
	switch {
	case !several:
		m.r.mismatch(n, m.at(key), "stop", "there is nobody else to ask")
		return otherwise
	case !ok && n.isText() && diagnostic.Nearest(n.text, []string{"stop"}) != "":
		m.r.mismatch(n, m.at(key), "stop or a list of names", "did you mean stop?")
		return otherwise
	case !ok && n.isText() && !n.hidden && strings.TrimSpace(n.text) != "":
		m.r.mismatch(n, m.at(key), "stop or a list of names", "write ["+n.text+"]")
		return otherwise
	case !ok:
		m.r.mismatch(n, m.at(key), "stop or a list of names", "write stop, or for example [careful]")
		return otherwise
	case len(names) == 0:
		m.r.errorf(n, m.at(key), "the list is empty; to ask nobody after a refusal, write stop")
	}
	refusal := &Refusal{Ask: []string{}}
	for i, item := range names {
		path := index(m.at(key), i)
		switch {
		case !item.isText():
			m.r.mismatch(item, path, "the name of a delegate or pattern", quoting(item))
		case m.r.emptyName(item, path):
		case slices.Contains(refusal.Ask, item.text):
			m.r.errorf(item, path, "%s is here twice; keep one", quote(item.text))
		default:
			refusal.Ask, refusal.asked = append(refusal.Ask, item.text), append(refusal.asked, place{item.pos, path})
		}
	}
	return refusal
}

func (m *Map) budget(key, doc string, otherwise *Budget) *Budget {
	b := otherwise
	m.Mapping(key, doc, func(m *Map) {
		b = &Budget{
			Calls:  m.Int("calls", "how many calls of delegates and judges", 1, math.MaxInt32, 0),
			Tokens: m.Int("tokens", "how many tokens they read and write", 1, math.MaxInt32, 0),
			Cost:   m.dollars("cost", "how many US dollars, by the price of each delegate", false),
		}
		if m.node != nil && !slices.ContainsFunc(m.node.keys, func(e entry) bool { return !strings.HasPrefix(e.key, "x-") }) {
			m.Errorf("", "it bounds nothing; give calls, tokens or cost")
		}
	})
	if m.node == nil {
		return otherwise
	}
	return b
}

// placed enters where the settings of an instance stand that m holds.
func (in *Instance) placed(m *Map) {
	if m.node == nil {
		return
	}
	if in.places == nil {
		in.places = make(map[string]place, len(m.node.keys))
	}
	for _, e := range m.node.keys {
		pos := e.value.pos
		if e.value.isNull() {
			pos = e.pos
		}
		in.places[e.key] = place{pos, m.at(e.key)}
	}
}

// outside reports whether the key was set from outside the file.
func (in *Instance) outside(key string) bool {
	at, ok := in.places[key]
	return ok && at.pos.Line == 0
}

// wrong reports something about the setting key that one of the others may have caused: at the one that was set from
// outside the file, where one was.
func (s *scope) wrong(severity Severity, in *Instance, key string, others []string, format string, args ...any) {
	at := in.places[key]
	if !in.outside(key) {
		for _, other := range others {
			if in.outside(other) {
				at = in.places[other]
				break
			}
		}
	}
	s.report(severity, at.pos, at.path, format, args...)
}

// settings checks what depends on several settings of an instance, on its members, or on the file.
func (s *scope) settings(in *Instance) {
	s.advancing(in)
	s.refusals(in)
	s.reserve(in)
	s.changing(in)
	c := in.Config
	if c.HedgeCeiling > 0 && c.StartAfter == 0 {
		s.wrong(SeverityError, in, "hedge_ceiling", nil, "it bounds what start_after starts, and without that all start at once; give start_after, or remove it")
	}
	switch {
	case c.WaitForRecovery == 0:
	case s.file.Health == nil:
		s.wrong(SeverityError, in, "wait_for_recovery", nil, "a delegate is only left alone where its health is kept; write health: true at the top of the file, or remove it")
	case c.Timeout > 0 && c.WaitForRecovery >= c.Timeout:
		s.wrong(SeverityNote, in, "wait_for_recovery", []string{"timeout"}, "wait_for_recovery, %v, is not below timeout, %v, which comes first", c.WaitForRecovery, c.Timeout)
	}
}

// advancing checks advance_on and stop_on against each other and against the rest. What was set from outside the file
// replaces the other in it.
func (s *scope) advancing(in *Instance) {
	c := &in.Config
	if c.AdvanceOn != nil && c.StopOn != nil {
		switch from, to := in.outside("advance_on"), in.outside("stop_on"); {
		case from && !to:
			c.StopOn = nil
		case to && !from:
			c.AdvanceOn = nil
		default:
			at := in.places["stop_on"]
			if other := in.places["advance_on"]; at.pos.Before(other.pos) {
				at = other
			}
			s.report(SeverityError, at.pos, at.path, "both advance_on and stop_on are given; keep one")
			return
		}
	}
	if c.AdvanceOn != nil && !slices.Contains(c.AdvanceOn, firstgood.KindRejected) && (c.Failure != nil || c.Acceptance != nil || c.NonEmpty) {
		s.wrong(SeverityNote, in, "advance_on", []string{"failure_criteria", "acceptance_criteria", "nonempty"},
			"a reply that the criteria reject stops the run, since rejected is not in the list")
	}
	if c.OnRefusal == nil {
		return
	}
	const refused = firstgood.KindRefused
	others := []string{"advance_on", "stop_on"}
	switch {
	case !c.OnRefusal.Stop && slices.Contains(c.StopOn, refused):
		s.wrong(SeverityError, in, "on_refusal", others, "stop_on holds refused, so nobody is asked after a refusal; remove it there, or write on_refusal: stop")
	case !c.OnRefusal.Stop && c.AdvanceOn != nil && !slices.Contains(c.AdvanceOn, refused):
		s.wrong(SeverityError, in, "on_refusal", others, "advance_on does not hold refused, so nobody is asked after a refusal; add it there, or write on_refusal: stop")
	case c.OnRefusal.Stop && slices.Contains(c.AdvanceOn, refused):
		s.wrong(SeverityError, in, "on_refusal", others, "advance_on holds refused, and on_refusal stops at it; keep one of the two")
	}
}

// refusals checks the names in on_refusal.
func (s *scope) refusals(in *Instance) {
	refusal := in.Config.OnRefusal
	if refusal == nil || refusal.Stop || len(in.Slots) == 0 {
		return
	}
	if in.Pattern == "race" && in.Config.StartAfter == 0 && in.Config.MaxParallel == 0 {
		s.wrong(SeverityError, in, "on_refusal", nil, "a race has asked everybody before the first can refuse; write stop, or give start_after or max_parallel")
		return
	}
	var known []string
	for _, member := range in.Slots[0].Members {
		if member.Name != "" {
			known = append(known, member.Name)
		}
	}
	for i, name := range refusal.Ask {
		if slices.Contains(known, name) || len(known) == 0 {
			continue
		}
		way := "there are " + and(known)
		if near := diagnostic.Nearest(name, known); near != "" {
			way = fmt.Sprintf("did you mean %q?", near)
		} else if len(known) == 1 {
			way = "there is only " + known[0]
		}
		at := refusal.asked[i]
		if at.pos.Line > 0 && in.outside(in.Slots[0].Name) {
			at = in.places[in.Slots[0].Name]
		}
		s.report(SeverityError, at.pos, at.path, "%s is not in the slot %s; %s", quote(name), in.Slots[0].Name, way)
	}
}

// reserve checks that the reserve leaves time for the first attempt.
func (s *scope) reserve(in *Instance) {
	c := in.Config
	if c.Reserve == 0 || len(in.Slots) == 0 {
		return
	}
	n, width, key := len(in.Slots[0].Members), 1, ""
	switch in.Pattern {
	case "retry-with-learning":
		n = c.MaxRetries
	case "race":
		width, key = c.MaxParallel, "max_parallel"
	case "fan-out":
		width, key = c.Width, "width"
	}
	switch {
	case c.Timeout == 0:
		s.wrong(SeverityError, in, "reserve", nil, "it is kept from timeout, and there is none here; give timeout, or remove it")
		return
	case c.StartAfter > 0:
		s.wrong(SeverityError, in, "reserve", nil, "it does nothing here: start_after starts the next however long the first takes; remove one of the two")
		return
	case width == 0:
		s.wrong(SeverityError, in, "reserve", nil, "it does nothing here: a %s starts all at once; remove it, or give %s", in.Pattern, key)
		return
	case n == 0:
		return
	case n == 1:
		s.wrong(SeverityWarning, in, "reserve", []string{in.Slots[0].Name, "max_retries"}, "it does nothing: there is one attempt, and none after it")
		return
	case n <= width:
		s.wrong(SeverityWarning, in, "reserve", []string{in.Slots[0].Name, key}, "it does nothing: all %d may be under way at once", n)
		return
	}
	after, what := (n-1)/width, "attempts"
	if width > 1 {
		what = fmt.Sprintf("rounds of %d", width)
	}
	if after == 1 {
		what = "attempt"
		if width > 1 {
			what = fmt.Sprintf("round of %d", width)
		}
	}
	if c.Reserve <= (c.Timeout-1)/time.Duration(after) {
		return
	}
	s.wrong(SeverityError, in, "reserve", []string{"timeout", in.Slots[0].Name, "max_retries", key}, "reserve, %v, for %d %s after the first takes %v, and timeout is %v, so nothing is left for the first; lower reserve, or raise timeout",
		c.Reserve, after, what, times(c.Reserve, after), c.Timeout)
}

// times returns n times the span, or the longest there is.
func times(span time.Duration, n int) time.Duration {
	if span > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return span * time.Duration(n)
}

// costs says which delegates a budget in US dollars cannot count.
func (s *scope) costs(in *Instance) {
	if in.Config.Budget == nil || in.Config.Budget.Cost == 0 {
		return
	}
	var names []string
	for _, d := range in.Reach() {
		if d.Price == nil {
			names = append(names, d.Name)
		}
	}
	if len(names) > 0 {
		s.wrong(SeverityWarning, in, "budget", nil, "the budget does not count what %s cost, which is unknown; give each a price: {input: 0.25, output: 2}, with 0 where it is free", and(names))
	}
}
