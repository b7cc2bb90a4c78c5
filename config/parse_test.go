package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// example is the file that the design shows.
const example = `# firstgood.yaml
judge: careful
model: fast
defaults: {timeout: 60s}
delegates:
  fast:    {openai: {model: gpt-5-mini}}
  local:   {openai: {base_url: "http://127.0.0.1:11434/v1", model: llama3.2, system: "Answer briefly."}}
  careful: {openai: {model: gpt-5, api_key_env: OPENAI_API_KEY}, timeout: 90s, retries: 1}
  script:  {command: {argv: [./answer.sh, "{brief}"]}, timeout: 5m}
  search:  {http: {url: "https://search.example/api", method: POST, headers: {x-key: "${SEARCH_KEY}"}, json: {q: "{brief}"}, result: answer.text}}
patterns:
  answer:
    pattern: std/patterns/fallback-chain
    with: {chain: [fast, careful, local]}
    config: {failure_criteria: "the answer is empty or refuses"}
  quick:
    pattern: race
    with: {candidates: [fast, answer]}
    config: {nonempty: true, start_after: 400ms, timeout: 20s}
`

// parsed returns a file about which nothing is to be said.
func parsed(t testing.TB, text string) *File {
	t.Helper()
	file, problems := Parse("firstgood.yaml", []byte(text), Kinds())
	if len(problems) > 0 {
		t.Fatalf("problems:\n%v", problems)
	}
	return file
}

// refused returns what is said about a file that has an error.
func refused(t testing.TB, data string) Problems {
	t.Helper()
	file, problems := Parse("firstgood.yaml", []byte(data), Kinds())
	if file != nil || !problems.Failed() {
		t.Fatalf("file %v, problems\n%v", file, problems)
	}
	return problems
}

func names(refs []Ref) string {
	var all []string
	for _, r := range refs {
		all = append(all, r.Name)
	}
	return strings.Join(all, " ")
}

func TestExampleOfTheDesign(t *testing.T) {
	f := parsed(t, example)
	if got := strings.Join(f.Names(), " "); got != "fast local careful script search answer quick" {
		t.Errorf("names %s", got)
	}
	if f.Judge.Delegate == nil || f.Judge.Name != "careful" || f.Model.Name != "fast" || f.Judge.Pos != (Pos{File: "firstgood.yaml", Line: 2, Column: 8}) {
		t.Errorf("judge %+v, model %+v", f.Judge, f.Model)
	}
	for i, want := range []struct {
		kind    string
		timeout time.Duration
		retries int
		pos     Pos
	}{
		{"openai", time.Minute, 0, Pos{File: "firstgood.yaml", Line: 6, Column: 3}},
		{"openai", time.Minute, 0, Pos{File: "firstgood.yaml", Line: 7, Column: 3}},
		{"openai", 90 * time.Second, 1, Pos{File: "firstgood.yaml", Line: 8, Column: 3}},
		{"command", 5 * time.Minute, 0, Pos{File: "firstgood.yaml", Line: 9, Column: 3}},
		{"http", time.Minute, 0, Pos{File: "firstgood.yaml", Line: 10, Column: 3}},
	} {
		d := f.Delegates[i]
		if d.Kind != want.kind || d.Timeout != want.timeout || d.Retries != want.retries || d.Pos != want.pos || d.Effects != EffectsNone {
			t.Errorf("%s: %+v, want %+v", d.Name, d, want)
		}
	}
	local := f.Delegates[1].Spec.(*OpenAI)
	if local.Model.String() != "llama3.2" || local.BaseURL.String() != "http://127.0.0.1:11434/v1" || local.System.String() != "Answer briefly." || !local.APIKey.IsZero() {
		t.Errorf("local %+v", local)
	}
	if careful := f.Delegates[2].Spec.(*OpenAI); careful.APIKeyEnv != "OPENAI_API_KEY" {
		t.Errorf("careful %+v", careful)
	}
	script := f.Delegates[3].Spec.(*Command)
	if len(script.Argv) != 2 || script.Argv[1].String() != "{brief}" || script.Stdin != "" || script.Env != nil || script.Grace != time.Second || script.MaxOutput != 10<<20 {
		t.Errorf("script %+v", script)
	}
	search := f.Delegates[4].Spec.(*HTTP)
	body, err := search.JSON.Expand(os.LookupEnv)
	if err != nil || body.(map[string]any)["q"] != "{brief}" || search.Method != "POST" || !search.HasJSON || search.Result.String() != "answer.text" {
		t.Errorf("search %+v, body %v, %v", search, body, err)
	}
	answer, quick := f.Instances[0], f.Instances[1]
	if answer.Pattern != "fallback-chain" || names(answer.Bound("chain")) != "fast careful local" || answer.Bound("candidates") != nil {
		t.Errorf("answer %+v", answer)
	}
	rule := answer.Config.Failure
	if rule.Rule != RuleText || rule.Text.String() != "the answer is empty or refuses" || rule.Judge.Delegate != f.Delegates[2] ||
		rule.Chars != 2000 || rule.OnUnparseable != "accept" || !slices.Equal(rule.Sees, []string{"reply"}) || rule.Pos != (Pos{File: "firstgood.yaml", Line: 15, Column: 32}) {
		t.Errorf("rule %+v", rule)
	}
	config := quick.Config
	config.Failure, config.Acceptance = nil, nil
	if want := (Config{NonEmpty: true, StartAfter: 400 * time.Millisecond, Timeout: 20 * time.Second, Order: "eager"}); !reflect.DeepEqual(config, want) || quick.Config.Failure != nil {
		t.Errorf("quick %+v, want %+v", config, want)
	}
	if quick.Bound("candidates")[1].Instance != answer || quick.Bound("candidates")[0].Delegate != f.Delegates[0] {
		t.Errorf("quick %+v", quick.Slots)
	}
	if ref, ok := f.Lookup("quick"); !ok || ref.Instance != quick {
		t.Errorf("lookup quick: %+v", ref)
	}
	if ref, ok := f.Lookup("local"); !ok || ref.Delegate != f.Delegates[1] {
		t.Errorf("lookup local: %+v", ref)
	}
	if _, ok := f.Lookup("nobody"); ok {
		t.Error("lookup nobody found somebody")
	}
}

func TestF13_R14_TheSameDelegateTwice(t *testing.T) {
	f := parsed(t, "delegates: {fast: {openai: {model: m}}}\npatterns: {a: {pattern: race, with: {candidates: [fast, fast]}}}\n")
	if got := f.Instances[0].Bound("candidates"); names(got) != "fast fast" || got[0].Delegate != got[1].Delegate {
		t.Errorf("bound %+v", got)
	}
}

// TestF12_R13_EmptyListIsAWarning holds the rest of what the corpus shows: the file is usable.
func TestF12_R13_EmptyListIsAWarning(t *testing.T) {
	f, problems := Parse("f", []byte("patterns: {a: {pattern: race, with: {candidates: []}}}\n"), Kinds())
	if f == nil || problems.Failed() || problems.Err() != nil || len(problems) != 1 || problems[0].Severity != SeverityWarning {
		t.Fatalf("file %v, problems %v", f, problems)
	}
	if bound := f.Instances[0].Bound("candidates"); bound == nil || len(bound) != 0 {
		t.Errorf("bound %#v, want an empty list that is not nil", bound)
	}
}

func TestF6_NoCriteria(t *testing.T) {
	for _, criteria := range []string{`""`, `"  "`, "null", "", `{text: ""}`, "~"} {
		f := parsed(t, "delegates: {fast: {openai: {model: m}}}\npatterns:\n  a:\n    pattern: race\n    with: {candidates: [fast]}\n    config:\n      failure_criteria: "+criteria+"\n      nonempty: true\n")
		if got := f.Instances[0].Config; got.Failure != nil || !got.NonEmpty {
			t.Errorf("%q: %+v", criteria, got)
		}
	}
}

func TestNamesThatDifferInCaseAlone(t *testing.T) {
	f := parsed(t, "delegates: {fast: {openai: {model: m}}, Fast: {openai: {model: M}}}\npatterns: {FAST: {pattern: race, with: {candidates: [Fast]}}}\n")
	if got := f.Instances[0].Bound("candidates")[0].Delegate.Spec.(*OpenAI).Model.String(); got != "M" {
		t.Errorf("model %s", got)
	}
}

func TestModelIsTheJudgeUnlessSaid(t *testing.T) {
	f := parsed(t, "judge: fast\ndelegates: {fast: {openai: {model: m}}}\n")
	if f.Model.Delegate != f.Delegates[0] {
		t.Errorf("model %+v", f.Model)
	}
	if f = parsed(t, "delegates: {fast: {openai: {model: m}}}\n"); !f.Model.IsZero() || !f.Judge.IsZero() {
		t.Errorf("model %+v, judge %+v", f.Model, f.Judge)
	}
}

func TestEveryPattern(t *testing.T) {
	f := parsed(t, `
version: 1
delegates: {a: {openai: {model: m}}, b: {command: {argv: [./b]}, effects: idempotent}}
patterns:
  chain: {pattern: std/controls/fallback-chain, with: {chain: [a, b]}, config: {acceptance_criteria: {matches: x}, timeout: 1m}}
  race: {pattern: std/composites/race, with: {candidates: [a, b]}, config: {order: listed, max_parallel: 2}}
  fan: {pattern: fan-out, with: {delegates: [a, b]}, config: {width: 1}}
  retry: {pattern: retry-with-learning, with: {target: a}}
  more: {pattern: retry-with-learning, with: {target: retry}, config: {max_retries: 7}}
`)
	for i, want := range []struct {
		pattern, slot, bound string
		config               Config
	}{
		{"fallback-chain", "chain", "a b", Config{Timeout: time.Minute}},
		{"race", "candidates", "a b", Config{Order: "listed", MaxParallel: 2}},
		{"fan-out", "delegates", "a b", Config{Width: 1}},
		{"retry-with-learning", "target", "a", Config{MaxRetries: 3}},
		{"retry-with-learning", "target", "retry", Config{MaxRetries: 7}},
	} {
		in := f.Instances[i]
		got := in.Config
		got.Acceptance = nil
		if in.Pattern != want.pattern || names(in.Bound(want.slot)) != want.bound || !reflect.DeepEqual(got, want.config) {
			t.Errorf("%s: %+v, want %+v", in.Name, in, want)
		}
	}
	if f.Delegates[1].Effects != EffectsIdempotent {
		t.Errorf("effects %s", f.Delegates[1].Effects)
	}
}

func TestInstancesInSlots(t *testing.T) {
	f := parsed(t, `
delegates: {a: {openai: {model: m}}, b: {openai: {model: m}}}
patterns:
  quick:
    pattern: race
    with:
      candidates:
        - a
        - pattern: fallback-chain
          with: {chain: [b, {pattern: retry-with-learning, with: {target: {pattern: race, with: {candidates: [a, b]}}}}]}
          config: {timeout: 5s}
`)
	inner := f.Instances[0].Bound("candidates")[1].Instance
	if inner == nil || inner.Name != "quick.candidates[1]" || inner.Config.Timeout != 5*time.Second || inner.Pos != (Pos{File: "firstgood.yaml", Line: 9, Column: 11}) {
		t.Fatalf("inner %+v", inner)
	}
	innermost := inner.Bound("chain")[1].Instance.Bound("target")[0].Instance
	if innermost.Name != "quick.candidates[1].chain[1].target" || names(innermost.Bound("candidates")) != "a b" {
		t.Errorf("innermost %+v", innermost)
	}
	if len(f.Names()) != 3 {
		t.Errorf("names %v: an instance in a slot has none", f.Names())
	}
}

func TestCriteriaTree(t *testing.T) {
	f := parsed(t, `
delegates: {a: {openai: {model: m}}, small: {openai: {model: m}}}
patterns:
  wise: {pattern: fallback-chain, with: {chain: [a, small]}}
  p:
    pattern: fallback-chain
    with: {chain: [a]}
    config:
      failure_criteria: {text: "it is in ${LANGUAGE:-French}", judge: small, sees: [brief, reply], chars: 8000, on_unparseable: reject, on_judge_error: retry 12}
      acceptance_criteria:
        all:
          - nonempty: true
          - {matches: '^\d{4}-\d{2}-\d{2}$'}
          - any: [{not: {text: "rude", judge: wise}}, {command: [go, test, ./...], timeout: 5m}]
          - {not: {not: {matches: "a|b"}}}
`)
	got := f.Instances[1].Config
	bad := got.Failure
	if bad.Judge.Name != "small" || bad.Judge.Delegate == nil || bad.Chars != 8000 || bad.OnUnparseable != "reject" || bad.JudgeRetries != 12 || !slices.Equal(bad.Sees, []string{"brief", "reply"}) {
		t.Errorf("failure %+v", bad)
	}
	if text, err := bad.Text.Expand(func(string) (string, bool) { return "", false }); err != nil || text != "it is in French" {
		t.Errorf("text %q, %v", text, err)
	}
	var kinds []string
	got.Acceptance.Visit(func(c *Criterion) { kinds = append(kinds, string(c.Rule)) })
	if want := "all nonempty matches any not text command not not matches"; strings.Join(kinds, " ") != want {
		t.Errorf("rules %v, want %s", kinds, want)
	}
	all := got.Acceptance.Children
	if !all[1].Regexp.MatchString("2024-01-02") || all[1].Regexp.MatchString("x2024-01-02") {
		t.Errorf("regexp %v", all[1].Regexp)
	}
	if judge := all[2].Children[0].Children[0].Judge; judge.Instance != f.Instances[0] {
		t.Errorf("judge %+v", judge)
	}
	if command := all[2].Children[1]; len(command.Argv) != 3 || command.Argv[2].String() != "./..." || command.Timeout != 5*time.Minute {
		t.Errorf("command %+v", command)
	}
	var none *Criterion
	none.Visit(func(*Criterion) { t.Error("a nil criterion was visited") })
}

func TestAliases(t *testing.T) {
	f := parsed(t, `
x-long: &long 90s
x-rule: &rule {matches: "a"}
x-model: &settings {model: m, system: "Be kind."}
delegates:
  a: {openai: *settings, timeout: *long}
  b: {openai: *settings}
patterns:
  p: {pattern: race, with: {candidates: [a]}, config: {acceptance_criteria: {all: [*rule, {not: *rule}]}}}
`)
	if f.Delegates[0].Timeout != 90*time.Second || f.Delegates[1].Spec.(*OpenAI).System.String() != "Be kind." {
		t.Errorf("delegates %+v %+v", f.Delegates[0], f.Delegates[1])
	}
	// A value of the wrong type is reported where it is used.
	problems := refused(t, "x-t: &t 60\ndelegates:\n  a: {openai: {model: m}, timeout: *t}\n")
	if len(problems) != 1 || problems[0].Pos.Line != 3 || problems[0].Pos.Column != 36 {
		t.Errorf("problems %v", problems)
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	good := "delegates:\n  a: {openai: {model: m}}\n"
	for _, test := range []struct{ name, data, want string }{
		{"NUL", "delegates:\n  a\x00b: 1\n", "firstgood.yaml:2:4: the control character U+0000 has no place in the file; remove it, or write it as an escape in double quotes"},
		{"escape", "a: \x1b[31m\n", "firstgood.yaml:1:4: the control character U+001B has no place in the file; remove it, or write it as an escape in double quotes"},
		{"not UTF-8", "delegates:\n  é: \xff\xfe\n", "firstgood.yaml:2:6: the byte 0xFF is not UTF-8; save the file as UTF-8 text"},
		{"binary", "\x7fELF\x02\x01\x01\x00", "firstgood.yaml:1:1: the control character U+007F has no place in the file; remove it, or write it as an escape in double quotes"},
		{"UTF-16", "\xff\xfed\x00e\x00", "firstgood.yaml:1:1: the file is in UTF-16; save it as UTF-8"},
		{"large", good + strings.Repeat("#", maxSize), "firstgood.yaml:1:1: the file is larger than 1 MiB, more than a configuration can be; is it the right file?"},
		{"deep", "x-a: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "firstgood.yaml:1:106: nested more than 100 levels deep"},
		{"deeper", "x-a: " + strings.Repeat("[", 20000), "firstgood.yaml:1:1: not YAML: exceeded max depth of 10000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := refused(t, test.data).Error(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	for name, data := range map[string]string{
		"byte order mark":   byteOrderMark + good,
		"CRLF":              strings.ReplaceAll(good, "\n", "\r\n"),
		"just small enough": good + strings.Repeat("#", maxSize-len(good)),
		"no final newline":  strings.TrimSpace(good),
	} {
		if f := parsed(t, data); f.Delegates[0].Spec.(*OpenAI).Model.String() != "m" {
			t.Errorf("%s: %+v", name, f.Delegates[0].Spec)
		}
	}
	// Neither a byte order mark nor CRLF moves a column.
	problems := refused(t, byteOrderMark+"jugde: a\r\n\r\njudge: 5\r\n")
	if problems[0].Pos != (Pos{File: "firstgood.yaml", Line: 1, Column: 1}) || problems[1].Pos != (Pos{File: "firstgood.yaml", Line: 3, Column: 8}) || problems[1].Source != "judge: 5" {
		t.Errorf("problems %+v", problems)
	}
}

func TestColumnsCountCharacters(t *testing.T) {
	problems := refused(t, "delegates: {é: 1}\n")
	if problems[0].Pos.Column != 13 {
		t.Errorf("%v", problems)
	}
	problems = refused(t, "x-é: {日本: 1}\ndelegates: {a: {openai: {system: \"日本語\", modle: m}}}\n")
	if problems[0].Pos.Line != 2 || problems[0].Pos.Column != 41 {
		t.Errorf("%v", problems)
	}
}

func TestTooManyProblems(t *testing.T) {
	problems := refused(t, strings.Repeat("? []\n", 80))
	if len(problems) != maxProblems+1 || problems[maxProblems].Message != "30 more problems are not shown" {
		t.Errorf("%d problems, the last %v", len(problems), problems[len(problems)-1])
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "firstgood.yaml")
	if _, problems := Load(path, Kinds()); !errors.Is(problems, fs.ErrNotExist) || problems.Error() != path+": there is no such file" {
		t.Errorf("missing: %v", problems)
	}
	if _, problems := Load(dir, Kinds()); !problems.Failed() || !strings.HasPrefix(problems.Error(), dir+": cannot read the file: ") {
		t.Errorf("folder: %v", problems)
	}
	if err := os.WriteFile(path, []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, problems := Load(path, Kinds()); len(problems) > 0 || f.Path != path || len(f.Instances) != 2 {
		t.Errorf("file %+v, problems %v", f, problems)
	}
	// A file of 1 TiB, most of it a hole, is refused without being read.
	large, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(large.Truncate(1<<40), large.Close()); err != nil {
		t.Skipf("no large file here: %v", err)
	}
	if _, problems := Load(path, Kinds()); problems.Error() != path+":1:1: the file is larger than 1 MiB, more than a configuration can be; is it the right file?" {
		t.Errorf("large: %v", problems)
	}
}

func TestReach(t *testing.T) {
	f := parsed(t, `
judge: j
delegates:
  a: {openai: {model: "${A}"}}
  b: {openai: {model: "${B}", headers: {x: "${C}"}}}
  c: {command: {argv: [./c, "${D:-d}"], env: ["E=${E}"]}}
  j: {http: {url: "https://example.com/${J}?q={brief}"}}
  unused: {openai: {model: "${NEVER}"}}
patterns:
  one: {pattern: fallback-chain, with: {chain: [a, c, a]}}
  two: {pattern: race, with: {candidates: [one, {pattern: fallback-chain, with: {chain: [b]}, config: {failure_criteria: "about ${TOPIC}"}}]}}
`)
	delegates := func(in *Instance) string {
		var all []string
		for _, d := range in.Reach() {
			all = append(all, d.Name)
		}
		return strings.Join(all, " ")
	}
	if got := delegates(f.Instances[0]); got != "a c" {
		t.Errorf("one reaches %s", got)
	}
	if got := delegates(f.Instances[1]); got != "a c b j" {
		t.Errorf("two reaches %s", got)
	}
	lookup := func(name string) (string, bool) { return "", name == "B" }
	want := `firstgood.yaml:4:24: delegates.a.openai.model: the environment variable A is not set; set it, or give it a default: ${A:-…}
firstgood.yaml:5:45: delegates.b.openai.headers.x: the environment variable C is not set; set it, or give it a default: ${C:-…}
firstgood.yaml:6:47: delegates.c.command.env[0]: the environment variable E is not set; set it, or give it a default: ${E:-…}
firstgood.yaml:7:40: delegates.j.http.url: the environment variable J is not set; set it, or give it a default: ${J:-…}
firstgood.yaml:11:129: patterns.two.with.candidates[1].config.failure_criteria: the environment variable TOPIC is not set; set it, or give it a default: ${TOPIC:-…}`
	got := f.Instances[1].Unset(lookup).Error()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if unset := f.Delegates[2].Unset(lookup); len(unset) != 1 || unset.Err() == nil {
		t.Errorf("c: %v", unset)
	}
	if unset := f.Delegates[0].Unset(func(string) (string, bool) { return "x", true }); unset.Err() != nil {
		t.Errorf("a: %v", unset)
	}
}
