package syntax

import (
	"slices"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// ParseCondition reads a condition that stands alone, without the colon behind it; see [Cond]. At is the place of its first
// character. An empty condition is an error, and nil.
func ParseCondition(text string, at Pos) (*Cond, diagnostic.Problems) {
	s := newSource(text, at)
	p := newParser(lexer{source: s, limit: len(s.text)})
	from, to := trim(s.text, 0, len(s.text))
	if from == to {
		p.errorf(from, "got no condition, want one")
		return nil, s.told()
	}
	c := p.cond(from, to, "condition")
	if s.bad && c.Text == "" {
		return nil, s.told()
	}
	return c, s.told()
}

func trim(s string, from, to int) (int, int) {
	blank := func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
	for from < to && blank(s[from]) {
		from++
	}
	for from < to && blank(s[to-1]) {
		to--
	}
	return from, to
}

// cond reads the condition between two places, with its marks. There is at least one character.
func (p *parser) cond(from, to int, keyword string) *Cond {
	c := &Cond{Pos: p.pos(from)}
	if marked, ok := marksEnd(p.text[:to], from); ok && marked == to {
		c.Marks = "**"
		if strings.HasPrefix(p.text[from:], "***") {
			c.Marks = "***"
		}
		open := from
		from, to = trim(p.text, from+len(c.Marks), to-len(c.Marks))
		if from == to {
			p.fail(open, "got no condition between the marks, want one behind %s", keyword)
			return c
		}
	}
	if c.Text = plain(p.text[from:to]); c.Text == "****" {
		p.fail(from, "got no condition between the marks, want one behind %s", keyword)
		c.Text = ""
		return c
	}
	if strings.Contains(c.Text, "\n") {
		c.lines = strings.Split(c.Text, "\n")
		c.Text = strings.Join(c.lines, " ")
	}

	silent := *p.source
	silent.problems, silent.leftOver, silent.bad = nil, 0, false
	sub := newParser(lexer{source: &silent, off: from, limit: to, inText: true})
	sub.quiet = true
	sub.advance()
	if t := sub.anyOf(); t != nil && !sub.bad && sub.tok.kind == end {
		c.Test = t
		p.problems = append(p.problems, silent.problems...) // of texts in quotes
		p.source.bad = p.source.bad || silent.bad
	}
	c.Refs = p.named(from, to)
	switch {
	case sub.exceeded:
		p.errorf(from, "the condition is nested deeper than %d; give parts of it a name", MaxNesting)
	case c.Test == nil && c.Marks == "" && looksCompared(p.text[from:to]):
		p.report(diagnostic.SeverityWarning, from, "this is no comparison of two values, so that a judge decides it; write it between ** if that is meant")
	}
	return c
}

// plain is the text of a condition as it is kept: lines without text are left out, and white space outside of quotes is
// one space.
func plain(s string) string {
	var b strings.Builder
	space := ""
	for i := 0; i < len(s); {
		kind, next := readUnit(s, i)
		if kind == unitNote || kind == unitQuoted && s[i] == '*' {
			kind, next = unitText, i+1
		}
		switch kind {
		case unitEnd:
			space = "\n"
		case unitSpace:
			if space == "" {
				space = " "
			}
		default:
			b.WriteString(space)
			b.WriteString(s[i:next])
			space = ""
		}
		i = next
	}
	return b.String()
}

// looksCompared reports whether a sign of comparison stands in a sentence.
func looksCompared(s string) bool {
	for _, w := range strings.Fields(s) {
		switch w {
		case "=", "==", "!=", "<", "<=", ">", ">=", "&&", "||":
			return true
		}
	}
	return false
}

// named finds what could be the name of a value in a sentence: each path of names that is not in quotes.
func (p *parser) named(from, to int) []*Ref {
	var refs []*Ref
	for i := from; i < to; {
		switch c := p.text[i]; {
		case c == '"':
			end, closed := quoteEnd(p.text[:to], i)
			if !closed {
				end = i + 1
			}
			i = end
		case isLetter(c):
			n := pathLength(p.text[i:to])
			if i == from || !glued(p.text[i-1]) {
				path := strings.TrimRight(p.text[i:i+n], "-")
				refs = append(refs, p.path(i, path))
			}
			i += n
		default:
			i++
		}
	}
	return refs
}

// glued reports whether a name cannot begin behind c.
func glued(c byte) bool {
	return c == '\'' || c == '.' || isWord(c) || c >= 0x80
}

func (p *parser) anyOf() Test {
	x := p.allOf()
	for n := 1; x != nil; n++ {
		off := p.tok.off
		if !p.take("or") {
			break
		}
		at := p.pos(off)
		y := p.allOf()
		if y == nil || p.crowded(n) {
			return nil
		}
		x = joinTests(x, y, "or", at)
	}
	return x
}

func (p *parser) allOf() Test {
	x := p.oneTest()
	for n := 1; x != nil; n++ {
		off := p.tok.off
		if !p.take("and") {
			break
		}
		at := p.pos(off)
		y := p.oneTest()
		if y == nil || p.crowded(n) {
			return nil
		}
		x = joinTests(x, y, "and", at)
	}
	return x
}

func (p *parser) crowded(n int) bool {
	if n >= MaxNesting {
		p.tooDeep()
	}
	return p.bad
}

// joinTests joins two tests. Two that are expressions stay one.
func joinTests(x, y Test, op string, at Pos) Test {
	if a, ok := x.(*ExprTest); ok {
		if b, ok := y.(*ExprTest); ok {
			return &ExprTest{&Binary{Pos: at, Op: op, X: a.X, Y: b.X}}
		}
	}
	if op == "or" {
		return &OrTest{x, y}
	}
	return &AndTest{x, y}
}

func (p *parser) oneTest() Test {
	if p.depth++; p.depth > MaxNesting {
		p.depth--
		p.tooDeep()
		return nil
	}
	defer func() { p.depth-- }()
	if p.is("not") {
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
		exceeded := p.exceeded
		*p = before
		p.exceeded = exceeded
	}
	x := p.comparison()
	if x == nil || p.bad {
		return nil
	}
	ref, ok := x.(*Ref)
	if !ok || p.tok.kind != word || p.is("and") || p.is("or") {
		return &ExprTest{x}
	}
	return p.sentence(ref)
}

// sentence reads what a condition says of a value, in one of the known forms: nil for any other.
func (p *parser) sentence(ref *Ref) Test {
	verb := p.tok.text
	p.advance()
	switch verb {
	case "is":
		t := &IsTest{X: ref, Not: p.take("not"), Word: p.tok.text}
		if p.takeAny("present", "absent", "empty", "null", "true", "false") {
			return t
		}
	case "meets":
		if p.tok.kind == word {
			if y := p.ref(); y != nil {
				return &MeetsTest{ref, y}
			}
		}
	case "accepts", "certifies":
		if rest, ok := p.accepted(); ok {
			return &VerdictTest{V: ref, Form: verb, Rest: rest}
		}
	case "accepted":
		return &VerdictTest{V: ref, Form: "field", Word: verb}
	case "does":
		if p.take("not") && p.take("explicitly") && p.take("proceed") {
			return &VerdictTest{V: ref, Form: "proceeds"}
		}
	case "says":
		return p.said(ref)
	}
	return nil
}

func (p *parser) takeAny(words ...string) bool {
	return p.tok.kind == word && slices.Contains(words, p.tok.text) && p.take(p.tok.text)
}

// said reads what follows says: a word, or X is a failure, or X is acceptable.
func (p *parser) said(ref *Ref) Test {
	t := p.tok
	if t.kind == quoted && len(t.value.Parts) == 1 && t.value.Parts[0].Ref == nil {
		p.advance()
		return &VerdictTest{V: ref, Form: "says", Word: t.value.Parts[0].Text}
	}
	if t.kind != word || reserved[t.text] {
		return nil
	}
	x := p.ref()
	switch {
	case x == nil:
		return nil
	case p.take("is"):
		c := &CriteriaTest{K: ref, X: x, Word: "failure"}
		if p.take("a") {
			if p.take("failure") {
				return c
			}
			return nil
		}
		if c.Word = "acceptable"; p.take("acceptable") {
			return c
		}
		return nil
	case len(x.Path) > 0:
		return nil
	}
	return &VerdictTest{V: ref, Form: "says", Word: t.text}
}

// articles may stand before what a verdict accepts.
var articles = []string{"the", "a", "an", "this", "that", "its"}

// turns are words that make something else of "V accepts …".
var turns = []string{"no", "not", "none", "nothing", "neither", "nobody", "never", "hardly", "barely", "only", "if", "unless", "when", "but", "except",
	"without", "some", "part", "parts", "half", "almost", "that", "is", "too", "either"}

// accepted reads what a verdict accepts or certifies, up to an and, an or, or the end: a name; or an article and one or
// two words. More than that may say something else, and is left to a judge.
func (p *parser) accepted() (string, bool) {
	var words []string
	article := false
	for p.tok.kind == word && !p.is("and") && !p.is("or") {
		text, off := p.tok.text, p.tok.off
		switch {
		case len(words) == 0 && slices.Contains(articles, text):
			article = true
			p.advance()
		case reserved[text], slices.Contains(turns, text), strings.HasSuffix(text, "ly"):
			return "", false
		default:
			if p.ref() == nil {
				return "", false
			}
			text = p.text[off:p.last]
		}
		words = append(words, text)
	}
	n := len(words)
	return strings.Join(words, " "), !article && n == 1 || article && (n == 2 || n == 3)
}
