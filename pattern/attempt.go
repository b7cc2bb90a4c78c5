package pattern

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/firstgood/firstgood"
)

// What an attempt is, on whatever goroutine: a delegate is asked, its reply is weighed, and where it is not good a
// failure says why. All of that runs code that is not ours (the delegate, the criteria, the methods of their errors
// and replies), so none of it runs under a lock, and a panic in it is the attempt's failure.

// finish is what comes of an attempt.
type finish[R any] struct {
	reply   R
	verdict firstgood.Verdict
	err     error // the delegate's, or that of the criteria
	step    step
	beside  bool               // the reply came beside an error
	fatal   bool               // the failure ends the run
	failure *firstgood.Failure // nil when the reply is good
}

// step is how far an attempt has come, which tells whose error it is and whether there is a reply.
type step uint8

const (
	asked   step = iota // the delegate is at work
	replied             // the delegate has returned
	weighed             // the criteria were asked
)

func (f *finish[R]) accepted() bool { return f.err == nil && !f.verdict.Rejected && !f.verdict.Fatal }

// try lets delegate i attempt the brief and weighs the reply, into f. Between the two it asks a, where that is not
// nil, whether the reply is still wanted. It returns also when the delegate panics, and describes a
// runtime.Goexit on its way out.
func (in *Instance[R]) try(ctx context.Context, brief *firstgood.Brief, i int, a *attempt[R], f *finish[R]) {
	returned := false
	defer func() {
		if !returned {
			f.err = crash(recover())
		}
	}()
	f.reply, f.err = in.slots[i].Attempt(ctx, *brief)
	f.step, f.beside = replied, f.err != nil
	if wanted := a == nil || a.replied(f); wanted && f.err == nil && in.cfg.Criteria != nil {
		in.weigh(ctx, brief, f)
	}
	returned = true
}

// weigh asks the criteria about a reply, unless nobody will look at it any more.
func (in *Instance[R]) weigh(ctx context.Context, brief *firstgood.Brief, f *finish[R]) {
	if ctx.Err() != nil {
		f.err = context.Cause(ctx)
		return
	}
	f.step = weighed
	f.verdict, f.err = in.cfg.Criteria(ctx, *brief, f.reply)
}

// tell describes an attempt whose reply is not good, in f.failure, for which it uses room unless that is nil. The
// duration is for the host to say. It does nothing the second time.
func (in *Instance[R]) tell(i int, f *finish[R], room *firstgood.Failure) {
	if f.accepted() || f.failure != nil {
		return
	}
	f.failure = room
	if room == nil {
		f.failure = new(firstgood.Failure)
	}
	told := false
	defer func() {
		if !told { // by an error's or a reply's method
			f.err, f.step = crash(recover()), min(f.step, replied)
			in.describe(i, f)
		}
	}()
	in.describe(i, f)
	told = true
}

func (in *Instance[R]) describe(i int, f *finish[R]) {
	if f.err != nil {
		*f.failure = firstgood.FailureOf(in.slots[i].name(), i, f.err)
		f.fatal = f.step < weighed && stops(f.err)
	} else {
		f.failure.Delegate, f.failure.Index = in.slots[i].name(), i
		f.failure.Kind, f.failure.Reason, f.failure.Detail = firstgood.KindRejected, f.verdict.Reason, f.verdict.Detail
		if f.failure.Reason == "" {
			f.failure.Reason = "the reply was rejected"
		}
		f.fatal = f.verdict.Fatal
	}
	if f.step == weighed {
		if f.err != nil {
			f.failure.Kind = firstgood.KindJudgeError
		}
		f.failure.Reply = excerpt(f.reply)
		if changed, ok := any(f.reply).(firstgood.Changed); ok {
			f.failure.Change = changed.Changed()
		}
	}
	f.fatal = f.fatal || in.stop(f.failure)
}

func excerpt[R any](reply R) string {
	text, _ := firstgood.Excerpt(firstgood.TextOf(any(reply)), firstgood.ExcerptUnits)
	return text
}

// stop asks the instance's policy whether a failure stops the run. A policy that panics does.
func (in *Instance[R]) stop(f *firstgood.Failure) (fatal bool) {
	if in.cfg.Stop == nil {
		return false
	}
	fatal = true
	defer func() { _ = recover() }()
	return in.cfg.Stop(*f)
}

// stops reports whether a delegate's error stops the run: it says so, or it is that of an instance whose own run was
// stopped.
func stops(err error) bool {
	if e, ok := errors.AsType[*firstgood.Error](err); ok && e.Fatal {
		return true
	}
	nested, ok := errors.AsType[*firstgood.NoWinnerError](err)
	return ok && nested.Status == firstgood.StatusStopped
}

// free discards the reply of an attempt that gives none.
func (in *Instance[R]) free(f *finish[R]) {
	switch {
	case f.beside:
		in.discardBeside(f.reply)
	case f.step >= replied:
		in.discard(f.reply)
	}
}

// crash describes code that did not return: it panicked with value, or called runtime.Goexit when that is nil.
func crash(value any) error {
	reason := "it called runtime.Goexit"
	if value != nil {
		reason = fmt.Sprintf("panic: %v", value)
	}
	return &firstgood.Error{Kind: firstgood.KindPanic, Reason: reason, Detail: string(debug.Stack())}
}

func timeoutError(limit time.Duration, what string) error {
	return &firstgood.Error{Kind: firstgood.KindTimeout, Reason: fmt.Sprintf("%s within %v", what, limit), Err: context.DeadlineExceeded}
}
