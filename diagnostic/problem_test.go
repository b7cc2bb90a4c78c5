package diagnostic

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

func TestProblems(t *testing.T) {
	note := Problem{Pos: Pos{"f", 1, 2}, Severity: SeverityNote, Message: "n"}
	warning := Problem{Pos: Pos{"f", 1, 1}, Severity: SeverityWarning, Message: "w"}
	fatal := Problem{Pos: Pos{File: "--set x"}, Message: "e", Err: fs.ErrPermission}
	ps := Problems{note, warning}
	if ps.Failed() || ps.Err() != nil || Problems(nil).Err() != nil {
		t.Error("a warning is an error")
	}
	ps = append(ps, fatal)
	ps.Sort()
	if got, want := ps.Error(), "--set x: e\nf:1:1: warning: w\nf:1:2: note: n"; got != want || !ps.Failed() || ps.Err() == nil {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !errors.Is(ps, fs.ErrPermission) {
		t.Error("the error behind it is lost")
	}
}

func TestRender(t *testing.T) {
	long := strings.Repeat("é", 200) + "X" + strings.Repeat("z", 200)
	ps := Problems{
		{Pos: Pos{"f", 7, 3}, Message: "one", Source: "\t\tab"},
		{Pos: Pos{"f", 12, 201}, Severity: SeverityWarning, Message: "two", Source: long},
		{Pos: Pos{"f", 12, 999}, Severity: SeverityNote, Message: "three", Source: "short"},
		{Pos: Pos{File: "--timeout"}, Message: "four"},
	}
	var b strings.Builder
	if err := ps.Render(&b, false); err != nil {
		t.Fatal(err)
	}
	want := "f:7:3: error: one\n  7 | \t\tab\n    | \t\t^\n" +
		"f:12:201: warning: two\n  12 | …" + strings.Repeat("é", 50) + "X" + strings.Repeat("z", 49) + "…\n     | " + strings.Repeat(" ", 51) + "^\n" +
		"f:12:999: note: three\n  12 | short\n     |      ^\n" +
		"--timeout: error: four\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	if err := ps[:1].Render(&b, true); err != nil {
		t.Fatal(err)
	}
	if want := "\x1b[1mf:7:3\x1b[0m: \x1b[31;1merror\x1b[0m: one\n  7 | \t\tab\n    | \t\t\x1b[31;1m^\x1b[0m\n"; b.String() != want {
		t.Errorf("got  %q\nwant %q", b.String(), want)
	}
	if err := ps.Render(brokenWriter{}, false); err == nil {
		t.Error("the writer's error is lost")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, fs.ErrClosed }

func TestNearest(t *testing.T) {
	known := []string{"model", "base_url", "api_key_env", "api_key", "fast", "slow", "careful", "x", "ab", "fallback-chain", "retry-with-learning"}
	for _, test := range []struct{ name, want string }{
		{"modle", "model"}, {"Model", "model"}, {"MODEL", "model"}, {"mode", "model"}, {"models", "model"}, {"mdl", ""},
		{"baseUrl", "base_url"}, {"base-url", "base_url"}, {"url", "base_url"}, {"apikey", "api_key"}, {"api-key-env", "api_key_env"},
		{"fats", "fast"}, {"fsat", "fast"}, {"fost", "fast"}, {"fist", "fast"}, {"foot", ""}, {"slw", "slow"},
		{"carefull", "careful"}, {"carfeul", "careful"}, {"y", ""}, {"X", "x"}, {"ac", "ab"}, {"cd", ""}, {"", ""},
		{"fallback", "fallback-chain"}, {"chain", "fallback-chain"}, {"retry", "retry-with-learning"}, {"learning", "retry-with-learning"},
		{"something-else-entirely", ""}, {strings.Repeat("model", 1000), ""},
	} {
		if got := Nearest(test.name, known); got != test.want {
			t.Errorf("%q: %q, want %q", test.name, got, test.want)
		}
	}
	if got := Nearest("a", nil); got != "" {
		t.Errorf("nothing is known, and the nearest is %q", got)
	}
}
