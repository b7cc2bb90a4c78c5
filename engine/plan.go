package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/pattern"
	"github.com/firstgood/firstgood/script/check"
)

// Plan is what a run of a delegate or an instance may do, worked out from the file.
type Plan struct {
	Name    string
	Pattern string // "" for a delegate
	Kind    string // of a delegate
	Effects string // of a delegate
	Repeats int    // how often a retry-with-learning may attempt its one member; else 1
	Members []*Plan

	Rules  []string // the criteria, and what else decides about the run, for people
	Judges []*Plan  // who weighs plain language, one for each rule in it

	Calls      int           // attempts of delegates at most, retries inside them included
	JudgeCalls int           // calls of judges at most
	Time       time.Duration // at most; 0 when nothing bounds it
	Unbounded  []string      // what has no timeout, when Time is 0

	Text bool // its steps are the text of a document, which runs as it is written
	Open bool // that, or something in it, makes as many calls as its text says: Calls and JudgeCalls bound nothing
}

// PlanOf returns the plan of what ref names.
func PlanOf(ref config.Ref) *Plan { return planner{}.plan(ref) }

// Plans returns the plans of a file's instances. Those that have a part in common share its plan.
func Plans(file *config.File) map[*config.Instance]*Plan {
	plans := planner{}
	for _, in := range file.Instances {
		plans.plan(config.Ref{Name: in.Name, Instance: in})
	}
	return plans
}

// planner makes plans, one for each instance however often it is bound.
type planner map[*config.Instance]*Plan

func (known planner) plan(ref config.Ref) *Plan {
	if d := ref.Delegate; d != nil {
		p := &Plan{Name: d.Name, Kind: d.Kind, Effects: d.Effects, Repeats: 1, Calls: 1 + d.Retries, Time: d.Timeout}
		if p.Time == 0 {
			p.Unbounded = []string{d.Name}
		}
		return p
	}
	in := ref.Instance
	if p := known[in]; p != nil {
		return p
	}
	p := &Plan{Name: ref.Name, Pattern: in.Pattern, Repeats: 1}
	known[in] = p
	if t, ok := in.Document.(*writing); ok && t.native == "" {
		p.text(in, t, known)
		return p
	}
	if in.Pattern == pattern.RetryWithLearningName {
		p.Repeats = in.Config.MaxRetries
	}
	judging, unbounded := p.criteria(in, known)
	var times []time.Duration
	for _, slot := range in.Slots {
		for _, member := range slot.Members {
			m := known.plan(member)
			p.Members, p.Open = append(p.Members, m), p.Open || m.Open
			p.Calls = most(p.Calls + p.Repeats*m.Calls)
			p.JudgeCalls = most(p.JudgeCalls + p.Repeats*m.JudgeCalls)
			for _, judge := range p.Judges {
				p.JudgeCalls = most(p.JudgeCalls + p.Repeats*(judge.Calls+judge.JudgeCalls)*judge.Repeats)
			}
			unbounded = join(unbounded, m.Unbounded)
			for range p.Repeats {
				times = append(times, m.Time+judging)
			}
		}
	}
	switch {
	case in.Config.Timeout > 0:
		p.Time = in.Config.Timeout
		if worst := longest(in, times); len(unbounded) == 0 && worst < p.Time {
			p.Time = worst
		}
	case len(unbounded) > 0:
		p.Unbounded = unbounded
	default:
		p.Time = longest(in, times)
	}
	return p
}

// text is the plan of an instance whose steps are a text.
func (p *Plan) text(in *config.Instance, t *writing, known planner) {
	p.Text, p.Open = true, true
	for _, slot := range in.Slots {
		for _, member := range slot.Members {
			p.Members = append(p.Members, known.plan(member))
		}
	}
	if !in.Judge.IsZero() {
		p.Judges = append(p.Judges, known.plan(in.Judge))
	}
	if t.program != nil {
		for _, c := range t.program.Plan.Conditions {
			if c.Need != check.NeedNever {
				p.Rules = append(p.Rules, fmt.Sprintf("line %d: %q → a judge, %v", c.Pos.Line, c.Text, c.Need))
			}
		}
	}
	p.Time = in.Config.Timeout
	if p.Time == 0 {
		p.Unbounded = []string{in.Name}
	}
}

// criteria enters the rules of an instance, and returns how long one reply may be weighed, and what has no timeout.
func (p *Plan) criteria(in *config.Instance, known planner) (judging time.Duration, unbounded []string) {
	weigh := func(c *config.Criterion) {
		switch c.Rule {
		case config.RuleText:
			of := *known.plan(c.Judge)
			judge := &of
			judge.Repeats = 1 + c.JudgeRetries
			p.Judges = append(p.Judges, judge)
			judging += judge.Time * time.Duration(judge.Repeats)
			unbounded = join(unbounded, judge.Unbounded)
		case config.RuleCommand:
			judging += c.Timeout
			if c.Timeout == 0 {
				unbounded = append(unbounded, "the command of a criterion")
			}
		}
	}
	if in.Config.NonEmpty {
		p.Rules = append(p.Rules, "nonempty")
	}
	for _, at := range []struct {
		name string
		rule *config.Criterion
	}{{"failure_criteria", in.Config.Failure}, {"acceptance_criteria", in.Config.Acceptance}} {
		if at.rule != nil {
			at.rule.Visit(weigh)
			p.Rules = append(p.Rules, at.name+": "+describe(at.rule))
		}
	}
	p.Rules = append(p.Rules, policies(in.Config)...)
	return judging, unbounded
}

// MostCalls stands for this many calls, or more.
const MostCalls = 1_000_000_000

// most keeps a count that grows with each level of nesting within what can be printed and multiplied.
func most(n int) int { return min(max(n, 0), MostCalls) }

func join(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// longest is how long attempts of the given lengths take at most when each one fails.
func longest(in *config.Instance, times []time.Duration) time.Duration {
	width := len(times)
	switch in.Pattern {
	case pattern.FallbackChainName, pattern.RetryWithLearningName:
		width = 1
	case pattern.RaceName:
		if in.Config.MaxParallel > 0 {
			width = min(width, in.Config.MaxParallel)
		}
	case pattern.FanOutName:
		if in.Config.Width > 0 {
			width = min(width, in.Config.Width)
		}
	}
	// Each attempt goes to the place that is free first. With ticks it starts a tick after the one before it at the
	// latest, or when all before it have failed. Failures that come sooner start it sooner, or at that same tick.
	free := make([]time.Duration, max(width, 1))
	start, end := time.Duration(0), time.Duration(0)
	for i, t := range times {
		if i > 0 && in.Config.StartAfter > 0 {
			start = min(start+in.Config.StartAfter, end)
		}
		at := 0
		for j := range free {
			if free[j] < free[at] {
				at = j
			}
		}
		start = max(start, free[at])
		free[at] = start + t
		end = max(end, free[at])
	}
	return end
}

// describe returns a criterion on one line, much as it is written in the file.
func describe(c *config.Criterion) string {
	var inner []string
	for _, child := range c.Children {
		inner = append(inner, describe(child))
	}
	switch c.Rule {
	case config.RuleText:
		text, cut := firstgood.Excerpt(strings.Join(strings.Fields(c.Text.String()), " "), 80)
		if cut {
			text += "…"
		}
		return strconv.Quote(text) + " → judge " + c.Judge.Name
	case config.RuleMatches:
		return "matches " + c.Regexp.String()
	case config.RuleCommand:
		var argv []string
		for _, arg := range c.Argv {
			argv = append(argv, arg.String())
		}
		return "command " + strings.Join(argv, " ")
	case config.RuleNot:
		return "not (" + strings.Join(inner, "") + ")"
	case config.RuleAll, config.RuleAny:
		return string(c.Rule) + " (" + strings.Join(inner, "; ") + ")"
	case config.RuleExpr:
		return "expr " + c.Expr
	case config.RuleSchema:
		if c.SchemaFile != "" {
			return "schema " + c.SchemaFile
		}
	case config.RuleFinishReason:
		return "finish_reason " + strings.Join(c.FinishReasons, " or ")
	}
	return string(c.Rule)
}

// policies are what an instance says of failures, time and money, a line each.
func policies(c config.Config) []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if c.AdvanceOn != nil {
		add("advance_on: %s", kindNames(c.AdvanceOn))
	}
	if c.StopOn != nil {
		add("stop_on: %s", kindNames(c.StopOn))
	}
	switch r := c.OnRefusal; {
	case r != nil && r.Stop:
		add("on_refusal: stop")
	case r != nil:
		add("on_refusal: only %s may be asked", strings.Join(r.Ask, ", "))
	}
	if c.Reserve > 0 {
		add("reserve: %v for each delegate still to come", c.Reserve)
	}
	if b := c.Budget; b != nil {
		var parts []string
		if b.Calls > 0 {
			parts = append(parts, fmt.Sprintf("%d calls", b.Calls))
		}
		if b.Tokens > 0 {
			parts = append(parts, fmt.Sprintf("%d tokens", b.Tokens))
		}
		if b.Cost > 0 {
			parts = append(parts, fmt.Sprintf("$%g", b.Cost))
		}
		add("budget: %s", strings.Join(parts, ", "))
	}
	if c.HedgeCeiling > 0 {
		add("hedge_ceiling: %g extra starts for each run", c.HedgeCeiling)
	}
	if c.WaitForRecovery > 0 {
		add("wait_for_recovery: %v", c.WaitForRecovery)
	}
	return lines
}

func kindNames(kinds []firstgood.Kind) string {
	names := make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = string(kind)
	}
	return strings.Join(names, ", ")
}
