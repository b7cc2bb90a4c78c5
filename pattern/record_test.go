package pattern

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// tree is the calls with their ID and the call that they serve.
func tree(calls []firstgood.Call) []string {
	var lines []string
	for _, c := range calls {
		lines = append(lines, fmt.Sprintf("%d<%d %s %s %s", c.Parent, c.ID, c.Role, c.Delegate, c.State))
	}
	return lines
}

// judgeBy is a criteria that enters its judge's call where the attempt stands in the record.
func judgeBy(name string, took time.Duration, rejects string) firstgood.Criteria[string] {
	return func(ctx context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
		scope := firstgood.ScopeOf(ctx)
		call := firstgood.Call{Parent: scope.Call, Delegate: name, Index: scope.Index, Role: firstgood.RoleJudge, State: firstgood.StateRunning, Started: scope.Record.Elapsed()}
		scope.Record.Begin(&call)
		select {
		case <-time.After(took):
			call.State = firstgood.StateJudged
		case <-ctx.Done():
			call.State = firstgood.StateCancelled
		}
		call.Duration = scope.Record.Elapsed() - call.Started
		call.Usage = firstgood.Usage{OutputTokens: 1, Source: firstgood.SourceMeasured}
		scope.Record.Put(&call)
		return firstgood.Verdict{Rejected: reply == rejects}, ctx.Err()
	}
}

func TestTheRecordHoldsNestedRunsAndJudgesWithWhatTheyServe(t *testing.T) {
	for _, recorded := range []bool{false, true} {
		inBubble(t, fmt.Sprint("recorded ", recorded), func(t *testing.T) {
			inner := host{}.nested(t, config{Name: "inner", Criteria: judgeBy("strict", 2, "no"), Delegates: delegates{good(1, "no").named("x"), good(1, "yes").named("y")}})
			h := host{recorded: recorded}
			out, err := h.run(t, h.chain(t, config{Criteria: judgeBy("mild", 1, ""), Delegates: delegates{bad(1, errDown).named("a"), inner, good(0, "").named("never")}}))
			won(t, out, err, "inner", "yes")
			equal(t, "calls", tree(out.Calls), []string{
				"-1<0 delegate a failed",
				"-1<1 delegate inner won",
				"1<2 delegate x rejected",
				"2<3 judge strict judged",
				"1<4 delegate y won",
				"4<5 judge strict judged",
				"1<6 judge mild judged",
			})
			var times []time.Duration
			for _, c := range out.Calls {
				times = append(times, c.Started, c.Duration)
			}
			equal(t, "times", times, []time.Duration{0, 1, 1, 7, 1, 3, 2, 2, 4, 3, 5, 2, 7, 1})
			equal(t, "nested", []bool{out.Calls[0].Nested, out.Calls[1].Nested}, []bool{false, true})
			equal(t, "judged", []int{out.Calls[3].Index, out.Calls[5].Index, out.Calls[6].Index}, []int{0, 1, 1})
			equal(t, "duration", out.Duration, time.Duration(8))
		})
	}
}

// What is in flight inside a delegate that is in flight is in flight too, and has not heard of the decision yet.
func TestASnapshotDoesNotChangeWhileTheRecordGoesOn(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		var seen []string
		record := firstgood.NewRecord(time.Now(), func(c firstgood.Call) { seen = append(seen, fmt.Sprintf("%s %s", c.Delegate, c.State)) })
		inner := host{}.nested(t, config{Name: "inner", Delegates: delegates{act{after: time.Minute, reply: "late", deaf: true}.named("deaf")}})
		judged := host{}.nested(t, config{Name: "judged", Criteria: judgeBy("judge", time.Hour, ""), Delegates: delegates{good(1, "?").named("x")}})
		in := built(t)(NewRace(config{Delegates: delegates{inner, judged, good(time.Second, "4").named("quick")}}))
		out, err := in.Run(firstgood.WithRecord(t.Context(), record), question)
		won(t, out, err, "quick", "4")
		snapshot := slices.Clone(out.Calls)
		for _, c := range snapshot {
			if c.Delegate != "quick" && (c.State != firstgood.StateCancelled || c.Started+c.Duration != time.Second) {
				t.Errorf("got %+v, want it cancelled at the decision", c)
			}
		}
		equal(t, "calls", len(snapshot), 6)
		if err := in.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		equal(t, "snapshot", out.Calls, snapshot)
		after := record.Calls()
		for i, c := range after {
			if want := map[string]time.Duration{"deaf": time.Minute}[c.Delegate]; want != 0 {
				equal(t, "duration of "+c.Delegate, c.Duration, want)
			}
			equal(t, "state of "+c.Delegate, c.State, snapshot[i].State)
		}
		equal(t, "the last to report", seen[len(seen)-1], "deaf cancelled")
	})
}

// Several runs may share a record: one after the other, or side by side in a delegate.
func TestAnOutcomeHasTheCallsOfItsOwnRunAlone(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		ctx := firstgood.WithRecord(t.Context(), firstgood.NewRecord(time.Now(), nil))
		in := h.chain(t, config{Timeout: 2, Delegates: delegates{h.nested(t, config{Name: "inner", Delegates: delegates{good(1, "4").named("x")}})}})
		for run := range 3 {
			out, err := in.Run(ctx, question)
			won(t, out, err, "inner", "4")
			equal(t, "duration", out.Duration, time.Duration(1))
			equal(t, "started, since the record did", out.Calls[0].Started, time.Duration(run))
			equal(t, "calls", tree(out.Calls), []string{fmt.Sprintf("-1<%d delegate inner won", 2*run), fmt.Sprintf("%d<%d delegate x won", 2*run, 2*run+1)})
		}
		equal(t, "calls in the record", len(firstgood.ScopeOf(ctx).Record.Calls()), 6)
	})
}

// An inline run keeps calls where it has to set something up anyway, and always the path.
func TestAnInlineRunIsRecordedWhereItIsNotPlain(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		h := host{inline: true}
		out, err := h.run(t, h.chain(t, config{Delegates: delegates{good(1, "4").named("a")}}))
		won(t, out, err, "a", "4")
		equal(t, "calls of a plain run", []any{out.Calls, out.Duration}, []any{[]firstgood.Call(nil), time.Duration(0)})
		out, err = h.run(t, h.chain(t, config{Timeout: time.Hour, Delegates: delegates{good(1, "4").named("a")}}))
		won(t, out, err, "a", "4")
		equal(t, "calls", []any{tree(out.Calls), out.Duration}, []any{[]string{"-1<0 delegate a won"}, time.Duration(1)})
	})
}

func TestAFailedAttemptsContextEndsWithIt(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		var first context.Context
		keeps := firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			first = ctx
			return "", errDown
		})
		looks := firstgood.Func("b", func(context.Context, firstgood.Brief) (string, error) {
			equal(t, "the context of the one before", first.Err(), context.Canceled)
			return "4", nil
		})
		out, err := host{}.run(t, host{}.chain(t, config{Delegates: delegates{keeps, looks}}))
		won(t, out, err, "b", "4")
	})
}

func TestNobodyIsAskedToJudgeAReplyThatComesAfterTheEnd(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		ctx, cancel := context.WithCancel(t.Context())
		leaves := firstgood.Func("a", func(context.Context, firstgood.Brief) (string, error) {
			cancel()
			return "4", nil
		})
		in := h.chain(t, config{Delegates: delegates{leaves}, Criteria: func(context.Context, firstgood.Brief, string) (firstgood.Verdict, error) {
			t.Error("the reply was judged")
			return firstgood.Verdict{}, nil
		}})
		out, err := in.Run(h.ctx(ctx), question)
		noWinner(t, out, err, firstgood.StatusCancelled)
		_ = in.Drain(t.Context())
	})
}

func TestDrainWaitsForTheDeafAndForThoseInNestedInstances(t *testing.T) {
	inBubble(t, "", func(t *testing.T) {
		start := time.Now()
		third := built(t)(NewRace(config{Delegates: delegates{good(1, "4").named("x"), act{after: time.Hour, deaf: true}.named("deaf")}}))
		third.ready = yield
		second := host{}.nested(t, config{Delegates: delegates{firstgood.Within(time.Minute, delegate(third))}})
		first := built(t)(NewRace(config{Delegates: delegates{second, act{after: time.Minute, deaf: true}.named("deaf too")}}))
		if err := first.Drain(t.Context()); err != nil {
			t.Errorf("got %v from an instance at rest", err)
		}
		out, err := first.Run(t.Context(), question)
		if err != nil || out.Result != "4" {
			t.Fatal(out, err)
		}
		for _, limit := range []time.Duration{time.Second, 10 * time.Minute} { // the own, then the nested are at work
			errLimit := fmt.Errorf("no longer than %v", limit)
			ctx, cancel := context.WithTimeoutCause(t.Context(), limit, errLimit)
			if err := first.Drain(ctx); err != errLimit {
				t.Errorf("got %v, want the cause of the context", err)
			}
			cancel()
		}
		done := make(chan error, 2) // several may wait
		for range 2 {
			go func() { done <- first.Drain(t.Context()) }()
		}
		synctest.Wait()
		equal(t, "drained", []any{<-done, <-done}, []any{nil, nil})
		equal(t, "elapsed", time.Since(start), time.Hour)
	})
}

func TestEachAttemptHasAnIdempotencyKeyOfItsOwn(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		var keys []string
		asks := firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			key := firstgood.IdempotencyKey(ctx)
			derived, cancel := context.WithCancel(ctx) // the same for all that the attempt does
			defer cancel()
			equal(t, "key in a derived context", firstgood.IdempotencyKey(derived), key)
			keys = append(keys, key)
			return "no", nil
		})
		in := h.chain(t, config{Timeout: time.Hour, Delegates: delegates{asks, h.nested(t, config{Timeout: time.Hour, Delegates: delegates{asks}})}, Criteria: func(ctx context.Context, _ firstgood.Brief, _ string) (firstgood.Verdict, error) {
			equal(t, "a judge's key", firstgood.IdempotencyKey(ctx), "")
			return firstgood.Verdict{Rejected: true}, nil
		}})
		for range 2 {
			if _, err := h.run(t, in); err == nil {
				t.Error("got a winner")
			}
		}
		slices.Sort(keys)
		if keys[0] == "" || len(slices.Compact(keys)) != 4 {
			t.Errorf("got keys %q, want four", keys)
		}
	})
}

// drains is a delegate that has left something behind, and cannot end it.
type drains struct {
	delegate
	err   error
	asked *int
}

func (d drains) Drain(context.Context) error {
	*d.asked++
	return d.err
}

func TestDrainAsksEveryDelegateAndReturnsTheFirstError(t *testing.T) {
	asked := 0
	errOther := errors.New("other")
	in, err := NewFallbackChain(config{Delegates: delegates{
		drains{good(0, "").named("a"), nil, &asked}, drains{good(0, "").named("b"), errDown, &asked}, drains{good(0, "").named("c"), errOther, &asked},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Drain(t.Context()); err != errDown || asked != 3 {
		t.Errorf("got %v after %d", err, asked)
	}
}
