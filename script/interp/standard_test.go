package interp_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestStandardPatterns runs the nineteen standard patterns with delegates that answer from a script: our own documents, and
// those of the checkout of openprose/prose that FIRSTGOOD_OPENPROSE names, or of each in a folder of some. What happens,
// the wording of prompts apart, is the same for both.
func TestStandardPatterns(t *testing.T) {
	t.Run("library", func(t *testing.T) { playPatterns(t, os.DirFS("../../document/library"), *update) })
	root := os.Getenv("FIRSTGOOD_OPENPROSE")
	if root == "" {
		return
	}
	folders, err := filepath.Glob(filepath.Join(root, "*", "packages", "std", "patterns"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "packages", "std", "patterns")); err == nil {
		folders = append(folders, filepath.Join(root, "packages", "std", "patterns"))
	}
	if len(folders) == 0 {
		t.Fatalf("%s holds no packages/std/patterns", root)
	}
	for _, folder := range folders {
		t.Run(folder, func(t *testing.T) { playPatterns(t, os.DirFS(folder), false) })
	}
}

func playPatterns(t *testing.T, documents fs.FS, write bool) {
	const file = "testdata/standard/patterns.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var played []txtar.File
	patterns := map[string]bool{}
	for i, scenario := range archive.Files {
		if scenario.Name == "→" {
			continue
		}
		name, _, _ := strings.Cut(scenario.Name, ":")
		patterns[name] = true
		source, err := fs.ReadFile(documents, name+".prose.md")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		t.Run(scenario.Name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := parseScene(t, string(scenario.Data))
				s.terse = true
				got = s.play(fence(t, string(source)))
			})
			if want := string(archive.Files[min(i+1, len(archive.Files)-1)].Data); !write && got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
		played = append(played, scenario, txtar.File{Name: "→", Data: []byte(got)})
	}
	if len(patterns) != 19 {
		t.Errorf("%d patterns", len(patterns))
	}
	if write {
		archive.Files = played
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fence is the ProseScript of a document.
func fence(t *testing.T, document string) string {
	t.Helper()
	_, after, found := strings.Cut(document, "\n### Delegation\n")
	_, after, open := strings.Cut(after, "```prose\n")
	script, _, closed := strings.Cut(after, "\n```")
	if !found || !open || !closed {
		t.Fatalf("there are no steps in\n%s", document)
	}
	return script + "\n"
}

// TestSeed_FallbackChainAsWritten runs the pattern of the seeds, where those are at hand.
func TestSeed_FallbackChainAsWritten(t *testing.T) {
	folder := os.Getenv("FIRSTGOOD_SEEDS")
	if folder == "" {
		folder = "/work/shared/seeds"
	}
	source, err := os.ReadFile(filepath.Join(folder, "fallback-chain.prose.md"))
	if err != nil {
		t.Skip("no seeds at hand; FIRSTGOOD_SEEDS names their folder")
	}
	archive, err := txtar.ParseFile("testdata/standard/patterns.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i, scenario := range archive.Files {
		if !strings.HasPrefix(scenario.Name, "fallback-chain:") {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := parseScene(t, string(scenario.Data))
			s.terse = true
			if got, want := s.play(fence(t, string(source))), string(archive.Files[i+1].Data); got != want {
				t.Errorf("%s: got\n%swant\n%s", scenario.Name, got, want)
			}
		})
	}
}
