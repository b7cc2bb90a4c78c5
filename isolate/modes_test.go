package isolate

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func isErr(err, target error) bool { return errors.Is(err, target) }

func TestWorktree(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "base\n", "s/b.txt": "b\n"})
	put(t, repo, files{"a.txt": "changed\n", "new.txt": "n\n"})
	runGit(t, repo, "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "of-the-user"))
	before := snapshot(t, repo)
	b := open(t, Config{Dir: repo, Mode: Worktree})
	first, second := newTree(t, b), newTree(t, b)
	if got := strings.Count(runGit(t, repo, "worktree", "list"), "\n"); got != 3 {
		t.Errorf("got %d worktrees more than one, want 3", got)
	}
	want := runGit(t, repo, "status", "--porcelain")
	if got := runGit(t, first.Top(), "status", "--porcelain"); got != want {
		t.Errorf("status: got %q, want %q", got, want)
	}
	put(t, first.Top(), files{"a.txt": "FIRST\n", "more.txt": "x\n", ".git": "-"}) // it wrecks its .git
	p, err := first.Patch(t.Context())
	must(t, err)
	if len(p.Files) != 2 {
		t.Errorf("got %+v", p.Files)
	}
	exam, err := b.Exam(t.Context(), p, nil)
	must(t, err)
	must(t, exam.Remove(t.Context()))
	must(t, first.Remove(t.Context()))
	must(t, second.Remove(t.Context()))
	same(t, snapshot(t, repo), before, "the repository")
	if _, err := b.Apply(t.Context(), p, PatchTree, Options{}); err != nil {
		t.Fatal(err)
	}
	newTree(t, b)
	must(t, b.Close(t.Context()))
	if got := strings.Count(runGit(t, repo, "worktree", "list"), "\n"); got != 1 {
		t.Errorf("after Close: got %d worktrees more than one, want 1", got)
	}
}

func TestCopy_OfPlainFolder(t *testing.T) {
	mustHaveGit(t)
	dir := t.TempDir()
	put(t, dir, files{"a.txt": "one\r\ntwo\n", "s/b.txt": "b\n", "cache/big": "ignored\n", ".gitignore": "cache\n", "link": "→a.txt", "run": "!x\n", "vendored/.git/HEAD": "ref: x\n", "vendored/v.txt": "v\n"})
	must(t, os.Mkdir(filepath.Join(dir, "empty"), 0o777))
	before := snapshot(t, dir)
	b := open(t, Config{Dir: dir, Mode: Copy})
	tree := newTree(t, b)
	if tree.Dir() != tree.Top() {
		t.Errorf("got %s", tree.Dir())
	}
	same(t, snapshot(t, tree.Top()), without(before, "vendored/.git"), "the copy")
	if out, err := tryGitEnv(tree.Dir(), tree.Env(), "status"); err == nil {
		t.Errorf("git finds a repository above the tree: %s", out)
	}
	put(t, dir, files{"a.txt": "the user goes on\n"}) // another tree is still of the base
	second := newTree(t, b)
	same(t, snapshot(t, second.Top()), without(before, "vendored/.git"), "the second copy")
	put(t, dir, files{"a.txt": "one\r\ntwo\n"})

	put(t, tree.Top(), files{"a.txt": "one\r\nTWO\n", "new.txt": "n\n", "cache/big": "agent\n", "s/b.txt": "-", "tests/x_test.go": "cheat\n"})
	p, err := tree.Patch(t.Context())
	must(t, err)
	exam, err := b.Exam(t.Context(), p, DefaultProtect())
	must(t, err)
	if !slices.Equal(exam.Restored, []string{"tests/x_test.go"}) {
		t.Errorf("restored: got %q", exam.Restored)
	}
	examined := snapshot(t, exam.Dir())
	for name, want := range map[string]string{"a.txt": "one\r\nTWO\n", "new.txt": "n\n", "cache/big": "ignored\n", "vendored/v.txt": "v\n"} {
		if !strings.HasSuffix(examined[name], " "+want) {
			t.Errorf("%s: got %q, want %q", name, examined[name], want)
		}
	}
	for _, name := range []string{"s/b.txt", "tests/x_test.go"} {
		if _, ok := examined[name]; ok {
			t.Errorf("%s is there", name)
		}
	}
	for _, how := range []How{Branch, Commit} {
		if _, err := b.Apply(t.Context(), exam.Patch, how, Options{}); err == nil || !strings.Contains(err.Error(), "apply: patch") {
			t.Errorf("%s: got %v", how, err)
		}
	}
	if _, err := b.Apply(t.Context(), exam.Patch, PatchTree, Options{}); err != nil {
		t.Fatal(err)
	}
	after := snapshot(t, dir)
	if after["cache/big"] != before["cache/big"] || !strings.HasSuffix(after["a.txt"], " one\r\nTWO\n") || after["new.txt"] == "" || after["s/b.txt"] != "" {
		t.Errorf("after applying: %q", after)
	}
}

func tryGitEnv(dir string, env []string, args ...string) (string, error) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		old, had := os.LookupEnv(name)
		_ = os.Setenv(name, value)
		defer func() {
			if had {
				_ = os.Setenv(name, old)
			} else {
				_ = os.Unsetenv(name)
			}
		}()
	}
	return tryGit(dir, args...)
}

func TestTempDir(t *testing.T) {
	mustHaveGit(t)
	dir := t.TempDir()
	put(t, dir, files{"there.txt": "x\n"})
	b := open(t, Config{Dir: dir, Mode: TempDir})
	tree := newTree(t, b)
	if got := snapshot(t, tree.Dir()); len(got) != 1 {
		t.Errorf("got %q, want an empty folder", got)
	}
	put(t, tree.Dir(), files{"made/a.txt": "a\n"})
	p, err := tree.Patch(t.Context())
	must(t, err)
	exam, err := b.Exam(t.Context(), p, nil)
	must(t, err)
	same(t, snapshot(t, exam.Dir()), snapshot(t, tree.Dir()), "the examination")
	if _, err := b.Apply(t.Context(), p, PatchTree, Options{}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "made", "a.txt")); err != nil || string(got) != "a\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestOpen_Refuses(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\n"})
	plain := t.TempDir()
	bare := filepath.Join(t.TempDir(), "bare.git")
	runGit(t, plain, "init", "-q", "--bare", bare)
	put(t, plain, files{"file": "x"})
	before := snapshot(t, repo)
	for name, test := range map[string]struct {
		config Config
		is     error
		says   string
	}{
		"bare repository":         {Config{Dir: bare}, ErrUnsupported, "git worktree add"},
		"within .git":             {Config{Dir: filepath.Join(repo, ".git")}, ErrUnsupported, "the folder of its files"},
		"no repository":           {Config{Dir: plain}, ErrNoRepository, "isolate: copy"},
		"no folder":               {Config{Dir: filepath.Join(plain, "absent")}, os.ErrNotExist, "absent"},
		"a file":                  {Config{Dir: filepath.Join(plain, "file")}, nil, "not a folder"},
		"unknown mode":            {Config{Dir: repo, Mode: "box"}, nil, "clone, worktree, copy or tempdir"},
		"unknown revision":        {Config{Dir: repo, Base: "nowhere"}, nil, `base "nowhere": no such commit`},
		"revision like an option": {Config{Dir: repo, Base: "--all"}, nil, "no such commit"},
		"revision of a copy":      {Config{Dir: plain, Mode: Copy, Base: "HEAD"}, nil, "leave it out"},
		"root within":             {Config{Dir: repo, Root: filepath.Join(repo, "trees")}, nil, "outside of it"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.config.Root == "" {
				test.config.Root = t.TempDir()
			}
			_, err := Open(t.Context(), test.config)
			if err == nil {
				t.Fatal("no error")
			}
			if test.is != nil && !isErr(err, test.is) {
				t.Errorf("got %v, want %v", err, test.is)
			}
			contains(t, err.Error(), test.says)
			empty(t, test.config.Root)
			same(t, snapshot(t, repo), before, "the repository")
		})
	}
}

func TestOpen_NoGitProgram(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Open(t.Context(), Config{Dir: t.TempDir(), Root: t.TempDir()})
	if !isErr(err, ErrNoGit) || !strings.Contains(err.Error(), "install git") {
		t.Errorf("got %v", err)
	}
}

func TestOpen_CallersGitVariablesDoNotMatter(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\n"})
	other := newRepo(t, files{"other.txt": "a\n"})
	before := snapshot(t, other)
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, ".git", "index"))
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other, ".git", "objects"))
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, files{"a.txt": "b\n"})
	if len(p.Files) != 1 || p.Files[0].Path != "a.txt" {
		t.Errorf("got %+v", p.Files)
	}
	_, err := b.Apply(t.Context(), p, Commit, Options{})
	must(t, err)
	same(t, snapshot(t, other), before, "the other repository")
}
