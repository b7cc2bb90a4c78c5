package syntax

import "strings"

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

// closer writes a value, in parentheses where it binds less than least.
func (p *printer) closer(x Expr, least int) {
	if strength(x) >= least {
		p.expr(x)
		return
	}
	p.write("(")
	p.expr(x)
	p.write(")")
}

// expr writes a value.
func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case *String:
		p.text(x)
	case *Number:
		p.write(x.Text)
	case *Bool:
		if x.Value {
			p.write("true")
		} else {
			p.write("false")
		}
	case *Null:
		p.write("null")
	case *List:
		p.list(x)
	case *Object:
		p.object(x)
	case *Ref:
		p.write(x.Name.Text)
		for _, step := range x.Path {
			if step.Index == nil {
				p.write(".", step.Key)
				continue
			}
			p.write("[")
			p.expr(step.Index)
			p.write("]")
		}
	case *Unary:
		p.write("not ")
		p.closer(x.X, 3)
	case *Binary:
		mine := strength(x)
		left, right := mine, mine+1
		if mine == 4 {
			left = 5
		}
		p.closer(x.X, left)
		p.write(" ", x.Op, " ")
		p.closer(x.Y, right)
	case *Call:
		p.call(x)
	case *RefusedExpr:
		p.write(reindent(x.Text, 0, 2*p.level))
	}
}

func (p *printer) list(x *List) {
	apart := tall(x) || p.pending(x.End) || len(x.Items) > 0 && start(x.Items[0]).Line > x.Pos.Line
	p.items("[", "]", apart, len(x.Items), x.End, func(i int) Pos { return start(x.Items[i]) }, func(i int) Expr { return x.Items[i] }, nil)
}

func (p *printer) object(x *Object) {
	apart := tall(x) || p.pending(x.End) || len(x.Entries) > 0 && x.Entries[0].Key.Pos.Line > x.Pos.Line
	open, closer := "{", "}"
	if !apart && len(x.Entries) > 0 {
		open, closer = "{ ", " }"
	}
	key := func(i int) {
		if p.write(x.Entries[i].Key.Text); !x.Entries[i].Short {
			p.write(": ")
		}
	}
	value := func(i int) Expr {
		if x.Entries[i].Short {
			return nil
		}
		return x.Entries[i].Value
	}
	p.items(open, closer, apart, len(x.Entries), x.End, func(i int) Pos { return x.Entries[i].Key.Pos }, value, key)
}

// text writes a text in quotes.
func (p *printer) text(x *String) {
	mark := `"`
	if x.Triple {
		mark = `"""`
	}
	p.write(mark)
	for i, part := range x.Parts {
		if part.Ref != nil {
			p.write("{")
			p.expr(part.Ref)
			p.write("}")
		} else {
			p.escaped(part.Text, x.Triple, i == len(x.Parts)-1)
		}
	}
	p.write(mark)
}

// escaped writes a part of a text so that it is read as it is. Braces stay where nothing would be interpolated.
func (p *printer) escaped(s string, triple, last bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			p.write(`\\`)
		case c == '"' && (!triple || i+1 == len(s) && last || strings.HasPrefix(s[i+1:], `"`)):
			p.write(`\"`)
		case c == '\n' && !triple:
			p.write(`\n`)
		case c == '\t':
			p.write(`\t`)
		case c == '{' && interpolated(s[i:]) != "":
			p.write(`\{`)
		default:
			p.out.WriteByte(c)
		}
	}
}
