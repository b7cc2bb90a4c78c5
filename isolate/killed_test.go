package isolate

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// helperVariable makes the test binary a program that a test runs: "cycle|DIR|ROOT|MODE|HOW|N", which kills
// itself at the Nth moment of applying where N is not 0, or "wait".
const helperVariable = "FIRSTGOOD_ISOLATE_HELPER"

// duringCycle is what the agent of the helper's cycle changes.
var duringCycle = files{"a.txt": "one\nTWO\nthree\n", "b/b.txt": "-", "b": "now a file\n", "new/er/n.txt": "n\n", "exec": "!x\n", "link": "→a.txt"}

func helper(what string) int {
	parts := strings.Split(what, "|")
	if parts[0] == "wait" {
		fmt.Println("waiting")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	moment, err := strconv.Atoi(parts[5])
	if err == nil {
		err = cycle(parts[1], parts[2], Mode(parts[3]), How(parts[4]), moment)
	}
	if err != nil {
		fmt.Println("error", err)
		return 1
	}
	return 0
}

// cycle goes the whole way once, and says where it is.
func cycle(dir, root string, mode Mode, how How, moment int) error {
	ctx := context.Background()
	fmt.Println("opening")
	b, err := Open(ctx, Config{Dir: dir, Root: root, Mode: mode})
	if err != nil {
		return err
	}
	fmt.Println("making a tree")
	tree, err := b.Tree(ctx, "agent")
	if err != nil {
		return err
	}
	fmt.Println("changing")
	for name, text := range duringCycle {
		if text == "-" {
			if err := os.RemoveAll(filepath.Join(tree.Top(), filepath.Dir(name))); err != nil {
				return err
			}
		}
	}
	for name, text := range duringCycle {
		full := filepath.Join(tree.Top(), filepath.FromSlash(name))
		switch {
		case text == "-":
			err = nil
		case strings.HasPrefix(text, "→"):
			err = os.Symlink(strings.TrimPrefix(text, "→"), full)
		default:
			mode := os.FileMode(0o666)
			if strings.HasPrefix(text, "!") {
				mode, text = 0o777, text[1:]
			}
			if err = os.MkdirAll(filepath.Dir(full), 0o777); err == nil {
				err = os.WriteFile(full, []byte(text), mode)
			}
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("making the patch")
	p, err := tree.Patch(ctx)
	if err != nil {
		return err
	}
	fmt.Println("examining")
	exam, err := b.Exam(ctx, p, DefaultProtect())
	if err != nil {
		return err
	}
	b.moment = func() {
		if moment--; moment == 0 {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				fmt.Println("error", err)
			}
			select {} // until it arrives
		}
	}
	fmt.Println("applying")
	if _, err := b.Apply(ctx, exam.Patch, how, Options{Name: "made"}); err != nil {
		return err
	}
	fmt.Println("applied")
	if err := b.Close(ctx); err != nil {
		return err
	}
	fmt.Println("closed")
	return nil
}

func helperCommand(what string) *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), helperVariable+"="+what)
	return cmd
}

// TestKilled_AtAnyMoment kills the whole cycle at random moments. Until applying began the user's repository is what it was
// (all of it, but for times; with a worktree, but for its registration). After that and Clean it is either what it was or what
// applying makes of it, and nothing else is left.
func TestKilled_AtAnyMoment(t *testing.T) {
	t.Parallel()
	rounds := 30
	if os.Getenv("FIRSTGOOD_LONG") != "" {
		rounds = 300
	}
	moments := []string{"opening", "making a tree", "changing", "making the patch", "examining", "applying", "applying", "applying", "applying", "applied"}
	hows := []How{PatchTree, Commit, Branch}
	reached := map[string]int{}
	for round := range rounds {
		r := rand.New(rand.NewPCG(uint64(round), 7))
		how, moment := hows[round%3], moments[r.IntN(len(moments))]
		mode := Clone
		if round%5 == 4 {
			mode = Worktree
		}
		k := newKilled(t)
		last := killAt(t, k.cycle(mode, how, 0), moment, time.Duration(r.IntN(40_000))*time.Microsecond)
		reached[last]++
		k.check(mode, how, last, fmt.Sprintf("round %d: %s, %s, killed after %q", round, mode, how, last))
	}
	t.Logf("killed after: %v", reached)
}

// TestKilled_AtEveryMomentOfApplying does it by the list: wherever a kill leaves another state behind.
func TestKilled_AtEveryMomentOfApplying(t *testing.T) {
	t.Parallel()
	stride := 3
	if os.Getenv("FIRSTGOOD_LONG") != "" {
		stride = 1
	}
	for i, how := range []How{PatchTree, Commit} {
		var all Report
		n := 0
		for moment := 1 + i; ; moment += stride {
			k := newKilled(t)
			last := killAt(t, k.cycle(Clone, how, moment), "", 0)
			report := k.check(Clone, how, last, fmt.Sprintf("%s, killed at moment %d", how, moment))
			all.Undone, all.Finished = append(all.Undone, report.Undone...), append(all.Finished, report.Finished...)
			if last == "closed" {
				break
			}
			n++
		}
		t.Logf("%s: %d moments, %d undone, %d finished", how, n, len(all.Undone), len(all.Finished))
		if len(all.Undone) == 0 || len(all.Finished) == 0 {
			t.Errorf("%s: not both were seen", how)
		}
	}
}

// killed is a user's repository and a root, for one kill.
type killed struct {
	t          *testing.T
	repo, root string
	status     string
	before     map[string]string
}

func newKilled(t *testing.T) *killed {
	t.Helper()
	k := &killed{t: t, root: t.TempDir()}
	k.repo = newRepo(t, files{"a.txt": "one\ntwo\nthree\n", "b/b.txt": "b\n", "exec": "x\n", "c.txt": "c\n"})
	put(t, k.repo, files{"c.txt": "staged\n"})
	runGit(t, k.repo, "add", "c.txt")
	put(t, k.repo, files{"c.txt": "staged and more\n", "untracked.txt": "u\n"})
	k.status = runGit(t, k.repo, "status", "--porcelain")
	k.before = snapshot(t, k.repo, ".git/objects") // after git status, which may write the index
	return k
}

func (k *killed) cycle(mode Mode, how How, moment int) *exec.Cmd {
	return helperCommand(strings.Join([]string{"cycle", k.repo, k.root, string(mode), string(how), strconv.Itoa(moment)}, "|"))
}

// check holds what must be, given what the cycle said last.
func (k *killed) check(mode Mode, how How, last, what string) Report {
	t := k.t
	t.Helper()
	applying := slices.Contains([]string{"applying", "applied", "closed"}, last)
	if !applying && mode == Clone {
		same(t, snapshot(t, k.repo, ".git/objects"), k.before, what)
	}
	report, err := Clean(t.Context(), CleanConfig{Root: k.root})
	if err != nil || len(report.Alive) > 0 {
		t.Fatalf("%s: clean: %+v, %v", what, report, err)
	}
	empty(t, k.root)
	switch problem := difference(snapshot(t, k.repo, ".git/objects"), k.before); {
	case problem == "":
	case !applying:
		t.Fatalf("%s: %s", what, problem)
	default:
		after(t, k.repo, how, k.before, k.status, what)
	}
	return report
}

// killAt starts a program, kills it a little after it said where it is, and returns what it said last.
func killAt(t *testing.T, cmd *exec.Cmd, moment string, delay time.Duration) string {
	t.Helper()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	last := ""
	var timer *time.Timer
	for lines.Scan() {
		last = lines.Text()
		if strings.HasPrefix(last, "error") {
			t.Fatalf("the cycle failed: %s", last)
		}
		if last == moment && timer == nil {
			timer = time.AfterFunc(delay, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait()
	if timer != nil {
		timer.Stop()
	}
	return last
}

// after holds that a repository is what applying makes of it.
func after(t *testing.T, repo string, how How, before map[string]string, status, what string) {
	t.Helper()
	now := worktree(t, repo)
	if how == Branch {
		same(t, now, without(before, ".git"), what)
	} else {
		for name, text := range map[string]string{"a.txt": "one\nTWO\nthree\n", "b": "now a file\n", "new/er/n.txt": "n\n", "exec": "x\n", "link": "a.txt"} {
			if !strings.HasSuffix(now[name], " "+text) {
				t.Errorf("%s: %s: got %q", what, name, now[name])
			}
		}
		if len(now) != 10 { // with two folders and the top
			t.Errorf("%s: got %q", what, now)
		}
	}
	commits := runGit(t, repo, "rev-list", "--count", "HEAD")
	switch how {
	case PatchTree:
		if now := snapshot(t, filepath.Join(repo, ".git"), "objects"); difference(now, snapshotOf(before, ".git")) != "" {
			t.Errorf("%s: .git: %s", what, difference(now, snapshotOf(before, ".git")))
		}
	case Branch:
		if got := runGit(t, repo, "show", "made:b"); got != "now a file" || commits != "1" {
			t.Errorf("%s: got %q, %s commits", what, got, commits)
		}
	case Commit:
		if got := runGit(t, repo, "status", "--porcelain"); got != status || commits != "2" {
			t.Errorf("%s: status: got %q, want %q; %s commits", what, got, status, commits)
		}
	}
	if out, err := tryGit(repo, "fsck", "--strict", "--no-dangling"); err != nil {
		t.Errorf("%s: fsck: %s", what, out)
	}
	if found, _ := filepath.Glob(filepath.Join(repo, ".git", "*.lock*")); len(found) > 0 {
		t.Errorf("%s: locks: %q", what, found)
	}
}

func TestClean_LeavesTheLivingAlone(t *testing.T) {
	repo := newRepo(t, simple)
	root := t.TempDir()
	b := open(t, Config{Dir: repo, Root: root})
	tree := newTree(t, b)
	kept := open(t, Config{Dir: repo, Root: root, Keep: true})
	keptTree := newTree(t, kept)
	must(t, kept.Close(t.Context()))
	dead := deadRun(t, repo, root)
	put(t, root, files{"something-else/x": "x", "r12-bad/x": "x"})

	report, err := Clean(t.Context(), CleanConfig{Root: root})
	must(t, err)
	if len(report.Removed) != 1 || report.Removed[0] != dead || len(report.Alive) != 2 {
		t.Errorf("got %+v, want %s removed", report, dead)
	}
	for _, there := range []string{tree.Dir(), keptTree.Dir(), filepath.Join(root, "something-else"), filepath.Join(root, "r12-bad")} {
		if _, err := os.Stat(there); err != nil {
			t.Error(err)
		}
	}
	if p, err := tree.Patch(t.Context()); err != nil || !p.Empty() {
		t.Errorf("got %v, %v", p, err)
	}

	// A process with the same number that started at another time is another process; one on another machine may be alive.
	name := filepath.Base(b.run)
	pid, start, _ := parseRunName(name)
	must(t, os.MkdirAll(filepath.Join(root, fmt.Sprintf("r%d-x%s-000000", pid, start)), 0o700))
	elsewhere := filepath.Join(root, "r1-x-000000")
	put(t, elsewhere, files{ownerFile: `{"host":"another machine"}`})
	report, err = Clean(t.Context(), CleanConfig{Root: root})
	must(t, err)
	if len(report.Removed) != 1 || !slices.Contains(report.Alive, elsewhere) {
		t.Errorf("got %+v", report)
	}
}

// deadRun leaves the folder of a run whose process was killed.
func deadRun(t *testing.T, repo, root string) string {
	t.Helper()
	have, err := filepath.Glob(filepath.Join(root, "r*"))
	must(t, err)
	killAt(t, helperCommand(strings.Join([]string{"cycle", repo, root, "worktree", "none", "0"}, "|")), "examining", 0)
	now, err := filepath.Glob(filepath.Join(root, "r*"))
	must(t, err)
	for _, dir := range now {
		if !slices.Contains(have, dir) {
			return dir
		}
	}
	t.Fatal("it left nothing")
	return ""
}

func TestClean_Kept(t *testing.T) {
	repo := newRepo(t, simple)
	root := t.TempDir()
	dead := deadRun(t, repo, root)
	put(t, dead, files{keptFile: ""})
	report, err := Clean(t.Context(), CleanConfig{Root: root})
	must(t, err)
	if len(report.Removed) != 0 || !slices.Equal(report.Kept, []string{dead}) {
		t.Errorf("got %+v", report)
	}
	if report, err = Clean(t.Context(), CleanConfig{Root: root, Kept: true}); err != nil || len(report.Removed) != 1 {
		t.Errorf("got %+v, %v", report, err)
	}
	empty(t, root)
	if got := runGit(t, repo, "worktree", "list"); strings.Contains(got, "\n") {
		t.Errorf("worktrees: %s", got)
	}
}

// TestClean_EndsProcesses: what a killed run had started is ended, and nothing else.
func TestClean_EndsProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found on Linux alone")
	}
	repo := newRepo(t, simple)
	root := t.TempDir()
	dead := deadRun(t, repo, root)
	start := func(env ...string) (*exec.Cmd, io.Closer) {
		cmd := helperCommand("wait")
		cmd.Env = append(cmd.Env, env...)
		cmd.Dir = t.TempDir()
		in, err := cmd.StdinPipe()
		must(t, err)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		bufio.NewScanner(out).Scan()
		return cmd, in
	}
	agent, _ := start(marker + filepath.Base(dead))
	other, in := start(marker + "r1-of-another-run")
	report, err := Clean(t.Context(), CleanConfig{Root: root})
	must(t, err)
	// A git of the dead run may be among them, if it has not ended yet.
	if !slices.Contains(report.Killed, agent.Process.Pid) || slices.Contains(report.Killed, other.Process.Pid) {
		t.Errorf("killed: got %v, want %d and not %d", report.Killed, agent.Process.Pid, other.Process.Pid)
	}
	if err := agent.Wait(); err == nil {
		t.Error("the agent ended by itself")
	}
	must(t, in.Close())
	must(t, other.Wait())
}

func TestClean_NothingThere(t *testing.T) {
	report, err := Clean(t.Context(), CleanConfig{Root: filepath.Join(t.TempDir(), "absent")})
	if err != nil || len(report.Removed) != 0 {
		t.Errorf("got %+v, %v", report, err)
	}
	if _, err := Clean(t.Context(), CleanConfig{}); err != nil {
		t.Error(err)
	}
}

func TestOpen_DefaultRoot(t *testing.T) {
	repo := newRepo(t, simple)
	b, err := Open(t.Context(), Config{Dir: repo})
	must(t, err)
	tree := newTree(t, b)
	if !slices.ContainsFunc(DefaultRoots(), func(root string) bool { real, _ := filepath.EvalSymlinks(root); return real == b.root }) {
		t.Errorf("got %s", tree.Dir())
	}
	must(t, b.Close(t.Context()))
}

func FuzzParseRunName(f *testing.F) {
	for _, seed := range []string{"r12-abc.3-00ff00", "r-1-x-000000", "r1-x-0", "patches", "r1--000000", "r99999999999999999999-x-000000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		pid, start, ok := parseRunName(name)
		if ok && (pid <= 0 || !strings.HasPrefix(name, "r") || !strings.Contains(name, "-"+start+"-")) {
			t.Errorf("%q: got %d, %q", name, pid, start)
		}
		if ok && strconv.Itoa(pid) == "" {
			t.Error("no number")
		}
	})
}
