package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/firstgood/firstgood/lab"
)

// patience bounds every wait of these tests. Who waits that long has failed.
const patience = 30 * time.Second

// TestMain runs the tests, or is one of the programs that they run: firstgood itself, and program.
func TestMain(m *testing.M) {
	os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0") // else each process takes a second to end under -race
	testscript.Main(m, map[string]func(){"firstgood": main, "program": program})
}

// TestScripts runs the scripts in testdata/script. They know, beside what testscript knows:
//
//	lab                     start a lab, whose address is $LAB; see theLab for its own models
//	lab started N           wait until N visits have begun
//	lab gone N              wait until N visits have ended because their client went away
//	lab visits N            there were N visits
//	lab asked MODEL N       N of them were for the model
//	lab key MODEL yes|no    an Authorization header came with each of those, or with none
//	lab brief MODEL N       put the N-th brief of the model, from 1, on stdout
//	exits N PROGRAM ARG…    run a program, which exits with N
//	signal INT|TERM|HUP     send a signal to the last process in the background
//	exits N                 so ended the process that was signalled last, which wait has waited for
//	json PATH VALUE         stdout is one JSON object that has the value at the path; VALUE is JSON, or else a string, or
//	                        :text, :object, :number, :list, :len N, :keys A,B,C
//	awaitfile FILE          wait until there is the file
//	gone FILE               wait until no process is left whose id is in the file
//	slay FILE               kill the processes whose ids are in the file
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			if cache, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil { // what scripts build is not built from nothing
				env.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			}
			if path, err := exec.LookPath("firstgood"); err == nil {
				env.Setenv("BIN", filepath.Dir(path)) // a PATH with nothing but the programs of the tests
			}
			for _, name := range []string{"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
				env.Setenv(name, "")
			}
			env.Values[stateKey{}] = &state{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"lab": labCommand, "exits": exitsCommand, "signal": signalCommand, "json": jsonCommand,
			"awaitfile": awaitFileCommand, "gone": goneCommand, "slay": slayCommand,
		},
	})
}

// state is what the commands of one script share.
type state struct {
	lab       *lab.Server
	signalled *exec.Cmd
}

type stateKey struct{}

func stateOf(ts *testscript.TestScript) *state { return ts.Value(stateKey{}).(*state) }

// theLab has models of its own: blabber repeats the Authorization header in an error, json answers with a text that is
// JSON, and after:N:TEXT answers when N visits have begun.
func theLab() (*lab.Server, error) {
	var server *lab.Server
	server, err := lab.New(lab.Config{Models: map[string]lab.Model{
		"blabber": func(_ context.Context, req lab.Request) lab.Reply {
			return lab.Reply{Status: 401, Error: &lab.Error{Message: "wrong key: " + req.Header.Get("Authorization"), Type: "auth"}}
		},
		"json": func(context.Context, lab.Request) lab.Reply { return lab.Reply{Text: `{"a":1}`} },
		"after": func(ctx context.Context, req lab.Request) lab.Reply {
			_, rest, _ := strings.Cut(req.Model, ":")
			count, text, _ := strings.Cut(rest, ":")
			n, err := strconv.Atoi(count)
			if err != nil || server.WaitStarted(ctx, n) != nil {
				return lab.Reply{Status: 500}
			}
			return lab.Reply{Text: text}
		},
	}})
	if err != nil {
		return nil, err
	}
	return server, server.Start("")
}

func labCommand(ts *testscript.TestScript, neg bool, args []string) {
	s := stateOf(ts)
	if neg {
		ts.Fatalf("unsupported: ! lab")
	}
	if len(args) == 0 {
		server, err := theLab()
		ts.Check(err)
		ts.Defer(func() { _ = server.Close() })
		ts.Setenv("LAB", server.URL())
		s.lab = server
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	last := args[len(args)-1]
	n, _ := strconv.Atoi(last)
	var visits []lab.Visit // those of the model
	for _, v := range s.lab.Visits() {
		if len(args) < 3 || v.Model == args[1] {
			visits = append(visits, v)
		}
	}
	switch {
	case args[0] == "started" && len(args) == 2:
		ts.Check(s.lab.WaitStarted(ctx, n))
	case args[0] == "gone" && len(args) == 2:
		ts.Check(s.lab.WaitGone(ctx, n))
	case args[0] == "visits" && len(args) == 2, args[0] == "asked" && len(args) == 3:
		if len(visits) != n {
			ts.Fatalf("got %d visits, want %d: %v", len(visits), n, s.lab.Visits())
		}
	case args[0] == "key" && len(args) == 3:
		for _, v := range visits {
			if v.Authorization != (last == "yes") {
				ts.Fatalf("%v: Authorization %v", v, v.Authorization)
			}
		}
		if len(visits) == 0 {
			ts.Fatalf("nobody visited %s", args[1])
		}
	case args[0] == "brief" && len(args) == 3:
		if n < 1 || n > len(visits) {
			ts.Fatalf("%s was visited %d times", args[1], len(visits))
		}
		_, err := fmt.Fprintln(ts.Stdout(), visits[n-1].Brief)
		ts.Check(err)
	default:
		ts.Fatalf("unknown: lab %s", strings.Join(args, " "))
	}
}

func exitsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: exits N [PROGRAM ARG…]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if len(args) == 1 {
		cmd := stateOf(ts).signalled
		if cmd == nil || cmd.ProcessState == nil {
			ts.Fatalf("nothing has been signalled and waited for")
		}
		got = cmd.ProcessState.ExitCode()
	} else if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("got exit status %d, want %d", got, want)
	}
}

func signalCommand(ts *testscript.TestScript, neg bool, args []string) {
	background := ts.BackgroundCmds()
	if neg || len(args) != 1 || len(background) == 0 {
		ts.Fatalf("usage: signal INT|TERM|HUP, of the last process in the background")
	}
	cmd := background[len(background)-1]
	stateOf(ts).signalled = cmd
	ts.Check(cmd.Process.Signal(map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}[args[0]]))
}

func jsonCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: json PATH VALUE")
	}
	text := ts.ReadFile("stdout")
	if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
		ts.Fatalf("stdout is not one line: %q", text)
	}
	var document any
	ts.Check(json.Unmarshal([]byte(text), &document))
	got, err := at(document, args[0])
	ts.Check(err)
	if args[0] == "." {
		got = document
	}
	if problem := differs(got, args[1], strings.Join(args[2:], "")); problem != "" {
		ts.Fatalf("%s: %s", args[0], problem)
	}
}

// at returns what is at a path such as failure_history.0.kind.
func at(document any, path string) (any, error) {
	here := document
	for name := range strings.SplitSeq(strings.Trim(path, "."), ".") {
		if name == "" {
			continue
		}
		switch value := here.(type) {
		case map[string]any:
			inner, ok := value[name]
			if !ok {
				return nil, fmt.Errorf("%s: there is no %s", path, name)
			}
			here = inner
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(value) {
				return nil, fmt.Errorf("%s: there is no [%s] in a list of %d", path, name, len(value))
			}
			here = value[i]
		default:
			return nil, fmt.Errorf("%s: there is no %s in %v", path, name, here)
		}
	}
	return here, nil
}

// differs says how got is not what was wanted, "" where it is.
func differs(got any, want, argument string) string {
	switch value := got.(type) {
	case []any:
		if want == ":len" {
			if strconv.Itoa(len(value)) != argument {
				return fmt.Sprintf("got a list of %d, want %s: %v", len(value), argument, value)
			}
			return ""
		}
	case map[string]any:
		if want == ":keys" {
			var missing []string
			keys := strings.Split(argument, ",")
			for _, key := range keys {
				if _, ok := value[key]; !ok {
					missing = append(missing, key)
				}
			}
			if len(missing) > 0 || len(keys) != len(value) {
				return fmt.Sprintf("got %d keys, want %d; missing are %v", len(value), len(keys), missing)
			}
			return ""
		}
	}
	kinds := map[string]reflect.Kind{":text": reflect.String, ":number": reflect.Float64, ":list": reflect.Slice, ":object": reflect.Map}
	if kind, ok := kinds[want]; ok {
		if got == nil || reflect.TypeOf(got).Kind() != kind {
			return fmt.Sprintf("got %v, want %s", got, want)
		}
		return ""
	}
	var wanted any
	if json.Unmarshal([]byte(want), &wanted) != nil {
		wanted = want
	}
	if !reflect.DeepEqual(got, wanted) {
		return fmt.Sprintf("got %#v, want %#v", got, wanted)
	}
	return ""
}

func awaitFileCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: awaitfile FILE")
	}
	if !eventually(func() bool { return exists(ts.MkAbs(args[0])) }) {
		ts.Fatalf("%s never appeared", args[0])
	}
}

func goneCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	for _, pid := range processesIn(ts.ReadFile(args[0])) {
		if !eventually(func() bool { return !alive(pid) }) {
			ts.Fatalf("process %d is still there", pid)
		}
	}
}

func slayCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: slay FILE")
	}
	for _, pid := range processesIn(ts.ReadFile(args[0])) {
		if process, err := os.FindProcess(pid); err == nil {
			_ = process.Kill()
		}
	}
}

// processesIn returns the process ids in a text; there is at least one.
func processesIn(text string) []int {
	var pids []int
	for field := range strings.FieldsSeq(text) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			panic(err)
		}
		pids = append(pids, pid)
	}
	if len(pids) == 0 {
		panic("no process ids")
	}
	return pids
}

// eventually reports whether ok comes to hold while there is patience.
func eventually(ok func() bool) bool {
	limit := time.NewTimer(patience)
	defer limit.Stop()
	probe := time.NewTicker(2 * time.Millisecond)
	defer probe.Stop()
	for !ok() {
		select {
		case <-probe.C:
		case <-limit.C:
			return ok()
		}
	}
	return true
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestScriptNames keeps the scripts in one place, so that none is forgotten in a folder that nobody runs.
func TestScriptNames(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) < 20 {
		t.Errorf("got %d scripts (%v), want at least 20", len(scripts), err)
	}
}
