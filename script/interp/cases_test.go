package interp_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what happened instead of comparing it")

// TestCases runs the scripts in testdata/*.txtar and compares what happens: what is said of the script, each call with its
// brief, what judges are asked, and what comes out. The time is virtual.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var played []txtar.File
			for i, file := range archive.Files {
				if file.Name == "→" {
					continue
				}
				want := ""
				if i+1 < len(archive.Files) && archive.Files[i+1].Name == "→" {
					want = string(archive.Files[i+1].Data)
				}
				got := ""
				t.Run(file.Name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { got = parseScene(t, string(file.Data)).play(string(file.Data)) })
					if !*update && got != want {
						t.Errorf("got\n%swant\n%s", got, want)
					}
				})
				played = append(played, file, txtar.File{Name: "→", Data: []byte(got)})
			}
			if *update {
				archive.Files = played
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
