package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/process"
)

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	for _, test := range []struct {
		name string
		c    Config
		says string
	}{
		{"no name", Config{Argv: []string{"x"}}, "no name"},
		{"no argv", Config{Name: "d"}, "command d: argv"},
		{"empty program", Config{Name: "d", Argv: []string{"", "x"}}, "argv"},
		{"program from the brief", Config{Name: "d", Argv: []string{"./{brief}"}}, "argv[0]"},
		{"NUL in argv", Config{Name: "d", Argv: []string{"x", "a\x00"}}, "argv[1]"},
		{"stdin", Config{Name: "d", Argv: []string{"x"}, Stdin: "Brief"}, `stdin: got "Brief", want "brief" or "none"`},
		{"NUL in dir", Config{Name: "d", Argv: []string{"x"}, Dir: "\x00"}, "dir"},
		{"grace", Config{Name: "d", Argv: []string{"x"}, Grace: -1}, "grace"},
		{"max_output", Config{Name: "d", Argv: []string{"x"}, MaxOutput: -1}, "max_output"},
		{"listed name", Config{Name: "d", Argv: []string{"x"}, PassEnv: []string{"A=B"}}, `"A=B"`},
		{"empty name", Config{Name: "d", Argv: []string{"x"}, Env: map[string]string{"": "x"}}, `env: ""`},
		{"NUL in a value", Config{Name: "d", Argv: []string{"x"}, Env: map[string]string{"API_KEY": "sk-secret\x00"}}, "API_KEY"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := New(test.c)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got %v, want an error that says %q", err, test.says)
			}
			if strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("%v gives the secret away", err)
			}
		})
	}
}

func TestAttempt_TheBriefGoesIn(t *testing.T) {
	const brief = "say $HOME; \"it's\"\n`id` {brief} {{brief}} %s"
	for _, test := range []struct {
		name  string
		argv  []string
		stdin string
		brief firstgood.Brief
		args  []string
		read  string
	}{
		{"on stdin", nil, "", firstgood.Text(brief), nil, brief},
		{"as an argument", []string{"-p", "{brief}"}, "", firstgood.Text(brief), []string{"-p", brief}, ""},
		{"within an argument, twice", []string{"--q={brief}/{brief}."}, "", firstgood.Text("b"), []string{"--q=b/b."}, ""},
		{"both", []string{"{brief}"}, StdinBrief, firstgood.Text(brief), []string{brief}, brief},
		{"not at all", []string{"x"}, StdinNone, firstgood.Text(brief), []string{"x"}, ""},
		{"the word itself", []string{"{{brief}}", "{Brief} {}"}, "", firstgood.Text(brief), []string{"{brief}", "{Brief} {}"}, brief},
		{"an empty brief", []string{"{brief}"}, "", firstgood.Brief{}, []string{""}, ""},
		{"a protocol request", nil, "", firstgood.Raw("application/json", []byte(`{"n":1}`)), nil, `{"n":1}`},
		{"any bytes on stdin", nil, "", firstgood.Raw("application/octet-stream", []byte("\x00\xff\r\n")), nil, "\x00\xff\r\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := program(t, "show", test.argv...)
			c.Stdin = test.stdin
			reply, err := build(t, c).Attempt(t.Context(), test.brief)
			if want := fmt.Sprintf("%q %q", test.args, test.read); err != nil || reply.Text != want {
				t.Errorf("got %s, %v, want %s", reply.Text, err, want)
			}
		})
	}
}

func TestAttempt_TheReplyIsStdoutLessOneNewline(t *testing.T) {
	for stdout, want := range map[string]string{
		"": "", "\n": "", "\r\n": "", "a": "a", "a\n": "a", "a\r\n": "a", "a\n\n": "a\n", "a\r": "a\r",
		" a\nb \n": " a\nb ", "grüße\n": "grüße", "null\n": "null", "a\x00b": "a\x00b",
	} {
		reply, err := build(t, program(t, "print", fmt.Sprintf("%q", stdout), `"noise"`)).Attempt(t.Context(), firstgood.Text("b"))
		if err != nil || reply.Text != want || reply.JSON != nil || reply.Stream != nil {
			t.Errorf("%q: got %+v, %v, want %q", stdout, reply, err, want)
		}
		if reply.Usage != (firstgood.Usage{Source: firstgood.SourceUnknown}) {
			t.Errorf("usage %+v", reply.Usage)
		}
	}
}

func TestAttempt_WhatIsNotTextIsNoReply(t *testing.T) {
	_, err := build(t, program(t, "print", `"grü\xdfe"`)).Attempt(t.Context(), firstgood.Text("b"))
	f := failure(t, err)
	if f.Kind != firstgood.KindError || f.Reason != "the output is not UTF-8 text (first at byte 4)" {
		t.Errorf("got %v", f)
	}
}

func TestS41_NonZeroExitWithAGoodLookingStdoutIsAFailure(t *testing.T) {
	for _, test := range []struct {
		name, stderr   string
		reason, detail string
	}{
		{"one line", "boom\n", "exit status 3: boom", "boom\n"},
		{"nothing", "", "exit status 3, nothing on stderr", ""},
		{"blank lines", " \n\n", "exit status 3, nothing on stderr", " \n\n"},
		{"the last lines", "a\nb\n\nc\r\nd\n", "exit status 3: b | c | d", "a\nb\n\nc\r\nd\n"},
		{"colours", "\x1b[1;31mboom\x1b[0m\a\x1b]0;title\a\n", "exit status 3: boom", "\x1b[1;31mboom\x1b[0m\a\x1b]0;title\a\n"},
		{"no text", "bo\xffm", "exit status 3: bo\uFFFDm", "bo\uFFFDm"},
		{"a long line", strings.Repeat("x", 300), "exit status 3: " + strings.Repeat("x", 200) + "…", strings.Repeat("x", 300)},
		{"more than is kept", strings.Repeat("x", process.DefaultStderrTail) + "\nthe end",
			"exit status 3: …" + strings.Repeat("x", 199) + "… | the end",
			"…" + strings.Repeat("x", process.DefaultStderrTail-len("\nthe end")) + "\nthe end"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := program(t, "print", `"a good answer"`, fmt.Sprintf("%q", test.stderr), "3")
			reply, err := build(t, c).Attempt(t.Context(), firstgood.Text("b"))
			f := failure(t, err)
			if f.Kind != firstgood.KindError || f.Reason != test.reason || f.Detail != test.detail {
				t.Errorf("got kind %s, reason %q, detail %.200q", f.Kind, f.Reason, f.Detail)
			}
			if !reply.Empty() {
				t.Errorf("got a reply too: %+v", reply)
			}
		})
	}
}

func TestS42_ACommandThatPrintsWithoutEnd(t *testing.T) {
	c := program(t, "flood")
	c.MaxOutput = 1 << 20
	_, err := build(t, c).Attempt(t.Context(), firstgood.Text("b"))
	f := failure(t, err)
	if f.Kind != firstgood.KindError || !strings.Contains(f.Reason, "max_output (1048576 bytes)") {
		t.Errorf("got %v", f)
	}
}

func TestS30_TheNextGetsTheOriginalBrief(t *testing.T) {
	brief := firstgood.Text("the original brief")
	_, err := build(t, program(t, "half")).Attempt(t.Context(), brief)
	if f := failure(t, err); f.Reason != "exit status 1, nothing on stderr" {
		t.Errorf("got %v", f)
	}
	reply, err := build(t, program(t, "show")).Attempt(t.Context(), brief)
	if err != nil || reply.Text != `[] "the original brief"` {
		t.Errorf("got %q, %v", reply.Text, err)
	}
}

func TestAttempt_WhatCannotStart(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("long ", 1<<20)
	for _, test := range []struct {
		name  string
		c     Config
		brief string
		kind  firstgood.Kind
		says  []string
		unix  bool
	}{
		{name: "not in PATH", c: Config{Name: "d", Argv: []string{"firstgood-no-such-agent"}},
			kind: firstgood.KindUnavailable, says: []string{"not found", "firstgood-no-such-agent"}},
		{name: "no such file", c: Config{Name: "d", Argv: []string{"./answer.sh"}, Dir: dir},
			kind: firstgood.KindUnavailable, says: []string{"not found", "./answer.sh"}},
		{name: "not executable", c: Config{Name: "d", Argv: []string{plain}},
			kind: firstgood.KindUnavailable, says: []string{"cannot be executed", plain}, unix: true},
		{name: "no directory", c: Config{Name: "d", Argv: []string{plain}, Dir: filepath.Join(dir, "gone")},
			kind: firstgood.KindUnavailable, says: []string{"directory", filepath.Join(dir, "gone")}},
		{name: "NUL in an argument", c: program(t, "show", "x{brief}"), brief: "a\x00b",
			kind: firstgood.KindBadRequest, says: []string{"NUL", "stdin"}},
		{name: "brief too long for an argument", c: program(t, "show", "{brief}"), brief: long,
			kind: firstgood.KindContextLength, says: []string{fmt.Sprint(len(long)), "stdin"}},
		{name: "arguments too long without the brief", c: program(t, "show", long), brief: "b",
			kind: firstgood.KindUnavailable, says: []string{"too long"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.unix && runtime.GOOS == "windows" {
				t.Skip("other rules on Windows")
			}
			_, err := build(t, test.c).Attempt(t.Context(), firstgood.Text(test.brief))
			f := failure(t, err)
			if f.Kind != test.kind {
				t.Errorf("kind %s, want %s", f.Kind, test.kind)
			}
			for _, says := range test.says {
				if !strings.Contains(f.Reason, says) {
					t.Errorf("reason %q does not say %q", f.Reason, says)
				}
			}
			if len(f.Reason) > 500 {
				t.Errorf("the reason has %d bytes", len(f.Reason))
			}
		})
	}
}

func TestAttempt_AStopGivesTheCause(t *testing.T) {
	for _, test := range []struct {
		name  string
		cause error
		kind  firstgood.Kind
	}{
		{"lost", &firstgood.LostError{Winner: "other"}, firstgood.KindError},
		{"its time is up", context.DeadlineExceeded, firstgood.KindTimeout},
		{"the caller's reason", errors.New("enough"), firstgood.KindError},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, met := stubborn(t)
			c.Grace = time.Millisecond
			ctx, cancel := context.WithCancelCause(t.Context())
			done := attempt(ctx, build(t, c))
			conn := receive(t, met)
			cancel(test.cause)
			got := receive(t, done)
			wantDead(t, conn)
			if !errors.Is(got.err, test.cause) || !got.reply.Empty() {
				t.Errorf("got %+v, %v", got.reply, got.err)
			}
			if f := firstgood.FailureOf("d", 0, got.err); f.Kind != test.kind {
				t.Errorf("got %v, want kind %s", f, test.kind)
			}
		})
	}
}

type attempted struct {
	reply firstgood.Reply
	err   error
}

// attempt attempts a brief in the background.
func attempt(ctx context.Context, d *Delegate) <-chan attempted {
	done := make(chan attempted, 1)
	go func() {
		reply, err := d.Attempt(ctx, firstgood.Text("b"))
		done <- attempted{reply, err}
	}()
	return done
}

func TestDrain_WaitsForWhatIsBeingWoundDown(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing ignores SIGTERM there")
	}
	c, met := stubborn(t)
	c.Grace = time.Hour
	d := build(t, c)
	if err := d.Drain(t.Context()); err != nil {
		t.Errorf("before any attempt: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := attempt(ctx, d)
	conn := receive(t, met)
	if err := d.Drain(t.Context()); err != nil {
		t.Errorf("an attempt that nobody has stopped: %v", err)
	}
	cancel()
	enough := errors.New("enough")
	impatient, stop := context.WithCancelCause(t.Context())
	stop(enough)
	if err := d.Drain(impatient); !errors.Is(err, enough) {
		t.Errorf("an attempt within its grace: got %v, want %v", err, enough)
	}
	drained := make(chan error, 1)
	go func() { drained <- d.Drain(t.Context()) }()
	select {
	case err := <-drained:
		t.Errorf("drained while the program was alive, with %v", err)
	default:
	}
	fmt.Fprintln(conn, "go on")
	if err := receive(t, drained); err != nil {
		t.Error(err)
	}
	if d.stopping() != nil {
		t.Error("drained before the end of the attempt")
	}
	wantDead(t, conn)
	if got := receive(t, done); !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %v", got.err)
	}
}

func TestAttempt_SeveralAtOnce(t *testing.T) {
	d := build(t, program(t, "show"))
	var all []<-chan attempted
	for range 8 {
		all = append(all, attempt(t.Context(), d))
	}
	for _, done := range all {
		if got := receive(t, done); got.err != nil || got.reply.Text != `[] "b"` {
			t.Errorf("got %q, %v", got.reply.Text, got.err)
		}
	}
}

func TestIsBatch(t *testing.T) {
	for program, want := range map[string]bool{"a.cmd": true, `C:\x\A.BAT`: true, "a.exe": false, "cmd": false, "./a": false} {
		if got := isBatch(program); got != want {
			t.Errorf("%s: got %v", program, got)
		}
	}
}
