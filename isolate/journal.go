package isolate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A patch is written to the user's files in three steps, so that a kill at any moment leaves what can be undone or finished:
//
//  1. staging: each new file is written under a name of ours, on the same file system. Undone, these files go.
//  2. placing: each file is put in its place by a rename, and what was there before is kept under another name of ours.
//     Finished, the rest is placed too, and what was kept goes. This is where a kill is followed by finishing.
//  3. undoing: something refused in the middle. What was kept is put back.
//
// The journal says before each step which it is; it is a file in the run's folder, and Clean reads those of the dead.
// Every file is looked at once more right before it is replaced, and must be what the patch was worked out for.
type journal struct {
	Top   string  `json:"top"`
	Phase phase   `json:"phase"`
	Steps []step  `json:"steps"` // deletions first
	Dirs  []named `json:"dirs"`  // that are made, parents first
	// Commit is there when a commit is made of it.
	Commit *commitPart `json:"commit,omitempty"`

	file   string // where it is
	moment func() // see Base.moment
}

func (j *journal) now() {
	if j.moment != nil {
		j.moment()
	}
}

type phase string

const (
	staging phase = "staging"
	placing phase = "placing"
	undoing phase = "undoing"
)

// step replaces one path. Names are relative to Top, with slashes.
type step struct {
	Path   named  `json:"path"`
	Temp   named  `json:"temp,omitempty"` // the new file; "" where the path is deleted
	Kept   named  `json:"kept,omitempty"` // the old file; "" where there was none
	Before state  `json:"before"`
	After  state  `json:"after"`
	staged string // where the new content is found
}

func (s step) deletes() bool { return s.Temp == "" }

// named is a path as bytes, which JSON's strings cannot hold.
type named string

func (n named) MarshalText() ([]byte, error) {
	return []byte(base64.RawURLEncoding.EncodeToString([]byte(n))), nil
}

func (n *named) UnmarshalText(text []byte) error {
	data, err := base64.RawURLEncoding.DecodeString(string(text))
	*n = named(data)
	return err
}

// state is what is at a path: a file, a link, or nothing.
type state struct {
	Kind kind        `json:"kind"`
	Perm fs.FileMode `json:"perm,omitempty"`
	Sum  string      `json:"sum,omitempty"` // of the content, or of where the link points
}

type kind string

const (
	nothing kind = ""
	aFile   kind = "file"
	aLink   kind = "link"
	aFolder kind = "folder"
	another kind = "other" // a socket, a pipe, a device
)

// look says what is at a path. Beyond a symbolic link there is nothing.
func look(top *os.Root, name string) (state, error) {
	for i := 0; i < len(name); i++ {
		if name[i] != '/' {
			continue
		}
		info, err := top.Lstat(filepath.FromSlash(name[:i]))
		if absent(err) || err == nil && !info.IsDir() {
			return state{}, nil
		}
		if err != nil {
			return state{}, err
		}
	}
	info, err := top.Lstat(filepath.FromSlash(name))
	if absent(err) {
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	switch info.Mode().Type() {
	case 0:
		file, err := top.Open(filepath.FromSlash(name))
		if err != nil {
			return state{}, err
		}
		defer file.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, file); err != nil {
			return state{}, err
		}
		return state{aFile, info.Mode().Perm(), hex.EncodeToString(sum.Sum(nil))}, nil
	case fs.ModeSymlink:
		points, err := top.Readlink(filepath.FromSlash(name))
		sum := sha256.Sum256([]byte(points))
		return state{Kind: aLink, Sum: hex.EncodeToString(sum[:])}, err
	case fs.ModeDir:
		return state{Kind: aFolder}, nil
	}
	return state{Kind: another}, nil
}

// absent reports whether an error says that there is nothing, also since a file is where a folder would have to be.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || isNotDir(err)
}

// save writes the journal so that it is there after a loss of power, or the one before it is.
func (j *journal) save(to phase) error {
	j.Phase = to
	data, err := json.Marshal(j)
	if err != nil {
		return err
	}
	next := j.file + ".next"
	if err := writeSynced(next, data); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := os.Rename(next, j.file); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	return syncDir(filepath.Dir(j.file))
}

func writeSynced(name string, data []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

// remove ends the journal: all is done, or undone.
func (j *journal) remove() error {
	for _, file := range []string{j.patchFile(), j.indexFile(), j.file + ".next"} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return os.Remove(j.file)
}

// indexFile is where the new index of a commit is until it is installed.
func (j *journal) indexFile() string { return strings.TrimSuffix(j.file, ".json") + ".index" }

// patchFile is where the patch is, in case that it can be neither finished nor undone.
func (j *journal) patchFile() string { return strings.TrimSuffix(j.file, ".json") + ".patch" }

// journalsOf returns the journals of a run that were left.
func journalsOf(run string) ([]*journal, error) {
	names, err := os.ReadDir(filepath.Join(run, journalsDir))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var all []*journal
	for _, found := range names {
		if !strings.HasSuffix(found.Name(), ".json") {
			continue
		}
		j := &journal{file: filepath.Join(run, journalsDir, found.Name())}
		data, err := os.ReadFile(j.file)
		if err == nil {
			err = json.Unmarshal(data, j)
		}
		if err != nil {
			return nil, fmt.Errorf("journal %s: %w", j.file, err)
		}
		all = append(all, j)
	}
	return all, nil
}

// stage writes the new files beside their places.
func (j *journal) stage(top *os.Root) error {
	if err := j.save(staging); err != nil {
		return err
	}
	for _, s := range j.Steps {
		if s.deletes() {
			continue
		}
		j.now()
		if err := stageFile(top, s); err != nil {
			return err
		}
	}
	j.now()
	return nil
}

func stageFile(top *os.Root, s step) error {
	temp := filepath.FromSlash(string(s.Temp))
	if s.After.Kind == aLink {
		points, err := os.Readlink(s.staged)
		if err != nil {
			return err
		}
		return top.Symlink(points, temp)
	}
	source, err := os.Open(s.staged)
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := top.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, file.Chmod(s.After.Perm), file.Sync(), file.Close())
}

// place puts the new files in their places. It can be called again after a kill in the middle of it: what was placed
// already is left, and the files' states were looked at by the caller.
func (j *journal) place(top *os.Root, again bool) error {
	for _, s := range j.Steps {
		if !s.deletes() {
			continue
		}
		now, err := j.expect(top, s, again)
		if err != nil {
			return err
		}
		if now != s.Before { // again: it is gone, and a folder may be in its place
			continue
		}
		j.now()
		if err := top.Rename(local(s.Path), local(s.Kept)); err != nil {
			return err
		}
	}
	j.now()
	for _, s := range j.Steps {
		if s.deletes() {
			continue
		}
		if info, err := top.Lstat(local(s.Path)); err == nil && info.IsDir() {
			if err := removeEmpty(top, string(s.Path)); err != nil {
				return err
			}
		}
	}
	for _, dir := range j.Dirs {
		j.now()
		if err := top.Mkdir(local(dir), 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, s := range j.Steps {
		if s.deletes() {
			continue
		}
		if _, err := top.Lstat(local(s.Temp)); again && absent(err) {
			continue
		}
		now, err := j.expect(top, s, again)
		if err != nil {
			return err
		}
		if s.Kept != "" && now.Kind != nothing {
			if err := keep(top, s); err != nil && !(again && errors.Is(err, fs.ErrExist)) {
				return err
			}
		}
		j.now()
		if err := top.Rename(local(s.Temp), local(s.Path)); err != nil {
			return err
		}
	}
	j.now()
	return nil
}

func local(n named) string { return filepath.FromSlash(string(n)) }

// expect is the last look at a path before it is replaced.
func (j *journal) expect(top *os.Root, s step, again bool) (state, error) {
	now, err := look(top, string(s.Path))
	if err != nil {
		return now, err
	}
	if now == s.Before || again && (now == s.After || now.Kind == nothing) {
		return now, nil
	}
	// Where a file gives way to a folder or comes in the place of one, the folder may be there again.
	if again && now.Kind == aFolder && (s.After.Kind == nothing || s.Before.Kind == nothing) {
		return now, nil
	}
	return now, &conflict{fmt.Sprintf("%q has just been changed", s.Path)}
}

// keep gives the old file a second name. Where links are not to be had it is copied.
func keep(top *os.Root, s step) error {
	if s.Before.Kind == aLink { // a link to a link is something else on each system
		points, err := top.Readlink(local(s.Path))
		if err != nil {
			return err
		}
		return top.Symlink(points, local(s.Kept))
	}
	err := top.Link(local(s.Path), local(s.Kept))
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	source, err := top.Open(local(s.Path))
	if err != nil {
		return err
	}
	defer source.Close()
	file, err := top.OpenFile(local(s.Kept), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	return errors.Join(err, file.Chmod(s.Before.Perm), file.Close())
}

// finish removes what was kept, and folders that are empty now, as git does.
func (j *journal) finish(top *os.Root) error {
	if j.Commit != nil {
		if err := j.Commit.install(j.indexFile()); err != nil {
			return errors.Join(err, j.Commit.free())
		}
		j.now()
		if err := j.Commit.free(); err != nil {
			return err
		}
	}
	for _, s := range j.Steps {
		j.now()
		if s.Kept != "" {
			if err := top.Remove(local(s.Kept)); err != nil && !absent(err) {
				return err
			}
		}
	}
	for _, s := range j.Steps {
		for dir := path.Dir(string(s.Path)); s.deletes() && dir != "."; dir = path.Dir(dir) {
			if !removeFolder(top, dir) {
				break
			}
		}
	}
	j.now()
	return j.remove()
}

// undo puts everything back as it was before. It can be called again.
func (j *journal) undo(top *os.Root) error {
	var problems []error
	for _, s := range slices.Backward(j.Steps) {
		problems = append(problems, j.undoStep(top, s))
		if s.deletes() {
			continue
		}
		if err := top.Remove(local(s.Temp)); err != nil && !absent(err) {
			problems = append(problems, err)
		}
		// Folders may stand where deleted files have to come back, and these come later.
		for _, dir := range slices.Backward(j.Dirs) {
			_ = removeFolder(top, string(dir)) // it is not there yet, or no folder yet, or it was there and has files
		}
	}
	if j.Commit != nil {
		problems = append(problems, j.Commit.free())
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("undoing failed (%w); firstgood clean tries again", err)
	}
	return j.remove()
}

func (j *journal) undoStep(top *os.Root, s step) error {
	if j.Phase == staging {
		return nil
	}
	now, err := look(top, string(s.Path))
	if err != nil {
		return err
	}
	if s.Kept == "" {
		if now != s.After || now.Kind == nothing {
			return nil
		}
		return top.Remove(local(s.Path))
	}
	kept, err := look(top, string(s.Kept))
	if err != nil || kept.Kind == nothing {
		return err
	}
	if kept == s.Before && (now == s.After || now.Kind == nothing) {
		if err := top.MkdirAll(filepath.Dir(local(s.Path)), 0o777); err != nil {
			return err
		}
		if err := top.Rename(local(s.Kept), local(s.Path)); err != nil {
			return err
		}
	}
	if err := top.Remove(local(s.Kept)); err != nil && !absent(err) { // two names of one file stay two in a rename
		return err
	}
	return nil
}

// removeFolder removes a folder if it is one, and empty.
func removeFolder(top *os.Root, dir string) bool {
	info, err := top.Lstat(filepath.FromSlash(dir))
	return err == nil && info.IsDir() && top.Remove(filepath.FromSlash(dir)) == nil
}

// removeEmpty removes a folder of folders.
func removeEmpty(top *os.Root, dir string) error {
	folder, err := top.Open(filepath.FromSlash(dir))
	if err != nil {
		return err
	}
	entries, err := folder.ReadDir(-1)
	folder.Close()
	if err != nil {
		return err
	}
	for _, found := range entries {
		if !found.IsDir() {
			return &conflict{fmt.Sprintf("%q is in the way", path.Join(dir, found.Name()))}
		}
		if err := removeEmpty(top, path.Join(dir, found.Name())); err != nil {
			return err
		}
	}
	return top.Remove(filepath.FromSlash(dir))
}
