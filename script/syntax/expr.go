package syntax

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// values are the words that begin a value of several words.
var values = []string{"call", "parallel", "repeat", "for", "loop", "do"}

// expression reads what stands where a value does: a value, or a call, a loop or another construct that gives one. It
// returns nil where there is none, and has reported it. The caller ends the line; constructs with a block have ended it.
func (p *parser) expression(indent int) Expr {
	if p.tok.kind != word {
		return p.logic()
	}
	at, next := p.pos(p.tok.off), p.peek()
	plain := next.kind == newline || next.kind == end || next.kind == sign && next.text != ":" && next.text != "(" && next.text != "*"
	if what := refusedWord(p.tok.text, next); what != "" && !(p.tok.text == "input" && next.text != "(") {
		return &RefusedExpr{Pos: at, What: what, Text: p.extent(p.tok.off, indent)}
	}
	if plain && !(slices.Contains(values, p.tok.text) && (next.kind == newline || next.kind == end)) && p.tok.text != "repeat" {
		return p.logic()
	}
	switch p.tok.text {
	case "call":
		return p.call(indent, at)
	case "parallel":
		return p.parallel(indent, at)
	case "repeat":
		return p.repeat(indent, at, false)
	case "for":
		return p.each(indent, at, false)
	case "loop":
		return p.loop(indent, at)
	case "do":
		return p.do(indent, at)
	}
	return p.logic()
}

// inner reads a value that stands in another one.
func (p *parser) inner() Expr {
	if p.depth++; p.depth > MaxNesting {
		p.errorf(p.tok.off, "values are nested deeper than %d", MaxNesting)
		p.depth--
		p.skipLine()
		return nil
	}
	defer func() { p.depth-- }()
	return p.logic()
}

// logic reads or, and, not and comparisons. Those of one kind associate to the left.
func (p *parser) logic() Expr { return p.joined("or", func() Expr { return p.joined("and", p.not) }) }

func (p *parser) joined(op string, operand func() Expr) Expr {
	x := operand()
	for n := 0; x != nil && p.is(op) && p.tok.kind == word; n++ {
		at := p.pos(p.tok.off)
		if n == 1000 {
			p.errorf(p.tok.off, "more than 1000 values are joined by %s", op)
			return nil
		}
		p.advance()
		y := operand()
		if y == nil {
			return nil
		}
		x = &Binary{Pos: at, Op: op, X: x, Y: y}
	}
	return x
}

func (p *parser) not() Expr {
	if !p.is("not") || p.tok.kind != word {
		return p.comparison()
	}
	at := p.pos(p.tok.off)
	p.advance()
	if p.depth++; p.depth > MaxNesting {
		p.errorf(p.tok.off, "values are nested deeper than %d", MaxNesting)
		p.depth--
		p.skipLine()
		return nil
	}
	defer func() { p.depth-- }()
	x := p.not()
	if x == nil {
		return nil
	}
	return &Unary{Pos: at, Op: "not", X: x}
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) comparison() Expr {
	x := p.operand()
	if x == nil || p.tok.kind != sign || !slices.Contains(comparisons, p.tok.text) {
		return x
	}
	at, op := p.pos(p.tok.off), p.tok.text
	p.advance()
	y := p.operand()
	if y == nil {
		return nil
	}
	if p.tok.kind == sign && slices.Contains(comparisons, p.tok.text) {
		p.errorf(p.tok.off, "comparisons do not follow each other; join two with and")
		return nil
	}
	return &Binary{Pos: at, Op: op, X: x, Y: y}
}

// operand reads one value.
func (p *parser) operand() Expr {
	at := p.pos(p.tok.off)
	switch {
	case p.tok.kind == quoted:
		return p.literal()
	case p.tok.kind == number:
		f, err := strconv.ParseFloat(p.tok.text, 64)
		if err != nil || f-f != 0 {
			p.errorf(p.tok.off, "the number is out of range")
		}
		x := &Number{Pos: at, Text: p.tok.text, Value: f}
		p.advance()
		return x
	case p.tok.kind == word && (p.is("true") || p.is("false")):
		x := &Bool{Pos: at, Value: p.is("true")}
		p.advance()
		return x
	case p.tok.kind == word && p.is("null"):
		p.advance()
		return &Null{Pos: at}
	case p.tok.kind == word:
		if ref := p.ref(); ref != nil {
			return ref
		}
		return nil
	case p.is("["):
		return p.list(at)
	case p.is("{"):
		return p.object(at)
	case p.is("("):
		p.advance()
		x := p.inner()
		if x == nil || !p.want(")", "a )") {
			return nil
		}
		return x
	}
	p.unexpected("a value")
	return nil
}

// ref reads a name and the way from it into its value.
func (p *parser) ref() *Ref {
	n, ok := p.name("a name")
	if !ok {
		return nil
	}
	ref := &Ref{Pos: n.Pos, Name: n}
	for {
		at := p.pos(p.tok.off)
		switch {
		case p.is("."):
			p.advance()
			key, ok := p.key()
			if !ok {
				return nil
			}
			ref.Path = append(ref.Path, Step{Pos: at, Key: key})
		case p.is("[") && p.tok.off == p.last:
			p.advance()
			x := p.inner()
			if x == nil || !p.want("]", "a ]") {
				return nil
			}
			ref.Path = append(ref.Path, Step{Pos: at, Index: x})
		default:
			return ref
		}
		if len(ref.Path) > 1000 {
			p.errorf(p.tok.off, "more than 1000 steps lead into a value")
			return nil
		}
	}
}

// key takes the name of a key, which may be any word.
func (p *parser) key() (string, bool) {
	if p.tok.kind != word {
		p.unexpected("the name of a key")
		return "", false
	}
	key := p.tok.text
	p.advance()
	return key, true
}

// lines passes over the ends of lines inside brackets.
func (p *parser) breaks() (any bool) {
	for p.tok.kind == newline {
		p.advance()
		any = true
	}
	return any
}

// between passes over what separates two items, and reports whether there was any.
func (p *parser) between() bool {
	apart := p.breaks()
	if p.take(",") {
		apart = true
		p.breaks()
	}
	return apart
}

func (p *parser) list(at Pos) Expr {
	x := &List{Pos: at, Items: []Expr{}}
	p.advance()
	p.breaks()
	for !p.is("]") {
		item := p.inner()
		if item == nil {
			return nil
		}
		x.Items = append(x.Items, item)
		if !p.between() && !p.is("]") {
			p.unexpected("a , or ]")
			return nil
		}
	}
	p.advance()
	return x
}

func (p *parser) object(at Pos) Expr {
	x := &Object{Pos: at, Entries: []Entry{}}
	p.advance()
	p.breaks()
	for !p.is("}") {
		e := Entry{Key: Name{Pos: p.pos(p.tok.off), Text: p.tok.text}}
		switch p.tok.kind {
		case word:
		case quoted:
			p.errorf(p.tok.off, "a key stands without quotes: { name: value }")
			return nil
		default:
			p.unexpected("a key, or }")
			return nil
		}
		p.advance()
		if p.take(":") {
			p.breaks()
			if e.Value = p.inner(); e.Value == nil {
				return nil
			}
		} else {
			e.Short = true
			e.Value = &Ref{Pos: e.Key.Pos, Name: e.Key}
		}
		x.Entries = append(x.Entries, e)
		if !p.between() && !p.is("}") {
			p.unexpected("a , or }")
			return nil
		}
	}
	p.advance()
	return x
}

var interpolated = regexp.MustCompile(`^\{([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*)\}`)

// text reads a text in quotes: its escapes, and what is interpolated.
func (p *parser) literal() Expr {
	x := &String{Pos: p.pos(p.tok.off)}
	marks := 1
	if strings.HasPrefix(p.tok.text, `"""`) {
		x.Triple, marks = true, 3
	}
	from, written := p.tok.off+marks, p.tok.text[marks:len(p.tok.text)-marks]
	written = strings.ReplaceAll(written, "\r\n", "\n")
	exact := len(written) == len(p.tok.text)-2*marks // else offsets have moved, and places are those of the text
	place := func(i int) int {
		if exact {
			return from + i
		}
		return p.tok.off
	}
	var plain strings.Builder
	flush := func() {
		if plain.Len() > 0 {
			x.Parts = append(x.Parts, Part{Text: plain.String()})
			plain.Reset()
		}
	}
	for i := 0; i < len(written); {
		switch c := written[i]; {
		case c == '\\' && i+1 < len(written):
			switch next := written[i+1]; next {
			case '\\', '"', '{', '}':
				plain.WriteByte(next)
			case 'n':
				plain.WriteByte('\n')
			case 't':
				plain.WriteByte('\t')
			default:
				p.errorf(place(i), `\%s is no escape; there are \\ \" \n \t \{ and \}`, string([]rune(written[i+1:])[:1]))
			}
			i += 2
			continue
		case c == '{':
			if found := interpolated.FindStringSubmatch(written[i:]); found != nil {
				flush()
				at := p.pos(place(i + 1))
				names := strings.Split(found[1], ".")
				ref := &Ref{Pos: at, Name: Name{at, names[0]}}
				for _, key := range names[1:] {
					ref.Path = append(ref.Path, Step{Pos: at, Key: key})
				}
				x.Parts = append(x.Parts, Part{Ref: ref})
				i += len(found[0])
				continue
			}
		case c < ' ' && c != '\n' && c != '\t' || c == 0x7F:
			p.errorf(place(i), "the text holds the control character U+%04X; remove it", c)
		}
		plain.WriteByte(written[i])
		i++
	}
	flush()
	p.advance()
	return x
}

func (p *parser) call(indent int, at Pos) Expr {
	x := &Call{Pos: at}
	p.advance()
	switch p.tok.kind {
	case quoted:
		text := p.literal().(*String)
		x.Quoted = true
		x.Target.Pos = text.Pos
		for _, part := range text.Parts {
			if part.Ref != nil {
				p.errorf(p.last-1, "the name of what is called is written out, without { }")
			}
			x.Target.Text += part.Text
		}
		if x.Target.Text == "" {
			p.errorf(p.last-1, "the name of what is called is empty")
		}
	case word:
		x.Target, _ = p.name("the name of what is called")
	default:
		p.unexpected("the name of what is called")
		return nil
	}
	if p.is("with") {
		p.errorf(p.tok.off, "call … with is not run; write each input below the call, as name: value")
		p.extent(p.tok.off, indent)
		x.Inputs = []Input{}
		return x
	}
	if p.is("(") {
		p.advance()
		x.Parens = true
		p.breaks()
		for !p.is(")") {
			arg := p.inner()
			if arg == nil {
				return nil
			}
			x.Args = append(x.Args, arg)
			if !p.between() && !p.is(")") {
				p.unexpected("a , or )")
				return nil
			}
		}
		p.advance()
	}
	if p.take(":") { // some write it
		p.errorf(p.last-1, "a call has no : behind it; its inputs stand below, indented")
	}
	if p.tok.kind != newline {
		return x
	}
	if ahead := p.peek(); ahead.kind != end && p.indent(ahead.off) > indent {
		p.advance()
		x.Inputs = p.inputs(indent)
	}
	return x
}

// inputs reads the lines name: value below a call.
func (p *parser) inputs(outer int) []Input {
	list := []Input{}
	indent := -1
	for p.tok.kind != end {
		if p.tok.kind == newline {
			p.advance()
			continue
		}
		here := p.indent(p.tok.off)
		if here <= outer {
			break
		}
		if indent < 0 {
			indent = here
		}
		if here != indent {
			p.errorf(p.tok.off, "this line is indented by %d, and the inputs of the call by %d", here, indent)
			p.skipLine()
			continue
		}
		in := Input{Name: Name{p.pos(p.tok.off), p.tok.text}}
		if p.tok.kind != word {
			p.unexpected("an input of the call, as name: value")
			p.skipLine()
			continue
		}
		p.advance()
		if !p.take(":") {
			p.errorf(p.last, "got %s, want a : and a value; below a call stand its inputs, as name: value", p.got())
			p.skipLine()
			continue
		}
		nested := p.tok.kind == newline && p.peek().kind != end && p.indent(p.peek().off) > indent
		if nested {
			ahead := p.peek()
			if open := p.first(ahead.off); open != "{" && open != "[" && open != `"` {
				p.errorf(p.last-1, "the value of %s stands on the same line, or below it in { } or [ ]", in.Name.Text)
				p.skipLine()
				for p.tok.kind != end && (p.tok.kind == newline || p.indent(p.tok.off) > indent) {
					p.advance()
				}
				continue
			}
			p.breaks()
		}
		in.Value = p.inner()
		if in.Value == nil {
			p.skipLine()
			continue
		}
		p.endLine("the end of the line")
		list = append(list, in)
	}
	return list
}

// text1 is the first character at an offset.
func (p *parser) first(off int) string { return p.lexer.source.text[off : off+1] }

// header takes the : of a construct with a block, and the block.
func (p *parser) header(of string, indent int) ([]Stmt, bool) {
	if !p.colon("the header of the " + of) {
		p.spoilt(indent)
		return nil, false
	}
	return p.body(indent), true
}

func (p *parser) parallel(indent int, at Pos) Expr {
	p.advance()
	switch {
	case p.is("for"):
		return p.each(indent, at, true)
	case p.is("repeat"):
		return p.repeat(indent, at, true)
	}
	x := &Parallel{Pos: at}
	var ok bool
	if x.Mods, ok = p.mods(); !ok {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	if x.Body, ok = p.header("parallel", indent); !ok {
		return nil
	}
	return x
}

// mods reads the modifiers of a parallel, if there are any.
func (p *parser) mods() (m Mods, ok bool) {
	if !p.is("(") {
		return m, true
	}
	m.Pos = p.pos(p.tok.off)
	p.advance()
	for !p.is(")") {
		switch {
		case p.tok.kind == quoted:
			if m.Join != "" {
				p.errorf(p.tok.off, "a second way to join; keep one of them")
			}
			m.Join = p.choice("first, all or any", "all", "first", "any")
		case p.is("count"):
			p.advance()
			if !p.want(":", "a :") {
				return m, false
			}
			if m.Count = p.inner(); m.Count == nil {
				return m, false
			}
		case p.is("on-fail"):
			p.advance()
			if !p.want(":", "a :") {
				return m, false
			}
			if p.tok.kind != quoted {
				p.unexpected(`"fail-fast", "continue" or "ignore"`)
				return m, false
			}
			m.OnFail = p.choice("fail-fast, continue or ignore", "fail-fast", "continue", "ignore")
		default:
			if p.tok.kind == word {
				near := diagnostic.Nearest(p.tok.text, []string{"count", "on-fail"})
				if near != "" {
					p.errorf(p.tok.off, "got %s, want a modifier; did you mean %s?", p.tok.text, near)
					return m, false
				}
			}
			p.unexpected(`a modifier: "all", "first", "any", count: N or on-fail: "…"`)
			return m, false
		}
		if !p.take(",") {
			break
		}
	}
	return m, p.want(")", "a , or )")
}

// choice takes a text that is one of the words; another one is reported and given as "".
func (p *parser) choice(want string, words ...string) string {
	off := p.tok.off
	text := p.literal().(*String)
	if len(text.Parts) == 1 && text.Parts[0].Ref == nil {
		if slices.Contains(words, text.Parts[0].Text) {
			return text.Parts[0].Text
		}
		if near := diagnostic.Nearest(text.Parts[0].Text, words); near != "" {
			p.errorf(off, "got %q, want %s; did you mean %s?", text.Parts[0].Text, want, near)
			return ""
		}
		p.errorf(off, "got %q, want %s", text.Parts[0].Text, want)
		return ""
	}
	p.errorf(off, "got a text, want %s", want)
	return ""
}

func (p *parser) repeat(indent int, at Pos, parallel bool) Expr {
	x := &Repeat{Pos: at, Parallel: parallel}
	p.advance()
	fail := func() Expr {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	if p.is(":") {
		p.unexpected("how many times, such as repeat 3:")
		return fail()
	}
	if x.Count = p.operand(); x.Count == nil {
		return fail()
	}
	var ok bool
	if p.take("as") {
		if x.As, ok = p.name("a name for the count"); !ok {
			return fail()
		}
	}
	if x.Mods, ok = p.mods(); !ok {
		return fail()
	}
	if x.As.Text == "" && p.take("as") {
		if x.As, ok = p.name("a name for the count"); !ok {
			return fail()
		}
	}
	if x.Body, ok = p.header("repeat", indent); !ok {
		return nil
	}
	return x
}

func (p *parser) each(indent int, at Pos, parallel bool) Expr {
	x := &For{Pos: at, Parallel: parallel}
	p.advance()
	fail := func() Expr {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	var ok bool
	if x.Each, ok = p.name("a name for the element"); !ok {
		return fail()
	}
	if p.take(",") {
		if x.Index, ok = p.name("a name for the place of the element"); !ok {
			return fail()
		}
	}
	if !p.want("in", "in and a list") {
		return fail()
	}
	if x.In = p.operand(); x.In == nil {
		return fail()
	}
	if x.Mods, ok = p.mods(); !ok {
		return fail()
	}
	if x.Body, ok = p.header("for", indent); !ok {
		return nil
	}
	return x
}

func (p *parser) do(indent int, at Pos) Expr {
	x := &DoBlock{Pos: at}
	p.advance()
	var ok bool
	if p.is(":") {
		if x.Body, ok = p.header("do", indent); !ok {
			return nil
		}
		if x.Body == nil {
			x.Body = []Stmt{}
		}
		return x
	}
	if x.Name, ok = p.name("a :, or the name of a block"); !ok {
		return nil
	}
	if p.take("(") {
		x.Parens = true
		for !p.is(")") {
			arg := p.inner()
			if arg == nil {
				return nil
			}
			x.Args = append(x.Args, arg)
			if !p.take(",") {
				break
			}
		}
		if !p.want(")", "a , or )") {
			return nil
		}
	}
	return x
}

// bounds are the parts of a loop's header behind its condition.
var bounds = regexp.MustCompile(`(?s)^(.*?)(?:\s*\(\s*max\s*:([^()]*)\))?(?:\s+as\s+([A-Za-z_][A-Za-z0-9_-]*))?\s*$`)

func (p *parser) loop(indent int, at Pos) Expr {
	x := &Loop{Pos: at}
	p.advance()
	fail := func() Expr {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	var ok bool
	switch {
	case p.is("until") || p.is("while"):
		x.Word = p.tok.text
		from, to, ok := p.raw(p.tok.end)
		if !ok {
			return fail()
		}
		parts := bounds.FindStringSubmatchIndex(p.lexer.source.text[from:to])
		if parts[4] >= 0 {
			x.Max = p.within(from+parts[4], from+parts[5])
		}
		if parts[6] >= 0 {
			x.As = Name{p.pos(from + parts[6]), p.lexer.source.text[from+parts[6] : from+parts[7]]}
		}
		if x.Cond = p.cond(from, from+parts[3], "loop "+x.Word); x.Cond == nil {
			p.spoilt(indent)
			return nil
		}
		x.Body = p.body(indent)
		return x
	case p.is("up"):
		p.advance()
		if !p.want("to", "to and a number") {
			return fail()
		}
		x.UpTo = true
		if x.Max = p.operand(); x.Max == nil {
			return fail()
		}
	case p.is("for"):
		p.advance()
		if !p.is("each") {
			p.unexpected("each; write for x in xs: without loop")
			return fail()
		}
		return p.each(indent, at, false)
	case p.is("("):
		p.advance()
		if !p.want("max", "max: and a number") || !p.want(":", "a :") {
			return fail()
		}
		if x.Max = p.operand(); x.Max == nil || !p.want(")", "a )") {
			return fail()
		}
	case p.is(":") || p.is("as"):
	default:
		p.unexpected("until, while, up to N or (max: N)")
		return fail()
	}
	if p.take("as") {
		if x.As, ok = p.name("a name for the count"); !ok {
			return fail()
		}
	}
	if x.Body, ok = p.header("loop", indent); !ok {
		return nil
	}
	return x
}

// within reads one value that stands between two places.
func (p *parser) within(from, to int) Expr {
	sub := newParser(p.source, from, to)
	sub.fresh = false
	sub.depth = p.depth
	sub.advance()
	x := sub.operand()
	if x != nil && sub.tok.kind != newline && sub.tok.kind != end {
		sub.unexpected("one value")
	}
	for _, problem := range sub.problems {
		p.lastLine = -1
		p.errorf(from, "%s", problem.Message)
	}
	return x
}
