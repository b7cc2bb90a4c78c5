package config

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRulesWithASource(t *testing.T) {
	f := parsed(t, `
delegates: {a: {openai: {model: m}}}
patterns:
  p:
    pattern: race
    with: {candidates: [a]}
    config:
      failure_criteria: {finish_reason: length}
      acceptance_criteria:
        all:
          - expr: 'len(reply.text) < 400 && reply.json.score >= 0.8'
          - schema: ./answer.schema.json
          - schema: {type: object, required: [a], properties: {a: {const: "${NOT} $${EXPANDED}", minimum: -1.5e3, default: null, x: [true, 12345678901234567890]}}}
          - finish_reason: [stop, end_turn, whatever]
          - schema: /abs/answer.json
`)
	got := f.Instances[0].Config
	if got.Failure.Rule != RuleFinishReason || !slices.Equal(got.Failure.FinishReasons, []string{"length"}) {
		t.Errorf("failure %+v", got.Failure)
	}
	all := got.Acceptance.Children
	if all[0].Rule != RuleExpr || all[0].Expr != "len(reply.text) < 400 && reply.json.score >= 0.8" || all[0].Pos != (Pos{File: "firstgood.yaml", Line: 11, Column: 13}) {
		t.Errorf("expr %+v", all[0])
	}
	if all[1].Rule != RuleSchema || all[1].SchemaFile != "answer.schema.json" || all[1].Schema != nil || all[4].SchemaFile != filepath.FromSlash("/abs/answer.json") {
		t.Errorf("schema %+v, %+v", all[1], all[4])
	}
	want := `{"type": "object", "required": ["a"], "properties": {"a": {"const": "${NOT} $${EXPANDED}", "minimum": -1.5e3, "default": null, "x": [true, 12345678901234567890]}}}`
	var gotTree, wantTree any
	decode := func(text string, into *any) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	decode(string(all[2].Schema), &gotTree)
	decode(want, &wantTree)
	if all[2].Rule != RuleSchema || all[2].SchemaFile != "" || !reflect.DeepEqual(gotTree, wantTree) {
		t.Errorf("schema %s", all[2].Schema)
	}
	if all[3].Rule != RuleFinishReason || !slices.Equal(all[3].FinishReasons, []string{"stop", "end_turn", "whatever"}) {
		t.Errorf("finish reason %+v", all[3])
	}
	if unset := f.Instances[0].Unset(environment()); unset != nil {
		t.Errorf("a schema has variables: %v", unset)
	}
}

// TestCheckIsAsked holds of what a check is asked, in what order, and that it finds the file of a schema.
func TestCheckIsAsked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "firstgood.yaml")
	text := `
delegates: {a: {openai: {model: m}}}
patterns:
  p:
    pattern: race
    with: {candidates: [a, {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {expr: inner}}}]}
    config:
      failure_criteria: {any: [{expr: first}, {matches: x}, {finish_reason: stop}, {not: {schema: sub/a.json}}]}
      acceptance_criteria: {schema: {type: object}}
`
	for name, data := range map[string]string{path: text, filepath.Join(dir, "sub", "a.json"): "{}"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(data), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	check := func(c *Criterion) error {
		asked = append(asked, string(c.Rule)+" "+c.Expr+string(c.Schema))
		if c.SchemaFile == "" {
			return nil
		}
		whole, err := filepath.Abs(c.SchemaFile)
		if err == nil {
			_, err = os.ReadFile(whole)
		}
		return err
	}
	f, problems := Load(path, Kinds(), Check(check))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if want := []string{"expr inner", "expr first", "schema ", `schema {"type":"object"}`}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	// Setting from outside: the file keeps its checks, and a path starts where the program does.
	asked = nil
	t.Chdir(dir)
	set := func(value string) []Setting {
		return []Setting{{"--set failure_criteria", "failure_criteria", value}}
	}
	if in, problems := f.Change(f.Instances[0], nil, set("{schema: sub/a.json}")); len(problems) > 0 || in.Config.Failure.SchemaFile != filepath.Join("sub", "a.json") || len(asked) != 1 {
		t.Errorf("%v, asked %q", problems, asked)
	}
	_, problems = f.Change(f.Instances[0], nil, set("{schema: a.json}"))
	if want := `--set failure_criteria: schema: there is no file "a.json"; a path begins at the folder where the program was started`; problems.Error() != want {
		t.Errorf("got  %v\nwant %s", problems, want)
	}
	// Without a check any source is taken.
	if f, problems := Parse("f", []byte(strings.ReplaceAll(text, "first", "(((")), Kinds()); f == nil {
		t.Error(problems)
	}
}

// TestChecksTakeTurns holds that each check is asked until one finds something.
func TestChecksTakeTurns(t *testing.T) {
	var asked []string
	check := func(name string, err error) Check {
		return func(*Criterion) error { asked = append(asked, name); return err }
	}
	broken := errors.New("broken " + strings.Repeat("x", 400))
	text := "delegates: {a: {openai: {model: m}}}\npatterns: {p: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {expr: x}}}}\n"
	_, problems := Parse("f", []byte(text), Kinds(), check("one", nil), check("two", &SourceError{Offset: 900, Err: broken}), check("three", nil))
	if strings.Join(asked, " ") != "one two" || len(problems) != 1 || problems[0].Pos.Column != 91 || len(problems[0].Message) > 500 {
		t.Errorf("asked %v, problems %v", asked, problems)
	}
	if wrapped := error(&SourceError{Err: fs.ErrNotExist}); !errors.Is(wrapped, fs.ErrNotExist) || wrapped.Error() != fs.ErrNotExist.Error() {
		t.Error("a SourceError hides its error")
	}
}

// TestSecretWordsThatAreNone holds that settings whose names have the word token or auth in them can be seen.
func TestSecretWordsThatAreNone(t *testing.T) {
	for _, text := range []string{
		"delegates: {a: {openai: {model: m}, first_token: soon}}\n",
		"delegates: {a: {anthropic: {model: m, max_tokens: soon}}}\n",
		"health: {cooldown: {auth: 5}}\n",
		"delegates: {a: {openai: {model: m}, first_token: 5s\n",
		"delegates: {a: {anthropic: {model: m, max_tokens: 5\n",
		"patterns: {p: {config: {budget: {tokens: 5\n",
	} {
		problems := refused(t, text)
		if got := problems[0].Source; got != strings.TrimSpace(text) {
			t.Errorf("%s is shown as %s", text, got)
		}
	}
	for _, text := range []string{
		"delegates: {a: {openai: {model: m, token: hunter22\n",
		"delegates: {a: {openai: {model: m, auth: hunter22}}}\n",
		"delegates: {a: {openai: {model: m, auth: 123456}}}\n",
	} {
		if problems := refused(t, text); strings.Contains(problems[0].Source, "hunter22") || strings.Contains(problems[0].Source, "123456") {
			t.Errorf("%s is shown as %s", text, problems[0].Source)
		}
	}
}
