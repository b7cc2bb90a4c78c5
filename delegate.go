package firstgood

import (
	"context"
	"time"
)

// Delegate is anything that can attempt a brief. An instance of a pattern is one too.
//
// Attempt works once on the brief and returns a reply or an error; a nil error makes the reply a candidate,
// whatever it holds. It must be safe for concurrent calls, and should return soon after ctx is done: the run
// does not wait for one that does not, but its goroutine lives until it returns. [context.Cause] of ctx says why
// it was stopped: a *[LostError] when another delegate won, an error that matches [context.DeadlineExceeded]
// when its time was up, the caller's own cause otherwise. An error of type *[Error] says what kind of failure it
// is; see [FailureOf] for the others. A reply returned beside an error is discarded.
//
// Name identifies the delegate in records and messages; it is constant and may be shared by several delegates.
type Delegate[R any] interface {
	Name() string
	Attempt(ctx context.Context, brief Brief) (R, error)
}

// Limited is implemented by a delegate whose attempts have a deadline of their own. Zero and less mean none.
// The time runs from dispatch and covers the whole Attempt, not the judgement of its reply. When it is up the
// attempt has failed with [KindTimeout], whether the delegate returns or not.
type Limited interface{ AttemptTimeout() time.Duration }

// Drainer is implemented by a delegate that may leave work behind when its attempt is cancelled. Drain waits
// for that work, or until ctx is done, and then returns ctx's cause.
type Drainer interface {
	Drain(ctx context.Context) error
}

// Func returns a delegate that calls f.
func Func[R any](name string, f func(context.Context, Brief) (R, error)) Delegate[R] {
	return &function[R]{name, f}
}

type function[R any] struct {
	name string
	f    func(context.Context, Brief) (R, error)
}

func (d *function[R]) Name() string                                    { return d.name }
func (d *function[R]) Attempt(ctx context.Context, b Brief) (R, error) { return d.f(ctx, b) }

// Within returns d with an attempt timeout; see [Limited]. It replaces a timeout that d has of its own.
func Within[R any](timeout time.Duration, d Delegate[R]) Delegate[R] {
	return limited[R]{d, timeout}
}

type limited[R any] struct {
	Delegate[R]
	timeout time.Duration
}

func (d limited[R]) AttemptTimeout() time.Duration { return d.timeout }

func (d limited[R]) Nests() bool {
	inner, ok := d.Delegate.(interface{ Nests() bool })
	return ok && inner.Nests()
}

func (d limited[R]) Drain(ctx context.Context) error {
	if inner, ok := d.Delegate.(Drainer); ok {
		return inner.Drain(ctx)
	}
	return nil
}
