// Package expr brings rules about a reply that are written as expressions, such as
//
//	len(reply.text) < 400 && reply.json.score >= 0.8
//
// The language is expr-lang, https://expr-lang.org. An expression is checked when it is compiled: names, types, and that
// it gives true or false. It sees
//
//	reply.text                 string: the text, or the JSON value in compact form
//	reply.json                 any: the reply's JSON, see [criteria.JSONOf]
//	reply.finish_reason        string: as the provider named it, "" when it named none
//	reply.refusal              string: the provider's own refusal field, "" when the model did not use it
//	reply.tool_calls           int: how many tool calls the reply holds
//	reply.usage.input_tokens   int
//	reply.usage.output_tokens  int
//	brief.text                 string
//	duration                   float64: seconds from the attempt's start to now; 0 where no run is known to have made it
//
// and nothing else: no environment, no file, no network. Sizes and places of texts are those of the language: len counts
// characters, an index counts bytes.
//
// # JSON
//
// reply.json is looked for when an expression first asks for it, once in each evaluation. Where a reply has none, an
// expression that comes to ask for it errs; one that is decided before does not. A member that is missing is nil, and a
// member of nil errs: reply.json?.a?.b asks without erring.
//
// A whole number is an int, any other a float64. Arithmetic on them wraps and rounds as it does in Go. A number that is
// neither, such as 1e400 or a whole one beyond 64 bits, can only be compared for being equal to another; to calculate
// with it or to order it errs.
//
// # Limits
//
// An expression is at most [MaxSource] long. Its loops (all, filter, map and so on) make at most [MaxSteps] steps in
// all, and stop when the context of the evaluation ends. What multiplies a text or is quadratic has a limit too, and what
// has no use but that (repeat) is not there; neither is toJSON. An expression that comes to a limit errs. Memory is
// bounded by what the expression builds of the reply: one that joins a text to each of many elements can still build
// much.
package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lang "github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

// The limits of an expression. One that goes beyond them errs, when it is compiled or when it is asked.
const (
	MaxSource = 10_000    // bytes of source
	MaxSteps  = 2_000_000 // steps of its loops in one evaluation
	maxNodes  = 2_000     // parts of its syntax
	maxMemory = 4_000_000 // elements of the lists and maps that one evaluation makes
	maxText   = 16 << 20  // bytes of a text that replace or join makes
	maxUniq   = 5_000     // elements of a list for uniq, which compares each with each
)

// Compile returns a rule that holds when the expression is true; nil, as of a member that is missing, counts as false. It errs for a reply on which the expression errs, and
// for an open stream of which the expression asks the text or the JSON.
//
// What is wrong with the source is a *[Error]: one that is empty or too long, that cannot be read, that names something
// unknown, or whose types do not fit.
//
// The reason of its finding is the source, whether it is true, and up to three of the values that it looks at.
func Compile(source string) (criteria.Rule, error) {
	p, err := compile(source)
	if err != nil {
		return nil, err
	}
	return criteria.Check(criteria.CostCheap, p.find), nil
}

// program is a compiled expression. It is immutable.
type program struct {
	label  string // the source, for messages
	code   *vm.Program
	sights []sight
}

func compile(source string) (*program, error) {
	switch {
	case strings.TrimSpace(source) == "":
		return nil, &Error{1, 1, "the expression is empty"}
	case len(source) > MaxSource:
		return nil, &Error{1, 1, fmt.Sprintf("the expression has %d bytes, want at most %d; a longer check is better a command", len(source), MaxSource)}
	}
	tree, err := parser.Parse(source)
	if err != nil {
		return nil, explained(err)
	}
	sights, err := survey(tree)
	if err != nil {
		return nil, err
	}
	options := append(functions(), lang.Env(environment{}), lang.AsBool(), lang.MaxNodes(maxNodes), lang.Patch(&patcher{}))
	code, err := lang.Compile(source, options...)
	if err != nil {
		return nil, explained(err)
	}
	label, cut := firstgood.Excerpt(strings.Join(strings.Fields(source), " "), 200)
	if cut {
		label += "…"
	}
	return &program{label, code, sights}, nil
}

func (p *program) find(ctx context.Context, brief firstgood.Brief, reply firstgood.Reply) (criteria.Finding, error) {
	e := &evaluation{ctx: ctx, brief: brief, reply: reply}
	machine := vm.VM{MemoryBudget: maxMemory}
	result, err := machine.Run(p.code, e.environment())
	if err != nil {
		return criteria.Finding{}, fmt.Errorf("expr %s: %w", p.label, cause(err))
	}
	holds := result == true
	return criteria.Finding{Holds: holds, Reason: e.reason(p, holds)}, nil
}

// cause returns what ended an evaluation, for people.
func cause(err error) error {
	if stop, ok := errors.AsType[*abort](err); ok {
		return stop.error
	}
	return explained(err)
}

// Error says what is wrong with an expression, and where: the line and the column in its source, both from 1, the column
// in characters. It prints as line:column: message.
type Error struct {
	Line, Column int
	Message      string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// explained returns an error of the library as one of ours.
func explained(err error) error {
	if fault, ok := errors.AsType[*file.Error](err); ok {
		return &Error{max(fault.Line, 1), fault.Column + 1, plain(fault.Message)}
	}
	return &Error{1, 1, plain(err.Error())}
}

var plainTypes = strings.NewReplacer("interface {}", "any", "<nil>", "nil", "json.Number", "a number beyond 64 bits")

// plain returns a message without what only somebody who knows the library can read. What it does not know stays as
// it is.
func plain(message string) string {
	message = plainTypes.Replace(message)
	for _, gives := range []string{"expected bool, but got ", "invalid operation: bool("} {
		if got, ok := strings.CutPrefix(message, gives); ok {
			return fmt.Sprintf("the expression gives %s, want true or false", strings.TrimSuffix(got, ")"))
		}
	}
	if types, ok := strings.CutPrefix(message, "interface conversion: any is "); ok {
		return "got " + strings.Replace(types, ", not ", ", want ", 1)
	}
	if call, ok := strings.CutPrefix(message, "reflect: call of reflect.Value."); ok {
		_, got, _ := strings.Cut(strings.TrimSuffix(call, " Value"), " on ")
		return fmt.Sprintf("got %s, want a list", got)
	}
	return message
}
