package criteria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/firstgood/firstgood"
)

// Finding is what a rule found out about a reply.
type Finding struct {
	Holds  bool
	Reason string // why it holds or does not; a rejection for which it is empty gets a general reason
	Detail string // more than the reason holds, or empty
}

// Cost says what it costs to ask a rule. Cheaper rules are asked first.
type Cost int

// The costs of a rule, in ascending order.
const (
	CostCheap   Cost = iota // no more than looking at the reply
	CostCommand             // a process is run
	CostJudge               // a model is called
)

// Rule is a predicate about a reply. It is made by the functions of this package, is immutable, and may stand in
// several criteria. Nothing of a rule is checked before [New] is given it.
type Rule interface {
	// Cost returns what it costs to ask the rule: for one made of others, the dearest of them.
	Cost() Cost

	// compile returns the rule as a function for the given position, or says why it cannot work.
	compile(position) (find, error)
}

// find asks a compiled rule. An *outage among its errors means that nobody could tell; any other means that the
// rule erred, unless ctx has ended.
type find func(context.Context, firstgood.Brief, firstgood.Reply) (Finding, error)

func compile(r Rule, at position) (find, error) {
	if r == nil {
		return nil, errors.New("the rule is nil")
	}
	return r.compile(at)
}

// Check returns a rule that asks f, which must be safe for concurrent calls, return soon after ctx is done, and
// neither close the reply nor read its stream. An error of f rejects the reply. This is how a package with a
// library of its own brings a rule.
func Check(cost Cost, f func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (Finding, error)) Rule {
	return check{cost, f}
}

type check struct {
	cost Cost
	find find
}

func (c check) Cost() Cost { return c.cost }

func (c check) compile(position) (find, error) {
	if c.find == nil {
		return nil, errors.New("the rule has no function")
	}
	return c.find, nil
}

// NonEmpty returns a rule that holds for a reply that says something; see [firstgood.Reply.Empty].
func NonEmpty() Rule {
	return Check(CostCheap, func(_ context.Context, _ firstgood.Brief, reply firstgood.Reply) (Finding, error) {
		if reply.Empty() {
			return Finding{Reason: "the reply is empty"}, nil
		}
		return Finding{Holds: true, Reason: "the reply is not empty"}, nil
	})
}

// Matches returns a rule that holds for a reply whose text, or JSON in compact form, has a match of the
// expression. It errs on an open stream. A nil expression is an error of [New].
func Matches(expression *regexp.Regexp) Rule {
	if expression == nil {
		return broken("matches: there is no expression")
	}
	return Check(CostCheap, func(_ context.Context, _ firstgood.Brief, reply firstgood.Reply) (Finding, error) {
		text, err := textOf(reply)
		if err != nil {
			return Finding{}, fmt.Errorf("matches %s: %w", expression, err)
		}
		if expression.MatchString(text) {
			return Finding{Holds: true, Reason: fmt.Sprintf("the reply matches %s", expression)}, nil
		}
		return Finding{Reason: fmt.Sprintf("the reply does not match %s", expression)}, nil
	})
}

// CommandConfig describes a command whose exit status is a rule's truth.
type CommandConfig struct {
	// Name is how messages call the command, such as its argv; empty for "the command".
	Name string
	// Run runs the command with the reply's text, or its JSON in compact form, as its standard input, and returns its
	// exit status and the end of its output. An error means that there is no exit status: it could not be started,
	// or did not end by itself. Run returns soon after ctx is done, and is safe for concurrent calls. Required.
	Run func(ctx context.Context, stdin string) (exit int, tail string, err error)
}

// Command returns a rule that holds when the command exits with 0. Its reason is the end of the command's output,
// where there is any. A command without an exit status, and an open stream, are errors of the rule.
func Command(c CommandConfig) Rule {
	name := cmp.Or(c.Name, "the command")
	if c.Run == nil {
		return broken(name + ": there is no function that runs it")
	}
	return Check(CostCommand, func(ctx context.Context, _ firstgood.Brief, reply firstgood.Reply) (Finding, error) {
		text, err := textOf(reply)
		if err != nil {
			return Finding{}, fmt.Errorf("%s: %w", name, err)
		}
		exit, tail, err := c.Run(ctx, text)
		if err != nil {
			return Finding{}, fmt.Errorf("%s: %w", name, err)
		}
		f := Finding{Holds: exit == 0, Reason: fmt.Sprintf("%s exited with %d", name, exit)}
		if tail = lastOf(strings.TrimSpace(tail)); tail != "" {
			f.Reason, f.Detail = tail, f.Reason
		}
		return f, nil
	})
}

// All returns a rule that holds when each of the rules does. They are asked cheapest first, up to the first that
// does not hold, whose finding it is; when all hold, their reasons are joined in the order as listed.
func All(rules ...Rule) Rule { return compound{"all", false, slices.Clone(rules)} }

// Any returns a rule that holds when one of the rules does. They are asked cheapest first, up to the first that
// holds, whose finding it is; when none holds, their reasons are joined in the order as listed.
func Any(rules ...Rule) Rule { return compound{"any", true, slices.Clone(rules)} }

type compound struct {
	name     string
	decisive bool // the truth of one rule that settles the whole
	rules    []Rule
}

func (c compound) Cost() Cost {
	dearest := CostCheap
	for _, r := range c.rules {
		if r != nil {
			dearest = max(dearest, r.Cost())
		}
	}
	return dearest
}

func (c compound) compile(at position) (find, error) {
	if len(c.rules) == 0 {
		return nil, fmt.Errorf("%s: there are no rules in it", c.name)
	}
	finds := make([]find, len(c.rules))
	order := make([]int, len(c.rules))
	var faults []error
	for i, r := range c.rules {
		f, err := compile(r, at)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", place(c.name, i, len(c.rules)), err))
		}
		finds[i], order[i] = f, i
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(c.rules[a].Cost(), c.rules[b].Cost()) })
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (Finding, error) {
		findings := make([]Finding, len(finds))
		for _, i := range order {
			if ctx.Err() != nil {
				return Finding{}, context.Cause(ctx)
			}
			f, err := finds[i](ctx, brief, reply)
			if err != nil || f.Holds == c.decisive {
				return f, err
			}
			findings[i] = f
		}
		return joined(!c.decisive, findings), nil
	}, nil
}

func joined(holds bool, findings []Finding) Finding {
	var reasons, details []string
	for _, f := range findings {
		if f.Reason != "" {
			reasons = append(reasons, f.Reason)
		}
		if f.Detail != "" {
			details = append(details, f.Detail)
		}
	}
	return Finding{holds, strings.Join(reasons, "; "), strings.Join(details, "\n")}
}

// Not returns a rule that holds when r does not, for r's reason. A judge inside it is asked the opposite question:
// under failure criteria whether the reply is acceptable, under acceptance criteria whether it is a failure.
func Not(r Rule) Rule { return not{r} }

type not struct{ rule Rule }

func (n not) Cost() Cost {
	if n.rule == nil {
		return CostCheap
	}
	return n.rule.Cost()
}

func (n not) compile(at position) (find, error) {
	inner, err := compile(n.rule, !at)
	if err != nil {
		return nil, fmt.Errorf("not: %w", err)
	}
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (Finding, error) {
		f, err := inner(ctx, brief, reply)
		f.Holds = !f.Holds
		return f, err
	}, nil
}

// broken is a rule that New refuses.
type broken string

func (b broken) Cost() Cost                     { return CostCheap }
func (b broken) compile(position) (find, error) { return nil, errors.New(string(b)) }

func textOf(reply firstgood.Reply) (string, error) {
	if reply.Stream != nil {
		return "", errors.New("the reply is an open stream, which has no text yet")
	}
	return reply.String(), nil
}

// lastOf returns the end of a text, no longer than what a failure keeps of a reply.
func lastOf(text string) string {
	if len(text) <= firstgood.ExcerptUnits {
		return text
	}
	from := len(text) - firstgood.ExcerptUnits + len("…")
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return "…" + text[from:]
}
