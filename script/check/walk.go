package check

import (
	"fmt"
	"math"

	"github.com/firstgood/firstgood/script/syntax"
)

// body walks statements in order. It reports whether nothing after them can be reached.
func (c *checker) body(stmts []syntax.Stmt) (ends bool) {
	told := false
	for i, stmt := range stmts {
		if _, isBlock := stmt.(*syntax.Block); ends && !told && !isBlock {
			c.warnf(stmt.Place(), "nothing gets here: the statement in line %d always leaves", stmts[i-1].Place().Line)
			told = true
		}
		ends = c.stmt(stmt) || ends
	}
	return ends
}

// stmt walks one statement. It reports whether nothing after it can be reached.
func (c *checker) stmt(stmt syntax.Stmt) (ends bool) {
	switch x := stmt.(type) {
	case *syntax.Bind:
		c.bind(x)
	case *syntax.Assign:
		c.value(x.Value)
		c.assign(x.Target, isLiteral(x.Value) && len(x.Target.Path) == 0, "assigned to")
	case *syntax.Return:
		if x.Value != nil {
			c.value(x.Value)
		}
		return true
	case *syntax.Do:
		c.do(x.Value)
	case *syntax.Record:
		c.value(x.Value)
		c.assign(x.List, false, "added to")
	case *syntax.If:
		ends = x.HasElse
		for _, arm := range x.Arms {
			c.cond(arm.Cond)
			ends = c.body(arm.Body) && ends
		}
		return c.body(x.Else) && ends
	case *syntax.Try:
		return c.try(x)
	case *syntax.Throw:
		if x.Value != nil {
			c.value(x.Value)
		} else if c.handling == nil {
			c.errorf(x.Pos, "there is no error to throw again outside a catch; write throw with a text")
		} else {
			c.p.Raises[x] = c.handling
		}
		return true
	case *syntax.Continue:
		c.leave(x.Pos, "continue")
		return true
	case *syntax.Break:
		c.leave(x.Pos, "break")
		return true
	case *syntax.Block:
		if c.scope.outer != nil {
			c.errorf(x.Pos, "the block %s stands inside another body; define it at the start of a line of its own, outside", x.Name.Text)
		}
	case *syntax.Refused:
		c.refuse(x.Pos, x.What)
	}
	return false
}

func (c *checker) leave(pos syntax.Pos, word string) {
	switch c.jump {
	case jumpNone:
		c.errorf(pos, "%s stands in no loop", word)
	case jumpIteration:
		c.errorf(pos, "%s cannot leave what runs in parallel; return gives this iteration's value", word)
	case jumpBranch:
		c.errorf(pos, "%s cannot leave a branch of a parallel; return gives this branch's value", word)
	case jumpValue:
		c.errorf(pos, "%s cannot leave a do whose value is wanted; return gives its value", word)
	}
}

func (c *checker) try(x *syntax.Try) (ends bool) {
	if !x.HasCatch && !x.HasFinally {
		c.errorf(x.Pos, "try has neither catch nor finally; add what is to happen when it fails")
	}
	ends = c.body(x.Body)
	if x.HasCatch {
		pop := c.push(&scope{})
		c.own(&x.As, kindCatch)
		outer := c.handling
		c.handling = x
		ends = c.body(x.Catch) && ends
		c.handling = outer
		pop()
	}
	return c.body(x.Finally) || ends
}

func (c *checker) bind(x *syntax.Bind) {
	c.value(x.Value)
	if call, ok := x.Value.(*syntax.Call); ok && x.Destruc {
		c.outputs(x, call)
	}
	literal := isLiteral(x.Value) && !x.Destruc
	for i := range x.Names {
		name := &x.Names[i]
		for _, earlier := range x.Names[:i] {
			if earlier.Text == name.Text {
				c.errorf(name.Pos, "%s is named twice here", name.Text)
			}
		}
		v := c.target(name.Text)
		if v == nil { // it stands where nothing can be declared, which is reported already
			continue
		}
		if v.kind != kindLet && v.kind != kindConst && !x.Const {
			v.relet = true
		}
		if x.Const && v.kind != kindConst && v.kind != kindLet && !v.scope.holds {
			c.errorf(name.Pos, "%s is %v, and a const is bound once; give this one another name", name.Text, v.kind)
		}
		c.p.Slots[name] = v.slot
		c.write(v, name.Pos, literal, "bound")
		if !x.Destruc {
			v.lets = append(v.lets, x)
		}
	}
}

// outputs checks the names that are taken out of what a target returns.
func (c *checker) outputs(x *syntax.Bind, call *syntax.Call) {
	info := c.p.Calls[call]
	if info == nil || info.Target == nil || info.Variable >= 0 || info.Target.Outputs == nil {
		return
	}
	for _, name := range x.Names {
		if !contains(info.Target.Outputs, name.Text) {
			c.errorf(name.Pos, "%s does not return %s%s", call.Target.Text, name.Text, didYouMean(name.Text, info.Target.Outputs))
		}
	}
}

// assign checks what is given a value by an assignment or a record.
func (c *checker) assign(target *syntax.Ref, literal bool, how string) {
	c.path(target)
	name := &target.Name
	v := c.find(name.Text)
	if v == nil {
		c.errorf(name.Pos, "%s is bound nowhere%s", name.Text, orElse(didYouMean(name.Text, c.visible()), "; write let "+name.Text+" = … first"))
		return
	}
	if !v.mutable() {
		switch v.kind {
		case kindConst:
			c.errorf(name.Pos, "%s is a const and cannot be %s; make it a let%s", name.Text, how, at(v.pos))
		case kindInput:
			c.errorf(name.Pos, "%s is an input and cannot be %s; copy it first: let %s = %s", name.Text, how, name.Text, name.Text)
		default:
			c.errorf(name.Pos, "%s is %v and cannot be %s; copy it into a let", name.Text, v.kind, how)
		}
		return
	}
	if how == "added to" || len(target.Path) > 0 {
		c.readBound(v, name)
	}
	c.p.Slots[name] = c.slotOf(v)
	c.write(v, name.Pos, literal, how)
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// write notes that v is given a value here, and refuses that from where it would race.
func (c *checker) write(v *variable, pos syntax.Pos, literal bool, how string) {
	v.writes++
	v.computed = v.computed || !literal
	if v.kind == kindLet && !v.bound {
		v.bound, v.first = true, c.scope
	}
	v.bound = true
	for s := c.scope; s != nil && s != v.scope; s = s.outer {
		switch {
		case s.branch != nil:
			c.branchWrites(s.branch, v, pos)
		case s.block:
			c.errorf(pos, "%s is bound outside the block and cannot be %s in it; return the value instead", v.name, how)
			return
		case s.parallel:
			c.errorf(pos, "%s is bound outside what runs in parallel and cannot be %s from inside it, where it would race; return the value instead", v.name, how)
			return
		}
	}
}

func (c *checker) branchWrites(b *branch, v *variable, pos syntax.Pos) {
	if _, ok := b.writes[v]; ok {
		return
	}
	b.writes[v] = pos
	for _, rival := range b.rivals {
		if other, ok := rival.writes[v]; ok && rival != b {
			c.errorf(pos, "%s is bound by two branches of the parallel, here and in line %d; give each a name of its own", v.name, other.Line)
			return
		}
	}
}

// do walks an expression in the place of a statement.
func (c *checker) do(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Repeat:
		c.repeat(x, false)
	case *syntax.For:
		c.each(x, false)
	case *syntax.Loop:
		c.loop(x)
	case *syntax.DoBlock:
		if x.Name.Text == "" {
			c.body(x.Body)
			return
		}
		c.value(x)
	default:
		c.value(x)
	}
}

// iterate walks the body of a loop, in the way it runs.
func (c *checker) iterate(x syntax.Expr, body []syntax.Stmt, collects, parallel bool, bound Bound, own func()) {
	outer := c.jump
	c.jump = jumpLoop
	if parallel {
		c.jump = jumpIteration
	}
	bound.Parallel = parallel
	c.bounds = append(c.bounds[:len(c.bounds):len(c.bounds)], bound)
	defer func() { c.jump, c.bounds = outer, c.bounds[:len(c.bounds)-1] }()
	if !collects {
		defer c.push(&scope{})()
		own()
		c.body(body)
		return
	}
	info := c.p.Collects[x]
	if info == nil {
		info = &Collect{}
		c.p.Collects[x] = info
	}
	s := &scope{holds: true, parallel: parallel}
	defer c.push(s)()
	own()
	c.markOnly(body)
	c.hold(s, body)
	for _, v := range s.vars {
		if v.kind == kindLet || v.kind == kindConst {
			info.Locals = append(info.Locals, v.slot)
		}
	}
	c.body(body)
	c.close(s)
}

func (c *checker) repeat(x *syntax.Repeat, wanted bool) {
	bound := c.count(x.Count, "repeat")
	bound.Pos = x.Pos
	c.mods(x.Mods, -1)
	marked := c.p.Collects[x] != nil
	c.iterate(x, x.Body, wanted || x.Parallel || marked, x.Parallel, bound, func() { c.own(&x.As, kindLoop) })
}

func (c *checker) each(x *syntax.For, wanted bool) {
	c.value(x.In)
	switch x.In.(type) {
	case *syntax.Number, *syntax.Bool, *syntax.Null, *syntax.Object, *syntax.String:
		c.errorf(x.In.Place(), "for goes through a list, and this is none")
	}
	c.mods(x.Mods, -1)
	bound := Bound{Pos: x.Pos}
	if list, ok := x.In.(*syntax.List); ok {
		bound.Count = len(list.Items)
	}
	bound.Length = c.inputOf(x.In)
	outer := c.nearest
	c.nearest = x
	c.iterate(x, x.Body, wanted || x.Parallel, x.Parallel, bound, func() {
		c.own(&x.Each, kindLoop)
		c.own(&x.Index, kindLoop)
	})
	c.nearest = outer
}

func (c *checker) loop(x *syntax.Loop) {
	bound := Bound{}
	if x.Max == nil {
		c.errorf(x.Pos, "loop has no bound; write how often it may run at most: (max: 10)")
	} else {
		bound = c.count(x.Max, "max")
	}
	bound.Pos = x.Pos
	if x.Cond != nil && x.Word != "until" {
		c.cond(x.Cond)
	}
	c.iterate(x, x.Body, false, false, bound, func() { c.own(&x.As, kindLoop) })
	if x.Cond != nil && x.Word == "until" { // it is asked after each iteration
		c.cond(x.Cond)
	}
}

// count checks how often something is to run.
func (c *checker) count(x syntax.Expr, what string) Bound {
	if x == nil {
		return Bound{}
	}
	switch x := x.(type) {
	case *syntax.Number:
		if x.Value < 1 || x.Value != math.Trunc(x.Value) {
			c.errorf(x.Pos, "%s takes a whole number from 1, and this is %s", what, x.Text)
			return Bound{}
		}
		if x.Value > math.MaxInt32 {
			c.errorf(x.Pos, "%s is at most %d, and this is %s", what, math.MaxInt32, x.Text)
			return Bound{}
		}
		return Bound{Count: int(x.Value)}
	case *syntax.String, *syntax.Bool, *syntax.Null, *syntax.List, *syntax.Object:
		c.errorf(x.Place(), "%s takes a whole number from 1, and this is none", what)
		return Bound{}
	}
	c.value(x)
	if ref, ok := x.(*syntax.Ref); ok && len(ref.Path) == 1 && ref.Path[0].Key == "length" {
		return Bound{Length: c.inputOf(&syntax.Ref{Name: ref.Name})}
	}
	return Bound{Input: c.inputOf(x)}
}

// inputOf is the input that x is, "" when it is something else.
func (c *checker) inputOf(x syntax.Expr) string {
	ref, ok := x.(*syntax.Ref)
	if !ok {
		return ""
	}
	name := ref.Name.Text
	v := c.find(name)
	switch {
	case v == nil || v.kind != kindInput || v.relet:
		return ""
	case v.input == nil && len(ref.Path) == 1:
		return ref.Path[0].Key
	case len(ref.Path) == 0 && v.input != nil:
		return name
	}
	return ""
}

// parallel walks the branches of a parallel.
func (c *checker) parallel(x *syntax.Parallel) {
	c.mods(x.Mods, len(x.Body))
	branches := make([]*branch, len(x.Body))
	for i := range branches {
		branches[i] = &branch{of: x, index: i, writes: map[*variable]syntax.Pos{}, rivals: branches}
	}
	outer := c.jump
	c.jump = jumpBranch
	c.bounds = append(c.bounds[:len(c.bounds):len(c.bounds)], Bound{Pos: x.Pos, Count: 1, Parallel: true})
	for i, stmt := range x.Body {
		pop := c.push(&scope{branch: branches[i]})
		c.stmt(stmt)
		pop()
	}
	c.jump, c.bounds = outer, c.bounds[:len(c.bounds)-1]
	slots := make([][]int, len(branches))
	for i, b := range branches {
		for v := range b.writes {
			slots[i] = append(slots[i], c.slotOf(v))
		}
	}
	c.p.Branches[x] = slots
}

// mods checks the modifiers of what runs in parallel; branches is how many there are, -1 where that is not known.
func (c *checker) mods(m syntax.Mods, branches int) {
	if m.Join != "" && !contains([]string{"all", "first", "any"}, m.Join) {
		c.errorf(m.Pos, "parallel waits for \"all\", \"first\" or \"any\", not for %q%s", m.Join, didYouMean(m.Join, []string{"all", "first", "any"}))
	}
	policies := []string{"fail-fast", "continue", "ignore"}
	if m.OnFail != "" && !contains(policies, m.OnFail) {
		c.errorf(m.Pos, "on-fail is \"fail-fast\", \"continue\" or \"ignore\", not %q%s", m.OnFail, didYouMean(m.OnFail, policies))
	}
	if m.Count == nil {
		return
	}
	if m.Join != "any" {
		c.errorf(m.Count.Place(), "count says how many of \"any\" are wanted; write parallel (\"any\", count: …)")
	}
	if bound := c.count(m.Count, "count"); branches >= 0 && bound.Count > branches {
		c.errorf(m.Count.Place(), "count is %d, and there are %s", bound.Count, plural(branches, "branch", "branches"))
	}
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}
