package engine

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
)

// repository makes a git repository of the files in a folder of its own.
func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "base")
	return dir
}

func runIn(t *testing.T, dir, file, name string) (*Bound, *Result) {
	t.Helper()
	f, problems := config.Parse("test.yaml", []byte(file), config.Kinds(), config.Check(Check))
	if problems.Failed() {
		t.Fatal(problems)
	}
	e, err := New(Config{File: f, Work: WorkConfig{Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	ref, ok := f.Lookup(name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	b, err := e.Bind(ref, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		if err := b.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b, b.Run(t.Context(), firstgood.Text("fix it"), nil)
}

const agents = `
delegates:
  idle:    {command: {argv: [sh, -c, "echo done"], isolate: clone}}
  cheater: {command: {argv: [sh, -c, "echo 'exit 0' > check_test.sh; echo done"], isolate: clone}}
  both:    {command: {argv: [sh, -c, "echo 'exit 0' > check_test.sh; echo worse > code; echo done"], isolate: clone}}
  right:   {command: {argv: [sh, -c, "cat; echo right > code"], isolate: clone}}
  outside: {command: {argv: [sh, -c, "echo right > code; echo x > other"], isolate: clone}}
patterns:
  fix:
    pattern: fallback-chain
    with: {chain: [idle, cheater, both, outside, right]}
    config:
      acceptance_criteria: {command: [sh, check_test.sh], timeout: 1m}
      protect: ["*_test.sh"]
      patch: {nonempty: true, paths: [code, check_test.sh]}
`

func TestIssue5_ChangesAreWeighed(t *testing.T) {
	dir := repository(t, map[string]string{"code": "wrong\n", "check_test.sh": "grep -q right code || { echo 'code is wrong'; exit 1; }\n"})
	b, r := runIn(t, dir, agents, "fix")
	if r.Err != nil || r.Outcome.Winner != "right" || r.Outcome.Result.Text != "fix it" {
		t.Fatalf("%+v", r)
	}
	for i, want := range []string{
		"it changed no file",
		"it changed check_test.sh, which is protected and was put back, and nothing else: ",
		"it changed check_test.sh, which is protected and was put back: ",
		"it changed other, which is not under code, check_test.sh",
	} {
		f := r.Outcome.History[i]
		if f.Kind != firstgood.KindRejected || !strings.HasPrefix(f.Reason, want) || f.Change == nil {
			t.Errorf("%d: %v, want %s", i, f, want)
		}
		if strings.Contains(want, "protected") && !strings.Contains(f.Reason, "code is wrong") {
			t.Errorf("%d: the output is not told: %s", i, f.Reason)
		}
	}
	if diff := string(r.Outcome.Result.Change.Diff()); !strings.Contains(diff, "-wrong\n+right\n") || strings.Contains(diff, "_test") {
		t.Errorf("the patch:\n%s", diff)
	}
	if got := r.Outcome.History[2].Change.Restored(); len(got) != 1 || got[0] != "check_test.sh" {
		t.Errorf("restored: %v", got)
	}
	if code, _ := os.ReadFile(filepath.Join(dir, "code")); string(code) != "wrong\n" {
		t.Errorf("the tree was touched before the end: %s", code)
	}
	if applied, err := b.Apply(t.Context(), r, config.ApplyPatch, "fix"); applied != "patch" || err != nil {
		t.Errorf("applied %q, %v", applied, err)
	}
	if code, _ := os.ReadFile(filepath.Join(dir, "code")); string(code) != "right\n" {
		t.Errorf("the patch is not there: %s", code)
	}
	data, _ := r.MarshalJSON()
	for _, want := range []string{`"applied":"patch"`, `"restored":[]`, `"patch":"diff --git a/code b/code`, `"applied":null`, `"restored":["check_test.sh"]`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the JSON lacks %s:\n%s", want, data)
		}
	}
}

func TestF16_IsolatedRivalsNeverMeet(t *testing.T) {
	dir := repository(t, map[string]string{"file": "base\n"})
	_, r := runIn(t, dir, `
delegates:
  a: {command: {argv: [sh, -c, "echo secret-of-a > file; git add -A; git commit -qm a; git stash list; exit 1"], isolate: clone}}
  b: {command: {argv: [sh, -c, "cat file; git log --all --format=%s; git branch -a --format='%(refname)'; git stash list; ls .. | wc -l; find .. -name file | wc -l; grep -r secret-of ../ | wc -l"], isolate: clone}}
patterns:
  p: {pattern: fallback-chain, with: {chain: [a, b]}}
`, "p")
	if r.Err != nil || strings.Contains(r.Outcome.Result.Text, "secret") || !strings.HasPrefix(r.Outcome.Result.Text, "base\nbase\nrefs/heads/") {
		t.Fatalf("%+v", r.Outcome)
	}
	if f := r.Outcome.History[0]; f.Change == nil || !strings.Contains(string(f.Change.Diff()), "+secret-of-a") {
		t.Errorf("the change of the attempt that failed is not told: %+v", f)
	}
}

// TestIssue5_ExamsHaveAnEnvironmentOfTheirOwn: what a hook of git says of the user's repository holds for no command that
// examines a change, and firstgood clean finds such a command by its variable when a crash has left it.
func TestIssue5_ExamsHaveAnEnvironmentOfTheirOwn(t *testing.T) {
	dir := repository(t, map[string]string{"file": "base\n"})
	t.Setenv("GIT_DIR", filepath.Join(dir, ".git"))
	_, r := runIn(t, dir, `
delegates:
  a: {command: {argv: [sh, -c, "echo x > file"], isolate: clone}}
patterns:
  p: {pattern: fallback-chain, with: {chain: [a]}, config: {acceptance_criteria: {command: [sh, -c, "env | grep -e ^GIT_ -e ^FIRSTGOOD_; git rev-parse --git-dir; exit 1"]}}}
`, "p")
	if len(r.Outcome.History) != 1 {
		t.Fatalf("%+v", r.Outcome)
	}
	said := r.Outcome.History[0].Reason
	if !strings.Contains(said, "FIRSTGOOD_RUN=") || !strings.Contains(said, "GIT_CEILING_DIRECTORIES=") || strings.Contains(said, "GIT_DIR=") || !strings.Contains(said, "\n.git") {
		t.Error(said)
	}
}
