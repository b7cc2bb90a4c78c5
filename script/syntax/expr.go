package syntax

import (
	"math"
	"strconv"
)

// Values that hold a block, or a call with inputs below it, stand only where their last line ends the statement, input or
// entry: that is what value reads. What stands between operators, and in an index, is read by logic, and holds none.

// value reads what stands where a value does, up to the end of its line or block. It returns nil where it has reported
// something instead.
func (p *parser) value(indent int) Expr {
	if p.bad {
		return nil
	}
	if p.depth++; p.depth > MaxNesting {
		p.depth--
		p.tooDeep()
		return nil
	}
	defer func() { p.depth-- }()
	from := p.tok.off
	x := p.construct(indent)
	if x == nil && !p.bad {
		x = p.logic()
		if call, ok := x.(*Call); ok && !p.bad {
			p.below(call, indent)
		}
	}
	if p.bad {
		return x
	}
	piped := p.is("|") && (!p.broken() || p.indent > indent)
	if c, ok := p.deeper(indent); !piped && !(ok && c == '|') {
		return x
	}
	return &RefusedExpr{Pos: p.pos(from), What: "pipeline", Text: p.passOver(from, indent)}
}

func (p *parser) tooDeep() {
	p.exceeded = true
	p.fail(p.tok.off, "values are nested deeper than %d; give the inner ones a name", MaxNesting)
}

// logic reads or, and, not and comparisons. Those of one kind associate to the left.
func (p *parser) logic() Expr { return p.joined("or", func() Expr { return p.joined("and", p.not) }) }

func (p *parser) joined(op string, operand func() Expr) Expr {
	x := operand()
	for n := 1; x != nil; n++ {
		at := p.tok.off
		if !p.take(op) {
			break
		}
		if n == MaxNesting {
			p.fail(p.last, "more than %d values are joined by %s; give some a name", MaxNesting, op)
			return nil
		}
		y := operand()
		if y == nil {
			return nil
		}
		x = &Binary{Pos: p.pos(at), Op: op, X: x, Y: y}
	}
	return x
}

func (p *parser) not() Expr {
	at := p.tok.off
	if !p.is("not") || p.broken() {
		return p.comparison()
	}
	if p.depth++; p.depth > MaxNesting {
		p.depth--
		p.tooDeep()
		return nil
	}
	defer func() { p.depth-- }()
	pos := p.pos(at)
	p.advance()
	x := p.not()
	if x == nil {
		return nil
	}
	return &Unary{Pos: pos, Op: "not", X: x}
}

// comparing reports whether a comparison is in sight.
func (p *parser) comparing() bool {
	if p.tok.kind != sign || p.broken() {
		return false
	}
	switch p.tok.text {
	case "==", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

func (p *parser) comparison() Expr {
	x := p.operand()
	if x == nil || p.bad || !p.comparing() {
		return x
	}
	op, at := p.tok.text, p.pos(p.tok.off)
	p.advance()
	y := p.operand()
	if y == nil {
		return nil
	}
	if !p.bad && p.comparing() {
		p.fail(p.tok.off, "got %s behind a comparison; comparisons do not follow each other, join two with and", p.tok.text)
		return nil
	}
	return &Binary{Pos: at, Op: op, X: x, Y: y}
}

// operand reads one value without operators.
func (p *parser) operand() Expr {
	if p.bad {
		return nil
	}
	t := p.tok
	if p.broken() {
		p.want("a value")
		return nil
	}
	switch {
	case t.kind == quoted:
		p.advance()
		return t.value
	case t.kind == number:
		return p.number()
	case t.kind == word:
		return p.worded()
	case t.kind == sign && t.text == "(":
		return p.paren()
	case t.kind == sign && t.text == "[":
		return p.list()
	case t.kind == sign && t.text == "{":
		return p.object()
	}
	p.want("a value")
	return nil
}

func (p *parser) number() Expr {
	t := p.tok
	x := &Number{Pos: p.pos(t.off), Text: t.text}
	p.advance()
	digits := t.text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	dots := 0
	for _, c := range []byte(digits) {
		if c == '.' {
			dots++
		} else if !isDigit(c) {
			dots = 2
		}
	}
	f, err := strconv.ParseFloat(t.text, 64)
	switch {
	case dots > 1:
		p.fail(t.off, "got %s, want a number such as 3, -1 or 0.5, or a name, which begins with a letter", t.text)
	case err != nil || math.IsInf(f, 0):
		p.fail(t.off, "the number is too large")
	}
	x.Value = f
	return x
}

// worded reads a value that begins with a word.
func (p *parser) worded() Expr {
	t := p.tok
	switch t.text {
	case "true", "false":
		x := &Bool{Pos: p.pos(t.off), Value: t.text == "true"}
		p.advance()
		return x
	case "null":
		x := &Null{Pos: p.pos(t.off)}
		p.advance()
		return x
	case "call":
		if !p.inText {
			return p.call()
		}
	}
	if reserved[t.text] {
		p.want("a value")
		return nil
	}
	if p.begins() {
		p.fail(t.off, "got %s, want a value; a %[1]s has a line of its own: let NAME = %[1]s …", t.text)
		return nil
	}
	if what := p.refusable(false); what != "" && !p.inText {
		x := &RefusedExpr{Pos: p.pos(t.off), What: what}
		if c, apart := p.ahead(); c != '(' || apart {
			x.Text = p.passOver(t.off, p.indent)
			return x
		}
		if what == "session" || what == "resume" || what == "gate" || what == "output" {
			x.What = "function call"
		}
		to := functionEnd(p.text[:p.limit], t.end, p.indent)
		if to < 0 {
			p.missed(t.end)
			return nil
		}
		x.Text = reindent(p.text[t.off:to], p.indent, 0)
		p.jump(to)
		return x
	}
	if ref := p.ref(); ref != nil {
		return ref
	}
	return nil
}

// ref reads a name and the way from it into its value.
func (p *parser) ref() *Ref {
	n := p.name("a name")
	if p.bad {
		return nil
	}
	ref := &Ref{Pos: n.Pos, Name: n}
	for p.tok.off == p.last {
		at := p.tok.off
		switch {
		case p.is("."):
			step := Step{Pos: p.pos(at)}
			p.advance()
			if p.tok.kind != word || p.tok.off != p.last {
				p.want("the name of a key behind the dot")
				return nil
			}
			step.Key = p.tok.text
			p.advance()
			ref.Path = append(ref.Path, step)
		case p.is("["):
			step := Step{Pos: p.pos(at)}
			p.advance()
			if step.Index = p.within("]", at); step.Index == nil {
				return nil
			}
			ref.Path = append(ref.Path, step)
		default:
			return ref
		}
		if len(ref.Path) > MaxNesting {
			p.tooDeep()
			return nil
		}
	}
	return ref
}

// within reads one value up to a closing bracket, behind the opening one at open.
func (p *parser) within(closer string, open int) Expr {
	if p.depth++; p.depth > MaxNesting {
		p.depth--
		p.tooDeep()
		return nil
	}
	p.inside++
	defer func() { p.depth--; p.inside-- }()
	p.breaks()
	x := p.logic()
	if p.bad {
		return nil
	}
	if p.breaks(); !p.is(closer) {
		if p.tok.kind == end {
			p.missed(open)
		} else {
			p.want(closer)
		}
		return nil
	}
	p.advance()
	return x
}

func (p *parser) paren() Expr {
	open := p.tok.off
	p.advance()
	return p.within(")", open)
}

// breaks passes over the end of a line inside brackets.
func (p *parser) breaks() {
	for p.tok.kind == newline {
		p.advance()
	}
}

// between passes over the end of a line between items.
func (p *parser) between(header bool) {
	if !header {
		p.breaks()
	}
}

// missed reports a bracket that is not closed. Those around it are not, either, and say nothing.
func (p *parser) missed(open int) {
	if p.unclosed != p.tok.off {
		p.fail(open, "the %s is not closed", p.text[open:open+1])
	}
	p.unclosed, p.bad = p.tok.off, true
}

// items calls read for each item between brackets, the opening one of which is in sight, and returns where the closing
// one is. Items are apart by commas, by lines, or both; in a header, which has one line, by commas. After a wrong item
// it goes on with the next.
func (p *parser) items(closer string, header bool, read func(indent int)) (closed Pos) {
	open, base := p.tok.off, p.indent
	p.inside++
	defer func() { p.inside-- }()
	wrong := false
	p.advance()
	for {
		for p.between(header); wrong && p.is(","); p.between(header) { // what separates it from what was wrong
			p.advance()
		}
		if p.tok.kind == end || p.tok.kind == newline || p.tok.first && p.indent <= base && !p.is(closer) && !p.inText {
			if p.bad = wrong; !wrong {
				p.missed(open)
			}
			return closed
		}
		if p.is(closer) {
			closed = p.pos(p.tok.off)
			p.advance()
			p.bad = false
			return closed
		}
		begin := p.tok.off
		read(p.indent)
		wrong = p.bad
		if !p.bad && !p.take(",") && p.tok.kind != newline && !p.is(closer) && !p.tok.first {
			p.want("a comma or " + closer)
			wrong = true
		}
		if wrong && !p.resume(closer, base, begin) {
			return closed
		}
	}
}

// resume goes on behind a wrong item: at a comma, at the end of its line, or at the bracket that closes. It reports whether there
// is one.
func (p *parser) resume(closer string, base, begin int) bool {
	if p.unclosed == p.tok.off || p.tok.kind == end {
		return false
	}
	i, depth := p.tok.off, 0
	if p.tok.kind == newline || p.tok.first && i != begin {
		p.bad = false
		return true
	}
	for i < p.limit {
		kind, next := readUnit(p.text, i)
		switch {
		case kind == unitOpen:
			depth++
		case kind == unitClose && depth == 0:
			p.jump(i)
			p.bad = p.text[i:next] != closer // of the brackets around these
			return !p.bad
		case kind == unitClose:
			depth--
		case kind == unitComma && depth == 0, kind == unitEnd && depth == 0:
			p.jump(i)
			p.bad = false
			return true
		case kind == unitEnd:
			if indent, _ := nextLine(p.text, next); indent <= base {
				p.jump(i)
				p.bad = false
				return true
			}
		}
		i = next
	}
	p.jump(i)
	return false
}

func (p *parser) list() Expr {
	x := &List{Pos: p.pos(p.tok.off), Items: []Expr{}}
	x.End = p.items("]", false, func(indent int) {
		if item := p.value(indent); item != nil {
			x.Items = append(x.Items, item)
		}
	})
	return x
}

func (p *parser) object() Expr {
	x := &Object{Pos: p.pos(p.tok.off), Entries: []Entry{}}
	x.End = p.items("}", false, func(indent int) {
		t := p.tok
		switch t.kind {
		case word:
		case quoted:
			p.fail(t.off, "got a text, want the name of a key; keys stand without quotes")
			return
		default:
			p.want("the name of a key or }")
			return
		}
		e := Entry{Key: Name{p.pos(t.off), t.text}}
		p.advance()
		if p.is(":") {
			p.advance()
			if p.breaks(); p.is("}") {
				p.want("the value of " + t.text)
				return
			}
			e.Value = p.needed(indent)
		} else {
			if reserved[t.text] {
				p.fail(t.off, "got %s, want a name, or %[1]s: and a value; that word belongs to the language", t.text)
				return
			}
			e.Short, e.Value = true, &Ref{Pos: e.Key.Pos, Name: e.Key}
		}
		x.Entries = append(x.Entries, e)
	})
	return x
}
