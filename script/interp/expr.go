package interp

import (
	"fmt"
	"math"
	"strings"

	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

// expr compiles an expression whose value is wanted.
func (c *compiler) expr(x syntax.Expr) expr {
	switch x := x.(type) {
	case *syntax.Null:
		return constant(Value{})
	case *syntax.Bool:
		return constant(Bool(x.Value))
	case *syntax.Number:
		v, err := numeral(x.Text)
		if err != nil {
			v = Number(x.Value)
		}
		return constant(v)
	case *syntax.String:
		return c.string(x)
	case *syntax.List:
		return c.list(x)
	case *syntax.Object:
		return c.object(x)
	case *syntax.Ref:
		return c.ref(x, false)
	case *syntax.Unary:
		inner := c.expr(x.X)
		return func(t *thread) (Value, error) {
			v, err := inner(t)
			return Bool(!v.truthy()), err
		}
	case *syntax.Binary:
		return c.binary(x)
	case *syntax.Call:
		return c.call(x)
	case *syntax.Parallel:
		return c.parallel(x)
	case *syntax.Repeat:
		return c.collectRepeat(x)
	case *syntax.For:
		return c.collectFor(x)
	case *syntax.DoBlock:
		if x.Name.Text == "" {
			return c.doValue(x)
		}
		return c.invoke(x)
	}
	return constant(Value{}) // what the checker refuses
}

func constant(v Value) expr {
	return func(*thread) (Value, error) { return v, nil }
}

// string compiles a text with what is interpolated in it, and a count in words.
func (c *compiler) string(x *syntax.String) expr {
	if phrase, ok := c.p.Phrases[x]; ok {
		return c.phrase(phrase)
	}
	if len(x.Parts) == 0 {
		return constant(text(""))
	}
	if len(x.Parts) == 1 && x.Parts[0].Ref == nil {
		return constant(Text(x.Parts[0].Text))
	}
	type part struct {
		text string
		ref  expr
	}
	parts := make([]part, len(x.Parts))
	for i, p := range x.Parts {
		if p.Ref != nil {
			parts[i].ref = c.ref(p.Ref, false)
		} else {
			parts[i].text = strings.ToValidUTF8(p.Text, "\uFFFD")
		}
	}
	pos := x.Pos
	return func(t *thread) (Value, error) {
		var b strings.Builder
		for _, p := range parts {
			s := p.text
			if p.ref != nil {
				v, err := p.ref(t)
				if err != nil {
					return Value{}, err
				}
				s = v.String()
			}
			if b.Len()+len(s) > MaxSize {
				return Value{}, placed(pos, errSize)
			}
			b.WriteString(s)
		}
		return text(b.String()), nil
	}
}

func (c *compiler) phrase(p check.Phrase) expr {
	if p.Kind == check.PhraseCalls {
		return func(t *thread) (Value, error) { return Number(float64(t.started.Load())), nil }
	}
	slot := c.positions[p.For]
	return func(t *thread) (Value, error) { return t.frame[slot], nil }
}

func (c *compiler) list(x *syntax.List) expr {
	items, pos := make([]expr, len(x.Items)), x.Pos
	for i, item := range x.Items {
		items[i] = c.expr(item)
	}
	return func(t *thread) (Value, error) {
		values := make([]Value, len(items))
		for i, item := range items {
			var err error
			if values[i], err = item(t); err != nil {
				return Value{}, err
			}
		}
		v, err := newList(values)
		return v, placed(pos, err)
	}
}

func (c *compiler) object(x *syntax.Object) expr {
	values, keys, pos := make([]expr, len(x.Entries)), make([]string, len(x.Entries)), x.Pos
	for i, entry := range x.Entries {
		keys[i], values[i] = entry.Key.Text, c.expr(entry.Value)
	}
	return func(t *thread) (Value, error) {
		fields := make([]Field, len(values))
		for i, value := range values {
			v, err := value(t)
			if err != nil {
				return Value{}, err
			}
			fields[i] = Field{keys[i], v}
		}
		v, err := newObject(fields)
		return v, placed(pos, err)
	}
}

// step is one step into a value.
type step struct {
	key   string
	index expr // nil for a key
	pos   syntax.Pos
}

func (c *compiler) steps(path []syntax.Step) []step {
	steps := make([]step, len(path))
	for i, s := range path {
		steps[i] = step{key: s.Key, pos: s.Pos}
		if s.Index != nil {
			steps[i].index = c.expr(s.Index)
		}
	}
	return steps
}

// ref compiles reading a variable, or what is inside its value. Quiet is where somebody asks whether it is there, so that
// it may be missing.
func (c *compiler) ref(x *syntax.Ref, quiet bool) expr {
	slot := c.p.Slots[&x.Name]
	steps := c.steps(x.Path)
	switch {
	case len(steps) == 0:
		return func(t *thread) (Value, error) { return t.frame[slot], nil }
	case c.p.Guards[x]:
		return c.guardReason(slot)
	case steps[len(steps)-1].key == adjustedBrief && len(steps) == 1:
		return c.adjusted(slot, steps, quiet)
	case len(steps) == 1 && steps[0].index != nil:
		index, pos := steps[0].index, steps[0].pos
		return func(t *thread) (Value, error) {
			i, err := index(t)
			if err != nil {
				return Value{}, err
			}
			v := &t.frame[slot]
			if v.kind == KindList && i.kind == KindNumber {
				items := v.ref.(*list).items
				if at := int(i.num); float64(at) == i.num && at >= 0 && at < len(items) {
					return items[at], nil
				}
			}
			return t.index(*v, i, pos, quiet)
		}
	}
	return func(t *thread) (Value, error) { return t.walk(t.frame[slot], steps, quiet) }
}

func (t *thread) walk(v Value, steps []step, quiet bool) (Value, error) {
	for i := range steps {
		var err error
		if steps[i].index == nil {
			v, err = t.key(v, steps[i].key, steps[i].pos, quiet)
		} else {
			var at Value
			if at, err = steps[i].index(t); err == nil {
				v, err = t.index(v, at, steps[i].pos, quiet)
			}
		}
		if err != nil {
			return Value{}, err
		}
	}
	return v, nil
}

// key is the value of a key in v. Of a text it is that of the JSON in it, and of the key score otherwise the first number
// in it, as a part of 1; length is the number of elements, characters or keys. What is not there is null, with a warning
// unless quiet.
func (t *thread) key(v Value, key string, pos syntax.Pos, quiet bool) (Value, error) {
	switch v.kind {
	case KindObject:
		o := v.ref.(*object)
		if found, ok := o.get(key); ok {
			return found, nil
		}
		if key == "length" {
			return Number(float64(len(o.fields))), nil
		}
	case KindList:
		if key == "length" {
			return Number(float64(len(v.ref.(*list).items))), nil
		}
	case KindText:
		if key == "length" {
			return Number(float64(len([]rune(v.ref.(string))))), nil
		}
		if view, ok := t.jsonOf(v.ref.(string)); ok && view.kind == KindObject {
			if found, ok := view.Get(key); ok {
				return found, nil
			}
		}
		if f, ok := scoreIn(v.ref.(string), 1); ok && key == "score" && !quiet {
			t.warn(pos, "the score was read out of %s; ask for a JSON object with a number score", describe(v))
			return Number(f), nil
		}
	case KindError:
		f := v.ref.(*failure)
		switch key {
		case "message":
			return Text(f.message), nil
		case "kind":
			return text(string(f.kind)), nil
		case "delegate":
			if f.delegate == "" {
				return Value{}, nil
			}
			return Text(f.delegate), nil
		}
	case KindDelegate:
		if key == "name" {
			return Text(v.String()), nil
		}
	}
	if !quiet {
		t.warn(pos, "%s has no %s, which is taken as null", describe(v), key)
	}
	return Value{}, nil
}

// index is an element of v: of a list by its place from 0, of an object by its key. A text has only itself, so that one
// text can stand for a list of as many as are wanted.
func (t *thread) index(v, at Value, pos syntax.Pos, quiet bool) (Value, error) {
	switch v.kind {
	case KindText:
		return v, nil
	case KindObject:
		if at.kind == KindText {
			return t.key(v, at.String(), pos, quiet)
		}
	case KindList:
		n, ok := number(at)
		if !ok || n != math.Trunc(n) {
			return Value{}, failf(pos, "an element of a list is found by a whole number, not by %s", describe(at))
		}
		items := v.ref.(*list).items
		if n >= 0 && n < float64(len(items)) {
			return items[int(n)], nil
		}
		if !quiet {
			t.warn(pos, "there is no element %s in a list of %d, which is taken as null", at.String(), len(items))
		}
		return Value{}, nil
	}
	if !quiet {
		t.warn(pos, "%s has no element %s, which is taken as null", describe(v), short(at))
	}
	return Value{}, nil
}

// put returns v with the value at the end of the steps changed.
func (t *thread) put(v Value, steps []step, change func(Value) (Value, error)) (Value, error) {
	if len(steps) == 0 {
		return change(v)
	}
	s := &steps[0]
	key := s.key
	if s.index != nil {
		at, err := s.index(t)
		if err != nil {
			return Value{}, err
		}
		if v.kind == KindList {
			l := v.ref.(*list)
			n, ok := number(at)
			if !ok || n != math.Trunc(n) || n < 0 || n >= float64(len(l.items)) {
				return Value{}, failf(s.pos, "there is no element %s in a list of %d", short(at), len(l.items))
			}
			inner, err := t.put(l.items[int(n)], steps[1:], change)
			if err != nil {
				return Value{}, err
			}
			changed, err := l.with(int(n), inner)
			return changed, placed(s.pos, err)
		}
		if at.kind != KindText {
			return Value{}, failf(s.pos, "%s has no element %s", describe(v), short(at))
		}
		key = at.String()
	}
	o := &object{}
	switch v.kind {
	case KindObject:
		o = v.ref.(*object)
	case KindNull:
	default:
		return Value{}, failf(s.pos, "%s has no keys, so that %s cannot be set in it", describe(v), key)
	}
	old, _ := o.get(key)
	inner, err := t.put(old, steps[1:], change)
	if err != nil {
		return Value{}, err
	}
	changed, err := o.with(key, inner)
	return changed, placed(s.pos, err)
}

// describe says what a value is, for a message.
func describe(v Value) string {
	switch v.kind {
	case KindNull:
		return "null"
	case KindBool, KindNumber:
		return v.String()
	case KindText:
		return fmt.Sprintf("the text %s", short(v))
	case KindDelegate:
		return "the delegate " + v.String()
	}
	return v.kind.String()
}

// short is the beginning of a value as JSON, for a message.
func short(v Value) string {
	const most = 40
	s := v
	if v.kind == KindText && len(v.ref.(string)) > most {
		s = text(strings.ToValidUTF8(v.ref.(string)[:most], ""))
		return strings.TrimSuffix(string(s.appendJSON(nil)), `"`) + `…"`
	}
	b := s.appendJSON(nil)
	if len(b) > most {
		return strings.ToValidUTF8(string(b[:most]), "") + "…"
	}
	return string(b)
}
