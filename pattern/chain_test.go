package pattern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// The statements about fallback-chain, by number.

func TestF1_SequentialInListedOrderOneInFlight(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		l := newLog()
		in := h.chain(t, config{Delegates: delegates{
			bad(time.Second, errDown).logged("a", l), bad(2*time.Second, errDown).logged("b", l), good(time.Second, "4").logged("c", l),
		}})
		out, err := h.run(t, in)
		won(t, out, err, "c", "4")
		l.want(t, "0s start a", "1s end a", "1s start b", "3s end b", "3s start c", "4s end c")
	})
}

func TestF2_EveryDelegateGetsTheSameBytesAndNoneCanChangeThem(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		brief, err := firstgood.Raw("application/json", []byte(`{"q":1}`)).With("who", []string{"x"})
		if err != nil {
			t.Fatal(err)
		}
		var seen []string
		spoil := func(_ context.Context, b firstgood.Brief) (string, error) {
			input, _ := b.Input("who")
			seen = append(seen, fmt.Sprint(b.MediaType(), b.String(), string(b.Bytes()), string(input), b.Inputs()))
			clear(b.Bytes())
			clear(input)
			clear(b.Inputs())
			b = b.WithText("else")
			_, _ = b.With("who", 1)
			return "", errDown
		}
		in := h.chain(t, config{Delegates: delegates{firstgood.Func("a", spoil), firstgood.Func("b", spoil), firstgood.Func("c", spoil)}})
		_, _ = in.Run(h.ctx(t.Context()), brief)
		want := `application/json{"q":1}{"q":1}["x"][who]`
		equal(t, "briefs", seen, []string{want, want, want})
	})
}

func TestF3_FirstSuccessIsReturnedAtOnceAndLaterDelegatesNeverStart(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		l := newLog()
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{good(time.Second, "4").logged("a", l), good(0, "5").logged("b", l)}}))
		won(t, out, err, "a", "4")
		l.want(t, "0s start a", "1s end a")
		equal(t, "elapsed", time.Since(l.start), time.Second)
	})
}

type mute struct{}

func (mute) Error() string { return " \n" }

func TestF4_AnErrorIsAFailureAndItsMessageTheReason(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{
			bad(0, errors.New("no such host")).named("a"), bad(0, errors.New("")).named("b"), bad(0, mute{}).named("c"), good(0, "4").named("d"),
		}}))
		won(t, out, err, "d", "4")
		equal(t, "history", told(out.History), []string{
			"0 a: error: no such host",
			"1 b: error: an error without a message (*errors.errorString)",
			"2 c: error: an error without a message (pattern.mute)",
		})
		equal(t, "the error itself", out.History[2].Err, error(mute{}))
	})
}

func TestF5_AnEmptyReplyIsASuccessWithoutCriteria(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		all := delegates{good(0, "").named("a"), good(0, "4").named("b")}
		out, err := h.run(t, h.chain(t, config{Delegates: all}))
		won(t, out, err, "a", "")
		out, err = h.run(t, h.chain(t, config{Delegates: all, Criteria: firstgood.NonEmpty[string]}))
		won(t, out, err, "b", "4")
		equal(t, "history", told(out.History), []string{"0 a: rejected: the reply is empty"})

		null, err := NewFallbackChain(Config[any]{Inline: h.inline, Delegates: []firstgood.Delegate[any]{
			firstgood.Func("null", func(context.Context, firstgood.Brief) (any, error) { return nil, nil }),
		}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := null.Run(h.ctx(t.Context()), question)
		if err != nil || got.Status != firstgood.StatusWon || got.Winner != "null" || got.Result != nil {
			t.Errorf("got %+v, %v, want null to win", got, err)
		}
	})
}

// An empty criterion in a file is the engine's to drop.
func TestF6_WithoutCriteriaNothingIsJudged(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		var seen []firstgood.State
		record := firstgood.NewRecord(time.Now(), func(c firstgood.Call) { seen = append(seen, c.State) })
		in := h.chain(t, config{Delegates: delegates{bad(0, errDown).named("a"), good(0, "").named("b")}})
		out, err := in.Run(firstgood.WithRecord(t.Context(), record), question)
		won(t, out, err, "b", "")
		if len(seen) == 0 || slices.Contains(seen, firstgood.StateJudging) {
			t.Errorf("got states %v, want none that is judging", seen)
		}
	})
}

func TestF7_CriteriaMetIsAFailureWithTheJudgesReason(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		verdicts := map[string]firstgood.Verdict{
			"a": {Rejected: true, Reason: "matched failure_criteria", Detail: "it declines to answer"},
			"b": {Rejected: true},
		}
		in := h.chain(t, config{
			Delegates: delegates{good(0, "a").named("a"), good(0, "b").named("b"), good(0, "c").named("c")},
			Criteria: func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
				return verdicts[reply], nil
			},
		})
		out, err := h.run(t, in)
		won(t, out, err, "c", "c")
		equal(t, "history", told(out.History), []string{"0 a: rejected: matched failure_criteria", "1 b: rejected: the reply was rejected"})
		equal(t, "detail", out.History[0].Detail, "it declines to answer")
	})
}

func TestF8_OneJudgementPerReplyBeforeTheNextDelegateStarts(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		l := newLog()
		in := h.chain(t, config{
			Delegates: delegates{good(time.Second, "a").logged("a", l), bad(time.Second, errDown).logged("b", l), good(time.Second, "c").logged("c", l)},
			Criteria: func(_ context.Context, brief firstgood.Brief, reply string) (firstgood.Verdict, error) {
				l.add("judge", reply, "on", brief.String())
				<-time.After(time.Second)
				return firstgood.Verdict{Rejected: reply == "a"}, nil
			},
		})
		out, err := h.run(t, in)
		won(t, out, err, "c", "c")
		l.want(t,
			"0s start a", "1s end a", "1s judge a on 2+2?",
			"2s start b", "3s end b",
			"3s start c", "4s end c", "4s judge c on 2+2?")
	})
}

func TestF9_AttemptsCountsTheDelegatesStarted(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		for winner := range 4 {
			all := delegates{}
			for i := range 3 {
				if i == winner {
					all = append(all, good(0, "4").named("good"))
				} else {
					all = append(all, bad(0, errDown).named("bad"))
				}
			}
			out, _ := h.run(t, h.chain(t, config{Delegates: all}))
			equal(t, fmt.Sprint("attempts, the winner being ", winner), out.Attempts, min(winner+1, 3))
		}
	})
}

func TestF10_HistoryInOrderOnSuccessAsWellAsOnFailure(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		all := delegates{bad(time.Second, errDown).named("a"), good(2*time.Second, "no").named("b"), good(0, "4").named("c")}
		criteria := reject(map[string]string{"no": "it says no", "4": "too short"})
		want := []string{"0 a: error: down", "1 b: rejected: it says no"}

		out, err := h.run(t, h.chain(t, config{Delegates: all, Criteria: reject(map[string]string{"no": "it says no"})}))
		won(t, out, err, "c", "4")
		equal(t, "history on success", told(out.History), want)

		out, err = h.run(t, h.chain(t, config{Delegates: all, Criteria: criteria}))
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "history on failure", told(out.History), append(want, "2 c: rejected: too short"))
		if h.recorded || !h.inline {
			equal(t, "duration", out.History[1].Duration, 2*time.Second)
			equal(t, "duration of the run", out.Duration, 3*time.Second)
		}
	})
}

func TestF11_NoWinnerIsAFilledOutcomeAndATypedError(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		inner := h.nested(t, config{Name: "inner", Delegates: delegates{bad(0, errDown).named("x"), bad(0, &firstgood.Error{Kind: firstgood.KindAuth, Reason: "no key", Status: 401}).named("y")}})
		out, err := h.run(t, inner)
		e := noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "name", e.Name, "inner")
		equal(t, "cause", e.Cause, error(nil))
		equal(t, "message", err.Error(), "inner: no winner (exhausted): x: error: down; y: auth: no key")
		equal(t, "status", out.History[1].Status, 401)

		out, err = h.run(t, h.chain(t, config{Delegates: delegates{inner, good(0, "4").named("z")}}))
		won(t, out, err, "z", "4")
		f := out.History[0]
		equal(t, "kind in a slot", f.Kind, firstgood.KindExhausted)
		equal(t, "nested", told(f.Nested), []string{"0 x: error: down", "1 y: auth: no key"})
	})
}

// The warning about an empty list, and a slot that is missing from a file, are the engine's and config's.
func TestF12_AnEmptyListIsExhaustedAtOnceAndAMissingTargetAnError(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		out, err := h.run(t, h.chain(t, config{}))
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "attempts", out.Attempts, 0)
		equal(t, "history", told(out.History), []string{})
		equal(t, "message", err.Error(), "fallback-chain: no winner (exhausted)")
	})
	if _, err := NewRetryWithLearning(config{}); err == nil || !strings.Contains(err.Error(), "got 0 delegates, want one target") {
		t.Errorf("got %v, want an error about the missing target", err)
	}
}

func TestF13_TheSameDelegateListedTwiceRunsTwice(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		l := newLog()
		twice := bad(time.Second, errDown).logged("a", l)
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{twice, twice}}))
		noWinner(t, out, err, firstgood.StatusExhausted)
		l.want(t, "0s start a", "1s end a", "1s start a", "2s end a")
		equal(t, "history", told(out.History), []string{"0 a: error: down", "1 a: error: down"})
	})
}

// Names are config's; what an instance can be given that is no delegate is nil.
func TestF14_WhatIsNoDelegateIsAnErrorWithItsPlaceBeforeAnythingRuns(t *testing.T) {
	all := delegates{good(0, "").named("a"), nil}
	for name, build := range map[string]func(config) error{
		"answer":   func(cfg config) error { _, err := NewFallbackChain(cfg); return err },
		"quickest": func(cfg config) error { _, err := NewRace(cfg); return err },
		"all":      func(cfg config) error { _, err := NewFanOut(cfg); return err },
	} {
		if err := build(config{Name: name, Delegates: all}); err == nil || err.Error() != name+": delegate 1 is nil" {
			t.Errorf("got %v, want an error that names the place", err)
		}
	}
}

func TestF15_TheCallersStopBlamesNobodyAndKeepsItsCause(t *testing.T) {
	errLeft := errors.New("the user left")
	everyHost(t, func(t *testing.T, h host) {
		l := newLog()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(1500*time.Millisecond, func() { cancel(errLeft) })
		in := h.chain(t, config{Delegates: delegates{bad(time.Second, errDown).logged("a", l), good(time.Second, "4").logged("b", l), good(0, "5").logged("c", l)}})
		out, err := in.Run(h.ctx(ctx), question)
		e := noWinner(t, out, err, firstgood.StatusCancelled)
		if !errors.Is(err, errLeft) || e.Cause != errLeft {
			t.Errorf("got %v, want the caller's cause", err)
		}
		equal(t, "elapsed", time.Since(l.start), 1500*time.Millisecond)
		equal(t, "history", told(out.History), []string{"0 a: error: down"})
		equal(t, "attempts", out.Attempts, 2)
		<-time.After(time.Hour)
		l.want(t, "0s start a", "1s end a", "1s start b", "1.5s cancelled b")
		if calls := out.Calls; calls != nil {
			equal(t, "calls", states(calls), []string{"a failed", "b cancelled"})
			equal(t, "reason of the cancelled", calls[1].Reason, "")
		}
	})
	everyHost(t, func(t *testing.T, h host) { // before it began
		l := newLog()
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errLeft)
		out, err := h.chain(t, config{Delegates: delegates{good(0, "4").logged("a", l)}}).Run(h.ctx(ctx), question)
		noWinner(t, out, err, firstgood.StatusCancelled)
		equal(t, "attempts", out.Attempts, 0)
		if !errors.Is(err, errLeft) {
			t.Errorf("got %v, want the caller's cause", err)
		}
		l.want(t)
	})
	everyHost(t, func(t *testing.T, h host) { // while a reply is judged, which is then good
		ctx, cancel := context.WithCancelCause(t.Context())
		in := h.chain(t, config{Delegates: delegates{good(0, "4").named("a"), good(0, "5").named("b")}, Criteria: func(context.Context, firstgood.Brief, string) (firstgood.Verdict, error) {
			cancel(errLeft)
			return firstgood.Verdict{}, nil
		}})
		out, err := in.Run(h.ctx(ctx), question)
		noWinner(t, out, err, firstgood.StatusCancelled)
		equal(t, "attempts", out.Attempts, 1)
		equal(t, "history", told(out.History), []string{})
	})
}

func TestF16_NothingAboutEarlierAttemptsReachesALaterDelegate(t *testing.T) {
	type key struct{}
	everyHost(t, func(t *testing.T, h host) {
		ctx := h.ctx(context.WithValue(t.Context(), key{}, "the caller's"))
		look := func(ctx context.Context, b firstgood.Brief) (string, error) {
			equal(t, "brief", b.String(), "2+2?")
			equal(t, "value", ctx.Value(key{}), any("the caller's"))
			equal(t, "cause", context.Cause(ctx), error(nil))
			if _, limited := ctx.Deadline(); limited {
				t.Error("got a deadline, want none")
			}
			return "", errDown
		}
		all := delegates{bad(time.Second, errors.New("secret")).named("a"), firstgood.Func("b", look), firstgood.Func("c", look)}
		out, err := h.chain(t, config{Delegates: all}).Run(ctx, question)
		noWinner(t, out, err, firstgood.StatusExhausted)
		equal(t, "attempts", out.Attempts, 3)
	})
}

func TestF17_AJudgeThatFailsIsThisDelegatesFailureAndTheNextRuns(t *testing.T) {
	errJudge := &firstgood.Error{Kind: firstgood.KindRateLimited, Reason: "the judge is busy", Status: 429}
	everyHost(t, func(t *testing.T, h host) {
		criteria := func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
			if reply == "unjudged" {
				return firstgood.Verdict{}, errJudge
			}
			return firstgood.Verdict{}, nil
		}
		all := delegates{good(0, "unjudged").named("a"), good(0, "4").named("b")}
		out, err := h.run(t, h.chain(t, config{Delegates: all, Criteria: criteria}))
		won(t, out, err, "b", "4")
		equal(t, "history", told(out.History), []string{"0 a: judge_error: the judge is busy"})
		equal(t, "reply", out.History[0].Reply, "unjudged")

		out, err = h.run(t, h.chain(t, config{Delegates: delegates{all[0], bad(0, errDown).named("c")}, Criteria: criteria}))
		noWinner(t, out, err, firstgood.StatusJudgeError)
		equal(t, "history", told(out.History), []string{"0 a: judge_error: the judge is busy", "1 c: error: down"})
	})
	// However a judge fails, it is no more than that: not when it panics, and not when it is a chain that was stopped.
	everyHost(t, func(t *testing.T, h host) {
		criteria := func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
			switch reply {
			case "panic":
				panic("no judge")
			case "stopped":
				return firstgood.Verdict{}, &firstgood.NoWinnerError{Name: "judges", Status: firstgood.StatusStopped}
			}
			return firstgood.Verdict{}, nil
		}
		out, err := h.run(t, h.chain(t, config{Criteria: criteria, Delegates: delegates{good(0, "panic").named("a"), good(0, "stopped").named("b"), good(0, "4").named("c")}}))
		won(t, out, err, "c", "4")
		equal(t, "history", told(out.History), []string{"0 a: judge_error: panic: no judge", "1 b: judge_error: judges: no winner (stopped)"})
		if !strings.Contains(out.History[0].Detail, "chain_test.go") {
			t.Errorf("got detail %q, want the stack", out.History[0].Detail)
		}
	})
}
