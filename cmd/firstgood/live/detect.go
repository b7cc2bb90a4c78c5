package live

import (
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// Detect returns what can be shown where f leads, by f itself and by the environment that getenv reads, such as
// [os.Getenv]. It is Live when f is a terminal that takes cursor movements: on Windows a console that agreed to, elsewhere
// one whose TERM is neither empty nor "dumb". NO_COLOR, set to anything, means no colours. Characters beyond ASCII need a
// locale of UTF-8 (the first set of LC_ALL, LC_CTYPE and LANG says so), or Windows Terminal.
func Detect(f *os.File, getenv func(string) string) Screen {
	fd := int(f.Fd())
	terminal := term.IsTerminal(fd)
	if terminal && runtime.GOOS == "windows" {
		terminal = takesEscapes(f)
	}
	screen := decide(terminal, runtime.GOOS, getenv)
	if screen.Live {
		screen.Size = func() (cols, rows int) {
			cols, rows, err := term.GetSize(fd)
			if err != nil {
				return 0, 0
			}
			return cols, rows
		}
	}
	return screen
}

func decide(terminal bool, goos string, getenv func(string) string) Screen {
	var s Screen
	switch getenv("TERM") {
	case "dumb":
	case "":
		s.Live = terminal && goos == "windows"
	default:
		s.Live = terminal
	}
	s.Color = s.Live && getenv("NO_COLOR") == ""
	s.Unicode = utf8Locale(getenv) || goos == "windows" && getenv("WT_SESSION") != ""
	return s
}

func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if locale := getenv(name); locale != "" {
			locale = strings.ToLower(locale)
			return strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
		}
	}
	return false
}
