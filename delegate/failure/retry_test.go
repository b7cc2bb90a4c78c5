package failure

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// failing is a try that fails with each of the failures, then answers.
func failing(tries *int, failures ...*firstgood.Error) func() (firstgood.Reply, error) {
	return func() (firstgood.Reply, error) {
		*tries++
		if *tries <= len(failures) {
			return firstgood.Reply{}, failures[*tries-1]
		}
		return firstgood.Reply{Text: "yes", Usage: firstgood.Usage{InputTokens: 1, Source: firstgood.SourceMeasured}}, nil
	}
}

func failureOf(t *testing.T, err error) *firstgood.Error {
	t.Helper()
	var f *firstgood.Error
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a *firstgood.Error", err)
	}
	return f
}

func TestRetryTriesWhatMayPass(t *testing.T) {
	c := classifier(t, Config{})
	for _, f := range []struct {
		name  string
		err   *firstgood.Error
		tries int
	}{
		{"rate limited", c.Classify(429, nil, nil, nil), 3},
		{"unavailable", c.Classify(500, nil, nil, nil), 3},
		{"no connection", c.Classify(0, nil, nil, io.EOF), 3},
		{"truncated", c.Classify(200, nil, nil, io.ErrUnexpectedEOF), 3},
		{"timeout", c.Classify(408, nil, nil, nil), 3},
		{"S27: bad request", c.Classify(400, nil, nil, nil), 1},
		{"auth", c.Classify(401, nil, nil, nil), 1},
		{"context", c.Classify(413, nil, nil, nil), 1},
		{"refused", &firstgood.Error{Kind: firstgood.KindRefused}, 1},
		{"error", c.Classify(404, nil, nil, nil), 1},
		{"quota", c.Classify(429, nil, []byte(`{"error":{"code":"insufficient_quota"}}`), nil), 1},
		{"told not to", c.Classify(503, http.Header{"X-Should-Retry": {"false"}}, nil, nil), 1},
		{"wait above MaxWait", c.Classify(429, http.Header{"Retry-After": {"61"}}, nil, nil), 1},
	} {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				_, err := Retry(t.Context(), 2, failing(&tries, f.err, f.err, f.err))
				if tries != f.tries || failureOf(t, err).Reason != f.err.Reason {
					t.Errorf("got %d tries and %v, want %d and the failure", tries, err, f.tries)
				}
			})
		})
	}
	tries := 0
	foreign := errors.New("not ours")
	if _, err := Retry(t.Context(), 2, func() (firstgood.Reply, error) { tries++; return firstgood.Reply{}, foreign }); !errors.Is(err, foreign) || tries != 1 {
		t.Errorf("got %v after %d tries", err, tries)
	}
}

func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := &firstgood.Error{Kind: firstgood.KindUnavailable}
		limited := &firstgood.Error{Kind: firstgood.KindRateLimited, RetryAfter: 60 * time.Second}
		start, tries := time.Now(), 0
		reply, err := Retry(t.Context(), 6, failing(&tries, busy, busy, busy, busy, busy, limited))
		if err != nil || reply.Text != "yes" || tries != 7 {
			t.Fatalf("got %q, %v after %d tries", reply.Text, err, tries)
		}
		// 0.5 + 1 + 2 + 4 + 8, each a quarter more or less, and the 60 s as asked for
		if took := time.Since(start); took > 79376*time.Millisecond || took < 71624*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// S16: three inner retries under a deadline end at the deadline, and say what was wrong.
func TestS16_RetriesEndAtTheDeadline(t *testing.T) {
	busy := &firstgood.Error{Kind: firstgood.KindUnavailable, Status: 503, Reason: "503 Service Unavailable"}
	t.Run("timer of the host", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(context.DeadlineExceeded) })
			start, tries := time.Now(), 0
			_, err := Retry(ctx, 3, failing(&tries, busy, busy, busy, busy))
			var f *firstgood.Error
			if !errors.As(err, &f) || f.Kind != firstgood.KindTimeout || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			if want := "stopped: context deadline exceeded; try 2 of 4: 503 Service Unavailable"; f.Reason != want || f.Status != 503 {
				t.Errorf("got  %q, status %d\nwant %q, status 503", f.Reason, f.Status, want)
			}
			if took := time.Since(start); took != time.Second {
				t.Errorf("took %v", took)
			}
		})
	})
	t.Run("deadline that is known", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			limited := &firstgood.Error{Kind: firstgood.KindRateLimited, RetryAfter: 60 * time.Second}
			start, tries := time.Now(), 0
			_, err := Retry(ctx, 3, failing(&tries, limited))
			if failureOf(t, err).Kind != firstgood.KindRateLimited || tries != 1 || time.Since(start) != 0 {
				t.Errorf("got %v after %d tries and %v, want the failure at once", err, tries, time.Since(start))
			}
		})
	})
	t.Run("cancelled by the caller", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("user pressed stop")
			time.AfterFunc(100*time.Millisecond, func() { cancel(stop) })
			tries := 0
			_, err := Retry(ctx, 3, failing(&tries, busy, busy))
			if f := firstgood.FailureOf("d", 0, err); !errors.Is(err, stop) || f.Kind != firstgood.KindError {
				t.Errorf("got %s: %v", f.Kind, err)
			}
		})
	})
}

// S16, S40: a delegate of any kind with retries: one deadline and one idempotency key for all of its tries.
func TestS16_WithRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		flaky := firstgood.Func("flaky", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			keys = append(keys, firstgood.IdempotencyKey(ctx))
			select {
			case <-ctx.Done():
				return "", context.Cause(ctx)
			case <-time.After(6 * time.Second):
				return "", errors.New("exit status 1")
			}
		})
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), firstgood.IdempotencyKeyContext{}, "k"), 20*time.Second)
		defer cancel()
		start := time.Now()
		_, err := WithRetries(flaky, 3, firstgood.KindError).Attempt(ctx, firstgood.Text("b"))
		// Three tries of 6 s with 0.5 s and 1 s between them, a quarter more or less, leave no room for a fourth.
		if took := time.Since(start); err == nil || err.Error() != "exit status 1" || took > 19876*time.Millisecond || took < 19124*time.Millisecond {
			t.Errorf("got %v after %v", err, took)
		}
		if want := []string{"k", "k", "k"}; !slices.Equal(keys, want) {
			t.Errorf("got the keys %q, want %q", keys, want)
		}
	})
}

// resting is a delegate with all that a delegate may have.
type resting struct {
	firstgood.Delegate[string]
	drained, closed int
}

func (d *resting) AttemptTimeout() time.Duration { return time.Minute }
func (d *resting) Nests() bool                   { return true }
func (d *resting) Drain(context.Context) error   { d.drained++; return nil }
func (d *resting) Close() error                  { d.closed++; return nil }

func TestWithRetriesIsWhatItWraps(t *testing.T) {
	bare := firstgood.Func("bare", func(context.Context, firstgood.Brief) (string, error) { return "", errors.New("no") })
	inner := &resting{Delegate: bare}
	d := WithRetries[string](inner, 2)
	if d.Name() != "bare" || d.(firstgood.Limited).AttemptTimeout() != time.Minute || !d.(interface{ Nests() bool }).Nests() {
		t.Errorf("got %+v", d)
	}
	_, _ = d.(firstgood.Drainer).Drain(t.Context()), d.(io.Closer).Close()
	if inner.drained != 1 || inner.closed != 1 {
		t.Errorf("drained %d times, closed %d times", inner.drained, inner.closed)
	}
	d = WithRetries(bare, 2)
	if d.(firstgood.Limited).AttemptTimeout() != 0 || d.(interface{ Nests() bool }).Nests() || d.(firstgood.Drainer).Drain(t.Context()) != nil || d.(io.Closer).Close() != nil {
		t.Error("a bare delegate has got something")
	}
	if _, same := WithRetries[string](inner, 0).(*resting); !same {
		t.Error("without retries there is nothing to wrap")
	}
	if _, err := d.Attempt(t.Context(), firstgood.Text("b")); err == nil || err.Error() != "no" {
		t.Errorf("got %v, want the delegate's own error", err)
	}
}

func TestRetryOfForeignErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			err   error
			kinds []firstgood.Kind
			tries int
			kind  firstgood.Kind
		}{
			{"an error", errors.New("exit status 1"), nil, 1, firstgood.KindError},
			{"an error that may pass", errors.New("exit status 1"), []firstgood.Kind{firstgood.KindError}, 3, firstgood.KindError},
			{"S19: a deadline of its own", context.DeadlineExceeded, nil, 3, firstgood.KindTimeout},
			{"one that ends the run", &firstgood.Error{Kind: firstgood.KindUnavailable, Fatal: true}, nil, 1, firstgood.KindUnavailable},
			{"a run that was stopped", &firstgood.NoWinnerError{Status: firstgood.StatusStopped}, nil, 1, firstgood.KindExhausted},
		} {
			tries := 0
			d := WithRetries(firstgood.Func("d", func(context.Context, firstgood.Brief) (string, error) { tries++; return "", c.err }), 2, c.kinds...)
			_, err := d.Attempt(t.Context(), firstgood.Text("b"))
			if f := firstgood.FailureOf("d", 0, err); tries != c.tries || f.Kind != c.kind || !errors.Is(err, c.err) {
				t.Errorf("%s: got %d tries and %s: %v", c.name, tries, f.Kind, err)
			}
		}
	})
}

type handle struct{ closed *int }

func (h *handle) Close() error { *h.closed++; return nil }

// S36: what comes beside an error that is tried again is closed once, and the last is the caller's to close.
func TestS36_RetryClosesWhatComesBesideAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, tries := 0, 0
		reply, err := Retry(t.Context(), 2, func() (*handle, error) {
			if tries++; tries == 2 {
				return nil, &firstgood.Error{Kind: firstgood.KindUnavailable}
			}
			return &handle{&closed}, &firstgood.Error{Kind: firstgood.KindUnavailable}
		})
		if err == nil || reply == nil || closed != 1 || tries != 3 {
			t.Errorf("got %v, %v, closed %d after %d tries", reply, err, closed, tries)
		}
	})
}

// S46: what failed tries have used is not lost.
func TestS46_RetriesAddUpUsage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := &firstgood.Error{Kind: firstgood.KindTruncated, Usage: firstgood.Usage{InputTokens: 5, OutputTokens: 7, Source: firstgood.SourceMeasured}}
		busy := &firstgood.Error{Kind: firstgood.KindUnavailable}
		tries := 0
		reply, err := Retry(t.Context(), 2, failing(&tries, cut, busy))
		if want := (firstgood.Usage{InputTokens: 6, OutputTokens: 7, Source: firstgood.SourceMeasured}); err != nil || reply.Usage != want {
			t.Errorf("got %+v, %v, want %+v", reply.Usage, err, want)
		}
		tries = 0
		_, err = Retry(t.Context(), 1, failing(&tries, cut, cut))
		var f *firstgood.Error
		if want := (firstgood.Usage{InputTokens: 10, OutputTokens: 14, Source: firstgood.SourceMeasured}); !errors.As(err, &f) || f.Usage != want {
			t.Errorf("got %+v, want usage %+v", f, want)
		}
		tries = 0
		silent := &firstgood.Error{Kind: firstgood.KindTruncated}
		reply, err = Retry(t.Context(), 1, failing(&tries, silent))
		if want := (firstgood.Usage{InputTokens: 1, Source: firstgood.SourceUnknown}); err != nil || reply.Usage != want {
			t.Errorf("after a cut reply: got %+v, %v, want %+v", reply.Usage, err, want)
		}
		if cut.Usage.InputTokens != 5 || silent.Usage != (firstgood.Usage{}) {
			t.Error("the try's own failure was changed")
		}
	})
}

func TestStopped(t *testing.T) {
	if f := Stopped(t.Context()); f != nil {
		t.Errorf("got %v for a live context", f)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&firstgood.LostError{Winner: "fast"})
	if f := Stopped(ctx); f.Kind != firstgood.KindError || !errors.Is(f, context.Canceled) || f.Reason != "stopped: lost to fast" {
		t.Errorf("got %s: %v", f.Kind, f)
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		body  string
		limit int64
		want  string
		fails string
	}{
		{"", 4, "", ""},
		{"1234", 4, "1234", ""},
		{"12345", 4, "1234", "the reply is larger than the limit of 4 bytes"},
	} {
		data, err := Read(strings.NewReader(c.body), c.limit)
		if string(data) != c.want || (err != nil) != (c.fails != "") || err != nil && err.Error() != c.fails {
			t.Errorf("%q: got %q, %v", c.body, data, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("12"), errReader{})
	if data, err := Read(broken, 4); string(data) != "12" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", data, err)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		data string
		kind firstgood.Kind
		want string
	}{
		{`{"a":1}`, "", ""},
		{"\uFEFF {\"a\":1}\n ", "", ""},
		{``, firstgood.KindTruncated, "the reply's JSON stops short after 0 bytes"},
		{`{"a":`, firstgood.KindTruncated, "the reply's JSON stops short after 5 bytes"},
		{`{"a":"x`, firstgood.KindTruncated, "the reply's JSON stops short after 7 bytes"},
		{`<html>`, firstgood.KindError, "the reply is not the expected JSON: invalid character '<' looking for beginning of value"},
		{`[1]`, firstgood.KindError, "the reply is not the expected JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{`{"a":1} {"b":2}`, firstgood.KindError, "the reply goes on after its JSON, at byte 9"},
	} {
		var value map[string]any
		err := Decode([]byte(c.data), &value)
		if c.kind == "" {
			if err != nil || value["a"] != 1.0 {
				t.Errorf("%q: got %v, %v", c.data, value, err)
			}
			continue
		}
		var f *firstgood.Error
		if !errors.As(err, &f) || f.Kind != c.kind || f.Reason != c.want {
			t.Errorf("%q: got %v, want %s: %s", c.data, err, c.kind, c.want)
		}
	}
}
