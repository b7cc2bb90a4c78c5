package interp

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/script/syntax"
)

// callCode is a call, compiled.
type callCode struct {
	pos      syntax.Pos
	name     string
	variable int // the slot of a variable, -1 for none
	slot     int // the input that is a slot, -1 for none
	target   bool
	inputs   []input
	fallback expr // of fallback_brief; nil for none
	prompt   expr
	model    expr
	retry    expr
	backoff  string
}

// input is what a call passes.
type input struct {
	name  string
	value expr
	slot  int // of the variable that it is, -1 where it is something else
}

func (c *compiler) call(x *syntax.Call) expr {
	k := &callCode{pos: x.Pos, name: x.Target.Text, variable: -1, slot: -1, backoff: "none"}
	info := c.p.Calls[x]
	if info != nil {
		k.variable, k.slot, k.target = info.Variable, info.Slot, info.Target != nil
		for i, arg := range x.Args { // the checker has found a target that declares as many
			k.inputs = append(k.inputs, c.input(info.Target.Inputs[i].Name, arg))
		}
	}
	for _, in := range x.Inputs {
		switch name := in.Name.Text; name {
		case "prompt":
			k.prompt = c.expr(in.Value)
		case "model":
			k.model = c.expr(in.Value)
		case "retry":
			k.retry = c.expr(in.Value)
		case "backoff":
			k.backoff = word(in.Value)
		case "fallback_brief":
			k.fallback = c.expr(in.Value)
		default:
			k.inputs = append(k.inputs, c.input(name, in.Value))
		}
	}
	if k.fallback != nil {
		c.mayBeMissing(k, x)
	}
	return k.run
}

func (c *compiler) input(name string, x syntax.Expr) input {
	in := input{name, c.expr(x), -1}
	if ref, ok := x.(*syntax.Ref); ok && len(ref.Path) == 0 {
		in.slot = c.p.Slots[&ref.Name]
	}
	return in
}

// mayBeMissing lets the brief of a call that has another one to fall back on be missing, without a warning.
func (c *compiler) mayBeMissing(k *callCode, x *syntax.Call) {
	for _, in := range x.Inputs {
		if ref, ok := in.Value.(*syntax.Ref); ok && in.Name.Text == "brief" && len(ref.Path) > 0 {
			for i := range k.inputs {
				if k.inputs[i].name == "brief" {
					k.inputs[i].value = c.ref(ref, true)
				}
			}
		}
	}
	if !slices.ContainsFunc(k.inputs, func(in input) bool { return in.name == "brief" }) {
		k.inputs = append(k.inputs, input{"brief", constant(Value{}), -1})
	}
}

// word is the bare word or text that a control holds.
func word(x syntax.Expr) string {
	switch x := x.(type) {
	case *syntax.Ref:
		return x.Name.Text
	case *syntax.String:
		if len(x.Parts) == 1 {
			return x.Parts[0].Text
		}
	}
	return ""
}

func (k *callCode) run(t *thread) (Value, error) {
	call := Call{Pos: k.pos, Target: k.name}
	if err := k.delegate(t, &call); err != nil {
		return Value{}, err
	}
	if err := k.brief(t, &call); err != nil {
		return Value{}, err
	}
	if k.model != nil {
		v, err := k.model(t)
		if err != nil {
			return Value{}, err
		}
		switch v.kind {
		case KindText:
			call.Model = v.ref.(string)
		case KindNull:
		default:
			return Value{}, failf(k.pos, "model is the name of a model or null, not %s", describe(v))
		}
	}
	retries := 0
	if k.retry != nil {
		v, err := k.retry(t)
		if err != nil {
			return Value{}, err
		}
		if n, ok := number(v); !ok || n != 0 {
			if retries, err = t.count(v, k.pos, "retry", false); err != nil {
				return Value{}, err
			}
		}
	}
	t.started.Add(1)
	for ; ; call.Retry++ {
		if err := t.stopped(k.pos); err != nil {
			return Value{}, err
		}
		v, err := t.s.cfg.Host.Call(t.ctx, call)
		if err == nil {
			v.initial = false
			return v, nil
		}
		err = &Error{Pos: k.pos, Delegate: k.who(&call), Err: err}
		if t.stops(err) {
			if cause := t.stopped(k.pos); cause != nil {
				err = cause
			}
			return Value{}, err
		}
		if call.Retry >= retries {
			return Value{}, err
		}
		if err := t.pause(k.wait(t, call.Retry), k.pos); err != nil {
			return Value{}, err
		}
	}
}

func (k *callCode) who(call *Call) string {
	if call.Delegate != nil {
		return call.Delegate.Name
	}
	return call.Target
}

// delegate finds whom to call: what the variable holds, else the slot, else the instance or function.
func (k *callCode) delegate(t *thread, call *Call) error {
	var held Value
	if k.variable >= 0 {
		held = t.frame[k.variable]
		if r, ok := held.ref.(*Reference); ok {
			call.Delegate = r
			return nil
		}
	}
	if k.slot >= 0 {
		if r, ok := t.run.inputs[k.slot].ref.(*Reference); ok {
			call.Delegate = r
			return nil
		}
	}
	if k.target {
		return nil
	}
	if k.slot >= 0 {
		held = t.run.inputs[k.slot]
	}
	return failf(k.pos, "%s holds %s and no delegate that could be called", k.name, describe(held))
}

// wait is how long is waited after a try, counted from 0.
func (k *callCode) wait(t *thread, try int) time.Duration {
	const most = 64
	switch k.backoff {
	case "linear":
		return t.s.cfg.Backoff * time.Duration(min(try+1, most))
	case "exponential":
		return t.s.cfg.Backoff * time.Duration(min(1<<min(try, 10), most))
	}
	return 0
}

// pause waits, unless the run is stopped.
func (t *thread) pause(d time.Duration, pos syntax.Pos) error {
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-t.ctx.Done():
		}
	}
	return t.stopped(pos)
}

// brief renders what a call passes. Inputs that say nothing are left out: null, empty ones, and variables that still hold
// the literal they were initialised with. What is left is passed as it is where it is a brief by itself and there is no
// prompt; otherwise the prompt comes first, and then a section for each input, in the order in which they are written.
// All of them are also inputs of the brief by name, so that a nested instance finds them.
func (k *callCode) brief(t *thread, call *Call) error {
	var few [8]Field
	given := few[:0]
	size := int64(0)
	for _, in := range k.inputs {
		var v Value
		var err error
		if in.slot >= 0 {
			if v = t.frame[in.slot]; v.initial {
				v = Value{}
			}
		} else if v, err = in.value(t); err != nil {
			return err
		}
		if v.IsNull() && in.name == "brief" && k.fallback != nil {
			if v, err = k.fallback(t); err != nil {
				return err
			}
		}
		if v.empty() {
			continue
		}
		v.initial = false
		given = append(given, Field{in.name, v})
		size += v.size()
	}
	prompt := ""
	if k.prompt != nil {
		v, err := k.prompt(t)
		if err != nil {
			return err
		}
		if !v.empty() {
			prompt = v.String()
		}
	}
	if size+int64(len(prompt)) > MaxSize {
		return failf(k.pos, "the brief takes more than 64 MiB")
	}
	call.Prompt = prompt
	if t.sent.is(k, prompt, given) {
		call.Brief = t.sent.brief
		return nil
	}
	call.Brief = firstgood.Text(render(prompt, given))
	for _, f := range given {
		brief, err := call.Brief.With(f.Key, json.RawMessage(f.Value.appendJSON(nil)))
		if err != nil {
			return placed(k.pos, err)
		}
		call.Brief = brief
	}
	t.sent = sent{k, prompt, append(t.sent.given[:0], given...), call.Brief}
	return nil
}

// sent is the brief that a thread has rendered last. Chains give the same one to each delegate.
type sent struct {
	call   *callCode
	prompt string
	given  []Field
	brief  firstgood.Brief
}

// is reports whether the brief is that of the call with these inputs, as far as that is cheap to find out.
func (s *sent) is(k *callCode, prompt string, given []Field) bool {
	if s.call != k || s.prompt != prompt || len(s.given) != len(given) {
		return false
	}
	for i := range given {
		if given[i].Key != s.given[i].Key || !same(given[i].Value, s.given[i].Value) {
			return false
		}
	}
	return true
}

// same reports whether two values are one, or the same text.
func same(v, w Value) bool {
	return v.kind == w.kind && v.num == w.num && v.ref == w.ref // texts, or pointers
}

func render(prompt string, given []Field) string {
	if prompt == "" && len(given) == 1 {
		for _, name := range briefs {
			if given[0].Key == name {
				return given[0].Value.String()
			}
		}
	}
	var b strings.Builder
	b.WriteString(prompt)
	for _, f := range given {
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString(f.Key)
		b.WriteString(":\n")
		b.WriteString(f.Value.String())
	}
	return b.String()
}
