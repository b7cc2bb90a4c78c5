package health

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

// Tests run in bubbles of virtual time, so that a wait of an hour is exact and takes none.

var errDown = errors.New("down")

type delegate = firstgood.Delegate[string]

func failed(kind firstgood.Kind) error { return &firstgood.Error{Kind: kind, Err: errDown} }

func retryAfter(kind firstgood.Kind, d time.Duration) error {
	return &firstgood.Error{Kind: kind, RetryAfter: d, Err: errDown}
}

func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			defer time.Sleep(1000 * time.Hour) // for deaf delegates; a bubble waits for nobody
			f(t)
		})
	})
}

func tracked(t *testing.T, cfg Config) *Tracker {
	t.Helper()
	tracker, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tracker
}

// noCooldown are the settings of tests about the breaker.
func noCooldown() Config { return Config{Cooldown: map[firstgood.Kind]time.Duration{}} }

// act is a delegate that, after that long, replies or fails; or is deaf, and does not notice that it is cancelled.
type act struct {
	after time.Duration
	reply string
	err   error
	deaf  bool
	calls *int // counts the calls; not for concurrent ones
}

func (a act) attempt(ctx context.Context, _ firstgood.Brief) (string, error) {
	if a.calls != nil {
		*a.calls++
	}
	done := ctx.Done()
	if a.deaf {
		done = nil
	}
	timer := time.NewTimer(a.after)
	defer timer.Stop()
	select {
	case <-timer.C:
		return a.reply, a.err
	case <-done:
		return "", context.Cause(ctx)
	}
}

// watched is the act as a watched delegate called d.
func (a act) watched(tracker *Tracker) delegate {
	return Watch(tracker, "d", firstgood.Func("d", a.attempt))
}

// limited is the same with an attempt timeout.
func (a act) limited(tracker *Tracker, limit time.Duration) delegate {
	return Watch(tracker, "d", firstgood.Within(limit, firstgood.Func("d", a.attempt)))
}

// attempts makes the act n times, one after another.
func (a act) attempts(t *testing.T, tracker *Tracker, n int) (err error) {
	t.Helper()
	d := a.watched(tracker)
	for range n {
		_, err = d.Attempt(t.Context(), firstgood.Brief{})
	}
	return err
}

// begun starts an attempt on a goroutine and returns what ends it and waits for that.
func begun(t *testing.T, d delegate) (end func(cause error)) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = d.Attempt(ctx, firstgood.Brief{})
	}()
	synctest.Wait()
	return func(cause error) {
		cancel(cause)
		<-done
		synctest.Wait()
	}
}

func chain(t *testing.T, cfg pattern.Config[string]) *pattern.Instance[string] {
	t.Helper()
	in, err := pattern.NewFallbackChain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func race(t *testing.T, cfg pattern.Config[string]) *pattern.Instance[string] {
	t.Helper()
	in, err := pattern.NewRace(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// gate is what an engine asks before each start.
func gate(tracker *Tracker, names ...string) func(context.Context, pattern.Start) error {
	return func(_ context.Context, s pattern.Start) error { return tracker.May(names[s.I]) }
}

// want checks the state of d and the counts of its attempts: successes, failures, uncounted, refused.
func want(t *testing.T, tracker *Tracker, state State, counts ...int) {
	t.Helper()
	s := tracker.State("d")
	if s.State != state {
		t.Errorf("d is %s (%s), want %s", s.State, s.Reason, state)
	}
	got := []int{s.Successes, s.Failures, s.Uncounted, s.Refused}
	for i, n := range counts {
		if got[i] != n {
			t.Errorf("successes, failures, uncounted, refused: got %v, want %v", got, counts)
			break
		}
	}
}

// cooling checks that d is kept from starting for so long.
func cooling(t *testing.T, err error, state State, wait time.Duration) CoolingError {
	t.Helper()
	e, ok := errors.AsType[*CoolingError](err)
	if !ok {
		t.Fatalf("got error %v, want a *CoolingError", err)
	}
	if e.State != state || e.Wait != wait || !e.Until.Equal(time.Now().Add(wait)) {
		t.Fatalf("got %s for %v until %v, want %s for %v until %v", e.State, e.Wait, e.Until, state, wait, time.Now().Add(wait))
	}
	return *e
}
