package syntax

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
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
		"open calls": strings.Repeat("a(\n", 300_000),
		"misspelt":   strings.Repeat("retrun a\n", 100_000),
		"open lines": strings.Repeat("\"\n", 500_000),
		"mixed up":   strings.Repeat("[", 100_000) + strings.Repeat("}", 100_000),
		"long notes": strings.Repeat("x = a\n\n# b\n", 80_000),
		"many texts": strings.Repeat("session \"\"\"\n", 80_000) + "\"\"\"\n\"\"\"",
		"refused":    strings.Repeat("session \"x\"\n  prompt: \"y\"\n", 40_000),
		"comments":   strings.Repeat("# x\n", 250_000),
		"colons":     "if " + deep(": x ", 200_000) + "\n",
		"stars":      "if " + deep("*", 500_000) + ":\n",
		"crlf":       "if a:\r\n  break\r\n",
		"bom":        "\uFEFFbreak\n",
		"tabs":       "if a:\n\tbreak\n",
	}
}

// within reports whether a place is in a source of these lines, whose unindented text has column 5 and whose first line is 3.
func within(lines []string, at Pos) bool {
	i := at.Line - 3
	return i >= 0 && i < len(lines) && at.Column >= 5 && at.Column <= 5+len([]rune(lines[i]))
}

func TestHostileSources(t *testing.T) {
	fine := []string{"crlf", "bom", "many lines", "refused", "comments", "long line", "long notes", "many texts"}
	for name, src := range hostile() {
		t.Run(name, func(t *testing.T) {
			script, problems := Parse(src, Pos{File: "f", Line: 3, Column: 5})
			if script == nil || len(problems) > maxProblems+1 {
				t.Fatalf("%d problems", len(problems))
			}
			lines := strings.Split(src, "\n")
			for _, p := range problems {
				if !within(lines, p.Pos) || p.Message == "" {
					t.Errorf("%+v", p)
				}
			}
			if slices.Contains(fine, name) == problems.Failed() {
				t.Errorf("got %v", problems[:min(3, len(problems))])
			}
		})
	}
}

// TestDepth holds the limit from both sides.
func TestDepth(t *testing.T) {
	blocks := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.Repeat(" ", i) + "do:\n")
		}
		return b.String() + strings.Repeat(" ", n) + "x\n"
	}
	for name, of := range map[string]func(n int) string{
		"lists": func(n int) string { return "x = " + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) },
		"nots":  func(n int) string { return "x = " + strings.Repeat("not ", n-1) + "a" },
		"ors":   func(n int) string { return "x = a" + strings.Repeat(" or a", n-1) },
		"tests": func(n int) string { return "if a is empty" + strings.Repeat(" or a is null", n-1) + ":\n  x" },
		"conditions": func(n int) string {
			return "if " + strings.Repeat("(", n/2) + "a" + strings.Repeat(")", n/2) + ":\n  x"
		},
		"steps":  func(n int) string { return "x = a" + strings.Repeat(".b", n) },
		"blocks": func(n int) string { return blocks(n - 1) },
	} {
		if _, problems := Parse(of(MaxNesting), Pos{}); problems.Failed() {
			t.Errorf("%s: %v", name, problems)
		}
		if _, problems := Parse(of(2*MaxNesting+2), Pos{}); len(problems) != 1 || !strings.Contains(problems[0].Message, "200") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestManyProblems(t *testing.T) {
	_, problems := Parse(strings.Repeat("let = 5\n", 60), Pos{})
	if len(problems) != 51 || problems[50].Message != "10 more problems are not shown" || problems[50].Pos.Line != 50 || !problems.Failed() {
		t.Errorf("got %d: %v", len(problems), problems[len(problems)-1])
	}
}

// same compares what two scripts say: everything but places and comments.
func same(a, b reflect.Value) bool {
	if a.Type() != b.Type() {
		return false
	}
	switch a.Kind() {
	case reflect.Interface, reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return a.IsNil() == b.IsNil()
		}
		if a.Kind() == reflect.Interface && a.Elem().Type() != b.Elem().Type() {
			return false
		}
		return same(a.Elem(), b.Elem())
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	case reflect.Struct:
		if a.Type() == reflect.TypeFor[Pos]() {
			return true
		}
		for i := range a.NumField() {
			switch a.Type().Field(i).Name {
			case "Comments", "blank", "Parens": // f() is f
			default:
				if !same(a.Field(i), b.Field(i)) {
					return false
				}
			}
		}
		return true
	}
	return a.Equal(b)
}

// roundTrip prints what is parsed, and what that is parsed to.
func roundTrip(t *testing.T, src string, script *Script) (printed string) {
	t.Helper()
	printed = Print(script)
	again, problems := Parse(printed, Pos{File: "printed", Line: 1, Column: 1})
	if problems.Failed() {
		t.Fatalf("what was printed is wrong: %v\n%s\nfrom\n%s", problems, printed, src)
	}
	if !same(reflect.ValueOf(script).Elem(), reflect.ValueOf(again).Elem()) {
		t.Fatalf("printed, it says something else:\n%s\nfrom\n%s", printed, src)
	}
	if twice := Print(again); twice != printed {
		t.Fatalf("printed\n%s\nand then\n%s\nfrom\n%s", printed, twice, src)
	}
	if a, b := notes(script), notes(again); a != b {
		t.Fatalf("comments\n%q\nand then\n%q\nfrom\n%s", a, b, src)
	}
	return printed
}

// notes are the comments, without white space and signs of comments: two may come to stand on one line.
func notes(s *Script) string {
	var b strings.Builder
	for _, c := range s.Comments {
		b.WriteString(strings.Join(strings.FieldsFunc(c.Text, func(r rune) bool { return r == '#' || r == ' ' || r == '\t' }), ""))
	}
	return b.String()
}

func FuzzParse(f *testing.F) {
	for _, src := range hostile() {
		f.Add(src[:min(len(src), 400)])
	}
	for _, name := range []string{"testdata/wrong.txt", "testdata/print.txtar"} {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, src := range strings.Split(string(data), "\n--") {
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 1<<16 {
			return
		}
		script, problems := Parse(src, Pos{File: "f", Line: 3, Column: 5})
		lines := strings.Split(strings.TrimPrefix(src, byteOrderMark), "\n")
		for _, p := range problems {
			if !within(lines, p.Pos) {
				t.Fatalf("a problem outside of the source: %v", p)
			}
		}
		if !problems.Failed() {
			roundTrip(t, src, script)
		}
	})
}

func FuzzParseCondition(f *testing.F) {
	for _, test := range conditions {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if c, problems := ParseCondition(text, Pos{}); c == nil != problems.Failed() && c != nil && c.Text == "" {
			t.Fatalf("%q: %+v, %v", text, c, problems)
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
