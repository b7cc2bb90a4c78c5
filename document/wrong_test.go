package document

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write what is expected anew")

// TestParse_WrongDocuments holds what is said about each document of testdata/wrong.txtar, word by word, with its place.
func TestParse_WrongDocuments(t *testing.T) {
	const name = "testdata/wrong.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	for i := 0; i+1 < len(archive.Files); i += 2 {
		file, want := archive.Files[i], &archive.Files[i+1]
		if want.Name != file.Name+".want" {
			t.Fatalf("%s stands after %s", want.Name, file.Name)
		}
		cases++
		_, problems := Parse(file.Name, file.Data)
		got := ""
		for _, p := range problems {
			got += strings.TrimPrefix(p.String(), file.Name+":") + "\n"
			if p.Pos.Line > 0 && !strings.Contains("\n"+string(file.Data), "\n"+p.Source+"\n") {
				t.Errorf("%v has the line %q, which is none of the file", p, p.Source)
			}
		}
		if *update {
			want.Data = []byte(got)
		}
		if got == "" || got != string(want.Data) {
			t.Errorf("%s\ngot\n%swant\n%s", file.Name, got, want.Data)
		}
	}
	if cases < 60 {
		t.Errorf("there are %d wrong documents", cases)
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
