package syntax

import (
	"fmt"
	"strings"
	"testing"
)

// TestPlaces parses a fence that stands in a document, indented by four.
func TestPlaces(t *testing.T) {
	src := "let e = call \"f\"\n  a: \"ü {b.c} {d}\"  # note\nif x.y[i] == 1 and z:\n  record e in out\nelif **w is empty**:\n  w\nelse:\n  return [not a,\n    {b: 1}]\ntry:\n  w\ncatch as e:\n  w\nfinally:\n  w\n"
	script, problems := Parse(src, Pos{File: "doc.md", Line: 20, Column: 5})
	if problems != nil {
		t.Fatal(problems)
	}
	var got []string
	add := func(what string, at Pos) {
		if at.File != "doc.md" {
			t.Errorf("%s: %v", what, at)
		}
		got = append(got, fmt.Sprintf("%s@%d:%d", what, at.Line, at.Column))
	}
	Walk(script.Body, func(node any) {
		switch n := node.(type) {
		case *Bind:
			add("bind", n.Pos)
			add("name", n.Names[0].Pos)
		case *Call:
			add("call", n.Pos)
			add("target", n.Target.Pos)
			add("input", n.Inputs[0].Name.Pos)
		case *Ref:
			add(spell(n), n.Pos)
		case *If:
			add("if", n.Pos)
			add("elif", n.Arms[1].Pos)
			add("else", n.ElsePos)
		case *Cond:
			add("cond", n.Pos)
		case *List:
			add("list", n.Pos)
			add("end", n.End)
		case *Object:
			add("key", n.Entries[0].Key.Pos)
			add("end", n.End)
		case *Try:
			add("try", n.Pos)
			add("catch", n.CatchPos)
			add("as", n.As.Pos)
			add("finally", n.FinallyPos)
		case Expr:
			add(strings.TrimPrefix(fmt.Sprintf("%T", n), "*syntax."), n.Place())
		}
	})
	for _, c := range script.Comments {
		add("comment", c.Pos)
	}
	const want = "bind@20:5 name@20:9 call@20:13 target@20:18 input@21:7 String@21:10 b.c@21:14 d@21:20 " +
		"if@22:5 elif@24:5 else@26:5 cond@22:8 Binary@22:20 Binary@22:15 x.y[i]@22:8 i@22:12 Number@22:18 z@22:24 e@23:14 out@23:19 " +
		"cond@24:10 w@24:12 w@25:7 list@27:14 end@28:15 Unary@27:15 a@27:19 key@28:10 end@28:14 Number@28:13 " +
		"try@29:5 catch@31:5 as@31:14 finally@33:5 w@30:7 w@32:7 w@34:7 comment@21:25"
	if got := strings.Join(got, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestProblemsInDocuments looks at problems of a fence: their columns are those of the document, and so are their lines.
func TestProblemsInDocuments(t *testing.T) {
	for _, test := range []struct{ src, want string }{
		{"é = \"\x00\"\r\n", "doc.md:7:5: got é, want a value; names have the letters a to z, digits, _ and -|    é = \" \"|doc.md:7:10: got the control character U+0000; take it out|    é = \" \""},
		{"\uFEFFx = \x85é\x7f", "doc.md:7:9: got a byte that is not UTF-8; save the file as UTF-8|    x =  é |" +
			"doc.md:7:10: got é, want a value; names have the letters a to z, digits, _ and -|    x =  é |doc.md:7:11: got the control character U+007F; take it out|    x =  é "},
		{"a\r\n\r\nif\rb:\n  c", "doc.md:9:7: got the control character U+000D; take it out|    if b:"},
		{"if x <= the limit:\n  a", "doc.md:7:8: warning: this is no comparison of two values, so that a judge decides it; write it between ** if that is meant|    if x <= the limit:"},
		{"if **x <= the limit**:\n  a", ""},
	} {
		_, problems := Parse(test.src, Pos{File: "doc.md", Line: 7, Column: 5})
		var got []string
		for _, p := range problems {
			got = append(got, p.String(), p.Source)
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("%q: got\n%s\nwant\n%s", test.src, got, test.want)
		}
	}
	if _, problems := Parse("let", Pos{}); len(problems) != 1 || problems[0].Pos != (Pos{Line: 1, Column: 4}) {
		t.Errorf("without a place: %v", problems)
	}
}

// TestRefused reads what is not run: each is one node, with all that belongs to it.
func TestRefused(t *testing.T) {
	const after = "\ncall after"
	for _, test := range []struct{ what, src string }{
		{"session", "session \"x: {y}\"\n  prompt: \"\"\"\nfar left\n  \"\"\"\n\n  # note\n  model: z"},
		{"session", "session name: agent\n  a: b"},
		{"session", "session extract(subject)"},
		{"resume", "resume: captain\n  prompt: \"x\""},
		{"agent", "agent a:\n  model: \"x\"\n  shape:\n    self: [\"b\"]"},
		{"gate", "gate \"approve\":\n  a: b"},
		{"choice", "choice the best option's (way:\n  option \"a\":\n    retrun 5 5"},
		{"choice", "choice **a \" b**:\n  option \"a\":\n    x"},
		{"use", "use \"std/x\" as y"},
		{"import", "import \"a\" from \"b\""},
		{"input", "input topic: \"x\""},
		{"output", "output x = call y\n  a: b"},
		{"output", "output { a, b }"},
		{"decorator", "@retry(3, [\n  4])"},
		{"decorator", "review: worker-critic(critic: x)"},
		{"append", "append xs y"},
		{"call with", "call f with {\n  a: b,\n}"},
		{"call with", "call f with\n  a: b"},
		{"for each", "loop for each x in model's list (max: 3):\n  call f"},
		{"pipeline", "xs\n  | map:\n      call f\n  | reduce(a, b):\n      call g"},
		{"pipeline", "call f\n    a: b\n  | map:\n      call f"},
		{"pipeline", "xs | filter: call f"},
		{"function call", "write(a, {b: c}).d[0](e)"},
	} {
		script, problems := Parse(test.src+after, Pos{})
		if problems.Failed() || len(script.Body) != 2 {
			t.Errorf("%s: %d statements, %v", test.src, len(script.Body), problems)
			continue
		}
		what, text := "", ""
		switch s := script.Body[0].(type) {
		case *Refused:
			what, text = s.What, s.Text
		case *Do:
			if x, ok := s.Value.(*RefusedExpr); ok {
				what, text = x.What, x.Text
			}
		}
		if what != test.what || text != test.src || len(script.Comments) > 0 {
			t.Errorf("got %s %q, want %s %q", what, text, test.what, test.src)
		}
	}
}

// TestWhatCanBeRead looks at the scripts of which something is wrong: the rest is there.
func TestWhatCanBeRead(t *testing.T) {
	script, problems := Parse("let a = @\nlet b = { c: ?, d: 1 }\ncall f\n  x: ]\n  y: 2\nif z\n  w = 1\nretrun\nretrun 1\n", Pos{})
	if len(problems) != 5 {
		t.Errorf("got %v", problems)
	}
	want := "let a = null\nlet b = { c: null, d: 1 }\ncall f\n  x: null\n  y: 2\nif z:\n  w = 1\nretrun\n"
	if got := Print(script); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
