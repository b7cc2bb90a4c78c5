package live

import (
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// escapes are the sequences by which a text would command a terminal: those that start with CSI, those that hold a
// string (titles, links), and the short ones. What is malformed loses its control characters alone.
var escapes = regexp.MustCompile(`(?:\x1b\[|\x{9b})[0-?]*[ -/]*[@-~]` +
	`|(?:\x1b[\]PX^_]|[\x{90}\x{98}\x{9d}-\x{9f}])[^\x07\x1b\x{9c}]*(?:\x07|\x1b\\|\x{9c})` +
	`|\x1b[ -/]*[0-~]`)

// maxMarks is how many combining marks a character keeps; no script needs more.
const maxMarks = 4

// Clean returns s as one line that commands nothing: without escape sequences, control and format characters, with
// white space as single spaces, and with U+FFFD for what is no character.
func Clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = escapes.ReplaceAllString(s, "")
	}
	var b strings.Builder
	space, marks := false, maxMarks
	for _, r := range s {
		switch {
		case unicode.IsSpace(r), r == '\u2028', r == '\u2029':
			space, marks = b.Len() > 0, maxMarks
			continue
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			continue
		case cells(r) == 0:
			if marks++; marks > maxMarks {
				continue // also one that has nothing to stand on
			}
		default:
			marks = 0
			if !unicode.IsPrint(r) {
				r = '\uFFFD'
			}
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// cleanASCII is Clean for terminals that show ASCII alone.
func cleanASCII(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < utf8.RuneSelf:
			return r
		case cells(r) == 0:
			return -1
		}
		return '?'
	}, Clean(s))
}

// width is how many columns a clean text takes.
func width(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

// cut returns the clean text s, or as much of it as fits in room columns together with the ellipsis, which is left out
// where it would take more than a third of the room.
func cut(s string, room int, ellipsis string) string {
	if len(s) <= room || width(s) <= room {
		return s
	}
	if 3*width(ellipsis) > room {
		ellipsis = ""
	}
	room -= width(ellipsis)
	for i, r := range s {
		if room -= cells(r); room < 0 {
			return strings.TrimRight(s[:i], " ,;:") + ellipsis
		}
	}
	return s
}

// seconds is how long something took: milliseconds below a tenth of a second, tenths below a minute.
func seconds(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%dms", max(0, d.Milliseconds()))
	case d < time.Minute:
		return tenths(d)
	}
	return coarse(d)
}

// ticking is how long something takes so far: it changes ten times a second at first, later every second.
func ticking(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return tenths(max(0, d))
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return coarse(d)
}

func tenths(d time.Duration) string {
	return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
}

func coarse(d time.Duration) string {
	if d < time.Hour {
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
}

// writer puts a line together.
type writer struct {
	b     strings.Builder
	cells int
	color bool
}

func (w *writer) text(s string) {
	w.b.WriteString(s)
	w.cells += width(s)
}

func (w *writer) painted(color, s string) {
	if w.color {
		w.b.WriteString(paintText(color, s))
		w.cells += width(s)
		return
	}
	w.text(s)
}

// pad fills the line up with spaces.
func (w *writer) pad(cells int) {
	if w.cells < cells {
		w.text(strings.Repeat(" ", cells-w.cells))
	}
}

func (w *writer) line() line { return line{w.b.String(), w.cells} }

func paintText(color, s string) string { return "\x1b[" + color + "m" + s + "\x1b[0m" }
