package check

import "github.com/firstgood/firstgood/script/syntax"

// refusals say what to write instead of what firstgood reads and does not run.
var refusals = map[string]string{
	"session":  "a session is a model's own; make what it is to do a function or a delegate, and call that",
	"resume":   "a session that goes on keeps a memory, and firstgood keeps none; call the delegate with what it is to know",
	"agent":    "an agent is defined in the file, not in the script; make it a delegate, and call that",
	"gate":     "a gate waits for a person, and a run waits for nobody; end the script there, and start it again with the answer as an input",
	"choice":   "a choice is left to a model; write if, elif and else with conditions",
	"option":   "an option stands in a choice, which is left to a model; write if, elif and else with conditions",
	"pipeline": "pipelines are not run; write let ys = for x in xs (or parallel for), and an if inside it",
	"use":      "what a script depends on is declared in its document or in the file, not in the script; call it by its name there",
	"input":    "inputs are declared by the document, under Parameters or Requires; read them by name",
	"output":   "what comes out is what the script returns; write return",
	"for each": "a loop over what a model makes up is not run; have a delegate return the list, and write for",
}

func (c *checker) refuse(pos syntax.Pos, what string) {
	why, ok := refusals[what]
	if !ok {
		why = "firstgood reads " + what + " and does not run it; call a delegate instead"
	}
	c.errorf(pos, "%s", why)
}
