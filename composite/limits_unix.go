//go:build unix

package composite

import (
	"syscall"
	"time"
)

// limitSystem lets the system end this process when watch does not, some seconds later, and keeps it from leaving a core
// behind.
func limitSystem(memory int64, cpu time.Duration) {
	setLimit(syscall.RLIMIT_CPU, int64(cpu/time.Second)+3)
	setLimit(syscall.RLIMIT_CORE, 0)
	limitAddressSpace(memory)
}

// setLimit lowers a limit of the system, as far as that can be done: without it watch remains.
func setLimit(resource int, most int64) {
	var l syscall.Rlimit
	if syscall.Getrlimit(resource, &l) == nil {
		lower(&l.Cur, most)
		lower(&l.Max, most)
		_ = syscall.Setrlimit(resource, &l)
	}
}

// lower is for the systems where limits are signed, and those where they are not.
func lower[T int64 | uint64](limit *T, most int64) { *limit = min(*limit, T(most)) }

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
