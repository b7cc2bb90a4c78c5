package pattern

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// Situations that users of other systems have met, by number. S8 is in streams_test.go, S35 and S36 in
// lifetimes_test.go.

func TestS12_RejectedIsNotErroredAndItsReplyIsKept(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		long := strings.Repeat("a", firstgood.ExcerptUnits-1) + "😀 and more"
		out, err := h.run(t, h.chain(t, config{
			Delegates: delegates{good(0, long).named("a"), bad(0, errDown).named("b")},
			Criteria:  reject(map[string]string{long: "too long"}),
		}))
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "history", told(out.History), []string{"0 a: rejected: too long", "1 b: error: down"})
		equal(t, "reply", out.History[0].Reply, strings.Repeat("a", firstgood.ExcerptUnits-1)) // never half a character
		equal(t, "error of a rejection", out.History[0].Err, error(nil))
		equal(t, "reply of an error", out.History[1].Reply, "")
	})
}

func TestS15_EachDelegateHasItsOwnTimeout(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		l := newLog()
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{
			firstgood.Within(time.Second, good(time.Hour, "").logged("a", l)),
			firstgood.Within(2*time.Second, good(time.Hour, "").logged("b", l)),
			good(5*time.Second, "4").logged("c", l),
		}}))
		won(t, out, err, "c", "4")
		l.want(t, "0s start a", "1s cancelled a", "1s start b", "3s cancelled b", "3s start c", "8s end c")
		equal(t, "history", told(out.History), []string{"0 a: timeout: no reply within 1s", "1 b: timeout: no reply within 2s"})
		if !errors.Is(out.History[0].Err, context.DeadlineExceeded) {
			t.Errorf("got %v, want an error that matches DeadlineExceeded", out.History[0].Err)
		}
	})
}

// The retries are the adapter's; what the pattern holds is that a timeout covers all that an attempt does.
func TestS16_ATimeoutStartsAtDispatchAndCoversTheInnerRetriesButNotTheJudgement(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		start := time.Now()
		tries := 0
		retries := firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			for {
				select {
				case <-time.After(8 * time.Second):
					tries++
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			}
		})
		slowJudge := func(ctx context.Context, _ firstgood.Brief, _ string) (firstgood.Verdict, error) {
			<-time.After(time.Minute)
			return firstgood.Verdict{}, ctx.Err()
		}
		all := delegates{firstgood.Within(20*time.Second, retries), firstgood.Within(20*time.Second, good(19*time.Second, "4").named("b"))}
		out, err := h.run(t, h.chain(t, config{Delegates: all, Criteria: slowJudge}))
		won(t, out, err, "b", "4")
		equal(t, "tries", tries, 2)
		equal(t, "elapsed", time.Since(start), (20+19+60)*time.Second)
		equal(t, "history", told(out.History), []string{"0 a: timeout: no reply within 20s"})
	})
}

func TestTheRunsTimeoutCapsEverythingTheJudgeIncluded(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		start := time.Now()
		var cause error
		out, err := h.run(t, h.chain(t, config{
			Timeout:   3 * time.Second,
			Delegates: delegates{bad(time.Second, errDown).named("a"), firstgood.Within(2500*time.Millisecond, good(time.Second, "4").named("b")), good(0, "").named("c")},
			Criteria: func(ctx context.Context, _ firstgood.Brief, _ string) (firstgood.Verdict, error) {
				<-ctx.Done()
				cause = context.Cause(ctx)
				return firstgood.Verdict{}, cause
			},
		}))
		e := noWinner(t, out, err, firstgood.StatusTimeout)
		equal(t, "elapsed", time.Since(start), 3*time.Second)
		equal(t, "history", told(out.History), []string{"0 a: error: down"})
		equal(t, "attempts", out.Attempts, 2)
		equal(t, "message", err.Error(), "fallback-chain: no winner (timeout: no decision within 3s): a: error: down")
		synctest.Wait()
		for _, err := range []error{err, e.Cause, cause} {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want an error that matches DeadlineExceeded", err)
			}
		}
	})
	everyHost(t, func(t *testing.T, h host) { // a nested one is a failure of kind timeout, with its history
		inner := h.nested(t, config{Name: "inner", Timeout: 2 * time.Second, Delegates: delegates{bad(time.Second, errDown).named("x"), good(time.Hour, "").named("y")}})
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{inner, good(0, "4").named("b")}}))
		won(t, out, err, "b", "4")
		equal(t, "kind", out.History[0].Kind, firstgood.KindTimeout)
		equal(t, "nested", told(out.History[0].Nested), []string{"0 x: error: down"})
	})
}

func TestTheCallersStopGoesBeforeTheRunsTimeoutAtOneInstant(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		errLeft := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errLeft) })
		in := h.chain(t, config{Timeout: time.Second, Delegates: delegates{good(time.Second, "4").named("a")}})
		out, err := in.Run(h.ctx(ctx), question)
		e := noWinner(t, out, err, firstgood.StatusCancelled)
		equal(t, "cause", e.Cause, errLeft)
	})
}

func TestAnAttemptSeesTheDeadlinesThatHold(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		start := time.Now()
		deadline := func(ctx context.Context) time.Duration {
			at, ok := ctx.Deadline()
			if !ok {
				return 0
			}
			return at.Sub(start)
		}
		var seen []time.Duration
		look := func(ctx context.Context, _ firstgood.Brief) (string, error) {
			seen = append(seen, deadline(ctx))
			<-time.After(time.Second)
			return "4", nil
		}
		judge := func(ctx context.Context, _ firstgood.Brief, _ string) (firstgood.Verdict, error) {
			seen = append(seen, deadline(ctx))
			return firstgood.Verdict{Rejected: true}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		all := delegates{firstgood.Within(5*time.Second, firstgood.Func("a", look)), firstgood.Func("b", look)}
		_, _ = h.chain(t, config{Timeout: 20 * time.Second, Delegates: all, Criteria: judge}).Run(h.ctx(ctx), question)
		equal(t, "with the run's timeout", seen, []time.Duration{5 * time.Second, 20 * time.Second, 20 * time.Second, 20 * time.Second})
		start, seen = time.Now(), nil
		_, _ = h.chain(t, config{Delegates: all, Criteria: judge}).Run(h.ctx(ctx), question)
		equal(t, "without", seen, []time.Duration{5 * time.Second, 58 * time.Second, 58 * time.Second, 58 * time.Second})
	})
}

func TestS18_CancelAndTickAtOneInstantStartNothing(t *testing.T) {
	errLeft := errors.New("the user left")
	inBubble(t, "", func(t *testing.T) {
		for range 50 {
			l := newLog()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(errLeft) })
			in := built(t)(NewRace(config{StartAfter: time.Second, Delegates: delegates{act{after: time.Minute, deaf: true}.named("a"), good(0, "4").logged("b", l)}}))
			out, err := in.Run(ctx, question)
			noWinner(t, out, err, firstgood.StatusCancelled)
			equal(t, "elapsed", time.Since(l.start), time.Second)
			_ = in.Drain(t.Context())
			l.want(t)
		}
	})
	inBubble(t, "a finish goes before a tick too", func(t *testing.T) {
		for range 50 {
			l := newLog()
			out, err := race(t, config{StartAfter: time.Second, Delegates: delegates{good(time.Second, "4").logged("a", l), good(0, "5").logged("b", l)}})
			won(t, out, err, "a", "4")
			l.want(t, "0s start a", "1s end a")
		}
	})
}

func TestS19_DeadlineExceededWhileTheRunIsAliveIsAnOrdinaryFailure(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		own := firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			<-ctx.Done()
			return "", ctx.Err()
		})
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{own, bad(0, context.Canceled).named("b"), good(0, "4").named("c")}}))
		won(t, out, err, "c", "4")
		equal(t, "history", told(out.History), []string{"0 a: timeout: context deadline exceeded", "1 b: error: context canceled"})
	})
}

func TestS20_TheRunReturnsAtItsDeadlineNotWhenTheDeafDo(t *testing.T) {
	deaf := act{after: time.Minute, reply: "late", deaf: true}
	inBubble(t, "the run's", func(t *testing.T) {
		start := time.Now()
		in := built(t)(NewRace(config{Timeout: time.Second, Delegates: delegates{deaf.named("a"), deaf.named("b")}}))
		out, err := in.Run(t.Context(), question)
		noWinner(t, out, err, firstgood.StatusTimeout)
		equal(t, "elapsed", time.Since(start), time.Second)
		_ = in.Drain(t.Context())
		equal(t, "elapsed once drained", time.Since(start), time.Minute)
	})
	inBubble(t, "the caller's", func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		in := built(t)(NewRace(config{Delegates: delegates{deaf.named("a"), deaf.named("b")}}))
		out, err := in.Run(ctx, question)
		noWinner(t, out, err, firstgood.StatusCancelled)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want an error that matches DeadlineExceeded", err)
		}
		equal(t, "elapsed", time.Since(start), time.Second)
		_ = in.Drain(t.Context())
	})
	inBubble(t, "the attempt's", func(t *testing.T) {
		start := time.Now()
		in := built(t)(NewFallbackChain(config{Delegates: delegates{firstgood.Within(time.Second, deaf.named("a")), good(time.Second, "4").named("b")}}))
		out, err := in.Run(t.Context(), question)
		won(t, out, err, "b", "4")
		equal(t, "elapsed", time.Since(start), 2*time.Second)
		equal(t, "history", told(out.History), []string{"0 a: timeout: no reply within 1s"})
		equal(t, "calls", states(out.Calls), []string{"a failed", "b won"})
		_ = in.Drain(t.Context())
	})
	inBubble(t, "the attempt's, inline: the failure is told when the delegate returns", func(t *testing.T) {
		start := time.Now()
		in := built(t)(NewFallbackChain(config{Inline: true, Delegates: delegates{firstgood.Within(time.Second, deaf.named("a")), good(time.Second, "4").named("b")}}))
		out, err := in.Run(t.Context(), question)
		won(t, out, err, "b", "4")
		equal(t, "elapsed", time.Since(start), time.Minute+time.Second)
		equal(t, "history", told(out.History), []string{"0 a: timeout: no reply within 1s"})
		equal(t, "duration", out.History[0].Duration, time.Second)
	})
}

func TestS31_AnErrorThatArrivesFirstNeitherWinsNorCancelsTheOthers(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		out, err := race(t, config{Delegates: delegates{bad(0, errDown).named("a"), good(time.Second, "4").logged("b", l), bad(0, errDown).named("c")}})
		won(t, out, err, "b", "4")
		l.want(t, "0s start b", "1s end b")
	})
}

func TestS32_AnInstantFailureUnderStartAfterStartsTheNextNow(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		out, err := race(t, config{StartAfter: 10 * time.Second, Delegates: delegates{
			bad(0, errDown).logged("a", l), bad(4*time.Second, errDown).logged("b", l), good(time.Minute, "").logged("c", l), good(time.Second, "4").logged("d", l),
		}})
		won(t, out, err, "d", "4")
		synctest.Wait()
		// A failure restarts the delay: d starts ten seconds after c did, not ten after b.
		l.want(t, "0s start a", "0s end a", "0s start b", "4s end b", "4s start c", "14s start d", "15s end d", "15s cancelled c")
	})
}

func TestS33_WhenTheBudgetForExtraStartsRunsOut(t *testing.T) {
	errBudget := errors.New("the budget is spent")
	budget := func(n int, ticks *int) func(int, bool) error {
		return func(_ int, tick bool) error {
			if tick {
				*ticks++
			}
			if n--; n < 0 {
				return errBudget
			}
			return nil
		}
	}
	inBubble(t, "those in flight may still win", func(t *testing.T) {
		ticks := 0
		start := time.Now()
		out, err := race(t, config{StartAfter: time.Second, Gate: gated(budget(2, &ticks)), Delegates: delegates{
			good(time.Hour, "").named("a"), good(4500*time.Millisecond, "4").named("b"), good(0, "").named("c"),
		}})
		won(t, out, err, "b", "4")
		equal(t, "elapsed", time.Since(start), 5500*time.Millisecond)
		equal(t, "ticks", ticks, 5)
		equal(t, "history", told(out.History), []string{}) // what a tick did not start may come later
		equal(t, "calls", states(out.Calls), []string{"a cancelled", "b won"})
	})
	inBubble(t, "a lone failure is returned now", func(t *testing.T) {
		ticks := 0
		start := time.Now()
		out, err := race(t, config{StartAfter: time.Minute, Gate: gated(budget(1, &ticks)), Delegates: delegates{
			bad(time.Second, errDown).named("a"), good(0, "").named("b"), good(0, "").named("c"),
		}})
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "elapsed", time.Since(start), time.Second)
		equal(t, "attempts", out.Attempts, 1)
		equal(t, "history", told(out.History), []string{"0 a: error: down", "1 b: no_start: the budget is spent", "2 c: no_start: the budget is spent"})
		equal(t, "calls", states(out.Calls), []string{"a failed"})
	})
	inBubble(t, "a tick that is refused leaves the delegate for a later failure", func(t *testing.T) {
		l := newLog()
		open := func(int, bool) error { return nil }
		gate := func(i int, tick bool) error {
			if tick && time.Since(l.start) < 3*time.Second {
				return errBudget
			}
			return open(i, tick)
		}
		out, err := race(t, config{StartAfter: time.Second, Gate: gated(gate), Delegates: delegates{
			bad(2500*time.Millisecond, errDown).logged("a", l), good(time.Minute, "").logged("b", l), good(time.Second, "4").logged("c", l),
		}})
		won(t, out, err, "c", "4")
		synctest.Wait()
		l.want(t, "0s start a", "2.5s end a", "2.5s start b", "3.5s start c", "4.5s end c", "4.5s cancelled b")
	})
	everyHost(t, func(t *testing.T, h host) { // a chain passes over what may not start
		cooling := func(i int, tick bool) error {
			if tick {
				t.Error("a chain has ticked")
			}
			if i != 2 {
				return &firstgood.Error{Kind: firstgood.KindUnavailable, Reason: "it cools down for another 5s"}
			}
			return nil
		}
		out, err := h.run(t, h.chain(t, config{Gate: gated(cooling), Delegates: delegates{good(0, "").named("a"), good(0, "").named("b"), good(0, "4").named("c")}}))
		won(t, out, err, "c", "4")
		equal(t, "attempts", out.Attempts, 1)
		equal(t, "history", told(out.History), []string{"0 a: no_start: it cools down for another 5s", "1 b: no_start: it cools down for another 5s"})

		out, err = h.run(t, h.chain(t, config{Gate: gated(cooling), Delegates: delegates{good(0, "").named("a"), good(0, "").named("b")}}))
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "attempts", out.Attempts, 0)
	})
}

func TestS37_ALoserThatFinishesAfterEverythingIsOver(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		late := make(chan *firstgood.Scope, 1)
		in := built(t)(NewRace(config{Delegates: delegates{
			good(time.Second, "4").named("a"), act{after: time.Hour, reply: "late", deaf: true}.named("b"),
			firstgood.Func("c", func(ctx context.Context, _ firstgood.Brief) (string, error) {
				<-time.After(time.Hour)
				scope := firstgood.ScopeOf(ctx) // the record is gone, and what is entered in it is lost
				scope.Record.Begin(&firstgood.Call{Parent: scope.Call})
				late <- scope
				panic("late")
			}),
			firstgood.Func("d", func(context.Context, firstgood.Brief) (string, error) {
				<-time.After(time.Hour)
				runtime.Goexit()
				return "", nil
			}),
		}}))
		out, err := in.Run(t.Context(), question)
		won(t, out, err, "a", "4")
		if err := in.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "index", (<-late).Index, 2)
		equal(t, "calls", states(out.Calls), []string{"a won", "b cancelled", "c cancelled", "d cancelled"})
	})
}

func TestS38_CandidatesAndTheirJudgementsOverlap(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		start := time.Now()
		var working, judging, most atomic.Int32
		count := func(n *atomic.Int32) {
			if now := n.Add(1); now > most.Load() {
				most.Store(now)
			}
			<-time.After(time.Second)
			n.Add(-1)
		}
		work := firstgood.Func("a", func(context.Context, firstgood.Brief) (string, error) {
			count(&working)
			return "", nil
		})
		out, err := race(t, config{Delegates: delegates{work, work, work}, Criteria: func(context.Context, firstgood.Brief, string) (firstgood.Verdict, error) {
			count(&judging)
			return firstgood.Verdict{Rejected: true}, nil
		}})
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "at once", most.Load(), int32(3))
		equal(t, "elapsed", time.Since(start), 2*time.Second)
	})
}

// See also TestR3.
func TestS39_ThreeThatFinishAtOneInstant(t *testing.T) {
	s := &Simulation{Acts: []Act{{After: time.Second, Accepted: true}, {After: time.Second, Accepted: true}, {After: time.Second, Accepted: true}}, CancelAt: Never}
	d, err := Settle(Plan{N: 3, First: 3, Want: 1}, s)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "decision", d, Decision{Winner: 0, Accepted: 1, Started: 3, Finished: 1})
	equal(t, "events", s.Events, []SimEvent{
		{0, "start", 0, -1}, {0, "start", 1, -1}, {0, "start", 2, -1},
		{time.Second, "finish", 0, -1}, {time.Second, "lost", 1, 0}, {time.Second, "lost", 2, 0},
	})
}

func TestS44_TheErrorNamesEveryFailureInOrder(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		_, err := h.run(t, h.chain(t, config{Name: "answer", Delegates: delegates{
			bad(0, errors.New("first\nline")).named("a"), bad(0, &firstgood.Error{Kind: firstgood.KindRateLimited, Status: 429}).named("b"), bad(0, errDown).named("c"),
		}}))
		want := "answer: no winner (exhausted): a: error: first line; b: rate_limited: rate_limited; c: error: down"
		if err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

func TestS45_TheAnsweringDelegateIsAlwaysNamed(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		for winner, name := range []string{"a", "b"} {
			acts := []act{bad(0, errDown), bad(0, errDown)}
			acts[winner] = good(0, "4")
			out, err := h.run(t, h.chain(t, config{Delegates: delegates{acts[0].named("a"), acts[1].named("b")}}))
			won(t, out, err, name, "4")
			equal(t, "winner index", out.WinnerIndex, winner)
			equal(t, "winner path", out.WinnerPath, []string{name})
			if h.recorded || !h.inline {
				last := out.Calls[len(out.Calls)-1]
				equal(t, "last call", []any{last.Delegate, last.Index, last.State}, []any{name, winner, firstgood.StateWon})
			}
		}
	})
}

func TestAPanicOrGoexitIsTheAttemptsFailureWithItsStack(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		panics := func(value any) delegate {
			return firstgood.Func("a", func(context.Context, firstgood.Brief) (string, error) { panic(value) })
		}
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{panics("oh"), panics(nil), bad(0, faulty{}).named("faulty error"), good(0, "4").named("c")}}))
		won(t, out, err, "c", "4")
		equal(t, "history", told(out.History), []string{
			"0 a: panic: panic: oh", "1 a: panic: panic: " + new(runtime.PanicNilError).Error(), "2 faulty error: panic: panic: no message",
		})
		for _, f := range out.History {
			if !strings.Contains(f.Detail, "_test.go") {
				t.Errorf("got detail %q, want the stack", f.Detail)
			}
		}
	})
	inBubble(t, "goexit", func(t *testing.T) {
		exits := firstgood.Func("a", func(context.Context, firstgood.Brief) (string, error) {
			runtime.Goexit()
			return "", nil
		})
		out, err := built(t)(NewFallbackChain(config{Delegates: delegates{exits, good(0, "4").named("b")}})).Run(t.Context(), question)
		won(t, out, err, "b", "4")
		equal(t, "history", told(out.History), []string{"0 a: panic: it called runtime.Goexit"})
		if !strings.Contains(out.History[0].Detail, "situations_test.go") {
			t.Errorf("got detail %q, want the stack", out.History[0].Detail)
		}
	})
	inBubble(t, "a reply whose method panics", func(t *testing.T) {
		in, err := NewFallbackChain(Config[faulty]{
			Delegates: []firstgood.Delegate[faulty]{firstgood.Func("a", func(context.Context, firstgood.Brief) (faulty, error) { return faulty{}, nil })},
			Criteria: func(context.Context, firstgood.Brief, faulty) (firstgood.Verdict, error) {
				return firstgood.Verdict{Rejected: true}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := in.Run(t.Context(), question)
		if !errors.Is(err, firstgood.ErrNoWinner) {
			t.Fatal(err)
		}
		equal(t, "history", told(out.History), []string{"0 a: panic: panic: no message"})
	})
	// A panic in a hook of the caller's is the caller's, and leaves nothing running.
	inBubble(t, "a gate that panics", func(t *testing.T) {
		l := newLog()
		in := built(t)(NewRace(config{StartAfter: time.Second, Delegates: delegates{good(time.Hour, "").logged("a", l), good(0, "").named("b")}, Gate: func(_ context.Context, s Start) error {
			if s.Tick {
				panic("gate")
			}
			return nil
		}}))
		func() {
			defer func() { equal(t, "panic", recover(), any("gate")) }()
			_, _ = in.Run(t.Context(), question)
		}()
		synctest.Wait()
		l.want(t, "0s start a", "1s cancelled a")
	})
}

type faulty struct{}

func (faulty) Error() string { panic("no message") }

func TestAnAttemptsCauseSaysWhyItWasStopped(t *testing.T) {
	causes := make(chan error, 1)
	waits := firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (string, error) {
		<-ctx.Done()
		causes <- context.Cause(ctx)
		return "", ctx.Err()
	})
	inBubble(t, "lost", func(t *testing.T) {
		_, err := race(t, config{Delegates: delegates{waits, good(time.Second, "4").named("b")}})
		cause := <-causes
		var lost *firstgood.LostError
		if err != nil || !errors.As(cause, &lost) || lost.Winner != "b" || !errors.Is(cause, context.Canceled) {
			t.Errorf("got %v, %v, want it lost to b", cause, err)
		}
	})
	inBubble(t, "the caller's", func(t *testing.T) {
		errLeft := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errLeft) })
		_, _ = built(t)(NewRace(config{Delegates: delegates{waits}})).Run(ctx, question)
		equal(t, "cause", <-causes, errLeft)
	})
	inBubble(t, "the attempt's timeout", func(t *testing.T) {
		_, _ = race(t, config{Delegates: delegates{firstgood.Within(time.Second, waits)}})
		cause := <-causes
		if !errors.Is(cause, context.DeadlineExceeded) || cause.Error() != "no reply within 1s" {
			t.Errorf("got %v, want the attempt's timeout", cause)
		}
	})
	inBubble(t, "the run's timeout", func(t *testing.T) {
		_, _ = race(t, config{Timeout: time.Second, Delegates: delegates{waits}})
		cause := <-causes
		if !errors.Is(cause, context.DeadlineExceeded) || cause.Error() != "no decision within 1s" {
			t.Errorf("got %v, want the run's timeout", cause)
		}
	})
	inBubble(t, "a fatal end has nobody to name", func(t *testing.T) {
		_, _ = race(t, config{Delegates: delegates{waits, bad(time.Second, &firstgood.Error{Fatal: true}).named("b")}})
		equal(t, "cause", <-causes, context.Canceled)
	})
}

func TestAFatalVerdictOrFailureStopsTheWholeRun(t *testing.T) {
	errRefused := &firstgood.Error{Kind: firstgood.KindRefused, Reason: "it will not", Fatal: true}
	everyHost(t, func(t *testing.T, h host) {
		inner := h.nested(t, config{Name: "inner", Delegates: delegates{bad(0, errRefused).named("x"), good(0, "").named("y")}})
		for name, c := range map[string]struct {
			first   delegate
			history string
		}{
			"a verdict":         {good(0, "fatal").named("a"), "0 a: rejected: stop"},
			"a failure":         {bad(0, errRefused).named("a"), "0 a: refused: it will not"},
			"a nested instance": {inner, "0 inner: exhausted: inner: no winner (stopped): x: refused: it will not"},
			"from afar":         {bad(0, errors.Join(errDown, errRefused)).named("a"), "0 a: refused: down\nit will not"},
		} {
			out, err := h.run(t, h.chain(t, config{
				Delegates: delegates{c.first, good(0, "4").named("b")},
				Criteria: func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
					return firstgood.Verdict{Fatal: reply == "fatal", Reason: "stop"}, nil
				},
			}))
			noWinner(t, out, err, firstgood.StatusStopped)
			equal(t, name+": history", told(out.History), []string{c.history})
			equal(t, name+": attempts", out.Attempts, 1)
		}
	})
	inBubble(t, "those in flight are cancelled", func(t *testing.T) {
		l := newLog()
		out, err := race(t, config{Delegates: delegates{good(time.Hour, "").logged("a", l), bad(time.Second, errRefused).named("b")}})
		noWinner(t, out, err, firstgood.StatusStopped)
		synctest.Wait()
		l.want(t, "0s start a", "1s cancelled a")
	})
}
