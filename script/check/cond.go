package check

import (
	"regexp"
	"slices"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/syntax"
)

// cond classes a condition and walks what it reads.
func (c *checker) cond(x *syntax.Cond) {
	if x == nil {
		return
	}
	info := &Condition{Pos: x.Pos, Text: x.Text, Class: ClassPlain}
	if x.Test == nil {
		info.judge()
	} else {
		c.test(x.Test, info)
	}
	if info.Class == ClassVerdict || info.Class == ClassJudge {
		c.named(x, info)
	}
	c.p.Conds[x] = info
	c.p.Plan.Conditions = append(c.p.Plan.Conditions, info)
}

func (i *Condition) judge() { i.Class, i.Need, i.Discretion = ClassJudge, NeedAlways, true }

// raise makes the class at least as costly, as a part of the condition has it.
func (i *Condition) raise(class Class, need Need) {
	order := []Class{ClassPlain, ClassVerdict, ClassCriteria, ClassJudge}
	if slices.Index(order, class) > slices.Index(order, i.Class) {
		i.Class = class
	}
	i.Need = max(i.Need, need)
}

func (c *checker) test(t syntax.Test, info *Condition) {
	switch t := t.(type) {
	case *syntax.ExprTest:
		c.value(t.X)
	case *syntax.IsTest:
		c.ref(t.X)
	case *syntax.MeetsTest:
		c.ref(t.X)
		c.ref(t.Y)
	case *syntax.VerdictTest:
		c.verdict(t, info)
	case *syntax.CriteriaTest:
		c.criteria(t, info)
	case *syntax.NotTest:
		c.test(t.X, info)
	case *syntax.AndTest:
		c.test(t.X, info)
		c.test(t.Y, info)
	case *syntax.OrTest:
		c.test(t.X, info)
		c.test(t.Y, info)
	}
}

// verdict classes a test of a verdict. A subject that is bound nowhere and looks like nothing that is makes the condition
// a sentence for the judge, unless it is a guard, which nobody judges.
func (c *checker) verdict(t *syntax.VerdictTest, info *Condition) {
	v := c.find(t.V.Name.Text)
	switch {
	case v == nil && t.Form != "proceeds" && diagnostic.Nearest(t.V.Name.Text, c.visible()) == "":
		info.judge()
	case t.Form == "proceeds":
		info.raise(ClassVerdict, NeedNever)
		c.ref(t.V)
		if len(t.V.Path) == 0 {
			if c.guards == nil {
				c.guards = map[string]bool{}
			}
			c.guards[t.V.Name.Text] = true
		}
	case v != nil && v.input != nil && !v.relet && v.input.Kind != InputValue && v.input.Kind != InputConfig:
		info.judge() // a delegate is not its verdict
		c.ref(t.V)
	default:
		info.raise(ClassVerdict, NeedUnstructured)
		c.ref(t.V)
	}
}

// criteria classes a test of criteria: those are an input. Otherwise somebody else says something, which is a sentence
// for the judge.
func (c *checker) criteria(t *syntax.CriteriaTest, info *Condition) {
	k := c.ref(t.K)
	c.ref(t.X)
	name := c.inputOf(t.K)
	if k != nil && (name == "" || k.input != nil && (k.input.Kind == InputSlot || k.input.Kind == InputList)) {
		info.judge()
		return
	}
	info.raise(ClassCriteria, NeedCriteria)
	if name != "" && !contains(info.Criteria, name) {
		info.Criteria = append(info.Criteria, name)
	}
}

// named finds the values that a sentence for the judge names.
func (c *checker) named(x *syntax.Cond, info *Condition) {
	refs := x.Refs
	if x.Test != nil {
		refs = words(x)
	}
	for _, ref := range refs {
		v := c.find(ref.Name.Text)
		if v == nil || !v.bound {
			continue
		}
		name := nameOf(ref)
		if slices.ContainsFunc(info.Named, func(n Named) bool { return n.Name == name }) {
			continue
		}
		c.read(v, &ref.Name)
		info.Named = append(info.Named, Named{name, ref})
	}
}

// path is a name with keys behind it, as it stands in a sentence.
var path = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*`)

// words finds what could be the name of a value in a condition that was read as something else than a sentence.
func words(x *syntax.Cond) []*syntax.Ref {
	var refs []*syntax.Ref
	for _, found := range path.FindAllString(x.Text, -1) {
		names := strings.Split(found, ".")
		ref := &syntax.Ref{Pos: x.Pos, Name: syntax.Name{Pos: x.Pos, Text: names[0]}}
		for _, key := range names[1:] {
			ref.Path = append(ref.Path, syntax.Step{Pos: x.Pos, Key: key})
		}
		refs = append(refs, ref)
	}
	return refs
}

func nameOf(ref *syntax.Ref) string {
	var b strings.Builder
	b.WriteString(ref.Name.Text)
	for _, step := range ref.Path {
		if step.Index != nil {
			return b.String()
		}
		b.WriteString("." + step.Key)
	}
	return b.String()
}
