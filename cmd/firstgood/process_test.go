package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstgood/firstgood/lab"
)

// command returns firstgood as a process of its own, in a folder with the file.
func command(t *testing.T, file string, args ...string) *exec.Cmd {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "firstgood.yaml"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("firstgood", args...)
	cmd.Dir = dir
	cmd.WaitDelay = patience
	limit := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { limit.Stop() })
	return cmd
}

// TestDeafLoser_ResultIsPrintedAtOnce shows what issue 2 asks of a command that ignores SIGTERM and has a grandchild
// holding stdout: the result is printed at once, the process ends within the grace and a second, nothing of the group is
// left.
func TestDeafLoser_ResultIsPrintedAtOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("SIGTERM")
	}
	const grace = 2 * time.Second
	t.Parallel()
	cmd := command(t, fmt.Sprintf(`
delegates:
  deaf: {command: {argv: [program, deaf, deafs], grace: %v}}
  quick: {command: {argv: [program, await, deafs, the result]}}
patterns:
  race: {pattern: race, with: {candidates: [deaf, quick]}}
`, grace), "run", "race", "Hi")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	printed := time.Now()
	if line != "the result\n" || err != nil {
		t.Fatalf("got %q, %v", line, err)
	}
	ids, err := os.ReadFile(filepath.Join(cmd.Dir, "deafs"))
	if err != nil {
		t.Fatal(err)
	}
	deafs := processesIn(string(ids))
	for _, pid := range deafs {
		if !alive(pid) {
			t.Errorf("process %d was gone before its grace, or the result came late", pid)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	took := time.Since(printed)
	t.Logf("the process ended %v after the result, with a grace of %v", took, grace)
	if took > grace+time.Second {
		t.Errorf("the process ended %v after the result, want at most the grace of %v and a second", took, grace)
	}
	for _, pid := range deafs {
		if alive(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if len(deafs) != 2 {
		t.Errorf("got the processes %v, want the program and its child", deafs)
	}
}

// TestInterrupt_WhileTheBriefIsRead holds that one SIGINT is enough where firstgood waits for standard input.
func TestInterrupt_WhileTheBriefIsRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals")
	}
	cmd := command(t, "delegates: {read: {command: {argv: [program, read]}}}", "run", "read", "--brief-file", "-")
	in, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	cmd.Stdin = in
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	// The write is taken in only by who reads, which firstgood does after it has begun to heed signals.
	if _, err := theirs.Write(bytes.Repeat([]byte("brief "), 50_000)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != 130 || out.Len() != 0 || !strings.Contains(said.String(), "interrupted (SIGINT) while the brief was read") {
		t.Errorf("got %v, stdout %q, stderr %q, want exit status 130", cmd.ProcessState, &out, &said)
	}
}

// TestLab_ServesUntilInterrupted holds what firstgood lab prints, that it serves there, and that SIGINT is how it ends.
func TestLab_ServesUntilInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("signals")
	}
	cmd := command(t, "", "lab", "--addr", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	line, _ := lines.ReadString('\n')
	_, url, found := strings.Cut(strings.TrimSpace(line), "listens at ")
	url, _, _ = strings.Cut(url, ";")
	if !found || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("got %q, want the address", line)
	}
	response, err := http.Post(url+"/chat/completions", "application/json", strings.NewReader(`{"model":"echo","messages":[{"role":"user","content":"Are you there?"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), "Are you there?") {
		t.Errorf("got %s: %s", response.Status, body)
	}
	http.DefaultClient.CloseIdleConnections()
	visits := bufio.NewReader(said)
	if first, err := visits.ReadString('\n'); err != nil || !strings.Contains(first, "#1 echo") {
		t.Errorf("got %q, %v, want the visit on stderr", first, err)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, _ := io.ReadAll(lines)
	_, _ = io.Copy(io.Discard, visits)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(string(rest), "delegates:\n  good: ") {
		t.Errorf("got %q, want what to write into a file", rest)
	}
}

// TestLab_HelpListsTheModels holds that each behaviour of the lab is in its help.
func TestLab_HelpListsTheModels(t *testing.T) {
	out, err := exec.Command("firstgood", "lab", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range lab.Behaviours() {
		if !strings.Contains(string(out), "\n  "+b.Form+" ") {
			t.Errorf("%s is missing in\n%s", b.Form, out)
		}
	}
}

// TestOutput_ThatCannotBeWritten is the program's own failure: exit 3, whatever there was to say.
func TestOutput_ThatCannotBeWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "firstgood.yaml", "delegates: {say: {command: {argv: [program, say, Hi]}}}\n")
	for _, args := range [][]string{{"check"}, {"patterns"}, {"schema"}, {"version"}, {"run", "say", "Hi"}, {"run", "say", "Hi", "--json"}} {
		var said bytes.Buffer
		if status := execute(args, terminal{nil, full{}, &said}); status != 3 || !strings.Contains(said.String(), "no space left") {
			t.Errorf("%v: exit status %d, stderr %q, want 3", args, status, &said)
		}
	}
}

// full is a device without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }
