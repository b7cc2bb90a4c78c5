package firstgood

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Role says what a call was for.
type Role string

// The roles of a call.
const (
	RoleDelegate Role = "delegate"
	RoleJudge    Role = "judge"
)

// State says how far a call has come, or how it ended.
type State string

// The states of a call. Running and judging are on the way; the others are ends.
const (
	StateRunning   State = "running"
	StateJudging   State = "judging"   // the reply is there and is being weighed
	StateWon       State = "won"       // its reply is the result, or part of it
	StateLost      State = "lost"      // a good reply, but another won
	StateFailed    State = "failed"    // an error, see Kind
	StateRejected  State = "rejected"  // the criteria
	StateCancelled State = "cancelled" // in flight when its run was decided or stopped
	StateJudged    State = "judged"    // a judge's call that gave a verdict, readable or not
)

// Source says how far a usage can be trusted.
type Source string

// The sources of a usage. The zero Source means [SourceUnknown].
const (
	SourceMeasured  Source = "measured"  // the delegate reported it
	SourceEstimated Source = "estimated" // worked out from texts
	SourceUnknown   Source = "unknown"   // nobody said; the figures are a lower bound
)

// Usage is what a call has cost, in tokens and, where the delegate says so, in money.
type Usage struct {
	InputTokens  int    `json:"input_tokens"`
	OutputTokens int    `json:"output_tokens"`
	Source       Source `json:"source"`
	// Cost is in US dollars, as the delegate itself says; 0 where it says nothing. It is not added to what tokens cost.
	Cost float64 `json:"-"`
}

// Add returns the sum of both, no better known than the worse known of the two.
func (u Usage) Add(v Usage) Usage {
	sum := Usage{u.InputTokens + v.InputTokens, u.OutputTokens + v.OutputTokens, SourceMeasured, u.Cost + v.Cost}
	for _, source := range []Source{u.Source, v.Source} {
		switch {
		case source == SourceUnknown || source == "":
			sum.Source = SourceUnknown
		case source == SourceEstimated && sum.Source != SourceUnknown:
			sum.Source = SourceEstimated
		}
	}
	return sum
}

// Call is one call of a delegate or judge in the record of a run.
type Call struct {
	ID       int // its place in the record, from 0, in order of start
	Parent   int // the ID of the call that this one serves, as a nested instance's or a judge's does; -1 for none
	Delegate string
	Index    int // the delegate's place in its list; for a judge, that of the delegate it judges
	Role     Role
	State    State
	Started  time.Duration // since the start of the record
	Duration time.Duration // so far as long as it is on its way
	Usage    Usage
	Nested   bool   // the delegate is an instance: what it used stands in the calls inside it
	Kind     Kind   // of a failed or rejected call, else ""
	Reason   string // of a failed or rejected call, else ""
	Warning  string // what should be known of a call that went well, such as an unreadable verdict
	Note     string // what the delegate says it is doing, or has done; see [Scope.Note]
}

// Record is the ordered record of a run and of all that runs inside it. It is safe for concurrent use. A record
// goes on after the run's decision: calls that were cancelled may still report what they used.
type Record struct {
	mu    sync.Mutex
	start time.Time
	calls []Call
	watch func(Call)
}

// NewRecord returns an empty record whose times count from start. Watch, when not nil, is called for each new or
// changed call, one at a time and in order; it must not call back into the record, and should return fast.
func NewRecord(start time.Time, watch func(Call)) *Record { return &Record{start: start, watch: watch} }

// Start returns the time from which the record counts.
func (r *Record) Start() time.Time { return r.start }

// Elapsed returns the time since the start of the record.
func (r *Record) Elapsed() time.Duration { return time.Since(r.start) }

// Begin enters the call and sets its ID.
func (r *Record) Begin(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.ID = len(r.calls)
	r.calls = append(r.calls, *c)
	if r.watch != nil {
		r.watch(*c)
	}
}

// Put replaces the call with c's ID by a copy of c, but for its note.
func (r *Record) Put(c *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	note := r.calls[c.ID].Note
	r.calls[c.ID] = *c
	r.calls[c.ID].Note = note
	if r.watch != nil {
		r.watch(r.calls[c.ID])
	}
}

// note replaces the note of a call.
func (r *Record) note(id int, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if id < 0 || id >= len(r.calls) || r.calls[id].Note == text {
		return
	}
	r.calls[id].Note = text
	if r.watch != nil {
		r.watch(r.calls[id])
	}
}

// Calls returns a copy of the calls, in order of start.
func (r *Record) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Tree returns the calls with the given IDs and all that serve them, at any depth, in order of start. An ID that no call
// has counts for nothing.
func (r *Record) Tree(ids ...int) []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := make([]bool, len(r.calls))
	first, n := len(r.calls), 0
	for _, id := range ids {
		if 0 <= id && id < len(wanted) {
			wanted[id], first = true, min(first, id)
		}
	}
	for id := first; id < len(r.calls); id++ { // what serves a call comes after it
		if parent := r.calls[id].Parent; 0 <= parent && parent < id && wanted[parent] {
			wanted[id] = true
		}
		if wanted[id] {
			n++
		}
	}
	calls := make([]Call, 0, n)
	for id := first; id < len(r.calls); id++ {
		if wanted[id] {
			calls = append(calls, r.calls[id])
		}
	}
	return calls
}

// Under returns the calls that serve the call with the given ID, at any depth, in order of start, and all calls for -1.
func (r *Record) Under(id int) []Call {
	if id < 0 {
		return r.Calls()
	}
	calls := r.Tree(id)
	return calls[min(1, len(calls)):]
}

// Total returns the sum of what the calls used, each counted once: losers and judges too.
func Total(calls []Call) Usage {
	total := Usage{Source: SourceMeasured}
	for _, c := range calls {
		if !c.Nested {
			total = total.Add(c.Usage)
		}
	}
	return total
}

// Scope is the place in a record at which work done under a context is entered. It may be used from several
// goroutines, and must not be copied.
type Scope struct {
	Record *Record
	Call   int // the call that the work serves, -1 for none
	Index  int // that call's place in its list

	mu   sync.Mutex
	path []string
}

// Note says what the delegate that works in the scope is doing, in a line for people; it replaces what was said before.
// It does nothing in a scope that serves no call.
func (s *Scope) Note(text string) { s.Record.note(s.Call, text) }

// SetPath notes how the instance that worked in the scope last was won: its winner, and so on inwards.
func (s *Scope) SetPath(path []string) {
	s.mu.Lock()
	s.path = path
	s.mu.Unlock()
}

// Path returns what SetPath has noted, nil for nothing.
func (s *Scope) Path() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.path
}

// ScopeKey is the context key under which a *[Scope] is found.
type ScopeKey struct{}

// WithRecord returns a context under which runs enter their calls in r.
func WithRecord(ctx context.Context, r *Record) context.Context {
	return context.WithValue(ctx, ScopeKey{}, &Scope{Record: r, Call: -1})
}

// ScopeOf returns the scope that ctx carries, or nil.
func ScopeOf(ctx context.Context) *Scope {
	scope, _ := ctx.Value(ScopeKey{}).(*Scope)
	return scope
}
