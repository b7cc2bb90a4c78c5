// Package pattern coordinates delegates: fallback-chain, race, fan-out and retry-with-learning, all on one rule
// (see [Settle]) that a host carries out.
//
// An instance is a pattern with its delegates bound. It runs on goroutines, or inline on the caller's, and it is a
// delegate itself, so that instances nest.
package pattern

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/firstgood/firstgood"
)

// Instance is a fallback-chain, a race or a retry-with-learning with its delegates bound. It is immutable and safe
// for concurrent use, and is itself a delegate.
type Instance[R any] struct {
	cfg      Config[R]
	pattern  string
	plan     Plan
	slots    []slot[R]
	attempts func(Decision) int                                         // what the outcome calls attempts
	grow     func(firstgood.Brief, []firstgood.Failure) firstgood.Brief // retry-with-learning alone
	traits   traits
	plain    bool   // inline, and no attempt needs anything set up
	ready    func() // lets delegates that have finished say so; see yield
	live     live
	spare    atomic.Pointer[plain[R]]
}

// slot is a delegate, and what is known of it.
type slot[R any] struct {
	firstgood.Delegate[R]
	path   []string      // its name alone; shared by outcomes
	limit  time.Duration // of an attempt, 0: none
	nested bool          // it is an instance
}

func (s *slot[R]) name() string { return s.path[0] }

// Name returns the instance's name.
func (in *Instance[R]) Name() string { return in.cfg.Name }

// Pattern returns the pattern's name.
func (in *Instance[R]) Pattern() string { return in.pattern }

// Nests is true: what the instance uses is entered by its delegates.
func (in *Instance[R]) Nests() bool { return true }

// Attempt runs the instance as a delegate: see [Instance.Run]. A run without a winner is an error of type
// *[firstgood.NoWinnerError].
func (in *Instance[R]) Attempt(ctx context.Context, brief firstgood.Brief) (R, error) {
	var out firstgood.Outcome[R]
	_, err := in.decide(ctx, brief, &out)
	if scope := firstgood.ScopeOf(ctx); scope != nil {
		scope.SetPath(out.WinnerPath)
	}
	return out.Result, err
}

// Run gives brief to the delegates as the pattern says, and returns when that is decided, without waiting for the
// losers; see [Instance.Drain]. When ctx is done already nothing is started. The outcome is filled in any case.
// Without a winner the error is a *[firstgood.NoWinnerError]: it matches [firstgood.ErrNoWinner], and also the cause
// of ctx where ctx ended, or [context.DeadlineExceeded] where the instance's own timeout did. Whoever gets a result
// that owns something closes it; until then its context lives, and ends with ctx at the latest.
func (in *Instance[R]) Run(ctx context.Context, brief firstgood.Brief) (out firstgood.Outcome[R], err error) {
	r, err := in.decide(ctx, brief, &out)
	if r != nil {
		out.Calls = r.snapshot()
	}
	return out, err
}

// decide runs the instance and fills in the outcome, but for the calls of a run, which it returns where there was one.
func (in *Instance[R]) decide(ctx context.Context, brief firstgood.Brief, out *firstgood.Outcome[R]) (*run[R], error) {
	out.WinnerIndex = -1
	if ctx.Err() != nil {
		return nil, in.noWinner(out, Decision{}, context.Cause(ctx), nil)
	}
	if in.plain && firstgood.ScopeOf(ctx) == nil {
		return nil, in.runPlain(ctx, &brief, out)
	}
	r, d, err := in.execute(ctx, brief)
	r.report(d, out)
	if d.Winner < 0 {
		return r, in.noWinner(out, d, err, r.limit)
	}
	winner := r.attempts[d.Winner]
	in.win(out, d.Winner, r.result(winner), winner.path)
	return r, nil
}

// win fills in the outcome of a run that delegate i has won, with inner the way to the winner inside it.
func (in *Instance[R]) win(out *firstgood.Outcome[R], i int, reply R, inner []string) {
	out.Status, out.Result = firstgood.StatusWon, reply
	out.WinnerIndex, out.WinnerPath = i, in.slots[i].path
	out.Winner = out.WinnerPath[0]
	if inner != nil {
		out.WinnerPath = append([]string{out.Winner}, inner...)
	}
}

// noWinner fills in the status of a run without a winner and returns its error. Cause is what stopped the run, nil
// for nothing; limit is what would have when its own timeout was up.
func (in *Instance[R]) noWinner(out *firstgood.Outcome[R], d Decision, cause, limit error) error {
	out.Status = statusOf(out.History, d, cause, limit)
	return &firstgood.NoWinnerError{Name: in.cfg.Name, Status: out.Status, Attempts: out.Attempts, History: out.History, Cause: cause}
}

func statusOf(history []firstgood.Failure, d Decision, cause, limit error) firstgood.Status {
	switch {
	case limit != nil && cause == limit:
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

// Drain waits until every attempt of this instance, and of the delegates in it, has returned, or until ctx is
// done, and then returns ctx's cause; otherwise it returns the first error of a delegate's own Drain. It is meant for
// shutdown, after the last run. Inline runs are not waited for: they leave nothing behind.
func (in *Instance[R]) Drain(ctx context.Context) error {
	err := in.live.wait(ctx)
	for i := range in.slots {
		if drainer, ok := in.slots[i].Delegate.(firstgood.Drainer); ok {
			err = cmp.Or(err, drainer.Drain(ctx))
		}
	}
	return err
}
