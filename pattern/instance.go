// Package pattern coordinates delegates: fallback-chain, race, fan-out and retry-with-learning, all on one rule
// (see [Settle]) that a host carries out.
//
// An instance is a pattern with its delegates bound. It runs on goroutines, or inline on the caller's, and it is a
// delegate itself, so that instances nest.
package pattern

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/firstgood/firstgood"
)

// Config is what an instance is made of. The zero value of each field but Delegates is a useful default; a field
// that the pattern has no use for must be zero.
type Config[R any] struct {
	Name string // the instance's name; "" takes the pattern's

	// Delegates are the slot: the chain, the candidates, the delegates to fan out to, or the one target of
	// retry-with-learning. They may repeat. Without any, a run is exhausted at once.
	Delegates []firstgood.Delegate[R]

	Criteria firstgood.Criteria[R] // what a good reply is; nil accepts every reply that came without an error
	Timeout  time.Duration         // of the whole run, judgements included; 0: none

	// Race.
	Listed     bool          // the earliest-listed acceptable reply wins, not the first to arrive
	StartAfter time.Duration // start one, and one more after this long or on a failure; 0: all at once

	MaxParallel int // race, fan-out: how many at most are in flight; 0: all
	MaxAttempts int // retry-with-learning: attempts in all; 0: 3

	// Gate is asked before each start and must not block. An error keeps the delegate from starting: it is
	// passed over with a failure of kind no_start, or, on a tick, left for a later event. Nil allows all.
	Gate func(i int, tick bool) error

	// Hold is for replies of a foreign type that need their attempt's context until they are closed, such as an
	// *http.Response: it arranges that release is called once then, and returns true. It returns false, and does
	// not call release, when the reply needs nothing. Nil takes the reply's own [firstgood.Holder], if it is one.
	Hold func(reply R, release func()) bool

	// Discard frees a reply that is not returned. It is called exactly once for each, from any goroutine. Nil
	// takes the reply's own [io.Closer], or that of each element of a slice.
	Discard func(reply R)

	// Inline runs the attempts on the caller's goroutine, for plans that never overlap: a fallback-chain and
	// retry-with-learning. It costs least, and contains least: a delegate that ignores its context holds the run
	// up, runtime.Goexit ends the caller's goroutine, and an attempt without a timeout gets the caller's context.
	// Calls and durations are kept only where the context carries a record.
	Inline bool
}

// Instance is a fallback-chain, a race or a retry-with-learning with its delegates bound. It is immutable and safe
// for concurrent use, and is itself a delegate.
type Instance[R any] struct {
	cfg      Config[R]
	pattern  string
	plan     Plan
	limits   []time.Duration // per delegate, 0: none
	nested   []bool          // per delegate: an instance
	paths    [][]string      // per delegate: its name alone; shared by outcomes
	attempts func(Decision) int
	grow     func(firstgood.Brief, []firstgood.Failure) firstgood.Brief // retry-with-learning alone
	traits   traits
	bare     bool // nothing is set up for the first attempt
	live     live
	spare    atomic.Pointer[inline[R]]
	ready    func() // lets delegates that have finished say so; see goroutines.go
}

// traits is what a reply of type R may be able to do, found out once.
type traits struct{ holds, closes, meters bool }

// The names of the patterns.
const (
	FallbackChainName     = "fallback-chain"
	RaceName              = "race"
	FanOutName            = "fan-out"
	RetryWithLearningName = "retry-with-learning"
)

// NewFallbackChain returns an instance that tries its delegates in order, each only when the one before it has
// failed or was rejected, and ends with the first good reply. Attempts counts the delegates started.
func NewFallbackChain[R any](cfg Config[R]) (*Instance[R], error) {
	plan := Plan{N: len(cfg.Delegates), First: 1, Want: 1}
	return build(FallbackChainName, cfg, plan, func(d Decision) int { return d.Started })
}

// NewRace returns an instance that starts all its delegates at once, or one after another with StartAfter or
// MaxParallel, ends with the first good reply and cancels the others. Of several replies known at the moment of
// decision the lowest-listed wins. Attempts counts the finishes consumed up to the decision, or is the winner's
// position in a listed race.
func NewRace[R any](cfg Config[R]) (*Instance[R], error) {
	n := len(cfg.Delegates)
	plan := Plan{N: n, First: n, Want: 1, Delay: cfg.StartAfter, Listed: cfg.Listed}
	if cfg.MaxParallel > 0 {
		plan.First = min(n, cfg.MaxParallel)
	}
	if cfg.StartAfter > 0 {
		plan.First = 1
	}
	return build(RaceName, cfg, plan, func(d Decision) int {
		if cfg.Listed && d.Winner >= 0 {
			return d.Winner + 1
		}
		return d.Finished
	})
}

// NewRetryWithLearning returns an instance that attempts the brief with its one delegate until a reply is good, at
// most MaxAttempts times. From the second attempt on the brief is the original text, a blank line, and a section
// that lists every earlier attempt with its reason and reply. A brief that is not a text cannot grow and is given
// as it is. An index is the attempt's number, from 0.
func NewRetryWithLearning[R any](cfg Config[R]) (*Instance[R], error) {
	if len(cfg.Delegates) != 1 {
		return nil, fmt.Errorf("%s: got %d delegates, want one target", RetryWithLearningName, len(cfg.Delegates))
	}
	n := cfg.MaxAttempts
	if n == 0 {
		n = 3
	}
	target := cfg.Delegates[0]
	cfg.Delegates = make([]firstgood.Delegate[R], max(n, 0))
	for i := range cfg.Delegates {
		cfg.Delegates[i] = target
	}
	in, err := build(RetryWithLearningName, cfg, Plan{N: n, First: 1, Want: 1}, func(d Decision) int { return d.Started })
	if err != nil {
		return nil, err
	}
	in.grow = lessons
	return in, nil
}

func build[R any](name string, cfg Config[R], plan Plan, attempts func(Decision) int) (*Instance[R], error) {
	if cfg.Name == "" {
		cfg.Name = name
	}
	if err := validate(name, cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	plan.First = min(plan.First, plan.N)
	in := &Instance[R]{cfg: cfg, pattern: name, plan: plan, attempts: attempts, traits: traitsOf(reflect.TypeFor[R]()), ready: yield}
	for _, d := range cfg.Delegates {
		limit := time.Duration(0)
		if limited, ok := d.(firstgood.Limited); ok {
			limit = max(0, limited.AttemptTimeout())
		}
		in.limits = append(in.limits, limit)
		in.nested = append(in.nested, Nests(d))
		in.paths = append(in.paths, []string{d.Name()})
	}
	in.bare = plan.N > 0 && in.limits[0] == 0 && cfg.Gate == nil && cfg.Timeout == 0
	return in, nil
}

func validate[R any](name string, cfg Config[R]) error {
	for i, d := range cfg.Delegates {
		if d == nil {
			return fmt.Errorf("delegate %d is nil", i)
		}
	}
	race, fan, retry := name == RaceName, name == FanOutName, name == RetryWithLearningName
	for _, field := range []struct {
		name  string
		set   bool
		known bool
		bad   bool
	}{
		{"Timeout", cfg.Timeout != 0, true, cfg.Timeout < 0},
		{"StartAfter", cfg.StartAfter != 0, race, cfg.StartAfter < 0},
		{"Listed", cfg.Listed, race, false},
		{"MaxParallel", cfg.MaxParallel != 0, race || fan, cfg.MaxParallel < 0},
		{"MaxAttempts", cfg.MaxAttempts != 0, retry, cfg.MaxAttempts < 0},
		{"Inline", cfg.Inline, name == FallbackChainName || retry, false},
	} {
		if field.set && !field.known {
			return fmt.Errorf("%s is not for a %s", field.name, name)
		}
		if field.bad {
			return fmt.Errorf("%s is negative", field.name)
		}
	}
	return nil
}

// Nests reports whether d is an instance, or otherwise says by a method Nests() bool that what it uses is entered
// in a record by the delegates inside it.
func Nests(d any) bool {
	nests, ok := d.(interface{ Nests() bool })
	return ok && nests.Nests()
}

var (
	holderType = reflect.TypeFor[firstgood.Holder]()
	closerType = reflect.TypeFor[io.Closer]()
	meterType  = reflect.TypeFor[firstgood.Metered]()
)

func traitsOf(t reflect.Type) traits {
	if t.Kind() == reflect.Interface {
		return traits{true, true, true}
	}
	closes := t.Implements(closerType)
	if t.Kind() == reflect.Slice && traitsOf(t.Elem()).closes {
		closes = true
	}
	return traits{t.Implements(holderType), closes, t.Implements(meterType)}
}

// Name returns the instance's name.
func (in *Instance[R]) Name() string { return in.cfg.Name }

// Pattern returns the pattern's name.
func (in *Instance[R]) Pattern() string { return in.pattern }

// Nests is true: what the instance uses is entered by its delegates.
func (in *Instance[R]) Nests() bool { return true }

// Attempt runs the instance as a delegate: see [Instance.Run]. A run without a winner is an error of type
// *[firstgood.NoWinnerError].
func (in *Instance[R]) Attempt(ctx context.Context, brief firstgood.Brief) (R, error) {
	out, err := in.Run(ctx, brief)
	if scope := firstgood.ScopeOf(ctx); scope != nil {
		scope.Path = out.WinnerPath
	}
	return out.Result, err
}

// Run gives brief to the delegates as the pattern says, and returns when that is decided, without waiting for the
// losers; see [Instance.Drain]. The outcome is filled in any case. Without a winner the error is a
// *[firstgood.NoWinnerError]: it matches [firstgood.ErrNoWinner], and also the cause of ctx where ctx ended, or
// [context.DeadlineExceeded] where the instance's own timeout did.
func (in *Instance[R]) Run(ctx context.Context, brief firstgood.Brief) (out firstgood.Outcome[R], err error) {
	out.WinnerIndex = -1
	switch {
	case ctx.Err() != nil:
		err = noWinner(in.cfg.Name, &out, Decision{}, context.Cause(ctx), false)
	case in.cfg.Inline:
		err = in.runInline(ctx, &brief, &out)
	default:
		err = in.run(ctx, brief, &out)
	}
	return out, err
}

func (in *Instance[R]) run(ctx context.Context, brief firstgood.Brief, out *firstgood.Outcome[R]) error {
	r := in.start(ctx, brief)
	d, err := Settle(r.plan(), r)
	r.close(d, err)
	r.report(d, out)
	if d.Winner < 0 {
		return noWinner(in.cfg.Name, out, d, err, r.expired)
	}
	in.win(out, d.Winner, r.attempts[d.Winner].reply, r.inner(d.Winner))
	return nil
}

// win fills in the outcome of a run that delegate i has won, with inner the way to the winner inside it.
func (in *Instance[R]) win(out *firstgood.Outcome[R], i int, reply R, inner []string) {
	out.Status, out.Result = firstgood.StatusWon, reply
	out.Winner, out.WinnerIndex, out.WinnerPath = in.paths[i][0], i, in.paths[i]
	if inner != nil {
		out.WinnerPath = append([]string{out.Winner}, inner...)
	}
}

// Drain waits until every attempt of this instance, and of the delegates in it, has returned, or until ctx is
// done, and then returns ctx's cause. It is meant for shutdown, after the last run.
func (in *Instance[R]) Drain(ctx context.Context) error {
	return drain(ctx, &in.live, in.cfg.Delegates)
}

func drain[R any](ctx context.Context, live *live, delegates []firstgood.Delegate[R]) error {
	err := live.wait(ctx)
	for _, d := range delegates {
		if drainer, ok := d.(firstgood.Drainer); ok {
			err = errors.Join(err, drainer.Drain(ctx))
		}
	}
	return err
}

func (in *Instance[R]) mayHold() bool { return in.traits.holds || in.cfg.Hold != nil }

func (in *Instance[R]) hold(reply R, release func()) bool {
	if in.cfg.Hold != nil {
		return in.cfg.Hold(reply, release)
	}
	holder, ok := any(reply).(firstgood.Holder)
	return ok && !isNil(holder) && holder.Hold(release)
}

// discard frees a reply that is not returned. A hook that panics must not take the process down from a goroutine
// that nobody waits for.
func (in *Instance[R]) discard(reply R) {
	if in.cfg.Discard == nil && !in.traits.closes {
		return
	}
	defer func() { _ = recover() }()
	if in.cfg.Discard != nil {
		in.cfg.Discard(reply)
		return
	}
	closeAll(any(reply))
}

func closeAll(reply any) {
	if closer, ok := reply.(io.Closer); ok {
		if !isNil(closer) {
			_ = closer.Close()
		}
		return
	}
	if v := reflect.ValueOf(reply); v.Kind() == reflect.Slice {
		for i := range v.Len() {
			closeAll(v.Index(i).Interface())
		}
	}
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice, reflect.Interface:
		return r.IsNil()
	}
	return false
}

// usage is what an attempt has cost, as its reply or its error says.
func (in *Instance[R]) usage(reply R, err error) firstgood.Usage {
	if err != nil {
		if meter, ok := errors.AsType[meteredError](err); ok {
			return meter.Used()
		}
	}
	if in.traits.meters {
		if m, ok := any(reply).(firstgood.Metered); ok && !isNil(m) {
			return m.Used()
		}
	}
	return firstgood.Usage{}
}

type meteredError interface {
	error
	firstgood.Metered
}
