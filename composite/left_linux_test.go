package composite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// left is what a run may not leave behind.
type left struct{ goroutines, files int }

func look(t *testing.T) left {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return left{runtime.NumGoroutine(), len(files)}
}

// same fails when a child is left, or when goroutines or files stay. They may take a moment to be gone.
func (l left) same(t *testing.T) {
	t.Helper()
	if pids := children(t); len(pids) > 0 {
		t.Errorf("left are processes %v", pids)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		now := look(t)
		if now.goroutines <= l.goroutines && now.files <= l.files {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("there were %+v, and are %+v", l, now)
			return
		}
		runtime.Gosched()
	}
}

// children are the processes whose parent is this one.
func children(t *testing.T) (pids []int) {
	t.Helper()
	names, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		pid, err := strconv.Atoi(name.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + name.Name() + "/stat")
		fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(fields) > 1 && string(fields[1]) == strconv.Itoa(os.Getpid()) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestRun_TheChildIsKilled(t *testing.T) {
	c := config(`await rlm("x")`)
	c.Call = func(ctx context.Context, _ Call) (string, error) {
		for _, pid := range children(t) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-ctx.Done() // the death of the child ends the calls
		return "", ctx.Err()
	}
	_, err := Run(t.Context(), c)
	if !errors.Is(err, ErrDied) || err.Error() != "c.md:10:1: the composite's process ended early: killed by SIGKILL" {
		t.Errorf("got %v", err)
	}
}

// TestRun_PeakMemory measures what the child had at most, when it was asked for ten times its limit in one go and in small
// pieces.
func TestRun_PeakMemory(t *testing.T) {
	for _, body := range []string{`return "x".repeat(1e10)`, `const a = []; for (;;) a.push(new Array(1000).fill(a.length))`} {
		c := config(body)
		c.Memory = 128 << 20
		if _, err := Run(t.Context(), c); !errors.Is(err, ErrMemory) {
			t.Fatal(err)
		}
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %d MiB", u.Maxrss>>10)
	if u.Maxrss>>10 > 2048 {
		t.Errorf("a child had %d MiB", u.Maxrss>>10)
	}
}
