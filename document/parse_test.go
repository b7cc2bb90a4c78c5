package document

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// parsed returns a document that must be read without an error.
func parsed(t *testing.T, text string) *Document {
	t.Helper()
	d, problems := Parse("x.md", []byte(text))
	if problems.Failed() || d == nil {
		t.Fatalf("%v\n%s", problems, text)
	}
	return d
}

const steps = "\n### Delegation\n\n```prose\nreturn null\n```\n"

func pattern(sections string) string {
	return "---\nname: p\nkind: pattern\n---\n\n" + sections + steps
}

// TestParse_Settings reads every form in which a setting is written.
func TestParse_Settings(t *testing.T) {
	for _, test := range []struct{ item, want string }{
		{"- `n` (integer, default: 3): How many", "n integer 3 How many"},
		{"- `n` (string, default: none): An optional text", "n string null An optional text"},
		{"- `n` (string, default: Corpus A): A label", `n string "Corpus A" A label`},
		{"- `n` (string, default: \"Corpus A\"): A label", `n string "Corpus A" A label`},
		{"- `n` (string, default: 'it (is)'): A label", `n string "it (is)" A label`},
		{"- `n` (string, default: 3): A text", `n string "3" A text`},
		{"- `n` (string, default: a: b): A text", `n string "a: b" A text`},
		{"- `n` (number, default: 0.8): Score", "n number 0.8 Score"},
		{"- `n` (number, default 7): Size", "n number 7 Size"},
		{"- `n` (boolean, default: true)", "n boolean true "},
		{"- `n` (array, default: none): Steps", "n array null Steps"},
		{"- `n` (string[], default: a, b): Names", `n string[] ["a","b"] Names`},
		{"- `n` (string[], default: [a, 'b c']): Names", `n string[] ["a","b c"] Names`},
		{"- `n` (object[], default: {'model': 'opus', 'count': 3}, {'model': 'sonnet', 'count': 2}): Tiers",
			`n object[] [{"model":"opus","count":3},{"model":"sonnet","count":2}] Tiers`},
		{"- `n` (object, default: {\"a\": 1}): One", `n object {"a":1} One`},
		{"- `n` (object, default: {a: {b: [1, 2]}}): One", `n object {"a":{"b":[1,2]}} One`},
		{"- `n`: integer, default `3`", "n integer 3 "},
		{"- `n`: integer, default `3`; how many", "n integer 3 how many"},
		{"- `n`: string, default `a b`", `n string "a b" `},
		{"- `n`: integer", "n integer required "},
		{"- `n`: 3", "n  3 "},
		{"- `n`: 0.5", "n  0.5 "},
		{"- `n`: `3`", "n  3 "},
		{"- `n`: \"text\"", `n  "text" `},
		{"- `n`: true", "n  true "},
		{"- `n`: [1, 2]", "n  [1,2] "},
		{"- `n`: none", "n  null "},
		{"- `n`: how many (default: 3)", "n  3 how many (default: 3)"},
		{"- `n` (string): A text", "n string required A text"},
		{"- `n` (string, optional): A text", "n string null A text"},
		{"- `n`", "n  required "},
		{"- n: 4", "n  4 "},
		{"- `n` (integer,\n  default: 3): on\n  two lines", "n integer 3 on two lines"},
		{"- None. The caller says it.", ""},
		{"- None; the caller says it.", ""},
		{"- none", ""},
		{"(none)", ""},
	} {
		d := parsed(t, pattern("### Config\n\n"+test.item+"\n"))
		got := ""
		for _, s := range d.Config {
			value := string(s.Default)
			if s.Required != (s.Default == nil) {
				t.Errorf("%s: required %v with the default %s", test.item, s.Required, value)
			}
			if s.Required {
				value = "required"
			} else if !json.Valid(s.Default) {
				t.Errorf("%s: the default is no JSON: %s", test.item, value)
			}
			got += fmt.Sprintf("%s %s %s %s", s.Name, s.Type, value, s.Doc)
			if s.Pos != (Pos{File: "x.md", Line: 8, Column: 3}) {
				t.Errorf("%s: at %v", test.item, s.Pos)
			}
		}
		if got != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.item, got, test.want)
		}
	}
}

// TestParse_Inputs reads every form in which an input is written, under both of the section's names.
func TestParse_Inputs(t *testing.T) {
	const block = "- Pattern instance receives:\n    "
	for _, test := range []struct{ items, want string }{
		{block + "n: string -- the task", "n string needed the task"},
		{block + "n: string         -- the task", "n string needed the task"},
		{block + "n: number -- (optional, default 3) rounds", "n number 3 rounds"},
		{block + "n: number -- (optional, default 0.8) score (0..1)", "n number 0.8 score (0..1)"},
		{block + "n: string -- (optional) a text\n               that goes on", "n string optional a text that goes on"},
		{block + "n: string -- (optional, default \"Corpus A\") label", `n string "Corpus A" label`},
		{block + "n: any[] -- (optional, default []) — steps", "n any[] [] steps"},
		{block + "n: object[] -- tiers, e.g. [{ model: \"a\", count: 3 }]", `n object[] needed tiers, e.g. [{ model: "a", count: 3 }]`},
		{block + "n: string", "n string needed "},
		{block + "n: string -- a\n    m: object -- b (optional)", "n string needed a|m object optional b (optional)"},
		{"- &controlState exists at __controlState with:\n    n: string -- a", "n string needed a"},
		{"- Pattern instance receives:\n  - `n`: a\n  - `m` (optional): b", "n  needed a|m  optional b"},
		{"- Pattern instance receives:\n\n      n: string -- a\n      m: string -- b", "n string needed a|m string needed b"},
		{"- `n`: the task", "n  needed the task"},
		{"- n: the task", "n  needed the task"},
		{"- `quality-bar`: what is good", "quality-bar  needed what is good"},
		{"- n: (optional) rules", "n  optional rules"},
		{"- n: rules (optional — has a default)", "n  optional rules (optional — has a default)"},
		{"- n: feedback, optional on the first round", "n  optional feedback, optional on the first round"},
		{"- `n` (string, optional, default: x): a", `n string "x" a`},
		{"- `n`: string -- a", "n string needed a"},
		{"- `n`: integer, default `3`", "n integer 3 "},
		{"- `n` — the task", "n  needed the task"},
		{"- Whoever calls this gives a task.", ""},
		{"- None.", ""},
	} {
		for _, title := range []string{"Requires", "Parameters", "REQUIRES", "parameters"} {
			d := parsed(t, pattern("### "+title+"\n\n"+test.items+"\n"))
			var got []string
			for _, in := range d.Inputs {
				value := "needed"
				if in.Default != nil {
					value = string(in.Default)
				} else if in.Optional {
					value = "optional"
				}
				got = append(got, fmt.Sprintf("%s %s %s %s", in.Name, in.Type, value, in.Doc))
			}
			if strings.Join(got, "|") != test.want {
				t.Errorf("%s\ngot  %s\nwant %s", test.items, strings.Join(got, "|"), test.want)
			}
			if d.Open {
				t.Errorf("%s: the inputs are open, and the document has %s", test.items, title)
			}
		}
	}
}

// TestParse_Slots reads every form in which a slot is written, and which of them take lists.
func TestParse_Slots(t *testing.T) {
	for _, test := range []struct{ sections, want string }{
		{"### Slots\n\n- `chain`\n", "chain one"},
		{"### Slots\n\n- `chain`\n\n### Requires\n\n- Pattern instance receives:\n    chain: string[] -- names\n", "chain list names"},
		{"### Requires\n\n- Pattern instance receives:\n    chain: string[] -- names\n    x: string[] -- no slot\n\n### Slots\n\n- `chain`: those\n", "chain list those"},
		{"### Slots\n\n- `worker` (primary)\n  - requires: task, optional feedback\n  - ensures: a text\n- `critic`: says no\n  - maintains: x\n", "worker primary one|critic one says no"},
		{"### Slots\n\n- `all` (list)\n- `some` (string[]): these\n", "all list|some list these"},
		{"### Slots\n\n- worker\n- critic: says no\n", "worker one|critic one says no"},
		{"### slots\n\n* `a`\n* `b-c_1`\n", "a one|b-c_1 one"},
		{"### Slots\n\n1. `a`\n2. `b`\n", "a one|b one"},
		{"### Slots\n\n- None.\n", ""},
	} {
		d := parsed(t, pattern(test.sections))
		var got []string
		for _, s := range d.Slots {
			line := s.Name
			if s.Primary {
				line += " primary"
			}
			line += map[bool]string{true: " list", false: " one"}[s.List]
			got = append(got, strings.TrimSpace(line+" "+s.Doc))
			if d.Input(s.Name) != nil {
				t.Errorf("%s is a slot and an input", s.Name)
			}
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.sections, strings.Join(got, "|"), test.want)
		}
	}
}

// TestParse_Table is the table of openprose.md, section 1: the same pattern in each of the published forms.
func TestParse_Table(t *testing.T) {
	const prose = "```prose\nlet x = call worker\n  task_brief: task_brief\nreturn { result: x }\n```\n"
	const script = "```javascript\nconst { worker } = __controlState;\nreturn(null);\n```\n"
	inputs := "- Pattern instance receives:\n    worker: string -- who\n    task_brief: string -- what\n"
	for _, test := range []struct {
		name, text, state string
		kind              Kind
		language          Language
	}{
		{"controls", "---\nname: p\nkind: composite\n---\n### Runtime\n\n- `state.reads`: &controlState\n- `state.writes`: &controlState\n\n### Slots\n\n- `worker`\n\n### Requires\n\n- &controlState exists at __controlState with:\n    worker: string -- who\n    task_brief: string -- what\n\n### Ensures\n\n- &controlState.result contains it\n\n### Delegation\n\n" + script, "controlState", Composite, JavaScript},
		{"composites", "---\nname: p\nkind: composite\n---\n### Slots\n\n- `worker`\n\n### Config\n\n- `rounds` (integer, default: 2): n\n\n### Requires\n\n- &compositeState exists at __compositeState with:\n    worker: string -- who\n    task_brief: string -- what\n\n### Delegation Loop\n\n" + script, "compositeState", Composite, JavaScript},
		{"composite that says nothing of its state", "---\nname: p\nkind: composite\n---\n### Slots\n\n- `worker`\n\n### Parameters\n\n- `task_brief`: what\n\n### Delegation\n\n" + script, "controlState", Composite, JavaScript},
		{"composite in ProseScript", "---\nname: p\nkind: composite\n---\n### Slots\n\n- `worker`\n\n### Requires\n\n- `task_brief`: what\n\n### Delegation\n\n" + prose, "compositeState", Composite, Prose},
		{"P", "---\nname: p\nkind: pattern\n---\n### Slots\n\n- `worker`\n\n### Requires\n\n" + inputs + "\n### Ensures\n\n- `result`: x\n\n### Delegation\n\n" + prose, "", Pattern, Prose},
		{"H with Parameters", "---\nname: p\nkind: pattern\nversion: 0.15.0\n---\n### Slots\n\n- `worker`\n\n### Parameters\n\n" + inputs + "\n### Returns\n\n- `result`: x\n\n### Delegation\n\n" + prose, "", Pattern, Prose},
		{"H with Requires and Maintains", "---\nname: p\nkind: pattern\nversion: 0.15.0\n---\n### Slots\n\n- `worker`\n\n### Requires\n\n" + inputs + "\n### Maintains\n\n- `result`: x\n\n### Delegation\n\n" + prose, "", Pattern, Prose},
		{"prose before the fence", "---\nname: p\nkind: pattern\n---\n### Slots\n\n- `worker`\n\n### Requires\n\n" + inputs + "\n### Delegation\n\nThe worker works, `x` is returned.\n\n" + prose, "", Pattern, Prose},
	} {
		d := parsed(t, test.text)
		var names []string
		for _, in := range d.Inputs {
			names = append(names, in.Name)
		}
		if d.Kind != test.kind || d.State != test.state || d.Body == nil || d.Body.Language != test.language || d.Returns != nil ||
			len(d.Slots) != 1 || d.Slots[0].Name != "worker" || !slices.Equal(names, []string{"task_brief"}) {
			t.Errorf("%s: %+v", test.name, d)
			continue
		}
		first, _, _ := strings.Cut(d.Body.Source, "\n")
		if at := d.Body.Pos; d.Line(at.Line) != first || at.Column != 1 {
			t.Errorf("%s: the body begins with %q, and line %d is %q", test.name, first, at.Line, d.Line(at.Line))
		}
	}
}

// TestParse_Kinds holds how each kind that is written is read.
func TestParse_Kinds(t *testing.T) {
	const execution = "\n### Execution\n\n```prose\nreturn null\n```\n"
	for _, test := range []struct {
		kind, body string
		want       Kind
	}{
		{"pattern", steps, Pattern}, {"composite", strings.Replace(steps, "prose", "js", 1), Composite}, {"function", "", Function},
		{"service", "", Function}, {"responsibility", execution, Function}, {"responsibility", "", Function},
		{"program", execution, Function}, {"system", execution, Function},
	} {
		d := parsed(t, "---\nname: p\nkind: "+test.kind+"\nsubject: x\n---\n"+test.body)
		if d.Kind != test.want || d.Written != test.kind || d.Name != "p" || d.Pos != (Pos{File: "x.md", Line: 2, Column: 7}) {
			t.Errorf("%s: %+v", test.kind, d)
		}
	}
}

func TestParse_FunctionWithNodesAndSections(t *testing.T) {
	d := parsed(t, `---
name: f
kind: function
---

# Title

What it does.

### Returns

- `+"`a`"+`: one
  - with more
- b (list): two
- c: (optional) three
- `+"`a`"+`: more of it
- postcondition: all are there
- a guarantee: nothing

### Something else

Free text.

#### deeper

More.

## reader

### PARAMETERS

- `+"`x`"+`: an x

### Runtime

- `+"`model`"+`: sonnet

### Unknown

## pair

### Slots

- `+"`one`"+`

### Delegation

`+"```"+`prose
return one
`+"```"+`
`)
	if d.Description != "What it does." || len(d.Nodes) != 2 || len(d.Sections) != 2 || d.Node("reader") == nil || d.Node("x") != nil {
		t.Errorf("%+v", d)
	}
	if want := []Field{
		{"a", Pos{File: "x.md", Line: 12, Column: 3}, "one\n- with more\nmore of it"}, {"b", Pos{File: "x.md", Line: 14, Column: 3}, "(list) two"}, {"c", Pos{File: "x.md", Line: 15, Column: 3}, "(optional) three"},
	}; !reflect.DeepEqual(d.Returns, want) {
		t.Errorf("got  %v\nwant %v", d.Returns, want)
	}
	if s := d.Section("something ELSE"); s == nil || s.Text != "Free text.\n\n#### deeper\n\nMore." || s.Pos != (Pos{File: "x.md", Line: 20, Column: 1}) {
		t.Errorf("%+v", s)
	}
	reader, pair := d.Nodes[0], d.Nodes[1]
	if reader.Kind != Function || reader.Model != "sonnet" || len(reader.Inputs) != 1 || reader.Parent != d || reader.Path != "x.md" || reader.Pos != (Pos{File: "x.md", Line: 28, Column: 1}) {
		t.Errorf("%+v", reader)
	}
	if pair.Kind != Pattern || pair.Body == nil || !pair.Open || pair.Node("reader") != reader {
		t.Errorf("%+v", pair)
	}
}

// TestParse_Execution holds what of a function is steps, and what is a prompt.
func TestParse_Execution(t *testing.T) {
	const front = "---\nname: f\nkind: function\n---\n\n### Execution\n\n"
	for _, test := range []struct{ name, text, source, at string }{
		{"fence", "```prose\nlet a = call b\n```\n", "let a = call b\n", "x.md:9:1"},
		{"prosescript", "```prosescript\nreturn 1\n```\n", "return 1\n", "x.md:9:1"},
		{"tildes", "~~~prose\nreturn 1\n~~~\n", "return 1\n", "x.md:9:1"},
		{"longer fence", "````prose\n```\n````\n", "```\n", "x.md:9:1"},
		{"indented fence", "  ```prose\n  if a == b:\n    return 1\n  ```\n", "if a == b:\n  return 1\n", "x.md:9:3"},
		{"fence that says nothing", "```\nlet a = call b\n  x: y\nreturn a\n```\n", "let a = call b\n  x: y\nreturn a\n", "x.md:9:1"},
		{"text before and after", "It goes like this.\n\n```prose\nreturn 1\n```\n\n#### notes\n\nMore.\n", "return 1\n", "x.md:11:1"},
		{"another fence beside it", "```json\n{}\n```\n\n```prose\nreturn 1\n```\n", "return 1\n", "x.md:13:1"},
		{"plain", "let a = call b\n  x: y\n\nif a is present:\n  return a\n", "let a = call b\n  x: y\n\nif a is present:\n  return a\n", "x.md:8:1"},
		{"indented", "    let a = call b\n      x: y\n    return a\n", "let a = call b\n  x: y\nreturn a\n", "x.md:8:5"},
		{"prose", "Return the answer.\n", "", ""},
		{"list", "- call reader\n- call writer\n", "", ""},
		{"prose that begins like steps", "return the answer to whoever asked, politely\n", "", ""},
		{"prose with an indented word", "if you can:\n  do it\n\nThen stop.\n", "", ""},
		{"fence without steps", "```\nlook at this\n```\n", "", ""},
	} {
		d := parsed(t, front+test.text)
		switch {
		case test.source == "" && d.Body == nil:
			if !strings.Contains(d.Text, "## Steps\n\n"+strings.TrimSpace(test.text)) {
				t.Errorf("%s: the prompt is %q", test.name, d.Text)
			}
		case d.Body == nil, d.Body.Source != test.source, d.Body.Pos.String() != test.at, d.Body.Language != Prose, d.Body.Hash != Hash(test.source):
			t.Errorf("%s: got %+v, want %q", test.name, d.Body, test.source)
		case strings.Contains(d.Text, "Steps"):
			t.Errorf("%s: the steps are in the prompt", test.name)
		}
	}
}

// TestParse_Implicit holds that a pattern may read a task_brief that it does not list, and no more than that.
func TestParse_Implicit(t *testing.T) {
	body := func(sections string) *Document {
		return parsed(t, "---\nname: p\nkind: pattern\n---\n"+sections+"\n### Delegation\n\n```prose\nlet a = 1\nlet é = call w\n  x: task_brief\n```\n")
	}
	d := body("### Parameters\n\n- Pattern instance receives:\n    briefs: string[] -- b\n")
	in := d.Input("task_brief")
	if in == nil || !in.Implicit || !in.Optional || d.Line(in.Pos.Line)[in.Pos.Column-1:] != "task_brief" {
		t.Errorf("%+v", in)
	}
	if d := body("### Parameters\n\n- `brief`: b\n"); d.Input("task_brief") != nil {
		t.Error("it has a brief already")
	}
	if d := body(""); d.Input("task_brief") != nil || !d.Open {
		t.Error("nothing is said about inputs, so all are open")
	}
}

func TestParse_LowerCaseBlocks(t *testing.T) {
	d := parsed(t, "---\nname: f\nkind: service\n---\n\n# T\n\nIt helps.\n\nrequires:\n- topic: a question\n- depth: (optional, default 2) how deep\n\nensures:\n- report: an answer\n\n### Notes\n\nN.\n")
	if len(d.Inputs) != 2 || d.Inputs[0].Name != "topic" || string(d.Inputs[1].Default) != "2" || len(d.Returns) != 1 || d.Returns[0].Name != "report" {
		t.Errorf("%+v", d)
	}
	if s := d.Section("requires"); s == nil || s.Text != "- topic: a question\n- depth: (optional, default 2) how deep" {
		t.Errorf("%+v", s)
	}
	if d.Description != "It helps." {
		t.Errorf("the description is %q", d.Description)
	}
}

func TestDocument_Default(t *testing.T) {
	d := parsed(t, pattern("### Config\n\n- `n`: 3\n- `m` (string)\n\n### Requires\n\n- Pattern instance receives:\n    n: number -- (optional, default 4)\n    m: string -- (optional, default x)\n    o: string -- o\n"))
	for name, want := range map[string]string{"n": "3", "m": `"x"`, "o": "", "p": ""} {
		if got := string(d.Default(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestJSONType(t *testing.T) {
	for written, want := range map[string]string{
		"string": "string", "Integer": "integer", "int": "integer", "number": "number", "float": "number", "boolean": "boolean", "bool": "boolean",
		"array": "list", "list": "list", "string[]": "list", "object[]": "list", "any[]": "list", "object": "object", "map": "object", "any": "", "": "", "run": "",
	} {
		if got := JSONType(written); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}
