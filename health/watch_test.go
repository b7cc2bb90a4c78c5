package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/delegatetest"
	"github.com/firstgood/firstgood/pattern"
)

// A watched delegate is as good a delegate as the one inside.
func TestSuite(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
		w := delegatetest.NewWork(b)
		return w.Subject(Watch(tracked(t, Config{}), "", firstgood.Within(time.Hour, firstgood.Func("watched",
			func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
				if ctx.Err() != nil {
					return firstgood.Reply{}, context.Cause(ctx)
				}
				answer, err := w.Do(ctx, brief.String())
				if err != nil && ctx.Err() == nil {
					err = &firstgood.Error{Err: err}
				}
				return firstgood.Reply{Text: answer}, err
			}))))
	}})
}

// full is a delegate with everything optional.
type full struct {
	delegate
	drained error
}

func (f full) AttemptTimeout() time.Duration { return time.Minute }
func (f full) Drain(context.Context) error   { return f.drained }
func (f full) Nests() bool                   { return true }

type named struct{}

func (named) Name() string { return "plain" }
func (named) Attempt(context.Context, firstgood.Brief) (string, error) {
	return "yes", nil
}

func TestWatchForwards(t *testing.T) {
	tracker := tracked(t, Config{})
	plain := delegate(named{})
	for name, c := range map[string]struct {
		inner   delegate
		limit   time.Duration
		drained error
		nests   bool
	}{
		"plain": {plain, 0, nil, false},
		"full":  {full{plain, errDown}, time.Minute, errDown, true},
	} {
		t.Run(name, func(t *testing.T) {
			d := Watch(tracker, "other", c.inner)
			if d.Name() != "plain" {
				t.Errorf("got name %q", d.Name())
			}
			if got := d.(firstgood.Limited).AttemptTimeout(); got != c.limit {
				t.Errorf("got timeout %v, want %v", got, c.limit)
			}
			if err := d.(firstgood.Drainer).Drain(t.Context()); !errors.Is(err, c.drained) {
				t.Errorf("got %v of Drain", err)
			}
			if got := pattern.Nests(d); got != c.nests {
				t.Errorf("nests: got %v", got)
			}
		})
	}
	if d := Watch(nil, "x", delegate(full{plain, nil})); d != delegate(full{plain, nil}) {
		t.Errorf("without a tracker: got %v", d)
	}
	if d := Watch[string](tracker, "x", nil); d != nil {
		t.Errorf("without a delegate: got %v", d)
	}
}

func TestDelegatesOfOneNameShareTheirHealth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tracker := tracked(t, Config{})
		ill := Watch(tracker, "", firstgood.Func("shared", act{err: failed(firstgood.KindRateLimited)}.attempt))
		_, _ = ill.Attempt(t.Context(), firstgood.Brief{})
		_, err := Watch(tracker, "shared", firstgood.Func("another", good().attempt)).Attempt(t.Context(), firstgood.Brief{})
		cooling(t, err, Cooling, DefaultRateLimited)
		if _, err := Watch(tracker, "else", firstgood.Func("shared", good().attempt)).Attempt(t.Context(), firstgood.Brief{}); err != nil {
			t.Error(err)
		}
		if err := tracker.May("unknown"); err != nil {
			t.Error(err)
		}
		if got := tracker.State("unknown"); got != (Status{Delegate: "unknown", State: OK}) {
			t.Errorf("got %+v", got)
		}
		want := []Status{
			{Delegate: "else", State: OK, Successes: 1},
			{Delegate: "shared", State: Cooling, Until: time.Now().Add(DefaultRateLimited), Reason: "rate_limited", Failures: 1, Refused: 1},
		}
		if got := tracker.States(); !slices.Equal(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	tracker := tracked(t, Config{Cooldown: map[firstgood.Kind]time.Duration{}})
	var wg sync.WaitGroup
	for n := range 8 {
		wg.Go(func() {
			for i := range 200 {
				name := fmt.Sprint("d", i%3)
				d := Watch(tracker, name, firstgood.Func(name, act{err: map[bool]error{true: errDown}[(i+n)%4 == 0]}.attempt))
				ctx, cancel := context.WithCancel(t.Context())
				_, _ = d.Attempt(ctx, firstgood.Brief{})
				cancel()
				_ = tracker.May(name)
				_, _ = tracker.Earliest("d0", "d1")
				_ = tracker.Await(ctx, time.Hour, "d0", "d1", "d2")
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, s := range tracker.States() {
		sum += s.Successes + s.Failures + s.Uncounted + s.Refused
	}
	if sum != 1600 {
		t.Errorf("%d attempts were counted, want 1600", sum)
	}
}

func TestErrors(t *testing.T) {
	until := time.Date(2026, 11, 30, 12, 3, 4, 0, time.UTC)
	for _, c := range []struct {
		e    CoolingError
		want string
	}{
		{CoolingError{"d", Cooling, until, 58 * time.Second, "rate_limited"}, "cooling for 58s after rate_limited (until 12:03:04)"},
		{CoolingError{"d", Cooling, until, 57*time.Second + 1, "rate_limited"}, "cooling for 58s after rate_limited (until 12:03:04)"},
		{CoolingError{"d", Cooling, until, 90 * time.Minute, "unavailable"}, "cooling for 1h30m0s after unavailable (until 12:03:04)"},
		{CoolingError{"d", Open, until, 1, "3 of 5 attempts failed"}, "open for 1ms after 3 of 5 attempts failed (until 12:03:04)"},
	} {
		if got := c.e.Error(); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

func TestConfig(t *testing.T) {
	type cooldown = map[firstgood.Kind]time.Duration
	for want, cfg := range map[string]Config{
		"MaxCooldown is negative":                   {MaxCooldown: -1},
		`a Cooldown: "rate-limited" says nothing`:   {Cooldown: cooldown{"rate-limited": 1}},
		`a Cooldown: "refused" says nothing`:        {Cooldown: cooldown{firstgood.KindRefused: time.Second}},
		"Cooldown of auth is 0s":                    {Cooldown: cooldown{firstgood.KindAuth: 0}},
		"Cooldown of auth is 2h0m0s, above":         {Cooldown: cooldown{firstgood.KindAuth: 2 * time.Hour}},
		"breaker Counts nothing; set Off":           {Breaker: Breaker{Counts: []firstgood.Kind{}}},
		`breaker's Counts: "rejected" says nothing`: {Breaker: Breaker{Counts: []firstgood.Kind{firstgood.KindRejected}}},
		"Window is 1ms":                             {Breaker: Breaker{Window: time.Millisecond}},
		"Sample is negative":                        {Breaker: Breaker{Sample: -1}},
		"Ratio is 1.5":                              {Breaker: Breaker{Ratio: 1.5}},
		"Ratio is 0.001":                            {Breaker: Breaker{Ratio: 0.001}},
		"Open is negative":                          {Breaker: Breaker{Open: -1}},
	} {
		if _, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "health: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for _, cfg := range []Config{{}, {MaxCooldown: time.Second}, {Breaker: Breaker{Off: true, Ratio: 7}}, {Breaker: Breaker{Ratio: 1, Sample: 1, Window: 10 * time.Millisecond}}} {
		if _, err := New(cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
