package interp

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/syntax"
)

// Host does what a script cannot do by itself. Its methods may be called from several goroutines at once, and by branches
// that have lost also after the run has returned; they should return soon after ctx is done. The context carries what that
// of the run does: branches do not show in it. Each call should be an attempt of its own, with a key of its own.
type Host interface {
	// Call gives a brief to a delegate and returns its reply as a value. An error is one of the delegate's, which the
	// script may catch, unless it stops the run; see [Stops].
	Call(ctx context.Context, call Call) (Value, error)
	// Criteria asks the judge whether a value meets criteria. It is not called when those are null or empty. An error means
	// that nobody could judge.
	Criteria(ctx context.Context, c Criterion) (Verdict, error)
	// Decide asks the judge whether a sentence holds. An error means that nobody could judge.
	Decide(ctx context.Context, q Question) (bool, error)
	// Warn is told what should be known of a run that goes on, once for each place.
	Warn(p diagnostic.Problem)
}

// Call is a call that a script makes.
type Call struct {
	Pos      syntax.Pos
	Target   string          // as it is written: a slot, a variable, an instance or a function
	Delegate *Reference      // the delegate that a slot or a variable holds; nil where Target is an instance or a function; not to be changed
	Brief    firstgood.Brief // its inputs are those of the call, by name
	Prompt   string          // what the call says beside its inputs; the brief begins with it; "" for nothing
	Model    string          // which model is to be asked; "" for the delegate's own
	Retry    int             // how often it has been tried before, from 0
}

// Criterion is what a judge of criteria is asked.
type Criterion struct {
	Pos      syntax.Pos
	Input    string // the name of the input that holds the criteria
	Criteria Value  // the criteria, a text as a rule
	Value    Value  // what is weighed
	Form     Form
	Brief    firstgood.Brief // the run's: the first of its inputs task_brief, brief, input and task that has a value
}

// Form says what criteria are about.
type Form string

// The forms.
const (
	FormFailure    Form = "failure"    // the criteria describe what is bad
	FormAcceptable Form = "acceptable" // the criteria describe what is good
)

// Verdict is a judge's answer: whether the value is a failure, or acceptable, as it was asked, and why.
type Verdict struct {
	Holds  bool
	Reason string
}

// Question is what a judge is asked where the script leaves something to discretion.
type Question struct {
	Pos    syntax.Pos
	Text   string  // the condition, as it is written
	Values []Field // the values that it names
}

// Error is an error with its place in the script.
type Error struct {
	Pos      syntax.Pos
	Delegate string // who it came from, "" for nobody
	Err      error
}

// Error returns the place, the delegate and the message.
func (e *Error) Error() string {
	if e.Delegate != "" {
		return fmt.Sprintf("%v: %s: %v", e.Pos, e.Delegate, e.Err)
	}
	return fmt.Sprintf("%v: %v", e.Pos, e.Err)
}

// Unwrap returns the error itself.
func (e *Error) Unwrap() error { return e.Err }

// Stops reports whether an error ends a run, so that no script catches it: it says so, as a spent budget does
// ([firstgood.Error.Fatal]), or it is that of an instance whose own run was stopped. That the run was cancelled, which
// ends it as well, is for its context to say.
func Stops(err error) bool {
	if e, ok := errors.AsType[*firstgood.Error](err); ok && e.Fatal {
		return true
	}
	nested, ok := errors.AsType[*firstgood.NoWinnerError](err)
	return ok && nested.Status == firstgood.StatusStopped
}

// failf returns an error of the script itself.
func failf(pos syntax.Pos, format string, args ...any) error {
	return &Error{Pos: pos, Err: &firstgood.Error{Kind: firstgood.KindError, Reason: fmt.Sprintf(format, args...)}}
}

// placed gives an error its place, unless it has one.
func placed(pos syntax.Pos, err error) error {
	if _, ok := err.(*Error); ok || err == nil {
		return err
	}
	return &Error{Pos: pos, Err: err}
}

// caught returns an error as the value of a catch.
func caught(err error) Value {
	e, ok := err.(*Error)
	if !ok {
		return errorValue(err, "")
	}
	v := errorValue(e.Err, e.Delegate)
	v.ref.(*failure).err = e
	return v
}
