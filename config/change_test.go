package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

const changeable = `
judge: small
delegates:
  fast: {openai: {model: m}}
  careful: {openai: {model: m}, timeout: 90s}
  small: {openai: {model: m}}
  agent: {command: {argv: [agent, "{brief}"]}, effects: unsafe}
patterns:
  answer:
    pattern: fallback-chain
    with: {chain: [fast, careful]}
    config: {failure_criteria: "it is empty", nonempty: true, timeout: 3m}
  quick: {pattern: race, with: {candidates: [fast, answer]}, config: {start_after: 1s}}
  learn: {pattern: retry-with-learning, with: {target: fast}}
  slow: {pattern: fallback-chain, with: {chain: [fast, small, quick]}, config: {reserve: 10s, timeout: 1m, advance_on: [timeout, refused], on_refusal: [small]}}
`

func TestInstanceOutsideTheFile(t *testing.T) {
	f := parsed(t, changeable)
	in, problems := f.Instance("chain", "fallback-chain",
		[]Binding{{"chain", "chain", []string{"fast", "quick", "fast"}}},
		[]Setting{
			{"--fail-if", "failure_criteria", "it says: no {thanks}"},
			{"--accept-if", "acceptance_criteria", "{all: [{matches: '^a'}, 'is polite']}"},
			{"--nonempty", "nonempty", "true"},
			{"--timeout", "timeout", "2m"},
		})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if in.Name != "chain" || in.Pattern != "fallback-chain" || names(in.Bound("chain")) != "fast quick fast" || in.Bound("chain")[1].Instance != f.Instances[1] {
		t.Errorf("instance %+v", in)
	}
	config := in.Config
	if config.Failure.Text.String() != "it says: no {thanks}" || config.Failure.Judge.Name != "small" || !config.NonEmpty || config.Timeout != 2*time.Minute {
		t.Errorf("config %+v", config)
	}
	if all := config.Acceptance.Children; len(all) != 2 || !all[0].Regexp.MatchString("abc") || all[1].Judge.Delegate != f.Delegates[2] {
		t.Errorf("acceptance %+v", config.Acceptance)
	}
	race, problems := f.Instance("race", "race", []Binding{{"race", "candidates", []string{"fast"}}}, []Setting{{"--set max_parallel", "max_parallel", "2"}, {"--set order", "order", "listed"}})
	if len(problems) > 0 || race.Config.MaxParallel != 2 || race.Config.Order != "listed" {
		t.Errorf("race %+v, %v", race, problems)
	}
}

func TestChangeOfAnInstance(t *testing.T) {
	f := parsed(t, changeable)
	answer := f.Instances[0]
	in, problems := f.Change(answer, []Binding{{"--with chain", "chain", []string{"careful"}}}, []Setting{{"--set failure_criteria", "failure_criteria", ""}, {"--timeout", "timeout", "200s"}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if names(in.Bound("chain")) != "careful" || in.Config.Failure != nil || !in.Config.NonEmpty || in.Config.Timeout != 200*time.Second || in.Name != "answer" {
		t.Errorf("changed %+v", in)
	}
	if names(answer.Bound("chain")) != "fast careful" || answer.Config.Failure == nil || answer.Config.Timeout != 3*time.Minute {
		t.Errorf("the original changed: %+v", answer)
	}
	learn, problems := f.Change(f.Instances[2], []Binding{{"--with target", "target", []string{"quick"}}}, []Setting{{"--set max_retries", "max_retries", "5"}})
	if len(problems) > 0 || names(learn.Bound("target")) != "quick" || learn.Config.MaxRetries != 5 {
		t.Errorf("learn %+v, %v", learn, problems)
	}
	same, problems := f.Change(answer, nil, nil)
	if len(problems) > 0 || names(same.Bound("chain")) != "fast careful" {
		t.Errorf("same %+v, %v", same, problems)
	}
	if unset := f.Instances[1].Unset(environment()); unset != nil {
		t.Errorf("unset %v", unset)
	}
	with, problems := f.Change(answer, nil, []Setting{{"--set failure_criteria", "failure_criteria", "about ${TOPIC}"}})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if unset := with.Unset(environment()); len(unset) != 1 || unset[0].Pos.String() != "--set failure_criteria" {
		t.Errorf("unset %v", unset)
	}
}

func TestChangesThatAreRefused(t *testing.T) {
	with := func(slot string, names ...string) []Binding { return []Binding{{"--with " + slot, slot, names}} }
	set := func(key, value string) []Setting { return []Setting{{"--set " + key, key, value}} }
	for _, test := range []struct {
		instance string // of the file, or a pattern
		with     []Binding
		set      []Setting
		want     string
	}{
		{"answer", nil, set("timeout", "60"), `--set timeout: got the text "60", want a duration; write 60s`},
		{"answer", nil, set("timeout", ""), `--set timeout: got the text "", want a duration; write for example 400ms, 90s or 1h30m`},
		{"answer", nil, set("nonempty", "yes"), `--set nonempty: got the text "yes", want true or false; write true`},
		{"learn", nil, set("max_retries", "many"), `--set max_retries: got the text "many", want a whole number from 1 to 100`},
		{"quick", nil, set("order", "list"), `--set order: got the text "list", want eager or listed`},
		{"answer", nil, set("timeuot", "5s"), `--set timeuot: unknown key "timeuot"; did you mean "timeout"?`},
		{"answer", nil, set("start_after", "5s"), `--set start_after: "start_after" does not belong here: it is a setting of race, not of fallback-chain; remove it`},
		{"answer", nil, set("failure_criteria", "{matches: '('}"), "--set failure_criteria: matches: the regular expression \"(\" is wrong: missing closing ) in \"(\""},
		{"answer", nil, set("failure_criteria", "{matches: }}"), "--set failure_criteria: not YAML: did not find expected <document start>"},
		{"answer", nil, set("failure_criteria", "${X"), `--set failure_criteria: ${ is not ${NAME} or ${NAME:-default}; write $${ for the characters themselves`},
		{"answer", nil, set("failure_criteria", "{text: bad, judge: smal}"), `--set failure_criteria: judge: unknown delegate or pattern "smal"; did you mean "small"?`},
		{"answer", with("chain", "fats"), nil, `--with chain: unknown delegate or pattern "fats"; did you mean "fast"?`},
		{"answer", with("chian", "fast"), nil, `--with chian: unknown slot "chian"; did you mean "chain"?`},
		{"answer", with("candidates", "fast"), nil, `--with candidates: "candidates" does not belong here: it is a slot of race; that of fallback-chain is chain`},
		{"learn", with("target", "fast", "careful"), nil, `--with target: got a list, want one name; write it without brackets`},
		{"answer", with("chain", "quick"), nil, `quick → answer`},
		{"answer", with("chain", "answer"), nil, `--with chain: this leads back to answer: answer → answer; break the cycle`},
		{"race", nil, nil, `new: the slot "candidates" is missing: the delegates that race`},
		{"rase", nil, nil, `new: unknown pattern "rase"; did you mean race?`},
		{"answer", nil, set("budget", "5"), `--set budget: got the text "5", want a mapping; write its keys below it, or in braces: {key: …}`},
		{"answer", nil, set("budget", "{calls: none}"), `--set budget: calls: got the text "none", want a whole number from 1 to 2147483647`},
		{"answer", nil, set("budget", "{cals: 3}"), `--set budget: unknown key "cals"; did you mean "calls"?`},
		{"answer", nil, set("budget", "{calls: }}"), `--set budget: not YAML: did not find expected <document start>`},
		{"answer", nil, set("stop_on", "auth,refusd"), `--set stop_on: got the text "refusd", want context_length, rate_limited, auth, refused, unavailable, bad_request, timeout, truncated, error, rejected, judge_error, exhausted or panic; did you mean refused?`},
		{"answer", nil, set("stop_on", ""), `--set stop_on: got the text "", want context_length,`},
		{"answer", nil, set("on_refusal", "small"), `--set on_refusal: "small" is not in the slot chain; there are fast and careful`},
		{"answer", nil, set("on_refusal", "[careful, crfl]"), `--set on_refusal: "crfl" is not in the slot chain; there are fast and careful`},
		{"answer", nil, set("hedge_ceiling", "10%"), `--set hedge_ceiling: "hedge_ceiling" does not belong here: it is a setting of race, not of fallback-chain; remove it`},
		{"quick", nil, set("hedge_ceiling", "10"), `--set hedge_ceiling: got the text "10", want a share from 0.01% to 100%; write 10%`},
		{"answer", nil, set("reserve", "3m"), `--set reserve: reserve, 3m0s, for 1 attempt after the first takes 3m0s, and timeout is 3m0s, so nothing is left for the first; lower reserve, or raise timeout`},
		{"slow", nil, set("timeout", "20s"), `--set timeout: reserve, 10s, for 2 attempts after the first takes 20s, and timeout is 20s, so nothing is left`},
		{"slow", with("chain", "fast", "small", "fast", "fast", "fast", "fast", "fast"), nil, `--with chain: reserve, 10s, for 6 attempts after the first takes 1m0s, and timeout is 1m0s`},
		{"slow", with("chain", "fast", "quick", "fast"), nil, `--with chain: "small" is not in the slot chain; there are fast, quick and fast`},
		{"answer", nil, set("wait_for_recovery", "5s"), `--set wait_for_recovery: a delegate is only left alone where its health is kept; write health: true at the top of the file, or remove it`},
		{"answer", nil, set("acceptance_criteria", "{expr: 'reply.text WRONG'}"), `--set acceptance_criteria: expr: the expression is wrong in its column 12: nothing is wrong but the word`},
		{"quick", with("candidates", "fast", "agent"), nil, `--with candidates: agent leaves something behind each time it runs (effects: unsafe), and a race starts several to keep one`},
		{"learn", with("target", "agent"), nil, `--with target: agent leaves something behind each time it runs (effects: unsafe), and this runs it up to 3 times`},
		{"race", with("candidates", "fast", "agent"), nil, `--with candidates: agent leaves something behind each time it runs`},
		{"race", with("candidates", "fast"), set("width", "1"), `--set width: "width" does not belong here: it is a setting of fan-out, not of race; remove it`},
	} {
		f, problems := Parse("firstgood.yaml", []byte(changeable), Kinds(), Check(faults))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var in *Instance
		if ref, ok := f.Lookup(test.instance); ok {
			in, problems = f.Change(ref.Instance, test.with, test.set)
		} else {
			in, problems = f.Instance("new", test.instance, test.with, test.set)
		}
		if in != nil || !strings.Contains(problems.Error(), test.want) || strings.Contains(problems.Error(), "\n") {
			t.Errorf("%s %v %v\ngot  %v\nwant %s", test.instance, test.with, test.set, problems, test.want)
		}
	}
}

func TestInstanceWithoutAFile(t *testing.T) {
	f := &File{}
	_, problems := f.Instance("chain", "fallback-chain", []Binding{{"chain", "chain", []string{"fast"}}}, []Setting{{"--fail-if", "failure_criteria", "it is empty"}})
	want := "--fail-if: a rule in plain language needs a judge: write judge: NAME at the top of the file, or {text: …, judge: NAME} here\n" +
		`chain: unknown delegate or pattern "fast"; it is neither under delegates nor under patterns`
	if problems.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", problems, want)
	}
	in, problems := f.Instance("race", "race", []Binding{{"race", "candidates", nil}}, nil)
	if in == nil || len(problems) != 1 || problems[0].Severity != SeverityWarning {
		t.Errorf("an empty list: %+v, %v", in, problems)
	}
}

// TestChangeOfADeepFile holds that instances that share much are walked once.
func TestChangeOfADeepFile(t *testing.T) {
	var b strings.Builder
	b.WriteString("delegates: {d: {openai: {model: m}}}\npatterns:\n  p0: {pattern: race, with: {candidates: [d, d]}}\n")
	for i := 1; i < 60; i++ {
		before, name := strings.Repeat("x", i-1), strings.Repeat("x", i)
		if i == 1 {
			before = "0"
		}
		b.WriteString("  p" + name + ": {pattern: race, with: {candidates: [p" + before + ", p" + before + "]}}\n")
	}
	f := parsed(t, b.String())
	last := f.Instances[59]
	if in, problems := f.Change(last, nil, []Setting{{"--timeout", "timeout", "1s"}}); in == nil || len(problems) > 0 || len(in.Reach()) != 1 {
		t.Errorf("%+v %v", in, problems)
	}
}

// TestChangeOfWhatARunMayTake sets each key of that kind from outside the file.
func TestChangeOfWhatARunMayTake(t *testing.T) {
	f := parsed(t, "health: true\n"+strings.TrimPrefix(changeable, "\n"))
	change := func(in *Instance, pairs ...string) Config {
		t.Helper()
		var set []Setting
		for i := 0; i < len(pairs); i += 2 {
			set = append(set, Setting{"--set " + pairs[i], pairs[i], pairs[i+1]})
		}
		changed, problems := f.Change(in, nil, set)
		if problems.Failed() {
			t.Fatal(problems)
		}
		return changed.Config
	}
	answer, quick, slow := f.Instances[0], f.Instances[1], f.Instances[3]
	c := change(answer, "budget", "{calls: 3, tokens: 500}", "stop_on", "auth, refused", "on_refusal", "stop", "reserve", "10s", "wait_for_recovery", "5s")
	if *c.Budget != (Budget{Calls: 3, Tokens: 500}) || !slices.Equal(c.StopOn, []firstgood.Kind{"auth", "refused"}) || !c.OnRefusal.Stop || c.Reserve != 10*time.Second || c.WaitForRecovery != 5*time.Second {
		t.Errorf("answer %+v", c)
	}
	if c = change(answer, "budget", " {cost: 0.5} ", "advance_on", "[timeout,rejected,refused]", "on_refusal", "fast, careful"); c.Budget.Cost != 0.5 || len(c.AdvanceOn) != 3 || !slices.Equal(c.OnRefusal.Ask, []string{"fast", "careful"}) {
		t.Errorf("answer %+v", c)
	}
	if c = change(quick, "hedge_ceiling", "10%", "budget", "{calls: 1}"); c.HedgeCeiling != 0.1 || c.Budget.Calls != 1 {
		t.Errorf("quick %+v", c)
	}
	if c = change(quick, "hedge_ceiling", "0.25"); c.HedgeCeiling != 0.25 {
		t.Errorf("quick %+v", c)
	}
	if c = change(slow, "on_refusal", "[fast, small]"); !slices.Equal(c.OnRefusal.Ask, []string{"fast", "small"}) || len(c.AdvanceOn) != 2 {
		t.Errorf("slow %+v", c)
	}
	// What is set outside takes the place of its opposite in the file.
	if c = change(slow, "stop_on", "auth"); c.AdvanceOn != nil || len(c.StopOn) != 1 {
		t.Errorf("slow %+v", c)
	}
	stopping := parsed(t, "delegates: {a: {openai: {model: m}}}\npatterns: {p: {pattern: fallback-chain, with: {chain: [a]}, config: {stop_on: [auth]}}}\n")
	if in, problems := stopping.Change(stopping.Instances[0], nil, []Setting{{"--set advance_on", "advance_on", "timeout"}}); len(problems) > 0 || in.Config.StopOn != nil || len(in.Config.AdvanceOn) != 1 {
		t.Errorf("stopping %+v, %v", in, problems)
	}
	if _, problems := f.Change(slow, nil, []Setting{{"--set stop_on", "stop_on", "auth"}, {"--set advance_on", "advance_on", "timeout"}}); !problems.Failed() {
		t.Error("both from outside were taken")
	}
	if slow.Config.AdvanceOn == nil || slow.Config.StopOn != nil || len(slow.Config.OnRefusal.Ask) != 1 {
		t.Errorf("the original changed: %+v", slow.Config)
	}
	race, problems := f.Instance("race", "race", []Binding{{"race", "candidates", []string{"fast", "small"}}}, []Setting{{"--set budget", "budget", "{calls: 3}"}, {"--set hedge_ceiling", "hedge_ceiling", "10%"}, {"--set start_after", "start_after", "1s"}})
	if len(problems) > 0 || race.Config.Budget.Calls != 3 || race.Config.HedgeCeiling != 0.1 {
		t.Errorf("race %+v, %v", race, problems)
	}
}

// TestChangeSaysNothingTwice holds that what was said about a file is not said again about a change to it, unless the
// change is why.
func TestChangeSaysNothingTwice(t *testing.T) {
	f, problems := Parse("firstgood.yaml", []byte(`
delegates:
  fast: {openai: {model: m}, timeout: 30s}
  agent: {command: {argv: [agent, "{brief}"]}, effects: unsafe}
patterns:
  p: {pattern: fallback-chain, with: {chain: [agent, fast]}, config: {budget: {cost: 1}, timeout: 1m}}
`), Kinds())
	if f == nil || len(problems) != 2 {
		t.Fatalf("problems %v", problems)
	}
	change := func(with []Binding, key, value string) string {
		in, problems := f.Change(f.Instances[0], with, []Setting{{"--set " + key, key, value}})
		if in == nil {
			t.Fatal(problems)
		}
		return problems.Error()
	}
	if got := change(nil, "nonempty", "true"); got != "" {
		t.Errorf("said again: %s", got)
	}
	if got := change(nil, "timeout", "20s"); got != "firstgood.yaml:6:54: note: patterns.p.with.chain[1]: the timeout of fast, 30s, is above that of p, 20s, which comes first" {
		t.Errorf("not said: %s", got)
	}
	with := []Binding{{"--with chain", "chain", []string{"agent", "agent"}}}
	if got := change(with, "nonempty", "true"); !strings.Contains(got, "--with chain: note: a run does not go past agent once it has started") {
		t.Errorf("not said: %s", got)
	}
}

func TestEmptyNamesFromOutside(t *testing.T) {
	const said = "the name is empty; write that of a delegate or pattern, or remove it"
	f := parsed(t, changeable)
	answer, _ := f.Lookup("answer")
	learn, _ := f.Lookup("learn")
	slow, _ := f.Lookup("slow")
	for _, test := range []struct {
		in   *Instance
		with []Binding
		set  []Setting
		want []string
	}{
		{answer.Instance, []Binding{{"--with chain", "chain", []string{"fast", "", "careful"}}}, nil, []string{"--with chain: " + said}},
		{answer.Instance, []Binding{{"--with chain", "chain", []string{"fast", ""}}}, nil, []string{"--with chain: " + said}},
		{answer.Instance, []Binding{{"--with chain", "chain", []string{"", " "}}}, nil, []string{"--with chain: " + said, "--with chain: " + said}},
		{learn.Instance, []Binding{{"--with target", "target", []string{""}}}, nil, []string{"--with target: " + said}},
		{learn.Instance, []Binding{{"--with target", "target", nil}}, nil, []string{"--with target: " + said}},
		{slow.Instance, nil, []Setting{{"--set on_refusal", "on_refusal", "fast,,small"}}, []string{"--set on_refusal: " + said}},
		{answer.Instance, nil, []Setting{{"--fail-if", "failure_criteria", "{text: bad, judge: ''}"}}, []string{"--fail-if: judge: " + said}},
	} {
		in, problems := f.Change(test.in, test.with, test.set)
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if in != nil || !slices.Equal(got, test.want) {
			t.Errorf("%v %v: got %v, %q\nwant %q", test.with, test.set, in, got, test.want)
		}
	}
}
