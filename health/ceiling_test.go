package health

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

func ceilingOf(t *testing.T, share float64, burst int) *Ceiling {
	t.Helper()
	c, err := NewCeiling(CeilingConfig{Share: share, Burst: burst})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// simulated makes so many runs, one after another, that hedge after 400 ms, over delegates that take so long, and
// returns how many extra starts they made.
func simulated(t *testing.T, runs int, takes time.Duration, ceiling *Ceiling) (extra int) {
	t.Helper()
	for range runs {
		host := &pattern.Simulation{CancelAt: pattern.Never, Acts: []pattern.Act{{After: takes, Accepted: true}, {After: takes, Accepted: true}, {After: takes, Accepted: true}}}
		d, err := pattern.Settle(pattern.Plan{N: 3, First: 1, Want: 1, Delay: 400 * time.Millisecond, May: func(i int, tick bool) bool {
			if ceiling == nil {
				return true
			}
			if i == 0 && !tick {
				ceiling.Run()
			}
			return !tick || ceiling.Extra() == nil
		}}, host)
		if err != nil || d.Winner < 0 {
			t.Fatalf("got %+v, %v", d, err)
		}
		extra += d.Started - 1
	}
	return extra
}

func TestS34_EverythingSlowsTenfold(t *testing.T) {
	ceiling := ceilingOf(t, 0.1, 10)
	if extra := simulated(t, 200, 100*time.Millisecond, ceiling); extra != 0 {
		t.Errorf("%d extra starts while all was well", extra)
	}
	if extra := simulated(t, 1000, time.Second, nil); extra != 2000 {
		t.Errorf("without a ceiling: %d extra starts, want 2000, or this test shows nothing", extra)
	}
	if extra := simulated(t, 1000, time.Second, ceiling); extra != 109 { // the first of them finds the bucket full
		t.Errorf("%d extra starts in 1000 slow runs, want 999 × 0.1 + 10", extra)
	}
	if extra := simulated(t, 1000, time.Second, ceiling); extra != 100 {
		t.Errorf("%d extra starts in the next 1000, want 1000 × 0.1", extra)
	}
	_ = simulated(t, 200, 100*time.Millisecond, ceiling)
	if extra := simulated(t, 100, time.Second, ceiling); extra != 19 {
		t.Errorf("%d extra starts in 100 runs after a quiet time, want 99 × 0.1 + 10", extra)
	}
}

// The same over real runs that overlap.
func TestS34_RunsThatOverlapShareTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ceiling := ceilingOf(t, 0.05, 3)
		var starts atomic.Int64
		slow := firstgood.Func("slow", func(ctx context.Context, b firstgood.Brief) (string, error) {
			starts.Add(1)
			return act{after: time.Second, reply: "yes"}.attempt(ctx, b)
		})
		in := race(t, pattern.Config[string]{
			Delegates: []delegate{slow, slow}, StartAfter: 100 * time.Millisecond,
			Gate: func(_ context.Context, s pattern.Start) error {
				if s.Started == 0 {
					ceiling.Run()
				}
				if !s.Tick {
					return nil
				}
				return ceiling.Extra()
			},
		})
		const runs = 400
		done := make(chan error, runs)
		for range runs {
			go func() {
				_, err := in.Run(t.Context(), firstgood.Brief{})
				done <- err
			}()
			time.Sleep(10 * time.Millisecond)
		}
		for range runs {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if extra := starts.Load() - runs; extra > 23 || extra < 20 {
			t.Errorf("%d extra starts in 400 runs, want at most 400 × 0.05 + 3, and most of that", extra)
		}
	})
}

// Of any consecutive runs, extra starts are at most share × runs + burst.
func TestS34_TheBoundHoldsOverEveryStretch(t *testing.T) {
	random := rand.New(rand.NewPCG(34, 0))
	for range 200 {
		share, burst := 0.01+random.Float64()*2, 1+random.IntN(20)
		ceiling := ceilingOf(t, share, burst)
		type mark struct{ runs, extra int }
		marks := []mark{{}}
		for range 300 {
			last := marks[len(marks)-1]
			if random.IntN(3) == 0 {
				ceiling.Run()
				last.runs++
			} else if ceiling.Extra() == nil {
				last.extra++
			}
			for _, from := range marks {
				if extra, most := last.extra-from.extra, share*float64(last.runs-from.runs)+float64(burst); float64(extra) > most {
					t.Fatalf("share %v, burst %d: %d extra starts in %d runs", share, burst, extra, last.runs-from.runs)
				}
			}
			marks = append(marks, last)
		}
	}
}

func TestCeilingConfig(t *testing.T) {
	c, err := NewCeiling(CeilingConfig{})
	if err != nil {
		t.Fatal(err)
	}
	for range DefaultBurst {
		if err := c.Extra(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Extra(); err == nil || err.Error() != "extra starts are at their ceiling, which is 0.1 for each run" {
		t.Errorf("got %v", err)
	}
	for range 9 {
		c.Run()
	}
	if c.Extra() == nil {
		t.Error("nine runs have paid for an extra start, want ten")
	}
	c.Run()
	if err := c.Extra(); err != nil {
		t.Errorf("after ten runs: %v", err)
	}
	for _, bad := range []CeilingConfig{{Share: -1}, {Share: 1e-9}, {Share: 1001}, {Burst: -1}, {Burst: 1<<31 - 1}} {
		if _, err := NewCeiling(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}
