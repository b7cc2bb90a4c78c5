package pattern

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// gated makes a gate of a function that asks for no more than the delegate and whether it is a tick.
func gated(f func(i int, tick bool) error) func(context.Context, Start) error {
	return func(_ context.Context, s Start) error { return f(s.I, s.Tick) }
}

func TestS17_AFloorIsKeptForThoseStillToCome(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		in := h.chain(t, config{Timeout: 10 * time.Second, Reserve: 3 * time.Second, Delegates: delegates{
			good(time.Hour, "").named("hung"), good(time.Hour, "").named("hung too"), good(2*time.Second, "4").named("quick"),
		}})
		start := time.Now()
		out, err := h.run(t, in)
		won(t, out, err, "quick", "4")
		equal(t, "elapsed", time.Since(start), 9*time.Second)
		equal(t, "history", told(out.History), []string{"0 hung: timeout: no reply within 4s", "1 hung too: timeout: no reply within 3s"})
		equal(t, "attempts", out.Attempts, 3)
	})
	inBubble(t, "a judgement gives way too", func(t *testing.T) {
		in := built(t)(NewFallbackChain(config{Timeout: 10 * time.Second, Reserve: 4 * time.Second,
			Delegates: delegates{good(0, "slow to judge").named("a"), good(0, "4").named("b")},
			Criteria: func(ctx context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
				if reply != "4" {
					<-ctx.Done()
					return firstgood.Verdict{}, context.Cause(ctx)
				}
				return firstgood.Verdict{}, nil
			}}))
		start := time.Now()
		out, err := in.Run(t.Context(), question)
		won(t, out, err, "b", "4")
		equal(t, "elapsed", time.Since(start), 6*time.Second)
		equal(t, "history", told(out.History), []string{"0 a: judge_error: no verdict in time"})
	})
	inBubble(t, "its own timeout is earlier", func(t *testing.T) {
		in := built(t)(NewFallbackChain(config{Timeout: 10 * time.Second, Reserve: time.Second, Delegates: delegates{
			firstgood.Within(2*time.Second, good(time.Hour, "").named("a")), good(0, "4").named("b")}}))
		start := time.Now()
		out, err := in.Run(t.Context(), question)
		won(t, out, err, "b", "4")
		equal(t, "elapsed", time.Since(start), 2*time.Second)
	})
	inBubble(t, "the deadline shows it", func(t *testing.T) {
		var left time.Duration
		in := built(t)(NewFallbackChain(config{Timeout: 10 * time.Second, Reserve: 3 * time.Second, Delegates: delegates{
			firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (string, error) {
				deadline, _ := ctx.Deadline()
				left = time.Until(deadline)
				return "4", nil
			}), good(0, "").named("b")}}))
		_, err := in.Run(t.Context(), question)
		equal(t, "err", err, nil)
		equal(t, "time left", left, 7*time.Second)
	})
	for name, cfg := range map[string]config{
		"reserve eats the timeout": {Timeout: 4 * time.Second, Reserve: 2 * time.Second, Delegates: delegates{good(0, "").named("a"), good(0, "").named("b"), good(0, "").named("c")}},
		"reserve without timeout":  {Reserve: time.Second, Delegates: delegates{good(0, "").named("a")}},
		"negative":                 {Timeout: time.Second, Reserve: -1, Delegates: delegates{good(0, "").named("a")}},
	} {
		if _, err := NewFallbackChain(cfg); err == nil || !strings.Contains(err.Error(), "Reserve") {
			t.Errorf("%s: got %v, want an error about Reserve", name, err)
		}
	}
}

func TestPlan_End(t *testing.T) {
	for _, row := range []struct {
		plan Plan
		want []time.Duration
	}{
		{Plan{N: 3, First: 1, Timeout: 10, Reserve: 3}, []time.Duration{4, 7, 0}},
		{Plan{N: 3, First: 3, Timeout: 10, Reserve: 3}, []time.Duration{0, 0, 0}},
		{Plan{N: 4, First: 2, Timeout: 10, Reserve: 3}, []time.Duration{7, 7, 0, 0}},
		{Plan{N: 5, First: 2, Timeout: 10, Reserve: 3}, []time.Duration{4, 4, 7, 7, 0}},
		{Plan{N: 3, First: 1, Delay: 1, Timeout: 10, Reserve: 3}, []time.Duration{0, 0, 0}},
		{Plan{N: 3, First: 1, Timeout: 10}, []time.Duration{0, 0, 0}},
		{Plan{N: 3, First: 1, Reserve: 3}, []time.Duration{0, 0, 0}},
	} {
		for i, want := range row.want {
			equal(t, "end", row.plan.End(i), want)
		}
	}
}

func TestStop(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		in := h.chain(t, config{
			Delegates: delegates{bad(0, errDown).named("a"), bad(0, &firstgood.Error{Kind: firstgood.KindRefused, Reason: "no"}).named("b"), good(0, "4").named("c")},
			Stop:      func(f firstgood.Failure) bool { return f.Kind == firstgood.KindRefused },
		})
		out, err := h.run(t, in)
		noWinner(t, out, err, firstgood.StatusStopped)
		equal(t, "history", told(out.History), []string{"0 a: error: down", "1 b: refused: no"})
		equal(t, "attempts", out.Attempts, 2)
	})
	everyHost(t, func(t *testing.T, h host) { // an attempt's timeout is a failure, too
		in := h.chain(t, config{
			Delegates: delegates{firstgood.Within(time.Second, good(time.Hour, "").named("a")), good(0, "4").named("b")},
			Stop:      func(f firstgood.Failure) bool { return f.Kind == firstgood.KindTimeout },
		})
		out, err := h.run(t, in)
		noWinner(t, out, err, firstgood.StatusStopped)
	})
	inBubble(t, "a race", func(t *testing.T) {
		l := newLog()
		out, err := race(t, config{
			Delegates: delegates{bad(time.Second, errDown).named("a"), good(time.Minute, "4").logged("b", l)},
			Stop:      func(firstgood.Failure) bool { return true },
		})
		noWinner(t, out, err, firstgood.StatusStopped)
		synctest.Wait()
		l.want(t, "0s start b", "1s cancelled b")
	})
	everyHost(t, func(t *testing.T, h host) { // who cannot be asked might have said yes
		in := h.chain(t, config{Delegates: delegates{bad(0, errDown).named("a"), good(0, "4").named("b")}, Stop: func(firstgood.Failure) bool { panic("policy") }})
		out, err := h.run(t, in)
		noWinner(t, out, err, firstgood.StatusStopped)
		equal(t, "history", told(out.History), []string{"0 a: error: down"})
	})
}

func TestGate_IsToldOfTheStart(t *testing.T) {
	inBubble(t, "race", func(t *testing.T) {
		var asked []Start
		ctx := context.WithValue(t.Context(), firstgood.ScopeKey{}, &firstgood.Scope{Record: firstgood.NewRecord(time.Now(), nil), Call: -1})
		in := built(t)(NewRace(config{StartAfter: time.Second, Delegates: delegates{bad(1500*time.Millisecond, errDown).named("a"), good(time.Hour, "").named("b"), good(0, "4").named("c")},
			Gate: func(ctx context.Context, s Start) error {
				if firstgood.ScopeOf(ctx) == nil {
					t.Error("the gate does not see the record")
				}
				asked = append(asked, s)
				return nil
			}}))
		_, err := in.Run(ctx, question)
		equal(t, "err", err, nil)
		equal(t, "starts", len(asked), 3)
		equal(t, "second", []any{asked[1].I, asked[1].Tick, asked[1].Started, len(asked[1].History)}, []any{1, true, 1, 0})
		equal(t, "third", []any{asked[2].I, asked[2].Tick, asked[2].Started, told(asked[2].History)}, []any{2, false, 2, []string{"0 a: error: down"}})
	})
}

func TestIdempotencyKey_IsOneOfAnAttempt(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		var keys []string
		note := func(name string, err error) delegate {
			return firstgood.Func(name, func(ctx context.Context, _ firstgood.Brief) (string, error) {
				keys = append(keys, firstgood.IdempotencyKey(ctx), firstgood.IdempotencyKey(ctx))
				return "4", err
			})
		}
		ctx := h.ctx(t.Context())
		in := h.nested(t, config{Timeout: time.Hour, Delegates: delegates{note("a", errDown), note("b", nil)}})
		outer := h.chain(t, config{Timeout: time.Hour, Delegates: delegates{in}})
		_, err := outer.Run(ctx, question)
		equal(t, "err", err, nil)
		equal(t, "calls", len(keys), 4)
		equal(t, "stable within an attempt", keys[0] == keys[1] && keys[2] == keys[3], true)
		equal(t, "different between attempts, and set", keys[0] != keys[2] && keys[0] != "" && keys[2] != "", true)
	})
}

// In simulation: whatever the schedule, no start after the deadline, every delegate that comes up gets its floor, and
// no budget is exceeded by more than what is in flight.
func TestS17_S33_RandomSchedulesKeepFloorsAndBudgets(t *testing.T) {
	random := rand.New(rand.NewPCG(17, 33))
	for n := range 20_000 {
		size := 1 + random.IntN(6)
		plan := Plan{N: size, First: 1 + random.IntN(size), Want: 1, Timeout: time.Duration(20+random.IntN(100)) * time.Second}
		if later := size - plan.First; later > 0 {
			plan.Reserve = plan.Timeout / time.Duration(later+1+random.IntN(4))
		}
		budget, spent := 1+random.IntN(size+2), 0
		sim := &Simulation{CancelAt: Never, Plan: plan}
		for range size {
			act := Act{After: time.Duration(random.IntN(150)) * time.Second, Accepted: random.IntN(4) == 0}
			if random.IntN(5) == 0 {
				act.After = Never
			}
			sim.Acts = append(sim.Acts, act)
		}
		plan.May = func(i int, _ bool) bool {
			if end := plan.End(i); end > 0 && sim.Now >= end {
				return false
			}
			if i > 0 && spent >= budget { // the first is never refused
				return false
			}
			spent++
			return true
		}
		_, _ = Settle(plan, sim)
		if spent > max(budget, 1) {
			t.Fatalf("run %d: %d starts of a budget of %d", n, spent, budget)
		}
		for _, e := range sim.Events {
			if e.Verb != "start" {
				continue
			}
			if e.At >= plan.Timeout {
				t.Fatalf("run %d: a start at %v, after the deadline of %v: %v", n, e.At, plan.Timeout, sim.Events)
			}
			end := plan.Timeout
			if at := plan.End(e.I); at > 0 {
				end = at
			}
			if plan.Reserve > 0 && e.I >= plan.First && end-e.At < plan.Reserve {
				t.Fatalf("run %d: delegate %d starts at %v and has to end at %v, want at least %v: %v", n, e.I, e.At, end, plan.Reserve, sim.Events)
			}
		}
	}
}
