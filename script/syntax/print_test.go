package syntax

import (
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestPrint reads pairs of a script and its one form.
func TestPrint(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/print.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, out := archive.Files[i], archive.Files[i+1]
		script, problems := Parse(string(in.Data), Pos{File: in.Name, Line: 1, Column: 1})
		if problems.Failed() {
			t.Errorf("%v", problems)
			continue
		}
		got := Print(script)
		if *update {
			archive.Files[i+1].Data = []byte(got)
		} else if got != string(out.Data) {
			t.Errorf("%s: got\n%s\nwant\n%s", in.Name, got, out.Data)
		}
		roundTrip(t, string(in.Data), script)
	}
	if *update {
		writeArchive(t, "testdata/print.txtar", archive)
	}
}
