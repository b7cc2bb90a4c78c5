package pattern_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

// Any Go function can be a delegate; what it asks is its own business.
func askSmall(context.Context, firstgood.Brief) (string, error) {
	return "", errors.New("connection refused")
}

func askLarge(_ context.Context, b firstgood.Brief) (string, error) { return "four", nil }

func askSlow(ctx context.Context, b firstgood.Brief) (string, error) {
	<-ctx.Done() // it is told when another has won
	return "", ctx.Err()
}

// Delegates in order of preference, the next one only when one fails.
func ExampleNewFallbackChain() {
	chain, err := pattern.NewFallbackChain(pattern.Config[string]{
		Delegates: []firstgood.Delegate[string]{firstgood.Func("small", askSmall), firstgood.Func("large", askLarge)},
		Criteria:  firstgood.NonEmpty[string],
	})
	if err != nil {
		panic(err)
	}
	out, err := chain.Run(context.Background(), firstgood.Text("What is 2+2?"))
	fmt.Println(out.Result, out.Winner, out.Attempts, err)
	fmt.Println(out.History)
	// Output:
	// four large 2 <nil>
	// [small: error: connection refused]
}

// All at once, the first good reply wins, the others are cancelled.
func ExampleNewRace() {
	race, err := pattern.NewRace(pattern.Config[string]{
		Delegates: []firstgood.Delegate[string]{firstgood.Func("slow", askSlow), firstgood.Within(time.Minute, firstgood.Func("large", askLarge))},
		Timeout:   time.Hour,
	})
	if err != nil {
		panic(err)
	}
	out, err := race.Run(context.Background(), firstgood.Text("What is 2+2?"))
	fmt.Println(out.Result, out.Winner, err)
	for _, call := range out.Calls {
		fmt.Println(call.Delegate, call.State)
	}
	// Output:
	// four large <nil>
	// slow cancelled
	// large won
}

// The reply of each, in listed order, also when some fail.
func ExampleNewFanOut() {
	fan, err := pattern.NewFanOut(pattern.Config[string]{
		Delegates: []firstgood.Delegate[string]{firstgood.Func("large", askLarge), firstgood.Func("small", askSmall), firstgood.Func("large", askLarge)},
	})
	if err != nil {
		panic(err)
	}
	out, err := fan.Run(context.Background(), firstgood.Text("What is 2+2?"))
	fmt.Printf("%q %v %v\n", out.Result, out.History, err)
	// Output:
	// ["four" "" "four"] [small: error: connection refused] <nil>
}

// One delegate, told from the second attempt on what was wrong with the others.
func ExampleNewRetryWithLearning() {
	pupil := firstgood.Func("pupil", func(_ context.Context, b firstgood.Brief) (string, error) {
		if strings.Contains(b.String(), "write it as a digit") {
			return "4", nil
		}
		return "four", nil
	})
	retry, err := pattern.NewRetryWithLearning(pattern.Config[string]{
		Delegates: []firstgood.Delegate[string]{pupil},
		Criteria: func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
			return firstgood.Verdict{Rejected: reply != "4", Reason: "write it as a digit"}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	out, err := retry.Run(context.Background(), firstgood.Text("What is 2+2?"))
	fmt.Println(out.Result, out.Attempts, out.History, err)
	// Output:
	// 4 2 [pupil: rejected: write it as a digit] <nil>
}

// An instance is a delegate: a race of two in a chain.
func ExampleInstance_Attempt() {
	quick, err := pattern.NewRace(pattern.Config[string]{
		Name:      "quick",
		Delegates: []firstgood.Delegate[string]{firstgood.Func("slow", askSlow), firstgood.Func("large", askLarge)},
	})
	if err != nil {
		panic(err)
	}
	chain, err := pattern.NewFallbackChain(pattern.Config[string]{
		Delegates: []firstgood.Delegate[string]{firstgood.Func("small", askSmall), quick},
	})
	if err != nil {
		panic(err)
	}
	out, err := chain.Run(context.Background(), firstgood.Text("What is 2+2?"))
	fmt.Println(out.Result, out.WinnerPath, err)
	// Output:
	// four [quick large] <nil>
}

// When nobody wins the outcome is filled all the same, and the error holds the history.
func ExampleInstance_Run_noWinner() {
	chain, err := pattern.NewFallbackChain(pattern.Config[string]{
		Name:      "answer",
		Delegates: []firstgood.Delegate[string]{firstgood.Func("small", askSmall)},
	})
	if err != nil {
		panic(err)
	}
	out, err := chain.Run(context.Background(), firstgood.Text("What is 2+2?"))
	var none *firstgood.NoWinnerError
	fmt.Println(out.Status, errors.Is(err, firstgood.ErrNoWinner), errors.As(err, &none))
	fmt.Println(err)
	// Output:
	// exhausted true true
	// answer: no winner (exhausted): small: error: connection refused
}

// A simulation runs a plan on a virtual clock, for tests of what is built on the rule.
func ExampleSimulation() {
	s := &pattern.Simulation{
		Acts:     []pattern.Act{{After: 3 * time.Second, Accepted: true}, {After: time.Second, Accepted: true}},
		CancelAt: pattern.Never,
	}
	hedge := pattern.Plan{N: 2, First: 1, Want: 1, Delay: time.Second}
	d, err := pattern.Settle(hedge, s)
	fmt.Println(d.Winner, s.Now, err)
	for _, e := range s.Events {
		fmt.Println(e.At, e.Verb, e.I)
	}
	// Output:
	// 1 2s <nil>
	// 0s start 0
	// 1s tick -1
	// 1s start 1
	// 2s finish 1
	// 2s lost 0
}
