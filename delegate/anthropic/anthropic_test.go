package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/delegatetest"
	"github.com/firstgood/firstgood/delegate/failure"
)

// serve starts an endpoint and returns a delegate for config, whose BaseURL is a path below the endpoint's.
func serve(t testing.TB, config Config, handler http.HandlerFunc) *Delegate {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config.BaseURL = server.URL + config.BaseURL
	if config.Model == "" {
		config.Model = "m"
	}
	return open(t, config)
}

func open(t testing.TB, config Config) *Delegate {
	t.Helper()
	d, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// says is an endpoint with a fixed answer.
func says(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	asJSON   = "application/json"
	asStream = "text/event-stream; charset=utf-8"
)

// quote returns a text as JSON.
func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

// whole is a message with one text block.
func whole(text string) string {
	return `{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":` + quote(text) + `}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":3}}`
}

// frame is an event of a stream.
func frame(kind, members string) string {
	if members != "" {
		members = "," + members
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, members)
}

// Pieces of a stream, as the reference shows them.
var (
	start = frame("message_start", `"message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"output_tokens":1}}`)
	ping  = frame("ping", "")
	last  = frame("message_stop", "")
)

func opens(index int, block string) string {
	return frame("content_block_start", fmt.Sprintf(`"index":%d,"content_block":%s`, index, block))
}

func delta(index int, delta string) string {
	return frame("content_block_delta", fmt.Sprintf(`"index":%d,"delta":%s`, index, delta))
}

func says1(text string) string {
	return opens(0, `{"type":"text","text":""}`) + delta(0, `{"type":"text_delta","text":`+quote(text)+`}`) + frame("content_block_stop", `"index":0`)
}

func ends(reason string) string {
	return frame("message_delta", `"delta":{"stop_reason":`+quote(reason)+`,"stop_sequence":null},"usage":{"output_tokens":3}`)
}

func failureOf(t testing.TB, reply firstgood.Reply, err error) *firstgood.Error {
	t.Helper()
	var f *firstgood.Error
	if !errors.As(err, &f) {
		t.Fatalf("got %q, %v, want a *firstgood.Error", reply.String(), err)
	}
	return f
}

// brief is the user's message as an endpoint reads it.
func brief(t *testing.T, r *http.Request) string {
	var request struct {
		MaxTokens int `json:"max_tokens"`
		Messages  []struct{ Role, Content string }
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &request) != nil || len(request.Messages) != 1 || request.MaxTokens == 0 {
		t.Errorf("got the request %q, %v", body, err)
		return ""
	}
	return request.Messages[0].Content
}

func TestSuite(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
		work := delegatetest.NewWork(b)
		return work.Subject(serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			text, err := work.Do(r.Context(), brief(t, r))
			if err != nil {
				says(500, asJSON, `{"type":"error","error":{"type":"api_error","message":`+quote(err.Error())+`}}`)(w, r)
				return
			}
			says(200, asJSON, whole(text))(w, r)
		}))
	}})
}

func TestSuiteStreamed(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
		work := delegatetest.NewWork(b)
		return work.Subject(serve(t, Config{FirstToken: time.Hour, Idle: time.Hour}, func(w http.ResponseWriter, r *http.Request) {
			text := brief(t, r)
			says(200, asStream, start+ping)(w, r)
			_ = http.NewResponseController(w).Flush()
			text, err := work.Do(r.Context(), text)
			if err != nil {
				_, _ = io.WriteString(w, frame("error", `"error":{"type":"api_error","message":`+quote(err.Error())+`}`))
				return
			}
			_, _ = io.WriteString(w, opens(0, `{"type":"text","text":""}`))
			for part := range slices.Chunk([]rune(text), 1000) {
				_, _ = io.WriteString(w, delta(0, `{"type":"text_delta","text":`+quote(string(part))+`}`))
			}
			_, _ = io.WriteString(w, frame("content_block_stop", `"index":0`)+ends("end_turn")+last)
		}))
	}})
}

func TestRequest(t *testing.T) {
	raw := func(body string) firstgood.Brief { return firstgood.Raw("application/json", []byte(body)) }
	const hi = `"messages":[{"role":"user","content":"hi"}]`
	for _, c := range []struct {
		name   string
		config Config
		brief  firstgood.Brief
		want   string
	}{
		{"text", Config{}, firstgood.Text("<b> & 日本\x00"), `{"model":"m","max_tokens":4096,"messages":[{"role":"user","content":"<b> & 日本\u0000"}]}`},
		{"system, params, limit", Config{System: "Answer briefly.", MaxTokens: 10, Params: map[string]any{"temperature": 0.5, "thinking": map[string]any{"type": "disabled"}}}, firstgood.Text("hi"),
			`{"model":"m","max_tokens":10,"system":"Answer briefly.","temperature":0.5,"thinking":{"type":"disabled"},` + hi + `}`},
		{"streamed", Config{Idle: time.Second}, firstgood.Text("hi"), `{"model":"m","max_tokens":4096,"stream":true,` + hi + `}`},
		{"S29: a Messages request with another model", Config{}, raw(`{"model":"first","max_tokens":7,"system":[{"type":"text","text":"s"}],"stream":true,"top_k":12345678901234567890,` + hi + `}`),
			`{"model":"m","max_tokens":7,"system":[{"type":"text","text":"s"}],"top_k":12345678901234567890,` + hi + `}`},
		{"S29: the delegate's own settings overrule it", Config{System: "mine", MaxTokens: 5, Params: map[string]any{"top_p": 1}}, raw(`{"model":"first","max_tokens":7,"system":"s","top_p":0,` + hi + `}`),
			`{"model":"m","max_tokens":5,"system":"mine","top_p":1,` + hi + `}`},
		{"a chat completions request", Config{}, raw(`{"model":"first","temperature":1,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"a\"b"},{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"developer","content":[{"type":"text","text":"c"}]}]}`),
			`{"model":"m","max_tokens":4096,"temperature":1,"system":[{"type":"text","text":"a\"b"},{"type":"text","text":"c"}],"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`},
		{"a chat completions request under a system prompt", Config{System: "mine"}, raw(`{"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}`), `{"model":"m","max_tokens":4096,"system":"mine",` + hi + `}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, path string
			c.config.BaseURL, c.config.APIKey = "/api", "own-key"
			d := serve(t, c.config, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = string(body)
				path = strings.Join([]string{r.Method, r.RequestURI, r.Header.Get("Content-Type"), r.Header.Get("X-Api-Key"), r.Header.Get("Anthropic-Version"), r.Header.Get("Authorization"), r.Header.Get("X-Stainless-Timeout")}, " ")
				says(200, asJSON, whole("yes"))(w, r)
			})
			if _, err := d.Attempt(t.Context(), c.brief); err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if path != "POST /api/v1/messages application/json own-key 2023-06-01  " {
				t.Errorf("got %s", path)
			}
		})
	}
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var values [2]any
	for i, document := range []string{a, b} {
		decoder := json.NewDecoder(strings.NewReader(document))
		decoder.UseNumber()
		if err := decoder.Decode(&values[i]); err != nil {
			t.Fatalf("%s: %v", document, err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// S27: an error made locally costs no request and no retry.
func TestS27_LocalErrorIsABadRequest(t *testing.T) {
	raw := func(body string) firstgood.Brief { return firstgood.Raw("application/json", []byte(body)) }
	for _, c := range []struct {
		brief firstgood.Brief
		want  string
	}{
		{firstgood.Text("a\xff"), "the brief is not valid UTF-8, so a chat request cannot carry it; convert it first"},
		{raw(`{"model"`), "the brief is no chat request: unexpected end of JSON input"},
		{raw(`{"messages":[{"role":"system","content":"s"}]}`), "the brief is no chat request: it has no message but the system's"},
		{raw(`{"input":"hi"}`), "the brief is no chat request: it has no list of messages"},
		{firstgood.Raw("image/png", []byte("x")), "the brief has the media type image/png; a chat takes text or a request as application/json"},
	} {
		d := serve(t, Config{Retries: 3}, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
		reply, err := d.Attempt(t.Context(), c.brief)
		if f := failureOf(t, reply, err); f.Kind != firstgood.KindBadRequest || f.Reason != c.want {
			t.Errorf("got %s: %s", f.Kind, f.Reason)
		}
	}
}

func TestReply(t *testing.T) {
	measured := firstgood.Usage{InputTokens: 9, OutputTokens: 3, Source: firstgood.SourceMeasured}
	unknown := firstgood.Usage{Source: firstgood.SourceUnknown}
	message := func(content, stop, rest string) string {
		return `{"type":"message","content":` + content + `,"stop_reason":` + stop + rest + `}`
	}
	const usage = `,"usage":{"input_tokens":9,"output_tokens":3}`
	cached := firstgood.Usage{InputTokens: 115, OutputTokens: 3, Source: firstgood.SourceMeasured}
	for _, c := range []struct {
		name, whole, stream string
		want                firstgood.Reply
	}{
		{"plain", whole("yes"), start + ping + says1("yes") + ends("end_turn") + last, firstgood.Reply{Text: "yes", FinishReason: "end_turn", Usage: measured}},
		{"blocks", message(`[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"y"},{"type":"text","text":"es"}]`, `"stop_sequence"`, usage),
			start + opens(0, `{"type":"thinking","thinking":""}`) + delta(0, `{"type":"thinking_delta","thinking":"hm"}`) + delta(0, `{"type":"signature_delta","signature":"s"}`) + says1("y") + says1("es") + ends("stop_sequence") + last,
			firstgood.Reply{Text: "yes", FinishReason: "stop_sequence", Usage: measured}},
		{"cut by the limit", message(`[{"type":"text","text":"half a"}]`, `"max_tokens"`, usage), start + says1("half a") + ends("max_tokens") + last, firstgood.Reply{Text: "half a", FinishReason: "max_tokens", Usage: measured}},
		{"S9: nothing at all", message(`[]`, `"end_turn"`, ``), frame("message_start", `"message":{"type":"message"}`) + frame("message_delta", `"delta":{"stop_reason":"end_turn"}`) + last, firstgood.Reply{FinishReason: "end_turn", Usage: unknown}},
		{"S9: tools", message(`[{"type":"text","text":"let me"},{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"g","input":{}},{"type":"server_tool_use","id":"c","name":"web_search","input":{}}]`, `"tool_use"`, usage),
			start + says1("let me") + opens(1, `{"type":"tool_use","id":"a","name":"f","input":{}}`) + delta(1, `{"type":"input_json_delta","partial_json":"{\"text\":\"no\"}"}`) + opens(2, `{"type":"tool_use","id":"b","name":"g","input":{}}`) + opens(3, `{"type":"server_tool_use","id":"c"}`) + ends("tool_use") + last,
			firstgood.Reply{Text: "let me", ToolCalls: 2, FinishReason: "tool_use", Usage: measured}},
		{"cache", message(`[]`, `"end_turn"`, `,"usage":{"input_tokens":9,"cache_creation_input_tokens":6,"cache_read_input_tokens":100,"output_tokens":3}`),
			frame("message_start", `"message":{"type":"message","usage":{"input_tokens":1,"cache_creation_input_tokens":6,"cache_read_input_tokens":100,"output_tokens":1}}`) + frame("message_delta", `"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":9,"output_tokens":3,"cache_read_input_tokens":null}`) + last,
			firstgood.Reply{FinishReason: "end_turn", Usage: cached}},
		{"types of another kind", message(`[{"type":"text","text":"yes"},7]`, `"end_turn"`, `,"usage":"none","id":7`), start + frame("new_event", `"delta":7`) + says1("yes") + ends("end_turn") + frame("ping", `"usage":7`) + last,
			firstgood.Reply{Text: "yes", FinishReason: "end_turn", Usage: measured}},
		{"no last event", "", start + says1("yes") + ends("end_turn"), firstgood.Reply{Text: "yes", FinishReason: "end_turn", Usage: measured}},
		{"no reason", "", start + says1("yes") + last, firstgood.Reply{Text: "yes", Usage: firstgood.Usage{InputTokens: 9, OutputTokens: 1, Source: firstgood.SourceMeasured}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for mode, handler := range map[string]http.HandlerFunc{"whole": says(200, asJSON, c.whole), "stream": says(200, asStream, c.stream)} {
				config, want := Config{}, c.want
				if mode == "stream" {
					config.FirstToken = time.Hour
				} else if c.whole == "" {
					continue
				} else if c.name == "types of another kind" {
					want.Usage = firstgood.Usage{Source: firstgood.SourceMeasured}
				}
				reply, err := serve(t, config, handler).Attempt(t.Context(), firstgood.Text("hi"))
				if got, want := fmt.Sprintf("%+v", reply), fmt.Sprintf("%+v", want); err != nil || got != want {
					t.Errorf("%s: got  %s, %v\nwant %s", mode, got, err, want)
				}
			}
		})
	}
	// An endpoint that does not stream is understood.
	if reply, err := serve(t, Config{Idle: time.Hour}, says(200, asJSON, whole("yes"))).Attempt(t.Context(), firstgood.Text("hi")); err != nil || reply.Text != "yes" {
		t.Errorf("got %q, %v", reply.Text, err)
	}
}

func TestFailures(t *testing.T) {
	measured := firstgood.Usage{InputTokens: 9, OutputTokens: 3, Source: firstgood.SourceMeasured}
	lower := firstgood.Usage{InputTokens: 9, OutputTokens: 1, Source: firstgood.SourceUnknown}
	var none firstgood.Usage
	streamed := Config{Idle: time.Hour}
	refused := frame("message_delta", `"delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It may\ncause harm."}},"usage":{"output_tokens":3}`)
	for _, c := range []struct {
		name   string
		config Config
		status int
		media  string
		body   string
		kind   firstgood.Kind
		reason string
		usage  firstgood.Usage
	}{
		{"request", Config{}, 400, asJSON, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: Field required"}}`, firstgood.KindBadRequest, "400 Bad Request: max_tokens: Field required (invalid_request_error)", none},
		{"overloaded", Config{}, 529, asJSON, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, firstgood.KindUnavailable, "status 529: Overloaded (overloaded_error)", none},
		{"error under 200", Config{}, 200, asJSON, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, firstgood.KindRateLimited, "slow (rate_limit_error)", none},
		{"error for a stream", streamed, 429, asJSON, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, firstgood.KindRateLimited, "429 Too Many Requests: slow (rate_limit_error)", none},
		{"S10: refusal", Config{}, 200, asJSON, `{"type":"message","content":[{"type":"text","text":"I"}],"stop_reason":"refusal","stop_details":null,"usage":{"input_tokens":9,"output_tokens":3}}`, firstgood.KindRefused, "the model refused (stop_reason refusal)", measured},
		{"S10: refusal in a stream", streamed, 200, asStream, start + says1("I") + refused + last, firstgood.KindRefused, "the model refused (stop_reason refusal): cyber: It may cause harm.", measured},
		{"S1: cut JSON", Config{}, 200, asJSON, whole("yes")[:60], firstgood.KindTruncated, "the reply's JSON stops short after 60 bytes", firstgood.Usage{Source: firstgood.SourceUnknown}},
		{"S1: the end before the end", streamed, 200, asStream, start + says1("yes"), firstgood.KindTruncated, "the stream ends after 4 events, before the reply is complete", lower},
		{"S1: no JSON", streamed, 200, asStream, start + "event: content_block_delta\ndata: {\"type\":\n\n" + last, firstgood.KindTruncated, "the stream breaks off: event 2 is not what it should be: unexpected end of JSON input", lower},
		{"S1: no type", streamed, 200, asStream, start + "data: {}\n\n" + last, firstgood.KindTruncated, "the stream breaks off: event 2 is not what it should be: it has no type", lower},
		{"S4: overloaded in a stream", streamed, 200, asStream, start + says1("yes") + frame("error", `"error":{"type":"overloaded_error","message":"Overloaded"}`), firstgood.KindUnavailable, "Overloaded (overloaded_error)", lower},
		{"S2: rate before content", streamed, 200, asStream, start + frame("error", `"error":{"type":"rate_limit_error","message":"slow"}`), firstgood.KindRateLimited, "slow (rate_limit_error)", lower},
		{"another protocol", Config{}, 200, asJSON, `{"choices":[]}`, firstgood.KindError, "the response is no message of the Messages API", none},
		{"another protocol's stream", streamed, 200, asStream, "data: {\"choices\":[]}\n\n", firstgood.KindTruncated, "the stream breaks off: event 1 is not what it should be: it has no type", firstgood.Usage{Source: firstgood.SourceUnknown}},
		{"page", Config{}, 200, "text/html", `<html>`, firstgood.KindError, "the reply is not the expected JSON: invalid character '<' looking for beginning of value", none},
		{"too large", Config{MaxBody: 100}, 200, asJSON, whole("yes"), firstgood.KindError, "the reply is larger than the limit of 100 bytes", none},
		{"S11: own rule", Config{Rules: []failure.Rule{{Message: "zu lang", Kind: firstgood.KindContextLength}}}, 400, asJSON, `{"type":"error","error":{"message":"zu lang"}}`, firstgood.KindContextLength, "400 Bad Request: zu lang", none},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := serve(t, c.config, says(c.status, c.media, c.body)).Attempt(t.Context(), firstgood.Text("hi"))
			f := failureOf(t, reply, err)
			if f.Kind != c.kind || f.Reason != c.reason || f.Usage != c.usage || f.Status != c.status && c.kind != firstgood.KindTruncated {
				t.Errorf("got  %s %d: %s, %+v\nwant %s: %s, %+v", f.Kind, f.Status, f.Reason, f.Usage, c.kind, c.reason, c.usage)
			}
		})
	}
}

// A key never goes to a host that it was not meant for: nothing of the environment is read.
func TestEnvironmentReachesNoHost(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("ANTHROPIC_BASE_URL was called") }))
	defer foreign.Close()
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_WEBHOOK_SIGNING_KEY", "AWS_BEARER_TOKEN_BEDROCK"} {
		t.Setenv(name, "secret-of-"+name)
	}
	t.Setenv("ANTHROPIC_BASE_URL", foreign.URL)
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "x-custom: secret-of-headers")
	var dump string
	handler := func(w http.ResponseWriter, r *http.Request) {
		data, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		dump = string(data)
		says(200, asJSON, whole("yes"))(w, r)
	}
	for _, config := range []Config{{}, {APIKey: "own"}, {HTTPClient: &http.Client{}}, {Headers: map[string]string{"x-key": "k"}, Retries: 2}, {Idle: time.Hour}} {
		if _, err := serve(t, config, handler).Attempt(t.Context(), firstgood.Text("hi")); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(dump, "secret-of-") || strings.Contains(dump, "Authorization:") {
			t.Errorf("the request holds a value of the environment:\n%s", dump)
		}
		if want := config.APIKey != ""; strings.Contains(dump, "X-Api-Key: own\r\n") != want || strings.Contains(dump, "X-Api-Key") != want {
			t.Errorf("own key sent: %v, want %v", !want, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Anthropic's own endpoint gets what the Config holds, and is not called without a key.
func TestDefaultEndpoint(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://foreign.example")
	var got *http.Request
	client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		got = r
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {asJSON}}, Body: io.NopCloser(strings.NewReader(whole("yes"))), Request: r}, nil
	})}
	if _, err := open(t, Config{Model: "m", APIKey: "own-key", HTTPClient: client}).Attempt(t.Context(), firstgood.Text("hi")); err != nil {
		t.Fatal(err)
	}
	if got.URL.String() != "https://api.anthropic.com/v1/messages" || got.Header.Get("X-Api-Key") != "own-key" {
		t.Errorf("got %s with %v", got.URL, got.Header)
	}
	got = nil
	reply, err := open(t, Config{Model: "m", HTTPClient: client, Retries: 2}).Attempt(t.Context(), firstgood.Text("hi"))
	if f := failureOf(t, reply, err); f.Kind != firstgood.KindAuth || !strings.Contains(f.Reason, "set ANTHROPIC_API_KEY") || got != nil {
		t.Errorf("got %s: %s, request %v", f.Kind, f.Reason, got)
	}
}

func TestSecretsStayOut(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host got %s %s with %v", r.Method, r.URL, r.Header)
	}))
	defer foreign.Close()
	config := Config{APIKey: "key-secret", Headers: map[string]string{"x-key": "header-secret"}, Secrets: []string{"other-secret"}}
	d := serve(t, config, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, foreign.URL, http.StatusTemporaryRedirect)
	})
	reply, err := d.Attempt(t.Context(), firstgood.Text("hi"))
	if f := failureOf(t, reply, err); !strings.HasPrefix(f.Reason, "redirected to another host, "+foreign.URL) {
		t.Errorf("got %s: %s", f.Kind, f.Reason)
	}
	d = serve(t, config, func(w http.ResponseWriter, r *http.Request) {
		says(401, asJSON, fmt.Sprintf(`{"error":{"message":"%s, %s and other-secret do not match"}}`, r.Header.Get("X-Api-Key"), r.Header.Get("X-Key")))(w, r)
	})
	reply, err = d.Attempt(t.Context(), firstgood.Text("hi"))
	if f, want := failureOf(t, reply, err), "401 Unauthorized: [redacted], [redacted] and [redacted] do not match"; f.Reason != want {
		t.Errorf("got  %q\nwant %q", f.Reason, want)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Name: "x"}, "anthropic x: model: it is required"},
		{Config{Model: "\xff", Name: "x"}, "anthropic x: model: not valid UTF-8"},
		{Config{Model: "m", BaseURL: "localhost:8080"}, `anthropic m: base url: got scheme "localhost", want http or https`},
		{Config{Model: "m", BaseURL: "http://h/?key=k"}, "anthropic m: base url: it cannot have a query or fragment; send what the endpoint needs in headers"},
		{Config{Model: "m", APIKey: "key-secret\n"}, "anthropic m: api key: the value holds a line break or another control character"},
		{Config{Model: "m", Headers: map[string]string{"x:y": ""}}, `anthropic m: header "x:y": not a valid name`},
		{Config{Model: "m", System: "\xff"}, "anthropic m: system: not valid UTF-8"},
		{Config{Model: "m", MaxTokens: -1}, "anthropic m: max tokens: less than 0"},
		{Config{Model: "m", Params: map[string]any{"max_tokens": 1}}, "anthropic m: params: max_tokens cannot be one; set the delegate's max tokens"},
		{Config{Model: "m", Params: map[string]any{"system": "s"}}, "anthropic m: params: system cannot be one; set the delegate's system"},
		{Config{Model: "m", Params: map[string]any{"stream": true}}, "anthropic m: params: stream cannot be one; whether the endpoint streams is not a request's to say"},
		{Config{Model: "m", Params: map[string]any{"top_p": math.NaN()}}, "anthropic m: params: top_p: json: unsupported value: NaN"},
		{Config{Model: "m", Retries: -1}, "anthropic m: retries: less than 0"},
		{Config{Model: "m", FirstToken: -1}, "anthropic m: first token: less than 0"},
		{Config{Model: "m", Idle: -1}, "anthropic m: idle: less than 0"},
		{Config{Model: "m", MaxBody: -1}, "anthropic m: max body: less than 0"},
		{Config{Model: "m", Rules: []failure.Rule{{}}}, `anthropic m: failure rule 1: got kind ""`},
	} {
		if _, err := New(c.config); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
	// S45: the delegate can be told.
	if d := open(t, Config{Name: "careful", Model: "claude"}); d.Name() != "careful" {
		t.Errorf("got %q", d.Name())
	}
	if d := open(t, Config{Model: "claude"}); d.Name() != "claude" {
		t.Errorf("got %q", d.Name())
	}
}

func FuzzFill(f *testing.F) {
	for _, body := range []string{`{"messages":[{"role":"user","content":"hi"}]}`, `null`, `{"messages":[null,1,"s",{"role":"system"},{"role":"system","content":[1]}]}`, `{"messages":[{}],"max_tokens":null,"system":null}`} {
		f.Add(body, "system", 0)
	}
	f.Fuzz(func(t *testing.T, body, system string, limit int) {
		d, err := New(Config{Model: "m", System: system, MaxTokens: limit})
		if err != nil {
			return
		}
		got, err := d.fill(firstgood.Raw("application/json", []byte(body)))
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(got, &members); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if string(members["model"]) != `"m"` || members["messages"] == nil || members["max_tokens"] == nil {
			t.Errorf("%s became %s", body, got)
		}
	})
}
