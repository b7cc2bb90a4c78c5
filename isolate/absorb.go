package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// absorb brings an index up to what is in the work tree: changed and deleted files, and new ones that are not ignored. It
// returns the tree of it. Submodules stay as they are, and repositories within that the index knows nothing of are left out
// and returned: git add would stop at one without a commit, and make a submodule of the others.
//
// It asks for the names first, and does not use git add, which cannot do that.
func absorb(ctx context.Context, g git) (tree string, nested []string, err error) {
	// Files of the same second as the index have to be read, as git does not keep finer times. This has them read once and not by
	// each of the commands below. It says no where files are changed, which is no matter here.
	if _, err := g.run(ctx, "", "update-index", "-q", "--refresh", "--unmerged", "--ignore-missing", "--ignore-submodules"); isStopped(err) {
		return "", nil, err
	}
	raw, err := g.run(ctx, "", "diff-files", "--raw", "-z", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return "", nil, err
	}
	changes, err := parseRaw(fields(raw))
	if err != nil {
		return "", nil, err
	}
	others, err := g.run(ctx, "", "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		return "", nil, err
	}
	var gone, there []string
	for _, change := range changes {
		switch {
		case change.old.mode == modeSubmodule:
		case change.status == 'D' || !isContent(filepath.Join(g.dir, filepath.FromSlash(change.path))):
			gone = append(gone, change.path)
		default:
			there = append(there, change.path)
		}
	}
	for _, name := range fields(others) {
		if strings.HasSuffix(name, "/") {
			nested = append(nested, strings.TrimSuffix(name, "/"))
			continue
		}
		there = append(there, name)
	}
	// A conflict gives a path several lines, and one of them may say that it is gone while a file is there.
	gone = slices.DeleteFunc(gone, func(name string) bool { return slices.Contains(there, name) })
	if len(gone) > 0 {
		if _, err := g.run(ctx, joined(gone), "update-index", "-z", "--force-remove", "--stdin"); err != nil {
			return "", nil, err
		}
	}
	if len(there) > 0 {
		if _, err := g.run(ctx, joined(there), "update-index", "-z", "--add", "--remove", "--replace", "--stdin"); err != nil {
			return "", nil, err
		}
	}
	// A sparse checkout of a partial clone has names of objects that are not here.
	tree, err = g.line(ctx, "write-tree", "--missing-ok")
	return tree, nested, err
}

// isStopped reports an error that is not git's own answer.
func isStopped(err error) bool {
	refusal := (*gitError)(nil)
	return err != nil && !errors.As(err, &refusal)
}

// isContent reports whether a path has what git can store. Git takes a pipe for a file until it is to read it.
func isContent(name string) bool {
	info, err := os.Lstat(name)
	return err != nil || info.Mode().IsRegular() || info.Mode().Type() == fs.ModeSymlink
}

// Modes of git.
const (
	modeFile       = 0o100644
	modeExecutable = 0o100755
	modeSymlink    = 0o120000
	modeSubmodule  = 0o160000
)

// entry is what a tree or an index has at a path; the zero value is nothing.
type entry struct {
	mode uint32
	id   string
}

// rawChange is a line of git's raw format.
type rawChange struct {
	path, from string // from only where it was renamed
	old, new   entry
	status     byte // A, D, M, R, T, U
}

// parseRaw reads git's raw format: ":mode mode id id status", then one path, or two where it was renamed.
func parseRaw(parts []string) ([]rawChange, error) {
	var changes []rawChange
	for len(parts) > 0 {
		change, rest, err := parseRawChange(parts)
		if err != nil {
			return nil, err
		}
		changes, parts = append(changes, change), rest
	}
	return changes, nil
}

func parseRawChange(parts []string) (rawChange, []string, error) {
	words := strings.Split(strings.TrimPrefix(parts[0], ":"), " ")
	if len(words) != 5 || words[4] == "" || len(parts) < 2 {
		return rawChange{}, nil, fmt.Errorf("git diff: cannot read %q", parts[0])
	}
	change := rawChange{path: parts[1], status: words[4][0]}
	parts = parts[2:]
	if change.status == 'R' || change.status == 'C' {
		if len(parts) == 0 {
			return rawChange{}, nil, fmt.Errorf("git diff: %q has no new name", change.path)
		}
		change.from, change.path, parts = change.path, parts[0], parts[1:]
	}
	var err1, err2 error
	change.old, err1 = parseEntry(words[0], words[2])
	change.new, err2 = parseEntry(words[1], words[3])
	if err1 != nil || err2 != nil {
		return rawChange{}, nil, fmt.Errorf("git diff: cannot read the modes of %q", change.path)
	}
	return change, parts, nil
}

func parseEntry(mode, id string) (entry, error) {
	m, err := strconv.ParseUint(mode, 8, 32)
	if m == 0 {
		id = ""
	}
	return entry{uint32(m), id}, err
}
