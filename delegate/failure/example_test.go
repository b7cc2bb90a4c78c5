package failure_test

import (
	"fmt"
	"net/http"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
)

func ExampleClassifier_Classify() {
	c, err := failure.New(failure.Config{Rules: []failure.Rule{
		{Message: "won't fit in the window", Kind: firstgood.KindContextLength},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	f := c.Classify(400, nil, []byte(`{"error":"this won't fit in the window"}`), nil)
	fmt.Println(f.Kind, "|", f)
	f = c.Classify(429, http.Header{"Retry-After": {"30"}}, nil, nil)
	fmt.Println(f.Kind, "|", f, "|", f.RetryAfter)
	// Output:
	// context_length | 400 Bad Request: this won't fit in the window
	// rate_limited | 429 Too Many Requests | 30s
}
