// Package schema brings rules that hold when a reply's JSON fits a JSON Schema.
//
// A schema is one of draft 2020-12 unless its $schema names another draft. Its formats are checked, not only noted:
// "format": "date" means that the text must be one. Patterns are RE2, as everywhere in Go, so that no reply can make one
// run for long; one that RE2 does not know, such as a look-ahead, is an error when the schema is compiled.
//
// # References
//
// A $ref may point into its own document, to a built-in metaschema, or, from a schema in a file, to other files by a
// relative path, in the schema's folder or below it. Nothing else is ever read: neither a file elsewhere nor the network.
// All of it is read when the schema is compiled.
//
// # Limits
//
// The schema is trusted, the reply is not. What a recursive schema makes of a hostile reply can grow beyond measure, so
// that a reply which takes more than [MaxSteps] applications of a subschema to a value makes the rule err. The rule stops
// soon when its context ends, but not inside one match of a pattern.
package schema

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

// The limits of a schema and of its use.
const (
	MaxFile  = 10 << 20  // bytes of a schema file
	MaxSteps = 3_000_000 // subschemas applied to values, about, while one reply is checked

	// What is spent on saying why a reply does not fit. The library notes down each failure, and with it the way to its
	// place, so that a deep reply gets fewer steps.
	maxTold     = 400_000
	maxToldDeep = 4_000_000 // steps times depth
)

// Load returns a rule for the schema in a file of JSON. See [Compile] for what the rule does, and for the errors; those
// of a file begin with its name, and with line and column where it is no JSON. An error of the file system is wrapped.
func Load(path string) (criteria.Rule, error) {
	s, err := load(path)
	if err != nil {
		return nil, err
	}
	return newRule(s)
}

// Compile returns a rule for a schema that stands elsewhere: anything with a JSON form that is an object or a boolean,
// such as a map[string]any. The value is not kept.
//
// The rule holds when the reply's JSON, see [criteria.JSONOf], fits the schema. A reply without JSON does not. It errs
// where JSONOf gives any other error, and for a reply beyond the limits. The reason why a reply does not fit is the
// first three failures, by place, such as
//
//	at /items/2/price: got string, want number; at /total: minimum: got -1, want 0; and 2 more
//
// An error is what is wrong with the schema, with its place in it as a JSON pointer where there is one: it does not fit
// its own draft, a pattern is not RE2, a $ref leads nowhere, may not be followed, or leads back to itself without end.
func Compile(value any) (criteria.Rule, error) {
	s, err := inline(value)
	if err != nil {
		return nil, err
	}
	return newRule(s)
}

func newRule(s *source) (criteria.Rule, error) {
	first, err := s.compile()
	if err != nil {
		return nil, err
	}
	r := &rule{source: s, idle: []*checker{first}}
	return criteria.Check(criteria.CostCheap, r.find), nil
}

// rule keeps the compiled copies of a schema that are not in use. A copy serves one reply at a time, because the library
// gives what is called on the way no other means to tell whose steps it counts.
type rule struct {
	source *source
	mu     sync.Mutex
	idle   []*checker
}

func (r *rule) take() (*checker, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		return c, nil
	}
	return r.source.compile()
}

func (r *rule) give(c *checker) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.idle = append(r.idle, c)
}

func (r *rule) find(ctx context.Context, _ firstgood.Brief, reply firstgood.Reply) (criteria.Finding, error) {
	value, _, err := criteria.JSONOf(reply)
	switch {
	case errors.Is(err, criteria.ErrNoJSON):
		return criteria.Finding{Reason: err.Error()}, nil
	case err != nil:
		return criteria.Finding{}, fmt.Errorf("schema: %w", err)
	}
	c, err := r.take()
	if err != nil {
		return criteria.Finding{}, fmt.Errorf("schema: %w", err)
	}
	defer r.give(c)
	reason, err := c.check(ctx, value)
	switch {
	case err != nil:
		return criteria.Finding{}, fmt.Errorf("schema: %w", err)
	case reason != "":
		return criteria.Finding{Reason: reason}, nil
	}
	return criteria.Finding{Holds: true, Reason: "the reply's JSON fits the schema"}, nil
}
