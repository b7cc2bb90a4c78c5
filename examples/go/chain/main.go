// Command chain tries three functions in order and prints the first good answer.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

func main() {
	chain, err := pattern.NewFallbackChain(pattern.Config[string]{
		Delegates: []firstgood.Delegate[string]{
			firstgood.Func("fast", askFast), firstgood.Func("cheap", askCheap), firstgood.Func("careful", askCareful),
		},
		Criteria: firstgood.NonEmpty[string], // what a good reply is; any function of yours will do
	})
	if err != nil {
		panic(err) // the Config is wrong
	}
	out, err := chain.Run(context.Background(), firstgood.Text("What is the capital of France?"))
	fmt.Println(out.Result, out.Winner, out.Attempts, out.History, err)
}

func askFast(context.Context, firstgood.Brief) (string, error)  { return "", errors.New("overloaded") }
func askCheap(context.Context, firstgood.Brief) (string, error) { return " ", nil }

func askCareful(_ context.Context, brief firstgood.Brief) (string, error) {
	return "“" + brief.String() + "” Paris.", nil
}

// Output:
// “What is the capital of France?” Paris. careful 3 [fast: error: overloaded cheap: rejected: the reply is empty] <nil>
