// Package command makes a delegate of a program: it is run once for each attempt, gets the brief on its stdin or as
// an argument, and what it writes to stdout is the reply. See [process.Run] for how it is run and ended.
package command

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/process"
)

// What a program's stdin is; see [Config].
const (
	StdinBrief = "brief"
	StdinNone  = "none"
)

// IdempotencyVariable is the variable that holds [firstgood.IdempotencyKey] in a program's environment: the same for as
// long as an attempt lasts, however often it runs the program. A program that changes something can use it to do so
// once. Outside an attempt it is not set.
const IdempotencyVariable = "FIRSTGOOD_IDEMPOTENCY_KEY"

// Config says what to run.
type Config struct {
	Name string // of the delegate. Required
	// Argv is the program and its arguments. {brief} in an argument is replaced by the brief's bytes, within that
	// argument and without a shell; {{brief}} stands for {brief} itself. The program itself cannot come from the
	// brief, but a brief that begins with - may be taken for an option: put -- before it where the program knows
	// that, or leave the brief to stdin. A program without a path separator is looked for in this process's PATH, a
	// relative path starts at Dir. Required.
	Argv []string
	// Stdin is [StdinBrief] or [StdinNone]. Empty means StdinNone when {brief} is in Argv, else StdinBrief.
	Stdin string
	// The program's environment is made of the variables of this process that [Harmless] names, those that PassEnv
	// names, and those of Env, which overrule the others, and [IdempotencyVariable]. Nothing else of this process's
	// environment reaches it. A variable of PassEnv that is not set here is not set there. The values are those at the
	// time of [New].
	PassEnv   []string
	Env       map[string]string
	Secrets   []string      // further texts that no error shows; nil means none
	Dir       string        // the working directory, unless the attempt has one of its own (see [In]); "" is this process's
	Grace     time.Duration // from asking the program to end until it is killed; 0 is one second
	MaxOutput int           // the most bytes of stdout; 0 is 10 MiB
	// Output is called for each attempt and returns what makes the reply of the program's stdout. Nil means that the
	// reply is the stdout itself, less one final newline.
	Output func() Output
}

// Delegate runs a program for each attempt. It is safe for concurrent use.
type Delegate struct {
	name    string
	args    []argument
	stdin   bool
	spec    process.Spec // without Argv and Stdin, which come with the brief
	secrets secrets
	output  func() Output

	mu       sync.Mutex
	attempts map[chan struct{}]context.Context // those under way; the channel is closed at their end
}

var (
	_ firstgood.Delegate[firstgood.Reply] = (*Delegate)(nil)
	_ firstgood.Drainer                   = (*Delegate)(nil)
)

// New returns a delegate, or an error that names what is wrong with c. It keeps nothing of c, and does not look
// whether the program exists.
func New(c Config) (*Delegate, error) {
	invalid := func(format string, args ...any) (*Delegate, error) {
		return nil, fmt.Errorf("command %s: "+format, append([]any{c.Name}, args...)...)
	}
	if c.Name == "" {
		return nil, errors.New("command: no name")
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return invalid("argv: no program")
	}
	args, takesBrief := make([]argument, len(c.Argv)), false
	for i, text := range c.Argv {
		if strings.ContainsRune(text, 0) {
			return invalid("argv[%d]: contains a NUL byte", i)
		}
		args[i] = parseArgument(text)
		takesBrief = takesBrief || args[i].takesBrief()
	}
	if args[0].takesBrief() {
		return invalid("argv[0]: the brief cannot choose the program; {{brief}} stands for the word itself")
	}
	if c.Stdin != "" && c.Stdin != StdinBrief && c.Stdin != StdinNone {
		return invalid("stdin: got %q, want %q or %q", c.Stdin, StdinBrief, StdinNone)
	}
	if strings.ContainsRune(c.Dir, 0) {
		return invalid("dir: contains a NUL byte")
	}
	if c.Grace < 0 {
		return invalid("grace: %v is negative", c.Grace)
	}
	if c.MaxOutput < 0 {
		return invalid("max_output: %d is negative", c.MaxOutput)
	}
	for _, name := range slices.Concat(c.PassEnv, slices.Sorted(maps.Keys(c.Env))) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return invalid("env: %q cannot be the name of a variable", name)
		}
		if strings.ContainsRune(c.Env[name], 0) {
			return invalid("env: %s: the value contains a NUL byte", name)
		}
	}
	output := c.Output
	if output == nil {
		output = func() Output { return &text{} }
	}
	environment, secrets := environ(c.PassEnv, c.Env, c.Secrets)
	return &Delegate{
		name:     c.Name,
		args:     args,
		stdin:    c.Stdin == StdinBrief || c.Stdin == "" && !takesBrief,
		spec:     process.Spec{Dir: c.Dir, Env: environment, Grace: c.Grace, MaxOutput: c.MaxOutput},
		secrets:  secrets,
		output:   output,
		attempts: map[chan struct{}]context.Context{},
	}, nil
}

// Name returns the configured name.
func (d *Delegate) Name() string { return d.name }

// Attempt runs the program with the brief, which may be text or a protocol request; its named inputs do not reach
// the program. The reply is what Config.Output makes of the program's stdout, else the stdout less one final newline, and
// what it has cost is not known. The last line of it that says something is noted in the record of the run, when ctx
// carries one; see [firstgood.Scope.Note].
//
// Attempt returns when the program and all of its process group are gone, or, after ctx is done, about a second
// after the grace at the latest. The error then wraps [context.Cause] of ctx. Every other error is a
// *[firstgood.Error] whose Detail is the end of stderr. Its kind is
//
//   - the one that Output gives it;
//   - [firstgood.KindError] when the exit status is not 0, whatever stdout holds, when a signal ended the program,
//     when stdout went beyond MaxOutput, and when it is not UTF-8, since a reply is text;
//   - [firstgood.KindUnavailable] when the program could not be started: it does not exist, cannot be executed,
//     its directory cannot be used, or the system is out of something;
//   - [firstgood.KindContextLength] when the brief is too long for an argument;
//   - [firstgood.KindBadRequest] when the brief contains a NUL byte, or is for a batch file, and is an argument.
//
// Values of the program's environment whose name says that they are secret are blotted out of Reason and Detail
// where they occur word for word, unless they are shorter than four bytes.
func (d *Delegate) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	defer d.enter(ctx)()
	spec, err := d.prepare(brief)
	if err != nil {
		return firstgood.Reply{}, err
	}
	if key := firstgood.IdempotencyKey(ctx); key != "" {
		spec.Env = slices.Concat([]string{IdempotencyVariable + "=" + key}, spec.Env) // what is configured overrules it
	}
	if at, ok := ctx.Value(placeKey{}).(place); ok {
		spec.Dir = at.dir
		spec.Env = slices.Concat(spec.Env, at.env)
	}
	out := &reader{Output: d.output(), scope: firstgood.ScopeOf(ctx), secrets: d.secrets}
	spec.Stdout = out
	result, err := process.Run(ctx, spec)
	return d.collect(brief, out, result, err)
}

// Drain waits until no attempt is left whose context is done, or returns ctx's cause. Attempts that nobody has
// stopped are not waited for.
func (d *Delegate) Drain(ctx context.Context) error {
	for {
		done := d.stopping()
		if done == nil {
			return nil
		}
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// enter notes an attempt until the returned function is called.
func (d *Delegate) enter(ctx context.Context) (leave func()) {
	done := make(chan struct{})
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts[done] = ctx
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.attempts, done)
		close(done)
	}
}

// stopping returns the channel of some attempt that was stopped and has not ended, or nil.
func (d *Delegate) stopping() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	for done, ctx := range d.attempts {
		if ctx.Err() != nil {
			return done
		}
	}
	return nil
}

// prepare says what to run for a brief.
func (d *Delegate) prepare(brief firstgood.Brief) (process.Spec, error) {
	spec, text := d.spec, brief.String()
	spec.Argv = make([]string, len(d.args))
	for i, arg := range d.args {
		if arg.takesBrief() && strings.ContainsRune(text, 0) {
			return spec, &firstgood.Error{
				Kind:   firstgood.KindBadRequest,
				Reason: "the brief contains a NUL byte, which no argument can: leave {brief} out of argv, so that it goes to stdin",
			}
		}
		spec.Argv[i] = arg.with(text)
	}
	if d.briefInArgv() && runtime.GOOS == "windows" && isBatch(spec.Argv[0]) {
		return spec, &firstgood.Error{
			Kind: firstgood.KindBadRequest,
			Reason: spec.Argv[0] + " is a batch file, whose arguments cmd.exe reads as commands: leave {brief} out of " +
				"argv, so that it goes to stdin",
		}
	}
	if d.stdin {
		spec.Stdin = text
	}
	return spec, nil
}

func (d *Delegate) briefInArgv() bool { return slices.ContainsFunc(d.args, argument.takesBrief) }

// isBatch reports whether a program is one that Windows hands to a shell.
func isBatch(program string) bool {
	if path, err := exec.LookPath(program); err == nil {
		program = path
	}
	extension := strings.ToLower(filepath.Ext(program))
	return extension == ".bat" || extension == ".cmd"
}
