package composite

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/parser"
)

// maxFrames is how deep functions of a body may call each other.
const maxFrames = 10_000

// engine runs one body, on one goroutine.
type engine struct {
	start
	rt      *sobek.Runtime
	say     func(said)
	replies <-chan reply
	over    atomic.Bool // it is decided how this ends: by the body or by the watch

	stringify, parse sobek.Callable // as they were before the body could change them
	newError         *sobek.Object
	callID           *sobek.Symbol // the property of a rejection that names its call
	threw            sobek.Value   // what the body threw last, unless it knows its place itself
	threwAt          place

	last      int // the id of the last call
	flight    map[int]inFlight
	inFlight  int // their bytes
	unhandled []*sobek.Promise
}

// inFlight is a call that has not been answered.
type inFlight struct {
	resolve, reject func(any) error
	at              place
	size            int
}

func newEngine(s start, replies <-chan reply, say func(said)) *engine {
	return &engine{start: s, rt: sobek.New(), say: say, replies: replies, flight: map[int]inFlight{}}
}

// interrupt stops the body, from any goroutine.
func (e *engine) interrupt(kind string) { e.rt.Interrupt(kind) }

// run runs the body to its end.
func (e *engine) run() (ended end) {
	defer func() {
		if r := recover(); r != nil {
			f := e.recovered(r)
			ended = end{Fails: &f}
		}
	}()
	tree, wrong := parse(e.Source)
	var program *sobek.Program
	if wrong == nil {
		markThrows(tree)
		program, wrong = compile(e.Source, tree)
	}
	if wrong != nil {
		return end{Fails: &failure{Kind: "syntax", Message: "JavaScript: " + wrong.message, At: wrong.at}}
	}
	if err := e.furnish(); err != nil {
		return e.fails(err)
	}
	body, err := e.rt.RunProgram(program)
	if err != nil {
		return e.fails(err)
	}
	function, _ := sobek.AssertFunction(body)
	returned, err := function(sobek.Undefined())
	if err != nil {
		return e.fails(err)
	}
	promise, ok := returned.Export().(*sobek.Promise)
	if !ok {
		return end{Fails: &failure{Kind: "died", Message: "the JavaScript engine did not return a promise"}}
	}
	for promise.State() == sobek.PromiseStatePending {
		if len(e.flight) == 0 {
			return e.with(failure{Kind: "never", Message: "the composite waits for something that never comes"})
		}
		if err := e.settle(<-e.replies); err != nil {
			return e.fails(err)
		}
	}
	if promise.State() == sobek.PromiseStateRejected {
		return e.with(e.thrown(promise.Result()))
	}
	for _, p := range e.unhandled {
		f := e.thrown(p.Result())
		f.Message += " (a promise that nobody awaits was rejected)"
		return e.with(f)
	}
	if ended.Value, err = e.output("returned value", promise.Result()); err == nil {
		ended.State, err = e.output("state", e.rt.Get("__"+e.StateName))
	}
	if err != nil {
		return e.fails(err)
	}
	return ended
}

// furnish sets up what a body finds.
func (e *engine) furnish() error {
	e.rt.SetParserOptions(parser.WithDisableSourceMaps) // of eval; a source map would be read from a file
	e.rt.SetMaxCallStackSize(maxFrames)
	e.rt.SetTimeSource(func() time.Time { return time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC) })
	e.rt.SetRandSource(rand.New(rand.NewPCG(1, 2)).Float64)
	e.rt.SetPromiseRejectionTracker(func(p *sobek.Promise, operation sobek.PromiseRejectionOperation) {
		if operation == sobek.PromiseRejectionReject {
			e.unhandled = append(e.unhandled, p)
			return
		}
		for i := range e.unhandled {
			if e.unhandled[i] == p {
				e.unhandled = append(e.unhandled[:i], e.unhandled[i+1:]...)
				return
			}
		}
	})
	text := e.rt.GlobalObject().Get("JSON").ToObject(e.rt)
	e.stringify, _ = sobek.AssertFunction(text.Get("stringify"))
	e.parse, _ = sobek.AssertFunction(text.Get("parse"))
	e.newError = e.rt.Get("Error").ToObject(e.rt)
	e.callID = sobek.NewSymbol("call")

	state, err := e.parse(sobek.Undefined(), e.rt.ToValue(string(e.State)))
	if err != nil {
		return err
	}
	console := e.rt.NewObject()
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		err = errors.Join(err, console.Set(name, func(sobek.FunctionCall) sobek.Value { return sobek.Undefined() }))
	}
	e.rt.SetImportModuleDynamically(func(from any, name sobek.Value, promise any) {
		e.rt.FinishLoadingImportModule(from, name, promise, nil, e.rt.NewTypeError("a composite has no modules to import"))
	})
	mark := e.rt.ToValue(e.mark)
	return errors.Join(err, e.rt.GlobalObject().DefineDataProperty(thrower, mark, sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE),
		e.rt.Set("console", console), e.rt.Set("rlm", e.rlm), e.rt.Set("__"+e.StateName, state))
}

// settle answers a call in the body, and runs what waited for it. The error is one that the body cannot catch.
func (e *engine) settle(r reply) error {
	c, ok := e.flight[r.ID]
	if !ok {
		return nil
	}
	delete(e.flight, r.ID)
	e.inFlight -= c.size
	if !r.Fails {
		return c.resolve(r.Text)
	}
	reason, err := e.rt.New(e.newError, e.rt.ToValue(r.Error))
	if err != nil {
		return err
	}
	// The engine knows no stack here, and what the user looks for is the call.
	stack := fmt.Sprintf("Error: %s\n\tat %s", r.Error, sourceName)
	if err := errors.Join(
		reason.DefineDataProperty("stack", e.rt.ToValue(stack), sobek.FLAG_TRUE, sobek.FLAG_TRUE, sobek.FLAG_FALSE),
		reason.DefineDataPropertySymbol(e.callID, e.rt.ToValue([]any{r.ID, c.at.Line, c.at.Column}), sobek.FLAG_FALSE, sobek.FLAG_FALSE, sobek.FLAG_FALSE),
	); err != nil {
		return err
	}
	return c.reject(reason)
}

// thrown says what was thrown, and where.
func (e *engine) thrown(reason sobek.Value) failure {
	f := failure{Kind: "thrown", Message: "thrown: " + cut(e.text(reason))}
	if e.threw != nil && e.threw.StrictEquals(reason) {
		f.At = e.threwAt
	}
	object, ok := reason.(*sobek.Object)
	if !ok {
		return f
	}
	if id := object.GetSymbol(e.callID); id != nil {
		if known, ok := id.Export().([]any); ok {
			f.Call, f.At = known[0].(int), place{known[1].(int), known[2].(int)}
			return f
		}
	}
	_ = e.rt.Try(func() {
		if stack := object.Get("stack"); stack != nil {
			if at := placeOfStack(e.Source, stack.String()); at != (place{}) {
				f.At = at
			}
		}
	})
	return f
}

// text is a thrown value for people. Its own toString may fail.
func (e *engine) text(v sobek.Value) (text string) {
	text = "something that cannot be shown"
	_ = e.rt.Try(func() {
		if object, ok := v.(*sobek.Object); ok && object.ClassName() != "Error" {
			if json, err := e.stringify(sobek.Undefined(), v); err == nil && !sobek.IsUndefined(json) {
				text = json.String()
				return
			}
		}
		text = v.String()
	})
	return text
}

func cut(message string) string {
	const most = 1000
	message = strings.TrimPrefix(message, "Error: ")
	if len(message) <= most {
		return message
	}
	return strings.ToValidUTF8(message[:most], "") + "…"
}

// fails is the end by an error of the engine: an interrupt, an overflow, or what was thrown outside the body.
func (e *engine) fails(err error) end {
	var f failure
	var interrupted *sobek.InterruptedError
	var overflow *sobek.StackOverflowError
	var thrown *sobek.Exception
	var known *failed
	switch {
	case errors.As(err, &interrupted):
		f = failure{At: placeOfFrames(e.Source, interrupted.Stack())}
		switch f.Kind, _ = interrupted.Value().(string); f.Kind {
		case "memory":
			f.Message = overMemory(e.Memory)
		default:
			f.Message = overCPU(time.Duration(e.CPU))
		}
	case errors.As(err, &overflow):
		f = failure{Kind: "stack", At: placeOfFrames(e.Source, overflow.Stack()),
			Message: fmt.Sprintf("the composite's functions call each other more than %d deep", maxFrames)}
	case errors.As(err, &known):
		f = failure(*known)
	case errors.As(err, &thrown):
		f = e.thrown(thrown.Value())
	default:
		f = failure{Kind: "died", Message: "the JavaScript engine failed: " + firstLine(err.Error())}
	}
	return end{Fails: &f}
}

// with is the end by a failure after which the state can still be told.
func (e *engine) with(f failure) end {
	state, err := e.output("state", e.rt.Get("__"+e.StateName))
	if err != nil {
		state = nil
	}
	return end{State: state, Fails: &f}
}

// failed is a failure as an error.
type failed failure

func (f *failed) Error() string { return f.Message }

// output is a value as JSON, "null" where JSON has no word for it. What toJSON or a getter of the body throws comes back as an error.
func (e *engine) output(what string, v sobek.Value) (json.RawMessage, error) {
	raw, err := e.json(v)
	var thrown *sobek.Exception
	if errors.As(err, &thrown) {
		return nil, &failed{Kind: "thrown", Message: fmt.Sprintf("the %s cannot be written as JSON: %s", what, cut(e.text(thrown.Value())))}
	}
	if len(raw) > e.MaxOutput {
		return nil, &failed{Kind: "output", Message: fmt.Sprintf("the %s has more than %s", what, spell(int64(e.MaxOutput)))}
	}
	return raw, err
}

func (e *engine) json(v sobek.Value) (json.RawMessage, error) {
	if v == nil {
		return json.RawMessage("null"), nil
	}
	text, err := e.stringify(sobek.Undefined(), v)
	if err != nil {
		return nil, err
	}
	if sobek.IsUndefined(text) {
		return json.RawMessage("null"), nil
	}
	return json.RawMessage(text.String()), nil
}
