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

func bad() act  { return act{err: errDown} }
func good() act { return act{reply: "yes"} }

func TestS24_OneFailureOfOneCallOpensNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, noCooldown())
		for n := 1; n < DefaultSample; n++ {
			_ = bad().attempts(t, tracker, 1)
			want(t, tracker, OK, 0, n, 0, 0) // 100 % of n
		}
		_ = bad().attempts(t, tracker, 1)
		want(t, tracker, Open, 0, DefaultSample, 0, 0)
		if s := tracker.State("d"); s.Reason != "5 of 5 attempts failed, the last: error" || !s.Until.Equal(time.Now().Add(DefaultOpen)) {
			t.Errorf("got %+v", s)
		}
	})
}

func TestTheBreakerOpensAtItsRatio(t *testing.T) {
	for name, c := range map[string]struct {
		good, bad int
		state     State
	}{
		"below":              {6, 4, OK},
		"at":                 {5, 5, Open},
		"above":              {4, 6, Open},
		"too small a sample": {0, 9, OK},
	} {
		inBubble(t, name, func(t *testing.T) {
			cfg := noCooldown()
			cfg.Breaker = Breaker{Sample: 10}
			tracker := tracked(t, cfg)
			_ = good().attempts(t, tracker, c.good)
			_ = bad().attempts(t, tracker, c.bad)
			want(t, tracker, c.state, c.good, c.bad)
		})
	}
	inBubble(t, "on a success that makes the sample", func(t *testing.T) {
		tracker := tracked(t, noCooldown())
		_ = bad().attempts(t, tracker, 4)
		_ = good().attempts(t, tracker, 1)
		want(t, tracker, Open, 1, 4)
		if s := tracker.State("d"); s.Reason != "4 of 5 attempts failed" {
			t.Errorf("got reason %q", s.Reason)
		}
	})
	inBubble(t, "not for failures that have left the window", func(t *testing.T) {
		tracker := tracked(t, noCooldown())
		for range 50 {
			_ = bad().attempts(t, tracker, DefaultSample-1)
			time.Sleep(DefaultWindow)
		}
		want(t, tracker, OK, 0, 50*(DefaultSample-1))
	})
	inBubble(t, "not for what does not count", func(t *testing.T) {
		tracker := tracked(t, noCooldown())
		_ = bad().attempts(t, tracker, 4)
		_ = act{err: failed(firstgood.KindRefused)}.attempts(t, tracker, 100)
		want(t, tracker, OK, 0, 4, 100)
		_ = bad().attempts(t, tracker, 1) // nor does it make the ratio smaller
		want(t, tracker, Open, 0, 5, 100)
	})
}

// An attempt counts when it ends. A breaker that counted it when it began would never open here.
func TestAttemptsLongerThanTheWindowCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := noCooldown()
		cfg.Breaker.Window = time.Minute
		tracker := tracked(t, cfg)
		d := act{after: 90 * time.Second, err: errDown}.watched(tracker)
		for range DefaultSample {
			begun(t, d)
		}
		time.Sleep(90 * time.Second)
		synctest.Wait()
		want(t, tracker, Open, 0, DefaultSample)
	})
}

// opened returns a tracker whose d has an open breaker, at the moment at which it becomes half-open.
func opened(t *testing.T) *Tracker {
	t.Helper()
	tracker := tracked(t, noCooldown())
	err := bad().attempts(t, tracker, DefaultSample+1)
	cooling(t, err, Open, DefaultOpen)
	if f := firstgood.FailureOf("d", 0, err); f.Kind != firstgood.KindNoStart || f.Reason == "" {
		t.Fatalf("got %v, want no_start", f)
	}
	want(t, tracker, Open, 0, DefaultSample, 0, 1)
	time.Sleep(DefaultOpen - 1)
	cooling(t, tracker.May("d"), Open, 1)
	time.Sleep(1 * time.Nanosecond)
	if err := tracker.May("d"); err != nil {
		t.Fatalf("after %v: %v", DefaultOpen, err)
	}
	want(t, tracker, HalfOpen)
	return tracker
}

func TestAHalfOpenBreaker(t *testing.T) {
	inBubble(t, "closes on a success", func(t *testing.T) {
		tracker := opened(t)
		_ = good().attempts(t, tracker, 1)
		want(t, tracker, OK, 1)
		_ = bad().attempts(t, tracker, DefaultSample-1) // with a new window
		want(t, tracker, OK)
	})
	inBubble(t, "opens on a failure", func(t *testing.T) {
		tracker := opened(t)
		_ = bad().attempts(t, tracker, 1)
		e := cooling(t, tracker.May("d"), Open, DefaultOpen)
		if got, want := e.Error(), "open for 30s after the attempt that tried it out failed too: error (until "+e.Until.Format(time.TimeOnly)+")"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
	inBubble(t, "lets exactly one through", func(t *testing.T) {
		tracker := opened(t)
		for range 100 { // asking takes nothing
			if err := tracker.May("d"); err != nil {
				t.Fatal(err)
			}
		}
		calls := 0
		d := act{after: time.Second, reply: "yes", calls: &calls}.watched(tracker)
		begun(t, d)
		for range 100 {
			_, err := d.Attempt(t.Context(), firstgood.Brief{})
			e := cooling(t, err, HalfOpen, DefaultOpen)
			if got, want := e.Error(), "half-open after 5 of 5 attempts failed, the last: error: another attempt is trying it out, for 30s at most (until "+e.Until.Format(time.TimeOnly)+")"; got != want {
				t.Fatalf("got  %s\nwant %s", got, want)
			}
		}
		want(t, tracker, HalfOpen)
		time.Sleep(time.Second)
		synctest.Wait()
		want(t, tracker, OK, 1)
		if calls != 1 {
			t.Errorf("it was called %d times, want 1", calls)
		}
	})
	for name, cause := range map[string]error{
		"caller's stop": errors.New("stop"), "lost": &firstgood.LostError{Winner: "another"}, "caller's deadline": context.DeadlineExceeded,
	} {
		for kind, deaf := range map[string]bool{"obedient": false, "deaf": true} {
			inBubble(t, "gives the place of a "+kind+" attempt back: "+name, func(t *testing.T) {
				tracker := opened(t)
				d := act{after: time.Hour, err: errDown, deaf: deaf}.watched(tracker)
				for range 3 {
					ctx, cancel := context.WithCancelCause(t.Context())
					go func() { _, _ = d.Attempt(ctx, firstgood.Brief{}) }()
					synctest.Wait()
					cooling(t, tracker.May("d"), HalfOpen, DefaultOpen)
					cancel(cause)
					synctest.Wait()
					if err := tracker.May("d"); err != nil {
						t.Fatal(err)
					}
					want(t, tracker, HalfOpen)
				}
				_ = good().attempts(t, tracker, 1)
				want(t, tracker, OK, 1, 5, 3)
				time.Sleep(2 * time.Hour) // what the deaf ones return in the end is no news
				synctest.Wait()
				want(t, tracker, OK, 1, 5, 3)
			})
		}
	}
	inBubble(t, "gives the place back after a refusal", func(t *testing.T) {
		tracker := opened(t)
		_ = act{err: failed(firstgood.KindRefused)}.attempts(t, tracker, 1)
		want(t, tracker, HalfOpen)
		_ = good().attempts(t, tracker, 1)
		want(t, tracker, OK)
	})
	inBubble(t, "opens when a deaf attempt runs out of its own time", func(t *testing.T) {
		tracker := opened(t)
		in := chain(t, pattern.Config[string]{Delegates: []delegate{act{after: time.Hour, reply: "late", deaf: true}.limited(tracker, time.Minute)}})
		_, _ = in.Run(t.Context(), firstgood.Brief{})
		synctest.Wait()
		cooling(t, tracker.May("d"), Open, DefaultOpen)
		_ = in.Drain(t.Context())
		want(t, tracker, HalfOpen, 0, DefaultSample+1) // the late reply has not closed it
	})
	inBubble(t, "waits for an attempt as long as that has time", func(t *testing.T) {
		tracker := opened(t)
		begun(t, act{after: 24 * time.Hour}.limited(tracker, time.Minute)) // with nobody to hold it to its time
		cooling(t, tracker.May("d"), HalfOpen, time.Minute+DefaultOpen)
		time.Sleep(time.Minute + DefaultOpen)
		if err := tracker.May("d"); err != nil {
			t.Error(err)
		}
	})
	inBubble(t, "is not stuck for an attempt that never ends", func(t *testing.T) {
		tracker := opened(t)
		end := begun(t, act{after: 24 * time.Hour}.watched(tracker))
		time.Sleep(DefaultOpen)
		second := begun(t, act{after: 24 * time.Hour}.watched(tracker))
		cooling(t, tracker.May("d"), HalfOpen, DefaultOpen)
		end(errors.New("stop"))
		cooling(t, tracker.May("d"), HalfOpen, DefaultOpen) // the place is the second's
		second(errors.New("stop"))
		want(t, tracker, HalfOpen, 0, 5, 2)
	})
	inBubble(t, "counts an attempt that has outstayed its place", func(t *testing.T) {
		tracker := opened(t)
		slow := act{after: 2*DefaultOpen + 1, reply: "yes"}.watched(tracker)
		for range 3 {
			begun(t, slow)
			time.Sleep(DefaultOpen)
		}
		synctest.Wait()
		want(t, tracker, OK, 1)
	})
}

// What was in flight when the breaker opened says nothing of the time after that.
func TestStaleAttemptsAreNoProbes(t *testing.T) {
	for name, c := range map[string]struct {
		stale    act
		failures int
	}{
		"success": {act{after: DefaultOpen + time.Second, reply: "yes"}, DefaultSample},
		"failure": {act{after: DefaultOpen + time.Second, err: errDown}, DefaultSample + 1},
	} {
		inBubble(t, name, func(t *testing.T) {
			tracker := tracked(t, noCooldown())
			begun(t, c.stale.watched(tracker))
			_ = bad().attempts(t, tracker, DefaultSample)
			time.Sleep(DefaultOpen)
			probe := begun(t, act{after: time.Hour}.watched(tracker))
			time.Sleep(time.Second)
			synctest.Wait()
			want(t, tracker, HalfOpen, DefaultSample+1-c.failures, c.failures)
			if err := tracker.May("d"); err == nil {
				t.Error("the place of the probe is free")
			}
			probe(nil)
			want(t, tracker, HalfOpen)
		})
	}
}

// A host asks its gate for all of a race before any of them is at work: both are told yes, one is called.
func TestARaceOfOneHalfOpenDelegateCallsItOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := opened(t)
		calls := 0
		d := act{after: time.Second, reply: "yes", calls: &calls}.watched(tracker)
		in := race(t, pattern.Config[string]{Delegates: []delegate{d, d, d}, Gate: gate(tracker, "d", "d", "d")})
		out, err := in.Run(t.Context(), firstgood.Brief{})
		if err != nil || calls != 1 {
			t.Fatalf("called %d times, want 1: %v", calls, err)
		}
		if len(out.History) != 2 || out.History[0].Kind != firstgood.KindNoStart || out.History[1].Kind != firstgood.KindNoStart {
			t.Errorf("got history %v, want two that did not start", out.History)
		}
		want(t, tracker, OK, 1)
	})
}

func TestTheBreakerCanBeOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, Config{Breaker: Breaker{Off: true, Sample: -1}})
		_ = bad().attempts(t, tracker, 100)
		want(t, tracker, OK, 0, 100, 0, 0)
		_ = act{err: failed(firstgood.KindRateLimited)}.attempts(t, tracker, 1)
		want(t, tracker, Cooling)
	})
}
