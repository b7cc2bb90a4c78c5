package failure

import (
	"context"
	"errors"
	"io"
	"net/http"
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
		// 0.5 + 1 + 2 + 4 + 8, each up to a quarter less, and the 60 s as asked for
		if took := time.Since(start); took > 75500*time.Millisecond || took < 71625*time.Millisecond {
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
