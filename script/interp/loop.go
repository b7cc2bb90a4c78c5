package interp

import (
	"math"

	"github.com/firstgood/firstgood/script/syntax"
)

// count reads how often something is to run: a whole number from 1.
func (t *thread) count(v Value, pos syntax.Pos, what string, isKey bool) (int, error) {
	if v.IsNull() && isKey {
		t.warn(pos, "%s has no number here, and is taken as 1", what)
		return 1, nil
	}
	n, ok := number(v)
	if !ok || n < 1 || n != math.Trunc(n) {
		return 0, failf(pos, "%s takes a whole number from 1, and this is %s", what, describe(v))
	}
	if n > math.MaxInt32 {
		return 0, failf(pos, "%s is at most %d, and this is %s", what, math.MaxInt32, describe(v))
	}
	return int(n), nil
}

// countOf compiles how often something is to run. A key may be missing, which is said by what it then counts as.
func (c *compiler) countOf(x syntax.Expr) (count expr, key bool) {
	if isKey(x) {
		return c.ref(x.(*syntax.Ref), true), true
	}
	return c.expr(x), false
}

func isKey(x syntax.Expr) bool {
	ref, ok := x.(*syntax.Ref)
	return ok && len(ref.Path) > 0
}

// repeat compiles a repeat in the place of a statement.
func (c *compiler) repeat(x *syntax.Repeat) stmt {
	count, key := c.countOf(x.Count)
	pos := x.Pos
	body, as := c.body(x.Body, false), c.optional(&x.As)
	return func(t *thread) flow {
		v, err := count(t)
		if err != nil {
			return t.fail(err)
		}
		n, err := t.count(v, pos, "repeat", key)
		if err != nil {
			return t.fail(err)
		}
		for i := range n {
			if err := t.alive(pos); err != nil {
				return t.fail(err)
			}
			if as >= 0 {
				t.frame[as] = Value{kind: KindNumber, num: float64(i + 1)}
			}
			switch f := body(t); f {
			case broke:
				return next
			case returned, failed:
				return f
			}
		}
		return next
	}
}

// optional is the slot of a name that may have been left out, -1 then.
func (c *compiler) optional(name *syntax.Name) int {
	if name.Text == "" {
		return -1
	}
	return c.p.Slots[name]
}

// items are the elements that a for goes through.
func (t *thread) items(v Value, pos syntax.Pos) ([]Value, error) {
	if v.kind == KindText {
		if view, ok := t.jsonOf(v.ref.(string)); ok {
			v = view
		}
	}
	if v.kind != KindList {
		return nil, failf(pos, "for goes through a list, and this is %s", describe(v))
	}
	return v.ref.(*list).items, nil
}

// each compiles a for in the place of a statement.
func (c *compiler) each(x *syntax.For) stmt {
	in, pos := c.expr(x.In), x.Pos
	enter, body := c.element(x), c.body(x.Body, false)
	return func(t *thread) flow {
		v, err := in(t)
		if err != nil {
			return t.fail(err)
		}
		items, err := t.items(v, pos)
		if err != nil {
			return t.fail(err)
		}
		for i := range items {
			if err := t.alive(pos); err != nil {
				return t.fail(err)
			}
			enter(t, i, items[i])
			switch f := body(t); f {
			case broke:
				return next
			case returned, failed:
				return f
			}
		}
		return next
	}
}

// element compiles what a for does with each element before its body runs.
func (c *compiler) element(x *syntax.For) func(*thread, int, Value) {
	each, index, position := c.p.Slots[&x.Each], c.optional(&x.Index), -1
	if slot, ok := c.positions[x]; ok {
		position = slot
	}
	return func(t *thread, i int, v Value) {
		t.frame[each] = v
		if index >= 0 {
			t.frame[index] = Value{kind: KindNumber, num: float64(i)}
		}
		if position >= 0 {
			t.frame[position] = Value{kind: KindNumber, num: float64(i + 1)}
		}
	}
}

// loop compiles a loop. While is asked before each iteration, until after it.
func (c *compiler) loop(x *syntax.Loop) stmt {
	limit, key := c.countOf(x.Max)
	pos := x.Pos
	body, as := c.body(x.Body, false), c.optional(&x.As)
	var until, while test
	if x.Cond != nil {
		if x.Word == "until" {
			until = c.cond(x.Cond)
		} else {
			while = c.cond(x.Cond)
		}
	}
	return func(t *thread) flow {
		v, err := limit(t)
		if err != nil {
			return t.fail(err)
		}
		n, err := t.count(v, pos, "max", key)
		if err != nil {
			return t.fail(err)
		}
		for i := range n {
			if err := t.alive(pos); err != nil {
				return t.fail(err)
			}
			if as >= 0 {
				t.frame[as] = Value{kind: KindNumber, num: float64(i + 1)}
			}
			if while != nil {
				if holds, err := while(t); err != nil || !holds {
					return t.unless(err)
				}
			}
			switch f := body(t); f {
			case broke:
				return next
			case returned, failed:
				return f
			}
			if until != nil {
				if holds, err := until(t); err != nil || holds {
					return t.unless(err)
				}
			}
		}
		return next
	}
}

// unless goes on, unless there is an error.
func (t *thread) unless(err error) flow {
	if err != nil {
		return t.fail(err)
	}
	return next
}

// A body that collects runs once for each of its iterations, and gives a list of their values. Where its only statement
// is a repeat, the elements of that one's list are taken one by one.
type collector struct {
	locals  []int
	body    stmt
	flatten bool
	pos     syntax.Pos
}

func (c *compiler) collector(x syntax.Expr, body []syntax.Stmt) *collector {
	k := &collector{body: c.body(body, true), pos: x.Place(), flatten: c.flattens(body)}
	if info := c.p.Collects[x]; info != nil {
		k.locals = info.Locals
	}
	return k
}

// flattens reports whether the body of something that collects is a repeat and nothing else.
func (c *compiler) flattens(body []syntax.Stmt) bool {
	if len(body) != 1 {
		return false
	}
	do, ok := body[0].(*syntax.Do)
	if !ok {
		return false
	}
	info := c.p.Collects[do.Value]
	return info != nil && info.Flatten
}

// once runs one iteration. More is false where it has left the loop.
func (k *collector) once(t *thread) (v Value, more bool, err error) {
	for _, slot := range k.locals {
		t.frame[slot] = Value{}
	}
	f := k.body(t)
	if f == broke {
		return Value{}, false, nil
	}
	v, err = t.result(f)
	return v, err == nil, err
}

// add adds the value of an iteration to those before it.
func (k *collector) add(values []Value, v Value) []Value {
	if k.flatten && v.kind == KindList {
		return append(values, v.ref.(*list).items...)
	}
	return append(values, v)
}

// gather compiles a repeat or for that collects one after another. Count gives the number of iterations, and what is to
// be done before each.
func (k *collector) gather(count func(*thread) (int, func(int), error)) expr {
	return func(t *thread) (Value, error) {
		n, enter, err := count(t)
		if err != nil {
			return Value{}, err
		}
		var values []Value
		size := int64(0)
		for i := range n {
			if err := t.alive(k.pos); err != nil {
				return Value{}, err
			}
			enter(i)
			v, more, err := k.once(t)
			if err != nil {
				return Value{}, err
			}
			if !more {
				break
			}
			if size += v.size() + 1; size > MaxSize {
				return Value{}, placed(k.pos, errSize)
			}
			values = k.add(values, v)
		}
		list, err := newList(values)
		return list, placed(k.pos, err)
	}
}

func (c *compiler) collectRepeat(x *syntax.Repeat) expr {
	count, key := c.countOf(x.Count)
	pos, as := x.Pos, c.optional(&x.As)
	k := c.collector(x, x.Body)
	enter := func(t *thread, i int) {
		if as >= 0 {
			t.frame[as] = Value{kind: KindNumber, num: float64(i + 1)}
		}
	}
	times := func(t *thread) (int, error) {
		v, err := count(t)
		if err != nil {
			return 0, err
		}
		return t.count(v, pos, "repeat", key)
	}
	if x.Parallel {
		return c.spread(pos, x.Mods, k, func(t *thread) (int, func(*thread, int), error) {
			n, err := times(t)
			return n, enter, err
		})
	}
	return k.gather(func(t *thread) (int, func(int), error) {
		n, err := times(t)
		return n, func(i int) { enter(t, i) }, err
	})
}

func (c *compiler) collectFor(x *syntax.For) expr {
	in, pos, enter := c.expr(x.In), x.Pos, c.element(x)
	k := c.collector(x, x.Body)
	items := func(t *thread) ([]Value, error) {
		v, err := in(t)
		if err != nil {
			return nil, err
		}
		return t.items(v, pos)
	}
	if x.Parallel {
		return c.spread(pos, x.Mods, k, func(t *thread) (int, func(*thread, int), error) {
			items, err := items(t)
			return len(items), func(t *thread, i int) { enter(t, i, items[i]) }, err
		})
	}
	return k.gather(func(t *thread) (int, func(int), error) {
		items, err := items(t)
		return len(items), func(i int) { enter(t, i, items[i]) }, err
	})
}

// doValue compiles a do whose value is wanted.
func (c *compiler) doValue(x *syntax.DoBlock) expr {
	k := c.collector(x, x.Body)
	return func(t *thread) (Value, error) {
		v, _, err := k.once(t)
		return v, err
	}
}
