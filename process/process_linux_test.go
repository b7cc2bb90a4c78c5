package process

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func becomeSubreaper() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		panic(err)
	}
}

func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, dead := parseStat(stat)
	return err != nil || dead
}

func TestParseStat(t *testing.T) {
	rest := " 0 -1 4194560 97 0 0 0 0 0 0 0 20 0 %d 0 123 0 0"
	for _, test := range []struct {
		stat string
		pgrp int
		dead bool
	}{
		{fmt.Sprintf("42 (sh) S 1 40 40"+rest, 1), 40, false},
		{fmt.Sprintf("42 (sh) Z 1 40 40"+rest, 1), 40, true},
		{fmt.Sprintf("42 (sh) Z 1 40 40"+rest, 0), 40, true},
		{fmt.Sprintf("42 (sh) Z 1 40 40"+rest, 3), 40, false},
		{fmt.Sprintf("42 (a) Z 9 9 9 (b) R 1 40 40"+rest, 1), 40, false},
		{"", 0, false},
		{"42 (sh) Z", 0, false},
	} {
		if pgrp, dead := parseStat([]byte(test.stat)); pgrp != test.pgrp || dead != test.dead {
			t.Errorf("%q: got %d, %v, want %d, %v", test.stat, pgrp, dead, test.pgrp, test.dead)
		}
	}
}

const nestedEnv = "FIRSTGOOD_TEST_NESTED"

// runNested runs the steps that the environment holds, as Firstgood itself would, and tells how it went.
func runNested() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	got, err := Run(context.Background(), Spec{
		Argv:   append([]string{self}, strings.Split(os.Getenv(nestedEnv), " ")...),
		Env:    os.Environ(),
		Linger: 50 * time.Millisecond,
		Grace:  200 * time.Millisecond,
	})
	zombie, waitErr := unix.Wait4(-1, nil, unix.WNOHANG, nil)
	fmt.Printf("%s, left %v, error %v, zombie %d %v", got.Stdout, got.Left, err, zombie, waitErr)
}

// As the first process of a container, we become the parent of every orphan, and nobody else reaps it.
func TestRun_OrphansThatBecomeOursAreReaped(t *testing.T) {
	c := listen(t)
	spec := c.steps(t, "subreaper", "run")
	spec.Env = append(spec.Env, nestedEnv+"=spawn:3 ignore hello:grandchild block hello:leader await out:reply")
	done := runAside(t.Context(), spec)
	peers := c.meet(t, "leader", "grandchild")
	peers[0].goOn(t)
	got := receive(t, done)
	want := "reply, left false, error <nil>, zombie -1 no child processes"
	if got.err != nil || string(got.Stdout) != want {
		t.Errorf("got %q, %q, %v, want %q", got.Stdout, got.Stderr, got.err, want)
	}
	wantGone(t, peers...)
}

func TestRun_TheProgramEndsWhenThisProcessIsKilled(t *testing.T) {
	c := listen(t)
	spec := c.steps(t, "hello:firstgood", "run")
	spec.Env = append(spec.Env, nestedEnv+"=heed hello:leader block")
	done := runAside(t.Context(), spec)
	peers := c.meet(t, "firstgood", "leader")
	if err := unix.Kill(peers[0].pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if said := peers[1].rest(t); said != "term\n" {
		t.Errorf("the program said %q", said)
	}
	receive(t, done)
}

// Go ends a thread when a goroutine that is locked to it returns. If that were the thread which forked a program,
// the program would be told that its parent is dead. The collections make it likely that the goroutine which forks
// is interrupted just then and goes on on another thread, unless it is locked to its own.
func TestRun_TheProgramOutlivesThreads(t *testing.T) {
	const programs = 16
	c := listen(t)
	var busy sync.WaitGroup
	stop := make(chan struct{})
	for range 2 * runtime.GOMAXPROCS(0) {
		busy.Go(func() {
			for !isClosed(stop) {
				runtime.GC()
			}
		})
	}
	var done []<-chan ended
	var names []string
	for range programs {
		done = append(done, runAside(t.Context(), c.steps(t, "heed", "hello:program", "await", "out:alive")))
		names = append(names, "program")
	}
	peers := c.meet(t, names...)
	close(stop)
	busy.Wait()
	locked := make(chan bool)
	for range 100 {
		go func() {
			runtime.LockOSThread()
			locked <- true
		}()
	}
	for range 100 {
		receive(t, locked)
	}
	for _, p := range peers {
		p.goOn(t)
	}
	for _, done := range done {
		if got := receive(t, done); got.err != nil || string(got.Stdout) != "alive" {
			t.Errorf("got %q, %s, %v", got.Stdout, got.Status(), got.err)
		}
	}
}

func TestRun_NoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	round := func() {
		spec := steps(t, "cat")
		spec.Stdin = "x"
		if _, err := Run(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		spec.Argv[0] = "/no/such/program"
		if _, err := Run(t.Context(), spec); err == nil {
			t.Fatal("ran")
		}
	}
	round()
	before := count()
	for range 5 {
		round()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

// Whether the kernel signals a group by the pidfd of a leader that has been reaped is what the pidfd is for.
func TestGroup_ThePidfdOutlivesTheLeader(t *testing.T) {
	c := listen(t)
	spec, err := c.steps(t, "spawn:3", "heed", "hello:grandchild", "block", "hello:leader", "await").complete()
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.end(time.Second)
	peers := c.meet(t, "leader", "grandchild")
	if p.group.pidfd < 0 || unix.PidfdSendSignal(p.group.pidfd, 0, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP) == unix.EINVAL {
		t.Skip("the kernel is older than 6.9")
	}
	peers[0].goOn(t)
	receive(t, p.exited)
	if err := unix.PidfdSendSignal(p.group.pidfd, unix.SIGTERM, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP); err != nil {
		t.Fatal(err)
	}
	if said := peers[1].rest(t); said != "term\n" {
		t.Errorf("the grandchild said %q", said)
	}
}
