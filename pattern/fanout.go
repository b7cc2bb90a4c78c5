package pattern

import (
	"context"

	"github.com/firstgood/firstgood"
)

// FanOut is a fan-out with its delegates bound. Its result is the list of replies in listed order, with the zero R
// where a delegate failed (History tells those apart); it has no winner, and it has won unless all failed. It is
// immutable and safe for concurrent use, and is itself a delegate.
type FanOut[R any] struct{ in *Instance[R] }

// NewFanOut returns a fan-out over cfg.Delegates, MaxParallel at a time. Criteria say which replies count as failed.
func NewFanOut[R any](cfg Config[R]) (*FanOut[R], error) {
	n := len(cfg.Delegates)
	first := n
	if cfg.MaxParallel > 0 {
		first = cfg.MaxParallel
	}
	in, err := build(FanOutName, cfg, Plan{N: n, First: first, Want: n}, func(d Decision) int { return d.Finished })
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
	out, err := f.Run(ctx, brief)
	return out.Result, err
}

// Run gives brief to all delegates and returns when each has finished. The error is as for [Instance.Run]. A run
// that was stopped or cancelled half-way has no result.
func (f *FanOut[R]) Run(ctx context.Context, brief firstgood.Brief) (firstgood.Outcome[[]R], error) {
	var one firstgood.Outcome[R]
	if ctx.Err() != nil {
		err := noWinner(f.in.cfg.Name, &one, Decision{}, context.Cause(ctx), false)
		return firstgood.Outcome[[]R]{Status: one.Status, WinnerIndex: -1}, err
	}
	r := f.in.start(ctx, brief)
	d, cause := Settle(r.plan(), r)
	r.close(d, cause)
	r.report(d, &one)
	out := firstgood.Outcome[[]R]{WinnerIndex: -1, Attempts: one.Attempts, History: one.History, Calls: one.Calls, Duration: one.Duration}
	if cause != nil || d.Fatal || d.Accepted == 0 {
		err := noWinner(f.in.cfg.Name, &one, d, cause, r.expired)
		out.Status = one.Status
		return out, err
	}
	out.Status, out.Result = firstgood.StatusWon, make([]R, len(r.attempts))
	for i := range r.attempts {
		if r.attempts[i].kept {
			out.Result[i] = r.attempts[i].reply
		}
	}
	return out, nil
}
