package pattern

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// The statements about race, by number, with all candidates exact: what happens at one virtual instant is known at
// that instant.

func TestR1_AllStartBeforeAnyResultIsConsidered(t *testing.T) {
	start := func(t *testing.T, cfg config, want ...string) {
		t.Helper()
		l := newLog()
		for _, name := range []string{"a", "b", "c"} {
			cfg.Delegates = append(cfg.Delegates, bad(3*time.Second, errDown).logged(name, l))
		}
		out, err := race(t, cfg)
		noWinner(t, out, err, firstgood.StatusExhausted)
		l.want(t, want...)
	}
	inBubble(t, "all at once", func(t *testing.T) {
		l := newLog()
		all := delegates{}
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, firstgood.Func(name, func(ctx context.Context, b firstgood.Brief) (string, error) {
				l.add(name, "got", b.String())
				equal(t, "index of "+name, firstgood.ScopeOf(ctx).Index, int(name[0]-'a'))
				return "", errDown
			}))
		}
		out, err := race(t, config{Delegates: all})
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "starts", len(l.entries), 3)
		for _, entry := range l.entries {
			if entry[len("0s a"):] != " got 2+2?" {
				t.Errorf("got %q, want every candidate to get the brief at once", entry)
			}
		}
	})
	inBubble(t, "start_after", func(t *testing.T) {
		start(t, config{StartAfter: time.Second},
			"0s start a", "1s start b", "2s start c", "3s end a", "4s end b", "5s end c")
	})
	inBubble(t, "max_parallel", func(t *testing.T) {
		start(t, config{MaxParallel: 1},
			"0s start a", "3s end a", "3s start b", "6s end b", "6s start c", "9s end c")
	})
	inBubble(t, "start_after and max_parallel", func(t *testing.T) {
		start(t, config{StartAfter: time.Second, MaxParallel: 2},
			"0s start a", "1s start b", "3s end a", "3s start c", "4s end b", "6s end c")
	})
}

func TestR2_TheFirstAcceptableReturnsAtOnceAndTheOthersAreCancelled(t *testing.T) {
	inBubble(t, "eager", func(t *testing.T) {
		l := newLog()
		out, err := race(t, config{
			Delegates: delegates{good(5*time.Second, "slow").logged("a", l), good(time.Second, "no").logged("b", l), good(2*time.Second, "4").logged("c", l)},
			Criteria:  reject(map[string]string{"no": "it says no"}),
		})
		won(t, out, err, "c", "4")
		equal(t, "winner index", out.WinnerIndex, 2)
		equal(t, "elapsed", time.Since(l.start), 2*time.Second)
		synctest.Wait()
		equal(t, "last", l.entries[len(l.entries)-1], "2s cancelled a")
		equal(t, "calls", states(out.Calls), []string{"a cancelled", "b rejected", "c won"})
	})
	for _, listed := range []struct {
		name     string
		acts     []act
		winner   string
		at       time.Duration
		attempts int
		history  []string
		calls    []string
	}{
		{"the earliest is last to come", []act{good(3*time.Second, "a"), good(time.Second, "b"), good(2*time.Second, "c")},
			"a", 3 * time.Second, 1, []string{}, []string{"a won", "b lost", "c lost"}},
		{"one before it fails late", []act{bad(3*time.Second, errDown), good(time.Second, "b"), good(2*time.Second, "c")},
			"b", 3 * time.Second, 2, []string{"0 a: error: down"}, []string{"a failed", "b won", "c lost"}},
		{"one after it is in flight", []act{good(2*time.Second, "a"), good(time.Second, "b"), good(time.Hour, "c")},
			"a", 2 * time.Second, 1, []string{}, []string{"a won", "b lost", "c cancelled"}},
		{"the last of all", []act{bad(3*time.Second, errDown), bad(0, errDown), good(time.Second, "c")},
			"c", 3 * time.Second, 3, []string{"0 a: error: down", "1 b: error: down"}, []string{"a failed", "b failed", "c won"}},
		{"a later one failed, which is history", []act{good(2*time.Second, "a"), good(time.Second, "b"), bad(0, errDown)},
			"a", 2 * time.Second, 1, []string{"2 c: error: down"}, []string{"a won", "b lost", "c failed"}},
	} {
		inBubble(t, "listed: "+listed.name, func(t *testing.T) {
			l := newLog()
			out, err := race(t, config{Listed: true, Delegates: delegates{listed.acts[0].named("a"), listed.acts[1].named("b"), listed.acts[2].named("c")}})
			won(t, out, err, listed.winner, listed.winner)
			equal(t, "elapsed", time.Since(l.start), listed.at)
			equal(t, "attempts", out.Attempts, listed.attempts)
			equal(t, "history", told(out.History), listed.history)
			equal(t, "calls", states(out.Calls), listed.calls)
		})
	}
	inBubble(t, "listed: what could not win is not started", func(t *testing.T) {
		l := newLog()
		out, err := race(t, config{Listed: true, StartAfter: time.Second, Delegates: delegates{
			good(10*time.Second, "a").logged("a", l), good(time.Second, "b").logged("b", l), good(0, "c").logged("c", l),
		}})
		won(t, out, err, "a", "a")
		l.want(t, "0s start a", "1s start b", "2s end b", "10s end a")
	})
}

func TestR3_OfSeveralKnownAtTheDecisionTheLowestListedWins(t *testing.T) {
	inBubble(t, "at one instant", func(t *testing.T) {
		for range 100 {
			out, err := race(t, config{Delegates: delegates{bad(time.Second, errDown).named("a"), good(time.Second, "b").named("b"), good(time.Second, "c").named("c"), good(time.Second, "d").named("d")}})
			won(t, out, err, "b", "b")
			equal(t, "history", told(out.History), []string{"0 a: error: down"})
			equal(t, "attempts", out.Attempts, 2)
		}
	})
	inBubble(t, "ready at once", func(t *testing.T) {
		for range 100 {
			out, err := race(t, config{Delegates: delegates{good(0, "a").named("a"), good(0, "b").named("b"), good(0, "c").named("c")}})
			won(t, out, err, "a", "a")
		}
	})
}

func TestR4_WithoutCriteriaAnyReplyThatIsNotAnErrorIsAcceptable(t *testing.T) {
	inBubble(t, "empty", func(t *testing.T) {
		out, err := race(t, config{Delegates: delegates{good(time.Second, "a").named("a"), good(0, "").named("b")}})
		won(t, out, err, "b", "")
	})
	inBubble(t, "null", func(t *testing.T) {
		in, err := NewRace(Config[any]{Delegates: []firstgood.Delegate[any]{
			firstgood.Func("null", func(context.Context, firstgood.Brief) (any, error) { return nil, nil }),
		}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := in.Run(t.Context(), question)
		if err != nil || out.Winner != "null" || out.Result != nil {
			t.Errorf("got %+v, %v, want null to win", out, err)
		}
	})
}

func TestR5_AnErrorNeverWins(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		all := delegates{}
		for i, err := range []error{errors.New(""), errors.New("4"), context.Canceled, &firstgood.LostError{Winner: "b"}, mute{}} {
			all = append(all, act{reply: "4", err: err}.named(string(rune('a'+i))))
		}
		out, err := race(t, config{Delegates: append(all, good(time.Second, "4").named("z"))})
		won(t, out, err, "z", "4")
		equal(t, "history", told(out.History), []string{
			"0 a: error: an error without a message (*errors.errorString)", "1 b: error: 4",
			"2 c: error: context canceled", "3 d: error: lost to b", "4 e: error: an error without a message (pattern.mute)",
		})
	})
}

func TestR6_AttemptsCountsTheFinishesUpToTheDecision(t *testing.T) {
	for _, c := range []struct {
		name string
		acts []act
		want int
	}{
		{"the first to come wins", []act{good(3, ""), good(1, ""), good(2, "")}, 1},
		{"after one failure", []act{good(3, ""), bad(1, errDown), good(2, "")}, 2},
		{"a failure at its instant, listed earlier", []act{bad(1, errDown), good(1, ""), good(2, "")}, 2},
		{"a failure at its instant, listed later", []act{good(1, ""), bad(1, errDown), good(2, "")}, 1},
		{"none", []act{bad(1, errDown), bad(2, errDown), bad(3, errDown)}, 3},
	} {
		inBubble(t, c.name, func(t *testing.T) {
			out, _ := race(t, config{Delegates: delegates{c.acts[0].named("a"), c.acts[1].named("b"), c.acts[2].named("c")}})
			equal(t, "attempts", out.Attempts, c.want)
		})
	}
}

func TestR7_HistoryIsInListedOrderWithoutWinnerAndCancelled(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		out, err := race(t, config{
			Delegates: delegates{
				bad(3, errDown).named("a"), good(9, "slow").named("b"), good(1, "no").named("c"), good(4, "4").named("d"), bad(2, errDown).named("e"),
			},
			Criteria: reject(map[string]string{"no": "it says no"}),
		})
		won(t, out, err, "d", "4")
		equal(t, "history", told(out.History), []string{"0 a: error: down", "2 c: rejected: it says no", "4 e: error: down"})
		equal(t, "calls", states(out.Calls), []string{"a failed", "b cancelled", "c rejected", "d won", "e failed"})
		equal(t, "attempts", out.Attempts, 4)
	})
}

func TestR8_NoneAcceptable(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		out, err := race(t, config{
			Delegates: delegates{bad(2, errDown).named("a"), good(1, "no").named("b")},
			Criteria:  reject(map[string]string{"no": "it says no"}),
		})
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "history", told(out.History), []string{"0 a: error: down", "1 b: rejected: it says no"})
		equal(t, "attempts", out.Attempts, 2)
	})
}

func TestR9_TheJudgeIsNotAskedAboutACandidateThatFailed(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		out, err := race(t, config{
			Delegates: delegates{act{after: 1, reply: "beside an error", err: errDown}.named("a"), good(2, "4").named("b")},
			Criteria: func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
				l.add("judge", reply)
				return firstgood.Verdict{}, nil
			},
		})
		won(t, out, err, "b", "4")
		l.want(t, "2ns judge 4")
	})
}

func TestR10_WhatCompletesLateChangesNothingInTheOutcome(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		record := firstgood.NewRecord(time.Now(), nil)
		in := built(t)(NewRace(config{Delegates: delegates{
			good(time.Second, "4").named("a"), act{after: time.Minute, reply: "late", deaf: true}.named("b"), act{after: time.Hour, err: errDown, deaf: true}.named("c"),
		}}))
		out, err := in.Run(firstgood.WithRecord(t.Context(), record), question)
		won(t, out, err, "a", "4")
		before := states(out.Calls)
		equal(t, "calls", before, []string{"a won", "b cancelled", "c cancelled"})
		equal(t, "duration", out.Calls[1].Duration, time.Second)
		if err := in.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "calls afterwards", states(out.Calls), before)
		equal(t, "duration afterwards", out.Calls[1].Duration, time.Second)
		equal(t, "history", out.History, []firstgood.Failure(nil))
		equal(t, "states in the record", states(record.Calls()), before)
		equal(t, "duration in the record", record.Calls()[1].Duration, time.Minute)
	})
}

func TestR11_ACandidateThatIgnoresCancellationDoesNotDelayTheReturn(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		in := built(t)(NewRace(config{Delegates: delegates{act{after: time.Hour, deaf: true}.named("a"), good(time.Second, "4").named("b")}}))
		out, err := in.Run(t.Context(), question)
		won(t, out, err, "b", "4")
		equal(t, "elapsed", time.Since(l.start), time.Second)
		_ = in.Drain(t.Context())
		equal(t, "elapsed once drained", time.Since(l.start), time.Hour)
	})
}

func TestR12_CancellationReachesDelegatesAndJudgementsAndTheirUseIsCounted(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		used := func(name string, tokens int, a act) firstgood.Delegate[firstgood.Reply] {
			inner := a.logged(name, l)
			return firstgood.Func(name, func(ctx context.Context, b firstgood.Brief) (firstgood.Reply, error) {
				usage := firstgood.Usage{InputTokens: tokens, Source: firstgood.SourceMeasured}
				text, err := inner.Attempt(ctx, b)
				if err != nil {
					return firstgood.Reply{}, &firstgood.Error{Usage: usage, Err: err}
				}
				return firstgood.Reply{Text: text, Usage: usage}, nil
			})
		}
		in, err := NewRace(Config[firstgood.Reply]{
			Delegates: []firstgood.Delegate[firstgood.Reply]{
				used("asked", 1, good(time.Hour, "")), used("judged", 10, good(time.Second, "slow to judge")), used("won", 100, good(2*time.Second, "4")),
				used("failed", 1000, bad(time.Second, errDown)),
			},
			Criteria: func(ctx context.Context, _ firstgood.Brief, reply firstgood.Reply) (firstgood.Verdict, error) {
				if reply.Text != "slow to judge" {
					return firstgood.Verdict{}, nil
				}
				<-ctx.Done()
				l.add("judgement cancelled:", context.Cause(ctx).Error())
				return firstgood.Verdict{}, context.Cause(ctx)
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		in.ready = synctest.Wait
		record := firstgood.NewRecord(time.Now(), nil)
		out, err := in.Run(firstgood.WithRecord(t.Context(), record), question)
		if err != nil || out.Winner != "won" {
			t.Fatalf("got %+v, %v", out, err)
		}
		equal(t, "elapsed", time.Since(l.start), 2*time.Second)
		_ = in.Drain(t.Context())
		var told atomic.Int32
		for _, entry := range l.entries {
			if entry == "2s cancelled asked" || entry == "2s judgement cancelled: lost to won" {
				told.Add(1)
			}
		}
		equal(t, "told to stop", told.Load(), int32(2))
		equal(t, "states", states(record.Calls()), []string{"asked cancelled", "judged cancelled", "won won", "failed failed"})
		equal(t, "total", firstgood.Total(record.Calls()), firstgood.Usage{InputTokens: 1111, Source: firstgood.SourceMeasured})
	})
}

func TestR13_AnEmptyListIsExhaustedAtOnce(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		for _, cfg := range []config{{}, {Listed: true}, {StartAfter: time.Second}, {MaxParallel: 2}} {
			out, err := race(t, cfg)
			noWinner(t, out, err, firstgood.StatusExhausted)
			equal(t, "attempts", out.Attempts, 0)
			equal(t, "history", told(out.History), []string{})
		}
	})
}

func TestR14_TheSameDelegateListedTwiceRunsTwice(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		twice := bad(time.Second, errDown).logged("a", l)
		out, err := race(t, config{Delegates: delegates{twice, twice}})
		noWinner(t, out, err, firstgood.StatusExhausted)
		l.want(t, "0s start a", "0s start a", "1s end a", "1s end a")
	})
}

func TestR15_TheCallersStopBlamesNobodyAndKeepsItsCause(t *testing.T) {
	errLeft := errors.New("the user left")
	inBubble(t, "", func(t *testing.T) {
		l := newLog()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2*time.Second, func() { cancel(errLeft) })
		in := built(t)(NewRace(config{MaxParallel: 3, Delegates: delegates{
			bad(time.Second, errDown).named("a"), good(time.Hour, "").logged("b", l), act{after: time.Hour, deaf: true}.named("c"), good(time.Hour, "").named("d"), good(0, "").logged("e", l),
		}}))
		out, err := in.Run(ctx, question)
		noWinner(t, out, err, firstgood.StatusCancelled)
		if !errors.Is(err, errLeft) {
			t.Errorf("got %v, want the caller's cause", err)
		}
		equal(t, "elapsed", time.Since(l.start), 2*time.Second)
		equal(t, "attempts", out.Attempts, 1)
		equal(t, "history", told(out.History), []string{"0 a: error: down"})
		equal(t, "calls", states(out.Calls), []string{"a failed", "b cancelled", "c cancelled", "d cancelled"})
		_ = in.Drain(t.Context())
		l.want(t, "0s start b", "2s cancelled b")
	})
	inBubble(t, "all report the stop before the loop looks", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errLeft) })
		out, err := built(t)(NewRace(config{Delegates: delegates{good(time.Hour, "").named("a"), good(time.Hour, "").named("b"), good(time.Second, "4").named("c")}})).Run(ctx, question)
		noWinner(t, out, err, firstgood.StatusCancelled)
		equal(t, "attempts", out.Attempts, 0)
		equal(t, "history", told(out.History), []string{})
	})
}

func TestR16_AJudgeThatFailsLeavesItsCandidateUnjudgedAndTheRaceGoesOn(t *testing.T) {
	criteria := func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
		if reply == "unjudged" {
			return firstgood.Verdict{}, errors.New("no judge")
		}
		return firstgood.Verdict{Rejected: reply == "no", Reason: "it says no"}, nil
	}
	inBubble(t, "", func(t *testing.T) {
		out, err := race(t, config{Criteria: criteria, Delegates: delegates{good(1, "unjudged").named("a"), good(2, "4").named("b")}})
		won(t, out, err, "b", "4")
		equal(t, "history", told(out.History), []string{"0 a: judge_error: no judge"})

		out, err = race(t, config{Criteria: criteria, Delegates: delegates{good(1, "unjudged").named("a"), good(2, "no").named("b")}})
		noWinner(t, out, err, firstgood.StatusJudgeError)
		equal(t, "history", told(out.History), []string{"0 a: judge_error: no judge", "1 b: rejected: it says no"})
	})
}

func TestR17_TheWinnerIsANameAnIndexAndAPathThroughThreeLevels(t *testing.T) {
	inBubble(t, "duplicates", func(t *testing.T) {
		same := good(1, "4").named("same")
		out, err := race(t, config{Delegates: delegates{bad(0, errDown).named("same"), same, same}})
		won(t, out, err, "same", "4")
		equal(t, "winner index", out.WinnerIndex, 1)
		equal(t, "winner path", out.WinnerPath, []string{"same"})
	})
	everyHost(t, func(t *testing.T, h host) {
		third := h.nested(t, config{Name: "third", Delegates: delegates{bad(1, errDown).named("x"), good(1, "4").named("y")}})
		second := h.nested(t, config{Name: "second", Delegates: delegates{firstgood.Within(time.Minute, delegate(third))}, Criteria: func(ctx context.Context, b firstgood.Brief, _ string) (firstgood.Verdict, error) {
			// A judge that is an instance, and finds its place in the record by itself, is no part of the path.
			_, err := h.nested(t, config{Name: "judges", Delegates: delegates{good(1, "yes").named("judge")}}).Attempt(ctx, b)
			return firstgood.Verdict{}, err
		}})
		out, err := h.run(t, h.chain(t, config{Name: "first", Delegates: delegates{second}}))
		won(t, out, err, "second", "4")
		equal(t, "winner path", out.WinnerPath, []string{"second", "third", "y"})
		equal(t, "calls", states(out.Calls), []string{"second won", "third won", "x failed", "y won", "judge won"})
	})
	inBubble(t, "a function that asks instances side by side has no path", func(t *testing.T) {
		inner := host{}.nested(t, config{Delegates: delegates{good(0, "4").named("x")}})
		both := firstgood.Func("both", func(ctx context.Context, b firstgood.Brief) (string, error) {
			done := make(chan error)
			for range 2 {
				go func() {
					_, err := inner.Attempt(ctx, b)
					done <- err
				}()
			}
			return "4", errors.Join(<-done, <-done)
		})
		out, err := race(t, config{Delegates: delegates{both}})
		won(t, out, err, "both", "4")
		equal(t, "winner path", out.WinnerPath, []string{"both"})
		equal(t, "calls", states(out.Calls), []string{"both won", "x won", "x won"})
	})
}
