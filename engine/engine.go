// Package engine makes runs of a file: it binds names to delegates of every kind, puts the patterns on them, runs
// one and keeps its record.
package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/pattern"
)

// Config is what an engine is made from. The zero Config is useful.
type Config struct {
	// Lookup finds a variable of the environment, as [os.LookupEnv] does, which it is when nil.
	Lookup func(string) (string, bool)
	// Environ is the environment of commands that weigh replies, as NAME=value; nil is this process's.
	Environ []string
	// HTTPClient serves every delegate that speaks HTTP. Nil gives each delegate a client of its own.
	HTTPClient *http.Client
}

// Engine binds what a file names. It builds each delegate and instance once. It is not safe for concurrent use;
// the [Bound] that it returns is.
type Engine struct {
	lookup    func(string) (string, bool)
	environ   []string
	client    *http.Client
	delegates map[*config.Delegate]firstgood.Delegate[firstgood.Reply]
	instances map[*config.Instance]runner
	unusable  map[*config.Delegate]config.Problem
	read      []string // what the variables hold that the delegate or rule being built has read
}

// New returns an engine.
func New(cfg Config) *Engine {
	e := &Engine{
		lookup: cfg.Lookup, environ: cfg.Environ, client: cfg.HTTPClient,
		delegates: map[*config.Delegate]firstgood.Delegate[firstgood.Reply]{},
		instances: map[*config.Instance]runner{},
		unusable:  map[*config.Delegate]config.Problem{},
	}
	if e.lookup == nil {
		e.lookup = os.LookupEnv
	}
	if e.environ == nil {
		e.environ = os.Environ()
	}
	return e
}

// runner is an instance of any pattern whose result is one reply.
type runner interface {
	firstgood.Delegate[firstgood.Reply]
	firstgood.Drainer
	Run(context.Context, firstgood.Brief) (firstgood.Outcome[firstgood.Reply], error)
	Nests() bool
}

// Bound is a delegate or an instance of a file that is ready to run, any number of times and at the same time.
type Bound struct {
	// Plan is what a run may do, for people.
	Plan *Plan
	// Warnings are about delegates that cannot start here, such as for want of a key; a run passes over them as
	// over any other failure.
	Warnings config.Problems

	name    string
	pattern string // "" for a delegate that is run by its name
	grace   time.Duration
	run     runner
}

// Bind makes what ref names ready to run. A delegate runs as a chain of one. Timeout, when not 0, takes the place of
// the run's own. The error is [config.Problems] when no delegate of the run could start, or when a judge could
// not: variables of the environment and keys matter only where a run reaches.
func (e *Engine) Bind(ref config.Ref, timeout time.Duration) (*Bound, error) {
	b := &Bound{name: ref.Name}
	in := ref.Instance
	if in == nil {
		in = alone(ref)
	} else {
		b.pattern = in.Pattern
	}
	if timeout > 0 {
		limited := *in
		limited.Config.Timeout = timeout
		in = &limited
	}
	b.Plan = planOf(config.Ref{Name: ref.Name, Instance: in})
	if ref.Delegate != nil {
		b.Plan.Pattern = ""
	}
	var err error
	if b.run, err = e.instance(in); err != nil {
		return nil, err
	}
	members, judges := reach(in)
	usable := false
	var judgeless config.Problems
	for _, d := range members {
		b.grace = max(b.grace, graceOf(d))
		if problem, ok := e.unusable[d]; ok {
			b.Warnings = append(b.Warnings, problem)
		} else {
			usable = true
		}
	}
	for _, d := range judges {
		b.grace = max(b.grace, graceOf(d))
		if problem, ok := e.unusable[d]; ok {
			judgeless = append(judgeless, problem)
		}
	}
	switch {
	case len(judgeless) > 0:
		return nil, judgeless
	case !usable && len(members) > 0:
		return nil, b.Warnings
	}
	for i := range b.Warnings {
		b.Warnings[i].Severity = config.SeverityWarning
	}
	return b, nil
}

// alone returns the chain of one as which a delegate runs by its name.
func alone(ref config.Ref) *config.Instance {
	return &config.Instance{Name: ref.Name, Pos: ref.Pos, Pattern: pattern.FallbackChainName,
		Slots: []config.Slot{{Name: "chain", List: true, Members: []config.Ref{ref}}}}
}

// reach returns the delegates that may attempt something in a run of in, and those that may judge.
func reach(in *config.Instance) (members, judges []*config.Delegate) {
	seen := map[*config.Delegate]bool{}
	for _, slot := range in.Slots {
		for _, ref := range slot.Members {
			inner, innerJudges := []*config.Delegate{ref.Delegate}, []*config.Delegate(nil)
			if ref.Instance != nil {
				inner, innerJudges = reach(ref.Instance)
			}
			members, judges = append(members, inner...), append(judges, innerJudges...)
		}
	}
	for _, d := range members {
		seen[d] = true
	}
	for _, d := range in.Reach() {
		if !seen[d] {
			judges = append(judges, d)
		}
	}
	return members, judges
}

// Grace is how long a delegate of the run may take at most to end once it is told to.
func (b *Bound) Grace() time.Duration { return b.grace }

// Drain waits until nothing of a run is at work any more, or until ctx is done, and then returns its cause.
func (b *Bound) Drain(ctx context.Context) error { return b.run.Drain(ctx) }

// Run gives the brief to what is bound and returns when that is decided. It never waits for losers; see
// [Bound.Drain]. Watch, when not nil, is told of each call as it changes, as [firstgood.NewRecord] says, also after
// Run has returned. The result is never nil, and holds the error of a run without a winner.
func (b *Bound) Run(ctx context.Context, brief firstgood.Brief, watch func(firstgood.Call)) *Result {
	record := firstgood.NewRecord(time.Now(), watch)
	out, err := b.run.Run(firstgood.WithRecord(ctx, record), brief)
	return &Result{ID: rand.Text(), Name: b.name, Pattern: b.pattern, Outcome: out, Err: err}
}

// instance builds an instance.
func (e *Engine) instance(in *config.Instance) (runner, error) {
	if built, ok := e.instances[in]; ok {
		return built, nil
	}
	cfg := pattern.Config[firstgood.Reply]{Name: in.Name, Timeout: in.Config.Timeout}
	for _, slot := range in.Slots {
		for _, ref := range slot.Members {
			d, err := e.bind(ref)
			if err != nil {
				return nil, err
			}
			cfg.Delegates = append(cfg.Delegates, d)
		}
	}
	var err error
	if cfg.Criteria, err = e.criteria(in); err != nil {
		return nil, err
	}
	var built runner
	switch in.Pattern {
	case pattern.FallbackChainName:
		built, err = pattern.NewFallbackChain(cfg)
	case pattern.RaceName:
		cfg.Listed, cfg.StartAfter, cfg.MaxParallel = in.Config.Order == "listed", in.Config.StartAfter, in.Config.MaxParallel
		built, err = pattern.NewRace(cfg)
	case pattern.RetryWithLearningName:
		cfg.MaxAttempts = in.Config.MaxRetries
		built, err = pattern.NewRetryWithLearning(cfg)
	case pattern.FanOutName:
		cfg.MaxParallel = in.Config.Width
		built, err = newListing(cfg)
	default:
		err = fmt.Errorf("%s: there is no pattern %q", in.Name, in.Pattern)
	}
	if err != nil {
		return nil, err
	}
	e.instances[in] = built
	return built, nil
}

// bind builds what a ref names.
func (e *Engine) bind(ref config.Ref) (firstgood.Delegate[firstgood.Reply], error) {
	if ref.Instance != nil {
		return e.instance(ref.Instance)
	}
	if built, ok := e.delegates[ref.Delegate]; ok {
		return built, nil
	}
	built, err := e.delegate(ref.Delegate)
	var unable *unable
	if errors.As(err, &unable) {
		e.unusable[ref.Delegate] = unable.problem
		built, err = firstgood.Func(ref.Delegate.Name, unable.attempt), nil
	}
	if err != nil {
		return nil, err
	}
	if ref.Delegate.Timeout > 0 {
		built = firstgood.Within(ref.Delegate.Timeout, built)
	}
	e.delegates[ref.Delegate] = built
	return built, nil
}
