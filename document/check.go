package document

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// For returns the instance as it is for that pattern: in the older form what stands under a name that is no slot, and is a
// setting or an input, goes to Config. Other instances are returned as they are.
func (i *Instance) For(pattern *Document) *Instance {
	if !i.Older {
		return i
	}
	told := *i
	told.With, told.Config = nil, slices.Clone(i.Config)
	for _, b := range i.With {
		if b.JSON != nil && pattern.Slot(b.Slot) == nil && (pattern.Setting(b.Slot) != nil || pattern.Input(b.Slot) != nil) {
			told.Config = append(told.Config, Value{Key: b.Slot, Pos: b.Pos, At: b.Pos, JSON: b.JSON})
			continue
		}
		told.With = append(told.With, b)
	}
	return &told
}

// CheckInstance says what is wrong with an instance of that pattern: slots that are missing, unknown, or bound to a list where
// one delegate is wanted and the other way round; keys of config that are unknown; settings under with, and slots under config. An
// empty list and a value of another type than the pattern declares are warnings. Instances in its slots are not looked at: their
// patterns are not known here. The keys in also are allowed in config, beside the pattern's settings and inputs.
func CheckInstance(in *Instance, pattern *Document, also ...string) Problems {
	c := checking{in: in.For(pattern), pattern: pattern, also: also}
	if pattern.Kind == Function {
		c.report(diagnostic.SeverityError, in.At, "%s is a function, and has no slots; call it", quote(in.Pattern))
		return c.problems
	}
	c.bindings()
	c.settings()
	c.problems.Sort()
	return c.problems
}

type checking struct {
	in       *Instance
	pattern  *Document
	also     []string
	problems Problems
}

func (c *checking) report(severity diagnostic.Severity, at Pos, format string, args ...any) {
	c.problems = append(c.problems, Problem{Pos: at, Severity: severity, Message: oneLine(fmt.Sprintf(format, args...)), Source: c.in.source.line(at.Line)})
}

func (c *checking) bindings() {
	var slots []string
	for _, s := range c.pattern.Slots {
		slots = append(slots, s.Name)
	}
	bound := map[string]bool{}
	for _, b := range c.in.With {
		slot := c.pattern.Slot(b.Slot)
		switch {
		case slot == nil && (c.pattern.Setting(b.Slot) != nil || slices.Contains(c.also, b.Slot)):
			c.report(diagnostic.SeverityError, b.Pos, "%s is a setting of %s; write it under config:", quote(b.Slot), c.in.Pattern)
		case slot == nil && c.pattern.Input(b.Slot) != nil:
			c.report(diagnostic.SeverityError, b.Pos, "%s is an input of %s; give it where the instance is called, or under config:", quote(b.Slot), c.in.Pattern)
		case slot == nil:
			c.report(diagnostic.SeverityError, b.Pos, "%s has no slot %s; %s", c.in.Pattern, quote(b.Slot), wayOut(b.Slot, slots, "slots"))
		case slot.List && !b.List:
			c.report(diagnostic.SeverityError, b.Pos, "%s takes a list of delegates; write [%s]", quote(b.Slot), memberText(b))
		case !slot.List && b.List:
			c.report(diagnostic.SeverityError, b.Pos, "%s takes one delegate, and a list of %d is bound to it", quote(b.Slot), len(b.Members))
		case slot.List && len(b.Members) == 0:
			c.report(diagnostic.SeverityWarning, b.Pos, "%s is empty: nothing will be tried", quote(b.Slot))
		case !slot.List && len(b.Members) == 0:
			c.report(diagnostic.SeverityError, b.Pos, "%s has no delegate bound to it", quote(b.Slot))
		}
		bound[b.Slot] = true
	}
	for _, s := range slots {
		if !bound[s] {
			c.report(diagnostic.SeverityError, c.in.At, "the slot %s of %s is not bound; write with: {%s}", quote(s), c.in.Pattern, exampleOf(c.pattern.Slot(s)))
		}
	}
}

func exampleOf(s *Slot) string {
	if s.List {
		return s.Name + ": [name, …]"
	}
	return s.Name + ": name"
}

func memberText(b Binding) string {
	if len(b.Members) == 1 && b.Members[0].Name != "" {
		return b.Members[0].Name
	}
	return "…"
}

func (c *checking) settings() {
	known := slices.Clone(c.also)
	for _, s := range c.pattern.Config {
		known = append(known, s.Name)
	}
	for _, in := range c.pattern.Inputs {
		if !slices.Contains(known, in.Name) {
			known = append(known, in.Name)
		}
	}
	for _, v := range c.in.Config {
		if c.pattern.Slot(v.Key) != nil {
			c.report(diagnostic.SeverityError, v.Pos, "%s is a slot of %s; bind it under with:", quote(v.Key), c.in.Pattern)
			continue
		}
		if !slices.Contains(known, v.Key) {
			if !c.pattern.Open {
				c.report(diagnostic.SeverityError, v.Pos, "%s has no setting %s; %s", c.in.Pattern, quote(v.Key), wayOut(v.Key, known, "settings"))
			}
			continue
		}
		if s := c.pattern.Setting(v.Key); s != nil && !isOf(v.JSON, s.Type) {
			c.report(diagnostic.SeverityWarning, v.At, "%s says that %s is of type %s; it is given as it is", c.in.Pattern, quote(v.Key), s.Type)
		}
	}
}

// wayOut names what was meant, or else what there is.
func wayOut(name string, known []string, what string) string {
	if near := diagnostic.Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	if len(known) == 0 {
		return "it has no " + what
	}
	return "its " + what + " are " + strings.Join(known, ", ")
}

// isOf reports whether a value is of a written type. Null is of each, and each is of a type that is not known.
func isOf(value json.RawMessage, written string) bool {
	want := JSONType(written)
	if want == "" || len(value) == 0 || string(value) == "null" {
		return true
	}
	switch value[0] {
	case '"':
		return want == "string"
	case '[':
		return want == "list"
	case '{':
		return want == "object"
	case 't', 'f':
		return want == "boolean"
	}
	return want == "number" || want == "integer" && !strings.ContainsAny(string(value), ".eE")
}
