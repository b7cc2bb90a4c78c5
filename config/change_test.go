package config

import (
	"strings"
	"testing"
	"time"
)

const changeable = `
judge: small
delegates:
  fast: {openai: {model: m}}
  careful: {openai: {model: m}, timeout: 90s}
  small: {openai: {model: m}}
patterns:
  answer:
    pattern: fallback-chain
    with: {chain: [fast, careful]}
    config: {failure_criteria: "it is empty", nonempty: true, timeout: 3m}
  quick: {pattern: race, with: {candidates: [fast, answer]}, config: {start_after: 1s}}
  learn: {pattern: retry-with-learning, with: {target: fast}}
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
		{"race", with("candidates", "fast"), set("width", "1"), `--set width: "width" does not belong here: it is a setting of fan-out, not of race; remove it`},
	} {
		f := parsed(t, changeable)
		var in *Instance
		var problems Problems
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
