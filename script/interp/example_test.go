package interp_test

import (
	"context"
	"fmt"

	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/interp"
	"github.com/firstgood/firstgood/script/syntax"
)

// shouting is a host whose delegates repeat what they are told.
type shouting struct{}

func (shouting) Call(_ context.Context, c interp.Call) (interp.Value, error) {
	return interp.Text(c.Delegate.Name + ": " + c.Brief.String() + "!"), nil
}
func (shouting) Criteria(context.Context, interp.Criterion) (interp.Verdict, error) {
	return interp.Verdict{Holds: true}, nil
}
func (shouting) Decide(context.Context, interp.Question) (bool, error) { return true, nil }
func (shouting) Warn(p diagnostic.Problem)                             { fmt.Println(p) }

func ExampleScript_Run() {
	const source = `
let replies = parallel for each in everybody:
  call each
    task_brief: "{greeting} {each}"
return { result: replies, asked: everybody.length }
`
	script, problems := syntax.Parse(source, syntax.Pos{File: "greet.prose", Line: 1, Column: 1})
	if problems.Failed() {
		fmt.Println(problems)
		return
	}
	program, problems := check.New(script, check.Env{Inputs: []check.Input{
		{Name: "everybody", Kind: check.InputList}, {Name: "greeting", Kind: check.InputConfig}}})
	if problems.Failed() {
		fmt.Println(problems)
		return
	}
	ready, err := interp.New(interp.Config{Program: program, Host: shouting{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	value, err := ready.Run(context.Background(), map[string]any{
		"everybody": []interp.Reference{{Name: "Ann"}, {Name: "Bob", Index: 1}},
		"greeting":  "Hello",
	})
	fmt.Println(value, err)
	// Output: {"result":["Ann: Hello Ann!","Bob: Hello Bob!"],"asked":2} <nil>
}
