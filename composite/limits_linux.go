package composite

import (
	"fmt"
	"os"
	"syscall"
)

func setMost(l *syscall.Rlimit, most int64) { l.Cur, l.Max = uint64(most), uint64(most) }

// addressSpace is how much of it this process has already, which is much more than it uses; 0 is not known.
func addressSpace() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var pages int64
	if _, err := fmt.Sscan(string(text), &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
