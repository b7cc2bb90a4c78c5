package expr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

// environment is what an expression sees. What costs something to find out, or may not be there, is behind a
// function: the expression is compiled with calls of it in place of the names that people write. The names of these
// functions cannot be written in an expression.
type environment struct {
	Reply    replyView `expr:"reply"`
	Brief    briefView `expr:"brief"`
	Duration float64   `expr:"duration"`

	ReplyText   func() string    `expr:"the text"`
	ReplyJSON   func() any       `expr:"the json"`
	SinceStart  func() float64   `expr:"the duration"`
	CountedStep func(...any) any `expr:"a step"`
}

type replyView struct {
	Text         string    `expr:"text"`
	JSON         any       `expr:"json"`
	FinishReason string    `expr:"finish_reason"`
	Refusal      string    `expr:"refusal"`
	ToolCalls    int       `expr:"tool_calls"`
	Usage        usageView `expr:"usage"`
}

type usageView struct {
	InputTokens  int `expr:"input_tokens"`
	OutputTokens int `expr:"output_tokens"`
}

type briefView struct {
	Text string `expr:"text"`
}

// known are the values that an expression can look at, in the order in which messages name them.
var known = []string{
	"reply.text", "reply.json", "reply.finish_reason", "reply.refusal", "reply.tool_calls",
	"reply.usage.input_tokens", "reply.usage.output_tokens", "brief.text", "duration",
}

// evaluation is one evaluation of an expression.
type evaluation struct {
	ctx   context.Context
	brief firstgood.Brief
	reply firstgood.Reply
	steps int

	asked   bool // for the reply's JSON
	json    any
	jsonErr error
}

// abort is what an evaluation panics with to end itself; the machine turns it into an error.
type abort struct{ error }

func (a *abort) Unwrap() error { return a.error }

func (e *evaluation) environment() environment {
	return environment{
		Reply: replyView{
			FinishReason: e.reply.FinishReason, Refusal: e.reply.Refusal, ToolCalls: e.reply.ToolCalls,
			Usage: usageView{e.reply.Usage.InputTokens, e.reply.Usage.OutputTokens},
		},
		Brief:       briefView{e.brief.String()},
		ReplyText:   e.text,
		ReplyJSON:   e.jsonView,
		SinceStart:  e.duration,
		CountedStep: e.step,
	}
}

func (e *evaluation) text() string {
	if e.reply.Stream != nil {
		panic(&abort{errors.New("the reply is an open stream, which has no text yet")})
	}
	return e.reply.String()
}

func (e *evaluation) jsonView() any {
	if !e.asked {
		e.asked = true
		if e.json, _, e.jsonErr = criteria.JSONOf(e.reply); e.jsonErr == nil {
			e.json = counted(e.json)
		}
	}
	if e.jsonErr != nil {
		panic(&abort{e.jsonErr})
	}
	return e.json
}

// duration is the time since the start of the call that ctx says is being weighed.
func (e *evaluation) duration() float64 {
	scope := firstgood.ScopeOf(e.ctx)
	if scope == nil || scope.Record == nil || scope.Call < 0 {
		return 0
	}
	calls := scope.Record.Tree(scope.Call)
	if len(calls) == 0 {
		return 0
	}
	return (scope.Record.Elapsed() - calls[0].Started).Seconds()
}

// step counts a step of a loop.
func (e *evaluation) step(...any) any {
	e.steps++
	switch {
	case e.steps > MaxSteps:
		panic(&abort{fmt.Errorf("its loops make more than %d steps", MaxSteps)})
	case e.steps%256 == 0 && e.ctx.Err() != nil:
		panic(&abort{context.Cause(e.ctx)})
	}
	return nil
}

// counted returns a JSON value with the numbers as the language knows them. It changes the value.
func counted(value any) any {
	switch value := value.(type) {
	case json.Number:
		return quantity(value)
	case []any:
		for i := range value {
			value[i] = counted(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = counted(value[key])
		}
	}
	return value
}

// quantity returns a number as an int or float64, or as it is where it is neither: the language knows nothing to do
// with it then but to compare it.
func quantity(n json.Number) any {
	if i, err := strconv.Atoi(n.String()); err == nil {
		return i
	}
	for i := range len(n) {
		if c := n[i]; c == '.' || c == 'e' || c == 'E' {
			if f, err := n.Float64(); err == nil {
				return f
			}
			break
		}
	}
	return n
}

// patcher puts the calls of the environment's functions into an expression.
type patcher struct{}

// Visit implements [ast.Visitor].
func (p *patcher) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		if n.Value == "duration" {
			ast.Patch(node, call("the duration", environment{}.SinceStart, n))
		}
	case *ast.MemberNode:
		root, _ := n.Node.(*ast.IdentifierNode)
		name, _ := n.Property.(*ast.StringNode)
		if root == nil || name == nil || root.Value != "reply" {
			return
		}
		switch name.Value {
		case "text":
			ast.Patch(node, call("the text", environment{}.ReplyText, n))
		case "json":
			ast.Patch(node, call("the json", environment{}.ReplyJSON, n))
		}
	case *ast.PredicateNode:
		n.Node = &ast.SequenceNode{Nodes: []ast.Node{call("a step", environment{}.CountedStep, n), n.Node}}
	}
}

// call returns a call of the function of the environment that has the name, in place of a node.
func call(name string, function any, in ast.Node) ast.Node {
	callee := &ast.IdentifierNode{Value: name}
	callee.SetType(reflect.TypeOf(function)) // the checker skips the callee where the type of the call is known
	callee.SetLocation(in.Location())
	c := &ast.CallNode{Callee: callee}
	c.SetLocation(in.Location())
	return c
}
