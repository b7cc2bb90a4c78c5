package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/firstgood/firstgood"
)

// Ready says what keeps a run with this brief, and with State, from being worth starting: inputs that the text of a
// document needs and nothing gives, and criteria that are set and that nobody could weigh. It runs nothing. Nil means that
// nothing is known to be missing, as for every delegate and for every pattern that is no text.
func (b *Bound) Ready(brief firstgood.Brief) error {
	in, ok := b.run.(*body)
	if wrapped, is := b.run.(*budgeted); is {
		in, ok = wrapped.runner.(*body)
	}
	if !ok {
		return nil
	}
	w := in.begin(brief)
	if b.State != nil {
		var state map[string]json.RawMessage
		if err := json.Unmarshal(b.State, &state); err != nil || state == nil {
			return errors.New("the state is no JSON object")
		}
		for name, value := range state {
			if !w.said[name] {
				w.inputs[name] = value
			}
		}
	}
	var missing []string
	for _, needed := range in.doc.Inputs {
		if _, given := w.inputs[needed.Name]; !given && !needed.Optional && !needed.Implicit {
			missing = append(missing, needed.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s needs %s, which nothing gives; --input %s=… does", in.name, strings.Join(missing, ", "), missing[0])
	}
	return in.steps.judgeable(w)
}
