package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

// TestRules_ThroughTheFile: expr, schema and finish_reason, on replies over the wire.
func TestRules_ThroughTheFile(t *testing.T) {
	schemaFile := filepath.Join(t.TempDir(), "answer.schema.json")
	if err := os.WriteFile(schemaFile, []byte(`{"type": "object", "required": ["score"], "properties": {"score": {"type": "number", "minimum": 0.5}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const accepts, failed = "acceptance_criteria: ", "failure_criteria: "
	for _, c := range []struct {
		config string
		reply  lab.Reply
		reason string // how the rejection begins; "" for a good reply
	}{
		{accepts + `{expr: 'len(reply.text) < 10'}`, lab.Reply{Text: "short"}, ""},
		{accepts + `{expr: 'len(reply.text) < 10'}`, lab.Reply{Text: "much too long"}, "len(reply.text) < 10"},
		{failed + `{expr: 'len(reply.text) < 10'}`, lab.Reply{Text: "short"}, "len(reply.text) < 10"},
		{accepts + `{expr: 'reply.json.score >= 0.8'}`, lab.Reply{Text: "Sure:\n```json\n{\"score\": 0.9}\n```"}, ""},
		{accepts + `{expr: 'reply.json.score >= 0.8'}`, lab.Reply{Text: `{"score": 0.7}`}, "reply.json.score >= 0.8"},
		{accepts + `{expr: 'reply.json.score >= 0.8'}`, lab.Reply{Text: "none"}, "acceptance_criteria could not be applied: "},
		{failed + `{expr: 'reply.json.score >= 0.8'}`, lab.Reply{Text: "none"}, "failure_criteria could not be applied: "},
		{accepts + `{expr: 'reply.finish_reason == "stop" && reply.usage.output_tokens == 2'}`, lab.Reply{Text: "two words"}, ""},
		{accepts + `{expr: 'brief.text in [reply.text]'}`, lab.Reply{Text: "Hi"}, ""},

		{accepts + "{schema: " + fmt.Sprintf("%q", schemaFile) + "}", lab.Reply{Text: `{"score": 0.5}`}, ""},
		{accepts + "{schema: " + fmt.Sprintf("%q", schemaFile) + "}", lab.Reply{Text: `{"score": 0.4}`}, "/score"},
		{accepts + `{schema: {type: object, required: [score]}}`, lab.Reply{Text: "Here: {\"score\": 1}"}, ""},
		{accepts + `{schema: {type: array}}`, lab.Reply{Text: `{}`}, "got object, want array"},
		{accepts + `{schema: {type: object}}`, lab.Reply{Text: "none"}, "JSON"},

		{accepts + `{finish_reason: stop}`, lab.Reply{Text: "whole"}, ""},
		{accepts + `{finish_reason: stop}`, lab.Reply{Text: "cut", FinishReason: "length"}, `finish_reason is "length"`},
		{failed + `{finish_reason: [length, max_tokens]}`, lab.Reply{Text: "cut", FinishReason: "length"}, `finish_reason is "length"`},
		{accepts + `{finish_reason: [stop, tool_calls]}`, lab.Reply{ToolCall: "f"}, ""},
	} {
		t.Run(c.config+" "+c.reply.Text, func(t *testing.T) {
			f, problems := config.Parse("test.yaml", []byte(`
delegates: {a: {`+at("a")+`}}
patterns: {x: {pattern: fallback-chain, with: {chain: [a]}, config: {`+c.config+`}}}
`), config.Kinds(), config.Check(engine.Check))
			if problems.Failed() {
				t.Fatal(problems)
			}
			inWorld(t, map[string]lab.Model{"a": scripted(c.reply)}, func(w *world) {
				out := w.run(f, "x", "Hi").Outcome
				switch {
				case c.reason == "" && out.Status != firstgood.StatusWon:
					w.Errorf("got %v", out.History)
				case c.reason != "" && (len(out.History) != 1 || out.History[0].Kind != firstgood.KindRejected || !strings.Contains(out.History[0].Reason, c.reason)):
					w.Errorf("got %s, %v, want a rejection with %q", out.Status, out.History, c.reason)
				}
			})
		})
	}
}

// TestRules_WrongAtLoad: with the place of what is wrong in them.
func TestRules_WrongAtLoad(t *testing.T) {
	const before = "delegates: {a: {command: {argv: [a]}}}\npatterns:\n  x:\n    pattern: fallback-chain\n    with: {chain: [a]}\n    config:\n      acceptance_criteria:\n        "
	for _, c := range []struct{ rule, want string }{
		{`expr: 'len(reply.txt) < 3'`, `test.yaml:8:26: patterns.x.config.acceptance_criteria.expr: the expression is wrong: reply has no "txt"`},
		{`expr: 'len(reply.text)'`, "test.yaml:8:16: "},
		{`expr: 'reply.text =='`, "test.yaml:8:28: "},
		{"expr: |\n          len(reply.text) < 3 &&\n          reply.nothing == 1", "test.yaml:10:17: "},
		{`schema: {type: objekt}`, "test.yaml:8:17: patterns.x.config.acceptance_criteria.schema: the schema: "},
		{`schema: ./no-such.schema.json`, "test.yaml:8:17: "},
		{`finish_reason: []`, "test.yaml:8:24: "},
		{`finish_reason: 3`, "test.yaml:8:24: "},
	} {
		_, problems := config.Parse("test.yaml", []byte(before+c.rule+"\n"), config.Kinds(), config.Check(engine.Check))
		if got := problems.Error(); !problems.Failed() || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: got %q, want it at %s", c.rule, got, c.want)
		}
	}
}

// TestAnthropic_ThroughTheFile: the kind against a scripted endpoint, whole and streamed, and what its failures are.
func TestAnthropic_ThroughTheFile(t *testing.T) {
	const overloaded = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`
	f := file(t, `
health: true
delegates:
  whole: {anthropic: {base_url: "http://lab.invalid", model: whole, api_key_env: MY_KEY, system: "Be brief.", max_tokens: 50}, price: {input: 3, output: 15}}
  streamed: {anthropic: {base_url: "http://lab.invalid", model: streamed, api_key: sk-2}, first_token: 5s, idle: 5s}
  busy: {anthropic: {base_url: "http://lab.invalid", model: busy, api_key: sk-3}}
  refuses: {anthropic: {base_url: "http://lab.invalid", model: refuses, api_key: sk-4}}
  hung: {anthropic: {base_url: "http://lab.invalid", model: hung, api_key: sk-5}, timeout: 20s, retries: 3}
patterns:
  x: {pattern: fallback-chain, with: {chain: [busy, refuses, hung, whole]}}
  stop: {pattern: fallback-chain, with: {chain: [refuses, whole]}, config: {on_refusal: stop}}
`)
	message := func(text, stop string) string {
		return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":%q}],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":100,"output_tokens":10}}`, text, stop)
	}
	var keys []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model     string
			System    string
			MaxTokens int `json:"max_tokens"`
			Stream    bool
		}
		body, _ := io.ReadAll(r.Body)
		if json.Unmarshal(body, &request) != nil || r.URL.Path != "/v1/messages" || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("got the request %s, %s", r.URL.Path, body)
		}
		w.Header().Set("Content-Type", "application/json")
		switch request.Model {
		case "whole":
			keys = append(keys, r.Header.Get("X-Api-Key"))
			if request.System != "Be brief." || request.MaxTokens != 50 || request.Stream {
				t.Errorf("got the request %s", body)
			}
			_, _ = io.WriteString(w, message("Paris", "end_turn"))
		case "streamed":
			if !request.Stream {
				t.Errorf("got the request %s", body)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			for _, event := range []string{
				`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Par"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"is"}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}`,
				`{"type":"message_stop"}`,
			} {
				kind, _, _ := strings.Cut(strings.TrimPrefix(event, `{"type":"`), `"`)
				_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, event)
				_ = http.NewResponseController(w).Flush()
			}
		case "busy":
			w.Header().Set("Retry-After", "60")
			w.WriteHeader(529)
			_, _ = io.WriteString(w, overloaded)
		case "refuses":
			_, _ = io.WriteString(w, message("", "refusal"))
		case "hung":
			<-r.Context().Done()
		}
	}
	synctest.Test(t, func(t *testing.T) {
		pipe := lab.NewPipe()
		server, client := &http.Server{Handler: http.HandlerFunc(handler)}, pipe.Client()
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(pipe) }()
		defer func() {
			client.CloseIdleConnections()
			_ = server.Close()
			<-served
		}()
		w := &world{T: t, client: client, env: map[string]string{"MY_KEY": "sk-1"}}
		e := w.engineOf(f)
		run := func(name string) *engine.Result {
			b := bound(w, e, f, name)
			r := b.Run(t.Context(), firstgood.Text("Capital of France?"), nil)
			if err := b.Drain(t.Context()); err != nil {
				t.Error(err)
			}
			return r
		}
		first := run("x")
		outcome{firstgood.StatusWon, "whole", 4, []string{"busy: unavailable: ", "refuses: refused: ", "hung: timeout: no reply within 20s"}}.check(t, first)
		if first.Outcome.Result.Text != "Paris" || first.Outcome.Duration != 20*time.Second || len(keys) != 1 || keys[0] != "sk-1" {
			t.Errorf("got %q after %v, with the keys %q", first.Outcome.Result.Text, first.Outcome.Duration, keys)
		}
		if calls := costsOf(t, first).Calls; !calls[3].Usage.same(100, 10, firstgood.SourceMeasured, 0.00045) {
			t.Errorf("got %+v", calls[3])
		}
		outcome{firstgood.StatusWon, "whole", 3, []string{"busy: no_start: cooling for 40s after unavailable", "refuses: refused", "hung: timeout"}}.check(t, run("x"))
		outcome{firstgood.StatusStopped, "", 1, []string{"refuses: refused: "}}.check(t, run("stop"))
		if r := run("streamed"); r.Err != nil || r.Outcome.Result.Text != "Paris" || r.Outcome.Result.Usage != (firstgood.Usage{InputTokens: 7, OutputTokens: 2, Source: firstgood.SourceMeasured}) {
			t.Errorf("got %+v, %v", r.Outcome.Result, r.Err)
		}
	})
}
