package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/lab"
)

// start returns a lab on a free port, closed at the end of the test.
func start(t testing.TB, config lab.Config) *lab.Server {
	t.Helper()
	s, err := lab.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// request is the body of a request for a completion.
func request(model, brief string, stream bool) string {
	body, err := json.Marshal(map[string]any{
		"model": model, "stream": stream, "stream_options": map[string]any{"include_usage": true},
		"messages": []any{
			map[string]any{"role": "system", "content": "Be brief."},
			map[string]any{"role": "user", "content": brief},
		},
	})
	if err != nil {
		panic(err)
	}
	return string(body)
}

// post sends a request under ctx.
func post(ctx context.Context, client *http.Client, s *lab.Server, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL()+"/chat/completions", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer secret-of-the-test")
	return client.Do(r)
}

// got is what a client sees of a reply.
type got struct {
	Status     int
	RetryAfter string
	Text       string
	NoContent  bool // no content was there, not even an empty or null one
	Refusal    string
	Tool       string
	Finish     string
	Code       string // of an error object
	NoCode     bool   // an error object with a null code
	BadJSON    int    // bodies or frames that are not JSON
	Broken     bool   // the connection broke
	Done       bool   // a stream said [DONE]
	Usage      lab.Usage
}

type wire struct {
	ID, Object, Model string
	Choices           []struct {
		Message, Delta map[string]any
		FinishReason   string `json:"finish_reason"`
	}
	Usage *lab.Usage
	Error *struct {
		Message, Type string
		Code          *string
	}
}

func (g *got) take(t *testing.T, data []byte, model string) {
	t.Helper()
	var w wire
	if json.Unmarshal(data, &w) != nil {
		g.BadJSON++
		return
	}
	if w.Error != nil {
		if w.Error.Message == "" || w.Error.Type == "" {
			t.Errorf("an error without message or type: %s", data)
		}
		g.NoCode = w.Error.Code == nil
		if !g.NoCode {
			g.Code = *w.Error.Code
		}
		return
	}
	if !strings.HasPrefix(w.ID, "chatcmpl-") || w.Model != model || !strings.HasPrefix(w.Object, "chat.completion") {
		t.Errorf("id, object or model is wrong: %s", data)
	}
	if w.Usage != nil {
		g.Usage = *w.Usage
	}
	for _, choice := range w.Choices {
		part := choice.Message
		if part == nil {
			part = choice.Delta
		}
		if _, ok := part["content"]; ok {
			g.NoContent = false
		}
		text, _ := part["content"].(string)
		refusal, _ := part["refusal"].(string)
		g.Text += text
		g.Refusal += refusal
		g.Finish += choice.FinishReason
		if calls, ok := part["tool_calls"].([]any); ok {
			call := calls[0].(map[string]any)["function"].(map[string]any)
			for _, field := range []string{"name", "arguments"} {
				value, _ := call[field].(string)
				g.Tool += value
			}
		}
	}
}

// ask sends a request and reads the reply to its end.
func ask(t *testing.T, client *http.Client, s *lab.Server, model, brief string, stream bool) got {
	t.Helper()
	resp, err := post(t.Context(), client, s, request(model, brief, stream))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	g := got{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After"), Broken: err != nil, NoContent: true}
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the body ended with %v, want %v", err, io.ErrUnexpectedEOF)
	}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		g.take(t, body, model)
		return g
	}
	if !stream {
		t.Error("a stream that nobody asked for")
	}
	for frame := range strings.SplitSeq(string(body), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		switch {
		case frame == "":
		case !ok || g.Done:
			t.Errorf("an unexpected frame %q", frame)
		case data == "[DONE]":
			g.Done = true
		default:
			g.take(t, []byte(data), model)
		}
	}
	return g
}

const (
	brief    = "Name a colour."
	sentence = "The lab's answer to “Name a colour.” is the same every time, and long enough to be cut." // 18 tokens
	half     = "The lab's answer to “Name a colour.” is the "
	refusal  = "I'm sorry, but I cannot help with that."
)

func usage(completion int) lab.Usage {
	return lab.Usage{Prompt: 5, Completion: completion, Total: 5 + completion}
}

func failure(status int, code, retryAfter string) got {
	return got{Status: status, Code: code, NoCode: code == "", RetryAfter: retryAfter, NoContent: true}
}

func TestModels(t *testing.T) {
	s := start(t, lab.Config{})
	for model, want := range map[string]struct{ whole, stream got }{
		"ok": {
			got{Status: 200, Text: sentence, Finish: "stop", Usage: usage(18)},
			got{Status: 200, Text: sentence, Finish: "stop", Usage: usage(18), Done: true}},
		"ok:Paris: a \"city\"": {
			got{Status: 200, Text: `Paris: a "city"`, Finish: "stop", Usage: usage(3)},
			got{Status: 200, Text: `Paris: a "city"`, Finish: "stop", Usage: usage(3), Done: true}},
		"slow:1ms:Red": {
			got{Status: 200, Text: "Red", Finish: "stop", Usage: usage(1)},
			got{Status: 200, Text: "Red", Finish: "stop", Usage: usage(1), Done: true}},
		"cut": {
			got{Status: 200, BadJSON: 1, Broken: true, NoContent: true},
			got{Status: 200, Text: half, Broken: true}},
		"cut:0": {
			got{Status: 200, BadJSON: 1, Broken: true, NoContent: true},
			got{Status: 200, Broken: true}},
		"cut:3": {
			got{Status: 200, BadJSON: 1, Broken: true, NoContent: true},
			got{Status: 200, Text: "The lab's answer ", Broken: true}},
		"429":            {failure(429, "rate_limit_exceeded", ""), failure(429, "rate_limit_exceeded", "")},
		"429:60":         {failure(429, "rate_limit_exceeded", "60"), failure(429, "rate_limit_exceeded", "60")},
		"500":            {failure(500, "", ""), failure(500, "", "")},
		"status:401":     {failure(401, "invalid_api_key", ""), failure(401, "invalid_api_key", "")},
		"status:503:7":   {failure(503, "", "7"), failure(503, "", "7")},
		"status:529":     {failure(529, "", ""), failure(529, "", "")},
		"context-length": {failure(400, "context_length_exceeded", ""), failure(400, "context_length_exceeded", "")},
		"content-policy": {failure(400, "content_policy_violation", ""), failure(400, "content_policy_violation", "")},
		"ok-but-error-body": {
			failure(200, "rate_limit_exceeded", ""),
			got{Status: 200, Code: "rate_limit_exceeded", NoContent: true, Done: true}},
		"ok-but-error-body:insufficient_quota": {
			failure(200, "insufficient_quota", ""),
			got{Status: 200, Code: "insufficient_quota", NoContent: true, Done: true}},
		"error-frame": {
			failure(200, "rate_limit_exceeded", ""),
			got{Status: 200, Code: "rate_limit_exceeded", Done: true}},
		"error-frame:2": {
			failure(200, "rate_limit_exceeded", ""),
			got{Status: 200, Text: "The lab's ", Code: "rate_limit_exceeded", Done: true}},
		"empty": {
			got{Status: 200, Finish: "stop", Usage: usage(0)},
			got{Status: 200, Finish: "stop", Usage: usage(0), Done: true}},
		"role-only": {
			got{Status: 200, Finish: "stop", NoContent: true},
			got{Status: 200, Finish: "stop", NoContent: true, Done: true}},
		"bad-json": {
			got{Status: 200, BadJSON: 1, NoContent: true},
			got{Status: 200, Text: sentence, BadJSON: 1, Finish: "stop", Usage: usage(18), Done: true}},
		"tool-call": {
			got{Status: 200, Tool: "lookup{}", Finish: "tool_calls", Usage: usage(1)},
			got{Status: 200, Tool: "lookup{}", Finish: "tool_calls", Usage: usage(1), Done: true}},
		"refusal": {
			got{Status: 200, Refusal: refusal, Finish: "stop", Usage: usage(8)},
			got{Status: 200, Refusal: refusal, Finish: "stop", Usage: usage(8), Done: true}},
		"content-filter": {
			got{Status: 200, Text: half, Finish: "content_filter", Usage: usage(9)},
			got{Status: 200, Text: half, Finish: "content_filter", Usage: usage(9), Done: true}},
		"echo": {
			got{Status: 200, Text: brief, Finish: "stop", Usage: usage(3)},
			got{Status: 200, Text: brief, Finish: "stop", Usage: usage(3), Done: true}},
		"judge": {
			got{Status: 200, Text: `{"is_failure":false,"reason":"the reply neither apologises nor declines"}`, Finish: "stop", Usage: usage(6)},
			got{Status: 200, Text: `{"is_failure":false,"reason":"the reply neither apologises nor declines"}`, Finish: "stop", Usage: usage(6), Done: true}},

		"gpt-5":           {failure(404, "model_not_found", ""), failure(404, "model_not_found", "")},
		"OK":              {failure(404, "model_not_found", ""), failure(404, "model_not_found", "")},
		"slow:300":        {failure(400, "", ""), failure(400, "", "")},
		"slow:-1s":        {failure(400, "", ""), failure(400, "", "")},
		"hang:now":        {failure(400, "", ""), failure(400, "", "")},
		"cut:half":        {failure(400, "", ""), failure(400, "", "")},
		"cut:100001":      {failure(400, "", ""), failure(400, "", "")},
		"stall:-1":        {failure(400, "", ""), failure(400, "", "")},
		"error-frame:all": {failure(400, "", ""), failure(400, "", "")},
		"status":          {failure(400, "", ""), failure(400, "", "")},
		"status:200":      {failure(400, "", ""), failure(400, "", "")},
		"429:soon":        {failure(400, "", ""), failure(400, "", "")},
		"context-length:": {failure(400, "", ""), failure(400, "", "")},
	} {
		t.Run(model, func(t *testing.T) {
			if got := ask(t, http.DefaultClient, s, model, brief, false); got != want.whole {
				t.Errorf("whole:\n got %+v\nwant %+v", got, want.whole)
			}
			if got := ask(t, http.DefaultClient, s, model, brief, true); got != want.stream {
				t.Errorf("stream:\n got %+v\nwant %+v", got, want.stream)
			}
		})
	}
}

// TestUsageOnlyWhenAsked looks at a stream whose client did not ask for the usage.
func TestUsageOnlyWhenAsked(t *testing.T) {
	s := start(t, lab.Config{})
	resp, err := post(t.Context(), http.DefaultClient, s, `{"model":"ok","stream":true,"messages":[{"role":"user","content":"Hello"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || bytes.Contains(body, []byte("usage")) || !bytes.Contains(body, []byte("[DONE]")) {
		t.Errorf("got %v and %s, want a whole stream without usage", err, body)
	}
}

// TestS1_Cut40Of60 shows the arithmetic of cut:N: the text is half as long again as what is sent.
func TestS1_Cut40Of60(t *testing.T) {
	s := start(t, lab.Config{})
	got := ask(t, http.DefaultClient, s, "cut:40", brief, true)
	if words := strings.Fields(got.Text); len(words) != 40 || !got.Broken {
		t.Errorf("got %d words, broken %v; want 40, true", len(words), got.Broken)
	}
	got = ask(t, http.DefaultClient, s, "bad-json:40", brief, true)
	if words := strings.Fields(got.Text); len(words) != 60 || got.Broken {
		t.Errorf("bad-json:40 has %d words, broken %v; want 60, false", len(words), got.Broken)
	}
}

// TestCutBody looks at the bytes: a reply that is not streamed stops right behind its N-th token.
func TestCutBody(t *testing.T) {
	s := start(t, lab.Config{})
	for model, end := range map[string]string{
		"cut:2":      `"content":"The lab's `,
		"cut":        `"content":"` + half,
		"bad-json:1": `"content":"The `,
		"bad-json:0": `"content":"`,
	} {
		resp, err := post(t.Context(), http.DefaultClient, s, request(model, brief, false))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !bytes.HasSuffix(body, []byte(end)) || (err != nil) != strings.HasPrefix(model, "cut") {
			t.Errorf("%s: got %q, %v; want it to end in %q", model, body, err, end)
		}
	}
}

func TestErrorsName(t *testing.T) {
	s := start(t, lab.Config{Models: map[string]lab.Model{"mine": func(context.Context, lab.Request) lab.Reply { return lab.Reply{} }}})
	for model, want := range map[string][]string{
		"gpt-5":      {`"gpt-5"`, "cut", "judge", "mine", "ok"},
		"slow:300":   {`"300"`, "300ms", "slow[:DURATION[:TEXT]]"},
		"status:700": {`"700"`, "400 to 599"},
		"hang:x":     {"no argument"},
	} {
		model = strings.Trim(model, `"`)
		resp, err := post(t.Context(), http.DefaultClient, s, request(model, brief, true))
		if err != nil {
			t.Fatal(err)
		}
		var w wire
		err = json.NewDecoder(resp.Body).Decode(&w)
		resp.Body.Close()
		if err != nil || w.Error == nil {
			t.Fatalf("%s: %v, %+v", model, err, w)
		}
		for _, part := range want {
			if !strings.Contains(w.Error.Message, part) {
				t.Errorf("%s: the message %q does not have %s", model, w.Error.Message, part)
			}
		}
	}
}

func TestRequestsThatAreWrong(t *testing.T) {
	s := start(t, lab.Config{MaxBody: 100})
	chat, models := "/chat/completions", "/models"
	for name, test := range map[string]struct {
		method, place, body string
		status              int
		message             string
	}{
		"no JSON":       {"POST", chat, `{"model":`, 400, "not a JSON request"},
		"no body":       {"POST", chat, ``, 400, "not a JSON request"},
		"no messages":   {"POST", chat, `{"model":"ok"}`, 400, "messages is missing"},
		"too large":     {"POST", chat, `{"model":"ok","pad":"` + strings.Repeat("x", 100) + `"}`, 413, "larger than 100 bytes"},
		"wrong method":  {"GET", chat, ``, 405, "for POST"},
		"wrong method2": {"POST", models, ``, 405, "for GET"},
		"wrong place":   {"POST", "/v1/chat/completions", ``, 404, "POST /v1/chat/completions"},
		"embeddings":    {"POST", "/embeddings", `{}`, 404, "/v1/embeddings"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), test.method, s.URL()+test.place, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var w wire
			if err := json.NewDecoder(resp.Body).Decode(&w); err != nil || w.Error == nil {
				t.Fatalf("no error object: %v", err)
			}
			if resp.StatusCode != test.status || !strings.Contains(w.Error.Message, test.message) {
				t.Errorf("got %d %q, want %d %q", resp.StatusCode, w.Error.Message, test.status, test.message)
			}
		})
	}
	if n := len(s.Visits()); n != 4 {
		t.Errorf("%d visits are recorded, want the 4 that posted to the right place", n)
	}
}

func TestListOfModels(t *testing.T) {
	mine := func(context.Context, lab.Request) lab.Reply { return lab.Reply{} }
	s := start(t, lab.Config{Models: map[string]lab.Model{"mine": mine, "ok": mine}})
	resp, err := http.Get(s.URL() + "/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Object string
		Data   []struct{ ID, Object string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, model := range answer.Data {
		names = append(names, model.ID)
	}
	want := []string{"mine"}
	for _, b := range lab.Behaviours() {
		want = append(want, b.Name)
		if !strings.HasPrefix(b.Form, b.Name) || b.Does == "" {
			t.Errorf("a behaviour is not described: %+v", b)
		}
	}
	slices.Sort(want)
	if answer.Object != "list" || !slices.Equal(names, want) {
		t.Errorf("got %s %q, want %q", answer.Object, names, want)
	}
}

func TestModelsOfTheCaller(t *testing.T) {
	var seen []lab.Request
	s := start(t, lab.Config{Models: map[string]lab.Model{
		"mine": func(_ context.Context, req lab.Request) lab.Reply {
			seen = append(seen, req)
			return lab.Reply{Text: "a b c", FinishReason: "length", Usage: &lab.Usage{Prompt: 1, Completion: 2, Total: 3}, Fault: lab.BadJSON, After: 1}
		},
		"llama3.2:1b": func(_ context.Context, req lab.Request) lab.Reply { return lab.Reply{Text: "small " + req.Argument} },
		"echo":        func(context.Context, lab.Request) lab.Reply { return lab.Reply{Text: "not an echo"} },
		"teapot":      func(context.Context, lab.Request) lab.Reply { return lab.Reply{Status: 418} },
		"nonsense":    func(context.Context, lab.Request) lab.Reply { return lab.Reply{Status: 42} },
		"own-error": func(context.Context, lab.Request) lab.Reply {
			return lab.Reply{Status: 402, Error: &lab.Error{Message: "m", Type: "t", Code: "pay"}, Header: http.Header{"Retry-After": {"9"}}}
		},
		"frame": func(context.Context, lab.Request) lab.Reply {
			return lab.Reply{Text: "a b", Fault: lab.ErrorFrame, After: 9}
		},
	}})
	want := got{Status: 200, Text: "a b c", BadJSON: 1, Finish: "length", Usage: lab.Usage{Prompt: 1, Completion: 2, Total: 3}, Done: true}
	if got := ask(t, http.DefaultClient, s, "mine:x:y", brief, true); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for model, want := range map[string]got{
		"llama3.2:1b": {Status: 200, Text: "small 1b", Finish: "stop", Usage: usage(2), Done: true},
		"echo":        {Status: 200, Text: "not an echo", Finish: "stop", Usage: usage(3), Done: true},
		"teapot":      failure(418, "", ""),
		"nonsense":    failure(500, "", ""),
		"own-error":   failure(402, "pay", "9"),
		"frame":       {Status: 200, Text: "a b", NoCode: true, Done: true},
	} {
		if got := ask(t, http.DefaultClient, s, model, brief, true); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", model, got, want)
		}
	}
	if len(seen) != 1 {
		t.Fatalf("the model was called %d times, want 1", len(seen))
	}
	req := seen[0]
	if req.Number != 1 || req.Model != "mine:x:y" || req.Argument != "x:y" || !req.Stream || !req.IncludeUsage || req.Brief() != brief ||
		!reflect.DeepEqual(req.Messages, []lab.Message{{Role: "system", Text: "Be brief."}, {Role: "user", Text: brief}}) ||
		req.Header.Get("Authorization") != "Bearer secret-of-the-test" || string(req.Body) != request("mine:x:y", brief, true) {
		t.Errorf("the model got %+v", req)
	}
}

func TestVisits(t *testing.T) {
	var lines []string
	s := start(t, lab.Config{Log: func(v lab.Visit) {
		lines = append(lines, v.String()[:strings.Index(v.String()+" after", " after")])
	}})
	ask(t, http.DefaultClient, s, "ok:Red", brief, false)
	ask(t, http.DefaultClient, s, "cut", brief, true)
	ask(t, http.DefaultClient, s, "429", brief, false)
	resp, err := http.Post(s.URL()+"/chat/completions", "application/json", strings.NewReader("{"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	visits := s.Visits()
	for i, want := range []lab.Visit{
		{Number: 1, Model: "ok:Red", Brief: brief, Authorization: true, Status: 200, End: lab.EndDone},
		{Number: 2, Model: "cut", Brief: brief, Authorization: true, Status: 200, End: lab.EndCut, Stream: true},
		{Number: 3, Model: "429", Brief: brief, Authorization: true, Status: 429, End: lab.EndDone},
		{Number: 4, Status: 400, End: lab.EndDone},
	} {
		v := visits[i]
		body := "{"
		if want.Model != "" {
			body = request(want.Model, brief, want.Stream)
		}
		if got := string(v.Body()); got != body {
			t.Errorf("body %d is %q, want %q", i, got, body)
		}
		got := lab.Visit{Number: v.Number, Model: v.Model, Stream: v.Stream, Brief: v.Brief, Authorization: v.Authorization, Status: v.Status, End: v.End}
		if !reflect.DeepEqual(got, want) || !v.Gone.IsZero() || v.Ended.Before(v.Started) {
			t.Errorf("got %+v, want %+v", v, want)
		}
	}
	s.Close() // after which nothing is logged any more
	want := []string{
		`#1 ok:Red began: "Name a colour."`, `#1 ok:Red 200 done`,
		`#2 cut stream began: "Name a colour."`, `#2 cut stream 200 cut`,
		`#3 429 began: "Name a colour."`, `#3 429 429 done`,
		`#4 (no model) began`, `#4 (no model) 400 done`,
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the log has\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if all := strings.Join(lines, "") + encode(t, visits); strings.Contains(all, "secret") {
		t.Error("the key is in the record")
	}
}

// TestEndedWhenSeen shows that who has read a reply whole finds its visit ended, without waiting.
func TestEndedWhenSeen(t *testing.T) {
	s := start(t, lab.Config{})
	long := "ok:" + strings.Repeat("word ", 2_000)
	for range 50 {
		for _, model := range []string{"ok", "cut", "500", "error-frame", "bad-json", "nothing", long} {
			for _, stream := range []bool{false, true} {
				if model == long && stream {
					continue
				}
				ask(t, http.DefaultClient, s, model, brief, stream)
				visits := s.Visits()
				if v := visits[len(visits)-1]; v.Ended.IsZero() {
					t.Fatalf("%v has not ended", v)
				}
			}
		}
	}
}

func encode(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestKeep(t *testing.T) {
	s := start(t, lab.Config{Keep: 2})
	for range 5 {
		ask(t, http.DefaultClient, s, "ok", brief, false)
	}
	if visits := s.Visits(); len(visits) != 2 || visits[0].Number != 4 || visits[1].Number != 5 {
		t.Errorf("got %+v, want the last two", visits)
	}
	if err := s.WaitStarted(t.Context(), 5); err != nil {
		t.Error(err)
	}
}

func TestStartRefuses(t *testing.T) {
	for addr, part := range map[string]string{
		":8080":         "want a loopback address such as 127.0.0.1:8080",
		"0.0.0.0:0":     "not a loopback address",
		"[::]:0":        "not a loopback address",
		"192.0.2.1:80":  "not a loopback address",
		"127.0.0.1":     "missing port",
		"127.0.0.1:abc": "abc",
	} {
		s, err := lab.New(lab.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start(addr); err == nil || !strings.Contains(err.Error(), part) || s.URL() != "" {
			t.Errorf("Start(%q) gave %v and URL %q, want an error with %q", addr, err, s.URL(), part)
		}
		s.Close()
	}
	s := start(t, lab.Config{})
	if host := strings.TrimPrefix(s.URL(), "http://127.0.0.1:"); host == s.URL() || !strings.HasSuffix(host, "/v1") {
		t.Errorf("the URL is %q", s.URL())
	}
	if err := s.Start(""); err == nil || !strings.Contains(err.Error(), "started already") {
		t.Errorf("a second start gave %v", err)
	}
	s.Close()
	if err := s.Start(""); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a start after the end gave %v", err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, config := range []lab.Config{
		{MaxBody: -1}, {Keep: -1}, {Models: map[string]lab.Model{"": func(context.Context, lab.Request) lab.Reply { return lab.Reply{} }}},
		{Models: map[string]lab.Model{"nothing": nil}},
	} {
		if s, err := lab.New(config); err == nil || s != nil {
			t.Errorf("New(%+v) gave %v, %v, want an error", config, s, err)
		}
	}
}

// TestGone_RealSockets shows over TCP, in both modes, that a client's leaving is seen and recorded.
func TestGone_RealSockets(t *testing.T) {
	for _, model := range []string{"hang", "stall", "slow:1h"} {
		for _, stream := range []bool{false, true} {
			s := start(t, lab.Config{})
			client := &http.Client{Transport: &http.Transport{}}
			ctx, leave := context.WithCancel(t.Context())
			answered := make(chan error, 1)
			go func() {
				resp, err := post(ctx, client, s, request(model, brief, stream))
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				answered <- err
			}()
			if err := s.WaitStarted(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			leave()
			if err := <-answered; !errors.Is(err, context.Canceled) {
				t.Errorf("%s, stream %v: the client got %v", model, stream, err)
			}
			if err := s.WaitGone(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			v := s.Visits()[0]
			if v.End != lab.EndGone || v.Gone.Before(v.Started) || v.Ended.Before(v.Gone) {
				t.Errorf("%s, stream %v: got %+v", model, stream, v)
			}
			s.Close()
			client.CloseIdleConnections()
		}
	}
}

// TestClose_RealSockets closes a lab under which every kind of visit is under way, and looks for what it left.
func TestClose_RealSockets(t *testing.T) {
	s := start(t, lab.Config{})
	client := &http.Client{Transport: &http.Transport{}}
	ask(t, client, s, "ok", brief, false) // leaves an idle connection
	idle, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	models := []string{"hang", "stall", "slow:1h"}
	broken := make(chan error)
	for _, model := range models {
		for _, stream := range []bool{false, true} {
			go func() {
				resp, err := post(t.Context(), client, s, request(model, brief, stream))
				if err == nil {
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
				}
				broken <- err
			}()
		}
	}
	if err := s.WaitStarted(t.Context(), 1+2*len(models)); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error)
	go func() { waited <- s.WaitGone(t.Context(), 1) }()
	s.Close()
	s.Close()
	if err := <-waited; err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("the waiter got %v, want that the lab is closed", err)
	}
	for range 2 * len(models) {
		if err := <-broken; err == nil {
			t.Error("a client whose visit was broken off saw a whole reply")
		}
	}
	for _, v := range s.Visits()[1:] {
		if v.End != lab.EndClosed || v.Ended.IsZero() || !v.Gone.IsZero() {
			t.Errorf("got %+v, want it closed", v)
		}
	}
	client.CloseIdleConnections()
	stacks := make([]byte, 1<<20)
	for try := range 100_000 { // a goroutine that has said its last word may need a moment to end
		all := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(all, "net/http.(*conn)") && !strings.Contains(all, "net/http.(*Server)") && !strings.Contains(all, "lab.(*") {
			break
		}
		if try == 99_999 {
			t.Fatalf("the lab has left goroutines:\n%s", all)
		}
		runtime.Gosched()
	}
}

// TestAsHandler shows the lab inside a server of somebody else, and after its end.
func TestAsHandler(t *testing.T) {
	s, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serve := func(model string) (w *httptest.ResponseRecorder, panicked any) {
		defer func() { panicked = recover() }()
		w = httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(request(model, brief, true)))
		s.ServeHTTP(w, r)
		return w, nil
	}
	if w, panicked := serve("ok:Red"); panicked != nil || w.Code != 200 || !strings.Contains(w.Body.String(), "Red") {
		t.Errorf("got %d, %v", w.Code, panicked)
	}
	if _, panicked := serve("cut"); panicked != http.ErrAbortHandler {
		t.Errorf("got panic %v, want %v", panicked, http.ErrAbortHandler)
	}
	s.Close()
	if w, panicked := serve("ok"); panicked != nil || w.Code != 503 || !strings.Contains(w.Body.String(), "closed") {
		t.Errorf("after the end: got %d, %v", w.Code, panicked)
	}
}

func TestModelPanics(t *testing.T) {
	s, err := lab.New(lab.Config{Models: map[string]lab.Model{"bad": func(context.Context, lab.Request) lab.Reply { panic("on purpose") }}})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if p := recover(); p != "on purpose" {
				t.Errorf("recovered %v", p)
			}
		}()
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(request("bad", brief, false))))
	}()
	if v := s.Visits()[0]; v.End != lab.EndCut || v.Ended.IsZero() {
		t.Errorf("got %+v, want the visit cut", v)
	}
	s.Close()
}
