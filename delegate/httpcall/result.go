package httpcall

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
)

// path leads into a JSON document; nil is the document itself.
type path []string

func parsePath(dotted string) (path, error) {
	if dotted == "" {
		return nil, nil
	}
	steps := strings.Split(dotted, ".")
	for _, step := range steps {
		if step == "" {
			return nil, fmt.Errorf("result %q: an empty step; want names and places joined by dots, such as items.0.title", dotted)
		}
	}
	return steps, nil
}

// find returns the value at p in the document data, as it is written there.
func (p path) find(data []byte) (json.RawMessage, error) {
	var value json.RawMessage
	if err := failure.Decode(data, &value); err != nil {
		return nil, err
	}
	for i, step := range p {
		next, problem := descend(value, step)
		if problem != "" {
			at := "the reply"
			if i > 0 {
				at = strings.Join(p[:i], ".")
			}
			reason := fmt.Sprintf("no result at %s: %s %s", strings.Join(p, "."), at, problem)
			return nil, &firstgood.Error{Kind: firstgood.KindError, Reason: reason}
		}
		value = next
	}
	return value, nil
}

// descend takes one step into value, or says why it cannot.
func descend(value json.RawMessage, step string) (next json.RawMessage, problem string) {
	switch value[0] {
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return nil, "is not a valid object"
		}
		if next, ok := members[step]; ok {
			return next, ""
		}
		return nil, fmt.Sprintf("has no member %q", step)
	case '[':
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return nil, "is not a valid list"
		}
		place, err := strconv.Atoi(step)
		switch {
		case err != nil || place < 0:
			return nil, fmt.Sprintf("is a list, so %q must be a place from 0", step)
		case place >= len(list):
			return nil, fmt.Sprintf("is a list of %d, so it has no place %d", len(list), place)
		}
		return list[place], ""
	case '"':
		return nil, fmt.Sprintf("is a string, so it has no member %q", step)
	}
	return nil, fmt.Sprintf("is %s, so it has no member %q", value, step)
}
