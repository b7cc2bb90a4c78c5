package criteria_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

func ExampleNew() {
	judge := firstgood.Func("judge", func(_ context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
		if strings.Contains(brief.String(), "\nI cannot help") {
			return firstgood.Reply{Text: `{"is_failure": true, "reason": "it refuses"}`}, nil
		}
		return firstgood.Reply{Text: `{"is_failure": false, "reason": "it helps"}`}, nil
	})
	rules, err := criteria.New(criteria.Config{
		NonEmpty: true,
		Failure:  []criteria.Rule{criteria.Judge(criteria.JudgeConfig{Text: "it says it cannot help", Judge: judge})},
		Accept:   []criteria.Rule{criteria.Not(criteria.Matches(regexp.MustCompile(`(?i)as an ai`)))},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, reply := range []string{"", "As an AI I know: 4.", "I cannot help with sums.", "4"} {
		verdict, err := rules(context.Background(), firstgood.Text("2+2?"), firstgood.Reply{Text: reply})
		fmt.Printf("%q: rejected %t, %q, %v\n", reply, verdict.Rejected, verdict.Reason, err)
	}
	// Output:
	// "": rejected true, "the reply is empty", <nil>
	// "As an AI I know: 4.": rejected true, "the reply matches (?i)as an ai", <nil>
	// "I cannot help with sums.": rejected true, "it refuses", <nil>
	// "4": rejected false, "", <nil>
}

func ExampleCheck() {
	short := criteria.Check(criteria.CostCheap, func(_ context.Context, _ firstgood.Brief, reply firstgood.Reply) (criteria.Finding, error) {
		n := len(reply.String())
		return criteria.Finding{Holds: n < 10, Reason: fmt.Sprintf("it has %d bytes", n)}, nil
	})
	rules, _ := criteria.New(criteria.Config{Accept: []criteria.Rule{short}})
	verdict, _ := rules(context.Background(), firstgood.Brief{}, firstgood.Reply{Text: "a long reply"})
	fmt.Println(verdict.Rejected, verdict.Reason)
	// Output: true it has 12 bytes
}

func ExampleParseVerdict() {
	answer := "Let me see.\n```json\n{'acceptable': False, 'reason': \"it's too short\",}\n```"
	value, reason, ok := criteria.ParseVerdict(answer, "acceptable", "the reply")
	fmt.Println(value, reason, ok)
	// Output: false it's too short true
}
