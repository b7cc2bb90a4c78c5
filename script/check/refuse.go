package check

import "github.com/firstgood/firstgood/script/syntax"

// refusals say what to write instead of what firstgood reads and does not run.
var refusals = map[string]string{
	"session":       "firstgood runs no sessions; make what it is to do a function or a delegate, and call that",
	"resume":        "firstgood resumes no sessions, since it keeps no memory of them; call a delegate with what it is to know",
	"agent":         "firstgood defines no agents in a script; make it a delegate of the file, and call that",
	"gate":          "firstgood waits for no gates; end the script there, and start it again with the answer as an input",
	"choice":        "firstgood leaves no choice to a model; write if, elif and else with conditions",
	"option":        "firstgood leaves no choice to a model, and an option stands in one; write if, elif and else with conditions",
	"pipeline":      "firstgood runs no pipelines; write let ys = for x in xs (or parallel for), with an if to leave some out",
	"use":           "firstgood takes no use from a script; what it depends on is found by its name in a call",
	"import":        "firstgood takes no import from a script; what it depends on is found by its name in a call",
	"input":         "firstgood takes no input from a script; declare it in the document, under Parameters or Requires, and read it by its name",
	"for each":      "firstgood goes through no list that a model makes up; have a delegate return the list, and write for x in xs:",
	"call with":     "firstgood takes no inputs in braces; write each below the call, indented, as name: value",
	"append":        "append takes the value first; write append VALUE to LIST",
	"decorator":     "firstgood runs no decorators; make an instance of the pattern in the document or the file, and call that",
	"function call": "firstgood has no functions of its own; write call f(…) for one of the document, or name the input",
	"output":        "firstgood takes no output from a script; return the value",
}

func (c *checker) refuse(pos syntax.Pos, what string) {
	why, ok := refusals[what]
	if !ok {
		why = "firstgood reads " + what + " and does not run it; call a delegate instead"
	}
	c.errorf(pos, "%s", why)
}
