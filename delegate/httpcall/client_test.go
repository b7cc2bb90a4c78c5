package httpcall

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
)

// net/http would carry x-key, and with 307 the brief, to whatever host a redirect names.
func TestRedirectCarriesNothingToAnotherHost(t *testing.T) {
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		t.Errorf("the other host got %s %s with x-key %q and body %q", r.Method, r.URL, r.Header.Get("X-Key"), body)
	}))
	defer foreign.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, client := range []*http.Client{nil, {}} {
			d := serve(t, Config{JSON: "{brief}", Headers: map[string]string{"x-key": "header-secret"}, HTTPClient: client}, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, foreign.URL+"/x?token=redirect-secret", status)
			})
			reply, err := d.Attempt(t.Context(), firstgood.Text("b"))
			f := failureOf(t, reply, err)
			if f.Kind != firstgood.KindError || !strings.HasPrefix(f.Reason, "redirected to another host, "+foreign.URL+":") || strings.Contains(f.Reason, "secret") {
				t.Errorf("%d: got %s: %s", status, f.Kind, f.Reason)
			}
			if client != nil && client.CheckRedirect != nil {
				t.Error("the Config's client was changed")
			}
		}
	}
}

func TestRedirectOnTheSameHost(t *testing.T) {
	d := serve(t, Config{URL: "/old", JSON: "{brief}", Headers: map[string]string{"x-key": "k"}}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old":
			http.Redirect(w, r, "/new", http.StatusTemporaryRedirect)
		case "/new":
			body, _ := io.ReadAll(r.Body)
			_, _ = io.WriteString(w, r.Header.Get("X-Key")+string(body))
		}
	})
	if reply, err := d.Attempt(t.Context(), firstgood.Text("b")); err != nil || reply.Text != `k"b"` {
		t.Errorf("got %q, %v", reply.Text, err)
	}
	d = serve(t, Config{URL: "/round"}, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/round", http.StatusFound) })
	reply, err := d.Attempt(t.Context(), firstgood.Text("b"))
	if f := failureOf(t, reply, err); f.Reason != "stopped after 10 redirects" {
		t.Errorf("got %q", f.Reason)
	}
}

func TestRedirectOfTheBaseClientIsAsked(t *testing.T) {
	never := errors.New("never")
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return never }}
	d := serve(t, Config{HTTPClient: client}, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/x", http.StatusFound) })
	if _, err := d.Attempt(t.Context(), firstgood.Text("b")); !errors.Is(err, never) {
		t.Errorf("got %v", err)
	}
}

func TestSameOrigin(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"http://a/x", "http://a/y", true},
		{"http://a/x", "http://A:80/y", true},
		{"https://a:443/x", "https://a/y", true},
		{"http://a/x", "https://a/y", true},
		{"https://a/x", "http://a/y", false},
		{"http://a:8080/x", "https://a/y", false},
		{"http://a/x", "https://a:8443/y", false},
		{"http://a:1/x", "http://a:2/x", false},
		{"http://a/x", "http://b/x", false},
		{"http://a/x", "http://b.a/x", false},
	} {
		from, err := url.Parse(c.from)
		to, err2 := url.Parse(c.to)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if got := sameOrigin(from, to); got != c.want {
			t.Errorf("%s to %s: got %v", c.from, c.to, got)
		}
	}
}
