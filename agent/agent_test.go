package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/command"
)

// The test binary is also the agent that the tests run. It gets what to do by environment.
const (
	sayEnv    = "FIRSTGOOD_TEST_AGENT_SAY"    // what to print
	errEnv    = "FIRSTGOOD_TEST_AGENT_ERR"    // what to print to stderr
	exitEnv   = "FIRSTGOOD_TEST_AGENT_EXIT"   // the exit status
	reportEnv = "FIRSTGOOD_TEST_AGENT_REPORT" // a file that gets how it was run
	waitEnv   = "FIRSTGOOD_TEST_AGENT_WAIT"   // an address to connect to and wait at
)

// report is how an agent was run.
type report struct {
	Args  []string
	Stdin string
	Dir   string
	Env   []string
}

func TestMain(m *testing.M) {
	if os.Getenv(exitEnv) != "" {
		play()
	}
	os.Exit(m.Run())
}

func play() {
	if file := os.Getenv(reportEnv); file != "" {
		stdin, _ := io.ReadAll(os.Stdin)
		dir, _ := os.Getwd()
		data, _ := json.Marshal(report{os.Args[1:], string(stdin), dir, os.Environ()})
		if err := os.WriteFile(file, data, 0o600); err != nil {
			os.Exit(99)
		}
	}
	fmt.Print(os.Getenv(sayEnv))
	fmt.Fprint(os.Stderr, os.Getenv(errEnv))
	if address := os.Getenv(waitEnv); address != "" {
		time.AfterFunc(time.Minute, func() { os.Exit(99) })
		conn, err := net.Dial("tcp", address)
		if err != nil {
			os.Exit(99)
		}
		_, _ = conn.Read(make([]byte, 1))
	}
	var status int
	_, _ = fmt.Sscan(os.Getenv(exitEnv), &status)
	os.Exit(status)
}

func fake(t *testing.T, kind, stdout string, status int) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{Kind: kind, Program: self, Env: map[string]string{sayEnv: stdout, exitEnv: fmt.Sprint(status), "GORACE": "atexit_sleep_ms=0"}}
}

func build(t *testing.T, c Config) *command.Delegate {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func failureOf(t *testing.T, err error) *firstgood.Error {
	t.Helper()
	e, ok := errors.AsType[*firstgood.Error](err)
	if !ok {
		t.Fatalf("got error %v of type %T, want an *firstgood.Error", err, err)
	}
	return e
}

// TestNew_Transcripts runs every transcript as a program.
func TestNew_Transcripts(t *testing.T) {
	for _, test := range transcripts {
		t.Run(test.kind+"/"+test.name, func(t *testing.T) {
			status := 0
			if test.failed {
				status = 1
			}
			reply, err := build(t, fake(t, test.kind, test.stdout, status)).Attempt(t.Context(), firstgood.Text("Write hello.txt"))
			if test.error == "" {
				if err != nil {
					t.Fatal(err)
				}
				used := test.usage
				used.Cost = max(test.cost, 0) // -1 is none
				if reply.Text != test.text || reply.Usage != used {
					t.Errorf("got %q, %+v, want %q, %+v", reply.Text, reply.Usage, test.text, used)
				}
				return
			}
			e := failureOf(t, err)
			if e.Kind != test.error || e.Status != test.status || !strings.Contains(e.Reason, test.reason) {
				t.Errorf("got %+v, want %s, status %d: %s", *e, test.error, test.status, test.reason)
			}
			if e.Used() != test.usage {
				t.Errorf("used %+v, want %+v", e.Used(), test.usage)
			}
		})
	}
}

func TestNew_ExitStatusIsAFailureWhateverWasSaid(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			good := transcripts[slices.IndexFunc(transcripts, func(tr transcript) bool { return tr.kind == kind.Name && tr.name == "good" })]
			c := fake(t, kind.Name, good.stdout, 3)
			c.Env[errEnv] = "line one\nthe disk is full\n"
			_, err := build(t, c).Attempt(t.Context(), firstgood.Text("x"))
			e := failureOf(t, err)
			if e.Kind != firstgood.KindError || !strings.Contains(e.Reason, "exit status 3") || !strings.Contains(e.Reason, "the disk is full") {
				t.Errorf("got %+v", *e)
			}
			used := good.usage
			used.Cost = max(good.cost, 0)
			if e.Used() != used {
				t.Errorf("used %+v, want %+v", e.Used(), used)
			}
			c = fake(t, kind.Name, "", 3)
			c.Env[errEnv] = "no such option"
			_, err = build(t, c).Attempt(t.Context(), firstgood.Text("x"))
			if e := failureOf(t, err); e.Kind != firstgood.KindError || !strings.Contains(e.Reason, "no such option") {
				t.Errorf("without output: got %+v", *e)
			}
		})
	}
}

// TestNew_HowItIsRun holds arguments, stdin, directory and environment.
func TestNew_HowItIsRun(t *testing.T) {
	wants := map[string][]string{
		"claude":   {"--print", "--output-format", "stream-json", "--verbose", "--permission-mode", "acceptEdits", "--no-session-persistence", "--model", "m{brief}", "-x", "{brief}"},
		"codex":    {"exec", "--json", "--sandbox", "workspace-write", "--skip-git-repo-check", "--ephemeral", "--color", "never", "--model", "m{brief}", "-x", "{brief}"},
		"gemini":   {"--output-format", "stream-json", "--approval-mode", "auto_edit", "--skip-trust", "--model", "m{brief}", "-x", "{brief}"},
		"opencode": {"run", "--format", "json", "--model", "m{brief}", "-x", "{brief}"},
		"qwen":     {"--output-format", "stream-json", "--approval-mode", "auto-edit", "--model", "m{brief}", "-x", "{brief}"},
		"aider": {"--yes-always", "--no-auto-commits", "--no-dirty-commits", "--no-gitignore", "--no-suggest-shell-commands", "--no-detect-urls", "--no-stream", "--no-pretty",
			"--no-fancy-input", "--no-check-update", "--no-show-release-notes", "--no-analytics", "--input-history-file", os.DevNull, "--chat-history-file", os.DevNull,
			"--model", "m{brief}", "-x", "{brief}", "--message=\n--help"},
	}
	t.Setenv("FIRSTGOOD_TEST_NOT_FOR_AGENTS", "x")
	t.Setenv("FIRSTGOOD_TEST_PASSED", "y")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			for _, name := range kind.Env {
				t.Setenv(name, "value of "+name)
			}
			c := fake(t, kind.Name, "", 0)
			c.Model, c.Args, c.PassEnv = "m{brief}", []string{"-x", "{brief}"}, []string{"FIRSTGOOD_TEST_PASSED"}
			c.Dir = t.TempDir()
			file := filepath.Join(t.TempDir(), "report")
			c.Env[reportEnv] = file
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			_, _ = build(t, c).Attempt(command.In(t.Context(), dir), firstgood.Text("--help"))
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got report
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Args, wants[kind.Name]) {
				t.Errorf("args %q, want %q", got.Args, wants[kind.Name])
			}
			stdin := "--help"
			if kind.Name == "aider" {
				stdin = ""
			}
			if got.Stdin != stdin {
				t.Errorf("stdin %q, want %q", got.Stdin, stdin)
			}
			if got.Dir != dir {
				t.Errorf("works in %s, want %s", got.Dir, dir)
			}
			for _, name := range kind.Env {
				if want := name + "=value of " + name; !slices.Contains(got.Env, want) {
					t.Errorf("%s is not passed on", name)
				}
			}
			if !slices.Contains(got.Env, "FIRSTGOOD_TEST_PASSED=y") {
				t.Error("a variable of PassEnv is not passed on")
			}
			for _, entry := range got.Env {
				if strings.HasPrefix(entry, "FIRSTGOOD_TEST_NOT") || strings.HasPrefix(entry, "AWS_") {
					t.Errorf("%s is passed on", entry)
				}
			}
		})
	}
}

func TestNew_SetsWhatIsNotSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	for _, test := range []struct{ ours, configured, want string }{{"", "", "3"}, {"7", "", "7"}, {"7", "9", "9"}, {"", "9", "9"}} {
		if test.ours != "" {
			t.Setenv("CLAUDE_CODE_MAX_RETRIES", test.ours)
		} else {
			t.Setenv("CLAUDE_CODE_MAX_RETRIES", "") // so that it is restored
			if err := os.Unsetenv("CLAUDE_CODE_MAX_RETRIES"); err != nil {
				t.Fatal(err)
			}
		}
		c := fake(t, "claude", "", 0)
		c.Env[reportEnv] = file
		if test.configured != "" {
			c.Env["CLAUDE_CODE_MAX_RETRIES"] = test.configured
		}
		_, _ = build(t, c).Attempt(t.Context(), firstgood.Text("x"))
		data, _ := os.ReadFile(file)
		if !strings.Contains(string(data), `"CLAUDE_CODE_MAX_RETRIES=`+test.want+`"`) {
			t.Errorf("%+v: got %s", test, data)
		}
	}
}

func TestArgv_OfTheUserRulesOut(t *testing.T) {
	for _, test := range []struct {
		kind    string
		args    []string
		without string
	}{
		{"claude", []string{"--permission-mode", "plan"}, "acceptEdits"},
		{"claude", []string{"--permission-mode=plan"}, "acceptEdits"},
		{"claude", []string{"--dangerously-skip-permissions"}, "acceptEdits"},
		{"claude", []string{"--resume", "x"}, "--no-session-persistence"},
		{"codex", []string{"--sandbox", "read-only"}, "workspace-write"},
		{"codex", []string{"-s", "read-only"}, "workspace-write"},
		{"codex", []string{"--dangerously-bypass-approvals-and-sandbox"}, "workspace-write"},
		{"gemini", []string{"--yolo"}, "auto_edit"},
		{"qwen", []string{"-y"}, "auto-edit"},
		{"aider", []string{"--auto-commits"}, "--no-auto-commits"},
	} {
		with, err := Argv(Config{Kind: test.kind})
		if err != nil || !slices.Contains(with, test.without) {
			t.Errorf("%s: %q, %v, want one with %s", test.kind, with, err, test.without)
		}
		argv, err := Argv(Config{Kind: test.kind, Args: test.args})
		if err != nil || slices.Contains(argv, test.without) {
			t.Errorf("%s %v: %q, %v, want one without %s", test.kind, test.args, argv, err, test.without)
		}
		if !strings.Contains(strings.Join(argv, " "), strings.Join(test.args, " ")) {
			t.Errorf("%s: %q does not hold %q", test.kind, argv, test.args)
		}
	}
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	for _, test := range []struct {
		c    Config
		says string
	}{
		{Config{}, `kind: got ""`},
		{Config{Kind: "copilot"}, `got "copilot", want one of claude, codex, gemini, opencode, qwen, aider`},
		{Config{Kind: "claude", Args: []string{"a", "b\x00"}}, "args[1]"},
		{Config{Kind: "claude", Program: "\x00"}, "NUL"},
		{Config{Kind: "claude", Model: "--dangerously-skip-permissions"}, "begins with -"},
		{Config{Kind: "claude", Grace: -1}, "grace"},
		{Config{Kind: "claude", PassEnv: []string{"A=B"}}, "env"},
	} {
		if _, err := New(test.c); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%+v: got %v, want an error with %s", test.c, err, test.says)
		}
	}
	if _, err := Argv(Config{Kind: "copilot"}); err == nil {
		t.Error("Argv knows an agent that does not exist")
	}
	if d := build(t, Config{Kind: "claude"}); d.Name() != "claude" {
		t.Errorf("its name is %q, want that of its kind", d.Name())
	}
}

func TestNew_SecretsAreNotTold(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-topsecret")
	t.Setenv("HTTPS_PROXY", "http://me:p%40ssword@proxy.example:8080")
	c := fake(t, "codex", `{"type":"turn.failed","error":{"message":"bad key sk-topsecret"}}`+"\n", 1)
	c.Env[errEnv] = "proxy http://me:p%40ssword@proxy.example:8080 refused p@ssword"
	_, err := build(t, c).Attempt(t.Context(), firstgood.Text("x"))
	e := failureOf(t, err)
	for _, secret := range []string{"sk-topsecret", "p%40ssword", "p@ssword"} {
		if strings.Contains(e.Reason+e.Detail, secret) {
			t.Errorf("%q tells %s", e.Reason+" "+e.Detail, secret)
		}
	}
	if !strings.Contains(e.Reason, "bad key [secret]") {
		t.Errorf("reason %q", e.Reason)
	}
}

// TestNew_IsStopped ends an agent in the middle: what it has used is still counted, and its line was noted.
func TestNew_IsStopped(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a program is asked by a console event there")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	c := fake(t, "claude", `{"type":"assistant","message":{"id":"msg_1","content":[{"type":"tool_use","name":"Bash","input":{"command":"go test ./..."}}],"usage":{"input_tokens":10,"output_tokens":2}}}`+"\n", 0)
	c.Env[waitEnv] = listener.Addr().String()
	noted := make(chan string, 10)
	record := firstgood.NewRecord(time.Now(), func(call firstgood.Call) {
		if call.Note != "" {
			noted <- call.Note
		}
	})
	call := firstgood.Call{Parent: -1, Delegate: "claude"}
	record.Begin(&call)
	ctx := context.WithValue(t.Context(), firstgood.ScopeKey{}, &firstgood.Scope{Record: record, Call: call.ID})
	lost := &firstgood.LostError{Winner: "codex"}
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		if note := <-noted; note != "Bash go test ./..." {
			t.Errorf("noted %q", note)
		}
		cancel(lost)
		_, _ = conn.Read(make([]byte, 1))
		_ = conn.Close()
	}()
	_, err = build(t, c).Attempt(ctx, firstgood.Text("x"))
	if !errors.Is(err, lost) {
		t.Fatalf("got %v, want the cause", err)
	}
	metered, ok := errors.AsType[interface {
		error
		firstgood.Metered
	}](err)
	if !ok || metered.Used().InputTokens != 10 || metered.Used().OutputTokens != 2 {
		t.Errorf("%v does not tell what was used", err)
	}
}

func TestFind(t *testing.T) {
	found := Find(func(program string) (string, error) {
		if program == "codex" {
			return "/opt/bin/codex", nil
		}
		return "/half/way", exec.ErrNotFound
	})
	if len(found) != len(Kinds()) {
		t.Fatalf("got %d, want one for each kind", len(found))
	}
	for i, f := range found {
		want := ""
		if f.Kind.Name == "codex" {
			want = "/opt/bin/codex"
		}
		if f.Kind.Name != Kinds()[i].Name || f.Path != want {
			t.Errorf("%d: got %s at %q, want %s at %q", i, f.Kind.Name, f.Path, Kinds()[i].Name, want)
		}
		if want == "" {
			if _, err := f.Version(t.Context()); err == nil {
				t.Errorf("%s has a version and no program", f.Kind.Name)
			}
		}
	}
	t.Setenv("PATH", t.TempDir())
	for _, f := range Find(nil) {
		if f.Path != "" {
			t.Errorf("%s was found at %s in an empty PATH", f.Kind.Name, f.Path)
		}
	}
}

func TestFound_Version(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs are scripts")
	}
	for script, want := range map[string]string{
		"echo WARNING: odd; echo codex-cli 0.171.0": "codex-cli 0.171.0",
		"exit 3": "", "true": "",
	} {
		path := filepath.Join(t.TempDir(), "agent")
		if err := os.WriteFile(path, []byte("#!/bin/sh\n[ \"$1\" = --version ] || exit 9\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		version, err := Found{Path: path}.Version(t.Context())
		if version != want || (err == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", script, version, err, want)
		}
	}
}

func TestKinds_SayWhatIsNeeded(t *testing.T) {
	for _, k := range Kinds() {
		if k.Title == "" || k.Program == "" || k.Install == "" || k.Doc == "" || k.Source == "" || len(k.Env) == 0 {
			t.Errorf("%s: a text is missing", k.Name)
		}
		if got, ok := Named(k.Name); !ok || got.Name != k.Name {
			t.Errorf("%s is not found by its name", k.Name)
		}
	}
	if _, ok := Named("copilot"); ok {
		t.Error("an agent that does not exist is found")
	}
}

func TestClassify(t *testing.T) {
	for message, want := range map[string]struct {
		kind   firstgood.Kind
		status int
	}{
		"API Error: 401 {\"type\":\"error\"}":                               {firstgood.KindAuth, 401},
		"Invalid API key · Please run /login":                               {firstgood.KindAuth, 0},
		"API Error: 429 slow down":                                          {firstgood.KindRateLimited, 429},
		"Claude AI usage limit reached|1760000000":                          {firstgood.KindRateLimited, 0},
		"Credit balance is too low":                                         {firstgood.KindRateLimited, 0},
		"Prompt is too long":                                                {firstgood.KindContextLength, 0},
		"API Error: 400 prompt is too long: 210000 tokens > 200000":         {firstgood.KindContextLength, 400},
		"API Error: 400 tools.0: bad schema":                                {firstgood.KindBadRequest, 400},
		"API Error: Connection error.":                                      {firstgood.KindUnavailable, 0},
		"unexpected status 503 Service Unavailable: x":                      {firstgood.KindUnavailable, 503},
		"API Error: 529 Overloaded":                                         {firstgood.KindUnavailable, 529},
		"Your request was rejected as a result of our safety system.":       {firstgood.KindRefused, 0},
		"the test of line 401 fails":                                        {firstgood.KindError, 0},
		"":                                                                  {firstgood.KindError, 0},
		`[API Error: {"error":{"code":429,"status":"RESOURCE_EXHAUSTED"}}]`: {firstgood.KindRateLimited, 429},
	} {
		if kind, status := classify(message); kind != want.kind || status != want.status {
			t.Errorf("%q: got %s, %d, want %s, %d", message, kind, status, want.kind, want.status)
		}
	}
}
