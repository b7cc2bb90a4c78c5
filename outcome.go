package firstgood

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Status says how a run ended.
type Status string

// The statuses of a run.
const (
	StatusWon        Status = "won"
	StatusExhausted  Status = "exhausted"   // every delegate failed, or there was none
	StatusStopped    Status = "stopped"     // a fatal verdict or failure
	StatusJudgeError Status = "judge_error" // nobody won, and some reply could not be judged
	StatusTimeout    Status = "timeout"     // the run's own timeout
	StatusCancelled  Status = "cancelled"   // the caller's context
)

// Outcome is how a run ended. It is filled whatever the status is, and does not change afterwards.
type Outcome[R any] struct {
	Status      Status
	Result      R             // the winner's reply; the zero R without a winner. Who gets it closes it
	Winner      string        // the winner's name; "" without one
	WinnerIndex int           // its place in the list, from 0; -1 without one
	WinnerPath  []string      // the winner, then the winner inside it where that is an instance, and so on; not to be changed
	Attempts    int           // see the pattern: starts for a chain, finishes up to the decision for a race
	History     []Failure     // failed and rejected attempts; on success too
	Calls       []Call        // every call known at the decision, losers and judges too, in order of start
	Duration    time.Duration // from the start to the decision
}

// ErrNoWinner is matched by every error that a run without a winner returns.
var ErrNoWinner = errors.New("no winner")

// NoWinnerError is the error of a run without a winner. It matches [ErrNoWinner] and its Cause.
type NoWinnerError struct {
	Name     string    // the instance
	Status   Status    // never StatusWon
	Attempts int       // as in the outcome
	History  []Failure // every failed attempt, in order
	Cause    error     // the caller's cause, or one that matches context.DeadlineExceeded; nil for the other statuses
}

// Error names the instance, the status and each failed delegate with its reason, on one line.
func (e *NoWinnerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: no winner (%s", e.Name, e.Status)
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	b.WriteString(")")
	for i, f := range e.History {
		separator := "; "
		if i == 0 {
			separator = ": "
		}
		reason, cut := Excerpt(strings.Join(strings.Fields(f.Reason), " "), 200)
		if cut {
			reason += "…"
		}
		fmt.Fprintf(&b, "%s%s: %s: %s", separator, f.Delegate, f.Kind, reason)
	}
	return b.String()
}

func (e *NoWinnerError) Unwrap() []error {
	if e.Cause == nil {
		return []error{ErrNoWinner}
	}
	return []error{ErrNoWinner, e.Cause}
}

// kind is what the run without a winner is as a failure in somebody's slot.
func (e *NoWinnerError) kind() Kind {
	switch e.Status {
	case StatusJudgeError:
		return KindJudgeError
	case StatusTimeout:
		return KindTimeout
	}
	return KindExhausted
}
