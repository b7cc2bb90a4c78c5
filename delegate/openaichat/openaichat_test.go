package openaichat

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

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
func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// completion is a chat completion with the given content.
func completion(content string) string {
	text, _ := json.Marshal(content)
	return `{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":` + string(text) +
		`,"refusal":null},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}}`
}

// request is a chat completions request as an endpoint reads it.
type request struct {
	Model    string
	Messages []struct{ Role, Content string }
}

func failureOf(t testing.TB, reply firstgood.Reply, err error) *firstgood.Error {
	t.Helper()
	var f *firstgood.Error
	if !errors.As(err, &f) {
		t.Fatalf("got %q, %v, want a *firstgood.Error", reply.String(), err)
	}
	return f
}

func TestSuite(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
		work := delegatetest.NewWork(b)
		return work.Subject(serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			var request request
			if err != nil || json.Unmarshal(body, &request) != nil || len(request.Messages) != 1 {
				t.Errorf("got the request %q, %v", body, err)
				return
			}
			text, err := work.Do(r.Context(), request.Messages[0].Content)
			if err != nil {
				says(500, `{"error":{"message":"`+err.Error()+`","type":"server_error"}}`)(w, r)
				return
			}
			says(200, completion(text))(w, r)
		}))
	}})
}

func TestRequest(t *testing.T) {
	raw := func(body string) firstgood.Brief {
		return firstgood.Raw("application/json; charset=utf-8", []byte(body))
	}
	for _, c := range []struct {
		name   string
		config Config
		brief  firstgood.Brief
		want   string
	}{
		{"text", Config{}, firstgood.Text("<b> & 日本\x00\u2028"), `{"model":"m","messages":[{"role":"user","content":"<b> & 日本\u0000\u2028"}]}`},
		{"text of another type", Config{}, firstgood.Raw("text/markdown", []byte("# x")), `{"model":"m","messages":[{"role":"user","content":"# x"}]}`},
		{"system and params", Config{System: "Answer briefly.", Params: map[string]any{"temperature": 0.5, "stop": []string{"\n"}, "seed": nil, "x": map[string]any{"y": 1}}}, firstgood.Text("hi"),
			`{"model":"m","messages":[{"role":"system","content":"Answer briefly."},{"role":"user","content":"hi"}],"temperature":0.5,"stop":["\n"],"seed":null,"x":{"y":1}}`},
		{"S29: a request with another model", Config{}, raw(`{"model":"first","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"seed":12345678901234567890}`),
			`{"model":"m","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}],"seed":12345678901234567890}`},
		{"S29: system and params overrule the request's", Config{System: "mine", Params: map[string]any{"temperature": 0}},
			raw(`{"model":"first","temperature":1,"top_p":0.5,"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"developer","content":"d"},{"role":"tool","tool_call_id":"t","content":"c"}]}`),
			`{"model":"m","temperature":0,"top_p":0.5,"messages":[{"role":"system","content":"mine"},{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"tool","tool_call_id":"t","content":"c"}]}`},
		{"a request that streams", Config{}, raw(`{"model":"x","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`),
			`{"model":"m","messages":[{"role":"user","content":"hi"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got, path string
			c.config.BaseURL = "/api/v1"
			d := serve(t, c.config, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got, path = string(body), r.Method+" "+r.RequestURI+" "+r.Header.Get("Content-Type")
				says(200, completion("yes"))(w, r)
			})
			if _, err := d.Attempt(t.Context(), c.brief); err != nil {
				t.Fatal(err)
			}
			if canonical(t, got) != canonical(t, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if path != "POST /api/v1/chat/completions application/json" {
				t.Errorf("got %s", path)
			}
		})
	}
}

func canonical(t *testing.T, document string) string {
	t.Helper()
	var value any
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// S29: each delegate is asked for its own model, whatever the one before it was asked for.
func TestS29_EachDelegateHasItsOwnModel(t *testing.T) {
	var models []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		var request request
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			t.Error(err)
		}
		models = append(models, request.Model)
		says(200, completion("yes"))(w, r)
	}
	brief := firstgood.Raw("application/json", []byte(`{"model":"client","messages":[{"role":"user","content":"hi"}]}`))
	for _, model := range []string{"first", "second"} {
		if _, err := serve(t, Config{Model: model}, handler).Attempt(t.Context(), brief); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(models, []string{"first", "second"}) || !strings.Contains(brief.String(), "client") {
		t.Errorf("got %q, and the brief is %s", models, brief)
	}
}

func TestReply(t *testing.T) {
	measured := firstgood.Usage{InputTokens: 9, OutputTokens: 3, Source: firstgood.SourceMeasured}
	unknown := firstgood.Usage{Source: firstgood.SourceUnknown}
	message := func(message, finish, rest string) string {
		return `{"choices":[{"index":0,"message":` + message + `,"finish_reason":` + finish + `}]` + rest + `}`
	}
	const usage = `,"usage":{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}`
	for _, c := range []struct {
		name, body string
		want       firstgood.Reply
	}{
		{"plain", completion("yes"), firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: measured}},
		{"no usage", message(`{"content":"yes"}`, `"stop"`, ``), firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: unknown}},
		{"null usage", message(`{"content":"yes"}`, `"stop"`, `,"usage":null`), firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: unknown}},
		{"F5: null content", message(`{"content":null}`, `"stop"`, usage), firstgood.Reply{FinishReason: "stop", Usage: measured}},
		{"F5: no content", message(`{"role":"assistant"}`, `null`, usage), firstgood.Reply{Usage: measured}},
		{"F5: empty content", message(`{"content":""}`, `"stop"`, usage), firstgood.Reply{FinishReason: "stop", Usage: measured}},
		{"length", message(`{"content":"half a"}`, `"length"`, usage), firstgood.Reply{Text: "half a", FinishReason: "length", Usage: measured}},
		{"S9: tool calls", message(`{"content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"2","type":"function","function":{"name":"g","arguments":"{}"}}]}`, `"tool_calls"`, usage),
			firstgood.Reply{FinishReason: "tool_calls", ToolCalls: 2, Usage: measured}},
		{"function call", message(`{"content":null,"function_call":{"name":"f","arguments":"{}"}}`, `"function_call"`, usage), firstgood.Reply{FinishReason: "function_call", ToolCalls: 1, Usage: measured}},
		{"refusal", message(`{"content":null,"refusal":"I can't."}`, `"stop"`, usage), firstgood.Reply{FinishReason: "stop", Refusal: "I can't.", Usage: measured}},
		{"parts", message(`{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"y"},{"type":"text","text":"es"}]}`, `"stop"`, usage), firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: measured}},
		{"text that looks like parts", message(`{"content":"[{\"text\":\"no\"}]"}`, `"stop"`, usage), firstgood.Reply{Text: `[{"text":"no"}]`, FinishReason: "stop", Usage: measured}},
		{"the first of two", `{"choices":[{"message":{"content":"one"},"finish_reason":"stop"},{"message":{"content":"two"}}]}`, firstgood.Reply{Text: "one", FinishReason: "stop", Usage: unknown}},
		{"null error beside it", `{"error":null,` + completion("yes")[1:], firstgood.Reply{Text: "yes", FinishReason: "stop", Usage: measured}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := serve(t, Config{}, says(200, c.body)).Attempt(t.Context(), firstgood.Text("hi"))
			if err != nil {
				t.Fatal(err)
			}
			reply.JSON, c.want.JSON = nil, nil
			if reply.Text != c.want.Text || reply.FinishReason != c.want.FinishReason || reply.Refusal != c.want.Refusal ||
				reply.ToolCalls != c.want.ToolCalls || reply.Usage != c.want.Usage || reply.Stream != nil {
				t.Errorf("got  %+v\nwant %+v", reply, c.want)
			}
		})
	}
	// Some servers do not say that it is JSON.
	reply, err := serve(t, Config{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, completion("yes"))
	}).Attempt(t.Context(), firstgood.Text("hi"))
	if err != nil || reply.Text != "yes" {
		t.Errorf("as text/plain: got %q, %v", reply.Text, err)
	}
}

func TestFailures(t *testing.T) {
	measured := firstgood.Usage{InputTokens: 9, OutputTokens: 3, Source: firstgood.SourceMeasured}
	const usage = `,"usage":{"prompt_tokens":9,"completion_tokens":3}`
	for _, c := range []struct {
		name   string
		config Config
		status int
		body   string
		kind   firstgood.Kind
		reason string
		usage  firstgood.Usage
	}{
		{"429", Config{}, 429, `{"error":{"message":"slow","code":"rate_limit_exceeded"}}`, firstgood.KindRateLimited, "429 Too Many Requests: slow (rate_limit_exceeded)", firstgood.Usage{}},
		{"error that is no object of OpenAI's", Config{}, 404, `{"error":"model 'x' not found"}`, firstgood.KindBadRequest, "404 Not Found: model 'x' not found", firstgood.Usage{}},
		{"page", Config{}, 502, `<html>`, firstgood.KindUnavailable, "502 Bad Gateway", firstgood.Usage{}},
		{"S10: policy", Config{}, 400, `{"error":{"message":"no","code":"content_policy_violation"}}`, firstgood.KindRefused, "400 Bad Request: no (content_policy_violation)", firstgood.Usage{}},
		{"ok-but-error-body", Config{}, 200, `{"error":{"message":"out","code":"insufficient_quota"}}`, firstgood.KindRateLimited, "out (insufficient_quota)", firstgood.Usage{}},
		{"error in the choice", Config{}, 200, `{"choices":[{"error":{"code":502,"message":"upstream died"},"finish_reason":"error","message":{"content":"half"}}]` + usage + `}`, firstgood.KindUnavailable, "upstream died", measured},
		{"content filter", Config{}, 200, `{"choices":[{"message":{"content":null},"finish_reason":"content_filter"}]` + usage + `}`, firstgood.KindRefused, "a content filter withheld the answer (finish_reason content_filter)", measured},
		{"refusal with OnRefusal", Config{OnRefusal: true}, 200, `{"choices":[{"message":{"content":null,"refusal":"I\ncan't."},"finish_reason":"stop"}]` + usage + `}`, firstgood.KindRefused, "the model refused: I can't.", measured},
		{"no choices", Config{}, 200, `{"choices":[]` + usage + `}`, firstgood.KindError, "the response has no choices, so it is no chat completion", measured},
		{"choice without a message", Config{}, 200, `{"choices":[{}]}`, firstgood.KindError, "the response's first choice has no message, so it is no chat completion", firstgood.Usage{Source: firstgood.SourceUnknown}},
		{"null", Config{}, 200, `null`, firstgood.KindError, "the response has no choices, so it is no chat completion", firstgood.Usage{Source: firstgood.SourceUnknown}},
		{"list", Config{}, 200, `[]`, firstgood.KindError, "the response has no choices, so it is no chat completion", firstgood.Usage{Source: firstgood.SourceUnknown}},
		{"JSON that is cut", Config{}, 200, completion("yes")[:60], firstgood.KindTruncated, "the reply's JSON stops short after 60 bytes", firstgood.Usage{Source: firstgood.SourceUnknown}},
		{"nothing", Config{}, 200, ``, firstgood.KindTruncated, "the reply's JSON stops short after 0 bytes", firstgood.Usage{Source: firstgood.SourceUnknown}},
		{"no JSON", Config{}, 200, `<html>`, firstgood.KindError, "the reply is not the expected JSON: invalid character '<' looking for beginning of value", firstgood.Usage{}},
		{"too large", Config{MaxBody: 100}, 200, completion("yes"), firstgood.KindError, "the reply is larger than the limit of 100 bytes", firstgood.Usage{}},
		{"error too large", Config{MaxBody: 100}, 500, strings.Repeat("x", 200), firstgood.KindUnavailable, "500 Internal Server Error", firstgood.Usage{}},
		{"S11: own rule", Config{Rules: []failure.Rule{{Message: "zu lang", Kind: firstgood.KindContextLength}}}, 400, `{"error":"zu lang"}`, firstgood.KindContextLength, "400 Bad Request: zu lang", firstgood.Usage{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply, err := serve(t, c.config, says(c.status, c.body)).Attempt(t.Context(), firstgood.Text("hi"))
			f := failureOf(t, reply, err)
			if f.Kind != c.kind || f.Reason != c.reason || f.Usage != c.usage {
				t.Errorf("got  %s: %s, %+v\nwant %s: %s, %+v", f.Kind, f.Reason, f.Usage, c.kind, c.reason, c.usage)
			}
		})
	}
}

// S25: what the other side asks for reaches those who decide when to call again.
func TestS25_RetryAfterIsKept(t *testing.T) {
	d := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "60")
		says(429, `{"error":{"message":"slow"}}`)(w, r)
	})
	reply, err := d.Attempt(t.Context(), firstgood.Text("hi"))
	if f := failureOf(t, reply, err); f.RetryAfter.Seconds() != 60 || f.Status != 429 {
		t.Errorf("got %v, status %d", f.RetryAfter, f.Status)
	}
}

// S27: an error made locally costs no request and no retry.
func TestS27_LocalErrorIsABadRequest(t *testing.T) {
	for _, c := range []struct {
		name  string
		brief firstgood.Brief
		want  string
	}{
		{"not UTF-8", firstgood.Text("a\xff"), "the brief is not valid UTF-8, so a chat request cannot carry it; convert it first"},
		{"not JSON", firstgood.Raw("application/json", []byte(`{"model"`)), "the brief is no chat request: unexpected end of JSON input"},
		{"null", firstgood.Raw("application/json", []byte(`null`)), "the brief is no chat request: it has no list of messages"},
		{"no messages", firstgood.Raw("application/json", []byte(`{"input":"hi"}`)), "the brief is no chat request: it has no list of messages"},
		{"media type", firstgood.Raw("image/png", []byte("x")), "the brief has the media type image/png; a chat takes text or a request as application/json"},
		{"bad media type", firstgood.Raw("a/b/c", nil), `the brief's media type "a/b/c" is not valid: mime: unexpected content after media subtype`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := serve(t, Config{Retries: 3}, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
			reply, err := d.Attempt(t.Context(), c.brief)
			if f := failureOf(t, reply, err); f.Kind != firstgood.KindBadRequest || f.Reason != c.want {
				t.Errorf("got %s: %s", f.Kind, f.Reason)
			}
		})
	}
	// Params that cannot be written are found before there is anything to attempt.
	for name, value := range map[string]any{"nan": math.NaN(), "channel": make(chan int)} {
		if _, err := New(Config{Model: "m", Params: map[string]any{name: value}}); err == nil || !strings.HasPrefix(err.Error(), "openaichat m: params: "+name+": json: unsupported ") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// S28: an endpoint's delegate has no hold on the brief, and two get the same bytes.
func TestS28_BriefStaysTheSame(t *testing.T) {
	const text = `{"model":"client","stream":true,"messages":[{"role":"system","content":"s"},{"role":"user","content":"hi"}]}`
	brief := firstgood.Raw("application/json", []byte(text))
	for range 2 {
		if _, err := serve(t, Config{System: "mine"}, says(200, completion("yes"))).Attempt(t.Context(), brief); err != nil {
			t.Fatal(err)
		}
		if brief.String() != text {
			t.Fatalf("the brief is now %s", brief)
		}
	}
}

// S45: the delegate can be told.
func TestS45_Name(t *testing.T) {
	if d := open(t, Config{Name: "fast", Model: "gpt-5-mini"}); d.Name() != "fast" {
		t.Errorf("got %q", d.Name())
	}
	if d := open(t, Config{Model: "gpt-5-mini"}); d.Name() != "gpt-5-mini" {
		t.Errorf("got %q", d.Name())
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"model", Config{Name: "x"}, "openaichat x: model: it is required"},
		{"model that is no text", Config{Name: "x", Model: "\xff"}, "openaichat x: model: not valid UTF-8"},
		{"base url", Config{Model: "m", BaseURL: "http://user:pass-secret@h:x"}, "openaichat m: base url: not a valid URL"},
		{"scheme", Config{Model: "m", BaseURL: "localhost:8080/v1"}, `openaichat m: base url: got scheme "localhost", want http or https`},
		{"host", Config{Model: "m", BaseURL: "http:///v1"}, "openaichat m: base url: it has no host"},
		{"query", Config{Model: "m", BaseURL: "http://h/v1?key=k"}, "openaichat m: base url: it cannot have a query or fragment; send what the endpoint needs in headers"},
		{"key", Config{Model: "m", APIKey: "key-secret\n"}, "openaichat m: api key: the value holds a line break or another control character"},
		{"organization", Config{Model: "m", Organization: "\x00"}, "openaichat m: organization: the value holds a line break or another control character"},
		{"header", Config{Model: "m", Headers: map[string]string{"x:y": ""}}, `openaichat m: header "x:y": not a valid name`},
		{"system", Config{Model: "m", System: "\xff"}, "openaichat m: system: not valid UTF-8"},
		{"model as param", Config{Model: "m", Params: map[string]any{"model": "x"}}, "openaichat m: params: model cannot be one; set the delegate's model"},
		{"messages as param", Config{Model: "m", Params: map[string]any{"messages": nil}}, "openaichat m: params: messages cannot be one; they come from the brief and the delegate's system"},
		{"stream as param", Config{Model: "m", Params: map[string]any{"stream": true}}, "openaichat m: params: stream cannot be one; whether the endpoint streams is not a request's to say"},
		{"retries", Config{Model: "m", Retries: -1}, "openaichat m: retries: less than 0"},
		{"max body", Config{Model: "m", MaxBody: -1}, "openaichat m: max body: less than 0"},
		{"rules", Config{Model: "m", Rules: []failure.Rule{{}}}, `openaichat m: failure rule 1: got kind ""`},
	} {
		if _, err := New(c.config); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("user pressed stop")
	d := serve(t, Config{Retries: 5}, func(w http.ResponseWriter, r *http.Request) {
		says(503, ``)(w, r)
		w.(http.Flusher).Flush()
		cancel(stop)
	})
	if _, err := d.Attempt(ctx, firstgood.Text("hi")); !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause", err)
	}
}

func FuzzRequest(f *testing.F) {
	for _, body := range []string{`{"model":"x","messages":[{"role":"user","content":"hi"}]}`, `null`, `{"messages":[null,1,"s",{"role":"system"}]}`, `{"messages":{}}`, `[]`, `{"messages":[{}],"stream":1}`} {
		f.Add(body, "system")
	}
	f.Fuzz(func(t *testing.T, body, system string) {
		d, err := New(Config{Model: "m", System: system, Params: map[string]any{"top_p": 1}})
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
		if string(members["model"]) != `"m"` || string(members["top_p"]) != "1" || members["stream"] != nil || members["messages"] == nil {
			t.Errorf("%s became %s with the members %q", body, got, slices.Sorted(maps.Keys(members)))
		}
	})
}
