package isolate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestClone_FromBaseToAppliedPatch(t *testing.T) {
	repo := newRepo(t, files{"a.txt": "one\ntwo\n", "gone.txt": "x\n", "sub/b.txt": "b\n", ".gitignore": "ignored\n"})
	put(t, repo, files{"a.txt": "one\ntwo\nthree\n", "staged.txt": "s\n"})
	runGit(t, repo, "add", "staged.txt")
	put(t, repo, files{"untracked.txt": "u\n", "ignored": "i\n"})
	before := snapshot(t, repo)
	root := t.TempDir()
	b := open(t, Config{Dir: filepath.Join(repo, "sub"), Root: root})
	tree := newTree(t, b)
	if got := filepath.Base(tree.Dir()); got != "sub" {
		t.Errorf("got the folder %s, want sub", tree.Dir())
	}
	wantStatus := runGit(t, repo, "status", "--porcelain")
	if got := runGit(t, tree.Top(), "status", "--porcelain"); got != wantStatus {
		t.Errorf("git status of the tree: got %q, want %q", got, wantStatus)
	}
	if p, err := tree.Patch(t.Context()); err != nil || !p.Empty() || p.Diff != nil || p.Lines() != 0 {
		t.Fatalf("patch of an untouched tree: got %+v, %v", p, err)
	}
	put(t, tree.Top(), files{"a.txt": "ONE\ntwo\nthree\n", "gone.txt": "-", "new/n.bin": "\x00\xff", "run.sh": "!#!/bin/sh\n", "link": "→a.txt", "ignored": "agent\n"})
	runGit(t, tree.Top(), "add", "a.txt")
	runGit(t, tree.Top(), "commit", "-q", "-m", "work")
	p, err := tree.Patch(t.Context())
	must(t, err)
	var changed []string
	for _, f := range p.Files {
		changed = append(changed, string(f.Status)+" "+f.Path)
	}
	if want := []string{"modified a.txt", "deleted gone.txt", "added link", "added new/n.bin", "added run.sh"}; !slices.Equal(changed, want) {
		t.Errorf("got %q, want %q", changed, want)
	}
	must(t, tree.Remove(t.Context()))
	same(t, snapshot(t, repo), before, "the repository before applying")

	applied, err := b.Apply(t.Context(), p, PatchTree, Options{})
	must(t, err)
	if applied != "patch" {
		t.Errorf("got %q", applied)
	}
	same(t, snapshot(t, repo, "a.txt", "gone.txt", "new", "run.sh", "link"), without(before, "a.txt", "gone.txt"), "the rest")
	for name, want := range map[string]string{"a.txt": "ONE\ntwo\nthree\n", "new/n.bin": "\x00\xff", "run.sh": "#!/bin/sh\n"} {
		if got, err := os.ReadFile(filepath.Join(repo, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, err := os.Lstat(filepath.Join(repo, "gone.txt")); err == nil {
		t.Error("gone.txt is there")
	}
}

func without(all map[string]string, names ...string) map[string]string {
	rest := map[string]string{}
	for name, content := range all {
		if !slices.ContainsFunc(names, func(n string) bool { return n == name || strings.HasPrefix(name, n+"/") }) {
			rest[name] = content
		}
	}
	return rest
}
