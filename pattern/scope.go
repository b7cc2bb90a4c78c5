package pattern

import (
	"crypto/rand"
	"time"

	"github.com/firstgood/firstgood"
)

// What an attempt is as the context of its delegate and its judge: its place in the record, a key, and deadlines that
// are not those of a [context.WithDeadline], since they are disarmed.

// scopeOf is what an attempt's context says of its place in the record. A record costs more than the rest of a
// small race, so that a run which is not part of another has none until somebody asks its attempts for it.
func (r *run[R]) scopeOf(a *attempt[R]) *firstgood.Scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case a.scope != nil:
	case r.record == nil && r.closed: // its outcome is out, so that this is for nobody
		a.scope = &firstgood.Scope{Record: firstgood.NewRecord(r.started, nil), Call: -1, Index: a.i}
	default:
		if r.record == nil {
			r.record = firstgood.NewRecord(r.started, nil)
			for i := range r.calls {
				r.record.Begin(&r.calls[i])
			}
		}
		a.scope = &firstgood.Scope{Record: r.record, Call: r.calls[a.call].ID, Index: a.i}
	}
	return a.scope
}

// Value finds the attempt's scope and its idempotency key, and what the caller's context holds.
func (a *attempt[R]) Value(key any) any {
	switch key.(type) {
	case firstgood.ScopeKey:
		return a.run.scopeOf(a)
	case firstgood.IdempotencyKeyContext:
		return a.run.keyOf(a)
	}
	return a.Context.Value(key)
}

// keyOf is the attempt's idempotency key. Whoever judges the reply does something else than the delegate, and has none.
func (r *run[R]) keyOf(a *attempt[R]) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.stage == judging {
		return ""
	}
	if a.key == "" {
		a.key = rand.Text()
	}
	return a.key
}

// Deadline is the earliest of those that still hold: the caller's, the run's until it is decided, and the attempt's
// until the delegate has returned.
func (a *attempt[R]) Deadline() (time.Time, bool) {
	deadline, ok := a.Context.Deadline()
	earlier := func(d time.Duration) {
		if t := a.run.started.Add(d); !ok || t.Before(deadline) {
			deadline, ok = t, true
		}
	}
	r := a.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limit != nil && !r.closed {
		earlier(r.began + r.in.cfg.Timeout)
	}
	if limit := r.in.slots[a.i].limit; limit > 0 && a.stage == running && r.calls != nil {
		earlier(r.calls[a.call].Started + limit)
	}
	if end := r.in.plan.End(a.i); end > 0 && a.stage < settled && !r.closed {
		earlier(r.began + end)
	}
	return deadline, ok
}
