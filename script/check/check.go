package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/syntax"
)

// New resolves the names of a script and checks it. All problems are reported at once, by place; warnings and notes
// among them do not hinder the program, which is nil where one of them is an error. Their lines are left for who has the
// source. The script must not be changed afterwards. A nil script is an empty one.
func New(script *syntax.Script, env Env) (*Program, diagnostic.Problems) {
	if script == nil {
		script = &syntax.Script{}
	}
	c := &checker{p: &Program{
		Script: script, Env: env, Config: -1,
		Slots: map[*syntax.Name]int{}, Blocks: map[string]*Block{}, Calls: map[*syntax.Call]*Call{},
		Conds: map[*syntax.Cond]*Condition{}, Branches: map[*syntax.Parallel][][]int{}, Collects: map[syntax.Expr]*Collect{},
		Phrases: map[*syntax.String]Phrase{}, Initial: map[*syntax.Bind]bool{}, Raises: map[*syntax.Throw]*syntax.Try{},
		Guards: map[*syntax.Ref]bool{},
	}}
	c.script(script)
	c.problems.Sort()
	slices.SortStableFunc(c.p.Plan.Conditions, func(a, b *Condition) int { return compare(a.Pos, b.Pos) })
	slices.SortStableFunc(c.p.Plan.Calls, func(a, b Site) int { return compare(a.Pos, b.Pos) })
	slices.SortStableFunc(c.p.Plan.Phrases, func(a, b PhraseUse) int { return compare(a.Pos, b.Pos) })
	if c.problems.Failed() {
		return nil, c.problems
	}
	return c.p, c.problems
}

func compare(a, b syntax.Pos) int {
	switch {
	case a.Before(b):
		return -1
	case b.Before(a):
		return 1
	}
	return 0
}

type checker struct {
	p        *Program
	problems diagnostic.Problems
	scope    *scope
	jump     jump                 // what continue and break meet here
	handling *syntax.Try          // whose catch this is in
	nearest  *syntax.For          // the for that this is in
	bounds   []Bound              // the loops that this is in
	blocks   []*blockScope        // to be walked after the script
	vars     []*variable          // all that were declared, once their scope is closed
	gone     map[string]*variable // the last of each name whose scope has been left, for messages
	guarded  []guardedRef         // reads of a key reason
	guards   map[string]bool      // names tested by "does not explicitly proceed"
}

type guardedRef struct {
	ref *syntax.Ref
	v   *variable
}

type blockScope struct {
	block *Block
	scope *scope
}

// jump says what a continue or break here would leave.
type jump int

const (
	jumpNone      jump = iota // no loop
	jumpLoop                  // a loop
	jumpIteration             // an iteration of a parallel loop
	jumpBranch                // a branch
	jumpValue                 // a do whose value is wanted
)

func (c *checker) errorf(pos syntax.Pos, format string, args ...any) {
	c.problems = append(c.problems, diagnostic.Problem{Pos: pos, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) warnf(pos syntax.Pos, format string, args ...any) {
	c.problems = append(c.problems, diagnostic.Problem{Pos: pos, Severity: diagnostic.SeverityWarning, Message: fmt.Sprintf(format, args...)})
}

// didYouMean is the end of a message about a name that is not known.
func didYouMean(name string, known []string) string {
	if near := diagnostic.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

func (c *checker) script(script *syntax.Script) {
	top := &scope{frame: &frame{}, holds: true, vars: map[string]*variable{}}
	c.scope = top
	for i := range c.p.Env.Inputs {
		in := &c.p.Env.Inputs[i]
		top.vars[in.Name] = &variable{name: in.Name, kind: kindInput, slot: top.frame.slot(), scope: top, input: in, bound: true, computed: true}
	}
	configs := slices.ContainsFunc(c.p.Env.Inputs, func(in Input) bool { return in.Kind == InputConfig })
	if configs && top.vars["config"] == nil {
		c.p.Config = top.frame.slot()
		top.vars["config"] = &variable{name: "config", kind: kindInput, slot: c.p.Config, scope: top, bound: true, computed: true}
	}
	for _, stmt := range script.Body {
		if def, ok := stmt.(*syntax.Block); ok {
			c.define(def)
		}
	}
	c.hold(top, script.Body)
	c.body(script.Body)
	c.close(top)
	for _, b := range c.blocks {
		c.walkBlock(b)
	}
	c.p.Size = top.frame.size
	c.finish()
}

// hold makes ready a scope that holds names.
func (c *checker) hold(s *scope, stmts []syntax.Stmt) {
	c.declare(s, stmts, nil)
}

// markOnly marks the repeat that is the only statement of a body that collects.
func (c *checker) markOnly(body []syntax.Stmt) {
	if len(body) != 1 {
		return
	}
	if do, ok := body[0].(*syntax.Do); ok {
		if repeat, ok := do.Value.(*syntax.Repeat); ok {
			c.p.Collects[repeat] = &Collect{Flatten: true}
		}
	}
}

func (c *checker) define(def *syntax.Block) {
	name := def.Name.Text
	if old := c.p.Blocks[name]; old != nil {
		c.errorf(def.Name.Pos, "the block %s is defined already, in line %d", name, old.Def.Pos.Line)
		return
	}
	if c.targetNamed(name) != nil || c.inputNamed(name) >= 0 {
		c.errorf(def.Name.Pos, "%s is the name of something that is given from outside; give the block another name", name)
	}
	b := &Block{Def: def}
	c.p.Blocks[name] = b
	c.blocks = append(c.blocks, &blockScope{b, &scope{frame: &frame{block: b}, holds: true, block: true}})
}

func (c *checker) walkBlock(b *blockScope) {
	defer c.push(b.scope)()
	c.jump, c.handling, c.nearest, c.bounds = jumpNone, nil, nil, nil
	for i := range b.block.Def.Params {
		c.own(&b.block.Def.Params[i], kindParam)
	}
	c.hold(b.scope, b.block.Def.Body)
	c.body(b.block.Def.Body)
	c.close(b.scope)
	b.block.Size = b.scope.frame.size
}

// close is called when a scope has been walked.
func (c *checker) close(s *scope) {
	for _, v := range s.vars {
		c.vars = append(c.vars, v)
	}
}

// finish reports what is known only when everything has been walked.
func (c *checker) finish() {
	slices.SortFunc(c.vars, func(a, b *variable) int { return compare(a.pos, b.pos) })
	for _, v := range c.vars {
		if v.kind == kindLet && v.reads == 0 && !strings.HasPrefix(v.name, "_") {
			c.warnf(v.pos, "nothing reads %s", v.name)
		}
		if v.kind != kindLet && !v.relet || !v.computed {
			continue
		}
		for _, let := range v.lets {
			if !isLiteral(let.Value) {
				continue
			}
			c.p.Initial[let] = true
			if len(v.passed) > 0 && !isNeutral(let.Value) {
				c.problems = append(c.problems, diagnostic.Problem{Pos: let.Pos, Severity: diagnostic.SeverityNote, Message: fmt.Sprintf(
					"briefs leave %s out for as long as it holds this literal", v.name)})
			}
		}
	}
	for _, g := range c.guarded {
		if c.guards[g.v.name] {
			c.p.Guards[g.ref] = true
		}
	}
}

// isLiteral reports whether x is written out, with nothing worked out in it.
func isLiteral(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.String:
		return !slices.ContainsFunc(x.Parts, func(p syntax.Part) bool { return p.Ref != nil })
	case *syntax.Number, *syntax.Bool, *syntax.Null:
		return true
	case *syntax.List:
		return !slices.ContainsFunc(x.Items, func(x syntax.Expr) bool { return !isLiteral(x) })
	case *syntax.Object:
		return !slices.ContainsFunc(x.Entries, func(e syntax.Entry) bool { return !isLiteral(e.Value) })
	}
	return false
}

// isNeutral reports whether a literal says nothing by itself.
func isNeutral(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.String:
		return len(x.Parts) == 0 || len(x.Parts) == 1 && x.Parts[0].Text == ""
	case *syntax.Number:
		return x.Value == 0
	case *syntax.Bool:
		return !x.Value
	case *syntax.List:
		return len(x.Items) == 0
	case *syntax.Object:
		return len(x.Entries) == 0
	}
	return true
}

func (c *checker) targetNamed(name string) *Target {
	for i := range c.p.Env.Targets {
		if c.p.Env.Targets[i].Name == name {
			return &c.p.Env.Targets[i]
		}
	}
	return nil
}

// inputNamed is the index of an input, -1 for none.
func (c *checker) inputNamed(name string) int {
	return slices.IndexFunc(c.p.Env.Inputs, func(in Input) bool { return in.Name == name })
}
