//go:build unix

package composite

import (
	"math"
	"syscall"
	"time"
)

// limitSystem lets the system end this process when watch does not, some seconds later, and keeps it from leaving a core behind.
func limitSystem(memory int64, cpu time.Duration) {
	set := func(resource int, most int64) {
		var l syscall.Rlimit
		if syscall.Getrlimit(resource, &l) != nil {
			return
		}
		set, most := l, min(most, int64(min(uint64(l.Max), math.MaxInt64)))
		setMost(&set, most)
		_ = syscall.Setrlimit(resource, &set) // without it watch remains
	}
	set(syscall.RLIMIT_CPU, int64(cpu/time.Second)+3)
	set(syscall.RLIMIT_CORE, 0)
	if now := addressSpace(); now > 0 {
		set(syscall.RLIMIT_AS, now+2*memory+256<<20)
	}
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
