package syntax

import (
	"fmt"
	"strings"
	"testing"
)

// told describes how a condition is decided.
func told(t Test) string {
	switch t := t.(type) {
	case nil:
		return "discretion"
	case *ExprTest:
		return "expr(" + spell(t.X) + ")"
	case *IsTest:
		not := ""
		if t.Not {
			not = "not "
		}
		return "is(" + spell(t.X) + " " + not + t.Word + ")"
	case *MeetsTest:
		return "meets(" + spell(t.X) + ", " + spell(t.Y) + ")"
	case *VerdictTest:
		return strings.TrimRight(fmt.Sprintf("verdict(%s %s %s", spell(t.V), t.Form, t.Word), " ") + ")"
	case *CriteriaTest:
		return "criteria(" + spell(t.K) + ", " + spell(t.X) + ", " + t.Word + ")"
	case *NotTest:
		return "not " + told(t.X)
	case *AndTest:
		return "(" + told(t.X) + " and " + told(t.Y) + ")"
	case *OrTest:
		return "(" + told(t.X) + " or " + told(t.Y) + ")"
	}
	return "?"
}

// conditions are texts, and how each is decided.
var conditions = []struct{ text, want string }{
	{"done", "expr(done)"},
	{"a.b[0].length > 3", "expr(a.b[0].length > 3)"},
	{`status == "open" and not (n >= 2 or seen)`, `expr(status == "open" and not (n >= 2 or seen))`},
	{"attempt.error is present", "is(attempt.error present)"},
	{"x is not empty", "is(x not empty)"},
	{"x is null", "is(x null)"},
	{"x is true", "is(x true)"},
	{"x is absent or y is false", "(is(x absent) or is(y false))"},
	{"not x is empty", "not is(x empty)"},
	{"current_score meets threshold", "meets(current_score, threshold)"},
	{"review accepted", "verdict(review field accepted)"},
	{"verdict accepts result", "verdict(verdict accepts)"},
	{"verdict certifies the proposal", "verdict(verdict certifies)"},
	{"decision says abort", "verdict(decision says abort)"},
	{"decision does not explicitly proceed", "verdict(decision proceeds)"},
	{"decision does not explicitly proceed and n > 1", "(verdict(decision proceeds) and expr(n > 1))"},
	{"verdict accepts the draft and score meets bar", "(verdict(verdict accepts) and meets(score, bar))"},
	{"failure_criteria says candidate_result is a failure", "criteria(failure_criteria, candidate_result, failure)"},
	{"acceptance_criteria says attempt.result is acceptable", "criteria(acceptance_criteria, attempt.result, acceptable)"},
	{"**review accepted**", "verdict(review field accepted)"},
	{"***\n  review\n  accepted\n***", "verdict(review field accepted)"},
	// Near misses are for a judge.
	{"the draft is good", "discretion"},
	{"review is unacceptable", "discretion"},
	{"x is presentable", "discretion"},
	{"verdict does not certify it", "discretion"},
	{"decision does not proceed", "discretion"},
	{"verdict accepts", "discretion"},
	{"review accepted it", "discretion"},
	{"decision says abort now", "discretion"},
	{"x meets 5", "discretion"},
	{"c says x is bad", "discretion"},
	{"c says x is not a failure", "discretion"},
	{"it's late", "discretion"},
	{"a + b > c", "discretion"},
	{"x is", "discretion"},
	{"the time is 5: or so", "discretion"},
	// What is compared.
	{`a == "x" and b`, `expr(a == "x" and b)`},
	{"a == b or c != null", "expr(a == b or c != null)"},
	{"a <= 1.5", "expr(a <= 1.5)"},
	{"config.k > xs.length", "expr(config.k > xs.length)"},
	{"(a or b) == c", "expr((a or b) == c)"},
	{"((a))", "expr(a)"},
	{"not not a", "expr(not not a)"},
	{"true", "expr(true)"},
	{"x == []", "expr(x == [])"},
	{`not (a is empty or b == "it: is")`, `not (is(a empty) or expr(b == "it: is"))`},
	{"a and b is present and c", "((expr(a) and is(b present)) and expr(c))"},
	{"xs[i].done is not true", "is(xs[i].done not true)"},
	{"x is not absent", "is(x not absent)"},
	// What verdicts say.
	{"critic accepts output", "verdict(critic accepts)"},
	{"v.review accepts the proposed step", "verdict(v.review accepts)"},
	{"v accepts x.y and n < 3", "(verdict(v accepts) and expr(n < 3))"},
	{`decision says "hold on"`, "verdict(decision says hold on)"},
	{"not (v says stop)", "not verdict(v says stop)"},
	{"v.decision does not explicitly proceed", "verdict(v.decision proceeds)"},
	{"c.k says x is acceptable or c.f says x is a failure", "(criteria(c.k, x, acceptable) or criteria(c.f, x, failure))"},
	// They are not what they resemble.
	{"a is b", "discretion"},
	{"a is not", "discretion"},
	{"a is not not empty", "discretion"},
	{"a is not presentable", "discretion"},
	{"a.b is nearly empty", "discretion"},
	{"verdict is not accepted", "discretion"},
	{"verdict is unacceptable", "discretion"},
	{"verdict says it is unacceptable", "discretion"},
	{"k says x is not acceptable", "discretion"},
	{"k says x is acceptable now", "discretion"},
	{"k says x is failure", "discretion"},
	{"k says x is an acceptable answer", "discretion"},
	{"decision explicitly proceeds", "discretion"},
	{"decision does explicitly proceed", "discretion"},
	{"decision does not explicitly proceeded", "discretion"},
	{"verdict accepts nothing", "discretion"},
	{"verdict accepts no proposal", "discretion"},
	{"verdict accepts none of the claims", "discretion"},
	{"verdict accepts the result partially", "discretion"},
	{"verdict accepts the result only if it is short", "discretion"},
	{"verdict accepts the proposal and the plan", "discretion"},
	{"verdict accepted by everybody", "discretion"},
	{"the verdict accepts it", "discretion"},
	{"score meets the threshold", "discretion"},
	{"score nearly meets threshold", "discretion"},
	{"results include failures", "discretion"},
	{"hypothesis confirmed", "discretion"},
	{"no issues remain", "discretion"},
	{"a == b == c", "discretion"},
	{"a = b", "discretion"},
	{"a ==", "discretion"},
	{"call f", "discretion"},
	{"f(x)", "discretion"},
	{"a, b", "discretion"},
	{"(a", "discretion"},
	{"it covers #4", "discretion"},
	{`it says now "no\d"`, "discretion"},
	{"Größe passt", "discretion"},
}

func TestConditions(t *testing.T) {
	for _, test := range conditions {
		c, problems := ParseCondition(test.text, Pos{File: "f", Line: 1, Column: 1})
		if problems.Failed() {
			t.Errorf("%s: %v", test.text, problems)
			continue
		}
		if got := told(c.Test); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
		if c.Test == nil && len(c.Refs) == 0 && test.text != "Größe passt" {
			t.Errorf("%s: nothing in it could be a value", test.text)
		}
	}
	c, _ := ParseCondition("the draft.text of review-2 covers all", Pos{File: "f", Line: 4, Column: 4})
	var refs []string
	for _, ref := range c.Refs {
		refs = append(refs, fmt.Sprintf("%s@%d", spell(ref), ref.Pos.Column))
	}
	if got, want := strings.Join(refs, " "), "the@4 draft.text@8 of@19 review-2@22 covers@31 all@38"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, text := range []string{"", "  ", "****", "** **"} {
		if c, problems := ParseCondition(text, Pos{File: "f", Line: 1, Column: 1}); c != nil || !problems.Failed() {
			t.Errorf("%q: got %+v", text, c)
		}
	}
}

func spell(x Expr) string {
	p := &printer{}
	p.expr(x)
	return p.out.String()
}
