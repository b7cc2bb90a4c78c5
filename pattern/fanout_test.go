package pattern

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

func fanOut(t *testing.T, cfg config) (firstgood.Outcome[[]string], error) {
	t.Helper()
	fan, err := NewFanOut(cfg)
	if err != nil {
		t.Fatal(err)
	}
	fan.in.ready = synctest.Wait
	return fan.Run(t.Context(), question)
}

func TestAFanOutGivesTheRepliesInListedOrderAndKeepsTheFailures(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		out, err := fanOut(t, config{
			Delegates: delegates{good(3, "a").named("a"), bad(1, errDown).named("b"), good(2, "no").named("c"), good(1, "d").named("d")},
			Criteria:  reject(map[string]string{"no": "it says no"}),
		})
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "status", out.Status, firstgood.StatusWon)
		equal(t, "result", out.Result, []string{"a", "", "", "d"})
		equal(t, "winner", []any{out.Winner, out.WinnerIndex, out.WinnerPath}, []any{"", -1, []string(nil)})
		equal(t, "attempts", out.Attempts, 4)
		equal(t, "history", told(out.History), []string{"1 b: error: down", "2 c: rejected: it says no"})
		equal(t, "calls", states(out.Calls), []string{"a won", "b failed", "c rejected", "d won"})
		equal(t, "duration", out.Duration, time.Duration(3))
	})
	inBubble(t, "of one", func(t *testing.T) {
		out, err := fanOut(t, config{Delegates: delegates{good(1, "a").named("a")}})
		equal(t, "outcome", []any{err, out.Status, out.Result, out.WinnerIndex}, []any{nil, firstgood.StatusWon, []string{"a"}, -1})
	})
}

func TestAFanOutHasWonUnlessAllFailed(t *testing.T) {
	inBubble(t, "all failed", func(t *testing.T) {
		out, err := fanOut(t, config{Delegates: delegates{bad(1, errDown).named("a"), bad(1, errDown).named("b")}})
		if !errors.Is(err, firstgood.ErrNoWinner) || out.Status != firstgood.StatusExhausted || out.Result != nil || len(out.History) != 2 {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	inBubble(t, "all unjudged", func(t *testing.T) {
		out, err := fanOut(t, config{Delegates: delegates{good(1, "").named("a")}, Criteria: func(context.Context, firstgood.Brief, string) (firstgood.Verdict, error) {
			return firstgood.Verdict{}, errDown
		}})
		if !errors.Is(err, firstgood.ErrNoWinner) || out.Status != firstgood.StatusJudgeError {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	inBubble(t, "nobody asked", func(t *testing.T) {
		out, err := fanOut(t, config{})
		if !errors.Is(err, firstgood.ErrNoWinner) || out.Status != firstgood.StatusExhausted || out.Attempts != 0 {
			t.Errorf("got %+v, %v", out, err)
		}
	})
	inBubble(t, "stopped by its timeout", func(t *testing.T) {
		out, err := fanOut(t, config{Timeout: 2, Delegates: delegates{good(1, "a").named("a"), good(3, "b").named("b")}})
		if !errors.Is(err, context.DeadlineExceeded) || out.Status != firstgood.StatusTimeout || out.Result != nil || out.Attempts != 1 {
			t.Errorf("got %+v, %v", out, err)
		}
		equal(t, "calls", states(out.Calls), []string{"a lost", "b cancelled"})
	})
	inBubble(t, "called off before it began", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		fan, err := NewFanOut(config{Delegates: delegates{good(0, "a").named("a")}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := fan.Run(ctx, question)
		if !errors.Is(err, context.Canceled) || out.Status != firstgood.StatusCancelled || out.Attempts != 0 || out.WinnerIndex != -1 {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

func TestAFanOutStartsNoMoreThanItsWidth(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		_, err := fanOut(t, config{MaxParallel: 2, Delegates: delegates{
			good(3*time.Second, "a").logged("a", l), bad(time.Second, errDown).logged("b", l), good(4*time.Second, "c").logged("c", l), good(time.Second, "d").logged("d", l),
		}})
		if err != nil {
			t.Fatal(err)
		}
		l.want(t, l.entries[0], l.entries[1], "1s end b", "1s start c", "3s end a", "3s start d", "4s end d", "5s end c")
	})
}

func TestAFanOutInAChainIsOneDelegate(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		fan, err := NewFanOut(config{Name: "all", Delegates: delegates{bad(1, errDown).named("a")}})
		if err != nil {
			t.Fatal(err)
		}
		two, err := NewFanOut(config{Name: "two", Delegates: delegates{good(1, "b").named("b"), good(1, "c").named("c")}})
		if err != nil {
			t.Fatal(err)
		}
		in, err := NewFallbackChain(Config[[]string]{Delegates: []firstgood.Delegate[[]string]{fan, two}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := in.Run(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "result", out.Result, []string{"b", "c"})
		equal(t, "winner path", out.WinnerPath, []string{"two"})
		equal(t, "history", told(out.History), []string{"0 all: exhausted: all: no winner (exhausted): a: error: down"})
		equal(t, "calls", states(out.Calls), []string{"all failed", "a failed", "two won", "b won", "c won"})
	})
}

// A fan-out that wants some of its replies ends with them, and cancels the others.
func TestFanOutWants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(name string, d time.Duration, err error) firstgood.Delegate[string] {
			return firstgood.Func(name, func(ctx context.Context, _ firstgood.Brief) (string, error) {
				select {
				case <-time.After(d):
					return name, err
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			})
		}
		down := errors.New("down")
		fan, err := NewFanOut(Config[string]{Want: 2, Delegates: []firstgood.Delegate[string]{
			after("slow", time.Hour, nil), after("a", 2*time.Second, nil), after("broken", time.Second, down), after("b", 3*time.Second, nil)}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		out, err := fan.Run(t.Context(), firstgood.Text("x"))
		if err != nil || !slices.Equal(out.Result, []string{"", "a", "", "b"}) || time.Since(began) != 3*time.Second || out.Attempts != 3 || len(out.History) != 1 {
			t.Errorf("got %+v, %v after %v", out, err, time.Since(began))
		}
		if err := fan.Drain(t.Context()); err != nil || time.Since(began) != 3*time.Second {
			t.Errorf("the slow one was not cancelled: %v after %v", err, time.Since(began))
		}
		if _, err := NewFanOut(Config[string]{Want: 2, Delegates: []firstgood.Delegate[string]{after("a", 0, nil)}}); err == nil || err.Error() != "fan-out: Want is 2, and there are 1 delegates" {
			t.Errorf("got %v", err)
		}
	})
}

// What has succeeded but was not looked at when as many as were wanted had is not part of the result.
func TestFanOutWantsNoMore(t *testing.T) {
	delegates := make([]firstgood.Delegate[string], 5)
	for i := range delegates {
		delegates[i] = firstgood.Func("a", func(context.Context, firstgood.Brief) (string, error) { return "a", nil })
	}
	discarded := make(chan string, len(delegates))
	fan, err := NewFanOut(Config[string]{Want: 2, Delegates: delegates, Discard: func(reply string) { discarded <- reply }})
	if err != nil {
		t.Fatal(err)
	}
	out, err := fan.Run(t.Context(), firstgood.Text("x"))
	got := strings.Join(out.Result, "")
	if err != nil || got != "aa" || out.Attempts != 2 {
		t.Errorf("got %+v, %v", out, err)
	}
	if err := fan.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(discarded) != 3 {
		t.Errorf("%d were discarded", len(discarded))
	}
}

// The contexts of a fan-out's replies live until they are closed, also when it ended because all were good.
func TestFanOutKeepsItsContexts(t *testing.T) {
	for _, want := range []int{0, 1} {
		var release [2]func()
		var ctxs [2]context.Context
		delegates := make([]firstgood.Delegate[int], len(ctxs))
		for i := range delegates {
			delegates[i] = firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (int, error) {
				ctxs[i] = ctx
				return i, nil
			})
		}
		fan, err := NewFanOut(Config[int]{Want: want, MaxParallel: 1, Delegates: delegates, Hold: func(i int, r func()) bool {
			release[i] = r
			return true
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fan.Run(t.Context(), firstgood.Text("x")); err != nil {
			t.Fatal(err)
		}
		for i, ctx := range ctxs {
			if ctx == nil { // not started
				continue
			}
			if ctx.Err() != nil {
				t.Errorf("want %d: the context of reply %d has ended: %v", want, i, context.Cause(ctx))
			}
			release[i]()
			if ctx.Err() == nil {
				t.Errorf("want %d: the context of reply %d goes on", want, i)
			}
		}
	}
}
