package examples_test

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// TestAgents types what examples/agents/firstgood.yaml says, and compares what comes out. The package that its agents mend is
// the same afterwards.
func TestAgents(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("it needs git and sh")
	}
	const file, code = "agents/firstgood.yaml", "agents/calc/calc.go"
	before, err := os.ReadFile(code)
	if err != nil {
		t.Fatal(err)
	}
	index, err := os.ReadFile("README.md")
	if err != nil || !strings.Contains(string(index), "("+file+")") {
		t.Errorf("README.md does not name it (%v)", err)
	}
	program := build(t, "./cmd/firstgood")
	line, want := said(t, file)
	if got := run(t, "", program, words(t, line)[1:]...); got != want {
		t.Errorf("%s\ngot\n%s\nwant\n%s", line, got, want)
	}
	run(t, "", program, "check", "examples/"+file)
	if after, err := os.ReadFile(code); err != nil || string(after) != string(before) {
		t.Errorf("%s is not as it was (%v)", code, err)
	}
}
