//go:build unix

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// special are the steps of the helper that need Unix.
var special = map[string]func(){
	"die": func() { _ = unix.Kill(os.Getpid(), unix.SIGKILL); <-make(chan bool) },
	"ids": func() {
		session, _ := unix.Getsid(0)
		fmt.Print(session == os.Getpid(), unix.Getpgrp() == os.Getpid())
	},
	"stop":      func() { _ = unix.Kill(os.Getpid(), unix.SIGSTOP) },
	"subreaper": func() { becomeSubreaper() },
	"run":       func() { runNested() },
}

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// goOn ends the helper's await.
func (p *peer) goOn(t *testing.T) {
	t.Helper()
	if _, err := fmt.Fprintln(p.conn); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
}

// wantGone checks that processes are gone, but perhaps for somebody to reap them.
func wantGone(t *testing.T, peers ...*peer) {
	t.Helper()
	for _, p := range peers {
		if err := unix.Kill(p.pid, 0); err != unix.ESRCH && !isZombie(p.pid) {
			t.Errorf("%s: kill(%d, 0) says %v, want %v", p.name, p.pid, err, unix.ESRCH)
		}
	}
}

func TestRun_ASignalIsNamed(t *testing.T) {
	got, err := Run(t.Context(), steps(t, "out:half", "die"))
	if err != nil || got.Signal != "SIGKILL" || got.ExitCode != -1 || got.Status() != "killed by SIGKILL" || string(got.Stdout) != "half" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestRun_OwnGroupAndNoTerminal(t *testing.T) {
	got, err := Run(t.Context(), steps(t, "ids"))
	if err != nil || string(got.Stdout) != "true true" {
		t.Errorf("leads a session, leads a group: got %q, %v", got.Stdout, err)
	}
}

var errStop = errors.New("somebody else won")

// TestRun_Stop is what becomes of a group when the context is done, seen from outside.
func TestRun_Stop(t *testing.T) {
	tests := []struct {
		name  string
		steps []string
		peers []string
		said  []string // what each of the peers says after hello
		grace time.Duration
		stops bool // the leader stops itself first
	}{
		{
			name:  "a command that heeds SIGTERM is not killed",
			steps: []string{"heed", "hello:leader", "block"},
			peers: []string{"leader"}, said: []string{"term\n"}, grace: time.Hour,
		},
		{
			name:  "a stopped command is continued and asked",
			steps: []string{"heed", "hello:leader", "stop", "block"},
			peers: []string{"leader"}, said: []string{"term\n"}, grace: time.Hour, stops: true,
		},
		{
			name:  "leader and grandchild both heed it",
			steps: []string{"spawn:3", "heed", "hello:grandchild", "block", "heed", "hello:leader", "block"},
			peers: []string{"leader", "grandchild"}, said: []string{"term\n", "term\n"}, grace: time.Hour,
		},
		{
			name:  "a command that ignores SIGTERM and has a grandchild holding stdout ends within grace + 1 s",
			steps: []string{"spawn:3", "ignore", "hello:grandchild", "block", "ignore", "hello:leader", "block"},
			peers: []string{"leader", "grandchild"}, said: []string{"term\n", "term\n"}, grace: 200 * time.Millisecond,
		},
		{
			name:  "the leader exits and the grandchild ignores SIGTERM",
			steps: []string{"spawn:3", "ignore", "hello:grandchild", "block", "heed", "hello:leader", "block"},
			peers: []string{"leader", "grandchild"}, said: []string{"term\n", "term\n"}, grace: 200 * time.Millisecond,
		},
		{
			name:  "the leader exits and a grandchild without our pipes ignores SIGTERM",
			steps: []string{"quiet:3", "ignore", "hello:grandchild", "block", "heed", "hello:leader", "block"},
			peers: []string{"leader", "grandchild"}, said: []string{"term\n", "term\n"}, grace: 200 * time.Millisecond,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := listen(t)
			spec := c.steps(t, test.steps...)
			spec.Grace = test.grace
			ctx, cancel := context.WithCancelCause(t.Context())
			done := runAside(ctx, spec)
			peers := c.meet(t, test.peers...)
			if test.stops {
				if _, err := unix.Wait4(peers[0].pid, nil, unix.WUNTRACED, nil); err != nil {
					t.Fatal(err)
				}
			}
			cancel(errStop)
			got := receive(t, done)
			wantGone(t, peers...)
			if !errors.Is(got.err, errStop) || !errors.Is(got.err, ErrStopped) || got.Left {
				t.Errorf("got error %v, left %v", got.err, got.Left)
			}
			for i, p := range peers {
				if said := p.rest(t); said != test.said[i] {
					t.Errorf("%s said %q, want %q", p.name, said, test.said[i])
				}
			}
		})
	}
}

func TestRun_WhoLeftTheGroupDoesNotHoldUpAStop(t *testing.T) {
	c := listen(t)
	spec := c.steps(t, "leave:3", "hello:outside", "await", "out:too late", "hello:leader", "block")
	spec.Stdin = strings.Repeat("brief", 1<<20) // its pipe is held too, and full
	ctx, cancel := context.WithCancelCause(t.Context())
	done := runAside(ctx, spec)
	peers := c.meet(t, "leader", "outside")
	cancel(errStop)
	got := receive(t, done)
	wantGone(t, peers[0])
	if !errors.Is(got.err, errStop) || got.Left {
		t.Errorf("got error %v, left %v", got.err, got.Left)
	}
	if err := unix.Kill(peers[1].pid, 0); err != nil {
		t.Errorf("the process outside the group: %v", err)
	}
	peers[1].goOn(t)
	peers[1].rest(t)
}

// TestRun_Exit is what becomes of a group when the leader has exited by itself.
func TestRun_Exit(t *testing.T) {
	t.Run("a grandchild that holds stdout is ended, the reply stands", func(t *testing.T) {
		c := listen(t)
		spec := c.steps(t, "spawn:3", "ignore", "hello:grandchild", "block", "hello:leader", "await", "out:the reply")
		spec.Linger, spec.Grace = 50*time.Millisecond, 200*time.Millisecond
		done := runAside(t.Context(), spec)
		peers := c.meet(t, "leader", "grandchild")
		peers[0].goOn(t)
		got := receive(t, done)
		wantGone(t, peers...)
		if got.err != nil || string(got.Stdout) != "the reply" || got.Left {
			t.Errorf("got %q, %v, left %v", got.Stdout, got.err, got.Left)
		}
		if said := peers[1].rest(t); said != "term\n" {
			t.Errorf("the grandchild said %q", said)
		}
	})
	t.Run("a grandchild without our pipes is ended at once", func(t *testing.T) {
		c := listen(t)
		spec := c.steps(t, "quiet:3", "heed", "hello:grandchild", "block", "hello:leader", "await", "out:the reply")
		spec.Linger, spec.Grace = time.Hour, time.Hour
		done := runAside(t.Context(), spec)
		peers := c.meet(t, "leader", "grandchild")
		peers[0].goOn(t)
		got := receive(t, done)
		wantGone(t, peers...)
		if got.err != nil || string(got.Stdout) != "the reply" {
			t.Errorf("got %q, %v", got.Stdout, got.err)
		}
	})
	t.Run("what a grandchild still writes belongs to the reply", func(t *testing.T) {
		c := listen(t)
		spec := c.steps(t, "spawn:3", "hello:grandchild", "await", "out: and its end", "hello:leader", "await", "out:the reply")
		spec.Linger = time.Hour
		done := runAside(t.Context(), spec)
		peers := c.meet(t, "leader", "grandchild")
		peers[0].goOn(t)
		peers[0].rest(t)
		peers[1].goOn(t)
		got := receive(t, done)
		if got.err != nil || string(got.Stdout) != "the reply and its end" {
			t.Errorf("got %q, %v", got.Stdout, got.err)
		}
	})
	t.Run("who left the group with stdout open does not hold up the reply", func(t *testing.T) {
		c := listen(t)
		spec := c.steps(t, "leave:2", "hello:outside", "await", "hello:leader", "await", "out:the reply")
		done := runAside(t.Context(), spec)
		peers := c.meet(t, "leader", "outside")
		peers[0].goOn(t)
		got := receive(t, done)
		wantGone(t, peers[0])
		if got.err != nil || string(got.Stdout) != "the reply" || got.Left {
			t.Errorf("got %q, %v, left %v", got.Stdout, got.err, got.Left)
		}
		peers[1].goOn(t)
		peers[1].rest(t)
	})
	t.Run("a stop while the output has not ended wins over the exit", func(t *testing.T) {
		c := listen(t)
		spec := c.steps(t, "spawn:3", "heed", "hello:grandchild", "block", "hello:leader", "await", "out:half a reply")
		spec.Linger, spec.Grace = time.Hour, time.Hour
		ctx, cancel := context.WithCancelCause(t.Context())
		done := runAside(ctx, spec)
		peers := c.meet(t, "leader", "grandchild")
		peers[0].goOn(t)
		peers[0].rest(t)
		cancel(errStop)
		got := receive(t, done)
		wantGone(t, peers...)
		if !errors.Is(got.err, errStop) {
			t.Errorf("got %q, %v", got.Stdout, got.err)
		}
	})
}

// TestGroup_ByID is the way without a pidfd, which Linux since 6.9 does not go.
func TestGroup_ByID(t *testing.T) {
	c := listen(t)
	spec, err := c.steps(t, "spawn:3", "ignore", "hello:grandchild", "block", "heed", "hello:leader", "block").complete()
	if err != nil {
		t.Fatal(err)
	}
	p, err := start(spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	p.group.close()
	peers := c.meet(t, "leader", "grandchild")
	if left := p.end(200 * time.Millisecond); left {
		t.Error("something is left")
	}
	wantGone(t, peers...)
}

func TestGroup_IsNotSignalledOnceItWasSeenToBeGone(t *testing.T) {
	c := listen(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	done := runAside(ctx, c.steps(t, "heed", "hello:stranger", "await"))
	stranger := c.meet(t, "stranger")[0]
	ours := group{id: stranger.pid, pidfd: -1, gone: true} // the id has been given to a stranger since
	ours.ask()
	ours.kill()
	if ours.alive() {
		t.Error("what was gone is back")
	}
	stranger.goOn(t)
	if got := receive(t, done); got.err != nil || got.ExitCode != 0 {
		t.Errorf("the stranger ended with %s, %v", got.Status(), got.err)
	}
	cancel(nil)
}
