package anthropic_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/anthropic"
)

func Example() {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"type":"message","content":[{"type":"text","text":"42"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"output_tokens":1}}`)
	}))
	defer endpoint.Close()

	d, err := anthropic.New(anthropic.Config{
		Model: "claude-sonnet-4-5", BaseURL: endpoint.URL, APIKey: "a key", System: "Answer briefly.",
		FirstToken: 5 * time.Second, Idle: 20 * time.Second, Retries: 2,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := d.Attempt(context.Background(), firstgood.Text("What is six times seven?"))
	fmt.Println(d.Name(), reply.Text, reply.FinishReason, reply.Usage.Source, err)
	// Output: claude-sonnet-4-5 42 end_turn measured <nil>
}
