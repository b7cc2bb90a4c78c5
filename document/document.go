// Package document reads documents of OpenProse: Markdown that describes a pattern, a composite or a function. It says what
// a document declares and where, and runs nothing.
//
//	document.Parse    bytes → Document, with everything that is wrong with it
//	document.Shelf    names → documents: of the same file, of the disk, of the library
//	document.Native   is a body the one of a pattern that firstgood has natively?
//	Document.Prompt   a function → what a model is asked
//
// A document has front matter (name, kind) and sections under ### headings; ## begins a node of its own in the same file.
// Names of sections do not depend on case. Sections that are not known are kept as they are.
package document

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// Places and problems are those of package diagnostic.
type (
	Pos      = diagnostic.Pos
	Problem  = diagnostic.Problem
	Problems = diagnostic.Problems
)

// Kind says how a document is run.
type Kind string

// The kinds. Others are refused, or read as one of these: see [Document.Written].
const (
	Pattern   Kind = "pattern"   // its body is ProseScript, its outcome the object that this returns
	Composite Kind = "composite" // its body is JavaScript (or, rarely, ProseScript), its outcome the state object
	Function  Kind = "function"  // a prompt; or a body of ProseScript under ### Execution
)

// Document is what a document declares. It is not changed after Parse has returned it, and may be read by many at once.
type Document struct {
	Path    string // as it was given to Parse; an inline node has that of its file
	Name    string // of the front matter, or of the ## heading of an inline node
	Kind    Kind
	Written string // the kind as it is written: service, responsibility, program …; "" for an inline node
	Pos     Pos    // of the name; of the heading of an inline node

	Description string    // ### Description, or else the paragraph under the title; for people
	Text        string    // the prose of a function that becomes its prompt; see [Document.Prompt]
	Sections    []Section // every ### section, in order, as it is written

	Slots  []Slot
	Config []Setting
	// Inputs are what the document says that it receives, slots left out. A name may be a setting and an input.
	Inputs []Input
	// Open is true where nothing is said about inputs: each name that the body reads and nobody binds is one then.
	Open    bool
	Returns []Field // of a function: the shape of its reply. Nil for patterns, whose bodies say what they return
	Body    *Body   // nil for a function that is only a prompt

	Instances []*Instance // of ### Patterns, ### Services, and of the front matter's services
	Nodes     []*Document // the ## nodes of the file, in order; empty for an inline node
	Parent    *Document   // the file that an inline node stands in; nil for a file

	// State is the name of a composite's state object without its underscores: controlState or compositeState. "" otherwise.
	State string
	Model string // what ### Runtime says of the model; "" for nothing

	source *reading
}

// Slot is a place that delegates are bound to.
type Slot struct {
	Name    string
	Pos     Pos
	List    bool // takes a list of delegates
	Primary bool
	Doc     string
}

// Setting is a key of an instance's config.
type Setting struct {
	Name     string
	Pos      Pos
	Type     string          // as it is written: integer, string[] …; "" where nothing is said
	Default  json.RawMessage // nil without one; none is null
	Required bool            // no default is declared: a call, a config, or an enclosing instance gives it
	Doc      string
}

// Input is what a call gives.
type Input struct {
	Name     string
	Pos      Pos
	Type     string          // as it is written; "" where nothing is said
	Optional bool            // it may be left out; then it has its default, or is null
	Default  json.RawMessage // nil without one
	Implicit bool            // the body reads it, and the document does not list it
	Doc      string
}

// Field is a part of what a function replies.
type Field struct {
	Name string
	Pos  Pos
	Doc  string // with what is nested below it, as it is written
}

// Section is what stands under a ### heading, up to the next one.
type Section struct {
	Title string // as it is written
	Pos   Pos    // of the heading
	Text  string // without blank lines around it
}

// Language is what a body is written in.
type Language string

// The languages of bodies.
const (
	Prose      Language = "prose"
	JavaScript Language = "javascript"
)

// Body is what is executed.
type Body struct {
	Language Language
	Source   string // lines end in \n
	// Pos is the place of the first character of Source. The lines below it have the same indent removed: character n of each
	// line of Source stands in column Pos.Column+n-1.
	Pos  Pos
	Hash string // see [Hash]
}

// Instance is a pattern with its slots bound and its config set.
type Instance struct {
	Name    string // "" for some that are nested
	Pos     Pos
	Pattern string // the name of the pattern, as it is written
	At      Pos    // of that name
	With    []Binding
	Config  []Value
	// Older is true for the compose: form, where With holds slots and settings alike; see [Instance.For].
	Older bool

	source *reading
}

// Binding is what is bound to one slot.
type Binding struct {
	Slot    string
	Pos     Pos
	Members []Member
	List    bool            // it is written as a list
	JSON    json.RawMessage // of the older form: the value as it is, should the name be that of a setting; nil when it nests an instance
}

// Member is one delegate of a binding: a name, or an instance that stands there.
type Member struct {
	Name     string // "" for an instance
	Pos      Pos
	Instance *Instance
}

// Value is one key of a config.
type Value struct {
	Key  string
	Pos  Pos // of the key
	At   Pos // of the value
	JSON json.RawMessage
}

// Slot returns the slot of that name, or nil.
func (d *Document) Slot(name string) *Slot {
	if i := slices.IndexFunc(d.Slots, func(s Slot) bool { return s.Name == name }); i >= 0 {
		return &d.Slots[i]
	}
	return nil
}

// Setting returns the setting of that name, or nil.
func (d *Document) Setting(name string) *Setting {
	if i := slices.IndexFunc(d.Config, func(s Setting) bool { return s.Name == name }); i >= 0 {
		return &d.Config[i]
	}
	return nil
}

// Input returns the input of that name, or nil.
func (d *Document) Input(name string) *Input {
	if i := slices.IndexFunc(d.Inputs, func(s Input) bool { return s.Name == name }); i >= 0 {
		return &d.Inputs[i]
	}
	return nil
}

// Node returns the inline node of that name in the document's file, or nil.
func (d *Document) Node(name string) *Document {
	if i := slices.IndexFunc(d.file().Nodes, func(n *Document) bool { return n.Name == name }); i >= 0 {
		return d.file().Nodes[i]
	}
	return nil
}

// Section returns the first section with that title, whatever its case, or nil.
func (d *Document) Section(title string) *Section {
	if i := slices.IndexFunc(d.Sections, func(s Section) bool { return strings.EqualFold(s.Title, title) }); i >= 0 {
		return &d.Sections[i]
	}
	return nil
}

// Default returns what a name has that neither a call nor a config gives: the default of the setting, else that of the
// input, else nil.
func (d *Document) Default(name string) json.RawMessage {
	if s := d.Setting(name); s != nil && s.Default != nil {
		return s.Default
	}
	if in := d.Input(name); in != nil {
		return in.Default
	}
	return nil
}

// Line returns a line of the document's file, which counts from 1, for problems about it; "" where there is none.
func (d *Document) Line(number int) string { return d.source.line(number) }

// JSONType returns the type of JSON that a written type stands for: string, number, integer, boolean, list or object; "" for
// any and for what is not known.
func JSONType(written string) string {
	switch t := strings.ToLower(strings.TrimSpace(written)); t {
	case "string", "number", "integer", "boolean", "object":
		return t
	case "int":
		return "integer"
	case "bool":
		return "boolean"
	case "float":
		return "number"
	case "array", "list":
		return "list"
	case "map":
		return "object"
	default:
		if strings.HasSuffix(t, "[]") {
			return "list"
		}
		return ""
	}
}

func (d *Document) file() *Document {
	if d.Parent != nil {
		return d.Parent
	}
	return d
}
