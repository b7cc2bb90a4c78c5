package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
)

// state is how far a row has come.
type state uint8

const (
	waiting state = iota
	running
	judging
	accepted // a good reply; whether it wins is not decided yet
	won
	lost
	rejected
	failed
	cancelled
	unstarted // it was waiting, and will not be needed
)

func (s state) ended() bool { return s >= won }

// states are those of calls. A judge's call has no row.
var states = map[firstgood.State]state{
	firstgood.StateRunning:   running,
	firstgood.StateJudging:   judging,
	firstgood.StateWon:       won,
	firstgood.StateLost:      lost,
	firstgood.StateFailed:    failed,
	firstgood.StateRejected:  rejected,
	firstgood.StateCancelled: cancelled,
}

// board is what is known of the run: a tree of rows, each with what its latest call has come to.
type board struct {
	root  *row          // what the headline names; the rows are below it
	calls map[int]place // by the call's ID; -1 is the root
	ended time.Time     // the zero time while the run goes on

	text     func(string) string // makes a text fit to be shown
	ellipsis string
}

// place is what a call is shown as: a row's own state, part of its judgement, or, without a row, nothing.
type place struct {
	row   *row
	judge *judgement
}

type row struct {
	name, pattern string // as shown
	path          string // the names from the root's members down to this
	depth         int
	repeats       int
	parent        *row
	members       []*row
	planned       int // how many of the members are of the plan; they come first, in listed order

	call    int // the ID of the call that is shown; -1 for none
	state   state
	attempt int // how many calls the row has had since its parent's began
	began   time.Time
	took    time.Duration // of a call that has ended or is accepted
	reason  string        // of one that has failed or was rejected
	before  string        // the reason of the attempt before
	said    string        // what the delegate says that it does, or has done
	warning string
	judges  []*judgement
}

// judgement is one call of a judge.
type judgement struct {
	call  int // the call of the row that it judges
	by    string
	began time.Time
	ended time.Time // the zero time while it goes on
}

// maxText is how much of a name or reason is looked at, in UTF-16 units: more than a line can hold.
const maxText = 1000

func newBoard(cfg Config, now time.Time) (board, error) {
	root := &row{depth: -1, call: -1, state: running, began: now}
	b := board{root: root, calls: map[int]place{-1: {row: root}}, text: Clean, ellipsis: "..."}
	switch screen := cfg.Screen; {
	case screen.Unicode:
		b.ellipsis = "…"
	case screen.Live:
		b.text = cleanASCII
	}
	root.name, root.pattern = b.clip(cfg.Name), b.clip(cfg.Pattern)
	last := root
	for i, planned := range cfg.Rows {
		switch {
		case planned.Name == "":
			return b, fmt.Errorf("row %d has no name", i)
		case planned.Repeats < 0:
			return b, fmt.Errorf("row %d (%s): got %d repeats, want 0 or more", i, planned.Name, planned.Repeats)
		case planned.Depth < 0 || planned.Depth > last.depth+1:
			return b, fmt.Errorf("row %d (%s): got depth %d, want 0 to %d", i, planned.Name, planned.Depth, last.depth+1)
		}
		for last.depth >= planned.Depth {
			last = last.parent
		}
		last = last.add(b.clip(planned.Name), b.clip(planned.Pattern), planned.Repeats)
		last.parent.planned++
	}
	root.label()
	return b, nil
}

// clip is s as it may be shown, at a length that costs little.
func (b *board) clip(s string) string {
	short, cut := firstgood.Excerpt(s, maxText)
	short = b.text(short)
	if cut {
		short += b.ellipsis
	}
	return short
}

func (r *row) add(name, pattern string, repeats int) *row {
	if name == "" { // nothing in it can be shown
		name = "?"
	}
	member := &row{name: name, pattern: pattern, depth: r.depth + 1, repeats: repeats, parent: r, call: -1}
	member.path = member.under(name)
	r.members = append(r.members, member)
	return member
}

func (r *row) under(name string) string {
	if r.parent == nil || r.parent.path == "" {
		return name
	}
	return r.parent.path + "/" + name
}

// label tells members of one name apart, as fast#1 and fast#2, and sets every path.
func (r *row) label() {
	count := map[string]int{}
	for _, m := range r.members {
		count[m.name]++
	}
	seen := map[string]int{}
	for _, m := range r.members {
		if count[m.name] > 1 {
			seen[m.name]++
			m.name += "#" + strconv.Itoa(seen[m.name])
		}
		m.path = m.under(m.name)
		m.label()
	}
}

// event is what a call's change means for a row.
type event uint8

const (
	nothing event = iota
	started
	ended  // or accepted, where that is as good as won
	warned // a judge's verdict came with a warning
)

// apply takes in a call, and returns the row that it concerns and what has happened to it; no row for calls that are
// not shown: those inside a judge, and those of an attempt that has been followed by another.
func (b *board) apply(c firstgood.Call, now time.Time) (*row, event) {
	at, known := b.calls[c.ID]
	switch {
	case !known && c.Role == firstgood.RoleJudge:
		b.calls[c.ID] = b.judge(c, now)
		return nil, nothing
	case !known:
		at = b.enter(c)
		b.calls[c.ID] = at
		if at.row == nil {
			return nil, nothing
		}
		b.begin(at.row, c, now)
		if what := b.update(at.row, c); what != nothing {
			return at.row, what
		}
		return at.row, started
	case at.judge != nil:
		return at.row, b.judged(at, c, now)
	case at.row == nil || at.row.call != c.ID:
		return nil, nothing
	}
	return at.row, b.update(at.row, c)
}

// enter finds the row of a delegate's new call.
func (b *board) enter(c firstgood.Call) place {
	parent := b.calls[c.Parent]
	if parent.row == nil || parent.judge != nil || parent.row.call != c.Parent {
		return place{}
	}
	r := parent.row
	switch {
	case c.Index >= 0 && c.Index < r.planned:
		return place{row: r.members[c.Index]}
	case r.planned == 1 && r.members[0].repeats > 0:
		return place{row: r.members[0]}
	}
	name := b.clip(c.Delegate)
	again, prefix := 1, name+"#"
	for _, m := range r.members {
		if m.name == name || strings.HasPrefix(m.name, prefix) {
			again++
		}
	}
	if again > 1 {
		name = prefix + strconv.Itoa(again)
	}
	return place{row: r.add(name, "", 0)}
}

// begin makes c the call that r shows. Its members have not been called for it yet.
func (b *board) begin(r *row, c firstgood.Call, now time.Time) {
	before := r.reason
	r.reset()
	r.call, r.began, r.before = c.ID, now, before
	r.attempt++
	for _, m := range r.members {
		m.forget()
	}
	r.members = r.members[:r.planned]
}

func (r *row) reset() {
	r.call, r.state, r.took, r.reason, r.before, r.warning, r.said = -1, waiting, 0, "", "", "", ""
	r.judges = nil
}

func (r *row) forget() {
	r.reset()
	r.attempt = 0
	for _, m := range r.members {
		m.forget()
	}
	r.members = r.members[:r.planned]
}

// update sets r to what its call has come to. An end is told once.
func (b *board) update(r *row, c firstgood.Call) event {
	next, ok := states[c.State]
	if !ok {
		return nothing
	}
	// A good reply that waits for the decision stays running or judging in the record; its duration is final.
	if !next.ended() && c.Duration > 0 {
		next = accepted
	}
	if c.Note != "" {
		r.said = b.clip(c.Note)
	}
	was := r.state
	r.state, r.took = next, c.Duration
	if c.Warning != "" {
		r.warning = b.clip(c.Warning)
	}
	if next == failed || next == rejected {
		r.reason = b.reason(r, c)
	}
	settles := r.parent.pattern == "fan-out" // what is accepted there will have won
	switch {
	case next == was, next == won && was == accepted && settles:
		return nothing
	case next.ended(), next == accepted && settles:
		return ended
	}
	return nothing
}

// reason is why the call gave no answer: the kind of failure, where that says something, and its reason.
func (b *board) reason(r *row, c firstgood.Call) string {
	reason := b.clip(c.Reason)
	switch kind := string(c.Kind); {
	case c.Kind == firstgood.KindExhausted && len(r.members) > 0:
		return "no winner" // the members' rows say why
	case c.State == firstgood.StateRejected, c.Kind == firstgood.KindError, kind == "", strings.HasPrefix(reason, kind):
		return reason
	default:
		return b.clip(kind) + ": " + reason
	}
}

// judge enters a judge's new call.
func (b *board) judge(c firstgood.Call, now time.Time) place {
	r := b.calls[c.Parent].row
	if r == nil || r == b.root || b.calls[c.Parent].judge != nil || r.call != c.Parent {
		return place{}
	}
	j := &judgement{call: r.call, by: b.clip(c.Delegate), began: now}
	r.judges = append(r.judges, j)
	return place{row: r, judge: j}
}

// judged takes in how a judge's call goes on.
func (b *board) judged(at place, c firstgood.Call, now time.Time) event {
	if at.row.call != at.judge.call || c.State == firstgood.StateRunning || !at.judge.ended.IsZero() {
		return nothing
	}
	at.judge.ended = now
	if c.Warning == "" {
		return nothing
	}
	at.row.warning = b.clip(c.Warning)
	return warned
}

// finish ends the board, and returns the rows whose calls were still under way.
func (b *board) finish(now time.Time) []*row {
	b.ended = now
	var left []*row
	for r := range b.all {
		if r.state == running || r.state == judging || r.state == accepted {
			r.state, r.took = cancelled, now.Sub(r.began)
			left = append(left, r)
		}
	}
	return left
}

// all yields the rows from top to bottom.
func (b *board) all(yield func(*row) bool) { b.root.each(yield) }

func (r *row) each(yield func(*row) bool) bool {
	for _, m := range r.members {
		if !yield(m) || !m.each(yield) {
			return false
		}
	}
	return true
}

// headed reports whether there is a headline: not where it would repeat the only row, as for a delegate that is run by
// its name.
func (b *board) headed() bool {
	root := b.root
	alone := root.pattern == "" && len(root.members) == 1
	return root.name != "" && (!alone || root.members[0].name != root.name)
}

// shown is the state that r is shown in.
func (b *board) shown(r *row) state {
	switch r.state {
	case waiting:
		if !b.ended.IsZero() || r.parent.state.ended() || r.parent != b.root && b.shown(r.parent) == unstarted {
			return unstarted
		}
	case running: // a run that is made inline does not say that it judges
		if slices.ContainsFunc(r.judges, func(j *judgement) bool { return j.ended.IsZero() }) {
			return judging
		}
	}
	return r.state
}
