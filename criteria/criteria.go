// Package criteria holds the rules by which a reply of the engine's delegates is good or not: plain rules that
// cost nothing, a command's exit status, and sentences in plain language that a judge weighs.
//
// A [Rule] is a predicate about a reply. [All], [Any] and [Not] put rules together, [Check] takes a rule from
// elsewhere, and [New] makes criteria of them: a reply is good when no failure rule holds and every acceptance
// rule does.
//
// Rules run cheapest first, so that no judge is paid for a reply that a pattern has already turned down; among
// rules of one cost the failure rules come first, then the order as listed. That order is fixed, so the reason
// given is always the same.
//
// What is not true or false:
//   - A rule that errs rejects the reply and says why, wherever it stands, under [Not] too.
//   - A judge that does not answer is an error of the criteria. It never accepts a reply, and it stops at once.
//   - A judge whose answer cannot be read leans to accepting, or to rejecting where [JudgeConfig] says so.
//   - A context that ends is an error of the criteria, its cause.
package criteria

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/firstgood/firstgood"
)

// The reasons of a rejection for which no rule gave one.
const (
	MatchedFailure = "matched failure_criteria"
	NotAccepted    = "did not meet acceptance_criteria"
)

// Config says which replies are good. The zero Config accepts every reply.
type Config struct {
	NonEmpty bool   // reject a reply that says nothing, see [firstgood.Reply.Empty]; false lets it pass
	Failure  []Rule // none may hold; nil for none
	Accept   []Rule // all must hold; nil for none
}

// New returns criteria for c, or nil where c asks for nothing: no rule at all, or only [Judge] rules whose text
// is blank. A rule that cannot work is an error that names its place: a nil rule, an empty [All] or [Any], a
// judge's text without a judge, a blank text inside another rule.
//
// The criteria are safe for concurrent calls and keep nothing between them, so each reply costs at most one call
// of each judge, and its retries. They neither close a reply nor read its stream: of an open stream only
// emptiness can be told, and a rule that needs its text errs. The error they return is the cause of ctx when
// that has ended, else that of a judge that did not answer, as `judge NAME: …`.
func New(c Config) (firstgood.Criteria[firstgood.Reply], error) {
	var clauses []clause
	var faults []error
	add := func(at position, rules []Rule) {
		for i, r := range rules {
			if j, ok := r.(judge); ok && j.blank() {
				continue
			}
			f, err := compile(r, at)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", place(at.String(), i, len(rules)), err))
				continue
			}
			clauses = append(clauses, clause{at, r.Cost(), f})
		}
	}
	if c.NonEmpty {
		add(acceptance, []Rule{NonEmpty()})
	}
	add(failure, c.Failure)
	add(acceptance, c.Accept)
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if len(clauses) == 0 {
		return nil, nil
	}
	slices.SortStableFunc(clauses, func(a, b clause) int { return cmp.Compare(a.cost, b.cost) })
	return func(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (firstgood.Verdict, error) {
		return weigh(ctx, clauses, brief, reply)
	}, nil
}

// clause is a rule at the top, where it decides.
type clause struct {
	at   position
	cost Cost
	find find
}

func weigh(ctx context.Context, clauses []clause, brief firstgood.Brief, reply firstgood.Reply) (firstgood.Verdict, error) {
	if ctx.Err() != nil {
		return firstgood.Verdict{}, context.Cause(ctx)
	}
	for _, c := range clauses {
		f, err := c.find(ctx, brief, reply)
		// First of all, since a rule that was cut off may have found anything.
		if ctx.Err() != nil {
			return firstgood.Verdict{}, context.Cause(ctx)
		}
		_, unanswered := errors.AsType[*outage](err)
		switch {
		case unanswered:
			return firstgood.Verdict{}, err
		case err != nil:
			return rejected(fmt.Sprintf("%v could not be applied: %v", c.at, err), ""), nil
		case f.Holds != c.at.open():
			return rejected(cmp.Or(f.Reason, c.at.constant()), f.Detail), nil
		}
	}
	return firstgood.Verdict{}, nil
}

func rejected(reason, detail string) firstgood.Verdict {
	reason, _ = firstgood.Excerpt(reason, firstgood.ExcerptUnits)
	detail, _ = firstgood.Excerpt(detail, firstgood.ExcerptUnits)
	return firstgood.Verdict{Rejected: true, Reason: reason, Detail: detail}
}

// position is what a rule's truth means for the reply. Each [Not] turns it round for what is inside, so it is
// known when the criteria are made, and is all that a judge's rule needs to know of the tree around it.
type position bool

const (
	acceptance position = true  // the rule speaks for the reply
	failure    position = false // the rule speaks against the reply
)

func (p position) String() string {
	if p == failure {
		return "failure_criteria"
	}
	return "acceptance_criteria"
}

// open is the truth of a rule here that leaves the reply good.
func (p position) open() bool { return bool(p) }

// constant is the reason of a rejection for which the rule here has none.
func (p position) constant() string {
	if p == failure {
		return MatchedFailure
	}
	return NotAccepted
}

// place names the i-th of n rules under name.
func place(name string, i, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s[%d]", name, i)
}
