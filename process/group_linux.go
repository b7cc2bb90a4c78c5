package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes makes the leader that of a new session. Pdeathsig: see running.lead. It is SIGTERM and not SIGKILL so
// that the leader can end what it has started itself, which nobody else then does.
func (g *group) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM, PidFD: &g.pidfd}
}

// send signals the group by its pidfd, or by its id where the kernel is older than 6.9 or forbids it.
func (g *group) send(s unix.Signal) error {
	if g.pidfd >= 0 {
		err := unix.PidfdSendSignal(g.pidfd, s, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		if err == nil || err == unix.ESRCH {
			return err
		}
	}
	return unix.Kill(-g.id, s)
}

// onlyZombies reports whether the group has members and all of them are dead. Signal 0 does not tell, so this reads
// the whole of /proc. Without it the answer is no.
func (g *group) onlyZombies() bool {
	proc, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer func() { _ = proc.Close() }()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return false
	}
	found := false
	for _, name := range names {
		if name[0] < '1' || name[0] > '9' {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended since
		}
		pgrp, dead := parseStat(stat)
		if pgrp != g.id {
			continue
		}
		if !dead {
			return false
		}
		found = true
	}
	return found
}

// parseStat reads the process group, and whether the process is dead, from /proc/PID/stat; see proc(5). The name
// of the program, in parentheses, may hold anything. A process whose first thread has exited looks dead but for
// its other threads.
func parseStat(stat []byte) (pgrp int, dead bool) {
	const state, group, threads = 0, 2, 17 // counted from behind the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= threads {
		return 0, false
	}
	pgrp, _ = strconv.Atoi(string(fields[group]))
	others, _ := strconv.Atoi(string(fields[threads]))
	dead = (fields[state][0] == 'Z' || fields[state][0] == 'X') && others <= 1
	return pgrp, dead
}

func (g *group) close() {
	if g.pidfd >= 0 {
		_ = unix.Close(g.pidfd)
		g.pidfd = -1
	}
}
