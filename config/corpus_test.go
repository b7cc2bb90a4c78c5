package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected messages in testdata")

// broken returns the files of testdata: name to content, and what is said about each. What is said about those in checks
// needs the check faults.
func broken(t testing.TB) (paths []string, archives []*archive) {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.txtar")
	checked, alsoErr := filepath.Glob("testdata/checks/*.txtar")
	if err := errors.Join(err, alsoErr); err != nil || len(paths) == 0 || len(checked) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	paths = append(paths, checked...)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, parseArchive(string(data)))
	}
	return paths, archives
}

// TestBrokenFiles holds, for each file in testdata, the exact messages with their carets.
func TestBrokenFiles(t *testing.T) {
	count := 0
	paths, archives := broken(t)
	for i, old := range archives {
		want := map[string]string{}
		for _, f := range old.files {
			if strings.HasSuffix(f.name, ".want") {
				want[f.name] = f.data
			}
		}
		updated := &archive{comment: old.comment}
		for _, f := range old.files {
			name, ok := strings.CutSuffix(f.name, ".yaml")
			if !ok {
				continue
			}
			count++
			t.Run(name, func(t *testing.T) {
				got := said(t, f.name, []byte(f.data))
				updated.files = append(updated.files, f, archived{name + ".want", got})
				if !*update && got != want[name+".want"] {
					t.Errorf("%s: %s\ngot:\n%swant:\n%s", paths[i], f.name, got, want[name+".want"])
				}
			})
		}
		if *update {
			if err := os.WriteFile(paths[i], []byte(updated.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count < 40 {
		t.Errorf("%d broken files, want at least 40", count)
	}
}

func said(t *testing.T, name string, data []byte) string {
	t.Helper()
	file, problems := Parse(name, data, Kinds(), Check(faults))
	if (file == nil) != problems.Failed() {
		t.Errorf("%s: file %v with problems\n%v", name, file, problems)
	}
	if len(problems) == 0 {
		t.Errorf("%s: nothing was said", name)
	}
	var b strings.Builder
	if err := problems.Render(&b, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// faults is a check that finds fault with the word WRONG in an expression, and with the type objekt in a schema. It knows
// the place of each; not that of SOMEHOW.
func faults(c *Criterion) error {
	wrong := errors.New("nothing is wrong but\nthe \x1b word")
	before, _, found := strings.Cut(c.Expr, "WRONG")
	switch {
	case found:
		return &SourceError{Offset: len([]rune(before)), Err: wrong}
	case c.Expr == "SOMEHOW":
		return wrong
	case strings.Contains(c.SchemaFile, "missing"):
		return &fs.PathError{Op: "open", Path: c.SchemaFile, Err: fs.ErrNotExist}
	case c.SchemaFile == "refers.json":
		return &fs.PathError{Op: "open", Path: "other.json", Err: fs.ErrNotExist}
	case c.SchemaFile == "named.json":
		return errors.New("schema named.json:3:1: this is no JSON")
	case strings.Contains(c.SchemaFile, "wrong"):
		return &SourceError{Pointer: "/properties", Err: wrong}
	case strings.Contains(string(c.Schema), "objekt"):
		return &SourceError{Pointer: "/properties/a~1b/anyOf/1/type", Err: wrong}
	case strings.Contains(string(c.Schema), "else"):
		return &SourceError{Pointer: "/else/if/then", Err: wrong}
	}
	return nil
}

// archive is a file in the txtar format: a comment, then files, each after a line "-- name --".
type archive struct {
	comment string
	files   []archived
}

type archived struct{ name, data string }

func parseArchive(text string) *archive {
	a := &archive{}
	into := &a.comment
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(name, " --") {
			a.files = append(a.files, archived{name: strings.TrimSuffix(name, " --")})
			into = &a.files[len(a.files)-1].data
			continue
		}
		*into += line
	}
	return a
}

func (a *archive) String() string {
	var b strings.Builder
	b.WriteString(a.comment)
	for _, f := range a.files {
		b.WriteString("-- " + f.name + " --\n" + f.data)
	}
	return b.String()
}
