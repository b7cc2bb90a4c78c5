package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/composite"
	"github.com/firstgood/firstgood/config"
)

// javascript are the steps of a composite as it is written; they run in a process of their own.
type javascript struct {
	text   *writing
	body   *body
	models map[string]runner
}

// stateKey is the context key of the state that a run of a composite begins with: a json.RawMessage.
type stateKey struct{}

func (j *javascript) take(ctx context.Context, w *work) (yield, error) {
	if err := j.judgeable(w); err != nil {
		return yield{}, err
	}
	state, err := j.state(ctx, w)
	if err != nil {
		return yield{}, err
	}
	ctx = context.WithValue(ctx, stateKey{}, nil) // it is this body's alone
	doc := j.text.doc
	got, err := composite.Run(ctx, composite.Config{
		Source: doc.Body.Source, File: doc.Path, Line: doc.Body.Pos.Line, StateName: doc.State, State: state,
		Call: func(ctx context.Context, c composite.Call) (string, error) { return j.rlm(ctx, w, c) },
	})
	if err != nil {
		return yield{state: got.State}, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(got.State, &object); err != nil {
		return yield{}, fmt.Errorf("the state: %w", err)
	}
	came := outcomeOf(object)
	came.value, came.state = got.Value, got.State
	if slot := j.lists(); came.winner != "" && slot >= 0 {
		came.winnerIndex = slices.IndexFunc(j.body.slots[slot].Members, func(r config.Ref) bool { return r.Name == came.winner })
	}
	return came, nil
}

// lists returns the first slot that is a list, -1 for none.
func (j *javascript) lists() int {
	return slices.IndexFunc(j.body.slots, func(s config.Slot) bool { return s.List })
}

// state is the object that the body begins with: what the caller brings, then what is bound and set, which comes first. Of
// what the caller brings, the outcome of an earlier run is left to be overwritten.
func (j *javascript) state(ctx context.Context, w *work) (json.RawMessage, error) {
	state := map[string]any{}
	if given, _ := ctx.Value(stateKey{}).(json.RawMessage); given != nil {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(given, &object); err != nil || object == nil {
			return nil, fmt.Errorf("the state is no JSON object")
		}
		for key, value := range object {
			state[key] = value
		}
	}
	for name, value := range w.inputs {
		if _, brought := state[name]; !brought || w.said[name] {
			state[name] = value
		}
	}
	for i, slot := range j.text.doc.Slots {
		names := []string{}
		for _, ref := range j.body.slots[i].Members {
			names = append(names, ref.Name) // also twice: who is listed twice is asked twice (F13, R14)
		}
		state[slot.Name] = names
		if !slot.List {
			state[slot.Name] = names[0]
		}
	}
	return json.Marshal(state)
}

// judgeable fails where something is set that sounds like criteria and nobody answers a call that names nobody.
func (j *javascript) judgeable(w *work) error {
	if _, _, err := j.callee(composite.Call{}); err == nil {
		return nil
	}
	for name, value := range w.inputs {
		if strings.HasSuffix(name, "_criteria") && !isBlank(value) {
			return &unjudged{fmt.Sprintf("%s: %s is set, and weighing it needs a judge: write judge: NAME at the top of the file", j.body.name, name)}
		}
	}
	return nil
}

// rlm answers a call of the body.
func (j *javascript) rlm(ctx context.Context, w *work, c composite.Call) (string, error) {
	member, in, err := j.callee(c)
	if err != nil {
		return "", err
	}
	brief, prompt, err := briefOf(c)
	if err == nil {
		brief, err = prompting(brief, prompt, in)
	}
	if err != nil {
		return "", err
	}
	reply, err := j.body.ask(ctx, member, w.handed(brief, in))
	if err != nil {
		return "", err
	}
	return reply.String(), nil
}

// callee finds who is to be asked: who is bound under the name, or the model, where none is named.
func (j *javascript) callee(c composite.Call) (runner, *config.Instance, error) {
	if c.Use == nil {
		if c.Model != nil {
			return j.model(*c.Model)
		}
		for i, slot := range j.body.slots {
			if slot.Name == modelSlot && i >= len(j.text.doc.Slots) {
				return j.body.members[i][0], slot.Members[0].Instance, nil
			}
		}
		return nil, nil, &firstgood.Error{Kind: firstgood.KindBadRequest, Reason: fmt.Sprintf(
			"%v: rlm names nobody to use, and the file has no model; write model: NAME, or judge: NAME, at its top", c.Pos)}
	}
	var names []string
	for i, slot := range j.body.slots {
		for k, ref := range slot.Members {
			if ref.Name == *c.Use || !slot.List && slot.Name == *c.Use {
				if c.Model == nil {
					return j.body.members[i][k], ref.Instance, nil
				}
				model, _, err := j.model(*c.Model)
				if err != nil || ref.Instance == nil {
					return model, nil, err
				}
				return &modelled{j.body.members[i][k], model}, ref.Instance, nil
			}
			if !slices.Contains(names, ref.Name) {
				names = append(names, ref.Name)
			}
		}
	}
	return nil, nil, &firstgood.Error{Kind: firstgood.KindBadRequest, Reason: fmt.Sprintf(
		"%v: rlm uses %q, which is bound to no slot; bound are %s", c.Pos, *c.Use, strings.Join(names, ", "))}
}

func (j *javascript) model(name string) (runner, *config.Instance, error) {
	if member, ok := j.models[name]; ok {
		return member, nil, nil
	}
	return nil, nil, &firstgood.Error{Kind: firstgood.KindBadRequest, Reason: fmt.Sprintf(
		"model %q is no delegate of the file; a model is named as a delegate there", name)}
}

// briefOf is the brief of a call of rlm: its first argument, with the second below it, where there is one. The keys of both,
// where they are objects, and those of a state for a nested instance, are inputs too. The prompt is the first argument where it
// is a text.
func briefOf(c composite.Call) (brief firstgood.Brief, prompt string, err error) {
	text := ""
	if json.Unmarshal(c.Brief, &prompt) == nil {
		text = prompt
	} else if !isNull(c.Brief) {
		text = string(c.Brief)
	}
	if !isNull(c.Context) {
		if text != "" {
			text += "\n\n"
		}
		text += "Context:\n" + string(c.Context)
	}
	brief = firstgood.Text(text)
	for _, object := range []json.RawMessage{c.Context, c.Brief, c.State} {
		var fields map[string]json.RawMessage
		if json.Unmarshal(object, &fields) != nil {
			continue
		}
		for name, value := range fields {
			if brief, err = brief.With(name, value); err != nil {
				return brief, prompt, err
			}
		}
	}
	return brief, prompt, nil
}
