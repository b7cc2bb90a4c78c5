package syntax

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// Limits of a script.
const (
	MaxNesting = 200 // how deep blocks, and how deep values, may stand in each other
	maxProblem = 50  // how many problems are told
)

const byteOrderMark = "\uFEFF"

// Parse reads a script. At is the place of its first character, in the column of what is not indented. All that is wrong
// is reported at once, by place, each with its line; the tree holds what could be read, also then.
func Parse(src string, at Pos) (*Script, diagnostic.Problems) {
	src = strings.TrimPrefix(src, byteOrderMark)
	p := newParser(newSource(src, at), 0, len(src))
	script := &Script{}
	p.lexer.comments = &script.Comments
	p.advance()
	script.Body = p.statements(-1)
	for i := range p.source.lines {
		if strings.TrimSpace(p.source.line(i)) == "" {
			script.blank = append(script.blank, at.Line+i)
		}
	}
	return script, p.finish()
}

// parser reads statements with one token in sight.
type parser struct {
	lexer
	tok      token
	last     int // where the token before tok ended
	lastWord int // the same, of what is no end of a line
	depth    int
	problems diagnostic.Problems
	left     int // problems that are not told
	lastLine int // of the latest problem: one a line is enough
}

func newParser(s *source, from, to int) *parser {
	return &parser{lexer: lexer{source: s, off: from, limit: to, fresh: true}, lastLine: -1}
}

// advance takes the token in sight and looks at the next one.
func (p *parser) advance() {
	p.last = p.tok.end
	if p.tok.kind != newline {
		p.lastWord = p.tok.end
	}
	p.tok = p.lexer.next()
}

// errorf reports a problem, unless its line has one.
func (p *parser) errorf(off int, format string, args ...any) {
	line := p.index(min(off, len(p.text)))
	if line == p.lastLine {
		return
	}
	p.lastLine = line
	if len(p.problems) == maxProblem {
		p.left++
		return
	}
	p.problems = append(p.problems, diagnostic.Problem{Pos: p.pos(off), Message: fmt.Sprintf(format, args...), Source: p.line(line)})
}

func (p *parser) finish() diagnostic.Problems {
	p.problems.Sort()
	for i := range p.problems { // a column is that of the document, and so must its line be
		if indent := p.at.Column - 1; indent > 0 {
			p.problems[i].Source = strings.Repeat(" ", indent) + p.problems[i].Source
		}
	}
	if p.left > 0 {
		last := p.problems[len(p.problems)-1].Pos
		p.problems = append(p.problems, diagnostic.Problem{Pos: last, Message: fmt.Sprintf("%d more problems are not shown", p.left)})
	}
	return p.problems
}

// got describes the token in sight.
func (p *parser) got() string {
	switch p.tok.kind {
	case end:
		return "the end"
	case newline:
		return "the end of the line"
	case quoted:
		return "a text"
	case number:
		return "the number " + p.tok.text
	}
	return p.tok.text
}

// unexpected reports the token in sight.
func (p *parser) unexpected(want string) {
	if p.tok.kind == broken {
		p.errorf(p.tok.off, "%s", p.tok.fault)
		return
	}
	off := p.tok.off
	if p.tok.kind == newline || p.tok.kind == end {
		off = p.lastWord
	}
	p.errorf(off, "got %s, want %s", p.got(), want)
}

func (p *parser) is(text string) bool {
	return (p.tok.kind == sign || p.tok.kind == word) && p.tok.text == text
}

// take passes over a token of that text.
func (p *parser) take(text string) bool {
	if !p.is(text) {
		return false
	}
	p.advance()
	return true
}

func (p *parser) want(text, what string) bool {
	if p.take(text) {
		return true
	}
	p.unexpected(what)
	return false
}

// peek looks at what follows the token in sight.
func (p *parser) peek() token {
	ahead := p.lexer
	ahead.comments = nil
	return ahead.next()
}

// skipLine passes over what is left of the line.
func (p *parser) skipLine() {
	for p.tok.kind != newline && p.tok.kind != end {
		p.advance()
	}
	if p.tok.kind == newline {
		p.advance()
	}
}

// endLine wants the line to end here.
func (p *parser) endLine(want string) {
	if p.tok.kind != newline && p.tok.kind != end {
		p.unexpected(want)
	}
	p.skipLine()
}

// statements reads the lines of one block: those that are indented more than outer, all alike.
func (p *parser) statements(outer int) []Stmt {
	var list []Stmt
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
		switch {
		case indent < 0:
			indent = here
		case here > indent:
			p.errorf(p.tok.off, "this line is indented by %d, and the block by %d; only what belongs to a line that ends in : is indented more", here, indent)
			p.statements(indent) // what is wrong in there is told as well
			continue
		case here < indent:
			p.errorf(p.tok.off, "this line is indented by %d, which is where no block begins; the block has %d", here, indent)
			indent = here
		}
		if s := p.statement(here); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// body reads the block of a header, whose : has been taken.
func (p *parser) body(header int) []Stmt {
	if p.tok.kind != newline && p.tok.kind != end {
		p.unexpected("the end of the line: what belongs to it stands below, indented")
		p.skipLine()
	}
	if p.depth++; p.depth > MaxNesting {
		p.errorf(p.tok.off, "blocks are nested deeper than %d", MaxNesting)
		p.depth--
		for p.tok.kind != end && (p.tok.kind == newline || p.indent(p.tok.off) > header) {
			p.advance()
		}
		return nil
	}
	defer func() { p.depth-- }()
	for p.tok.kind == newline {
		p.advance()
	}
	if p.tok.kind == broken && p.tok.text != "" && p.tok.text[0] == '\t' { // which is what indents the block
		return p.statements(-1)
	}
	if p.tok.kind == end || p.indent(p.tok.off) <= header {
		p.errorf(max(p.last-1, 0), "the block is empty; indent what belongs to it below")
		return nil
	}
	return p.statements(header)
}

// colon takes the : that ends a header.
func (p *parser) colon(of string) bool {
	if p.want(":", "a : at the end of "+of) {
		return true
	}
	p.skipLine()
	return false
}

// spoilt passes over the block of a header that is wrong, so that what is wrong in it is told too.
func (p *parser) spoilt(indent int) {
	if p.tok.kind != newline && p.tok.kind != end && p.indent(p.tok.off) <= indent {
		return
	}
	for p.tok.kind == newline {
		p.advance()
	}
	if p.tok.kind != end && p.indent(p.tok.off) > indent {
		p.statements(indent)
	}
}

var starts = []string{"let", "const", "return", "call", "parallel", "repeat", "for", "loop", "if", "try", "throw", "continue",
	"break", "block", "do", "record", "append", "elif", "else", "catch", "finally"}

// hard are the words that are no names at the start of a statement, whatever follows.
var hard = []string{"let", "const", "return", "call", "parallel", "repeat", "for", "loop", "if", "try", "throw", "continue", "break",
	"elif", "else", "catch", "finally"}

// statement reads one statement, nil where there is none to be read.
func (p *parser) statement(indent int) Stmt {
	at := p.pos(p.tok.off)
	if p.tok.kind != word {
		if p.tok.kind == broken {
			p.errorf(p.tok.off, "%s", p.tok.fault)
			p.skipLine()
			return nil
		}
		return p.value(indent, at)
	}
	next := p.peek()
	into := next.text == "=" || next.text == "." || next.text == "[" && next.off == p.tok.end // append [1] to xs goes into nothing
	if next.kind == sign && into && !slices.Contains(hard, p.tok.text) {
		return p.value(indent, at)
	}
	if what := refusedWord(p.tok.text, next); what != "" {
		return p.refused(indent, what)
	}
	switch p.tok.text {
	case "let", "const":
		return p.bind(indent, at)
	case "return":
		p.advance()
		s := &Return{Pos: at}
		if p.tok.kind != newline && p.tok.kind != end {
			s.Value = p.whole(indent)
		} else {
			p.endLine("")
		}
		return s
	case "throw":
		p.advance()
		s := &Throw{Pos: at}
		if p.tok.kind != newline && p.tok.kind != end {
			s.Value = p.whole(indent)
		} else {
			p.endLine("")
		}
		return s
	case "continue", "break":
		var s Stmt = &Continue{Pos: at}
		if p.tok.text == "break" {
			s = &Break{Pos: at}
		}
		if next.kind != newline && next.kind != end {
			return p.value(indent, at)
		}
		p.advance()
		p.endLine("the end of the line")
		return s
	case "if":
		return p.choose(indent, at)
	case "try":
		return p.try(indent, at)
	case "block":
		return p.block(indent, at)
	case "record", "append":
		return p.record(indent, at)
	case "elif", "else":
		p.errorf(p.tok.off, "%s without an if above it; it stands below an if, indented alike", p.tok.text)
		p.skipLine()
		p.spoilt(indent)
		return nil
	case "catch", "finally":
		p.errorf(p.tok.off, "%s without a try above it; it stands below a try, indented alike", p.tok.text)
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	return p.value(indent, at)
}

// value reads an assignment, or a value that stands alone.
func (p *parser) value(indent int, at Pos) Stmt {
	began := p.tok
	x := p.expression(indent)
	if x == nil {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	if ref, ok := x.(*Ref); ok {
		if p.take("=") {
			value := p.whole(indent)
			if value == nil {
				return nil
			}
			return &Assign{Pos: at, Target: ref, Value: value}
		}
		if p.tok.kind == word || p.tok.kind == quoted || p.tok.kind == number || p.is(":") {
			if near := diagnostic.Nearest(began.text, starts); near != "" && near != began.text {
				p.errorf(began.off, "got %s, want a statement; did you mean %s?", began.text, near)
			} else {
				p.errorf(began.off, "got %s, want a statement; one begins with let, call, return, if, for, repeat, …, or with NAME =", began.text)
			}
			p.skipLine()
			p.spoilt(indent)
			return nil
		}
	}
	p.ended(x, "the end of the line")
	return &Do{Pos: at, Value: x}
}

// whole reads a value to the end of its line.
func (p *parser) whole(indent int) Expr {
	x := p.expression(indent)
	if x == nil {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	p.ended(x, "the end of the line")
	return x
}

// ended wants the end of the line behind a value, unless that has a block and so ends with it.
func (p *parser) ended(x Expr, want string) {
	switch x := x.(type) {
	case *Parallel, *Repeat, *For, *Loop, *RefusedExpr:
		return
	case *DoBlock:
		if x.Body != nil {
			return
		}
	case *Call:
		if x.Inputs != nil {
			return
		}
	}
	if p.is("|") {
		p.errorf(p.tok.off, "pipelines are no part of what firstgood runs; write a for, or a parallel for, in their place")
		p.extent(p.tok.off, p.indent(p.tok.off))
		return
	}
	p.endLine(want)
}

// name takes an identifier.
func (p *parser) name(what string) (Name, bool) {
	if p.tok.kind != word {
		p.unexpected(what)
		return Name{}, false
	}
	n := Name{p.pos(p.tok.off), p.tok.text}
	if strings.HasSuffix(n.Text, "-") {
		p.errorf(p.tok.off, "%s ends with -; a name ends with a letter, a digit or _", n.Text)
	}
	if n.Text == "true" || n.Text == "false" || n.Text == "null" {
		p.errorf(p.tok.off, "%s is a value and cannot be a name", n.Text)
	}
	p.advance()
	return n, true
}

func (p *parser) bind(indent int, at Pos) Stmt {
	s := &Bind{Pos: at, Const: p.tok.text == "const"}
	word := p.tok.text
	p.advance()
	fail := func() Stmt {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	if p.take("{") {
		s.Destruc = true
		for !p.is("}") {
			n, ok := p.name("a name to bind")
			if !ok {
				return fail()
			}
			s.Names = append(s.Names, n)
			if !p.take(",") {
				break
			}
		}
		if !p.want("}", "a , or }") {
			return fail()
		}
		if len(s.Names) == 0 {
			p.errorf(p.last-1, "the braces hold no name; write %s { a, b } = …", word)
		}
	} else {
		n, ok := p.name("a name to bind")
		if !ok {
			return fail()
		}
		s.Names = []Name{n}
	}
	if !p.want("=", "a = and a value") {
		return fail()
	}
	if s.Value = p.whole(indent); s.Value == nil || len(s.Names) == 0 {
		return nil
	}
	return s
}

func (p *parser) record(indent int, at Pos) Stmt {
	s := &Record{Pos: at, Word: p.tok.text}
	p.advance()
	if p.tok.kind == newline || p.tok.kind == end {
		p.errorf(p.last, "%s needs a value and a list; write %[1]s VALUE %s LIST", s.Word, link(s.Word))
		p.skipLine()
		return nil
	}
	s.Value = p.operand()
	if s.Value == nil {
		p.skipLine()
		return nil
	}
	if !p.take("in") && !p.take("to") {
		p.errorf(p.tok.off, "got %s, want %s and a list; write %s VALUE %[2]s LIST", p.got(), link(s.Word), s.Word)
		p.skipLine()
		return nil
	}
	list, ok := p.operand().(*Ref)
	if !ok {
		p.errorf(p.last, "want the name of a list behind %s", link(s.Word))
		p.skipLine()
		return nil
	}
	s.List = list
	p.endLine("the end of the line")
	return s
}

// link is the word between the value and the list.
func link(word string) string {
	if word == "append" {
		return "to"
	}
	return "in"
}

func (p *parser) choose(indent int, at Pos) Stmt {
	s := &If{Pos: at}
	arm := func() {
		begin := p.pos(p.tok.off)
		word := p.tok.text
		cond := p.condition(word)
		if cond == nil {
			p.spoilt(indent)
			return
		}
		s.Arms = append(s.Arms, Arm{begin, cond, p.body(indent)})
	}
	arm()
	for p.tok.kind == word && p.indent(p.tok.off) == indent {
		switch {
		case p.is("elif"):
			if s.HasElse {
				p.errorf(p.tok.off, "elif stands behind else; put it before")
			}
			arm()
		case p.is("else"):
			if next := p.peek(); next.kind == word && next.text == "if" {
				p.errorf(p.tok.off, "got else if, want elif")
				p.skipLine()
				p.spoilt(indent)
				continue
			}
			if s.HasElse {
				p.errorf(p.tok.off, "a second else; an if has one")
			}
			s.HasElse = true
			p.advance()
			if !p.colon("else") {
				p.spoilt(indent)
				continue
			}
			s.Else = p.body(indent)
		default:
			return orNil(s)
		}
	}
	return orNil(s)
}

func orNil(s *If) Stmt {
	if len(s.Arms) == 0 {
		return nil
	}
	return s
}

func (p *parser) try(indent int, at Pos) Stmt {
	s := &Try{Pos: at}
	p.advance()
	if !p.colon("try") {
		p.spoilt(indent)
	} else {
		s.Body = p.body(indent)
	}
	for p.tok.kind == word && p.indent(p.tok.off) == indent {
		switch {
		case p.is("catch"):
			if s.HasCatch || s.HasFinally {
				p.errorf(p.tok.off, "a catch stands once, and before finally")
			}
			s.HasCatch = true
			p.advance()
			if p.take("as") {
				s.As, _ = p.name("a name for the error")
			} else if p.tok.kind == word {
				p.errorf(p.tok.off, "got %s, want as NAME, or a :", p.tok.text)
				p.advance()
			}
			if !p.colon("catch") {
				p.spoilt(indent)
				continue
			}
			s.Catch = p.body(indent)
		case p.is("finally"):
			if s.HasFinally {
				p.errorf(p.tok.off, "a second finally; a try has one")
			}
			s.HasFinally = true
			p.advance()
			if !p.colon("finally") {
				p.spoilt(indent)
				continue
			}
			s.Finally = p.body(indent)
		default:
			return s
		}
	}
	return s
}

func (p *parser) block(indent int, at Pos) Stmt {
	s := &Block{Pos: at}
	p.advance()
	var ok bool
	if s.Name, ok = p.name("the name of the block"); !ok {
		p.skipLine()
		p.spoilt(indent)
		return nil
	}
	if p.take("(") {
		for !p.is(")") {
			n, ok := p.name("the name of a parameter")
			if !ok {
				break
			}
			s.Params = append(s.Params, n)
			if !p.take(",") {
				break
			}
		}
		if !p.want(")", "a , or )") {
			p.skipLine()
			p.spoilt(indent)
			return nil
		}
	}
	if !p.colon("the header of the block") {
		p.spoilt(indent)
		return nil
	}
	s.Body = p.body(indent)
	return s
}

// refusedWord says what a statement is that firstgood does not run, "" for any other.
func refusedWord(text string, next token) string {
	follows := next.kind == word || next.kind == quoted || next.kind == sign && next.text == ":"
	switch text {
	case "session", "agent", "resume", "use", "input", "output", "choice", "option", "gate":
		if follows || next.kind == sign && (next.text == "(" || next.text == "*") {
			return text
		}
	}
	return ""
}

// refused reads to the end of a statement that is not run, with what is indented below it.
func (p *parser) refused(indent int, what string) Stmt {
	at, from := p.pos(p.tok.off), p.tok.off
	return &Refused{Pos: at, What: what, Text: p.extent(from, indent)}
}

// extent passes over a statement that begins at from, with what is indented below it, and returns its text without the
// indent of its first line.
func (p *parser) extent(from, indent int) string {
	i := p.index(from)
	lines := []string{p.text[from : p.lines[i]+len(p.line(i))]}
	for i++; i < len(p.lines); i++ {
		line := p.line(i)
		if strings.TrimSpace(line) == "" {
			lines = append(lines, "")
			continue
		}
		if p.indent(p.lines[i]) <= indent || p.lines[i] >= p.limit {
			break
		}
		lines = append(lines, line[min(indent, len(line)):])
	}
	to := p.limit
	if i < len(p.lines) {
		to = min(to, p.lines[i])
	}
	p.lexer.off, p.lexer.fresh = to, true
	if p.comments != nil { // those inside belong to the text
		*p.comments = slices.DeleteFunc(*p.comments, func(c Comment) bool {
			first := p.at.Line + p.index(from)
			return c.Pos.Line >= first && c.Pos.Line < p.at.Line+i
		})
	}
	p.tok = token{kind: newline, off: to, end: to}
	p.advance()
	return strings.TrimRight(strings.Join(lines, "\n"), "\n ")
}
