package composite

import (
	"strings"
	"testing"

	"github.com/firstgood/firstgood/diagnostic"
)

func TestCheck(t *testing.T) {
	for _, test := range []struct{ body, want, source string }{
		{"", "", ""},
		{"return(await rlm(__controlState.x))", "", ""},
		{"}", "c.md:10:1: JavaScript: unexpected token }: no { is open here", "}"},
		{"if (x) {\n  y }\n}", "c.md:12:1: JavaScript: unexpected token }: no { is open here", "}"},
		{"let x\n})(); (async function(){", "c.md:11:1: JavaScript: unexpected token }: no { is open here", "})(); (async function(){"},
		{"}), (async function(){", "c.md:10:1: JavaScript: unexpected token }: no { is open here", "}), (async function(){"},
		{"}).x[(function(){", "c.md:10:18: JavaScript: the body ends inside of something: a bracket, a string or a comment is not closed", "}).x[(function(){"},
		{"}).call(function(){", "c.md:10:1: JavaScript: unexpected token }: no { is open here", "}).call(function(){"},
		{"} + function(){", "c.md:10:1: JavaScript: unexpected token }: no { is open here", "} + function(){"},
		{"} ? 1 : function(){", "c.md:10:1: JavaScript: unexpected token }: no { is open here", "} ? 1 : function(){"},
		{"}); x(function(){", "c.md:10:1: JavaScript: unexpected token }: no { is open here", "}); x(function(){"},
		{"}); let x = (function(){", "c.md:10:1: JavaScript: unexpected token }: no { is open here", "}); let x = (function(){"},
		{"let a = 1\n\tlet b = ;", "c.md:11:10: JavaScript: unexpected token ;", "\tlet b = ;"},
		{"let a = 1\r\n\r\n let 'é😀', ;\r\nx", "c.md:12:6: JavaScript: unexpected string", " let 'é😀', ;"},
		{"'é😀' 1", "c.md:10:6: JavaScript: unexpected number", "'é😀' 1"},
		{"`\u2028\r`; let 1", "c.md:10:11: JavaScript: unexpected number", "`\u2028\r`; let 1"},
		{"foo(", "c.md:10:5: JavaScript: the body ends inside of something: a bracket, a string or a comment is not closed", "foo("},
		{"x\n/* c\n", "c.md:12:1: JavaScript: the body ends inside of something: a bracket, a string or a comment is not closed", ""},
		{"let x; let x", "c.md:10:12: JavaScript: identifier 'x' has already been declared", "let x; let x"},
		{"break", "c.md:10:1: JavaScript: illegal break statement", "break"},
		{"x\x00y", "c.md:10:2: JavaScript: unexpected token ILLEGAL", "x\x00y"},
		// What is not looked at here.
		{"}" + strings.Repeat(" ", maxChecked), "", ""},
		{strings.Repeat("(", maxNesting+1), "", ""},
		{strings.Repeat("a:", maxColons+1), "", ""},
		{strings.Repeat(" ", MaxSource+1), "c.md:10:0: the body has 1048577 bytes, and may have 1048576", ""},
	} {
		got := Check(test.body, diagnostic.Pos{File: "c.md", Line: 10})
		switch {
		case test.want == "" && got == nil:
		case len(got) != 1 || got.Error() != test.want || got[0].Source != test.source || got.Err() == nil:
			t.Errorf("%.80q\ngot  %v, %#v\nwant %s", test.body, got, got, test.want)
		}
	}
}

// TestCheck_WhatItDoesNotLookAtIsFoundByRun holds that no syntax error is lost.
func TestCheck_WhatItDoesNotLookAtIsFoundByRun(t *testing.T) {
	for _, body := range []string{strings.Repeat(" ", maxChecked) + "\n}", "'" + strings.Repeat("(", maxNesting+1) + "'\n}"} {
		_, err := Run(t.Context(), config(body))
		if want := "c.md:11:1: JavaScript: unexpected token }: no { is open here"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestCheck_WorstCases are what the parser does worst with, up to what Check lets it read. They would be 2 GB without the bounds.
func TestCheck_WorstCases(t *testing.T) {
	for _, unit := range []string{"(", "[", "{", "!", "-", "a=>", "a?", "if(1)", "`${", "async()=>{", "class a extends ", "{a:", "a:", "if(1)a:",
		"(a)=>(", "async x=>(", "new ", "x**", "a+", "[a=", "({a=", "else ", "'", "/", "/(", "\\u{", "#", "@"} {
		body := strings.Repeat(unit, maxChecked/len(unit))
		Check(body, diagnostic.Pos{})
		for _, n := range []int{maxNesting, maxColons} {
			Check(strings.Repeat(unit, min(n, maxChecked/len(unit))), diagnostic.Pos{})
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"", "return(1)", "})(); (async function(){", "let x; let x", "`${`${a}`}`", "/(?<=a)\\1/u.test(x)", "x\u2028\r\n😀'", "/*", "a:b:c", "class A { #x }",
		"const { a = 1, ...b } = __controlState", "for (const x of y) { if (x) continue; break }", "await Promise.all(xs.map(async x => rlm(x, null, { use: x })))",
		"(((((", "import x from 'x'", "\ufeff#!x", "<!-- x", "//# sourceMappingURL=x", "throw\nx", "\xff", "0b1_0n", "a?.b?.[c]?.()", "async function* f() {}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		problems := Check(body, diagnostic.Pos{File: "f", Line: 1})
		for _, p := range problems {
			if p.Pos.Line < 1 || p.Pos.Line > strings.Count(body, "\n")+1 || p.Pos.Column < 1 || p.Message == "" || strings.Contains(p.Message, "\n") {
				t.Errorf("%q: %v", body, p)
			}
		}
		if problems != nil || !ordinary(body) {
			return
		}
		// What is right for Check is also right when the throws are marked.
		tree, _ := parse(body)
		markThrows(tree)
		if _, wrong := compile(body, tree); wrong != nil {
			t.Errorf("%q: %v", body, wrong)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	for b.Loop() {
		if problems := Check(chain, diagnostic.Pos{File: "c.md", Line: 1}); problems != nil {
			b.Fatal(problems)
		}
	}
}

// BenchmarkRun_Chain is a run as a user has it: the child starts, reads a body of the size of the seeds', makes three calls, and ends.
func BenchmarkRun_Chain(b *testing.B) {
	c := config(chain)
	c.State = []byte(`{"names":["a","b","c"],"task":"t"}`)
	c.Call = echo
	for b.Loop() {
		if got, err := Run(b.Context(), c); err != nil || string(got.Value) != `"c: t"` {
			b.Fatal(string(got.Value), err)
		}
	}
}

const chain = `
const { names, task, criteria = "the answer is a c" } = __controlState;
const seen = [];
for (const [i, name] of names.entries()) {
  try {
    const answer = await rlm(` + "`${name}: ${task}`" + `, null, { use: name });
    if (!/^c/.test(answer)) {
      seen.push({ name, reason: criteria.slice(0, 2000) });
      continue;
    }
    Object.assign(__controlState, { result: answer, attempts: i + 1, seen });
    return(answer);
  } catch (e) {
    seen.push({ name, reason: e.message });
  }
}
return(null);`
