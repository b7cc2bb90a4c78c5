// Package syntax reads and prints ProseScript, the language of the steps in a document.
package syntax

import (
	"github.com/firstgood/firstgood/diagnostic"
)

// Parse reads a script. At is the place of its first character, in the column of what is not indented; a zero line or column
// stands for the first. All that is wrong is reported at once, by place, each with its line. The script is never nil and
// holds what could be read, also then: a value that could not be read is null in it.
func Parse(src string, at Pos) (*Script, diagnostic.Problems) {
	s := newSource(src, at)
	p := newParser(lexer{source: s, limit: len(s.text), fresh: true})
	p.advance()
	body := p.statements(-1)
	return &Script{Body: body, Comments: p.comments, blank: p.blank}, s.told()
}

// parser reads statements with one token in sight.
//
// What is wrong sets bad, and nothing more is reported until the place where reading can go on: the next entry in
// brackets, input, or statement. Whoever passes over to such a place unsets it.
type parser struct {
	lexer
	tok      token
	last     int // where the token before tok ended
	begin    int // where the statement or input begins
	depth    int // of values in each other
	blocks   int // of blocks in each other
	inside   int // of brackets
	bad      bool
	quiet    bool // nothing is reported
	exceeded bool // MaxNesting
	unclosed int  // where a bracket was missed, so that it is missed once
}

func newParser(l lexer) *parser { return &parser{lexer: l, unclosed: -1} }

// advance takes the token in sight and looks at the next one.
func (p *parser) advance() {
	p.last = p.tok.end
	p.tok = p.lexer.next()
}

// jump goes on at an offset of this line.
func (p *parser) jump(off int) {
	p.lexer.off, p.lexer.fresh = off, false
	p.tok = token{end: off}
	p.advance()
}

// fail reports what keeps this entry, input or statement from being read.
func (p *parser) fail(off int, format string, args ...any) {
	if !p.bad && !p.quiet {
		p.errorf(off, format, args...)
	}
	p.bad = true
}

// want reports the token in sight, where another was wanted.
func (p *parser) want(what string) {
	off := p.tok.off
	if p.broken() { // it is the line before that lacks something
		off = p.last
	}
	if reason := misplaced(p.tok); reason != "" && !p.broken() {
		p.fail(off, "got %s, want %s; %s", p.got(), what, reason)
		return
	}
	p.fail(off, "got %s, want %s", p.got(), what)
}

// broken reports whether the token in sight stands on a line of its own, to which what is being read does not reach.
func (p *parser) broken() bool {
	return p.tok.first && !p.inText && p.inside == 0 && p.tok.off != p.begin
}

// got describes the token in sight.
func (p *parser) got() string {
	switch {
	case p.tok.kind == end || p.tok.kind == newline || p.broken():
		return "the end of the line"
	case p.tok.kind == quoted:
		return "a text"
	case p.tok.text == ",":
		return "a comma"
	case p.tok.text == ".":
		return "a dot"
	case p.tok.text == ":":
		return "a colon"
	}
	return p.tok.text
}

// misplaced says what to do about a character that means nothing.
func misplaced(t token) string {
	if t.kind != sign {
		return ""
	}
	switch t.text {
	case "+", "-", "*", "/", "%":
		return "there is no arithmetic; have a delegate work it out, or give it as an input"
	case "'", "“", "”", "‘", "’", "`":
		return `texts stand in double quotes: "…"`
	case "&", "!":
		return "write and, or, not"
	case ";":
		return "a statement ends with its line"
	}
	if t.text[0] >= 0x80 && len(t.text) > 1 {
		return "names have the letters a to z, digits, _ and -"
	}
	return ""
}

// is reports whether the token in sight is that word or sign.
func (p *parser) is(text string) bool {
	return p.tok.text == text && p.tok.kind != quoted && p.tok.kind != newline
}

// take passes over that word or sign.
func (p *parser) take(text string) bool {
	if p.bad || p.broken() || !p.is(text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) expect(text, what string) bool {
	if p.take(text) {
		return true
	}
	p.want(what)
	return false
}

// ahead is the next character on this line behind the token in sight, and whether white space stands before it: '\n' at the end
// of the line.
func (p *parser) ahead() (c byte, apart bool) {
	for i := p.tok.end; i < p.limit; i++ {
		switch c := p.text[i]; c {
		case ' ', '\t':
			apart = true
		case '#':
			return '\n', apart
		default:
			return c, apart
		}
	}
	return '\n', apart
}

// aheadWord is the next word on this line behind the token in sight, "" for none.
func (p *parser) aheadWord() string {
	i := p.tok.end
	for i < p.limit && (p.text[i] == ' ' || p.text[i] == '\t') {
		i++
	}
	from := i
	if i < p.limit && isLetter(p.text[i]) {
		for i < p.limit && isWord(p.text[i]) {
			i++
		}
	}
	return p.text[from:i]
}

// deeper reports whether the next line is indented more than base, and its first character. The end of a line is in sight.
func (p *parser) deeper(base int) (c byte, ok bool) {
	if p.tok.kind != newline || p.inText {
		return 0, false
	}
	indent, first := nextLine(p.text, p.tok.end)
	if indent <= base {
		return 0, false
	}
	return p.text[first], true
}

// statements reads the lines of one block: those that are indented more than outer, all alike.
func (p *parser) statements(outer int) []Stmt {
	list := []Stmt{}
	p.lines(outer, "the block", "", func() {
		if s := p.statement(); s != nil {
			list = append(list, s)
		}
	})
	return list
}

// lines calls read for each line that is indented more than outer, up to one that begins with stop. They should be indented
// alike.
func (p *parser) lines(outer int, what, stop string, read func()) {
	if p.blocks++; p.blocks > MaxNesting {
		p.blocks--
		p.errorf(p.tok.off, "blocks are nested deeper than %d; make a block of the inner ones, or a function", MaxNesting)
		p.skipDeeper(outer)
		return
	}
	defer func() { p.blocks-- }()
	indent := p.indent
	for p.tok.first && p.tok.kind != end && p.indent > outer && !p.is(stop) {
		switch {
		case p.indent == indent || p.tabbed:
		case p.indent > indent:
			p.errorf(p.tok.off, "got an indentation of %d, want %d as in the line above; only what belongs to a call or to a line that ends in a colon is indented more", p.indent, indent)
			p.lines(indent, what, stop, read)
			continue
		case outer < 0:
			p.errorf(p.tok.off, "got an indentation of %d, want %d as in the lines above", p.indent, indent)
			indent = p.indent
		default:
			p.errorf(p.tok.off, "got an indentation of %d, want %d to stay in %s or %d to leave it", p.indent, indent, what, outer)
			indent = p.indent
		}
		before := p.tok.off
		read()
		if p.tok.off == before && p.tok.kind != end { // nothing reads this
			p.fail(before, "got %s, want a statement", p.tok.text)
			p.endLine(p.indent, before)
		}
	}
}

// skipDeeper passes over lines that are indented more than base. The first token of a line is in sight.
func (p *parser) skipDeeper(base int) {
	for p.tok.kind != end && p.indent > base {
		p.skipLine()
	}
}

// skipLine passes over what is left of the line, whatever it is. It reports whether it ends in a colon.
func (p *parser) skipLine() (header bool) {
	i := p.tok.off
	for i < p.limit && p.tok.kind != newline {
		kind, next := readUnit(p.text, i)
		if kind == unitEnd {
			break
		}
		if i = next; kind != unitSpace && kind != unitNote {
			header = kind == unitColon
		}
	}
	p.jump(i)
	if p.tok.kind == newline {
		p.advance()
	}
	return header
}

// endLine ends a statement or an input, which began at p.begin with this indentation: with the end of its line, or with a
// block. After something wrong it passes over what belongs to it, but reads what looks like a block of statements, for
// what is wrong in there.
func (p *parser) endLine(indent, begin int) {
	if !p.bad {
		if p.tok.kind == newline {
			p.advance()
			return
		}
		if p.tok.first && p.tok.off != begin {
			return
		}
		p.want("the end of the line")
	}
	p.bad = false
	header := false
	if !p.tok.first || p.tok.off == begin {
		header = p.skipLine()
	}
	if p.tok.kind != end && p.indent > indent {
		if header {
			p.statements(indent)
		} else {
			p.skipDeeper(indent)
		}
	}
	for p.tok.kind == sign && isCloser(p.tok.text[0]) && p.indent == indent {
		p.skipLine()
	}
}
