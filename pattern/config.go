package pattern

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
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
	Want        int // fan-out: how many good replies settle the run, at most all; the others are cancelled then; 0: all

	// Reserve is how much of Timeout is kept for each delegate still to come, so that one that hangs cannot eat the
	// run: an attempt, its judgement included, is over when only that much is left. Where several are in flight at
	// once, it is kept once for as many. Timeout must be greater than all that is kept. 0: nothing is kept. Not with
	// StartAfter, whose ticks start the others in any case.
	Reserve time.Duration

	// Gate is asked before each start, on the caller's goroutine, and must not block. Its context is the run's. An
	// error keeps the delegate from starting: it is passed over with a failure of kind no_start, or, on a tick,
	// left for a later event. Nil allows all.
	Gate func(ctx context.Context, s Start) error

	// Stop is asked about each failure, and ends the run when it returns true: nothing else is started, and nobody
	// wins. It may be called from several goroutines at once. Nil stops for no failure; a fatal verdict or error stops
	// the run all the same.
	Stop func(firstgood.Failure) bool

	// Hold is for replies of a foreign type that need their attempt's context until they are closed, such as an
	// *http.Response: it arranges that release is called once then, and returns true. It returns false, and does
	// not call release, when the reply needs nothing. Nil takes the reply's own [firstgood.Holder], or that of each
	// element of a slice.
	Hold func(reply R, release func()) bool

	// Discard frees a reply that is not returned. It is called exactly once for each, from any goroutine, soon after
	// the attempt has lost or failed, but not for the zero R beside an error, which is no reply. What it panics with
	// is dropped. Nil takes the reply's own [io.Closer], or that of each element of a slice.
	Discard func(reply R)

	// Inline runs the attempts on the caller's goroutine, for plans that never overlap: a fallback-chain and
	// retry-with-learning. It costs least, and contains least: a delegate that ignores its context holds the run
	// up, and runtime.Goexit ends the caller's goroutine. Where nothing has to be set up (Timeout, Gate and Stop are
	// zero, no delegate has a timeout or is an instance, and the context carries no record), attempts get the
	// caller's context as it is, and neither calls nor durations are kept.
	Inline bool
}

// Start is what a gate is told of a start that is about to be made.
type Start struct {
	I       int                 // the delegate's place in the list
	Tick    bool                // because time has passed, and not because the run needs it
	Started int                 // how many were started before
	History []firstgood.Failure // what has failed so far; the gate must not change it
}

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
	plan := Plan{N: n, First: n, Want: 1, Delay: cfg.StartAfter, Most: cfg.MaxParallel, Listed: cfg.Listed}
	if cfg.MaxParallel > 0 {
		plan.First = cfg.MaxParallel
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
		return nil, fmt.Errorf("%s: got %d delegates, want one target", cmp.Or(cfg.Name, RetryWithLearningName), len(cfg.Delegates))
	}
	n := cmp.Or(cfg.MaxAttempts, 3)
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
	cfg.Name = cmp.Or(cfg.Name, name)
	if err := validate(name, cfg); err != nil {
		return nil, fmt.Errorf("%s: %w", cfg.Name, err)
	}
	plan.First = min(plan.First, plan.N)
	plan.Timeout, plan.Reserve = cfg.Timeout, cfg.Reserve
	if later := plan.rounds() - 1; cfg.Reserve > 0 && cfg.Reserve*time.Duration(later) >= cfg.Timeout {
		return nil, fmt.Errorf("%s: Reserve is %v, %d times over, which leaves nothing of a Timeout of %v", cfg.Name, cfg.Reserve, later, cfg.Timeout)
	}
	in := &Instance[R]{cfg: cfg, pattern: name, plan: plan, attempts: attempts, traits: traitsOf(reflect.TypeFor[R]()), ready: yield}
	if cfg.Inline {
		in.ready = func() {} // an attempt has ended when the loop looks
	}
	in.plain = cfg.Inline && cfg.Timeout == 0 && cfg.Gate == nil && cfg.Stop == nil && plan.N > 0
	for _, d := range cfg.Delegates {
		s := slot[R]{Delegate: d, path: []string{d.Name()}, nested: Nests(d)}
		if limited, ok := d.(firstgood.Limited); ok {
			s.limit = max(0, limited.AttemptTimeout())
		}
		in.slots = append(in.slots, s)
		in.plain = in.plain && s.limit == 0 && !s.nested
	}
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
		{"Reserve", cfg.Reserve != 0, true, cfg.Reserve < 0},
		{"StartAfter", cfg.StartAfter != 0, race, cfg.StartAfter < 0},
		{"Listed", cfg.Listed, race, false},
		{"MaxParallel", cfg.MaxParallel != 0, race || fan, cfg.MaxParallel < 0},
		{"Want", cfg.Want != 0, fan, cfg.Want < 0},
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
	switch {
	case cfg.Want > len(cfg.Delegates):
		return fmt.Errorf("Want is %d, and there are %d delegates", cfg.Want, len(cfg.Delegates))
	case cfg.Reserve > 0 && cfg.StartAfter > 0:
		return fmt.Errorf("a Reserve of %v does not go with StartAfter, whose ticks start the others in any case", cfg.Reserve)
	case cfg.Reserve > 0 && cfg.Timeout == 0:
		return fmt.Errorf("a Reserve of %v needs a Timeout to be kept of", cfg.Reserve)
	}
	return nil
}

// Nests reports whether d is an instance, or otherwise says by a method Nests() bool that what it uses is entered
// in a record by the delegates inside it.
func Nests(d any) bool {
	nests, ok := d.(interface{ Nests() bool })
	return ok && nests.Nests()
}
