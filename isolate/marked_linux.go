package isolate

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// killMarked ends every process that was started with a variable, and returns which. Those of others are not seen. Each is
// asked first: a git that is killed leaves its locks.
func killMarked(variable string) ([]int, error) {
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, file := range found {
		environment, err := os.ReadFile(file)
		if err != nil || !marked(environment, variable) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err == nil && pid != os.Getpid() {
			pids = append(pids, pid)
		}
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		for _, pid := range pids {
			if running(pid) {
				_ = syscall.Kill(pid, signal) // gone already, or another's
			}
		}
		// They may still be writing where is about to be nothing.
		for deadline := time.Now().Add(time.Second); slices.ContainsFunc(pids, running) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	if left := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !running(pid) }); len(left) > 0 {
		return pids, fmt.Errorf("processes %v cannot be ended", left)
	}
	return pids, nil
}

func running(pid int) bool {
	_, err := processStart(pid)
	return !errors.Is(err, fs.ErrNotExist)
}

func marked(environment []byte, variable string) bool {
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}
