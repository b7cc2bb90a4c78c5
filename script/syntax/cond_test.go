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

func TestConditions(t *testing.T) {
	for _, test := range []struct{ text, want string }{
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
	} {
		c, problems := ParseCondition(test.text, Pos{File: "f", Line: 1, Column: 1})
		if problems.Failed() {
			t.Errorf("%s: %v", test.text, problems)
			continue
		}
		if got := told(c.Test); got != test.want {
			t.Errorf("%s: got %s, want %s", test.text, got, test.want)
		}
		if c.Test == nil && len(c.Refs) == 0 {
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
