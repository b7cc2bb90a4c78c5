//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBrokenPipe_LosersAreStillEnded holds that a reader of stdout that has gone does not end the process before what it
// runs: the loser here is deaf, and gone when firstgood is.
func TestBrokenPipe_LosersAreStillEnded(t *testing.T) {
	t.Parallel()
	cmd := command(t, `
delegates:
  deaf: {command: {argv: [program, deaf, deafs], grace: 100ms}}
  quick: {command: {argv: [program, await, deafs, the result]}}
patterns:
  race: {pattern: race, with: {candidates: [deaf, quick]}}
`, "run", "-q", "race", "Hi")
	here, there, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	here.Close()
	defer there.Close()
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = there, &said
	err = cmd.Run()
	if cmd.ProcessState.ExitCode() != exitProgram || !strings.Contains(said.String(), "cannot print the outcome") {
		t.Errorf("got %v and %q, want exit status 3", err, said.String())
	}
	ids, err := os.ReadFile(filepath.Join(cmd.Dir, "deafs"))
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range processesIn(string(ids)) {
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
}
