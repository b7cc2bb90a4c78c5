package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// here runs the command line in this process, without standard input.
func here(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, said bytes.Buffer
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	status = execute(args, terminal{null, &out, &said})
	return status, out.String(), said.String()
}

var place = regexp.MustCompile(`^[^:]+:[0-9]+:[0-9]+: `)

// TestBrokenFiles gives each file of config's corpus to check and to run: exit 2, nothing on stdout, and on stderr every
// problem that the corpus expects, with its place. What each message must say is held there.
func TestBrokenFiles(t *testing.T) {
	archives, err := filepath.Glob("../../config/testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	files := map[string]string{}
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			files[f.Name] = string(f.Data)
		}
	}
	t.Chdir(t.TempDir())
	broken := 0
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		want, failed := problemsIn(files[strings.TrimSuffix(name, ".yaml")+".want"])
		if len(want) == 0 {
			t.Errorf("%s: the corpus expects nothing", name)
		}
		write(t, name, text)
		for _, args := range [][]string{{"check", name}, {"run", "-f", name, "answer", "Hi"}, {"run", "-f", name, "answer", "Hi", "--json", "-q"}} {
			status, stdout, stderr := here(t, args...)
			if !failed {
				if args[0] == "check" && (status != 0 || stderr == "") {
					t.Errorf("%v: exit status %d, stderr %q; want 0 and warnings", args, status, stderr)
				}
				continue
			}
			if status != 2 || stdout != "" {
				t.Errorf("%v: exit status %d, stdout %q; want 2 and none", args, status, stdout)
			}
			if got := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n"); !equal(got, want) {
				t.Errorf("%v: got\n%s\nwant\n%s", args, stderr, strings.Join(want, "\n"))
			}
		}
		if failed {
			broken++
		}
	}
	if broken < 30 {
		t.Errorf("%d broken files, want at least 30", broken)
	}
	t.Logf("%d broken files", broken)
}

// problemsIn returns the problems in what the corpus expects, as they are written where there is no terminal, and whether
// one of them is an error.
func problemsIn(want string) (lines []string, failed bool) {
	for line := range strings.Lines(want) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "  ") || !place.MatchString(line) {
			continue
		}
		if at := place.FindString(line); strings.HasPrefix(line[len(at):], "error: ") {
			failed = true
			line = at + strings.TrimPrefix(line[len(at):], "error: ")
		}
		lines = append(lines, line)
	}
	return lines, failed
}

func equal(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestBrokenFiles_ThatAreNoText are those that cannot stand in the corpus.
func TestBrokenFiles_ThatAreNoText(t *testing.T) {
	t.Chdir(t.TempDir())
	valid := "delegates: {mark: {command: {argv: [program, mark, marked]}}}\n"
	write(t, "huge.yaml", valid+strings.Repeat("# ten megabytes\n", 10<<20/16))
	write(t, "just-too-large.yaml", valid+strings.Repeat("#", 1<<20-len(valid)+1))
	write(t, "binary.yaml", "\x7fELF\x02\x01\x01\x00")
	write(t, "latin1.yaml", "# caf\xe9\n"+valid)
	write(t, "utf16.yaml", "\xff\xfed\x00e\x00")
	write(t, "nul.yaml", valid+"\x00")
	write(t, "escape.yaml", valid+"# \x1b[2J\n")
	if err := os.Mkdir("folder.yaml", 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, "locked.yaml", valid)
	if err := os.Chmod("locked.yaml", 0); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"huge.yaml":           "huge.yaml:1:1: the file is larger than 1 MiB",
		"just-too-large.yaml": "just-too-large.yaml:1:1: the file is larger than 1 MiB",
		"binary.yaml":         "binary.yaml:1:1: the control character U+007F",
		"latin1.yaml":         "latin1.yaml:1:6: the byte 0xE9 is not UTF-8",
		"utf16.yaml":          "utf16.yaml:1:1: the file is in UTF-16; save it as UTF-8",
		"nul.yaml":            "nul.yaml:2:1: the control character U+0000",
		"escape.yaml":         "escape.yaml:2:3: the control character U+001B",
		"folder.yaml":         "folder.yaml: cannot read the file: is a directory",
		"locked.yaml":         "locked.yaml: cannot read the file: permission denied",
	} {
		if name == "locked.yaml" && os.Geteuid() <= 0 { // root may read it, and Windows knows no such mode
			continue
		}
		for _, args := range [][]string{{"check", name}, {"run", "-f", name, "mark", "Hi"}} {
			status, stdout, stderr := here(t, args...)
			if status != 2 || stdout != "" || !strings.HasPrefix(stderr, want) {
				t.Errorf("%v: exit status %d, stdout %q, stderr %.200q; want 2, none and %q", args, status, stdout, stderr, want)
			}
		}
	}
	if exists("marked") {
		t.Error("something ran")
	}
}

// TestBrokenFiles_NothingRuns holds that a file is checked whole before anything of it runs.
func TestBrokenFiles_NothingRuns(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "firstgood.yaml", `delegates:
  mark: {command: {argv: [program, mark, marked]}}
patterns:
  other: {pattern: race, with: {candidates: [marc]}}
`)
	for _, args := range [][]string{{"run", "mark", "Hi"}, {"chain", "mark", "--", "Hi"}, {"race", "mark", "--", "Hi"}} {
		status, stdout, stderr := here(t, args...)
		if status != 2 || stdout != "" || stderr != "firstgood.yaml:4:46: patterns.other.with.candidates[0]: unknown delegate or pattern \"marc\"; did you mean \"mark\"?\n" {
			t.Errorf("%v: exit status %d, stdout %q, stderr %q", args, status, stdout, stderr)
		}
	}
	if exists("marked") {
		t.Error("something ran")
	}
}
