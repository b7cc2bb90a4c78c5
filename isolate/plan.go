package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// plan is a patch, worked out for the user's files as they are.
type plan struct {
	journal *journal
	paths   []string         // of the patch, sorted
	before  map[string]entry // what is at them now, as git would store it
	after   map[string]entry
	folder  string // where the new files are
}

func (p *plan) discard() { _ = removeAll(p.folder) }

// plan works out what each path of a patch is to become. It writes nothing of the user's.
func (b *Base) plan(ctx context.Context, top *os.Root, p *Patch) (_ *plan, err error) {
	changes, err := b.changes(ctx, b.tree, p.tree)
	if err != nil {
		return nil, err
	}
	w := &plan{folder: filepath.Join(b.hidden, random(6))}
	states := map[string]state{}
	for _, change := range changes {
		w.paths = append(w.paths, change.path)
	}
	slices.Sort(w.paths)
	var existing []string
	for _, change := range changes {
		if err := roomFor(top, change, w.paths); err != nil {
			return nil, err
		}
		// Looked at before git reads it, so that a change in between is noticed at the last look.
		now, err := look(top, change.path)
		if err != nil {
			return nil, err
		}
		states[change.path] = now
		switch now.Kind {
		case aFile, aLink:
			existing = append(existing, change.path)
		case aFolder:
			if err := onlyDeleted(top, change, changes); err != nil {
				return nil, err
			}
			states[change.path] = state{}
		case another:
			return nil, conflictf("%q is neither a file nor a folder", change.path)
		}
	}

	// An index of these paths alone: first as in the base, since git's treatment of line ends depends on what was there, then
	// as the files are. The user's own index may hide changes (assume-unchanged, skip-worktree).
	index := b.newIndex()
	defer b.dropIndex(index)
	users := b.users(index)
	var lines []string
	for _, change := range changes {
		if change.old != (entry{}) && slices.Contains(existing, change.path) {
			lines = append(lines, indexLine(change.path, change.old, len(p.tree)))
		}
	}
	if _, err := users.run(ctx, joined(lines), "update-index", "-z", "--index-info"); err != nil {
		return nil, err
	}
	if len(existing) > 0 {
		if _, err := users.run(ctx, joined(existing), "update-index", "-z", "--add", "--remove", "--stdin"); err != nil {
			return nil, err
		}
	}
	if w.before, err = indexEntries(ctx, users); err != nil {
		return nil, err
	}
	if err := fit(ctx, users, p.Diff); err != nil {
		return nil, err
	}
	if w.after, err = indexEntries(ctx, users); err != nil {
		return nil, err
	}
	if err := b.write(ctx, index, w); err != nil {
		return nil, err
	}
	if err := w.steps(top, b, states); err != nil {
		w.discard()
		return nil, err
	}
	name := random(6)
	w.journal.file = filepath.Join(b.run, journalsDir, name+".json")
	return w, writeSynced(w.journal.patchFile(), p.Diff)
}

// fit applies a diff to an index.
func fit(ctx context.Context, g git, diff []byte) error {
	_, err := g.run(ctx, string(diff), "apply", "--cached", "-")
	if refusal := (*gitError)(nil); errors.As(err, &refusal) {
		return &conflict{strings.ReplaceAll(strings.ReplaceAll(refusal.said, "error: ", ""), "\n", "; ")}
	}
	return err
}

func indexEntries(ctx context.Context, g git) (map[string]entry, error) {
	out, err := g.run(ctx, "", "ls-files", "-s", "-z")
	if err != nil {
		return nil, err
	}
	entries := map[string]entry{}
	for _, line := range fields(out) {
		about, name, ok := strings.Cut(line, "\t")
		words := strings.Fields(about)
		if !ok || len(words) != 3 {
			return nil, fmt.Errorf("git ls-files: cannot read %q", line)
		}
		if entries[name], err = parseEntry(words[0], words[1]); err != nil {
			return nil, err
		}
		if words[2] != "0" {
			entries[name] = entry{id: "unmerged"}
		}
	}
	return entries, nil
}

// write writes the new files in the plan's folder, with the user's filters and line ends.
func (b *Base) write(ctx context.Context, index string, w *plan) error {
	if err := os.Mkdir(w.folder, 0o700); err != nil {
		return err
	}
	var names []string
	for _, name := range w.paths {
		if now := w.after[name]; now != (entry{}) && now != w.before[name] {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	g := b.users(index).set(withoutLFS...)
	_, err := g.run(ctx, joined(names), "checkout-index", "-z", "--stdin", "--prefix="+filepath.ToSlash(w.folder)+"/")
	return err
}

// steps makes the journal.
func (w *plan) steps(top *os.Root, b *Base, states map[string]state) error {
	j := &journal{Top: b.top}
	var writes []step
	for _, name := range w.paths {
		before, after := w.before[name], w.after[name]
		if before == after {
			continue
		}
		s := step{Path: named(name), Before: states[name]}
		beside := w.placeFor(top, name)
		if s.Before.Kind != nothing {
			s.Kept = named(path.Join(beside, ".firstgood-"+random(6)))
		}
		if after == (entry{}) {
			j.Steps = append(j.Steps, s)
			continue
		}
		s.Temp = named(path.Join(beside, ".firstgood-"+random(6)))
		s.staged = filepath.Join(w.folder, filepath.FromSlash(name))
		var err error
		if s.After, err = stagedState(s.staged); err != nil {
			return err
		}
		if s.Before.Kind == aFile && s.After.Kind == aFile {
			perm := s.Before.Perm
			if before.mode != after.mode {
				perm &^= 0o111
				if after.mode == modeExecutable {
					perm |= perm & 0o444 >> 2
				}
			}
			s.After.Perm = perm
		}
		writes = append(writes, s)
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			info, err := top.Lstat(filepath.FromSlash(dir))
			if err == nil && info.IsDir() {
				break
			}
			if !slices.Contains(j.Dirs, named(dir)) {
				j.Dirs = append(j.Dirs, named(dir))
			}
		}
	}
	slices.SortFunc(j.Dirs, func(x, y named) int { return strings.Compare(string(x), string(y)) }) // parents are shorter, and first
	j.Steps = append(j.Steps, writes...)
	w.journal = j
	return nil
}

func stagedState(file string) (state, error) {
	root, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return state{}, err
	}
	defer root.Close()
	return look(root, filepath.Base(file))
}

// placeFor returns the nearest folder above a path that is there now and will not have to give way to a file.
func (w *plan) placeFor(top *os.Root, name string) string {
	place := "."
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := top.Lstat(filepath.FromSlash(dir))
		switch {
		case w.after[dir] != entry{}: // a file comes here
			place = "."
		case err == nil && info.IsDir() && place == ".":
			place = dir
		}
	}
	return place
}

// roomFor refuses a path that is beyond something else than folders, unless that goes with the patch.
func roomFor(top *os.Root, change rawChange, deleted []string) error {
	for dir := path.Dir(change.path); dir != "."; dir = path.Dir(dir) {
		info, err := top.Lstat(filepath.FromSlash(dir))
		if absent(err) || err == nil && info.IsDir() {
			continue
		}
		if err != nil {
			return err
		}
		// A path of the patch that has others below it afterwards is deleted by it.
		if !slices.Contains(deleted, dir) || change.new == (entry{}) {
			return conflictf("%q is not a folder, but the patch has %q", dir, change.path)
		}
	}
	return nil
}

// onlyDeleted refuses a file that is to stand where there is a folder now, unless the patch deletes all in it.
func onlyDeleted(top *os.Root, change rawChange, changes []rawChange) error {
	if change.new == (entry{}) || change.old != (entry{}) {
		return conflictf("%q is a folder", change.path)
	}
	gone := map[string]bool{}
	for _, other := range changes {
		gone[other.path] = other.new == (entry{})
	}
	return walk(top, change.path, func(name string, info fs.FileInfo) error {
		if !info.IsDir() && !gone[name] {
			return conflictf("%q is a folder, and %q is in it", change.path, name)
		}
		return nil
	})
}

// walk calls visit for all in a folder, by any name that there can be.
func walk(top *os.Root, dir string, visit func(name string, info fs.FileInfo) error) error {
	folder, err := top.Open(filepath.FromSlash(dir))
	if err != nil {
		return err
	}
	entries, err := folder.Readdir(-1)
	folder.Close()
	if err != nil {
		return err
	}
	for _, info := range entries {
		name := path.Join(dir, info.Name())
		if err := visit(name, info); err != nil {
			return err
		}
		if info.IsDir() {
			if err := walk(top, name, visit); err != nil {
				return err
			}
		}
	}
	return nil
}
