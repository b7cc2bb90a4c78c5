package syntax

import "slices"

// reserved are the words that cannot be names of values. All others can, and are read as what they begin only where that
// goes on behind them.
var reserved = map[string]bool{
	"let": true, "const": true, "return": true, "if": true, "elif": true, "else": true, "for": true, "in": true, "try": true,
	"catch": true, "finally": true, "throw": true, "call": true, "and": true, "or": true, "not": true, "true": true, "false": true, "null": true,
}

// starts are the words that begin a statement, for who misspells one.
var starts = []string{"let", "const", "return", "call", "if", "elif", "else", "for", "parallel", "repeat", "loop", "try", "catch", "finally",
	"throw", "continue", "break", "record", "append", "block", "do", "session", "agent", "choice"}

// foreign says how a line goes on that begins with one of our words, and what those of other languages are here.
var foreign = map[string]string{
	"while": "write loop while CONDITION (max: N):", "until": "write loop until CONDITION (max: N):", "foreach": "write for x in xs:",
	"elseif": "write elif", "elsif": "write elif", "var": "write let", "set": "write let, or NAME = VALUE", "def": "write block NAME(a, b):",
	"function": "write block NAME(a, b):", "func": "write block NAME(a, b):", "raise": "write throw", "except": "write catch as e:",
	"switch": "write if, elif and else", "case": "write if, elif and else", "async": "write parallel:", "await": "a call is waited for as it is",
	"loop": "write loop until CONDITION (max: N):, loop while …, loop up to N: or loop (max: N):", "record": "write record VALUE in LIST",
	"append": "write append VALUE to LIST", "block": "write block NAME(a, b):", "do": "write do: or do NAME(a, b)",
	"parallel": "write parallel:, parallel for x in xs: or parallel repeat N:", "repeat": "write repeat N:",
	"option": "an option stands under a choice, and choices are not run: write if, elif and else",
}

// statement reads one statement, nil where there is none to be read. The first token of a line is in sight.
func (p *parser) statement() Stmt {
	begin, indent := p.tok.off, p.indent
	p.begin = begin
	at := p.pos(begin)
	s := p.opened(at, indent)
	p.endLine(indent, begin)
	return s
}

func (p *parser) opened(at Pos, indent int) Stmt {
	if p.is("@") {
		return p.refused(at, "decorator", indent)
	}
	if p.tok.kind != word {
		return p.plain(at, indent)
	}
	switch p.tok.text {
	case "let", "const":
		return p.bind(at, indent)
	case "return":
		p.advance()
		return &Return{Pos: at, Value: p.optional(indent)}
	case "throw":
		p.advance()
		return &Throw{Pos: at, Value: p.optional(indent)}
	case "if":
		return p.choose(at, indent)
	case "try":
		return p.try(at, indent)
	case "elif", "else":
		p.fail(p.tok.off, "got %s, want a statement; %[1]s belongs below an if, indented like it", p.tok.text)
		return nil
	case "catch", "finally":
		p.fail(p.tok.off, "got %s, want a statement; %[1]s belongs below a try, indented like it", p.tok.text)
		return nil
	case "continue":
		if p.alone() {
			p.advance()
			return &Continue{Pos: at}
		}
	case "break":
		if p.alone() {
			p.advance()
			return &Break{Pos: at}
		}
	case "block":
		if p.operandAhead() {
			return p.block(at, indent)
		}
	case "record", "append":
		if p.operandAhead() {
			return p.record(at, indent)
		}
	}
	if what := p.refusable(true); what != "" && what != "function call" {
		return p.refused(at, what, indent)
	}
	return p.plain(at, indent)
}

// alone reports whether continue or break is the statement: no value of that name is used.
func (p *parser) alone() bool {
	c, apart := p.ahead()
	return c != '=' && c != '.' && (c != '[' || apart)
}

// operandAhead reports whether a value begins behind the word in sight, so that it is no name itself.
func (p *parser) operandAhead() bool {
	c, apart := p.ahead()
	switch {
	case isLetter(c):
		return !slices.Contains([]string{"and", "or", "in", "as", "is"}, p.aheadWord())
	case isDigit(c), c == '"', c == '{', c == '-':
		return true
	case c == '[', c == '(':
		return apart
	}
	return false
}

// plain reads an assignment, or a value that stands alone.
func (p *parser) plain(at Pos, indent int) Stmt {
	began := p.tok
	if began.kind == word && !reserved[began.text] {
		if c, _ := p.ahead(); c == ':' && !headers[began.text] {
			return p.misplacedInput(at, indent)
		}
	}
	x := p.value(indent)
	if p.bad {
		return nil
	}
	ref, ok := x.(*Ref)
	if !ok {
		if p.is("=") && !p.broken() {
			p.fail(p.tok.off, "got =, want the end of the line; only a name, and what is in its value, can be assigned")
		}
		return &Do{Pos: at, Value: x}
	}
	if p.take("=") {
		return &Assign{Pos: at, Target: ref, Value: p.needed(indent)}
	}
	if len(ref.Path) == 0 && !p.broken() && p.tok.kind != newline && p.tok.kind != end {
		p.unknown(began)
		return nil
	}
	return &Do{Pos: at, Value: x}
}

// unknown reports a line that begins with a word that begins nothing.
func (p *parser) unknown(t token) {
	if hint := foreign[t.text]; hint != "" {
		p.fail(t.off, "got %s, want a statement; %s", t.text, hint)
	} else if near := p.nearest(t.text, starts); near != "" && near != t.text {
		p.fail(t.off, "got %s, want a statement; did you mean %s?", t.text, near)
	} else if p.tok.kind == word || p.tok.kind == quoted || p.tok.kind == number || p.is("{") || p.is("[") || p.is("(") {
		p.fail(t.off, "got %s, want a statement: let, call, return, if, for, repeat and so on, or NAME = VALUE", t.text)
	} else {
		p.want("= or the end of the line")
	}
}

// misplacedInput reads name: at the beginning of a statement.
func (p *parser) misplacedInput(at Pos, indent int) Stmt {
	name := p.tok
	i := p.tok.end
	for i < len(p.text) && (p.text[i] == ' ' || p.text[i] == ':') {
		i++
	}
	if n := pathLength(p.text[i:]); n > 0 && i+n < len(p.text) && p.text[i+n] == '(' {
		return p.refused(at, "decorator", indent)
	}
	if hint := foreign[name.text]; hint != "" {
		p.fail(name.off, "got %s:, want a statement; %s", name.text, hint)
		return nil
	}
	if near := p.nearest(name.text, starts); near != "" && headers[near] {
		p.fail(name.off, "got %s, want a statement; did you mean %s?", name.text, near)
		return nil
	}
	p.fail(name.off, "got %s:, want a statement; inputs of a call stand right below it, indented more than it", name.text)
	return nil
}

// headers are the words that may stand before a colon at the beginning of a statement.
var headers = map[string]bool{
	"parallel": true, "loop": true, "do": true, "try": true, "else": true, "catch": true, "finally": true, "session": true, "resume": true, "repeat": true,
}

// optional reads the value of a return or throw, nil without any.
func (p *parser) optional(indent int) Expr {
	if p.tok.kind == newline || p.broken() {
		return nil
	}
	return p.needed(indent)
}

// needed reads a value, null where it cannot be read.
func (p *parser) needed(indent int) Expr {
	at := p.tok.off
	if x := p.value(indent); x != nil {
		return x
	}
	return &Null{Pos: p.pos(at)}
}

// name takes an identifier that is to be the name of a value or of a block.
func (p *parser) name(what string) Name {
	if p.tok.kind != word || p.broken() {
		p.want(what)
		return Name{}
	}
	n := Name{p.pos(p.tok.off), p.tok.text}
	if reserved[n.Text] {
		p.fail(p.tok.off, "got %s, want %s; that word belongs to the language", n.Text, what)
	}
	p.advance()
	return n
}

func (p *parser) bind(at Pos, indent int) Stmt {
	s := &Bind{Pos: at, Const: p.is("const")}
	p.advance()
	if p.take("{") {
		s.Destruc = true
		s.Names = p.names("}", "a name")
		if len(s.Names) == 0 {
			p.fail(p.last-1, "got no name between the braces, want { a, b }")
		}
	} else if n := p.name("a name"); n.Text != "" {
		s.Names = []Name{n}
		if p.is(",") {
			p.fail(p.tok.off, "got a comma, want =; several names stand in braces: { a, b }")
		}
	}
	if len(s.Names) == 0 {
		return nil
	}
	p.expect("=", "=")
	s.Value = p.needed(indent)
	return s
}

// names reads names between brackets, the first of which has been taken.
func (p *parser) names(closer, what string) []Name {
	open := p.last - 1
	p.inside++
	defer func() { p.inside-- }()
	var list []Name
	for !p.bad {
		p.breaks()
		switch {
		case p.tok.kind == end:
			p.fail(open, "the %s is not closed", p.text[open:open+1])
		case p.is(closer):
			p.advance()
			return list
		default:
			if n := p.name(what); n.Text != "" {
				list = append(list, n)
			}
			if p.breaks(); !p.take(",") && !p.is(closer) {
				p.want("a comma or " + closer)
			}
		}
	}
	return list
}

func (p *parser) record(at Pos, indent int) Stmt {
	s := &Record{Pos: at, Word: p.tok.text}
	link := linkOf(s.Word)
	p.advance()
	x := p.logic()
	if p.bad {
		return nil
	}
	if _, isRef := x.(*Ref); isRef && s.Word == "append" && p.tok.kind == word && !p.broken() && !p.is("to") && !p.is("in") {
		return p.refused(at, "append", indent)
	}
	if !p.expect(link, link+" and the name of a list") {
		return nil
	}
	s.Value = x
	if p.tok.kind != word || p.broken() {
		p.want("the name of a list")
		return nil
	}
	if s.List = p.ref(); s.List == nil {
		return nil
	}
	return s
}

// linkOf is the word between the value and the list.
func linkOf(verb string) string {
	if verb == "append" {
		return "to"
	}
	return "in"
}

// body takes the colon of a header that began with this indentation, and the block below.
func (p *parser) body(header string, indent int) []Stmt {
	if p.bad {
		return nil
	}
	colon := p.tok.off
	missing := !p.take(":")
	if missing {
		p.want("a colon at the end of " + header)
		if p.tok.kind != newline && !p.broken() {
			return nil
		}
		p.bad = false // that is all that is wrong with it
	} else if p.tok.kind != newline {
		p.fail(p.tok.off, "got %s, want the end of the line; what belongs to %s stands below, indented", p.got(), header)
		return nil
	}
	p.advanceLine()
	if p.tok.kind == end || p.indent <= indent {
		if missing {
			return nil
		}
		p.errorf(colon, "got nothing below %s, want a statement, indented more than its line", header)
		return nil
	}
	saved := p.inside // a block in brackets has lines again
	p.inside = 0
	list := p.statements(indent)
	p.inside = saved
	return list
}

// advanceLine goes to the first token of the next line, if the end of a line is in sight.
func (p *parser) advanceLine() {
	if p.tok.kind == newline {
		p.advance()
	}
}

func (p *parser) choose(at Pos, indent int) Stmt {
	s := &If{Pos: at}
	s.Arms = append(s.Arms, p.arm(at, "if", indent))
	for !p.bad && p.tok.first && p.tok.kind == word && p.indent == indent {
		clause, off := p.tok.text, p.tok.off
		if clause != "elif" && clause != "else" {
			break
		}
		p.begin = off
		here := p.pos(off)
		switch {
		case clause == "else" && p.aheadWord() == "if":
			p.fail(off, "got else if, want elif")
		case s.HasElse:
			p.fail(off, "got %s after else, want a statement; else comes last, and once", clause)
		case clause == "elif":
			s.Arms = append(s.Arms, p.arm(here, "elif", indent))
		default:
			s.HasElse, s.ElsePos = true, here
			p.advance()
			s.Else = p.body("else", indent)
		}
		if p.bad { // the arms that follow are read all the same
			p.endLine(indent, off)
		}
	}
	return s
}

// arm reads a condition and its block, from the word before them.
func (p *parser) arm(at Pos, keyword string, indent int) Arm {
	begin := p.tok.off
	a := Arm{Pos: at, Cond: p.condition(keyword, false)}
	a.Body = p.body(keyword, indent)
	if p.bad {
		p.endLine(indent, begin)
	}
	return a
}

func (p *parser) try(at Pos, indent int) Stmt {
	s := &Try{Pos: at}
	begin := p.tok.off
	p.advance()
	s.Body = p.body("try", indent)
	if p.bad {
		p.endLine(indent, begin)
	}
	for p.tok.first && p.tok.kind == word && p.indent == indent {
		clause, off := p.tok.text, p.tok.off
		if clause != "catch" && clause != "finally" {
			break
		}
		p.begin = off
		here := p.pos(off)
		switch {
		case s.HasFinally:
			p.fail(off, "got %s after finally, want a statement; finally comes last, and once", clause)
		case clause == "finally":
			s.HasFinally, s.FinallyPos = true, here
			p.advance()
			s.Finally = p.body("finally", indent)
		case s.HasCatch:
			p.fail(off, "got a second catch, want finally or a statement")
		default:
			s.HasCatch, s.CatchPos = true, here
			p.advance()
			if p.take("as") {
				s.As = p.name("a name for the error")
			} else if p.tok.kind == word && !p.broken() {
				p.fail(p.tok.off, "got %s, want as NAME or a colon", p.tok.text)
			}
			s.Catch = p.body("catch", indent)
		}
		if p.bad {
			p.endLine(indent, off)
		}
	}
	return s
}

func (p *parser) block(at Pos, indent int) Stmt {
	s := &Block{Pos: at}
	p.advance()
	s.Name = p.name("the name of the block")
	if p.take("(") {
		s.Params = p.names(")", "the name of a parameter")
	}
	s.Body = p.body("block "+s.Name.Text, indent)
	if s.Name.Text == "" {
		return nil
	}
	return s
}

// refusable says what begins with the word in sight, if firstgood reads it and does not run it: "" for anything else.
func (p *parser) refusable(statement bool) string {
	text := p.tok.text
	c, apart := p.ahead()
	follows := isLetter(c) && p.operandAhead()
	switch text {
	case "session", "resume":
		if follows || c == '"' || c == ':' || c == '(' {
			return text
		}
	case "gate":
		if follows || c == '"' || c == '*' || c == '(' || c == ':' && statement {
			return text
		}
	case "agent", "choice":
		if statement && (follows || c == '*' || c == '"') {
			return text
		}
	case "use", "import":
		if statement && c == '"' {
			return text
		}
	case "input", "output":
		if statement && (follows || c == '{' || c == '[' && apart) || c == '"' || c == '(' {
			return text
		}
	}
	if c == '(' && !apart && !reserved[text] && text != "parallel" && text != "loop" && text != "repeat" {
		return "function call"
	}
	return ""
}

// refused reads a statement that is not run, from where it begins.
func (p *parser) refused(at Pos, what string, indent int) Stmt {
	return &Refused{Pos: at, What: what, Text: p.passOver(p.begin, indent)}
}

// passOver goes behind what begins at from and is not run, and returns it, the indentation of its line taken off. The
// comments in it are part of it.
func (p *parser) passOver(from, indent int) string {
	at := p.pos(from)
	for n := len(p.comments); n > 0 && !p.comments[n-1].Pos.Before(at); n-- {
		p.comments = p.comments[:n-1]
	}
	to, open := extent(p.text, from, indent, p.inside > 0)
	if open >= 0 {
		p.errorf(open, `the text is not closed; put """ at its end`)
	}
	p.jump(to)
	return reindent(p.text[from:to], indent, 0)
}
