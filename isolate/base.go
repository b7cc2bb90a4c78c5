package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// Base is the state that trees start from. It is safe for concurrent use.
type Base struct {
	mode      Mode
	keep      bool
	root      string
	run       string      // the folder of this run
	hidden    string      // that of the run which cannot be listed
	store     string      // our repository, which no tree borrows from: the objects of patches are in it
	objects   string      // the objects of the base, which trees borrow
	repo      *repository // nil with Copy and TempDir
	dir       string      // Config.Dir, absolute and free of symbolic links
	top       string      // of the user's files that patches are about
	copied    string      // with Copy, the copy that trees are copies of
	branch    string      // that a clone is on, "" for a detached HEAD
	commit    string      // "" when there is none
	committed string      // the tree of the commit, "" when there is none
	tree      string      // of the base, with what is uncommitted
	staged    string      // the tree that a tree's index has

	mu        sync.Mutex
	closed    bool
	worktrees sync.Mutex // registrations in the user's repository, one at a time
	applying  sync.Mutex

	moment func() // for tests: called wherever a kill while applying leaves something else; may be nil
}

// Open takes the base. It writes nothing of the user's.
//
// Errors wrap [ErrNoGit], [ErrNoRepository], [ErrUnsupported] (a bare repository, one that git does not trust, one without
// commits where the mode needs one), or are the system's or git's own. Ctx ends Open alone, not the base.
func Open(ctx context.Context, config Config) (_ *Base, err error) {
	if config.Mode == "" {
		config.Mode = Clone
	}
	plain := config.Mode == Copy || config.Mode == TempDir
	switch config.Mode {
	case Clone, Worktree, Copy, TempDir:
	default:
		return nil, fmt.Errorf("isolate: got %q, want clone, worktree, copy or tempdir", config.Mode)
	}
	if plain && config.Base != "" {
		return nil, fmt.Errorf("isolate: %s has no revisions, so there is no base %q to start from; leave it out", config.Mode, config.Base)
	}
	if err := checkVersion(ctx); err != nil {
		return nil, err
	}
	b := &Base{mode: config.Mode, keep: config.Keep}
	if b.dir, err = realDir(config.Dir); err != nil {
		return nil, err
	}
	b.top = b.dir
	of := owner{Dir: b.dir}
	layout := layout{bare: true, format: "sha1", settings: plainSettings(), head: "ref: refs/heads/none"}
	if !plain {
		if b.repo, err = discover(ctx, b.dir); err != nil {
			return nil, err
		}
		b.top = b.repo.top
		of.CommonDir = b.repo.commonDir
		layout.format, layout.settings, layout.from = b.repo.format, b.repo.faithful(), b.repo
	}
	if b.root, err = rootFor(config.Root, b.top); err != nil {
		return nil, err
	}
	if b.run, err = newRun(b.root, of); err != nil {
		return nil, fmt.Errorf("folder of the run: %w", err)
	}
	defer func() {
		if err != nil {
			_ = removeAll(b.run)
		}
	}()
	b.hidden = filepath.Join(b.run, hiddenDir)
	b.store = filepath.Join(b.hidden, random(6)+".git")
	b.objects = filepath.Join(b.hidden, random(6)+".base")
	layout.dir, layout.borrows = b.store, b.borrowed()
	if err := layout.make(); err != nil {
		return nil, fmt.Errorf("make a repository of our own: %w", err)
	}
	if err := b.makeObjects(); err != nil {
		return nil, fmt.Errorf("make a folder of objects: %w", err)
	}
	if err := b.take(ctx, config); err != nil {
		return nil, err
	}
	return b, nil
}

func realDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return "", fmt.Errorf("folder to isolate: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return "", fmt.Errorf("folder to isolate: %w", err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("folder to isolate: %s is not a folder", dir)
	}
	return dir, nil
}

// plainSettings are for folders without a repository, whose files are taken as they are.
func plainSettings() []setting {
	settings := []setting{{"core.autocrlf", "false"}}
	switch runtime.GOOS {
	case "windows":
		settings = append(settings, setting{"core.filemode", "false"}, setting{"core.ignorecase", "true"}, setting{"core.symlinks", "false"})
	case "darwin":
		settings = append(settings, setting{"core.ignorecase", "true"}, setting{"core.precomposeunicode", "true"})
	}
	return settings
}

// borrowed are the folders of objects that a tree may read.
func (b *Base) borrowed() []string {
	if b.repo == nil {
		return []string{b.objects}
	}
	return append([]string{b.objects}, b.repo.objects...)
}

func (b *Base) makeObjects() error {
	info := filepath.Join(b.objects, "info")
	if err := os.MkdirAll(info, 0o700); err != nil {
		return err
	}
	if b.repo == nil {
		return nil
	}
	return os.WriteFile(filepath.Join(info, "alternates"), []byte(filepath.ToSlash(strings.Join(b.repo.objects, "\n"))+"\n"), 0o600)
}

// marked is git in the user's folder, so that Clean can tell whose it is. Killed or not, it may outlive this process by a moment.
func (b *Base) marked() git { return git{dir: b.top, vars: []string{marker + filepath.Base(b.run)}} }

// ours is git in our own repository.
func (b *Base) ours() git {
	return b.marked().in(b.store).with("GIT_DIR="+b.store).set("core.fsync", "none", "checkout.workers", workers(), "core.looseCompression", "1")
}

// at is git in our own repository with the files of a folder and an index of their own. What is written there are the bytes
// that are stored, where Git LFS is used.
func (b *Base) at(top, index string) git {
	return b.ours().in(top).with("GIT_WORK_TREE="+top, "GIT_INDEX_FILE="+index).set(withoutLFS...)
}

// users is git in our own repository with the user's files, as they would be stored.
func (b *Base) users(index string) git {
	g := b.ours().in(b.top).with("GIT_WORK_TREE="+b.top, "GIT_INDEX_FILE="+index)
	if b.repo == nil {
		return g.set(withoutLFS...)
	}
	return g
}

// newIndex returns the name for an index. Git makes a lock beside it.
func (b *Base) newIndex() string { return filepath.Join(b.store, "index."+random(6)) }

func (b *Base) dropIndex(index string) { _ = os.Remove(index) }

// take takes the base.
func (b *Base) take(ctx context.Context, config Config) error {
	index := b.newIndex()
	defer b.dropIndex(index)
	toBase := []string{"GIT_OBJECT_DIRECTORY=" + b.objects}
	switch b.mode {
	case TempDir:
		return b.takeTree(ctx, "")
	case Copy:
		b.copied = filepath.Join(b.hidden, random(6)+".copy")
		if err := copyTree(ctx, b.top, b.copied); err != nil {
			return fmt.Errorf("copy %s: %w", b.top, err)
		}
		tree, _, err := absorb(ctx, b.at(b.copied, index).with(toBase...))
		b.tree, b.staged = tree, tree
		if err != nil {
			return fmt.Errorf("read the files of %s: %w", b.top, err)
		}
		return nil
	}

	b.commit, b.branch = b.repo.head, b.repo.branch
	if config.Base != "" {
		revision := config.Base + "^{commit}"
		commit, err := b.marked().line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", revision)
		if err != nil {
			return fmt.Errorf("base %q: no such commit in %s", config.Base, b.top)
		}
		if commit != b.repo.head {
			b.commit, b.branch, config.Committed = commit, "", true
		}
	}
	if b.mode == Worktree && b.commit == "" {
		return fmt.Errorf("%w: there is no commit yet, which isolate: worktree needs; use isolate: clone, or commit first", ErrUnsupported)
	}
	if err := b.takeTree(ctx, b.commit); err != nil {
		return err
	}
	if b.committed = b.tree; config.Committed {
		return nil
	}

	if err := b.copyIndex(index); err != nil {
		return fmt.Errorf("read the index: %w", err)
	}
	g := b.users(index).with(toBase...)
	staged, err := g.line(ctx, "write-tree", "--missing-ok")
	switch refusal := (*gitError)(nil); {
	case errors.As(err, &refusal) && strings.Contains(refusal.said, "unmerged"):
		staged = b.committed
	case err != nil:
		return fmt.Errorf("read the index: %w", err)
	}
	b.staged = staged
	if b.tree, _, err = absorb(ctx, g); err != nil {
		return fmt.Errorf("read what is uncommitted in %s: %w", b.top, err)
	}
	return nil
}

// takeTree makes the tree of a commit the base, or the empty one.
func (b *Base) takeTree(ctx context.Context, commit string) (err error) {
	if commit == "" {
		b.tree, err = b.ours().with("GIT_OBJECT_DIRECTORY="+b.objects).line(ctx, "mktree")
	} else {
		b.tree, err = b.ours().line(ctx, "rev-parse", "--verify", commit+"^{tree}")
	}
	b.staged = b.tree
	if err != nil {
		return fmt.Errorf("read the base: %w", err)
	}
	return nil
}

// copyIndex copies the user's index, with the parts that it may be split into. Its time goes with it: git looks again at files
// that are not older than the index.
func (b *Base) copyIndex(to string) error {
	parts, err := filepath.Glob(filepath.Join(escapeGlob(b.repo.gitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := copyIfThere(part, filepath.Join(b.store, filepath.Base(part))); err != nil {
			return err
		}
	}
	return copyIfThere(filepath.Join(b.repo.gitDir, "index"), to)
}

// escapeGlob returns the pattern that matches a name alone.
func escapeGlob(name string) string {
	if runtime.GOOS == "windows" { // where nothing can be escaped, and * and ? are in no name
		return strings.ReplaceAll(name, "[", "?")
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(name)
}

// Close removes the run's folder, trees and examinations included, unless Config.Keep was set. Nothing may run in the trees
// any more: that is the caller's to see to. What is being applied when it is called is not waited for. When applying was cut
// short, what is needed to finish it stays for [Clean], and the error says so. Close may be called again; the other methods
// return ErrClosed after it.
func (b *Base) Close(ctx context.Context) error {
	b.mu.Lock()
	closed := b.closed
	b.closed = true
	b.mu.Unlock()
	if closed {
		return nil
	}
	if b.keep {
		return os.WriteFile(filepath.Join(b.run, keptFile), nil, 0o600)
	}
	var problems []error
	if b.mode == Worktree {
		problems = append(problems, unregister(b.repo.commonDir, b.run))
	}
	if left, err := journalsOf(b.run); err != nil || len(left) > 0 {
		problems = append(problems, err, fmt.Errorf("%s: applying was cut short; firstgood clean finishes it", b.run))
		return errors.Join(append(problems, removeAll(b.hidden))...)
	}
	return errors.Join(append(problems, removeAll(b.run))...)
}

func (b *Base) open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return ErrClosed
	}
	return nil
}

// Commit is the commit that the base builds on, "" when there is none.
func (b *Base) Commit() string { return b.commit }

// Top is the folder that paths of patches start at: the top of the user's work tree, or Config.Dir.
func (b *Base) Top() string { return b.top }
