package openaichat_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/openaichat"
)

func Example() {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"choices":[{"message":{"content":"42"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`)
	}))
	defer endpoint.Close()

	d, err := openaichat.New(openaichat.Config{Model: "llama3.2", BaseURL: endpoint.URL + "/v1", System: "Answer briefly."})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := d.Attempt(context.Background(), firstgood.Text("What is six times seven?"))
	fmt.Println(d.Name(), reply.Text, reply.Usage.Source, err)
	// Output: llama3.2 42 measured <nil>
}
