package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/isolate"
	"github.com/firstgood/firstgood/lab"
	"github.com/firstgood/firstgood/process"
)

// demoFile is what the demo runs; LAB stands for the lab's address, and SELF for this program.
const demoFile = `judge: judge
delegates:
  lenient: {command: {argv: [SELF, demo-agent, lenient], isolate: clone}}
  hasty:   {command: {argv: [SELF, demo-agent, hasty], isolate: clone}}
  careful: {command: {argv: [SELF, demo-agent, careful], isolate: clone}}
  broken: {openai: {base_url: "LAB", model: "500"}}
  shy:    {openai: {base_url: "LAB", model: "ok:Sorry, I cannot help with that."}}
  good:   {openai: {base_url: "LAB", model: "ok:Paris."}}
  judge:  {openai: {base_url: "LAB", model: "judge"}}
patterns:
  fix:
    pattern: race
    with: {candidates: [lenient, hasty, careful]}
    config:
      order: listed # so that all three are seen to be weighed
      acceptance_criteria: {command: [go, test, ./...]}
      apply: patch
  answer:
    pattern: fallback-chain
    with: {chain: [broken, shy, good]}
    config: {failure_criteria: "it does not answer the question"}
`

// demoFiles are the repository of the demo: a sum that subtracts, and a test that says so.
var demoFiles = map[string]string{
	"go.mod": "module example.com/sum\n\ngo 1.21\n",
	"sum.go": "package sum\n\n// Of adds.\nfunc Of(a, b int) int { return a - b }\n",
	"sum_test.go": "package sum\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) {\n\tif got := Of(2, 3); got != 5 {\n" +
		"\t\tt.Errorf(\"Of(2, 3) = %d, want 5\", got)\n\t}\n}\n",
}

// demoAgents are what the agents of the demo do to the files of the folder that they are in.
var demoAgents = map[string]func() error{
	"lenient": func() error { // the test, not the code
		return edit("sum_test.go", "got != 5", "got != -1")
	},
	"hasty": func() error {
		return edit("sum.go", "a - b", "a plus b")
	},
	"careful": func() error {
		return edit("sum.go", "a - b", "a + b")
	},
}

func edit(path, old, replacement string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o644)
}

func newDemo(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See a race of coding agents and a chain of models: no key, no network",
		Long: `Make a small git repository with a failing Go test in a temporary folder, and race three scripted agents to
fix it: the first patch that the tests accept is applied. Then run a fallback-chain over models of the lab, a
provider on this machine that misbehaves on demand. It needs no key and no network, but git and go for
the agents, and leaves nothing behind.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), t) },
	}
}

// newDemoAgent is an agent of the demo, which the demo starts.
func newDemoAgent(t terminal) *cobra.Command {
	return &cobra.Command{
		Use: "demo-agent", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			act, ok := demoAgents[args[0]]
			if !ok {
				return usagef("the demo has no agent %q", args[0])
			}
			if err := act(); err != nil {
				return &exit{exitProgram, err}
			}
			_, err := fmt.Fprintln(t.out, "Fixed.")
			return err
		},
	}
}

func demo(ctx context.Context, t terminal) error {
	server, err := lab.New(lab.Config{})
	if err != nil {
		return &exit{exitProgram, err}
	}
	if err := server.Start(""); err != nil {
		return &exit{exitProgram, err}
	}
	defer server.Close()
	self, err := os.Executable()
	if err != nil {
		return &exit{exitProgram, fmt.Errorf("where this program is: %w", err)}
	}
	quoted, _ := json.Marshal(strings.ReplaceAll(self, "${", "$${")) // a path may hold anything
	text := strings.NewReplacer("LAB", server.URL(), "SELF", string(quoted)).Replace(demoFile)
	file, problems := config.Parse("demo.yaml", []byte(text), config.Kinds())
	if problems.Failed() {
		return &exit{exitProgram, problems}
	}
	switch err := demoRace(ctx, t, file); {
	case errors.Is(err, errUnfit) || errors.Is(err, isolate.ErrNoGit):
		fmt.Fprintf(t.out, "The race of coding agents is left out, since %s.\n", live.Clean(err.Error()))
	case err != nil:
		return err
	}
	fmt.Fprintln(t.out, "\nThe same for models: a chain moves on past a 500 and past a rejected reply.")
	if _, err := demoRun(ctx, t, file, "answer", "What is the capital of France?", "", nil); err != nil {
		return err
	}
	fmt.Fprint(t.out, `
Next, in a repository of yours (firstgood agents shows which agents you have):
  firstgood race --agents claude,codex --accept 'go test ./...' "fix the bug"
  firstgood init               writes firstgood.yaml from what this machine has
`)
	return nil
}

// errUnfit is matched by the reason for which the demo's race cannot run on a machine.
var errUnfit = errors.New("it needs git and go")

// demoEnviron is the environment of the demo's race: the same everywhere, whatever the user's has.
func demoEnviron(temp string) []string {
	return append(slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GIT_") }),
		"TMPDIR="+temp, "TMP="+temp, "TEMP="+temp, // what a command leaves that is cut off goes with the rest
		"GOENV=off", "GOFLAGS=", "GO111MODULE=", "GOWORK=off", "GOTOOLCHAIN=local", "GOPROXY=off")
}

// demoRace races the agents on a repository of their own.
func demoRace(ctx context.Context, t terminal, file *config.File) (err error) {
	for _, program := range []string{"git", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("%w, and there is no %s on PATH", errUnfit, program)
		}
	}
	dir, err := os.MkdirTemp("", "firstgood-demo-")
	if err != nil {
		return &exit{exitProgram, err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	repository, temp := filepath.Join(dir, "sum"), filepath.Join(dir, "tmp")
	if err := errors.Join(os.Mkdir(repository, 0o777), os.Mkdir(temp, 0o777)); err != nil {
		return &exit{exitProgram, err}
	}
	if err := demoRepository(ctx, repository); err != nil {
		return &exit{exitProgram, fmt.Errorf("the demo's repository: %w", err)}
	}
	failure, err := demoFailure(ctx, t, repository, demoEnviron(temp))
	if err != nil {
		return err
	}
	fmt.Fprintf(t.out, "A small repository whose test fails: %s\nThree agents race to mend it; the tests, as they were, decide.\n", live.Clean(failure))
	result, err := demoRun(ctx, t, file, "fix", "make the failing test pass", repository, demoEnviron(temp))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(result.Outcome.Result.Change.Diff())) {
		if strings.HasPrefix(line, "-") && !strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "+++") {
			fmt.Fprint(t.out, "     "+line)
		}
	}
	for _, c := range result.Outcome.Calls {
		switch c.State {
		case firstgood.StateFailed, firstgood.StateRejected:
			fmt.Fprintf(t.out, "   %s lost: %s\n", c.Delegate, demoReason(c.Reason))
		case firstgood.StateCancelled:
			fmt.Fprintf(t.out, "   %s was cut off, still at work\n", c.Delegate)
		}
	}
	return nil
}

// demoFailure runs the test of the demo's repository, and returns the line in which it says what is wrong.
func demoFailure(ctx context.Context, t terminal, dir string, environ []string) (string, error) {
	patience := time.AfterFunc(3*time.Second, func() { fmt.Fprintln(t.err, "(Go builds its own packages first, which takes a while once)") })
	defer patience.Stop()
	run, err := process.Run(ctx, process.Spec{Argv: []string{"go", "test", "./..."}, Dir: dir, Env: environ, MaxOutput: 1 << 20})
	if cause := context.Cause(ctx); cause != nil {
		return "", &exit{statusOf(cause), cause}
	}
	if err != nil {
		return "", fmt.Errorf("%w, and go test does not run: %w", errUnfit, err)
	}
	for line := range strings.Lines(string(run.Stdout)) {
		if strings.Contains(line, "want 5") {
			return strings.TrimSpace(line), nil
		}
	}
	return "", fmt.Errorf("%w, and go test does not work here: %s", errUnfit, strings.TrimSpace(string(run.Stdout)+string(run.Stderr)))
}

// demoReason is a reason in what is left of a line.
func demoReason(reason string) string {
	reason, _, _ = strings.Cut(strings.Join(strings.Fields(reason), " "), ", and nothing else")
	if _, broken, ok := strings.Cut(reason, "[build failed]"); ok {
		reason = "the build breaks: " + broken[strings.LastIndex(broken, "] ")+1:]
		reason = strings.Join(strings.Fields(reason), " ")
	}
	short, cut := firstgood.Excerpt(reason, 60)
	if cut {
		short += "…"
	}
	return short
}

// demoRepository makes the demo's repository in a folder, whatever the user's settings of git are.
func demoRepository(ctx context.Context, dir string) error {
	for name, content := range demoFiles {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "A sum that subtracts"}} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GIT_") }),
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=demo", "GIT_AUTHOR_EMAIL=demo@example.com",
			"GIT_COMMITTER_NAME=demo", "GIT_COMMITTER_EMAIL=demo@example.com")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// demoRun runs a pattern of the demo's file, applies what it brings, and tells how it ended.
func demoRun(ctx context.Context, t terminal, file *config.File, name, brief, dir string, environ []string) (*engine.Result, error) {
	ref, _ := file.Lookup(name)
	made, err := engine.New(engine.Config{
		File: file, Work: engine.WorkConfig{Dir: dir},
		Lookup: func(string) (string, bool) { return "", false }, Environ: environ,
	})
	if err != nil {
		return nil, &exit{exitProgram, err}
	}
	bound, err := made.Bind(ref, 0)
	if err != nil {
		return nil, &exit{exitProgram, err}
	}
	if err := bound.Prepare(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, &exit{statusOf(err), err}
	}
	defer closePlaces(t, bound)
	view := newProgress(t.err, bound.Plan)
	result := bound.Run(ctx, firstgood.Text(brief), view.Watch)
	view.Close()
	change := application{how: ref.Instance.Config.Apply, dir: dir}
	change.apply(ctx, bound, result, firstgood.Text(brief))
	drain(bound)
	if err := finish(result, false); err != nil {
		return nil, err
	}
	out := result.Outcome
	took := out.Duration.Round(time.Millisecond)
	if out.Result.Change == nil {
		_, err = fmt.Fprintf(t.out, "   result: %s  winner: %s (attempts: %d, %v)\n", out.Result, out.Winner, out.Attempts, took)
	} else {
		_, err = fmt.Fprintf(t.out, "   winner: %s (%v); its patch, applied and nothing else touched:\n", out.Winner, took)
	}
	return result, err
}
