package health_test

import (
	"context"
	"fmt"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/health"
	"github.com/firstgood/firstgood/pattern"
)

// A delegate that asks to be left alone for a minute is not called by the next run.
func Example() {
	tracker, err := health.New(health.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fast := health.Watch(tracker, "fast", firstgood.Func("fast", func(context.Context, firstgood.Brief) (string, error) {
		return "", &firstgood.Error{Kind: firstgood.KindRateLimited, Reason: "429 Too Many Requests", RetryAfter: time.Minute}
	}))
	careful := health.Watch(tracker, "careful", firstgood.Func("careful", func(context.Context, firstgood.Brief) (string, error) {
		return "4", nil
	}))
	names := []string{"fast", "careful"}
	chain, err := pattern.NewFallbackChain(pattern.Config[string]{
		Delegates: []firstgood.Delegate[string]{fast, careful},
		Gate:      func(_ context.Context, s pattern.Start) error { return tracker.May(names[s.I]) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		out, err := chain.Run(context.Background(), firstgood.Text("2+2?"))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(out.Result, "after", out.Attempts, "attempts;", out.History[0].Kind)
	}
	for _, s := range tracker.States() {
		fmt.Println(s.Delegate, "is", s.State)
	}
	// Output:
	// 4 after 2 attempts; rate_limited
	// 4 after 1 attempts; no_start
	// careful is ok
	// fast is cooling
}

// However slow everything becomes, extra starts stay at a share of the runs.
func ExampleCeiling() {
	ceiling, err := health.NewCeiling(health.CeilingConfig{Share: 0.5, Burst: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 4 {
		ceiling.Run()
		fmt.Println(ceiling.Extra())
	}
	// Output:
	// <nil>
	// extra starts are at their ceiling, which is 0.5 for each run
	// <nil>
	// extra starts are at their ceiling, which is 0.5 for each run
}
