package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/firstgood/firstgood/script/syntax"
)

// A name belongs to the whole body in which a let or const binds it: the script, a block, or a body that collects. Other
// bodies (of if, try, and of loops in the place of a statement) are transparent, so that a let inside them rebinds. The
// variables of loops, catches and blocks belong to their bodies alone.
//
// Names are declared before a body is walked, so that one bound further down is known; whether it has a value yet where
// it is read is another matter, which is only warned of.

// frame counts the slots of the script or of a block.
type frame struct {
	size  int
	block *Block // nil for the script
}

func (f *frame) slot() int {
	f.size++
	return f.size - 1
}

type kind int

const (
	kindLet kind = iota
	kindConst
	kindInput
	kindLoop
	kindCatch
	kindParam
)

func (k kind) String() string {
	return [...]string{"a variable", "a const", "an input", "a variable of its loop", "a variable of its catch", "a parameter of its block"}[k]
}

type variable struct {
	name  string
	kind  kind
	slot  int
	scope *scope
	pos   syntax.Pos
	input *Input // of kindInput

	relet    bool   // a let rebinds what was an input, or the variable of a loop
	bound    bool   // the walk has passed something that gives it a value
	first    *scope // where that was
	reads    int
	writes   int
	computed bool // something gives it more than a literal
	lets     []*syntax.Bind
	passed   []*syntax.Ref // as an input of a call, as it is
}

func (v *variable) mutable() bool { return v.kind == kindLet || v.relet }

// scope is a place where names are looked up.
type scope struct {
	outer    *scope
	frame    *frame
	holds    bool // let and const declare here; otherwise it has only the variables of a loop or catch, or none
	parallel bool // it runs beside what is outside, whose variables it must not change
	block    bool // it is a block, which does not change what is outside either
	vars     map[string]*variable

	branch *branch // it is a branch of a parallel
}

type branch struct {
	of     *syntax.Parallel
	index  int
	writes map[*variable]syntax.Pos
	rivals []*branch // all branches of the parallel
}

func (c *checker) push(s *scope) (pop func()) {
	before := c.scope
	s.outer = before
	if s.frame == nil {
		s.frame = before.frame
	}
	if s.vars == nil {
		s.vars = map[string]*variable{}
	}
	c.scope = s
	return func() {
		c.scope = before
		for name, v := range s.vars {
			if c.gone == nil {
				c.gone = map[string]*variable{}
			}
			c.gone[name] = v
		}
	}
}

// elsewhere says of a name that is not known here where it is, "" for nowhere.
func (c *checker) elsewhere(name string) string {
	v := c.gone[name]
	if v == nil {
		return ""
	}
	way := "copy it into a let there"
	switch v.kind {
	case kindLet, kindConst:
		return fmt.Sprintf("%s is bound%s in a body with names of its own, and is not known outside it; return it there", name, at(v.pos))
	case kindParam:
		way = "give it to what needs it"
	}
	return fmt.Sprintf("%s is %v%s, and is not known outside it; %s", name, v.kind, at(v.pos), way)
}

// own declares the variable of a loop, a catch or a block.
func (c *checker) own(name *syntax.Name, k kind) {
	if name.Text == "" {
		return
	}
	if old := c.scope.vars[name.Text]; old != nil {
		c.errorf(name.Pos, "%s is named twice here", name.Text)
	}
	v := &variable{name: name.Text, kind: k, slot: c.scope.frame.slot(), scope: c.scope, pos: name.Pos, bound: true, computed: true}
	c.scope.vars[name.Text] = v
	c.p.Slots[name] = v.slot
}

// find looks a name up, from the inside out. It is nil where the name is bound nowhere.
func (c *checker) find(name string) *variable {
	for s := c.scope; s != nil; s = s.outer {
		if v := s.vars[name]; v != nil {
			return v
		}
	}
	return nil
}

// target is the variable that a let of the name binds: of the nearest scope that holds names, or of a loop or catch
// inside it.
func (c *checker) target(name string) *variable {
	for s := c.scope; s != nil; s = s.outer {
		if v := s.vars[name]; v != nil || s.holds {
			return v
		}
	}
	return nil
}

// visible is every name that could be read here, for messages.
func (c *checker) visible() []string {
	names := map[string]bool{}
	for s := c.scope; s != nil; s = s.outer {
		for name := range s.vars {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// slotOf is where the current frame holds v, which a block copies from the script.
func (c *checker) slotOf(v *variable) int {
	f := c.scope.frame
	if v.scope.frame == f {
		return v.slot
	}
	for _, capture := range f.block.Captures {
		if capture.From == v.slot {
			return capture.To
		}
	}
	to := f.slot()
	f.block.Captures = append(f.block.Captures, Capture{v.slot, to})
	return to
}

// declare finds the names that the statements bind in a scope that holds names, before they are walked. Shadowed are the
// variables of loops and catches on the way, which a let rebinds instead.
func (c *checker) declare(s *scope, stmts []syntax.Stmt, shadowed []string) {
	for _, stmt := range stmts {
		switch x := stmt.(type) {
		case *syntax.Bind:
			for i := range x.Names {
				if name := &x.Names[i]; !slices.Contains(shadowed, name.Text) {
					c.declareName(s, name, x.Const)
				}
			}
			c.declareBranches(s, x.Value, shadowed)
		case *syntax.Assign:
			c.declareBranches(s, x.Value, shadowed)
		case *syntax.Return:
			c.declareBranches(s, x.Value, shadowed)
		case *syntax.If:
			for _, arm := range x.Arms {
				c.declare(s, arm.Body, shadowed)
			}
			c.declare(s, x.Else, shadowed)
		case *syntax.Try:
			c.declare(s, x.Body, shadowed)
			c.declare(s, x.Catch, with(shadowed, x.As))
			c.declare(s, x.Finally, shadowed)
		case *syntax.Do:
			switch x := x.Value.(type) {
			case *syntax.Repeat:
				if !x.Parallel && c.p.Collects[x] == nil {
					c.declare(s, x.Body, with(shadowed, x.As))
				}
			case *syntax.For:
				if !x.Parallel {
					c.declare(s, x.Body, with(shadowed, x.Each, x.Index))
				}
			case *syntax.Loop:
				c.declare(s, x.Body, with(shadowed, x.As))
			case *syntax.DoBlock:
				c.declare(s, x.Body, shadowed)
			default:
				c.declareBranches(s, x, shadowed)
			}
		}
	}
}

// declareBranches finds the names that the branches of a parallel bind, which are seen after it, also where its value is
// wanted.
func (c *checker) declareBranches(s *scope, x syntax.Expr, shadowed []string) {
	if parallel, ok := x.(*syntax.Parallel); ok {
		c.declare(s, parallel.Body, shadowed)
	}
}

func with(names []string, more ...syntax.Name) []string {
	names = slices.Clip(names)
	for _, name := range more {
		if name.Text != "" {
			names = append(names, name.Text)
		}
	}
	return names
}

func (c *checker) declareName(s *scope, name *syntax.Name, isConst bool) {
	old := s.vars[name.Text]
	switch {
	case old == nil:
		k := kindLet
		if isConst {
			k = kindConst
		}
		v := &variable{name: name.Text, kind: k, slot: s.frame.slot(), scope: s, pos: name.Pos}
		s.vars[name.Text] = v
	case isConst || old.kind == kindConst:
		c.errorf(name.Pos, "%s is %v already%s, and a const is bound once; give this one another name", name.Text, old.kind, at(old.pos))
	}
}

func at(pos syntax.Pos) string {
	if pos.Line == 0 {
		return ""
	}
	return fmt.Sprintf(" in line %d", pos.Line)
}
