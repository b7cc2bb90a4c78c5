package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Tree is a place for one attempt to work in. It is safe for concurrent use.
type Tree struct {
	base   *Base
	name   string
	holder string // the folder that holds the tree alone
	top    string
	dir    string
	index  string // ours, of the moment when the tree was made; the attempt knows nothing of it

	remove sync.Mutex
	gone   bool
}

// Tree makes a fresh tree. The name is for messages; it is in no path that the tree's user could see. A tree that cannot be
// made leaves nothing.
func (b *Base) Tree(ctx context.Context, name string) (*Tree, error) {
	t, err := b.fresh(ctx, name, b.tree, b.mode)
	if err != nil {
		return nil, fmt.Errorf("make a tree for %s: %w", name, err)
	}
	return t, nil
}

// fresh makes a tree of the given files, which are those of the base or near to them.
func (b *Base) fresh(ctx context.Context, name, tree string, mode Mode) (_ *Tree, err error) {
	if err := b.open(); err != nil {
		return nil, err
	}
	t := &Tree{base: b, name: name, index: b.newIndex(), holder: filepath.Join(b.hidden, random(6))}
	last := filepath.Base(b.top)
	if !filepath.IsLocal(last) || last == "." {
		last = "tree" // the top is the root of a file system
	}
	t.top = filepath.Join(t.holder, last)
	if err := os.Mkdir(t.holder, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = t.discard(context.WithoutCancel(ctx))
		}
	}()
	if err := b.fill(ctx, t, tree, mode); err != nil {
		return nil, err
	}
	if err := b.furnish(ctx, t, tree, mode); err != nil {
		return nil, err
	}
	t.dir = t.top
	if b.repo != nil {
		t.dir = filepath.Join(t.top, b.repo.prefix)
	}
	if err := os.MkdirAll(t.dir, 0o777); err != nil { // absent from the base when all in it is ignored
		return nil, fmt.Errorf("the folder is not in the base: %w", err)
	}
	return t, nil
}

// fill writes the files.
func (b *Base) fill(ctx context.Context, t *Tree, tree string, mode Mode) error {
	var err error
	switch mode {
	case Copy:
		err = copyTree(ctx, b.copied, t.top)
	case Worktree:
		err = b.register(ctx, t.top)
	default:
		err = os.Mkdir(t.top, 0o777)
	}
	if err != nil {
		return err
	}
	g := b.at(t.top, t.index)
	if mode == Copy {
		if _, err := g.run(ctx, "", "read-tree", b.tree); err != nil || tree == b.tree {
			return err
		}
		// So that what is not in the patch is left alone.
		if _, err := g.run(ctx, "", "update-index", "-q", "--refresh"); err != nil {
			return err
		}
	} else if tree != b.tree {
		// What is as in the base is written with the base's .gitattributes, so these are written first if they differ.
		twice, err := b.changesAttributes(ctx, tree)
		if err != nil {
			return err
		}
		if twice {
			if _, err := g.run(ctx, "", "read-tree", "--reset", "-u", b.tree); err != nil {
				return err
			}
		}
	}
	_, err = g.run(ctx, "", "read-tree", "--reset", "-u", tree)
	return err
}

func (b *Base) changesAttributes(ctx context.Context, tree string) (bool, error) {
	changes, err := b.changes(ctx, b.tree, tree)
	return slices.ContainsFunc(changes, func(c rawChange) bool { return strings.EqualFold(path.Base(c.path), ".gitattributes") }), err
}

// furnish gives a tree its own repository, or its index where it has one.
func (b *Base) furnish(ctx context.Context, t *Tree, tree string, mode Mode) error {
	if mode != Clone && mode != Worktree {
		return nil
	}
	index := t.index
	if b.staged != tree {
		index = b.newIndex()
		defer b.dropIndex(index)
		args := []string{"read-tree", b.staged}
		// Merged, it keeps what is known of the files' times. An examination seldom asks git for anything, and would have all
		// files read for it here; but without a merge, nothing is sparse.
		if tree == b.tree || b.repo.value("core.sparsecheckout") == "true" {
			if err := copyIfThere(t.index, index); err != nil {
				return err
			}
			args = []string{"read-tree", "-m", b.staged}
		}
		if _, err := b.at(t.top, index).run(ctx, "", args...); err != nil {
			return err
		}
	}
	gitDir := filepath.Join(t.top, ".git")
	if mode == Worktree {
		registration, err := registrationOf(t.top)
		if err != nil {
			return err
		}
		return copyIfThere(index, filepath.Join(registration, "index"))
	}
	l := layout{dir: gitDir, format: b.repo.format, borrows: b.borrowed(), from: b.repo}
	l.settings = append(b.repo.faithful(), setting{"gc.auto", "0"}, setting{"maintenance.auto", "false"},
		setting{"commit.gpgsign", "false"}, setting{"tag.gpgsign", "false"}, setting{"core.fsmonitor", "false"})
	l.head = b.commit
	if b.branch != "" {
		l.head = "ref: " + b.branch
	}
	if err := l.make(); err != nil {
		return err
	}
	if b.branch != "" && b.commit != "" {
		ref := filepath.Join(gitDir, filepath.FromSlash(b.branch))
		if err := os.MkdirAll(filepath.Dir(ref), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(ref, []byte(b.commit+"\n"), 0o666); err != nil {
			return err
		}
	}
	return copyIfThere(index, filepath.Join(gitDir, "index"))
}

// register makes a linked worktree without files.
func (b *Base) register(ctx context.Context, top string) error {
	b.worktrees.Lock()
	defer b.worktrees.Unlock()
	_, err := b.marked().run(ctx, "", "worktree", "add", "--quiet", "--detach", "--no-checkout", top, b.commit)
	return err
}

// registrationOf returns the folder of a linked worktree in its repository.
func registrationOf(top string) (string, error) {
	said, err := os.ReadFile(filepath.Join(top, ".git"))
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimSuffix(string(said), "\n"), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s: does not name a repository", filepath.Join(top, ".git"))
	}
	return filepath.FromSlash(dir), nil
}

// unregister removes the registrations of worktrees in a folder from a repository. They are found by what the repository says:
// the worktree's own word for it may have been changed. git worktree prune would remove others of the user's too.
func unregister(commonDir, folder string) error {
	all := filepath.Join(commonDir, "worktrees")
	entries, err := os.ReadDir(all)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	var problems []error
	for _, registered := range entries {
		dir := filepath.Join(all, registered.Name())
		said, err := os.ReadFile(filepath.Join(dir, "gitdir"))
		if err != nil {
			continue // not ours to judge
		}
		place := filepath.FromSlash(strings.TrimSuffix(string(said), "\n"))
		if filepath.IsAbs(place) && within(folder, place) {
			problems = append(problems, removeAll(dir))
		}
	}
	_ = os.Remove(all) // as git does, when it is empty
	return errors.Join(problems...)
}

// Dir is where to work: the folder that Config.Dir is in the user's tree.
func (t *Tree) Dir() string { return t.dir }

// Top is the top of the tree, which the paths of patches start at.
func (t *Tree) Top() string { return t.top }

// Env are variables, as NAME=value, for what works in the tree. Git then does not look for a repository above it, Git LFS does
// not fetch, and [Clean] finds on Linux what a crash has left running. They say nothing of other trees.
func (t *Tree) Env() []string {
	return []string{"GIT_CEILING_DIRECTORIES=" + t.holder, "GIT_LFS_SKIP_SMUDGE=1", marker + filepath.Base(t.base.run)}
}

// marker is the variable that tells Clean whose a process is.
const marker = "FIRSTGOOD_RUN="

// Remove removes the tree, unless Config.Keep was set. Nothing may run in it any more. It may be called again.
func (t *Tree) Remove(ctx context.Context) error {
	if t.base.keep {
		return nil
	}
	return t.discard(ctx)
}

func (t *Tree) discard(context.Context) error {
	t.remove.Lock()
	defer t.remove.Unlock()
	if t.gone {
		return nil
	}
	var problems []error
	if t.base.mode == Worktree {
		t.base.worktrees.Lock()
		problems = append(problems, unregister(t.base.repo.commonDir, t.holder))
		t.base.worktrees.Unlock()
	}
	if err := os.Remove(t.index); err != nil && !os.IsNotExist(err) {
		problems = append(problems, err)
	}
	problems = append(problems, removeAll(t.holder))
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("remove the tree of %s: %w", t.name, err)
	}
	t.gone = true
	return nil
}
