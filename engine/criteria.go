package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/criteria"
	"github.com/firstgood/firstgood/criteria/expr"
	"github.com/firstgood/firstgood/criteria/schema"
	"github.com/firstgood/firstgood/process"
)

// criteria builds the criteria of an instance, nil when it has none.
func (e *Engine) criteria(in *config.Instance) (firstgood.Criteria[firstgood.Reply], error) {
	cfg := criteria.Config{NonEmpty: in.Config.NonEmpty}
	for _, at := range []struct {
		criterion *config.Criterion
		rules     *[]criteria.Rule
	}{{in.Config.Failure, &cfg.Failure}, {in.Config.Acceptance, &cfg.Accept}} {
		if at.criterion == nil {
			continue
		}
		rule, err := e.rule(at.criterion)
		if err != nil {
			return nil, err
		}
		*at.rules = []criteria.Rule{rule}
	}
	built, err := criteria.New(cfg)
	if err != nil {
		return nil, config.Problems{{Pos: in.Pos, Message: fmt.Sprintf("%s: %v", in.Name, err), Err: err}}
	}
	if !slices.ContainsFunc(in.Reach(), (*config.Delegate).Isolated) {
		return built, nil
	}
	rules, err := e.patchRulesOf(in)
	if err != nil {
		return nil, err
	}
	return rules.examined(built), nil
}

func (e *Engine) rule(c *config.Criterion) (criteria.Rule, error) {
	var children []criteria.Rule
	for _, child := range c.Children {
		rule, err := e.rule(child)
		if err != nil {
			return nil, err
		}
		children = append(children, rule)
	}
	switch c.Rule {
	case config.RuleText:
		return e.plain(c)
	case config.RuleMatches:
		return criteria.Matches(c.Regexp), nil
	case config.RuleCommand:
		return e.commandRule(c)
	case config.RuleNonEmpty:
		return criteria.NonEmpty(), nil
	case config.RuleAll:
		return criteria.All(children...), nil
	case config.RuleAny:
		return criteria.Any(children...), nil
	case config.RuleNot:
		return criteria.Not(children[0]), nil
	case config.RuleExpr:
		return expr.Compile(c.Expr)
	case config.RuleSchema:
		return schemaRule(c)
	case config.RuleFinishReason:
		return finishReason(c.FinishReasons), nil
	}
	return nil, config.Problems{{Pos: c.Pos, Message: fmt.Sprintf("there is no rule %q", c.Rule)}}
}

func (e *Engine) plain(c *config.Criterion) (criteria.Rule, error) {
	text, err := c.Text.Expand(e.lookup)
	if err != nil {
		return nil, err
	}
	judge, err := e.judge(c.Judge)
	if err != nil {
		return nil, err
	}
	cfg := criteria.JudgeConfig{Text: text, Judge: judge, Chars: c.Chars, Retries: c.JudgeRetries}
	for _, seen := range c.Sees {
		cfg.SeesBrief = cfg.SeesBrief || seen == "brief"
	}
	if c.OnUnparseable == "reject" {
		cfg.OnUnparseable = criteria.Reject
	}
	return criteria.Judge(cfg), nil
}

// tailKept is how much of the end of a command's output is kept as its reason, in bytes of each of its outputs.
const tailKept = 4 << 10

// commandRule is a command of the user's own that decides by its exit status. It gets the environment but for what is
// secret by its name, since it may run what a reply says; what its arguments name is blotted out of what it says.
func (e *Engine) commandRule(c *config.Criterion) (criteria.Rule, error) {
	argv, shown := make([]string, len(c.Argv)), make([]string, len(c.Argv))
	e.read = nil
	for i, arg := range c.Argv {
		var err error
		if argv[i], err = arg.Expand(e.reading); err != nil {
			return nil, err
		}
		shown[i] = arg.String() // a variable may hold a secret
	}
	hidden := secretsOf(e.environ, e.read)
	run := func(ctx context.Context, stdin string) (exit int, tail string, err error) {
		if c.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeoutCause(ctx, c.Timeout, fmt.Errorf("no exit status within %v", c.Timeout))
			defer cancel()
		}
		dir, env := e.work.Dir, public(e.environ)
		if x, ok := ctx.Value(examinerKey{}).(*examiner); ok {
			var more []string
			if dir, more, err = x.place(ctx); err != nil {
				return -1, "", err
			}
			env = append(withoutGit(env), more...)
		}
		result, err := process.Run(ctx, process.Spec{Argv: argv, Dir: dir, Env: env, Stdin: stdin, StderrTail: tailKept})
		defer func() {
			if dir != "" && dir != "." { // what it says of files is said of the user's
				tail = strings.ReplaceAll(tail, strings.TrimSuffix(dir, "/")+"/", "")
			}
		}()
		tail = strings.TrimSpace(ending(hidden.hide(string(result.Stdout), false)) + "\n" + ending(hidden.hide(string(result.Stderr), result.StderrCut)))
		if err == nil && result.ExitCode < 0 {
			err = errors.New(result.Status())
		}
		return result.ExitCode, tail, err
	}
	return criteria.Command(criteria.CommandConfig{Name: strings.Join(shown, " "), Run: run}), nil
}

func ending(output string) string {
	if len(output) > tailKept {
		output = output[len(output)-tailKept:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(output, ""))
}

// Check says what is wrong with an expression or a schema of a file; see [config.Check].
func Check(c *config.Criterion) error {
	switch c.Rule {
	case config.RuleExpr:
		_, err := expr.Compile(c.Expr)
		if fault, ok := errors.AsType[*expr.Error](err); ok {
			return &config.SourceError{Offset: offsetOf(c.Expr, fault.Line, fault.Column), Err: errors.New(fault.Message)}
		}
		return err
	case config.RuleSchema:
		_, err := schemaRule(c)
		return err
	}
	return nil
}

// offsetOf returns how many characters stand before the line and column of a text.
func offsetOf(text string, line, column int) int {
	offset := 0
	for range line - 1 {
		before, after, ok := strings.Cut(text, "\n")
		if !ok {
			break
		}
		offset += len([]rune(before)) + 1
		text = after
	}
	return offset + column - 1
}

func schemaRule(c *config.Criterion) (criteria.Rule, error) {
	if c.SchemaFile != "" {
		return schema.Load(c.SchemaFile)
	}
	return schema.Compile(c.Schema)
}

// finishReason is a rule that holds for a reply that ended for one of the reasons.
func finishReason(reasons []string) criteria.Rule {
	return criteria.Check(criteria.CostCheap, func(_ context.Context, _ firstgood.Brief, reply firstgood.Reply) (criteria.Finding, error) {
		said := fmt.Sprintf("finish_reason is %q", reply.FinishReason)
		return criteria.Finding{Holds: slices.Contains(reasons, reply.FinishReason), Reason: said}, nil
	})
}
