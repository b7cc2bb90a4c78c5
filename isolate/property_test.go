package isolate

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// randomly is an agent that changes files at random.
type randomly struct {
	t    *testing.T
	r    *rand.Rand
	dir  string
	next int
}

func (a *randomly) name() string {
	a.next++
	parts := []string{"a", "b", "c d", "ü", "-e"}
	name := fmt.Sprintf("f%d", a.next)
	for a.r.IntN(2) == 0 {
		name = parts[a.r.IntN(len(parts))] + "/" + name
	}
	return name
}

func (a *randomly) content() string {
	switch a.r.IntN(6) {
	case 0:
		return ""
	case 1:
		b := make([]byte, a.r.IntN(3000))
		for i := range b {
			b[i] = byte(a.r.Uint32())
		}
		return string(b)
	case 2:
		return "no newline at the end"
	case 3:
		return "dos\r\nlines\r\n"
	}
	var b strings.Builder
	for range a.r.IntN(60) {
		fmt.Fprintf(&b, "line %d\n", a.r.IntN(30))
	}
	return b.String()
}

// all are the paths of files and links, without .git.
func (a *randomly) all() []string {
	var names []string
	must(a.t, filepath.WalkDir(a.dir, func(name string, found fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if found.Name() == ".git" {
			return fs.SkipDir
		}
		if !found.IsDir() {
			names = append(names, name)
		}
		return nil
	}))
	return names
}

func (a *randomly) write(name, content string) {
	if os.MkdirAll(filepath.Dir(name), 0o777) == nil { // a file may be where a folder would have to be
		_ = os.WriteFile(name, []byte(content), 0o666)
	}
}

func (a *randomly) edit() {
	names := a.all()
	if len(names) == 0 || a.r.IntN(4) == 0 {
		a.write(filepath.Join(a.dir, filepath.FromSlash(a.name())), a.content())
		return
	}
	name := names[a.r.IntN(len(names))]
	switch a.r.IntN(9) {
	case 0:
		must(a.t, os.Remove(name))
	case 1:
		must(a.t, os.Remove(name))
		must(a.t, os.Symlink([]string{"nowhere", "../a", "f1", "a b"}[a.r.IntN(4)], name))
	case 2:
		to := filepath.Join(a.dir, filepath.FromSlash(a.name()))
		if os.MkdirAll(filepath.Dir(to), 0o777) == nil {
			must(a.t, os.Rename(name, to))
		}
	case 3: // a folder in the place of a file
		must(a.t, os.Remove(name))
		a.write(filepath.Join(name, "inner"), a.content())
	case 4: // a file in the place of a folder
		if dir := filepath.Dir(name); dir != a.dir {
			must(a.t, os.RemoveAll(dir))
			a.write(dir, a.content())
		}
	case 5:
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			must(a.t, os.Chmod(name, info.Mode().Perm()^0o111))
		}
	case 6:
		if old, err := os.ReadFile(name); err == nil {
			at := a.r.IntN(len(old) + 1)
			must(a.t, os.WriteFile(name, slices.Concat(old[:at], []byte("inserted\n"), old[at:]), 0o666))
		}
	default:
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			a.write(name, a.content())
		}
	}
}

// noFolders leaves folders out of a snapshot: git knows none.
func noFolders(all map[string]string) map[string]string {
	rest := map[string]string{}
	for name, text := range all {
		if !strings.HasPrefix(text, "d") {
			rest[name] = text
		}
	}
	return rest
}

// TestProperty_PatchReproducesTheTree: whatever an agent does, and whatever was uncommitted, the patch that was applied, and the
// one that was examined, give the agent's files byte for byte.
func TestProperty_PatchReproducesTheTree(t *testing.T) {
	t.Parallel()
	mustHaveGit(t)
	rounds := 25
	if os.Getenv("FIRSTGOOD_LONG") != "" {
		rounds = 400
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		mode := []Mode{Clone, Clone, Worktree, Copy}[seed%4]
		var dir string
		if mode == Copy {
			dir = t.TempDir()
		} else {
			dir = newRepo(t, nil)
		}
		user := &randomly{t: t, r: r, dir: dir}
		for range 5 + r.IntN(20) {
			user.edit()
		}
		if mode != Copy {
			runGit(t, dir, "add", "-A")
			runGit(t, dir, "commit", "-q", "--allow-empty", "-m", "base")
			for range r.IntN(6) {
				user.edit()
				if r.IntN(2) == 0 {
					runGit(t, dir, "add", "-A")
				}
			}
		}
		b := open(t, Config{Dir: dir, Mode: mode})
		tree := newTree(t, b)
		same(t, noFolders(worktree(t, tree.Top())), noFolders(worktree(t, dir)), fmt.Sprintf("seed %d: the tree", seed))
		agent := &randomly{t: t, r: r, dir: tree.Top(), next: 1000}
		for range 1 + r.IntN(25) {
			agent.edit()
			if mode != Copy && r.IntN(8) == 0 {
				runGit(t, tree.Top(), "add", "-A")
				runGit(t, tree.Top(), "commit", "-q", "--allow-empty", "-m", "agent")
			}
		}
		want := noFolders(worktree(t, tree.Top()))
		p, err := tree.Patch(t.Context())
		must(t, err)
		exam, err := b.Exam(t.Context(), p, nil)
		must(t, err)
		same(t, noFolders(worktree(t, exam.Dir())), want, fmt.Sprintf("seed %d: the examination", seed))
		if err := apply(b, p, PatchTree); err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p.Diff)
		}
		same(t, noFolders(worktree(t, dir)), want, fmt.Sprintf("seed %d: the user's files", seed))
		must(t, b.Close(t.Context()))
	}
}
