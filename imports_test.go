package firstgood_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/firstgood/firstgood"

// row says what the packages of a folder may import beside the standard library.
type row struct {
	folder string // of the module, "." for its root; a * stands for any name
	ours   string // the folders of the module, by spaces
	theirs string // the modules of others, by spaces
	why    string // what to remember when the test fails
}

// imports is the table of allowed imports: one way, from the top to the bottom of
//
//	cmd → engine → (config, document → script, criteria, delegate/*) → pattern → root
//
// A folder takes the first row that matches it. Each folder has one: who adds a folder adds a row. Test files may import what
// they need of the module, but of others only what their package may, and what is in forTests.
var imports = []row{
	{".", "", "", "root and pattern import the standard library alone: who uses them compiles nothing else"},
	{"pattern", ".", "", "root and pattern import the standard library alone: who uses them compiles nothing else"},
	{"lab", "", "", "the lab is a provider like any other, and knows nothing of firstgood"},
	{"process", "", "golang.org/x/sys", "process runs programs and knows nothing of delegates"},

	{"criteria", ".", "", "rules with a library of their own have a folder of their own"},
	{"criteria/judging", ". criteria", "", "how well a judge judges, whoever it is"},
	{"criteria/expr", ". criteria", "github.com/expr-lang/expr github.com/agnivade/levenshtein", "one folder for each library"},
	{"criteria/schema", ". criteria", "github.com/santhosh-tekuri/jsonschema/v6 golang.org/x/text", "one folder for each library"},

	{"delegate/failure", ".", "github.com/cenkalti/backoff/v5", "failure knows what went wrong, not who did it"},
	{"delegate/delegatetest", ".", "", "the suite knows no kind of delegate"},
	{"delegate/command", ". process", "", "programs are run by process alone"},
	{"delegate/modelapi", ". delegate/failure delegate/httpcall", "", "what adapters of models have in common"},
	{"delegate/openaichat", ". delegate/failure delegate/httpcall delegate/modelapi", "github.com/openai/openai-go/v3", "one folder for each kind of delegate"},
	{"delegate/anthropic", ". delegate/failure delegate/httpcall delegate/modelapi", "github.com/anthropics/anthropic-sdk-go", "one folder for each kind of delegate"},
	{"delegate/*", ". delegate/failure delegate/httpcall delegate/modelapi process", "", "one folder for each kind of delegate, which knows no pattern and no file"},

	{"diagnostic", "", "github.com/agnivade/levenshtein", "places and problems know nothing of what they are about"},
	{"config", ". diagnostic", "go.yaml.in/yaml/v3", "the file knows neither delegates nor patterns: kinds are handed in"},
	{"script/syntax", "diagnostic", "", "the language knows nothing of documents and delegates"},
	{"script/check", "diagnostic script/syntax", "", "the checker runs nothing"},
	{"script/interp", ". pattern diagnostic script/syntax script/check", "", "the interpreter runs its branches on pattern, and is handed whatever it calls"},
	{"document/library", "", "", "the standard documents are files"},
	{"document", "diagnostic document/library", "github.com/yuin/goldmark go.yaml.in/yaml/v3", "a document is read here and run elsewhere"},
	{"composite", "diagnostic process", "github.com/grafana/sobek", "the JavaScript of composites runs in a process of its own"},
	{"isolate", "process", "github.com/bmatcuk/doublestar/v4", "isolated trees and patches know nothing of delegates"},
	{"agent", ". delegate/command process", "", "coding agents are commands whose flags and output are known"},

	{"health", ". pattern", "github.com/failsafe-go/failsafe-go", "health watches delegates and knows no kind of them"},
	{"engine", ". pattern process config diagnostic document document/library script/syntax script/check script/interp composite isolate agent health criteria criteria/* delegate/command delegate/failure delegate/httpcall delegate/openaichat delegate/anthropic delegate/modelapi", "",
		"the engine binds all of them, and is used by cmd alone"},

	{"cmd/firstgood/live", ".", "golang.org/x/term", "the view knows the words and nothing of the engine"},
	{"cmd/firstgood", ". agent isolate pattern process config diagnostic document document/library script/syntax composite criteria criteria/* engine lab cmd/firstgood/live", "github.com/spf13/cobra golang.org/x/term", "the command is the top: nobody imports it, and it alone uses the lab"},

	{"examples/go/*", ". pattern", "", "the examples in Go show what root and pattern do alone"},
	{"examples", "", "", "only the test of the examples is here"},
	{"examples/agents/calc", "", "", "a module of its own, with a bug for agents to mend"},
	{"bench", "", "", "benchmarks of the whole are tests"},
}

// forTests are modules that test files may import beside those of their package.
var forTests = []string{
	"github.com/rogpeppe/go-internal",    // testscript
	"go.yaml.in/yaml/v3",                 // an independent look at files
	"github.com/failsafe-go/failsafe-go", // benchmarks compare with it
	"golang.org/x/sync",                  // the same
	"go.starlark.net",                    // benchmarks compare with it
}

// TestImports holds the table, for every file of the module and every system.
func TestImports(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base == "testdata" || base != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		name = filepath.ToSlash(name)
		rule := ruleOf(path.Dir(name))
		if rule == nil {
			t.Errorf("%s: the folder %s has no row in the table of imports_test.go; say there what it may import", name, path.Dir(name))
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return nil
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if problem := rule.refuses(imported, strings.HasSuffix(name, "_test.go"), used); problem != "" {
				t.Errorf("%s imports %s: %s (%s)", name, imported, problem, rule.why)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range imports {
		for _, theirs := range strings.Fields(rule.theirs) {
			if !used[rule.folder+" "+theirs] && exists(t, rule.folder) {
				t.Errorf("nothing in %s imports %s; take it out of the table", rule.folder, theirs)
			}
		}
	}
}

func exists(t *testing.T, folder string) bool {
	t.Helper()
	found, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > 0
}

func ruleOf(folder string) *row {
	i := slices.IndexFunc(imports, func(r row) bool { return matches(r.folder, folder) })
	if i < 0 {
		return nil
	}
	return &imports[i]
}

func matches(pattern, folder string) bool {
	ok, err := path.Match(pattern, folder)
	return ok && err == nil
}

// refuses says why a file under the rule may not import something, "" where it may. It notes the modules that are used.
func (r *row) refuses(imported string, test bool, used map[string]bool) string {
	if inner, ours := cutModule(imported, module); ours {
		switch {
		case test:
			return ""
		case slices.ContainsFunc(strings.Fields(r.ours), func(pattern string) bool { return matches(pattern, inner) }):
			return ""
		case r.ours == "":
			return fmt.Sprintf("%s may import nothing of this module", r.folder)
		}
		return fmt.Sprintf("of this module %s may import %s", r.folder, r.ours)
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return "" // the standard library
	}
	for _, theirs := range strings.Fields(r.theirs) {
		if _, ok := cutModule(imported, theirs); ok {
			used[r.folder+" "+theirs] = true
			return ""
		}
	}
	if test && slices.ContainsFunc(forTests, func(m string) bool { _, ok := cutModule(imported, m); return ok }) {
		return ""
	}
	if r.theirs == "" {
		return fmt.Sprintf("beside this module %s may import the standard library alone", r.folder)
	}
	return fmt.Sprintf("of other modules %s may import %s", r.folder, r.theirs)
}

// cutModule returns the folder of an imported path in a module, and whether it is of the module.
func cutModule(imported, module string) (folder string, ok bool) {
	if imported == module {
		return ".", true
	}
	return strings.CutPrefix(imported, module+"/")
}

// TestImports_UserOfPatternCompilesNothingElse asks the go command what root and pattern need, with all that they import.
func TestImports_UserOfPatternCompilesNothingElse(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".", "./pattern").Output()
	if err != nil {
		t.Fatal(err)
	}
	for need := range strings.FieldsSeq(string(out)) {
		if need != module && need != module+"/pattern" {
			t.Errorf("root and pattern need %s: they import the standard library alone", need)
		}
	}
	if len(strings.Fields(string(out))) != 2 {
		t.Errorf("got %q, want the two packages", out)
	}
}

// TestImports_TableRefuses holds that the table says no where it must, so that a row which allows everything is noticed.
func TestImports_TableRefuses(t *testing.T) {
	for _, refused := range []string{
		"pattern > config", "pattern > " + "github.com/spf13/cobra", ". > pattern", ". > golang.org/x/sync",
		"lab > .", "criteria > pattern", "criteria > process", "criteria > delegate/command", "config > engine", "config > criteria",
		"delegate/command > pattern", "delegate/httpcall > delegate/openaichat", "delegate/openaichat > process",
		"engine > cmd/firstgood", "engine > lab", "engine > github.com/openai/openai-go/v3", "cmd/firstgood > delegate/command",
		"cmd/firstgood > go.yaml.in/yaml/v3", "cmd/firstgood/live > engine", "examples/go/race > engine", "process > .",
	} {
		folder, imported, _ := strings.Cut(refused, " > ")
		if !strings.Contains(imported, ".") || imported == "." {
			imported = strings.TrimSuffix(module+"/"+imported, "/.")
		}
		rule := ruleOf(folder)
		if rule == nil || rule.refuses(imported, false, map[string]bool{}) == "" {
			t.Errorf("the table allows that %s", strings.Replace(refused, ">", "imports", 1))
		}
	}
	if ruleOf("util") != nil || ruleOf("cmd/other") != nil || ruleOf("pattern/inner") != nil {
		t.Error("the table has a row for a folder that nobody thought of")
	}
}
