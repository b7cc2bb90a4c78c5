package isolate

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// way goes the whole way on a repository: nothing is touched before the end, the tree has the files of the user's, the status
// is the user's, the examination and the user's tree have the change.
func way(t *testing.T, repo string, changed files) {
	t.Helper()
	status := runGit(t, repo, "status", "--porcelain", "--untracked-files=all")
	before := snapshot(t, repo) // after git status, which may write the index
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	same(t, worktree(t, tree.Top()), without(before, ".git"), "the tree")
	if got := runGit(t, tree.Top(), "status", "--porcelain", "--untracked-files=all"); got != status {
		t.Errorf("status: got %q, want %q", got, status)
	}
	put(t, tree.Top(), changed)
	want := worktree(t, tree.Top())
	p, err := tree.Patch(t.Context())
	must(t, err)
	exam, err := b.Exam(t.Context(), p, nil)
	must(t, err)
	same(t, worktree(t, exam.Dir()), want, "the examination")
	same(t, snapshot(t, repo), before, "the repository before applying")
	if _, err = b.Apply(t.Context(), p, PatchTree, Options{}); err != nil {
		t.Fatal(err)
	}
	same(t, worktree(t, repo), want, "the user's files")
	same(t, snapshot(t, filepath.Join(repo, ".git")), snapshotOf(before, ".git"), "the user's .git")
}

// snapshotOf is the part of a snapshot below a folder.
func snapshotOf(all map[string]string, folder string) map[string]string {
	part := map[string]string{}
	for name, content := range all {
		if name == folder {
			part["."] = content
		} else if below, ok := strings.CutPrefix(name, folder+"/"); ok {
			part[below] = content
		}
	}
	if _, ok := part["."]; !ok { // a .git that is a file
		return map[string]string{}
	}
	return part
}

var simple = files{"a.txt": "one\ntwo\nthree\n", "b/b.txt": "b\n"}

var change = files{"a.txt": "one\nTWO\nthree\n", "b/new.txt": "new\n"}

func TestRepository_Plain(t *testing.T) { way(t, newRepo(t, simple), change) }

func TestRepository_EverythingUncommitted(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "one\ntwo\nthree\n", "gone": "g", "gone-staged": "g", "b": "b", "mode": "m"})
	runGit(t, repo, "rm", "-q", "gone-staged")
	put(t, repo, files{"gone": "-", "b": "staged", "new-staged": "s", "mode": "!m"})
	runGit(t, repo, "add", "b", "new-staged")
	put(t, repo, files{"b": "staged and changed", "untracked": "u", "dir/untracked": "u"})
	way(t, repo, files{"a.txt": "one\nTWO\nthree\n", "b": "agent", "new": "n"})
}

func TestRepository_Detached(t *testing.T) {
	repo := newRepo(t, simple)
	runGit(t, repo, "checkout", "-q", "--detach")
	way(t, repo, change)
	b := open(t, Config{Dir: repo, Committed: true})
	tree := newTree(t, b)
	if out, err := tryGit(tree.Top(), "symbolic-ref", "HEAD"); err == nil {
		t.Errorf("the tree is on %s", out)
	}
	_, err := b.Apply(t.Context(), patchOf(t, b, files{"c.txt": "c\n"}), Commit, Options{})
	if !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "apply: branch") {
		t.Errorf("got %v", err)
	}
}

func TestRepository_Unborn(t *testing.T) {
	repo := newRepo(t, nil)
	put(t, repo, simple)
	runGit(t, repo, "add", "a.txt")
	way(t, repo, change)
	if _, err := Open(t.Context(), Config{Dir: repo, Mode: Worktree, Root: t.TempDir()}); !isErr(err, ErrUnsupported) || !strings.Contains(err.Error(), "isolate: clone") {
		t.Errorf("worktree: got %v", err)
	}
	b := open(t, Config{Dir: repo, Committed: true})
	p := patchOf(t, b, files{"first.txt": "first\n"})
	name, err := b.Apply(t.Context(), p, Branch, Options{})
	must(t, err)
	if got := runGit(t, repo, "log", "--format=%P|%s", name); got != "|"+defaultMessage {
		t.Errorf("branch: got %q", got)
	}
	if _, err = b.Apply(t.Context(), p, Commit, Options{Message: "The first"}); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, repo, "log", "--format=%P|%s", "main"); got != "|The first" {
		t.Errorf("commit: got %q", got)
	}
}

func TestRepository_Shallow(t *testing.T) {
	origin := newRepo(t, simple)
	put(t, origin, files{"a.txt": "one\ntwo\nthree\nfour\n"})
	runGit(t, origin, "commit", "-q", "-am", "second")
	repo := filepath.Join(t.TempDir(), "project")
	runGit(t, origin, "clone", "-q", "--depth=1", "file://"+filepath.ToSlash(origin), repo)
	way(t, repo, change)
	tree := newTree(t, open(t, Config{Dir: repo}))
	if got := runGit(t, tree.Top(), "log", "--format=%s"); got != "second" {
		t.Errorf("got %q", got)
	}
}

func TestRepository_Sha256(t *testing.T) {
	repo := newRepo(t, simple, "--object-format=sha256")
	way(t, repo, change)
	b := open(t, Config{Dir: repo, Committed: true})
	tree := newTree(t, b)
	put(t, tree.Top(), files{"a.txt": "x\n"})
	runGit(t, tree.Top(), "commit", "-q", "-am", "agent")
	runGit(t, repo, "checkout", "-q", ".")
	p, err := tree.Patch(t.Context())
	must(t, err)
	for _, how := range []How{Branch, Commit} {
		if _, err := b.Apply(t.Context(), p, how, Options{}); err != nil {
			t.Errorf("%s: %v", how, err)
		}
	}
}

func TestRepository_Alternates(t *testing.T) {
	origin := newRepo(t, simple)
	repo := filepath.Join(filepath.Dir(origin), "borrower")
	runGit(t, origin, "clone", "-q", "--shared", origin, repo)
	must(t, os.WriteFile(filepath.Join(repo, ".git", "objects", "info", "alternates"), []byte("../../../project/.git/objects\n"), 0o666))
	way(t, repo, change)
}

func TestRepository_LinkedWorktree(t *testing.T) {
	origin := newRepo(t, simple)
	repo := filepath.Join(filepath.Dir(origin), "linked")
	runGit(t, origin, "worktree", "add", "-q", "-b", "linked", repo)
	put(t, repo, files{"b/b.txt": "uncommitted\n"})
	before := snapshot(t, origin)
	way(t, repo, change)
	same(t, snapshot(t, origin), before, "the main work tree and the repository")
	runGit(t, repo, "checkout", "-q", "a.txt")
	must(t, os.Remove(filepath.Join(repo, "b", "new.txt")))
	b := open(t, Config{Dir: repo, Mode: Worktree})
	p := patchOf(t, b, change)
	commit, err := b.Apply(t.Context(), p, Commit, Options{})
	must(t, err)
	if got := runGit(t, origin, "rev-parse", "linked"); got != commit {
		t.Errorf("got %s, want %s", got, commit)
	}
	if got := runGit(t, repo, "status", "--porcelain"); got != " M b/b.txt" {
		t.Errorf("status: got %q", got)
	}
	if got := runGit(t, origin, "status", "--porcelain"); got != "" {
		t.Errorf("status of the main work tree: got %q", got)
	}
}

func TestRepository_NamesOfAllKinds(t *testing.T) {
	t.Parallel()
	names := []string{"with space", "-dash", "--option=x", "quo\"te", "apo'strophe", "новый", "e\u0301", "semi;colon", "$(x)", "*glob*", "[a]", ":(top)x", "#hash", "~tilde", "d -/-d/ f", "\tab"}
	if runtime.GOOS != "windows" {
		names = append(names, "new\nline", "back\\slash", "d\n/\"f", "trailing ", "bell\a")
	}
	if runtime.GOOS == "linux" {
		names = append(names, "bad\xff\xfeutf8")
	}
	if runtime.GOOS == "windows" {
		names = slices.DeleteFunc(names, func(name string) bool { return strings.ContainsAny(name, "\"*:?<>|\t") })
	}
	content, changed := files{}, files{}
	for i, name := range names {
		content[name] = "base\n"
		switch i % 3 {
		case 0:
			changed[name] = "changed\n"
		case 1:
			changed[name] = "-"
		}
		changed["new "+name] = "new\n"
	}
	repo := newRepo(t, content)
	put(t, repo, files{"untracked " + names[0]: "u\n", names[0]: "uncommitted\n"})
	way(t, repo, changed)
	runGit(t, repo, "add", "-A")
	runGit(t, repo, "commit", "-q", "-m", "applied")
	b := open(t, Config{Dir: repo})
	again := files{}
	for _, name := range names {
		again["new "+name] = "again\n"
	}
	_, err := b.Apply(t.Context(), patchOf(t, b, again), Commit, Options{})
	must(t, err)
	if got := runGit(t, repo, "status", "--porcelain"); got != "" {
		t.Errorf("after a commit: %q", got)
	}
	// The folder's own name.
	if runtime.GOOS != "windows" {
		odd := filepath.Join(filepath.Dir(repo), "-an odd\t\"na'me\" ü")
		must(t, os.Rename(repo, odd))
		runGit(t, odd, "status")
		way(t, odd, files{"more": "x"})
		newline := filepath.Join(filepath.Dir(repo), "new\nline")
		must(t, os.Rename(odd, newline))
		if _, err := Open(t.Context(), Config{Dir: newline, Root: t.TempDir()}); !isErr(err, ErrUnsupported) || !strings.Contains(err.Error(), "rename it") {
			t.Errorf("got %v", err)
		}
	}
}

func TestRepository_FileKinds(t *testing.T) {
	repo := newRepo(t, files{"file-to-dir": "f", "dir-to-file/a": "a", "dir-to-file/b/c": "c", "exec": "!x", "plain": "x", "link": "→plain", "file-to-link": "x", "link-to-file": "→x",
		"dir-to-link/a": "a", "link-to-dir": "→dir-to-link", "empty": "", "binary": "\x00\x01", "renamed": strings.Repeat("a line\n", 20), "Case": "case\n", "no-newline": "x"})
	way(t, repo, files{"file-to-dir": "-", "file-to-dir/x/y": "y", "dir-to-file": "now a file", "exec": "x", "plain": "!x", "link": "→elsewhere", "file-to-link": "→plain", "link-to-file": "f",
		"dir-to-link": "→plain", "link-to-dir": "-", "link-to-dir/x": "x", "empty": "full", "new-empty": "", "binary": "\x00\x02\xff", "renamed": "-", "renamed-to": strings.Repeat("a line\n", 20), "no-newline": "y", "dangling": "→nowhere"})
}

func TestRepository_CaseOnlyRename(t *testing.T) {
	repo := newRepo(t, files{"Readme": "text\n", "other": "x\n"})
	if _, err := os.Lstat(filepath.Join(repo, "README")); err == nil {
		t.Skip("this file system ignores case: git does not see such a rename there, so neither do patches")
	}
	way(t, repo, files{"Readme": "-", "README": "text\n"})
}

func TestRepository_LineEnds(t *testing.T) {
	repo := newRepo(t, files{".gitattributes": "*.crlf text eol=crlf\n*.bin -text\n", "a.crlf": "one\ntwo\n", "b.bin": "one\r\ntwo\n", "c.txt": "one\ntwo\n"})
	runGit(t, repo, "config", "core.autocrlf", "true")
	runGit(t, repo, "rm", "-rq", "--cached", ".")
	runGit(t, repo, "reset", "-q", "--hard")
	if got, _ := os.ReadFile(filepath.Join(repo, "c.txt")); string(got) != "one\r\ntwo\r\n" {
		t.Fatalf("git wrote %q", got)
	}
	way(t, repo, files{"a.crlf": "one\r\nTWO\r\n", "b.bin": "ONE\r\ntwo\n", "c.txt": "one\r\ntwo\r\nthree\r\n", "new.txt": "new\r\n", "new.bin": "new\n"})
}

func TestRepository_Filters(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the filter is tr")
	}
	repo := newRepo(t, nil)
	runGit(t, repo, "config", "filter.upper.smudge", "tr a-z A-Z")
	runGit(t, repo, "config", "filter.upper.clean", "tr A-Z a-z")
	runGit(t, repo, "config", "filter.upper.required", "true")
	put(t, repo, files{".gitattributes": "*.up filter=upper\n", "a.up": "HELLO\nWORLD\n", "plain": "plain\n"})
	runGit(t, repo, "add", "-A")
	runGit(t, repo, "commit", "-q", "-m", "first")
	if got := runGit(t, repo, "cat-file", "-p", "HEAD:a.up"); got != "hello\nworld" {
		t.Fatalf("stored: %q", got)
	}
	way(t, repo, files{"a.up": "HELLO\nTHERE\n", "new.up": "NEW\n"})
}

// TestRepository_LFS has a stand-in for git-lfs as filter: pointers are small, contents are elsewhere.
func TestRepository_LFS(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the filter is a shell script")
	}
	repo := newRepo(t, nil)
	store := t.TempDir()
	put(t, store, files{
		"clean":  "!#!/bin/sh\ncat > \"$0.in\"; if head -c 8 \"$0.in\" | grep -q '^pointer '; then cat \"$0.in\"; else sum=$(cksum < \"$0.in\" | tr ' ' -); cp \"$0.in\" \"$0.$sum\"; echo pointer $sum; fi\n",
		"smudge": "!#!/bin/sh\nif [ -n \"$GIT_LFS_SKIP_SMUDGE\" ]; then cat; else read word sum; cat \"" + store + "/clean.$sum\"; fi\n",
	})
	runGit(t, repo, "config", "filter.lfs.clean", store+"/clean")
	runGit(t, repo, "config", "filter.lfs.smudge", store+"/smudge")
	runGit(t, repo, "config", "filter.lfs.required", "true")
	put(t, repo, files{".gitattributes": "*.big filter=lfs -text\n", "a.big": "a lot of content", "b.big": "more content", "text": "t\n"})
	runGit(t, repo, "add", "-A")
	runGit(t, repo, "commit", "-q", "-m", "first")
	contains(t, runGit(t, repo, "cat-file", "-p", "HEAD:a.big"), "pointer ")
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	got, err := os.ReadFile(filepath.Join(tree.Top(), "a.big"))
	must(t, err)
	contains(t, string(got), "pointer ") // trees have pointers
	p, err := tree.Patch(t.Context())
	must(t, err)
	if !p.Empty() {
		t.Errorf("an untouched tree: got %s", p.Diff)
	}
	put(t, tree.Top(), files{"a.big": "content of the agent", "text": "T\n"})
	p, err = tree.Patch(t.Context())
	must(t, err)
	for _, how := range []How{Branch, Commit} {
		if _, err := b.Apply(t.Context(), p, how, Options{}); !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "Git LFS") {
			t.Errorf("%s: got %v", how, err)
		}
	}
	if _, err = b.Apply(t.Context(), p, PatchTree, Options{}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.big": "content of the agent", "b.big": "more content", "text": "T\n"} {
		if got, _ := os.ReadFile(filepath.Join(repo, name)); string(got) != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestRepository_FailingHooks(t *testing.T) {
	repo := newRepo(t, simple)
	for _, hook := range []string{"pre-commit", "commit-msg", "prepare-commit-msg", "post-checkout", "reference-transaction", "post-index-change", "pre-applypatch", "post-commit"} {
		put(t, repo, files{".git/hooks/" + hook: "!#!/bin/sh\necho ran >> \"" + repo + "/HOOK\"\nexit 1\n"})
	}
	for _, mode := range []Mode{Clone, Worktree} {
		b := open(t, Config{Dir: repo, Mode: mode, Committed: true})
		tree := newTree(t, b)
		put(t, tree.Top(), files{"n" + string(mode): "n\n"})
		p, err := tree.Patch(t.Context())
		must(t, err)
		must(t, tree.Remove(t.Context()))
		for _, how := range []How{Branch, Commit} {
			if _, err := b.Apply(t.Context(), p, how, Options{}); err != nil {
				t.Errorf("%s, %s: %v", mode, how, err)
			}
		}
	}
	if _, err := os.Lstat(filepath.Join(repo, "HOOK")); err == nil {
		t.Error("a hook ran")
	}
}

// TestRepository_Submodules holds what is said of them: their folders are empty, and what is done in them is not in patches.
func TestRepository_Submodules(t *testing.T) {
	t.Parallel()
	library := newRepo(t, files{"lib.txt": "lib\n"})
	repo := newRepo(t, simple)
	runGit(t, repo, "submodule", "--quiet", "add", library, "lib")
	runGit(t, repo, "commit", "-q", "-m", "with a submodule")
	put(t, repo, files{"lib/lib.txt": "uncommitted in the submodule\n"})
	before := snapshot(t, repo)
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	inside, err := os.ReadDir(filepath.Join(tree.Top(), "lib"))
	must(t, err)
	if len(inside) != 0 {
		t.Errorf("in the submodule: %v", inside)
	}
	if p, err := tree.Patch(t.Context()); err != nil || !p.Empty() {
		t.Errorf("an untouched tree: got %+v, %v", p, err)
	}
	runGit(t, tree.Top(), "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	put(t, tree.Top(), files{"lib/lib.txt": "changed\n", "a.txt": "changed\n"})
	runGit(t, filepath.Join(tree.Top(), "lib"), "commit", "-q", "-am", "moved on")
	for _, more := range []files{nil, {"lib/.git": "-"}, {"lib": "-"}, {"lib": "a file"}} {
		put(t, tree.Top(), more)
		p, err := tree.Patch(t.Context())
		must(t, err)
		if len(p.Files) != 1 || p.Files[0].Path != "a.txt" {
			t.Errorf("after %q: got %+v", more, p.Files)
		}
		exam, err := b.Exam(t.Context(), p, nil)
		must(t, err)
		must(t, exam.Remove(t.Context()))
	}
	p, err := tree.Patch(t.Context())
	must(t, err)
	same(t, snapshot(t, repo), before, "the repository")
	if _, err := b.Apply(t.Context(), p, Commit, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, repo, "status", "--porcelain"); got != " M lib" {
		t.Errorf("status: got %q", got)
	}
}

func TestRepository_Sparse(t *testing.T) {
	t.Parallel()
	for _, cone := range []string{"--cone", "--no-cone"} {
		repo := newRepo(t, files{"in/a.txt": "a\n", "out/b.txt": "b\n", "top.txt": "t\n"})
		runGit(t, repo, "sparse-checkout", "set", cone, "in")
		if _, err := os.Lstat(filepath.Join(repo, "out")); err == nil {
			t.Fatal("it is not sparse")
		}
		put(t, repo, files{"in/untracked.txt": "u\n"})
		way(t, repo, files{"in/a.txt": "A\n", "in/new.txt": "n\n"})

		b := open(t, Config{Dir: repo})
		tree := newTree(t, b)
		put(t, tree.Top(), files{"out/b.txt": "made without looking\n"})
		p, err := tree.Patch(t.Context())
		must(t, err)
		if len(p.Files) != 1 || p.Files[0].Status != Modified {
			t.Errorf("%s: got %+v", cone, p.Files)
		}
		before := snapshot(t, repo)
		if _, err := b.Apply(t.Context(), p, PatchTree, Options{}); !isErr(err, ErrConflict) {
			t.Errorf("%s: got %v", cone, err)
		}
		same(t, snapshot(t, repo), before, "the repository")
		if name, err := b.Apply(t.Context(), p, Branch, Options{}); err != nil {
			t.Errorf("%s: %v", cone, err)
		} else if got := runGit(t, repo, "show", name+":out/b.txt"); got != "made without looking" {
			t.Errorf("%s: got %q", cone, got)
		}
	}
}

func TestRepository_SparseIndex(t *testing.T) {
	repo := newRepo(t, files{"in/a.txt": "a\n", "out/deep/b.txt": "b\n", "top.txt": "t\n"})
	runGit(t, repo, "sparse-checkout", "set", "--cone", "--sparse-index", "in")
	way(t, repo, files{"in/a.txt": "A\n"})
	b := open(t, Config{Dir: repo, Committed: true})
	runGit(t, repo, "checkout", "-q", ".")
	if _, err := b.Apply(t.Context(), patchOf(t, b, files{"in/a.txt": "again\n"}), Commit, Options{}); err != nil {
		t.Fatal(err)
	}
	if got := runGit(t, repo, "status", "--porcelain"); got != "" {
		t.Errorf("status: got %q", got)
	}
}

func TestRepository_SplitIndex(t *testing.T) {
	repo := newRepo(t, simple)
	runGit(t, repo, "update-index", "--split-index")
	put(t, repo, files{"staged": "s"})
	runGit(t, repo, "add", "staged")
	if found, _ := filepath.Glob(filepath.Join(repo, ".git", "sharedindex.*")); len(found) == 0 {
		t.Fatal("it is not split")
	}
	way(t, repo, change)
	b := open(t, Config{Dir: repo})
	if _, err := b.Apply(t.Context(), patchOf(t, b, files{"other.txt": "o\n"}), Commit, Options{}); err != nil {
		t.Fatal(err)
	}
	contains(t, runGit(t, repo, "status", "--porcelain"), "A  staged")
}

// TestRepository_HiddenChanges holds what is said of assume-unchanged and skip-worktree: a base has them as git sees them, but
// applying looks at the files.
func TestRepository_HiddenChanges(t *testing.T) {
	for _, flag := range []string{"--assume-unchanged", "--skip-worktree"} {
		repo := newRepo(t, simple)
		runGit(t, repo, "update-index", flag, "a.txt")
		put(t, repo, files{"a.txt": "hidden\n"})
		before := snapshot(t, repo)
		b := open(t, Config{Dir: repo})
		tree := newTree(t, b)
		if got, _ := os.ReadFile(filepath.Join(tree.Top(), "a.txt")); string(got) != "one\ntwo\nthree\n" {
			t.Errorf("%s: got %q", flag, got)
		}
		p := patchOf(t, b, change)
		for _, how := range []How{PatchTree, Commit} {
			if _, err := b.Apply(t.Context(), p, how, Options{}); !isErr(err, ErrConflict) {
				t.Errorf("%s: %s: got %v", flag, how, err)
			}
		}
		same(t, snapshot(t, repo, ".git/objects"), without(before, ".git/objects"), flag)
		other := patchOf(t, b, files{"b/b.txt": "B\n"})
		if _, err := b.Apply(t.Context(), other, Commit, Options{}); err != nil {
			t.Fatal(err)
		}
		if got := runGit(t, repo, "ls-files", "-v", "a.txt"); strings.HasPrefix(got, "H") {
			t.Errorf("%s is lost: %s", flag, got)
		}
		if got, _ := os.ReadFile(filepath.Join(repo, "a.txt")); string(got) != "hidden\n" {
			t.Errorf("%s: got %q", flag, got)
		}
	}
}

func TestRepository_IntentToAdd(t *testing.T) {
	repo := newRepo(t, simple)
	put(t, repo, files{"meant.txt": "to be added\n"})
	runGit(t, repo, "add", "-N", "meant.txt")
	before := snapshot(t, repo)
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	same(t, worktree(t, tree.Top()), without(before, ".git"), "the tree")
	p := patchOf(t, b, files{"meant.txt": "to be added, and changed\n", "a.txt": "x\n"})
	must(t, apply(b, p, PatchTree))
	same(t, snapshotOf(snapshot(t, repo), ".git"), snapshotOf(before, ".git"), "the .git")
	if got := runGit(t, repo, "status", "--porcelain"); got != " M a.txt\n A meant.txt" {
		t.Errorf("status: got %q", got)
	}
}

func apply(b *Base, p *Patch, how How) error {
	_, err := b.Apply(nopContext, p, how, Options{})
	return err
}

// TestRepository_MergeInProgress: the base is what the files are, conflict markers included.
func TestRepository_MergeInProgress(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "base\n", "b.txt": "b\n", "c.txt": "c\n", "gone.txt": "g\n"})
	runGit(t, repo, "checkout", "-q", "-b", "side")
	put(t, repo, files{"a.txt": "side\n", "c.txt": "side\n", "gone.txt": "changed\n"})
	runGit(t, repo, "commit", "-q", "-am", "side")
	runGit(t, repo, "checkout", "-q", "main")
	put(t, repo, files{"a.txt": "main\n", "gone.txt": "-"})
	runGit(t, repo, "commit", "-q", "-am", "main")
	if _, err := tryGit(repo, "merge", "side"); err == nil {
		t.Fatal("there is no conflict")
	}
	before := snapshot(t, repo)
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	same(t, worktree(t, tree.Top()), without(before, ".git"), "the tree")
	if got := runGit(t, tree.Top(), "status", "--porcelain"); got == "" {
		t.Error("nothing is uncommitted")
	}
	p := patchOf(t, b, files{"a.txt": "resolved\n", "b.txt": "B\n"})
	if err := apply(b, p, Commit); !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "in progress") {
		t.Errorf("commit: got %v", err)
	}
	same(t, snapshot(t, repo), before, "the repository")
	must(t, apply(b, p, PatchTree))
	same(t, snapshotOf(snapshot(t, repo), ".git"), snapshotOf(before, ".git"), "the .git")
	if got, _ := os.ReadFile(filepath.Join(repo, "a.txt")); string(got) != "resolved\n" {
		t.Errorf("got %q", got)
	}
}

func TestRepository_IndexLocked(t *testing.T) {
	repo := newRepo(t, simple)
	put(t, repo, files{".git/index.lock": ""}) // held by another git from before the base is taken
	before := snapshot(t, repo)
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, change)
	for _, how := range []How{PatchTree, Commit} {
		if err := apply(b, p, how); !isErr(err, ErrConflict) || !strings.Contains(err.Error(), "index.lock exists") {
			t.Errorf("%s: got %v", how, err)
		}
	}
	same(t, snapshot(t, repo), before, "the repository")
	must(t, apply(b, p, Branch)) // which has no need of the index
	must(t, os.Remove(filepath.Join(repo, ".git", "index.lock")))
	must(t, apply(b, p, Commit))
	if got := runGit(t, repo, "status", "--porcelain"); got != "" {
		t.Errorf("status: got %q", got)
	}
}

func TestRepository_OfAnotherUser(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	repo := newRepo(t, simple)
	for _, name := range []string{repo, filepath.Join(repo, ".git")} {
		must(t, os.Chown(name, 65534, 65534))
	}
	t.Setenv("SUDO_UID", "")
	_, err := Open(t.Context(), Config{Dir: repo, Root: t.TempDir()})
	if !isErr(err, ErrUnsupported) || !strings.Contains(err.Error(), "safe.directory "+repo) {
		t.Fatalf("got %v", err)
	}
	runGit(t, t.TempDir(), "config", "--global", "safe.directory", repo)
	defer runGit(t, t.TempDir(), "config", "--global", "--unset-all", "safe.directory")
	b := open(t, Config{Dir: repo})
	must(t, apply(b, patchOf(t, b, change), Commit))
}

func TestRepository_PartialClone(t *testing.T) {
	origin := newRepo(t, simple)
	put(t, origin, files{"a.txt": "one\ntwo\nthree\nfour\n"})
	runGit(t, origin, "commit", "-q", "-am", "second")
	runGit(t, origin, "config", "uploadpack.allowFilter", "true")
	repo := filepath.Join(t.TempDir(), "project")
	runGit(t, origin, "clone", "-q", "--filter=blob:none", "file://"+filepath.ToSlash(origin), repo)
	must(t, os.Rename(origin, origin+"-away")) // nothing can be fetched
	way(t, repo, change)
}

func TestRepository_OtherBase(t *testing.T) {
	repo := newRepo(t, simple)
	put(t, repo, files{"a.txt": "second\n"})
	runGit(t, repo, "commit", "-q", "-am", "second")
	put(t, repo, files{"a.txt": "uncommitted\n", "u": "u"})
	for revision, want := range map[string]string{"HEAD~": "one\ntwo\nthree\n", "HEAD": "uncommitted\n", "main": "uncommitted\n", "": "uncommitted\n"} {
		b := open(t, Config{Dir: repo, Base: revision})
		tree := newTree(t, b)
		if got, _ := os.ReadFile(filepath.Join(tree.Top(), "a.txt")); string(got) != want {
			t.Errorf("%q: got %q, want %q", revision, got, want)
		}
		if got := runGit(t, tree.Top(), "rev-parse", "HEAD"); got != b.Commit() {
			t.Errorf("%q: HEAD is %s, want %s", revision, got, b.Commit())
		}
	}
	b := open(t, Config{Dir: repo, Committed: true})
	if got := runGit(t, newTree(t, b).Top(), "status", "--porcelain"); got != "" {
		t.Errorf("committed: got %q", got)
	}
}

func TestRepository_NestedOfTheUser(t *testing.T) {
	repo := newRepo(t, simple)
	put(t, repo, files{"nested/x.txt": "x\n", "empty-nested/y": "y"})
	runGit(t, filepath.Join(repo, "nested"), "init", "-q")
	runGit(t, filepath.Join(repo, "nested"), "add", "-A")
	runGit(t, filepath.Join(repo, "nested"), "commit", "-q", "-m", "n")
	runGit(t, filepath.Join(repo, "empty-nested"), "init", "-q") // git add -A fails on it
	b := open(t, Config{Dir: repo})
	if _, err := os.Lstat(filepath.Join(newTree(t, b).Top(), "nested")); err == nil {
		t.Error("a repository within is in the tree")
	}
	must(t, apply(b, patchOf(t, b, change), PatchTree))
}

func TestRepository_UnreadableFile(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("everything can be read here")
	}
	repo := newRepo(t, simple)
	put(t, repo, files{"secret": "x"})
	must(t, os.Chmod(filepath.Join(repo, "secret"), 0))
	if _, err := Open(t.Context(), Config{Dir: repo, Root: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestRepository_50000Files(t *testing.T) {
	if testing.Short() || os.Getenv("FIRSTGOOD_LONG") == "" {
		t.Skip("it takes long; FIRSTGOOD_LONG=1 runs it")
	}
	repo := manyFiles(t, 50000)
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, files{"d001/f00050.txt": "changed\n"})
	exam, err := b.Exam(t.Context(), p, DefaultProtect())
	must(t, err)
	must(t, exam.Remove(t.Context()))
	must(t, apply(b, p, Commit))
	if got := runGit(t, repo, "status", "--porcelain"); got != "" {
		t.Errorf("status: got %q", got)
	}
}

// TestRepository_PipeInTheTree: sockets and pipes are no files of git's.
func TestRepository_PipeInTheTree(t *testing.T) {
	mkfifo, err := exec.LookPath("mkfifo")
	if err != nil {
		t.Skip("no mkfifo")
	}
	repo := newRepo(t, simple)
	must(t, exec.Command(mkfifo, filepath.Join(repo, "pipe")).Run())
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	must(t, exec.Command(mkfifo, filepath.Join(tree.Top(), "pipe2")).Run())
	must(t, os.Remove(filepath.Join(tree.Top(), "a.txt")))
	must(t, exec.Command(mkfifo, filepath.Join(tree.Top(), "a.txt")).Run())
	p, err := tree.Patch(t.Context())
	must(t, err)
	if len(p.Files) != 1 || p.Files[0].Status != Deleted {
		t.Errorf("got %+v", p.Files)
	}
}
