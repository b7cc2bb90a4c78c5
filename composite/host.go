package composite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/firstgood/firstgood/process"
)

// maxLine bounds a line of the child: a value and a state, or a call, and what is around them.
const maxLine = 2*MaxOutput + 1<<20

// keptErrors is how many errors of calls are remembered, in case the body lets one pass.
const keptErrors = 1024

// Run runs a body and returns what it left. When Run returns, the child is gone and all calls have returned.
//
// The calls that are in flight when the body ends are cancelled, with a cause that says so. When ctx is done first,
// the error wraps [process.ErrStopped] and [context.Cause] of ctx. Everything else that ends a body is an [*Error];
// a config that cannot be run wraps [ErrInvalid], a program that is no child [ErrNoChild]; and a child that could not
// be started gives the error of [process.Run].
//
// Run is safe for concurrent use. Memory in this process is bounded by about four times [MaxOutput] and what Call uses.
func Run(ctx context.Context, config Config) (Result, error) {
	config, err := config.complete()
	if err != nil {
		return Result{}, err
	}
	if IsChild() {
		return Result{}, fmt.Errorf("run a composite in the child of one: %w", ErrNoChild) // or it would start children without end
	}
	calls, cancel := context.WithCancelCause(ctx)
	h := &host{Config: config, calls: calls, errs: map[int]error{}}
	ended, err := process.Talk(ctx, process.Spec{
		Argv:   config.Argv,
		Env:    append(slices.Clone(config.Env), childEnv+"=1"),
		Grace:  100 * time.Millisecond,
		Linger: 2 * time.Second,
		// What Go says when it runs out of memory or stack begins with the reason.
		StderrTail: 64 << 10,
	}, h.talk)
	cancel(errEnded)
	h.running.Wait()
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("run the composite of %s: %w", h.where(), err)
	case h.end != nil:
		return h.result()
	case !h.ready:
		return Result{}, fmt.Errorf("run the composite of %s: %s (%s): %w", h.where(), config.Argv[0], ended.Status(), ErrNoChild)
	}
	return Result{}, h.died(ended)
}

// errEnded is the cause of the cancellation of calls that are in flight when the body has ended.
var errEnded = errors.New("the composite has ended")

// host is the parent's side of a run.
type host struct {
	Config
	calls   context.Context
	running sync.WaitGroup // the calls in flight

	ready bool // set by talk, read after it
	end   *end

	mu    sync.Mutex // around writing to the child, and errs
	errs  map[int]error
	stdin io.Writer
}

func (h *host) where() string { return place{}.pos(h.File, h.Line).String() }

// talk speaks with the child; see protocol.go. When one of them fails to, how the child ended says why.
func (h *host) talk(stdin io.Writer, stdout io.Reader) error {
	h.stdin = stdin
	if h.write(start{h.Source, h.StateName, h.State, h.Memory, int64(h.CPU), h.maxOutput}) == nil {
		h.listen(stdout)
	}
	return nil
}

// listen starts the calls, until the end.
func (h *host) listen(stdout io.Reader) {
	lines := bufio.NewScanner(stdout)
	lines.Buffer(nil, maxLine)
	for h.end == nil && lines.Scan() {
		var line said
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Ready == h.ready {
			return // it is no child
		}
		h.ready = true
		if line.Call != nil {
			h.running.Go(func() { h.call(*line.Call) })
		}
		h.end = line.End
	}
}

// write sends a line. A child that no longer reads is noticed where its lines are read.
func (h *host) write(line any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return encode(h.stdin, line)
}

func encode(w io.Writer, line any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // it would rewrite the JSON of the body
	return encoder.Encode(line)
}

// call answers one call.
func (h *host) call(c call) {
	text, err := h.Call(h.calls, Call{c.Brief, c.Context, c.Use, c.Model, c.State, c.At.pos(h.File, h.Line)})
	if err == nil {
		_ = h.write(reply{ID: c.ID, Text: text})
		return
	}
	h.mu.Lock()
	h.errs[c.ID] = err
	delete(h.errs, c.ID-keptErrors)
	h.mu.Unlock()
	_ = h.write(reply{ID: c.ID, Error: err.Error(), Fails: true})
}

// result is what the child said at the end.
func (h *host) result() (Result, error) {
	result := Result{h.end.Value, h.end.State}
	f := h.end.Fails
	if f == nil {
		return result, nil
	}
	kind := kinds[f.Kind]
	if kind == nil {
		kind = ErrDied
	}
	return result, &Error{Pos: f.At.pos(h.File, h.Line), Kind: kind, Message: f.Message, Err: h.errs[f.Call]}
}

// died says why a child ended without saying why.
func (h *host) died(ended process.Result) error {
	fail := func(kind error, format string, args ...any) error {
		return &Error{Pos: place{}.pos(h.File, h.Line), Kind: kind, Message: fmt.Sprintf(format, args...)}
	}
	stderr := string(ended.Stderr)
	says := func(text string) bool { return strings.Contains(stderr, text) }
	switch {
	case ended.ExitCode == exitMemory, says("out of memory"), says("cannot allocate memory"),
		says("failed to allocate"), says("address space collisions"): // the last two are the race detector's words
		return fail(ErrMemory, "%s", overMemory(h.Memory))
	case ended.ExitCode == exitCPU, ended.Signal == "SIGXCPU":
		return fail(ErrCPU, "%s", overCPU(h.CPU))
	case says("stack overflow"):
		return fail(ErrStack, "the composite nests too deep")
	case stderr != "":
		return fail(ErrDied, "the composite's process ended early: %s: %s", ended.Status(), firstLine(stderr))
	}
	return fail(ErrDied, "the composite's process ended early: %s", ended.Status())
}

func overMemory(limit int64) string {
	return fmt.Sprintf("the composite used more than %s of memory", spell(limit))
}

func overCPU(limit time.Duration) string {
	return fmt.Sprintf("the composite used more than %s of processor time", limit)
}
