package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/criteria"
	"github.com/firstgood/firstgood/criteria/judging"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/pattern"
)

func newJudge(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "judge",
		Short: "Measure a judge before it decides anything",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; there is firstgood judge eval", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newJudgeEval(t))
	return cmd
}

// evalFlags are the flags of judge eval.
type evalFlags struct {
	file     string
	failIf   string
	acceptIf string
	criteria string
	of       string
	judge    string
	vote     int
	parallel int
	json     bool
	quiet    bool

	given func(flag string) bool
}

func newJudgeEval(t terminal) *cobra.Command {
	var f evalFlags
	cmd := &cobra.Command{
		Use:   "eval CASES",
		Short: "Have a judge weigh replies that are known to be good or bad, and count how often it is right",
		Long: `Have a judge weigh labelled replies, and print its confusion matrix, its precision and recall in catching
bad replies and in passing good ones, what it cost, and each case that it got wrong. Do that before a judge
decides what reaches anybody.

CASES is a file, or - for standard input, with one JSON object a line:

  {"brief": "What is the capital of France?", "reply": "Paris.", "good": true}
  {"brief": "What is the capital of France?", "reply": "I cannot help with that.", "good": false}

What the judge weighs is one of: --fail-if, --accept-if (or --criteria, the same), each in plain language or as
a rule in braces; or --of, the plain-language rules of an instance of the file, without its other rules. The judge
is shown the reply, and the brief where the rule says sees: [brief, reply]. An answer that cannot be read is never
right, catches nothing and passes nothing, whatever on_unparseable says.

With --vote N each case is weighed again until good or bad leads by two, N times at most. A judge that is
right nine times in ten, each time anew, is then right 98.8 times in 100, for 2.44 answers a case. One that
errs the same way each time is lifted by nothing: compare the first answers with the votes.

Exit status: 0 every case was judged, however well, 2 usage or file error (nothing ran), 3 the judge did not
answer for some case, 130 or 143 interrupted (the report is of the cases so far).`,
		Example: `  firstgood judge eval cases.jsonl --accept-if "it answers the question"
  firstgood judge eval cases.jsonl --accept-if '{text: "it answers the question", sees: [brief, reply]}' --judge small
  firstgood judge eval cases.jsonl --of answer --vote 5 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("got %d arguments, want the file of cases: firstgood judge eval cases.jsonl", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd.Context(), t, args[0]) },
	}
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.StringVarP(&f.file, "file", "f", "firstgood.yaml", "the file that names delegates and patterns")
	flags.StringVar(&f.failIf, "fail-if", "", "a reply of which this is true is bad")
	flags.StringVar(&f.acceptIf, "accept-if", "", "only a reply of which this is true is good")
	flags.StringVar(&f.criteria, "criteria", "", "the same as --accept-if")
	flags.StringVar(&f.of, "of", "", "weigh the plain-language rules of this `instance`")
	flags.StringVar(&f.judge, "judge", "", "the `delegate` or pattern that judges, in place of whom the file and its rules name")
	flags.IntVar(&f.vote, "vote", 0, "weigh each case until one side leads by two, `N` times at most")
	flags.IntVar(&f.parallel, "parallel", 4, "how many cases are weighed at the same time")
	flags.BoolVar(&f.json, "json", false, "print the report as one JSON object")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on stderr")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml")
	return cmd
}

func (f *evalFlags) run(ctx context.Context, t terminal, path string) error {
	if f.given("vote") && f.vote < 2 {
		return usagef("--vote %d: want 2 or more; without --vote each case is weighed once", f.vote)
	}
	if f.parallel < 1 {
		return usagef("--parallel %d: want 1 or more", f.parallel)
	}
	if err := f.oneRule(); err != nil {
		return err
	}
	common := runFlags{file: f.file, quiet: f.quiet, given: none}
	file, err := common.loadFile(t)
	if err != nil {
		return err
	}
	rules, problems, err := f.rules(file)
	if err != nil {
		return err
	}
	common.say(t, problems)
	cases, err := readCases(ctx, t, path)
	if err != nil {
		return err
	}
	judges, err := newPanel(file)
	if err != nil {
		return &exit{exitUsage, err}
	}
	weigh, err := judges.criteria(rules)
	if err != nil {
		return &exit{exitUsage, err}
	}
	plan := engine.PlanOf(config.Ref{Name: rules.Name, Instance: rules})
	names := namesOf(plan.Judges)
	for _, name := range names {
		common.say(t, judges.bound[name].Warnings)
	}
	view := &counter{out: t.err, total: len(cases), live: isTerminal(t.err), silent: f.quiet}
	report, err := judging.Evaluate(ctx, judging.Config{Cases: cases, Criteria: weigh, Vote: f.vote, Parallel: f.parallel, Watch: view.watch})
	view.close()
	cause, stopped := errors.AsType[*interrupted](err)
	if err != nil && !stopped {
		return &exit{exitProgram, err}
	}
	shown := evaluation{path: path, rules: plan.Rules, judges: names, report: report, bill: &judges.bill}
	if f.json {
		err = shown.printJSON(t.out, stopped)
	} else {
		err = shown.printText(t.out)
	}
	for _, name := range names {
		drain(judges.bound[name])
	}
	switch {
	case err != nil:
		return &exit{exitProgram, fmt.Errorf("cannot print the report: %w", err)}
	case stopped:
		return &exit{cause.status(), fmt.Errorf("%w: %d of %s were not judged", cause, report.Unjudged(), count(report.Cases, "case"))}
	case len(report.Failed) > 0:
		first := report.Failed[0]
		return &exit{exitProgram, fmt.Errorf("the judge did not answer for %d of %s; the first is %s:%d: %w",
			len(report.Failed), count(report.Cases, "case"), path, first.Case.Line, first.Err)}
	}
	return nil
}

// oneRule sees to it that there is one thing to weigh.
func (f *evalFlags) oneRule() error {
	var given []string
	for _, name := range []string{"fail-if", "accept-if", "criteria", "of"} {
		if f.given(name) {
			given = append(given, "--"+name)
		}
	}
	switch len(given) {
	case 0:
		return usagef(`there is nothing to weigh; say what makes a reply good or bad with --accept-if "…" or --fail-if "…", or name an instance of the file with --of`)
	case 1:
		return nil
	}
	return usagef("what is to be weighed is given twice, by %s; keep one", strings.Join(given, " and by "))
}

// rules returns an instance that has the plain-language rules to be weighed as its criteria, and no others.
func (f *evalFlags) rules(file *config.File) (*config.Instance, config.Problems, error) {
	var by config.Ref
	if f.given("judge") {
		var err error
		if by, err = find(file, f.judge); err != nil {
			return nil, nil, err
		}
		other := *file
		other.Judge = by
		file = &other
	}
	var in *config.Instance
	var problems config.Problems
	if f.given("of") {
		ref, err := find(file, f.of)
		if err != nil {
			return nil, nil, err
		}
		if ref.Instance == nil {
			return nil, nil, usagef("--of %s: that is a delegate; name a pattern of the file that has criteria", f.of)
		}
		in = ref.Instance
	} else {
		names := file.Names()
		if len(names) == 0 {
			return nil, nil, usagef("%s names no delegate that could judge", file.Path)
		}
		settings := runFlags{failIf: f.failIf, acceptIf: f.acceptIf + f.criteria, given: none} // one of them is given
		set, err := settings.settings()
		if err != nil {
			return nil, nil, err
		}
		// Whom the chain would try does not matter, since it is never run.
		chain := []config.Binding{{Origin: "judge eval", Slot: "chain", Names: names[:1]}}
		if in, problems = file.Instance("judge eval", pattern.FallbackChainName, chain, set); problems.Failed() {
			return nil, nil, &exit{exitUsage, problems}
		}
	}
	plain := &config.Instance{Name: in.Name, Pos: in.Pos, Pattern: in.Pattern,
		Config: config.Config{Failure: onlyPlain(in.Config.Failure, by), Acceptance: onlyPlain(in.Config.Acceptance, by)}}
	if plain.Config.Failure == nil && plain.Config.Acceptance == nil {
		if f.of != "" {
			return nil, nil, usagef("--of %s: it has no rule in plain language, so there is nothing for a judge to weigh", f.of)
		}
		return nil, nil, usagef("there is no rule in plain language to weigh; a judge weighs a text, or {text: …}")
	}
	return plain, problems, nil
}

// onlyPlain returns what is left of a criterion without the rules that ask no judge, nil for nothing. Who judges is by,
// unless that is zero.
func onlyPlain(c *config.Criterion, by config.Ref) *config.Criterion {
	if c == nil {
		return nil
	}
	left := *c
	if c.Rule == config.RuleText {
		if !by.IsZero() {
			left.Judge = by
		}
		return &left
	}
	left.Children = nil
	for _, child := range c.Children {
		if child = onlyPlain(child, by); child != nil {
			left.Children = append(left.Children, child)
		}
	}
	if len(left.Children) == 0 {
		return nil
	}
	return &left
}

// readCases reads the cases at path, or from standard input.
func readCases(ctx context.Context, t terminal, path string) ([]judging.Case, error) {
	var in io.Reader
	name := path
	if path == "-" {
		name = "standard input"
		data, err := readAll(ctx, io.LimitReader(t.in, judging.MaxSize+1))
		if cause, ok := errors.AsType[*interrupted](err); ok {
			return nil, &exit{cause.status(), fmt.Errorf("%w while the cases were read from standard input", cause)}
		}
		if err != nil {
			return nil, usagef("cannot read the cases from standard input: %w", err)
		}
		in = strings.NewReader(string(data))
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, usagef("cannot read the cases: %w", err)
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	cases, err := judging.ReadCases(name, in)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	return cases, nil
}

// panel makes judges of what a file names.
type panel struct {
	engine *engine.Engine
	bound  map[string]*engine.Bound // by name, which no two share
	bill   bill
}

// newPanel makes judges of what is in the file. Nobody's health is kept: a judge that is overloaded for one case is to be
// measured on the next one all the same.
func newPanel(file *config.File) (*panel, error) {
	healthless := *file
	healthless.Health = nil
	made, err := engine.New(engine.Config{File: &healthless})
	return &panel{engine: made, bound: map[string]*engine.Bound{}, bill: bill{file: file}}, err
}

func (p *panel) criteria(in *config.Instance) (firstgood.Criteria[firstgood.Reply], error) {
	var cfg criteria.Config
	for _, at := range []struct {
		criterion *config.Criterion
		rules     *[]criteria.Rule
	}{{in.Config.Failure, &cfg.Failure}, {in.Config.Acceptance, &cfg.Accept}} {
		if at.criterion == nil {
			continue
		}
		rule, err := p.rule(at.criterion)
		if err != nil {
			return nil, err
		}
		*at.rules = []criteria.Rule{rule}
	}
	weigh, err := criteria.New(cfg)
	if err == nil && weigh == nil {
		err = errors.New("what is to be weighed is blank once its variables are filled in")
	}
	return weigh, err
}

func (p *panel) rule(c *config.Criterion) (criteria.Rule, error) {
	var children []criteria.Rule
	for _, child := range c.Children {
		rule, err := p.rule(child)
		if err != nil {
			return nil, err
		}
		children = append(children, rule)
	}
	switch c.Rule {
	case config.RuleAll:
		return criteria.All(children...), nil
	case config.RuleAny:
		return criteria.Any(children...), nil
	case config.RuleNot:
		return criteria.Not(children[0]), nil
	}
	text, err := c.Text.Expand(os.LookupEnv)
	if err != nil {
		return nil, err
	}
	judge, err := p.judge(c.Judge)
	if err != nil {
		return nil, err
	}
	cfg := criteria.JudgeConfig{Text: text, Judge: judge, Chars: c.Chars, Retries: c.JudgeRetries}
	for _, seen := range c.Sees {
		cfg.SeesBrief = cfg.SeesBrief || seen == "brief"
	}
	return criteria.Judge(cfg), nil
}

// judge returns what ref names as a judge. Each of its calls is a run of its own.
func (p *panel) judge(ref config.Ref) (firstgood.Delegate[firstgood.Reply], error) {
	bound, ok := p.bound[ref.Name]
	if !ok {
		var err error
		if bound, err = p.engine.Bind(ref, 0); err != nil {
			return nil, err
		}
		p.bound[ref.Name] = bound
	}
	return judging.Overhear(firstgood.Func(ref.Name, func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
		result := bound.Run(ctx, brief, nil)
		out := result.Outcome
		spent := firstgood.Total(out.Calls)
		p.bill.add(out.Calls)
		if result.Err == nil {
			out.Result.Usage = spent
			return out.Result, nil
		}
		failure := firstgood.FailureOf(ref.Name, 0, result.Err)
		if ref.Delegate != nil && len(out.History) == 1 {
			failure = out.History[0]
		}
		return firstgood.Reply{}, &firstgood.Error{Kind: failure.Kind, Reason: failure.Reason, Detail: failure.Detail, Status: failure.Status, Usage: spent, Err: result.Err}
	})), nil
}

// bill is what the calls of judges have cost. It is safe for concurrent use.
type bill struct {
	file *config.File

	mu       sync.Mutex
	dollars  float64
	priced   bool     // a delegate that was called has a price
	unpriced []string // those that have none, each once
}

func (b *bill) add(calls []firstgood.Call) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range calls {
		if c.Nested {
			continue
		}
		ref, _ := b.file.Lookup(c.Delegate)
		if d := ref.Delegate; d != nil && d.Price != nil {
			b.priced = true
			b.dollars += (float64(c.Usage.InputTokens)*d.Price.Input + float64(c.Usage.OutputTokens)*d.Price.Output) / 1e6
			continue
		}
		if !slices.Contains(b.unpriced, c.Delegate) {
			b.unpriced = append(b.unpriced, c.Delegate)
		}
	}
}

// counter tells how many cases are done: on a terminal in one line, else in a line for each tenth.
type counter struct {
	out          io.Writer
	total        int
	live, silent bool
	shown        bool // there is a line to end
}

func (c *counter) watch(done int) {
	switch {
	case c.silent:
	case c.live:
		c.shown = true
		fmt.Fprintf(c.out, "\rjudged %d of %d", done, c.total)
	case done == c.total || done*10/c.total > (done-1)*10/c.total:
		fmt.Fprintf(c.out, "judged %d of %d\n", done, c.total)
	}
}

func (c *counter) close() {
	if c.shown {
		fmt.Fprintln(c.out)
	}
}

func namesOf(plans []*engine.Plan) []string {
	seen := map[string]bool{}
	var names []string
	for _, plan := range plans {
		if !seen[plan.Name] {
			seen[plan.Name] = true
			names = append(names, plan.Name)
		}
	}
	return names
}

// none says of every flag that it is not on the command line.
func none(string) bool { return false }
