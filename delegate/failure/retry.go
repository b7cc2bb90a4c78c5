package failure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/firstgood/firstgood"
)

// MaxWait is the longest wait that [Retry] will sit out. A delegate that asks for more has failed: another may be free.
const MaxWait = 60 * time.Second

// Retry calls try, and again up to retries times as long as its failure is one that may pass: rate_limited,
// unavailable, truncated or timeout, and neither fatal nor final by its rule or by the header x-should-retry. Before each
// new try it waits as long as the other side asked for, else about 0.5 s, then 1 s, doubling up to 8 s, each a quarter
// more or less. It returns the failure at once where it would have to wait past ctx's deadline, or longer than
// [MaxWait]. When ctx ends, during a try that then fails or during a wait, the failure is that of [Stopped].
//
// The kind of an error that is no *[firstgood.Error] is that of [firstgood.FailureOf]. What failed tries have used is
// added to the usage of the failure that is returned, or of the reply where that is a [firstgood.Reply]; it is unknown
// after one that was truncated or timed out and did not say. A reply beside an error is closed, but for the last, which
// is returned.
func Retry[R any](ctx context.Context, retries int, try func() (R, error)) (R, error) {
	return retry(ctx, retries, nil, func() (R, error) {
		reply, err := try()
		if stopped := Stopped(ctx); err != nil && stopped != nil {
			stopped.Usage = used(err)
			err = stopped
		}
		return reply, err
	})
}

// WithRetries returns d with up to retries more tries in each of its attempts, as by [Retry]: under the attempt's
// context, so that its deadline holds for all of them, and its idempotency key is the same. Kinds are further kinds that
// may pass, such as [firstgood.KindError] for a program that fails now and then. For no retries it returns d.
func WithRetries[R any](d firstgood.Delegate[R], retries int, kinds ...firstgood.Kind) firstgood.Delegate[R] {
	if retries <= 0 {
		return d
	}
	return retrying[R]{d, retries, slices.Clone(kinds)}
}

type retrying[R any] struct {
	firstgood.Delegate[R]
	retries int
	kinds   []firstgood.Kind
}

func (d retrying[R]) Attempt(ctx context.Context, brief firstgood.Brief) (R, error) {
	return retry(ctx, d.retries, d.kinds, func() (R, error) { return d.Delegate.Attempt(ctx, brief) })
}

func (d retrying[R]) AttemptTimeout() time.Duration {
	if inner, ok := d.Delegate.(firstgood.Limited); ok {
		return inner.AttemptTimeout()
	}
	return 0
}

func (d retrying[R]) Nests() bool {
	inner, ok := d.Delegate.(interface{ Nests() bool })
	return ok && inner.Nests()
}

func (d retrying[R]) Drain(ctx context.Context) error {
	if inner, ok := d.Delegate.(firstgood.Drainer); ok {
		return inner.Drain(ctx)
	}
	return nil
}

func (d retrying[R]) Close() error {
	if inner, ok := d.Delegate.(io.Closer); ok {
		return inner.Close()
	}
	return nil
}

// retry has a loop of its own around the library's pauses: the library's loop gives up the failure for the context's
// cause when that ends a wait, knows no longest wait, and counts no usage.
func retry[R any](ctx context.Context, retries int, kinds []firstgood.Kind, try func() (R, error)) (R, error) {
	var spent firstgood.Usage
	var pauses *backoff.ExponentialBackOff
	for n := 0; ; n++ {
		reply, err := try()
		if err == nil {
			if r, ok := any(&reply).(*firstgood.Reply); ok {
				r.Usage = add(spent, r.Usage)
			}
			return reply, nil
		}
		f, err := total(err, spent)
		spent = f.Usage
		if n >= retries || ctx.Err() != nil || !mayPass(f, kinds) {
			return reply, err
		}
		wait := f.RetryAfter
		if wait == 0 {
			if pauses == nil {
				// The jitter keeps those who failed together from coming back together.
				pauses = &backoff.ExponentialBackOff{InitialInterval: 500 * time.Millisecond, Multiplier: 2, MaxInterval: 8 * time.Second, RandomizationFactor: 0.25}
			}
			wait = pauses.NextBackOff()
		}
		if deadline, limited := ctx.Deadline(); wait > MaxWait || limited && time.Until(deadline) <= wait {
			return reply, err
		}
		discard(reply)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			stopped := Stopped(ctx)
			stopped.Reason = fmt.Sprintf("%s; try %d of %d: %s", stopped.Reason, n+1, retries+1, f.Error())
			stopped.Status, stopped.Usage = f.Status, spent
			var none R
			return none, stopped
		}
	}
}

// total describes err with what it and the tries before it have used. Err itself is returned where that adds nothing.
func total(err error, spent firstgood.Usage) (*firstgood.Error, error) {
	var own *firstgood.Error
	if !errors.As(err, &own) {
		said := firstgood.FailureOf("", 0, err)
		own = &firstgood.Error{Kind: said.Kind, Reason: said.Reason, Usage: used(err), Err: err}
	}
	f := *own
	if f.Usage = add(spent, cost(own)); f.Usage == own.Usage {
		return &f, err
	}
	return &f, &f
}

// used is what err says that it has cost.
func used(err error) firstgood.Usage {
	var metered firstgood.Metered
	if errors.As(err, &metered) {
		return metered.Used()
	}
	return firstgood.Usage{}
}

// cost is what the failure says that it has cost. One that came while the other side was at work has cost something that
// nobody measured.
func cost(f *firstgood.Error) firstgood.Usage {
	cut := f.Kind == firstgood.KindTruncated || f.Kind == firstgood.KindTimeout
	if cut && f.Usage == (firstgood.Usage{}) {
		return firstgood.Usage{Source: firstgood.SourceUnknown}
	}
	return f.Usage
}

// add sums usages, of which the zero Usage is none at all and not one that is unknown.
func add(u, v firstgood.Usage) firstgood.Usage {
	switch (firstgood.Usage{}) {
	case u:
		return v
	case v:
		return u
	}
	return u.Add(v)
}

func mayPass(f *firstgood.Error, kinds []firstgood.Kind) bool {
	var said *ServerError
	if f.Fatal || errors.As(f, &said) && said.final {
		return false
	}
	switch f.Kind {
	case firstgood.KindRateLimited, firstgood.KindUnavailable, firstgood.KindTruncated, firstgood.KindTimeout:
		return true
	}
	return slices.Contains(kinds, f.Kind)
}

// discard closes what came beside an error, where that is something.
func discard[R any](reply R) {
	if closer, ok := any(reply).(io.Closer); ok && !reflect.ValueOf(&reply).Elem().IsZero() {
		_ = closer.Close()
	}
}

// Stopped returns the failure of an attempt whose ctx has ended, or nil when it has not. It wraps ctx's cause, and is
// [firstgood.KindTimeout] where that matches [context.DeadlineExceeded].
func Stopped(ctx context.Context) *firstgood.Error {
	if ctx.Err() == nil {
		return nil
	}
	cause := context.Cause(ctx)
	f := &firstgood.Error{Kind: firstgood.KindError, Reason: "stopped: " + cause.Error(), Err: cause}
	if errors.Is(cause, context.DeadlineExceeded) {
		f.Kind = firstgood.KindTimeout
	}
	return f
}
