package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Kinds returns the kinds of delegates that the file always knows. Their specs are *[OpenAI], *[Anthropic], *[Command],
// *[HTTP] and *[Agent].
func Kinds() []Kind {
	return []Kind{
		{Name: "openai", Doc: "a model behind an endpoint that speaks chat completions", Decode: decodeOpenAI, Streams: true},
		{Name: "anthropic", Doc: "a model behind an endpoint that speaks Anthropic's messages", Decode: decodeAnthropic, Streams: true},
		{Name: "command", Doc: "a program", Decode: decodeCommand},
		{Name: "http", Doc: "a web service", Decode: decodeHTTP},
		{Name: "agent", Doc: "a coding agent, by its name or with its settings", Decode: decodeAgent, Word: "kind"},
	}
}

// OpenAI is the spec of a model behind an endpoint that speaks chat completions.
type OpenAI struct {
	Model     Text
	BaseURL   Text   // zero: the provider's own, with what its variables of the environment say
	APIKeyEnv string // the variable that holds the key; "" when not given
	APIKey    Text   // the key itself; zero when not given. At most one of the two is
	System    Text
	Headers   map[string]Text
	Params    map[string]Value // sent as they are
}

const (
	modelDoc     = "the model's name, as its provider writes it"
	keyNameDoc   = "the name of the environment variable that holds the key"
	keyDoc       = "the key; better from the environment, as in ${NAME}"
	headersDoc   = "HTTP headers sent with each request"
	paramsDoc    = "parameters sent as they are, such as temperature"
	besideParams = "it belongs to the delegate: write it beside params"
)

func decodeOpenAI(m *Map) any {
	spec := &OpenAI{
		Model:     m.Text("model", modelDoc, Required),
		BaseURL:   m.Text("base_url", "where the endpoint is, up to and with /v1; the provider's own unless said"),
		APIKeyEnv: m.variable("api_key_env", keyNameDoc, "OPENAI_API_KEY"),
		APIKey:    m.Text("api_key", keyDoc),
		System:    m.Text("system", "the system message"),
		Headers:   m.TextMap("headers", headersDoc, headerName),
		Params:    m.Values("params", paramsDoc),
	}
	checkBase(m, "base_url", spec.BaseURL)
	if raw, ok := spec.BaseURL.Static(); ok && strings.HasSuffix(strings.TrimRight(raw, "/"), "/chat/completions") {
		m.Errorf("base_url", "leave out /chat/completions, which is added to each request")
	}
	checkKeys(m, spec.APIKey)
	checkParams(m, spec.Params, map[string]string{
		"model":    besideParams,
		"messages": "the messages are made from the brief",
		"stream":   "whether a reply is streamed is not a setting",
	})
	checkHeaders(m, spec.Headers)
	return spec
}

// Anthropic is the spec of a model behind an endpoint that speaks Anthropic's messages.
type Anthropic struct {
	Model     Text
	BaseURL   Text   // zero: the provider's own, with what its variables of the environment say
	APIKeyEnv string // the variable that holds the key; "" when not given
	APIKey    Text   // the key itself; zero when not given. At most one of the two is
	System    Text
	MaxTokens int // of the reply; 0 when not given
	Headers   map[string]Text
	Params    map[string]Value // sent as they are
}

func decodeAnthropic(m *Map) any {
	spec := &Anthropic{
		Model:     m.Text("model", modelDoc, Required),
		BaseURL:   m.Text("base_url", "where the endpoint is, without /v1; the provider's own unless said"),
		APIKeyEnv: m.variable("api_key_env", keyNameDoc, "ANTHROPIC_API_KEY"),
		APIKey:    m.Text("api_key", keyDoc),
		System:    m.Text("system", "the system prompt"),
		MaxTokens: m.Int("max_tokens", "how many tokens the reply may have; 4096 unless said", 1, 10_000_000, 0),
		Headers:   m.TextMap("headers", headersDoc, headerName),
		Params:    m.Values("params", paramsDoc),
	}
	checkBase(m, "base_url", spec.BaseURL)
	if raw, ok := spec.BaseURL.Static(); ok {
		for _, end := range []string{"/v1/messages", "/messages", "/v1"} {
			if strings.HasSuffix(strings.TrimRight(raw, "/"), end) {
				m.Errorf("base_url", "leave out %s; /v1/messages is added to each request", end)
				break
			}
		}
	}
	checkKeys(m, spec.APIKey)
	checkParams(m, spec.Params, map[string]string{
		"model":      besideParams,
		"system":     besideParams,
		"max_tokens": besideParams,
		"messages":   "the messages are made from the brief",
		"stream":     "whether a reply is streamed is not a setting",
	})
	checkHeaders(m, spec.Headers)
	return spec
}

// Command is the spec of a program.
type Command struct {
	Argv      []Text
	Stdin     string        // "brief", "none", or "" when not given: the brief, unless {brief} is in Argv
	Env       []Variable    // nil when not given; empty when the program is to get none
	Dir       Text          // zero: where the run is started
	Grace     time.Duration // between asking it to stop and ending it; 1s unless given
	MaxOutput int64         // in bytes; 10 MiB unless given
	Isolate   string        // one of the Isolate constants, or "", which is IsolateNone
}

// checkCommand reports what no program can be run with.
func checkCommand(m *Map, c *Command) {
	const nul = "it holds a NUL byte, which no program can be given; remove it"
	for i, arg := range c.Argv {
		path := index(m.at("argv"), i)
		switch item := m.node.entry("argv").value.items[i]; {
		case strings.ContainsRune(arg.written(), 0):
			m.r.errorf(item, path, nul)
		case i == 0 && holdsBrief(arg.written()):
			m.r.errorf(item, path, "the brief cannot choose the program; name it, and put {brief} into an argument after it")
		}
	}
	if strings.ContainsRune(c.Dir.written(), 0) {
		m.Errorf("dir", nul)
	}
	for _, v := range c.Env {
		if strings.ContainsRune(v.Value.written(), 0) {
			m.r.report(SeverityError, v.Value.pos, v.Value.path, nul)
		}
	}
}

// Variable is an environment variable that a program gets.
type Variable struct {
	Name  string
	Pass  bool // as it is in the environment of the run, if it is set there; Value is zero
	Value Text
}

func decodeCommand(m *Map) any {
	spec := &Command{
		Argv:      m.Command("argv", "the program and its arguments, one item each, in which {brief} stands for the brief", Required),
		Stdin:     m.Enum("stdin", "what the program reads: the brief unless {brief} is in argv", "", "brief", "none"),
		Env:       m.variables("env", "the environment variables it gets: a list of names to pass on and NAME=value, or a mapping of names to values"),
		Dir:       m.Text("dir", "the folder it runs in"),
		Grace:     m.Duration("grace", "how long it may take to end once it was told to; 1s unless said", time.Second),
		MaxOutput: m.Size("max_output", "how much it may print, such as 10 MiB, which is the default; more is a failure", 10<<20),
		Isolate:   m.isolate(""),
	}
	checkCommand(m, spec)
	if spec.Stdin == "none" && len(spec.Argv) > 0 && !slices.ContainsFunc(spec.Argv, func(t Text) bool { return holdsBrief(t.written()) }) {
		m.Warnf("stdin", "the program never gets the brief: put {brief} into argv, or leave stdin out")
	}
	return spec
}

// HTTP is the spec of a web service.
type HTTP struct {
	URL     Text
	Method  string // POST where there is a body, else GET, unless given
	Headers map[string]Text
	JSON    Value // the body
	HasJSON bool
	Result  Text // the path of the reply in the answer; zero: the whole answer
}

func decodeHTTP(m *Map) any {
	spec := &HTTP{
		URL:     m.Text("url", "where the service is; {brief} stands for the brief, escaped", Required),
		Method:  m.Enum("method", "the HTTP method; POST with json, else GET", "", "GET", "POST", "PUT", "PATCH", "DELETE"),
		Headers: m.TextMap("headers", headersDoc, headerName),
		Result:  m.Text("result", "where the reply is in the answer's JSON, such as answer.text; the whole answer unless said"),
	}
	spec.JSON, spec.HasJSON = m.Value("json", "the body, sent as JSON, in whose texts {brief} stands for the brief")
	checkService(m, "url", spec.URL)
	if steps, ok := spec.Result.Static(); ok && steps != "" && slices.Contains(strings.Split(steps, "."), "") {
		m.Errorf("result", "%s has an empty step; write names and places joined by dots, such as items.0.title", quote(steps))
	}
	checkHeaders(m, spec.Headers)
	if spec.Method == "GET" && spec.HasJSON {
		m.Errorf("method", "a GET request has no body; write POST, or leave json out")
	}
	if spec.Method == "" {
		spec.Method = "GET"
		if spec.HasJSON {
			spec.Method = "POST"
		}
	}
	holds := holdsBrief(spec.URL.written())
	for text := range spec.JSON.Texts {
		holds = holds || holdsBrief(text.written())
	}
	if !spec.URL.IsZero() && !holds {
		m.Warnf("", "the service never gets the brief: put {brief} into url or json")
	}
	return spec
}

// inside reports an error about a key of the mapping under key.
func (m *Map) inside(key, inner, format string, args ...any) {
	if e := m.node.entry(key).value.entry(inner); e != nil {
		m.r.report(SeverityError, e.pos, step(m.at(key), inner), format, args...)
	}
}

// checkKeys reports two keys of an endpoint, and one that cannot be sent.
func checkKeys(m *Map, key Text) {
	if m.Has("api_key") && m.Has("api_key_env") {
		m.Errorf("api_key", "both api_key and api_key_env are given; keep one")
	}
	if control := unsendable(key); control != "" {
		m.Errorf("api_key", "a key cannot hold %s", control)
	}
}

// checkParams reports parameters that have another place, which ways say.
func checkParams(m *Map, params map[string]Value, ways map[string]string) {
	for key, way := range ways {
		if _, ok := params[key]; ok {
			m.inside("params", key, "%s cannot be a parameter; %s", key, way)
		}
	}
}

var tokenText = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func headerName(name string) error {
	if tokenText.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%s cannot be the name of a header; use letters, digits and -", quote(name))
}

// checkHeaders reports names that are the same header, and values that cannot be sent in one.
func checkHeaders(m *Map, headers map[string]Text) {
	if len(headers) == 0 {
		return
	}
	first := map[string]string{}
	for _, e := range m.node.entry("headers").value.keys {
		text, ok := headers[e.key]
		if !ok {
			continue
		}
		folded := strings.ToLower(e.key)
		if before, twice := first[folded]; twice {
			m.inside("headers", e.key, "this is the same header as %s; keep one", quote(before))
		}
		first[folded] = e.key
		if control := unsendable(text); control != "" {
			m.inside("headers", e.key, "a header cannot hold %s", control)
		}
	}
}

// unsendable says what of the text no header can hold, and the way out; "" for nothing.
func unsendable(text Text) string {
	switch raw := text.written(); {
	case strings.ContainsAny(raw, "\r\n"):
		return "a line break; end a block text with |- or put it on one line"
	case strings.ContainsFunc(raw, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }):
		return "a control character; remove it"
	}
	return ""
}

// variable returns the name of an environment variable, such as the example.
func (m *Map) variable(key, doc, example string) string {
	n := m.take(key, doc, nil, func() schema { return schema{"type": "string", "pattern": justName.String()} })
	if n == nil {
		return ""
	}
	if n.isText() && isVariableName(n.text) {
		return n.text
	}
	if n.isText() && justVariable.MatchString(n.text) {
		m.r.errorf(n, m.at(key), "this wants the name alone; write %s", strings.Trim(n.text, "${}"))
	} else {
		m.r.errorf(n, m.at(key), "this wants the name of an environment variable, such as %s, not the key itself", example)
	}
	return ""
}

// variables returns what a program gets as its environment.
func (m *Map) variables(key, doc string) []Variable {
	n := m.take(key, doc, nil, func() schema {
		return schema{"oneOf": []any{schema{"type": "array", "items": textSchema()}, schema{"type": "object", "additionalProperties": textSchema()}}}
	})
	if n == nil {
		return nil
	}
	vars := []Variable{}
	first := map[string]bool{}
	add := func(pos Pos, path string, v Variable) {
		switch {
		case !justName.MatchString(v.Name) && v.Pass: // it may be anything, a credential too
			m.r.report(SeverityError, pos, path, "this is neither the name of a variable nor NAME=value")
		case !justName.MatchString(v.Name):
			m.r.report(SeverityError, pos, path, "%s cannot be the name of a variable; use letters, digits and _", quote(v.Name))
		case first[v.Name]:
			m.r.report(SeverityError, pos, path, "the variable %s is here twice; keep one", v.Name)
		default:
			first[v.Name] = true
			vars = append(vars, v)
		}
	}
	switch n.shape {
	case mapping:
		for _, e := range n.keys {
			path := step(m.at(key), e.key)
			if e.value.isNull() {
				m.r.report(SeverityError, e.pos, path, "the key has no value; to pass a variable on, write a list of names: [%s]", e.key)
				continue
			}
			add(e.pos, path, Variable{Name: e.key, Value: m.r.text(e.value, path)})
		}
	case list:
		for i, item := range n.items {
			path := index(m.at(key), i)
			if !item.isText() {
				m.r.mismatch(item, path, "a name, or NAME=value", quoting(item))
				continue
			}
			name, value, assigned := strings.Cut(item.text, "=")
			if !assigned {
				add(item.pos, path, Variable{Name: name, Pass: true})
				continue
			}
			whole := m.r.parseText(&node{tag: "!!str", text: value, hidden: item.hidden, pos: item.pos}, path)
			add(item.pos, path, Variable{Name: name, Value: whole})
		}
	default:
		m.r.mismatch(n, m.at(key), "a list of names and NAME=value, or a mapping", "write for example [HOME, LANG=C]")
	}
	return vars
}
