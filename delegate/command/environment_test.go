package command

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
)

func TestAttempt_TheEnvironmentIsAnAllowList(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-unlisted")
	t.Setenv("SEARCH_KEY", "sk-listed")
	t.Setenv("HTTPS_PROXY", "http://user:password@proxy.example")
	t.Setenv("LC_TIME", "de_DE.UTF-8")
	t.Setenv("TZ", "Europe/Vienna")
	t.Setenv("LANG", "de_DE.UTF-8")
	c := program(t, "env")
	c.PassEnv = []string{"SEARCH_KEY", "FIRSTGOOD_TEST_NOT_SET", "TZ"}
	c.Env["MODE"], c.Env["LANG"], c.Env["EMPTY"] = "fast", "C", ""
	reply, err := build(t, c).Attempt(t.Context(), firstgood.Text("b"))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(reply.Text, "\n")
	for _, want := range []string{"SEARCH_KEY=sk-listed", "LC_TIME=de_DE.UTF-8", "TZ=Europe/Vienna", "MODE=fast", "LANG=C", "EMPTY="} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	allowed := append(Harmless(), "SEARCH_KEY", "MODE", "EMPTY", roleEnv, "GORACE")
	for _, entry := range got {
		name, _, _ := strings.Cut(entry, "=")
		if !slices.Contains(allowed, name) && !strings.HasPrefix(name, "LC_") && runtime.GOOS != "windows" {
			t.Errorf("got %s", entry)
		}
		if name == "OPENAI_API_KEY" || name == "HTTPS_PROXY" || name == "FIRSTGOOD_TEST_NOT_SET" {
			t.Errorf("got %s", entry)
		}
	}
}

// A program can tell that it is run again for the same attempt.
func TestS40_TheProgramGetsTheIdempotencyKey(t *testing.T) {
	t.Setenv(IdempotencyVariable, "of an outer run")
	d := build(t, program(t, "env"))
	for _, key := range []string{"", "k-1", "k-1", "k-2"} {
		ctx := t.Context()
		if key != "" {
			ctx = context.WithValue(ctx, firstgood.IdempotencyKeyContext{}, key)
		}
		reply, err := d.Attempt(ctx, firstgood.Text("b"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.SplitSeq(reply.Text, "\n") {
			if value, ok := strings.CutPrefix(line, IdempotencyVariable+"="); ok {
				got = append(got, value)
			}
		}
		if key == "" && got != nil || key != "" && !slices.Equal(got, []string{key}) {
			t.Errorf("for key %q: got %q", key, got)
		}
	}
}

func TestAttempt_SecretsAreNotInTheFailure(t *testing.T) {
	t.Setenv("SEARCH_KEY", "sk-passed-on\n")
	c := program(t, "print", `""`, `"key sk-passed-on, token tk-fixed!, mode fast\n"`, "3")
	c.PassEnv = []string{"SEARCH_KEY"}
	c.Env["My_Token"], c.Env["MODE"], c.Env["MAX_TOKENS"] = "tk-fixed!", "fast", "3"
	_, err := build(t, c).Attempt(t.Context(), firstgood.Text("b"))
	f := failure(t, err)
	const want = "key [secret], token [secret], mode fast"
	if f.Reason != "exit status 3: "+want || f.Detail != want+"\n" {
		t.Errorf("got reason %q, detail %q", f.Reason, f.Detail)
	}
}

func TestSecrets_Hide(t *testing.T) {
	both := secrets{"sk-12345", "sk-12"}
	for _, test := range []struct {
		text string
		cut  bool
		want string
	}{
		{"nothing here", false, "nothing here"},
		{"sk-12345 and sk-12, sk-12345", false, "[secret] and [secret], [secret]"},
		{"k-12345 is its end", true, " is its end"},
		{"k-12345 is no cut", false, "k-12345 is no cut"},
		{"2 is an end too, sk-12", true, " is an end too, [secret]"},
		{"sk-12345", true, "[secret]"},
	} {
		if got := both.hide(test.text, test.cut); got != test.want {
			t.Errorf("%q, cut %v: got %q, want %q", test.text, test.cut, got, test.want)
		}
	}
}
