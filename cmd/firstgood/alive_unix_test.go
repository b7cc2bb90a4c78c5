//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"syscall"
)

// alive reports whether a process is there and not merely waiting for somebody to collect its exit status.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return false
	}
	if runtime.GOOS == "linux" {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		name := bytes.LastIndexByte(stat, ')')
		return err == nil && name > 0 && !bytes.HasPrefix(stat[name+1:], []byte(" Z")) && !bytes.HasPrefix(stat[name+1:], []byte(" X"))
	}
	return true
}
