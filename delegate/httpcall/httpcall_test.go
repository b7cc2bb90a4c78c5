package httpcall

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// serve starts a server and returns a delegate for config, whose URL is a path below the server's.
func serve(t testing.TB, config Config, handler http.HandlerFunc) *Delegate {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	config.URL = server.URL + config.URL
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

// says is a handler with a fixed answer.
func says(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// failureOf returns the failure of an attempt that must have one.
func failureOf(t testing.TB, reply firstgood.Reply, err error) *firstgood.Error {
	t.Helper()
	var f *firstgood.Error
	if !errors.As(err, &f) {
		t.Fatalf("got %q, %v, want a *firstgood.Error", reply.String(), err)
	}
	return f
}

// answer lets the work answer over HTTP.
func answer(w http.ResponseWriter, r *http.Request, work *delegatetest.Work, brief string) {
	text, err := work.Do(r.Context(), brief)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": err.Error()}})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"answer": map[string]string{"text": text}})
}

func TestSuiteJSON(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
		work := delegatetest.NewWork(b)
		return work.Subject(serve(t, Config{URL: "/ask", JSON: map[string]any{"q": "{brief}"}, Result: "answer.text"}, func(w http.ResponseWriter, r *http.Request) {
			var body struct{ Q string }
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			answer(w, r, work, body.Q)
		}))
	}})
}

func TestSuiteQuery(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{
		Skip: map[string]string{"brief/large": "servers take no header of 1 MB"},
		New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
			work := delegatetest.NewWork(b)
			return work.Subject(serve(t, Config{URL: "/ask?q={brief}&n=1", Result: "answer.text"}, func(w http.ResponseWriter, r *http.Request) {
				answer(w, r, work, r.URL.Query().Get("q"))
			}))
		}})
}

func TestSuitePath(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{
		Skip: map[string]string{
			"brief/large": "servers take no header of 1 MB",
			"brief/dots":  "it would be a step in the path; see TestS27",
		},
		New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
			work := delegatetest.NewWork(b)
			return work.Subject(serve(t, Config{URL: "/ask/{brief}/now", Result: "answer.text"}, func(w http.ResponseWriter, r *http.Request) {
				path, query, _ := strings.Cut(r.RequestURI, "?")
				if query != "" || strings.Count(path, "/") != 3 {
					t.Errorf("the brief left its segment: %s", r.RequestURI)
				}
				answer(w, r, work, strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/ask/"), "/now"))
			}))
		}})
}

func TestRequest(t *testing.T) {
	type request struct{ method, uri, host, body, contentType, key string }
	for _, c := range []struct {
		name   string
		config Config
		want   request
	}{
		{"get", Config{URL: "/a?q={brief}"}, request{"GET", "/a?q=b+%26+%2F", "", "", "", ""}},
		{"path", Config{URL: "/a/{brief}/x{brief}?q=1"}, request{"GET", "/a/b%20&%20%2F/xb%20&%20%2F?q=1", "", "", "", ""}},
		{"literal", Config{URL: "/a?q={{brief}}&r={{{brief}}}"}, request{"GET", "/a?q={brief}&r={{brief}}", "", "", "", ""}},
		{"post", Config{JSON: map[string]any{"q": "do: {brief}!", "{brief}": []any{"{{brief}}", 1.0, nil, true, map[string]any{"x": "{brief}"}}}},
			request{"POST", "/", "", `{"q":"do: b & /!","{brief}":["{brief}",1,null,true,{"x":"b & /"}]}`, "application/json", ""}},
		{"method and headers", Config{Method: "PUT", URL: "/a", JSON: "{brief}", Headers: map[string]string{"x-key": "k", "content-type": "text/json", "Host": "other.example"}},
			request{"PUT", "/a", "other.example", `"b & /"`, "text/json", "k"}},
		{"large number", Config{JSON: json.RawMessage(`{"n":12345678901234567890}`)}, request{"POST", "/", "", `{"n":12345678901234567890}`, "application/json", ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got request
			d := serve(t, c.config, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				got = request{r.Method, r.RequestURI, r.Host, string(body), r.Header.Get("Content-Type"), r.Header.Get("X-Key")}
			})
			if reply, err := d.Attempt(t.Context(), firstgood.Text("b & /")); err != nil || reply.Text != "" {
				t.Fatalf("got %q, %v", reply.Text, err)
			}
			if c.want.host == "" {
				c.want.host = got.host
			}
			if got.body != c.want.body && !sameJSON(got.body, c.want.body) {
				t.Errorf("body\ngot  %s\nwant %s", got.body, c.want.body)
			}
			got.body, c.want.body = "", ""
			if got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func sameJSON(a, b string) bool {
	canonical := func(s string) string {
		var value any
		decoder := json.NewDecoder(strings.NewReader(s))
		decoder.UseNumber()
		if decoder.Decode(&value) != nil {
			return s
		}
		data, _ := json.Marshal(value)
		return string(data)
	}
	return canonical(a) == canonical(b)
}

// The JSON of a Config belongs to the delegate from New on.
func TestJSONIsCopied(t *testing.T) {
	value := map[string]any{"q": "{brief}"}
	var got string
	d := serve(t, Config{JSON: value}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = string(body)
	})
	value["q"] = "changed"
	if _, err := d.Attempt(t.Context(), firstgood.Text("b")); err != nil || got != `{"q":"b"}` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestReply(t *testing.T) {
	const doc = ` {"answer": {"text": "yes", "n": 12345678901234567890, "none": null, "list": [1, {"title": "t"}], "": 1}, "2": "two"} `
	for _, c := range []struct {
		name, result, contentType, body string
		want                            firstgood.Reply
		kind                            firstgood.Kind
		reason                          string
	}{
		{"text", "", "text/plain", " yes\n", firstgood.Reply{Text: " yes\n"}, "", ""},
		{"no type", "", "", `{"a":1}`, firstgood.Reply{Text: `{"a":1}`}, "", ""},
		{"json", "", "application/json; charset=utf-8", ` {"a": 1.50} `, firstgood.Reply{JSON: json.RawMessage(`{"a": 1.50}`)}, "", ""},
		{"json of another type", "", "application/problem+json", `[1]`, firstgood.Reply{JSON: json.RawMessage(`[1]`)}, "", ""},
		{"json string", "", "application/json", `"yes\n"`, firstgood.Reply{Text: "yes\n"}, "", ""},
		{"json null", "", "application/json", `null`, firstgood.Reply{JSON: json.RawMessage(`null`)}, "", ""},
		{"empty", "", "application/json", ``, firstgood.Reply{}, "", ""},
		{"json that is cut", "", "application/json", `{"a":`, firstgood.Reply{}, firstgood.KindTruncated, "the reply's JSON stops short after 5 bytes"},
		{"json that is none", "", "application/json", `<html>`, firstgood.Reply{}, firstgood.KindError, "the reply is not the expected JSON: invalid character '<' looking for beginning of value"},

		{"string at a path", "answer.text", "text/html", doc, firstgood.Reply{Text: "yes"}, "", ""},
		{"number at a path", "answer.n", "", doc, firstgood.Reply{JSON: json.RawMessage(`12345678901234567890`)}, "", ""},
		{"null at a path", "answer.none", "", doc, firstgood.Reply{JSON: json.RawMessage(`null`)}, "", ""},
		{"list at a path", "answer.list", "", doc, firstgood.Reply{JSON: json.RawMessage(`[1, {"title": "t"}]`)}, "", ""},
		{"place in a list", "answer.list.1.title", "", doc, firstgood.Reply{Text: "t"}, "", ""},
		{"number as a name", "2", "", doc, firstgood.Reply{Text: "two"}, "", ""},
		{"byte order mark", "a", "", "\uFEFF{\"a\":\"b\"}", firstgood.Reply{Text: "b"}, "", ""},

		{"absent", "answer.texts", "", doc, firstgood.Reply{}, firstgood.KindError, `no result at answer.texts: answer has no member "texts"`},
		{"absent at the top", "answers.text", "", doc, firstgood.Reply{}, firstgood.KindError, `no result at answers.text: the reply has no member "answers"`},
		{"another case", "Answer.text", "", doc, firstgood.Reply{}, firstgood.KindError, `no result at Answer.text: the reply has no member "Answer"`},
		{"behind the end of a list", "answer.list.2", "", doc, firstgood.Reply{}, firstgood.KindError, `no result at answer.list.2: answer.list is a list of 2, so it has no place 2`},
		{"name in a list", "answer.list.x", "", doc, firstgood.Reply{}, firstgood.KindError, `no result at answer.list.x: answer.list is a list, so "x" must be a place from 0`},
		{"into a string", "answer.text.x", "", doc, firstgood.Reply{}, firstgood.KindError, `no result at answer.text.x: answer.text is a string, so it has no member "x"`},
		{"into null", "answer.none.x", "", doc, firstgood.Reply{}, firstgood.KindError, `no result at answer.none.x: answer.none is null, so it has no member "x"`},
		{"path into text", "a", "text/html", "<html>", firstgood.Reply{}, firstgood.KindError, "the reply is not the expected JSON: invalid character '<' looking for beginning of value"},
		{"path into nothing", "a", "", "", firstgood.Reply{}, firstgood.KindTruncated, "the reply's JSON stops short after 0 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := serve(t, Config{Result: c.result}, says(200, c.contentType, c.body))
			reply, err := d.Attempt(t.Context(), firstgood.Text(""))
			if c.kind != "" {
				if f := failureOf(t, reply, err); f.Kind != c.kind || f.Reason != c.reason {
					t.Errorf("got  %s: %s\nwant %s: %s", f.Kind, f.Reason, c.kind, c.reason)
				}
				return
			}
			if err != nil || reply.Text != c.want.Text || !bytes.Equal(reply.JSON, c.want.JSON) || (reply.JSON == nil) != (c.want.JSON == nil) {
				t.Errorf("got %q %q, %v, want %q %q", reply.Text, reply.JSON, err, c.want.Text, c.want.JSON)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		kind    firstgood.Kind
		status  int
	}{
		{"429", says(429, "", ""), firstgood.KindRateLimited, 429},
		{"503", says(503, "", ""), firstgood.KindUnavailable, 503},
		{"200 with an error object", says(200, "application/json", `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`), firstgood.KindRateLimited, 200},
		{"closed before the status", hangUp(""), firstgood.KindUnavailable, 0},
		{"body cut", hangUp("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{\"a"), firstgood.KindTruncated, 200},
		{"too large", says(200, "", strings.Repeat("x", 101)), firstgood.KindError, 200},
		{"too large when unpacked", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = packed.Write(make([]byte, 1<<20))
			_ = packed.Close()
		}, firstgood.KindError, 200},
		{"own rule", says(400, "", `{"error":"so lang"}`), firstgood.KindContextLength, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := serve(t, Config{MaxBody: 100, Rules: []failure.Rule{{Message: "so lang", Kind: firstgood.KindContextLength}}}, c.handler)
			reply, err := d.Attempt(t.Context(), firstgood.Text(""))
			if f := failureOf(t, reply, err); f.Kind != c.kind || f.Status != c.status || f.Reason == "" {
				t.Errorf("got %s %d: %s, want %s %d", f.Kind, f.Status, f.Reason, c.kind, c.status)
			}
		})
	}
}

// hangUp sends raw bytes and closes the connection.
func hangUp(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(conn, raw)
			_ = conn.Close()
		}
	}
}

func TestRetries(t *testing.T) {
	requests := 0
	d := serve(t, Config{Retries: 2, JSON: "{brief}"}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if requests++; requests < 3 {
			w.Header().Set("Retry-After-Ms", "1")
			w.WriteHeader(503)
		}
		_, _ = w.Write(body)
	})
	if reply, err := d.Attempt(t.Context(), firstgood.Text("again")); err != nil || reply.Text != `"again"` || requests != 3 {
		t.Errorf("got %q, %v after %d requests", reply.Text, err, requests)
	}
}

// S40: each request of an attempt carries the same key, which the file's own header overrules.
func TestS40_IdempotencyKey(t *testing.T) {
	var keys []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		w.Header().Set("Retry-After-Ms", "1")
		w.WriteHeader(503)
	}
	ctx := context.WithValue(t.Context(), firstgood.IdempotencyKeyContext{}, "k-1")
	for _, c := range []struct {
		ctx     context.Context
		headers map[string]string
		want    string
	}{{t.Context(), nil, ""}, {ctx, nil, "k-1"}, {ctx, map[string]string{"idempotency-key": "mine"}, "mine"}} {
		keys = nil
		if _, err := serve(t, Config{Retries: 2, Headers: c.headers}, handler).Attempt(c.ctx, firstgood.Text("b")); err == nil {
			t.Fatal("got no failure")
		}
		if want := []string{c.want, c.want, c.want}; !slices.Equal(keys, want) {
			t.Errorf("got the keys %q, want %q", keys, want)
		}
	}
}

// S27: an error made locally costs no request and no retry.
func TestS27_LocalErrorIsABadRequest(t *testing.T) {
	for _, c := range []struct{ name, url, json, brief, want string }{
		{"step in the path", "/a/{brief}/b", "", "..", `the brief ".." in the url's path would be read as a step in it, not as a value`},
		{"part of a step", "/a/.{brief}", "", ".", `the brief "." in the url's path would be read as a step in it, not as a value`},
		{"bytes that JSON cannot carry", "/", "{brief}", "a\xff", "the brief is not valid UTF-8, so JSON cannot carry it; convert it first"},
	} {
		t.Run(c.name, func(t *testing.T) {
			config := Config{URL: c.url, Retries: 3}
			if c.json != "" {
				config.JSON = c.json
			}
			d := serve(t, config, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
			reply, err := d.Attempt(t.Context(), firstgood.Text(c.brief))
			if f := failureOf(t, reply, err); f.Kind != firstgood.KindBadRequest || f.Reason != c.want {
				t.Errorf("got %s: %s", f.Kind, f.Reason)
			}
		})
	}
}

// A query carries any bytes.
func TestQueryCarriesBytes(t *testing.T) {
	d := serve(t, Config{URL: "/?q={brief}"}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%q", r.URL.Query().Get("q"))
	})
	if reply, err := d.Attempt(t.Context(), firstgood.Text("a\xff\x00")); err != nil || reply.Text != `"a\xff\x00"` {
		t.Errorf("got %q, %v", reply.Text, err)
	}
}

// S45: the delegate can be told.
func TestS45_Name(t *testing.T) {
	if d := open(t, Config{URL: "https://search.example:8443/api", Name: "search"}); d.Name() != "search" {
		t.Errorf("got %q", d.Name())
	}
	if d := open(t, Config{URL: "https://search.example:8443/api"}); d.Name() != "search.example:8443" {
		t.Errorf("got %q", d.Name())
	}
}

func TestSecretsStayOut(t *testing.T) {
	d := serve(t, Config{URL: "/p?key=query-secret&q={brief}", Headers: map[string]string{"x-key": "header-secret", "authorization": "Bearer bearer-secret"}, Secrets: []string{"other-secret"}}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		fmt.Fprintf(w, `{"error":{"message":"bad key %s or %s or %s or other-secret"}}`, r.URL.Query().Get("key"), r.Header.Get("x-key"), r.Header.Get("authorization"))
	})
	reply, err := d.Attempt(t.Context(), firstgood.Text("b"))
	f := failureOf(t, reply, err)
	if want := "400 Bad Request: bad key [redacted] or [redacted] or [redacted] or [redacted]"; f.Reason != want {
		t.Errorf("got  %q\nwant %q", f.Reason, want)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	d = open(t, Config{URL: strings.Replace(closed.URL, "http://", "http://user:pass-secret@", 1) + "/p?key=query-secret"})
	reply, err = d.Attempt(t.Context(), firstgood.Text("b"))
	f = failureOf(t, reply, err)
	if !strings.HasPrefix(f.Reason, "no connection from "+closed.URL+"/p: ") {
		t.Errorf("got %q", f.Reason)
	}
	for err := error(f); err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%T: %v", err, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	const u = "https://h.example/p"
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"no url", Config{}, "httpcall: url: it is required"},
		{"unreadable url", Config{URL: "https://user:pass-secret@h:x/p"}, "httpcall: url: not a valid URL"},
		{"scheme", Config{URL: "ftp://h/p"}, `httpcall: url: got scheme "ftp", want http or https`},
		{"no scheme", Config{URL: "h.example/p"}, `httpcall: url: got scheme "", want http or https`},
		{"no host", Config{URL: "https:///p"}, "httpcall: url: it has no host"},
		{"brief as host", Config{URL: "https://{brief}/p"}, "httpcall: url: {brief} can stand in the path and the query alone"},
		{"brief in the host", Config{URL: "https://h{brief}.example/p"}, "httpcall: url: {brief} can stand in the path and the query alone"},
		{"brief as user", Config{URL: "https://{brief}@h/p"}, "httpcall: url: {brief} can stand in the path and the query alone"},
		{"brief as port", Config{URL: "https://h:{brief}/p"}, "httpcall: url: not a valid URL"},
		{"space", Config{URL: u + "?q=a b"}, "httpcall: url: it holds a space; write %20"},
		{"fragment", Config{URL: u + "#f"}, "httpcall: url: a fragment (#) is never sent; write %23 for a # in the path or query"},
		{"header name", Config{URL: u, Headers: map[string]string{"x key": "k"}}, `httpcall h.example: header "x key": not a valid name`},
		{"header value", Config{URL: u, Headers: map[string]string{"x-key": "line-secret\n"}}, "httpcall h.example: header x-key: the value holds a line break or another control character"},
		{"method", Config{URL: u, Method: "GE T"}, `httpcall h.example: method "GE T": not a valid HTTP method`},
		{"json", Config{URL: u, JSON: math.NaN()}, "httpcall h.example: json: json: unsupported value: NaN"},
		{"result", Config{URL: u, Result: "a..b"}, `httpcall h.example: result "a..b": an empty step; want names and places joined by dots, such as items.0.title`},
		{"max body", Config{URL: u, MaxBody: -1}, "httpcall h.example: max body: less than 0"},
		{"retries", Config{URL: u, Retries: -1}, "httpcall h.example: retries: less than 0"},
		{"rules", Config{URL: u, Rules: []failure.Rule{{Message: "x"}}}, `httpcall h.example: failure rule 1: got kind ""`},
	} {
		if _, err := New(c.config); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
	if _, err := New(Config{URL: u, Headers: map[string]string{"x-key": "a", "X-Key": "b"}}); err == nil || !strings.Contains(err.Error(), "given twice") {
		t.Errorf("got %v for a header given twice", err)
	}
}

func TestStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("user pressed stop")
	d := serve(t, Config{Retries: 5}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(503)
		w.(http.Flusher).Flush()
		cancel(stop)
	})
	if _, err := d.Attempt(ctx, firstgood.Text("b")); !errors.Is(err, stop) {
		t.Errorf("got %v, want the cause", err)
	}
}

func FuzzFill(f *testing.F) {
	for _, brief := range []string{"", "..", ".", "a b", "{brief}", "a/b?c#d", "\x00\xff", "日本"} {
		f.Add("https://h.example/{brief}/x?q={brief}", brief)
		f.Add("https://h.example/a{brief}?{brief}={{brief}}", brief)
	}
	f.Fuzz(func(t *testing.T, template, brief string) {
		a, err := parseAddress(template)
		if err != nil {
			return
		}
		filled, err := a.fill(brief)
		if err != nil {
			return
		}
		request, err := http.NewRequest("GET", filled, nil)
		if err != nil {
			return
		}
		if request.URL.Host != a.host {
			t.Errorf("%q with %q goes to %q, want %q", template, brief, request.URL.Host, a.host)
		}
	})
}
