// Package isolate gives each attempt at a task a tree of files of its own, tells what was changed in it as a patch, puts a
// patch before its examination in a fresh tree that the attempt has never seen, and applies it to the user's files at the end.
//
// A [Base] is the state that all attempts start from, taken once: a commit and, unless told otherwise, what the user has
// changed since: staged, unstaged, deleted, and untracked files that are not ignored. A [Tree] is a place to work in at that
// base. A [Patch] is how a tree differs from the base. An [Exam] is the base with a patch, less what the patch did to
// protected paths. [Base.Apply] changes the user's files, and nothing before it does.
//
// # What is never touched
//
// Until Apply, nothing of the user's repository is written: not its files, index, refs, reflogs, stash, config or objects.
// Work is done in a repository of our own beside it, which borrows the user's objects. (Git may renew the time of a file of
// objects that it finds already there, and a [Worktree] has to be registered in .git/worktrees.) Trees and all the rest are in one
// folder per run, which [Base.Close] removes, or [Clean] when the process was killed.
//
// # Git
//
// The git program does the work on repositories, and not a library, because what counts is that the bytes come out as the
// user's own git writes them: filters, line ends, encodings, sparse checkouts, linked worktrees, other hashes, and whatever
// the next version knows. Without the program nothing here works, [Copy] included: a patch needs it.
//
// Git runs without the caller's GIT_ variables, without hooks, prompts, background work and network. The system's and the
// user's settings are read, since they decide which bytes a file has and what is ignored. Filters of theirs run. Git LFS
// does not fetch: a tree has pointers where it is used; what a tree has in their place becomes part of its patch as it is.
// Filters that keep a key in .git, such as git-crypt's, do not find it, and git says so; use [Copy] for such a repository.
//
// # What a tree is not
//
// A tree is not a sandbox. It keeps attempts from meeting by accident and by curiosity (no git command shows a rival, and
// folders above the tree cannot be listed on Unix unless by the superuser), not by malice: a program with the user's rights
// can write to the user's files.
package isolate

import "errors"

// Errors that callers tell apart. Those that are returned wrap them and say more, with the way out.
var (
	ErrNoGit         = errors.New("git cannot be used")
	ErrNoRepository  = errors.New("not inside a git repository")
	ErrUnsupported   = errors.New("this repository cannot be isolated")
	ErrConflict      = errors.New("the patch cannot be applied")
	ErrPatchTooLarge = errors.New("the patch is too large")
	ErrGone          = errors.New("the tree is gone")
	ErrClosed        = errors.New("the base is closed")
)

// Mode says what kind of place an attempt gets.
type Mode string

// Modes. The zero value is Clone.
const (
	// Clone is a git repository of its own, which borrows the objects of the user's and has nothing else of it: one branch
	// (that the user is on; none when HEAD is detached) with the history of the base, no other branches and tags, no remotes,
	// no stash, no reflog, no hooks; of the settings those alone that decide the bytes of files, and who commits.
	// What is uncommitted there is uncommitted here, and what is staged there is staged here (unless a merge has conflicts:
	// then all is unstaged). Ignored files are absent, submodules are empty folders.
	Clone Mode = "clone"
	// Worktree is a linked worktree of the user's repository, with a detached HEAD. It is registered in the repository's
	// .git/worktrees until it is removed, and shares all of its branches, its stash and settings: rivals can find each
	// other, and what is committed there stays in the repository.
	Worktree Mode = "worktree"
	// Copy is a copy of Config.Dir, ignored files included, for what is no git repository. Folders named .git are left out.
	Copy Mode = "copy"
	// TempDir is an empty folder.
	TempDir Mode = "tempdir"
)

// Config says what to isolate.
type Config struct {
	// Dir is the folder that an attempt is to work in. With Clone and Worktree it is in the work tree of a git repository; a
	// tree is of all the repository, and its Dir the same folder within. "" is this process's working directory.
	Dir string
	// Base is the revision that trees start from. "" is HEAD. Another commit than HEAD's leaves out what is uncommitted, since
	// that was done to HEAD. With Copy and TempDir it must be "".
	Base string
	// Committed leaves out what is uncommitted. With Copy and TempDir it means nothing.
	Committed bool
	Mode      Mode // "" is Clone
	// Root is where the folders of runs go. "" is a folder in the user's cache. It must not be in what is isolated.
	Root string
	// Keep leaves the trees in place when they are removed and the base is closed, to look at them.
	Keep bool
}
