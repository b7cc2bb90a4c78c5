package document

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/firstgood/firstgood/document/library"
)

const wholeFront = "---\nname: p\nkind: pattern\n---\n"

// hostile are texts that have broken readers of Markdown or YAML, or could: each is answered.
func hostile(size int) map[string]string {
	body := func(s string) string { return wholeFront + "\n### Slots\n\n" + s + "\n" + steps }
	fill := func(s string) string { return strings.Repeat(s, (size-1000)/len(s)) }
	different := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size-2000; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"empty": "", "one dash": "-", "only front": wholeFront, "rule": "---\n---\n---\n",
		"lists": body(strings.Repeat("- ", 10_000)), "quotes": body(strings.Repeat("> ", 10_000)), "tight quotes": body(strings.Repeat(">", 10_000)),
		"numbers": body(strings.Repeat("1. ", 10_000)), "mixed": body(strings.Repeat("> 1. * + ", 3_000)),
		"list at the margin": body(strings.Repeat("- ", maxNesting) + "a"), "many quotes": body(fill(strings.Repeat("> ", 99) + "a\n")),
		"brackets": body("- `a`: " + fill("[")), "stars": body("- `a`: " + fill("*a_")), "backticks": body("- " + fill("`a")), "parentheses": body("- `a` " + fill("(")),
		"open parentheses": body("- `a`: " + fill("(optional")), "pairs": body("- `a`: " + fill("(optional) ")), "fences": body(fill("```\n```\n")),
		"headings": body(fill("### a\n")), "nodes": body(fill("## a\n")), "items": body(fill("- `a`\n")), "words": body(fill("- a b c\n")), "lines": body("- x:\n" + fill("    a: b\n")),
		"one line": body(fill("a")), "blank": body(fill("\n")), "spaces": body(fill(" ")), "tabs": body(fill("\t")), "html": body(fill("<a ")), "comments": body(fill("<!--\n")),
		"different slots": body(different("- `a%d`\n")), "different nodes": body(different("## a%d\n")), "different inputs": body("### Requires\n\n" + different("- a%d: b\n")),
		"different settings": body("### Config\n\n" + different("- a%d: b\n")), "different fields": "---\nname: f\nkind: function\n---\n\n### Returns\n\n" + different("- `a%d`\n"),
		"different instances": "---\nname: f\nkind: function\n---\n\n### Patterns\n\n```yaml\n" + different("- {name: a%d, pattern: p}\n") + "```\n",
		"staircase":           body(stairs(size / 1500)),
		"yaml":                "---\n" + fill("[") + "\n---\n", "yaml keys": "---\n" + fill("a: b\n") + "---\n", "yaml deep": "---\nname: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "\n---\n",
		"yaml bomb":   "---\na: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nname: *c\nkind: *c\nservices: [*c]\n---\n",
		"yaml fences": "---\nname: f\nkind: function\n---\n\n### Patterns\n\n```yaml\n" + fill("- a\n") + "```\n",
		"nested":      "---\nname: f\nkind: function\n---\n\n### Patterns\n\n```yaml\n- name: a\n  pattern: p\n  with: " + strings.Repeat("{s: {pattern: p, with: ", 200) + "{}" + strings.Repeat("}}", 200) + "\n```\n",
		"flow":        wholeFront + "\n### Config\n\n- `a` (object[], default: " + strings.Repeat("{a: ", 5_000) + strings.Repeat("}", 5_000) + ")\n" + steps,
		"steps":       "---\nname: f\nkind: function\n---\n\n### Execution\n\n" + fill("let a = b\n"),
		"defaults":    wholeFront + "\n### Config\n\n- `a`: " + fill("default ") + steps,
	}
}

func stairs(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat("  ", i) + "- a\n")
	}
	return b.String()
}

// TestParse_Hostile holds that each of them is answered, with problems that can be shown. That it takes long is seen by the
// benchmark.
func TestParse_Hostile(t *testing.T) {
	for name, text := range hostile(30_000) {
		checkAnswer(t, name, []byte(text))
	}
	for _, large := range []string{"one line", "many quotes"} {
		checkAnswer(t, large, []byte(hostile(maxSize)[large]))
	}
	for _, refused := range []string{"lists", "quotes", "tight quotes", "numbers", "mixed"} {
		if _, problems := Parse("x.md", []byte(hostile(maxSize)[refused])); len(problems) != 1 || !strings.Contains(problems.Error(), "nest") {
			t.Errorf("%s: %v", refused, problems)
		}
	}
	if d, problems := Parse("x.md", []byte(wholeFront+"\n### Slots\n\n"+strings.Repeat("- a b\n", 200)+steps)); len(problems) != maxProblems+1 || d == nil || problems[maxProblems].Message != "there are 100 problems more" {
		t.Errorf("%d problems: %v", len(problems), problems[len(problems)-1])
	}
}

func TestParse_Bytes(t *testing.T) {
	const text = "---\nname: p\nkind: pattern\n---\n\n### Slots\n\n- `a`: é\n  - requires: x\n\n### Delegation\n\n```prose\nif a == b:\n  return 1\n```\n"
	want, problems := Parse("x.md", []byte(text))
	if problems != nil {
		t.Fatal(problems)
	}
	for name, same := range map[string]string{
		"CRLF": strings.ReplaceAll(text, "\n", "\r\n"), "CR": strings.ReplaceAll(text, "\n", "\r"), "BOM": byteOrderMark + text, "white space": strings.ReplaceAll(text, "---\n", "--- \t\n"),
	} {
		d, problems := Parse("x.md", []byte(same))
		if problems != nil || d.Body.Hash != want.Body.Hash || d.Body.Pos != want.Body.Pos || d.Body.Source != want.Body.Source || d.Slots[0] != want.Slots[0] {
			t.Errorf("%s: %v %+v", name, problems, d)
		}
	}
	tabbed, problems := Parse("x.md", []byte(strings.Replace(text, "  return", "\treturn", 1)))
	if problems != nil || tabbed.Body.Source != "if a == b:\n\treturn 1\n" {
		t.Errorf("a tab is the script's business: %v %+v", problems, tabbed)
	}
	for name, test := range map[string]struct{ text, want string }{
		"UTF-16":             {"\xff\xfe-\x00-\x00", "x.md:1:1: the file is in UTF-16; save it as UTF-8"},
		"UTF-16, big endian": {"\xfe\xff\x00-", "x.md:1:1: the file is in UTF-16; save it as UTF-8"},
		"NUL":                {strings.Replace(text, "`a`", "`\x00`", 1), "x.md:8:4: a NUL byte has no place in a text; is it the right file?"},
		"Latin-1":            {strings.Replace(text, "é", "é\xe9", 1), "x.md:8:9: the byte 0xE9 is not UTF-8; save the file as UTF-8 text"},
		"cut short":          {text + "\xc3", "x.md:17:1: the byte 0xC3 is not UTF-8; save the file as UTF-8 text"},
		"too large":          {strings.Repeat("x", maxSize+1), "x.md:1:1: the file is larger than 1 MiB, more than a document can be; is it the right file?"},
		"empty":              {"", "x.md:1:1: the document has no front matter; begin with a line ---, then name: and kind:, then a line ---"},
	} {
		d, problems := Parse("x.md", []byte(test.text))
		if d != nil || problems.Error() != test.want {
			t.Errorf("%s: %v", name, problems)
		}
	}
	if d, problems := Parse("x.md", []byte(strings.Replace(text, "é", "\uFFFD", 1))); d == nil || problems != nil {
		t.Errorf("the replacement character is a character: %v", problems)
	}
}

// checkAnswer holds what is true of each answer of Parse.
func checkAnswer(t *testing.T, name string, data []byte) {
	t.Helper()
	d, problems := Parse("x.md", data)
	if d == nil && !problems.Failed() {
		t.Fatalf("%s: no document and no error", name)
	}
	for _, p := range problems {
		if p.Pos.Line < 1 || p.Pos.Column < 1 || p.Pos.File != "x.md" || p.Message == "" || strings.Contains(p.Message, "\n") || !utf8.ValidString(p.Message) || len(p.Message) > 1000 {
			t.Fatalf("%s: %+v", name, p)
		}
	}
	if d == nil {
		return
	}
	for _, part := range append([]*Document{d}, d.Nodes...) {
		for _, s := range part.Config {
			if s.Default != nil && !json.Valid(s.Default) {
				t.Fatalf("%s: the default of %s is no JSON: %s", name, s.Name, s.Default)
			}
		}
		for _, in := range part.Inputs {
			if in.Default != nil && !json.Valid(in.Default) {
				t.Fatalf("%s: the default of %s is no JSON: %s", name, in.Name, in.Default)
			}
		}
		for _, in := range part.Instances {
			for _, v := range in.Config {
				if !problems.Failed() && !json.Valid(v.JSON) {
					t.Fatalf("%s: %s is no JSON: %s", name, v.Key, v.JSON)
				}
			}
			CheckInstance(in, part)
		}
		if b := part.Body; b != nil && !problems.Failed() {
			first, _, _ := strings.Cut(b.Source, "\n")
			if line := []rune(part.Line(b.Pos.Line)); len(line) < b.Pos.Column-1 || !strings.HasPrefix(string(line[b.Pos.Column-1:]), strings.TrimLeft(first, " \t")) && !strings.ContainsAny(string(line), "\t") {
				t.Fatalf("%s: the body begins with %q at %v, which is %q", name, first, b.Pos, string(line))
			}
		}
		part.Prompt(Given{"x", "y"})
		Native(part)
	}
}

func FuzzDocument(f *testing.F) {
	for _, name := range library.Names() {
		data, _ := library.Read(name)
		f.Add(data)
	}
	archive, err := txtar.ParseFile("testdata/wrong.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		f.Add(archive.Files[i].Data)
	}
	for _, text := range hostile(10_000) {
		if len(text) < 10_000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkAnswer(t, "fuzz", data) })
}

func BenchmarkParse(b *testing.B) {
	data, err := os.ReadFile("library/worker-critic.prose.md")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("worker-critic", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			Parse("x.md", data)
		}
	})
	for name, text := range hostile(maxSize) {
		b.Run("hostile/"+name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				Parse("x.md", []byte(text))
			}
		})
	}
}
