package health

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

func TestS25_RetryAfterIsHonoured(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		wait time.Duration // 0: none
	}{
		"rate_limited without one":     {failed(firstgood.KindRateLimited), 30 * time.Second},
		"rate_limited of a minute":     {retryAfter(firstgood.KindRateLimited, time.Minute), time.Minute},
		"rate_limited of a second":     {retryAfter(firstgood.KindRateLimited, time.Second), time.Second},
		"rate_limited, wrapped":        {fmt.Errorf("call: %w", retryAfter(firstgood.KindRateLimited, time.Minute)), time.Minute},
		"rate_limited, absurd":         {retryAfter(firstgood.KindRateLimited, 1<<62), time.Hour},
		"rate_limited, negative":       {retryAfter(firstgood.KindRateLimited, -time.Second), 30 * time.Second},
		"unavailable without one":      {failed(firstgood.KindUnavailable), 5 * time.Second},
		"unavailable of a minute":      {retryAfter(firstgood.KindUnavailable, time.Minute), time.Minute},
		"error that says for how long": {retryAfter(firstgood.KindError, time.Minute), 0},
		"refused":                      {retryAfter(firstgood.KindRefused, time.Minute), 0},
		"timeout":                      {failed(firstgood.KindTimeout), 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			tracker := tracked(t, Config{})
			calls := 0
			d := act{err: c.err, calls: &calls}.watched(tracker)
			second := firstgood.Func("second", good().attempt)
			in := chain(t, pattern.Config[string]{Delegates: []delegate{d, second}, Gate: gate(tracker, "d", "second")})

			out, err := in.Run(t.Context(), firstgood.Brief{})
			if err != nil || out.Winner != "second" || out.Attempts != 2 {
				t.Fatalf("the chain did not advance: %+v, %v", out, err)
			}
			if c.wait == 0 {
				want(t, tracker, OK)
				return
			}
			e := cooling(t, tracker.May("d"), Cooling, c.wait)
			for _, at := range []time.Duration{0, c.wait - 1} {
				time.Sleep(at)
				out, err = in.Run(t.Context(), firstgood.Brief{})
				if err != nil || out.Winner != "second" || out.Attempts != 1 || calls != 1 {
					t.Fatalf("after %v: %d attempts, d was called %d times: %v", at, out.Attempts, calls, err)
				}
				if f := out.History[0]; f.Kind != firstgood.KindNoStart || !errors.As(f.Err, new(*CoolingError)) {
					t.Fatalf("after %v: got history %v, want no_start", at, out.History)
				}
			}
			time.Sleep(time.Until(e.Until))
			if _, _ = in.Run(t.Context(), firstgood.Brief{}); calls != 2 {
				t.Errorf("d was called %d times, want again after %v", calls, c.wait)
			}
		})
	}
}

func TestS25_TheHistorySaysUntilWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, Config{})
		_ = act{err: retryAfter(firstgood.KindRateLimited, time.Minute)}.attempts(t, tracker, 1)
		until := time.Now().Add(time.Minute).Format(time.TimeOnly)
		time.Sleep(2*time.Second + 1)
		in := chain(t, pattern.Config[string]{Delegates: []delegate{good().watched(tracker)}, Gate: gate(tracker, "d")})
		out, _ := in.Run(t.Context(), firstgood.Brief{})
		want := "d: no_start: cooling for 58s after rate_limited (until " + until + ")"
		if len(out.History) != 1 || out.History[0].String() != want || out.Attempts != 0 {
			t.Errorf("got %d attempts, history %v, want %s", out.Attempts, out.History, want)
		}
	})
}

// Without a gate, as for a judge, the attempt itself does not start.
func TestS25_WithoutAGateItIsNotCalledEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, Config{})
		calls := 0
		a := act{err: retryAfter(firstgood.KindRateLimited, time.Minute), calls: &calls}
		err := a.attempts(t, tracker, 3)
		cooling(t, err, Cooling, time.Minute)
		if f := firstgood.FailureOf("d", 0, err); f.Kind != firstgood.KindNoStart || calls != 1 {
			t.Errorf("called %d times, failed as %v", calls, f)
		}
		want(t, tracker, Cooling, 0, 1, 0, 2)
	})
}

func TestTheLatestDeadlineWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, Config{Breaker: Breaker{Off: true}})
		for _, wish := range []time.Duration{10 * time.Second, time.Minute, time.Second, 30 * time.Second} { // in flight at the same time
			begun(t, act{after: time.Second, err: retryAfter(firstgood.KindRateLimited, wish)}.watched(tracker))
		}
		begun(t, act{after: 2 * time.Second, reply: "yes"}.watched(tracker))
		time.Sleep(time.Second)
		synctest.Wait()
		cooling(t, tracker.May("d"), Cooling, time.Minute)
		time.Sleep(time.Second)
		synctest.Wait()
		want(t, tracker, Cooling, 1, 4) // a success that began before does not end it
		cooling(t, tracker.May("d"), Cooling, 59*time.Second)
	})
	inBubble(t, "of the cooldown and the breaker", func(t *testing.T) {
		tracker := tracked(t, Config{})
		for range 4 {
			_ = act{err: failed(firstgood.KindUnavailable)}.attempts(t, tracker, 1)
			cooling(t, tracker.May("d"), Cooling, 5*time.Second)
			time.Sleep(5 * time.Second)
		}
		_ = act{err: failed(firstgood.KindUnavailable)}.attempts(t, tracker, 1)
		cooling(t, tracker.May("d"), Open, 30*time.Second)
		time.Sleep(30 * time.Second)
		_ = act{err: retryAfter(firstgood.KindRateLimited, time.Minute)}.attempts(t, tracker, 1) // the probe
		cooling(t, tracker.May("d"), Cooling, time.Minute)
		time.Sleep(time.Minute)
		want(t, tracker, HalfOpen)
	})
}

func TestTheLatestDeadlineWinsWhileADelegateIsTriedOut(t *testing.T) {
	for wish, state := range map[time.Duration]State{time.Hour: Cooling, time.Second: HalfOpen} {
		inBubble(t, wish.String(), func(t *testing.T) {
			tracker := tracked(t, Config{Cooldown: map[firstgood.Kind]time.Duration{firstgood.KindRateLimited: time.Second}})
			begun(t, act{after: DefaultOpen + time.Second, err: retryAfter(firstgood.KindRateLimited, wish)}.watched(tracker))
			_ = bad().attempts(t, tracker, DefaultSample)
			time.Sleep(DefaultOpen)
			begun(t, act{after: 24 * time.Hour}.watched(tracker))
			time.Sleep(time.Second)
			synctest.Wait()
			want(t, tracker, state)
			if s := tracker.State("d"); !s.Until.Equal(time.Now().Add(max(wish, DefaultOpen-time.Second))) {
				t.Errorf("until %v", s.Until)
			}
		})
	}
}

func TestCooldownsCanBeSet(t *testing.T) {
	inBubble(t, "none", func(t *testing.T) {
		tracker := tracked(t, noCooldown())
		_ = act{err: retryAfter(firstgood.KindRateLimited, time.Minute)}.attempts(t, tracker, 1)
		want(t, tracker, OK, 0, 1)
	})
	inBubble(t, "for other kinds and times", func(t *testing.T) {
		cfg := Config{Cooldown: map[firstgood.Kind]time.Duration{firstgood.KindAuth: time.Minute}, MaxCooldown: 2 * time.Minute}
		tracker := tracked(t, cfg)
		cfg.Cooldown[firstgood.KindAuth] = time.Second // is not seen
		_ = act{err: failed(firstgood.KindRateLimited)}.attempts(t, tracker, 1)
		want(t, tracker, OK, 0, 1, 0)
		_ = act{err: failed(firstgood.KindAuth)}.attempts(t, tracker, 1)
		cooling(t, tracker.May("d"), Cooling, time.Minute)
		want(t, tracker, Cooling, 0, 1, 1)
	})
	inBubble(t, "the default is cut to the most", func(t *testing.T) {
		tracker := tracked(t, Config{MaxCooldown: time.Second})
		_ = act{err: failed(firstgood.KindRateLimited)}.attempts(t, tracker, 1)
		cooling(t, tracker.May("d"), Cooling, time.Second)
	})
}

// two returns a tracker with a, which cools for 20 s, and b, for 10 s.
func two(t *testing.T) *Tracker {
	t.Helper()
	tracker := tracked(t, Config{})
	for name, wait := range map[string]time.Duration{"a": 20 * time.Second, "b": 10 * time.Second} {
		d := Watch(tracker, name, firstgood.Func(name, act{err: retryAfter(firstgood.KindRateLimited, wait)}.attempt))
		_, _ = d.Attempt(t.Context(), firstgood.Brief{})
	}
	return tracker
}

func TestS26_AllAreCooling(t *testing.T) {
	inBubble(t, "the run says so, with the earliest recovery", func(t *testing.T) {
		tracker := two(t)
		in := chain(t, pattern.Config[string]{Gate: gate(tracker, "a", "b"), Delegates: []delegate{
			firstgood.Func("a", good().attempt), firstgood.Func("b", good().attempt),
		}})
		out, err := in.Run(t.Context(), firstgood.Brief{})
		if out.Status != firstgood.StatusExhausted || out.Attempts != 0 || len(out.History) != 2 {
			t.Fatalf("got %+v, %v", out, err)
		}
		at, all := tracker.Earliest("a", "b")
		if !all || !at.Equal(time.Now().Add(10*time.Second)) {
			t.Errorf("earliest: got %v, %v, want in 10s", at, all)
		}
		if at, all := tracker.Earliest("a", "b", "unknown"); all || !at.IsZero() {
			t.Errorf("earliest with one that may start: got %v, %v", at, all)
		}
		if at, all := tracker.Earliest(); all || !at.IsZero() {
			t.Errorf("earliest of none: got %v, %v", at, all)
		}
	})
	inBubble(t, "a wait ends at the earliest recovery", func(t *testing.T) {
		tracker, start := two(t), time.Now()
		if err := tracker.Await(t.Context(), 10*time.Second, "a", "b"); err != nil || time.Since(start) != 10*time.Second {
			t.Fatalf("got %v after %v", err, time.Since(start))
		}
		if err := tracker.May("b"); err != nil {
			t.Error(err)
		}
	})
	inBubble(t, "a wait that cannot be long enough ends at once", func(t *testing.T) {
		tracker, start := two(t), time.Now()
		err := tracker.Await(t.Context(), 10*time.Second-1, "a", "b")
		if e := cooling(t, err, Cooling, 10*time.Second); e.Delegate != "b" || time.Now() != start {
			t.Errorf("got %+v after %v", e, time.Since(start))
		}
	})
	inBubble(t, "a wait ends with its context", func(t *testing.T) {
		tracker, start := two(t), time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errDown)
		defer cancel()
		if err := tracker.Await(ctx, time.Minute, "a", "b"); !errors.Is(err, errDown) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
	inBubble(t, "no wait for one that may start", func(t *testing.T) {
		tracker, start := two(t), time.Now()
		for _, names := range [][]string{{"a", "other"}, {}} {
			if err := tracker.Await(t.Context(), time.Minute, names...); err != nil || time.Now() != start {
				t.Errorf("got %v after %v", err, time.Since(start))
			}
		}
	})
}

func TestS26_AWaitForAHalfOpenDelegate(t *testing.T) {
	for name, c := range map[string]struct {
		probe act
		most  time.Duration
		took  time.Duration
		state State // of the error; "": none
	}{
		"succeeds":             {act{after: time.Second, reply: "yes"}, 10 * time.Second, time.Second, ""},
		"gives up its place":   {act{after: time.Second, err: failed(firstgood.KindRefused)}, 10 * time.Second, time.Second, ""},
		"fails":                {act{after: time.Second, err: errDown}, 10 * time.Second, time.Second, Open},
		"fails, but time left": {act{after: time.Second, err: errDown}, time.Minute, time.Second + DefaultOpen, ""},
		"takes too long":       {act{after: time.Hour}, 10 * time.Second, 10 * time.Second, HalfOpen},
		"never ends":           {act{after: time.Hour}, time.Minute, DefaultOpen, ""},
	} {
		inBubble(t, name, func(t *testing.T) {
			tracker := opened(t)
			begun(t, c.probe.watched(tracker))
			start := time.Now()
			err := tracker.Await(t.Context(), c.most, "d")
			if took := time.Since(start); took != c.took {
				t.Errorf("took %v, want %v", took, c.took)
			}
			e, _ := errors.AsType[*CoolingError](err)
			if (c.state == "") != (err == nil) || e != nil && e.State != c.state {
				t.Errorf("got %v, want state %q", err, c.state)
			}
		})
	}
}
