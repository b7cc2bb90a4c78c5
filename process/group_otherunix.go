//go:build unix && !linux

package process

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func (g *group) attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func (g *group) send(s unix.Signal) error { return unix.Kill(-g.id, s) }

// onlyZombies has nothing to add: the BSDs and macOS do not find a group of dead members when it is signalled.
func (g *group) onlyZombies() bool { return false }

func (g *group) close() {}
