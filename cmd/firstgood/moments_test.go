package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestIssue5_StoppedAtAnyMoment stops a race that applies its winner's patch, with SIGINT and with kill -9, at moments spread over
// its time: the user's staged, unstaged, untracked and ignored files and all of .git are byte for byte what they were, but for
// the patch, which is there whole or not at all. Nothing is left: after SIGINT at once, after kill -9 by firstgood clean.
// FIRSTGOOD_MOMENTS is how many moments are tried of each.
func TestIssue5_StoppedAtAnyMoment(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
		t.Skip("it needs git, and a system with signals")
	}
	moments := 6
	if n, err := strconv.Atoi(os.Getenv("FIRSTGOOD_MOMENTS")); err == nil {
		moments = n
	}
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			before := u.snapshot()
			begun := time.Now()
			if status := u.race(time.Hour, signal); status != 0 {
				t.Fatalf("without a stop: exit %d", status)
			}
			whole := time.Since(begun)
			after := u.snapshot()
			u.checkPatch(before, after)
			u.takeBack()
			if now := u.snapshot(); !maps.Equal(now, before) {
				t.Fatalf("the test could not take the patch back: %v", differences(before, now))
			}
			applied, stopped := 0, 0
			for i := range moments {
				moment := whole * time.Duration(5*(i+1)) / time.Duration(4*moments) // at times beyond the end
				status := u.race(moment, signal)
				if signal == os.Kill {
					u.clean("removed", "finished", "undid", "ended", "there is nothing")
				}
				u.clean("there is nothing")
				switch now := u.snapshot(); {
				case maps.Equal(now, before):
					stopped++
				case maps.Equal(now, after):
					applied++
					u.takeBack()
				default:
					t.Fatalf("stopped after %v, exit %d: %v", moment, status, differences(before, now))
				}
				if status != 0 && status != 130 && status != -1 {
					t.Errorf("stopped after %v: exit %d", moment, status)
				}
				if left, err := filepath.Glob(filepath.Join(u.cache, "*", "*")); err != nil || len(left) > 0 {
					t.Fatalf("stopped after %v: left are %v", moment, left)
				}
			}
			t.Logf("%d moments in %v: %d times the patch was applied, %d times not", moments, whole, applied, stopped)
		})
	}
}

// user is someone with a repository, in which there is work of all kinds.
type user struct {
	t          *testing.T
	dir, cache string // the repository, and what firstgood keeps elsewhere
	file       string
	env        []string
}

// manyFiles is how many files the patch of the race changes, so that applying takes a while.
const manyFiles = 40

func newUser(t *testing.T) *user {
	t.Helper()
	home := t.TempDir()
	u := &user{t: t, dir: filepath.Join(home, "a repository"), cache: filepath.Join(home, "cache"), file: filepath.Join(home, "agents.yaml")}
	u.env = append(slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GIT_") }),
		"HOME="+home, "XDG_CACHE_HOME="+u.cache, "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=u", "GIT_AUTHOR_EMAIL=u@example.com", "GIT_COMMITTER_NAME=u", "GIT_COMMITTER_EMAIL=u@example.com")
	u.write(".gitignore", "*.log\n")
	for i := range manyFiles {
		u.write(fmt.Sprintf("src/%d.txt", i), "wrong\n")
	}
	u.write("staged", "1\n")
	u.write("unstaged", "1\n")
	u.git("init", "-q")
	u.git("add", "-A")
	u.git("commit", "-q", "-m", "base")
	u.write("stashed", "x\n")
	u.git("add", "stashed")
	u.git("stash", "-q")
	u.git("branch", "other")
	u.write("staged", "2\n")
	u.git("add", "staged")
	u.write("staged", "3\n")
	u.write("unstaged", "2\n")
	u.write("untracked \xc3\xa9\n", "mine\n")
	u.write("ignored.log", "mine\n")
	u.git("status") // which renews the index once
	script := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo right > src/$i.txt; i=$((i+1)); done; echo new > src/new.txt; echo done`, manyFiles)
	idle := `echo nothing to do`
	file := fmt.Sprintf("delegates:\n  idle: {command: {argv: [sh, -c, %q], isolate: clone}}\n  right: {command: {argv: [sh, -c, %q], isolate: clone}}\n", idle, script)
	if err := os.WriteFile(u.file, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return u
}

func (u *user) write(name, content string) {
	u.t.Helper()
	path := filepath.Join(u.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) git(args ...string) {
	u.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = u.dir, u.env
	if out, err := cmd.CombinedOutput(); err != nil {
		u.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

// race races the agents, sends the signal at a moment unless it has ended, and returns the exit status, -1 for one that was killed.
func (u *user) race(moment time.Duration, signal os.Signal) int {
	u.t.Helper()
	ctx, cancel := context.WithTimeout(u.t.Context(), moment)
	defer cancel()
	cmd := exec.CommandContext(ctx, "firstgood", "race", "-f", u.file, "idle", "right", "--accept", "grep -q right src/7.txt", "--", "mend it")
	cmd.Dir, cmd.Env = u.dir, u.env
	cmd.Cancel = func() error { return cmd.Process.Signal(signal) }
	cmd.WaitDelay = patience
	_ = cmd.Run() // its status says it
	return cmd.ProcessState.ExitCode()
}

// clean runs firstgood clean, of whose output each line begins with one of the texts.
func (u *user) clean(begins ...string) {
	u.t.Helper()
	cmd := exec.Command("firstgood", "clean")
	cmd.Dir, cmd.Env = u.dir, u.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		u.t.Fatalf("clean: %v\n%s", err, out)
	}
	for line := range bytes.Lines(out) {
		if !slices.ContainsFunc(begins, func(begin string) bool { return bytes.HasPrefix(line, []byte(begin)) }) {
			u.t.Errorf("clean: %s", line)
		}
	}
}

// snapshot tells each file of the repository, with those of git, and what git makes of them.
func (u *user) snapshot() map[string]string {
	u.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(u.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(u.dir, path)
		said := info.Mode().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			said += fmt.Sprintf(" %x", sha256.Sum256(data))
		}
		all[name] = said
		return nil
	})
	if err != nil {
		u.t.Fatal(err)
	}
	return all
}

// checkPatch reports what differs beside the patch of the race.
func (u *user) checkPatch(before, after map[string]string) {
	u.t.Helper()
	changed := differences(before, after)
	changed = slices.DeleteFunc(changed, func(name string) bool { return strings.HasPrefix(name, filepath.FromSlash("src/")) })
	if len(changed) > 0 || after[filepath.FromSlash("src/new.txt")] == "" || len(differences(before, after)) != manyFiles+1 {
		u.t.Fatalf("changed are %v", differences(before, after))
	}
}

// takeBack undoes the patch of the race.
func (u *user) takeBack() {
	u.t.Helper()
	for i := range manyFiles {
		u.write(fmt.Sprintf("src/%d.txt", i), "wrong\n")
	}
	if err := os.Remove(filepath.Join(u.dir, "src", "new.txt")); err != nil {
		u.t.Fatal(err)
	}
}

// differences are the names whose values differ, sorted.
func differences(x, y map[string]string) []string {
	var names []string
	for name := range x {
		if x[name] != y[name] {
			names = append(names, name)
		}
	}
	for name := range y {
		if _, there := x[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
