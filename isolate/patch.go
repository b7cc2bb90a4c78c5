package isolate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood/process"
)

// Patch is how the files of a tree differ from the base. It does not change once made.
type Patch struct {
	// Diff is a unified diff that git apply takes: paths begin with a/ and b/, binary files are whole, renames are told as
	// such. It is nil when nothing changed. Text is as git stores it, which differs from the files where filters and line ends do.
	Diff  []byte
	Files []FileChange // sorted by path
	// Nested are folders with a repository of their own that the base does not have. They are not in the patch.
	Nested []string

	base *Base
	tree string // of the base with the patch, in the base's store
}

// FileChange is one file of a patch. Paths have slashes and start at the top of the tree; they may hold any byte but NUL.
type FileChange struct {
	Path          string
	Old           string // the path before, where it was renamed
	Status        Status
	OldMode, Mode uint32 // as git has them: 0 none, 0100644, 0100755 executable, 0120000 symbolic link
	// Added and Removed are numbers of lines, 0 for a binary file.
	Added, Removed int
	Binary         bool
}

// Status says what happened to a file.
type Status string

// What happens to files. Retyped is a file that became a symbolic link, or the reverse.
const (
	Added    Status = "added"
	Deleted  Status = "deleted"
	Modified Status = "modified"
	Renamed  Status = "renamed"
	Retyped  Status = "retyped"
)

var statuses = map[byte]Status{'A': Added, 'D': Deleted, 'M': Modified, 'R': Renamed, 'T': Retyped}

// Empty reports whether nothing changed.
func (p *Patch) Empty() bool { return len(p.Files) == 0 }

// Lines are the added and removed lines of all files that are text.
func (p *Patch) Lines() int {
	n := 0
	for _, file := range p.Files {
		n += file.Added + file.Removed
	}
	return n
}

// Patch tells what was changed in the tree, whoever did it and whether it was committed: the files as they are now, against
// the base. New, deleted, binary and renamed files, modes and symbolic links count. Not in it are files that the tree's
// .gitignore and the user's own settings ignore (unless the base has them), empty folders, submodules (whatever is done in
// their folders), and repositories that were made in the tree (Patch.Nested). What was committed and is not in the files is
// not in it either.
//
// Nothing that the tree's own .git says is believed, nor need there be one. Something may still run in the tree: the patch
// then has each file as it was at some moment. The user's filters run on the files, as git add would have them; Git LFS does not.
//
// The error wraps [ErrGone] when there is no tree any more, [ErrPatchTooLarge] beyond 64 MiB, or is git's own, such as for a
// file that may not be read.
func (t *Tree) Patch(ctx context.Context) (*Patch, error) {
	p, err := t.patch(ctx)
	if err != nil {
		return nil, fmt.Errorf("patch of %s: %w", t.name, err)
	}
	return p, nil
}

func (t *Tree) patch(ctx context.Context) (*Patch, error) {
	b := t.base
	if err := b.open(); err != nil {
		return nil, err
	}
	// A link in the tree's place would have the files of another folder told as its own.
	if info, err := os.Lstat(t.top); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%w: %s", ErrGone, t.top)
	}
	index := b.newIndex()
	defer b.dropIndex(index)
	if err := copyIfThere(t.index, index); err != nil {
		return nil, err
	}
	tree, nested, err := absorb(ctx, b.at(t.top, index))
	if err != nil {
		return nil, err
	}
	p, err := b.difference(ctx, tree)
	if err != nil {
		return nil, err
	}
	p.Nested = nested
	return p, nil
}

// difference makes the patch from the base to a tree.
func (b *Base) difference(ctx context.Context, tree string) (*Patch, error) {
	p := &Patch{base: b, tree: tree}
	if tree == b.tree {
		return p, nil
	}
	// In a bare repository no .gitattributes are read, which could have files left out or shown by a program.
	options := []string{"diff-tree", "-r", "-M", "-l1000", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"}
	listed, err := b.ours().run(ctx, "", append(options, "-z", "--raw", "--numstat", b.tree, tree)...)
	if err != nil {
		return nil, err
	}
	if p.Files, err = parseFiles(fields(listed)); err != nil {
		return nil, err
	}
	p.Diff, err = b.ours().bounded(ctx, maxDiff, "", append(options, "-p", "--binary", "--full-index", "--unified=3",
		"--inter-hunk-context=0", "--diff-algorithm=myers", "--src-prefix=a/", "--dst-prefix=b/", b.tree, tree)...)
	if limit := (*process.OutputLimitError)(nil); errors.As(err, &limit) {
		return nil, fmt.Errorf("%w: more than %d MiB", ErrPatchTooLarge, maxDiff>>20)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// parseFiles reads git's raw format and, after all of it, its numbers of lines.
func parseFiles(parts []string) ([]FileChange, error) {
	var files []FileChange
	byPath := map[string]int{}
	for len(parts) > 0 && strings.HasPrefix(parts[0], ":") {
		change, rest, err := parseRawChange(parts)
		if err != nil {
			return nil, err
		}
		status, ok := statuses[change.status]
		if !ok {
			return nil, fmt.Errorf("git diff: %q has the unknown status %c", change.path, change.status)
		}
		byPath[change.path] = len(files)
		files = append(files, FileChange{Path: change.path, Old: change.from, Status: status, OldMode: change.old.mode, Mode: change.new.mode})
		parts = rest
	}
	for len(parts) > 0 {
		numbers := strings.SplitN(parts[0], "\t", 3)
		if len(numbers) != 3 {
			return nil, fmt.Errorf("git diff: cannot read %q", parts[0])
		}
		path := numbers[2]
		parts = parts[1:]
		if path == "" { // renamed: the two paths follow
			if len(parts) < 2 {
				return nil, errors.New("git diff: a renamed file has no paths")
			}
			path, parts = parts[1], parts[2:]
		}
		i, ok := byPath[path]
		if !ok {
			return nil, fmt.Errorf("git diff: lines of %q, which is not changed", path)
		}
		if numbers[0] == "-" {
			files[i].Binary = true
			continue
		}
		var err1, err2 error
		files[i].Added, err1 = strconv.Atoi(numbers[0])
		files[i].Removed, err2 = strconv.Atoi(numbers[1])
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("git diff: lines of %q: %w", path, err)
		}
	}
	return files, nil
}
