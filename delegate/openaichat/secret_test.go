package openaichat

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
)

// setEnvironment gives each variable that the official client, or its Azure part, reads a value of its own.
func setEnvironment(t *testing.T, base string) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_WEBHOOK_SECRET", "OPENAI_ADMIN_KEY", "AZURE_OPENAI_API_KEY"} {
		t.Setenv(name, "secret-of-"+name)
	}
	t.Setenv("OPENAI_BASE_URL", base)
}

// A key never goes to a host that it was not meant for: nothing of the environment is read.
func TestEnvironmentReachesNoHost(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("OPENAI_BASE_URL was called") }))
	defer foreign.Close()
	setEnvironment(t, foreign.URL)
	var dump string
	handler := func(w http.ResponseWriter, r *http.Request) {
		data, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		dump = string(data)
		for _, name := range []string{"Authorization", "Openai-Organization", "Openai-Project", "Api-Key"} {
			if value, ok := r.Header[name]; ok && value[0] != "Bearer own" {
				t.Errorf("%s was sent: %q", name, value)
			}
		}
		says(200, completion("yes"))(w, r)
	}
	for _, config := range []Config{{}, {APIKey: "own"}, {HTTPClient: &http.Client{}}, {Headers: map[string]string{"x-key": "k"}, Retries: 2}} {
		if _, err := serve(t, config, handler).Attempt(t.Context(), firstgood.Text("hi")); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(dump, "secret-of-") {
			t.Errorf("the request holds a value of the environment:\n%s", dump)
		}
		if want := config.APIKey != ""; strings.Contains(dump, "Authorization: Bearer own") != want {
			t.Errorf("own key sent: %v, want %v", !want, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// OpenAI's own endpoint gets what the Config holds, and is not called without a key.
func TestDefaultEndpoint(t *testing.T) {
	setEnvironment(t, "http://foreign.example/v1")
	var got *http.Request
	client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		got = r
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(completion("yes"))), Request: r}, nil
	})}
	d := open(t, Config{Model: "m", APIKey: "own-key", Organization: "own-org", Project: "own-project", HTTPClient: client})
	if _, err := d.Attempt(t.Context(), firstgood.Text("hi")); err != nil {
		t.Fatal(err)
	}
	if got.URL.String() != "https://api.openai.com/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer own-key" ||
		got.Header.Get("OpenAI-Organization") != "own-org" || got.Header.Get("OpenAI-Project") != "own-project" {
		t.Errorf("got %s with %v", got.URL, got.Header)
	}

	got = nil
	reply, err := open(t, Config{Model: "m", HTTPClient: client, Retries: 2}).Attempt(t.Context(), firstgood.Text("hi"))
	f := failureOf(t, reply, err)
	if f.Kind != firstgood.KindAuth || !strings.Contains(f.Reason, "set OPENAI_API_KEY") || !strings.Contains(f.Reason, "api_key_env") || got != nil {
		t.Errorf("got %s: %s, request %v", f.Kind, f.Reason, got)
	}
}

func TestRedirectCarriesNothingToAnotherHost(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host got %s %s with %v", r.Method, r.URL, r.Header)
	}))
	defer foreign.Close()
	d := serve(t, Config{APIKey: "key-secret", Organization: "org-secret", Headers: map[string]string{"api-key": "header-secret"}}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, foreign.URL, http.StatusTemporaryRedirect)
	})
	reply, err := d.Attempt(t.Context(), firstgood.Text("hi"))
	if f := failureOf(t, reply, err); f.Kind != firstgood.KindError || !strings.HasPrefix(f.Reason, "redirected to another host, "+foreign.URL) {
		t.Errorf("got %s: %s", f.Kind, f.Reason)
	}
}

func TestSecretsStayOut(t *testing.T) {
	d := serve(t, Config{APIKey: "key-secret", Project: "project-secret", Headers: map[string]string{"x-key": "header-secret"}, Secrets: []string{"other-secret"}}, func(w http.ResponseWriter, r *http.Request) {
		says(401, fmt.Sprintf(`{"error":{"message":"%s, %s, %s and other-secret do not match"}}`, r.Header.Get("Authorization"), r.Header.Get("X-Key"), r.Header.Get("OpenAI-Project")))(w, r)
	})
	reply, err := d.Attempt(t.Context(), firstgood.Text("hi"))
	if f, want := failureOf(t, reply, err), "401 Unauthorized: Bearer [redacted], [redacted], [redacted] and [redacted] do not match"; f.Reason != want {
		t.Errorf("got  %q\nwant %q", f.Reason, want)
	}
	closed := httptest.NewServer(nil)
	closed.Close()
	d = open(t, Config{Model: "m", BaseURL: strings.Replace(closed.URL, "http://", "http://user:pass-secret@", 1)})
	reply, err = d.Attempt(t.Context(), firstgood.Text("hi"))
	f := failureOf(t, reply, err)
	if f.Kind != firstgood.KindUnavailable || !strings.HasPrefix(f.Reason, "no connection from "+closed.URL+"/chat/completions: ") {
		t.Errorf("got %s: %s", f.Kind, f.Reason)
	}
	for err := error(f); err != nil; err = errors.Unwrap(err) {
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%T: %v", err, err)
		}
	}
}
