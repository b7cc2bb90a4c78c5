// Package composite runs the JavaScript body of a composite as written.
//
// The body is that of an async function. It has the language (ECMAScript as github.com/grafana/sobek speaks it, in sloppy
// mode; it lacks for await and async generators), rlm, and the state object, and nothing else: no network, no files, no
// timers, no modules. It runs in a child process of the same binary, with limits on memory and processor time, so that
// nothing it does harms the process that runs it.
//
//   - rlm(brief, context, {use, model}) calls [Config.Call] and returns a promise of a text. An error of Call rejects it with
//     an Error whose message is the error's text. Calls run at the same time; at most [MaxCalls] are in flight.
//   - The state is the global __controlState or __compositeState, as [Config.StateName] says.
//   - The clock stands at 2000-01-01T00:00:00Z, in UTC, and Math.random gives the same sequence in each run: a body does
//     the same each time that its calls do.
//   - console.log, info, warn, error and debug do nothing. eval and Function work; they reach no more than the body does.
//   - A rejection that nobody has handled when the body has ended is an error, also when the body returned something.
//
// A program that uses this package calls [Child] first thing in main, and in TestMain, when [IsChild] says so.
package composite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/firstgood/firstgood/diagnostic"
)

// Defaults of a [Config].
const (
	DefaultMemory = 256 << 20
	DefaultCPU    = 10 * time.Second
)

// Fixed limits.
const (
	MinMemory = 32 << 20 // the least Config.Memory: the child needs some itself
	MaxSource = 1 << 20  // the most bytes of a body
	MaxOutput = 64 << 20 // the most bytes of JSON of the value, of the state, and of all calls in flight together
	MaxCalls  = 1024     // the most calls in flight
)

// Config says what to run.
type Config struct {
	Source string // the body; at most MaxSource bytes
	File   string // the document that the body stands in, for errors
	Line   int    // the line of the document that the body begins on; 0 is 1

	// StateName is the name of the state without its underscores, such as "controlState". Required.
	StateName string
	// State is the state that the body finds, a JSON object; nil is an empty one.
	State json.RawMessage

	// Call answers a call of rlm. It may be called concurrently, and must return soon after its context is done, as
	// it is when the body has ended or the run is cancelled: Run waits for it. The error of a Call is thrown
	// in the body, which may catch it; to end the run whatever the body does, cancel the context of Run. Required.
	Call func(context.Context, Call) (string, error)

	Memory int64         // the most bytes of memory of the child; 0 is DefaultMemory
	CPU    time.Duration // the most processor time of the child, in which waiting does not count; 0 is DefaultCPU

	// Argv is the program to start as the child, with its arguments; nil is this executable, without arguments.
	Argv []string
	// Env is the whole environment of the child, as NAME=value, to which what IsChild asks for is added. Nil is an empty one.
	Env []string

	maxOutput int // MaxOutput, or less in a test
}

// Call is one call of rlm. A key of the options that is not named here is refused in the body.
type Call struct {
	Brief   json.RawMessage // the first argument, "null" when it is absent
	Context json.RawMessage // the second argument, "null" when it is absent
	Use     *string         // the option use, nil when it is absent or null
	Model   *string         // the option model, nil when it is absent or null
	// State is the option compositeState or controlState, the state of a nested instance; nil when it is absent or null.
	State json.RawMessage
	Pos   diagnostic.Pos // where the body calls
}

// Result is what a body left.
type Result struct {
	Value json.RawMessage // what it returned; "null" for nothing and for what JSON cannot say, such as a function
	// State is the state object as the body left it, "null" when it is none any more. With an error that is ErrThrown or
	// ErrNever it is what the body had written until then, nil when that is no JSON; with another error it is nil.
	State json.RawMessage
}

// What ends a run otherwise than by the body's return. The error is then an [*Error].
var (
	ErrSyntax = errors.New("syntax error")
	ErrThrown = errors.New("uncaught error")
	ErrMemory = errors.New("memory limit")
	ErrCPU    = errors.New("processor time limit")
	ErrStack  = errors.New("nesting limit")
	ErrNever  = errors.New("endless wait")
	ErrOutput = errors.New("output limit")
	ErrDied   = errors.New("the composite's process died")
)

// ErrNoChild is wrapped by the error of a program that does not call Child when IsChild says that it is one.
var ErrNoChild = errors.New("the program does not run composites: it must begin with: if composite.IsChild() { os.Exit(composite.Child(os.Stdin, os.Stdout)) }")

// ErrInvalid is wrapped by the error of a Config that cannot be run.
var ErrInvalid = errors.New("invalid composite configuration")

// Error says what ended a body, and where.
type Error struct {
	Pos     diagnostic.Pos // in the document; the beginning of the body when no more is known
	Kind    error          // one of the errors above, ErrSyntax to ErrDied
	Message string
	Err     error // the error of Call that the body let pass, or nil
}

func (e *Error) Error() string { return e.Pos.String() + ": " + e.Message }

// Unwrap returns the kind and the error behind it.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

var identifier = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// complete returns the config with its defaults, or an error that wraps ErrInvalid.
func (c Config) complete() (Config, error) {
	invalid := func(format string, args ...any) (Config, error) {
		return c, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
	}
	if len(c.Source) > MaxSource {
		return invalid("the body has %d bytes, and may have %d", len(c.Source), MaxSource)
	}
	if !identifier.MatchString(c.StateName) {
		return invalid("%q is no name of a state; it is controlState or compositeState", c.StateName)
	}
	if c.Call == nil {
		return invalid("no Call")
	}
	if c.State == nil {
		c.State = json.RawMessage("{}")
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(c.State, &object); err != nil || object == nil {
		return invalid("the state is not a JSON object")
	}
	if c.Memory == 0 {
		c.Memory = DefaultMemory
	}
	if c.Memory < MinMemory {
		return invalid("%d bytes of memory are too few; the least is %d", c.Memory, MinMemory)
	}
	if c.CPU == 0 {
		c.CPU = DefaultCPU
	}
	if c.CPU < 0 || c.Line < 0 {
		return invalid("negative processor time or line")
	}
	if c.Line == 0 {
		c.Line = 1
	}
	if c.maxOutput == 0 {
		c.maxOutput = MaxOutput
	}
	if c.Argv == nil {
		self, err := os.Executable()
		if err != nil {
			return c, fmt.Errorf("find this program: %w", err)
		}
		c.Argv = []string{self}
	}
	return c, nil
}

// spell writes an amount of memory for people.
func spell(bytes int64) string {
	switch {
	case bytes%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}

// firstLine returns the first line of a text that has something in it.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(s)
}
