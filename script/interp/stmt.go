package interp

import (
	"sync/atomic"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

// compiler turns the tree of one body with a frame of its own, the script or a block, into functions.
type compiler struct {
	s    *Script
	p    *check.Program
	size int // of the frame: what the program says, and then what is found to be needed

	errors    map[*syntax.Try]int // where the error of a catch is kept for a throw without a value
	positions map[*syntax.For]int // where the position in a for is kept for a count in words
}

// block is a named block.
type block struct {
	params   int
	size     int
	captures []check.Capture
	body     stmt
}

func (s *Script) compile() {
	for name := range s.cfg.Program.Blocks {
		s.blocks[name] = &block{}
	}
	c := s.compiler(s.cfg.Program.Size)
	s.body = c.body(s.cfg.Program.Script.Body, true)
	s.size = c.size
	for name, def := range s.cfg.Program.Blocks {
		b, c := s.blocks[name], s.compiler(def.Size)
		b.params, b.captures = len(def.Def.Params), def.Captures
		b.body = c.body(def.Def.Body, true)
		b.size = c.size
	}
}

func (s *Script) compiler(size int) *compiler {
	c := &compiler{s: s, p: s.cfg.Program, size: size, errors: map[*syntax.Try]int{}, positions: map[*syntax.For]int{}}
	for _, try := range c.p.Raises {
		c.errors[try] = c.slot()
	}
	for _, phrase := range c.p.Phrases {
		if phrase.For != nil {
			c.positions[phrase.For] = c.slot()
		}
	}
	return c
}

func (c *compiler) slot() int {
	c.size++
	return c.size - 1
}

// body compiles statements that follow each other. Where the value of the body is wanted, the last of them leaves it in
// thread.val.
func (c *compiler) body(stmts []syntax.Stmt, wanted bool) stmt {
	code := make([]stmt, 0, len(stmts))
	for i, s := range stmts {
		if f := c.stmt(s, wanted && i == len(stmts)-1); f != nil {
			code = append(code, f)
		}
	}
	if wanted && (len(stmts) == 0 || !givesValue(stmts[len(stmts)-1])) {
		code = append(code, func(t *thread) flow {
			t.val = Value{}
			return next
		})
	}
	switch len(code) {
	case 0:
		return func(*thread) flow { return next }
	case 1:
		return code[0]
	case 2:
		first, second := code[0], code[1]
		return func(t *thread) flow {
			if f := first(t); f != next {
				return f
			}
			return second(t)
		}
	}
	return func(t *thread) flow {
		for _, s := range code {
			if f := s(t); f != next {
				return f
			}
		}
		return next
	}
}

// givesValue reports whether a statement leaves a value in thread.val when it is the last of a body whose value is wanted.
func givesValue(s syntax.Stmt) bool {
	switch s := s.(type) {
	case *syntax.Do, *syntax.If, *syntax.Try:
		return true
	case *syntax.Return, *syntax.Throw, *syntax.Continue, *syntax.Break:
		return true // it does not end there
	default:
		_ = s
		return false
	}
}

func (c *compiler) stmt(s syntax.Stmt, wanted bool) stmt {
	switch s := s.(type) {
	case *syntax.Bind:
		return c.bind(s)
	case *syntax.Assign:
		return c.assign(s.Target, c.expr(s.Value))
	case *syntax.Return:
		if s.Value == nil {
			return func(t *thread) flow {
				t.ret = Value{}
				return returned
			}
		}
		value := c.expr(s.Value)
		return func(t *thread) flow {
			v, err := value(t)
			if err != nil {
				return t.fail(err)
			}
			t.ret = v
			return returned
		}
	case *syntax.Do:
		return c.do(s.Value, wanted)
	case *syntax.Record:
		return c.record(s)
	case *syntax.If:
		return c.branches(s, wanted)
	case *syntax.Try:
		return c.try(s, wanted)
	case *syntax.Throw:
		return c.throw(s)
	case *syntax.Continue:
		return func(*thread) flow { return continued }
	case *syntax.Break:
		return func(*thread) flow { return broke }
	}
	return nil // a block is compiled by itself
}

// do compiles an expression in the place of a statement.
func (c *compiler) do(x syntax.Expr, wanted bool) stmt {
	noValue := func(loop stmt) stmt {
		if !wanted {
			return loop
		}
		return func(t *thread) flow {
			f := loop(t)
			t.val = Value{}
			return f
		}
	}
	switch x := x.(type) {
	case *syntax.Repeat:
		if !x.Parallel && c.p.Collects[x] == nil {
			return noValue(c.repeat(x))
		}
	case *syntax.For:
		if !x.Parallel {
			return noValue(c.each(x))
		}
	case *syntax.Loop:
		return noValue(c.loop(x))
	case *syntax.DoBlock:
		if x.Name.Text == "" {
			return c.body(x.Body, wanted)
		}
	}
	value := c.expr(x)
	return func(t *thread) flow {
		v, err := value(t)
		if err != nil {
			return t.fail(err)
		}
		if wanted {
			t.val = v
		}
		return next
	}
}

func (c *compiler) bind(s *syntax.Bind) stmt {
	value := c.expr(s.Value)
	if s.Destruc {
		return c.destructure(s, value)
	}
	slot, initial := c.p.Slots[&s.Names[0]], c.p.Initial[s]
	return func(t *thread) flow {
		v, err := value(t)
		if err != nil {
			return t.fail(err)
		}
		v.initial = initial
		t.frame[slot] = v
		return next
	}
}

func (c *compiler) destructure(s *syntax.Bind, value expr) stmt {
	slots := make([]int, len(s.Names))
	for i := range s.Names {
		slots[i] = c.p.Slots[&s.Names[i]]
	}
	return func(t *thread) flow {
		v, err := value(t)
		if err != nil {
			return t.fail(err)
		}
		for i, slot := range slots {
			field, err := t.key(v, s.Names[i].Text, s.Names[i].Pos, false)
			if err != nil {
				return t.fail(err)
			}
			field.initial = false
			t.frame[slot] = field
		}
		return next
	}
}

// assign compiles giving a value to a variable, or to a place inside its value, which gives the variable a new one.
func (c *compiler) assign(target *syntax.Ref, value expr) stmt {
	slot := c.p.Slots[&target.Name]
	if len(target.Path) == 0 {
		return func(t *thread) flow {
			v, err := value(t)
			if err != nil {
				return t.fail(err)
			}
			v.initial = false
			t.frame[slot] = v
			return next
		}
	}
	steps := c.steps(target.Path)
	return func(t *thread) flow {
		v, err := value(t)
		if err != nil {
			return t.fail(err)
		}
		changed, err := t.put(t.frame[slot], steps, func(Value) (Value, error) { return v, nil })
		if err != nil {
			return t.fail(err)
		}
		changed.initial = false
		t.frame[slot] = changed
		return next
	}
}

func (c *compiler) record(s *syntax.Record) stmt {
	value, pos := c.expr(s.Value), s.Pos
	slot, steps := c.p.Slots[&s.List.Name], c.steps(s.List.Path)
	why := c.isMatch(s.Value)
	name := s.List.Name.Text
	return func(t *thread) flow {
		v, err := value(t)
		if err != nil {
			return t.fail(err)
		}
		if why && t.reason != "" {
			if v, err = withDetail(v, t.reason); err != nil {
				return t.fail(placed(pos, err))
			}
		}
		changed, err := t.put(t.frame[slot], steps, func(old Value) (Value, error) {
			if old.kind != KindList {
				return Value{}, failf(pos, "%s is %v and no list, so that nothing can be added to it; begin with let %s = []", name, old.kind, name)
			}
			grown, err := old.ref.(*list).push(v)
			return grown, placed(pos, err)
		})
		if err != nil {
			return t.fail(err)
		}
		changed.initial = false
		t.frame[slot] = changed
		return next
	}
}

func (c *compiler) branches(s *syntax.If, wanted bool) stmt {
	type arm struct {
		cond test
		body stmt
	}
	arms := make([]arm, len(s.Arms))
	for i, a := range s.Arms {
		arms[i] = arm{c.cond(a.Cond), c.body(a.Body, wanted)}
	}
	otherwise := c.body(s.Else, wanted)
	if len(arms) == 1 {
		cond, body := arms[0].cond, arms[0].body
		return func(t *thread) flow {
			holds, err := cond(t)
			switch {
			case err != nil:
				return t.fail(err)
			case holds:
				return body(t)
			}
			return otherwise(t)
		}
	}
	return func(t *thread) flow {
		for i := range arms {
			holds, err := arms[i].cond(t)
			switch {
			case err != nil:
				return t.fail(err)
			case holds:
				return arms[i].body(t)
			}
		}
		return otherwise(t)
	}
}

// try compiles try, catch and finally. What stops the run is not caught, and finally does not run after it: nothing is
// started any more.
func (c *compiler) try(s *syntax.Try, wanted bool) stmt {
	body, handler, finally := c.body(s.Body, wanted), c.body(s.Catch, wanted), c.body(s.Finally, false)
	as, kept := -1, -1
	if s.As.Text != "" {
		as = c.p.Slots[&s.As]
	}
	if slot, ok := c.errors[s]; ok {
		kept = slot
	}
	hasCatch, hasFinally := s.HasCatch, s.HasFinally
	return func(t *thread) flow {
		f := body(t)
		if f == failed && hasCatch && !t.stops(t.err) {
			err := t.err
			t.err = nil
			if as >= 0 || kept >= 0 {
				v := caught(err)
				if as >= 0 {
					t.frame[as] = v
				}
				if kept >= 0 {
					t.frame[kept] = v
				}
			}
			t.val = Value{}
			f = handler(t)
		}
		if !hasFinally || f == failed && t.stops(t.err) {
			return f
		}
		ret, val, err := t.ret, t.val, t.err
		t.err = nil
		if after := finally(t); after != next {
			return after
		}
		t.ret, t.val, t.err = ret, val, err
		return f
	}
}

func (c *compiler) throw(s *syntax.Throw) stmt {
	if s.Value == nil {
		slot := c.errors[c.p.Raises[s]]
		return func(t *thread) flow { return t.fail(t.frame[slot].Err()) }
	}
	value, pos := c.expr(s.Value), s.Pos
	return func(t *thread) flow {
		v, err := value(t)
		if err != nil {
			return t.fail(err)
		}
		return t.fail(thrown(v, pos))
	}
}

// thrown is the error that throwing a value raises: the error that it is, or one with its text, or with the key message
// of an object.
func thrown(v Value, pos syntax.Pos) error {
	if v.kind == KindError {
		return placed(pos, v.Err())
	}
	e := &firstgood.Error{Kind: firstgood.KindError, Reason: v.String()}
	if message, ok := v.Get("message"); ok {
		e.Reason = message.String()
	}
	if e.Reason == "" {
		e.Reason = "an error without a message"
	}
	return &Error{Pos: pos, Err: e}
}

// invoke compiles do NAME(args).
func (c *compiler) invoke(x *syntax.DoBlock) expr {
	b, pos, name := c.s.blocks[x.Name.Text], x.Pos, x.Name.Text
	args := make([]expr, len(x.Args))
	for i, arg := range x.Args {
		args[i] = c.expr(arg)
	}
	return func(t *thread) (Value, error) {
		frame := make([]Value, b.size)
		for i, arg := range args {
			v, err := arg(t)
			if err != nil {
				return Value{}, err
			}
			v.initial = false
			frame[i] = v
		}
		if t.depth >= MaxDepth {
			return Value{}, failf(pos, "blocks call each other more than %d deep, the last of them %s", MaxDepth, name)
		}
		if err := t.stopped(pos); err != nil {
			return Value{}, err
		}
		for _, capture := range b.captures {
			frame[capture.To] = t.top[capture.From]
		}
		outer, started := t.frame, t.started
		t.frame, t.started = frame, new(atomic.Int64)
		t.depth++
		v, err := t.result(b.body(t))
		t.depth--
		t.frame, t.started = outer, started
		return v, err
	}
}
