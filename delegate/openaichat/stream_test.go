package openaichat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/delegatetest"
	"github.com/firstgood/firstgood/lab"
)

// inLab runs a test in virtual time with delegates for the lab's models, which open makes.
func inLab(t *testing.T, models map[string]lab.Model, test func(t *testing.T, s *lab.Server, open func(model string, config Config) *Delegate)) {
	synctest.Test(t, func(t *testing.T) {
		s, err := lab.New(lab.Config{Models: models})
		if err != nil {
			t.Fatal(err)
		}
		pipe := lab.NewPipe()
		if err := s.StartOn(pipe); err != nil {
			t.Fatal(err)
		}
		client := pipe.Client()
		t.Cleanup(func() { _ = s.Close(); client.CloseIdleConnections() })
		test(t, s, func(model string, config Config) *Delegate {
			config.Model, config.BaseURL, config.HTTPClient = model, s.URL(), client
			return open(t, config)
		})
	})
}

// streaming is a limit that no test reaches.
var streaming = Config{FirstToken: time.Hour}

// A stream comes to the same reply, or failure, as the same answer in one piece.
func TestStreamIsTheSameReply(t *testing.T) {
	models := map[string]lab.Model{"long": func(context.Context, lab.Request) lab.Reply {
		return lab.Reply{Text: strings.Repeat("word and — 退屈 🎈\r\n\"<b>\" ", 2000)}
	}}
	for _, model := range []string{"ok", "ok:Red", "ok:", "long", "slow:3s", "echo", "empty", "role-only", "tool-call", "refusal", "content-filter", "content-policy",
		"context-length", "429:7", "500", "status:401", "status:418", "ok-but-error-body", "ok-but-error-body:insufficient_quota", "error-frame", "nobody"} {
		for _, onRefusal := range []bool{false, true} {
			inLab(t, models, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
				brief := firstgood.Text("Name a colour.")
				whole, wholeErr := open(model, Config{OnRefusal: onRefusal}).Attempt(t.Context(), brief)
				stream, streamErr := open(model, Config{OnRefusal: onRefusal, FirstToken: time.Hour, Idle: time.Minute}).Attempt(t.Context(), brief)
				if fmt.Sprintf("%+v", whole) != fmt.Sprintf("%+v", stream) {
					t.Errorf("%s: got  %.200s\nwant %.200s", model, fmt.Sprintf("%+v", stream), fmt.Sprintf("%+v", whole))
				}
				if (wholeErr == nil) != (streamErr == nil) {
					t.Fatalf("%s: got %v, want %v", model, streamErr, wholeErr)
				}
				if wholeErr != nil {
					w, s := failureOf(t, whole, wholeErr), failureOf(t, stream, streamErr)
					if w.Kind != s.Kind || w.Reason != s.Reason || w.Status != s.Status || w.RetryAfter != s.RetryAfter {
						t.Errorf("%s: got  %s: %+v\nwant %s: %+v", model, s.Kind, s, w.Kind, w)
					}
				}
				if visits := s.Visits(); visits[0].Stream || !visits[1].Stream {
					t.Errorf("streamed: %v and %v", visits[0].Stream, visits[1].Stream)
				}
			})
		}
	}
}

// timed makes an attempt and returns its failure and how long it took.
func timed(t *testing.T, d *Delegate, ctx context.Context) (*firstgood.Error, time.Duration) {
	t.Helper()
	start := time.Now()
	reply, err := d.Attempt(ctx, firstgood.Text("hi"))
	return failureOf(t, reply, err), time.Since(start)
}

// S14: the connection is accepted and headers never come: the timer runs from the dispatch.
func TestS14_FirstTokenRunsFromTheDispatch(t *testing.T) {
	paced := func(context.Context, lab.Request) lab.Reply {
		return lab.Reply{Text: "one two", Delay: time.Second, Pace: 1500 * time.Millisecond}
	}
	for _, model := range []string{"hang", "slow:3s", "paced", "stall:0"} {
		inLab(t, map[string]lab.Model{"paced": paced}, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
			f, took := timed(t, open(model, Config{FirstToken: 2 * time.Second}), t.Context())
			if f.Kind != firstgood.KindTimeout || f.Reason != "no first token within 2s" || took != 2*time.Second || f.Usage.Source != firstgood.SourceUnknown {
				t.Errorf("%s: got %s: %v, %+v after %v", model, f.Kind, f, f.Usage, took)
			}
			if err := s.WaitGone(t.Context(), 1); err != nil {
				t.Error(err)
			}
			if reply, err := open(model, Config{FirstToken: 2600 * time.Millisecond}).Attempt(t.Context(), firstgood.Text("hi")); model == "paced" && (err != nil || reply.Text != "one two") {
				t.Errorf("%s, in time: got %q, %v", model, reply.Text, err)
			}
		})
	}
}

func TestIdle(t *testing.T) {
	models := map[string]lab.Model{
		"paced": func(context.Context, lab.Request) lab.Reply {
			return lab.Reply{Text: "one two three four", Delay: time.Minute, Pace: 9 * time.Second}
		},
		"stalls": func(context.Context, lab.Request) lab.Reply {
			return lab.Reply{Text: "one two three four", Pace: time.Second, Fault: lab.Stall, After: 3}
		},
	}
	for _, c := range []struct {
		model            string
		firstToken, idle time.Duration
		reason           string // "" for a reply
		took             time.Duration
	}{
		{"paced", 0, 10 * time.Second, "", time.Minute + 36*time.Second},
		{"paced", 2 * time.Minute, 10 * time.Second, "", time.Minute + 36*time.Second},
		{"paced", 2 * time.Minute, 8 * time.Second, "no token for 8s", time.Minute + 17*time.Second},
		// Without a limit for the first token, the opening with the role begins the first gap.
		{"paced", 0, 8 * time.Second, "no token for 8s", time.Minute + 8*time.Second},
		{"stalls", 0, 10 * time.Second, "no token for 10s", 13 * time.Second},
		{"stalls", 2 * time.Second, 10 * time.Second, "no token for 10s", 13 * time.Second},
		{"stall:1", 2 * time.Second, 90 * time.Second, "no token for 1m30s", 90 * time.Second},
	} {
		inLab(t, models, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
			d := open(c.model, Config{FirstToken: c.firstToken, Idle: c.idle})
			start := time.Now()
			reply, err := d.Attempt(t.Context(), firstgood.Text("hi"))
			if took := time.Since(start); took != c.took {
				t.Errorf("%s: took %v, want %v", c.model, took, c.took)
			}
			if c.reason == "" {
				if err != nil || reply.Text != "one two three four" {
					t.Errorf("%s: got %q, %v", c.model, reply.Text, err)
				}
				return
			}
			if f := failureOf(t, reply, err); f.Kind != firstgood.KindTimeout || f.Reason != c.reason {
				t.Errorf("%s: got %s: %v, want %s", c.model, f.Kind, f, c.reason)
			}
		})
	}
}

// S1: a stream that is cut, stalls or breaks after 40 of 60 tokens is a failure, never a shorter reply.
func TestS1_BrokenStreamIsNoReply(t *testing.T) {
	for model, want := range map[string]struct {
		kind   firstgood.Kind
		reason string
	}{
		"cut:40":      {firstgood.KindTruncated, "the reply stops short: unexpected EOF"},
		"cut:0":       {firstgood.KindTruncated, "the reply stops short: unexpected EOF"},
		"bad-json:40": {firstgood.KindTruncated, "the stream breaks off: event 42 is not what it should be: unexpected end of JSON input"},
		"stall:40":    {firstgood.KindTimeout, "no token for 10s"},
	} {
		inLab(t, nil, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
			f, _ := timed(t, open(model, Config{Idle: 10 * time.Second}), t.Context())
			if f.Kind != want.kind || f.Reason != want.reason || f.Usage.Source != firstgood.SourceUnknown {
				t.Errorf("%s: got %s: %v, %+v", model, f.Kind, f, f.Usage)
			}
		})
	}
}

// S2, S4, S13: an error inside a stream that began with 200 is that error, before and after content.
func TestS2_ErrorFrameIsTheFailure(t *testing.T) {
	for _, model := range []string{"ok-but-error-body", "error-frame", "error-frame:0", "error-frame:40"} {
		inLab(t, nil, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
			f, _ := timed(t, open(model, streaming), t.Context())
			if f.Kind != firstgood.KindRateLimited || f.Reason != "the lab's model is over its quota (rate_limit_exceeded)" || f.Status != 200 {
				t.Errorf("%s: got %s %d: %v", model, f.Kind, f.Status, f)
			}
		})
	}
}

// S16: a 20-second timeout with three retries against a hanging server ends at 20 s.
func TestS16_HangingServerWithThreeRetriesEndsAtTheTimeout(t *testing.T) {
	for _, limit := range []string{"timer of the host", "deadline that is known"} {
		inLab(t, nil, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if limit == "timer of the host" {
				time.AfterFunc(20*time.Second, func() { cancel(context.DeadlineExceeded) })
			} else {
				var stop context.CancelFunc
				ctx, stop = context.WithTimeout(ctx, 20*time.Second)
				defer stop()
			}
			f, took := timed(t, open("hang", Config{Retries: 3}), ctx)
			if f.Kind != firstgood.KindTimeout || !errors.Is(f, context.DeadlineExceeded) || took != 20*time.Second {
				t.Errorf("%s: got %s: %v after %v", limit, f.Kind, f, took)
			}
			if err := s.WaitGone(t.Context(), 1); err != nil || len(s.Visits()) != 1 {
				t.Errorf("%s: %v, %d visits", limit, err, len(s.Visits()))
			}
		})
	}
	// Retries of a first token that never comes share the 20 s as well: three of 6 s and the waits between them.
	inLab(t, nil, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		f, took := timed(t, open("hang", Config{Retries: 9, FirstToken: 6 * time.Second}), ctx)
		if f.Kind != firstgood.KindTimeout || f.Reason != "no first token within 6s" || took > 20*time.Second || took < 19*time.Second || len(s.Visits()) != 3 {
			t.Errorf("got %s: %v after %v and %d visits", f.Kind, f, took, len(s.Visits()))
		}
	})
}

// deaf is a transport that knows of no cause: it says that its context is done, before the response or in its body.
type deaf struct{ inBody bool }

func (d deaf) RoundTrip(r *http.Request) (*http.Response, error) {
	if !d.inBody {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	events := io.MultiReader(strings.NewReader(chunks(`{"delta":{"role":"assistant"}}`)), untilDone{r.Context()})
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(events), Request: r}, nil
}

type untilDone struct{ ctx context.Context }

func (u untilDone) Read([]byte) (int, error) { <-u.ctx.Done(); return 0, u.ctx.Err() }

// S14: the reason does not hang on what the transport makes of it.
func TestS14_ReasonSurvivesTheTransport(t *testing.T) {
	for _, transport := range []deaf{{false}, {true}} {
		synctest.Test(t, func(t *testing.T) {
			d := open(t, Config{Model: "m", BaseURL: "http://h/v1", FirstToken: 2 * time.Second, HTTPClient: &http.Client{Transport: transport}})
			if f, took := timed(t, d, t.Context()); f.Kind != firstgood.KindTimeout || f.Reason != "no first token within 2s" || took != 2*time.Second {
				t.Errorf("%+v: got %s: %v after %v", transport, f.Kind, f, took)
			}
		})
	}
}

// S46: a stream that is stopped has cost something that nobody measured; a request that was never answered need not have.
func TestS46_StoppedStreamHasCostSomething(t *testing.T) {
	for model, want := range map[string]firstgood.Usage{"stall:2": {Source: firstgood.SourceUnknown}, "hang": {}} {
		inLab(t, nil, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(&firstgood.LostError{Winner: "fast"}) })
			if f, _ := timed(t, open(model, streaming), ctx); !errors.Is(f, context.Canceled) || f.Usage != want {
				t.Errorf("%s: got %v, %+v", model, f, f.Usage)
			}
		})
	}
}

// S25: what a busy endpoint asks for is obeyed to the second.
func TestS25_RetryAfterIsObeyed(t *testing.T) {
	var came []time.Duration
	var start time.Time
	models := map[string]lab.Model{"busy": func(_ context.Context, r lab.Request) lab.Reply {
		came = append(came, time.Since(start))
		if r.Number < 3 {
			return lab.Reply{Status: 429, Header: http.Header{"Retry-After": {"7"}}}
		}
		return lab.Reply{Text: "yes"}
	}}
	inLab(t, models, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
		start = time.Now()
		reply, err := open("busy", Config{Retries: 3, FirstToken: time.Second}).Attempt(t.Context(), firstgood.Text("hi"))
		if want := []time.Duration{0, 7 * time.Second, 14 * time.Second}; err != nil || reply.Text != "yes" || !slices.Equal(came, want) {
			t.Errorf("got %q, %v, requests at %v, want %v", reply.Text, err, came, want)
		}
	})
}

// S40: the requests of an attempt carry its key, whole or streamed.
func TestS40_IdempotencyKey(t *testing.T) {
	for _, config := range []Config{{Retries: 2}, {Retries: 2, FirstToken: time.Second}, {Retries: 2, Headers: map[string]string{"idempotency-key": "mine"}}} {
		var keys []string
		models := map[string]lab.Model{"busy": func(_ context.Context, r lab.Request) lab.Reply {
			keys = append(keys, r.Header.Get("Idempotency-Key"))
			return lab.Reply{Status: 503}
		}}
		inLab(t, models, func(t *testing.T, s *lab.Server, open func(string, Config) *Delegate) {
			d := open("busy", config)
			for _, key := range []string{"", "k-1"} {
				keys = nil
				if f, _ := timed(t, d, context.WithValue(t.Context(), firstgood.IdempotencyKeyContext{}, key)); f.Status != 503 {
					t.Errorf("got %v", f)
				}
				if config.Headers != nil {
					key = "mine"
				}
				if want := []string{key, key, key}; !slices.Equal(keys, want) {
					t.Errorf("got the keys %q, want %q", keys, want)
				}
			}
		})
	}
}

// events is an endpoint that streams what it is given, and then ends the response.
func events(stream string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		_, _ = io.WriteString(w, stream)
	}
}

// chunks are frames with a first choice each, whose index is not told.
func chunks(choices ...string) string {
	var b strings.Builder
	for _, choice := range choices {
		fmt.Fprintf(&b, "data: {\"choices\":[%s]}\n\n", choice)
	}
	return b.String()
}

func TestStreamReplies(t *testing.T) {
	measured := firstgood.Usage{InputTokens: 9, OutputTokens: 3, Source: firstgood.SourceMeasured}
	unknown := firstgood.Usage{Source: firstgood.SourceUnknown}
	const yes, stop, done = `{"delta":{"content":"yes"}}`, `{"delta":{},"finish_reason":"stop"}`, "data: [DONE]\n\n"
	const usage = "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":3}}\n\n"
	plain := firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: unknown}
	for _, c := range []struct {
		name, stream string
		want         firstgood.Reply
	}{
		{"plain", chunks(yes, stop) + usage + done, firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: measured}},
		{"usage in the last chunk", `data: {"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}` + "\n\n" + done, firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: measured}},
		{"null usage in each chunk", `data: {"choices":[{"delta":{"content":"yes"}}],"usage":null}` + "\n\n" + chunks(stop) + done, plain},
		{"no DONE", chunks(yes, stop), plain},
		{"no finish reason", chunks(yes) + done, firstgood.Reply{Text: "yes", Usage: unknown}},
		{"no last empty line", chunks(yes, stop) + "data: [DONE]", plain},
		{"CRLF, comments, fields, no space", ": OPENROUTER PROCESSING\r\n\r\nid: 1\r\nretry: 5\r\nevent: message\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"yes\"}}]}\r\n\r\n" + chunks(stop) + done, plain},
		{"JSON on several lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"yes\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n" + done, plain},
		{"a byte order mark", "\uFEFF" + chunks(yes, stop) + done, plain},
		{"what comes after DONE", chunks(yes, stop) + done + chunks(yes) + "data: {\n\n", plain},
		{"the first of two choices", chunks(`{"index":0,"delta":{"content":"y"}},{"index":1,"delta":{"content":"NO"}}`, `{"index":1,"delta":{"content":"NO"},"finish_reason":"length"}`, `{"index":0,"delta":{"content":"es"},"finish_reason":"stop"}`) + done, plain},
		{"words that look like an error", chunks(`{"delta":{"content":"{\"error\":{\"code\":\"x\"}}"}}`, stop), firstgood.Reply{Text: `{"error":{"code":"x"}}`, FinishReason: "stop", Usage: unknown}},
		{"null error beside it", `data: {"error":null,"choices":[{"delta":{"content":"yes"},"finish_reason":"stop"}]}` + "\n\n", plain},
		{"parts and thoughts", chunks(`{"delta":{"reasoning_content":"hm"}}`, `{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}}`, `{"delta":{"content":[{"type":"text","text":"y"},{"type":"text","text":"es"}]}}`, stop), plain},
		{"S9: tool calls in pieces", chunks(`{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}`, `{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}`, `{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"}"}}]}}`, `{"delta":{"tool_calls":[{"index":1,"id":"b"}]},"finish_reason":"tool_calls"}`),
			firstgood.Reply{ToolCalls: 2, FinishReason: "tool_calls", Usage: unknown}},
		{"S9: two tool calls with one index", chunks(`{"delta":{"tool_calls":[{"index":0,"id":"a"},{"index":0,"id":"b"}]},"finish_reason":"tool_calls"}`), firstgood.Reply{ToolCalls: 2, FinishReason: "tool_calls", Usage: unknown}},
		{"S9: two tool calls without index and id", chunks(`{"delta":{"tool_calls":[{},{}]},"finish_reason":"tool_calls"}`), firstgood.Reply{ToolCalls: 2, FinishReason: "tool_calls", Usage: unknown}},
		{"function call", chunks(`{"delta":{"function_call":{"name":"f"}}}`, `{"delta":{"function_call":{"arguments":"{}"}},"finish_reason":"function_call"}`), firstgood.Reply{ToolCalls: 1, FinishReason: "function_call", Usage: unknown}},
		{"refusal", chunks(`{"delta":{"refusal":"I "}}`, `{"delta":{"refusal":"can't."},"finish_reason":"stop"}`), firstgood.Reply{Refusal: "I can't.", FinishReason: "stop", Usage: unknown}},
		{"a whole message as the only event", "data: " + completion("yes") + "\n\n", firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: measured}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := serve(t, streaming, events(c.stream)).Attempt(t.Context(), firstgood.Text("hi"))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := fmt.Sprintf("%+v", reply), fmt.Sprintf("%+v", c.want); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestStreamFailures(t *testing.T) {
	const yes, stop = `{"delta":{"content":"yes"}}`, `{"delta":{},"finish_reason":"stop"}`
	for _, c := range []struct {
		name, stream string
		config       Config
		kind         firstgood.Kind
		reason       string
	}{
		{"S1: the end before the end", chunks(yes), Config{}, firstgood.KindTruncated, "the stream ends after 1 events, before the reply is complete"},
		{"S1: nothing at all", "", Config{}, firstgood.KindTruncated, "the stream ends after 0 events, before the reply is complete"},
		{"S1: half a chunk at the end", chunks(yes) + `data: {"choices":[{"delta":{"con`, Config{}, firstgood.KindTruncated, "the stream breaks off: event 2 is not what it should be: unexpected end of JSON input"},
		{"S1: no JSON", chunks(yes) + "data: <html>\n\n" + chunks(stop), Config{}, firstgood.KindTruncated, "the stream breaks off: event 2 is not what it should be: invalid character '<' looking for beginning of value"},
		{"S2: quota before content", chunks(`{"delta":{"role":"assistant"}}`) + `data: {"error":{"message":"out","type":"insufficient_quota","code":"insufficient_quota"}}` + "\n\n", Config{}, firstgood.KindRateLimited, "out (insufficient_quota)"},
		{"S4: overload after content", chunks(yes) + `data: {"error":{"message":"busy","type":"overloaded_error"}}` + "\n\n" + chunks(stop), Config{}, firstgood.KindUnavailable, "busy (overloaded_error)"},
		{"S5: response.failed", "event: response.failed\n" + `data: {"type":"response.failed","response":{"status":"failed","error":{"code":"server_error","message":"boom"}}}` + "\n\n", Config{}, firstgood.KindUnavailable, "boom (server_error)"},
		{"google's list", `data: [{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]` + "\n\n", Config{}, firstgood.KindUnavailable, "busy (UNAVAILABLE)"},
		{"vllm's flat object", chunks(yes) + `data: {"object":"error","message":"boom","type":"InternalServerError","code":500}` + "\n\n", Config{}, firstgood.KindUnavailable, "boom (InternalServerError)"},
		{"ollama's text", chunks(yes) + `data: {"error":"an error was encountered while running the model"}` + "\n\n", Config{}, firstgood.KindError, "an error was encountered while running the model"},
		{"an error event that is text", "event: error\ndata: rate limit exceeded\n\n", Config{}, firstgood.KindRateLimited, "rate limit exceeded"},
		{"openrouter's choice", chunks(yes, `{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"upstream died"}}`), Config{}, firstgood.KindUnavailable, "upstream died"},
		{"an error without words", chunks(yes, `{"delta":{},"finish_reason":"error"}`), Config{}, firstgood.KindError, "the endpoint broke the answer off (finish_reason error) and does not say why"},
		{"S10: filter", chunks(yes, `{"delta":{},"finish_reason":"content_filter"}`), Config{}, firstgood.KindRefused, "a content filter withheld the answer (finish_reason content_filter)"},
		{"S10: refusal", chunks(`{"delta":{"refusal":"I\ncan't."}}`, stop), Config{OnRefusal: true}, firstgood.KindRefused, "the model refused: I can't."},
		{"no choices", "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", Config{}, firstgood.KindError, "the response has no choices, so it is no chat completion"},
		{"too large", chunks(yes, yes, yes, yes), Config{MaxBody: 100}, firstgood.KindError, "the reply is larger than the limit of 100 bytes"},
		{"one event that is too large", `data: {"choices":[{"delta":{"content":"` + strings.Repeat("x", 10_000), Config{MaxBody: 9000}, firstgood.KindError, "the reply is larger than the limit of 9000 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.config.Idle = time.Hour
			reply, err := serve(t, c.config, events(c.stream)).Attempt(t.Context(), firstgood.Text("hi"))
			if f := failureOf(t, reply, err); f.Kind != c.kind || f.Reason != c.reason || f.Status != 200 {
				t.Errorf("got  %s %d: %s\nwant %s: %s", f.Kind, f.Status, f.Reason, c.kind, c.reason)
			}
		})
	}
}

// An endpoint that does not stream, or does not say so, is understood.
func TestStreamThatIsNone(t *testing.T) {
	as := func(media string, status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	stream := chunks(`{"delta":{"content":"yes"},"finish_reason":"stop"}`)
	for name, handler := range map[string]http.HandlerFunc{
		"JSON": says(200, completion("yes")), "JSON that says it is a stream": as("text/event-stream", 200, completion("yes")),
		"JSON without a type": as("text/plain", 200, completion("yes")), "a stream that says it is JSON": as("application/json", 200, stream),
		"a stream without a type": as("text/plain", 200, ": hello\n\n"+stream),
	} {
		if reply, err := serve(t, streaming, handler).Attempt(t.Context(), firstgood.Text("hi")); err != nil || reply.Text != "yes" {
			t.Errorf("%s: got %q, %v", name, reply.Text, err)
		}
	}
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		kind    firstgood.Kind
		reason  string
	}{
		"error":                {says(400, `{"error":{"message":"no","code":"content_filter"}}`), firstgood.KindRefused, "400 Bad Request: no (content_filter)"},
		"error as a stream":    {as("text/event-stream", 429, "event: error\ndata: {}\n\n"), firstgood.KindRateLimited, "429 Too Many Requests"},
		"error under 200":      {says(200, `{"error":{"message":"no","code":"rate_limit_exceeded"}}`), firstgood.KindRateLimited, "no (rate_limit_exceeded)"},
		"page":                 {as("text/html", 200, "<html>"), firstgood.KindError, "the reply is not the expected JSON: invalid character '<' looking for beginning of value"},
		"JSON that stops":      {says(200, completion("yes")[:60]), firstgood.KindTruncated, "the reply's JSON stops short after 60 bytes"},
		"nothing":              {says(200, ""), firstgood.KindTruncated, "the reply's JSON stops short after 0 bytes"},
		"JSON that is no chat": {says(200, `{"answer":42}`), firstgood.KindError, "the response has no choices, so it is no chat completion"},
	} {
		reply, err := serve(t, streaming, c.handler).Attempt(t.Context(), firstgood.Text("hi"))
		if f := failureOf(t, reply, err); f.Kind != c.kind || f.Reason != c.reason {
			t.Errorf("%s: got %s: %s", name, f.Kind, f.Reason)
		}
	}
}

// A reply that is whole is not given up for what happens to its stream afterwards.
func TestStreamOfAWholeReplyMayBreak(t *testing.T) {
	for name, after := range map[string]func(w http.ResponseWriter, r *http.Request){
		"cut":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"no JSON, cut": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "data: {\n")
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, end := inMemory(t, Config{Idle: 10 * time.Second}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				events(chunks(`{"delta":{"content":"yes"}}`, `{"delta":{},"finish_reason":"stop"}`))(w, r)
				_ = http.NewResponseController(w).Flush()
				after(w, r)
			})
			defer end()
			if reply, err := d.Attempt(t.Context(), firstgood.Text("hi")); err != nil || reply.Text != "yes" || reply.Usage.Source != firstgood.SourceUnknown {
				t.Errorf("%s: got %q, %+v, %v", name, reply.Text, reply.Usage, err)
			}
		})
	}
}

// What keeps a connection alive is no token.
func TestPingsAreNoTokens(t *testing.T) {
	for _, ping := range []string{": ping\n\n", "data: {\"choices\":[]}\n\n", "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n", "event: ping\n\n"} {
		for _, config := range []Config{{FirstToken: 10 * time.Second}, {FirstToken: 10 * time.Second, Idle: time.Second}, {Idle: 10 * time.Second}} {
			synctest.Test(t, func(t *testing.T) {
				d, end := inMemory(t, config, func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if config.FirstToken == 0 { // then it takes a token to begin the first gap
						events(chunks(`{"delta":{"content":"yes"}}`))(w, r)
					}
					for r.Context().Err() == nil {
						events(ping)(w, r)
						_ = http.NewResponseController(w).Flush()
						select {
						case <-time.After(time.Second):
						case <-r.Context().Done():
						}
					}
				})
				defer end()
				if f, took := timed(t, d, t.Context()); f.Kind != firstgood.KindTimeout || took != 10*time.Second {
					t.Errorf("%q: got %s: %v after %v", ping, f.Kind, f, took)
				}
			})
		}
	}
}

func TestStreamRequest(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]any
		brief  firstgood.Brief
		want   string
	}{
		{"text", nil, firstgood.Text("hi"), `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`},
		{"request", nil, firstgood.Raw("application/json", []byte(`{"messages":[{"role":"user","content":"hi"}],"stream":false,"stream_options":{"x":1}}`)),
			`{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}}`},
		{"own options", map[string]any{"stream_options": map[string]any{"include_usage": false}}, firstgood.Text("hi"), `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":false}}`},
		{"no options", map[string]any{"stream_options": nil}, firstgood.Text("hi"), `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := open(t, Config{Model: "m", BaseURL: "http://h/v1", FirstToken: time.Second, Params: c.params})
			got, err := d.fill(c.brief)
			if err != nil || canonical(t, string(got)) != canonical(t, c.want) {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

// The suite, with an endpoint that streams.
func TestSuiteStreamed(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
		work := delegatetest.NewWork(b)
		return work.Subject(serve(t, Config{FirstToken: time.Hour, Idle: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			var request request
			if err != nil || json.Unmarshal(body, &request) != nil || len(request.Messages) != 1 {
				t.Errorf("got the request %q, %v", body, err)
				return
			}
			events(": working\n\n")(w, r)
			_ = http.NewResponseController(w).Flush()
			text, err := work.Do(r.Context(), request.Messages[0].Content)
			if err != nil {
				_, _ = fmt.Fprintf(w, "data: {\"error\":{\"message\":%q,\"type\":\"server_error\"}}\n\n", err)
				return
			}
			for part := range slices.Chunk([]rune(text), 1000) {
				content, _ := json.Marshal(string(part))
				_, _ = io.WriteString(w, chunks(`{"delta":{"content":`+string(content)+`}}`))
			}
			_, _ = io.WriteString(w, chunks(`{"delta":{},"finish_reason":"stop"}`)+"data: [DONE]\n\n")
		}))
	}})
}
