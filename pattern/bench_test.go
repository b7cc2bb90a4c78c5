package pattern_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/fallback"
	"github.com/failsafe-go/failsafe-go/hedgepolicy"
	"golang.org/x/sync/errgroup"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

var errBench = errors.New("down")

func answers(name, reply string, err error) firstgood.Delegate[string] {
	return firstgood.Func(name, func(context.Context, firstgood.Brief) (string, error) { return reply, err })
}

// three are three delegates of which the first two fail.
func three() []firstgood.Delegate[string] {
	return []firstgood.Delegate[string]{answers("a", "", errBench), answers("b", "", errBench), answers("c", "4", nil)}
}

// bench runs what build has built, and checks each result.
func bench(b *testing.B, build func(pattern.Config[string]) (*pattern.Instance[string], error), cfg pattern.Config[string]) {
	b.Helper()
	in, err := build(cfg)
	if err != nil {
		b.Fatal(err)
	}
	brief := firstgood.Text("2+2?")
	b.ReportAllocs()
	for b.Loop() {
		if out, err := in.Run(context.Background(), brief); err != nil || out.Result != "4" {
			b.Fatal(out, err)
		}
	}
}

// BenchmarkChain has the chain and its peers: delegates that answer at once, of three the first two with an error.
func BenchmarkChain(b *testing.B) {
	b.Run("the-delegate-alone", func(b *testing.B) {
		d, brief := answers("a", "4", nil), firstgood.Text("2+2?")
		b.ReportAllocs()
		for b.Loop() {
			if reply, err := d.Attempt(context.Background(), brief); err != nil || reply != "4" {
				b.Fatal(reply, err)
			}
		}
	})
	b.Run("inline-first-wins", func(b *testing.B) {
		bench(b, pattern.NewFallbackChain, pattern.Config[string]{Delegates: []firstgood.Delegate[string]{answers("a", "4", nil)}, Inline: true})
	})
	b.Run("inline-of-three", func(b *testing.B) {
		bench(b, pattern.NewFallbackChain, pattern.Config[string]{Delegates: three(), Inline: true})
	})
	b.Run("inline-of-three-timed", func(b *testing.B) {
		bench(b, pattern.NewFallbackChain, pattern.Config[string]{Delegates: three(), Inline: true, Timeout: time.Hour})
	})
	b.Run("failsafe-fallback-of-three", func(b *testing.B) {
		second := fallback.NewWithFunc(func(failsafe.Execution[string]) (string, error) { return "", errBench })
		third := fallback.NewWithFunc(func(failsafe.Execution[string]) (string, error) { return "4", nil })
		executor := failsafe.With[string](third, second)
		b.ReportAllocs()
		for b.Loop() {
			result, err := executor.WithContext(context.Background()).Get(func() (string, error) { return "", errBench })
			if err != nil || result != "4" {
				b.Fatal(result, err)
			}
		}
	})
	b.Run("goroutines-first-wins", func(b *testing.B) {
		bench(b, pattern.NewFallbackChain, pattern.Config[string]{Delegates: []firstgood.Delegate[string]{answers("a", "4", nil)}})
	})
	b.Run("goroutines-of-three", func(b *testing.B) {
		bench(b, pattern.NewFallbackChain, pattern.Config[string]{Delegates: three()})
	})
	b.Run("goroutines-of-three-many-callers", func(b *testing.B) {
		in, err := pattern.NewFallbackChain(pattern.Config[string]{Delegates: three()})
		if err != nil {
			b.Fatal(err)
		}
		brief := firstgood.Text("2+2?")
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if out, err := in.Run(context.Background(), brief); err != nil || out.Result != "4" {
					b.Error(out, err)
				}
			}
		})
	})
	b.Run("race-of-three-in-a-chain", func(b *testing.B) {
		race, err := pattern.NewRace(pattern.Config[string]{Delegates: []firstgood.Delegate[string]{answers("a", "4", nil), answers("b", "4", nil), answers("c", "4", nil)}})
		if err != nil {
			b.Fatal(err)
		}
		bench(b, pattern.NewFallbackChain, pattern.Config[string]{Delegates: []firstgood.Delegate[string]{race}})
	})
}

// BenchmarkRaceAtOnce has the race and its peers where delegates answer at once. The peers do less: failsafe-go starts
// a hedge by a timer, and so starts fewer than three where the first answers before (see starts/op), and errgroup
// neither records nor cancels.
func BenchmarkRaceAtOnce(b *testing.B) {
	all := []firstgood.Delegate[string]{answers("a", "4", nil), answers("b", "4", nil), answers("c", "4", nil)}
	b.Run("race-of-three", func(b *testing.B) { bench(b, pattern.NewRace, pattern.Config[string]{Delegates: all}) })
	b.Run("race-of-three-listed", func(b *testing.B) {
		bench(b, pattern.NewRace, pattern.Config[string]{Delegates: all, Listed: true})
	})
	b.Run("race-of-three-timed", func(b *testing.B) {
		bench(b, pattern.NewRace, pattern.Config[string]{Delegates: all, Timeout: time.Hour})
	})
	b.Run("failsafe-hedge-of-three", func(b *testing.B) {
		var starts atomic.Int64
		hedge(b, func(failsafe.Execution[string]) (string, error) {
			starts.Add(1)
			return "4", nil
		})
		b.ReportMetric(float64(starts.Load())/float64(b.N), "starts/op")
	})
	b.Run("errgroup-waiting-for-three", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			group, ctx := errgroup.WithContext(context.Background())
			var results [3]string
			for i := range results {
				group.Go(func() error {
					results[i] = "4"
					return ctx.Err()
				})
			}
			if err := group.Wait(); err != nil || results != [3]string{"4", "4", "4"} {
				b.Fatal(results, err)
			}
		}
	})
}

// hedge races f against two hedges that start as soon as they can.
func hedge(b *testing.B, f func(failsafe.Execution[string]) (string, error)) {
	b.Helper()
	executor := failsafe.With[string](hedgepolicy.NewBuilderWithDelay[string](time.Nanosecond).WithMaxHedges(2).CancelIf(func(result string, err error) bool {
		return err == nil // the first good result, as a race takes
	}).Build())
	b.ReportAllocs()
	for b.Loop() {
		if result, err := executor.WithContext(context.Background()).GetWithExecution(f); err != nil || result != "4" {
			b.Fatal(result, err)
		}
	}
}

// BenchmarkRaceOfAll has the same work for everybody: all three start, the last to do so answers, and the other two
// are cancelled, of which they hear by their context.
func BenchmarkRaceOfAll(b *testing.B) {
	b.Run("race-of-three", func(b *testing.B) {
		var started atomic.Int64
		d := firstgood.Func("d", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			if started.Add(1)%3 == 0 {
				return "4", nil
			}
			<-ctx.Done()
			return "", ctx.Err()
		})
		bench(b, pattern.NewRace, pattern.Config[string]{Delegates: []firstgood.Delegate[string]{d, d, d}})
		b.ReportMetric(float64(started.Load())/float64(b.N), "starts/op")
	})
	b.Run("failsafe-hedge-of-three", func(b *testing.B) {
		var started atomic.Int64
		hedge(b, func(e failsafe.Execution[string]) (string, error) {
			if started.Add(1)%3 == 0 {
				return "4", nil
			}
			<-e.Context().Done()
			return "", e.Context().Err()
		})
		b.ReportMetric(float64(started.Load())/float64(b.N), "starts/op")
	})
	b.Run("errgroup-waiting-for-three", func(b *testing.B) {
		errFound := errors.New("found")
		var started atomic.Int64
		b.ReportAllocs()
		for b.Loop() {
			group, ctx := errgroup.WithContext(context.Background())
			for range 3 {
				group.Go(func() error {
					if started.Add(1)%3 == 0 {
						return errFound
					}
					<-ctx.Done()
					return ctx.Err()
				})
			}
			if err := group.Wait(); err != errFound {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(started.Load())/float64(b.N), "starts/op")
	})
}
