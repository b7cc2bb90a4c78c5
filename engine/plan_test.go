package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
)

// plans are instances named x over these delegates, with what a run may do at most.
var planDelegates = `
delegates:
  a: {` + at("hang") + `, timeout: 10s}
  b: {` + at("hang") + `, timeout: 20s}
  open: {` + at("ok") + `}
  again: {` + at("hang") + `, timeout: 30s, retries: 2}
  good: {` + at("slow:9s") + `, timeout: 10s}
  program: {command: {argv: [x]}, timeout: 5s, retries: 2}
  judge: {` + at("hang") + `, timeout: 3s}
  other: {` + at("hang") + `, timeout: 7s, retries: 1}
patterns:
`

var plans = []struct {
	name      string
	patterns  string
	calls     int
	judged    int
	time      time.Duration
	unbounded string
	slack     time.Duration // how much sooner the worst run of it ends; below 0: not run
}{
	{"chain", `x: {pattern: fallback-chain, with: {chain: [a, b]}}`, 2, 0, 30 * time.Second, "", 0},
	{"chain of one", `x: {pattern: fallback-chain, with: {chain: [a]}}`, 1, 0, 10 * time.Second, "", 0},
	{"chain with the same twice", `x: {pattern: fallback-chain, with: {chain: [a, b, a]}}`, 3, 0, 40 * time.Second, "", 0},
	{"chain without a limit", `x: {pattern: fallback-chain, with: {chain: [a, open, b]}}`, 3, 0, 0, "open", -1},
	{"chain limited by the run", `x: {pattern: fallback-chain, with: {chain: [a, open]}, config: {timeout: 4s}}`, 2, 0, 4 * time.Second, "", 0},
	{"run's limit beyond reach", `x: {pattern: fallback-chain, with: {chain: [a]}, config: {timeout: 1h}}`, 1, 0, 10 * time.Second, "", 0},
	{"empty", `x: {pattern: fallback-chain, with: {chain: []}}`, 0, 0, 0, "", 0},
	{"retries are inside the attempt's time", `x: {pattern: fallback-chain, with: {chain: [again]}}`, 3, 0, 30 * time.Second, "", 0},
	{"a program with retries", `x: {pattern: fallback-chain, with: {chain: [program, program]}}`, 6, 0, 10 * time.Second, "", -1},
	{"race", `x: {pattern: race, with: {candidates: [a, b, a]}}`, 3, 0, 20 * time.Second, "", 0},
	{"race with ticks", `x: {pattern: race, with: {candidates: [a, b, a]}, config: {start_after: 5s}}`, 3, 0, 25 * time.Second, "", 0},
	{"race whose failure comes before the tick", `x: {pattern: race, with: {candidates: [a, b, a]}, config: {start_after: 15s}}`, 3, 0, 35 * time.Second, "", 0},
	{"race with ticks that never come", `x: {pattern: race, with: {candidates: [a, b, a]}, config: {start_after: 1h}}`, 3, 0, 40 * time.Second, "", 0},
	{"race of two at a time", `x: {pattern: race, with: {candidates: [a, b, a, b]}, config: {max_parallel: 2}}`, 4, 0, 40 * time.Second, "", 0},
	{"race of one at a time", `x: {pattern: race, with: {candidates: [a, b]}, config: {max_parallel: 1}}`, 2, 0, 30 * time.Second, "", 0},
	{"race with ticks, two at a time", `x: {pattern: race, with: {candidates: [b, b, b]}, config: {max_parallel: 2, start_after: 5s}}`, 3, 0, 40 * time.Second, "", 0},
	{"listed race", `x: {pattern: race, with: {candidates: [b, a]}, config: {order: listed}}`, 2, 0, 20 * time.Second, "", 0},
	{"race without a limit", `x: {pattern: race, with: {candidates: [open, a, open]}}`, 3, 0, 0, "open", -1},
	{"fan-out", `x: {pattern: fan-out, with: {delegates: [a, b, b]}}`, 3, 0, 20 * time.Second, "", 0},
	{"fan-out of width 1", `x: {pattern: fan-out, with: {delegates: [a, b, b]}, config: {width: 1}}`, 3, 0, 50 * time.Second, "", 0},
	{"fan-out of width 2", `x: {pattern: fan-out, with: {delegates: [a, b, b]}, config: {width: 2}}`, 3, 0, 30 * time.Second, "", 0},
	{"fan-out wider than it is", `x: {pattern: fan-out, with: {delegates: [a, b]}, config: {width: 9}}`, 2, 0, 20 * time.Second, "", 0},
	{"retry", `x: {pattern: retry-with-learning, with: {target: a}}`, 3, 0, 30 * time.Second, "", 0},
	{"retry five times", `x: {pattern: retry-with-learning, with: {target: again}, config: {max_retries: 5}}`, 15, 0, 150 * time.Second, "", 0},
	{"nested", `
  inner: {pattern: fallback-chain, with: {chain: [a, b]}}
  x: {pattern: race, with: {candidates: [inner, b]}}`, 3, 0, 30 * time.Second, "", 0},
	{"nested with a limit of its own", `
  inner: {pattern: fallback-chain, with: {chain: [a, open]}, config: {timeout: 12s}}
  x: {pattern: fallback-chain, with: {chain: [inner, b]}}`, 3, 0, 32 * time.Second, "", -1},
	{"nested without a limit", `
  inner: {pattern: fallback-chain, with: {chain: [open]}}
  x: {pattern: fallback-chain, with: {chain: [inner, b]}}`, 2, 0, 0, "open", -1},
	{"nested in a retry", `
  inner: {pattern: race, with: {candidates: [a, b]}}
  x: {pattern: retry-with-learning, with: {target: inner}, config: {max_retries: 2}}`, 4, 0, 40 * time.Second, "", 0},

	{"judge", `x: {pattern: fallback-chain, with: {chain: [good, good]}, config: {failure_criteria: {text: w, judge: judge}}}`, 2, 2, 26 * time.Second, "", 2 * time.Second},
	{"judge asked again", `x: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: judge, on_judge_error: retry 2}}}`, 1, 3, 19 * time.Second, "", time.Second},
	{"judge with retries of its own", `x: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: other, on_judge_error: retry 1}}}`, 1, 4, 24 * time.Second, "", time.Second},
	{"two rules with judges", `x: {pattern: race, with: {candidates: [good, a]}, config: {failure_criteria: {text: w, judge: judge}, acceptance_criteria: {any: [{text: v, judge: other}, {matches: z}]}}}`, 2, 6, 20 * time.Second, "", 8 * time.Second},
	{"judge that is a chain", `
  bench: {pattern: fallback-chain, with: {chain: [judge, other]}}
  x: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: bench}}}`, 1, 3, 20 * time.Second, "", time.Second},
	{"judge that is judged", `
  bench: {pattern: fallback-chain, with: {chain: [good]}, config: {nonempty: true, failure_criteria: {text: v, judge: judge}}}
  x: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: bench}}}`, 1, 2, 23 * time.Second, "", 2 * time.Second},
	{"judge without a limit", `x: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: open}}}`, 1, 1, 0, "open", -1},
	{"judge in a retry", `x: {pattern: retry-with-learning, with: {target: good}, config: {failure_criteria: {text: w, judge: judge}}}`, 3, 3, 39 * time.Second, "", 3 * time.Second},
	{"command that weighs", `x: {pattern: fallback-chain, with: {chain: [a, b]}, config: {acceptance_criteria: {command: [x], timeout: 4s}}}`, 2, 0, 38 * time.Second, "", -1},
	{"command that weighs without a limit", `x: {pattern: fallback-chain, with: {chain: [a]}, config: {acceptance_criteria: {command: [x]}}}`, 1, 0, 0, "the command of a criterion", -1},
}

func TestPlan_AtMost(t *testing.T) {
	for _, test := range plans {
		t.Run(test.name, func(t *testing.T) {
			f := file(t, planDelegates+"  "+test.patterns+"\n")
			p := engine.PlanOf(ref(t, f, "x"))
			if p.Calls != test.calls || p.JudgeCalls != test.judged || p.Time != test.time || strings.Join(p.Unbounded, " ") != test.unbounded {
				t.Errorf("got %d calls, %d of judges, %v, unbounded %v; want %d, %d, %v, %q", p.Calls, p.JudgeCalls, p.Time, p.Unbounded,
					test.calls, test.judged, test.time, test.unbounded)
			}
		})
	}
}

// TestPlan_HoldsInTheWorstRun runs each of the plans with delegates and judges that take all the time they have, and
// finds that the plan said how long that would be and that no more was called.
func TestPlan_HoldsInTheWorstRun(t *testing.T) {
	for _, test := range plans {
		if test.slack < 0 {
			continue
		}
		t.Run(test.name, func(t *testing.T) {
			f := file(t, planDelegates+"  "+test.patterns+"\n")
			inWorld(t, nil, func(w *world) {
				bound := w.bind(f, "x")
				result := bound.Run(w.Context(), firstgood.Text("Hi"), nil)
				if result.Err == nil {
					w.Errorf("%s won", result.Outcome.Winner)
				}
				if took := result.Outcome.Duration; took != bound.Plan.Time-test.slack {
					w.Errorf("it took %v, want %v", took, bound.Plan.Time-test.slack)
				}
				if err := bound.Drain(w.Context()); err != nil {
					w.Error(err)
				}
				if n, most := len(w.lab.Visits()), bound.Plan.Calls+bound.Plan.JudgeCalls; n > most {
					w.Errorf("there were %d calls, want at most %d", n, most)
				}
			})
		})
	}
}

func TestPlan_OfADelegate(t *testing.T) {
	f := file(t, planDelegates+"  x: {pattern: race, with: {candidates: []}}\n")
	for name, want := range map[string]engine.Plan{
		"again":   {Name: "again", Kind: "openai", Effects: config.EffectsNone, Repeats: 1, Calls: 3, Time: 30 * time.Second},
		"open":    {Name: "open", Kind: "openai", Effects: config.EffectsNone, Repeats: 1, Calls: 1, Unbounded: []string{"open"}},
		"program": {Name: "program", Kind: "command", Effects: config.EffectsNone, Repeats: 1, Calls: 3, Time: 5 * time.Second},
	} {
		if got := engine.PlanOf(ref(t, f, name)); fmt.Sprint(*got) != fmt.Sprint(want) {
			t.Errorf("got %+v, want %+v", *got, want)
		}
	}
}

// TestPlan_Rules holds how criteria are described for people.
func TestPlan_Rules(t *testing.T) {
	f := file(t, `
judge: j
delegates:
  j: {command: {argv: [j]}}
  k: {command: {argv: [k]}}
patterns:
  x:
    pattern: race
    with: {candidates: [j]}
    config:
      nonempty: true
      failure_criteria: {any: ["it is  in the\n      wrong language", {text: "`+strings.Repeat("long ", 40)+`", judge: k}, {not: {matches: '^\d+$'}}]}
      acceptance_criteria: {all: [{nonempty: true}, {command: [go, test, "${SECRET}"]}]}
`)
	p := engine.PlanOf(ref(t, f, "x"))
	want := []string{
		"nonempty",
		`failure_criteria: any ("it is in the wrong language" → judge j; "` + strings.Repeat("long ", 16) + `…" → judge k; not (matches ^\d+$))`,
		"acceptance_criteria: all (nonempty; command go test ${SECRET})",
	}
	if got := strings.Join(p.Rules, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if len(p.Judges) != 2 || p.Judges[0].Name != "j" || p.Judges[1].Name != "k" {
		t.Errorf("got the judges %v", p.Judges)
	}
}

// TestPlan_TimeoutOfTheCommandLine holds that the plan of a bound run knows the timeout that was given.
func TestPlan_TimeoutOfTheCommandLine(t *testing.T) {
	f := file(t, planDelegates+"  x: {pattern: fallback-chain, with: {chain: [a, open]}}\n")
	inWorld(t, nil, func(w *world) {
		for name, pattern := range map[string]string{"x": "fallback-chain", "open": ""} {
			bound, err := w.engine().Bind(ref(t, f, name), time.Second)
			if err != nil {
				w.Fatal(err)
			}
			if bound.Plan.Time != time.Second || bound.Plan.Pattern != pattern || bound.Plan.Name != name {
				w.Errorf("got %+v", bound.Plan)
			}
		}
	})
}
