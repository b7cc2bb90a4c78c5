// Package engine makes runs of a file: it binds names to delegates of every kind, puts the patterns on them, runs
// one and keeps its record.
package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/health"
	"github.com/firstgood/firstgood/isolate"
	"github.com/firstgood/firstgood/pattern"
)

// Config is what an engine is made from. The zero Config is useful.
type Config struct {
	// File is the file of what will be bound, whose settings for all (health, failure rules, prices) hold. Nil: none do.
	File *config.File
	// Lookup finds a variable of the environment, as [os.LookupEnv] does, which it is when nil.
	Lookup func(string) (string, bool)
	// Environ is the environment of commands that weigh replies, as NAME=value; nil is this process's.
	Environ []string
	// Warn is told what the text of a document comes upon that should be known, while it runs; from several goroutines. Nil
	// keeps it.
	Warn func(config.Problem)
	// Work is where delegates in places of their own work, and where commands that weigh replies run.
	Work WorkConfig
	// HTTPClient serves every delegate that speaks HTTP. Nil gives each delegate a client of its own.
	HTTPClient *http.Client
}

// Engine binds what a file names. It builds each delegate and instance once. It is not safe for concurrent use;
// the [Bound] that it returns is.
type Engine struct {
	lookup    func(string) (string, bool)
	environ   []string
	client    *http.Client
	work      WorkConfig
	file      *config.File
	tracker   *health.Tracker // nil: health is off
	budgets   bool            // an instance has a budget
	prices    map[string]config.Price
	rules     []failure.Rule
	delegates map[*config.Delegate]firstgood.Delegate[firstgood.Reply]
	instances map[*config.Instance]runner
	judges    map[any]*judge // by keyOf
	chains    map[any]runner // what texts call, each as a chain of one; by keyOf
	warn      func(config.Problem)
	unusable  map[*config.Delegate]config.Problems // what keeps delegates from starting here
	read      []string                             // what the variables hold that the delegate or rule being built has read
	keys      []string                             // what is secret of that, and the API keys, of all delegates so far
	hidden    *atomic.Pointer[secrets]             // the same, for the runs
}

// New returns an engine. It fails on settings of the file that do not go together.
func New(cfg Config) (*Engine, error) {
	e := &Engine{
		lookup: cfg.Lookup, environ: cfg.Environ, client: cfg.HTTPClient, work: cfg.Work, file: cfg.File,
		delegates: map[*config.Delegate]firstgood.Delegate[firstgood.Reply]{},
		instances: map[*config.Instance]runner{},
		judges:    map[any]*judge{},
		chains:    map[any]runner{},
		warn:      cfg.Warn,
		unusable:  map[*config.Delegate]config.Problems{},
		hidden:    new(atomic.Pointer[secrets]),
	}
	if e.lookup == nil {
		e.lookup = os.LookupEnv
	}
	if e.environ == nil {
		e.environ = os.Environ()
	}
	if e.file == nil {
		e.file = new(config.File)
	}
	e.prices, e.rules = pricesOf(e.file.Delegates), rulesOf(e.file.FailureRules)
	seen := map[*config.Instance]bool{}
	for _, in := range e.file.Instances {
		e.budgets = e.budgets || hasBudget(in, seen)
	}
	var err error
	e.tracker, err = trackerOf(e.file)
	return e, err
}

// Health is how the delegates are doing in this process; nil where the file does not ask for it.
func (e *Engine) Health() *health.Tracker { return e.tracker }

// hasBudget reports whether in, or an instance in its slots, has a budget; those in seen have none.
func hasBudget(in *config.Instance, seen map[*config.Instance]bool) bool {
	if seen[in] {
		return false
	}
	seen[in] = true
	if in.Config.Budget != nil {
		return true
	}
	for member := range membersOf(in) {
		if member.Instance != nil && hasBudget(member.Instance, seen) {
			return true
		}
	}
	return false
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
	// State is what a composite begins with, a JSON object; nil for nothing. It may be set before a run.
	State json.RawMessage

	work WorkConfig

	mu       sync.Mutex
	prepared []*workspace // of runs to come
	opened   []*workspace // of runs that have begun

	name    string
	pattern string // "" for a delegate that is run by its name
	grace   time.Duration
	run     runner
	judges  []*judge
	modes   []isolate.Mode // in which delegates are isolated
	prices  map[string]config.Price
	hidden  *atomic.Pointer[secrets]
}

// Bind makes what ref names ready to run. A delegate runs as a chain of one. Timeout, when not 0, takes the place of
// the run's own. The error is [config.Problems] when no delegate of the run could start, or when a judge could
// not: variables of the environment and keys matter only where a run reaches. An instance can start when one of its
// members can, and its judges.
func (e *Engine) Bind(ref config.Ref, timeout time.Duration) (*Bound, error) {
	b := &Bound{name: ref.Name, prices: e.prices}
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
	if !e.budgets && hasBudget(in, map[*config.Instance]bool{}) {
		e.budgets = true
		clear(e.instances) // those built so far ask no budget
	}
	b.work = e.work
	b.Plan = PlanOf(config.Ref{Name: ref.Name, Instance: in})
	if ref.Delegate != nil {
		b.Plan.Pattern = ""
	}
	var err error
	if b.run, err = e.instance(in); err != nil {
		return nil, err
	}
	delegates, judges, required := partsOf(in)
	hidden := secretsOf(nil, e.keys)
	e.hidden.Store(&hidden)
	b.hidden = e.hidden
	if problems := e.blocked(config.Ref{Instance: in}); len(problems) > 0 {
		return nil, problems
	}
	for _, ref := range judges {
		if problems := e.blocked(ref); len(problems) > 0 && required[keyOf(ref)] {
			return nil, problems
		}
		b.judges = append(b.judges, e.judges[keyOf(ref)])
	}
	for _, d := range delegates {
		b.grace = max(b.grace, graceOf(d))
		if mode, ok := modeOf(d); ok && !slices.Contains(b.modes, mode) {
			b.modes = append(b.modes, mode)
		}
		for _, problem := range e.unusable[d] {
			problem.Severity = config.SeverityWarning
			b.Warnings = append(b.Warnings, problem)
		}
	}
	return b, nil
}

// alone returns the chain of one as which a delegate runs by its name.
func alone(ref config.Ref) *config.Instance {
	return &config.Instance{Name: ref.Name, Pos: ref.Pos, Pattern: pattern.FallbackChainName,
		Slots: []config.Slot{{Name: "chain", List: true, Members: []config.Ref{ref}}}}
}

// partsOf returns what a run of an instance may call, each once: every delegate, and of those and the instances in it
// all that weigh replies. Required are those of them, by keyOf, that something asks in any case.
func partsOf(in *config.Instance) (delegates []*config.Delegate, judges []config.Ref, required map[any]bool) {
	seen, weighs := map[any]bool{}, map[any]bool{}
	required = map[any]bool{}
	var add func(config.Ref)
	add = func(ref config.Ref) {
		key := keyOf(ref)
		if seen[key] {
			return
		}
		seen[key] = true
		if ref.Delegate != nil {
			delegates = append(delegates, ref.Delegate)
			return
		}
		for member := range membersOf(ref.Instance) {
			add(member)
		}
		for by, must := range judgesOf(ref.Instance) {
			required[keyOf(by)] = required[keyOf(by)] || must
			if key := keyOf(by); !weighs[key] {
				weighs[key] = true
				judges = append(judges, by)
			}
			add(by)
		}
	}
	add(config.Ref{Instance: in})
	return delegates, judges, required
}

// membersOf yields what is bound to the slots of an instance.
func membersOf(in *config.Instance) iter.Seq[config.Ref] {
	return func(yield func(config.Ref) bool) {
		for _, slot := range in.Slots {
			for _, member := range slot.Members {
				if !yield(member) {
					return
				}
			}
		}
	}
}

// judgesOf yields who weighs the replies of an instance, once for each rule, and who decides what its text leaves open; and
// whether that is so in any case, or only where criteria are given or a delegate answers in words of its own.
func judgesOf(in *config.Instance) iter.Seq2[config.Ref, bool] {
	return func(yield func(config.Ref, bool) bool) {
		going := true
		if !in.Judge.IsZero() {
			t, ok := in.Document.(*writing)
			must := !ok
			if ok {
				_, must = t.asks()
			}
			going = yield(in.Judge, must)
		}
		for _, criterion := range []*config.Criterion{in.Config.Failure, in.Config.Acceptance} {
			criterion.Visit(func(c *config.Criterion) {
				if c.Rule == config.RuleText && going {
					going = yield(c.Judge, true)
				}
			})
		}
	}
}

// blocked returns why what ref names cannot start here, nothing when it can.
func (e *Engine) blocked(ref config.Ref) config.Problems {
	if ref.Delegate != nil {
		return e.unusable[ref.Delegate]
	}
	for by, must := range judgesOf(ref.Instance) {
		if problems := e.blocked(by); len(problems) > 0 && must {
			return problems
		}
	}
	for _, slot := range ref.Instance.Slots {
		if problems := e.blockedSlot(slot); len(problems) > 0 {
			return problems
		}
	}
	return nil
}

// blockedSlot returns why none of what is bound to a slot can start here, nothing when one can.
func (e *Engine) blockedSlot(slot config.Slot) config.Problems {
	var all config.Problems
	for _, member := range slot.Members {
		problems := e.blocked(member)
		if len(problems) == 0 {
			return nil
		}
		for _, problem := range problems {
			if !slices.Contains(all, problem) {
				all = append(all, problem)
			}
		}
	}
	return all
}

// Prepare takes the state that delegates in places of their own will start from, which the next run then uses. It fails where
// they can have no such places: outside a repository, without git, for a revision that does not exist. It does nothing
// where nobody needs one.
func (b *Bound) Prepare(ctx context.Context) error {
	if len(b.modes) == 0 {
		return nil
	}
	places := newWorkspace(b.work)
	for _, mode := range b.modes {
		if _, err := places.base(ctx, mode); err != nil {
			return errors.Join(err, places.close(context.WithoutCancel(ctx)))
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prepared = append(b.prepared, places)
	return nil
}

// open returns the places of a run that begins, nil where nobody needs one.
func (b *Bound) open() *workspace {
	if len(b.modes) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var places *workspace
	if n := len(b.prepared); n > 0 {
		places, b.prepared = b.prepared[n-1], b.prepared[:n-1]
	} else {
		places = newWorkspace(b.work)
	}
	b.opened = append(b.opened, places)
	return places
}

// Close removes the places of all runs, unless they are kept. It is called once nothing of a run is at work any more and the
// changes of their results are no longer needed: after [Bound.Apply] and [Bound.Drain].
func (b *Bound) Close(ctx context.Context) error {
	b.mu.Lock()
	all := append(b.prepared, b.opened...)
	b.prepared, b.opened = nil, nil
	b.mu.Unlock()
	var errs []error
	for _, places := range all {
		errs = append(errs, places.close(ctx))
	}
	return errors.Join(errs...)
}

// Grace is how long a delegate of the run may take at most to end once it is told to.
func (b *Bound) Grace() time.Duration { return b.grace }

// Drain waits until nothing of a run is at work any more, delegates and judges, or until ctx is done, and then returns
// its cause. It is meant for the end, after the last run.
func (b *Bound) Drain(ctx context.Context) error {
	err := b.run.Drain(ctx)
	for _, j := range b.judges {
		err = errors.Join(err, j.Drain(ctx))
	}
	return err
}

// Run gives the brief to what is bound and returns when that is decided. It never waits for losers; see
// [Bound.Drain]. Watch, when not nil, is told of each call as it changes, as [firstgood.NewRecord] says, also after
// Run has returned. The result is never nil, and holds the error of a run without a winner.
func (b *Bound) Run(ctx context.Context, brief firstgood.Brief, watch func(firstgood.Call)) *Result {
	record := firstgood.NewRecord(time.Now(), watch)
	ctx = firstgood.WithRecord(ctx, record)
	var got yield
	ctx = context.WithValue(ctx, yieldKey{}, &got)
	if b.State != nil {
		ctx = context.WithValue(ctx, stateKey{}, b.State)
	}
	places := b.open()
	if places != nil {
		ctx = context.WithValue(ctx, workspaceKey{}, places)
	}
	out, err := b.run.Run(ctx, brief)
	blot(out.History, *b.hidden.Load())
	return &Result{ID: rand.Text(), Name: b.name, Pattern: b.pattern, Outcome: out, Err: err, State: got.state, history: got.history, prices: b.prices}
}

// instance builds an instance.
func (e *Engine) instance(in *config.Instance) (runner, error) {
	if built, ok := e.instances[in]; ok {
		return built, nil
	}
	t, _ := in.Document.(*writing)
	if t != nil && t.native == "" {
		return e.written(in, t)
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
	if t != nil {
		if cfg.Criteria, err = e.carried(in, cfg.Criteria); err != nil {
			return nil, err
		}
		if t.doc.Kind == document.Pattern && in.Pattern == pattern.FallbackChainName && in.Config.Acceptance == nil && !in.Config.NonEmpty {
			cfg.Criteria = constant(cfg.Criteria)
		}
	}
	cfg.Criteria = discreet(cfg.Criteria, e.hidden)
	if err := e.policy(in, &cfg); err != nil {
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
		return nil, config.Problems{{Pos: in.Pos, Message: err.Error(), Err: err}}
	}
	return e.finish(in, built), nil
}

// written builds an instance whose text runs as it is written.
func (e *Engine) written(in *config.Instance, t *writing) (runner, error) {
	built, err := e.body(in, t)
	if err != nil {
		return nil, err
	}
	return e.finish(in, built), nil
}

// finish puts around an instance what holds for each, whatever its pattern.
func (e *Engine) finish(in *config.Instance, built runner) runner {
	if in.Config.Budget != nil {
		built = &budgeted{built, in.Name, *in.Config.Budget, e.prices}
	}
	if in.Config.WaitForRecovery > 0 && e.tracker != nil {
		built = newRecovering(built, e.tracker, in)
	}
	e.instances[in] = built
	return built
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
		e.unusable[ref.Delegate] = unable.problems
		built, err = firstgood.Func(ref.Delegate.Name, unable.attempt), nil
	}
	if err != nil {
		return nil, err
	}
	if ref.Delegate.Timeout > 0 {
		built = firstgood.Within(ref.Delegate.Timeout, built)
	}
	built = health.Watch(e.tracker, ref.Delegate.Name, built)
	e.delegates[ref.Delegate] = built
	return built, nil
}
