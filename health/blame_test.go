package health

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

// Who is to blame: only the delegate's own failures count against it.

// touchy are settings in which anything that counts shows: one failure opens the breaker or sets a cooldown.
func touchy() Config {
	cfg := Config{Cooldown: map[firstgood.Kind]time.Duration{}, Breaker: Breaker{Sample: 1, Ratio: 0.01}}
	for _, kind := range blamable {
		cfg.Cooldown[kind] = time.Minute
	}
	cfg.Breaker.Counts = blamable
	return cfg
}

func TestS21_CallersStopChargesNobody(t *testing.T) {
	for name, deaf := range map[string]bool{"obedient": false, "deaf": true} {
		inBubble(t, name, func(t *testing.T) {
			tracker := tracked(t, touchy())
			next := 0
			in := chain(t, pattern.Config[string]{Delegates: []delegate{
				act{after: time.Hour, deaf: deaf}.watched(tracker),
				Watch(tracker, "next", firstgood.Func("next", act{calls: &next}.attempt)),
			}})
			ctx, cancel := context.WithCancelCause(t.Context())
			stop := errors.New("the user pressed stop")
			time.AfterFunc(time.Second, func() { cancel(stop) })
			if _, err := in.Run(ctx, firstgood.Brief{}); !errors.Is(err, stop) {
				t.Errorf("got error %v, want the caller's", err)
			}
			synctest.Wait()
			want(t, tracker, OK, 0, 0)
			if err := in.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(t, tracker, OK, 0, 0, 1, 0)
			if next != 0 {
				t.Error("the next delegate was called")
			}
		})
	}
}

func TestS22_CallersDeadlineChargesNobody(t *testing.T) {
	inBubble(t, "of the context", func(t *testing.T) {
		tracker := tracked(t, touchy())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := chain(t, pattern.Config[string]{Delegates: []delegate{act{after: time.Second}.limited(tracker, time.Minute)}}).Run(ctx, firstgood.Brief{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got error %v", err)
		}
		synctest.Wait()
		want(t, tracker, OK, 0, 0, 1, 0)
	})
	for name, cause := range map[string]error{"of another kind": failed(firstgood.KindUnavailable), "that panics": panicking{}} {
		inBubble(t, "late, and with a cause "+name, func(t *testing.T) {
			tracker := tracked(t, touchy())
			end := begun(t, act{after: time.Hour}.limited(tracker, time.Minute))
			time.Sleep(59 * time.Second)
			end(cause)
			want(t, tracker, OK, 0, 0, 1, 0)
		})
	}
	inBubble(t, "of a context, at the delegate's own hand", func(t *testing.T) {
		tracker := tracked(t, touchy())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		// It reports what befell it as if it were its own.
		d := Watch(tracker, "d", firstgood.Func("d", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			<-ctx.Done()
			return "", failed(firstgood.KindUnavailable)
		}))
		_, _ = d.Attempt(ctx, firstgood.Brief{})
		want(t, tracker, OK, 0, 0, 1, 0)
	})
	inBubble(t, "of the run", func(t *testing.T) {
		tracker := tracked(t, touchy())
		in := chain(t, pattern.Config[string]{Timeout: 100 * time.Millisecond, Delegates: []delegate{act{after: time.Second}.limited(tracker, time.Minute)}})
		if out, _ := in.Run(t.Context(), firstgood.Brief{}); out.Status != firstgood.StatusTimeout {
			t.Errorf("got status %s", out.Status)
		}
		synctest.Wait()
		want(t, tracker, OK, 0, 0, 1, 0)
	})
	inBubble(t, "of the run, and the delegate is deaf beyond its own", func(t *testing.T) {
		tracker := tracked(t, touchy())
		in := chain(t, pattern.Config[string]{Timeout: 100 * time.Millisecond, Delegates: []delegate{act{after: time.Hour, deaf: true}.limited(tracker, time.Minute)}})
		_, _ = in.Run(t.Context(), firstgood.Brief{})
		if err := in.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		want(t, tracker, OK, 0, 0, 1, 0)
	})
	inBubble(t, "of a run, and the delegate has no timeout", func(t *testing.T) {
		tracker := tracked(t, touchy())
		in := chain(t, pattern.Config[string]{Timeout: time.Hour, Delegates: []delegate{act{after: 2 * time.Hour}.watched(tracker)}})
		_, _ = in.Run(t.Context(), firstgood.Brief{})
		synctest.Wait()
		want(t, tracker, OK, 0, 0, 1, 0)
	})
	inBubble(t, "of the attempt around an inner instance", func(t *testing.T) {
		tracker := tracked(t, touchy())
		inner := chain(t, pattern.Config[string]{Delegates: []delegate{act{after: time.Hour}.limited(tracker, time.Minute)}})
		in := chain(t, pattern.Config[string]{Delegates: []delegate{firstgood.Within[string](time.Second, inner)}})
		out, _ := in.Run(t.Context(), firstgood.Brief{})
		if len(out.History) != 1 || out.History[0].Kind != firstgood.KindTimeout {
			t.Errorf("got history %v", out.History)
		}
		synctest.Wait()
		want(t, tracker, OK, 0, 0, 1, 0)
	})
}

func TestS23_ALostRaceIsNoFailureAndNoSuccess(t *testing.T) {
	for name, loser := range map[string]act{
		"obedient":            {after: time.Hour},
		"deaf, and fails":     {after: time.Minute, err: errDown, deaf: true},
		"deaf, and replies":   {after: time.Minute, reply: "late", deaf: true},
		"deaf beyond its own": {after: time.Hour, deaf: true},
	} {
		inBubble(t, name, func(t *testing.T) {
			tracker := tracked(t, touchy())
			in := race(t, pattern.Config[string]{Delegates: []delegate{
				loser.limited(tracker, 10*time.Minute),
				firstgood.Func("winner", act{after: time.Second, reply: "yes"}.attempt),
			}})
			if out, err := in.Run(t.Context(), firstgood.Brief{}); out.Winner != "winner" {
				t.Fatal(err)
			}
			synctest.Wait()
			want(t, tracker, OK, 0, 0)
			if err := in.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			want(t, tracker, OK, 0, 0, 1, 0)
		})
	}
}

func TestWhatCounts(t *testing.T) {
	for name, c := range map[string]struct {
		err       error
		failures  int
		uncounted int
	}{
		"plain error":            {errDown, 1, 0},
		"error":                  {failed(firstgood.KindError), 1, 0},
		"its own timeout":        {failed(firstgood.KindTimeout), 1, 0},
		"DeadlineExceeded (S19)": {context.DeadlineExceeded, 1, 0},
		"rate_limited":           {failed(firstgood.KindRateLimited), 1, 0},
		"unavailable":            {failed(firstgood.KindUnavailable), 1, 0},
		"truncated":              {failed(firstgood.KindTruncated), 1, 0},
		"panic":                  {failed(firstgood.KindPanic), 1, 0},
		"auth":                   {failed(firstgood.KindAuth), 0, 1},
		"context_length":         {failed(firstgood.KindContextLength), 0, 1},
		"bad_request":            {failed(firstgood.KindBadRequest), 0, 1},
		"refused":                {failed(firstgood.KindRefused), 0, 1},
		"rejected":               {failed(firstgood.KindRejected), 0, 1},
		"judge_error":            {failed(firstgood.KindJudgeError), 0, 1},
		"exhausted":              {&firstgood.NoWinnerError{Status: firstgood.StatusExhausted}, 0, 1},
		"no_start":               {failed(firstgood.KindNoStart), 0, 1},
		"an error that panics":   {panicking{}, 1, 0},
	} {
		inBubble(t, name, func(t *testing.T) {
			cfg := noCooldown()
			cfg.Breaker.Sample = 1
			tracker := tracked(t, cfg)
			if err := (act{err: c.err}).attempts(t, tracker, 1); err != c.err { //nolint:errorlint // the very same
				t.Errorf("got error %v, want the delegate's own", err)
			}
			state := OK
			if c.failures > 0 {
				state = Open
			}
			want(t, tracker, state, 0, c.failures, c.uncounted, 0)
		})
	}
	inBubble(t, "auth, when it is named", func(t *testing.T) {
		tracker := tracked(t, Config{Breaker: Breaker{Sample: 1, Counts: []firstgood.Kind{firstgood.KindAuth}}})
		_ = act{err: errDown}.attempts(t, tracker, 1)
		want(t, tracker, OK, 0, 0, 1, 0)
		_ = act{err: failed(firstgood.KindAuth)}.attempts(t, tracker, 1)
		want(t, tracker, Open, 0, 1, 1, 0)
	})
}

type panicking struct{}

func (panicking) Error() string { panic("no message") }
func (panicking) Unwrap() error { panic("no cause") }

func TestARejectedReplyIsASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, touchy())
		in := chain(t, pattern.Config[string]{
			Delegates: []delegate{act{reply: " "}.watched(tracker)},
			Criteria:  firstgood.NonEmpty[string],
		})
		if out, _ := in.Run(t.Context(), firstgood.Brief{}); len(out.History) != 1 || out.History[0].Kind != firstgood.KindRejected {
			t.Fatalf("got history %v", out.History)
		}
		want(t, tracker, OK, 1, 0, 0, 0)
	})
}

func TestAPanicCountsAndGoesOn(t *testing.T) {
	for name, leave := range map[string]func(){"panic": func() { panic("boom") }, "Goexit": runtime.Goexit} {
		inBubble(t, name, func(t *testing.T) {
			tracker := tracked(t, touchy())
			in := chain(t, pattern.Config[string]{Delegates: []delegate{
				Watch(tracker, "d", firstgood.Func("d", func(context.Context, firstgood.Brief) (string, error) {
					leave()
					return "", nil
				})),
			}})
			out, _ := in.Run(t.Context(), firstgood.Brief{})
			if len(out.History) != 1 || out.History[0].Kind != firstgood.KindPanic {
				t.Fatalf("got history %v, want a panic", out.History)
			}
			synctest.Wait()
			want(t, tracker, Cooling, 0, 1, 0, 0)
			if s := tracker.State("d"); s.Reason != "panic" {
				t.Errorf("got reason %q", s.Reason)
			}
		})
	}
}

// The host leaves a deaf delegate behind at its timeout, and so does its health: then, and once.
func TestTheAttemptsOwnTimeoutCountsOnceAndAtOnce(t *testing.T) {
	for name, a := range map[string]act{
		"obedient":                   {after: time.Hour},
		"deaf, and fails":            {after: time.Hour, err: errDown, deaf: true},
		"deaf, and replies":          {after: time.Hour, reply: "late", deaf: true},
		"deaf, and fails much later": {after: 100 * time.Hour, err: errDown, deaf: true},
	} {
		inBubble(t, name, func(t *testing.T) {
			tracker := tracked(t, touchy())
			in := chain(t, pattern.Config[string]{Delegates: []delegate{a.limited(tracker, time.Second)}})
			start := time.Now()
			out, _ := in.Run(t.Context(), firstgood.Brief{})
			if len(out.History) != 1 || out.History[0].Kind != firstgood.KindTimeout || time.Since(start) != time.Second {
				t.Fatalf("got history %v after %v", out.History, time.Since(start))
			}
			synctest.Wait()
			want(t, tracker, Cooling, 0, 1, 0, 0)
			if err := in.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
			if s := tracker.State("d"); s.Failures != 1 || s.Successes+s.Uncounted != 0 {
				t.Errorf("after its return: got %+v", s)
			}
		})
	}
}

// Whether the delegate or the news of its timeout is first makes no difference.
func TestAReplyThatComesWithTheTimeoutIsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, touchy())
		ctx, cancel := context.WithCancelCause(t.Context())
		d := Watch(tracker, "d", firstgood.Within(time.Minute, firstgood.Func("d", func(context.Context, firstgood.Brief) (string, error) {
			time.Sleep(time.Minute)
			cancel(failed(firstgood.KindTimeout))
			return "yes", nil
		})))
		_, _ = d.Attempt(ctx, firstgood.Brief{})
		want(t, tracker, Cooling, 0, 1, 0, 0)
	})
}

// A run's timeout counts only where it came within a tenth of the attempt's own.
func TestATimeoutNeedsTheDelegatesTime(t *testing.T) {
	for name, c := range map[string]struct {
		run      time.Duration
		failures int
	}{"before nine tenths": {9*time.Second - 1, 0}, "after nine tenths": {9*time.Second + 1, 1}} {
		inBubble(t, name, func(t *testing.T) {
			tracker := tracked(t, touchy())
			in := chain(t, pattern.Config[string]{Timeout: c.run, Delegates: []delegate{act{after: time.Hour}.limited(tracker, 10*time.Second)}})
			_, _ = in.Run(t.Context(), firstgood.Brief{})
			synctest.Wait()
			if s := tracker.State("d"); s.Failures != c.failures || s.Uncounted != 1-c.failures {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// afterFuncs is a context that counts what waits for its end.
type afterFuncs struct {
	context.Context
	done    chan struct{} // of its own, or the context inside would be asked
	waiting *int
}

func (c afterFuncs) Done() <-chan struct{} { return c.done }

func (c afterFuncs) AfterFunc(func()) func() bool {
	*c.waiting++
	return func() bool { *c.waiting--; return true }
}

// A context may live long: nothing is left in it.
func TestNothingIsKept(t *testing.T) {
	for name, after := range map[string]time.Duration{"soon": time.Second, "late": 59 * time.Second} {
		inBubble(t, name, func(t *testing.T) {
			tracker := opened(t)
			waiting := 0
			ctx := afterFuncs{t.Context(), make(chan struct{}), &waiting}
			for range 3 { // the first tries it out
				if _, err := (act{after: after, reply: "yes"}).limited(tracker, time.Minute).Attempt(ctx, firstgood.Brief{}); err != nil {
					t.Fatal(err)
				}
			}
			a, _ := tracker.entry("d", false).begin(time.Minute)
			a.expectNoMore()
			a.expect(ctx) // a timer that fires as the delegate returns
			if waiting != 0 {
				t.Errorf("%d functions wait for the context's end", waiting)
			}
		})
	}
}

// A winner's context lives until its reply is closed, and what ends it then is no news.
func TestTheEndOfAWinnersContextIsNoNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, touchy())
		ctx, cancel := context.WithCancelCause(t.Context())
		if _, err := (act{reply: "yes"}).limited(tracker, time.Second).Attempt(ctx, firstgood.Brief{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // virtual
		cancel(failed(firstgood.KindTimeout))
		synctest.Wait()
		want(t, tracker, OK, 1, 0, 0, 0)
	})
}
