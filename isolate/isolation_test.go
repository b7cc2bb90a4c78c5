package isolate

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// TestR1_RivalsNeverSeeEachOther has three attempts edit the same file at once, commit, branch and stash, and then look for
// each other in every way that git and the folders above offer.
func TestR1_RivalsNeverSeeEachOther(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "base\n", "b.txt": "b\n"})
	put(t, repo, files{"b.txt": "uncommitted\n"})
	runGit(t, repo, "branch", "side-of-the-user")
	runGit(t, repo, "tag", "tag-of-the-user")
	runGit(t, repo, "remote", "add", "origin", "https://example.org/secret-remote")
	runGit(t, repo, "config", "alias.x", "!secret-alias")
	runGit(t, repo, "stash", "push", "-q", "b.txt")
	put(t, repo, files{"b.txt": "uncommitted again\n"})
	put(t, repo, files{".git/hooks/pre-commit": "!#!/bin/sh\nexit 1\n"})
	before := snapshot(t, repo)
	b := open(t, Config{Dir: repo})

	const n = 3
	var trees [n]*Tree
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			tree, err := b.Tree(t.Context(), fmt.Sprintf("rival%d", i))
			if err != nil {
				t.Error(err)
				return
			}
			trees[i] = tree
			mark := fmt.Sprintf("secret-of-%d\n", i)
			put(t, tree.Top(), files{"a.txt": mark, "new.txt": mark})
			for _, args := range [][]string{{"stash", "-q", "-u"}, {"stash", "apply", "-q"}, {"checkout", "-q", "-b", "secret-branch-" + fmt.Sprint(i)}, {"add", "-A"}, {"commit", "-q", "-m", mark}, {"tag", "secret-tag-" + fmt.Sprint(i)}} {
				if out, err := tryGit(tree.Top(), args...); err != nil {
					t.Errorf("git %q: %v: %s", args, err, out)
				}
			}
			if _, err := tree.Patch(t.Context()); err != nil { // its objects must not be seen either
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		t.FailNow()
	}
	for i, tree := range trees {
		var seen strings.Builder
		for _, args := range [][]string{{"log", "--all", "-p"}, {"branch", "-a"}, {"tag"}, {"stash", "list", "-p"}, {"reflog", "--all"}, {"remote", "-v"}, {"config", "--local", "--list"}, {"worktree", "list"}, {"for-each-ref"}} {
			seen.WriteString(runGit(t, tree.Top(), args...) + "\n")
		}
		fsck, _ := tryGit(tree.Top(), "fsck", "--unreachable", "--lost-found")
		seen.WriteString(fsck)
		objects := runGit(t, tree.Top(), "cat-file", "--batch-all-objects", "--batch")
		for j := range n {
			mark, branch := fmt.Sprintf("secret-of-%d", j), fmt.Sprintf("secret-branch-%d", j)
			if j == i {
				contains(t, seen.String(), mark)
				contains(t, objects, mark)
				continue
			}
			if strings.Contains(seen.String(), mark) || strings.Contains(seen.String(), branch) || strings.Contains(objects, mark) {
				t.Errorf("tree %d sees tree %d", i, j)
			}
		}
		for _, users := range []string{"side-of-the-user", "tag-of-the-user", "secret-remote", "secret-alias"} {
			if strings.Contains(seen.String(), users) {
				t.Errorf("tree %d has the user's %s", i, users)
			}
		}
		siblings, err := os.ReadDir(filepath.Dir(tree.Top()))
		must(t, err)
		if len(siblings) != 1 || siblings[0].Name() != "project" {
			t.Errorf("beside tree %d: %v", i, siblings)
		}
		for j, other := range trees {
			if i != j && strings.Contains(strings.Join(tree.Env(), " ")+tree.Top(), filepath.Base(other.holder)) {
				t.Errorf("tree %d can know where tree %d is", i, j)
			}
		}
		if i > 0 {
			continue
		}
		info, err := os.Stat(filepath.Dir(tree.holder))
		must(t, err)
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o300 {
			t.Errorf("the folder of all trees can be listed: %v", info.Mode())
		}
		if os.Geteuid() != 0 && runtime.GOOS != "windows" {
			if found, err := os.ReadDir(filepath.Dir(tree.holder)); err == nil {
				t.Errorf("the folder of all trees was listed: %v", found)
			}
		}
	}
	same(t, snapshot(t, repo), before, "the repository")
}

// TestF16_LaterTreeIsFresh holds that nothing of an earlier attempt is in a later tree.
func TestF16_LaterTreeIsFresh(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "base\n"})
	b := open(t, Config{Dir: repo})
	first := newTree(t, b)
	put(t, first.Top(), files{"a.txt": "secret\n", "more.txt": "secret\n"})
	runGit(t, first.Top(), "commit", "-q", "-am", "secret")
	p, err := first.Patch(t.Context())
	must(t, err)
	exam, err := b.Exam(t.Context(), p, nil)
	must(t, err)
	must(t, first.Remove(t.Context()))
	second := newTree(t, b)
	if got := worktree(t, second.Top()); len(got) != 2 || !strings.HasSuffix(got["a.txt"], " base\n") {
		t.Errorf("got %q", got)
	}
	if objects := runGit(t, second.Top(), "cat-file", "--batch-all-objects", "--batch"); strings.Contains(objects, "secret") {
		t.Error("the objects of the first are there")
	}
	must(t, exam.Remove(t.Context()))
}

func TestTree_IsWorkable(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "base\n"})
	runGit(t, repo, "config", "user.email", "local@example.org")
	runGit(t, repo, "config", "commit.gpgSign", "true")
	runGit(t, repo, "config", "core.hooksPath", "hooks-of-mine")
	put(t, repo, files{"hooks-of-mine/pre-commit": "!#!/bin/sh\nexit 1\n"})
	runGit(t, repo, "commit", "-q", "--allow-empty", "--no-gpg-sign", "--no-verify", "-m", "second")
	tree := newTree(t, open(t, Config{Dir: repo}))
	if got := runGit(t, tree.Top(), "log", "--format=%s"); got != "second\nfirst" {
		t.Errorf("history: got %q", got)
	}
	if got := runGit(t, tree.Top(), "branch", "--show-current"); got != "main" {
		t.Errorf("branch: got %q", got)
	}
	put(t, tree.Top(), files{"a.txt": "changed\n"})
	runGit(t, tree.Top(), "commit", "-q", "-am", "work")
	if got := runGit(t, tree.Top(), "log", "-1", "--format=%an %ae"); got != "Some One local@example.org" {
		t.Errorf("author: got %q", got)
	}
}

func TestTree_KeepAndRemove(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "base\n"})
	root := t.TempDir()
	b := open(t, Config{Dir: repo, Root: root})
	tree := newTree(t, b)
	must(t, os.MkdirAll(filepath.Join(tree.Top(), "cache", "module"), 0o777))
	put(t, tree.Top(), files{"cache/module/x": "x"})
	must(t, os.Chmod(filepath.Join(tree.Top(), "cache", "module"), 0o555)) // like Go's
	must(t, os.Chmod(filepath.Join(tree.Top(), "cache"), 0))
	must(t, tree.Remove(t.Context()))
	must(t, tree.Remove(t.Context()))
	if _, err := os.Lstat(tree.holder); err == nil {
		t.Error("the tree is there")
	}
	if _, err := tree.Patch(t.Context()); !isErr(err, ErrGone) {
		t.Errorf("patch of a removed tree: got %v", err)
	}
	must(t, b.Close(t.Context()))
	empty(t, root)
	if _, err := b.Tree(t.Context(), "x"); !isErr(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}

	kept := open(t, Config{Dir: repo, Root: root, Keep: true})
	tree = newTree(t, kept)
	must(t, tree.Remove(t.Context()))
	must(t, kept.Close(t.Context()))
	if _, err := os.Lstat(filepath.Join(tree.Top(), "a.txt")); err != nil {
		t.Error(err)
	}
}

// empty holds that nothing is left in a folder.
func empty(t testing.TB, dir string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(name string, _ fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && name != dir {
			t.Errorf("%s is left", name)
		}
		return err
	}))
}
