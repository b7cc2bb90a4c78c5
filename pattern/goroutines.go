package pattern

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/firstgood/firstgood"
)

// The goroutine host. Each attempt has a goroutine, which also weighs its reply, so that a slow judge never sits on
// the loop. An attempt is settled once, by its goroutine or by its timer, under the run's lock; what its goroutine
// brings afterwards is late and is discarded. A run is closed once, after its decision; what attempts bring after
// that is late too.
//
// Deadlines are timers that are disarmed, not contexts that expire: a winner's context lives on until its reply is
// closed.
//
// The inline host is this one with the attempts made inside Next, except for the plain runs of inline.go. What an
// attempt does is in working.go.

// run is one execution of an instance. What is above mu belongs to the loop.
type run[R any] struct {
	in      *Instance[R]
	ctx     context.Context // the caller's
	brief   firstgood.Brief
	parent  int           // the call that the run serves, -1 for none
	started time.Time     // from when calls count: the record's start, or where there is none the run's
	began   time.Duration // the run's start, since started
	now     time.Duration // the last turn, since started
	lost    error         // what losers are told; nil until somebody has won
	limit   error         // what ends the run when its timeout is up; nil for no timeout
	timer   *time.Timer   // the run's timeout
	inline  *attempt[R]   // to be made in Next
	block   []attempt[R]  // room for those to come

	mu       sync.Mutex
	wake     chan struct{} // nil until the loop waits; holds a token when something has happened since it looked
	record   *firstgood.Record
	calls    []firstgood.Call // in order of start
	attempts []*attempt[R]    // nil: not started
	low      int              // every attempt before it is consumed, or was never started
	expired  bool
	closed   bool
}

// yield lets goroutines that are ready to run do so. Without it, of three delegates that answer at once the last
// listed would nearly always be seen first, since that is the goroutine the scheduler runs next; with it, the first is in
// more than 99 races of 100 (BenchmarkYield), and a second yield adds nothing.
func yield() { runtime.Gosched() }

// execute runs the instance to its decision. Whatever happens, a panic in a hook too, no attempt is left running
// without having been told to stop.
func (in *Instance[R]) execute(ctx context.Context, brief firstgood.Brief) (*run[R], Decision, error) {
	r := in.start(ctx, brief)
	defer func() {
		if !r.closed {
			r.close(Decision{Winner: -1}, errAborted)
		}
	}()
	d, err := Settle(r.plan(), r)
	r.close(d, err)
	return r, d, err
}

var errAborted = errors.New("the run was aborted")

func (in *Instance[R]) start(ctx context.Context, brief firstgood.Brief) *run[R] {
	r := &run[R]{in: in, ctx: ctx, brief: brief, parent: -1}
	if scope := firstgood.ScopeOf(ctx); scope != nil && scope.Record != nil {
		r.record, r.parent = scope.Record, scope.Call
		r.started = r.record.Start()
		r.now = time.Since(r.started)
		r.began = r.now
	} else {
		r.started = time.Now()
	}
	r.attempts = make([]*attempt[R], in.plan.N)
	r.block = make([]attempt[R], in.plan.First)
	r.calls = make([]firstgood.Call, 0, in.plan.First)
	if in.cfg.Timeout > 0 {
		r.limit = timeoutError(in.cfg.Timeout, "no decision")
		r.timer = time.AfterFunc(in.cfg.Timeout, r.expire)
	}
	return r
}

func (r *run[R]) elapsed() time.Duration { return time.Since(r.started) }

// plan is the instance's plan with its gate bound to this run.
func (r *run[R]) plan() Plan {
	p := r.in.plan
	if r.in.cfg.Gate != nil || p.Reserve > 0 {
		p.May = r.may
	}
	return p
}

func (r *run[R]) may(i int, tick bool) bool {
	err := r.room(i)
	if gate := r.in.cfg.Gate; gate != nil && err == nil {
		err = gate(r.ctx, Start{I: i, Tick: tick, Started: len(r.calls), History: r.history()})
	}
	if err != nil && !tick {
		f := firstgood.FailureOf(r.in.slots[i].name(), i, err)
		f.Kind = firstgood.KindNoStart
		r.mu.Lock()
		r.attempts[i] = &attempt[R]{stage: passed, failure: &f}
		r.mu.Unlock()
	}
	return err == nil
}

// room returns an error when what is left of the run is kept for those after delegate i.
func (r *run[R]) room(i int) error {
	if end := r.in.plan.End(i); end > 0 && r.elapsed()-r.began >= end {
		return fmt.Errorf("no time is left for it: %v is kept for each delegate still to come", r.in.cfg.Reserve)
	}
	return nil
}

// Call implements [Host].
func (r *run[R]) Call(i int) {
	if len(r.block) == 0 {
		r.block = make([]attempt[R], 1)
	}
	a, slot := &r.block[0], &r.in.slots[i]
	r.block = r.block[1:]
	a.run, a.i, a.brief = r, i, &r.brief
	if r.in.grow != nil && i > 0 {
		grown := r.in.grow(r.brief, r.history())
		a.brief = &grown
	}
	a.Context, a.cancel = context.WithCancelCause(r.ctx)
	r.mu.Lock()
	a.call = len(r.calls)
	r.calls = append(r.calls, firstgood.Call{
		ID: a.call, Parent: r.parent, Delegate: slot.name(), Index: i, Role: firstgood.RoleDelegate,
		State: firstgood.StateRunning, Started: r.now, Nested: slot.nested,
	})
	if r.record != nil {
		r.record.Begin(&r.calls[a.call])
	}
	if slot.limit > 0 {
		a.timer = time.AfterFunc(slot.limit, a.expire)
	}
	if end := r.in.plan.End(i); end > 0 {
		a.last = time.AfterFunc(r.began+end-r.elapsed(), a.giveWay)
	}
	r.attempts[i] = a
	if r.expired {
		a.cancel(r.limit)
	}
	r.mu.Unlock()
	if r.in.cfg.Inline {
		r.inline = a
		return
	}
	r.in.live.enter()
	go a.work()
}

// Cancel implements [Host].
func (r *run[R]) Cancel(i, winner int) {
	if winner >= 0 && r.lost == nil {
		r.lost = &firstgood.LostError{Winner: r.in.slots[winner].name()}
	}
	a := r.attempts[i]
	r.mu.Lock()
	over := a.stage == consumed // part of a fan-out's result, perhaps, whose context lives on
	r.mu.Unlock()
	if a.cancel != nil && !over {
		a.cancel(r.lost)
	}
}

// Next implements [Host].
func (r *run[R]) Next(wait time.Duration) (Turn, error) {
	if a := r.inline; a != nil {
		r.inline = nil
		a.work()
	}
	var tick <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		tick = timer.C
	}
	for ticked := false; ; {
		r.in.ready()
		if turn, ok, err := r.look(); ok || err != nil {
			return turn, err
		}
		if ticked {
			r.now = r.elapsed()
			return Turn{Tick: true}, nil
		}
		select {
		case <-r.wake:
		case <-r.ctx.Done():
		case <-tick:
			ticked = true
		}
	}
}

// look consumes the lowest-listed attempt that has settled, if there is one. That the run has been stopped is found
// out after the attempt was, since a stop makes attempts fail.
func (r *run[R]) look() (turn Turn, ok bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.low < len(r.attempts) && r.attempts[r.low] != nil && r.attempts[r.low].stage >= consumed {
		r.low++
	}
	var first *attempt[R]
	for _, a := range r.attempts[r.low:] {
		if a != nil && a.stage == settled {
			first = a
			break
		}
	}
	switch {
	case r.ctx.Err() != nil:
		return Turn{}, false, context.Cause(r.ctx)
	case r.expired:
		return Turn{}, false, r.limit
	case first == nil:
		if r.wake == nil {
			r.wake = make(chan struct{}, 1)
		}
		return Turn{}, false, nil
	}
	first.stage = consumed
	call := &r.calls[first.call]
	r.now = max(r.now, call.Started+call.Duration)
	return Turn{I: first.i, Accepted: first.accepted, Fatal: first.fatal}, true, nil
}

// signal wakes the loop, if it waits. The run's lock is held.
func (r *run[R]) signal() {
	if r.wake != nil {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// expire is called by the run's timer. The attempts are told here, since an inline loop is busy with one of them.
func (r *run[R]) expire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.expired = true
	r.signal()
	for _, a := range r.attempts {
		if a != nil && a.stage < settled {
			a.cancel(r.limit)
		}
	}
}

func (r *run[R]) put(call *firstgood.Call) {
	if r.record != nil {
		r.record.Put(call)
	}
}

// close ends the run: every attempt that is not returned is cancelled, and its reply discarded.
func (r *run[R]) close(d Decision, err error) {
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Lock()
	r.closed = true
	r.now = r.elapsed()
	all := r.in.pattern == FanOutName && err == nil && !d.Fatal
	for _, a := range r.attempts {
		if a == nil || a.stage > judging && !a.accepted {
			continue
		}
		call := &r.calls[a.call]
		switch {
		case !a.accepted:
			a.disarm()
			call.State, call.Duration = firstgood.StateCancelled, r.now-call.Started
		case a.i == d.Winner || all && a.stage == consumed: // one that came after as many as were wanted is not
			call.State, a.kept = firstgood.StateWon, true
		default:
			call.State = firstgood.StateLost
		}
		r.put(call)
	}
	r.mu.Unlock()
	for _, a := range r.attempts {
		switch {
		case a == nil || a.cancel == nil:
		case a.kept:
			a.keep()
		default:
			a.cancel(err)
			if a.accepted {
				r.in.discard(r.result(a))
			}
		}
	}
}

// result takes the reply out of the run, which a delegate that is deaf may keep in memory for long.
func (r *run[R]) result(a *attempt[R]) R {
	var none R
	reply := a.reply
	a.reply = none
	return reply
}

// history is what has failed so far and was consumed, in listed order.
func (r *run[R]) history() []firstgood.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	var history []firstgood.Failure
	for _, a := range r.attempts {
		if a != nil && a.failure != nil && a.stage >= consumed {
			history = append(history, *a.failure)
		}
	}
	return history
}

// report fills in what every outcome has, with or without a winner.
func (r *run[R]) report(d Decision, out *firstgood.Outcome[R]) {
	out.Attempts = r.in.attempts(d)
	out.Duration = r.now - r.began
	out.History = r.history()
}

// snapshot is the calls as they stand at the decision. It is taken once.
func (r *run[R]) snapshot() []firstgood.Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record == nil { // then nobody will look at them again
		calls := r.calls
		r.calls = nil
		return calls
	}
	ids := make([]int, len(r.calls))
	for i := range r.calls {
		ids[i] = r.calls[i].ID
	}
	calls := r.record.Tree(ids...)
	for i := range calls { // those of nested runs and judges that have not heard of the decision yet
		if c := &calls[i]; c.State == firstgood.StateRunning || c.State == firstgood.StateJudging {
			c.State, c.Duration = firstgood.StateCancelled, r.now-c.Started
		}
	}
	return calls
}
