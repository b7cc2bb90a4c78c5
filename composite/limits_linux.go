package composite

import (
	"fmt"
	"os"
	"syscall"
)

// limitAddressSpace makes one allocation fail that is far too large. A process of Go has much more address space than it
// uses, so that what it has is added.
func limitAddressSpace(memory int64) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return
	}
	var pages int64
	if _, err := fmt.Sscan(string(text), &pages); err == nil {
		setLimit(syscall.RLIMIT_AS, pages*int64(os.Getpagesize())+2*memory+256<<20)
	}
}
