package command

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"
)

// Harmless returns the names of the variables that every program gets of this process's environment: where things
// are, who runs it, and in which language it shall speak. LC_* stands for all that begin so. None of them is
// there to carry a key; proxies are not among them, since their addresses may hold a password.
func Harmless() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "NO_COLOR", "TZ", "LANG", "LANGUAGE", "LC_*",
		"TMPDIR", "TMP", "TEMP", "SSL_CERT_FILE", "SSL_CERT_DIR",
		"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
		// Windows
		"SystemRoot", "SystemDrive", "windir", "ComSpec", "PATHEXT", "OS",
		"USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ProgramData",
		"ProgramFiles", "ProgramFiles(x86)", "ProgramW6432", "CommonProgramFiles",
		"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE",
	}
}

// environ returns the environment of a program, and the values in it that are secret, with those of more.
func environ(pass []string, fixed map[string]string, more []string) ([]string, secrets) {
	var environment []string
	var hidden secrets
	add := func(name, value string) {
		environment = append(environment, name+"="+value)
		if secret := strings.TrimSpace(value); looksSecret(name) && len(secret) >= shortestSecret {
			hidden = append(hidden, secret)
		}
	}
	for _, name := range slices.Concat(Harmless(), pass) {
		if value, ok := os.LookupEnv(name); ok {
			add(name, value)
		}
	}
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "LC_") {
			add(name, value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fixed)) {
		add(name, fixed[name])
	}
	for _, secret := range more {
		if secret = strings.TrimSpace(secret); len(secret) >= shortestSecret {
			hidden = append(hidden, secret)
		}
	}
	// A secret that is part of another must not leave the rest of it.
	slices.SortFunc(hidden, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return environment, hidden
}

// shortestSecret keeps a value such as the 1 of MAX_TOKENS=1 from blotting out half a message.
const shortestSecret = 4

func looksSecret(name string) bool {
	name = strings.ToUpper(name)
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// secrets are values that must not be seen, the longest first.
type secrets []string

// hide blots the secrets out of text. When text was cut at its start, it may begin with the end of one.
func (s secrets) hide(text string, cut bool) string {
	if cut {
		start := 0
		for _, secret := range s {
			for n := len(secret) - 1; n > start; n-- {
				if strings.HasPrefix(text, secret[len(secret)-n:]) {
					start = n
				}
			}
		}
		text = text[start:]
	}
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}
