package interp

import (
	"strconv"
	"strings"

	"github.com/firstgood/firstgood/script/syntax"
)

// Comparisons. Delegates answer with texts more often than with numbers and booleans; a text that is written like one is
// compared as one.

func (c *compiler) binary(x *syntax.Binary) expr {
	holds := c.compare(x)
	return func(t *thread) (Value, error) {
		ok, err := holds(t)
		return Bool(ok), err
	}
}

// compare compiles a comparison, and, or or.
func (c *compiler) compare(x *syntax.Binary) test {
	pos, op := x.Pos, x.Op
	switch op {
	case "and":
		a, b := c.truth(x.X), c.truth(x.Y)
		return func(t *thread) (bool, error) {
			ok, err := a(t)
			if err != nil || !ok {
				return false, err
			}
			return b(t)
		}
	case "or":
		a, b := c.truth(x.X), c.truth(x.Y)
		return func(t *thread) (bool, error) {
			ok, err := a(t)
			if err != nil || ok {
				return ok, err
			}
			return b(t)
		}
	}
	a, b := c.expr(x.X), c.expr(x.Y)
	both := func(t *thread) (v, w Value, err error) {
		if v, err = a(t); err == nil {
			w, err = b(t)
		}
		return v, w, err
	}
	switch op {
	case "==", "!=":
		want := op == "=="
		return func(t *thread) (bool, error) {
			v, w, err := both(t)
			if err != nil {
				return false, err
			}
			if v.kind == KindNumber && w.kind == KindNumber {
				return (v.num == w.num) == want, nil
			}
			return equal(v, w) == want, nil
		}
	}
	return func(t *thread) (bool, error) {
		v, w, err := both(t)
		if err != nil {
			return false, err
		}
		if v.kind != KindNumber || w.kind != KindNumber {
			return order(v, w, op, pos)
		}
		switch op {
		case "<":
			return v.num < w.num, nil
		case "<=":
			return v.num <= w.num, nil
		case ">":
			return v.num > w.num, nil
		}
		return v.num >= w.num, nil
	}
}

// truth compiles an expression of which only is asked whether it holds.
func (c *compiler) truth(x syntax.Expr) test {
	switch x := x.(type) {
	case *syntax.Binary:
		return c.compare(x)
	case *syntax.Unary:
		inner := c.truth(x.X)
		return func(t *thread) (bool, error) {
			ok, err := inner(t)
			return !ok && err == nil, err
		}
	}
	value := c.expr(x)
	return func(t *thread) (bool, error) {
		v, err := value(t)
		return v.truthy(), err
	}
}

// truthy reports whether a value counts as true: not null, false, 0, an empty list or object, a blank text, or a text
// that is one of the words false and null.
func (v Value) truthy() bool {
	switch v.kind {
	case KindNull:
		return false
	case KindBool, KindNumber:
		return v.num != 0
	case KindText:
		s := strings.TrimSpace(v.ref.(string))
		return s != "" && !strings.EqualFold(s, "false") && !strings.EqualFold(s, "null")
	}
	return !v.empty()
}

// empty reports whether a value says nothing: null, a blank text, a list or object without elements.
func (v Value) empty() bool {
	switch v.kind {
	case KindNull:
		return true
	case KindText:
		return strings.TrimSpace(v.ref.(string)) == ""
	case KindList:
		return len(v.ref.(*list).items) == 0
	case KindObject:
		return len(v.ref.(*object).fields) == 0
	}
	return false
}

// number is the number that v is, or that the whole of a text is.
func number(v Value) (float64, bool) {
	switch v.kind {
	case KindNumber:
		return v.num, true
	case KindText:
		s := strings.TrimSpace(v.ref.(string))
		if s == "" || len(s) > 64 || strings.ContainsAny(s, "xXpP_nN") {
			return 0, false
		}
		f, err := strconv.ParseFloat(s, 64)
		return f, err == nil && f-f == 0
	}
	return 0, false
}

// boolean is the boolean that v is, or that the whole of a text is.
func boolean(v Value) (value, ok bool) {
	switch v.kind {
	case KindBool:
		return v.num != 0, true
	case KindText:
		s := strings.TrimSpace(v.ref.(string))
		return strings.EqualFold(s, "true"), strings.EqualFold(s, "true") || strings.EqualFold(s, "false")
	}
	return false, false
}

// isText reports whether v has no other form than a text.
func (v Value) isText() bool {
	return v.kind == KindText || v.kind == KindDelegate || v.kind == KindError
}

// equal reports whether two values are the same: lists element by element, objects key by key in any order, a delegate
// by its name, an error by its message, a text that is written like a number or boolean as that one.
func equal(v, w Value) bool {
	switch {
	case v.isText() && w.isText():
		return v.String() == w.String()
	case v.isText():
		v, w = w, v
		fallthrough
	case w.isText() && v.kind != w.kind:
		switch v.kind {
		case KindNumber:
			f, ok := number(w)
			return ok && f == v.num
		case KindBool:
			b, ok := boolean(w)
			return ok && b == (v.num != 0)
		}
		return false
	case v.kind != w.kind:
		return false
	}
	switch v.kind {
	case KindBool, KindNumber:
		return v.num == w.num
	case KindList:
		return equalLists(v.ref.(*list), w.ref.(*list))
	case KindObject:
		return equalObjects(v.ref.(*object), w.ref.(*object))
	}
	return true
}

func equalLists(l, m *list) bool {
	if l == m {
		return true
	}
	if len(l.items) != len(m.items) {
		return false
	}
	for i := range l.items {
		if !equal(l.items[i], m.items[i]) {
			return false
		}
	}
	return true
}

func equalObjects(o, p *object) bool {
	if o == p {
		return true
	}
	if len(o.fields) != len(p.fields) {
		return false
	}
	for i := range o.fields {
		other, ok := p.get(o.fields[i].Key)
		if !ok || !equal(o.fields[i].Value, other) {
			return false
		}
	}
	return true
}

// order compares two numbers, or two texts that are none.
func order(v, w Value, op string, pos syntax.Pos) (bool, error) {
	sign := 0
	a, ok := number(v)
	b, also := number(w)
	switch {
	case ok && also:
		switch {
		case a < b:
			sign = -1
		case a > b:
			sign = 1
		}
	case v.kind == KindText && w.kind == KindText:
		sign = strings.Compare(v.ref.(string), w.ref.(string))
	default:
		return false, failf(pos, "%s compares two numbers or two texts, not %s and %s", op, describe(v), describe(w))
	}
	switch op {
	case "<":
		return sign < 0, nil
	case "<=":
		return sign <= 0, nil
	case ">":
		return sign > 0, nil
	}
	return sign >= 0, nil
}
