package openaichat

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// memory is a listener without a socket, so that tests can run in virtual time.
type memory struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (m memory) Accept() (net.Conn, error) {
	select {
	case conn := <-m.conns:
		return conn, nil
	case <-m.closed:
		return nil, net.ErrClosed
	}
}

func (m memory) Close() error   { close(m.closed); return nil }
func (m memory) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }

func (m memory) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case m.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inMemory starts an endpoint without a socket and returns a delegate for it, and a function that ends both.
func inMemory(t testing.TB, config Config, handler http.HandlerFunc) (d *Delegate, end func()) {
	t.Helper()
	m := memory{make(chan net.Conn), make(chan struct{})}
	server := &http.Server{Handler: handler}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(m) }()
	transport := &http.Transport{DialContext: m.dial}
	config.Model, config.BaseURL, config.HTTPClient = "m", "http://memory.example/v1", &http.Client{Transport: transport}
	return open(t, config), func() {
		transport.CloseIdleConnections()
		_ = server.Close()
		<-served
	}
}

// S14: the connection is accepted and headers never come; the attempt ends when its time is up.
func TestS14_HeadersNeverCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := make(chan struct{})
		d, end := inMemory(t, Config{Retries: 3}, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
			close(gone)
		})
		defer end()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(context.DeadlineExceeded) })
		start := time.Now()
		reply, err := d.Attempt(ctx, firstgood.Text("hi"))
		if f := failureOf(t, reply, err); f.Kind != firstgood.KindTimeout || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 5*time.Second {
			t.Errorf("got %s: %v after %v", f.Kind, err, time.Since(start))
		}
		<-gone
	})
}

// A body that stops without an end is torn down as well.
func TestS14_BodyNeverEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, end := inMemory(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, completion("yes")[:40])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		defer end()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		start := time.Now()
		reply, err := d.Attempt(ctx, firstgood.Text("hi"))
		if f := failureOf(t, reply, err); f.Kind != firstgood.KindTimeout || time.Since(start) != 5*time.Second {
			t.Errorf("got %s: %v after %v", f.Kind, err, time.Since(start))
		}
	})
}

// S16: three inner retries share one time limit.
func TestS16_InnerRetriesShareTheTimeout(t *testing.T) {
	slow := func(after time.Duration, header, value string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			select {
			case <-time.After(after):
			case <-r.Context().Done():
			}
			w.Header().Set(header, value)
			says(503, `{"error":{"message":"busy"}}`)(w, r)
		}
	}
	t.Run("20 s, not 60", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, end := inMemory(t, Config{Retries: 3}, slow(15*time.Second, "X-Nothing", ""))
			defer end()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			start := time.Now()
			reply, err := d.Attempt(ctx, firstgood.Text("hi"))
			if f := failureOf(t, reply, err); f.Kind != firstgood.KindTimeout || time.Since(start) != 20*time.Second {
				t.Errorf("got %s: %v after %v", f.Kind, err, time.Since(start))
			}
		})
	})
	t.Run("Retry-After past the deadline", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			d, end := inMemory(t, Config{Retries: 3}, slow(time.Second, "Retry-After", "60"))
			defer end()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			start := time.Now()
			reply, err := d.Attempt(ctx, firstgood.Text("hi"))
			f := failureOf(t, reply, err)
			if f.Kind != firstgood.KindUnavailable || f.Reason != "503 Service Unavailable: busy" || f.RetryAfter != time.Minute || time.Since(start) != time.Second {
				t.Errorf("got %s: %v, retry after %v, after %v", f.Kind, err, f.RetryAfter, time.Since(start))
			}
		})
	})
	t.Run("Retry-After within it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			d, end := inMemory(t, Config{Retries: 3}, func(w http.ResponseWriter, r *http.Request) {
				if requests++; requests == 1 {
					w.Header().Set("Retry-After", "7")
					says(429, ``)(w, r)
					return
				}
				says(200, completion("yes"))(w, r)
			})
			defer end()
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			start := time.Now()
			reply, err := d.Attempt(ctx, firstgood.Text("hi"))
			if err != nil || reply.Text != "yes" || requests != 2 || time.Since(start) != 7*time.Second {
				t.Errorf("got %q, %v after %d requests and %v", reply.Text, err, requests, time.Since(start))
			}
		})
	})
	t.Run("no retries unless asked for", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			requests := 0
			d, end := inMemory(t, Config{}, func(w http.ResponseWriter, r *http.Request) { requests++; says(503, ``)(w, r) })
			defer end()
			if _, err := d.Attempt(t.Context(), firstgood.Text("hi")); err == nil || requests != 1 {
				t.Errorf("got %v after %d requests", err, requests)
			}
		})
	})
}
