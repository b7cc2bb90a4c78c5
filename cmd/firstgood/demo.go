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
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

// demoFile is what the demo runs; LAB stands for the lab's address, and SELF for this program.
const demoFile = `judge: judge
defaults: {timeout: 1m}
delegates:
  lenient: {command: {argv: [SELF, demo-agent, lenient], isolate: clone}}
  hasty:   {command: {argv: [SELF, demo-agent, hasty], isolate: clone}}
  careful: {command: {argv: [SELF, demo-agent, careful], isolate: clone, env: [GOCACHE, GOWORK=off, GOTOOLCHAIN=local]}}
  broken: {openai: {base_url: "LAB", model: "500"}}
  shy:    {openai: {base_url: "LAB", model: "ok:Sorry, I cannot help with that."}}
  good:   {openai: {base_url: "LAB", model: "ok:Paris."}}
  judge:  {openai: {base_url: "LAB", model: "judge"}}
patterns:
  fix:
    pattern: race
    with: {candidates: [lenient, hasty, careful]}
    config:
      acceptance_criteria: {command: [go, test, ./...], timeout: 5m}
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
		if err := edit("sum.go", "a - b", "a + b"); err != nil {
			return err
		}
		return exec.Command("go", "test", "./...").Run() // it looks at its work, which takes a while
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
	if err := demoRace(ctx, t, file); err != nil {
		return err
	}
	fmt.Fprintln(t.out, "\nThe same for models: a chain moves on past a 500 and past a rejected reply.")
	if _, err := demoRun(ctx, t, file, "answer", "What is the capital of France?", ""); err != nil {
		return err
	}
	fmt.Fprint(t.out, `
Next:
  firstgood agents             the coding agents that this machine has
  firstgood race --agents claude,codex --accept 'go test ./...' "fix the bug"
  firstgood init               write firstgood.yaml from what this machine has
  firstgood --help             the rest
`)
	return nil
}

// demoRace races the agents on a repository of their own.
func demoRace(ctx context.Context, t terminal, file *config.File) (err error) {
	for _, program := range []string{"git", "go"} {
		if _, err := exec.LookPath(program); err != nil {
			fmt.Fprintf(t.out, "The race of coding agents is left out: it needs git and go, and there is no %s on PATH.\n", program)
			return nil
		}
	}
	dir, err := os.MkdirTemp("", "firstgood-demo-")
	if err != nil {
		return &exit{exitProgram, err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := demoRepository(ctx, dir); err != nil {
		return &exit{exitProgram, fmt.Errorf("the demo's repository: %w", err)}
	}
	fmt.Fprintln(t.out, "Three agents race to mend a failing test; the tests, as they were, decide.")
	result, err := demoRun(ctx, t, file, "fix", "make the failing test pass", dir)
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
func demoRun(ctx context.Context, t terminal, file *config.File, name, brief, dir string) (*engine.Result, error) {
	ref, _ := file.Lookup(name)
	made, err := engine.New(engine.Config{
		File: file, Work: engine.WorkConfig{Dir: dir},
		// The demo is the same everywhere, whatever the environment holds.
		Lookup:  func(string) (string, bool) { return "", false },
		Environ: append(os.Environ(), "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local", "GOPROXY=off"),
	})
	if err != nil {
		return nil, &exit{exitProgram, err}
	}
	bound, err := made.Bind(ref, 0)
	if err != nil {
		return nil, &exit{exitProgram, err}
	}
	if err := bound.Prepare(ctx); err != nil {
		return nil, &exit{exitProgram, err}
	}
	defer closePlaces(t, bound)
	view := newProgress(t.err, bound.Plan)
	result := bound.Run(ctx, firstgood.Text(brief), view.Watch)
	view.Close()
	applied(ctx, bound, result, ref.Instance.Config.Apply, firstgood.Text(brief))
	drain(bound)
	if result.Err != nil {
		return nil, finish(result, false)
	}
	if result.ApplyError != nil {
		return nil, &exit{exitProgram, result.ApplyError}
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
