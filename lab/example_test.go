package lab_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/firstgood/firstgood/lab"
)

func Example() {
	provider, err := lab.New(lab.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	if err := provider.Start(""); err != nil {
		fmt.Println(err)
		return
	}
	for _, model := range []string{"429:60", "ok:Paris"} {
		body := `{"model": "` + model + `", "messages": [{"role": "user", "content": "The capital of France?"}]}`
		resp, err := http.Post(provider.URL()+"/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		reply, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		fmt.Println(resp.Status, resp.Header.Get("Retry-After"), strings.Contains(string(reply), `"content":"Paris"`))
	}
	// Output:
	// 429 Too Many Requests 60 false
	// 200 OK  true
}

// A model of one's own decides from the request what goes wrong, and when.
func ExampleModel() {
	flaky := func(_ context.Context, req lab.Request) lab.Reply {
		if req.Number == 1 {
			return lab.Reply{Status: 503, Delay: 10 * time.Millisecond}
		}
		return lab.Reply{Text: "You said: " + req.Brief()}
	}
	provider, err := lab.New(lab.Config{
		Models: map[string]lab.Model{"flaky": flaky},
		Log: func(v lab.Visit) {
			if v.End != "" {
				fmt.Println(v.Number, v.Model, v.Status, v.End)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer provider.Close()
	if err := provider.Start(""); err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		resp, err := http.Post(provider.URL()+"/chat/completions", "application/json",
			strings.NewReader(`{"model": "flaky", "messages": [{"role": "user", "content": "hello"}]}`))
		if err != nil {
			fmt.Println(err)
			return
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	// Output:
	// 1 flaky 503 done
	// 2 flaky 200 done
}
