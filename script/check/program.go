package check

import (
	"fmt"

	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/syntax"
)

// Program is a script with its names resolved. It is not changed any more, and may be used from several goroutines.
//
// A body that runs by itself (the script, a block) has a frame of slots, one for each variable. Bodies inside it share
// the frame: what runs in parallel works on a copy of it. Names are found in Slots by where they are written.
type Program struct {
	Script *syntax.Script
	Env    Env
	Size   int // the slots of the script's frame; input i is in slot i
	Config int // the slot of the object config, -1 where nothing names it

	Slots  map[*syntax.Name]int // the variable that a name binds or reads: of Bind, Ref, For, Repeat, Loop, Try, Block, and of a Call that has one
	Blocks map[string]*Block

	Calls    map[*syntax.Call]*Call
	Conds    map[*syntax.Cond]*Condition
	Branches map[*syntax.Parallel][][]int  // the slots that each branch writes
	Collects map[syntax.Expr]*Collect      // each repeat, for and do whose body has a scope of its own and gives a value
	Phrases  map[*syntax.String]Phrase     // the texts that stand for a count
	Initial  map[*syntax.Bind]bool         // lets whose literal is left out of briefs for as long as the variable holds it
	Raises   map[*syntax.Throw]*syntax.Try // whose error a throw without a value raises again
	Guards   map[*syntax.Ref]bool          // V.reason of a V that is tested by "V does not explicitly proceed"
	Plan     Plan
}

// Block is a named block.
type Block struct {
	Def      *syntax.Block
	Size     int // the slots of its frame; parameter i is in slot i
	Captures []Capture
}

// Capture is a variable of the script that a block reads: it is copied into the block's frame when the block starts.
type Capture struct{ From, To int }

// Collect is a body that has a scope of its own and whose iterations give values.
type Collect struct {
	Locals  []int // its variables, null at the start of each iteration
	Flatten bool  // it is the only statement of a collecting body, whose list takes its elements one by one
}

// Call is what a call names. Of those that there are, the first that holds a delegate is called.
type Call struct {
	Variable int     // the slot of a variable or of an input, -1 for none
	Slot     int     // the index of a slot among the inputs, -1 for none
	Target   *Target // nil for none
}

// Phrase is a text that stands for a count.
type Phrase struct {
	Kind PhraseKind
	For  *syntax.For // whose position is meant; nil for the number of calls
}

// PhraseKind says which count is meant.
type PhraseKind int

// The counts.
const (
	PhraseCalls    PhraseKind = iota // "number of attempted delegates": the calls started so far in this body
	PhrasePosition                   // "number of completed attempts before winner": the place of the element in the nearest for, from 1
)

// Plan is what a script may do, for people to see before it runs. Everything is in source order.
type Plan struct {
	Conditions []*Condition
	Calls      []Site
	Phrases    []PhraseUse
}

// Site is a call where it is written.
type Site struct {
	Pos    syntax.Pos
	Target string
	Kind   SiteKind
	Inputs []string // the names that it passes, controls left out
	Retry  int      // additional attempts; -1 where that is worked out when it runs
	Loops  []Bound  // what it stands in, from the outermost
}

// SiteKind says what a call names.
type SiteKind string

// The kinds of call.
const (
	SiteSlot     SiteKind = "slot"
	SiteVariable SiteKind = "variable" // a delegate out of a list, or one that was given to a block
	SiteTarget   SiteKind = "target"   // an instance or a function
)

// Bound is a loop, or a body that runs a number of times. Of Count, Input and Length at most one is set; without any, the
// number is worked out when it runs.
type Bound struct {
	Pos      syntax.Pos
	Count    int    // as it is written
	Input    string // as many as the number in this input
	Length   string // as many as this input has elements
	Parallel bool
}

// PhraseUse is a count in words where it is written.
type PhraseUse struct {
	Pos   syntax.Pos
	Text  string
	Known bool // it is worked out; otherwise it stays a text
}

// Class says how a condition is decided.
type Class string

// The classes of conditions, from the one that costs least.
const (
	ClassPlain    Class = "plain"    // comparisons, logic, is and meets
	ClassVerdict  Class = "verdict"  // a verdict's own words; an unstructured one goes to the judge, unless it must be explicit
	ClassCriteria Class = "criteria" // criteria that were given as an input; without them nobody is asked
	ClassJudge    Class = "judge"    // left to discretion: the judge decides
)

// Need says when a condition needs a judge.
type Need int

// The needs. That of a condition made of several is the greatest of theirs.
const (
	NeedNever        Need = iota
	NeedCriteria          // when the criteria are set
	NeedUnstructured      // when the verdict is unstructured
	NeedAlways
)

func (n Need) String() string {
	return [...]string{"never", "when the criteria are set", "when the verdict is unstructured", "always"}[n]
}

// Condition is a condition of the script.
type Condition struct {
	Pos      syntax.Pos
	Text     string
	Class    Class
	Need     Need
	Criteria []string // the inputs that hold its criteria

	Discretion bool    // the judge decides, whatever the text was read as
	Named      []Named // the values that the judge is shown
}

// Named is a value with the name by which a condition calls it.
type Named struct {
	Name string
	Ref  *syntax.Ref
}

// Strict returns what is to be said of a script that must not leave anything to a judge's discretion: an error for each
// condition that always does, and a warning for each that does when a verdict is unstructured. Criteria that were given
// as an input are no discretion.
func (p *Program) Strict() diagnostic.Problems {
	var problems diagnostic.Problems
	for _, c := range p.Plan.Conditions {
		switch c.Need {
		case NeedAlways:
			problems = append(problems, diagnostic.Problem{Pos: c.Pos, Message: fmt.Sprintf(
				"%q needs a judge; write a comparison, or have the delegate answer with a field that can be compared", c.Text)})
		case NeedUnstructured:
			problems = append(problems, diagnostic.Problem{Pos: c.Pos, Severity: diagnostic.SeverityWarning, Message: fmt.Sprintf(
				"%q needs a judge when the verdict is unstructured; ask for a JSON object with a field such as verdict", c.Text)})
		}
	}
	return problems
}
