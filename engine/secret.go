package engine

import (
	"cmp"
	"slices"
	"strings"
)

// secrets are values that must not be seen, the longest first, so that one that is part of another leaves nothing of it.
type secrets []string

// shortestSecret keeps a value such as the 1 of MAX_TOKENS=1 from blotting out half a text.
const shortestSecret = 4

// secretsOf returns the values in an environment whose names say that they are secret, and those that were read of it,
// which may be.
func secretsOf(environ, read []string) secrets {
	var found secrets
	for _, value := range read {
		if value = strings.TrimSpace(value); len(value) >= shortestSecret {
			found = append(found, value)
		}
	}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if value = strings.TrimSpace(value); len(value) >= shortestSecret && soundsSecret(name) {
			found = append(found, value)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return found
}

// hide blots the secrets out of a text. One that was cut at its start may begin inside a secret, and loses as much as
// that could be.
func (s secrets) hide(text string, cut bool) string {
	if cut && len(s) > 0 {
		text = text[min(len(text), len(s[0])-1):]
	}
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, "[secret]")
	}
	return text
}

// soundsSecret reports whether a variable's name says that its value is secret.
func soundsSecret(name string) bool {
	name = strings.ToUpper(name)
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"},
		func(word string) bool { return strings.Contains(name, word) })
}

// public returns the variables of an environment whose names do not say that they are secret.
func public(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return soundsSecret(name)
	})
}
