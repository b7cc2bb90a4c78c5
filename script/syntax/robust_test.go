package syntax

import (
	"strings"
	"testing"

	"github.com/firstgood/firstgood/diagnostic"
)

// hostile are sources that must be answered, whatever with, in time that grows with their length.
func hostile() map[string]string {
	deep := func(open string, n int) string { return strings.Repeat(open, n) }
	var nested strings.Builder
	for i := range 10_000 {
		nested.WriteString(strings.Repeat(" ", min(i, 300)) + "if a:\n")
	}
	return map[string]string{
		"lists":      "let a = " + deep("[", 10_000),
		"objects":    "let a = " + deep("{a: ", 10_000),
		"brackets":   "let a = " + deep("(", 10_000),
		"nots":       "let a = " + deep("not ", 10_000) + "b",
		"conditions": "if " + deep("(", 10_000) + "a:\n  break\n",
		"not nots":   "if " + deep("not ", 10_000) + "a:\n  break\n",
		"indexes":    "let a = b" + deep("[b", 10_000),
		"keys":       "let a = b" + deep(".b", 100_000),
		"ors":        "let a = b" + deep(" or b", 100_000),
		"blocks":     nested.String(),
		"quotes":     deep(`"`, 100_000),
		"open text":  `let a = """` + deep("x\n", 100_000),
		"nul":        "let a = \"\x00\"\nlet \x00 = 1\n",
		"not utf-8":  "let a = \xff\nif \xff:\n  break\n",
		"one line":   strings.Repeat("é", 500_000),
		"long line":  "let a = [" + strings.Repeat(`"é", `, 150_000) + "]\n",
		"many lines": strings.Repeat("let a = call b\n  c: \"d\"\n", 40_000),
		"many wrong": strings.Repeat("let = 5\n", 100_000),
		"refused":    strings.Repeat("session \"x\"\n  prompt: \"y\"\n", 40_000),
		"comments":   strings.Repeat("# x\n", 250_000),
		"colons":     "if " + deep(": x ", 200_000) + "\n",
		"stars":      "if " + deep("*", 500_000) + ":\n",
		"crlf":       "if a:\r\n  break\r\n",
		"bom":        "\uFEFFbreak\n",
		"tabs":       "if a:\n\tbreak\n",
	}
}

func TestHostileSources(t *testing.T) {
	for name, src := range hostile() {
		t.Run(name, func(t *testing.T) {
			script, problems := Parse(src, Pos{File: "f", Line: 1, Column: 1})
			if script == nil || len(problems) > maxProblem+1 {
				t.Fatalf("%d problems", len(problems))
			}
			for _, p := range problems {
				if p.Pos.Line < 1 || p.Pos.Column < 1 || p.Message == "" {
					t.Errorf("%+v", p)
				}
			}
			fine := name == "crlf" || name == "bom" || name == "many lines" || name == "refused" || name == "comments" || name == "long line" || name == "conditions" || name == "not nots"
			if fine == problems.Failed() {
				t.Errorf("got %v", problems[:min(3, len(problems))])
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range hostile() {
		f.Add(src[:min(len(src), 400)])
	}
	f.Add("let failures = []\n\nfor d in chain: # each\n  try:\n    let r = call d\n      task_brief: task_brief\n    if c says r is a failure:\n      record { delegate: d, reason: \"x {r.a}\" } in failures\n      continue\n    return { result: r }\n  catch as e:\n    append e to failures\n  finally:\n    throw\n")
	f.Add("parallel (\"any\", count: 2, on-fail: \"ignore\"):\n  let a = repeat n as i:\n    call b(1, [2,\n 3])\n  do:\n    x.y[1] = \"\"\"a\n{b.c}\\{d}\"\"\"\nblock f(a, b):\n  loop until **a: b** (max: 3) as i:\n    break\ndo f(1, 2)\nif ***\n  a is\n  b\n***:\n  return\nelif not (a == 1 or b.c) and d:\n  const { a, b } = {a, b: null}\nelse:\n  session \"x\"\n    y: z\n")
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<16 {
			return
		}
		at := Pos{File: "f", Line: 3, Column: 5}
		script, problems := Parse(src, at)
		lines := strings.Count(src, "\n") + 1
		for _, p := range problems {
			if p.Pos.Line < at.Line || p.Pos.Line >= at.Line+lines {
				t.Fatalf("a problem outside of the source: %v", p)
			}
		}
		if problems.Failed() {
			return
		}
		printed := Print(script)
		again, problems := Parse(printed, diagnostic.Pos{File: "f", Line: 1, Column: 1})
		if problems.Failed() {
			t.Fatalf("what was printed is wrong: %v\n%s\nfrom\n%s", problems, printed, src)
		}
		if twice := Print(again); twice != printed {
			t.Fatalf("printed\n%q\nand then\n%q\nfrom\n%q", printed, twice, src)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	src := strings.Repeat("let a = call b\n  c: \"d {e}\"\nif a says b is a failure:\n  continue\n", 15_000)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Parse(src, Pos{File: "f", Line: 1, Column: 1})
	}
}
