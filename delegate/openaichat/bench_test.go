package openaichat

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// BenchmarkAttempt sets an attempt beside what it is made of, the same request and response through net/http alone, for
// a reply of 200 tokens in one piece and as a stream of one event for each.
func BenchmarkAttempt(b *testing.B) {
	const tokens = 200
	whole := completion(strings.Repeat(" word", tokens))
	stream := strings.Repeat(`data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" word"},"logprobs":null,"finish_reason":null}],"usage":null}`+"\n\n", tokens) +
		chunks(`{"index":0,"delta":{},"finish_reason":"stop"}`) + `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":200}}` + "\n\ndata: [DONE]\n\n"
	for _, c := range []struct {
		name     string
		config   Config
		response string
		media    string
	}{
		{"whole", Config{}, whole, "application/json"},
		{"stream", Config{FirstToken: time.Hour, Idle: time.Minute}, stream, "text/event-stream"},
	} {
		response := []byte(c.response)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", c.media)
			_, _ = w.Write(response)
		}))
		defer server.Close()
		c.config.Model, c.config.BaseURL = "m", server.URL
		d := open(b, c.config)
		brief := firstgood.Text("what is six times seven?")
		body, err := d.fill(brief)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if reply, err := d.Attempt(b.Context(), brief); err != nil || len(reply.Text) != tokens*len(" word") {
					b.Fatalf("got %q, %v", reply.Text, err)
				}
			}
		})
		address := server.URL + "/chat/completions"
		b.Run(c.name+"/net-http", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				response, err := d.endpoint.Client().Post(address, "application/json", bytes.NewReader(body))
				if err != nil {
					b.Fatal(err)
				}
				if data, err := io.ReadAll(response.Body); err != nil || len(data) == 0 || response.StatusCode != http.StatusOK {
					b.Fatalf("got %s, %v", response.Status, err)
				}
				_ = response.Body.Close()
			}
		})
	}
}
