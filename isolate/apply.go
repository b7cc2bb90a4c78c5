package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// How says what is done with a patch.
type How string

// What can be done with a patch. The zero value is None.
const (
	None How = "none"
	// PatchTree changes the files of the user's work tree, and nothing else: the index stays byte for byte, new files are
	// untracked. It works on the files as they are, and so beside other changes of the user's, also in the same file if they
	// are elsewhere in it.
	PatchTree How = "patch"
	// Branch makes a branch with one commit on top of the base's commit, which holds the patch alone. HEAD, index and
	// files stay. It refuses when the patch does not apply without what was uncommitted in the base.
	Branch How = "branch"
	// Commit makes a commit on the current branch that holds the patch alone. What is staged and unstaged in other files
	// stays as it is; files of the patch must be as in HEAD, in the index and in the work tree.
	Commit How = "commit"
)

// Options are what Apply may be told besides.
type Options struct {
	// Name is the name of the branch; "" is firstgood/ and the start of the commit's name. Branch alone has one.
	Name string
	// Message is the commit's. "" says that firstgood accepted a patch.
	Message string
}

// ConflictError is a refusal: the user's files and the patch do not fit. Nothing was changed. It matches [ErrConflict].
type ConflictError struct {
	Reason string
	// File is where the patch was put for the user to take by hand, "" when it could not be. It is not removed by Close.
	File string
	// Top is the folder to take it in.
	Top string
}

func (e *ConflictError) Error() string {
	said := fmt.Sprintf("%v, and nothing was changed: %s", ErrConflict, e.Reason)
	if e.File != "" {
		said += fmt.Sprintf(". To take it by hand: git -C %s apply --3way %s", e.Top, e.File)
	}
	return said
}

// Is matches ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// conflict is the reason of a refusal, on its way to become a ConflictError.
type conflict struct{ reason string }

func (c *conflict) Error() string { return c.reason }

func conflictf(format string, args ...any) error { return &conflict{fmt.Sprintf(format, args...)} }

// Apply brings a patch to the user's files or repository, all of it or nothing. It returns what was done: "patch", the name of
// the branch, the name of the commit, or "" where there was nothing to do (None, or an empty patch).
//
// Everything is checked before the first byte is written, and looked at once more right before it is replaced. An error means
// that nothing was changed, unless it says that undoing failed too. After a kill in the middle, [Clean] undoes or finishes it;
// until then files of ours named .firstgood-… may be beside the user's, and after Commit .git/index.lock. A kill may also
// leave objects in the repository that nothing refers to, which git removes in its own time.
//
// What the patch was worked out for may have moved on: then it is fitted in like git apply does, by lines of context that must
// be there exactly. When it does not fit, the error is a [*ConflictError].
//
// Hooks are not run and commits are not signed: a hook may ask, or change what was accepted; take the patch with PatchTree to
// commit it oneself. Branch and Commit use the user's identity. They refuse files kept in Git LFS, whose content
// would end up in the repository. With Copy and TempDir there is PatchTree alone, to Config.Dir.
//
// The patch must be of this base. One Apply of a base runs at a time; nothing keeps the user from editing files meanwhile but
// the last look.
func (b *Base) Apply(ctx context.Context, p *Patch, how How, options Options) (applied string, err error) {
	if err := b.open(); err != nil {
		return "", err
	}
	if p == nil || p.base != b {
		return "", errors.New("apply a patch: it is of another base")
	}
	if how == None || how == "" || p.Empty() {
		return "", nil
	}
	if b.repo == nil && (how == Branch || how == Commit) {
		return "", fmt.Errorf("apply a patch: isolate: %s has no repository for a %s; use apply: patch", b.mode, how)
	}
	b.applying.Lock()
	defer b.applying.Unlock()
	switch how {
	case PatchTree:
		applied, err = "patch", b.applyToTree(ctx, p)
	case Branch:
		applied, err = b.applyAsBranch(ctx, p, options)
	case Commit:
		applied, err = b.applyAsCommit(ctx, p, options)
	default:
		return "", fmt.Errorf("apply a patch: got %q, want patch, branch, commit or none", how)
	}
	if err == nil {
		return applied, nil
	}
	if refused := (*conflict)(nil); errors.As(err, &refused) {
		return "", &ConflictError{Reason: err.Error(), Top: b.top, File: b.savePatch(p)}
	}
	return "", fmt.Errorf("apply a patch: %w", err)
}

// savePatch puts a patch where people find it, and returns where.
func (b *Base) savePatch(p *Patch) string {
	dir := filepath.Join(b.root, patchesDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return ""
	}
	name := filepath.Join(dir, time.Now().Format("20060102-150405-")+random(3)+".patch")
	if err := os.WriteFile(name, p.Diff, 0o600); err != nil {
		return ""
	}
	return name
}

// applyToTree changes the user's files alone.
func (b *Base) applyToTree(ctx context.Context, p *Patch) error {
	if b.repo != nil {
		if err := b.notLocked(); err != nil {
			return err
		}
	}
	top, err := os.OpenRoot(b.top)
	if err != nil {
		return err
	}
	defer top.Close()
	plan, err := b.plan(ctx, top, p)
	if err != nil {
		return err
	}
	defer plan.discard()
	j := plan.journal
	j.moment = b.moment
	if err := j.stage(top); err != nil {
		return errors.Join(err, j.undo(top))
	}
	if err := context.Cause(ctx); err != nil {
		return errors.Join(err, j.undo(top))
	}
	// From here on a stop comes too late: it is finished in no time.
	if err := j.save(placing); err != nil {
		return errors.Join(err, j.undo(top))
	}
	if err := j.place(top, false); err != nil {
		return errors.Join(err, j.save(undoing), j.undo(top))
	}
	return j.finish(top)
}

// notLocked refuses while another git works on the index: it may be about to change the files.
func (b *Base) notLocked() error {
	lock := filepath.Join(b.repo.gitDir, "index.lock")
	if _, err := os.Lstat(lock); err == nil {
		return conflictf("another git is at work here (%s exists); wait for it, or remove the file if it is none", lock)
	}
	return nil
}
