package config

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// TestWhatEachPatternTakes holds which pattern has which of the settings.
func TestWhatEachPatternTakes(t *testing.T) {
	f := parsed(t, `
health: true
delegates:
  a: {openai: {model: m}, price: {input: 1, output: 2}}
  b: {openai: {model: m}, price: {input: 1, output: 2}}
patterns:
  chain:
    pattern: fallback-chain
    with: {chain: [a, b, {pattern: race, with: {candidates: [a]}}]}
    config: {advance_on: [rate_limited, refused], on_refusal: [b, "chain.chain[2]"], reserve: 5s, timeout: 20s, budget: {calls: 3}, wait_for_recovery: 1s}
  race:
    pattern: race
    with: {candidates: [a, b]}
    config: {stop_on: [auth], on_refusal: stop, start_after: 1s, hedge_ceiling: 10%, budget: {tokens: 5, cost: 0.5}, wait_for_recovery: 1s}
  staggered:
    pattern: race
    with: {candidates: [a, b]}
    config: {on_refusal: [b], max_parallel: 1, reserve: 5s, timeout: 20s}
  fan:
    pattern: fan-out
    with: {delegates: [a, b]}
    config: {width: 1, reserve: 5s, timeout: 20s, budget: {calls: 3}, wait_for_recovery: 1s}
  retry:
    pattern: retry-with-learning
    with: {target: a}
    config: {advance_on: [rejected], on_refusal: stop, reserve: 5s, timeout: 20s, budget: {calls: 3}, wait_for_recovery: 1s}
`)
	kinds := func(kinds ...firstgood.Kind) []firstgood.Kind { return kinds }
	for i, want := range []Config{
		{AdvanceOn: kinds("rate_limited", "refused"), OnRefusal: &Refusal{Ask: []string{"b", "chain.chain[2]"}}, Reserve: 5 * time.Second, Timeout: 20 * time.Second, Budget: &Budget{Calls: 3}, WaitForRecovery: time.Second},
		{StopOn: kinds("auth"), OnRefusal: &Refusal{Stop: true}, Order: "eager", StartAfter: time.Second, HedgeCeiling: 0.1, Budget: &Budget{Tokens: 5, Cost: 0.5}, WaitForRecovery: time.Second},
		{OnRefusal: &Refusal{Ask: []string{"b"}}, Order: "eager", MaxParallel: 1, Reserve: 5 * time.Second, Timeout: 20 * time.Second},
		{Width: 1, Reserve: 5 * time.Second, Timeout: 20 * time.Second, Budget: &Budget{Calls: 3}, WaitForRecovery: time.Second},
		{AdvanceOn: kinds("rejected"), OnRefusal: &Refusal{Stop: true}, MaxRetries: 3, Reserve: 5 * time.Second, Timeout: 20 * time.Second, Budget: &Budget{Calls: 3}, WaitForRecovery: time.Second},
	} {
		got := f.Instances[i].Config
		if got.OnRefusal != nil {
			got.OnRefusal = &Refusal{Stop: got.OnRefusal.Stop, Ask: got.OnRefusal.Ask}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v\nwant %+v", f.Instances[i].Name, got, want)
		}
	}
}

// TestS17_ReserveIsRefusedOnlyWhereNothingIsLeft goes along the border.
func TestS17_ReserveIsRefusedOnlyWhereNothingIsLeft(t *testing.T) {
	for _, test := range []struct {
		instance string
		ok       bool
	}{
		{"pattern: fallback-chain, with: {chain: [a, a, a]}, config: {timeout: 20s, reserve: 9999999999ns}", true},
		{"pattern: fallback-chain, with: {chain: [a, a, a]}, config: {timeout: 20s, reserve: 10s}", false},
		{"pattern: fallback-chain, with: {chain: [a, a, a]}, config: {timeout: 19s, reserve: 9.5s}", false},
		{"pattern: fallback-chain, with: {chain: [a, a, a]}, config: {timeout: 20s, reserve: 2562047h}", false},
		{"pattern: retry-with-learning, with: {target: a}, config: {max_retries: 5, timeout: 20s, reserve: 4999ms}", true},
		{"pattern: retry-with-learning, with: {target: a}, config: {max_retries: 5, timeout: 20s, reserve: 5s}", false},
		{"pattern: race, with: {candidates: [a, a, a, a]}, config: {max_parallel: 2, timeout: 20s, reserve: 19s}", true},
		{"pattern: race, with: {candidates: [a, a, a, a]}, config: {max_parallel: 2, timeout: 20s, reserve: 20s}", false},
		{"pattern: race, with: {candidates: [a, a, a, a, a]}, config: {max_parallel: 2, start_after: 1s, timeout: 20s, reserve: 10s}", false},
		{"pattern: fan-out, with: {delegates: [a, a, a]}, config: {width: 1, timeout: 20s, reserve: 9s}", true},
		{"pattern: fan-out, with: {delegates: [a, a, a]}, config: {width: 1, timeout: 20s, reserve: 10s}", false},
		{"pattern: fallback-chain, with: {chain: []}, config: {timeout: 20s, reserve: 30s}", true},
	} {
		_, problems := Parse("f", []byte("delegates: {a: {openai: {model: m}}}\npatterns: {p: {"+test.instance+"}}\n"), Kinds())
		if problems.Failed() == test.ok {
			t.Errorf("%s: %v", test.instance, problems)
		}
	}
}

func TestS40_WhatUnsafeDelegatesMayDo(t *testing.T) {
	const file = `
defaults: {retries: 3}
delegates:
  fast: {openai: {model: m}}
  agent: {command: {argv: [agent, "{brief}"]}, effects: unsafe}
  again: {command: {argv: [again, "{brief}"]}, effects: idempotent}
patterns:
  p: {`
	for _, test := range []struct {
		instance, want string // want is the severity and what is said, "" for nothing
	}{
		{"pattern: fallback-chain, with: {chain: [fast, agent]}", ""},
		{"pattern: fallback-chain, with: {chain: [agent]}", ""},
		{"pattern: fallback-chain, with: {chain: [fast, again, fast]}", ""},
		{"pattern: fan-out, with: {delegates: [fast, agent, fast]}", ""},
		{"pattern: race, with: {candidates: [agent]}", ""},
		{"pattern: race, with: {candidates: [fast, again]}", ""},
		{"pattern: retry-with-learning, with: {target: agent}, config: {max_retries: 1}", ""},
		{"pattern: retry-with-learning, with: {target: again}", ""},
		{"pattern: race, with: {candidates: [fast, fast]}, config: {failure_criteria: {text: bad, judge: agent}}", ""},
		{"pattern: fallback-chain, with: {chain: [agent, fast]}", "note: patterns.p.with.chain[0]: a run does not go past agent once it has started"},
		{"pattern: fan-out, with: {delegates: [agent, {pattern: fallback-chain, with: {chain: [agent]}}]}", "note: patterns.p.with.delegates[1]: agent, to which p.delegates[1] leads, is here more than once"},
		{"pattern: race, with: {candidates: [fast, agent]}, config: {max_parallel: 1}", "patterns.p.with.candidates[1]: agent leaves something behind each time it runs (effects: unsafe), and a race starts several to keep one; take it out of the race, or say effects: idempotent if that is true"},
		{"pattern: race, with: {candidates: [{pattern: retry-with-learning, with: {target: agent}, config: {max_retries: 1}}, fast]}", "patterns.p.with.candidates[0]: agent, to which p.candidates[0] leads, leaves something behind"},
		{"pattern: retry-with-learning, with: {target: agent}, config: {max_retries: 2}", "patterns.p.with.target: agent leaves something behind each time it runs (effects: unsafe), and this runs it up to 2 times"},
	} {
		f, problems := Parse("f", []byte(file+test.instance+"}\n"), Kinds())
		if got := problems.Error(); test.want == "" && got != "" || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
			t.Errorf("%s\ngot  %v\nwant %s", test.instance, got, test.want)
		}
		if f != nil && (f.Delegates[0].Retries != 3 || f.Delegates[1].Retries != 0 || f.Delegates[2].Retries != 3) {
			t.Errorf("retries %d, %d, %d", f.Delegates[0].Retries, f.Delegates[1].Retries, f.Delegates[2].Retries)
		}
	}
}

// TestS40_UnsafeBehindACircle holds that the search for unsafe delegates ends where instances lead to each other.
func TestS40_UnsafeBehindACircle(t *testing.T) {
	problems := refused(t, `
delegates: {agent: {command: {argv: [agent, "{brief}"]}, effects: unsafe}, fast: {openai: {model: m}}}
patterns:
  one: {pattern: fallback-chain, with: {chain: [two, agent]}}
  two: {pattern: race, with: {candidates: [one, fast]}}
`)
	if !strings.Contains(problems.Error(), "this leads back to one") || !strings.Contains(problems.Error(), "agent, to which one leads, leaves something behind") {
		t.Errorf("problems %v", problems)
	}
}
