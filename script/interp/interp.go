// Package interp runs ProseScript.
//
// A program is compiled once, into functions over a frame of slots, and may be run often. What it calls, asks and warns of
// is its host's. Branches run as plans of package pattern.
package interp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

// Config is what a script runs with.
type Config struct {
	Program *check.Program
	Host    Host

	// MaxParallel is how many branches of one parallel are in flight at most; 0: all.
	MaxParallel int
	// Backoff is what a call with backoff waits before its first retry: linear adds as much for each further one,
	// exponential doubles it, and neither waits more than 64 times as much. 0: one second.
	Backoff time.Duration
}

// Limits of what one run does.
const (
	MaxDepth    = 1000    // how deep blocks may call each other
	MaxBranches = 100_000 // how many branches may be open at once, those of parallels in branches included
)

// Script is a program that is ready to run. It is safe for concurrent use.
type Script struct {
	cfg    Config
	size   int // of the frame
	body   stmt
	blocks map[string]*block
	briefs []int // the inputs that may be the run's brief, the first one first
	live   live
}

// New compiles a program.
func New(cfg Config) (*Script, error) {
	switch {
	case cfg.Program == nil:
		return nil, errors.New("interp: there is no program")
	case cfg.Host == nil:
		return nil, errors.New("interp: there is no host")
	case cfg.MaxParallel < 0:
		return nil, errors.New("interp: MaxParallel is negative")
	case cfg.Backoff < 0:
		return nil, errors.New("interp: Backoff is negative")
	}
	if cfg.Backoff == 0 {
		cfg.Backoff = time.Second
	}
	s := &Script{cfg: cfg, blocks: map[string]*block{}}
	for _, name := range briefs {
		for i, in := range cfg.Program.Env.Inputs {
			if in.Name == name {
				s.briefs = append(s.briefs, i)
			}
		}
	}
	s.compile()
	return s, nil
}

// briefs are the inputs that are a brief by themselves, the first one first.
var briefs = [...]string{"task_brief", "brief", "input", "task"}

// Run runs the script and returns what it returns; see [FromGo] for what inputs may be. Inputs are copied; one that is
// missing is null where it is optional, and otherwise an error before anything runs, as is one that the program does not
// have. An error that nothing in the script catches ends the run, as an [*Error] with its place. When ctx is done the run
// starts nothing more and ends with an error that matches ctx's cause.
//
// Run does not wait for branches that have lost; see [Script.Drain].
func (s *Script) Run(ctx context.Context, inputs map[string]any) (Value, error) {
	r := &run{s: s}
	frame := make([]Value, s.size)
	if err := s.bind(frame, inputs); err != nil {
		return Value{}, err
	}
	r.inputs = append([]Value(nil), frame[:len(s.cfg.Program.Env.Inputs)]...)
	t := &thread{ctx: ctx, s: s, run: r, frame: frame, top: frame, started: new(atomic.Int64)}
	if ctx.Err() != nil {
		return Value{}, context.Cause(ctx)
	}
	return t.result(s.body(t))
}

func (s *Script) bind(frame []Value, inputs map[string]any) error {
	p := s.cfg.Program
	used := 0
	for i := range p.Env.Inputs {
		in := &p.Env.Inputs[i]
		x, given := inputs[in.Name]
		if !given {
			if !in.Optional {
				return fmt.Errorf("the input %s is missing", in.Name)
			}
			continue
		}
		used++
		v, err := FromGo(x)
		if err != nil {
			return fmt.Errorf("the input %s: %w", in.Name, err)
		}
		frame[i] = v
	}
	if used < len(inputs) {
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			if !s.hasInput(name) {
				return fmt.Errorf("there is no input %s", name)
			}
		}
	}
	if p.Config >= 0 {
		var fields []Field
		for i, in := range p.Env.Inputs {
			if in.Kind == check.InputConfig {
				fields = append(fields, Field{in.Name, frame[i]})
			}
		}
		v, err := newObject(fields)
		if err != nil {
			return fmt.Errorf("the config: %w", err)
		}
		frame[p.Config] = v
	}
	return nil
}

func (s *Script) hasInput(name string) bool {
	for _, in := range s.cfg.Program.Env.Inputs {
		if in.Name == name {
			return true
		}
	}
	return false
}

// Drain waits until every branch that has lost has returned, or until ctx is done, and then returns ctx's cause. It is
// meant for shutdown, after the last run.
func (s *Script) Drain(ctx context.Context) error { return s.live.wait(ctx) }

// run is one run of a script.
type run struct {
	s      *Script
	inputs []Value      // as they were given
	open   atomic.Int64 // branches of parallels that have not joined

	mu     sync.Mutex
	warned map[syntax.Pos]bool
}

func (t *thread) warn(pos syntax.Pos, format string, args ...any) {
	r := t.run
	r.mu.Lock()
	told := r.warned[pos]
	if !told {
		if r.warned == nil {
			r.warned = map[syntax.Pos]bool{}
		}
		r.warned[pos] = true
	}
	r.mu.Unlock()
	if !told {
		t.s.cfg.Host.Warn(diagnostic.Problem{Pos: pos, Severity: diagnostic.SeverityWarning, Message: fmt.Sprintf(format, args...)})
	}
}

// brief is the run's brief, and whether there is one.
func (t *thread) brief() (firstgood.Brief, bool) {
	for _, i := range t.s.briefs {
		if v := t.run.inputs[i]; !v.IsNull() {
			return firstgood.Text(v.String()), true
		}
	}
	return firstgood.Brief{}, false
}

// thread is what runs statements one after another: the run itself, or a branch.
type thread struct {
	ctx     context.Context
	s       *Script
	run     *run
	frame   []Value
	top     []Value       // the frame of the script's own body, as far as this thread sees it
	started *atomic.Int64 // calls in this body
	depth   int           // of blocks

	ret    Value  // of a return
	val    Value  // of a body that ended
	err    error  // of what failed
	reason string // what the judge said last about criteria that held

	ticks  uint32
	sent   sent
	viewed string // the text whose JSON view was asked for last
	view   Value
	isView bool
}

// flow says how a statement ended.
type flow uint8

const (
	next      flow = iota
	continued      // on to the next iteration
	broke          // out of the loop
	returned       // with t.ret
	failed         // with t.err
)

type (
	stmt func(*thread) flow
	expr func(*thread) (Value, error)
	test func(*thread) (bool, error)
)

// fail ends a statement with an error.
func (t *thread) fail(err error) flow {
	t.err = err
	return failed
}

// result is the value of a body that has ended.
func (t *thread) result(f flow) (Value, error) {
	switch f {
	case failed:
		err := t.err
		t.err = nil
		return Value{}, err
	case returned:
		v := t.ret
		t.ret = Value{}
		v.initial = false
		return v, nil
	case next:
		v := t.val
		t.val = Value{}
		v.initial = false
		return v, nil
	}
	return Value{}, nil
}

// alive is asked on each turn of a loop, and looks now and then whether the run has been stopped.
func (t *thread) alive(pos syntax.Pos) error {
	t.ticks++
	if t.ticks%64 == 0 {
		return t.stopped(pos)
	}
	return nil
}

func (t *thread) stopped(pos syntax.Pos) error {
	if t.ctx.Err() != nil {
		return &Error{Pos: pos, Err: context.Cause(t.ctx)}
	}
	return nil
}

// stops reports whether nothing may catch err.
func (t *thread) stops(err error) bool { return t.ctx.Err() != nil || Stops(err) }
