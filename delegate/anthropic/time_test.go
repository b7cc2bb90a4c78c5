package anthropic

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/lab"
)

// inMemory runs a test in virtual time with an endpoint that no socket leads to.
func inMemory(t *testing.T, config Config, handler http.HandlerFunc, test func(t *testing.T, d *Delegate)) {
	synctest.Test(t, func(t *testing.T) {
		pipe := lab.NewPipe()
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // net/http notices only then that a client has gone
			handler(w, r)
		})}
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(pipe) }()
		config.Model, config.BaseURL, config.HTTPClient = "m", "http://memory.example", pipe.Client()
		t.Cleanup(func() {
			config.HTTPClient.CloseIdleConnections()
			_ = server.Close()
			<-served
		})
		test(t, open(t, config))
	})
}

func timed(t *testing.T, d *Delegate, ctx context.Context) (*firstgood.Error, time.Duration) {
	t.Helper()
	start := time.Now()
	reply, err := d.Attempt(ctx, firstgood.Text("hi"))
	return failureOf(t, reply, err), time.Since(start)
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// S16: a 20-second timeout with three retries against a hanging server ends at 20 s.
func TestS16_HangingServerWithThreeRetriesEndsAtTheTimeout(t *testing.T) {
	inMemory(t, Config{Retries: 3}, hang, func(t *testing.T, d *Delegate) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Second, func() { cancel(context.DeadlineExceeded) })
		if f, took := timed(t, d, ctx); f.Kind != firstgood.KindTimeout || !errors.Is(f, context.DeadlineExceeded) || took != 20*time.Second {
			t.Errorf("got %s: %v after %v", f.Kind, f, took)
		}
	})
	// The client's own limit of ten minutes does not hold.
	inMemory(t, Config{}, hang, func(t *testing.T, d *Delegate) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if f, took := timed(t, d, ctx); f.Kind != firstgood.KindTimeout || took != time.Hour {
			t.Errorf("got %s: %v after %v", f.Kind, f, took)
		}
	})
}

// S14: the connection is accepted and headers never come; and pings are no tokens.
func TestS14_FirstTokenAndIdle(t *testing.T) {
	flush := func(w http.ResponseWriter, events string) {
		w.Header().Set("Content-Type", asStream)
		_, _ = io.WriteString(w, events)
		_ = http.NewResponseController(w).Flush()
	}
	pinging := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			flush(w, before)
			for r.Context().Err() == nil {
				flush(w, ping)
				select {
				case <-time.After(time.Second):
				case <-r.Context().Done():
				}
			}
		}
	}
	limits := Config{FirstToken: 2 * time.Second, Idle: 10 * time.Second}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		reason  string
		took    time.Duration
		usage   firstgood.Usage
	}{
		"hang":              {hang, "no first token within 2s", 2 * time.Second, firstgood.Usage{Source: firstgood.SourceUnknown}},
		"pings":             {pinging(start + opens(0, `{"type":"text","text":""}`)), "no first token within 2s", 2 * time.Second, firstgood.Usage{InputTokens: 9, OutputTokens: 1, Source: firstgood.SourceUnknown}},
		"pings after words": {pinging(start + says1("yes")), "no token for 10s", 10 * time.Second, firstgood.Usage{InputTokens: 9, OutputTokens: 1, Source: firstgood.SourceUnknown}},
	} {
		inMemory(t, limits, c.handler, func(t *testing.T, d *Delegate) {
			if f, took := timed(t, d, t.Context()); f.Kind != firstgood.KindTimeout || f.Reason != c.reason || took != c.took || f.Usage != c.usage {
				t.Errorf("%s: got %s: %v, %+v after %v", name, f.Kind, f, f.Usage, took)
			}
		})
	}
	// Thoughts are tokens.
	inMemory(t, limits, func(w http.ResponseWriter, _ *http.Request) {
		flush(w, start+opens(0, `{"type":"thinking","thinking":""}`))
		for range 5 {
			<-time.After(9 * time.Second)
			flush(w, delta(0, `{"type":"thinking_delta","thinking":"hm"}`))
		}
		flush(w, says1("yes")+ends("end_turn")+last)
	}, func(t *testing.T, d *Delegate) {
		if reply, err := d.Attempt(t.Context(), firstgood.Text("hi")); err != nil || reply.Text != "yes" {
			t.Errorf("got %q, %v", reply.Text, err)
		}
	})
}

// S46: what a stream has told of its cost is kept when the attempt is stopped.
func TestS46_StoppedStreamHasCostSomething(t *testing.T) {
	inMemory(t, Config{Idle: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
		says(200, asStream, start+says1("yes"))(w, r)
		_ = http.NewResponseController(w).Flush()
		hang(w, r)
	}, func(t *testing.T, d *Delegate) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(&firstgood.LostError{Winner: "fast"}) })
		f, _ := timed(t, d, ctx)
		if want := (firstgood.Usage{InputTokens: 9, OutputTokens: 1, Source: firstgood.SourceUnknown}); !errors.Is(f, context.Canceled) || f.Usage != want {
			t.Errorf("got %v, %+v", f, f.Usage)
		}
	})
}

// S25, S40: each try waits as long as it is asked to, and carries the attempt's key.
func TestS25_RetryAfterIsObeyed(t *testing.T) {
	var came []time.Duration
	var keys []string
	var begin time.Time
	inMemory(t, Config{Retries: 2, Idle: time.Minute}, func(w http.ResponseWriter, r *http.Request) {
		came, keys = append(came, time.Since(begin)), append(keys, r.Header.Get("Idempotency-Key"))
		if len(came) < 3 {
			w.Header().Set("Retry-After", "7")
			says(529, asJSON, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)(w, r)
			return
		}
		says(200, asStream, start+says1("yes")+ends("end_turn")+last)(w, r)
	}, func(t *testing.T, d *Delegate) {
		begin = time.Now()
		reply, err := d.Attempt(context.WithValue(t.Context(), firstgood.IdempotencyKeyContext{}, "k-1"), firstgood.Text("hi"))
		if want := []time.Duration{0, 7 * time.Second, 14 * time.Second}; err != nil || reply.Text != "yes" || !slices.Equal(came, want) {
			t.Errorf("got %q, %v, requests at %v, want %v", reply.Text, err, came, want)
		}
		if want := []string{"k-1", "k-1", "k-1"}; !slices.Equal(keys, want) {
			t.Errorf("got the keys %q, want %q", keys, want)
		}
	})
}
