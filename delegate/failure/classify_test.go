package failure

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

func classifier(t testing.TB, config Config) *Classifier {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// responses are exchanges that came to an end in the ordinary way.
var responses = []struct {
	name   string
	status int
	body   string
	kind   firstgood.Kind // "" for no failure
	reason string
}{
	// No failure.
	{"completion", 200, `{"choices":[{"message":{"content":"an \"error\" is {\"error\":{\"message\":\"x\"}}"}}]}`, "", ""},
	{"null error", 200, `{"error":null,"choices":[]}`, "", ""},
	{"empty error", 200, `{"error":{},"answer":1}`, "", ""},
	{"text error beside an answer", 200, `{"error":"none","answer":"yes"}`, "", ""},
	{"number error", 200, `{"error":0.02}`, "", ""},
	{"empty body", 204, ``, "", ""},
	{"text body", 200, `an "error" occurred`, "", ""},
	{"created", 201, `{"id":1}`, "", ""},
	{"list", 200, `[{"name":"error"}]`, "", ""},

	// The code comes first.
	{"rate limit", 429, `{"error":{"message":"Rate limit reached for gpt-5","type":"requests","param":null,"code":"rate_limit_exceeded"}}`, firstgood.KindRateLimited, "429 Too Many Requests: Rate limit reached for gpt-5 (rate_limit_exceeded)"},
	{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`, firstgood.KindRateLimited, "429 Too Many Requests: You exceeded your current quota (insufficient_quota)"},
	{"quota with another status", 403, `{"error":{"message":"no credit","code":"insufficient_quota"}}`, firstgood.KindRateLimited, "403 Forbidden: no credit (insufficient_quota)"},
	{"slow down", 503, `{"error":{"code":"slow_down"}}`, firstgood.KindRateLimited, "503 Service Unavailable: slow_down"},
	{"context", 400, `{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}`, firstgood.KindContextLength, "400 Bad Request: too much (context_length_exceeded)"},
	{"context as 500", 500, `{"error":{"message":"too much","code":"context_length_exceeded"}}`, firstgood.KindContextLength, "500 Internal Server Error: too much (context_length_exceeded)"},
	{"context in capitals", 400, `{"error":{"message":"too much","code":"CONTEXT_LENGTH_EXCEEDED"}}`, firstgood.KindContextLength, "400 Bad Request: too much (CONTEXT_LENGTH_EXCEEDED)"},
	{"string too long", 400, `{"error":{"message":"Invalid 'messages[0].content': string too long.","code":"string_above_max_length"}}`, firstgood.KindContextLength, "400 Bad Request: Invalid 'messages[0].content': string too long. (string_above_max_length)"},
	{"key", 401, `{"error":{"message":"Incorrect API key provided: sk-a***z.","type":"invalid_request_error","code":"invalid_api_key"}}`, firstgood.KindAuth, "401 Unauthorized: Incorrect API key provided: sk-a***z. (invalid_api_key)"},
	{"key as 400", 400, `{"error":{"message":"no","code":"invalid_api_key"}}`, firstgood.KindAuth, "400 Bad Request: no (invalid_api_key)"},
	{"model", 404, `{"error":{"message":"The model x does not exist","type":"invalid_request_error","code":"model_not_found"}}`, firstgood.KindBadRequest, "404 Not Found: The model x does not exist (model_not_found)"},
	{"policy", 400, `{"error":{"message":"no","type":"invalid_request_error","code":"content_policy_violation"}}`, firstgood.KindRefused, "400 Bad Request: no (content_policy_violation)"},
	{"filter", 400, `{"error":{"message":"no","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, firstgood.KindRefused, "400 Bad Request: no (content_filter)"},
	{"flagged prompt", 400, `{"error":{"message":"Invalid prompt","code":"invalid_prompt"}}`, firstgood.KindRefused, "400 Bad Request: Invalid prompt (invalid_prompt)"},
	{"server error", 500, `{"error":{"message":"The server had an error","type":"server_error","code":null}}`, firstgood.KindUnavailable, "500 Internal Server Error: The server had an error (server_error)"},
	{"server error code on 400", 400, `{"error":{"message":"x","code":"server_error"}}`, firstgood.KindUnavailable, "400 Bad Request: x (server_error)"},
	{"google", 429, `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}`, firstgood.KindRateLimited, "429 Too Many Requests: Quota exceeded (RESOURCE_EXHAUSTED)"},
	{"google list", 503, `[{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}]`, firstgood.KindUnavailable, "503 Service Unavailable: overloaded (UNAVAILABLE)"},

	// Then the words, on 200, 400, 413 and 422.
	{"context in words", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 9000.","type":"invalid_request_error","code":null}}`, firstgood.KindContextLength, "400 Bad Request: This model's maximum context length is 8192 tokens. However, you requested 9000. (invalid_request_error)"},
	{"context of llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}`, firstgood.KindContextLength, "400 Bad Request: the request exceeds the available context size, try increasing it (exceed_context_size_error)"},
	{"context of anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, firstgood.KindContextLength, "400 Bad Request: prompt is too long: 210000 tokens > 200000 maximum (invalid_request_error)"},
	{"context of gemini", 400, `{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, firstgood.KindContextLength, "400 Bad Request: The input token count (1200000) exceeds the maximum number of tokens allowed (1048576). (INVALID_ARGUMENT)"},
	{"context of a 422", 422, `{"detail":"input length 9000 exceeds maximum context length 4096"}`, firstgood.KindContextLength, "422 Unprocessable Entity: input length 9000 exceeds maximum context length 4096"},
	{"words do not count on 500", 500, `{"error":{"message":"maximum context length"}}`, firstgood.KindUnavailable, "500 Internal Server Error: maximum context length"},
	{"words do not count on 401", 401, `{"error":{"message":"rate limit"}}`, firstgood.KindAuth, "401 Unauthorized: rate limit"},
	{"too many output tokens are no context", 400, `{"error":{"message":"max_tokens is too large: 9000. This model supports at most 4096 completion tokens","type":"invalid_request_error"}}`, firstgood.KindBadRequest, "400 Bad Request: max_tokens is too large: 9000. This model supports at most 4096 completion tokens (invalid_request_error)"},
	{"azure policy", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy."}}`, firstgood.KindRefused, "400 Bad Request: The response was filtered due to the prompt triggering Azure OpenAI's content management policy."},
	{"google key", 400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, firstgood.KindAuth, "400 Bad Request: API key not valid. Please pass a valid API key. (INVALID_ARGUMENT)"},

	// Then the status.
	{"401", 401, ``, firstgood.KindAuth, "401 Unauthorized"},
	{"403", 403, `{"detail":"Forbidden"}`, firstgood.KindAuth, "403 Forbidden: Forbidden"},
	{"408", 408, ``, firstgood.KindTimeout, "408 Request Timeout"},
	{"413", 413, `<html>`, firstgood.KindContextLength, "413 Request Entity Too Large"},
	{"429", 429, ``, firstgood.KindRateLimited, "429 Too Many Requests"},
	{"429 whose type says less", 429, `{"error":{"message":"x","type":"invalid_request_error"}}`, firstgood.KindRateLimited, "429 Too Many Requests: x (invalid_request_error)"},
	{"500", 500, `oops`, firstgood.KindUnavailable, "500 Internal Server Error"},
	{"502", 502, `<html>Bad Gateway</html>`, firstgood.KindUnavailable, "502 Bad Gateway"},
	{"529", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, firstgood.KindUnavailable, "status 529: Overloaded (overloaded_error)"},
	{"400", 400, ``, firstgood.KindBadRequest, "400 Bad Request"},
	{"400 with a message", 400, `{"error":{"message":"Unknown parameter: 'x'.","type":"invalid_request_error","param":"x","code":"unknown_parameter"}}`, firstgood.KindBadRequest, "400 Bad Request: Unknown parameter: 'x'. (unknown_parameter)"},
	{"422", 422, `{"detail":[{"loc":["body"],"msg":"field required","type":"value_error"}]}`, firstgood.KindBadRequest, "422 Unprocessable Entity: field required"},
	{"404", 404, `404 page not found`, firstgood.KindError, "404 Not Found"},
	{"404 of a model", 404, `{"error":"model 'x' not found"}`, firstgood.KindBadRequest, "404 Not Found: model 'x' not found"},
	{"302", 302, ``, firstgood.KindError, "302 Found"},
	{"418", 418, `{"message":"short and stout"}`, firstgood.KindError, "418 I'm a teapot: short and stout"},
	{"vllm", 400, `{"object":"error","message":"bad","type":"BadRequestError","param":null,"code":400}`, firstgood.KindBadRequest, "400 Bad Request: bad (BadRequestError)"},

	// A 200 that holds an error object is that error.
	{"200 rate limit", 200, `{"error":{"message":"slow","code":"rate_limit_exceeded"}}`, firstgood.KindRateLimited, "slow (rate_limit_exceeded)"},
	{"200 with a status as code", 200, `{"error":{"message":"provider returned error","code":502},"user_id":"u"}`, firstgood.KindUnavailable, "provider returned error"},
	{"200 with a status as text", 200, `{"error":{"message":"no","code":"401"}}`, firstgood.KindAuth, "no"},
	{"200 rate limit in words", 200, `{"error":"Rate limit exceeded, try later"}`, firstgood.KindRateLimited, "Rate limit exceeded, try later"},
	{"200 with a type", 200, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, firstgood.KindUnavailable, "busy (overloaded_error)"},
	{"200 invalid request", 200, `{"error":{"type":"invalid_request_error","message":"bad"}}`, firstgood.KindBadRequest, "bad (invalid_request_error)"},
	{"200 flat", 200, `{"object":"error","message":"bad","code":400}`, firstgood.KindBadRequest, "bad"},
	{"200 of unknown kind", 200, `{"error":{"foo":1}}`, firstgood.KindError, "no message"},

	// Shapes nobody promised.
	{"cut body", 503, `{"error":{"mess`, firstgood.KindUnavailable, "503 Service Unavailable"},
	{"message is no text", 400, `{"error":{"message":{"a":1},"code":[1]}}`, firstgood.KindBadRequest, "400 Bad Request"},
	{"several lines", 500, `{"error":{"message":"one\n two\r\n\tthree"}}`, firstgood.KindUnavailable, "500 Internal Server Error: one two three"},
}

func TestClassifyResponses(t *testing.T) {
	c := classifier(t, Config{})
	for _, r := range responses {
		t.Run(r.name, func(t *testing.T) {
			f := c.Classify(r.status, nil, []byte(r.body), nil)
			if r.kind == "" {
				if f != nil {
					t.Fatalf("got %s: %s, want no failure", f.Kind, f.Reason)
				}
				return
			}
			if f == nil {
				t.Fatalf("got no failure, want %s", r.kind)
			}
			if f.Kind != r.kind || f.Reason != r.reason || f.Status != r.status {
				t.Errorf("got  %s %d: %s\nwant %s %d: %s", f.Kind, f.Status, f.Reason, r.kind, r.status, r.reason)
			}
			if said := (*ServerError)(nil); !errors.As(f, &said) {
				t.Error("the failure holds no *ServerError")
			}
		})
	}
}

func TestServerErrorIsFound(t *testing.T) {
	f := classifier(t, Config{}).Classify(400, nil, []byte(`{"error":{"message":"no\nway","type":"t","code":"c"}}`), nil)
	var said *ServerError
	if !errors.As(f, &said) || said.Code != "c" || said.Type != "t" || said.Message != "no way" {
		t.Errorf("got %+v", said)
	}
}

func TestPageIsDetail(t *testing.T) {
	c := classifier(t, Config{Secrets: []string{"hunter2hunter2"}})
	if f := c.Classify(502, nil, []byte(" <h1>bad gateway</h1> hunter2hunter2\n"), nil); f.Detail != "<h1>bad gateway</h1> [redacted]" {
		t.Errorf("got %q", f.Detail)
	}
	if f := c.Classify(502, nil, []byte(strings.Repeat("é", 3000)), nil); f.Detail != strings.Repeat("é", firstgood.ExcerptUnits) {
		t.Errorf("got %d bytes", len(f.Detail))
	}
	if f := c.Classify(502, nil, []byte(strings.Repeat("x", firstgood.ExcerptUnits-7)+"hunter2hunter2"), nil); strings.Contains(f.Detail, "hunter2") {
		t.Errorf("the cut left a part of a secret: …%s", f.Detail[firstgood.ExcerptUnits-20:])
	}
	if f := c.Classify(502, nil, []byte("\xff\xfe"), nil); f.Detail != "" {
		t.Errorf("got %q for bytes that are no text", f.Detail)
	}
}

func TestRetryAfter(t *testing.T) {
	date := func(after time.Duration) string { return time.Now().Add(after).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"none", http.Header{}, 0},
		{"nil", nil, 0},
		{"seconds", http.Header{"Retry-After": {"60"}}, time.Minute},
		{"part of a second", http.Header{"Retry-After": {"0.25"}}, 250 * time.Millisecond},
		{"milliseconds first", http.Header{"Retry-After": {"60"}, "Retry-After-Ms": {"1500"}}, 1500 * time.Millisecond},
		{"date by the other side's clock", http.Header{"Retry-After": {"Wed, 21 Oct 2015 07:30:00 GMT"}, "Date": {"Wed, 21 Oct 2015 07:28:00 GMT"}}, 2 * time.Minute},
		{"past date", http.Header{"Retry-After": {date(-time.Hour)}}, 0},
		{"negative", http.Header{"Retry-After": {"-5"}}, 0},
		{"not a number", http.Header{"Retry-After": {"NaN"}}, 0},
		{"words", http.Header{"Retry-After": {"soon"}}, 0},
		{"for ever", http.Header{"Retry-After": {"1e300"}}, 1<<63 - 1},
	} {
		f := classifier(t, Config{}).Classify(429, c.header, nil, nil)
		if f.RetryAfter != c.want {
			t.Errorf("%s: got %v, want %v", c.name, f.RetryAfter, c.want)
		}
	}
	if f := classifier(t, Config{}).Classify(503, http.Header{"Retry-After": {date(time.Hour)}}, nil, nil); f.RetryAfter < 59*time.Minute || f.RetryAfter > time.Hour {
		t.Errorf("date by our own clock: got %v, want about an hour", f.RetryAfter)
	}
}

func TestWindowInWords(t *testing.T) {
	for message, want := range map[string]time.Duration{
		"Please try again in 6ms. Visit the page":   6 * time.Millisecond,
		"Please try again in 1h2m3.5s.":             time.Hour + 2*time.Minute + 3500*time.Millisecond,
		"please retry in 36.429760048s.":            36429760048,
		"Please retry after 1 second":               time.Second,
		"Try again in 2.5 minutes":                  150 * time.Second,
		"retry after 2 HOURS":                       2 * time.Hour,
		"try again in a moment":                     0,
		"try again in 5":                            0,
		"try again in 5 apples":                     0,
		"try again in 5sections":                    0,
		"Retry after 99999999999999999999 seconds":  1<<63 - 1,
		"retry in 99999999999999999999h":            0,
		"the window is 20s, so you may retry later": 0,
	} {
		if got := inWords(message); got != want {
			t.Errorf("%q: got %v, want %v", message, got, want)
		}
	}
	// It counts where waiting helps, and nowhere else.
	if f := classifier(t, Config{}).Classify(400, nil, []byte(`{"error":"bad, try again in 5s"}`), nil); f.RetryAfter != 0 {
		t.Errorf("a bad request is to be tried after %v", f.RetryAfter)
	}
}

// S11: a context overflow worded by a server that no one has met.
func TestS11_RulesAreConfigurable(t *testing.T) {
	body := []byte(`{"error":{"message":"Der Text ist zu lang","code":"rate_limit_exceeded"}}`)
	if f := classifier(t, Config{}).Classify(400, nil, body, nil); f.Kind != firstgood.KindRateLimited {
		t.Fatalf("without a rule: got %s", f.Kind)
	}
	c := classifier(t, Config{Rules: []Rule{
		{Message: `zu lang`, Code: "other", Kind: firstgood.KindRefused},
		{Message: `TEXT ist zu (lang|groß)`, Kind: firstgood.KindContextLength},
		{Status: 418, Kind: firstgood.KindRefused},
		{Message: "kaputt", Status: 5, Kind: firstgood.KindTruncated},
		{Type: "T", Kind: firstgood.KindTimeout},
	}})
	for _, r := range []struct {
		status int
		body   string
		want   firstgood.Kind
	}{
		{400, string(body), firstgood.KindContextLength},
		{500, string(body), firstgood.KindRateLimited}, // words alone do not count there
		{418, ``, firstgood.KindRefused},
		{503, `{"error":"kaputt"}`, firstgood.KindTruncated},
		{400, `{"error":"kaputt"}`, firstgood.KindBadRequest},
		{400, `{"error":{"type":"t"}}`, firstgood.KindTimeout},
	} {
		if f := c.Classify(r.status, nil, []byte(r.body), nil); f.Kind != r.want {
			t.Errorf("%d %s: got %s, want %s", r.status, r.body, f.Kind, r.want)
		}
	}
}

func TestNewRefusesRules(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{Message: "x"}, `failure rule 1: got kind ""`},
		{Rule{Message: "x", Kind: firstgood.KindExhausted}, `failure rule 1: got kind "exhausted"`},
		{Rule{Kind: firstgood.KindAuth}, "failure rule 1: it needs a code, a type, a message or a status"},
		{Rule{Status: 6, Kind: firstgood.KindAuth}, "failure rule 1: got status 6, want"},
		{Rule{Status: 600, Kind: firstgood.KindAuth}, "failure rule 1: got status 600, want"},
		{Rule{Message: "(", Kind: firstgood.KindAuth}, "failure rule 1: message: error parsing regexp"},
	} {
		if _, err := New(Config{Rules: []Rule{c.rule}}); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %s…", c.rule, err, c.want)
		}
	}
}

// Each row of the built-in table decides something: none stands behind one that always wins.
func TestBuiltinRowsAreReached(t *testing.T) {
	for i, r := range builtin() {
		if r.Message != "" {
			continue // their words are tried in the tests above
		}
		e := evidence{status: r.Status, codes: []string{r.Code}, kind: r.Type}
		if e.status < 100 {
			e.status = max(200, 100*r.Status)
		}
		for j, other := range classifier(t, Config{}).rules {
			if other.holds(e.status, e) {
				if i != j {
					t.Errorf("row %d %+v is decided by row %d %+v", i, r, j, other.Rule)
				}
				break
			}
		}
	}
}

func TestClassifyErrors(t *testing.T) {
	c := classifier(t, Config{})
	in := func(err error) error {
		return &url.Error{Op: "Post", URL: "https://user:pa55word@api.example/v1/x?key=s3cret", Err: err}
	}
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, e := range []struct {
		name   string
		status int
		err    error
		kind   firstgood.Kind
		reason string
	}{
		{"refused", 0, in(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))), firstgood.KindUnavailable, "no connection from https://api.example/v1/x: dial tcp: connect: connection refused"},
		{"dns", 0, in(dial(&net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true})), firstgood.KindUnavailable, "no connection from https://api.example/v1/x: dial tcp: lookup api.example: no such host"},
		{"connecting took too long", 0, in(dial(os.ErrDeadlineExceeded)), firstgood.KindUnavailable, "no connection from https://api.example/v1/x: dial tcp: i/o timeout"},
		{"reset", 0, in(&net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), firstgood.KindUnavailable, "no answer from https://api.example/v1/x: read tcp: read: connection reset by peer"},
		{"eof", 0, in(io.EOF), firstgood.KindUnavailable, "no answer from https://api.example/v1/x: EOF"},
		{"tls", 0, in(&tls.CertificateVerificationError{Err: errors.New("signed by unknown authority")}), firstgood.KindUnavailable, "no answer from https://api.example/v1/x: tls: failed to verify certificate: signed by unknown authority"},
		{"deadline", 0, in(context.DeadlineExceeded), firstgood.KindTimeout, "no answer in time from https://api.example/v1/x: context deadline exceeded"},
		{"wrapped twice", 0, fmt.Errorf("ask: %w", in(in(io.EOF))), firstgood.KindUnavailable, "no answer from https://api.example/v1/x: EOF"},
		{"cut", 200, io.ErrUnexpectedEOF, firstgood.KindTruncated, "the reply stops short: unexpected EOF"},
		{"reset in the body", 200, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, firstgood.KindTruncated, "the reply stops short: read tcp: connection reset by peer"},
		{"deadline in the body", 200, context.DeadlineExceeded, firstgood.KindTimeout, "no answer in time: context deadline exceeded"},
		{"error response that is cut", 429, io.ErrUnexpectedEOF, firstgood.KindRateLimited, "429 Too Many Requests"},
		{"own", 0, in(&firstgood.Error{Kind: firstgood.KindRefused, Reason: "mine", Status: 451}), firstgood.KindRefused, "mine"},
	} {
		t.Run(e.name, func(t *testing.T) {
			f := c.Classify(e.status, nil, nil, e.err)
			if f.Kind != e.kind || f.Reason != e.reason {
				t.Errorf("got  %s: %s\nwant %s: %s", f.Kind, f.Reason, e.kind, e.reason)
			}
			for err := error(f); err != nil; err = errors.Unwrap(err) {
				if text := err.Error(); strings.Contains(text, "pa55") || strings.Contains(text, "s3cret") {
					t.Errorf("%T holds a secret: %s", err, text)
				}
			}
		})
	}
}

func TestClassifyRealConnections(t *testing.T) {
	c := classifier(t, Config{})
	closed := httptest.NewServer(nil)
	closed.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	defer silent.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	for name, address := range map[string]string{"refused": closed.URL, "eof": silent.URL, "tls": untrusted.URL, "http to https": "https" + silent.URL[4:]} {
		response, err := http.Get(address)
		if err == nil {
			_ = response.Body.Close()
			t.Fatalf("%s: got %s", name, response.Status)
		}
		if f := c.Classify(0, nil, nil, err); f.Kind != firstgood.KindUnavailable || f.Status != 0 {
			t.Errorf("%s: got %s, status %d: %s", name, f.Kind, f.Status, f.Reason)
		}
	}
}

func TestSecretsAreHidden(t *testing.T) {
	c := classifier(t, Config{Secrets: []string{"Bearer sk-1234567890", "sk-1234", "short", "p&ss=word", "sk-1234567890-longer"}})
	body := []byte(`{"error":{"message":"key sk-1234567890 or sk-1234567890-longer or p%26ss%3Dword or p&ss=word is short","code":"sk-1234567890","type":"Bearer sk-1234567890"}}`)
	f := c.Classify(401, nil, body, nil)
	if want := "401 Unauthorized: key [redacted] or [redacted] or [redacted] or [redacted] is short ([redacted])"; f.Reason != want {
		t.Errorf("got  %q\nwant %q", f.Reason, want)
	}
	if said := (*ServerError)(nil); !errors.As(f, &said) || said.Type != "[redacted]" {
		t.Errorf("got %+v", said)
	}
}

func FuzzClassify(f *testing.F) {
	for _, r := range responses {
		f.Add(r.status, r.body, "1")
	}
	c := classifier(f, Config{Secrets: []string{"correct horse"}})
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		got := c.Classify(status, http.Header{"Retry-After": {after}}, []byte(body), nil)
		switch {
		case got == nil && status >= 300:
			t.Errorf("no failure for status %d", status)
		case got == nil:
		case got.Reason == "" || strings.Contains(got.Reason, "\n") || strings.Contains(got.Reason+got.Detail, "correct horse"):
			t.Errorf("reason %q, detail %q", got.Reason, got.Detail)
		case got.RetryAfter < 0 || got.Status != status:
			t.Errorf("got %+v", got)
		}
	})
}
