package config

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// mask knows where in a file credentials stand, so that no message and no shown line holds one.
type mask struct {
	regions []region // in order
	open    bool     // the last region has no end yet
	values  []string // credentials as they would appear in a text
}

// region is a piece of the source that must not be shown: from a credential's start to the next node's.
type region struct{ from, to Pos }

// node tells the mask that a key or value starts at pos; nodes come in the order of the file.
func (m *mask) node(pos Pos) {
	if m.open {
		m.regions[len(m.regions)-1].to, m.open = pos, false
	}
}

// hide tells the mask that the value from pos to end is a credential; without an end it goes on to the next node.
func (m *mask) hide(pos, end Pos, value string) {
	m.regions, m.open = append(m.regions, region{pos, end}), end.Line == 0
	m.value(value)
}

// value tells the mask of a credential that may appear elsewhere. Short values are left alone: they are
// words that occur in any message.
func (m *mask) value(value string) {
	if value = strings.TrimSpace(value); len(value) >= 6 {
		m.values = append(m.values, value)
	}
}

// text returns s without the credentials.
func (m *mask) text(s string) string {
	for _, value := range m.values {
		s = strings.ReplaceAll(s, value, strings.Repeat("*", len([]rune(value))))
	}
	return s
}

// line returns the source line of the given number with stars for what must not be seen, as wide as it was.
func (m *mask) line(number int, line string) string {
	runes := []rune(line)
	for _, g := range m.regions {
		endless := g.to.Line == 0
		if number < g.from.Line || !endless && number > g.to.Line {
			continue
		}
		from, to := 0, len(runes)
		if number == g.from.Line {
			from = g.from.Column - 1
		}
		if !endless && number == g.to.Line {
			to = min(to, g.to.Column-1)
		}
		for i := from; i < to; i++ {
			if runes[i] != ' ' && runes[i] != '\t' {
				runes[i] = '*'
			}
		}
	}
	return string(runes)
}

// secretWords are the parts of a key that make its value a credential.
var secretWords = []string{"apikey", "token", "secret", "password", "passwd", "credential", "credentials", "authorization", "auth", "bearer", "cookie"}

// isSecretKey reports whether what stands under the key is not to be shown.
func isSecretKey(key string) bool {
	return key == "headers" || key == "env" || isCredentialKey(key)
}

// isCredentialKey reports whether the key names a credential.
func isCredentialKey(key string) bool {
	if fold(key) == "first_token" || fold(key) == "max_token" { // a span of time, and what max_tokens is meant by
		return false
	}
	words := strings.Split(fold(key), "_")
	if last := words[len(words)-1]; last == "key" || last == "keys" {
		return true
	}
	return fold(key) == "api_key_env" || slices.ContainsFunc(words, func(word string) bool { return slices.Contains(secretWords, word) })
}

// isVariableName reports whether s is the name of a variable and not, by its look, a key that was put in its place.
func isVariableName(s string) bool {
	lower, digit := strings.ContainsFunc(s, unicode.IsLower), strings.ContainsFunc(s, unicode.IsDigit)
	random := len(s) >= 20 && lower && digit
	return justName.MatchString(s) && !random
}

var (
	secretText   = regexp.MustCompile(`(?i)\bbearer\s|\bbasic\s|(api[-_]?key|token|secret|password|authorization|cookie)\s*[:=]|://[^/\s]*@|://\S*[?&][^=&\s]+=[^{$&\s]|\bsk-`)
	justSpan     = regexp.MustCompile(`^[0-9]{1,5}(ms|s|m|h)?$`)
	justName     = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	justVariable = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
)

// isSecretValue reports whether the value itself looks as if it held a credential.
func isSecretValue(value string) bool {
	if !strings.ContainsAny(value, ":= ") && !strings.Contains(strings.ToLower(value), "sk-") {
		return false // most values, without the cost of the regular expression
	}
	return secretText.MatchString(value)
}

// secretLine reports whether the line of a file that could not be read may hold a credential: by its own words, by
// a long run of letters and digits, or because a key above it says so.
func (r *reading) secretLine(number int) bool {
	line := harmlessKeys.ReplaceAllString(r.line(number), "")
	if lineSecret.MatchString(line) || longToken.MatchString(line) {
		return true
	}
	indent := indentation(line)
	for n := number - 1; n >= 1 && indent > 0; n-- {
		above := r.line(n)
		if strings.TrimSpace(above) == "" || indentation(above) >= indent {
			continue
		}
		indent = indentation(above)
		key, _, _ := strings.Cut(strings.TrimLeft(strings.TrimSpace(above), "- "), ":")
		if isSecretKey(strings.Trim(key, `"' `)) {
			return true
		}
	}
	return false
}

var (
	harmlessKeys = regexp.MustCompile(`\b(first_token|max_tokens|tokens):`)
	lineSecret   = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth|bearer|cookie|headers|\benv\b|://\S*[@?]|\bsk-`)
	longToken    = regexp.MustCompile(`[A-Za-z0-9_+/=-]{24,}`)
)

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }
