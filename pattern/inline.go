package pattern

import (
	"context"
	"time"

	"github.com/firstgood/firstgood"
)

// inline is the host that runs each attempt inside Next, on the caller's goroutine. An instance keeps one that is
// not in use, so that a run needs none of its own.
type inline[R any] struct {
	in    *Instance[R]
	ctx   context.Context // the caller's, or one under it that the run's timeout ends
	brief firstgood.Brief
	scope *firstgood.Scope // nil: no record
	limit error            // the cause with which the run's timeout ends ctx; nil for no timeout
	i     int              // the delegate that Next will run
	first finish[R]        // of the first attempt, where it has been made already

	reply   R // of the attempt that was accepted last
	path    []string
	history []firstgood.Failure
	ends    []context.CancelCauseFunc // of the contexts of the run and its attempts, where they have their own
}

func (in *Instance[R]) runInline(ctx context.Context, brief *firstgood.Brief, out *firstgood.Outcome[R]) error {
	scope := firstgood.ScopeOf(ctx)
	var first finish[R]
	if scope == nil && in.bare {
		// The first attempt is made ahead of the rule. When it is good, the rule would settle at once, so that
		// nothing else need be set up.
		in.attemptInline(ctx, brief, 0, &first, nil)
		if first.accepted() && ctx.Err() == nil {
			out.Attempts = 1
			in.win(out, 0, first.reply, nil)
			return nil
		}
	}
	h := in.spare.Swap(nil)
	if h == nil {
		h = &inline[R]{in: in}
	}
	h.ctx, h.brief, h.scope, h.first = ctx, *brief, scope, first
	var began time.Duration
	if h.scope != nil {
		began = h.scope.Record.Elapsed()
	}
	plan := in.plan
	if in.cfg.Gate != nil {
		plan.May = h.may
	}
	var d Decision
	var err error
	if in.cfg.Timeout > 0 {
		d, err = h.settleWithin(plan)
	} else {
		d, err = Settle(plan, h)
	}
	out.Attempts, out.History = in.attempts(d), h.history
	if h.scope != nil {
		out.Duration = h.scope.Record.Elapsed() - began
		out.Calls = h.scope.Record.Under(h.scope.Call)
	}
	if d.Winner >= 0 {
		in.win(out, d.Winner, h.reply, h.path)
		h.keep()
	} else {
		err = noWinner(in.cfg.Name, out, d, err, err != nil && err == h.limit)
		h.end()
	}
	*h = inline[R]{in: in}
	in.spare.Store(h)
	return err
}

func (h *inline[R]) settleWithin(plan Plan) (Decision, error) {
	limit := h.in.cfg.Timeout
	h.limit = timeoutError(limit, "no decision")
	cause := h.limit
	ctx, cancel := context.WithCancelCause(h.ctx)
	h.ctx, h.ends = ctx, append(h.ends, cancel)
	timer := time.AfterFunc(limit, func() { cancel(cause) })
	defer timer.Stop()
	return Settle(plan, h)
}

func (h *inline[R]) may(i int, tick bool) bool {
	err := h.in.cfg.Gate(i, tick)
	if err != nil && !tick {
		f := firstgood.FailureOf(h.in.cfg.Delegates[i].Name(), i, err)
		f.Kind = firstgood.KindNoStart
		h.history = append(h.history, f)
	}
	return err == nil
}

// Call implements [Host].
func (h *inline[R]) Call(i int) { h.i = i }

// Cancel implements [Host]. Nothing is ever in flight when a run is settled.
func (h *inline[R]) Cancel(int, int) {}

// Next implements [Host]: it runs the attempt that Call named, to its end.
func (h *inline[R]) Next(time.Duration) (Turn, error) {
	t := h.attempt()
	if h.ctx.Err() != nil {
		if t.Accepted {
			h.in.discard(h.reply)
		} else if n := len(h.history); n > 0 { // it was in flight when the run stopped
			h.history = h.history[:n-1]
		}
		return Turn{}, context.Cause(h.ctx)
	}
	return t, nil
}

func (h *inline[R]) attempt() Turn {
	in := h.in
	if h.scope != nil || in.limits[h.i] > 0 {
		return h.attemptUnder()
	}
	f := h.first
	if h.first.owned || h.first.done {
		h.first = finish[R]{}
	} else {
		in.attemptInline(h.ctx, h.grown(), h.i, &f, nil)
	}
	return h.take(&firstgood.Call{Delegate: in.paths[h.i][0], Index: h.i}, &f)
}

// attemptUnder runs an attempt that has a timeout or is recorded, and so needs a context of its own.
func (h *inline[R]) attemptUnder() Turn {
	in, i := h.in, h.i
	scope := firstgood.Scope{Index: i}
	call := firstgood.Call{Delegate: in.paths[i][0], Index: i, Role: firstgood.RoleDelegate, State: firstgood.StateRunning, Nested: in.nested[i]}
	ctx, cancel := context.WithCancelCause(h.ctx)
	h.ends = append(h.ends, cancel)
	if h.scope != nil {
		call.Parent, call.Started = h.scope.Call, h.scope.Record.Elapsed()
		h.scope.Record.Begin(&call)
		scope.Record, scope.Call = h.scope.Record, call.ID
		ctx = context.WithValue(ctx, firstgood.ScopeKey{}, &scope)
	}
	var disarm func() bool
	var limit error
	if in.limits[i] > 0 {
		limit = timeoutError(in.limits[i], "no reply")
		disarm = time.AfterFunc(in.limits[i], func() { cancel(limit) }).Stop
	}
	var f finish[R]
	in.attemptInline(ctx, h.grown(), i, &f, disarm)
	if limit != nil && context.Cause(ctx) == limit {
		if f.err == nil {
			in.discard(f.reply)
		}
		f = finish[R]{err: limit}
	}
	if h.scope != nil {
		call.Duration = h.scope.Record.Elapsed() - call.Started
		call.Usage = in.usage(f.reply, f.err)
	}
	t := h.take(&call, &f)
	switch {
	case t.Accepted:
		call.State, h.path = firstgood.StateWon, scope.Path
	case h.ctx.Err() != nil:
		call.State = firstgood.StateCancelled
	default:
		failure := &h.history[len(h.history)-1]
		call.State, call.Kind, call.Reason = firstgood.StateFailed, failure.Kind, failure.Reason
		if f.err == nil {
			call.State = firstgood.StateRejected
		}
	}
	if !t.Accepted {
		cancel(nil)
	}
	if h.scope != nil {
		h.scope.Record.Put(&call)
	}
	return t
}

func (h *inline[R]) grown() *firstgood.Brief {
	if h.in.grow == nil || h.i == 0 {
		return &h.brief
	}
	brief := h.in.grow(h.brief, h.history)
	return &brief
}

// attemptInline lets delegate i attempt the brief, and weighs the reply, into f. Disarm, when not nil, stops the
// attempt's timer and reports whether that was in time. A reply beside an error is discarded here.
func (in *Instance[R]) attemptInline(ctx context.Context, brief *firstgood.Brief, i int, f *finish[R], disarm func() bool) {
	defer func() {
		if !f.done {
			f.err, f.verdict = crash(recover()), firstgood.Verdict{}
			f.done = true
		}
		if f.owned && f.err != nil && !f.unjudged {
			in.discard(f.reply)
		}
	}()
	f.reply, f.err = in.cfg.Delegates[i].Attempt(ctx, *brief)
	f.owned = true
	if f.err == nil && in.cfg.Criteria != nil && (disarm == nil || disarm()) {
		f.verdict, f.err = in.cfg.Criteria(ctx, *brief, f.reply)
		f.unjudged = f.err != nil
	}
	f.done = true
}

// take makes the attempt's turn, and a failure of it where it was not accepted.
func (h *inline[R]) take(call *firstgood.Call, f *finish[R]) Turn {
	if f.accepted() {
		h.reply = f.reply
		return Turn{I: h.i, Accepted: true}
	}
	if h.history == nil {
		h.history = make([]firstgood.Failure, 0, min(h.in.plan.N, 4))
	}
	h.history = append(h.history, firstgood.Failure{})
	failure := &h.history[len(h.history)-1]
	fatal := failureOf(failure, call, &f.verdict, f.err, f.unjudged)
	if f.err == nil || f.unjudged {
		failure.Reply, _ = firstgood.Excerpt(firstgood.TextOf(any(f.reply)), firstgood.ExcerptUnits)
		h.in.discard(f.reply)
	}
	return Turn{I: h.i, Fatal: fatal}
}

// keep leaves the winner's contexts alive until its reply is closed, where it needs them.
func (h *inline[R]) keep() {
	if h.ends == nil {
		return
	}
	ends := h.ends
	release := func() {
		for i := len(ends) - 1; i >= 0; i-- {
			ends[i](nil)
		}
	}
	if !h.in.hold(h.reply, release) {
		release()
	}
}

func (h *inline[R]) end() {
	for _, end := range h.ends {
		end(nil)
	}
}
