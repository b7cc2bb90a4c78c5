package engine

import (
	"errors"
	"slices"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/process"
)

// An unsafe delegate leaves something behind each time it runs, so that a run does not go past one that has started. A
// judge is no part of that: it is asked about each reply by intent.

// leftBehind returns what tells of a failure in a run of in whether it may have left something behind, nil when none can.
func leftBehind(in *config.Instance) func(firstgood.Failure) bool {
	if !hasUnsafe(config.Ref{Instance: in}) {
		return nil
	}
	members := slices.Collect(membersOf(in))
	return func(f firstgood.Failure) bool {
		return mayHaveLeft(members[min(f.Index, len(members)-1)], f) // a target is one, whatever the attempt
	}
}

func hasUnsafe(ref config.Ref) bool {
	if ref.Delegate != nil {
		return ref.Delegate.Unsafe()
	}
	return slices.ContainsFunc(startable(ref.Instance), (*config.Delegate).Unsafe)
}

// mayHaveLeft reports whether the attempt of ref that failed so may have left something behind. The history of an inner
// run tells it, where that came to its end: what was in flight when it was cut off is not in there.
func mayHaveLeft(ref config.Ref, f firstgood.Failure) bool {
	if f.Kind == firstgood.KindNoStart || !hasUnsafe(ref) {
		return false
	}
	if ref.Delegate != nil {
		return !neverStarted(f)
	}
	inner, ok := f.Err.(*firstgood.NoWinnerError) // one that is wrapped is a judge's
	if !ok || inner.Status != firstgood.StatusExhausted && inner.Status != firstgood.StatusJudgeError {
		return true
	}
	return slices.ContainsFunc(inner.History, leftBehind(ref.Instance))
}

func neverStarted(f firstgood.Failure) bool {
	return slices.ContainsFunc([]error{
		errUnable, process.ErrNotFound, process.ErrNotExecutable, process.ErrDir, process.ErrTooLong, process.ErrInvalid,
	}, func(never error) bool { return errors.Is(f.Err, never) })
}
