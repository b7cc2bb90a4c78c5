package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

func program(t *testing.T, src string) *check.Program {
	t.Helper()
	script, problems := syntax.Parse(src, syntax.Pos{File: "f", Line: 1, Column: 1})
	if problems.Failed() {
		t.Fatal(problems)
	}
	p, problems := check.New(script, envOf(src))
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

func TestClassesOfConditions(t *testing.T) {
	const given = "#in failure_criteria\n#config bar\n#in x\n#in review\n#slot critic\n"
	for _, test := range []struct{ cond, want string }{
		{"x == 1 and not review", "plain never"},
		{"x is present", "plain never"},
		{"x meets bar", "plain never"},
		{"review accepts x", "verdict when the verdict is unstructured review x"},
		{"review.verdict says abort", "verdict when the verdict is unstructured review.verdict"},
		{"review does not explicitly proceed", "verdict never review"},
		{"failure_criteria says x is a failure", "criteria when the criteria are set failure_criteria:"},
		{"config.bar says x is acceptable", "criteria when the criteria are set bar:"},
		{"review is fine", "judge always review"},
		{"critic accepts x", "judge always critic x"},
		{"nobody_known accepts x", "judge always x"},
		{"critic says x is acceptable", "judge always critic x"},
		{"review accepted and x > 3", "verdict when the verdict is unstructured review x"},
		{"failure_criteria says x is a failure or review accepted", "criteria when the verdict is unstructured failure_criteria:"},
		{"x > 3 or critic says x is acceptable", "judge always x critic"},
		{"all of it is good", "judge always"},
	} {
		p := program(t, given+"if "+test.cond+":\n  return 1\n")
		if len(p.Plan.Conditions) != 1 {
			t.Fatalf("%s: %d conditions", test.cond, len(p.Plan.Conditions))
		}
		c := p.Plan.Conditions[0]
		got := fmt.Sprintf("%s %v", c.Class, c.Need)
		for _, input := range c.Criteria {
			got += " " + input + ":"
		}
		for _, named := range c.Named {
			got += " " + named.Name
		}
		if got != test.want {
			t.Errorf("%s: got %s, want %s", test.cond, got, test.want)
		}
		if c.Text != test.cond || c.Pos.Line != 6 || c.Pos.Column != 4 {
			t.Errorf("%q at %v", c.Text, c.Pos)
		}
	}
}

func TestStrict(t *testing.T) {
	p := program(t, `#in criteria
#in review
if criteria says review is a failure:
  return 1
if review is good:
  return 2
if review accepted:
  return 3
if review == 1:
  return 4
`)
	want := `f:5:4: "review is good" needs a judge; write a comparison, or have the delegate answer with a field that can be compared
f:7:4: warning: "review accepted" needs a judge when the verdict is unstructured; ask for a JSON object with a field such as verdict`
	if got := p.Strict().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPlanOfCalls(t *testing.T) {
	p := program(t, `#list chain
#config rounds
#in n
#slot a
#fn write topic depth?
call a
  task: "x"
  prompt: "p"
  retry: 2
for d in chain:
  repeat rounds:
    call d
      retry: n
let xs = parallel for x in [1, 2, 3]:
  loop up to config.rounds:
    repeat chain.length:
      repeat xs:
        call write("t")
parallel:
  call a
  let y = repeat 4:
    call write
      topic: y
return { n: "number of attempted delegates", m: "number of others" }
`)
	var got []string
	for _, site := range p.Plan.Calls {
		line := fmt.Sprintf("%d %s %s %v retry %d", site.Pos.Line, site.Kind, site.Target, site.Inputs, site.Retry)
		for _, b := range site.Loops {
			line += fmt.Sprintf(" {%d %s %s %v}", b.Count, b.Input, b.Length, b.Parallel)
		}
		got = append(got, line)
	}
	want := `6 slot a [task] retry 2
12 variable d [] retry -1 {0  chain false} {0 rounds  false}
18 target write [topic] retry 0 {3   true} {0 rounds  false} {0  chain false} {0   false}
20 slot a [] retry 0 {1   true}
22 target write [topic] retry 0 {1   true} {4   false}`
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := fmt.Sprint(p.Plan.Phrases); got != "[{f:24:13 number of attempted delegates true} {f:24:49 number of others false}]" {
		t.Error(got)
	}
}

// TestF14_Find asks about names that nothing in the script explains, and about no others.
func TestF14_Find(t *testing.T) {
	var asked []string
	script, _ := syntax.Parse("let x = 1\nblock b():\n  return 1\ncall other\ncall \"std/x\"\ncall x\ncall b\ncall a\n", syntax.Pos{File: "f", Line: 1, Column: 1})
	check.New(script, check.Env{
		Inputs: []check.Input{{Name: "a", Kind: check.InputSlot}},
		Find: func(name syntax.Name) *check.Target {
			asked = append(asked, name.Text)
			return nil
		},
	})
	if got := strings.Join(asked, " "); got != "other std/x" {
		t.Errorf("asked about %s", got)
	}
}

func TestNothing(t *testing.T) {
	p, problems := check.New(nil, check.Env{})
	if p == nil || len(problems) > 0 || p.Size != 0 {
		t.Errorf("%v %v", p, problems)
	}
}

func TestIsControl(t *testing.T) {
	for _, name := range []string{"prompt", "model", "retry", "backoff", "fallback_brief"} {
		if !check.IsControl(name) {
			t.Errorf("%s is an input", name)
		}
	}
	if check.IsControl("task_brief") {
		t.Error("task_brief is no input")
	}
}
