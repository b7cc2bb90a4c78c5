package schema

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checker is a compiled schema.
//
// A reply is first checked for no more than whether it fits: then the library notes nothing down, and leaves off where it
// can. It does so for what stands in a not. Only a reply that does not fit is checked again, to say why; that can
// take much room with a hostile one, and is given up beyond a limit.
type checker struct {
	schema *jsonschema.Schema
	unfit  *jsonschema.Schema // {"not": schema}
	guard  *guard
	steps  int // at most, for whether a reply fits
}

// check returns why the value does not fit, "" if it does.
func (c *checker) check(ctx context.Context, value any) (string, error) {
	fits := true
	err := c.guard.watch(ctx, c.steps, func() { fits = c.unfit.Validate(value) != nil })
	switch {
	case errors.Is(err, errTooMuch):
		return "", fmt.Errorf("it takes more than %d steps on this reply", c.steps)
	case err != nil:
		return "", err
	case fits:
		return "", nil
	}
	var found error
	err = c.guard.watch(ctx, min(maxTold, maxToldDeep/(1+depth(value))), func() { found = c.schema.Validate(value) })
	if err != nil && !errors.Is(err, errTooMuch) {
		return "", err
	}
	if failed, ok := errors.AsType[*jsonschema.ValidationError](found); ok {
		return reason(failed)
	}
	return "it does not fit the schema, and is too large to say where", nil
}

func depth(value any) int {
	deepest := 0
	switch value := value.(type) {
	case []any:
		for _, inner := range value {
			deepest = max(deepest, 1+depth(inner))
		}
	case map[string]any:
		for _, inner := range value {
			deepest = max(deepest, 1+depth(inner))
		}
	}
	return deepest
}

// guard ends a check that takes too long. It stands where the library checks a format, which comes before it goes into a
// subschema's own subschemas, and is asked for each. A value that is not of the right type does not come so far, so
// that what is in a list or object is counted with it.
type guard struct {
	ctx   context.Context
	left  int                  // steps
	asked int                  // how often
	known []*jsonschema.Schema // all schemas with a guard
}

var errTooMuch = errors.New("too many steps")

// stop is what a check panics with to end itself.
type stop struct{ err error }

// watch does the work until it takes more than so many steps or ctx ends, which is its error then.
func (g *guard) watch(ctx context.Context, steps int, work func()) (err error) {
	g.ctx, g.left = ctx, steps
	defer func() {
		g.ctx = nil
		switch v := recover().(type) {
		case nil:
		case stop:
			err = v.err
		default:
			panic(v)
		}
	}()
	work()
	return nil
}

func (g *guard) step(value any) {
	g.left--
	g.asked++
	switch value := value.(type) {
	case []any:
		g.left -= len(value)
	case map[string]any:
		g.left -= len(value)
	}
	switch {
	case g.left < 0:
		panic(stop{errTooMuch})
	case g.asked%256 == 0 && g.ctx.Err() != nil:
		panic(stop{context.Cause(g.ctx)})
	}
}

// vocabulary is the way into each subschema as it is compiled.
func (g *guard) vocabulary() *jsonschema.Vocabulary {
	return &jsonschema.Vocabulary{URL: "firstgood:guard", Compile: func(in *jsonschema.CompilerContext, _ map[string]any) (jsonschema.SchemaExt, error) {
		s := in.Enqueue(nil)
		checked := jsonschema.Format{Validate: func(v any) error { g.step(v); return nil }}
		if own := s.Format; own != nil {
			checked.Name = own.Name
			checked.Validate = func(v any) error { g.step(v); return own.Validate(v) }
		}
		s.Format = &checked
		g.known = append(g.known, s)
		return nil, nil
	}}
}

// endless returns a schema that is applied to a value because it is being applied to that value, nil for none.
func (g *guard) endless() *jsonschema.Schema {
	const entered, left = 1, 2
	state := map[*jsonschema.Schema]int{}
	var visit func(s *jsonschema.Schema) *jsonschema.Schema
	visit = func(s *jsonschema.Schema) *jsonschema.Schema {
		switch {
		case s == nil || state[s] == left:
			return nil
		case state[s] == entered:
			return s
		}
		state[s] = entered
		for _, next := range inPlace(s) {
			if found := visit(next); found != nil {
				return found
			}
		}
		state[s] = left
		return nil
	}
	for _, s := range g.known {
		if found := visit(s); found != nil {
			return found
		}
	}
	return nil
}

// inPlace returns the schemas that are applied to the same value as s. Which one a $dynamicRef means is known only
// when a reply is checked.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	all := slices.Concat([]*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}, s.AllOf, s.AnyOf, s.OneOf)
	for _, next := range s.DependentSchemas {
		all = append(all, next)
	}
	for _, next := range s.Dependencies {
		if next, ok := next.(*jsonschema.Schema); ok {
			all = append(all, next)
		}
	}
	return all
}
