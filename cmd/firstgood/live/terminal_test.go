package live

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// terminal is a small terminal: it interprets what the view writes, and nothing else. Lines that have wrapped are
// joined again when its width changes, and cut anew, as most terminals do.
type terminal struct {
	mu         sync.Mutex
	cols, rows int
	lines      []physical // the scrollback, then the screen
	top        int        // the screen's first line
	y, x       int        // the cursor; y counts from the first of lines
	nowrap     bool
	hidden     bool
	pen        string
	colors     bool // show where colours begin and end
	writes     int
	wrong      []string // what it did not understand
}

type physical struct {
	cells   []cell
	wrapped bool // goes on in the next line
}

// cell is one column: a character with its marks, "" where the one before is wide.
type cell struct{ text, pen string }

func newTerminal(cols, rows int) *terminal {
	return &terminal{cols: cols, rows: rows, lines: make([]physical, 1)}
}

func (t *terminal) size() (cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cols, t.rows
}

// written is how many writes there were.
func (t *terminal) written() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.writes
}

// height is how many lines there are, the scrollback's included.
func (t *terminal) height() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.lines)
}

func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes++
	s := string(p)
	for s != "" {
		switch {
		case strings.HasPrefix(s, "\x1b["):
			end := strings.IndexFunc(s[2:], func(r rune) bool { return r >= '@' && r <= '~' })
			if end < 0 {
				t.wrong = append(t.wrong, "an escape sequence without an end")
				return len(p), nil
			}
			t.escape(s[2:2+end], s[2+end])
			s = s[3+end:]
		case s[0] == '\r':
			t.x = 0
			s = s[1:]
		case s[0] == '\n':
			t.x = 0
			t.down()
			s = s[1:]
		default:
			r := []rune(s[:min(4, len(s))])[0]
			t.put(r)
			s = s[len(string(r)):]
		}
	}
	return len(p), nil
}

func (t *terminal) escape(arg string, final byte) {
	switch all := arg + string(final); {
	case final == 'A':
		n, err := strconv.Atoi(arg)
		if err != nil || n < 1 {
			t.wrong = append(t.wrong, all)
		}
		t.y = max(t.top, t.y-n)
	case all == "K":
		if line := &t.lines[t.y]; len(line.cells) > t.x {
			line.cells = line.cells[:t.x]
		}
		if t.x == 0 { // some terminals remember that a line goes on until all of it is erased
			t.lines[t.y].wrapped = false
		}
	case all == "J":
		t.escape("", 'K')
		t.lines = t.lines[:t.y+1]
	case all == "?7l", all == "?7h":
		t.nowrap = final == 'l'
	case all == "?25l", all == "?25h":
		t.hidden = final == 'l'
	case final == 'm':
		if t.pen = arg; arg == "0" {
			t.pen = ""
		}
	default:
		t.wrong = append(t.wrong, all)
	}
}

func (t *terminal) down() {
	t.y++
	for len(t.lines) <= t.y {
		t.lines = append(t.lines, physical{})
	}
	t.top = max(t.top, t.y-t.rows+1)
}

func (t *terminal) put(r rune) {
	n := cells(r)
	if n == 0 && (r < ' ' || t.x == 0) {
		t.wrong = append(t.wrong, fmt.Sprintf("%U", r))
		return
	}
	line := &t.lines[t.y]
	if n == 0 {
		at := t.x - 1
		for line.cells[at].text == "" {
			at--
		}
		line.cells[at].text += string(r)
		return
	}
	if t.x+n > t.cols {
		if t.nowrap {
			t.x = t.cols - n
		} else {
			line.wrapped = true
			t.x = 0
			t.down()
			line = &t.lines[t.y]
		}
	}
	for len(line.cells) < t.x+n {
		line.cells = append(line.cells, cell{text: " "})
	}
	line.cells[t.x] = cell{string(r), t.pen}
	if n == 2 {
		line.cells[t.x+1] = cell{"", t.pen}
	}
	t.x += n
}

// resize changes the size, as when somebody draws at the window's corner.
func (t *terminal) resize(cols, rows int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []physical
	y, x := 0, 0
	for i := 0; i < len(t.lines); i++ {
		var whole []cell
		at := -1 // of the cursor, in the whole line
		for ; ; i++ {
			if i == t.y {
				at = len(whole) + t.x
			}
			whole = append(whole, t.lines[i].cells...)
			if !t.lines[i].wrapped {
				break
			}
		}
		for first := true; first || len(whole) > 0 || at >= 0; first = false {
			n := min(cols, len(whole))
			if n < len(whole) && whole[n].text == "" { // a wide one does not fit
				n--
			}
			if at >= 0 && (at < n || n == len(whole)) {
				y, x = len(lines), min(at, cols-1)
				at = -1
			} else if at >= 0 {
				at -= n
			}
			lines = append(lines, physical{whole[:n:n], n < len(whole)})
			whole = whole[n:]
		}
	}
	t.lines, t.y, t.x, t.cols, t.rows = lines, y, x, cols, rows
	t.top = max(0, len(lines)-rows)
}

func (t *terminal) row(i int) string {
	var b strings.Builder
	pen := ""
	for _, c := range t.lines[i].cells {
		if t.colors && c.pen != pen {
			pen = c.pen
			fmt.Fprintf(&b, "{%s}", pen)
		}
		b.WriteString(c.text)
	}
	if pen != "" {
		b.WriteString("{}")
	}
	return strings.TrimRight(b.String(), " ")
}

// screen is what is to be seen, with the cursor's line marked as such where it is not below everything else.
func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for i := t.top; i < len(t.lines); i++ {
		if i == t.y && i == len(t.lines)-1 && t.x == 0 && t.row(i) == "" {
			break
		}
		mark := ""
		if i == t.y {
			mark = fmt.Sprintf("<cursor at %d>", t.x)
		}
		fmt.Fprintf(&b, "%s%s\n", t.row(i), mark)
	}
	return b.String()
}

// scrollback is what has left the screen at its top.
func (t *terminal) scrollback() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for i := range t.top {
		fmt.Fprintln(&b, t.row(i))
	}
	return b.String()
}

// state says what is not as a program should leave a terminal, "" for nothing.
func (t *terminal) state() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var wrong []string
	if t.hidden {
		wrong = append(wrong, "the cursor is hidden")
	}
	if t.nowrap {
		wrong = append(wrong, "lines do not wrap")
	}
	if t.pen != "" {
		wrong = append(wrong, "colour "+t.pen+" is on")
	}
	return strings.Join(append(wrong, t.wrong...), "; ")
}
