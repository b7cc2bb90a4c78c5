package composite

import "encoding/json"

// Parent and child exchange JSON, one value a line.
//
//	parent  start   what to run, once
//	child   ready   it is a child that can run it, once; then any number of calls, and one end
//	child   call    an rlm; it is answered by one reply with the same id, in any order
//	parent  reply   the text or the error of a call
//	child   end     what became of the body; the child then exits
//
// When the child finds the end of its stdin it exits: the parent is gone. Over a limit it may exit with the status
// exitMemory or exitCPU instead of saying end; a runtime error of Go on stderr says what else it was.

const (
	exitGone   = 79
	exitMemory = 80
	exitCPU    = 81
)

// start is the parent's first line.
type start struct {
	Source    string          `json:"source"`
	StateName string          `json:"state_name"`
	State     json.RawMessage `json:"state"`
	Memory    int64           `json:"memory"`
	CPU       int64           `json:"cpu"` // nanoseconds
	MaxOutput int             `json:"max_output"`
}

// reply is each further line of the parent.
type reply struct {
	ID    int    `json:"id"`
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
	Fails bool   `json:"fails,omitempty"`
}

// said is a line of the child, of which one field is set.
type said struct {
	Ready bool  `json:"ready,omitempty"`
	Call  *call `json:"call,omitempty"`
	End   *end  `json:"end,omitempty"`
}

type call struct {
	ID      int             `json:"id"`
	Brief   json.RawMessage `json:"brief"`
	Context json.RawMessage `json:"context"`
	Use     *string         `json:"use,omitempty"`
	Model   *string         `json:"model,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
	At      place           `json:"at"`
}

type end struct {
	Value json.RawMessage `json:"value,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
	Fails *failure        `json:"fails,omitempty"`
}

// failure is why a body did not return.
type failure struct {
	Kind    string `json:"kind"` // a key of kinds
	Message string `json:"message"`
	At      place  `json:"at"`
	Call    int    `json:"call,omitempty"` // the id of the call whose error it is, or 0
}

// place is a place in the body: lines and columns count from 1, columns in characters. 0 is not known.
type place struct {
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

var kinds = map[string]error{
	"syntax": ErrSyntax,
	"thrown": ErrThrown,
	"memory": ErrMemory,
	"cpu":    ErrCPU,
	"stack":  ErrStack,
	"never":  ErrNever,
	"output": ErrOutput,
	"died":   ErrDied,
}
