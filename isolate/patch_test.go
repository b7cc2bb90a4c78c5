package isolate

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestPatch_WhateverBecameOfGit wrecks the tree's .git in many ways. The patch is the same each time.
func TestPatch_WhateverBecameOfGit(t *testing.T) {
	t.Parallel()
	repo := newRepo(t, files{"a.txt": "base\n", "b/b.txt": "b\n", "c.txt": "c\n"})
	put(t, repo, files{"c.txt": "uncommitted\n"})
	b := open(t, Config{Dir: repo})
	changed := files{"a.txt": "changed\n", "b/new.txt": "new\n"}
	want := patchOf(t, b, changed)
	outside := t.TempDir()
	put(t, outside, files{"outside.txt": "outside\n"})
	for name, wreck := range map[string]func(git func(args ...string), top string){
		"nothing":             func(func(...string), string) {},
		"removed":             func(_ func(...string), top string) { put(t, top, files{".git": "-"}) },
		"a file":              func(_ func(...string), top string) { put(t, top, files{".git": "gitdir: /nowhere\n"}) },
		"a link to the users": func(_ func(...string), top string) { put(t, top, files{".git": "→" + filepath.Join(repo, ".git")}) },
		"made anew": func(git func(...string), top string) {
			put(t, top, files{".git": "-"})
			git("init", "-q")
			git("add", "-A")
			git("commit", "-q", "-m", "all")
		},
		"committed": func(git func(...string), _ string) { git("add", "-A"); git("commit", "-q", "-m", "x") },
		"amended": func(git func(...string), _ string) {
			git("add", "-A")
			git("commit", "-q", "--amend", "-m", "x")
		},
		"staged":        func(git func(...string), _ string) { git("add", "-A") },
		"branch":        func(git func(...string), _ string) { git("checkout", "-q", "-b", "x"); git("commit", "-qam", "x") },
		"orphan":        func(git func(...string), _ string) { git("checkout", "-q", "--orphan", "x") },
		"HEAD broken":   func(_ func(...string), top string) { put(t, top, files{".git/HEAD": "nonsense"}) },
		"index broken":  func(_ func(...string), top string) { put(t, top, files{".git/index": "nonsense"}) },
		"index locked":  func(_ func(...string), top string) { put(t, top, files{".git/index.lock": ""}) },
		"config broken": func(_ func(...string), top string) { put(t, top, files{".git/config": "[[["}) },
		"bare":          func(git func(...string), _ string) { git("config", "core.bare", "true") },
		"other files":   func(git func(...string), _ string) { git("config", "core.worktree", outside) },
		"hooks": func(_ func(...string), top string) {
			put(t, top, files{".git/hooks/post-index-change": "!#!/bin/sh\nexit 1\n"})
		},
		"fsmonitor": func(git func(...string), _ string) { git("config", "core.fsmonitor", "echo /") },
		"attributes": func(git func(...string), top string) {
			git("config", "filter.evil.clean", "false")
			put(t, top, files{".git/info/attributes": "* filter=evil -diff\n"})
		},
		"excluded": func(_ func(...string), top string) { put(t, top, files{".git/info/exclude": "*\n"}) },
		"hidden": func(git func(...string), _ string) {
			git("update-index", "--assume-unchanged", "a.txt")
			git("update-index", "--skip-worktree", "c.txt")
		},
		"alternates":   func(_ func(...string), top string) { put(t, top, files{".git/objects/info/alternates": "/nowhere\n"}) },
		"objects gone": func(_ func(...string), top string) { put(t, top, files{".git/objects": "-"}) },
		"sparse":       func(git func(...string), _ string) { git("config", "core.sparseCheckout", "true") },
		"time reset":   func(_ func(...string), top string) { sameTime(t, top, filepath.Join(repo, "a.txt"), "a.txt") },
		"nested":       func(_ func(...string), top string) { runGit(t, filepath.Join(top, "b"), "init", "-q") },
		"gc":           func(git func(...string), _ string) { git("gc", "-q", "--prune=now") },
		"remote": func(git func(...string), _ string) {
			git("remote", "add", "origin", repo)
			git("fetch", "-q", "origin")
		},
		"stash applied": func(git func(...string), _ string) { git("stash", "-q", "-u"); git("stash", "pop", "-q") },
	} {
		t.Run(name, func(t *testing.T) {
			tree := newTree(t, b)
			put(t, tree.Top(), changed)
			wreck(func(args ...string) { t.Helper(); runGit(t, tree.Top(), args...) }, tree.Top())
			got, err := tree.Patch(t.Context())
			must(t, err)
			if string(got.Diff) != string(want.Diff) || !reflect.DeepEqual(got.Files, want.Files) {
				t.Errorf("got %s\n%+v\nwant %s", got.Diff, got.Files, want.Diff)
			}
			must(t, tree.Remove(t.Context()))
		})
	}
}

func sameTime(t *testing.T, top, of, name string) {
	info, err := os.Stat(of)
	must(t, err)
	must(t, os.Chtimes(filepath.Join(top, name), info.ModTime(), info.ModTime()))
}

// TestPatch_SameSizeAtTheSameTime: a change that neither size nor time tells is found nevertheless.
func TestPatch_SameSizeAtTheSameTime(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "base\n"})
	b := open(t, Config{Dir: repo})
	for range 20 {
		tree := newTree(t, b)
		info, err := os.Stat(filepath.Join(tree.Top(), "a.txt"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(tree.Top(), "a.txt"), []byte("BASE\n"), 0o666)) // at once after the checkout
		must(t, os.Chtimes(filepath.Join(tree.Top(), "a.txt"), info.ModTime(), info.ModTime()))
		p, err := tree.Patch(t.Context())
		must(t, err)
		if len(p.Files) != 1 {
			t.Fatal("the change was not seen")
		}
	}
}

func TestPatch_Files(t *testing.T) {
	text := strings.Repeat("a line\n", 10)
	repo := newRepo(t, files{"mod": "a\nb\n", "del": "x\ny\n", "ren": text, "exec": "x\n", "typ": "x\n", "bin": "\x00a", "sub/mv": strings.Repeat("other\n", 10)})
	b := open(t, Config{Dir: repo})
	p := patchOf(t, b, files{"mod": "a\nB\nc\n", "del": "-", "ren": "-", "ren2": text + "more\n", "exec": "!x\n", "typ": "→x", "bin": "\x00b", "new": "n", "sub/mv": "-", "other/mv": strings.Repeat("other\n", 10), "tab\tname": "quite different\n"})
	want := []FileChange{
		{Path: "bin", Status: Modified, OldMode: 0o100644, Mode: 0o100644, Binary: true},
		{Path: "del", Status: Deleted, OldMode: 0o100644, Removed: 2},
		{Path: "exec", Status: Modified, OldMode: 0o100644, Mode: 0o100755},
		{Path: "mod", Status: Modified, OldMode: 0o100644, Mode: 0o100644, Added: 2, Removed: 1},
		{Path: "new", Status: Added, Mode: 0o100644, Added: 1},
		{Path: "other/mv", Old: "sub/mv", Status: Renamed, OldMode: 0o100644, Mode: 0o100644},
		{Path: "ren2", Old: "ren", Status: Renamed, OldMode: 0o100644, Mode: 0o100644, Added: 1},
		{Path: "tab\tname", Status: Added, Mode: 0o100644, Added: 1},
		{Path: "typ", Status: Retyped, OldMode: 0o100644, Mode: 0o120000, Added: 1, Removed: 1},
	}
	if !reflect.DeepEqual(p.Files, want) {
		t.Errorf("got\n%+v\nwant\n%+v", p.Files, want)
	}
	if p.Empty() || p.Lines() != 10 {
		t.Errorf("got %d lines", p.Lines())
	}
	for _, part := range []string{"diff --git a/bin b/bin\n", "GIT binary patch\n", "rename from ren\nrename to ren2\n", "old mode 100644\nnew mode 100755\n", `diff --git "a/tab\tname"`} {
		contains(t, string(p.Diff), part)
	}
}

// TestPatch_IsNotAMatterOfTaste: settings that change how diffs look do not change patches.
func TestPatch_IsNotAMatterOfTaste(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\nb\nc\n", "old.txt": strings.Repeat("x\n", 9)})
	changed := files{"a.txt": "a\nB\nc\n", "old.txt": "-", "new.txt": strings.Repeat("x\n", 9)}
	want := patchOf(t, open(t, Config{Dir: repo}), changed)
	contains(t, string(want.Diff), "rename to new.txt")
	for key, value := range map[string]string{"diff.noprefix": "true", "diff.mnemonicPrefix": "true", "diff.renames": "false", "diff.context": "0", "diff.interHunkContext": "9", "diff.external": "false", "color.ui": "always",
		"core.quotePath": "false", "diff.algorithm": "patience", "diff.renameLimit": "1", "core.abbrev": "4", "diff.suppressBlankEmpty": "true", "diff.srcPrefix": "x/", "apply.whitespace": "error", "core.whitespace": "cr-at-eol"} {
		runGit(t, repo, "config", "--global", key, value)
		defer runGit(t, repo, "config", "--global", "--unset", key)
	}
	b := open(t, Config{Dir: repo})
	got := patchOf(t, b, changed)
	if string(got.Diff) != string(want.Diff) {
		t.Errorf("got %s, want %s", got.Diff, want.Diff)
	}
	must(t, apply(b, got, PatchTree))
}

func TestPatch_NestedRepositories(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\n", "b/b.txt": "b\n"})
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	put(t, tree.Top(), files{"mine/x.txt": "x\n", "bare/y.txt": "y\n", "b/b.txt": "B\n", "b/new.txt": "new\n"})
	for _, dir := range []string{"mine", "bare", "b"} {
		runGit(t, filepath.Join(tree.Top(), dir), "init", "-q")
	}
	runGit(t, filepath.Join(tree.Top(), "mine"), "add", "-A")
	runGit(t, filepath.Join(tree.Top(), "mine"), "commit", "-q", "-m", "x")
	p, err := tree.Patch(t.Context())
	must(t, err)
	if !reflect.DeepEqual(p.Nested, []string{"bare", "mine"}) || len(p.Files) != 2 {
		t.Errorf("got %q, %+v", p.Nested, p.Files)
	}
}

func TestPatch_TreeReplacedByALink(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "a\n"})
	put(t, repo, files{"secret.txt": "of the user\n"})
	b := open(t, Config{Dir: repo, Committed: true})
	tree := newTree(t, b)
	must(t, os.RemoveAll(tree.Top()))
	must(t, os.Symlink(repo, tree.Top()))
	if _, err := tree.Patch(t.Context()); !isErr(err, ErrGone) {
		t.Errorf("got %v, want ErrGone", err)
	}
	must(t, tree.Remove(t.Context()))
	if _, err := os.Stat(filepath.Join(repo, "secret.txt")); err != nil {
		t.Error(err)
	}
}

func TestPatch_TooLarge(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	repo := newRepo(t, files{"a.txt": "a\n"})
	b := open(t, Config{Dir: repo})
	tree := newTree(t, b)
	put(t, tree.Top(), files{"big.txt": strings.Repeat("0123456789abcde\n", (maxDiff+(1<<20))/16)})
	if _, err := tree.Patch(t.Context()); !isErr(err, ErrPatchTooLarge) {
		t.Errorf("got %v", err)
	}
}

func FuzzParseFiles(f *testing.F) {
	for _, seed := range []string{
		":100644 100644 aa bb M\x00a.txt\x001\t2\ta.txt\x00",
		":100644 100644 aa aa R100\x00old\x00new\x000\t0\t\x00old\x00new\x00",
		":000000 120000 00 bb A\x00l\x00-\t-\tl\x00", ":100644 000000 aa 00 D\x00x\x00", ":", "", "1\t2\t", ":1 2 3 4 R\x00a\x00", "\x00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := parseFiles(fields([]byte(text)))
		for _, file := range list {
			if err == nil && (file.Status == "" || file.Added < 0 && !strings.Contains(text, "-")) {
				t.Errorf("%q: got %+v", text, file)
			}
		}
		_, _ = parseRaw(fields([]byte(text)))
	})
}
