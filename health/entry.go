package health

import (
	"fmt"
	"sync"
	"time"

	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/firstgood/firstgood"
)

// entry is what is known of one delegate.
//
// The breaker, a library's, keeps the window and the states. Two things that it does not know are kept beside it.
// One is a period: an attempt counts for the breaker in the one in which it began, so that what was in flight when it
// opened does not close it again. The other is who holds the one place of a half-open breaker, so that an attempt which
// comes to nothing can give it back.
type entry struct {
	tracker *Tracker
	name    string

	mu      sync.Mutex
	until   time.Time                          // the end of the cooldown
	after   firstgood.Kind                     // the failure that set it
	breaker circuitbreaker.CircuitBreaker[any] // nil when there is none
	period  uint64                             // changes when the breaker opens or closes
	opened  string                             // why the breaker is not closed
	probe   *attempt                           // in flight, and holds the place until lapse
	lapse   time.Time                          // in case it never ends

	successes, failures, uncounted, refused int
}

func newEntry(t *Tracker, name string) *entry {
	e := &entry{tracker: t, name: name}
	if b := t.cfg.Breaker; !b.Off {
		e.breaker = circuitbreaker.NewBuilder[any]().
			WithFailureRateThreshold(b.Ratio, uint(b.Sample), b.Window).
			WithSuccessThreshold(1).
			WithDelay(b.Open).
			Build()
	}
	return e
}

// kept says why the delegate must not be called now, or returns nil. The entry's lock is held.
func (e *entry) kept() *CoolingError {
	closed := e.closed()
	if closed && e.until.IsZero() { // as nearly always, and then it does not ask for the time
		return nil
	}
	var state State
	var until time.Time
	now, reason := time.Now(), ""
	if e.until.After(now) {
		state, until, reason = Cooling, e.until, string(e.after)
	} else {
		e.until = time.Time{}
	}
	switch {
	case closed:
	case e.breaker.State() == circuitbreaker.OpenState:
		left := e.breaker.RemainingDelay()
		if end := now.Add(left); left > 0 && end.After(until) {
			state, until, reason = Open, end, e.opened
		}
	case e.probe != nil && e.lapse.After(now) && e.lapse.After(until):
		state, until, reason = HalfOpen, e.lapse, e.opened
	}
	if state == "" {
		return nil
	}
	return &CoolingError{Delegate: e.name, State: state, Until: until, Wait: until.Sub(now), Reason: reason}
}

// closed reports whether the breaker is closed, as one that is not there always is.
func (e *entry) closed() bool {
	return e.breaker == nil || e.breaker.State() == circuitbreaker.ClosedState
}

// attempt is one attempt of the delegate.
type attempt struct {
	entry  *entry
	period uint64 // of the breaker, when it began
	probes bool   // the breaker was half-open when it began
	ended  bool   // guarded by the entry's lock

	mu       sync.Mutex
	late     bool        // it has had nine tenths of its time
	returned bool        // its timer has nothing to do any more
	forget   func() bool // what the timer has arranged
}

// begin lets an attempt start that has so long of its own, 0 for no limit, or says why it must not.
func (e *entry) begin(limit time.Duration) (*attempt, *CoolingError) {
	a := &attempt{entry: e}
	e.mu.Lock()
	defer e.mu.Unlock()
	if kept := e.kept(); kept != nil {
		e.refused++
		return nil, kept
	}
	if a.probes = !e.closed(); a.probes {
		e.breaker.HalfOpen() // if it is not yet
		e.probe, e.lapse = a, time.Now().Add(limit).Add(e.tracker.cfg.Breaker.Open)
	}
	a.period = e.period
	return a, nil
}

// succeed ends the attempt with a reply.
func (a *attempt) succeed() {
	a.end(func(e *entry) {
		e.successes++
		a.record(e, "", true)
	})
}

// fail ends the attempt with a failure of the kind, after which the other side asked to be left alone for so long; 0
// when it did not.
func (a *attempt) fail(kind firstgood.Kind, wish time.Duration) {
	a.end(func(e *entry) {
		t := e.tracker
		if d, cools := t.cfg.Cooldown[kind]; cools {
			if wish > 0 {
				d = min(wish, t.cfg.MaxCooldown)
			}
			if until := time.Now().Add(d); until.After(e.until) {
				e.until, e.after = until, kind
			}
		}
		if t.counts[kind] {
			e.failures++
			a.record(e, kind, false)
		} else {
			e.uncounted++
		}
	})
}

// drop ends the attempt with nothing that could be held for or against the delegate.
func (a *attempt) drop() {
	a.end(func(e *entry) { e.uncounted++ })
}

// end ends the attempt, the first time that it is called.
func (a *attempt) end(count func(*entry)) {
	e := a.entry
	e.mu.Lock()
	if a.ended {
		e.mu.Unlock()
		return
	}
	a.ended = true
	if e.probe == a {
		e.probe = nil
	}
	count(e)
	e.mu.Unlock()
	if a.probes {
		e.tracker.tell()
	}
}

// record tells the breaker how an attempt of this period ended. The entry's lock is held.
func (a *attempt) record(e *entry, kind firstgood.Kind, success bool) {
	if e.breaker == nil || a.period != e.period {
		return
	}
	if success {
		e.breaker.RecordSuccess()
	} else {
		e.breaker.RecordFailure()
	}
	before := circuitbreaker.ClosedState
	if a.probes {
		before = circuitbreaker.HalfOpenState
	}
	state := e.breaker.State()
	if state != before {
		e.period++
	}
	if state == circuitbreaker.OpenState {
		e.opened = a.why(e, kind)
	}
}

// why says why the breaker has opened.
func (a *attempt) why(e *entry, kind firstgood.Kind) string {
	if a.probes {
		return fmt.Sprintf("the attempt that tried it out failed too: %s", kind)
	}
	m := e.breaker.Metrics()
	reason := fmt.Sprintf("%d of %d attempts failed", m.Failures(), m.Executions())
	if kind != "" { // else a success has made the sample large enough
		reason += fmt.Sprintf(", the last: %s", kind)
	}
	return reason
}
