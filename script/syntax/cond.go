package syntax

import (
	"regexp"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// ParseCondition reads a condition that stands alone, without the colon behind it; see [Cond]. The cond is nil where there
// is none.
func ParseCondition(text string, at Pos) (*Cond, diagnostic.Problems) {
	p := newParser(newSource(text, at), 0, len(text))
	c := p.cond(0, len(text), "if")
	return c, p.finish()
}

// condition reads a condition up to the colon that ends its header, and the end of that line. The word before it is in
// sight. It returns nil where there is none, and has reported it.
func (p *parser) condition(word string) *Cond {
	from, to, ok := p.raw(p.tok.end)
	if !ok {
		p.skipLine()
		return nil
	}
	return p.cond(from, to, word)
}

// raw finds the text from an offset up to the colon that ends a header, and goes on behind the colon. Between marks
// of three stars it may have several lines.
func (p *parser) raw(off int) (from, to int, ok bool) {
	text := p.lexer.source.text
	from = off
	for from < p.limit && (text[from] == ' ' || text[from] == '\t') {
		from++
	}
	i := from
	for _, mark := range []string{"***", "**"} {
		if !strings.HasPrefix(text[from:p.limit], mark) {
			continue
		}
		closed := strings.Index(text[from+len(mark):p.limit], mark)
		line := strings.IndexByte(text[from+len(mark):p.limit], '\n')
		if closed < 0 || mark == "**" && line >= 0 && line < closed {
			p.errorf(from, "the condition is not closed; put %s behind it", mark)
			return 0, 0, false
		}
		i = from + len(mark) + closed + len(mark)
		break
	}
	for ; i < p.limit && text[i] != '\n'; i++ {
		switch text[i] {
		case '"':
			if closed := strings.IndexAny(text[i+1:p.limit], "\"\n"); closed >= 0 && text[i+1+closed] == '"' {
				i += closed + 1
			}
		case ':':
			rest := i + 1
			for rest < p.limit && strings.IndexByte(" \t\r", text[rest]) >= 0 {
				rest++
			}
			if rest < p.limit && text[rest] != '\n' && text[rest] != '#' {
				continue
			}
			p.lexer.off, p.lexer.fresh = i+1, false
			p.tok = token{kind: sign, off: i, end: i + 1, text: ":"}
			p.advance()
			return from, i, true
		}
	}
	p.errorf(max(min(i, p.limit)-1, from-1, 0), "the header does not end in a :, or something stands behind it on its line")
	p.lexer.off, p.lexer.fresh = min(i, p.limit), false
	p.tok = token{kind: newline, off: i, end: i}
	p.advance()
	return 0, 0, false
}

// cond reads the condition between two places.
func (p *parser) cond(from, to int, word string) *Cond {
	text := p.lexer.source.text
	for from < to && strings.IndexByte(" \t\r\n", text[from]) >= 0 {
		from++
	}
	for from < to && strings.IndexByte(" \t\r\n", text[to-1]) >= 0 {
		to--
	}
	c := &Cond{Pos: p.pos(from)}
	for _, mark := range []string{"***", "**"} {
		if to-from >= 2*len(mark) && strings.HasPrefix(text[from:to], mark) && strings.HasSuffix(text[from:to], mark) {
			c.Marks = mark
			from, to = from+len(mark), to-len(mark)
			break
		}
	}
	for from < to && strings.IndexByte(" \t\r\n", text[from]) >= 0 {
		from++
	}
	c.Text = strings.Join(strings.Fields(text[from:to]), " ")
	if c.Text == "" {
		p.errorf(max(from-1, 0), "the condition is empty; write %s CONDITION:", word)
		return nil
	}
	for i := from; i < to; i++ {
		if b := text[i]; b < ' ' && b != '\n' && b != '\r' && b != '\t' || b == 0x7F {
			p.errorf(i, "the condition holds the control character U+%04X; remove it", b)
			return nil
		}
	}
	if test := p.test(from, to); test != nil {
		c.Test = test
		return c
	}
	c.Refs = p.named(from, to)
	return c
}

// path is a name with keys behind it, as it stands in a sentence.
var path = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*`)

// named finds what could be the name of a value in a sentence.
func (p *parser) named(from, to int) []*Ref {
	var refs []*Ref
	for _, found := range path.FindAllStringIndex(p.lexer.source.text[from:to], -1) {
		at := p.pos(from + found[0])
		names := strings.Split(p.lexer.source.text[from+found[0]:from+found[1]], ".")
		ref := &Ref{Pos: at, Name: Name{at, strings.TrimRight(names[0], "-")}}
		for _, key := range names[1:] {
			ref.Path = append(ref.Path, Step{Pos: at, Key: key})
		}
		refs = append(refs, ref)
	}
	return refs
}

// test reads a condition that is decided without discretion, and nil for any other. Nothing is reported.
func (p *parser) test(from, to int) Test {
	sub := newParser(p.source, from, to)
	sub.fresh = false
	sub.depth = p.depth
	sub.advance()
	t := sub.anyOf()
	sub.breaks()
	if t == nil || sub.tok.kind != end || len(sub.problems) > 0 {
		return nil
	}
	return t
}

func (p *parser) anyOf() Test {
	x := p.allOf()
	for x != nil && p.take("or") {
		y := p.allOf()
		if y == nil {
			return nil
		}
		x = joinTests(x, y, "or", p)
	}
	return x
}

func (p *parser) allOf() Test {
	x := p.oneTest()
	for x != nil && p.take("and") {
		y := p.oneTest()
		if y == nil {
			return nil
		}
		x = joinTests(x, y, "and", p)
	}
	return x
}

// joinTests joins two tests. Two that are expressions stay one.
func joinTests(x, y Test, op string, p *parser) Test {
	if a, ok := x.(*ExprTest); ok {
		if b, ok := y.(*ExprTest); ok {
			return &ExprTest{&Binary{Pos: a.X.Place(), Op: op, X: a.X, Y: b.X}}
		}
	}
	if op == "or" {
		return &OrTest{x, y}
	}
	return &AndTest{x, y}
}

func (p *parser) oneTest() Test {
	p.breaks()
	if p.depth++; p.depth > MaxNesting {
		p.depth--
		return nil
	}
	defer func() { p.depth-- }()
	if p.is("not") && p.tok.kind == word {
		at := p.pos(p.tok.off)
		p.advance()
		x := p.oneTest()
		if e, ok := x.(*ExprTest); ok {
			return &ExprTest{&Unary{Pos: at, Op: "not", X: e.X}}
		}
		if x == nil {
			return nil
		}
		return &NotTest{x}
	}
	if p.is("(") {
		before := *p
		p.advance()
		if x := p.anyOf(); x != nil && p.take(")") && !p.comparing() {
			return x
		}
		*p = before
	}
	x := p.comparison()
	if x == nil || len(p.problems) > 0 {
		return nil
	}
	p.breaks()
	ref, ok := x.(*Ref)
	if !ok || p.tok.kind != word || p.is("and") || p.is("or") {
		return &ExprTest{x}
	}
	return p.sentence(ref)
}

func (p *parser) comparing() bool {
	return p.tok.kind == sign && strings.Contains("== != < <= > >=", p.tok.text)
}

// sentence reads what a condition says of a value, in one of the known forms.
func (p *parser) sentence(ref *Ref) Test {
	verb := p.tok.text
	p.advance()
	p.breaks()
	switch verb {
	case "is":
		not := p.take("not")
		switch p.tok.text {
		case "present", "absent", "empty", "null", "true", "false":
			t := &IsTest{X: ref, Not: not, Word: p.tok.text}
			if p.tok.kind != word {
				return nil
			}
			p.advance()
			return t
		}
	case "meets":
		if p.tok.kind == word {
			if y := p.ref(); y != nil {
				return &MeetsTest{ref, y}
			}
		}
	case "accepts", "certifies":
		if rest, ok := p.rest(); ok {
			return &VerdictTest{V: ref, Form: verb, Rest: rest}
		}
	case "accepted":
		return &VerdictTest{V: ref, Form: "field", Word: verb}
	case "does":
		if p.take("not") && p.take("explicitly") && p.take("proceed") {
			return &VerdictTest{V: ref, Form: "proceeds"}
		}
	case "says":
		if p.tok.kind != word {
			return nil
		}
		said := p.tok.text
		before := *p
		if x := p.ref(); x != nil && p.take("is") {
			p.take("a")
			switch {
			case p.is("failure"), p.is("acceptable"):
				t := &CriteriaTest{K: ref, X: x, Word: p.tok.text}
				p.advance()
				return t
			}
			return nil
		}
		*p = before
		p.advance()
		return &VerdictTest{V: ref, Form: "says", Word: said}
	}
	return nil
}

// rest reads the words that follow, up to an and, an or, or the end: at least one.
func (p *parser) rest() (string, bool) {
	var words []string
	for p.tok.kind == word && !p.is("and") && !p.is("or") {
		words = append(words, p.tok.text)
		p.advance()
		for p.is(".") {
			p.advance()
			if p.tok.kind != word {
				return "", false
			}
			words[len(words)-1] += "." + p.tok.text
			p.advance()
		}
		p.breaks()
	}
	return strings.Join(words, " "), len(words) > 0
}
