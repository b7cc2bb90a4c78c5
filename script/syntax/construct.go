package syntax

import (
	"slices"
	"strings"
)

// begins reports whether the word in sight begins a construct with a block, or a do, rather than being a name.
func (p *parser) begins() bool {
	if p.tok.kind != word || p.inText {
		return false
	}
	c, _ := p.ahead()
	ahead := p.aheadWord()
	switch p.tok.text {
	case "for":
		return true
	case "parallel":
		return c == ':' || c == '(' || ahead == "for" || ahead == "repeat"
	case "repeat":
		return c == ':' || c == '(' || p.operandAhead()
	case "loop":
		return c == ':' || c == '(' || slices.Contains([]string{"until", "while", "up", "for", "as"}, ahead)
	case "do":
		return c == ':' || isLetter(c) && p.operandAhead()
	}
	return false
}

// construct reads what may stand only where its last line ends the value: nil where something else stands.
func (p *parser) construct(indent int) Expr {
	if p.tok.kind != word || p.broken() {
		return nil
	}
	if !p.begins() {
		return nil
	}
	pos := p.pos(p.tok.off)
	switch p.tok.text {
	case "parallel":
		return p.parallel(pos, indent)
	case "repeat":
		return p.repeat(pos, indent, false)
	case "for":
		return p.each(pos, indent, false)
	case "loop":
		return p.loop(pos, indent)
	}
	return p.do(pos, indent)
}

// call reads a call without the inputs that stand below it.
func (p *parser) call() Expr {
	begin := p.tok.off
	x := &Call{Pos: p.pos(begin)}
	p.advance()
	switch {
	case p.broken():
		p.want("the name of what is called")
		return nil
	case p.tok.kind == quoted:
		text := p.tok.value
		x.Quoted, x.Target = true, Name{Pos: text.Pos}
		p.advance()
		switch {
		case len(text.Parts) == 1 && text.Parts[0].Ref == nil:
			x.Target.Text = text.Parts[0].Text
		case len(text.Parts) == 0:
			p.fail(p.last-1, "got an empty text, want the name of what is called")
		default:
			p.fail(p.last-1, "got a text with { } in it, want the name of what is called, written out")
		}
	default:
		x.Target = p.name("the name of what is called")
	}
	if p.bad {
		return nil
	}
	if c, _ := p.ahead(); p.is("with") && (c == '{' || c == '\n') {
		return &RefusedExpr{Pos: x.Pos, What: "call with", Text: p.passOver(begin, p.indent)}
	}
	if p.is("(") && !p.broken() {
		x.Parens = true
		p.arguments(&x.Args)
	}
	return x
}

// below reads the inputs that stand below a call, indented more than indent.
func (p *parser) below(x *Call, indent int) {
	if c, _ := p.ahead(); p.is(":") && !p.broken() && c == '\n' {
		p.errorf(p.tok.off, "got a colon, want the end of the line; the inputs of a call stand below it, without a colon")
		p.advance()
	}
	if c, ok := p.deeper(indent); ok && c != '|' && !(p.inside > 0 && (isCloser(c) || c == ',')) {
		p.advance()
		x.Inputs = p.inputs(indent)
	}
}

// arguments reads values in parentheses.
func (p *parser) arguments(list *[]Expr) {
	p.items(")", false, func(indent int) {
		if c, _ := p.ahead(); p.tok.kind == word && c == ':' {
			p.fail(p.tok.off, "got %s:, want a value; inputs with names stand below the call, each on its line", p.tok.text)
			return
		}
		if arg := p.value(indent); arg != nil {
			*list = append(*list, arg)
		}
	})
}

// inputs reads the lines name: value below a call.
func (p *parser) inputs(outer int) []Input {
	saved := p.inside
	p.inside = 0
	defer func() { p.inside = saved }()
	list := []Input{}
	p.lines(outer, "the inputs", "|", func() {
		begin, indent := p.tok.off, p.indent
		p.begin = begin
		if in, ok := p.input(indent); ok {
			list = append(list, in)
		}
		if saved > 0 && !p.bad && !p.tok.first && p.tok.kind != newline { // a comma or bracket of what is around the call
			if p.is(",") || p.tok.kind == sign && isCloser(p.tok.text[0]) {
				return
			}
		}
		if !p.bad && p.is(",") && !p.broken() {
			p.fail(p.tok.off, "got a comma, want the end of the line; each input has its own")
		}
		p.endLine(indent, begin)
	})
	return list
}

func (p *parser) input(indent int) (in Input, ok bool) {
	if p.tok.kind != word {
		p.fail(p.tok.off, "got %s, want an input of the call, as NAME: VALUE", p.got())
		return in, false
	}
	in.Name = Name{p.pos(p.tok.off), p.tok.text}
	if c, _ := p.ahead(); c != ':' && slices.Contains(starts, in.Name.Text) {
		p.fail(p.tok.off, "got %s, want an input of the call, as NAME: VALUE; a statement is indented like the one before", in.Name.Text)
		return in, false
	}
	p.advance()
	if !p.expect(":", "a colon and the value of the input") {
		return in, false
	}
	if c, ok := p.deeper(indent); ok && (c == '{' || c == '[' || c == '"') { // it stands below
		p.advance()
		p.begin = p.tok.off
	}
	if p.tok.kind == newline || p.broken() {
		p.want("the value of " + in.Name.Text)
		return in, false
	}
	in.Value = p.needed(indent)
	return in, true
}

func (p *parser) parallel(at Pos, indent int) Expr {
	p.advance()
	switch {
	case p.is("for"):
		return p.each(at, indent, true)
	case p.is("repeat"):
		return p.repeat(at, indent, true)
	}
	x := &Parallel{Pos: at}
	x.Mods = p.mods()
	if c := p.tok.text; !p.bad && (c == "for" || c == "repeat") && !p.broken() {
		p.fail(p.tok.off, "got %s, want a colon; the modifiers of parallel %[1]s stand before its colon", c)
	}
	x.Body = p.body("parallel", indent)
	return x
}

var joins = []string{"all", "first", "any"}

var policies = []string{"fail-fast", "continue", "ignore"}

// mods reads the modifiers of a parallel, if there are any.
func (p *parser) mods() (m Mods) {
	if p.bad || p.broken() || !p.is("(") {
		return m
	}
	m.Pos = p.pos(p.tok.off)
	p.items(")", true, func(int) {
		t := p.tok
		if t.kind == quoted {
			if m.Join != "" {
				p.fail(t.off, "got a second way to join, want one of all, first and any")
				return
			}
			m.Join = p.choice("all, first or any", joins)
			return
		}
		if t.kind != word || t.text != "count" && t.text != "on-fail" {
			near := ""
			if t.kind == word {
				near = p.nearest(t.text, []string{"count", "on-fail"})
			}
			switch {
			case near != "":
				p.fail(t.off, "got %s, want a modifier; did you mean %s?", t.text, near)
			case slices.Contains(joins, t.text):
				p.fail(t.off, "got %s, want it in quotes: %[1]q", t.text)
			default:
				p.want(`a modifier: "all", "first", "any", count: N or on-fail: "…"`)
			}
			return
		}
		p.advance()
		if !p.expect(":", "a colon behind "+t.text) {
			return
		}
		switch {
		case t.text == "count" && m.Count != nil, t.text == "on-fail" && m.OnFail != "":
			p.fail(t.off, "got a second %s, want one", t.text)
		case t.text == "count":
			m.Count = p.logic()
		case p.tok.kind != quoted:
			p.want(`"fail-fast", "continue" or "ignore"`)
		default:
			m.OnFail = p.choice("fail-fast, continue or ignore", policies)
		}
	})
	return m
}

// choice takes a text in quotes that is one of the words.
func (p *parser) choice(want string, words []string) string {
	t := p.tok
	p.advance()
	text := ""
	for _, part := range t.value.Parts {
		if part.Ref != nil {
			p.fail(t.off, "got a text with { } in it, want %s, written out", want)
			return ""
		}
		text += part.Text
	}
	switch near := p.nearest(text, words); {
	case slices.Contains(words, text):
		return text
	case near != "":
		p.fail(t.off, "got %q, want %s; did you mean %s?", text, want, near)
	default:
		p.fail(t.off, "got %q, want %s", text, want)
	}
	return ""
}

// as takes as NAME.
func (p *parser) as(what string, to *Name) {
	if to.Text == "" && p.take("as") {
		*to = p.name(what)
	}
}

func (p *parser) repeat(at Pos, indent int, parallel bool) Expr {
	x := &Repeat{Pos: at, Parallel: parallel}
	p.advance()
	if p.is(":") && !p.broken() {
		p.want("how many times, such as repeat 3:")
	}
	x.Count = p.logic()
	p.as("a name for the count", &x.As)
	x.Mods = p.mods()
	p.as("a name for the count", &x.As)
	x.Body = p.body("repeat", indent)
	if x.Count == nil {
		x.Count = &Null{Pos: at}
	}
	return x
}

func (p *parser) each(at Pos, indent int, parallel bool) Expr {
	x := &For{Pos: at, Parallel: parallel}
	p.advance()
	x.Each = p.name("a name for the element")
	if p.take(",") {
		x.Index = p.name("a name for the place of the element")
	}
	if x.Each.Text == "each" && p.tok.kind == word && !p.is("in") {
		p.fail(p.tok.off, "got %s behind each, want in; write for %[1]s in xs:", p.tok.text)
	}
	p.expect("in", "in and a list")
	x.In = p.logic()
	x.Mods = p.mods()
	x.Body = p.body("for", indent)
	if x.In == nil {
		x.In = &Null{Pos: at}
	}
	return x
}

func (p *parser) loop(at Pos, indent int) Expr {
	begin := p.tok.off
	x := &Loop{Pos: at}
	switch p.aheadWord() {
	case "until", "while":
		p.advance()
		x.Word = p.tok.text
		x.Cond = p.condition("loop "+x.Word, true)
	case "up":
		p.advance()
		p.advance()
		p.expect("to", "to and a number")
		x.UpTo, x.Max = true, p.logic()
	case "for":
		return &RefusedExpr{Pos: at, What: "for each", Text: p.passOver(begin, indent)}
	default:
		p.advance()
	}
	if !p.bad && p.is("(") && !p.broken() {
		p.items(")", true, func(int) {
			t := p.tok
			if t.kind != word || t.text != "max" || x.Max != nil {
				p.want("max: and a number, once")
				return
			}
			p.advance()
			if p.expect(":", "a colon behind max") {
				x.Max = p.logic()
			}
		})
	}
	p.as("a name for the count", &x.As)
	x.Body = p.body("loop", indent)
	return x
}

func (p *parser) do(at Pos, indent int) Expr {
	x := &DoBlock{Pos: at}
	p.advance()
	if p.is(":") {
		if x.Body = p.body("do", indent); x.Body == nil {
			x.Body = []Stmt{}
		}
		return x
	}
	x.Name = p.name("a colon, or the name of a block")
	if !p.bad && p.is("(") && !p.broken() {
		x.Parens = true
		p.arguments(&x.Args)
	}
	return x
}

// condition reads the text of a condition, from behind the word in sight to the colon that ends its header, or, in a
// loop, to what stands before that. That is in sight afterwards.
func (p *parser) condition(keyword string, loop bool) *Cond {
	none := &Cond{Pos: p.pos(p.tok.off)}
	from := p.tok.end
	for from < p.limit && (p.text[from] == ' ' || p.text[from] == '\t') {
		from++
	}
	if marked := strings.HasPrefix(p.text[from:p.limit], "**"); marked {
		to, ok := marksEnd(p.text[:p.limit], from)
		if !ok {
			mark := "**"
			if strings.HasPrefix(p.text[from:p.limit], "***") {
				mark = "***"
			}
			p.jump(from)
			p.fail(from, "the condition is not closed; put %s behind it", mark)
			return none
		}
		c := p.cond(from, to, keyword)
		p.jump(to)
		if !p.bad && !p.is(":") && !(loop && (p.is("(") || p.is("as"))) {
			p.want("a colon; what stands between " + c.Marks + " is the whole condition")
		}
		return c
	}
	h := readHeader(p.text[:p.limit], from, loop)
	if h.open >= 0 {
		p.fail(h.open, `the text is not closed; put " at its end`)
		p.jump(h.condEnd)
		return none
	}
	c := none
	if h.condEnd > from {
		c = p.cond(from, h.condEnd, keyword)
	} else {
		p.fail(min(from, h.end), "got no condition, want one behind %s", keyword)
	}
	p.jump(h.condEnd)
	if h.inner >= 0 && !p.bad {
		p.jump(h.inner)
		p.fail(p.tok.off, "got %s, want the end of the line; what belongs to %s stands below, indented", p.got(), keyword)
	}
	return c
}

// header is where the parts of a header with a condition are.
type header struct {
	condEnd int // where the condition ends
	end     int // where the line ends, without its comment
	open    int // where a text begins that is not closed, -1 for none
	inner   int // where something stands behind the colon, -1 for nothing
}

// readHeader finds the parts of the header whose condition begins at from: it ends before the last colon of its line, and,
// in a loop, before (max: …) and as NAME.
func readHeader(s string, from int, loop bool) header {
	h := header{open: -1, inner: -1}
	colon, last, limits := -1, from, -1 // where the last colon, what stands last, and a (max: … begins
	depth := 0
	for i := from; i < len(s); {
		kind, next := readUnit(s, i)
		if kind == unitQuoted && s[i] == '*' {
			kind, next = unitText, i+1
		}
		if kind == unitEnd || kind == unitNote {
			break
		}
		switch kind {
		case unitQuoted:
			if _, closed := quoteEnd(s, i); !closed {
				h.open = i
			}
		case unitOpen:
			if s[i] == '(' && loop && strings.HasPrefix(strings.TrimLeft(s[next:], " "), "max") {
				limits, depth = i, 0
			}
			depth++
		case unitClose:
			depth--
		case unitColon:
			if limits < 0 || depth <= 0 {
				colon = i
			}
		}
		if i = next; kind != unitSpace {
			last = i
		}
	}
	h.end = last
	h.condEnd = last
	switch {
	case colon < 0:
	case colon == last-1 || loop && limits > colon:
		h.condEnd = colon
	default:
		h.condEnd = colon
		h.inner = colon + 1
	}
	if loop && limits >= 0 {
		h.condEnd, h.inner = limits, -1
	} else if loop && colon == last-1 {
		h.condEnd = beforeAs(s, from, colon)
	}
	for h.condEnd > from && (s[h.condEnd-1] == ' ' || s[h.condEnd-1] == '\t') {
		h.condEnd--
	}
	return h
}

// beforeAs is where as NAME begins at the end of s[from:to]; to without one.
func beforeAs(s string, from, to int) int {
	words := strings.TrimRight(s[from:to], " \t")
	i := len(words)
	for i > 0 && isWord(words[i-1]) {
		i--
	}
	before := strings.TrimRight(words[:i], " \t")
	if i == len(words) || !isLetter(words[i]) || len(before) == i || !strings.HasSuffix(before, " as") {
		return to
	}
	return from + len(before) - len("as")
}
