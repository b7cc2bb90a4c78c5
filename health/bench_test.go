package health

import (
	"context"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

// The cost of health, for an attempt that succeeds at once. The budget with everything on is 2 µs for an attempt.
//
// The difference of the two of a pair is what health costs: of a delegate called under a context that can be
// cancelled, and of a chain of one on goroutines, with gate and ceiling. The delegate has a timeout, and is a few
// kilobytes of calls deep, as any is that is worth watching: the stack of a new goroutine is small, and otherwise the
// first to need more would be charged with making it larger.
func BenchmarkAttempt(b *testing.B) {
	plain := firstgood.Within(time.Minute, firstgood.Func("d", func(context.Context, firstgood.Brief) (string, error) {
		work(40)
		return "yes", nil
	}))
	tracker, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	ceiling, err := NewCeiling(CeilingConfig{})
	if err != nil {
		b.Fatal(err)
	}
	gate := func(_ context.Context, s pattern.Start) error {
		if s.Started == 0 {
			ceiling.Run()
		}
		if err := tracker.May("d"); err != nil || !s.Tick {
			return err
		}
		return ceiling.Extra()
	}
	watched := Watch(tracker, "d", plain)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for _, c := range []struct {
		name string
		d    delegate
		gate func(context.Context, pattern.Start) error
	}{{"bare", plain, nil}, {"watched", watched, gate}} {
		b.Run("direct/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.d.Attempt(ctx, firstgood.Brief{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("chain/"+c.name, func(b *testing.B) {
			in, err := pattern.NewFallbackChain(pattern.Config[string]{Delegates: []firstgood.Delegate[string]{c.d}, Gate: c.gate})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := in.Run(ctx, firstgood.Brief{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("direct/watched failing", func(b *testing.B) {
		tracker, err := New(Config{Breaker: Breaker{Sample: 1 << 30}})
		if err != nil {
			b.Fatal(err)
		}
		d := Watch(tracker, "d", firstgood.Within(time.Minute, firstgood.Func("d", func(context.Context, firstgood.Brief) (string, error) {
			return "", &firstgood.Error{Kind: firstgood.KindTruncated, Reason: "it stops short"}
		})))
		b.ReportAllocs()
		for b.Loop() {
			_, _ = d.Attempt(ctx, firstgood.Brief{})
		}
	})
	b.Run("may", func(b *testing.B) {
		for b.Loop() {
			if err := tracker.May("d"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("parallel/watched", func(b *testing.B) {
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for pb.Next() {
				if _, err := watched.Attempt(ctx, firstgood.Brief{}); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("refused", func(b *testing.B) {
		ill := Watch(tracker, "ill", firstgood.Func("ill", func(context.Context, firstgood.Brief) (string, error) {
			return "", &firstgood.Error{Kind: firstgood.KindRateLimited, RetryAfter: DefaultMaxCooldown}
		}))
		_, _ = ill.Attempt(ctx, firstgood.Brief{})
		b.ReportAllocs()
		for b.Loop() {
			if tracker.May("ill") == nil {
				b.Fatal("it may start")
			}
		}
	})
}

// work calls itself n times, and takes some stack for each.
//
//go:noinline
func work(n int) byte {
	var stack [64]byte
	if n > 0 {
		stack[n%len(stack)] = work(n - 1)
	}
	return stack[n/2]
}
