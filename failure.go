package firstgood

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is the class of a failure. It decides what may happen next, and whose fault it is.
type Kind string

// The kinds of failure.
const (
	KindError         Kind = "error"          // anything not below
	KindTimeout       Kind = "timeout"        // the attempt's deadline, or the delegate says so
	KindRateLimited   Kind = "rate_limited"   // 429, or a 200 whose body is one
	KindUnavailable   Kind = "unavailable"    // no connection, a transport error before a status, 5xx, 529
	KindContextLength Kind = "context_length" // the brief does not fit
	KindAuth          Kind = "auth"           // 401, 403
	KindBadRequest    Kind = "bad_request"    // 400 that no other class claims
	KindRefused       Kind = "refused"        // a content policy forbade the answer
	KindTruncated     Kind = "truncated"      // a stream, body or JSON that stops short
	KindRejected      Kind = "rejected"       // criteria
	KindJudgeError    Kind = "judge_error"    // the judge did not answer
	KindExhausted     Kind = "exhausted"      // a nested instance without a winner
	KindPanic         Kind = "panic"          // the delegate panicked or called runtime.Goexit
	KindNoStart       Kind = "no_start"       // a budget, a cooldown or the deadline kept it from starting
)

// ExcerptUnits is how much of a reply a failure keeps and a judge sees, in UTF-16 code units.
const ExcerptUnits = 2000

// Excerpt returns the first units UTF-16 code units of s, and whether that is less than s. It never cuts a
// character, so it may return one unit less. A byte that is not UTF-8 counts one unit.
func Excerpt(s string, units int) (string, bool) {
	if len(s) <= units {
		return s, false
	}
	used := 0
	for i, r := range s {
		used++
		if r > 0xFFFF {
			used++
		}
		if used > units {
			return s[:i], true
		}
	}
	return s, false
}

// Error is an error that knows what kind of failure it is. Adapters return it; the zero Kind means [KindError].
type Error struct {
	Kind       Kind
	Reason     string        // one line for people; empty takes the wrapped error's message
	Detail     string        // more, such as a stack or the end of a log
	Status     int           // the HTTP status, 0 when there was none
	RetryAfter time.Duration // how long the other side asked to be left alone, 0 when it did not
	Usage      Usage         // what the failed attempt has cost all the same
	Change     Change        // what it has done to files all the same; nil for nothing
	Fatal      bool          // it stops the whole run: nothing else is started and nobody wins
	Err        error         // the wrapped error, may be nil
}

func (e *Error) Error() string {
	switch {
	case e.Reason != "":
		return e.Reason
	case e.Err != nil && e.Err.Error() != "":
		return e.Err.Error()
	case e.Kind != "":
		return string(e.Kind)
	}
	return string(KindError)
}

func (e *Error) Unwrap() error { return e.Err }

// Used returns what the failed attempt has cost; see [Metered].
func (e *Error) Used() Usage { return e.Usage }

// Changed returns Change; see [Changed].
func (e *Error) Changed() Change { return e.Change }

// LostError is the cause with which an attempt's context ends when another delegate has won.
type LostError struct{ Winner string }

func (e *LostError) Error() string { return "lost to " + e.Winner }

// Is makes a lost attempt's cause match [context.Canceled].
func (e *LostError) Is(target error) bool { return target == context.Canceled }

// Failure is one entry of a failure history: why a delegate's attempt did not give the answer.
type Failure struct {
	Delegate string
	Index    int // the delegate's place in its pattern's list, from 0
	Kind     Kind
	Reason   string        // never empty
	Detail   string        // more than the reason holds, or empty
	Status   int           // the HTTP status, or 0
	Reply    string        // the first ExcerptUnits units of a reply that was rejected or could not be judged
	Change   Change        // what the attempt did to files; nil for nothing
	Nested   []Failure     // the history of a nested instance
	Duration time.Duration // from dispatch to the end of the judgement
	Err      error         // the error itself; nil for a rejection
}

func (f Failure) String() string { return fmt.Sprintf("%s: %s: %s", f.Delegate, f.Kind, f.Reason) }

// MarshalJSON writes the entry as it stands in a failure_history: detail, status and nested where there are
// any, reply also where an empty one was rejected, patch (null where all was restored), restored and applied (null) where there is a change, the duration in whole
// milliseconds as duration_ms.
func (f Failure) MarshalJSON() ([]byte, error) {
	entry := struct {
		Delegate   string    `json:"delegate"`
		Index      int       `json:"index"`
		Kind       Kind      `json:"kind"`
		Reason     string    `json:"reason"`
		Detail     string    `json:"detail,omitempty"`
		Status     int       `json:"status,omitempty"`
		Reply      *string   `json:"reply,omitempty"`
		Patch      any       `json:"patch,omitempty"`
		Restored   *[]string `json:"restored,omitempty"`
		Applied    any       `json:"applied,omitempty"`
		Nested     []Failure `json:"nested,omitempty"`
		DurationMS int64     `json:"duration_ms"`
	}{f.Delegate, f.Index, f.Kind, f.Reason, f.Detail, f.Status, nil, nil, nil, nil, f.Nested, f.Duration.Milliseconds()}
	if f.Change != nil {
		diff, restored := f.Change.Diff(), f.Change.Restored()
		if len(diff) > 0 {
			entry.Patch = valid(string(diff))
		}
		if len(diff)+len(restored) > 0 {
			restored = append([]string{}, restored...)
			entry.Restored, entry.Applied = &restored, nothing{}
			if entry.Patch == nil {
				entry.Patch = nothing{}
			}
		}
	}
	if f.Reply != "" || f.Kind == KindRejected {
		entry.Reply = &f.Reply
	}
	return json.Marshal(entry)
}

// nothing is null in JSON: what has become of the change of a failed attempt.
type nothing struct{}

func (nothing) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// FailureOf describes err as the failure of the delegate at index. The kind is that of an *[Error] in err's
// chain; [KindExhausted], or the nested status where it says more, for a *[NoWinnerError]; [KindTimeout] for
// what matches [context.DeadlineExceeded] or has a method Timeout() bool that says so; else [KindError]. An
// error with an empty message gets a reason that names its type.
func FailureOf(delegate string, index int, err error) (f Failure) {
	f = Failure{Delegate: delegate, Index: index, Kind: KindError, Reason: valid(err.Error()), Err: err}
	switch e := err.(type) {
	case *Error:
		f.class(e)
	case interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ Is(error) bool }, interface{ As(any) bool }, interface{ Timeout() bool }:
		f.look(err)
	}
	if strings.TrimSpace(f.Reason) == "" {
		f.Reason = nameless(err)
	}
	return f
}

func nameless(err error) string { return fmt.Sprintf("an error without a message (%T)", err) }

func (f *Failure) class(e *Error) {
	if e.Kind != "" {
		f.Kind = e.Kind
	}
	f.Detail, f.Status, f.Change = e.Detail, e.Status, e.Change
}

// look finds in the chain of err what its own type does not say.
func (f *Failure) look(err error) {
	classed, isClassed := errors.AsType[*Error](err)
	nested, isNested := errors.AsType[*NoWinnerError](err)
	if isNested {
		f.Nested = nested.History
	}
	switch {
	case isClassed:
		f.class(classed)
	case isNested:
		f.Kind = nested.kind()
	case errors.Is(err, context.DeadlineExceeded), timedOut(err):
		f.Kind = KindTimeout
	}
}

func timedOut(err error) bool {
	timeout, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && timeout.Timeout()
}

// TextOf returns a reply of any type as text: a string as it is, bytes, what has a String or Error method,
// everything else as JSON, or as fmt prints it where it has no JSON form. Bytes that are not UTF-8 are replaced.
func TextOf(reply any) string {
	var text string
	switch reply := reply.(type) {
	case nil:
		return "null"
	case string:
		text = reply
	case []byte:
		text = string(reply)
	case fmt.Stringer:
		text = reply.String()
	case error:
		text = reply.Error()
	default:
		if data, err := json.Marshal(reply); err == nil {
			text = string(data)
		} else {
			text = fmt.Sprint(reply)
		}
	}
	return valid(text)
}

// valid returns s with what is not UTF-8 replaced.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
