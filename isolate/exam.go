package isolate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Exam is a fresh tree with the base and a patch, for the command that decides. The attempt that made the patch has never seen it.
type Exam struct {
	// Restored are the paths that the patch had changed, added or deleted, and that are as in the base here, sorted: protected
	// ones, and those that had to give way to them (a file where a protected file's folder was).
	Restored []string
	// Patch is what is left of the patch: what the files here differ in from the base, and what is to be applied.
	Patch *Patch

	tree *Tree
}

// Dir is where to run the command: the folder that Config.Dir is in the user's tree.
func (e *Exam) Dir() string { return e.tree.Dir() }

// Env are variables for the command; see [Tree.Env].
func (e *Exam) Env() []string { return e.tree.Env() }

// Remove removes the tree, unless Config.Keep was set. Patch stays of use. Nothing may run in the tree any more.
func (e *Exam) Remove(ctx context.Context) error { return e.tree.Remove(ctx) }

// Exam makes a fresh tree of the base and a patch, in which every path that protect matches is as in the base; see [Globs].
// Nil or empty protects nothing; see [DefaultProtect]. Where file names ignore case, so do the globs.
//
// With Clone and Worktree the tree is a clone, in which the patch is uncommitted. With Copy it is a copy of the base, ignored
// files included; with TempDir it holds the patch alone. What is as in the base is written as the base's .gitattributes say,
// whatever the patch makes of them.
//
// The patch must be of this base. The error is about a glob that cannot be read, or git's own.
func (b *Base) Exam(ctx context.Context, p *Patch, protect []string) (*Exam, error) {
	globs, err := NewGlobs(protect)
	if err != nil {
		return nil, fmt.Errorf("protect: %w", err)
	}
	if err := b.open(); err != nil {
		return nil, err
	}
	if p == nil || p.base != b {
		return nil, errors.New("examine a patch: it is of another base")
	}
	e, err := b.exam(ctx, p, globs)
	if err != nil {
		return nil, fmt.Errorf("examine a patch: %w", err)
	}
	return e, nil
}

func (b *Base) exam(ctx context.Context, p *Patch, protect Globs) (*Exam, error) {
	tree, restored, err := b.restore(ctx, p, protect)
	if err != nil {
		return nil, err
	}
	e := &Exam{Restored: restored, Patch: p}
	if tree != p.tree {
		if e.Patch, err = b.difference(ctx, tree); err != nil {
			return nil, err
		}
		e.Patch.Nested = p.Nested
	}
	mode := b.mode
	if mode == Worktree {
		mode = Clone
	}
	if e.tree, err = b.fresh(ctx, "the examination", tree, mode); err != nil {
		return nil, err
	}
	return e, nil
}

// restore returns the tree of a patch in which what is protected is as in the base, and what that undid.
func (b *Base) restore(ctx context.Context, p *Patch, protect Globs) (tree string, restored []string, err error) {
	changes, err := b.changes(ctx, b.tree, p.tree)
	if err != nil {
		return "", nil, err
	}
	match := protect.Match
	if b.ignoresCase() {
		folded := protect.folded()
		match = func(path string) bool { return folded.Match(strings.ToLower(path)) }
	}
	var lines []string
	for _, change := range changes {
		if match(change.path) {
			lines = append(lines, indexLine(change.path, change.old, len(p.tree)))
		}
	}
	if len(lines) == 0 {
		return p.tree, nil, nil
	}
	slices.SortStableFunc(lines, func(x, y string) int { // what is to go first, lest it be in the way
		return strings.Compare(x[:1], y[:1])
	})
	index := b.newIndex()
	defer b.dropIndex(index)
	g := b.ours().with("GIT_INDEX_FILE=" + index)
	if _, err := g.run(ctx, "", "read-tree", p.tree); err != nil {
		return "", nil, err
	}
	if _, err := g.run(ctx, joined(lines), "update-index", "-z", "--replace", "--index-info"); err != nil {
		return "", nil, err
	}
	if tree, err = g.line(ctx, "write-tree", "--missing-ok"); err != nil {
		return "", nil, err
	}
	undone, err := b.changes(ctx, p.tree, tree)
	for _, change := range undone {
		restored = append(restored, change.path)
	}
	slices.Sort(restored)
	return tree, restored, err
}

func (b *Base) changes(ctx context.Context, from, to string) ([]rawChange, error) {
	raw, err := b.ours().run(ctx, "", "diff-tree", "-r", "-z", "--raw", "--no-renames", "--ignore-submodules=none", from, to)
	if err != nil {
		return nil, err
	}
	return parseRaw(fields(raw))
}

func (b *Base) ignoresCase() bool {
	if b.repo != nil {
		return b.repo.value("core.ignorecase") == "true"
	}
	return slices.Contains(plainSettings(), setting{"core.ignorecase", "true"})
}

// indexLine says what an index is to have at a path, nothing for the zero entry; idLength is that of object names.
func indexLine(path string, e entry, idLength int) string {
	if e == (entry{}) {
		return "0 " + strings.Repeat("0", idLength) + "\t" + path
	}
	return fmt.Sprintf("%06o %s\t%s", e.mode, e.id, path)
}
