package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/composite"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

// TestMain runs the tests, or is the program that they run, as the first argument says.
func TestMain(m *testing.M) {
	if composite.IsChild() {
		os.Exit(composite.Child(os.Stdin, os.Stdout))
	}
	if len(os.Args) > 2 && os.Args[1] == "program" {
		program(os.Args[2], os.Args[3:])
	}
	os.Exit(m.Run())
}

// program does what a test wants and exits.
func program(what string, args []string) {
	time.AfterFunc(time.Minute, func() { os.Exit(99) }) // lest a failed test leaves it
	status := 0
	switch what {
	case "exit": // STATUS STDOUT STDERR
		fmt.Print(args[1])
		fmt.Fprint(os.Stderr, args[2])
		status, _ = strconv.Atoi(args[0])
	case "grep": // TEXT
		data, _ := io.ReadAll(os.Stdin)
		if !strings.Contains(string(data), args[0]) {
			status = 1
		}
	case "env": // NAME
		fmt.Print(os.Getenv(args[0]))
		fmt.Fprint(os.Stderr, strings.Repeat("x", 5000)+os.Getenv(args[0]))
		status = 1
	case "print": // N
		n, _ := strconv.Atoi(args[0])
		for i := range n {
			fmt.Printf("line %d\n", i)
		}
		status = 1
	case "block":
		<-make(chan int)
	case "kill":
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		<-make(chan int)
	case "deaf": // FILE
		signal.Ignore(syscall.SIGTERM)
		_ = os.WriteFile(args[0], nil, 0o644)
		<-make(chan int)
	}
	syscall.Exit(status) // os.Exit takes a second under -race
}

// argv is a list, as the file has it, that runs the program.
func argv(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(append([]string{self, "program"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// weighed is what criteria make of a reply.
type weighed struct {
	kind           firstgood.Kind // "" for a good reply
	reason, detail string
}

// TestCriteria_Rules holds what each rule of the file makes of a reply, and that the judge is asked only where it must be.
func TestCriteria_Rules(t *testing.T) {
	const (
		failed  = "failure_criteria: "
		accepts = "acceptance_criteria: "
	)
	good, rejected := weighed{}, func(reason string) weighed { return weighed{kind: firstgood.KindRejected, reason: reason} }
	for _, test := range []struct {
		config string
		reply  string
		want   weighed
		judged int
	}{
		{"", "", good, 0},
		{"nonempty: true", "", rejected("the reply is empty"), 0},
		{"nonempty: true", " \n\t", rejected("the reply is empty"), 0},
		{"nonempty: true", "x", good, 0},
		{"nonempty: false", "", good, 0},

		{accepts + "{matches: '^a+$'}", "aaa", good, 0},
		{accepts + "{matches: '^a+$'}", "aab", rejected("the reply does not match ^a+$"), 0},
		{failed + "{matches: b}", "aab", rejected("the reply matches b"), 0},
		{failed + "{matches: b}", "aaa", good, 0},
		{failed + "{not: {matches: b}}", "aaa", rejected("the reply does not match b"), 0},
		{failed + "{not: {matches: b}}", "aab", good, 0},
		{accepts + "{all: [{matches: a}, {matches: b}]}", "ab", good, 0},
		{accepts + "{all: [{matches: a}, {matches: b}]}", "a", rejected("the reply does not match b"), 0},
		{accepts + "{any: [{matches: a}, {matches: b}]}", "b", good, 0},
		{accepts + "{any: [{matches: a}, {matches: b}]}", "c", rejected("the reply does not match a; the reply does not match b"), 0},
		{failed + "{any: [{matches: a}, {not: {nonempty: true}}]}", "", rejected("the reply is empty"), 0},
		{failed + "{all: [{matches: a}, {matches: b}]}", "a", good, 0},
		{failed + "{matches: a}, " + accepts + "{matches: b}", "ab", rejected("the reply matches a"), 0},
		{failed + "{matches: x}, " + accepts + "{matches: b}", "a", rejected("the reply does not match b"), 0},

		{failed + "it declines", "Sorry", rejected("the reply says “sorry”"), 1},
		{failed + "it declines", "Here you are", good, 1},
		{accepts + "it answers", "Sorry", rejected("the reply says “sorry”"), 1},
		{accepts + "it answers", "Here you are", good, 1},
		{failed + "it declines, " + accepts + "it answers", "Here you are", good, 2},
		{failed + "{any: [it declines, {matches: '^x'}]}", "xyz", rejected("the reply matches ^x"), 0},
		{failed + "it declines, nonempty: true", "", rejected("the reply is empty"), 0},
		{failed + "{not: it answers}", "Here you are", good, 1},
		{failed + "{not: it answers}", "Sorry", rejected("the reply says “sorry”"), 1},
		{failed + "''", "Sorry", good, 0},

		{failed + "{text: it declines, judge: mumbler}", "Sorry", good, 0},
		{failed + "{text: it declines, judge: mumbler, on_unparseable: reject}", "Fine", weighed{firstgood.KindRejected, "the judge gave no verdict that could be read", "Well, well."}, 0},
		{accepts + "{text: it is fine, judge: mumbler}", "Sorry", good, 0},
		{accepts + "{text: it is fine, judge: mumbler, on_unparseable: reject}", "Fine", weighed{firstgood.KindRejected, "the judge gave no verdict that could be read", "Well, well."}, 0},
		{failed + "{text: it declines, judge: broken}", "Fine", weighed{kind: firstgood.KindJudgeError, reason: "judge broken: 500 Internal Server Error: the lab's model \"500\" answers with status 500 (server_error)"}, 0},
		{failed + "{text: it declines, judge: hung}", "Fine", weighed{kind: firstgood.KindJudgeError, reason: "judge hung: no answer within 2s"}, 0},
		{failed + "{text: it declines, judge: bench}", "Sorry", rejected("the reply says “sorry”"), 1},
	} {
		t.Run(test.config+" "+test.reply, func(t *testing.T) {
			f := file(t, `
judge: judge
delegates:
  it: {`+at("it")+`}
  judge: {`+at("judge")+`}
  mumbler: {`+at("ok:Well, well.")+`}
  broken: {`+at("500")+`}
  hung: {`+at("hang")+`, timeout: 2s}
patterns:
  bench: {pattern: fallback-chain, with: {chain: [broken, judge]}}
  x: {pattern: fallback-chain, with: {chain: [it]}, config: {`+test.config+`}}
`)
			inWorld(t, map[string]lab.Model{"it": saying(test.reply, 0)}, func(w *world) {
				out := w.run(f, "x", "Hi").Outcome
				got := weighed{}
				if len(out.History) > 0 {
					got = weighed{out.History[0].Kind, out.History[0].Reason, out.History[0].Detail}
				}
				if test.want.detail == "" {
					got.detail = ""
				}
				if got != test.want {
					w.Errorf("got %+v, want %+v", got, test.want)
				}
				if got.kind != "" && out.History[0].Reply != test.reply {
					w.Errorf("the history has the reply %q", out.History[0].Reply)
				}
				if n := len(w.asked("judge")); n != test.judged {
					w.Errorf("the judge was asked %d times, want %d", n, test.judged)
				}
			})
		})
	}
}

// TestCriteria_WhatTheJudgeSees holds sees and chars, and that a variable in the criterion is expanded.
func TestCriteria_WhatTheJudgeSees(t *testing.T) {
	f := file(t, `
judge: judge
delegates:
  it: {`+at("it")+`}
  judge: {`+at("judge")+`}
patterns:
  plain: {pattern: fallback-chain, with: {chain: [it]}, config: {failure_criteria: "it lacks ${WORD}"}}
  seeing: {pattern: fallback-chain, with: {chain: [it]}, config: {failure_criteria: {text: w, sees: [brief, reply], chars: 5}}}
`)
	inWorld(t, map[string]lab.Model{"it": saying("A reply", 0)}, func(w *world) {
		w.env["WORD"] = "everything"
		w.run(f, "plain", "The brief")
		w.run(f, "seeing", "The brief")
		asked := w.asked("judge")
		if len(asked) != 2 {
			w.Fatalf("the judge was asked %d times", len(asked))
		}
		if !strings.Contains(asked[0], "it lacks everything") || !strings.Contains(asked[0], "A reply") || strings.Contains(asked[0], "The brief") {
			w.Errorf("without sees: %s", asked[0])
		}
		if !strings.Contains(asked[1], "The brief") || !strings.Contains(asked[1], "A rep") || strings.Contains(asked[1], "A reply") {
			w.Errorf("with sees and chars: %s", asked[1])
		}
	})
}

// TestCriteria_JudgeRetries holds how often a judge that does not answer is asked.
func TestCriteria_JudgeRetries(t *testing.T) {
	f := file(t, `
delegates:
  it: {`+at("ok")+`}
  judge: {`+at("judge")+`}
patterns:
  x: {pattern: fallback-chain, with: {chain: [it]}, config: {failure_criteria: {text: w, judge: judge, on_judge_error: retry 2}}}
`)
	for failures, wins := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		calls := 0
		models := map[string]lab.Model{"judge": func(context.Context, lab.Request) lab.Reply {
			if calls++; calls <= failures {
				return lab.Reply{Status: 503}
			}
			return lab.Reply{Text: `{"is_failure": false, "reason": "fine"}`}
		}}
		inWorld(t, models, func(w *world) {
			result := w.run(f, "x", "Hi")
			if (result.Err == nil) != wins || calls != min(failures+1, 3) {
				w.Errorf("after %d failures: %v in %d calls", failures, result.Err, calls)
			}
		})
	}
}

// TestCriteria_Command holds what the exit status of a command, its output, its time and its end make of a reply.
func TestCriteria_Command(t *testing.T) {
	environ := append(os.Environ(), "MY_TOKEN=tok-4711", "PLAIN=plain-4711")
	marker := filepath.Join(t.TempDir(), "deaf")
	killed := "could not be applied: " // and then its command line
	if runtime.GOOS == "windows" {
		killed = "exited with 1"
	}
	for _, test := range []struct {
		name    string
		command string // after the program
		more    string // keys beside it
		kind    firstgood.Kind
		reason  []string // parts of it
		not     string   // what neither reason nor detail holds
	}{
		{name: "0 holds", command: argv(t, "exit", "0", "all is well", "")},
		{name: "reads the reply", command: argv(t, "grep", "the reply")},
		{name: "1 does not hold", command: argv(t, "exit", "1", "it is too short\n", ""), kind: firstgood.KindRejected, reason: []string{"it is too short"}},
		{name: "stderr counts, too", command: argv(t, "exit", "2", "on stdout", "on stderr"), kind: firstgood.KindRejected, reason: []string{"on stdout", "on stderr"}},
		{name: "silent", command: argv(t, "exit", "3", "", ""), kind: firstgood.KindRejected, reason: []string{"program exit 3", "exited with 3"}},
		{name: "the end of much output", command: argv(t, "print", "3000"), kind: firstgood.KindRejected, reason: []string{"…", "line 2999"}, not: "line 1\n"},
		{name: "too slow", command: argv(t, "block"), more: ", timeout: 100ms", kind: firstgood.KindRejected,
			reason: []string{"acceptance_criteria could not be applied", "program block", "no exit status within 100ms"}},
		{name: "too slow and deaf", command: argv(t, "deaf", marker), more: ", timeout: 300ms", kind: firstgood.KindRejected, reason: []string{"no exit status within 300ms"}},
		{name: "killed", command: argv(t, "kill"), kind: firstgood.KindRejected, reason: []string{killed}},
		{name: "missing", command: `["no-such-program-anywhere"]`, kind: firstgood.KindRejected, reason: []string{"could not be applied", "no-such-program-anywhere"}},
		{name: "gets the environment", command: argv(t, "env", "PLAIN"), kind: firstgood.KindRejected, reason: []string{"plain-4711"}},
		{name: "secrets of the environment", command: argv(t, "env", "MY_TOKEN"), kind: firstgood.KindRejected, not: "4711"},
		{name: "secrets in arguments", command: argv(t, "exit", "1", "see ${HIDDEN}", ""), kind: firstgood.KindRejected, reason: []string{"see [secret]"}, not: "arg-4711"},
		{name: "secrets in the name", command: argv(t, "exit", "1", "", "", "${HIDDEN}"), kind: firstgood.KindRejected, reason: []string{"${HIDDEN} exited with 1"}, not: "arg-4711"},
		{name: "does not hold under not", command: argv(t, "exit", "0", "found it", ""), more: "NOT", kind: firstgood.KindRejected, reason: []string{"found it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			rule := "{command: " + test.command + test.more + "}"
			if test.more == "NOT" {
				rule = "{not: {command: " + test.command + "}}"
			}
			f := file(t, `
delegates: {it: {command: {argv: `+argv(t, "exit", "0", "the reply", "")+`}}}
patterns: {x: {pattern: fallback-chain, with: {chain: [it]}, config: {acceptance_criteria: `+rule+`}}}
`)
			bound, err := made(t, engine.Config{
				Environ: environ,
				Lookup:  func(name string) (string, bool) { return "arg-4711", name == "HIDDEN" },
			}).Bind(ref(t, f, "x"), 0)
			if err != nil {
				t.Fatal(err)
			}
			result := bound.Run(t.Context(), firstgood.Text("Hi"), nil)
			if test.kind == "" {
				if result.Err != nil {
					t.Error(result.Err)
				}
				return
			}
			if len(result.Outcome.History) != 1 {
				t.Fatalf("got %+v", result.Outcome)
			}
			got := result.Outcome.History[0]
			if got.Kind != test.kind {
				t.Errorf("got %v", got)
			}
			for _, part := range test.reason {
				if !strings.Contains(got.Reason, part) {
					t.Errorf("got the reason %q, want %q in it", got.Reason, part)
				}
			}
			if test.not != "" && strings.Contains(got.Reason+got.Detail, test.not) {
				t.Errorf("got the reason %q and detail %q, want no %q", got.Reason, got.Detail, test.not)
			}
			if len(got.Reason) > firstgood.ExcerptUnits {
				t.Errorf("the reason has %d bytes", len(got.Reason))
			}
		})
	}
}

// TestCriteria_CommandEndsWithTheRun holds that a command that weighs is ended when the run is, and that Drain waits for it.
func TestCriteria_CommandEndsWithTheRun(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "deaf")
	f := file(t, `
delegates: {it: {command: {argv: `+argv(t, "exit", "0", "the reply", "")+`}}}
patterns: {x: {pattern: fallback-chain, with: {chain: [it]}, config: {acceptance_criteria: {command: `+argv(t, "deaf", marker)+`}}}}
`)
	bound, err := made(t, engine.Config{}).Bind(ref(t, f, "x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan *engine.Result, 1)
	go func() { ended <- bound.Run(ctx, firstgood.Text("Hi"), nil) }()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for limit := time.After(30 * time.Second); ; {
		if _, err := os.Stat(marker); err == nil {
			break
		}
		select {
		case <-ticker.C:
		case <-limit:
			t.Fatal("the command never started")
		}
	}
	cancel()
	result := <-ended
	if result.Outcome.Status != firstgood.StatusCancelled || len(result.Outcome.History) != 0 {
		t.Errorf("got %s, %v", result.Outcome.Status, result.Outcome.History)
	}
	if err := bound.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}
