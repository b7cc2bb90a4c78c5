package criteria

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/firstgood/firstgood"
)

func text(s string) firstgood.Reply { return firstgood.Reply{Text: s} }

// rule is a cheap rule with a fixed finding, which logs that it was asked.
func rule(log *[]string, name string, holds bool) Rule { return costly(log, name, CostCheap, holds) }

func costly(log *[]string, name string, cost Cost, holds bool) Rule {
	return Check(cost, func(context.Context, firstgood.Brief, firstgood.Reply) (Finding, error) {
		if log != nil {
			*log = append(*log, name)
		}
		return Finding{Holds: holds, Reason: name}, nil
	})
}

func erring(message string) Rule {
	return Check(CostCheap, func(context.Context, firstgood.Brief, firstgood.Reply) (Finding, error) {
		return Finding{Holds: true}, errors.New(message)
	})
}

func mustNew(t testing.TB, c Config) firstgood.Criteria[firstgood.Reply] {
	t.Helper()
	rules, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	if rules == nil {
		t.Fatal("nothing is configured")
	}
	return rules
}

func weighed(t testing.TB, c Config, reply firstgood.Reply) firstgood.Verdict {
	t.Helper()
	verdict, err := mustNew(t, c)(t.Context(), firstgood.Text("the brief"), reply)
	if err != nil {
		t.Fatal(err)
	}
	return verdict
}

func TestF6_NothingConfigured(t *testing.T) {
	called := func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		t.Error("the judge was called")
		return firstgood.Reply{}, nil
	}
	blank := Judge(JudgeConfig{Text: " \n\t", Judge: firstgood.Func("judge", called)})
	for name, c := range map[string]Config{
		"the zero Config":          {},
		"empty lists":              {Failure: []Rule{}, Accept: []Rule{}},
		"a blank text":             {Failure: []Rule{blank}},
		"blank texts":              {Failure: []Rule{blank}, Accept: []Rule{blank, Judge(JudgeConfig{})}},
		"a blank text, broken too": {Accept: []Rule{Judge(JudgeConfig{Chars: -1})}},
	} {
		if rules, err := New(c); rules != nil || err != nil {
			t.Errorf("%s: criteria %t, error %v", name, rules != nil, err)
		}
	}
	if v := weighed(t, Config{NonEmpty: true, Failure: []Rule{blank}}, text("x")); v.Rejected {
		t.Errorf("a blank text beside nonempty: %+v", v)
	}
}

func TestNew_RefusesWhatCannotWork(t *testing.T) {
	someone := firstgood.Func("someone", func(context.Context, firstgood.Brief) (firstgood.Reply, error) { return firstgood.Reply{}, nil })
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{nil, "the rule is nil"},
		{Check(CostCheap, nil), "the rule has no function"},
		{Matches(nil), "matches: there is no expression"},
		{Command(CommandConfig{Name: "go test"}), "go test: there is no function that runs it"},
		{Command(CommandConfig{}), "the command: there is no function that runs it"},
		{All(), "all: there are no rules in it"},
		{Any(), "any: there are no rules in it"},
		{Not(nil), "not: the rule is nil"},
		{Not(Any(NonEmpty(), All(nil))), "not: any[1]: all: the rule is nil"},
		{Any(Judge(JudgeConfig{}), NonEmpty()), "any[0]: judge: the text is blank"},
		{Not(Judge(JudgeConfig{Text: " "})), "not: judge: the text is blank"},
		{Judge(JudgeConfig{Text: "it is rude"}), `judge: there is no judge to weigh "it is rude"`},
		{Judge(JudgeConfig{Text: "x", Judge: someone, Chars: -1}), "judge: chars is -1, want 0 or more"},
		{Judge(JudgeConfig{Text: "x", Judge: someone, Retries: -2}), "judge: retries is -2, want 0 or more"},
		{Judge(JudgeConfig{Text: "x", Judge: someone, OnUnparseable: "maybe"}), `judge: on_unparseable is "maybe", want "open" or "reject"`},
	} {
		for _, in := range []struct {
			name string
			c    Config
		}{
			{"failure_criteria", Config{Failure: []Rule{c.rule}}},
			{"acceptance_criteria", Config{Accept: []Rule{c.rule}}},
		} {
			rules, err := New(in.c)
			if rules != nil || err == nil || err.Error() != in.name+": "+c.want {
				t.Errorf("got %v, want %s: %s", err, in.name, c.want)
			}
		}
	}
	_, err := New(Config{Failure: []Rule{NonEmpty(), All()}, Accept: []Rule{Any()}})
	want := "failure_criteria[1]: all: there are no rules in it\nacceptance_criteria: any: there are no rules in it"
	if err == nil || err.Error() != want {
		t.Errorf("all faults at once: got %v, want %s", err, want)
	}
}

func TestNew_GoodIsNoFailureAndAllAccepted(t *testing.T) {
	for bits := range 16 {
		f1, f2, a1, a2 := bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
		v := weighed(t, Config{
			Failure: []Rule{rule(nil, "f1", f1), rule(nil, "f2", f2)},
			Accept:  []Rule{rule(nil, "a1", a1), rule(nil, "a2", a2)},
		}, text("x"))
		if good := !f1 && !f2 && a1 && a2; v.Rejected == good {
			t.Errorf("f1 %t f2 %t a1 %t a2 %t: %+v", f1, f2, a1, a2, v)
		}
		want := ""
		switch {
		case f1:
			want = "f1"
		case f2:
			want = "f2"
		case !a1:
			want = "a1"
		case !a2:
			want = "a2"
		}
		if v.Reason != want {
			t.Errorf("reason %q, want %q", v.Reason, want)
		}
	}
}

func TestNew_CheapRulesBeforeTheJudge_FailureRulesFirst(t *testing.T) {
	var asked []string
	all := func(last bool) Config {
		return Config{
			Failure: []Rule{
				costly(&asked, "failure judge", CostJudge, false), costly(&asked, "failure command", CostCommand, false),
				rule(&asked, "failure cheap", false),
			},
			Accept: []Rule{
				costly(&asked, "accept judge", CostJudge, last), rule(&asked, "accept cheap", true),
				costly(&asked, "accept command", CostCommand, true), rule(&asked, "accept cheap 2", true),
			},
		}
	}
	for _, last := range []bool{true, false} {
		asked = nil
		if v := weighed(t, all(last), text("x")); v.Rejected == last {
			t.Errorf("%+v", v)
		}
		want := "failure cheap, accept cheap, accept cheap 2, failure command, accept command, failure judge, accept judge"
		if got := strings.Join(asked, ", "); got != want {
			t.Errorf("asked %s\nwant  %s", got, want)
		}
	}

	asked = nil
	v := weighed(t, Config{
		Failure: []Rule{costly(&asked, "judge", CostJudge, true)},
		Accept:  []Rule{rule(&asked, "cheap", false)},
	}, text("x"))
	if v.Reason != "cheap" || !reflect.DeepEqual(asked, []string{"cheap"}) {
		t.Errorf("the judge was asked though a cheap rule had decided: %v, %+v", asked, v)
	}
}

func TestNew_StopsAtTheFirstThatDecides(t *testing.T) {
	var asked []string
	weighed(t, Config{NonEmpty: true, Failure: []Rule{rule(&asked, "f", true)}}, text(" "))
	if asked != nil {
		t.Errorf("an empty reply was judged further: %v", asked)
	}
}

func TestNew_GeneralReason(t *testing.T) {
	silent := func(holds bool) Rule {
		return Check(CostCheap, func(context.Context, firstgood.Brief, firstgood.Reply) (Finding, error) {
			return Finding{Holds: holds, Detail: "detail"}, nil
		})
	}
	for _, c := range []struct {
		c    Config
		want string
	}{
		{Config{Failure: []Rule{silent(true)}}, MatchedFailure},
		{Config{Failure: []Rule{Not(silent(false))}}, MatchedFailure},
		{Config{Accept: []Rule{silent(false)}}, NotAccepted},
		{Config{Accept: []Rule{Not(silent(true))}}, NotAccepted},
	} {
		if v := weighed(t, c.c, text("x")); v != (firstgood.Verdict{Rejected: true, Reason: c.want, Detail: "detail"}) {
			t.Errorf("%+v, want %q", v, c.want)
		}
	}
}

func TestNew_ReasonAndDetailAreBounded(t *testing.T) {
	long := strings.Repeat("é", 3000)
	v := weighed(t, Config{Failure: []Rule{Check(CostCheap, func(context.Context, firstgood.Brief, firstgood.Reply) (Finding, error) {
		return Finding{Holds: true, Reason: long, Detail: long}, nil
	})}}, text("x"))
	if want := strings.Repeat("é", firstgood.ExcerptUnits); v.Reason != want || v.Detail != want {
		t.Errorf("reason of %d characters, detail of %d", utf8.RuneCountInString(v.Reason), utf8.RuneCountInString(v.Detail))
	}
}

func TestRules(t *testing.T) {
	date := regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)
	b := func(holds bool) Rule { return rule(nil, fmt.Sprint(holds), holds) }
	for _, c := range []struct {
		name  string
		rule  Rule
		reply firstgood.Reply
		want  Finding
	}{
		{"nonempty", NonEmpty(), text("x"), Finding{true, "the reply is not empty", ""}},
		{"nonempty of white space", NonEmpty(), text(" \n"), Finding{false, "the reply is empty", ""}},
		{"nonempty of null", NonEmpty(), firstgood.Reply{JSON: []byte("null")}, Finding{false, "the reply is empty", ""}},
		{"S9 nonempty of tool calls", NonEmpty(), firstgood.Reply{ToolCalls: 1}, Finding{true, "the reply is not empty", ""}},
		{"nonempty of an open stream", NonEmpty(), firstgood.Reply{Stream: firstgood.NewStream(nil)}, Finding{true, "the reply is not empty", ""}},
		{"matches", Matches(date), text("2026-07-22"), Finding{true, `the reply matches ^\d{4}-\d{2}-\d{2}$`, ""}},
		{"matches not", Matches(date), text("2026-07-22\n"), Finding{false, `the reply does not match ^\d{4}-\d{2}-\d{2}$`, ""}},
		{"matches JSON", Matches(regexp.MustCompile(`^\{"a":1\}$`)), firstgood.Reply{JSON: []byte(`{ "a": 1 }`)}, Finding{true, `the reply matches ^\{"a":1\}$`, ""}},
		{"all", All(b(true), rule(nil, "too", true)), text(""), Finding{true, "true; too", ""}},
		{"all not", All(b(true), b(false), rule(nil, "no", false)), text(""), Finding{false, "false", ""}},
		{"all of one", All(b(false)), text(""), Finding{false, "false", ""}},
		{"any", Any(b(false), b(true), rule(nil, "too", true)), text(""), Finding{true, "true", ""}},
		{"any not", Any(b(false), rule(nil, "nor this", false)), text(""), Finding{false, "false; nor this", ""}},
		{"not", Not(b(true)), text(""), Finding{false, "true", ""}},
		{"not not", Not(Not(b(true))), text(""), Finding{true, "true", ""}},
		{"not any", Not(Any(b(false), b(false))), text(""), Finding{true, "false; false", ""}},
		{"nested", All(Any(b(false), Not(b(false))), Not(All(b(true), b(false)))), text(""), Finding{true, "false; false", ""}},
	} {
		for _, at := range []position{failure, acceptance} {
			f, err := compile(c.rule, at)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := f(t.Context(), firstgood.Brief{}, c.reply); got != c.want || err != nil {
				t.Errorf("%s, %v: %+v, %v, want %+v", c.name, at, got, err, c.want)
			}
		}
	}
}

func TestCompound_CheapestFirst_ReasonsAsListed(t *testing.T) {
	var asked []string
	r := func(name string, cost Cost, holds bool) Rule { return costly(&asked, name, cost, holds) }
	find := func(r Rule) Finding {
		asked = nil
		f, err := compile(r, acceptance)
		if err != nil {
			t.Fatal(err)
		}
		finding, err := f(t.Context(), firstgood.Brief{}, firstgood.Reply{})
		if err != nil {
			t.Fatal(err)
		}
		return finding
	}
	for range 3 {
		got := find(Any(r("j1", CostJudge, false), r("c1", CostCheap, false), r("x", CostCommand, false), r("c2", CostCheap, false)))
		if strings.Join(asked, " ") != "c1 c2 x j1" || got.Reason != "j1; c1; x; c2" {
			t.Errorf("asked %v, reason %q", asked, got.Reason)
		}
		got = find(All(r("j1", CostJudge, false), r("c1", CostCheap, true), Any(r("j2", CostJudge, true), r("c2", CostCheap, true))))
		if strings.Join(asked, " ") != "c1 j1" || got.Reason != "j1" {
			t.Errorf("asked %v, reason %q", asked, got.Reason)
		}
		got = find(Any(Not(r("j1", CostJudge, true)), All(r("c1", CostCheap, true))))
		if strings.Join(asked, " ") != "c1" || !got.Holds {
			t.Errorf("asked %v, finding %+v", asked, got)
		}
	}
}

func TestCost(t *testing.T) {
	cheap, command, dear := rule(nil, "", true), costly(nil, "", CostCommand, true), Judge(JudgeConfig{Text: "x"})
	for _, c := range []struct {
		rule Rule
		want Cost
	}{
		{cheap, CostCheap}, {command, CostCommand}, {dear, CostJudge}, {NonEmpty(), CostCheap}, {Matches(regexp.MustCompile("")), CostCheap},
		{Command(CommandConfig{Run: func(context.Context, string) (int, string, error) { return 0, "", nil }}), CostCommand},
		{Not(dear), CostJudge}, {All(cheap, command), CostCommand}, {Any(dear, cheap), CostJudge}, {All(cheap, Not(Any(dear))), CostJudge},
		{All(), CostCheap}, {Not(nil), CostCheap}, {Any(nil, command), CostCommand},
	} {
		if got := c.rule.Cost(); got != c.want {
			t.Errorf("%#v costs %d, want %d", c.rule, got, c.want)
		}
	}
}

func TestRuleThatErrsRejects(t *testing.T) {
	bad := erring("reply.json: there is none")
	asked := false
	later := Check(CostCommand, func(context.Context, firstgood.Brief, firstgood.Reply) (Finding, error) {
		asked = true
		return Finding{Holds: true}, nil
	})
	for name, wrap := range map[string]func(Rule) Rule{
		"alone":       func(r Rule) Rule { return r },
		"not":         Not,
		"not not":     func(r Rule) Rule { return Not(Not(r)) },
		"all":         func(r Rule) Rule { return All(r, later) },
		"any":         func(r Rule) Rule { return Any(later, r) },
		"not any not": func(r Rule) Rule { return Not(Any(Not(r), later)) },
	} {
		for place, c := range map[string]Config{
			"failure_criteria":    {Failure: []Rule{wrap(bad)}},
			"acceptance_criteria": {Accept: []Rule{wrap(bad)}},
		} {
			asked = false
			want := firstgood.Verdict{Rejected: true, Reason: place + " could not be applied: reply.json: there is none"}
			if v := weighed(t, c, text("x")); v != want || asked {
				t.Errorf("%s, %s: %+v, later rules asked: %t", place, name, v, asked)
			}
		}
	}
}

func TestS7_OpenStreamCannotBeWeighed(t *testing.T) {
	someone := firstgood.Func("someone", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		t.Error("the judge was called")
		return firstgood.Reply{}, nil
	})
	run := func(context.Context, string) (int, string, error) {
		t.Error("the command was run")
		return 0, "", nil
	}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Matches(regexp.MustCompile("x")), "matches x"},
		{Command(CommandConfig{Name: "./check", Run: run}), "./check"},
		{Judge(JudgeConfig{Text: "x", Judge: someone}), "judge"},
	} {
		for _, r := range []Rule{c.rule, Not(c.rule)} {
			v := weighed(t, Config{Accept: []Rule{r}}, firstgood.Reply{Stream: firstgood.NewStream(nil)})
			want := "acceptance_criteria could not be applied: " + c.want + ": the reply is an open stream, which has no text yet"
			if !v.Rejected || v.Reason != want {
				t.Errorf("%+v, want %q", v, want)
			}
		}
	}
}

func TestCommand(t *testing.T) {
	long := strings.Repeat("é", 1500) // 3,000 bytes
	for _, c := range []struct {
		name string
		exit int
		tail string
		err  error
		want Finding
	}{
		{"exit 0", 0, "", nil, Finding{true, "go test exited with 0", ""}},
		{"exit 0 with output", 0, "ok\n", nil, Finding{true, "ok", "go test exited with 0"}},
		{"exit 1", 1, " \n", nil, Finding{false, "go test exited with 1", ""}},
		{"exit 2 with output", 2, "\nFAIL: TestX\n", nil, Finding{false, "FAIL: TestX", "go test exited with 2"}},
		{"killed", -1, "", nil, Finding{false, "go test exited with -1", ""}},
		{"long output keeps its end", 1, "first " + long + " last", nil, Finding{false, "…" + strings.Repeat("é", 996) + " last", "go test exited with 1"}},
		{"never half a character", 1, "first " + long + " end.", nil, Finding{false, "…" + strings.Repeat("é", 996) + " end.", "go test exited with 1"}},
		{"never half a character, other way", 1, "first " + long + " end", nil, Finding{false, "…" + strings.Repeat("é", 996) + " end", "go test exited with 1"}},
	} {
		var stdin string
		r := Command(CommandConfig{Name: "go test", Run: func(_ context.Context, in string) (int, string, error) {
			stdin = in
			return c.exit, c.tail, c.err
		}})
		f, err := compile(r, acceptance)
		if err != nil {
			t.Fatal(err)
		}
		got, err := f(t.Context(), firstgood.Brief{}, text("the reply"))
		if got != c.want || err != nil || stdin != "the reply" {
			t.Errorf("%s: %+v, %v, want %+v; stdin %q", c.name, got, err, c.want, stdin)
		}
	}
}

func TestCommandThatCannotBeStartedRejects(t *testing.T) {
	r := Command(CommandConfig{Name: "./check", Run: func(context.Context, string) (int, string, error) {
		return 0, "", errors.New("no such file")
	}})
	for place, c := range map[string]Config{
		"failure_criteria": {Failure: []Rule{r}}, "acceptance_criteria": {Accept: []Rule{Not(r)}},
	} {
		if v := weighed(t, c, text("x")); v.Reason != place+" could not be applied: ./check: no such file" {
			t.Errorf("%+v", v)
		}
	}
}

func TestCommand_GetsJSONCompactly(t *testing.T) {
	r := Command(CommandConfig{Run: func(_ context.Context, in string) (int, string, error) {
		return 1, in, nil
	}})
	if v := weighed(t, Config{Accept: []Rule{r}}, firstgood.Reply{JSON: []byte("{ \"a\": \"<b>\" }")}); v.Reason != `{"a":"<b>"}` {
		t.Errorf("%+v", v)
	}
}

func TestCancelledWhileJudging(t *testing.T) {
	cause := errors.New("the caller pressed stop")
	var later atomic.Int32
	counting := Check(CostJudge, func(context.Context, firstgood.Brief, firstgood.Reply) (Finding, error) {
		later.Add(1)
		return Finding{Holds: true}, nil
	})
	for name, result := range map[string]struct {
		exit int
		err  error
	}{"exit 0": {0, nil}, "killed": {-1, nil}, "error": {0, errors.New("signal: killed")}} {
		for place, wrap := range map[string]func(Rule) Config{
			"accept":     func(r Rule) Config { return Config{Accept: []Rule{r, counting}} },
			"failure":    func(r Rule) Config { return Config{Failure: []Rule{r, counting}} },
			"accept all": func(r Rule) Config { return Config{Accept: []Rule{All(r, counting)}} },
			"accept any": func(r Rule) Config { return Config{Accept: []Rule{Any(r, counting)}} },
			"not":        func(r Rule) Config { return Config{Accept: []Rule{Not(r), counting}} },
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			cut := Command(CommandConfig{Run: func(context.Context, string) (int, string, error) {
				cancel(cause)
				return result.exit, "", result.err
			}})
			v, err := mustNew(t, wrap(cut))(ctx, firstgood.Text(""), text("x"))
			if v != (firstgood.Verdict{}) || err != cause || later.Load() != 0 {
				t.Errorf("%s, %s: verdict %+v, error %v, later rules %d", name, place, v, err, later.Load())
			}
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := mustNew(t, Config{Accept: []Rule{counting}})(ctx, firstgood.Text(""), text("x")); err != cause || later.Load() != 0 {
		t.Errorf("cancelled before: error %v, rules asked %d", err, later.Load())
	}
}

func BenchmarkNothingConfigured(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if rules, err := New(Config{}); rules != nil || err != nil {
			b.Fatal(rules != nil, err)
		}
	}
}

func BenchmarkCheapRules(b *testing.B) {
	rules := mustNew(b, Config{NonEmpty: true, Accept: []Rule{Any(Matches(regexp.MustCompile("^no")), Matches(regexp.MustCompile("^yes")))}})
	ctx, brief, reply := b.Context(), firstgood.Text("the brief"), text("yes it is")
	b.ReportAllocs()
	for b.Loop() {
		if v, err := rules(ctx, brief, reply); v.Rejected || err != nil {
			b.Fatal(v, err)
		}
	}
}
