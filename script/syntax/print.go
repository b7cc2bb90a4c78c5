package syntax

import (
	"slices"
	"strings"
)

// Print writes a script in its one form: two spaces a level, one space around signs, comments where they were, at most one
// blank line between statements, where there were any, objects and lists on one line or on several, as their first
// entry stands. Parsing what is printed gives the same script, and printing that the same text. The script must have
// been parsed without an error: what could not be read is not in it. An empty script gives "".
func Print(s *Script) string {
	p := &printer{comments: s.Comments, blank: s.blank, limit: Pos{Line: int(^uint(0) >> 1)}, fresh: true}
	p.stmts(s.Body, p.limit)
	p.flush(p.limit, -1)
	if p.out.Len() > 0 {
		p.out.WriteByte('\n')
	}
	return p.out.String()
}

// printer writes lines. Each begins with its line break, so that a comment can still be put behind the line before.
type printer struct {
	out      strings.Builder
	comments []Comment // that are still to be written
	blank    []int     // the lines that stand after a blank one
	level    int
	limit    Pos  // where what follows the statement that is being written begins
	column   int  // in the source, of the line to which a block belongs
	fresh    bool // nothing has been written in this block
}

func (p *printer) write(parts ...string) {
	for _, s := range parts {
		p.out.WriteString(s)
	}
}

// newLine begins a line.
func (p *printer) newLine() {
	if p.out.Len() > 0 {
		p.out.WriteByte('\n')
	}
	for range p.level {
		p.out.WriteString("  ")
	}
	p.fresh = false
}

// unit begins the line of what stands at a place of the source, behind the comments before it. Between statements and
// comments a blank line is kept.
func (p *printer) unit(at Pos, statement bool) {
	p.flush(at, -1)
	if statement {
		p.gap(at)
	}
	p.newLine()
	p.column = at.Column
}

func (p *printer) gap(at Pos) {
	if _, found := slices.BinarySearch(p.blank, at.Line); found && !p.fresh {
		p.out.WriteByte('\n')
	}
}

// flush writes the comments that stand before a place, up to the first on a line of its own that is not indented more than
// column.
func (p *printer) flush(before Pos, column int) {
	for len(p.comments) > 0 && p.comments[0].Pos.Before(before) {
		c := p.comments[0]
		switch {
		case !c.Own && p.out.Len() > 0:
			p.write("  #", c.Text)
		case c.Pos.Column <= column:
			return
		default:
			p.gap(c.Pos)
			p.newLine()
			p.write("#", c.Text)
		}
		p.comments = p.comments[1:]
	}
}

// pending reports whether a comment stands before a place.
func (p *printer) pending(before Pos) bool {
	return len(p.comments) > 0 && p.comments[0].Pos.Before(before)
}

// stmts writes statements; what follows them begins at limit.
func (p *printer) stmts(list []Stmt, limit Pos) {
	for i, s := range list {
		p.limit = limit
		if i+1 < len(list) {
			p.limit = list[i+1].Place()
		}
		p.unit(s.Place(), true)
		p.stmt(s)
	}
	p.limit = limit
}

// body writes the block of a header that ends in a colon, up to limit.
func (p *printer) body(list []Stmt, limit Pos) {
	column, outer := p.column, p.limit
	p.write(":")
	p.level++
	p.fresh = true
	p.stmts(list, limit)
	p.flush(limit, column)
	p.level--
	p.fresh = false
	p.limit, p.column = outer, column
}

func (p *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *Bind:
		if s.Const {
			p.write("const ")
		} else {
			p.write("let ")
		}
		if s.Destruc {
			p.write("{ ", names(s.Names), " } = ")
		} else {
			p.write(names(s.Names), " = ")
		}
		p.value(s.Value)
	case *Assign:
		p.expr(s.Target)
		p.write(" = ")
		p.value(s.Value)
	case *Return:
		p.write("return")
		if s.Value != nil {
			p.write(" ")
			p.value(s.Value)
		}
	case *Throw:
		p.write("throw")
		if s.Value != nil {
			p.write(" ")
			p.value(s.Value)
		}
	case *Do:
		p.value(s.Value)
	case *Record:
		p.write(s.Word, " ")
		p.expr(s.Value)
		p.write(" ", linkOf(s.Word), " ")
		p.expr(s.List)
	case *If:
		p.choose(s)
	case *Try:
		p.try(s)
	case *Continue:
		p.write("continue")
	case *Break:
		p.write("break")
	case *Block:
		p.write("block ", s.Name.Text)
		if len(s.Params) > 0 {
			p.write("(", names(s.Params), ")")
		}
		p.body(s.Body, p.limit)
	case *Refused:
		p.write(reindent(s.Text, 0, 2*p.level))
	}
}

func names(list []Name) string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = n.Text
	}
	return strings.Join(texts, ", ")
}

func (p *printer) choose(s *If) {
	for i, arm := range s.Arms {
		limit := p.limit
		switch {
		case i+1 < len(s.Arms):
			limit = s.Arms[i+1].Pos
		case s.HasElse:
			limit = s.ElsePos
		}
		if i == 0 {
			p.write("if ")
		} else {
			p.unit(arm.Pos, false)
			p.write("elif ")
		}
		p.cond(arm.Cond)
		p.body(arm.Body, limit)
	}
	if s.HasElse {
		p.unit(s.ElsePos, false)
		p.write("else")
		p.body(s.Else, p.limit)
	}
}

func (p *printer) try(s *Try) {
	last := p.limit
	if s.HasFinally {
		last = s.FinallyPos
	}
	limit := last
	if s.HasCatch {
		limit = s.CatchPos
	}
	p.write("try")
	p.body(s.Body, limit)
	if s.HasCatch {
		p.unit(s.CatchPos, false)
		p.write("catch")
		if s.As.Text != "" {
			p.write(" as ", s.As.Text)
		}
		p.body(s.Catch, last)
	}
	if s.HasFinally {
		p.unit(s.FinallyPos, false)
		p.write("finally")
		p.body(s.Finally, p.limit)
	}
}

func (p *printer) cond(c *Cond) {
	if c.lines == nil {
		pad := ""
		if c.Marks == "***" {
			pad = " "
		}
		p.write(c.Marks, pad, c.Text, pad, c.Marks)
		return
	}
	p.write(c.Marks)
	p.level++
	for _, line := range c.lines {
		p.newLine()
		p.write(line)
	}
	p.level--
	p.newLine()
	p.write(c.Marks)
}

// value writes what stands up to the end of its line or block.
func (p *printer) value(x Expr) {
	switch x := x.(type) {
	case *Call:
		p.call(x)
		p.inputs(x.Inputs)
	case *Parallel:
		p.write("parallel")
		p.mods(x.Mods)
		p.body(x.Body, p.limit)
	case *Repeat:
		if x.Parallel {
			p.write("parallel ")
		}
		p.write("repeat ")
		p.expr(x.Count)
		p.mods(x.Mods)
		p.as(x.As)
		p.body(x.Body, p.limit)
	case *For:
		if x.Parallel {
			p.write("parallel ")
		}
		p.write("for ", x.Each.Text)
		if x.Index.Text != "" {
			p.write(", ", x.Index.Text)
		}
		p.write(" in ")
		p.expr(x.In)
		p.mods(x.Mods)
		p.body(x.Body, p.limit)
	case *Loop:
		p.write("loop")
		if x.Cond != nil {
			p.write(" ", x.Word, " ")
			p.cond(x.Cond)
		}
		switch {
		case x.UpTo:
			p.write(" up to ")
			p.expr(x.Max)
		case x.Max != nil:
			p.write(" (max: ")
			p.expr(x.Max)
			p.write(")")
		}
		p.as(x.As)
		p.body(x.Body, p.limit)
	case *DoBlock:
		p.write("do")
		if x.Name.Text == "" {
			p.body(x.Body, p.limit)
			return
		}
		p.write(" ", x.Name.Text)
		p.args(x.Args, x.Parens && len(x.Args) > 0)
	default:
		p.expr(x)
	}
}

func (p *printer) as(n Name) {
	if n.Text != "" {
		p.write(" as ", n.Text)
	}
}

func (p *printer) mods(m Mods) {
	sep := " ("
	next := func() string { s := sep; sep = ", "; return s }
	if m.Join != "" {
		p.write(next(), `"`, m.Join, `"`)
	}
	if m.Count != nil {
		p.write(next(), "count: ")
		p.expr(m.Count)
	}
	if m.OnFail != "" {
		p.write(next(), `on-fail: "`, m.OnFail, `"`)
	}
	if sep == ", " {
		p.write(")")
	}
}

func (p *printer) call(x *Call) {
	p.write("call ")
	if x.Quoted {
		p.text(&String{Parts: []Part{{Text: x.Target.Text}}})
	} else {
		p.write(x.Target.Text)
	}
	p.args(x.Args, x.Parens && len(x.Args) > 0)
}

func (p *printer) inputs(list []Input) {
	if len(list) == 0 {
		return
	}
	column, outer := p.column, p.limit
	p.level++
	for i, in := range list {
		p.limit = outer
		if i+1 < len(list) {
			p.limit = list[i+1].Name.Pos
		}
		p.unit(in.Name.Pos, false)
		p.write(in.Name.Text, ": ")
		p.value(in.Value)
	}
	p.flush(outer, column)
	p.level--
	p.limit, p.column = outer, column
}

func (p *printer) args(list []Expr, parens bool) {
	if parens {
		p.items("(", ")", slices.ContainsFunc(list, tall), len(list), Pos{}, func(i int) Pos { return start(list[i]) }, func(i int) Expr { return list[i] }, nil)
	}
}

// items writes what stands between brackets: on one line, or each on its own.
func (p *printer) items(open, closer string, apart bool, n int, end Pos, at func(int) Pos, value func(int) Expr, key func(int)) {
	column, outer := p.column, p.limit
	p.write(open)
	if apart {
		p.level++
	}
	for i := range n {
		p.limit = end
		if i+1 < n {
			p.limit = at(i + 1)
		}
		if apart {
			p.unit(at(i), false)
		}
		if key != nil {
			key(i)
		}
		if x := value(i); x != nil {
			p.value(x)
			if i+1 == n || tail(x) {
				continue
			}
		} else if i+1 == n {
			continue
		}
		p.write(",")
		if !apart {
			p.write(" ")
		}
	}
	if apart {
		p.flush(end, -1)
		p.level--
		p.newLine()
	}
	p.write(closer)
	p.limit, p.column = outer, column
}

// start is where a value begins.
func start(x Expr) Pos {
	for {
		b, ok := x.(*Binary)
		if !ok {
			return x.Place()
		}
		x = b.X
	}
}

// tall reports whether a value needs lines of its own: it holds a block, or a call with inputs below it.
func tall(x Expr) bool {
	switch x := x.(type) {
	case *List:
		return slices.ContainsFunc(x.Items, tall)
	case *Object:
		return slices.ContainsFunc(x.Entries, func(e Entry) bool { return tall(e.Value) })
	case *Call:
		return len(x.Inputs) > 0 || slices.ContainsFunc(x.Args, tall)
	case *DoBlock:
		return x.Name.Text == "" || slices.ContainsFunc(x.Args, tall)
	}
	return tail(x)
}

// tail reports whether a value ends with a line below it, so that no comma can stand behind it.
func tail(x Expr) bool {
	switch x := x.(type) {
	case *Call:
		return len(x.Inputs) > 0
	case *Parallel, *Repeat, *For, *Loop:
		return true
	case *DoBlock:
		return x.Name.Text == ""
	case *RefusedExpr:
		return strings.Contains(x.Text, "\n")
	}
	return false
}
