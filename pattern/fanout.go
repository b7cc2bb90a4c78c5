package pattern

import (
	"cmp"
	"context"

	"github.com/firstgood/firstgood"
)

// FanOut is a fan-out with its delegates bound. Its result is the list of replies in listed order, with the zero R
// where a delegate failed (History tells those apart); it has no winner, and it has won unless all failed. It is
// immutable and safe for concurrent use, and is itself a delegate.
type FanOut[R any] struct{ in *Instance[R] }

// NewFanOut returns a fan-out over cfg.Delegates, MaxParallel at a time. Criteria say which replies count as failed. With
// Want it ends with as many good replies, or when all have finished, however few were good.
func NewFanOut[R any](cfg Config[R]) (*FanOut[R], error) {
	n := len(cfg.Delegates)
	first := n
	if cfg.MaxParallel > 0 {
		first = cfg.MaxParallel
	}
	in, err := build(FanOutName, cfg, Plan{N: n, First: first, Want: cmp.Or(cfg.Want, n)}, func(d Decision) int { return d.Finished })
	if err != nil {
		return nil, err
	}
	return &FanOut[R]{in}, nil
}

// Name returns the instance's name.
func (f *FanOut[R]) Name() string { return f.in.Name() }

// Pattern returns "fan-out".
func (f *FanOut[R]) Pattern() string { return f.in.Pattern() }

// Nests is true; see [Instance.Nests].
func (f *FanOut[R]) Nests() bool { return true }

// Drain is as [Instance.Drain].
func (f *FanOut[R]) Drain(ctx context.Context) error { return f.in.Drain(ctx) }

// Attempt runs the instance as a delegate; see [FanOut.Run].
func (f *FanOut[R]) Attempt(ctx context.Context, brief firstgood.Brief) ([]R, error) {
	var out firstgood.Outcome[[]R]
	_, err := f.decide(ctx, brief, &out)
	return out.Result, err
}

// Run gives brief to all delegates and returns when each has finished. The error is as for [Instance.Run]. A run
// that was stopped or cancelled half-way has no result.
func (f *FanOut[R]) Run(ctx context.Context, brief firstgood.Brief) (out firstgood.Outcome[[]R], err error) {
	r, err := f.decide(ctx, brief, &out)
	if r != nil {
		out.Calls = r.snapshot()
	}
	return out, err
}

// decide is as [Instance.decide].
func (f *FanOut[R]) decide(ctx context.Context, brief firstgood.Brief, out *firstgood.Outcome[[]R]) (*run[R], error) {
	out.WinnerIndex = -1
	var one firstgood.Outcome[R]
	if ctx.Err() != nil {
		err := f.in.noWinner(&one, Decision{}, context.Cause(ctx), nil)
		out.Status = one.Status
		return nil, err
	}
	r, d, err := f.in.execute(ctx, brief)
	r.report(d, &one)
	out.Attempts, out.History, out.Duration = one.Attempts, one.History, one.Duration
	if err != nil || d.Fatal || d.Accepted == 0 {
		err = f.in.noWinner(&one, d, err, r.limit)
		out.Status = one.Status
		return r, err
	}
	out.Status, out.Result = firstgood.StatusWon, make([]R, len(r.attempts))
	for i, a := range r.attempts {
		if a != nil && a.kept {
			out.Result[i] = r.result(a)
		}
	}
	return r, nil
}
