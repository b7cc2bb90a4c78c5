package isolate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// rest is all of a repository but objects that nothing refers to: the list of objects is what git can reach.
func rest(t testing.TB, repo string) map[string]string {
	t.Helper()
	all := snapshot(t, repo, ".git/objects")
	out, _ := tryGit(repo, "rev-list", "--objects", "--all", "--reflog")
	all["reachable objects"] = out
	return all
}

func TestApply_FitsIn(t *testing.T) {
	text := strings.Repeat("line\n", 20)
	repo := newRepo(t, files{"a.txt": text, "b.txt": "b\n", "gone.txt": "g\n", "private": "!p\n"})
	must(t, os.Chmod(filepath.Join(repo, "b.txt"), 0o600))
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, files{"a.txt": text + "end\n", "b.txt": "B\n", "gone.txt": "-", "deep/er/new.txt": "n\n", "private": "!q\n"})
	// The user goes on meanwhile.
	put(t, repo, files{"a.txt": "start\n" + text, "mine.txt": "m\n", "deep/mine.txt": "m\n"})
	runGit(t, repo, "add", "mine.txt")
	index, err := os.ReadFile(filepath.Join(repo, ".git", "index"))
	must(t, err)
	must(t, apply(b, p, PatchTree))
	for name, want := range map[string]string{"a.txt": "start\n" + text + "end\n", "b.txt": "B\n", "mine.txt": "m\n", "deep/mine.txt": "m\n", "deep/er/new.txt": "n\n", "private": "q\n"} {
		if got, err := os.ReadFile(filepath.Join(repo, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if now, err := os.ReadFile(filepath.Join(repo, ".git", "index")); err != nil || string(now) != string(index) {
		t.Error("the index was changed")
	}
	if info, err := os.Stat(filepath.Join(repo, "b.txt")); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode of b.txt: got %v", info.Mode())
	}
	if got := runGit(t, repo, "ls-files", "--others"); got != "deep/er/new.txt\ndeep/mine.txt" {
		t.Errorf("untracked: got %q", got)
	}
}

// TestApply_Refuses: nothing is changed, the reason names the path, and the patch can be taken by hand.
func TestApply_Refuses(t *testing.T) {
	t.Parallel()
	base := files{"a.txt": "one\ntwo\nthree\n", "dir/x.txt": "x\n", "gone.txt": "g\n", "link": "→a.txt"}
	for name, test := range map[string]struct {
		patch, meanwhile files
		says             string
	}{
		"the same lines":              {files{"a.txt": "one\nTWO\nthree\n"}, files{"a.txt": "one\n2\nthree\n"}, "a.txt"},
		"deleted by the user":         {files{"a.txt": "one\nTWO\nthree\n"}, files{"a.txt": "-"}, "a.txt"},
		"made by the user":            {files{"new.txt": "n\n"}, files{"new.txt": "mine\n"}, "new.txt"},
		"ignored and there":           {files{"new.txt": "n\n"}, files{".git/info/exclude": "new.txt\n", "new.txt": "mine\n"}, "new.txt"},
		"deletes what changed":        {files{"gone.txt": "-"}, files{"gone.txt": "not the same\n"}, "gone.txt"},
		"a folder in the place":       {files{"new": "n\n"}, files{"new/mine.txt": "mine\n"}, `"new/mine.txt" is in it`},
		"an empty folder of a file":   {files{"a.txt": "x\n"}, files{"a.txt": "-", "a.txt/y": "y"}, "a.txt"},
		"a file in the way":           {files{"new/x.txt": "n\n"}, files{"new": "mine\n"}, `"new" is not a folder`},
		"beyond a link":               {files{"new/x.txt": "n\n"}, files{"new": "→dir"}, `"new" is not a folder`},
		"the folder became a link":    {files{"dir/x.txt": "X\n"}, files{"dir": "→/tmp"}, `"dir" is not a folder`},
		"the mode":                    {files{"a.txt": "-"}, files{"a.txt": "!one\ntwo\nthree\n"}, ""}, // git lets it pass
		"link elsewhere":              {files{"link": "→gone.txt"}, files{"link": "→dir/x.txt"}, "link"},
		"one fits, the other doesn't": {files{"gone.txt": "G\n", "a.txt": "one\nTWO\nthree\n", "new": "n"}, files{"a.txt": "1\n2\n3\n"}, "a.txt"},
		"a folder with more in it":    {files{"dir": "now a file\n"}, files{"dir/mine.txt": "mine\n"}, `"dir/mine.txt" is in it`},
	} {
		t.Run(name, func(t *testing.T) {
			repo := newRepo(t, base)
			b := open(t, Config{Dir: repo})
			p := patchOf(t, b, test.patch)
			put(t, repo, test.meanwhile)
			before := snapshot(t, repo)
			err := apply(b, p, PatchTree)
			if test.says == "" {
				must(t, err)
				return
			}
			refused := (*ConflictError)(nil)
			if !errors.As(err, &refused) || !isErr(err, ErrConflict) {
				t.Fatalf("got %v, want a ConflictError", err)
			}
			contains(t, refused.Reason, test.says)
			contains(t, err.Error(), "nothing was changed")
			contains(t, err.Error(), "git -C "+repo+" apply --3way "+refused.File)
			if got, err := os.ReadFile(refused.File); err != nil || string(got) != string(p.Diff) {
				t.Errorf("the patch for people: got %q, %v", got, err)
			}
			same(t, snapshot(t, repo), before, "the repository")
			if err := apply(b, p, Commit); !isErr(err, ErrConflict) {
				t.Errorf("commit: got %v", err)
			}
			same(t, rest(t, repo), rest(t, repo), "the repository")
			must(t, b.Close(t.Context()))
			if _, err := os.Stat(refused.File); err != nil {
				t.Error("Close removed the patch")
			}
		})
	}
}

func TestApply_Branch(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\n", "b.txt": "b\n"})
	put(t, repo, files{"b.txt": "uncommitted\n", "new-of-user.txt": "u\n"})
	b := open(t, Config{Dir: repo})
	before := snapshot(t, repo, ".git/objects", ".git/refs/heads", ".git/logs/refs/heads")
	p := patchOf(t, b, files{"a.txt": "A\n", "c.txt": "c\n"})
	name, err := b.Apply(t.Context(), p, Branch, Options{Name: "fix/it", Message: "Fix it\n\nBecause."})
	must(t, err)
	if name != "fix/it" {
		t.Errorf("got %q", name)
	}
	if got := runGit(t, repo, "log", "--format=%an|%s|%b", "fix/it", "-1"); got != "Some One|Fix it|Because." {
		t.Errorf("got %q", got)
	}
	if got := runGit(t, repo, "diff", "--name-status", "main", "fix/it"); got != "M\ta.txt\nA\tc.txt" {
		t.Errorf("got %q", got)
	}
	runGit(t, repo, "fsck", "--strict")
	for _, bad := range []string{"fix/it", "fix", "main", "-x", "a..b", "@{-1}"} {
		if _, err := b.Apply(t.Context(), p, Branch, Options{Name: bad}); !isErr(err, ErrConflict) {
			t.Errorf("branch %q: got %v", bad, err)
		}
	}
	name, err = b.Apply(t.Context(), p, Branch, Options{})
	must(t, err)
	contains(t, name, "firstgood/")
	if _, err := b.Apply(t.Context(), patchOf(t, b, files{"b.txt": "uncommitted\nmore\n"}), Branch, Options{}); !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "not committed") {
		t.Errorf("a patch of what is uncommitted: got %v", err)
	}
	same(t, snapshot(t, repo, ".git/objects", ".git/refs/heads", ".git/logs/refs/heads"), before, "everything but branches")
}

func TestApply_Commit(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n", "d/d.txt": "d\n", "gone.txt": "g\n"})
	put(t, repo, files{"b.txt": "staged\n", "staged.txt": "s\n"})
	runGit(t, repo, "add", "-A")
	put(t, repo, files{"b.txt": "staged and more\n", "c.txt": "unstaged\n", "untracked.txt": "u\n"})
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, files{"a.txt": "A\n", "d/d.txt": "-", "d": "now a file\n", "gone.txt": "-", "n/new.txt": "!n\n"})
	wantStaged := runGit(t, repo, "diff", "--cached")
	status := runGit(t, repo, "status", "--porcelain")
	head := runGit(t, repo, "rev-parse", "HEAD")
	commit, err := b.Apply(t.Context(), p, Commit, Options{Message: "The patch"})
	must(t, err)
	if got := runGit(t, repo, "log", "-1", "--format=%H|%P|%s"); got != commit+"|"+head+"|The patch" {
		t.Errorf("got %q", got)
	}
	if got := runGit(t, repo, "show", "--format=", "--no-renames", "--name-status"); got != "M\ta.txt\nA\td\nD\td/d.txt\nD\tgone.txt\nA\tn/new.txt" {
		t.Errorf("the commit has %q", got)
	}
	if got := runGit(t, repo, "diff-files", "--name-only"); got != "b.txt\nc.txt" { // before any refresh: the times are known
		t.Errorf("diff-files: got %q", got)
	}
	if got := runGit(t, repo, "diff", "--cached"); got != wantStaged {
		t.Errorf("staged: got %s, want %s", got, wantStaged)
	}
	if got := runGit(t, repo, "status", "--porcelain"); got != status {
		t.Errorf("status: got %q, want %q", got, status)
	}
	contains(t, runGit(t, repo, "reflog", "-1"), "firstgood")
	runGit(t, repo, "fsck", "--strict")

	for name, changed := range map[string]files{"staged": {"b.txt": "staged and more\nagent\n"}, "unstaged": {"c.txt": "unstaged\nagent\n"}, "untracked": {"untracked.txt": "agent\n"}} {
		before := snapshot(t, repo, ".git/objects")
		p := patchOf(t, b, changed)
		if err := apply(b, p, Commit); !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "apply: patch") {
			t.Errorf("%s: got %v", name, err)
		}
		same(t, snapshot(t, repo, ".git/objects"), before, name)
	}
}

func TestApply_CommitWithoutIdentity(t *testing.T) {
	repo := newRepo(t, simple)
	runGit(t, repo, "config", "--global", "user.useConfigOnly", "true")
	runGit(t, repo, "config", "--global", "--unset", "user.email")
	defer runGit(t, repo, "config", "--global", "user.email", "one@example.org")
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, change)
	before := snapshot(t, repo)
	for _, how := range []How{Branch, Commit} {
		if err := apply(b, p, how); !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "git config user.email") {
			t.Errorf("%s: got %v", how, err)
		}
	}
	same(t, snapshot(t, repo), before, "the repository")
}

// TestApply_BranchMovedMeanwhile: the commit is refused by git's own check, and the files are as before.
func TestApply_CommitOnAMovedHead(t *testing.T) {
	repo := newRepo(t, simple)
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, change)
	put(t, repo, files{"more.txt": "m\n"})
	runGit(t, repo, "add", "-A")
	runGit(t, repo, "commit", "-q", "-m", "of the user")
	commit, err := b.Apply(t.Context(), p, Commit, Options{})
	must(t, err)
	if got := runGit(t, repo, "log", "--format=%s"); got != defaultMessage+"\nof the user\nfirst" {
		t.Errorf("got %q", got)
	}
	if got := runGit(t, repo, "diff", "--name-only", commit+"~", commit); got != "a.txt\nb/new.txt" {
		t.Errorf("got %q", got)
	}
}

func TestApply_RefHeldByAnotherGit(t *testing.T) {
	repo := newRepo(t, simple)
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, change)
	put(t, repo, files{".git/refs/heads/main.lock": ""})
	before := snapshot(t, repo, ".git/objects")
	if err := apply(b, p, Commit); !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "cannot be moved") {
		t.Errorf("got %v", err)
	}
	same(t, snapshot(t, repo, ".git/objects"), before, "the repository")
	must(t, b.Close(t.Context()))
}

func TestApply_NoneAndEmpty(t *testing.T) {
	repo := newRepo(t, simple)
	b := open(t, Config{Dir: repo})
	before := snapshot(t, repo)
	for _, how := range []How{"", None} {
		if applied, err := b.Apply(t.Context(), patchOf(t, b, change), how, Options{}); applied != "" || err != nil {
			t.Errorf("%q: got %q, %v", how, applied, err)
		}
	}
	for _, how := range []How{PatchTree, Branch, Commit} {
		if applied, err := b.Apply(t.Context(), patchOf(t, b, nil), how, Options{}); applied != "" || err != nil {
			t.Errorf("%q of an empty patch: got %q, %v", how, applied, err)
		}
	}
	same(t, snapshot(t, repo), before, "the repository")
}

func TestApply_Cancelled(t *testing.T) {
	repo := newRepo(t, simple)
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, change)
	before := snapshot(t, repo)
	cause := errors.New("the caller's own")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, how := range []How{PatchTree, Branch, Commit} {
		if _, err := b.Apply(ctx, p, how, Options{}); !isErr(err, cause) {
			t.Errorf("%s: got %v", how, err)
		}
	}
	same(t, snapshot(t, repo), before, "the repository")
	if _, err := b.Tree(ctx, "x"); !isErr(err, cause) {
		t.Errorf("tree: got %v", err)
	}
	if _, err := Open(ctx, Config{Dir: repo, Root: t.TempDir()}); !isErr(err, cause) {
		t.Errorf("open: got %v", err)
	}
}

// TestApply_UndoneInTheMiddle has the last of several files change between the plan and its placing, at every file in turn.
func TestApply_UndoneInTheMiddle(t *testing.T) {
	t.Parallel()
	base := files{"a.txt": "a\n", "f2d": "f\n", "d2f/x": "x\n", "gone": "g\n", "l2d": "→a.txt", "z.txt": "z\n", "exec": "!x\n"}
	changed := files{"a.txt": "A\n", "f2d": "-", "f2d/y/z": "z\n", "d2f": "now a file\n", "gone": "-", "l2d": "-", "l2d/q": "q\n", "z.txt": "→a.txt", "new/er/n": "n\n", "exec": "x\n"}
	for i := range 30 {
		repo := newRepo(t, base)
		b := open(t, Config{Dir: repo})
		p := patchOf(t, b, changed)
		top, err := os.OpenRoot(repo)
		must(t, err)
		plan, err := b.plan(t.Context(), top, p)
		must(t, err)
		j := plan.journal
		if i >= len(j.Steps) {
			top.Close()
			if i < 8 {
				t.Fatalf("%d steps only", i)
			}
			break
		}
		victim := j.Steps[i]
		meant := local(victim.Path)
		if victim.Before.Kind == nothing {
			continue // nothing to be changed there, and a new file is the same case
		}
		must(t, os.Remove(filepath.Join(repo, meant)))
		must(t, os.WriteFile(filepath.Join(repo, meant), []byte("of the user, just now"), 0o666))
		before := snapshot(t, repo)
		must(t, j.stage(top))
		must(t, j.save(placing))
		err = j.place(top, false)
		if refused := (*conflict)(nil); !errors.As(err, &refused) {
			t.Fatalf("%s: got %v", victim.Path, err)
		}
		must(t, j.save(undoing))
		must(t, j.undo(top))
		same(t, snapshot(t, repo), before, "after undoing "+string(victim.Path))
		must(t, top.Close())
	}
}

// TestApply_FinishedOrUndoneByClean stops after each of the journal's steps, as a kill would, and lets Clean's part go on.
func TestApply_FinishedOrUndoneByClean(t *testing.T) {
	base := files{"a.txt": "a\n", "f2d": "f\n", "d2f/x": "x\n", "gone/g": "g\n", "l2d": "→a.txt"}
	changed := files{"a.txt": "A\n", "f2d": "-", "f2d/y/z": "z\n", "d2f": "now a file\n", "gone/g": "-", "l2d": "-", "l2d/q": "q\n", "new/er/n": "n\n"}
	for _, stop := range []string{"staged", "placing", "placed", "half placed", "undoing"} {
		t.Run(stop, func(t *testing.T) {
			repo := newRepo(t, base)
			b := open(t, Config{Dir: repo})
			tree := newTree(t, b)
			put(t, tree.Top(), changed)
			want := worktree(t, tree.Top())
			delete(want, "gone") // as git does
			p, err := tree.Patch(t.Context())
			must(t, err)
			before := snapshot(t, repo)
			top, err := os.OpenRoot(repo)
			must(t, err)
			defer top.Close()
			plan, err := b.plan(t.Context(), top, p)
			must(t, err)
			j := plan.journal
			must(t, j.stage(top))
			finished := true
			switch stop {
			case "staged":
				finished = false
			case "placing":
				must(t, j.save(placing))
			case "placed":
				must(t, j.save(placing))
				must(t, j.place(top, false))
			case "half placed":
				must(t, j.save(placing))
				half := *j
				half.Steps = j.Steps[:len(j.Steps)-2]
				must(t, half.place(top, false))
			case "undoing":
				finished = false
				must(t, j.save(placing))
				must(t, j.place(top, false))
				must(t, j.save(undoing))
			}
			left, err := journalsOf(b.run)
			must(t, err)
			if len(left) != 1 {
				t.Fatalf("got %d journals", len(left))
			}
			if err := b.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "firstgood clean") {
				t.Errorf("Close: got %v", err)
			}
			var report Report
			must(t, report.settle(t.Context(), left[0]))
			if finished {
				same(t, worktree(t, repo), want, "finished")
			} else {
				same(t, snapshot(t, repo), before, "undone")
			}
			if left, _ = journalsOf(b.run); len(left) > 0 {
				t.Error("the journal is left")
			}
			must(t, removeAll(b.run))
		})
	}
}
