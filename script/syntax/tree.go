package syntax

import "github.com/firstgood/firstgood/diagnostic"

// Pos is a place in the source: that of the first character of what it belongs to.
type Pos = diagnostic.Pos

// Script is a body of ProseScript: what stands in a fence of a document.
type Script struct {
	Body     []Stmt
	Comments []Comment // in order; the printer puts them back

	blank []int // the lines, in order, that stand after a blank one and hold a statement or a comment
}

// Comment is what stands from a # to the end of its line, without the #.
type Comment struct {
	Pos  Pos
	Text string
	Own  bool // it is alone on its line
}

// Stmt is a statement.
type Stmt interface {
	Place() Pos
	stmt()
}

// Expr is an expression.
type Expr interface {
	Place() Pos
	expr()
}

// Name is an identifier where it is written.
type Name struct {
	Pos  Pos
	Text string // "" where it is left out
}

type (
	// Bind is let and const: one name, or several in braces, which take the keys of the value.
	Bind struct {
		Pos     Pos
		Const   bool
		Names   []Name // at least one
		Destruc bool   // the names are in braces
		Value   Expr
	}
	// Assign gives a value to a name that is bound, or to a key inside its value.
	Assign struct {
		Pos    Pos
		Target *Ref
		Value  Expr
	}
	// Return leaves the nearest of: collecting iteration or branch, block, script.
	Return struct {
		Pos   Pos
		Value Expr // nil for null
	}
	// Do is an expression that stands alone: a call, a parallel, a repeat, a for, a do, or a mere value.
	Do struct {
		Pos   Pos
		Value Expr
	}
	// Record is record V in L and append V to L: it adds a copy of the value to a list.
	Record struct {
		Pos   Pos
		Word  string // record or append
		Value Expr
		List  *Ref
	}
	// If is if, elif and else.
	If struct {
		Pos  Pos
		Arms []Arm // at least one
		Else []Stmt
		// HasElse tells an else from none.
		HasElse bool
		ElsePos Pos
	}
	// Try is try, catch and finally, with at least one of the two latter once it is checked.
	Try struct {
		Pos        Pos
		Body       []Stmt
		HasCatch   bool
		CatchPos   Pos
		As         Name // of catch as
		Catch      []Stmt
		HasFinally bool
		FinallyPos Pos
		Finally    []Stmt
	}
	// Throw raises an error, or, without a value, the one that is being handled.
	Throw struct {
		Pos   Pos
		Value Expr // nil to raise again
	}
	// Continue goes on with the next iteration of the innermost loop.
	Continue struct{ Pos Pos }
	// Break leaves the innermost loop.
	Break struct{ Pos Pos }
	// Block defines a named block, which do calls.
	Block struct {
		Pos    Pos
		Name   Name
		Params []Name
		Body   []Stmt
	}
	// Refused is a statement of the language that firstgood reads and does not run. The checker refuses it. What is one
	// of: session, resume, agent, gate, choice, pipeline, use, import, input, output, for each (loop for each), call with
	// (call f with {…}), append (append xs y), decorator (@name, name: pattern(…)), function call (f(…)).
	Refused struct {
		Pos  Pos
		What string
		Text string // the source, for the printer; the indentation of its first line is taken from the others
	}
)

// Arm is a condition and what is done where it holds.
type Arm struct {
	Pos  Pos
	Cond *Cond
	Body []Stmt
}

type (
	// String is a text, in parts: what is written and what is interpolated.
	String struct {
		Pos    Pos
		Triple bool   // it is in three quotes
		Parts  []Part // empty for the empty text
	}
	// Number is a number, as it is written.
	Number struct {
		Pos   Pos
		Text  string
		Value float64
	}
	// Bool is true or false.
	Bool struct {
		Pos   Pos
		Value bool
	}
	// Null is null.
	Null struct{ Pos Pos }
	// List is [a, b].
	List struct {
		Pos   Pos
		Items []Expr
		End   Pos // of the bracket that closes it
	}
	// Object is {a, b: c}.
	Object struct {
		Pos     Pos
		Entries []Entry
		End     Pos // of the brace that closes it
	}
	// Ref is a name, and the way from it into its value: a.b[i].length.
	Ref struct {
		Pos  Pos
		Name Name
		Path []Step
	}
	// Unary is not X.
	Unary struct {
		Pos Pos
		Op  string // not
		X   Expr
	}
	// Binary is X op Y.
	Binary struct {
		Pos  Pos    // of the operator
		Op   string // == != < <= > >= and or
		X, Y Expr
	}
	// Call calls a slot, an instance, a function, or the delegate that a variable holds.
	Call struct {
		Pos    Pos
		Target Name   // may have been written as a string
		Quoted bool   // it was
		Args   []Expr // call f(a, b): the inputs by their order
		Parens bool   // the arguments are in parentheses
		Inputs []Input
	}
	// Parallel runs each of its statements as a branch.
	Parallel struct {
		Pos  Pos
		Mods Mods
		Body []Stmt
	}
	// Repeat runs its body a number of times.
	Repeat struct {
		Pos      Pos
		Parallel bool
		Mods     Mods
		Count    Expr
		As       Name // counts from 1
		Body     []Stmt
	}
	// For runs its body for each element.
	For struct {
		Pos      Pos
		Parallel bool
		Mods     Mods
		Each     Name
		Index    Name // counts from 0
		In       Expr
		Body     []Stmt
	}
	// Loop runs its body until or while a condition holds, or until break, and at most Max times.
	Loop struct {
		Pos  Pos
		Word string // until, while, or "" for neither
		Cond *Cond  // nil for neither
		Max  Expr   // nil where it is missing, which the checker refuses
		UpTo bool   // it is written loop up to N
		As   Name   // counts from 1
		Body []Stmt
	}
	// DoBlock is do: with a body of its own, or do NAME(args) of a named block.
	DoBlock struct {
		Pos    Pos
		Name   Name // "" for a body of its own
		Args   []Expr
		Parens bool
		Body   []Stmt
	}
	// RefusedExpr is an expression of the language that firstgood reads and does not run, such as a session. See Refused.
	RefusedExpr struct {
		Pos  Pos
		What string
		Text string
	}
)

// Part is a part of a string: a text, or what is interpolated there.
type Part struct {
	Text string // as it is meant, escapes resolved; where Ref is nil
	Ref  *Ref   // {a.b}; braces that hold anything else than a path of names are text
}

// Entry is a key of an object.
type Entry struct {
	Key   Name
	Short bool // {a} for {a: a}
	Value Expr // a Ref to Key where Short
}

// Step is one step into a value: a key, or an index in brackets.
type Step struct {
	Pos   Pos
	Key   string // .key; length is the number of elements of a list or text
	Index Expr   // [index], nil for a key
}

// Input is an indented line name: value of a call. Some names are controls and no inputs; see [Call.Control].
type Input struct {
	Name  Name
	Value Expr
}

// Mods are the modifiers in parentheses after parallel.
type Mods struct {
	Pos    Pos    // zero without any
	Join   string // "all", "first" or "any"; "" where not said
	Count  Expr   // of any; nil where not said
	OnFail string // "fail-fast", "continue" or "ignore"; "" where not said
}

// Cond is a condition: a text up to a colon, perhaps between ** or ***.
type Cond struct {
	Pos   Pos
	Text  string // without the marks, and with one space for each white space outside of quotes
	Marks string // "", "**" or "***"
	Test  Test   // how it is decided without a model or by a judge of criteria; nil: discretion, a judge decides
	Refs  []*Ref // the names in its text that could be values: every identifier path in it, in order

	lines []string // of Text, as they stood between ***; nil for one
}

// Test is a condition that needs no generic judge: *ExprTest, *IsTest, *MeetsTest, *VerdictTest or *CriteriaTest.
type Test interface{ test() }

type (
	// ExprTest is a comparison, a reference, and what not, and, or make of tests.
	ExprTest struct{ X Expr }
	// IsTest is X is [not] present, absent, empty, null, true, false.
	IsTest struct {
		X    *Ref
		Not  bool
		Word string
	}
	// MeetsTest is X meets Y: a score is at least a threshold.
	MeetsTest struct{ X, Y *Ref }
	// VerdictTest asks a structured verdict: V accepts Y, V certifies Y, V says word, V accepted, V does not explicitly proceed.
	VerdictTest struct {
		V    *Ref
		Form string // accepts, certifies, says, field (V accepted), proceeds (V does not explicitly proceed)
		Word string // of says and field
		Rest string // what follows, such as "the proposal"; it decides nothing
	}
	// CriteriaTest is K says X is a failure, or acceptable: the judge of criteria, not asked when K is null or empty.
	CriteriaTest struct {
		K, X *Ref
		Word string // failure or acceptable
	}
	// NotTest, AndTest and OrTest combine tests.
	NotTest struct{ X Test }
	AndTest struct{ X, Y Test }
	OrTest  struct{ X, Y Test }
)

func (x *Bind) Place() Pos        { return x.Pos }
func (x *Assign) Place() Pos      { return x.Pos }
func (x *Return) Place() Pos      { return x.Pos }
func (x *Do) Place() Pos          { return x.Pos }
func (x *Record) Place() Pos      { return x.Pos }
func (x *If) Place() Pos          { return x.Pos }
func (x *Try) Place() Pos         { return x.Pos }
func (x *Throw) Place() Pos       { return x.Pos }
func (x *Continue) Place() Pos    { return x.Pos }
func (x *Break) Place() Pos       { return x.Pos }
func (x *Block) Place() Pos       { return x.Pos }
func (x *Refused) Place() Pos     { return x.Pos }
func (x *String) Place() Pos      { return x.Pos }
func (x *Number) Place() Pos      { return x.Pos }
func (x *Bool) Place() Pos        { return x.Pos }
func (x *Null) Place() Pos        { return x.Pos }
func (x *List) Place() Pos        { return x.Pos }
func (x *Object) Place() Pos      { return x.Pos }
func (x *Ref) Place() Pos         { return x.Pos }
func (x *Unary) Place() Pos       { return x.Pos }
func (x *Binary) Place() Pos      { return x.Pos }
func (x *Call) Place() Pos        { return x.Pos }
func (x *Parallel) Place() Pos    { return x.Pos }
func (x *Repeat) Place() Pos      { return x.Pos }
func (x *For) Place() Pos         { return x.Pos }
func (x *Loop) Place() Pos        { return x.Pos }
func (x *DoBlock) Place() Pos     { return x.Pos }
func (x *RefusedExpr) Place() Pos { return x.Pos }

func (*Bind) stmt()     {}
func (*Assign) stmt()   {}
func (*Return) stmt()   {}
func (*Do) stmt()       {}
func (*Record) stmt()   {}
func (*If) stmt()       {}
func (*Try) stmt()      {}
func (*Throw) stmt()    {}
func (*Continue) stmt() {}
func (*Break) stmt()    {}
func (*Block) stmt()    {}
func (*Refused) stmt()  {}

func (*String) expr()      {}
func (*Number) expr()      {}
func (*Bool) expr()        {}
func (*Null) expr()        {}
func (*List) expr()        {}
func (*Object) expr()      {}
func (*Ref) expr()         {}
func (*Unary) expr()       {}
func (*Binary) expr()      {}
func (*Call) expr()        {}
func (*Parallel) expr()    {}
func (*Repeat) expr()      {}
func (*For) expr()         {}
func (*Loop) expr()        {}
func (*DoBlock) expr()     {}
func (*RefusedExpr) expr() {}

func (*ExprTest) test()     {}
func (*IsTest) test()       {}
func (*MeetsTest) test()    {}
func (*VerdictTest) test()  {}
func (*CriteriaTest) test() {}
func (*NotTest) test()      {}
func (*AndTest) test()      {}
func (*OrTest) test()       {}
