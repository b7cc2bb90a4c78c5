package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// defaultMessage is a commit's message when none is given.
const defaultMessage = "Apply a patch that firstgood accepted"

// theirs is git in the user's repository, with an index of ours.
func (b *Base) theirs(index string) git {
	return b.marked().with("GIT_DIR="+b.repo.gitDir, "GIT_WORK_TREE="+b.top, "GIT_INDEX_FILE="+index)
}

// applyAsBranch makes a branch.
func (b *Base) applyAsBranch(ctx context.Context, p *Patch, options Options) (string, error) {
	if err := b.noLFS(ctx, p); err != nil {
		return "", err
	}
	if options.Name != "" {
		if err := b.freeBranch(ctx, options.Name); err != nil {
			return "", err
		}
	}
	commit, err := b.commitOn(ctx, p, b.commit, options)
	if err != nil {
		return "", err
	}
	name := options.Name
	if name == "" {
		name = "firstgood/" + commit[:12]
		if err := b.freeBranch(ctx, name); err != nil {
			return "", err
		}
	}
	// The branch must not be there: git checks it under its own lock.
	_, err = b.theirs(b.newIndex()).run(ctx, "", "update-ref", "-m", "firstgood: accepted patch", "refs/heads/"+name, commit, strings.Repeat("0", len(commit)))
	if refusal := (*gitError)(nil); errors.As(err, &refusal) {
		return "", conflictf("the branch %s cannot be made: %s", name, refusal.said)
	}
	return name, err
}

func (b *Base) freeBranch(ctx context.Context, name string) error {
	g := b.theirs(b.newIndex())
	if _, err := g.run(ctx, "", "check-ref-format", "--branch", name); err != nil || strings.HasPrefix(name, "@{") {
		return conflictf("%q is no name for a branch", name)
	}
	there, err := optional(g.line(ctx, "rev-parse", "--verify", "--quiet", "refs/heads/"+name))
	if err != nil {
		return err
	}
	if there != "" {
		return conflictf("the branch %s is there already; choose another name, or delete it (git branch -D %s)", name, name)
	}
	return nil
}

// commitOn makes a commit of a parent's tree ("" has none) and a patch. It writes objects in the user's repository, which
// nothing refers to yet.
func (b *Base) commitOn(ctx context.Context, p *Patch, parent string, options Options) (string, error) {
	index := b.newIndex()
	defer b.dropIndex(index)
	g := b.theirs(index)
	if _, err := g.line(ctx, "var", "GIT_COMMITTER_IDENT"); err != nil {
		return "", conflictf("git does not know who commits; say so (git config user.name, git config user.email), or use apply: patch")
	}
	if parent != "" {
		if _, err := g.run(ctx, "", "read-tree", parent); err != nil {
			return "", err
		}
	}
	if err := fit(ctx, g, p.Diff); err != nil {
		if parent == b.commit && b.uncommitted() {
			return "", conflictf("it builds on what is not committed (%v); use apply: patch, or commit that first", err)
		}
		return "", err
	}
	tree, err := g.line(ctx, "write-tree", "--missing-ok")
	if err != nil {
		return "", err
	}
	args := []string{"commit-tree", "-F", "-"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	message := options.Message
	if strings.TrimSpace(message) == "" {
		message = defaultMessage
	}
	out, err := g.run(ctx, strings.TrimRight(message, "\n")+"\n", append(args, tree)...)
	return strings.TrimSpace(string(out)), err
}

// uncommitted reports whether the base has more than its commit.
func (b *Base) uncommitted() bool { return b.tree != b.committed }

// noLFS refuses files that Git LFS keeps: patches have their content, which must not become an object.
func (b *Base) noLFS(ctx context.Context, p *Patch) error {
	var names []string
	for _, file := range p.Files {
		if file.Status != Deleted {
			names = append(names, file.Path)
		}
	}
	out, err := b.users(b.newIndex()).run(ctx, joined(names), "check-attr", "-z", "--stdin", "filter")
	if err != nil {
		return err
	}
	said := fields(out)
	for i := 0; i+2 < len(said); i += 3 {
		if said[i+2] == "lfs" {
			return conflictf("%q is kept in Git LFS; use apply: patch, and commit it yourself", said[i])
		}
	}
	return nil
}

// commitPart is what the journal has of a commit that is being made.
type commitPart struct {
	GitDir string `json:"git_dir"`
	Token  string `json:"token"` // the content of the index.lock that is ours
	Ref    string `json:"ref"`
	Old    string `json:"old"` // "" when the branch had no commit
	New    string `json:"new"`

	run git // marked as the run's while it applies; Clean's own is not
}

func (c *commitPart) lock() string { return filepath.Join(c.GitDir, "index.lock") }

// beside is the name for what is about to get another one in the same folder.
func (c *commitPart) beside() string {
	return c.lock() + "." + strings.TrimSpace(c.Token[strings.LastIndexByte(c.Token, ' ')+1:])
}

// applyAsCommit commits on the current branch. The index is locked as git locks it, so that no other git changes it meanwhile.
//
// The branch is moved first, since that is what may be refused; then come the files, and the index last. A journal that was
// left is finished when the branch has moved, and undone when it has not.
func (b *Base) applyAsCommit(ctx context.Context, p *Patch, options Options) (_ string, err error) {
	if err := b.noLFS(ctx, p); err != nil {
		return "", err
	}
	top, err := os.OpenRoot(b.top)
	if err != nil {
		return "", err
	}
	defer top.Close()
	c := &commitPart{GitDir: b.repo.gitDir, Token: "firstgood " + filepath.Base(b.run) + " " + random(6) + "\n", run: b.marked()}
	// The journal comes before the lock, so that a lock is never without a journal.
	j := &journal{Top: b.top, Commit: c, file: filepath.Join(b.run, journalsDir, random(6)+".json"), moment: b.moment}
	if err := j.save(staging); err != nil {
		return "", err
	}
	undo := func(err error) (string, error) { return "", errors.Join(err, j.undo(top)) }
	j.now()
	if err := c.take(); err != nil {
		return undo(err)
	}
	j.now()
	if err := b.prepareCommit(ctx, p, j, top, options); err != nil {
		return undo(err)
	}
	if err := j.save(placing); err != nil {
		return undo(err)
	}
	j.now()
	if err := c.move(context.WithoutCancel(ctx), c.Old, c.New); err != nil {
		return undo(err)
	}
	j.now()
	if err := j.place(top, false); err != nil {
		return undo(errors.Join(err, j.save(undoing), c.move(context.WithoutCancel(ctx), c.New, c.Old)))
	}
	var written []string
	for _, s := range j.Steps {
		if !s.deletes() {
			written = append(written, string(s.Path))
		}
	}
	// The index gets the times of the new files. Without, git would have to read them once more, so an error does not matter.
	_, _ = b.theirs(j.indexFile()).run(context.WithoutCancel(ctx), joined(written), "add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul")
	return c.New, j.finish(top)
}

// prepareCommit works all out and stages it.
func (b *Base) prepareCommit(ctx context.Context, p *Patch, j *journal, top *os.Root, options Options) error {
	c := j.Commit
	for _, doing := range []string{"MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"} {
		if _, err := os.Lstat(filepath.Join(c.GitDir, doing)); err == nil {
			return conflictf("a merge, rebase, cherry-pick or revert is in progress; end it, or use apply: branch")
		}
	}
	here := b.marked()
	var err error
	if c.Ref, err = optional(here.line(ctx, "symbolic-ref", "--quiet", "HEAD")); err != nil {
		return err
	}
	if c.Ref == "" {
		return conflictf("HEAD is detached, so that a commit would be on no branch; use apply: branch, or go to a branch (git switch)")
	}
	if c.Old, err = optional(here.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")); err != nil {
		return err
	}
	work, err := b.plan(ctx, top, p)
	if err != nil {
		return err
	}
	defer work.discard()
	_ = os.Remove(work.journal.patchFile())
	// The parts of a split index are found by git in the user's folder, and joined when it writes this one.
	if err := copyIfThere(filepath.Join(c.GitDir, "index"), j.indexFile()); err != nil {
		return err
	}
	index := b.theirs(j.indexFile())
	if err := b.clean(ctx, index, work, c.Old); err != nil {
		return err
	}
	if c.New, err = b.commitOn(ctx, p, c.Old, options); err != nil {
		return err
	}
	var lines []string
	for _, name := range work.paths {
		lines = append(lines, indexLine(name, work.after[name], len(c.New)))
	}
	slices.SortStableFunc(lines, func(x, y string) int { return strings.Compare(x[:1], y[:1]) })
	if _, err := index.run(ctx, joined(lines), "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	j.Steps, j.Dirs = work.journal.Steps, work.journal.Dirs
	if err := writeSynced(j.patchFile(), p.Diff); err != nil {
		return err
	}
	return j.stage(top)
}

// clean refuses files of the patch that are not as in HEAD, in the index or in the work tree.
func (b *Base) clean(ctx context.Context, index git, work *plan, head string) error {
	staged, err := indexEntries(ctx, index)
	if err != nil {
		return err
	}
	committed := map[string]entry{}
	if head != "" {
		out, err := index.run(ctx, "", "ls-tree", "-r", "-z", "--full-tree", head)
		if err != nil {
			return err
		}
		for _, line := range fields(out) {
			about, name, _ := strings.Cut(line, "\t")
			words := strings.Fields(about)
			if len(words) != 3 {
				return fmt.Errorf("git ls-tree: cannot read %q", line)
			}
			if committed[name], err = parseEntry(words[0], words[2]); err != nil {
				return err
			}
		}
	}
	for _, name := range work.paths {
		switch {
		case staged[name] != committed[name]:
			return conflictf("%q has changes that are staged, which the commit would take along; commit them first, or use apply: patch", name)
		case work.before[name] != committed[name]:
			return conflictf("%q has changes that are not committed; commit them first, or use apply: patch", name)
		}
	}
	return nil
}

// take takes the lock of the index, as git does. The file has the token as soon as it is there.
func (c *commitPart) take() error {
	if err := os.WriteFile(c.beside(), []byte(c.Token), 0o600); err != nil {
		return err
	}
	defer func() { _ = os.Remove(c.beside()) }()
	err := os.Link(c.beside(), c.lock())
	if os.IsExist(err) {
		return conflictf("another git is at work here (%s exists); wait for it, or remove the file if it is none", c.lock())
	}
	return err
}

// held reports whether the lock is still ours: a user may have removed it by hand.
func (c *commitPart) held() bool {
	data, err := os.ReadFile(c.lock())
	return err == nil && string(data) == c.Token
}

// free gives the lock back, if it is still ours.
func (c *commitPart) free() error {
	if err := os.Remove(c.beside()); err != nil && !os.IsNotExist(err) {
		return err
	}
	if !c.held() {
		return nil
	}
	return os.Remove(c.lock())
}

// install puts the new index in the place of the user's.
func (c *commitPart) install(from string) error {
	if _, err := os.Lstat(from); os.IsNotExist(err) {
		return nil // done already
	}
	if !c.held() {
		return fmt.Errorf("the lock %s has been removed, so the index was left as it is (git reset brings it up to the commit)", c.lock())
	}
	if err := copyIfThere(from, c.beside()); err != nil {
		return err
	}
	if info, err := os.Stat(filepath.Join(c.GitDir, "index")); err == nil {
		if err := os.Chmod(c.beside(), info.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := os.Rename(c.beside(), filepath.Join(c.GitDir, "index")); err != nil {
		return err
	}
	return os.Remove(from)
}

// git is git in the repository of the commit.
func (c *commitPart) git() git { return c.run.in(c.GitDir).with("GIT_DIR=" + c.GitDir) }

// move moves the branch from one commit to another, if it is there; "" is no commit.
func (c *commitPart) move(ctx context.Context, from, to string) error {
	zero := strings.Repeat("0", len(c.New))
	args := []string{"update-ref", "-m", "firstgood: accepted patch", c.Ref, to, from}
	if from == "" {
		args[5] = zero
	}
	if to == "" {
		args = []string{"update-ref", "-d", c.Ref, from}
	}
	_, err := c.git().run(ctx, "", args...)
	if refusal := (*gitError)(nil); errors.As(err, &refusal) {
		return conflictf("the branch cannot be moved: %s", refusal.said)
	}
	return err
}

// moved reports whether the branch has the new commit, at its end or further back.
func (c *commitPart) moved(ctx context.Context) (bool, error) {
	if c.New == "" {
		return false, nil
	}
	now, err := optional(c.git().line(ctx, "rev-parse", "--verify", "--quiet", c.Ref))
	if err != nil || now == "" {
		return false, err
	}
	_, err = c.git().run(ctx, "", "merge-base", "--is-ancestor", c.New, now)
	if refusal := (*gitError)(nil); errors.As(err, &refusal) && refusal.code == 1 {
		return false, nil
	}
	return err == nil, err
}
