package pattern_test

import (
	"context"
	"errors"
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

func benchInstance(b *testing.B, in *pattern.Instance[string], err error, want string) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
	brief := firstgood.Text("2+2?")
	b.ReportAllocs()
	for b.Loop() {
		out, err := in.Run(context.Background(), brief)
		if err != nil || out.Result != want {
			b.Fatal(out, err)
		}
	}
}

func three() []firstgood.Delegate[string] {
	return []firstgood.Delegate[string]{answers("a", "", errBench), answers("b", "", errBench), answers("c", "4", nil)}
}

// The chain and its peers: three delegates that answer at once, the first two with an error.
func BenchmarkChain(b *testing.B) {
	b.Run("inline-first-wins", func(b *testing.B) {
		in, err := pattern.NewFallbackChain(pattern.Config[string]{Delegates: []firstgood.Delegate[string]{answers("a", "4", nil)}, Inline: true})
		benchInstance(b, in, err, "4")
	})
	b.Run("inline-of-three", func(b *testing.B) {
		in, err := pattern.NewFallbackChain(pattern.Config[string]{Delegates: three(), Inline: true})
		benchInstance(b, in, err, "4")
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
	b.Run("goroutines-of-three", func(b *testing.B) {
		in, err := pattern.NewFallbackChain(pattern.Config[string]{Delegates: three()})
		benchInstance(b, in, err, "4")
	})
}

// The race and its peers: three delegates that answer at once.
func BenchmarkRace(b *testing.B) {
	b.Run("race-of-three", func(b *testing.B) {
		in, err := pattern.NewRace(pattern.Config[string]{Delegates: []firstgood.Delegate[string]{answers("a", "4", nil), answers("b", "4", nil), answers("c", "4", nil)}})
		benchInstance(b, in, err, "4")
	})
	b.Run("failsafe-hedge-of-three", func(b *testing.B) {
		policy := hedgepolicy.NewBuilderWithDelay[string](time.Nanosecond).WithMaxHedges(2).Build()
		executor := failsafe.With[string](policy)
		b.ReportAllocs()
		for b.Loop() {
			result, err := executor.WithContext(context.Background()).Get(func() (string, error) { return "4", nil })
			if err != nil || result != "4" {
				b.Fatal(result, err)
			}
		}
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
			_ = group.Wait()
		}
	})
}
