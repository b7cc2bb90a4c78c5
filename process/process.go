// Package process runs one program, and everything that it starts, safely: without a shell, in bounded memory, in
// bounded time once it shall stop, and so that nothing of it is left.
//
// The program runs as the leader of a process group of its own (on Windows: in a job object). A group is ended by
// asking it (SIGTERM; on Windows CTRL_BREAK), waiting for the grace, and killing it (SIGKILL; on Windows the job is
// terminated). On Unix the group is also a session of its own: a terminal's ^C does not reach it, and what asks at
// the terminal for a password fails at once instead of being stopped for ever. What leaves the group on Unix, by
// setsid or setpgid, is out of reach: it is neither waited for nor killed.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Defaults of a [Spec].
const (
	DefaultGrace      = time.Second
	DefaultLinger     = 500 * time.Millisecond
	DefaultMaxOutput  = 10 << 20
	DefaultStderrTail = 8 << 10
)

// killWait bounds the wait for a killed group to be gone.
const killWait = time.Second

// ErrStopped is matched, beside the context's cause, by the error of a run whose context was done.
var ErrStopped = errors.New("stopped")

// Errors of a program that could not be started. The error that [Run] returns names the program or directory.
var (
	ErrNotFound      = errors.New("program not found")
	ErrNotExecutable = errors.New("program cannot be executed")
	ErrDir           = errors.New("working directory cannot be used")
	ErrTooLong       = errors.New("arguments and environment are too long for the system")
	ErrInvalid       = errors.New("invalid process specification")
)

// OutputLimitError is the error of a run that was ended because stdout went beyond Spec.MaxOutput.
type OutputLimitError struct{ Limit int }

func (e *OutputLimitError) Error() string {
	return fmt.Sprintf("more than %d bytes on stdout", e.Limit)
}

// Spec says what to run.
type Spec struct {
	// Argv is the program and its arguments, each passed as it is. A program without a path separator is looked
	// for in this process's PATH; a relative path starts at Dir. A script needs a #! line of its own. Required.
	Argv []string
	Dir  string   // the working directory; "" is this process's
	Env  []string // the whole environment, as NAME=value, the last of a name counts; nil is an empty one
	// Stdin is what the program may read, all or none of it. When it is empty, stdin is the null device.
	Stdin string
	// Grace is the time from asking the group to end until it is killed. 0 is DefaultGrace.
	Grace time.Duration
	// Linger is the time that the output gets to end after the program has exited while others that it started
	// still hold it open. 0 is DefaultLinger.
	Linger time.Duration
	// Stdout, when not nil, is written what the program writes, in pieces as they come and at most MaxOutput bytes;
	// [Result].Stdout then stays nil. It is written by one goroutine at a time and not after [Run] has returned, must not
	// keep a piece, and should return fast. After an error of it the program writes to nobody.
	Stdout     io.Writer
	MaxOutput  int // the most bytes of stdout; 0 is DefaultMaxOutput
	StderrTail int // how many bytes of the end of stderr are kept; 0 is DefaultStderrTail
}

// Result is what is known of a program that ran.
type Result struct {
	Stdout    []byte // at most Spec.MaxOutput; nil with a Spec.Stdout
	Stderr    []byte // the end of stderr, at most Spec.StderrTail
	StderrCut bool   // Stderr is not all of it; it may begin inside a character
	ExitCode  int    // -1 when a signal ended the program, or when its end is not known
	Signal    string // the signal that ended the program, such as "SIGKILL", or empty
	// Left is true when something of the group was still there a second after it was killed, such as what runs
	// with another user's rights.
	Left bool
}

// Status says how the program ended: "exit status 3", "killed by SIGSEGV".
func (r Result) Status() string {
	switch {
	case r.Signal != "":
		return "killed by " + r.Signal
	case r.ExitCode < 0:
		return "exit status unknown"
	}
	return fmt.Sprintf("exit status %d", r.ExitCode)
}

// Run runs a program until it and its group are gone. The error is nil when the program has exited by itself,
// whatever its exit status is; see [Result].
//
// When the program exits, its output gets Spec.Linger to end, in case others still write to it. What is left of
// the group then is ended too, asked first, so a program cannot leave anything running by means of its group. The
// output is what was written until then.
//
// When ctx is done first, or stdout goes beyond the limit, the group is ended. Run returns at the latest about a
// second after the grace, even when a process outside the group holds the output open, or one of the group cannot
// be killed. The error then wraps [ErrStopped] and [context.Cause] of ctx, or is an [*OutputLimitError]; the result
// holds the output so far.
//
// A program that could not be started gives an error that wraps [ErrNotFound], [ErrNotExecutable] (which includes
// a script whose interpreter is missing), [ErrDir], [ErrTooLong], [ErrInvalid], or the system's own.
//
// A program that does not read its stdin is not an error. Memory is bounded by about three times MaxOutput, and hardly
// any is needed with a Stdout.
//
// When this process is killed, Linux sends the program a SIGTERM, Windows kills the job, and other systems do
// nothing: they leave the program to notice that its pipes are broken.
//
// Run is safe for concurrent use.
func Run(ctx context.Context, spec Spec) (Result, error) {
	notRun := Result{ExitCode: -1}
	spec, err := spec.complete()
	if err != nil {
		return notRun, err
	}
	if ctx.Err() != nil {
		return notRun, stopped(ctx)
	}
	p, err := start(spec, nil)
	if err != nil {
		return notRun, err
	}
	enter(&p.group)
	defer leave(&p.group)
	select {
	case <-p.exited:
	case <-ctx.Done():
	case <-p.stdout.full:
	}
	complete := isClosed(p.exited) && p.linger(ctx, spec.Linger)
	var failure error
	switch {
	case ctx.Err() != nil && !complete:
		failure = stopped(ctx)
	case isClosed(p.stdout.full):
		failure = &OutputLimitError{spec.MaxOutput}
	}
	left := p.end(spec.Grace)
	result, err := p.result()
	result.Left = left
	if failure == nil {
		failure = err
	}
	return result, failure
}

func stopped(ctx context.Context) error {
	return fmt.Errorf("%w: %w", ErrStopped, context.Cause(ctx))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// complete returns the specification with its defaults, or an error that wraps ErrInvalid. Values are not quoted:
// they may be secret.
func (s Spec) complete() (Spec, error) {
	invalid := func(format string, args ...any) (Spec, error) {
		return s, fmt.Errorf("%w: "+format, append([]any{ErrInvalid}, args...)...)
	}
	hasNUL := func(s string) bool { return strings.ContainsRune(s, 0) }
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return invalid("no program")
	}
	if i := slices.IndexFunc(s.Argv, hasNUL); i >= 0 {
		return invalid("argument %d contains a NUL byte", i)
	}
	if hasNUL(s.Dir) {
		return invalid("the working directory contains a NUL byte")
	}
	for i, entry := range s.Env {
		name, _, found := strings.Cut(entry, "=")
		if !found || name == "" || hasNUL(entry) {
			return invalid("environment entry %d is not NAME=value without a NUL byte", i)
		}
	}
	if s.Grace < 0 || s.Linger < 0 || s.MaxOutput < 0 || s.StderrTail < 0 {
		return invalid("negative grace, linger, output limit or stderr tail")
	}
	if s.Grace == 0 {
		s.Grace = DefaultGrace
	}
	if s.Linger == 0 {
		s.Linger = DefaultLinger
	}
	if s.MaxOutput == 0 {
		s.MaxOutput = DefaultMaxOutput
	}
	if s.StderrTail == 0 {
		s.StderrTail = DefaultStderrTail
	}
	return s, nil
}
