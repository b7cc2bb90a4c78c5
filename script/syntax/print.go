package syntax

import (
	"slices"
	"strings"
)

// Print writes a script in its one form: two spaces a level, one space around signs, comments where they were, and at
// most one blank line between lines, where there were any. Parsing what is printed gives the same script. The script must
// have been parsed without an error. An empty script gives "".
func Print(s *Script) string {
	p := &printer{comments: s.Comments, blank: s.blank}
	p.body(s.Body, 0)
	p.flush(int(^uint(0)>>1), 0)
	return p.out.String()
}

type printer struct {
	out      strings.Builder
	comments []Comment
	blank    []int // lines that are blank
	last     int   // the line of the source that was printed last
}

// flush prints the comments that stand before a line of the source.
func (p *printer) flush(line, level int) {
	for len(p.comments) > 0 && p.comments[0].Pos.Line < line {
		c := p.comments[0]
		p.comments = p.comments[1:]
		p.apart(c.Pos.Line)
		p.write(level, "#"+c.Text)
		p.last = max(p.last, c.Pos.Line)
	}
}

// apart prints a blank line where there was one between what was printed last and a line.
func (p *printer) apart(line int) {
	if p.out.Len() == 0 {
		return
	}
	i, _ := slices.BinarySearch(p.blank, p.last+1)
	if i < len(p.blank) && p.blank[i] < line {
		p.out.WriteByte('\n')
	}
}

func (p *printer) write(level int, text string) {
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			p.out.WriteString(strings.Repeat("  ", level))
		}
		p.out.WriteString(line)
		p.out.WriteByte('\n')
	}
}

// line prints a line that stands on a line of the source, with the comments before it and the one behind it.
func (p *printer) line(at Pos, level int, text string) {
	p.flush(at.Line, level)
	p.apart(at.Line)
	p.last = max(p.last, at.Line+strings.Count(text, "\n"))
	if len(p.comments) > 0 && !p.comments[0].Own && p.comments[0].Pos.Line <= p.last {
		text += "  #" + p.comments[0].Text
		p.comments = p.comments[1:]
	}
	p.write(level, text)
}

func (p *printer) body(list []Stmt, level int) {
	for _, s := range list {
		p.stmt(s, level)
	}
}

func (p *printer) stmt(s Stmt, level int) {
	switch s := s.(type) {
	case *Bind:
		word := "let "
		if s.Const {
			word = "const "
		}
		names := make([]string, len(s.Names))
		for i, n := range s.Names {
			names[i] = n.Text
		}
		target := strings.Join(names, ", ")
		if s.Destruc {
			target = "{ " + target + " }"
		}
		p.value(s.Pos, level, word+target+" = ", s.Value)
	case *Assign:
		p.value(s.Pos, level, spell(s.Target)+" = ", s.Value)
	case *Return:
		if s.Value == nil {
			p.line(s.Pos, level, "return")
			return
		}
		p.value(s.Pos, level, "return ", s.Value)
	case *Throw:
		if s.Value == nil {
			p.line(s.Pos, level, "throw")
			return
		}
		p.value(s.Pos, level, "throw ", s.Value)
	case *Do:
		p.value(s.Pos, level, "", s.Value)
	case *Record:
		p.value(s.Pos, level, s.Word+" ", s.Value, " "+link(s.Word)+" "+spell(s.List))
	case *If:
		for i, arm := range s.Arms {
			word := "elif "
			if i == 0 {
				word = "if "
			}
			p.line(arm.Pos, level, word+condition(arm.Cond)+":")
			p.body(arm.Body, level+1)
		}
		if s.HasElse {
			p.clause(s.Else, level, "else:")
		}
	case *Try:
		p.line(s.Pos, level, "try:")
		p.body(s.Body, level+1)
		if s.HasCatch {
			text := "catch:"
			if s.As.Text != "" {
				text = "catch as " + s.As.Text + ":"
			}
			p.clause(s.Catch, level, text)
		}
		if s.HasFinally {
			p.clause(s.Finally, level, "finally:")
		}
	case *Continue:
		p.line(s.Pos, level, "continue")
	case *Break:
		p.line(s.Pos, level, "break")
	case *Block:
		text := "block " + s.Name.Text
		if len(s.Params) > 0 {
			names := make([]string, len(s.Params))
			for i, n := range s.Params {
				names[i] = n.Text
			}
			text += "(" + strings.Join(names, ", ") + ")"
		}
		p.line(s.Pos, level, text+":")
		p.body(s.Body, level+1)
	case *Refused:
		p.refused(s.Pos, level, "", s.Text)
	}
}

// clause prints the header of a part whose place the tree does not keep: it stands before its body.
func (p *printer) clause(body []Stmt, level int, text string) {
	p.write(level, text)
	if len(body) > 0 {
		p.last = max(p.last, body[0].Place().Line-1)
	}
	p.body(body, level+1)
}

func (p *printer) refused(at Pos, level int, before, text string) {
	text = before + text
	p.line(at, level, strings.ReplaceAll(text, "\n", "\n"+strings.Repeat("  ", level)))
}

// value prints a statement that ends in a value.
func (p *printer) value(at Pos, level int, before string, x Expr, after ...string) {
	header := func(text string, mods Mods) string { return before + text + modifiers(mods) + ":" }
	switch x := x.(type) {
	case *Call:
		text := before + spellCall(x)
		p.line(at, level, text)
		for _, in := range x.Inputs {
			p.value(in.Name.Pos, level+1, in.Name.Text+": ", in.Value)
		}
	case *Parallel:
		p.line(at, level, before+strings.TrimSpace("parallel "+strings.TrimSpace(modifiers(x.Mods)))+":")
		p.body(x.Body, level+1)
	case *Repeat:
		text := "repeat " + spell(x.Count)
		if x.Parallel {
			text = "parallel " + text
		}
		if x.As.Text != "" {
			text += " as " + x.As.Text
		}
		p.line(at, level, header(text, x.Mods))
		p.body(x.Body, level+1)
	case *For:
		text := "for " + x.Each.Text
		if x.Parallel {
			text = "parallel " + text
		}
		if x.Index.Text != "" {
			text += ", " + x.Index.Text
		}
		p.line(at, level, header(text+" in "+spell(x.In), x.Mods))
		p.body(x.Body, level+1)
	case *Loop:
		text := "loop"
		if x.Cond != nil {
			text += " " + x.Word + " " + condition(x.Cond)
		}
		switch {
		case x.UpTo:
			text += " up to " + spell(x.Max)
		case x.Max != nil:
			text += " (max: " + spell(x.Max) + ")"
		}
		if x.As.Text != "" {
			text += " as " + x.As.Text
		}
		p.line(at, level, before+text+":")
		p.body(x.Body, level+1)
	case *DoBlock:
		if x.Body != nil {
			p.line(at, level, before+"do:")
			p.body(x.Body, level+1)
			return
		}
		text := "do " + x.Name.Text
		if len(x.Args) > 0 {
			text += "(" + join(x.Args) + ")"
		}
		p.line(at, level, before+text)
	case *RefusedExpr:
		p.refused(at, level, before, x.Text)
	default:
		p.nested(at, level, before, x, strings.Join(after, ""))
	}
}

// nested prints a value, an object or a list that had several lines on as many.
func (p *printer) nested(at Pos, level int, before string, x Expr, after string) {
	switch x := x.(type) {
	case *Object:
		if len(x.Entries) == 0 || x.Entries[len(x.Entries)-1].Key.Pos.Line == x.Pos.Line && !spread(x.Entries[len(x.Entries)-1].Value, x.Pos.Line) {
			break
		}
		p.line(at, level, before+"{")
		for i, e := range x.Entries {
			comma := ","
			if i == len(x.Entries)-1 {
				comma = ""
			}
			if e.Short {
				p.line(e.Key.Pos, level+1, e.Key.Text+comma)
			} else {
				p.nested(e.Key.Pos, level+1, e.Key.Text+": ", e.Value, comma)
			}
		}
		p.close(level, "}"+after)
		return
	case *List:
		if len(x.Items) == 0 || x.Items[len(x.Items)-1].Place().Line == x.Pos.Line && !spread(x.Items[len(x.Items)-1], x.Pos.Line) {
			break
		}
		p.line(at, level, before+"[")
		for i, item := range x.Items {
			comma := ","
			if i == len(x.Items)-1 {
				comma = ""
			}
			p.nested(item.Place(), level+1, "", item, comma)
		}
		p.close(level, "]"+after)
		return
	}
	p.line(at, level, before+spell(x)+after)
}

// spread reports whether something in a value stands on another line.
func spread(x Expr, line int) bool {
	switch x := x.(type) {
	case *Object:
		return slices.ContainsFunc(x.Entries, func(e Entry) bool { return e.Key.Pos.Line != line || spread(e.Value, line) })
	case *List:
		return slices.ContainsFunc(x.Items, func(item Expr) bool { return item.Place().Line != line || spread(item, line) })
	}
	return x.Place().Line != line
}

func (p *printer) close(level int, text string) { p.write(level, text) }

// modifiers are those of a parallel, with a space before them.
func modifiers(m Mods) string {
	var parts []string
	if m.Join != "" {
		parts = append(parts, `"`+m.Join+`"`)
	}
	if m.Count != nil {
		parts = append(parts, "count: "+spell(m.Count))
	}
	if m.OnFail != "" {
		parts = append(parts, `on-fail: "`+m.OnFail+`"`)
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func condition(c *Cond) string {
	if c.Marks == "***" {
		return "***\n" + c.Text + "\n***"
	}
	return c.Marks + c.Text + c.Marks
}

func spellCall(x *Call) string {
	target := x.Target.Text
	if x.Quoted {
		target = quote(target, false)
	}
	if len(x.Args) > 0 {
		target += "(" + join(x.Args) + ")"
	}
	return "call " + target
}

func join(list []Expr) string {
	parts := make([]string, len(list))
	for i, x := range list {
		parts[i] = spell(x)
	}
	return strings.Join(parts, ", ")
}

// strength orders the operators: what binds closer is greater.
func strength(x Expr) int {
	switch x := x.(type) {
	case *Binary:
		switch x.Op {
		case "or":
			return 1
		case "and":
			return 2
		}
		return 4
	case *Unary:
		return 3
	}
	return 5
}

// closer spells a value in brackets where it binds less than least.
func closer(x Expr, least int) string {
	if strength(x) < least {
		return "(" + spell(x) + ")"
	}
	return spell(x)
}

// spell writes a value on one line.
func spell(x Expr) string {
	switch x := x.(type) {
	case *String:
		return spellText(x)
	case *Number:
		return x.Text
	case *Bool:
		if x.Value {
			return "true"
		}
		return "false"
	case *Null:
		return "null"
	case *List:
		return "[" + join(x.Items) + "]"
	case *Object:
		if len(x.Entries) == 0 {
			return "{}"
		}
		parts := make([]string, len(x.Entries))
		for i, e := range x.Entries {
			parts[i] = e.Key.Text
			if !e.Short {
				parts[i] += ": " + spell(e.Value)
			}
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case *Ref:
		var b strings.Builder
		b.WriteString(x.Name.Text)
		for _, step := range x.Path {
			if step.Index != nil {
				b.WriteString("[" + spell(step.Index) + "]")
			} else {
				b.WriteString("." + step.Key)
			}
		}
		return b.String()
	case *Unary:
		return "not " + closer(x.X, 3)
	case *Binary:
		mine := strength(x)
		if mine == 4 {
			return closer(x.X, 5) + " " + x.Op + " " + closer(x.Y, 5)
		}
		return closer(x.X, mine) + " " + x.Op + " " + closer(x.Y, mine+1)
	case *Call:
		return spellCall(x)
	}
	return ""
}

func spellText(x *String) string {
	mark := `"`
	if x.Triple {
		mark = `"""`
	}
	var b strings.Builder
	b.WriteString(mark)
	for i, part := range x.Parts {
		if part.Ref != nil {
			b.WriteString("{" + spell(part.Ref) + "}")
			continue
		}
		text := escape(part.Text, x.Triple)
		if i+1 == len(x.Parts) && x.Triple && strings.HasSuffix(text, `"`) && !strings.HasSuffix(text, `\"`) {
			text = text[:len(text)-1] + `\"`
		}
		b.WriteString(text)
	}
	b.WriteString(mark)
	return b.String()
}

func quote(text string, triple bool) string {
	return spellText(&String{Triple: triple, Parts: []Part{{Text: text}}})
}

// escape writes a text so that it is read as it is. Braces stay where nothing could be interpolated.
func escape(text string, triple bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			b.WriteString(`\\`)
		case c == '"' && (!triple || strings.HasPrefix(text[i:], `"""`)):
			b.WriteString(`\"`)
		case c == '\n' && !triple:
			b.WriteString(`\n`)
		case c == '\t' && !triple:
			b.WriteString(`\t`)
		case c == '{' && interpolated.MatchString(text[i:]):
			b.WriteString(`\{`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
