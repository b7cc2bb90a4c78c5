package document

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/document/library"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

// seeds is the folder of the three seeds; the test is skipped where there is none.
func seeds(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("FIRSTGOOD_SEEDS")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "seeds")
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skip("no seeds at hand; FIRSTGOOD_SEEDS names their folder")
	}
	return folder
}

// checkouts are the checkouts of openprose/prose that FIRSTGOOD_OPENPROSE names: one, or a folder of several.
func checkouts(t *testing.T) []string {
	t.Helper()
	root := os.Getenv("FIRSTGOOD_OPENPROSE")
	if root == "" {
		t.Skip("FIRSTGOOD_OPENPROSE names no checkout of openprose/prose")
	}
	if _, err := os.Stat(filepath.Join(root, "packages", "std")); err == nil {
		return []string{root}
	}
	found, err := filepath.Glob(filepath.Join(root, "*", "packages", "std"))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s is no checkout of openprose/prose, and no folder of some", root)
	}
	for i := range found {
		found[i] = filepath.Dir(filepath.Dir(found[i]))
	}
	return found
}

func load(t *testing.T, name string) *Document {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	d, problems := Parse(name, data)
	if len(problems) > 0 || d == nil {
		t.Fatalf("%s: %v", name, problems)
	}
	return d
}

func TestParse_Seeds(t *testing.T) {
	folder := seeds(t)
	for _, test := range []struct {
		file, slot, criteria, state, native string
		kind                                Kind
		language                            Language
	}{
		{"fallback-chain.composite.md", "chain", "failure_criteria", "controlState", "fallback-chain", Composite, JavaScript},
		{"race.composite.md", "candidates", "acceptance_criteria", "controlState", "race", Composite, JavaScript},
		{"fallback-chain.prose.md", "chain", "failure_criteria", "", "fallback-chain", Pattern, Prose},
	} {
		d := load(t, filepath.Join(folder, test.file))
		if d.Kind != test.kind || d.State != test.state || d.Body.Language != test.language || len(d.Slots) != 1 || d.Slots[0].Name != test.slot || !d.Slots[0].List {
			t.Errorf("%s: %+v", test.file, d)
		}
		brief, criteria := d.Input("task_brief"), d.Input(test.criteria)
		if len(d.Inputs) != 2 || brief == nil || brief.Optional || criteria == nil || !criteria.Optional || criteria.Type != "string" {
			t.Errorf("%s: %+v", test.file, d.Inputs)
		}
		if d.Kind == Pattern && (len(d.Config) != 1 || string(d.Setting(test.criteria).Default) != "null") {
			t.Errorf("%s: %+v", test.file, d.Config)
		}
		name, form, ok := Native(d)
		if name != test.native || form != test.kind || !ok {
			t.Errorf("%s is natively %q %q %v", test.file, name, form, ok)
		}
		first, _, _ := strings.Cut(d.Body.Source, "\n")
		if d.Line(d.Body.Pos.Line) != first || !strings.HasPrefix(d.Line(d.Body.Pos.Line-1), "```") {
			t.Errorf("%s: the body is in line %d", test.file, d.Body.Pos.Line)
		}
	}
}

// refusedKinds are kinds of upstream that are no patterns, composites or functions.
var refusedKinds = regexp.MustCompile(`(?m)^kind: (gateway|test|system|program)\b`)

// TestParse_Upstream reads all documents of the standard packages. What is refused is so by its kind.
func TestParse_Upstream(t *testing.T) {
	read := map[Kind]int{}
	for _, root := range checkouts(t) {
		err := filepath.WalkDir(filepath.Join(root, "packages", "std"), func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".md") || entry.Name() == "README.md" {
				return err
			}
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			d, problems := Parse(name, data)
			if refused := refusedKinds.Match(data); refused && d == nil {
				return nil
			}
			if d == nil || problems.Failed() {
				t.Errorf("%v", problems)
				return nil
			}
			read[d.Kind]++
			if d.Kind != Function && (d.Body == nil || len(d.Slots) == 0 || len(d.Inputs) == 0) {
				t.Errorf("%s: %+v", name, d)
			}
			if d.Kind == Pattern {
				if _, problems := syntax.Parse(d.Body.Source, d.Body.Pos); problems.Failed() {
					t.Errorf("%v", problems)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read[Pattern]+read[Composite] < 19 || read[Function] == 0 {
		t.Errorf("read %v", read)
	}
	t.Logf("read %v", read)
}

// TestLibrary_RunsWhereUpstreamDoes holds that the documents of the library have the slots, the inputs, the settings with
// their defaults, and the keys of what they return, of those of the same name upstream, so that an instance of one is one of the
// other.
func TestLibrary_RunsWhereUpstreamDoes(t *testing.T) {
	compared := 0
	for _, root := range checkouts(t) {
		for _, name := range library.Names() {
			file := filepath.Join(root, "packages", "std", "patterns", name+".prose.md")
			if _, err := os.Stat(file); err != nil {
				continue
			}
			compared++
			theirs, ours := load(t, file), standardDocument(t, name)
			if got, want := surface(ours), surface(theirs); got != want {
				t.Errorf("%s\nours\n%s\ntheirs\n%s", name, got, want)
			}
			if got, want := returned(t, ours), returned(t, theirs); !slices.Equal(got, want) {
				t.Errorf("%s returns %v, upstream's %v", name, got, want)
			}
		}
	}
	if compared == 0 {
		t.Skip("the checkout has no packages/std/patterns")
	}
}

func standardDocument(t *testing.T, name string) *Document {
	t.Helper()
	data, ok := library.Read(name)
	if !ok {
		t.Fatalf("the library has no %s", name)
	}
	d, problems := Parse("std/patterns/"+name+".prose.md", data)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return d
}

// surface is what an instance sees of a document, a line each.
func surface(d *Document) string {
	var lines []string
	for _, s := range d.Slots {
		lines = append(lines, "slot "+s.Name+map[bool]string{true: " list"}[s.List])
	}
	for _, s := range d.Config {
		lines = append(lines, "config "+s.Name+" "+string(s.Default))
	}
	for _, in := range d.Inputs {
		lines = append(lines, "input "+in.Name+" "+in.Type+" "+string(in.Default))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// returned are the keys of the objects that a body returns, of each return that ends the body.
func returned(t *testing.T, d *Document) []string {
	t.Helper()
	script, problems := syntax.Parse(d.Body.Source, d.Body.Pos)
	if problems.Failed() {
		t.Fatal(problems)
	}
	var found []string
	var walk func(body []syntax.Stmt)
	walk = func(body []syntax.Stmt) {
		for _, statement := range body {
			switch s := statement.(type) {
			case *syntax.Return:
				if object, ok := s.Value.(*syntax.Object); ok {
					var keys []string
					for _, entry := range object.Entries {
						keys = append(keys, entry.Key.Text)
					}
					found = append(found, strings.Join(keys, " "))
				}
			case *syntax.If:
				for _, arm := range s.Arms {
					walk(arm.Body)
				}
				walk(s.Else)
			case *syntax.Try:
				walk(s.Body)
				walk(s.Catch)
			case *syntax.Do:
				switch loop := s.Value.(type) {
				case *syntax.Repeat:
					walk(loop.Body)
				case *syntax.For:
					walk(loop.Body)
				case *syntax.Loop:
					walk(loop.Body)
				}
			}
		}
	}
	walk(script.Body)
	return found
}

// TestLibrary holds that there are nineteen documents, each a pattern that ProseScript can read and that says what it is.
func TestLibrary(t *testing.T) {
	want := strings.Fields(`assumption-miner blind-review coherence-probe contrastive-probe dialectic ensemble-synthesizer fallback-chain
		fan-out guard map-reduce oversight pipeline proposer-adversary race ratchet refine retry-with-learning stochastic-probe worker-critic`)
	if got := library.Names(); !slices.Equal(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
	for _, name := range want {
		d := standardDocument(t, name)
		if d.Name != name || d.Kind != Pattern || d.Description == "" || d.Open || len(d.Slots) == 0 || d.Section("Invariants") == nil || d.Section("Notes") == nil {
			t.Errorf("%s: %+v", name, d)
		}
		for _, s := range d.Config {
			if s.Required || s.Doc == "" || s.Type == "" {
				t.Errorf("%s: %+v", name, s)
			}
		}
		for _, in := range d.Inputs {
			if in.Doc == "" || in.Type == "" || in.Implicit {
				t.Errorf("%s: %+v", name, in)
			}
		}
		for _, s := range d.Slots {
			if s.Doc == "" {
				t.Errorf("%s: %+v", name, s)
			}
		}
		keys := returned(t, d)
		if len(keys) == 0 {
			t.Errorf("%s returns no object", name)
		}
		for _, k := range keys {
			if !strings.HasPrefix(k, "result") {
				t.Errorf("%s returns %q, which has no result", name, k)
			}
		}
	}
	if _, ok := library.Read("../library/race"); ok {
		t.Error("a name leads out of the library")
	}
	if _, ok := library.Read("rase"); ok {
		t.Error("the library has what it does not")
	}
	if data, err := fs.ReadFile(library.FS(), "race.prose.md"); err != nil || len(data) == 0 {
		t.Error("the documents are no files", err)
	}
}

func TestNative(t *testing.T) {
	for _, name := range library.Names() {
		d := standardDocument(t, name)
		got, form, ok := Native(d)
		want := name == "fallback-chain" || name == "race"
		if ok != want || want && (got != name || form != Pattern) {
			t.Errorf("%s is natively %q %q %v; if its body was edited, its hash %s belongs into native.go", name, got, form, ok, d.Body.Hash)
		}
	}
	data, _ := library.Read("race")
	text := string(data)
	is := func(text string) bool {
		d, problems := Parse("x.md", []byte(text))
		if problems.Failed() {
			t.Fatal(problems)
		}
		_, _, ok := Native(d)
		return ok
	}
	for what, same := range map[string]string{
		"line ends":                strings.ReplaceAll(text, "\n", "\r\n"),
		"white space at line ends": strings.ReplaceAll(text, "  try:\n", "  try: \t\n"),
		"a blank line at the end":  strings.ReplaceAll(text, "}\n```", "}\n\n```"),
		"what is around the body":  strings.ReplaceAll(text, "### Notes", "### Remarks"),
		"a default":                strings.ReplaceAll(text, "default: none", "default: is kind"),
	} {
		if same == text || !is(same) {
			t.Errorf("%s counts", what)
		}
	}
	for what, edited := range map[string]string{
		"a value":       strings.Replace(text, "winner: null", "winner: entries", 1),
		"an indent":     strings.Replace(text, "    continue", "      continue", 1),
		"a comment":     strings.Replace(text, "let entries", "# first\nlet entries", 1),
		"a blank line":  strings.Replace(text, "\n\nfor entry", "\nfor entry", 1),
		"a space":       strings.Replace(text, "error: null }", "error:  null }", 1),
		"another kind":  strings.Replace(text, "kind: pattern", "kind: composite", 1),
		"letters' case": strings.Replace(text, "runner in", "Runner in", 1),
	} {
		if edited == text || is(edited) {
			t.Errorf("%s is overlooked", what)
		}
	}
	if _, _, ok := Native(nil); ok {
		t.Error("nothing is native")
	}
	if _, _, ok := Native(&Document{Kind: Function}); ok {
		t.Error("a prompt is native")
	}
}

// TestLibrary_Checks holds that the checker of ProseScript has nothing to say about the library.
func TestLibrary_Checks(t *testing.T) {
	for _, name := range library.Names() {
		d := standardDocument(t, name)
		script, problems := syntax.Parse(d.Body.Source, d.Body.Pos)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var env check.Env
		for _, s := range d.Slots {
			env.Inputs = append(env.Inputs, check.Input{Name: s.Name, Kind: map[bool]check.InputKind{true: check.InputList, false: check.InputSlot}[s.List]})
		}
		for _, s := range d.Config {
			env.Inputs = append(env.Inputs, check.Input{Name: s.Name, Kind: check.InputConfig, Optional: true})
		}
		for _, in := range d.Inputs {
			if d.Setting(in.Name) == nil {
				env.Inputs = append(env.Inputs, check.Input{Name: in.Name, Optional: in.Optional})
			}
		}
		if _, problems := check.New(script, env); len(problems) > 0 {
			t.Errorf("%v", problems)
		}
	}
}
