//go:build unix && !linux

package isolate

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/firstgood/firstgood/process"
)

// processStart tells one process from another that got its number later, by the second of its start. The error is
// fs.ErrNotExist when there is no such process.
func processStart(pid int) (string, error) {
	result, err := process.Run(context.Background(), process.Spec{
		Argv: []string{"ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)},
		Env:  []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"},
	})
	if err != nil {
		return "", err
	}
	state, since, _ := strings.Cut(strings.TrimSpace(string(result.Stdout)), " ")
	if result.ExitCode != 0 || state == "" || strings.HasPrefix(state, "Z") {
		return "", fs.ErrNotExist
	}
	started, err := time.Parse("Mon Jan _2 15:04:05 2006", strings.TrimSpace(since))
	if err != nil {
		return "", fmt.Errorf("start of process %d: %w", pid, err)
	}
	return strconv.FormatInt(started.Unix(), 36), nil
}
