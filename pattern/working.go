package pattern

import (
	"context"
	"fmt"
	"time"

	"github.com/firstgood/firstgood"
)

// attempt is one delegate at work in a run. It is also the context that the delegate gets.
type attempt[R any] struct {
	context.Context
	cancel context.CancelCauseFunc
	run    *run[R]
	brief  *firstgood.Brief
	i      int
	call   int // its place in the run's calls

	// Guarded by run.mu.
	stage    stage
	accepted bool
	fatal    bool
	kept     bool             // its reply is returned; set when the run is closed
	timer    *time.Timer      // the delegate's time; nil for no limit
	last     *time.Timer      // the attempt's time, where some of the run's is kept for others
	scope    *firstgood.Scope // nil until somebody asks
	key      string           // for idempotency; "" until somebody asks
	path     []string         // the way to the winner inside it
	reply    R                // of an accepted attempt
	failure  *firstgood.Failure
}

type stage uint8

const (
	running  stage = iota // the delegate is at work
	judging               // it has returned, and its reply is being weighed
	settled               // it has a turn for the loop
	consumed              // the loop has taken it
	passed                // it was kept from starting; failure says why
	stopped               // it was told to stop, and has; the loop has no use for it
)

// work makes the attempt, to its end. Who was told to stop is not to blame, so that there is no failure to describe.
func (a *attempt[R]) work() {
	var f finish[R]
	defer a.done(&f)
	a.run.in.try(a, a.brief, a.i, a, &f)
	if a.Err() == nil {
		a.run.in.tell(a.i, &f, nil)
	}
}

// done is the end of work, also when the goroutine is on its way out.
func (a *attempt[R]) done(f *finish[R]) {
	in := a.run.in
	if !in.cfg.Inline {
		defer in.live.leave()
	}
	defer a.settle(f)
	if a.Err() == nil {
		in.tell(a.i, f, nil)
	}
}

// replied enters what the delegate's part has cost, moves on to the judgement, and reports whether there is a point in
// it.
func (a *attempt[R]) replied(f *finish[R]) bool {
	r := a.run
	usage := r.in.usage(f.reply, f.err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls != nil {
		r.calls[a.call].Usage = usage
	}
	if a.scope != nil && r.in.slots[a.i].nested {
		a.path = a.scope.Path()
	}
	if a.stage != running || r.closed {
		return false
	}
	if f.err == nil && r.in.cfg.Criteria != nil {
		a.stage = judging
		r.calls[a.call].State = firstgood.StateJudging
		r.put(&r.calls[a.call])
	}
	return true
}

// expire is called when the delegate's time is up, which the judgement of its reply does not count against.
func (a *attempt[R]) expire() {
	r, slot := a.run, &a.run.in.slots[a.i]
	r.mu.Lock()
	over := r.closed || a.stage > running
	r.mu.Unlock()
	if over {
		return
	}
	err := timeoutError(slot.limit, "no reply")
	failure := firstgood.FailureOf(slot.name(), a.i, err)
	fatal := r.in.stop(&failure)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && a.stage == running {
		a.end(&failure, fatal)
		a.cancel(err)
	}
}

// giveWay is called when what is left of the run is kept for those still to come. It ends the judgement too.
func (a *attempt[R]) giveWay() {
	r := a.run
	r.mu.Lock()
	if r.closed || a.stage > judging {
		r.mu.Unlock()
		return
	}
	had, judged := r.began+r.in.plan.End(a.i)-r.calls[a.call].Started, a.stage == judging
	r.mu.Unlock()
	err := timeoutError(had.Round(time.Millisecond), "no reply")
	failure := firstgood.FailureOf(r.in.slots[a.i].name(), a.i, err)
	failure.Detail = fmt.Sprintf("%v of the run's %v is kept for each delegate still to come", r.in.cfg.Reserve, r.in.cfg.Timeout)
	if judged {
		failure.Kind, failure.Reason = firstgood.KindJudgeError, "no verdict in time"
	}
	fatal := r.in.stop(&failure)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed && a.stage <= judging {
		a.end(&failure, fatal)
		a.cancel(err)
	}
}

// settle settles the attempt with what its goroutine brings, or discards that when it is late.
func (a *attempt[R]) settle(f *finish[R]) {
	r := a.run
	r.mu.Lock()
	a.disarm()
	good := false
	switch {
	case r.closed || a.stage > judging:
		a.late()
	case f.accepted():
		good = true
		a.reply = f.reply
		a.end(nil, false)
	case f.failure != nil:
		a.end(f.failure, f.fatal)
	default:
		a.stage = stopped
		r.calls[a.call].State = firstgood.StateCancelled
		a.late()
	}
	r.mu.Unlock()
	if !good {
		a.cancel(nil)
		r.in.free(f)
	}
}

func (a *attempt[R]) disarm() {
	for _, timer := range [...]*time.Timer{a.timer, a.last} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// end gives the attempt its turn: a failure, or nil where its reply is accepted. The run's lock is held.
func (a *attempt[R]) end(failure *firstgood.Failure, fatal bool) {
	r, call := a.run, &a.run.calls[a.call]
	call.Duration = r.elapsed() - call.Started
	a.stage, a.accepted, a.fatal, a.failure = settled, failure == nil, fatal, failure
	if failure != nil {
		failure.Duration = call.Duration
		call.State, call.Kind, call.Reason = firstgood.StateFailed, failure.Kind, failure.Reason
		if failure.Kind == firstgood.KindRejected && failure.Err == nil {
			call.State = firstgood.StateRejected
		}
	}
	r.put(call)
	r.signal()
}

// late enters the end of an attempt that the loop has no use for. The run's lock is held.
func (a *attempt[R]) late() {
	r := a.run
	if r.calls == nil {
		return
	}
	call := &r.calls[a.call]
	if call.State == firstgood.StateCancelled {
		call.Duration = r.elapsed() - call.Started
	}
	r.put(call)
}

// keep leaves the attempt's context alive until its reply is closed, where the reply needs it.
func (a *attempt[R]) keep() {
	held := false
	defer func() {
		if !held {
			a.cancel(nil)
		}
	}()
	held = a.run.in.mayHold() && a.run.in.hold(a.reply, func() { a.cancel(nil) })
}
