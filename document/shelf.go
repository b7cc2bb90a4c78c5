package document

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/document/library"
)

// ShelfConfig says where documents are.
type ShelfConfig struct {
	// Dir is the folder that names without a document around them are looked up in, and that has the folder of dependencies. No
	// name leads out of it, by .. or by a link. "" is the current folder.
	Dir string
}

// Shelf finds documents by their names, and reads each file once. It may be used by many at once.
type Shelf struct {
	dir  string // as it was given
	real string // absolute, without links

	mu    sync.Mutex
	files map[place]*read
	home  map[*Document]place
	needs map[*Document][]*Document // what was resolved from where
}

// place is a file below a folder that nothing leads out of.
type place struct{ root, name string } // name with slashes; a root of "std" is the library

// read is a file that was read, well or not.
type read struct {
	document *Document
	problems Problems
}

const standard = "std"

// NewShelf returns a shelf. It returns an error where Dir is no folder.
func NewShelf(c ShelfConfig) (*Shelf, error) {
	dir := c.Dir
	if dir == "" {
		dir = "."
	}
	real, err := realPath(dir)
	if err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	}
	if info, err := os.Stat(real); err != nil {
		return nil, fmt.Errorf("documents: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("documents: %s is no folder", dir)
	}
	return &Shelf{dir: dir, real: real, files: map[place]*read{}, home: map[*Document]place{}, needs: map[*Document][]*Document{}}, nil
}

func realPath(name string) (string, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// Load reads the file at a path of the operating system, which the user named: it may be outside of Dir, and its neighbours are
// then looked up in its own folder. Problems are those of [Parse]; a file that cannot be read is one, without a line.
func (s *Shelf) Load(name string) (*Document, Problems) {
	real, err := realPath(name)
	if err != nil {
		return nil, Problems{unreadable(name, err)}
	}
	at := place{filepath.Dir(real), filepath.Base(real)}
	if inside, err := filepath.Rel(s.real, real); err == nil && filepath.IsLocal(inside) {
		at = place{s.real, filepath.ToSlash(inside)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found, err := s.read(at, name)
	if err != nil {
		return nil, Problems{unreadable(name, err)}
	}
	return found.document, found.problems
}

func unreadable(name string, err error) Problem {
	var wrapped *fs.PathError
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return Problem{Pos: Pos{File: name}, Message: fmt.Sprintf("the document cannot be read: %v", err), Err: err}
}

// Resolve finds the document that a name means where it stands at a position of from; from is nil for a name that stands
// in no document. In this order:
//
//  1. a ## node of the same file;
//  2. std/patterns, std/controls and std/composites: the library, three names for one shelf;
//  3. a name that begins with a host (a dot in its first part), std/ or co/: the dependencies on the disk, in deps,
//     .agents/prose/deps or .deps of the shelf's folder, as host/owner/repo/path;
//  4. a file beside from: NAME.prose.md, NAME.md, NAME/index.prose.md, NAME/index.md, or NAME itself where it ends in .md;
//  5. for a name without a slash, the library.
//
// Nothing is fetched. Without a document and without problems the name is unknown: [Shelf.Unknown] says so. The problems are
// those of the document's file, or one at the position: a document that leads back to from, with the way that it takes.
func (s *Shelf) Resolve(name string, at Pos, from *Document) (*Document, Problems) {
	if from != nil && !strings.ContainsAny(name, "/.") {
		if node := from.Node(name); node != nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.link(node, at, from)
		}
	}
	if name == "" || strings.ContainsAny(name, "\\\x00\n") || path.IsAbs(name) || filepath.VolumeName(name) != "" {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.candidates(name, from) {
		found, err := s.read(c.place, c.shown)
		switch {
		case err == nil && found.document == nil:
			return nil, found.problems
		case err == nil:
			if found.problems.Failed() {
				return nil, found.problems
			}
			document, problems := s.link(found.document, at, from)
			return document, append(slices.Clone(found.problems), problems...)
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoFile):
		default:
			return nil, Problems{{Pos: at, Message: fmt.Sprintf("%s cannot be read as %s: %v", quote(name), c.shown, bare(err)), Source: from.lineAt(at), Err: err}}
		}
	}
	return nil, nil
}

// lineAt returns the line of a position in the document's file, "" where it is in another.
func (d *Document) lineAt(at Pos) string {
	if d == nil || at.File != d.Path {
		return ""
	}
	return d.Line(at.Line)
}

func bare(err error) error {
	var wrapped *fs.PathError
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Unknown is the problem of a name that nothing has. Known are names that would have been taken beside those of documents.
func (s *Shelf) Unknown(name string, at Pos, from *Document, known ...string) Problem {
	p := Problem{Pos: at, Source: from.lineAt(at)}
	first, rest, slash := strings.Cut(name, "/")
	switch short, std := inLibrary(name); {
	case std:
		p.Message = fmt.Sprintf("the library has no %s; %s", quote(name), wayOut(short, library.Names(), "documents"))
	case slash && (strings.Contains(first, ".") && first != "." && first != ".." || first == standard || first == "co"):
		p.Message = fmt.Sprintf("%s is not among the dependencies in %s; nothing is fetched, so put it there", quote(name), filepath.Join(s.dir, dependencies[0]))
	case slash && first != "." && first != ".." && !strings.Contains(rest, "/") && !strings.HasSuffix(name, ".md"):
		p.Message = fmt.Sprintf("nothing is known as %s; a name of a repository begins with its host, such as github.com/%s", quote(name), name)
	default:
		for _, n := range namesOf(from) {
			known = append(known, n.Name)
		}
		known = append(known, library.Names()...)
		p.Message = fmt.Sprintf("nothing is known as %s", quote(name))
		if near := diagnostic.Nearest(name, known); near != "" {
			p.Message += "; did you mean " + near + "?"
		} else {
			p.Message += fmt.Sprintf("; write a ## node, or a file %s.prose.md beside this one", path.Base(name))
		}
	}
	return p
}

func namesOf(d *Document) []*Document {
	if d == nil {
		return nil
	}
	return d.file().Nodes
}

// candidate is a file that a name may mean.
type candidate struct {
	place
	shown string // its path, for people
}

// dependencies are the folders of dependencies, in the order in which they are looked into.
var dependencies = []string{"deps", ".agents/prose/deps", ".deps"}

// upstream is where the packages behind the short names std/ and co/ are.
const upstream = "github.com/openprose/prose/packages/"

// inLibrary returns the last part of a name that belongs to the library, whether or not the library has it.
func inLibrary(name string) (short string, ok bool) {
	name = strings.TrimPrefix(name, upstream)
	for _, alias := range []string{"std/patterns/", "std/controls/", "std/composites/"} {
		if rest, found := strings.CutPrefix(name, alias); found && rest != "" && !strings.Contains(rest, "/") {
			return strings.TrimSuffix(strings.TrimSuffix(rest, ".md"), ".prose"), true
		}
	}
	return "", false
}

// candidates returns the files that a name may mean, in their order.
func (s *Shelf) candidates(name string, from *Document) []candidate {
	standardOne := func(short string) candidate {
		return candidate{place{standard, short}, "std/patterns/" + short + ".prose.md"}
	}
	if short, ok := inLibrary(name); ok {
		return []candidate{standardOne(short)}
	}
	var found []candidate
	first, _, slash := strings.Cut(name, "/")
	host := slash && strings.Contains(first, ".") && first != "." && first != ".."
	if slash && (host || first == standard || first == "co") {
		if !host {
			name = upstream + name
		}
		if strings.Count(name, "/") < 3 {
			return nil
		}
		for _, folder := range dependencies {
			for _, file := range filesOf(path.Join(folder, name)) {
				found = append(found, candidate{place{s.real, file}, filepath.Join(s.dir, filepath.FromSlash(file))})
			}
		}
		return found
	}
	here, shown := place{s.real, "."}, s.dir
	if from != nil {
		home, known := s.home[from.file()]
		if !known {
			home = place{s.real, path.Base(filepath.ToSlash(from.Path))}
		}
		here, shown = place{home.root, path.Dir(home.name)}, filepath.Dir(from.Path)
	}
	if here.root != standard {
		for _, file := range filesOf(path.Clean(name)) {
			found = append(found, candidate{place{here.root, path.Join(here.name, file)}, filepath.Join(shown, filepath.FromSlash(file))})
		}
	}
	if !slash {
		found = append(found, standardOne(strings.TrimSuffix(strings.TrimSuffix(name, ".md"), ".prose")))
	}
	return found
}

// filesOf returns the files that a path without its extension may be.
func filesOf(name string) []string {
	if strings.HasSuffix(name, ".md") {
		return []string{name}
	}
	return []string{name + ".prose.md", name + ".md", name + "/index.prose.md", name + "/index.md"}
}

var (
	errNoFile  = errors.New("it is no file")
	errOutside = errors.New("it leads out of the folder of the documents")
)

// read returns a file as a document, read once. The error is that of a file which is not there or cannot be read.
func (s *Shelf) read(at place, shown string) (*read, error) {
	if found, ok := s.files[at]; ok {
		return found, nil
	}
	data, err := contents(at)
	if err != nil {
		return nil, err
	}
	document, problems := Parse(shown, data)
	found := &read{document, problems}
	s.files[at] = found
	if document != nil {
		s.home[document] = at
	}
	return found, nil
}

func contents(at place) ([]byte, error) {
	if at.root == standard {
		data, ok := library.Read(at.name)
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(at.name)) {
		return nil, errOutside
	}
	root, err := os.OpenRoot(at.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(at.name)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "escapes"):
		return nil, errOutside
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errNoFile
	}
	file, err := root.Open(at.name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSize+1))
}

// link notes that from needs the document, and reports a circle.
func (s *Shelf) link(to *Document, at Pos, from *Document) (*Document, Problems) {
	if from == nil {
		return to, nil
	}
	if way := s.way(to, from, map[*Document]bool{}); way != nil {
		names := []string{from.Name}
		for _, d := range way {
			names = append(names, d.Name)
		}
		return nil, Problems{{Pos: at, Message: "the document leads back to itself: " + strings.Join(names, " → "), Source: from.lineAt(at)}}
	}
	if !slices.Contains(s.needs[from], to) {
		s.needs[from] = append(s.needs[from], to)
	}
	return to, nil
}

// way returns the documents from one to another, both included, or nil.
func (s *Shelf) way(from, to *Document, seen map[*Document]bool) []*Document {
	if from == to {
		return []*Document{from}
	}
	if seen[from] {
		return nil
	}
	seen[from] = true
	for _, next := range s.needs[from] {
		if way := s.way(next, to, seen); way != nil {
			return append([]*Document{from}, way...)
		}
	}
	return nil
}
