package failure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/firstgood/firstgood"
)

// MaxWait is the longest wait that [Retry] will sit out. A delegate that asks for more has failed: another may be free.
const MaxWait = 60 * time.Second

// Retry calls try, and again up to retries times as long as its failure is one that may pass: rate_limited,
// unavailable, truncated or timeout, and not final by its rule or by the header x-should-retry. Before each new try
// it waits as long as the other side asked for, else about 0.5 s, then 1 s, doubling up to 8 s. It returns the
// failure at once where it would have to wait past ctx's deadline, or longer than [MaxWait]. When ctx ends, the
// failure is that of [Stopped].
//
// What failed tries have used is added to the usage of what is returned, which is unknown after one that was truncated or
// timed out and did not say.
func Retry(ctx context.Context, retries int, try func() (firstgood.Reply, error)) (firstgood.Reply, error) {
	var spent firstgood.Usage
	for n := 0; ; n++ {
		reply, err := try()
		if err == nil {
			reply.Usage = add(spent, reply.Usage)
			return reply, nil
		}
		var f *firstgood.Error
		if !errors.As(err, &f) {
			return firstgood.Reply{}, err
		}
		total := *f
		total.Usage = add(spent, cost(f))
		err, f, spent = &total, &total, total.Usage
		wait := pause(f, n)
		deadline, limited := ctx.Deadline()
		if n >= retries || ctx.Err() != nil || !mayPass(f) || wait > MaxWait || limited && time.Until(deadline) <= wait {
			return firstgood.Reply{}, err
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			stopped := Stopped(ctx)
			stopped.Reason = fmt.Sprintf("%s; try %d of %d: %s", stopped.Reason, n+1, retries+1, f.Error())
			stopped.Status, stopped.Usage = f.Status, spent
			return firstgood.Reply{}, stopped
		}
	}
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

func mayPass(f *firstgood.Error) bool {
	var said *ServerError
	if errors.As(f, &said) && said.final {
		return false
	}
	switch f.Kind {
	case firstgood.KindRateLimited, firstgood.KindUnavailable, firstgood.KindTruncated, firstgood.KindTimeout:
		return true
	}
	return false
}

// pause is the wait after the failure of try n. The jitter keeps those who failed together from coming back together.
func pause(f *firstgood.Error, n int) time.Duration {
	if f.RetryAfter > 0 {
		return f.RetryAfter
	}
	wait := 8 * time.Second
	if n < 4 {
		wait = 500 * time.Millisecond << n
	}
	return wait - rand.N(wait/4)
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

// retryAfter reads how long the other side asks to be left alone: retry-after-ms, or retry-after in seconds or as an
// HTTP date, which is taken against the header's own date where there is one. It returns 0 when there is nothing to read.
func retryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return duration(ms, time.Millisecond)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return duration(seconds, time.Second)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		now = time.Now()
	}
	return max(0, at.Sub(now))
}

// duration returns n units, 0 for less than none, and the longest duration for what has no room.
func duration(n float64, unit time.Duration) time.Duration {
	switch ns := n * float64(unit); {
	case !(ns > 0): // NaN too
		return 0
	case ns >= math.MaxInt64:
		return math.MaxInt64
	default:
		return time.Duration(ns)
	}
}
