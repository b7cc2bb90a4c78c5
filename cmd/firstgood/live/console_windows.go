package live

import (
	"os"
	"syscall"
)

// takesEscapes asks the console that f is to interpret escape sequences, and reports whether it will.
func takesEscapes(f *os.File) bool {
	const virtualTerminalProcessing = 0x4
	console := syscall.Handle(f.Fd())
	var mode uint32
	if syscall.GetConsoleMode(console, &mode) != nil {
		return false
	}
	if mode&virtualTerminalProcessing != 0 {
		return true
	}
	set := syscall.NewLazyDLL("kernel32.dll").NewProc("SetConsoleMode")
	ok, _, _ := set.Call(uintptr(console), uintptr(mode|virtualTerminalProcessing))
	return ok != 0
}
