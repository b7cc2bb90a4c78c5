// Package examples_test runs the examples as a reader would.
package examples_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/lab"
)

// TestFiles types what the comment at the top of each file says behind $, at the root of the repository, and compares what
// comes out with what the comment says, the text that follows it.
func TestFiles(t *testing.T) {
	server, err := lab.New(lab.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(""); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	program := build(t, "./cmd/firstgood")
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) < 6 {
		t.Fatalf("got the files %v, %v", files, err)
	}
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			if runtime.GOOS == "windows" && file == "command.yaml" {
				t.Skip("it runs programs that Windows does not have")
			}
			if !strings.Contains(string(index), "("+file+")") {
				t.Error("README.md does not name it")
			}
			line, want := said(t, file)
			args := words(t, line)
			if len(args) < 2 || args[0] != "firstgood" {
				t.Fatalf("got the command line %q", line)
			}
			if got := run(t, server.URL(), program, args[1:]...); got != want {
				t.Errorf("%s\ngot\n%s\nwant\n%s", line, got, want)
			}
			run(t, server.URL(), program, "check", "examples/"+file)
		})
	}
}

// TestDocuments does the same with the documents, which say it in an indented block of their notes. There is one for each
// document of the library.
func TestDocuments(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("they run programs that Windows does not have")
	}
	library, err := filepath.Glob("../document/library/*.prose.md")
	if err != nil || len(library) == 0 {
		t.Fatalf("got the library %v, %v", library, err)
	}
	program := build(t, "./cmd/firstgood")
	index, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(index), "(documents)") {
		t.Error("README.md does not name them")
	}
	for _, standard := range library {
		path := "documents/" + filepath.Base(standard)
		t.Run(filepath.Base(standard), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			name := strings.TrimSuffix(filepath.Base(standard), ".prose.md")
			if !strings.Contains(string(data), "  pattern: std/patterns/"+name+"\n") {
				t.Errorf("there is no instance of %s", name)
			}
			line, want := indented(t, string(data))
			args := words(t, line)
			if len(args) < 5 || args[0] != "firstgood" || args[4] != "examples/"+path {
				t.Fatalf("got the command line %q", line)
			}
			if got := run(t, "", program, append(args[1:], "-q")...); got != want {
				t.Errorf("%s\ngot\n%s\nwant\n%s", line, got, want)
			}
			run(t, "", program, "check", "examples/"+path)
		})
	}
	if all, _ := filepath.Glob("documents/*.md"); len(all) != len(library) {
		t.Errorf("%d documents, %d in the library", len(all), len(library))
	}
}

// TestDocumentsPage types what docs/documents.md says behind $, in examples/documents, and compares what comes out, on stdout or
// stderr, with what the page says. A last line "exit N" is the exit status.
func TestDocumentsPage(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("it runs programs that Windows does not have")
	}
	page, err := os.ReadFile("../docs/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```console\n$ ")[1:]
	if len(blocks) < 5 {
		t.Errorf("got %d commands", len(blocks))
	}
	program := build(t, "./cmd/firstgood")
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		line, want, _ := strings.Cut(block, "\n")
		t.Run(line, func(t *testing.T) {
			command := exec.Command(program, words(t, line)[1:]...)
			command.Dir = "documents"
			out, err := command.CombinedOutput()
			got := string(out)
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				got += fmt.Sprintf("exit %d\n", exit.ExitCode())
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	library, _ := filepath.Glob("../document/library/*.prose.md")
	for _, path := range library {
		if name := strings.TrimSuffix(filepath.Base(path), ".prose.md"); !strings.Contains(string(page), "\n| `"+name+"` | ") {
			t.Errorf("it does not name %s", name)
		}
	}
}

// indented returns the command line and the output in a block of lines that begin with four spaces.
func indented(t *testing.T, text string) (line, output string) {
	t.Helper()
	for row := range strings.Lines(text) {
		command, starts := strings.CutPrefix(row, "    $ ")
		switch said, inside := strings.CutPrefix(row, "    "); {
		case starts && line != "":
			t.Fatal("there are two commands in it")
		case starts:
			line = strings.TrimSpace(command)
		case line != "" && inside:
			output += said
		case line != "" && output == "":
			t.Fatal("it does not say what comes out")
		case line != "":
			return line, output
		}
	}
	if output == "" {
		t.Fatal("it does not say what to type and what comes out")
	}
	return line, output
}

// TestGo builds and runs each program under go and compares its output with the comment at its end.
func TestGo(t *testing.T) {
	programs, err := filepath.Glob("go/*/main.go")
	if err != nil || len(programs) < 2 {
		t.Fatalf("got the programs %v, %v", programs, err)
	}
	for _, path := range programs {
		path = filepath.ToSlash(path)
		t.Run(path, func(t *testing.T) {
			source, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, want, found := strings.Cut(string(source), "\n// Output:\n// ")
			if !found {
				t.Fatal("it does not say what it prints")
			}
			want = strings.ReplaceAll(want, "\n// ", "\n")
			if got := run(t, "", build(t, "./examples/"+strings.TrimSuffix(path, "/main.go"))); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// build builds a command of the module and returns its path.
func build(t *testing.T, folder string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	command := exec.Command("go", "build", "-o", program, folder)
	command.Dir = ".."
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// run runs a program at the root of the repository and returns its stdout. It must exit with 0.
func run(t *testing.T, labURL, program string, args ...string) string {
	t.Helper()
	command := exec.Command(program, args...)
	command.Dir = ".."
	command.Env = append(os.Environ(), "LAB_URL="+labURL, "GEMINI_API_KEY=")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %v: %s", args, err, &stderr)
	}
	return string(out)
}

// said returns the command line and the output in the comment at the top of a file.
func said(t *testing.T, file string) (line, output string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for text := range strings.Lines(string(data)) {
		text, comment := strings.CutPrefix(text, "#")
		switch {
		case !comment:
			return line, strings.TrimRight(output, "\n") + "\n"
		case strings.HasPrefix(text, "   $ ") && line != "":
			t.Fatal("there are two commands in the comment")
		case strings.HasPrefix(text, "   $ "):
			line, inside = strings.TrimSpace(strings.TrimPrefix(text, "   $ ")), true
		case inside && strings.TrimSpace(text) == "":
			output += "\n"
		case inside && strings.HasPrefix(text, "   "):
			output += text[3:]
		case inside:
			inside = false
		}
	}
	t.Fatal("the file is a comment")
	return "", ""
}

// words splits a command line at its spaces, but for those in double quotes, in which \" is a quote.
func words(t *testing.T, line string) []string {
	t.Helper()
	var all []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		if line[0] != '"' {
			word, rest, _ := strings.Cut(line, " ")
			all, line = append(all, word), rest
			continue
		}
		var word string
		if _, err := fmt.Sscanf(line, "%q", &word); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		quoted := fmt.Sprintf("%q", word)
		if !strings.HasPrefix(line, quoted) {
			t.Fatalf("%s: write it as %s", line, quoted)
		}
		all, line = append(all, word), line[len(quoted):]
	}
	return all
}
