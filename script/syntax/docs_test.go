package syntax

import (
	"os"
	"strings"
	"testing"
)

// TestLanguageDocument parses what docs/language.md shows. It is in its one form, and is refused where the document says so.
func TestLanguageDocument(t *testing.T) {
	const name = "../../docs/language.md"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	blocks, refusals := 0, 0
	for i := 0; i < len(lines); i++ {
		info, ok := strings.CutPrefix(lines[i], "```prose")
		if !ok {
			continue
		}
		blocks++
		from := i + 1
		for i++; lines[i] != "```"; i++ {
		}
		src := strings.Join(lines[from:i], "\n") + "\n"
		script, problems := Parse(src, Pos{File: name, Line: from + 1, Column: 1})
		if problems != nil {
			t.Error(problems)
			continue
		}
		if printed := Print(script); printed != src {
			t.Errorf("%s:%d: printed it is\n%s", name, from+1, printed)
		}
		if info == " refused" {
			for _, s := range script.Body {
				refusals++
				if !refusedOnly(s) {
					t.Errorf("%v: it is not refused", s.Place())
				}
			}
			continue
		}
		Walk(script.Body, func(node any) {
			switch n := node.(type) {
			case *Refused:
				t.Errorf("%v: %s is refused", n.Pos, n.What)
			case *RefusedExpr:
				t.Errorf("%v: %s is refused", n.Pos, n.What)
			}
		})
	}
	if blocks < 10 || refusals < 15 {
		t.Errorf("%d blocks, %d refusals", blocks, refusals)
	}
}

func refusedOnly(s Stmt) bool {
	switch s := s.(type) {
	case *Refused:
		return true
	case *Do:
		_, ok := s.Value.(*RefusedExpr)
		return ok
	}
	return false
}
