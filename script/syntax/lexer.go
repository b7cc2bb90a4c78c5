package syntax

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	end     kind = iota // of the text
	newline             // the end of a line that holds something
	word                // an identifier or keyword
	number
	quoted // a text in quotes
	sign   // punctuation, or a character that means nothing
)

// token is a piece of the source.
type token struct {
	kind     kind
	off, end int
	text     string  // as it is written; of a newline ""
	value    *String // of a text in quotes
	first    bool    // it is the first of its line
}

// lexer reads tokens one after another.
type lexer struct {
	*source
	off, limit int
	fresh      bool // nothing of this line has been read
	inText     bool // it reads a condition: lines do not end, and there are no comments
	indent     int  // of the line
	tabbed     bool // there are tabs in its indentation, which is reported
	passed     bool // a blank line has been passed since the line before
	comments   []Comment
	blank      []int
}

func isLetter(c byte) bool {
	return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' }

// next returns the next token. Blank lines are passed over and comments kept.
func (l *lexer) next() token {
	if l.fresh && !l.inText {
		if !l.start() {
			l.indent = -1
			return token{kind: end, off: l.limit, end: l.limit, first: true}
		}
		l.fresh = false
		return l.token(true)
	}
	for ; l.off < l.limit; l.off++ {
		switch c := l.text[l.off]; {
		case c == ' ' || c == '\t' || c == '\n' && l.inText:
			continue
		case c == '#' && !l.inText:
			l.comment(false)
			l.off--
			continue
		case c == '\n':
			t := token{kind: newline, off: l.off, end: l.off}
			l.off++
			l.fresh = true
			return t
		}
		return l.token(false)
	}
	if l.inText {
		return token{kind: end, off: l.limit, end: l.limit}
	}
	l.fresh = true
	return token{kind: newline, off: l.limit, end: l.limit}
}

// start finds the next line that holds a token, and its indentation. There is none at the end of the text.
func (l *lexer) start() bool {
	for l.off < l.limit {
		from := l.off
		for l.off < l.limit && (l.text[l.off] == ' ' || l.text[l.off] == '\t') {
			l.off++
		}
		if l.off == l.limit {
			return false
		}
		if l.text[l.off] == '\n' {
			l.off++
			l.passed = true
			continue
		}
		if l.passed {
			l.passed = false
			l.blank = append(l.blank, l.at.Line+l.source.index(l.off))
		}
		if l.text[l.off] == '#' {
			l.comment(true)
			l.off = min(l.off+1, l.limit)
			continue
		}
		indent := l.text[from:l.off]
		l.indent, l.tabbed = width(indent), false
		if tab := strings.IndexByte(indent, '\t'); tab >= 0 {
			l.tabbed = true
			l.errorf(from+tab, "got a tab in the indentation, want spaces")
		}
		return true
	}
	return false
}

func (l *lexer) comment(own bool) {
	at := l.off
	l.off = min(lineEnd(l.text, at), l.limit)
	l.comments = append(l.comments, Comment{Pos: l.pos(at), Text: strings.TrimRight(l.text[at+1:l.off], " \t"), Own: own})
}

func (l *lexer) token(first bool) token {
	at, c := l.off, l.text[l.off]
	t := token{off: at, first: first, kind: sign}
	switch {
	case isLetter(c):
		t.kind = word
		for l.off < l.limit && isWord(l.text[l.off]) {
			l.off++
		}
	case isDigit(c) || c == '-' && at+1 < l.limit && isDigit(l.text[at+1]):
		t.kind = number
		l.digits()
	case c == '"':
		t.kind = quoted
		t.value = l.quote()
	case at+1 < l.limit && l.text[at+1] == '=' && strings.IndexByte("=!<>", c) >= 0:
		l.off += 2
	case c < utf8.RuneSelf:
		l.off++
	default: // a word in letters that names do not have is one token
		for l.off < l.limit {
			r, size := utf8.DecodeRuneInString(l.text[l.off:l.limit])
			if l.off > at && !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' && r != '-' {
				break
			}
			l.off += size
			if !unicode.IsLetter(r) {
				break
			}
		}
	}
	t.end = l.off
	t.text = l.text[at:t.end]
	return t
}

// digits reads a number. Letters and dots that run on are part of it, so that it can be reported as a whole.
func (l *lexer) digits() {
	l.off++
	for l.off < l.limit {
		c := l.text[l.off]
		if !isWord(c) && (c != '.' || l.off+1 == l.limit || !isWord(l.text[l.off+1])) {
			break
		}
		l.off++
	}
}

// quote reads a text in quotes. What is wrong in it is reported here.
func (l *lexer) quote() *String {
	at := l.off
	to, closed := quoteEnd(l.text[:l.limit], at)
	l.off = to
	x := &String{Pos: l.pos(at)}
	marks := 1
	if strings.HasPrefix(l.text[at:to], `"""`) {
		x.Triple, marks = true, 3
	}
	switch {
	case closed:
		to -= marks
	case x.Triple:
		l.errorf(at, `the text is not closed; put """ at its end`)
	default:
		l.errorf(at, `the text is not closed; put " at its end, or """ around one of several lines`)
	}
	l.parts(x, at+marks, to)
	return x
}

// parts takes a text in quotes apart: its escapes, and what is interpolated.
func (l *lexer) parts(x *String, from, to int) {
	text := l.text[:to]
	var b strings.Builder
	plain := from // where what is not yet in b begins
	flush := func(i int) {
		b.WriteString(text[plain:i])
		if b.Len() > 0 {
			x.Parts = append(x.Parts, Part{Text: b.String()})
			b.Reset()
		}
	}
	for i := from; i < to; i++ {
		switch text[i] {
		case '\\':
			b.WriteString(text[plain:i])
			i++
			plain = i + 1
			if i == to {
				plain = i
				break
			}
			switch c := text[i]; c {
			case '\\', '"', '{', '}':
				b.WriteByte(c)
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				_, size := utf8.DecodeRuneInString(text[i:])
				l.errorf(i-1, `got the escape %s, want \\, \", \n, \t, \{ or \}`, strings.TrimSpace(`\`+text[i:i+size]))
				plain = i
			}
		case '{':
			names := interpolated(text[i:])
			if names == "" {
				continue
			}
			flush(i)
			x.Parts = append(x.Parts, Part{Ref: l.path(i+1, names)})
			i += len(names) + 1
			plain = i + 1
		}
	}
	flush(to)
}

// path is the reference that a path of names at off is.
func (l *lexer) path(off int, names string) *Ref {
	var ref *Ref
	for name := range strings.SplitSeq(names, ".") {
		at := l.pos(off)
		if ref == nil {
			ref = &Ref{Pos: at, Name: Name{at, name}}
		} else {
			ref.Path = append(ref.Path, Step{Pos: at, Key: name})
		}
		off += len(name) + 1
	}
	return ref
}

// interpolated is the path of names in the braces with which s begins, "" where they hold anything else.
func interpolated(s string) string {
	n := pathLength(s[1:])
	if n == 0 || n+1 >= len(s) || s[n+1] != '}' {
		return ""
	}
	names := s[1 : n+1]
	if first, _, _ := strings.Cut(names, "."); reserved[first] {
		return ""
	}
	return names
}

// pathLength is how much of the beginning of s is a path of names.
func pathLength(s string) int {
	i := 0
	for {
		if i == len(s) || !isLetter(s[i]) {
			return max(i-1, 0) // without the dot, if there was one
		}
		for i < len(s) && isWord(s[i]) {
			i++
		}
		if i == len(s) || s[i] != '.' {
			return i
		}
		i++
	}
}
