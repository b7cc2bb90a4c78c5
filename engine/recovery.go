package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/health"
)

// recovering is an instance that waits when all its delegates are left alone for their health. What it waits is part of
// the run's time.
type recovering struct {
	runner
	tracker *health.Tracker
	names   []string // of the delegates that may start, those in nested instances too; no judges
	most    time.Duration
	timeout time.Duration // of the run; 0: none
}

func newRecovering(built runner, tracker *health.Tracker, in *config.Instance) *recovering {
	r := &recovering{runner: built, tracker: tracker, most: in.Config.WaitForRecovery, timeout: in.Config.Timeout}
	for _, d := range startable(in) {
		r.names = append(r.names, d.Name)
	}
	if r.timeout > 0 { // there is no use in waiting for all of it
		r.most = min(r.most, r.timeout-1)
	}
	return r
}

func (r *recovering) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	out, err := r.Run(ctx, brief)
	if scope := firstgood.ScopeOf(ctx); scope != nil {
		scope.SetPath(out.WinnerPath)
	}
	return out.Result, err
}

func (r *recovering) Run(ctx context.Context, brief firstgood.Brief) (firstgood.Outcome[firstgood.Reply], error) {
	if _, cooling := r.tracker.Earliest(r.names...); !cooling {
		return r.runner.Run(ctx, brief)
	}
	began := time.Now()
	_ = r.tracker.Await(ctx, r.most, r.names...) // if that will not be in time, the run says so itself
	waited := time.Since(began)
	out, err := r.within(ctx, r.timeout-waited, brief)
	out.Duration += waited
	return out, err
}

// within runs the instance with no more than what is left of its timeout.
func (r *recovering) within(ctx context.Context, left time.Duration, brief firstgood.Brief) (firstgood.Outcome[firstgood.Reply], error) {
	if r.timeout == 0 {
		return r.runner.Run(ctx, brief)
	}
	limit := &firstgood.Error{Kind: firstgood.KindTimeout, Reason: fmt.Sprintf("no decision within %v", r.timeout), Err: context.DeadlineExceeded}
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(left, func() { cancel(limit) })
	out, err := r.runner.Run(ctx, brief)
	timer.Stop()
	if !out.Result.Hold(func() { cancel(nil) }) {
		cancel(nil)
	}
	if none, ok := errors.AsType[*firstgood.NoWinnerError](err); ok && none.Cause == error(limit) {
		timedOut := *none
		timedOut.Status, out.Status, err = firstgood.StatusTimeout, firstgood.StatusTimeout, &timedOut
	}
	return out, err
}

// startable are the delegates that a run of in may start, each once: those in its slots, and in those of the instances in
// them. Judges are not among them.
func startable(in *config.Instance) []*config.Delegate {
	var found []*config.Delegate
	seen := map[any]bool{}
	var add func(config.Ref)
	add = func(ref config.Ref) {
		if seen[keyOf(ref)] {
			return
		}
		seen[keyOf(ref)] = true
		if ref.Delegate != nil {
			found = append(found, ref.Delegate)
			return
		}
		for member := range membersOf(ref.Instance) {
			add(member)
		}
	}
	add(config.Ref{Instance: in})
	return found
}
