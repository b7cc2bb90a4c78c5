package syntax

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is said instead of comparing it")

// mark stands behind a line that is wrong, before what is said of it.
const mark = " ◄ "

// TestWrongPrograms reads programs of which each has something wrong; what is said stands behind the line, after the column.
func TestWrongPrograms(t *testing.T) {
	const file = "testdata/wrong.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	programs := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n---\n")
	for _, program := range programs {
		var lines []string
		for _, line := range strings.Split(program, "\n") {
			line, _, _ = strings.Cut(line, mark)
			lines = append(lines, line)
		}
		src := strings.Join(lines, "\n") + "\n"
		_, problems := Parse(src, Pos{File: "f", Line: 1, Column: 1})
		if !problems.Failed() {
			t.Errorf("nothing is wrong with\n%s", src)
		}
		said := append([]string(nil), lines...)
		for _, p := range problems {
			if p.Pos.Line > len(lines) || p.Source != lines[p.Pos.Line-1] {
				t.Errorf("%v: the source is %q, of\n%s", p, p.Source, src)
				continue
			}
			said[p.Pos.Line-1] += mark + strings.TrimPrefix(p.String(), "f:")
		}
		got := strings.Join(said, "\n")
		if !*update && got != program {
			t.Errorf("got\n%s\nwant\n%s", got, program)
		}
		all = append(all, got)
	}
	if len(programs) < 100 {
		t.Errorf("%d programs", len(programs))
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(all, "\n---\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func writeArchive(t *testing.T, name string, archive *txtar.Archive) {
	t.Helper()
	if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}
