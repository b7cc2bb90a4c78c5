package check_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

var update = flag.Bool("update", false, "write what is said instead of comparing it")

// mark stands behind a line that something is said of, before what that is.
const mark = " ◄ "

// envOf reads what a script is given from the comments at its beginning:
//
//	#in NAME, #config NAME, #slot NAME, #list NAME
//	#fn NAME [INPUT[?]|…]… [: OUTPUT…]   … for one that takes any input
//	#execution                            the script stands in a function
func envOf(src string) check.Env {
	var env check.Env
	for line := range strings.Lines(src) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "#") {
			break
		}
		kinds := map[string]check.InputKind{"#in": check.InputValue, "#config": check.InputConfig, "#slot": check.InputSlot, "#list": check.InputList}
		if kind, ok := kinds[words[0]]; ok {
			env.Inputs = append(env.Inputs, check.Input{Name: words[1], Kind: kind})
		}
		switch words[0] {
		case "#execution":
			env.Surface = check.Execution
		case "#fn":
			target := check.Target{Name: words[1]}
			for i, w := range words[2:] {
				if w == ":" {
					target.Outputs = words[3+i:]
					break
				}
				name, optional := strings.CutSuffix(w, "?")
				if target.Open = target.Open || w == "…"; w != "…" {
					target.Inputs = append(target.Inputs, check.Param{Name: name, Optional: optional})
				}
			}
			env.Targets = append(env.Targets, target)
		}
	}
	return env
}

// TestWrongPrograms checks programs of which each has something wrong or doubtful; what is said stands behind the line, after
// the column.
func TestWrongPrograms(t *testing.T) {
	const file = "testdata/wrong.txt"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	programs := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n---\n")
	failed := 0
	for _, program := range programs {
		var lines []string
		for _, line := range strings.Split(program, "\n") {
			line, _, _ = strings.Cut(line, mark)
			lines = append(lines, line)
		}
		src := strings.Join(lines, "\n") + "\n"
		script, problems := syntax.Parse(src, syntax.Pos{File: "f", Line: 1, Column: 1})
		if problems.Failed() {
			t.Errorf("%v in\n%s", problems, src)
			continue
		}
		checked, problems := check.New(script, envOf(src))
		if len(problems) == 0 {
			t.Errorf("nothing is said of\n%s", src)
		}
		if (checked == nil) != problems.Failed() {
			t.Errorf("a program %v, in spite of %v", checked, problems)
		}
		if problems.Failed() {
			failed++
		}
		said := append([]string(nil), lines...)
		for _, p := range problems {
			if p.Pos.Line < 1 || p.Pos.Line > len(lines) {
				t.Errorf("%v, of\n%s", p, src)
				continue
			}
			said[p.Pos.Line-1] += mark + strings.TrimPrefix(p.String(), "f:")
		}
		got := strings.Join(said, "\n")
		if !*update && got != program {
			t.Errorf("got\n%s\nwant\n%s", got, program)
		}
		all = append(all, got)
	}
	if failed < 50 {
		t.Errorf("only %d programs are refused", failed)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(file, []byte(strings.Join(all, "\n---\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
