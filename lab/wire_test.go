package lab_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/lab"
)

// protocol is how a client speaks one of the protocols beside chat completions.
type protocol struct {
	name   string
	path   func(model string, stream bool) string
	body   string // with MODEL, STREAM and BRIEF
	text   string // the way to the text in a whole reply
	delta  string // in an event of a stream
	finish string // in a whole reply
	code   string // of an error
	usage  string // of the output, in a whole reply
	final  string // what the last event of a whole stream holds
}

var protocols = []protocol{
	{
		name: lab.Messages,
		path: func(string, bool) string { return "/v1/messages?beta=true" },
		body: `{"model":"MODEL","stream":STREAM,"max_tokens":9,"system":[{"type":"text","text":"Be brief."}],"messages":[{"role":"user","content":[{"type":"text","text":"BRIEF"}]}]}`,
		text: "content.0.text", delta: "delta.text", finish: "stop_reason", code: "error.type", usage: "usage.output_tokens", final: "message_stop",
	},
	{
		name: lab.Responses,
		path: func(string, bool) string { return "/v1/responses" },
		body: `{"model":"MODEL","stream":STREAM,"instructions":"Be brief.","input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"BRIEF"}]}]}`,
		text: "output.0.content.0.text", delta: "delta", finish: "status", code: "error.code", usage: "usage.output_tokens", final: "response.completed",
	},
	{
		name: lab.Generate,
		path: func(model string, stream bool) string {
			if stream {
				return "/v1beta/models/" + model + ":streamGenerateContent?alt=sse"
			}
			return "/v1beta/models/" + model + ":generateContent"
		},
		body: `{"systemInstruction":{"parts":[{"text":"Be brief."}]},"contents":[{"role":"user","parts":[{"text":"BRIEF"}]}]}`,
		text: "candidates.0.content.parts.0.text", delta: "candidates.0.content.parts.0.text", finish: "candidates.0.finishReason", code: "error.status",
		usage: "usageMetadata.candidatesTokenCount", final: "finishReason",
	},
}

// at returns the value at a path such as a.0.b, as text, "" for none.
func at(data []byte, path string) string {
	var value any
	if json.Unmarshal(data, &value) != nil {
		return "no JSON"
	}
	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			value = nil
			var i int
			if _, err := fmt.Sscan(step, &i); err == nil && i < len(v) {
				value = v[i]
			}
		default:
			return ""
		}
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// exchange sends a request and returns the status, the body, the data of its events, and whether it broke off.
func exchange(t *testing.T, s *lab.Server, path, body string) (status int, whole []byte, events [][]byte, broken bool) {
	t.Helper()
	resp, err := http.Post(strings.TrimSuffix(s.URL(), "/v1")+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	whole, err = io.ReadAll(resp.Body)
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		for frame := range strings.SplitSeq(string(whole), "\n\n") {
			if _, data, ok := strings.Cut("\n"+frame, "\ndata: "); ok {
				events = append(events, []byte(data))
			}
		}
	}
	return resp.StatusCode, whole, events, err != nil
}

func (p protocol) request(model string, stream bool) (path, body string) {
	body = strings.NewReplacer("MODEL", model, "STREAM", fmt.Sprint(stream), "BRIEF", brief).Replace(p.body)
	return p.path(model, stream), body
}

func TestProtocols(t *testing.T) {
	s := start(t, lab.Config{})
	for _, p := range protocols {
		for model, want := range map[string]struct {
			status       int
			text, stream string // the text of a whole reply, and of a stream
			finish, code map[string]string
			usage        string
			broken       bool
			badJSON      bool
		}{
			"ok": {status: 200, text: sentence, stream: sentence, usage: "18",
				finish: map[string]string{lab.Messages: "end_turn", lab.Responses: "completed", lab.Generate: "STOP"}},
			"empty": {status: 200, usage: "0",
				finish: map[string]string{lab.Messages: "end_turn", lab.Responses: "completed", lab.Generate: "STOP"}},
			"content-filter": {status: 200, text: half, stream: half, usage: "9",
				finish: map[string]string{lab.Messages: "refusal", lab.Responses: "incomplete", lab.Generate: "SAFETY"}},
			"status:401": {status: 401, code: map[string]string{lab.Messages: "authentication_error", lab.Responses: "invalid_api_key", lab.Generate: "UNAUTHENTICATED"}},
			"status:403": {status: 403, code: map[string]string{lab.Messages: "permission_error", lab.Generate: "PERMISSION_DENIED"}},
			"429":        {status: 429, code: map[string]string{lab.Messages: "rate_limit_error", lab.Responses: "rate_limit_exceeded", lab.Generate: "RESOURCE_EXHAUSTED"}},
			"500":        {status: 500, code: map[string]string{lab.Messages: "api_error", lab.Generate: "INTERNAL"}},
			"status:503": {status: 503, code: map[string]string{lab.Messages: "api_error", lab.Generate: "UNAVAILABLE"}},
			"status:529": {status: 529, code: map[string]string{lab.Messages: "overloaded_error", lab.Generate: "INTERNAL"}},
			"gpt-5":      {status: 404, code: map[string]string{lab.Messages: "not_found_error", lab.Responses: "model_not_found", lab.Generate: "NOT_FOUND"}},
			"context-length": {status: 400, code: map[string]string{lab.Messages: "invalid_request_error", lab.Responses: "context_length_exceeded",
				lab.Generate: "INVALID_ARGUMENT"}},
			"cut:3":      {status: 200, stream: "The lab's answer ", broken: true},
			"bad-json:2": {status: 200, stream: sentence, badJSON: true},
		} {
			t.Run(p.name+"/"+model, func(t *testing.T) {
				path, body := p.request(model, false)
				status, whole, events, broken := exchange(t, s, path, body)
				if status != want.status || broken != want.broken || events != nil {
					t.Fatalf("got %d, broken %v, %d events; want %d, %v, 0", status, broken, len(events), want.status, want.broken)
				}
				if want.code != nil {
					if got := at(whole, p.code); got != want.code[p.name] {
						t.Errorf("code %q, want %q: %s", got, want.code[p.name], whole)
					}
				} else if !want.broken && !want.badJSON {
					if got := at(whole, p.text); got != want.text {
						t.Errorf("text %q, want %q", got, want.text)
					}
					if got := at(whole, p.finish); got != want.finish[p.name] {
						t.Errorf("finish %q, want %q", got, want.finish[p.name])
					}
					if got := at(whole, p.usage); got != want.usage {
						t.Errorf("usage %q, want %q", got, want.usage)
					}
				} else if json.Valid(whole) {
					t.Errorf("a body that should have been cut: %s", whole)
				}

				path, body = p.request(model, true)
				status, whole, events, broken = exchange(t, s, path, body)
				if status != want.status || broken != want.broken {
					t.Fatalf("stream: got %d, broken %v; want %d, %v", status, broken, want.status, want.broken)
				}
				if want.code != nil {
					if got := at(whole, p.code); got != want.code[p.name] {
						t.Errorf("stream: code %q, want %q: %s", got, want.code[p.name], whole)
					}
					return
				}
				text, bad := "", 0
				for _, e := range events {
					switch piece := at(e, p.delta); piece {
					case "no JSON":
						bad++
					default:
						text += piece
					}
				}
				if text != want.stream || (bad > 0) != want.badJSON {
					t.Errorf("stream: text %q, %d events that are no JSON; want %q, %v", text, bad, want.stream, want.badJSON)
				}
				if last := events[len(events)-1]; bytes.Contains(last, []byte(p.final)) == want.broken {
					t.Errorf("the last event is %s", last)
				}
			})
		}
	}
}

func TestProtocols_ErrorInTheMiddle(t *testing.T) {
	s := start(t, lab.Config{})
	for _, p := range protocols {
		path, body := p.request("error-frame:2", true)
		_, _, events, broken := exchange(t, s, path, body)
		last := string(events[len(events)-1])
		if broken || !strings.Contains(last, "over its quota") || !strings.Contains(last, "error") {
			t.Errorf("%s: broken %v, last event %s", p.name, broken, last)
		}
		for _, n := range []string{"refusal", "role-only", "ok-but-error-body"} {
			for _, stream := range []bool{false, true} {
				path, body := p.request(n, stream)
				if status, whole, _, broken := exchange(t, s, path, body); status != 200 || broken || len(whole) == 0 {
					t.Errorf("%s, %s, stream %v: got %d, broken %v, %q", p.name, n, stream, status, broken, whole)
				}
			}
		}
	}
}

func TestProtocols_WrongRequestsSayWhatIsWrong(t *testing.T) {
	s := start(t, lab.Config{})
	for _, test := range []struct{ path, body, says string }{
		{"/v1/messages", `{`, "not a JSON request for a message"},
		{"/v1/messages", `{"messages":[{"role":"user","content":"x"}]}`, "model is missing"},
		{"/v1/messages", `{"model":"ok"}`, "messages is missing"},
		{"/v1/messages", `{"model":"ok","messages":[{"role":"user","content":7}]}`, "messages[0].content"},
		{"/v1/messages", `{"model":"ok","system":7,"messages":[{"role":"user","content":"x"}]}`, "system"},
		{"/v1/messages/count_tokens", `{"model":"ok"}`, "messages is missing"},
		{"/v1/responses", `[]`, "not a JSON request for a response"},
		{"/v1/responses", `{"input":"x"}`, "model is missing"},
		{"/v1/responses", `{"model":"ok"}`, "input is missing"},
		{"/v1/responses", `{"model":"ok","input":[{"type":"message","role":"user","content":7}]}`, "input[0].content"},
		{"/v1beta/models/ok:generateContent", `x`, "not a JSON request for content"},
		{"/v1beta/models/ok:generateContent", `{}`, "contents is missing"},
		{"/v1beta/models/:generateContent", `{"contents":[{"parts":[{"text":"x"}]}]}`, "model is missing"},
	} {
		status, whole, _, _ := exchange(t, s, test.path, test.body)
		if status != 400 || !strings.Contains(string(whole), test.says) {
			t.Errorf("%s %s: got %d %s, want 400 that says %q", test.path, test.body, status, whole, test.says)
		}
	}
	for _, path := range []string{"/v1beta/models/ok", "/v1beta/models/ok:embedContent", "/v1/message"} {
		if status, whole, _, _ := exchange(t, s, path, `{}`); status != 404 {
			t.Errorf("%s: got %d %s, want 404", path, status, whole)
		}
	}
}

func TestProtocols_CountTokens(t *testing.T) {
	s := start(t, lab.Config{})
	for path, key := range map[string]string{"/v1/messages/count_tokens": "input_tokens", "/v1beta/models/ok:countTokens": "totalTokens"} {
		body := `{"model":"ok","messages":[{"role":"user","content":"one two three"}],"contents":[{"parts":[{"text":"one two three"}]}]}`
		if status, whole, _, _ := exchange(t, s, path, body); status != 200 || at(whole, key) != "3" {
			t.Errorf("%s: got %d %s", path, status, whole)
		}
	}
	if visits := s.Visits(); len(visits) != 0 {
		t.Errorf("%d visits are recorded, want none", len(visits))
	}
}

// TestEdit_InEveryProtocol asks with a tool that writes files, then with its result, then without tools.
func TestEdit_InEveryProtocol(t *testing.T) {
	s := start(t, lab.Config{Models: map[string]lab.Model{"fix": lab.Edit("a b.txt", "it's\n", "done")}})
	const schema = `{"type":"object","properties":{"file_path":{"type":"string"},"content":{"type":"string"},"why":{"type":"string"}},"required":["file_path","content","why"]}`
	for _, p := range []struct {
		name, path            string
		request               string // with TOOLS and MESSAGES
		tools, first, results string
		call, arguments, text string // where they are in the reply
	}{
		{lab.Completions, "/v1/chat/completions", `{"model":"fix","tools":TOOLS,"messages":[MESSAGES]}`,
			`[{"type":"function","function":{"name":"read_file","parameters":{"properties":{"file_path":{}}}}},{"type":"function","function":{"name":"write_file","parameters":` + schema + `}}]`,
			`{"role":"user","content":"x"}`, `{"role":"user","content":"x"},{"role":"assistant","content":null},{"role":"tool","content":"ok"}`,
			"choices.0.message.tool_calls.0.function.name", "choices.0.message.tool_calls.0.function.arguments", "choices.0.message.content"},
		{lab.Messages, "/v1/messages", `{"model":"fix","tools":TOOLS,"messages":[MESSAGES]}`,
			`[{"name":"write_file","input_schema":` + schema + `}]`,
			`{"role":"user","content":"x"}`, `{"role":"user","content":"x"},{"role":"assistant","content":[]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_lab_1","content":"ok"}]}`,
			"content.0.name", "content.0.input", "content.0.text"},
		{lab.Responses, "/v1/responses", `{"model":"fix","tools":TOOLS,"input":[MESSAGES]}`,
			`[{"type":"web_search"},{"type":"function","name":"write_file","parameters":` + schema + `}]`,
			`{"type":"message","role":"user","content":"x"}`, `{"role":"user","content":"x"},{"type":"function_call","name":"write_file","call_id":"c","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"ok"}`,
			"output.0.name", "output.0.arguments", "output.0.content.0.text"},
		{lab.Generate, "/v1beta/models/fix:generateContent", `{"tools":TOOLS,"contents":[MESSAGES]}`,
			`[{"functionDeclarations":[{"name":"write_file","parametersJsonSchema":` + schema + `}]}]`,
			`{"role":"user","parts":[{"text":"x"}]}`, `{"role":"user","parts":[{"text":"x"}]},{"role":"model","parts":[]},{"role":"user","parts":[{"functionResponse":{"name":"write_file","response":{}}}]}`,
			"candidates.0.content.parts.0.functionCall.name", "candidates.0.content.parts.0.functionCall.args", "candidates.0.content.parts.0.text"},
	} {
		t.Run(p.name, func(t *testing.T) {
			ask := func(tools, messages string) []byte {
				body := strings.NewReplacer("TOOLS", tools, "MESSAGES", messages).Replace(p.request)
				status, whole, _, _ := exchange(t, s, p.path, body)
				if status != 200 {
					t.Fatalf("got %d %s for %s", status, whole, body)
				}
				return whole
			}
			whole := ask(p.tools, p.first)
			if got := at(whole, p.call); got != "write_file" {
				t.Errorf("calls %q: %s", got, whole)
			}
			arguments := at(whole, p.arguments)
			if want := map[bool]string{true: `{"content":"it's\n","file_path":"a b.txt","why":"lab"}`, false: "map[content:it's\n file_path:a b.txt why:lab]"}[strings.HasPrefix(arguments, "{")]; arguments != want {
				t.Errorf("with %q, want %q", arguments, want)
			}
			for _, whole := range [][]byte{ask(p.tools, p.results), ask("[]", p.first)} {
				if got := at(whole, p.text); got != "done" {
					t.Errorf("answers %q, want done: %s", got, whole)
				}
			}
		})
	}
}

func TestEdit_TakesWhatThereIs(t *testing.T) {
	s := start(t, lab.Config{})
	const request = `{"model":"edit:x.txt:it's","messages":[{"role":"system","content":"SYSTEM"},{"role":"user","content":"x"}],"tools":[{"type":"function","function":TOOL}]}`
	for _, test := range []struct{ system, tool, want string }{
		{"", `{"name":"write","parameters":{"properties":{"filePath":{},"content":{}}}}`, `{"content":"it's\n","filePath":"x.txt"}`},
		{"I'm working in the directory: /w/a b\\nand so on", `{"name":"write","parameters":{"properties":{"filePath":{},"content":{}}}}`, `{"content":"it's\n","filePath":"/w/a b/x.txt"}`},
		{"", `{"name":"exec_command","parameters":{"properties":{"cmd":{"type":"string"}}}}`, `{"cmd":"printf %s 'it'\\''s\n' > 'x.txt'"}`},
		{"", `{"name":"shell","parameters":{"properties":{"command":{"type":"array"}}}}`, `{"command":["sh","-c","printf %s 'it'\\''s\n' > 'x.txt'"]}`},
		{"", `{"name":"write_memory","parameters":{"properties":{"text":{}}}}`, ""},
		{"", `{"name":"freeform"}`, ""},
	} {
		body := strings.NewReplacer("SYSTEM", test.system, "TOOL", test.tool).Replace(request)
		status, whole, _, _ := exchange(t, s, "/v1/chat/completions", body)
		got := at(whole, "choices.0.message.tool_calls.0.function.arguments")
		if status != 200 || got != test.want {
			t.Errorf("%s: got %d, %s, want %s", test.tool, status, got, test.want)
		}
		if text := at(whole, "choices.0.message.content"); test.want == "" && text != "I have written x.txt." {
			t.Errorf("%s: answers %q", test.tool, text)
		}
	}
	for _, model := range []string{"edit", "edit:", "edit:x", "edit::x"} {
		body := strings.Replace(strings.Replace(request, "edit:x.txt:it's", model, 1), "TOOL", `{"name":"w"}`, 1)
		if status, whole, _, _ := exchange(t, s, "/v1/chat/completions", body); status != 400 || !strings.Contains(string(whole), "edit:PATH:TEXT") {
			t.Errorf("%s: got %d %s", model, status, whole)
		}
	}
}
