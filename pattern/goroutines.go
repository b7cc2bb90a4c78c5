package pattern

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
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

// run is one execution of an instance on goroutines.
type run[R any] struct {
	in       *Instance[R]
	ctx      context.Context // the caller's
	brief    firstgood.Brief
	lost     error         // what losers are told; nil until somebody has won
	parent   int           // the call that the run serves, -1 for none
	started  time.Time     // the record's start, or where there is none the run's
	began    time.Duration // the run's start, since started
	now      time.Duration // the last turn, since started
	wake     chan struct{} // holds one token when an attempt has settled since the last look
	timer    *time.Timer   // the run's timeout; nil for none
	expired  bool
	inFlight int // started and not yet consumed; the loop's own

	mu       sync.Mutex
	record   *firstgood.Record // nil until there is somebody to share it with
	calls    int               // begun
	closed   bool
	low      int // every attempt before it is consumed or was never started
	attempts []attempt[R]
}

// attempt is one delegate at work in a run. It is also the context that the delegate gets.
type attempt[R any] struct {
	context.Context
	run      *run[R]
	i        int
	brief    *firstgood.Brief
	cancel   context.CancelCauseFunc
	deadline time.Time // the zero time for none

	// Guarded by run.mu.
	stage   stage
	timer   *time.Timer
	call    firstgood.Call
	scope   *firstgood.Scope // nil until somebody asks
	turn    Turn
	reply   R
	owned   bool               // reply is good, and is discarded unless it is kept
	kept    bool               // it is returned; set when the run is closed
	failure *firstgood.Failure // nil when the turn is accepted
}

type stage uint8

const (
	idle     stage = iota
	running        // its goroutine is at work
	judging        // the delegate has returned
	settled        // it has a turn for the loop
	consumed       // the loop has taken it
	passed         // it was kept from starting; failure says why
)

// yield lets goroutines that are ready to run do so. Without it, of three delegates that answer at once the last
// listed would nearly always be seen first, since that is the goroutine the scheduler runs next.
func yield() {
	runtime.Gosched()
}

func (in *Instance[R]) start(ctx context.Context, brief firstgood.Brief) *run[R] {
	r := &run[R]{in: in, ctx: ctx, brief: brief, parent: -1, wake: make(chan struct{}, 1)}
	if scope := firstgood.ScopeOf(ctx); scope != nil {
		r.record, r.parent = scope.Record, scope.Call
		r.started = r.record.Start()
		r.now = time.Since(r.started)
		r.began = r.now
	} else {
		r.started = time.Now()
	}
	r.attempts = make([]attempt[R], in.plan.N)
	if in.cfg.Timeout > 0 {
		r.timer = time.NewTimer(in.cfg.Timeout)
	}
	return r
}

func (r *run[R]) elapsed() time.Duration { return time.Since(r.started) }

// enter begins the attempt's call. A record costs more than the rest of a small race, so that a run which is not
// part of another has none until somebody asks its attempts for it; until then IDs are the order of start.
func (r *run[R]) enter(a *attempt[R]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.call.ID = r.calls
	r.calls++
	if r.record != nil {
		r.record.Begin(&a.call)
	}
}

func (r *run[R]) put(a *attempt[R]) {
	if r.record != nil {
		r.record.Put(&a.call)
	}
}

// scopeOf is what an attempt's context says of its place in the record.
func (r *run[R]) scopeOf(a *attempt[R]) *firstgood.Scope {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.record == nil {
		r.record = firstgood.NewRecord(r.started, nil)
		for i := range r.attempts { // listed order is the order of start
			if started := &r.attempts[i]; started.cancel != nil {
				r.record.Begin(&started.call)
			}
		}
	}
	if a.scope == nil {
		a.scope = &firstgood.Scope{Record: r.record, Call: a.call.ID, Index: a.i}
	}
	return a.scope
}

// inner is the way to the winner inside delegate i, where that is an instance; nil otherwise.
func (r *run[R]) inner(i int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if scope := r.attempts[i].scope; scope != nil {
		return scope.Path
	}
	return nil
}

// plan is the instance's plan with its gate bound to this run.
func (r *run[R]) plan() Plan {
	p := r.in.plan
	gate, most := r.in.cfg.Gate, r.in.cfg.MaxParallel
	if gate == nil && (most == 0 || p.Delay == 0) {
		return p
	}
	p.May = func(i int, tick bool) bool {
		if tick && most > 0 && r.inFlight >= most {
			return false
		}
		if gate == nil {
			return true
		}
		err := gate(i, tick)
		if err != nil && !tick {
			f := firstgood.FailureOf(r.in.paths[i][0], i, err)
			f.Kind = firstgood.KindNoStart
			a := &r.attempts[i]
			r.mu.Lock()
			a.failure = &f
			a.stage = passed
			r.mu.Unlock()
		}
		return err == nil
	}
	return p
}

// Call implements [Host].
func (r *run[R]) Call(i int) {
	in := r.in
	a := &r.attempts[i]
	a.run, a.i, a.stage, a.brief = r, i, running, &r.brief
	if in.grow != nil && i > 0 {
		grown := in.grow(r.brief, r.history())
		a.brief = &grown
	}
	a.Context, a.cancel = context.WithCancelCause(r.ctx)
	a.call = firstgood.Call{
		Parent: r.parent, Delegate: in.paths[i][0], Index: i, Role: firstgood.RoleDelegate,
		State: firstgood.StateRunning, Started: r.now, Nested: in.nested[i],
	}
	r.enter(a)
	if limit := in.limits[i]; limit > 0 {
		a.deadline = time.Now().Add(limit)
		a.timer = time.AfterFunc(limit, a.expire)
	}
	r.inFlight++
	in.live.enter()
	go a.work()
}

// Cancel implements [Host].
func (r *run[R]) Cancel(i, winner int) {
	a := &r.attempts[i]
	if a.cancel == nil {
		return
	}
	r.mu.Lock()
	inFlight := a.stage == running || a.stage == judging
	r.mu.Unlock()
	if inFlight {
		if r.lost == nil && winner >= 0 {
			r.lost = &firstgood.LostError{Winner: r.in.paths[winner][0]}
		}
		a.cancel(r.lost)
	}
}

// Next implements [Host].
func (r *run[R]) Next(wait time.Duration) (Turn, error) {
	var tick <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		tick = timer.C
	}
	var expiry <-chan time.Time
	if r.timer != nil {
		expiry = r.timer.C
	}
	for ticked := false; ; {
		r.in.ready()
		if !r.expired {
			select {
			case <-expiry:
				r.expired = true
			default:
			}
		}
		if err := r.stopped(); err != nil {
			return Turn{}, err
		}
		if turn, ok := r.take(); ok {
			return turn, nil
		}
		if ticked {
			r.now = r.elapsed()
			return Turn{Tick: true}, nil
		}
		select {
		case <-r.wake:
		case <-r.ctx.Done():
		case <-expiry:
			r.expired = true
		case <-tick:
			ticked = true
		}
	}
}

func (r *run[R]) stopped() error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if r.expired {
		return timeoutError(r.in.cfg.Timeout, "no decision")
	}
	return nil
}

// take consumes the lowest-listed attempt that has settled.
func (r *run[R]) take() (Turn, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.low < len(r.attempts) && r.attempts[r.low].stage >= consumed {
		r.low++
	}
	for i := r.low; i < len(r.attempts); i++ {
		a := &r.attempts[i]
		if a.stage == settled {
			a.stage = consumed
			r.inFlight--
			r.now = a.call.Started + a.call.Duration
			return a.turn, true
		}
	}
	return Turn{}, false
}

// work is the attempt's goroutine.
func (a *attempt[R]) work() {
	defer a.run.in.live.leave()
	var f finish[R]
	defer func() {
		if !f.done {
			f.err, f.verdict = crash(recover()), firstgood.Verdict{}
			a.end(&f)
		}
	}()
	in, brief := a.run.in, *a.brief
	f.reply, f.err = in.cfg.Delegates[a.i].Attempt(a, brief)
	f.owned = true
	if f.err == nil && in.cfg.Criteria != nil && a.judge(f.reply) {
		f.verdict, f.err = in.cfg.Criteria(a, brief, f.reply)
		f.unjudged = f.err != nil
	}
	f.done = true
	a.end(&f)
}

// finish is what an attempt's goroutine brings.
type finish[R any] struct {
	reply    R
	owned    bool // the delegate has returned, and reply is what it gave
	verdict  firstgood.Verdict
	err      error
	unjudged bool // err is that of the criteria
	done     bool // nothing panicked
}

func (f *finish[R]) accepted() bool { return f.err == nil && !f.verdict.Rejected && !f.verdict.Fatal }

// judge moves on from the delegate's part to the judgement, and reports whether there is a point in it.
func (a *attempt[R]) judge(reply R) bool {
	r := a.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.stage != running || r.closed {
		return false
	}
	if a.timer != nil {
		a.timer.Stop()
	}
	a.stage = judging
	a.call.State, a.call.Usage = firstgood.StateJudging, r.in.usage(reply, nil)
	r.put(a)
	return true
}

// expire is called by the attempt's timer.
func (a *attempt[R]) expire() {
	r := a.run
	err := timeoutError(r.in.limits[a.i], "no reply")
	r.mu.Lock()
	late := a.stage != running || r.closed
	if !late {
		a.call.Duration = r.elapsed() - a.call.Started
		a.fail(&finish[R]{err: err}, "")
	}
	r.mu.Unlock()
	if !late {
		a.cancel(err)
		r.signal()
	}
}

// end settles the attempt with what its goroutine brings, or discards that when it is late.
func (a *attempt[R]) end(f *finish[R]) {
	r := a.run
	usage := r.in.usage(f.reply, f.err)
	excerpt := ""
	if f.owned && (f.unjudged || f.verdict.Rejected) {
		excerpt, _ = firstgood.Excerpt(firstgood.TextOf(any(f.reply)), firstgood.ExcerptUnits)
	}
	r.mu.Lock()
	if a.timer != nil {
		a.timer.Stop()
	}
	a.call.Usage = usage
	late := r.closed || a.stage >= settled
	if !late || a.call.State == firstgood.StateCancelled {
		a.call.Duration = r.elapsed() - a.call.Started
	}
	good := !late && f.accepted()
	switch {
	case good:
		a.stage, a.turn = settled, Turn{I: a.i, Accepted: true}
		a.reply, a.owned = f.reply, true
		r.put(a)
	case late:
		r.put(a)
	default:
		a.fail(f, excerpt)
	}
	r.mu.Unlock()
	if !good {
		a.cancel(nil)
		if f.owned {
			r.in.discard(f.reply)
		}
	}
	if !late {
		r.signal()
	}
}

// fail settles an attempt that is not accepted. The run's lock is held, and the call's duration is set.
func (a *attempt[R]) fail(f *finish[R], excerpt string) {
	failure := new(firstgood.Failure)
	fatal := failureOf(failure, &a.call, &f.verdict, f.err, f.unjudged)
	failure.Reply = excerpt
	a.stage, a.turn, a.failure = settled, Turn{I: a.i, Fatal: fatal}, failure
	a.call.State, a.call.Kind, a.call.Reason = firstgood.StateFailed, failure.Kind, failure.Reason
	switch {
	case f.err == nil:
		a.call.State = firstgood.StateRejected
	case a.Err() != nil: // it was told to stop, and nobody is to blame
		a.call.State, a.call.Kind, a.call.Reason = firstgood.StateCancelled, "", ""
	}
	a.run.put(a)
}

// failureOf fills in f for an attempt that was not accepted, and says whether it ends the run.
func failureOf(f *firstgood.Failure, call *firstgood.Call, verdict *firstgood.Verdict, err error, unjudged bool) (fatal bool) {
	if err == nil {
		*f = firstgood.Failure{Delegate: call.Delegate, Index: call.Index, Kind: firstgood.KindRejected, Reason: verdict.Reason, Detail: verdict.Detail}
		if f.Reason == "" {
			f.Reason = "the reply was rejected"
		}
		fatal = verdict.Fatal
	} else {
		*f = firstgood.FailureOf(call.Delegate, call.Index, err)
		if f.Kind == firstgood.KindExhausted || f.Nested != nil {
			nested, ok := errors.AsType[*firstgood.NoWinnerError](err)
			fatal = ok && nested.Status == firstgood.StatusStopped
		}
		if unjudged {
			f.Kind = firstgood.KindJudgeError
		}
	}
	f.Duration = call.Duration
	return fatal
}

func (r *run[R]) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// close ends the run: everything that is not returned is cancelled and discarded.
func (r *run[R]) close(d Decision, err error) {
	if r.timer != nil {
		r.timer.Stop()
	}
	r.mu.Lock()
	r.closed = true
	r.now = r.elapsed()
	all := r.in.pattern == FanOutName && err == nil && !d.Fatal
	for i := range r.attempts {
		a := &r.attempts[i]
		switch {
		case a.cancel == nil:
			continue
		case a.stage < settled:
			if a.timer != nil {
				a.timer.Stop()
			}
			a.call.State, a.call.Duration = firstgood.StateCancelled, r.now-a.call.Started
		case a.stage == consumed && a.turn.Accepted && (i == d.Winner || all):
			a.call.State, a.kept = firstgood.StateWon, true
		case a.turn.Accepted:
			a.call.State = firstgood.StateLost
		default:
			continue
		}
		r.put(a)
	}
	r.mu.Unlock()
	for i := range r.attempts {
		a := &r.attempts[i]
		switch {
		case a.cancel == nil:
		case a.kept:
			if !r.in.mayHold() || !r.in.hold(a.reply, func() { a.cancel(nil) }) {
				a.cancel(nil)
			}
		default:
			a.cancel(err)
			if a.owned {
				r.in.discard(a.reply)
			}
		}
	}
}

// history is what has failed so far and was consumed, in listed order.
func (r *run[R]) history() []firstgood.Failure {
	var history []firstgood.Failure
	for i := range r.attempts {
		a := &r.attempts[i]
		if a.stage == passed || a.stage == consumed && !a.turn.Accepted {
			history = append(history, *a.failure)
		}
	}
	return history
}

// report fills in what every outcome has, with or without a winner.
func (r *run[R]) report(d Decision, out *firstgood.Outcome[R]) {
	out.Attempts = r.in.attempts(d)
	out.Duration = r.now - r.began
	r.mu.Lock()
	out.History = r.history()
	if r.record != nil {
		out.Calls = r.record.Under(r.parent)
	} else {
		out.Calls = make([]firstgood.Call, d.Started)
		for i := range r.attempts {
			if a := &r.attempts[i]; a.cancel != nil {
				out.Calls[a.call.ID] = a.call
			}
		}
	}
	r.mu.Unlock()
	for i := range out.Calls { // those of nested runs and judges that have not heard of the decision yet
		if c := &out.Calls[i]; c.State == firstgood.StateRunning || c.State == firstgood.StateJudging {
			c.State, c.Duration = firstgood.StateCancelled, r.now-c.Started
		}
	}
}

// noWinner fills in the status of a run without a winner and returns its error.
func noWinner[R any](name string, out *firstgood.Outcome[R], d Decision, cause error, expired bool) error {
	out.Status = statusOf(out.History, d, cause, expired)
	return &firstgood.NoWinnerError{Name: name, Status: out.Status, Attempts: out.Attempts, History: out.History, Cause: cause}
}

func statusOf(history []firstgood.Failure, d Decision, cause error, expired bool) firstgood.Status {
	switch {
	case cause != nil && expired:
		return firstgood.StatusTimeout
	case cause != nil:
		return firstgood.StatusCancelled
	case d.Fatal:
		return firstgood.StatusStopped
	}
	for _, f := range history {
		if f.Kind == firstgood.KindJudgeError {
			return firstgood.StatusJudgeError
		}
	}
	return firstgood.StatusExhausted
}

func timeoutError(limit time.Duration, what string) error {
	return &firstgood.Error{Kind: firstgood.KindTimeout, Reason: fmt.Sprintf("%s within %v", what, limit), Err: context.DeadlineExceeded}
}

// crash describes a delegate that did not return: it panicked with value, or called runtime.Goexit when that is nil.
func crash(value any) error {
	reason := "it called runtime.Goexit"
	if value != nil {
		reason = fmt.Sprintf("panic: %v", value)
	}
	return &firstgood.Error{Kind: firstgood.KindPanic, Reason: reason, Detail: string(debug.Stack())}
}

// Deadline is the attempt's, or its caller's where that is earlier.
func (a *attempt[R]) Deadline() (time.Time, bool) {
	callers, ok := a.Context.Deadline()
	if a.deadline.IsZero() || ok && callers.Before(a.deadline) {
		return callers, ok
	}
	return a.deadline, true
}

// Value finds the attempt's scope, and what the caller's context holds.
func (a *attempt[R]) Value(key any) any {
	if _, ok := key.(firstgood.ScopeKey); ok {
		return a.run.scopeOf(a)
	}
	return a.Context.Value(key)
}

// live counts attempts that have not returned.
type live struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed at zero; nil when nobody waits
}

func (l *live) enter() {
	l.mu.Lock()
	l.n++
	l.mu.Unlock()
}

func (l *live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.n == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

func (l *live) wait(ctx context.Context) error {
	l.mu.Lock()
	if l.n == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
