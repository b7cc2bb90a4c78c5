package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/criteria"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/pattern"
	"github.com/firstgood/firstgood/script/interp"
)

// prose are steps in ProseScript. It is also the host of its script: what the script calls and asks goes through it.
type prose struct {
	text   *writing
	body   *body
	script *interp.Script
	judge  *judge            // nil: there is none
	unable config.Problems   // why the judge cannot start here; empty: it can
	models map[string]runner // what a call's model: can name
	warn   func(diagnostic.Problem)
}

// workKey is the context key of the run of the body that a host serves.
type workKey struct{}

func (p *prose) take(ctx context.Context, w *work) (yield, error) {
	inputs := map[string]any{}
	for i, slot := range p.text.doc.Slots {
		members := make([]interp.Reference, 0, len(p.body.slots[i].Members))
		for j, ref := range p.body.slots[i].Members {
			members = append(members, interp.Reference{Name: ref.Name, Index: j, Ref: p.body.members[i][j]})
		}
		if slot.List {
			inputs[slot.Name] = members
		} else {
			inputs[slot.Name] = members[0]
		}
	}
	for _, in := range p.text.program.Env.Inputs {
		if value, ok := w.inputs[in.Name]; ok && inputs[in.Name] == nil {
			inputs[in.Name] = value
		}
	}
	if err := p.judgeable(w); err != nil {
		return yield{}, err
	}
	value, err := p.script.Run(context.WithValue(ctx, workKey{}, w), inputs)
	if err != nil {
		return yield{}, err
	}
	data, err := json.Marshal(value)
	if err != nil {
		return yield{}, err
	}
	return p.came(value, data), nil
}

// came reads what a script has returned: the fields of an outcome, where it is an object with a result, and else the
// result itself.
func (p *prose) came(value interp.Value, data json.RawMessage) yield {
	whole := yield{value: data, result: data, winnerIndex: -1}
	if value.Kind() == interp.KindText {
		text := value.String()
		whole.text = &text
	}
	if value.Kind() != interp.KindObject {
		return whole
	}
	if _, ok := value.Get("result"); !ok {
		return whole
	}
	object := map[string]json.RawMessage{}
	for _, field := range value.Fields() {
		object[field.Key], _ = json.Marshal(field.Value)
	}
	got := outcomeOf(object)
	got.value = data
	if winner, ok := value.Get("winner"); ok {
		if ref, ok := winner.Reference(); ok {
			got.winnerIndex = ref.Index
		}
	}
	return got
}

// judgeable fails where criteria are set and nobody could weigh them, before anything is asked.
func (p *prose) judgeable(w *work) error {
	if p.judge != nil && len(p.unable) == 0 {
		return nil
	}
	for _, c := range p.text.program.Plan.Conditions {
		for _, name := range c.Criteria {
			if value, ok := w.inputs[name]; ok && !isBlank(value) {
				if p.judge != nil {
					return p.unable
				}
				return &unjudged{fmt.Sprintf("%v: %s is set, and weighing it needs a judge: write judge: NAME at the top of the file", c.Pos, name)}
			}
		}
	}
	return nil
}

// unjudged is the error of a run that would need a judge and has none. Nothing was asked.
type unjudged struct{ reason string }

func (e *unjudged) Error() string { return e.reason }

// isBlank reports whether a value is null or the empty text.
func isBlank(value json.RawMessage) bool {
	var text string
	return isNull(value) || json.Unmarshal(value, &text) == nil && strings.TrimSpace(text) == ""
}

// Call gives a brief to what a script names.
func (p *prose) Call(ctx context.Context, call interp.Call) (interp.Value, error) {
	w, _ := ctx.Value(workKey{}).(*work)
	member, in, err := p.callee(call)
	if err != nil {
		return interp.Value{}, err
	}
	brief, err := prompting(call.Brief, call.Prompt, in)
	if err != nil {
		return interp.Value{}, err
	}
	reply, err := p.body.ask(ctx, member, w.handed(brief, in))
	if err != nil {
		return interp.Value{}, err
	}
	return interp.FromReply(reply)
}

// callee finds who is to be asked, and the instance that it is, where it is one.
func (p *prose) callee(call interp.Call) (runner, *config.Instance, error) {
	slot, place := -1, 0
	if call.Delegate != nil {
		for i, s := range p.body.slots {
			for j := range s.Members {
				if call.Delegate.Ref == any(p.body.members[i][j]) && (slot < 0 || j == call.Delegate.Index) {
					slot, place = i, j
				}
			}
		}
	} else {
		for i, s := range p.body.slots {
			if s.Name == call.Target {
				slot = i
			}
		}
	}
	if slot < 0 {
		return nil, nil, fmt.Errorf("there is no %s to call", call.Target)
	}
	in := p.body.slots[slot].Members[place].Instance
	if call.Model == "" {
		return p.body.members[slot][place], in, nil
	}
	member, ok := p.models[call.Model]
	if !ok {
		return nil, nil, &firstgood.Error{Kind: firstgood.KindBadRequest, Fatal: true, Reason: fmt.Sprintf(
			"%v: model %q is no delegate of the file; a model is named as a delegate there", call.Pos, call.Model)}
	}
	if in != nil { // it asks that model in place of its own
		return &modelled{p.body.members[slot][place], member}, in, nil
	}
	return member, nil, nil
}

// prompting gives an instance what a call says beside its inputs, where it has some.
func prompting(brief firstgood.Brief, prompt string, to *config.Instance) (firstgood.Brief, error) {
	if prompt == "" || to == nil || len(brief.Inputs()) == 0 {
		return brief, nil
	}
	return brief.With(promptInput, prompt)
}

// handed is the brief of a call as the instance that it goes to gets it: with the inputs that this declares, this run has, and
// neither the call nor the instance gives, and with what a candidate's config holds. Settings are each instance's own.
func (w *work) handed(brief firstgood.Brief, to *config.Instance) firstgood.Brief {
	if to == nil {
		return brief
	}
	t, ok := to.Document.(*writing)
	if !ok {
		return brief
	}
	if t.native != "" { // its delegates get the brief, and nothing else
		var text string
		name := BriefInput(t.doc)
		value, _ := brief.Input(name)
		if json.Unmarshal(value, &text) == nil && text != "" && !takesText(t.doc, nil, brief, name, true) {
			brief = brief.WithText(text)
		}
		return brief
	}
	names := slices.Clone(t.free)
	for _, in := range t.doc.Inputs {
		if !isBrief(in.Name) && t.doc.Setting(in.Name) == nil {
			names = append(names, in.Name)
		}
	}
	for _, name := range names {
		_, given := brief.Input(name)
		if _, set := to.Config.Values[name]; given || set {
			continue
		}
		if value, has := w.inputs[name]; has {
			brief, _ = brief.With(name, value)
		}
	}
	if seed, given := brief.Input("candidate_config"); given && t.doc.Input("candidate_config") == nil {
		var fields map[string]json.RawMessage
		if json.Unmarshal(seed, &fields) == nil {
			for name, value := range fields {
				brief, _ = brief.With(name, value)
			}
		}
	}
	return brief
}

// briefNames are the inputs that a brief is, the first one first.
var briefNames = []string{"task_brief", "brief", "input", "task"}

func isBrief(name string) bool {
	for _, known := range briefNames {
		if name == known {
			return true
		}
	}
	return false
}

// Criteria asks the judge of the file about a value; see [criteria.Judge].
func (p *prose) Criteria(ctx context.Context, c interp.Criterion) (interp.Verdict, error) {
	if p.judge == nil {
		return interp.Verdict{}, &unjudged{fmt.Sprintf("%v: %s is set, and weighing it needs a judge", c.Pos, c.Input)}
	}
	rule := criteria.Judge(criteria.JudgeConfig{Text: c.Criteria.String(), Judge: p.judge})
	cfg := criteria.Config{Accept: []criteria.Rule{rule}}
	if c.Form == interp.FormFailure {
		cfg = criteria.Config{Failure: []criteria.Rule{rule}}
	}
	weigh, err := criteria.New(cfg)
	if err != nil {
		return interp.Verdict{}, err
	}
	verdict, err := weigh(ctx, c.Brief, replyOf(c.Value))
	if err != nil {
		unweighed(ctx)
		return interp.Verdict{}, err
	}
	return interp.Verdict{Holds: verdict.Rejected == (c.Form == interp.FormFailure), Reason: verdict.Reason}, nil
}

// replyOf is a value as a reply: a text, or JSON.
func replyOf(v interp.Value) firstgood.Reply {
	if v.Kind() == interp.KindText {
		return firstgood.Reply{Text: v.String()}
	}
	data, _ := json.Marshal(v)
	return firstgood.Reply{JSON: data}
}

// Decide asks the judge of the file whether a sentence of the script holds.
func (p *prose) Decide(ctx context.Context, q interp.Question) (bool, error) {
	if p.judge == nil {
		return false, &unjudged{fmt.Sprintf("%v: %q is for a judge to decide, and there is none: write judge: NAME at the top of the file", q.Pos, q.Text)}
	}
	values := make([]criteria.Named, len(q.Values))
	for i, field := range q.Values {
		values[i] = criteria.Named{Name: field.Key, Reply: replyOf(field.Value)}
	}
	holds, err := criteria.Decide(ctx, p.judge, q.Text, values)
	if err != nil {
		unweighed(ctx)
	}
	return holds, err
}

// unweighed notes that a judge has failed in a run.
func unweighed(ctx context.Context) {
	if w, ok := ctx.Value(workKey{}).(*work); ok {
		w.unweighed.Store(true)
	}
}

// Warn passes on what should be known of a run.
func (p *prose) Warn(problem diagnostic.Problem) {
	if p.warn != nil {
		p.warn(problem)
	}
}

// carried lets the criteria that a call gives by name take the place of those that are set, as the text of the document would
// have it.
func (e *Engine) carried(in *config.Instance, set firstgood.Criteria[firstgood.Reply]) (firstgood.Criteria[firstgood.Reply], error) {
	name, at := "failure_criteria", func(rule criteria.Rule) criteria.Config { return criteria.Config{Failure: []criteria.Rule{rule}} }
	if in.Pattern == pattern.RaceName {
		name, at = "acceptance_criteria", func(rule criteria.Rule) criteria.Config { return criteria.Config{Accept: []criteria.Rule{rule}} }
	}
	var weighs *judge
	if !in.Judge.IsZero() {
		var err error
		if weighs, err = e.judge(in.Judge); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (firstgood.Verdict, error) {
		given, carries := brief.Input(name)
		var text string
		if json.Unmarshal(given, &text) != nil {
			text = string(given)
		}
		switch {
		case !carries && set == nil, carries && isBlank(given):
			return firstgood.Verdict{}, nil
		case !carries:
			return set(ctx, brief, reply)
		case weighs == nil:
			return firstgood.Verdict{}, &unjudged{fmt.Sprintf("%s is given to %s, and weighing it needs a judge: write judge: NAME at the top of the file", name, in.Name)}
		}
		weigh, err := criteria.New(at(criteria.Judge(criteria.JudgeConfig{Text: text, Judge: weighs})))
		if err != nil {
			return firstgood.Verdict{}, err
		}
		return weigh(ctx, brief, reply)
	}, nil
}
