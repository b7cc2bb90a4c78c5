package syntax

import (
	"sort"
	"strings"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	end     kind = iota // of the text
	newline             // of a line that holds something
	word                // an identifier or keyword
	number
	quoted // a text in quotes
	sign   // punctuation
	broken // what is no token; fault says why
)

// token is a piece of the source.
type token struct {
	kind  kind
	off   int    // where it begins
	end   int    // where it ends
	text  string // as it is written; of a newline ""
	fault string
}

// source is the text with what is needed to say where something is in it.
type source struct {
	text  string
	lines []int // where each line begins
	at    Pos   // of the first character
	wide  []bool

	near, column int // an offset in a wide line, and its column: others are counted from there
}

func newSource(text string, at Pos) *source {
	s := &source{text: text, at: at, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	s.wide = make([]bool, len(s.lines))
	for i := range s.lines {
		s.wide[i] = strings.IndexFunc(s.line(i), func(r rune) bool { return r >= utf8.RuneSelf }) >= 0
	}
	return s
}

// line is the line of that index, without its end.
func (s *source) line(i int) string {
	to := len(s.text)
	if i+1 < len(s.lines) {
		to = s.lines[i+1] - 1
	}
	return strings.TrimSuffix(s.text[s.lines[i]:to], "\r")
}

// index is that of the line in which off stands.
func (s *source) index(off int) int { return sort.SearchInts(s.lines, off+1) - 1 }

func (s *source) pos(off int) Pos {
	i := s.index(off)
	column := off - s.lines[i]
	if s.wide[i] {
		from, before := s.lines[i], 0
		if from <= s.near && s.near <= off {
			from, before = s.near, s.column
		}
		column = before + utf8.RuneCountInString(s.text[from:off])
		s.near, s.column = off, column
	}
	return Pos{File: s.at.File, Line: s.at.Line + i, Column: s.at.Column + column}
}

// indent is how many spaces the line of off begins with.
func (s *source) indent(off int) int {
	start := s.lines[s.index(off)]
	n := 0
	for start+n < len(s.text) && s.text[start+n] == ' ' {
		n++
	}
	return n
}

// lexer reads tokens one after another, up to a limit.
type lexer struct {
	*source
	off, limit int
	fresh      bool // nothing of this line has been read
	comments   *[]Comment
}

func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' }

// next returns the next token. Blank lines and comments are passed over; comments are kept.
func (l *lexer) next() token {
	for l.off < l.limit {
		c := l.text[l.off]
		switch {
		case c == ' ' || c == '\r':
			l.off++
			continue
		case c == '\t' && !l.fresh:
			l.off++
			continue
		case c == '#':
			l.comment()
			continue
		case c == '\n':
			at := l.off
			l.off++
			if l.fresh {
				continue
			}
			l.fresh = true
			return token{kind: newline, off: at, end: at + 1}
		}
		l.fresh = false
		return l.token(c)
	}
	if !l.fresh {
		l.fresh = true
		return token{kind: newline, off: l.limit, end: l.limit}
	}
	return token{kind: end, off: l.limit, end: l.limit}
}

func (l *lexer) comment() {
	at := l.off
	to := strings.IndexByte(l.text[at:l.limit], '\n')
	if to < 0 {
		to = l.limit
	} else {
		to += at
	}
	if l.comments != nil {
		text := strings.TrimRight(l.text[at+1:to], " \t\r")
		*l.comments = append(*l.comments, Comment{Pos: l.pos(at), Text: text, Own: l.fresh})
	}
	l.off = to
}

func (l *lexer) token(c byte) token {
	at := l.off
	t := token{off: at}
	switch {
	case isLetter(c):
		for l.off < l.limit && isWord(l.text[l.off]) {
			l.off++
		}
		t.kind = word
	case isDigit(c) || c == '-' && at+1 < l.limit && isDigit(l.text[at+1]):
		l.digits()
		t.kind = number
	case c == '"':
		return l.quote()
	case c == '\t':
		for l.off < l.limit && (l.text[l.off] == '\t' || l.text[l.off] == ' ') {
			l.off++
		}
		t.kind, t.fault = broken, "a tab indents this line; blocks are indented with spaces alone"
	case at+1 < l.limit && strings.Contains("== != <= >=", l.text[at:at+2]) && l.text[at+1] == '=':
		l.off += 2
		t.kind = sign
	case strings.IndexByte("{}[](),:.=<>|*", c) >= 0:
		l.off++
		t.kind = sign
	default:
		r, size := utf8.DecodeRuneInString(l.text[at:l.limit])
		l.off += size
		t.kind, t.fault = broken, strange(r, size)
	}
	t.end = l.off
	t.text = l.text[at:t.end]
	return t
}

// strange says what is wrong with a character that begins no token.
func strange(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return "this byte is not UTF-8; save the file as UTF-8 text"
	case r < ' ' || r == 0x7F || r == 0xFEFF:
		return "this control character has no place here; remove it"
	case r == '\'' || r == '“' || r == '”' || r == '‘' || r == '’':
		return "texts stand in double quotes: \"…\""
	case strings.ContainsRune("+-/%", r):
		return "there is no arithmetic in the language; have a delegate work it out, or give it as an input"
	case r == ';':
		return "a statement ends with its line; remove the ;"
	case r == '&' || r == '!':
		return "write and, or, not"
	}
	return "got " + string(r) + ", which means nothing here"
}

func (l *lexer) digits() {
	l.off++
	for l.off < l.limit && isDigit(l.text[l.off]) {
		l.off++
	}
	if l.off+1 < l.limit && l.text[l.off] == '.' && isDigit(l.text[l.off+1]) {
		l.off++
		for l.off < l.limit && isDigit(l.text[l.off]) {
			l.off++
		}
	}
}

// quoted reads a text in quotes up to its end, whatever is in it.
func (l *lexer) quote() token {
	at := l.off
	t := token{kind: quoted, off: at}
	mark := `"`
	if strings.HasPrefix(l.text[at:l.limit], `"""`) {
		mark = `"""`
	}
	i := at + len(mark)
	for i < l.limit {
		switch {
		case l.text[i] == '\\':
			i += 2
			continue
		case strings.HasPrefix(l.text[i:l.limit], mark):
			t.end = i + len(mark)
			l.off = t.end
			t.text = l.text[at:t.end]
			return t
		case l.text[i] == '\n' && mark == `"`:
			l.off = i
			return token{kind: broken, off: at, end: i, text: l.text[at:i], fault: `the text is not closed; put a " at its end, or three around one of several lines`}
		}
		i++
	}
	l.off = l.limit
	fault := `the text is not closed; put a " at its end`
	if mark != `"` {
		fault = `the text is not closed; put """ at its end`
	}
	return token{kind: broken, off: at, end: l.limit, text: l.text[at:l.limit], fault: fault}
}
