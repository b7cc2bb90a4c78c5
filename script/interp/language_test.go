package interp_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

// languageDocument describes the language, with examples. Each is a fence of prose and, behind it, a fence of text:
//
//	```prose            runs. The text begins with what it is given, in lines with a # as scene has them, and goes on with what
//	                    happened.
//	```prose wrong      does not pass the checker. The text is what is said of it.
//	```prose refused    the same, of what is read and not run.
//
// Places are line and column within the fence. What happens at one instant is sorted where the script has a parallel.
const languageDocument = "../../docs/language.md"

// TestLanguageDocument runs the examples of docs/language.md and compares what happens with what stands there.
func TestLanguageDocument(t *testing.T) {
	data, err := os.ReadFile(languageDocument)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	var out []string
	ran, refused := 0, 0
	for i := 0; i < len(lines); {
		info, isExample := strings.CutPrefix(lines[i], "```prose")
		if !isExample {
			out = append(out, lines[i])
			i++
			continue
		}
		first := i
		example, next := fenced(t, lines, i)
		out = append(out, lines[i:next]...)
		for i = next; i < len(lines) && lines[i] == ""; i++ {
			out = append(out, "")
		}
		if i == len(lines) || lines[i] != "```text" {
			t.Fatalf("%s:%d: the example is not followed by a fence of text", languageDocument, first+1)
		}
		text, next := fenced(t, lines, i)
		given := text
		for n, line := range text {
			if !strings.HasPrefix(line, "#") {
				given = text[:n]
				break
			}
		}
		want := strings.Join(text[len(given):], "\n") + "\n"
		src := strings.Join(example, "\n") + "\n"
		got := ""
		t.Run(fmt.Sprintf("line %d", first+1), func(t *testing.T) {
			s := parseScene(t, strings.Join(given, "\n")+"\n")
			s.sorted = strings.Contains(src, "parallel")
			switch info {
			case "":
				ran++
				synctest.Test(t, func(*testing.T) { got = unplaced(s.play(src)) })
			case " wrong", " refused":
				refused++
				got = checked(t, s, src)
			default:
				t.Fatalf("what is a fence of prose%s?", info)
			}
			if !*update && got != want {
				t.Errorf("%s:%d: got\n%swant\n%s", languageDocument, first+1, got, want)
			}
		})
		out = append(out, "```text")
		out = append(out, given...)
		out = append(out, strings.TrimSuffix(got, "\n"), "```")
		i = next
	}
	if ran < 35 || refused < 2 {
		t.Errorf("%d examples ran, and %d were refused", ran, refused)
	}
	if *update && !t.Failed() {
		if err := os.WriteFile(languageDocument, []byte(strings.Join(out, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fenced returns what stands in the fence that begins in a line, and the line behind it.
func fenced(t *testing.T, lines []string, from int) (inside []string, next int) {
	t.Helper()
	for i := from + 1; i < len(lines); i++ {
		if lines[i] == "```" {
			return lines[from+1 : i], i + 1
		}
	}
	t.Fatalf("%s:%d: the fence is not closed", languageDocument, from+1)
	return nil, 0
}

// checked is what the checker says of a script that it refuses.
func checked(t *testing.T, s *scene, src string) string {
	t.Helper()
	script, problems := syntax.Parse(src, testPos)
	if problems.Failed() {
		t.Fatalf("it is not read: %v", problems)
	}
	program, problems := check.New(script, s.env)
	if program != nil {
		t.Errorf("it is not refused:\n%s", src)
	}
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return unplaced(b.String())
}

// unplaced takes the name of the file out of places, since there is none.
func unplaced(transcript string) string {
	var b strings.Builder
	for line := range strings.Lines(transcript) {
		line = strings.TrimPrefix(line, testPos.File+":")
		for _, mark := range []string{"! ", "s "} { // an error, perhaps after a time, or a warning after one
			if at := strings.Index(line, mark+testPos.File+":"); at >= 0 && at < 12 {
				line = line[:at+len(mark)] + line[at+len(mark)+len(testPos.File)+1:]
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
