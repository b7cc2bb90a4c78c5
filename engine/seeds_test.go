package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/firstgood/firstgood/engine"
)

// forms are the ways in which a seed runs: each of the three texts, natively and as it is written, and documents of our own
// that say the same, so that the tests never need the seeds.
func forms() []form {
	all := []form{
		{name: "native", path: inLibrary},
		{name: "text", path: inLibrary, literal: true},
		{name: "composite", path: inFolder("testdata/documents", ".composite.md"), literal: true, process: true},
	}
	if folder := seeds(); folder != "" {
		all = append(all,
			form{name: "native", path: inFolder(folder, ".prose.md")},
			form{name: "text", path: inFolder(folder, ".prose.md"), literal: true},
			form{name: "composite's native", path: inFolder(folder, ".composite.md")},
			form{name: "composite", path: inFolder(folder, ".composite.md"), literal: true, process: true},
		)
	}
	if folder := os.Getenv("FIRSTGOOD_OPENPROSE"); folder != "" {
		folder = filepath.Join(folder, "packages", "std", "patterns")
		all = append(all,
			form{name: "native", path: inFolder(folder, ".prose.md")},
			form{name: "text", path: inFolder(folder, ".prose.md"), literal: true},
		)
	}
	return all
}

// apart are the scenes in which the forms differ, each with the words of docs/deviations.md that say so.
var apart = map[string]string{
	"F7 the judge gives a reason":               "is the constant",
	"the judge says false as a text":            "the text `\"false\"` is true",
	"the judge thinks aloud first":              "or a brace in its prose",
	"F13 the same delegate twice":               "the first place of that name",
	"F15 the caller cancels":                    "what the text knew is lost",
	"F17 the judge fails":                       "without `judge NAME:`",
	"F17 the judge fails for all":               "its status is `exhausted`",
	"R1 all are asked the same":                 "every candidate, the winner too",
	"R2 the quickest wins":                      "taken in list order",
	"R2 losers are cancelled":                   "nobody is cancelled",
	"R4 without criteria an empty reply is won": "nobody is cancelled",
	"R5 an error never wins":                    "every candidate, the winner too",
	"R6 attempts up to the decision":            "the winner's position",
	"R7 the history has no losers":              "a rejected one without a reason",
	"R8 none is acceptable":                     "a rejected one without a reason",
	"R8 all fail":                               "`failure_history` is never written",
	"R9 no judge for a candidate that failed":   "every candidate, the winner too",
	"R14 the same candidate twice":              "`failure_history` is never written",
	"R16 the judge fails for one":               "the run ends there",
}

// TestSeeds plays scenes with each form and compares what happened with the transcripts in testdata, which -update writes: one
// where all forms do the same, else one for each.
func TestSeeds(t *testing.T) {
	const file = "testdata/documents/seeds.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	deviations, err := os.ReadFile("../docs/deviations.md")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]string{}
	for _, f := range archive.Files {
		wanted[f.Name] = string(f.Data)
	}
	written := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.Contains(f.Name, " → ") {
			continue
		}
		written.Files = append(written.Files, f)
		got := map[string]string{}
		t.Run(f.Name, func(t *testing.T) {
			s := parseScene(t, string(f.Data))
			for _, form := range forms() {
				if _, err := os.Stat(form.path(s.document)); err != nil && !strings.HasPrefix(form.path(s.document), "std/") {
					continue // only the composite of race is a seed
				}
				if form.process && s.stop > 0 {
					continue // there is no virtual time beside a process
				}
				one := form.play(t, s).transcript(t, s.document == "race")
				if before, done := got[form.name]; done && before != one {
					t.Errorf("%s of %s:\n%s\nand of another document:\n%s", form.name, form.path(s.document), one, before)
				}
				got[form.name] = one
				want, same := wanted[f.Name+" → all"]
				if !same {
					want = wanted[f.Name+" → "+form.name]
				}
				if !*update && one != want {
					t.Errorf("%s of %s: got\n%s\nwant\n%s", form.name, form.path(s.document), one, want)
				}
			}
		})
		names := []string{"native", "text", "composite", "composite's native"}
		names = slices.DeleteFunc(names, func(name string) bool { return got[name] == "" })
		same := !slices.ContainsFunc(names, func(name string) bool { return got[name] != got[names[0]] })
		if same && len(names) > 0 {
			written.Files = append(written.Files, txtar.File{Name: f.Name + " → all", Data: []byte(got[names[0]])})
		} else {
			for _, name := range names {
				written.Files = append(written.Files, txtar.File{Name: f.Name + " → " + name, Data: []byte(got[name])})
			}
		}
		switch row, differs := apart[f.Name]; {
		case differs == same:
			t.Errorf("%s: that the forms do the same is %v, and apart says otherwise", f.Name, same)
		case !strings.Contains(string(deviations), row):
			t.Errorf("%s: docs/deviations.md does not say %q", f.Name, row)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSeeds_State: a composite leaves its outcome in the state; what was there from an earlier run is overwritten, and what is not
// its own is kept.
func TestSeeds_State(t *testing.T) {
	folders := []string{"testdata/documents"}
	if folder := seeds(); folder != "" {
		folders = append(folders, folder)
	}
	const stale = "state: {\"result\": \"old\", \"winner\": \"old\", \"attempts\": 9, \"failure_history\": [\"old\"], \"kept\": [1]}\n"
	for _, test := range []struct{ name, scene, want string }{
		{"a winner", "document fallback-chain\nwith chain: a, b\nbrief: Hi.\na: !down\nb: B",
			`{"attempts":2,"chain":["a","b"],"failure_history":[{"delegate":"a","reason":"500 Internal Server Error: down"}],"kept":[1],"result":"B","task_brief":"Hi.","winner":"b"}`},
		{"no winner", "document fallback-chain\nwith chain: a\nbrief: Hi.\na: !down",
			`{"attempts":1,"chain":["a"],"failure_history":[{"delegate":"a","reason":"500 Internal Server Error: down"}],"kept":[1],"result":null,"task_brief":"Hi.","winner":null}`},
		{"a race", "document race\nwith candidates: a, b\nbrief: Hi.\na: !down\nb: B",
			`{"attempts":2,"candidates":["a","b"],"failure_history":["old"],"kept":[1],"result":"B","task_brief":"Hi.","winner":"b"}`},
		{"a race without a winner", "document race\nwith candidates: a\nbrief: Hi.\na: !down",
			`{"attempts":1,"candidates":["a"],"failure_history":["old"],"kept":[1],"result":null,"task_brief":"Hi.","winner":null}`},
	} {
		for _, folder := range folders {
			t.Run(test.name+" "+filepath.Base(folder), func(t *testing.T) {
				f := form{path: inFolder(folder, ".composite.md"), literal: true, process: true}
				got := f.play(t, parseScene(t, stale+test.scene))
				if got.err != nil {
					t.Fatal(got.err)
				}
				var state map[string]any
				if err := json.Unmarshal(got.result.State, &state); err != nil {
					t.Fatal(err)
				}
				if sorted, _ := json.Marshal(state); string(sorted) != test.want {
					t.Errorf("got\n%s\nwant\n%s", sorted, test.want)
				}
			})
		}
	}
}

// TestSeeds_Page: each test and scene that docs/seeds.md names is there, and each scene is named.
func TestSeeds_Page(t *testing.T) {
	page, err := os.ReadFile("../docs/seeds.md")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, pattern := range []string{"*_test.go", "../*/*_test.go", "../cmd/firstgood/*_test.go"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(data)
		}
	}
	archive, err := txtar.ParseFile("testdata/documents/seeds.txtar")
	if err != nil {
		t.Fatal(err)
	}
	scenes := map[string]bool{}
	for _, f := range archive.Files {
		if !strings.Contains(f.Name, " → ") {
			scenes[f.Name] = true
		}
	}
	named := map[string]bool{}
	for _, quoted := range regexp.MustCompile("`(Test[^`]+)`").FindAllStringSubmatch(string(page), -1) {
		name, scene, _ := strings.Cut(quoted[1], "/")
		if !strings.Contains(sources.String(), "func "+name+"(t *testing.T)") {
			t.Errorf("there is no test %s", name)
		}
		if name == "TestSeeds" && scene != "" {
			if named[scene] = true; !scenes[scene] {
				t.Errorf("there is no scene %q", scene)
			}
		}
	}
	for scene := range scenes {
		if !named[scene] {
			t.Errorf("docs/seeds.md does not name the scene %q", scene)
		}
	}
}

// TestSeeds_Documents holds what the documents of the seeds declare, so that an instance written for one is checked as it says.
func TestSeeds_Documents(t *testing.T) {
	folder := seeds()
	if folder == "" {
		t.Skip("no seeds at hand; FIRSTGOOD_SEEDS names their folder")
	}
	for file, want := range map[string]string{
		"fallback-chain.composite.md": "composite fallback-chain of chain (list); inputs task_brief, failure_criteria?; native fallback-chain",
		"fallback-chain.prose.md":     "pattern fallback-chain of chain (list); inputs task_brief, failure_criteria?; native fallback-chain",
		"race.composite.md":           "composite race of candidates (list); inputs task_brief, acceptance_criteria?; native race",
	} {
		world, err := engine.NewWorld(engine.WorldConfig{})
		if err != nil {
			t.Fatal(err)
		}
		doc := opened(t, world, filepath.Join(folder, file))
		var slots, inputs []string
		for _, s := range doc.Slots {
			slots = append(slots, fmt.Sprintf("%s (%s)", s.Name, map[bool]string{true: "list", false: "one"}[s.List]))
		}
		for _, in := range doc.Inputs {
			name := in.Name
			if in.Optional {
				name += "?"
			}
			inputs = append(inputs, name)
		}
		got := fmt.Sprintf("%s %s of %s; inputs %s; native %s", doc.Kind, doc.Name, strings.Join(slots, ", "), strings.Join(inputs, ", "), world.Native(doc))
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
		}
	}
}
