package check

import (
	"slices"
	"strings"

	"github.com/firstgood/firstgood/script/syntax"
)

// value walks an expression whose value is wanted.
func (c *checker) value(x syntax.Expr) {
	switch x := x.(type) {
	case nil, *syntax.Number, *syntax.Bool, *syntax.Null:
	case *syntax.String:
		for _, part := range x.Parts {
			if part.Ref != nil {
				c.ref(part.Ref)
			}
		}
	case *syntax.List:
		for _, item := range x.Items {
			c.value(item)
		}
	case *syntax.Object:
		c.object(x)
	case *syntax.Ref:
		c.ref(x)
	case *syntax.Unary:
		c.value(x.X)
	case *syntax.Binary:
		c.value(x.X)
		c.value(x.Y)
	case *syntax.Call:
		c.call(x)
	case *syntax.Parallel:
		c.parallel(x)
	case *syntax.Repeat:
		c.repeat(x, true)
	case *syntax.For:
		c.each(x, true)
	case *syntax.Loop:
		c.errorf(x.Pos, "a loop has no value; record what it finds in a list, and use that")
		c.loop(x)
	case *syntax.DoBlock:
		c.doBlock(x)
	case *syntax.RefusedExpr:
		c.refuse(x.Pos, x.What)
	}
}

func (c *checker) object(x *syntax.Object) {
	seen := map[string]bool{}
	for _, entry := range x.Entries {
		if seen[entry.Key.Text] {
			c.errorf(entry.Key.Pos, "the key %s stands twice", entry.Key.Text)
		}
		seen[entry.Key.Text] = true
		if text, ok := entry.Value.(*syntax.String); ok {
			c.phrase(text)
		}
		c.value(entry.Value)
	}
}

// phrase finds a text that stands for a count.
func (c *checker) phrase(x *syntax.String) {
	if len(x.Parts) != 1 || x.Parts[0].Ref != nil || !strings.HasPrefix(x.Parts[0].Text, "number of ") {
		return
	}
	text := x.Parts[0].Text
	known := true
	switch text {
	case "number of attempted delegates":
		c.p.Phrases[x] = Phrase{Kind: PhraseCalls}
	case "number of completed attempts before winner":
		if c.nearest != nil {
			c.p.Phrases[x] = Phrase{PhrasePosition, c.nearest}
			break
		}
		known = false
		c.warnf(x.Pos, "%q is the place of the element in the for around it, and there is none; it stays a text", text)
	default:
		known = false
		c.warnf(x.Pos, "%q is no count that firstgood knows, and stays a text; write a variable or xs.length", text)
	}
	c.p.Plan.Phrases = append(c.p.Plan.Phrases, PhraseUse{x.Pos, text, known})
}

// ref walks a name that is read, and the way from it. It returns the variable, nil for none.
func (c *checker) ref(x *syntax.Ref) *variable {
	c.path(x)
	name := &x.Name
	v := c.find(name.Text)
	if v == nil {
		c.unbound(name)
		return nil
	}
	c.read(v, name)
	if v.kind == kindInput && !v.relet && v.input == nil && len(x.Path) > 0 && x.Path[0].Index == nil {
		c.configKey(&x.Path[0])
	}
	if len(x.Path) == 1 && x.Path[0].Key == "reason" {
		c.guarded = append(c.guarded, guardedRef{x, v})
	}
	return v
}

func (c *checker) unbound(name *syntax.Name) {
	if b := c.p.Blocks[name.Text]; b != nil {
		c.errorf(name.Pos, "%s is a block and no value; write do %s(…)", name.Text, name.Text)
		return
	}
	if where := c.elsewhere(name.Text); where != "" {
		c.errorf(name.Pos, "%s", where)
		return
	}
	c.errorf(name.Pos, "%s is bound nowhere%s", name.Text, orElse(didYouMean(name.Text, c.visible()), "; bind it with let, or declare it as an input"))
}

// configKey checks the key in config.KEY.
func (c *checker) configKey(step *syntax.Step) {
	var known []string
	for _, in := range c.p.Env.Inputs {
		if in.Kind == InputConfig {
			known = append(known, in.Name)
		}
	}
	if !contains(known, step.Key) {
		c.errorf(step.Pos, "the config has no %s%s", step.Key, orElse(didYouMean(step.Key, known), "; it has "+strings.Join(known, ", ")))
	}
}

func (c *checker) path(x *syntax.Ref) {
	for _, step := range x.Path {
		if step.Index != nil {
			c.value(step.Index)
		}
	}
}

// read notes that v is read here.
func (c *checker) read(v *variable, name *syntax.Name) {
	v.reads++
	c.readBound(v, name)
	c.p.Slots[name] = c.slotOf(v)
}

// readBound says where a name that is read has no value yet.
func (c *checker) readBound(v *variable, name *syntax.Name) {
	if !v.bound {
		c.warnf(name.Pos, "%s has no value here yet, and is null; it is first bound%s", v.name, at(v.pos))
		return
	}
	for outer := v.first; outer != nil; outer = outer.outer {
		if outer.branch == nil {
			continue
		}
		for s := c.scope; s != nil; s = s.outer {
			if s.branch != nil && s.branch.of == outer.branch.of && s.branch.index != outer.branch.index {
				c.errorf(name.Pos, "%s is bound by another branch of the parallel%s, and has no value before all of them have joined; use it after the parallel", v.name, at(v.pos))
				return
			}
		}
	}
}

func (c *checker) doBlock(x *syntax.DoBlock) {
	for _, arg := range x.Args {
		c.value(arg)
	}
	if x.Name.Text == "" {
		outer := c.jump
		if outer != jumpNone {
			c.jump = jumpValue
		}
		info := &Collect{}
		c.p.Collects[x] = info
		s := &scope{holds: true}
		pop := c.push(s)
		c.hold(s, x.Body)
		for _, v := range s.vars {
			info.Locals = append(info.Locals, v.slot)
		}
		c.body(x.Body)
		c.close(s)
		pop()
		c.jump = outer
		return
	}
	name := x.Name.Text
	b := c.p.Blocks[name]
	if b == nil {
		blocks := make([]string, 0, len(c.blocks))
		for _, b := range c.blocks {
			blocks = append(blocks, b.block.Def.Name.Text)
		}
		hint := didYouMean(name, blocks)
		if c.targetNamed(name) != nil || c.inputNamed(name) >= 0 {
			hint = "; write call " + name
		}
		c.errorf(x.Name.Pos, "there is no block %s%s", name, hint)
		return
	}
	if want, got := len(b.Def.Params), len(x.Args); want != got {
		c.errorf(x.Name.Pos, "the block %s takes %s (%s), and gets %d", name, plural(want, "value", "values"), names(b.Def.Params), got)
	}
}

func names(params []syntax.Name) string {
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.Text
	}
	return strings.Join(list, ", ")
}

// Controls are the lines of a call that say how to call and are no inputs.
//
//   - prompt: what the brief begins with
//   - model: which model is asked; null for the delegate's own
//   - retry: how many additional attempts an error is given
//   - backoff: how long is waited between them: none, linear or exponential
//   - fallback_brief: what stands in for an input brief that is null
var controls = []string{"prompt", "model", "retry", "backoff", "fallback_brief"}

// IsControl reports whether a line of a call with this name says how to call, and is no input.
func IsControl(name string) bool { return slices.Contains(controls, name) }

// Backoffs are the values of the control backoff.
var backoffs = []string{"none", "linear", "exponential"}

func (c *checker) call(x *syntax.Call) {
	site := Site{Pos: x.Pos, Target: x.Target.Text, Loops: slices.Clone(c.bounds)}
	info := c.callee(x, &site)
	c.p.Calls[x] = info
	for _, arg := range x.Args {
		c.value(arg)
	}
	c.positional(x, info, &site)
	seen := map[string]bool{}
	for _, in := range x.Inputs {
		name := in.Name.Text
		if seen[name] {
			c.errorf(in.Name.Pos, "%s stands twice in this call", name)
		}
		seen[name] = true
		if name == "backoff" {
			c.backoff(in)
			continue
		}
		if ref, ok := in.Value.(*syntax.Ref); ok && len(ref.Path) == 0 {
			if v := c.find(ref.Name.Text); v != nil {
				v.passed = append(v.passed, ref)
			}
		}
		if name == "retry" {
			site.Retry = c.retry(in)
			continue
		}
		c.value(in.Value)
		if !IsControl(name) {
			site.Inputs = append(site.Inputs, name)
		}
	}
	if seen["backoff"] && !seen["retry"] {
		c.warnf(x.Pos, "backoff does nothing without retry; write retry: 2 as well")
	}
	c.declared(x, info, site.Inputs, seen)
	c.p.Plan.Calls = append(c.p.Plan.Calls, site)
}

// callee finds out what a call names, and reports it where that is nothing.
func (c *checker) callee(x *syntax.Call, site *Site) *Call {
	name := x.Target.Text
	info := &Call{Variable: -1, Slot: -1, Target: c.targetNamed(name)}
	var v *variable
	if !x.Quoted {
		v = c.find(name)
	}
	if i := c.inputNamed(name); i >= 0 && c.p.Env.Inputs[i].Kind == InputSlot {
		info.Slot = i
	}
	if find := c.p.Env.Find; find != nil && v == nil && info.Slot < 0 && info.Target == nil && c.p.Blocks[name] == nil {
		info.Target = find(x.Target)
	}
	site.Kind = SiteTarget
	if info.Slot >= 0 {
		site.Kind = SiteSlot
	}
	callable := info.Slot >= 0 || info.Target != nil
	switch {
	case v != nil && v.kind == kindInput && !v.relet:
		if v.input != nil && v.input.Kind == InputSlot {
			c.read(v, &x.Target)
			break
		}
		if info.Target != nil {
			break
		}
		if v.input != nil && v.input.Kind == InputList {
			c.errorf(x.Target.Pos, "%s is a list of delegates; call them one by one: for delegate in %s", name, name)
		} else {
			c.errorf(x.Target.Pos, "%s is a value and no delegate; call a slot, an instance or a function", name)
		}
	case v != nil:
		if !callable && v.kind == kindLet && v.bound && !v.computed {
			c.errorf(x.Target.Pos, "%s holds a literal and no delegate; call a slot, an instance or a function", name)
			break
		}
		v.reads++
		c.p.Slots[&x.Target] = c.slotOf(v)
		info.Variable = c.p.Slots[&x.Target]
		if !callable { // otherwise it may just take the name of what it calls
			c.readBound(v, &x.Target)
			site.Kind = SiteVariable
		}
	case !callable:
		if c.p.Blocks[name] != nil {
			c.errorf(x.Target.Pos, "%s is a block; write do %s(…)", name, name)
			break
		}
		if where := c.elsewhere(name); where != "" && !x.Quoted {
			c.errorf(x.Target.Pos, "%s", where)
			break
		}
		what := "a slot of the pattern, an instance or a function"
		if c.p.Env.Surface == Execution {
			what = "a function or an instance"
		}
		c.errorf(x.Target.Pos, "there is no %s to call%s", name, orElse(didYouMean(name, c.callables()), "; a call names "+what))
	}
	if info.Variable < 0 && v != nil && v.kind == kindInput && v.input != nil && v.input.Kind == InputSlot {
		info.Variable = c.p.Slots[&x.Target]
	}
	return info
}

// callables are the names that a call could mean, for messages.
func (c *checker) callables() []string {
	var list []string
	for _, in := range c.p.Env.Inputs {
		if in.Kind == InputSlot {
			list = append(list, in.Name)
		}
	}
	for _, t := range c.p.Env.Targets {
		list = append(list, t.Name)
	}
	for s := c.scope; s != nil; s = s.outer {
		for name, v := range s.vars {
			if v.kind == kindLoop || v.kind == kindParam {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return list
}

func (c *checker) positional(x *syntax.Call, info *Call, site *Site) {
	if len(x.Args) == 0 {
		return
	}
	if info.Target == nil || info.Variable >= 0 {
		c.errorf(x.Pos, "%s declares no order of its inputs; write them as lines name: value under the call", x.Target.Text)
		return
	}
	params := info.Target.Inputs
	if len(x.Args) > len(params) {
		c.errorf(x.Args[len(params)].Place(), "%s takes %s, and this call gives %d", x.Target.Text, plural(len(params), "input", "inputs"), len(x.Args))
	}
	for i := range min(len(params), len(x.Args)) {
		site.Inputs = append(site.Inputs, params[i].Name)
		for _, in := range x.Inputs {
			if in.Name.Text == params[i].Name {
				c.errorf(in.Name.Pos, "%s is given already, as value %d in the parentheses", in.Name.Text, i+1)
			}
		}
	}
}

// declared checks the inputs of a call against those that its target declares.
func (c *checker) declared(x *syntax.Call, info *Call, given []string, lines map[string]bool) {
	t := info.Target
	if t == nil || info.Variable >= 0 || info.Slot >= 0 {
		return
	}
	known := make([]string, len(t.Inputs))
	for i, p := range t.Inputs {
		known[i] = p.Name
		if IsControl(p.Name) && lines[p.Name] {
			c.errorf(x.Pos, "%s is an input of %s, and says how to call in a call; rename the input", p.Name, t.Name)
			continue
		}
		if !t.Open && !p.Optional && !contains(given, p.Name) {
			c.errorf(x.Pos, "%s needs the input %s; add a line %s: …", t.Name, p.Name, p.Name)
		}
	}
	if t.Open {
		return
	}
	for _, in := range x.Inputs {
		if name := in.Name.Text; !IsControl(name) && !contains(known, name) {
			c.errorf(in.Name.Pos, "%s has no input %s%s", t.Name, name, orElse(didYouMean(name, known), "; it has "+orElse(strings.Join(known, ", "), "none")))
		}
	}
}

func (c *checker) retry(in syntax.Input) int {
	switch x := in.Value.(type) {
	case *syntax.Number:
		return c.count(x, "retry").Count
	case *syntax.Ref:
		c.value(x)
	default:
		c.errorf(in.Name.Pos, "retry takes a whole number from 1: how many attempts there may be after the first")
	}
	return -1
}

func (c *checker) backoff(in syntax.Input) {
	word := ""
	switch x := in.Value.(type) {
	case *syntax.Ref:
		if len(x.Path) == 0 {
			word = x.Name.Text
		}
	case *syntax.String:
		if len(x.Parts) == 1 {
			word = x.Parts[0].Text
		}
	}
	if !contains(backoffs, word) {
		c.errorf(in.Name.Pos, "backoff is none, linear or exponential%s", didYouMean(word, backoffs))
	}
}
