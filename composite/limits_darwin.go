package composite

import "syscall"

func setMost(l *syscall.Rlimit, most int64) { l.Cur, l.Max = uint64(most), uint64(most) }

// addressSpace is not asked for: macOS does not hold RLIMIT_AS.
func addressSpace() int64 { return 0 }
