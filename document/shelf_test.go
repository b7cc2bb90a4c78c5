package document

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

const plain = "---\nname: NAME\nkind: function\n---\n"

// shelfOf writes files and returns a shelf on their folder. The text of a file whose content is "" is a function of its name.
func shelfOf(t *testing.T, files map[string]string) (*Shelf, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if text == "" {
			text = strings.Replace(plain, "NAME", strings.TrimSuffix(strings.TrimSuffix(filepath.Base(name), ".md"), ".prose"), 1)
		}
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	s, err := NewShelf(ShelfConfig{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return s, dir
}

// TestShelf_Names resolves each form of name, from a document in a folder of the shelf.
func TestShelf_Names(t *testing.T) {
	s, dir := shelfOf(t, map[string]string{
		"sub/main.prose.md": strings.Replace(plain, "NAME", "main", 1) + "\n## node\n\n## both\n",
		"sub/both.prose.md": "", "sub/near.prose.md": "", "sub/near.md": "", "sub/old.md": "", "sub/folder/index.prose.md": "", "sub/older/index.md": "",
		"sub/race.prose.md": "", "sub/deeper/leaf.prose.md": "", "top.prose.md": "", "a.b/c.prose.md": "",
		"deps/github.com/o/r/x.prose.md": "", "deps/github.com/o/r/y/index.prose.md": "", ".agents/prose/deps/git.example/o/r/z.prose.md": "", ".deps/github.com/o/r/w.md": "",
		"deps/github.com/openprose/prose/packages/std/evals/inspector.prose.md": "", "deps/github.com/openprose/prose/packages/co/thing.prose.md": "",
		"deps/github.com/openprose/prose/packages/std/patterns/race.prose.md": "", "deps/github.com/openprose/prose/packages/std/roles/critic.prose.md": "",
	})
	main, problems := s.Load(filepath.Join(dir, "sub", "main.prose.md"))
	if problems != nil {
		t.Fatal(problems)
	}
	for _, test := range []struct{ name, want string }{
		{"node", "sub/main.prose.md node"}, {"both", "sub/main.prose.md both"}, {"./both", "sub/both.prose.md both"},
		{"near", "sub/near.prose.md near"}, {"near.md", "sub/near.md near"}, {"old", "sub/old.md old"}, {"folder", "sub/folder/index.prose.md index"},
		{"older", "sub/older/index.md index"}, {"deeper/leaf", "sub/deeper/leaf.prose.md leaf"}, {"../top", "top.prose.md top"},
		{"race", "sub/race.prose.md race"}, {"fan-out", "std/patterns/fan-out.prose.md fan-out"},
		{"std/patterns/race", "std/patterns/race.prose.md race"}, {"std/controls/race", "std/patterns/race.prose.md race"}, {"std/composites/race.md", "std/patterns/race.prose.md race"},
		{"std/composites/worker-critic", "std/patterns/worker-critic.prose.md worker-critic"},
		{"github.com/openprose/prose/packages/std/patterns/race", "std/patterns/race.prose.md race"},
		{"github.com/o/r/x", "deps/github.com/o/r/x.prose.md x"}, {"github.com/o/r/x.prose.md", "deps/github.com/o/r/x.prose.md x"},
		{"github.com/o/r/y", "deps/github.com/o/r/y/index.prose.md index"}, {"git.example/o/r/z", ".agents/prose/deps/git.example/o/r/z.prose.md z"},
		{"github.com/o/r/w", ".deps/github.com/o/r/w.md w"},
		{"std/evals/inspector", "deps/github.com/openprose/prose/packages/std/evals/inspector.prose.md inspector"},
		{"std/roles/critic", "deps/github.com/openprose/prose/packages/std/roles/critic.prose.md critic"},
		{"co/thing", "deps/github.com/openprose/prose/packages/co/thing.prose.md thing"},
		{"nobody", ""}, {"top", ""}, {"o/r", ""}, {"github.com/o/r", ""}, {"github.com/o/r/none", ""}, {"std/patterns/rase", ""}, {"std/none/x", ""},
		{"a.b/c", ""}, {"", ""}, {"/etc/passwd", ""}, {"a\\b", ""}, {"a\x00b", ""}, {".", ""}, {"..", ""}, {"std/", ""},
	} {
		d, problems := s.Resolve(test.name, Pos{}, main)
		got := ""
		if d != nil {
			got = d.Path
			if inside, err := filepath.Rel(dir, d.Path); err == nil && filepath.IsLocal(inside) {
				got = filepath.ToSlash(inside)
			}
			got += " " + d.Name
		}
		if got != test.want || problems != nil {
			t.Errorf("%q: %q %v, want %q", test.name, got, problems, test.want)
		}
		again, _ := s.Resolve(test.name, Pos{}, main)
		if again != d {
			t.Errorf("%q is read twice", test.name)
		}
	}
	if d, _ := s.Resolve("top", Pos{}, nil); d == nil || d.Name != "top" {
		t.Error("a name without a document is looked up in the folder of the shelf")
	}
	library, _ := s.Resolve("std/patterns/fan-out", Pos{}, main)
	if d, problems := s.Resolve("top", Pos{}, library); d != nil || problems != nil {
		t.Error("a document of the library finds files of the user")
	}
	if d, _ := s.Resolve("race", Pos{}, library); d == nil || d.Path != "std/patterns/race.prose.md" {
		t.Error("a document of the library does not find its neighbours")
	}
}

func TestShelf_Unknown(t *testing.T) {
	s, dir := shelfOf(t, map[string]string{"main.md": strings.Replace(plain, "NAME", "main", 1) + "\n## reader\n"})
	main, _ := s.Load(filepath.Join(dir, "main.md"))
	at := Pos{File: main.Path, Line: 6, Column: 4}
	for _, test := range []struct{ name, want string }{
		{"raeder", "nothing is known as `raeder`; did you mean reader?"},
		{"fats", "nothing is known as `fats`; did you mean fast?"},
		{"rase", "nothing is known as `rase`; did you mean race?"},
		{"something", "nothing is known as `something`; write a ## node, or a file something.prose.md beside this one"},
		{"./something", "nothing is known as `./something`; write a ## node, or a file something.prose.md beside this one"},
		{"std/patterns/guarb", "the library has no `std/patterns/guarb`; did you mean guard?"},
		{"owner/repo", "nothing is known as `owner/repo`; a name of a repository begins with its host, such as github.com/owner/repo"},
		{"github.com/o/r/x", "`github.com/o/r/x` is not among the dependencies in " + filepath.Join(dir, "deps") + "; nothing is fetched, so put it there"},
		{"std/evals/x", "`std/evals/x` is not among the dependencies in " + filepath.Join(dir, "deps") + "; nothing is fetched, so put it there"},
	} {
		p := s.Unknown(test.name, at, main, "fast")
		if p.Message != test.want || p.Pos != at || p.Source != "## reader" {
			t.Errorf("%s\ngot  %+v\nwant %s", test.name, p, test.want)
		}
	}
	if p := s.Unknown("x", Pos{File: "other", Line: 1, Column: 1}, nil); p.Source != "" || p.Message == "" {
		t.Errorf("%+v", p)
	}
}

// TestShelf_Circles holds that a document that leads back to itself is reported with the way.
func TestShelf_Circles(t *testing.T) {
	s, dir := shelfOf(t, map[string]string{"a.prose.md": "", "b.prose.md": "", "c.prose.md": ""})
	a, _ := s.Load(filepath.Join(dir, "a.prose.md"))
	b, _ := s.Resolve("b", Pos{}, a)
	c, _ := s.Resolve("c", Pos{}, b)
	if again, problems := s.Resolve("c", Pos{}, a); again != c || problems != nil {
		t.Error("two ways to a document are no circle")
	}
	at := Pos{File: c.Path, Line: 2, Column: 7}
	d, problems := s.Resolve("a", at, c)
	if d != nil || len(problems) != 1 || problems[0].Message != "the document leads back to itself: c → a → b → c" || problems[0].Pos != at || problems[0].Source != "name: c" {
		t.Errorf("%v %+v", d, problems)
	}
	if d, problems := s.Resolve("a", at, a); d != nil || len(problems) != 1 || problems[0].Message != "the document leads back to itself: a → a" {
		t.Errorf("%v %+v", d, problems)
	}
	if d, problems := s.Resolve("b", at, a); d != b || problems != nil {
		t.Error("a refused circle stays in the way")
	}
}

// TestShelf_StaysInside holds that no name and no link leads out of the folder, but a path that the user gives may.
func TestShelf_StaysInside(t *testing.T) {
	s, dir := shelfOf(t, map[string]string{"main.md": ""})
	outside := t.TempDir()
	for _, name := range []string{"secret.prose.md", "neighbour.prose.md"} {
		if err := os.WriteFile(filepath.Join(outside, name), []byte(strings.Replace(plain, "NAME", name, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	main, _ := s.Load(filepath.Join(dir, "main.md"))
	up := "../" + filepath.Base(outside) + "/secret"
	if d, problems := s.Resolve(up, Pos{File: main.Path, Line: 1, Column: 1}, main); d != nil || len(problems) != 1 || !errors.Is(problems, errOutside) || problems[0].Source != "---" {
		t.Errorf("%v %v", d, problems)
	}
	there, problems := s.Load(filepath.Join(outside, "secret.prose.md"))
	if there == nil || problems != nil {
		t.Fatal(problems)
	}
	if d, problems := s.Resolve("neighbour", Pos{}, there); d == nil || problems != nil {
		t.Error("a file outside has its own folder", problems)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.prose.md"), filepath.Join(dir, "link.prose.md")); err != nil {
		t.Skip("no links here:", err)
	}
	if d, problems := s.Resolve("link", Pos{}, main); d != nil || !errors.Is(problems, errOutside) {
		t.Errorf("%v %v", d, problems)
	}
	if err := os.Symlink("main.md", filepath.Join(dir, "inner.md")); err != nil {
		t.Fatal(err)
	}
	if d, problems := s.Resolve("inner", Pos{}, nil); d == nil || problems != nil {
		t.Error("a link that stays inside is followed", problems)
	}
}

func TestShelf_Files(t *testing.T) {
	s, dir := shelfOf(t, map[string]string{"bad.prose.md": "no document", "large.prose.md": strings.Repeat("x", maxSize+1), "warned.md": "---\nname: w\nkind: function\n---\n\n### Execution\n\nThink.\n"})
	if err := os.Mkdir(filepath.Join(dir, "folder.prose.md"), 0o777); err != nil {
		t.Fatal(err)
	}
	if d, problems := s.Resolve("bad", Pos{}, nil); d != nil || len(problems) != 1 || problems[0].Pos.Line != 1 || !strings.HasSuffix(problems[0].Pos.File, "bad.prose.md") {
		t.Errorf("%v %v", d, problems)
	}
	if d, problems := s.Resolve("large", Pos{}, nil); d != nil || !strings.Contains(problems.Error(), "larger than 1 MiB") {
		t.Errorf("%v %v", d, problems)
	}
	if d, problems := s.Resolve("warned", Pos{}, nil); d == nil || problems.Failed() || len(problems) != 1 {
		t.Errorf("%v %v", d, problems)
	}
	if d, problems := s.Resolve("folder", Pos{}, nil); d != nil || problems != nil {
		t.Errorf("%v %v", d, problems)
	}
	missing := filepath.Join(dir, "missing.md")
	if d, problems := s.Load(missing); d != nil || !errors.Is(problems, fs.ErrNotExist) || !strings.HasPrefix(problems.Error(), missing+": the document cannot be read: ") {
		t.Errorf("%v %v", d, problems)
	}
	if d, problems := s.Load(dir); d != nil || !errors.Is(problems, errNoFile) {
		t.Errorf("%v %v", d, problems)
	}
	if runtime.GOOS != "windows" && os.Getuid() != 0 {
		if err := os.Chmod(filepath.Join(dir, "warned.md"), 0); err != nil {
			t.Fatal(err)
		}
		fresh, _ := NewShelf(ShelfConfig{Dir: dir})
		if d, problems := fresh.Resolve("warned", Pos{}, nil); d != nil || !errors.Is(problems, fs.ErrPermission) {
			t.Errorf("%v %v", d, problems)
		}
	}
	for _, wrong := range []string{missing, filepath.Join(dir, "bad.prose.md")} {
		if _, err := NewShelf(ShelfConfig{Dir: wrong}); err == nil || !strings.HasPrefix(err.Error(), "documents: ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	if _, err := NewShelf(ShelfConfig{}); err != nil {
		t.Error(err)
	}
}

func TestShelf_ManyAtOnce(t *testing.T) {
	s, _ := shelfOf(t, map[string]string{"a.md": "", "b.md": ""})
	found := make([]*Document, 16)
	var group sync.WaitGroup
	for i := range found {
		group.Go(func() {
			a, _ := s.Resolve("a", Pos{}, nil)
			found[i], _ = s.Resolve("b", Pos{}, a)
		})
	}
	group.Wait()
	for _, d := range found {
		if d == nil || d != found[0] {
			t.Fatal("a file was read more than once")
		}
	}
}
