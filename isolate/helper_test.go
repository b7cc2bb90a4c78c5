package isolate

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain gives git a home of its own, so that the settings of whoever runs the tests do not matter. Started anew with
// helperVariable it is a program that a test runs.
func TestMain(m *testing.M) {
	if os.Getenv(helperVariable) != "" {
		os.Exit(helper(os.Getenv(helperVariable)))
	}
	home, err := os.MkdirTemp("", "firstgood-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if cache, err := os.UserCacheDir(); err == nil && os.Getenv("GOCACHE") == "" { // the go program's, before HOME is another
		_ = os.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
	}
	settings := "[user]\n\tname = Some One\n\temail = one@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n"
	err = errors.Join(
		os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o600),
		os.Setenv("HOME", home), os.Setenv("USERPROFILE", home), os.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config")),
		os.Setenv("XDG_CACHE_HOME", filepath.Join(home, "cache")), os.Setenv("GIT_CONFIG_NOSYSTEM", "1"),
	)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = removeAll(home)
	os.Exit(code)
}

func mustHaveGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not here")
	}
}

// run runs git as a user would.
func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimRight(string(out), "\n"), err
}

// files are contents by path. "→x" is a symbolic link to x, "!x" an executable file with x, "-" deletes.
type files map[string]string

func put(t testing.TB, dir string, content files) {
	t.Helper()
	names := slices.Sorted(maps.Keys(content))
	slices.SortStableFunc(names, func(x, y string) int { // deletions first
		return cmp.Compare(min(1, len(strings.TrimPrefix(content[x], "-"))), min(1, len(strings.TrimPrefix(content[y], "-"))))
	})
	for _, name := range names {
		text := content[name]
		full := filepath.Join(dir, filepath.FromSlash(name))
		if text != "-" {
			must(t, os.MkdirAll(filepath.Dir(full), 0o777))
		}
		if _, err := os.Lstat(full); err == nil {
			must(t, os.RemoveAll(full))
		}
		switch {
		case text == "-":
		case strings.HasPrefix(text, "→"):
			must(t, os.Symlink(strings.TrimPrefix(text, "→"), full))
		case strings.HasPrefix(text, "!"):
			must(t, os.WriteFile(full, []byte(text[1:]), 0o777))
		default:
			must(t, os.WriteFile(full, []byte(text), 0o666))
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// newRepo makes a repository with one commit of some files.
func newRepo(t testing.TB, content files, options ...string) string {
	t.Helper()
	mustHaveGit(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir = filepath.Join(dir, "project")
	must(t, os.Mkdir(dir, 0o777))
	runGit(t, dir, append([]string{"init", "-q"}, options...)...)
	if content != nil {
		put(t, dir, content)
		runGit(t, dir, "add", "-A")
		runGit(t, dir, "commit", "-q", "-m", "first")
	}
	return dir
}

func open(t testing.TB, config Config) *Base {
	t.Helper()
	if config.Root == "" {
		config.Root = t.TempDir()
	}
	b, err := Open(t.Context(), config)
	must(t, err)
	t.Cleanup(func() { must(t, b.Close(context.Background())) })
	return b
}

func newTree(t testing.TB, b *Base) *Tree {
	t.Helper()
	tree, err := b.Tree(t.Context(), "someone")
	must(t, err)
	return tree
}

// patchOf makes a tree, changes files in it, and returns the patch.
func patchOf(t testing.TB, b *Base, changed files) *Patch {
	t.Helper()
	tree := newTree(t, b)
	put(t, tree.Top(), changed)
	p, err := tree.Patch(t.Context())
	must(t, err)
	return p
}

// snapshot is all that is in a folder: modes, contents, where links point. Objects in .git that nothing refers to may come
// and go, so folders of objects are left out unless all is asked for.
func snapshot(t testing.TB, dir string, skip ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if slices.Contains(skip, rel) {
			if found.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := found.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String() + " "
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += string(content)
		case info.Mode().Type() == fs.ModeSymlink:
			points, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += points
		}
		all[rel] = text
		return nil
	}))
	return all
}

// worktree is a snapshot of the files alone.
func worktree(t testing.TB, dir string) map[string]string { return snapshot(t, dir, ".git") }

func same(t testing.TB, got, want map[string]string, what string) {
	t.Helper()
	if problem := difference(got, want); problem != "" {
		t.Fatalf("%s: %s", what, problem)
	}
}

func difference(got, want map[string]string) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if now, ok := got[name]; !ok {
			fmt.Fprintf(&b, "\n%q is missing", name)
		} else if now != want[name] {
			fmt.Fprintf(&b, "\n%q: got %.200q, want %.200q", name, now, want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			fmt.Fprintf(&b, "\n%q is there: %.200q", name, got[name])
		}
	}
	return b.String()
}

// nopContext is for what a test does not stop.
var nopContext = context.Background()

func contains(t testing.TB, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("got %q, want %q in it", text, want)
	}
}
