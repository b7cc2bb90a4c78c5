package agent

import (
	"slices"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
)

func usage(input, output int, source firstgood.Source) firstgood.Usage {
	return firstgood.Usage{InputTokens: input, OutputTokens: output, Source: source}
}

const (
	measured  = firstgood.SourceMeasured
	estimated = firstgood.SourceEstimated
	unknown   = firstgood.SourceUnknown
)

// transcript is what an agent printed, shortened, and what is to be made of it.
type transcript struct {
	kind, name string
	stdout     string
	failed     bool // the exit status was not 0
	text       string
	usage      firstgood.Usage
	cost       float64 // -1 for none
	error      firstgood.Kind
	status     int
	reason     string // what the error says
	line       string // for people, at the end
}

// transcripts are from runs against the lab, but for aider's, which follow its documentation, and where said.
var transcripts = []transcript{
	{kind: "claude", name: "good", text: "I have written hello.txt.\nIt says hello.", usage: usage(3758, 8, measured), cost: 0.019975, line: "It says hello.", stdout: `
{"type":"system","subtype":"init","cwd":"/w","tools":["Bash","Write"],"model":"fix","permissionMode":"acceptEdits","claude_code_version":"2.1.197"}
{"type":"assistant","message":{"content":[{"id":"toolu_1","input":{"file_path":"hello.txt","content":"hello\n"},"name":"Write","type":"tool_use"}],"id":"msg_2","role":"assistant","stop_reason":null,"usage":{"input_tokens":1849,"output_tokens":1}},"parent_tool_use_id":null}
{"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"File created successfully at: hello.txt"}]}}
{"type":"assistant","message":{"content":[{"text":"I have written hello.txt.\nIt says hello.","type":"text"}],"id":"msg_3","usage":{"input_tokens":1849,"output_tokens":1}}}
{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"num_turns":2,"result":"I have written hello.txt.\nIt says hello.","stop_reason":"end_turn","total_cost_usd":0.019975,"usage":{"input_tokens":3698,"cache_creation_input_tokens":20,"cache_read_input_tokens":40,"output_tokens":8}}
`},
	{kind: "claude", name: "trailing event that is not known", text: "ok", usage: usage(1, 1, measured), cost: 0, line: "started", stdout: `
{"type":"system","subtype":"init"}
{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"ok","total_cost_usd":0,"usage":{"input_tokens":1,"output_tokens":1}}
{"type":"prompt_suggestion","suggestion":"now commit it","result":7}
`},
	{kind: "claude", name: "error", failed: true, error: firstgood.KindAuth, status: 401, reason: "Failed to authenticate. API Error: 401", cost: 0, usage: usage(0, 0, measured),
		line: "waits to ask its provider again (attempt 2, status 401)", text: `Failed to authenticate. API Error: 401 the key is wrong`, stdout: `
{"type":"system","subtype":"init"}
{"type":"system","subtype":"api_retry","attempt":2,"max_retries":10,"retry_delay_ms":1195.97,"error_status":401,"error":"authentication_failed"}
{"type":"result","subtype":"success","is_error":true,"api_error_status":401,"num_turns":1,"result":"Failed to authenticate. API Error: 401 the key is wrong","stop_reason":"stop_sequence","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}
`},
	{kind: "claude", name: "context length", failed: true, error: firstgood.KindContextLength, status: 400, reason: "maximum context length is 8 tokens", cost: -1, usage: usage(0, 0, unknown),
		text: "API Error: 400 This model's maximum context length is 8 tokens.", stdout: `{"type":"result","subtype":"success","is_error":true,"api_error_status":400,"result":"API Error: 400 This model's maximum context length is 8 tokens."}`},
	{kind: "claude", name: "overloaded", failed: true, error: firstgood.KindUnavailable, status: 529, reason: "529", cost: -1, usage: usage(0, 0, unknown),
		text: "API Error: 529 come again", stdout: `{"type":"result","subtype":"success","is_error":true,"api_error_status":529,"result":"API Error: 529 come again"}`},
	{kind: "claude", name: "refusal", failed: true, error: firstgood.KindRefused, reason: "Usage Policy", cost: 0.010755, usage: usage(1849, 8, measured),
		text: "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy.", stdout: `{"type":"result","subtype":"success","is_error":true,"api_error_status":null,"num_turns":1,"result":"API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy.","stop_reason":"refusal","total_cost_usd":0.010755,"usage":{"input_tokens":1849,"output_tokens":8}}`},
	{kind: "claude", name: "too many turns (as documented)", failed: true, error: firstgood.KindError, reason: "claude ended with error_max_turns", cost: -1, usage: usage(5, 7, measured),
		stdout: `{"type":"result","subtype":"error_max_turns","is_error":false,"num_turns":3,"usage":{"input_tokens":5,"output_tokens":7}}`},
	{kind: "claude", name: "command", error: firstgood.KindBadRequest, reason: "took the brief for one of its commands: /help isn't available", cost: 0, usage: usage(0, 0, measured),
		text: "/help isn't available in this environment.", stdout: `{"type":"result","subtype":"success","is_error":false,"num_turns":0,"result":"/help isn't available in this environment.","stop_reason":null,"total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0}}`},
	{kind: "claude", name: "truncated", error: firstgood.KindTruncated, reason: "claude ended without a result", cost: -1, usage: usage(30, 2, unknown), line: "Bash go test ./...", stdout: `
{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"Let me see."}],"usage":{"input_tokens":10,"output_tokens":1}}}
{"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","name":"Read","input":{"file_path":"x.go"}}],"usage":{"input_tokens":10,"output_tokens":1}}}
{"type":"assistant","message":{"id":"msg_2","content":[{"type":"tool_use","name":"Bash","input":{"command":"go test ./...\necho"}}],"usage":{"input_tokens":20,"output_tokens":1}}}
{"type":"result","subtype":"succ`},

	{kind: "codex", name: "good", text: "I have written hello.txt.\nIt says hello.", usage: usage(6290, 8, measured), cost: -1, line: "It says hello.", stdout: `
{"type":"thread.started","thread_id":"01a22f57"}
{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata for ` + "`fix`" + ` not found."}}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc \"printf %s x > 'hello.txt'\"","aggregated_output":"","exit_code":null,"status":"in_progress"}}
{"type":"item.completed","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc \"printf %s x > 'hello.txt'\"","aggregated_output":"","exit_code":0,"status":"completed"}}
{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"I have written hello.txt.\nIt says hello."}}
{"type":"turn.completed","usage":{"input_tokens":6290,"cached_input_tokens":4000,"cache_write_input_tokens":0,"output_tokens":8,"reasoning_output_tokens":0}}
`},
	{kind: "codex", name: "connected again", text: "done", usage: usage(1, 1, measured), cost: -1, line: "done", stdout: `
{"type":"error","message":"Reconnecting... 1/5 (unexpected status 500)"}
{"type":"item.completed","item":{"type":"agent_message","text":"done"}}
{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}
`},
	{kind: "codex", name: "error", failed: true, error: firstgood.KindAuth, status: 401, reason: "unexpected status 401 Unauthorized", cost: -1, usage: usage(0, 0, unknown), line: "unexpected status 401 Unauthorized: no", stdout: `
{"type":"turn.started"}
{"type":"error","message":"Reconnecting... 5/5 (unexpected status 401 Unauthorized: no)"}
{"type":"error","message":"unexpected status 401 Unauthorized: no"}
{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized: no"}}
`},
	{kind: "codex", name: "context length", failed: true, error: firstgood.KindContextLength, reason: "ran out of room", cost: -1, usage: usage(0, 0, unknown),
		stdout: `{"type":"turn.failed","error":{"message":"Codex ran out of room in the model's context window. Start a new thread."}}`},
	{kind: "codex", name: "cut", failed: true, error: firstgood.KindUnavailable, reason: "stream disconnected before completion", cost: -1, usage: usage(0, 0, unknown),
		stdout: `{"type":"turn.failed","error":{"message":"stream disconnected before completion: Transport error: network error"}}`},
	{kind: "codex", name: "truncated", error: firstgood.KindTruncated, reason: "codex ended without a result", cost: -1, usage: usage(0, 0, unknown), text: "half", line: "changes pkg/x.go", stdout: `
{"type":"item.completed","item":{"type":"agent_message","text":"half"}}
{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"pkg/x.go","kind":"update"}],"status":"completed"}}
`},

	{kind: "gemini", name: "good", text: "I have written hello.txt.\nIt says hello.", usage: usage(9430, 8, measured), cost: -1, line: "It says hello.", stdout: `
{"type":"init","timestamp":"2026-12-01T02:03:16.076Z","session_id":"fca0113a","model":"fix"}
{"type":"message","role":"user","content":"Write hello.txt\n"}
{"type":"message","role":"assistant","content":"I shall write it.","delta":true}
{"type":"tool_use","tool_name":"write_file","tool_id":"write_file_0","parameters":{"content":"hello\n","file_path":"hello.txt"}}
{"type":"tool_result","tool_id":"write_file_0","status":"success"}
{"type":"message","role":"assistant","content":"I have written hello.txt.\n","delta":true}
{"type":"message","role":"assistant","content":"It says hello.","delta":true}
{"type":"result","status":"success","stats":{"total_tokens":9438,"input_tokens":9430,"output_tokens":8,"cached":0,"duration_ms":433,"tool_calls":1}}
`},
	{kind: "gemini", name: "error", failed: true, error: firstgood.KindAuth, status: 401, reason: "the lab's model \"status:401\" answers", cost: -1, usage: usage(0, 0, measured), line: "started", stdout: `
{"type":"init","session_id":"9b22cb1d","model":"status:401"}
{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: {\"error\":{\"code\":401,\"message\":\"the lab's model \\\"status:401\\\" answers with status 401\",\"status\":\"UNAUTHENTICATED\"}}]"},"stats":{"total_tokens":0,"input_tokens":0,"output_tokens":0}}
`},
	{kind: "gemini", name: "error event (as in its source)", error: firstgood.KindError, reason: "Maximum session turns exceeded", cost: -1, usage: usage(3, 4, measured), line: "Maximum session turns exceeded", stdout: `
{"type":"error","severity":"error","message":"Maximum session turns exceeded"}
{"type":"result","status":"error","stats":{"input_tokens":3,"output_tokens":4}}
`},
	{kind: "gemini", name: "warning (as in its source)", text: "ok", usage: usage(3, 4, measured), cost: -1, line: "ok", stdout: `
{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}
{"type":"message","role":"assistant","content":"ok","delta":true}
{"type":"result","status":"success","stats":{"input_tokens":3,"output_tokens":4}}
`},
	{kind: "gemini", name: "truncated", error: firstgood.KindTruncated, reason: "gemini ended without a result", cost: -1, usage: usage(0, 0, unknown), line: "half an ans", stdout: `
{"type":"message","role":"assistant","content":"half an ","delta":true}
{"type":"message","role":"assistant","content":"ans","delta":true}
`},

	{kind: "opencode", name: "good", text: "I have written hello.txt.\nIt says hello.", usage: usage(3069, 8, measured), cost: 0.75, line: "It says hello.", stdout: `
{"type":"step_start","timestamp":1796090556437,"sessionID":"ses_1","part":{"id":"prt_1","type":"step-start"}}
{"type":"tool_use","sessionID":"ses_1","part":{"type":"tool","tool":"write","callID":"call_1","state":{"status":"completed","input":{"content":"hello\n","filePath":"hello.txt"},"output":"Wrote file successfully.","title":"hello.txt"}}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","type":"step-finish","tokens":{"total":1534,"input":1500,"output":1,"reasoning":0,"cache":{"write":3,"read":30}},"cost":0.5}}
{"type":"step_start","sessionID":"ses_1","part":{"id":"prt_2","type":"step-start"}}
{"type":"text","sessionID":"ses_1","part":{"type":"text","text":"I have written hello.txt.\nIt says hello.","time":{"start":1,"end":2}}}
{"type":"step_finish","sessionID":"ses_1","part":{"reason":"stop","type":"step-finish","tokens":{"total":1543,"input":1536,"output":3,"reasoning":4,"cache":{"write":0,"read":0}},"cost":0.25}}
`},
	{kind: "opencode", name: "error", failed: true, error: firstgood.KindAuth, status: 401, reason: "the lab's model", cost: -1, usage: usage(0, 0, unknown),
		line: `the lab's model "status:401" answers with no (status 401)`, stdout: `{"type":"error","sessionID":"ses_1","error":{"name":"APIError","data":{"message":"the lab's model \"status:401\" answers with no","statusCode":401,"isRetryable":false}}}`},
	{kind: "opencode", name: "context length", failed: true, error: firstgood.KindContextLength, reason: "maximum context length", cost: -1, usage: usage(0, 0, unknown), line: "This model's maximum context length is 8 tokens.", stdout: `
{"type":"error","error":{"name":"ContextOverflowError","data":{"message":"This model's maximum context length is 8 tokens."}}}
{"type":"error","error":{"name":"ContextOverflowError","data":{"message":"This model's maximum context length is 8 tokens."}}}
`},
	{kind: "opencode", name: "truncated", error: firstgood.KindTruncated, reason: "opencode ended without a result", cost: 0, usage: usage(1, 1, measured), line: "started", stdout: `
{"type":"step_start","part":{}}
{"type":"step_finish","part":{"reason":"tool-calls","tokens":{"input":1,"output":1},"cost":0}}
`},

	{kind: "qwen", name: "good", text: "I have written hello.txt.", usage: usage(11828, 8, measured), cost: -1, line: "I have written hello.txt.", stdout: `
{"type":"system","subtype":"init","session_id":"02226d08","model":"fix","permission_mode":"auto-edit","qwen_code_version":"0.15.10"}
{"type":"assistant","message":{"id":"d3dcdc0d","content":[{"type":"tool_use","id":"call_1","name":"write_file","input":{"file_path":"/w/hello.txt"}}],"usage":{"input_tokens":5910,"output_tokens":1,"cache_read_input_tokens":0}}}
{"type":"assistant","message":{"id":"09a37401","content":[{"type":"text","text":"I have written hello.txt."}],"usage":{"input_tokens":5918,"output_tokens":7,"cache_read_input_tokens":0}}}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"I have written hello.txt.","usage":{"input_tokens":11828,"output_tokens":8,"cache_read_input_tokens":0,"total_tokens":11836},"permission_denials":[]}
`},
	{kind: "qwen", name: "error that it calls a success", error: firstgood.KindAuth, status: 401, reason: "401 the key is wrong", cost: -1, usage: usage(0, 0, measured),
		text: "[API Error: 401 the key is wrong]", stdout: `{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"[API Error: 401 the key is wrong]","usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":0}}`},
	{kind: "qwen", name: "error", failed: true, error: firstgood.KindError, reason: `The command "/help" is not supported in this mode.`, cost: -1, usage: usage(0, 0, measured),
		stdout: `{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"usage":{"input_tokens":0,"output_tokens":0},"error":{"message":"The command \"/help\" is not supported in this mode."}}`},
	{kind: "qwen", name: "truncated", error: firstgood.KindTruncated, reason: "qwen ended without a result", cost: -1, usage: usage(0, 0, unknown), line: "started", stdout: `{"type":"system","subtype":"init"}`},

	{kind: "aider", name: "good", cost: 0.0123, usage: usage(5300, 150, estimated), line: "Applied edit to hello.py",
		text:   "Aider v0.75.0\nI have written it.\nTokens: 4.2k sent, 100 received. Cost: $0.0100 message, $0.0100 session.\nTokens: 1.1k sent, 900 cache hit, 50 received. Cost: $0.0023 message, $0.0123 session.\nApplied edit to hello.py",
		stdout: "Aider v0.75.0\n\nI have written it.\n\nTokens: 4.2k sent, 100 received. Cost: $0.0100 message, $0.0100 session.\nTokens: 1.1k sent, 900 cache hit, 50 received. Cost: $0.0023 message, $0.0123 session.\nApplied edit to hello.py\n"},
	{kind: "aider", name: "error", error: firstgood.KindAuth, reason: "litellm.AuthenticationError", cost: -1, usage: usage(0, 0, unknown), line: "The API provider is not able to authenticate you.",
		text:   "litellm.AuthenticationError: Incorrect API key provided\nThe API provider is not able to authenticate you.",
		stdout: "litellm.AuthenticationError: Incorrect API key provided\nThe API provider is not able to authenticate you.\n"},
	{kind: "aider", name: "got over an error", cost: -1, usage: usage(9, 5, estimated), line: "Tokens: 9 sent, 5 received.",
		text:   "litellm.RateLimitError: slow down\nRetrying in 0.2 seconds...\nTokens: 9 sent, 5 received.",
		stdout: "litellm.RateLimitError: slow down\nRetrying in 0.2 seconds...\nTokens: 9 sent, 5 received.\n"},
}

func (test transcript) check(t *testing.T, p *Parser) {
	t.Helper()
	if got := p.Line(); got != test.line && test.line != "" {
		t.Errorf("line %q, want %q", got, test.line)
	}
	r := p.Result(!test.failed)
	if r.Text != test.text && (r.Error == nil || test.text != "") {
		t.Errorf("text %q, want %q", r.Text, test.text)
	}
	if r.Usage != test.usage {
		t.Errorf("usage %+v, want %+v", r.Usage, test.usage)
	}
	switch {
	case test.cost < 0 && r.Cost != nil:
		t.Errorf("cost %v, want none", *r.Cost)
	case test.cost >= 0 && (r.Cost == nil || *r.Cost != test.cost):
		t.Errorf("cost %v, want %v", r.Cost, test.cost)
	}
	switch {
	case test.error == "" && r.Error != nil:
		t.Errorf("error %v, want none", r.Error)
	case test.error != "" && r.Error == nil:
		t.Errorf("no error, want %s", test.error)
	case test.error != "" && (r.Error.Kind != test.error || r.Error.Status != test.status || !strings.Contains(r.Error.Reason, test.reason) || r.Error.Usage != test.usage):
		t.Errorf("error %+v, want %s, status %d: %s", *r.Error, test.error, test.status, test.reason)
	}
}

func TestParser(t *testing.T) {
	for _, test := range transcripts {
		t.Run(test.kind+"/"+test.name, func(t *testing.T) {
			kind, _ := Named(test.kind)
			whole := kind.Parser()
			if n, err := whole.Write([]byte(test.stdout)); n != len(test.stdout) || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
			if !strings.HasSuffix(test.stdout, "\n") {
				_, _ = whole.Write([]byte("\n"))
			}
			test.check(t, whole)
			bytewise := kind.Parser()
			for _, b := range []byte(test.stdout + "\n") {
				_, _ = bytewise.Write([]byte{b})
			}
			test.check(t, bytewise)
		})
	}
}

// TestParser_NoiseChangesNothing puts garbage, events that nobody knows and a line that is too long between the lines of
// every transcript of an agent that has events.
func TestParser_NoiseChangesNothing(t *testing.T) {
	huge := `{"type":"tool_result","output":"` + strings.Repeat("x", maxLine) + `"}`
	noise := []string{"garbage", "\x00\xff\xfe", "{", "[]", "null", `{"type":7}`, `{"type":"never.heard.of","usage":{"input_tokens":99}}`, `"result"`, huge, "\r"}
	for _, test := range transcripts {
		if test.kind == "aider" {
			continue
		}
		t.Run(test.kind+"/"+test.name, func(t *testing.T) {
			kind, _ := Named(test.kind)
			p := kind.Parser()
			if test.error == firstgood.KindTruncated {
				test.reason = "were left out"
			}
			for line := range strings.Lines(strings.TrimPrefix(test.stdout, "\n")) {
				for i, n := range noise {
					if i == len(noise)-2 && !strings.HasPrefix(test.name, "good") && test.error != firstgood.KindTruncated {
						continue // the huge one takes its time
					}
					_, _ = p.Write([]byte(n + "\n"))
				}
				_, _ = p.Write([]byte(strings.TrimSuffix(line, "\n") + "\r\n"))
			}
			test.check(t, p)
			if cap(p.partial) > 2*maxLine {
				t.Errorf("keeps %d bytes", cap(p.partial))
			}
		})
	}
}

func TestParser_ResultOfALineThatIsTooLongIsMissing(t *testing.T) {
	kind, _ := Named("claude")
	p := kind.Parser()
	for range 3 {
		_, _ = p.Write([]byte(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"`))
		for range maxLine >> 20 {
			_, _ = p.Write([]byte(strings.Repeat("x", 1<<20)))
		}
		if cap(p.partial) > 2*maxLine {
			t.Fatalf("keeps %d bytes", cap(p.partial))
		}
		_, _ = p.Write([]byte("\"}\n"))
	}
	if r := p.Result(true); r.Error == nil || r.Error.Kind != firstgood.KindTruncated || !strings.Contains(r.Error.Reason, "3 of its lines") {
		t.Errorf("got %+v", r.Error)
	}
}

func FuzzParser(f *testing.F) {
	for _, test := range transcripts {
		f.Add(test.stdout, 7)
	}
	f.Fuzz(func(t *testing.T, stdout string, piece int) {
		for _, kind := range Kinds() {
			whole, pieces := kind.Parser(), kind.Parser()
			_, _ = whole.Write([]byte(stdout))
			size := max(1, piece&0xff)
			for rest := stdout; rest != ""; {
				n := min(size, len(rest))
				_, _ = pieces.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if whole.Line() != pieces.Line() {
				t.Fatalf("%s: line %q whole, %q in pieces", kind.Name, whole.Line(), pieces.Line())
			}
			a, b := whole.Result(true), pieces.Result(true)
			if a.Text != b.Text || a.Usage != b.Usage || (a.Error == nil) != (b.Error == nil) || (a.Cost == nil) != (b.Cost == nil) {
				t.Fatalf("%s: %+v whole, %+v in pieces", kind.Name, a, b)
			}
			if a.Usage.InputTokens < 0 || a.Usage.OutputTokens < 0 || a.Cost != nil && *a.Cost < 0 {
				t.Fatalf("%s: negative usage %+v", kind.Name, a)
			}
			if a.Error != nil && a.Error.Reason == "" {
				t.Fatalf("%s: an error without a reason", kind.Name)
			}
			if strings.ContainsAny(whole.Line(), "\n\r\x1b") {
				t.Fatalf("%s: line %q", kind.Name, whole.Line())
			}
		}
	})
}

// BenchmarkParser reads an hour of an agent's work: 20,000 events, among them files of 64 KiB.
func BenchmarkParser(b *testing.B) {
	kind, _ := Named("claude")
	small := `{"type":"assistant","message":{"id":"msg_1","content":[{"type":"text","text":"Let me see."}],"usage":{"input_tokens":10,"output_tokens":1}}}` + "\n"
	large := `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"` + strings.Repeat("x", 64<<10) + `"}]}}` + "\n"
	stream := []byte(strings.Repeat(strings.Repeat(small, 199)+large, 100))
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		p := kind.Parser()
		for piece := range slices.Chunk(stream, 32<<10) {
			_, _ = p.Write(piece)
		}
	}
}
