package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

// using is a model whose reply, or error, has cost so many tokens.
func using(text string, delay time.Duration, input, output int) lab.Model {
	return func(context.Context, lab.Request) lab.Reply {
		return lab.Reply{Text: text, Delay: delay, Usage: &lab.Usage{Prompt: input, Completion: output, Total: input + output}}
	}
}

// TestS33_ABudgetOfCalls: none is started beyond it, those in flight may still win, and a lone failure is returned now.
func TestS33_ABudgetOfCalls(t *testing.T) {
	f := file(t, `
judge: judge
delegates:
  down: {`+at("500")+`}
  slow: {`+at("slow:9s:slow")+`}
  fails: {`+at("fails")+`}
  no: {`+at("ok:Sorry")+`}
  judge: {`+at("judge")+`}
  b: {`+at("ok:B")+`}
patterns:
  chain: {pattern: fallback-chain, with: {chain: [down, down, b]}, config: {budget: {calls: 2}}}
  one: {pattern: fallback-chain, with: {chain: [b, down]}, config: {budget: {calls: 1}}}
  hedge: {pattern: race, with: {candidates: [slow, fails, b]}, config: {start_after: 1s, budget: {calls: 2}}}
  lone: {pattern: race, with: {candidates: [fails, slow, b]}, config: {start_after: 10s, budget: {calls: 1}}}
  judged: {pattern: fallback-chain, with: {chain: [no, b]}, config: {failure_criteria: "it declines", budget: {calls: 2}}}
  judgedonce: {pattern: fallback-chain, with: {chain: [b]}, config: {failure_criteria: "it declines", budget: {calls: 1}}}
  bench: {pattern: fallback-chain, with: {chain: [judge]}}
  judgedbybench: {pattern: fallback-chain, with: {chain: [b]}, config: {failure_criteria: {text: "it declines", judge: bench}, budget: {calls: 1}}}
  again: {pattern: retry-with-learning, with: {target: down}, config: {max_retries: 9, budget: {calls: 4}}}
  fan: {pattern: fan-out, with: {delegates: [b, down, b]}, config: {width: 1, budget: {calls: 2}}}
  inner: {pattern: fallback-chain, with: {chain: [down, down, b]}}
  outer: {pattern: fallback-chain, with: {chain: [inner, b]}, config: {budget: {calls: 2}}}
  wide: {pattern: fallback-chain, with: {chain: [down, tight, b]}, config: {budget: {calls: 9}}}
  tight: {pattern: fallback-chain, with: {chain: [down, down, b]}, config: {budget: {calls: 1}}}
`)
	models := map[string]lab.Model{"fails": func(context.Context, lab.Request) lab.Reply { return lab.Reply{Status: 500, Delay: 2 * time.Second} }}
	const spent2 = "no_start: the budget of %s is spent: 2 of 2 calls"
	spent := func(who, whose string) string { return who + ": " + strings.Replace(spent2, "%s", whose, 1) }
	for name, c := range map[string]struct {
		took  time.Duration
		calls int
		want  outcome
	}{
		"chain": {0, 2, outcome{firstgood.StatusExhausted, "", 2, []string{"down: unavailable", "down: unavailable", spent("b", "chain")}}},
		"one":   {0, 1, outcome{firstgood.StatusWon, "b", 1, nil}},
		// At 1 s the second starts; at 2 s the tick is refused; at 3 s the second fails; the first wins at 9 s.
		"hedge":         {9 * time.Second, 2, outcome{firstgood.StatusWon, "slow", 2, []string{"fails: unavailable", spent("b", "hedge")}}},
		"lone":          {2 * time.Second, 1, outcome{firstgood.StatusExhausted, "", 1, []string{"fails: unavailable", "slow: no_start: ", "b: no_start: the budget of lone is spent: 1 of 1 calls"}}},
		"judged":        {0, 2, outcome{firstgood.StatusExhausted, "", 1, []string{"no: rejected", spent("b", "judged")}}},
		"judgedonce":    {0, 2, outcome{firstgood.StatusWon, "b", 1, nil}},
		"judgedbybench": {0, 2, outcome{firstgood.StatusWon, "b", 1, nil}},
		"again":         {0, 4, outcome{firstgood.StatusExhausted, "", 4, []string{"down: unavailable", "down: unavailable", "down: unavailable", "down: unavailable", "down: no_start: ", "down: no_start: ", "down: no_start: ", "down: no_start: ", "down: no_start: "}}},
		"fan":           {0, 2, outcome{firstgood.StatusWon, "", 2, []string{"down: unavailable", spent("b", "fan")}}},
		"outer":         {0, 2, outcome{firstgood.StatusExhausted, "", 1, []string{"inner: exhausted: ", spent("b", "outer")}}},
		"wide":          {0, 3, outcome{firstgood.StatusWon, "b", 3, []string{"down: unavailable", "tight: exhausted"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) {
				result := w.run(f, name, "Hi")
				c.want.check(w.T, result)
				if result.Outcome.Duration != c.took {
					w.Errorf("took %v, want %v", result.Outcome.Duration, c.took)
				}
				if n := len(w.lab.Visits()); n != c.calls {
					w.Errorf("%d calls were made, want %d", n, c.calls)
				}
			})
		})
	}
	inWorld(t, nil, func(w *world) { // an inner run says whose budget it was
		result := w.run(f, "outer", "Hi")
		nested := told(result.Outcome.History[0].Nested)
		if len(nested) != 3 || !strings.HasPrefix(nested[2], spent("b", "outer")) {
			w.Errorf("got %v", nested)
		}
	})
}

// TestS34_ExtraStartsStayUnderTheCeiling: everything slows down tenfold.
func TestS34_ExtraStartsStayUnderTheCeiling(t *testing.T) {
	f := file(t, `
delegates:
  a: {`+at("slow:10s")+`}
  b: {`+at("slow:20s")+`}
  down: {`+at("500")+`}
patterns:
  hedge: {pattern: race, with: {candidates: [a, b]}, config: {start_after: 1s, hedge_ceiling: 10%}}
  free: {pattern: race, with: {candidates: [a, b]}, config: {start_after: 1s}}
  needed: {pattern: race, with: {candidates: [down, a]}, config: {start_after: 1s, hedge_ceiling: 10%}}
`)
	for name, want := range map[string]int{"hedge": 10 + 10, "free": 100, "needed": 100} { // a burst of ten, and a tenth of a hundred
		inWorld(t, nil, func(w *world) {
			b := w.bind(f, name)
			for range 100 {
				result := b.Run(w.Context(), firstgood.Text("Hi"), nil)
				if result.Outcome.Winner != "a" {
					w.Fatalf("%s: got %v", name, result.Err)
				}
			}
			if err := b.Drain(w.Context()); err != nil {
				w.Error(err)
			}
			extra := len(w.lab.Visits()) - 100
			if extra > want || extra < want-1 {
				w.Errorf("%s: got %d extra starts in 100 runs, want %d", name, extra, want)
			}
		})
	}
}

// costs is what the JSON of a result says was used.
type costs struct {
	Usage spentJSON
	Calls []struct {
		Delegate string
		State    firstgood.State
		Usage    spentJSON
	}
}

type spentJSON struct {
	Input  int              `json:"input_tokens"`
	Output int              `json:"output_tokens"`
	Source firstgood.Source `json:"source"`
	Cost   *float64         `json:"cost_usd"`
}

func costsOf(t *testing.T, r *engine.Result) costs {
	t.Helper()
	var c costs
	if err := json.Unmarshal([]byte(pretty(t, r)), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

// same compares a usage; a cost below 0 is null.
func (s spentJSON) same(input, output int, source firstgood.Source, cost float64) bool {
	if s.Input != input || s.Output != output || s.Source != source || (s.Cost == nil) != (cost < 0) {
		return false
	}
	return s.Cost == nil || *s.Cost-cost < 1e-12 && cost-*s.Cost < 1e-12
}

// TestS46_S47_WhatEachAttemptHasCost: marked measured or unknown; the total counts losers and judges once; a cost where there
// is a price, and null where there is none.
func TestS46_S47_WhatEachAttemptHasCost(t *testing.T) {
	f := file(t, `
judge: judge
delegates:
  good: {`+at("good")+`, price: {input: 1, output: 10}}
  late: {`+at("late")+`, price: {input: 2, output: 20}}
  no: {`+at("no")+`, price: {input: 3, output: 30}}
  hung: {`+at("hang")+`, price: {input: 9, output: 90}}
  down: {`+at("500")+`, price: {input: 9, output: 90}}
  free: {`+at("good")+`}
  silent: {`+at("role-only")+`, price: {input: 9, output: 90}}
  judge: {`+at("judging")+`, price: {input: 5, output: 50}}
patterns:
  chain: {pattern: fallback-chain, with: {chain: [down, no, inner]}, config: {failure_criteria: "it declines"}}
  inner: {pattern: race, with: {candidates: [hung, good]}}
  listed: {pattern: race, with: {candidates: [late, good]}, config: {order: listed}}
  free.chain: {pattern: fallback-chain, with: {chain: [free]}}
  mixed: {pattern: fallback-chain, with: {chain: [silent, free]}, config: {nonempty: true}}
`)
	models := map[string]lab.Model{
		"good": using("good", time.Second, 100, 10), "late": using("late", 2*time.Second, 200, 20), "no": using("Sorry", 0, 300, 30),
		"judging": func(_ context.Context, r lab.Request) lab.Reply {
			verdict := `{"is_failure": false, "reason": "fine"}`
			if strings.Contains(r.Brief(), "\nSorry\n") {
				verdict = `{"is_failure": true, "reason": "it declines"}`
			}
			return lab.Reply{Text: verdict, Usage: &lab.Usage{Prompt: 1000, Completion: 100, Total: 1100}}
		},
	}
	type entry struct {
		delegate      string
		state         firstgood.State
		input, output int
		source        firstgood.Source
		cost          float64
	}
	const measured, unknown, null = firstgood.SourceMeasured, firstgood.SourceUnknown, -1
	for name, c := range map[string]struct {
		total entry
		calls []entry
	}{
		"chain": {entry{"", "", 2400, 240, unknown, 0.0018 + 0.02 + 0.0002}, []entry{
			{"down", firstgood.StateFailed, 0, 0, unknown, 0},
			{"no", firstgood.StateRejected, 300, 30, measured, 0.0018},
			{"judge", firstgood.StateJudged, 1000, 100, measured, 0.01},
			{"inner", firstgood.StateWon, 0, 0, measured, null},
			{"hung", firstgood.StateCancelled, 0, 0, unknown, 0},
			{"good", firstgood.StateWon, 100, 10, measured, 0.0002},
			{"judge", firstgood.StateJudged, 1000, 100, measured, 0.01},
		}},
		"listed": {entry{"", "", 300, 30, measured, 0.0008 + 0.0002}, []entry{
			{"late", firstgood.StateWon, 200, 20, measured, 0.0008}, {"good", firstgood.StateLost, 100, 10, measured, 0.0002},
		}},
		"free.chain": {entry{"", "", 100, 10, measured, null}, []entry{{"free", firstgood.StateWon, 100, 10, measured, null}}},
		"mixed": {entry{"", "", 100, 10, unknown, 0}, []entry{
			{"silent", firstgood.StateRejected, 0, 0, unknown, 0}, {"free", firstgood.StateWon, 100, 10, measured, null},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) {
				got := costsOf(w.T, w.run(f, name, "Hi"))
				if !got.Usage.same(c.total.input, c.total.output, c.total.source, c.total.cost) {
					w.Errorf("got the total %+v, want %+v", got.Usage, c.total)
				}
				if len(got.Calls) != len(c.calls) {
					w.Fatalf("got %d calls, want %d: %+v", len(got.Calls), len(c.calls), got.Calls)
				}
				for i, want := range c.calls {
					call := got.Calls[i]
					if call.Delegate != want.delegate || call.State != want.state || !call.Usage.same(want.input, want.output, want.source, want.cost) {
						w.Errorf("call %d: got %+v, want %+v", i, call, want)
					}
				}
			})
		})
	}
}

// TestS47_ASpentBudgetNeverReachesThePaidFallback: it is checked before each start, nested ones too.
func TestS47_ASpentBudgetNeverReachesThePaidFallback(t *testing.T) {
	f := file(t, `
judge: judge
delegates:
  no: {`+at("no")+`, price: {input: 10, output: 100}}
  paid: {`+at("paid")+`, price: {input: 1000, output: 1000}}
  judge: {`+at("judge")+`, price: {input: 0, output: 0}}
patterns:
  under: {pattern: fallback-chain, with: {chain: [no, paid]}, config: {failure_criteria: {matches: Sorry}, budget: {cost: 0.0061}}}
  spent: {pattern: fallback-chain, with: {chain: [no, paid]}, config: {failure_criteria: {matches: Sorry}, budget: {cost: 0.006}}}
  tokens: {pattern: fallback-chain, with: {chain: [no, paid]}, config: {failure_criteria: {matches: Sorry}, budget: {tokens: 330}}}
  left: {pattern: fallback-chain, with: {chain: [no, paid]}, config: {failure_criteria: {matches: Sorry}, budget: {tokens: 331}}}
  first: {pattern: fallback-chain, with: {chain: [paid]}, config: {budget: {cost: 0.000001}}}
  outer: {pattern: fallback-chain, with: {chain: [{pattern: fallback-chain, with: {chain: [no, paid]}, config: {failure_criteria: {matches: Sorry}}}, paid]}, config: {budget: {cost: 0.006}}}
  hedge: {pattern: race, with: {candidates: [no, slow, paid]}, config: {failure_criteria: {matches: Sorry}, start_after: 1s, budget: {cost: 0.006}}}
  slow: {pattern: fallback-chain, with: {chain: [judge]}}
`)
	models := map[string]lab.Model{"no": using("Sorry", 0, 300, 30), "paid": using("paid", 0, 300, 30)}
	const refused = "paid: no_start: the budget of "
	for name, want := range map[string]outcome{
		"under":  {firstgood.StatusWon, "paid", 2, []string{"no: rejected"}},
		"spent":  {firstgood.StatusExhausted, "", 1, []string{"no: rejected", refused + "spent is spent: $0.006 of $0.006"}},
		"tokens": {firstgood.StatusExhausted, "", 1, []string{"no: rejected", refused + "tokens is spent: 330 of 330 tokens"}},
		"left":   {firstgood.StatusWon, "paid", 2, []string{"no: rejected"}},
		"first":  {firstgood.StatusWon, "paid", 1, nil},
		"outer":  {firstgood.StatusExhausted, "", 1, []string{"outer.chain[0]: exhausted", refused + "outer is spent: $0.006 of $0.006"}},
		"hedge":  {firstgood.StatusExhausted, "", 1, []string{"no: rejected", "slow: no_start: the budget of hedge is spent", refused + "hedge is spent"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) {
				want.check(w.T, w.run(f, name, "Hi"))
				if n := len(w.asked("paid")); (n > 0) != (want.winner == "paid") {
					w.Errorf("the paid one was asked %d times", n)
				}
			})
		})
	}
}
