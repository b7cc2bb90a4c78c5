//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// group is a process group, known by its leader's process id.
//
// An id that has been given away again must never be signalled. The kernel does not give an id away while it is
// that of a process that has not been reaped, of a group that has members, or of a session that has some. So a
// signal is safe
//
//   - as long as the leader has not been reaped, and
//   - after that, as long as the group has had members without a break.
//
// The second is found out with signal 0, which harms nobody, from the moment that the leader has been reaped and
// then many times a second. The first time that the group is not found, it is gone for good: nothing is sent
// to its id again. What remains is that between two looks the group empties, all other ids are used up, and this
// one becomes a group once more; ids are given out in turn, and that takes much longer. It is conceivable where
// this very process was stopped (^Z) between two looks. On Linux since 6.9 even that is excluded: a pidfd stands
// for the group itself, whatever becomes of its id.
//
// Members that have died but are not reaped count as gone too. Where the first process of a container reaps nobody,
// they stay for ever.
//
// A group whose members all run with another user's rights counts as gone, since nothing can be done about it.
type group struct {
	id    int
	pidfd int // -1 when there is none
	gone  bool
}

func (g *group) prepare(cmd *exec.Cmd) error {
	g.pidfd = -1
	cmd.SysProcAttr = g.attributes()
	return nil
}

func (g *group) adopt(leader *os.Process) error {
	g.id = leader.Pid
	return nil
}

// ask tells the group to end. What is stopped has to be continued to hear it.
func (g *group) ask() {
	g.signal(unix.SIGTERM)
	g.signal(unix.SIGCONT)
}

func (g *group) kill() { g.signal(unix.SIGKILL) }

// killNow may be called while another goroutine looks after the group.
func (g *group) killNow() { _ = unix.Kill(-g.id, unix.SIGKILL) }

func (g *group) signal(s unix.Signal) {
	if !g.gone {
		_ = g.send(s)
	}
}

// alive reports whether the group still has living members. It may only be called when the leader has been reaped.
func (g *group) alive() bool {
	if g.gone {
		return false
	}
	g.reap()
	switch {
	case g.send(0) != nil:
		g.gone = true
	case g.onlyZombies():
		_ = g.send(unix.SIGKILL) // for one that was forked during the look and was missed
		g.reap()
		g.gone = true
	}
	return !g.gone
}

// reap reaps dead members whose parent has died and that have become children of this process, as they do when it
// is the first of a container. Before the leader has been reaped, it would take its status from who waits for it.
func (g *group) reap() {
	for {
		if id, err := unix.Wait4(-g.id, nil, unix.WNOHANG, nil); id <= 0 && err != unix.EINTR {
			return
		}
	}
}

func signalName(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return unix.SignalName(status.Signal())
}

func isTooLong(err error) bool { return errors.Is(err, unix.E2BIG) }
