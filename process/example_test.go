//go:build unix

package process_test

import (
	"context"
	"fmt"

	"github.com/firstgood/firstgood/process"
)

func ExampleRun() {
	result, err := process.Run(context.Background(), process.Spec{
		Argv:  []string{"tr", "a-z", "A-Z"},
		Stdin: "the first good answer",
	})
	fmt.Printf("%s, %s, %v\n", result.Stdout, result.Status(), err)
	// Output: THE FIRST GOOD ANSWER, exit status 0, <nil>
}
