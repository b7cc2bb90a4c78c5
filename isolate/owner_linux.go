package isolate

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// processStart tells one process from another that got its number later: the boot, and the clock tick of the start. The error
// is fs.ErrNotExist when there is no such process.
func processStart(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		if os.IsNotExist(err) || strings.Contains(err.Error(), "no such process") {
			return "", fs.ErrNotExist
		}
		return "", err
	}
	// The second field is the program's name in brackets, and may contain anything.
	rest := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(rest) < 20 {
		return "", fmt.Errorf("/proc/%d/stat: cannot be read", pid)
	}
	if rest[0] == "Z" || rest[0] == "X" {
		return "", fs.ErrNotExist // dead, though nobody has asked yet how
	}
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // without it the tick has to do
	return string(boot[:min(8, len(boot))]) + "." + rest[19], nil
}
