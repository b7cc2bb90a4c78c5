package openaichat

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/firstgood/firstgood"
)

// BenchmarkAttempt sets an attempt beside what it is made of: the same request and response through net/http alone.
func BenchmarkAttempt(b *testing.B) {
	response := []byte(completion("forty-two"))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(response)
	}))
	defer server.Close()
	d := open(b, Config{Model: "m", BaseURL: server.URL})
	brief := firstgood.Text("what is six times seven?")
	body, err := d.request.fill(brief)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("delegate", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if reply, err := d.Attempt(b.Context(), brief); err != nil || reply.Text != "forty-two" {
				b.Fatalf("got %q, %v", reply.Text, err)
			}
		}
	})
	address := server.URL + "/chat/completions"
	b.Run("net-http", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			response, err := d.client.Post(address, "application/json", bytes.NewReader(body))
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
