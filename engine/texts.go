package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/pattern"
	"github.com/firstgood/firstgood/script/interp"
)

// Here a text becomes an instance that can be run: what it calls is built, each as a chain of one, and its steps get their host.

// body builds the instance of a document that runs as it is written.
func (e *Engine) body(in *config.Instance, t *writing) (runner, error) {
	b := &body{name: in.Name, slots: in.Slots, timeout: in.Config.Timeout, values: map[string]json.RawMessage{}, doc: t.doc, free: t.free}
	for name, value := range in.Config.Values {
		v, err := value.Expand(e.lookup)
		if err != nil {
			return nil, err
		}
		if b.values[name], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	for _, slot := range in.Slots {
		members := make([]runner, len(slot.Members))
		for i, ref := range slot.Members {
			member, err := e.alone(ref, !t.slot(slot.Name) && t.doc.Kind == document.Function)
			if err != nil {
				return nil, err
			}
			members[i] = member
		}
		b.members = append(b.members, members)
	}
	models, err := e.models(t)
	if err != nil {
		return nil, err
	}
	var weighs *judge
	if !in.Judge.IsZero() {
		if weighs, err = e.judge(in.Judge); err != nil {
			return nil, err
		}
		b.judge = weighs
	}
	switch {
	case t.doc.Body == nil:
		b.steps = &asking{text: t, body: b}
	case t.program != nil:
		if _, must := t.asks(); must && weighs == nil {
			return nil, config.Problems{{Pos: in.Pos, Message: fmt.Sprintf("%s leaves conditions to a judge, and the file names none; write judge: NAME at its top", in.Name)}}
		}
		p := &prose{text: t, body: b, judge: weighs, models: models, warn: e.warn}
		if weighs != nil {
			p.unable = e.blocked(in.Judge)
		}
		if p.script, err = interp.New(interp.Config{Program: t.program, Host: p}); err != nil {
			return nil, err
		}
		b.steps, b.drain = p, p.script.Drain
	default:
		b.steps = &javascript{text: t, body: b, models: models}
	}
	return b, nil
}

func (t *writing) slot(name string) bool { return t.doc.Slot(name) != nil }

// alone returns what a ref names as a chain of one. With whole, an instance gives all that it has come to, and its having
// no winner is no failure, as who calls it by its name in the text of a function expects.
func (e *Engine) alone(ref config.Ref, whole bool) (runner, error) {
	if whole && ref.Instance != nil && ref.Instance.Pattern != string(document.Function) {
		built, err := e.instance(ref.Instance)
		if err != nil {
			return nil, err
		}
		return chainOf(&entire{built})
	}
	key := keyOf(ref)
	if built, ok := e.chains[key]; ok {
		return built, nil
	}
	built, err := e.instance(alone(ref))
	if err != nil {
		return nil, err
	}
	e.chains[key] = built
	return built, nil
}

// models are the delegates of the file, for a text that names a model for a call.
func (e *Engine) models(t *writing) (map[string]runner, error) {
	if t.doc.Body == nil || !strings.Contains(t.doc.Body.Source, "model") {
		return nil, nil
	}
	models := map[string]runner{}
	for _, d := range e.file.Delegates {
		built, err := e.alone(config.Ref{Name: d.Name, Pos: d.Pos, Delegate: d}, false)
		if err != nil {
			return nil, err
		}
		models[d.Name] = built
	}
	return models, nil
}

// entire is an instance whose reply is all that it has come to: what its text returned, or its outcome as an object.
type entire struct{ runner }

func (e *entire) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	var got yield
	out, err := e.Run(context.WithValue(ctx, yieldKey{}, &got), brief)
	var none *firstgood.NoWinnerError
	if err != nil && (!errors.As(err, &none) || none.Status != firstgood.StatusExhausted) {
		return firstgood.Reply{}, err
	}
	if got.value != nil {
		return firstgood.Reply{JSON: got.value}, nil
	}
	object := struct {
		Result   json.RawMessage     `json:"result"`
		Winner   *string             `json:"winner"`
		Attempts int                 `json:"attempts"`
		History  []firstgood.Failure `json:"failure_history"`
	}{json.RawMessage("null"), optional(out.Winner), out.Attempts, append([]firstgood.Failure{}, out.History...)}
	if err == nil {
		reply, err := whole(out.Result)
		if err != nil {
			return firstgood.Reply{}, err
		}
		object.Result = valueOf(reply)
	}
	return firstgood.Reply{JSON: encode(object)}, nil
}

// modelled is a function that asks another model than its own.
type modelled struct {
	runner
	model runner
}

type modelKey struct{}

func (m *modelled) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	return m.runner.Attempt(context.WithValue(ctx, modelKey{}, m.model), brief)
}

// chainOf returns a delegate as a chain of one.
func chainOf(d firstgood.Delegate[firstgood.Reply]) (runner, error) {
	return pattern.NewFallbackChain(pattern.Config[firstgood.Reply]{Name: d.Name(), Delegates: []firstgood.Delegate[firstgood.Reply]{d}})
}

// constant gives a rejection by the failure criteria of a document of kind pattern the reason that its text gives. The judge's
// words are the detail.
func constant(weigh firstgood.Criteria[firstgood.Reply]) firstgood.Criteria[firstgood.Reply] {
	if weigh == nil {
		return nil
	}
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (firstgood.Verdict, error) {
		verdict, err := weigh(ctx, brief, reply)
		const reason = "matched failure_criteria"
		if err == nil && verdict.Rejected && verdict.Reason != reason {
			verdict.Reason, verdict.Detail = reason, strings.TrimSpace(verdict.Reason+"\n"+verdict.Detail)
		}
		return verdict, err
	}
}
