package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// levels returns a file of n patterns of which each but the first holds the one before it, as often as times says, and
// the first the delegate a. The outermost comes first or last.
func levels(n, times int, outermostFirst bool) string {
	lines := make([]string, n)
	for i := range lines {
		member := "a"
		if i > 0 {
			member = fmt.Sprintf("p%d", i-1)
		}
		lines[i] = fmt.Sprintf("  p%d: {pattern: race, with: {candidates: [%s]}}\n", i, strings.Join(slices.Repeat([]string{member}, times), ", "))
	}
	if outermostFirst {
		slices.Reverse(lines)
	}
	return "delegates: {a: {openai: {model: '${MODEL}'}}}\npatterns:\n" + strings.Join(lines, "")
}

// TestPatternsThatManyLeadTo reads patterns in which 2^45 ways lead to one delegate; each is gone through once.
func TestPatternsThatManyLeadTo(t *testing.T) {
	const n = 45
	for _, outermostFirst := range []bool{false, true} {
		f := parsed(t, levels(n, 2, outermostFirst))
		outermost, _ := f.Lookup(fmt.Sprintf("p%d", n-1))
		instances, delegates := 0, 0
		outermost.Instance.walk(map[*Instance]bool{}, func(*Instance) { instances++ }, func(*Delegate) { delegates++ })
		if instances != n || delegates != 2 {
			t.Errorf("%d visits of instances and %d of delegates, want %d and 2", instances, delegates, n)
		}
		if reach := outermost.Instance.Reach(); !slices.Equal(reach, f.Delegates) {
			t.Errorf("reach %v", reach)
		}
		looked := 0
		unset := outermost.Instance.Unset(func(string) (string, bool) { looked++; return "", false })
		if len(unset) != 1 || looked != 1 || !strings.Contains(unset[0].Message, "MODEL is not set") {
			t.Errorf("looked %d times: %v", looked, unset)
		}
		in, problems := f.Instance("race", "race", []Binding{{"race", "candidates", []string{outermost.Name, outermost.Name}}}, nil)
		if in == nil || len(problems) > 0 {
			t.Error(problems)
		}
		if _, problems = f.Change(f.Instances[0], []Binding{{"--with candidates", "candidates", []string{"a"}}}, nil); len(problems) > 0 {
			t.Error(problems)
		}
	}
}

func TestPatternsNestedTooDeep(t *testing.T) {
	const said = "nested more than 100 patterns deep; let fewer lead to one another"
	for _, test := range []struct {
		n              int
		outermostFirst bool
		want           string
	}{
		{101, false, "firstgood.yaml:103:45: patterns.p100.with.candidates[0]: " + said},
		{101, true, "firstgood.yaml:3:45: patterns.p100.with.candidates[0]: " + said},
		{5000, false, "firstgood.yaml:103:45: patterns.p100.with.candidates[0]: " + said},
		{5000, true, "firstgood.yaml:4902:45: patterns.p100.with.candidates[0]: " + said},
	} {
		problems := refused(t, levels(test.n, 1, test.outermostFirst))
		if len(problems) != 1 || problems[0].String() != test.want {
			t.Errorf("%d: got %v\nwant %s", test.n, problems, test.want)
		}
	}
	f := parsed(t, levels(100, 1, true))
	in, problems := f.Instance("race", "race", []Binding{{"--with candidates", "candidates", []string{"p99"}}}, nil)
	if in != nil || problems.Error() != "--with candidates: "+said {
		t.Errorf("from outside: %v, %v", in, problems)
	}
	var b strings.Builder
	b.WriteString("delegates: {a: {openai: {model: m}}}\npatterns:\n")
	for i := range 101 {
		judge := "a"
		if i > 0 {
			judge = fmt.Sprintf("p%d", i-1)
		}
		fmt.Fprintf(&b, "  p%d: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {text: bad, judge: %s}}}\n", i, judge)
	}
	if problems := refused(t, b.String()); len(problems) != 1 || !strings.Contains(problems[0].Message, said) || problems[0].Pos.Line != 103 {
		t.Errorf("judges: %v", problems)
	}
}

// TestCycleOfManyPatterns reads a long chain of patterns that ends at its start: the message names some of them.
func TestCycleOfManyPatterns(t *testing.T) {
	text := strings.Replace(levels(2000, 1, true), "[a]", "[p1999]", 1)
	problems := refused(t, text)
	i := slices.IndexFunc(problems, func(p Problem) bool { return strings.Contains(p.Message, "leads back") })
	if i < 0 {
		t.Fatal(problems)
	}
	const begin, end = "patterns.p0.with.candidates[0]: this leads back to p1999: p1999 → … → p18 → ", " → p1 → p0 → p1999; break the cycle"
	if m := problems[i].Message; !strings.HasPrefix(m, begin) || !strings.HasSuffix(m, end) {
		t.Error(m)
	}
}
