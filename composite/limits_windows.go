package composite

import (
	"syscall"
	"time"
)

// limitSystem has nothing to add on Windows to what watch does.
func limitSystem(int64, time.Duration) {}

// processorTime is what this process has used.
func processorTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if syscall.GetProcessTimes(self, &created, &exited, &kernel, &user) != nil {
		return 0
	}
	ticks := func(f syscall.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) } // of 100 ns
	return time.Duration(ticks(kernel)+ticks(user)) * 100
}
