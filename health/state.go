package health

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// State says how a delegate is doing.
type State string

// The states of a delegate.
const (
	OK       State = "ok"
	Cooling  State = "cooling"   // left alone after a failure, or because the other side asked for it
	Open     State = "open"      // left alone because too many attempts have failed
	HalfOpen State = "half-open" // was open; one attempt at a time may try it out
)

// Status is what is known of a delegate at a moment. The counts are of attempts since the tracker was made.
type Status struct {
	Delegate string
	State    State
	Until    time.Time // not called before; the zero time when it may be called now
	Reason   string    // of the state; empty when it is OK

	Successes int // a reply came
	Failures  int // failures that count
	Uncounted int // nobody's fault: stopped, lost, or failures that do not count
	Refused   int // attempts that were kept from starting; those that a gate refused are not among them
}

// CoolingError says that a delegate must not be called for now.
type CoolingError struct {
	Delegate string
	State    State         // Cooling, Open or HalfOpen
	Until    time.Time     // when it may be called again; of a HalfOpen one at the latest
	Wait     time.Duration // how far away that was when the error was made
	Reason   string        // what happened
}

func (e *CoolingError) Error() string {
	unit := time.Second
	if e.Wait < unit {
		unit = time.Millisecond
	}
	wait := (e.Wait + unit - 1).Truncate(unit)
	if e.State == HalfOpen {
		return fmt.Sprintf("half-open after %s: another attempt is trying it out, for %v at most (until %s)", e.Reason, wait, e.Until.Format(time.TimeOnly))
	}
	return fmt.Sprintf("%s for %v after %s (until %s)", e.State, wait, e.Reason, e.Until.Format(time.TimeOnly))
}

// May returns nil when an attempt of the named delegate may start now, and a *[CoolingError] when it must not. It
// never blocks and takes nothing: of two that ask before either has started, both may be told yes, and [Watch] then
// lets one of them try out a half-open delegate. A delegate that is not watched may always start.
func (t *Tracker) May(name string) error {
	if kept := t.kept(name); kept != nil {
		return kept
	}
	return nil
}

func (t *Tracker) kept(name string) *CoolingError {
	e := t.entry(name, false)
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.kept()
}

// State returns how the named delegate is doing. One that is not watched is OK and has no counts.
func (t *Tracker) State(name string) Status {
	e := t.entry(name, false)
	if e == nil {
		return Status{Delegate: name, State: OK}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	s := Status{Delegate: name, State: OK, Successes: e.successes, Failures: e.failures, Uncounted: e.uncounted, Refused: e.refused}
	if kept := e.kept(); kept != nil {
		s.State, s.Until, s.Reason = kept.State, kept.Until, kept.Reason
	} else if !e.closed() {
		s.State, s.Reason = HalfOpen, e.opened
	}
	return s
}

// States returns how every watched delegate is doing, by name.
func (t *Tracker) States() []Status {
	t.mu.RLock()
	names := slices.Sorted(maps.Keys(t.entries))
	t.mu.RUnlock()
	states := make([]Status, len(names))
	for i, name := range names {
		states[i] = t.State(name)
	}
	return states
}

// Earliest returns when the first of the named delegates may be called again, and whether none of them may be called
// now. Without names, or when one may be called, it returns the zero time and false. A half-open delegate may be
// free earlier.
func (t *Tracker) Earliest(names ...string) (time.Time, bool) {
	if kept, _ := t.first(names); kept != nil {
		return kept.Until, true
	}
	return time.Time{}, false
}

// first returns what keeps the one of the delegates that may start first, nil when one may start now. Trying is
// whether one of them is being tried out, and may be free at any moment.
func (t *Tracker) first(names []string) (first *CoolingError, trying bool) {
	for _, name := range names {
		kept := t.kept(name)
		if kept == nil {
			return nil, false
		}
		trying = trying || kept.State == HalfOpen
		if first == nil || kept.Until.Before(first.Until) {
			first = kept
		}
	}
	return first, trying
}

// Await waits until one of the named delegates may be called, for at most so long, and returns nil then, and at once
// when there are no names. It returns the *[CoolingError] of the one that may be called first as soon as it is clear
// that this will not be within the time, which may be at once, and ctx's cause when ctx is done. All that wait for a
// delegate are told at the same time.
func (t *Tracker) Await(ctx context.Context, most time.Duration, names ...string) error {
	end := time.Now().Add(most)
	for {
		news := t.listen() // before looking, so that nothing is missed
		first, trying := t.first(names)
		if first == nil {
			return nil
		}
		until := first.Until
		if until.After(end) {
			if !trying || !time.Now().Before(end) {
				return first
			}
			until = end
		}
		timer := time.NewTimer(time.Until(until))
		select {
		case <-timer.C:
		case <-news:
			timer.Stop()
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// listen returns a channel that is closed by the next tell.
func (t *Tracker) listen() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.news == nil {
		t.news = make(chan struct{})
	}
	return t.news
}

// tell wakes those that listen.
func (t *Tracker) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.news != nil {
		close(t.news)
		t.news = nil
	}
}
