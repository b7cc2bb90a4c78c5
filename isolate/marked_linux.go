package isolate

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// killMarked kills every process that was started with a variable, and returns which. Those of others are not seen.
func killMarked(variable string) ([]int, error) {
	found, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		return nil, err
	}
	var killed []int
	for _, file := range found {
		environment, err := os.ReadFile(file)
		if err != nil || !marked(environment, variable) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed = append(killed, pid)
		}
	}
	// They may still be writing where is about to be nothing.
	deadline := time.Now().Add(time.Second)
	for _, pid := range killed {
		for {
			if _, err := processStart(pid); errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
				break
			}
			time.Sleep(time.Millisecond)
		}
	}
	return killed, nil
}

func marked(environment []byte, variable string) bool {
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if string(entry) == variable {
			return true
		}
	}
	return false
}
