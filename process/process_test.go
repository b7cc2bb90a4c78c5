package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name   string
		steps  []string
		change func(*Spec)
		want   Result
	}{
		{name: "output", steps: []string{"out:hello\n", "err:aside"}, want: Result{Stdout: []byte("hello\n"), Stderr: []byte("aside")}},
		{name: "exit status", steps: []string{"out:looks good", "exit:3"}, want: Result{Stdout: []byte("looks good"), ExitCode: 3}},
		{name: "arguments are not read by a shell", steps: []string{"args", "$HOME", "a b", "; echo x", "`id`", "*", ""},
			want: Result{Stdout: []byte(`["$HOME" "a b" "; echo x" "` + "`id`" + `" "*" ""]`)}},
		{name: "stdin", steps: []string{"cat"}, change: func(s *Spec) { s.Stdin = strings.Repeat("brief ", 50_000) },
			want: Result{Stdout: []byte(strings.Repeat("brief ", 50_000))}},
		{name: "no stdin", steps: []string{"cat", "out:end"}, want: Result{Stdout: []byte("end")}},
		{name: "stdin that nobody reads", steps: []string{"out:done"}, change: func(s *Spec) { s.Stdin = strings.Repeat("brief ", 500_000) },
			want: Result{Stdout: []byte("done")}},
		{name: "directory", steps: []string{"pwd"}, change: func(s *Spec) { s.Dir = dir }, want: Result{Stdout: []byte(dir)}},
		{name: "exactly the limit", steps: []string{"out:12345"}, change: func(s *Spec) { s.MaxOutput = 5 }, want: Result{Stdout: []byte("12345")}},
		{name: "end of stderr", steps: []string{"err:" + strings.Repeat("long ", 1000), "err:the end"}, change: func(s *Spec) { s.StderrTail = 9 },
			want: Result{Stderr: []byte("g the end"), StderrCut: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := steps(t, test.steps...)
			if test.change != nil {
				test.change(&spec)
			}
			got, err := Run(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			if fmt.Sprintf("%q", got.Stdout) != fmt.Sprintf("%q", test.want.Stdout) {
				t.Errorf("stdout %.100q, want %.100q", got.Stdout, test.want.Stdout)
			}
			if string(got.Stderr) != string(test.want.Stderr) || got.StderrCut != test.want.StderrCut {
				t.Errorf("stderr %q, cut %v, want %q, %v", got.Stderr, got.StderrCut, test.want.Stderr, test.want.StderrCut)
			}
			if got.ExitCode != test.want.ExitCode || got.Signal != "" || got.Left {
				t.Errorf("got %s, left %v, want exit status %d", got.Status(), got.Left, test.want.ExitCode)
			}
		})
	}
}

func TestRun_TheEnvironmentIsWhatTheSpecSays(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-children")
	spec := steps(t, "env")
	spec.Env = append(spec.Env, "A=old", "B=two words", "A=1")
	got, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	want := "A=1\nB=two words\n" + stepsEnv + "=1\nGORACE=atexit_sleep_ms=0"
	if runtime.GOOS != "windows" && string(got.Stdout) != want {
		t.Errorf("got %q, want %q", got.Stdout, want)
	}
	if strings.Contains(string(got.Stdout), "OPENAI_API_KEY") {
		t.Error("the child got a key of ours")
	}
}

func TestRun_WhatCannotStartSaysWhy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "no program", 0o644)
	tests := []struct {
		name string
		spec Spec
		want error
		says string
		unix bool
	}{
		{name: "no argv", want: ErrInvalid, says: "no program"},
		{name: "empty program", spec: Spec{Argv: []string{"", "x"}}, want: ErrInvalid, says: "no program"},
		{name: "NUL in an argument", spec: Spec{Argv: []string{"x", "a\x00b"}}, want: ErrInvalid, says: "argument 1"},
		{name: "NUL in the directory", spec: Spec{Argv: []string{"x"}, Dir: "a\x00b"}, want: ErrInvalid, says: "directory"},
		{name: "environment without =", spec: Spec{Argv: []string{"x"}, Env: []string{"A=1", "B"}}, want: ErrInvalid, says: "entry 1"},
		{name: "negative limit", spec: Spec{Argv: []string{"x"}, MaxOutput: -1}, want: ErrInvalid, says: "negative"},
		{name: "not in PATH", spec: Spec{Argv: []string{"firstgood-no-such-program"}}, want: ErrNotFound, says: "firstgood-no-such-program"},
		{name: "no such file", spec: Spec{Argv: []string{"./answer.sh"}, Dir: dir}, want: ErrNotFound, says: "./answer.sh"},
		{name: "not executable", spec: Spec{Argv: []string{plain}}, want: ErrNotExecutable, says: plain, unix: true},
		{name: "a directory", spec: Spec{Argv: []string{dir}}, want: ErrNotExecutable, says: dir, unix: true},
		{name: "no #! line", spec: Spec{Argv: []string{"./bare"}, Dir: dir}, want: ErrNotExecutable, says: "#!", unix: true},
		{name: "no interpreter", spec: Spec{Argv: []string{"./lost"}, Dir: dir}, want: ErrNotExecutable, says: "interpreter", unix: true},
		{name: "no such directory", spec: Spec{Argv: []string{plain}, Dir: filepath.Join(dir, "gone")}, want: ErrDir, says: filepath.Join(dir, "gone")},
		{name: "directory is a file", spec: Spec{Argv: []string{plain}, Dir: plain}, want: ErrDir, says: plain},
		{name: "arguments too long", spec: steps(t, strings.Repeat("x", 4<<20)), want: ErrTooLong, says: "too long"},
	}
	write("bare", "echo hello\n", 0o755)
	write("lost", "#!/no/such/interpreter\n", 0o755)
	all := []error{ErrInvalid, ErrNotFound, ErrNotExecutable, ErrDir, ErrTooLong}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.unix && runtime.GOOS == "windows" {
				t.Skip("other rules on Windows")
			}
			got, err := Run(t.Context(), test.spec)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Fatalf("got error %v, want one that says %q", err, test.says)
			}
			for _, sentinel := range all {
				if errors.Is(err, sentinel) != (sentinel == test.want) {
					t.Errorf("%v: matches %q: %v", err, sentinel, errors.Is(err, sentinel))
				}
			}
			if got.ExitCode != -1 {
				t.Errorf("exit code %d of what did not run", got.ExitCode)
			}
		})
	}
}

func TestRun_NothingStartsWhenTheContextIsDone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the caller's reason")
	cancel(cause)
	if _, err := Run(ctx, Spec{Argv: []string{"firstgood-no-such-program"}}); !errors.Is(err, cause) || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want %v alone", err, cause)
	}
}

func TestS42_OutputWithoutEndIsCutOffInBoundedMemory(t *testing.T) {
	const limit = 1 << 20
	c := listen(t)
	spec := c.steps(t, "hello:leader", "flood")
	spec.MaxOutput = limit
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := runAside(t.Context(), spec)
	leader := c.meet(t, "leader")[0]
	got := receive(t, done)
	runtime.ReadMemStats(&after)
	var tooMuch *OutputLimitError
	if !errors.As(got.err, &tooMuch) || tooMuch.Limit != limit {
		t.Fatalf("got %v, want an OutputLimitError of %d", got.err, limit)
	}
	if len(got.Stdout) != limit {
		t.Errorf("kept %d bytes, want %d", len(got.Stdout), limit)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 10*limit {
		t.Errorf("allocated %d bytes for an output limit of %d", used, limit)
	}
	leader.rest(t)
}

func TestRun_StderrWithoutEndIsNoReasonToStop(t *testing.T) {
	spec := steps(t, "err:"+strings.Repeat("noise ", 10_000), "out:fine")
	got, err := Run(t.Context(), spec)
	if err != nil || string(got.Stdout) != "fine" || len(got.Stderr) != DefaultStderrTail || !got.StderrCut {
		t.Errorf("got %q, %d bytes of stderr, cut %v, error %v", got.Stdout, len(got.Stderr), got.StderrCut, err)
	}
}

func TestRun_NoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	done := make(chan ended)
	const runs = 16
	for range runs {
		go func() {
			spec := steps(t, "out:x")
			spec.Stdin = strings.Repeat("x", 1<<20)
			result, err := Run(t.Context(), spec)
			done <- ended{result, err}
		}()
	}
	for range runs {
		if got := receive(t, done); got.err != nil || string(got.Stdout) != "x" {
			t.Errorf("got %q, %v", got.Stdout, got.err)
		}
	}
	deadline := time.Now().Add(safety)
	for runtime.NumGoroutine() > before {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.Gosched()
	}
}

func TestTail(t *testing.T) {
	for _, test := range []struct {
		writes []string
		want   string
		cut    bool
	}{
		{nil, "", false},
		{[]string{"ab", "cd"}, "abcd", false},
		{[]string{"ab", "cde"}, "bcde", true},
		{[]string{"abcdefghij"}, "ghij", true},
		{[]string{"abcd", "efgh", "i"}, "fghi", true},
		{[]string{"abcd", "efgh", "ijklmno", "p"}, "mnop", true},
		{strings.Split("abcdefghijklmnopqrstuvwxyz", ""), "wxyz", true},
	} {
		w := &tail{limit: 4}
		for _, s := range test.writes {
			if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
				t.Errorf("Write(%q) = %d, %v", s, n, err)
			}
		}
		if got, cut := w.bytes(); string(got) != test.want || cut != test.cut {
			t.Errorf("%q: got %q, %v, want %q, %v", test.writes, got, cut, test.want, test.cut)
		}
		if cap(w.data) > 32 {
			t.Errorf("%q: holds %d bytes", test.writes, cap(w.data))
		}
	}
}

func BenchmarkRun(b *testing.B) {
	spec := steps(b, "exit:0")
	b.Run("Run", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Run(b.Context(), spec); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("os_exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			cmd := exec.CommandContext(b.Context(), spec.Argv[0], spec.Argv[1:]...)
			cmd.Env = spec.Env
			if _, err := cmd.Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// sink takes stdout; one that is full refuses it.
type sink struct {
	bytes.Buffer
	full bool
}

func (s *sink) Write(p []byte) (int, error) {
	if s.full {
		return 0, errors.New("no more")
	}
	return s.Buffer.Write(p)
}

func TestRun_StdoutGoesToAWriter(t *testing.T) {
	for _, test := range []struct {
		name  string
		steps []string
		limit int
		full  bool
		want  string
		err   bool // an OutputLimitError
	}{
		{name: "all of it", steps: []string{"out:one\n", "err:aside", "out:two"}, want: "one\ntwo"},
		{name: "exactly the limit", steps: []string{"out:12345"}, limit: 5, want: "12345"},
		{name: "beyond the limit", steps: []string{"flood"}, limit: 70_000, err: true},
		{name: "it refuses", steps: []string{"flood"}, full: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := &sink{full: test.full}
			spec := steps(t, test.steps...)
			spec.Stdout, spec.MaxOutput = out, test.limit
			got, err := Run(t.Context(), spec)
			var tooMuch *OutputLimitError
			if errors.As(err, &tooMuch) != test.err || err != nil && !test.err {
				t.Fatalf("got error %v", err)
			}
			if got.Stdout != nil {
				t.Errorf("the result holds %d bytes of stdout too", len(got.Stdout))
			}
			if test.err && out.Len() != test.limit || !test.err && out.String() != test.want {
				t.Errorf("the writer got %d bytes, %.100q", out.Len(), out.String())
			}
			if test.full && got.ExitCode == 0 {
				t.Error("the program could go on to write to nobody")
			}
		})
	}
}
