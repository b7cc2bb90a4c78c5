package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
	"github.com/firstgood/firstgood/document"
)

// asking are the steps of a function that is only a prompt: a model is asked.
type asking struct {
	text *writing
	body *body
}

func (a *asking) take(ctx context.Context, w *work) (yield, error) {
	model := a.body.members[len(a.body.members)-1][0]
	if other, ok := ctx.Value(modelKey{}).(runner); ok {
		model, ctx = other, context.WithValue(ctx, modelKey{}, nil)
	}
	reply, err := a.body.ask(ctx, model, firstgood.Text(a.text.doc.Prompt(w.ordered()...)))
	if err != nil {
		return yield{}, err
	}
	return a.shaped(reply)
}

func (a *asking) judgeable(*work) error { return nil }

// shaped reads a reply as what the function says that it returns: the reply itself, or an object, where it returns several
// things.
func (a *asking) shaped(reply firstgood.Reply) (yield, error) {
	got := yield{winnerIndex: -1}
	if len(a.text.doc.Returns) < 2 {
		text := reply.String()
		if reply.JSON != nil {
			got.value, got.result = reply.JSON, reply.JSON
			return got, nil
		}
		got.value, got.text = encode(text), &text
		return got, nil
	}
	var object map[string]json.RawMessage
	_, data, err := criteria.JSONOf(reply)
	if err == nil {
		err = json.Unmarshal(data, &object)
	}
	if err != nil || object == nil {
		var keys []string
		for _, field := range a.text.doc.Returns {
			keys = append(keys, field.Name)
		}
		return got, &firstgood.Error{Kind: firstgood.KindError, Err: errors.New("no object"), Reason: fmt.Sprintf(
			"the reply is no JSON object with %s", strings.Join(keys, ", "))}
	}
	got.value, got.result = data, data
	return got, nil
}

// ordered are the inputs of a run as a prompt shows them: what the caller asks for, those that the document declares, in its
// order, then the others by name. A brief that is none of them stands first.
func (w *work) ordered() []document.Given {
	var given []document.Given
	add := func(name string) { given = append(given, document.Given{Name: name, Value: w.inputs[name]}) }
	if BriefInput(w.doc) == "" && w.brief.IsText() && w.brief.String() != "" && len(w.brief.Inputs()) == 0 {
		given = append(given, document.Given{Name: briefNames[0], Value: encode(w.brief.String())})
	}
	if _, asked := w.inputs[promptInput]; asked && w.doc.Input(promptInput) == nil {
		add(promptInput)
	}
	for _, in := range w.doc.Inputs {
		if _, has := w.inputs[in.Name]; has {
			add(in.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.inputs)) {
		if w.doc.Input(name) == nil && name != promptInput {
			add(name)
		}
	}
	return given
}
