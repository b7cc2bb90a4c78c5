package main

import (
	"fmt"
	"testing"

	"github.com/firstgood/firstgood/isolate"
)

func TestUndo(t *testing.T) {
	many := make([]isolate.FileChange, mostFiles+1)
	for i := range many {
		many[i] = isolate.FileChange{Path: fmt.Sprint(i), Status: isolate.Modified}
	}
	for _, test := range []struct {
		dir   string
		files []isolate.FileChange
		want  string
	}{
		{"", []isolate.FileChange{{Path: "a/b.go", Status: isolate.Modified}, {Path: "c", Status: isolate.Deleted}, {Path: "l", Status: isolate.Retyped}}, "git restore :/a/b.go :/c :/l"},
		{"", []isolate.FileChange{{Path: "new", Status: isolate.Added}}, "git clean -f :/new"},
		{"", []isolate.FileChange{{Path: "new", Old: "old", Status: isolate.Renamed}}, "git restore :/old && git clean -f :/new"},
		{"my repo", []isolate.FileChange{{Path: "it's *", Status: isolate.Modified}}, `git -C 'my repo' restore ':(top,literal)it'\''s *'`},
		{"", many, "git diff shows all, git restore and git clean take it back"},
	} {
		if got := undo(test.dir, test.files); got != test.want {
			t.Errorf("%v: got %s, want %s", test.files, got, test.want)
		}
	}
}
