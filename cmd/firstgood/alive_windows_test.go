package main

import "os"

// alive reports whether a process is there.
func alive(pid int) bool {
	process, err := os.FindProcess(pid) // which fails for one that is gone
	if err == nil {
		_ = process.Release()
	}
	return err == nil
}
