// Command race asks two functions at once, prints the first answer, and cancels the other.
package main

import (
	"context"
	"fmt"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

func main() {
	told := make(chan error, 1)
	race, err := pattern.NewRace(pattern.Config[int]{
		Delegates: []firstgood.Delegate[int]{
			firstgood.Func("slow", func(ctx context.Context, _ firstgood.Brief) (int, error) {
				<-ctx.Done() // a delegate ends when its context does, whose cause says why
				told <- context.Cause(ctx)
				return 0, context.Cause(ctx)
			}),
			firstgood.Func("fast", func(context.Context, firstgood.Brief) (int, error) { return 42, nil }),
		},
	})
	if err != nil {
		panic(err) // the Config is wrong
	}
	out, err := race.Run(context.Background(), firstgood.Text("What is six times seven?"))
	fmt.Println(out.Result, out.Winner, err)
	fmt.Println("slow was told:", <-told)
}

// Output:
// 42 fast <nil>
// slow was told: lost to fast
