// Package check resolves the names of a ProseScript and finds what is wrong with it before anything runs.
package check

import "github.com/firstgood/firstgood/script/syntax"

// Env is what a script is given from outside. The zero Env gives nothing.
type Env struct {
	Surface Surface
	Inputs  []Input  // the names that have a value when the script starts; no name twice
	Targets []Target // what call can name beside slots and variables: instances and functions
	// Find is asked about a name that is called and that nothing else explains; nil says that there is no such target, as a
	// nil Find does of all. It may be asked about a name more than once.
	Find func(name syntax.Name) *Target
}

// Surface says where a script stands. It decides how messages name things.
type Surface int

// The surfaces.
const (
	Delegation Surface = iota // the steps of a pattern
	Execution                 // the steps of a function
)

// Input is a name that has a value when the script starts.
type Input struct {
	Name     string
	Kind     InputKind
	Optional bool // without a value it is null; otherwise a run without a value for it is an error
}

// InputKind says what an input is.
type InputKind int

// The kinds of inputs.
const (
	InputValue  InputKind = iota // data
	InputConfig                  // data that is also found as config.NAME
	InputSlot                    // one delegate, which call can name
	InputList                    // a list of delegates, which for goes through
)

// Target is an instance or a function that call can name.
type Target struct {
	Name    string
	Inputs  []Param  // in the order in which they are declared
	Open    bool     // it takes inputs that it does not declare, and none is missed
	Outputs []string // the keys of what it returns; nil where that is not known
}

// Param is an input that a target declares.
type Param struct {
	Name     string
	Optional bool
}
