package health

import (
	"context"
	"errors"
	"time"

	"github.com/firstgood/firstgood"
)

// Watch returns d with its attempts counted by t under the name; "" takes d's own. Delegates of one name share their
// health, as one that serves several instances should. An attempt that must not start now is not made: its error is
// a *[firstgood.Error] of [firstgood.KindNoStart] around a *[CoolingError].
//
// The delegate's attempt timeout is taken from d, so that Watch goes around [firstgood.Within], not inside it: a
// timeout counts when the attempt's context ended with a timeout for its cause (a *[firstgood.Error] of
// [firstgood.KindTimeout]) and the attempt has had at least nine tenths of the time that d allows. A timeout that
// came earlier was somebody else's, such as the run's.
//
// It forwards AttemptTimeout, Drain and Nests. A nil t returns d itself, and a nil d nil.
func Watch[R any](t *Tracker, name string, d firstgood.Delegate[R]) firstgood.Delegate[R] {
	if t == nil || d == nil {
		return d
	}
	if name == "" {
		name = d.Name()
	}
	w := &watched[R]{Delegate: d, entry: t.entry(name, true)}
	if limited, ok := d.(firstgood.Limited); ok {
		w.limit = max(0, limited.AttemptTimeout())
	}
	return w
}

type watched[R any] struct {
	firstgood.Delegate[R]
	entry *entry
	limit time.Duration
}

func (w *watched[R]) AttemptTimeout() time.Duration { return w.limit }

func (w *watched[R]) Nests() bool {
	inner, ok := w.Delegate.(interface{ Nests() bool })
	return ok && inner.Nests()
}

func (w *watched[R]) Drain(ctx context.Context) error {
	if inner, ok := w.Delegate.(firstgood.Drainer); ok {
		return inner.Drain(ctx)
	}
	return nil
}

// Attempt counts the attempt when the delegate returns. Two things do not wait for that, since a host leaves a deaf
// delegate behind: the delegate's own timeout, and the end of an attempt that others wait for.
func (w *watched[R]) Attempt(ctx context.Context, brief firstgood.Brief) (reply R, err error) {
	a, kept := w.entry.begin(w.limit)
	if kept != nil {
		return reply, &firstgood.Error{Kind: firstgood.KindNoStart, Err: kept}
	}
	if a.probes {
		defer context.AfterFunc(ctx, func() { a.cut(ctx) })()
	}
	if w.limit > 0 {
		timer := time.AfterFunc(w.limit-w.limit/10, func() { a.expect(ctx) })
		defer func() {
			if !timer.Stop() {
				a.expectNoMore()
			}
		}()
	}
	returned := false
	defer func() {
		switch {
		case ctx.Err() != nil:
			a.cut(ctx)
		case !returned: // it panicked or called runtime.Goexit, and goes on to do so
			a.fail(firstgood.KindPanic, 0)
		case err != nil:
			a.fail(classOf(err))
		default:
			a.succeed()
		}
	}()
	reply, err = w.Delegate.Attempt(ctx, brief)
	returned = true
	return reply, err
}

// expect is called when nine tenths of the attempt's time are over, unless it has ended. Most have: to be told of
// the end of a context costs more than a timer that never fires.
func (a *attempt) expect(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.returned && ctx.Err() == nil {
		a.late = true
		a.forget = context.AfterFunc(ctx, func() { a.cut(ctx) })
	}
}

// expectNoMore is called when the delegate has returned.
func (a *attempt) expectNoMore() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.returned = true
	if a.forget != nil {
		a.forget()
	}
}

// cut ends an attempt whose context is done. Only the delegate's own timeout is its own fault.
func (a *attempt) cut(ctx context.Context) {
	a.mu.Lock()
	late := a.late
	a.mu.Unlock()
	if late && isTimeout(context.Cause(ctx)) {
		a.fail(firstgood.KindTimeout, 0)
	} else {
		a.drop()
	}
}

// The methods of an error or a cause are not ours, and may panic.

// isTimeout reports whether the cause of a context's end is a timeout that a host keeps.
func isTimeout(cause error) (is bool) {
	defer func() { _ = recover() }()
	e, ok := errors.AsType[*firstgood.Error](cause)
	return ok && e.Kind == firstgood.KindTimeout
}

// classOf returns the kind of a failure, and for how long the other side asked to be left alone. An error that panics
// is a panic of the delegate, here as it will be for the host.
func classOf(err error) (kind firstgood.Kind, wish time.Duration) {
	kind = firstgood.KindPanic
	defer func() { _ = recover() }()
	if e, ok := errors.AsType[*firstgood.Error](err); ok {
		wish = e.RetryAfter
	}
	kind = firstgood.FailureOf("", 0, err).Kind
	return kind, wish
}
