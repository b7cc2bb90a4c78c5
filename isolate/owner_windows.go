package isolate

import (
	"errors"
	"io/fs"
	"strconv"
	"syscall"
)

// processStart tells one process from another that got its number later, by the time of its start. The error is
// fs.ErrNotExist when there is no such process, or it has ended.
func processStart(pid int) (string, error) {
	const queryLimitedInformation = 0x1000
	handle, err := syscall.OpenProcess(queryLimitedInformation, false, uint32(pid))
	if errors.Is(err, syscall.Errno(87)) { // ERROR_INVALID_PARAMETER
		return "", fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = syscall.CloseHandle(handle) }()
	var code uint32
	if err := syscall.GetExitCodeProcess(handle, &code); err == nil && code != 259 { // STILL_ACTIVE
		return "", fs.ErrNotExist
	}
	var creation, exit, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(handle, &creation, &exit, &kernel, &user); err != nil {
		return "", err
	}
	return strconv.FormatInt(creation.Nanoseconds(), 36), nil
}

func ownedByUs(fs.FileInfo) bool { return true }
