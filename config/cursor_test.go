package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// agent is the spec of a kind that is handed in, as another package would write it.
type agent struct {
	name    string
	args    []Text
	budget  int
	quiet   bool
	idle    time.Duration
	limit   int64
	mode    string
	globs   []Text
	labels  map[string]Text
	patch   struct{ paths []Text }
	options map[string]Value
	any     Value
}

func agentKind() Kind {
	return Kind{Name: "robot", Doc: "a coding agent", Decode: func(m *Map) any {
		a := &agent{
			name:    m.Enum("kind", "which agent", "", "claude", "codex"),
			args:    m.Texts("args", "more arguments"),
			budget:  m.Int("budget", "calls at most", 1, 9, 5),
			quiet:   m.Bool("quiet", "say nothing", true),
			idle:    m.Duration("idle", "silence at most", time.Minute),
			limit:   m.Size("limit", "output at most", 7),
			mode:    m.Enum("isolate", "where it works", "clone", "clone", "copy"),
			globs:   m.Texts("protect", "what it must not change", Required),
			labels:  m.TextMap("labels", "labels", func(name string) error { return refuse(name) }),
			options: m.Values("options", "options"),
		}
		a.any, _ = m.Value("any", "anything")
		m.Mapping("patch", "rules for its patch", func(m *Map) { a.patch.paths = m.Command("paths", "paths") })
		if a.name == "codex" && m.Has("isolate") {
			m.Errorf("isolate", "codex isolates itself; remove it")
		}
		if a.name == "" && m.Has("kind") {
			m.Warnf("", "no agent at %v", m.Pos())
		}
		return a
	}}
}

func refuse(name string) error {
	if name == "bad" {
		return errors.New("a label cannot be bad")
	}
	return nil
}

func TestKindsThatAreHandedIn(t *testing.T) {
	kinds := append(Kinds(), agentKind())
	f, problems := Parse("f", []byte(`
delegates:
  a: {robot: {kind: claude, args: [--model, "${MODEL}"], protect: [], budget: 9, quiet: false, idle: 5s, limit: 1 KiB, isolate: copy, labels: {x: y}, options: {deep: [1]}, any: [1, two], patch: {paths: [p], x-free: 1}}, timeout: 5s}
  b: {robot: {protect: ["**/*_test.go"]}}
`), kinds)
	if f != nil || len(problems) != 1 || problems[0].String() != `f:3:67: delegates.a.robot.protect: the list is empty; this is what it must not change` {
		t.Fatalf("problems %v", problems)
	}
	f, problems = Parse("f", []byte(`
delegates:
  a: {robot: {kind: claude, args: [--model, "${MODEL}"], protect: [x], budget: 9, quiet: false, idle: 5s, limit: 1 KiB, isolate: copy, labels: {x: y}, options: {deep: [1]}, any: [1, two], patch: {paths: [p], x-free: 1}}, timeout: 5s}
  b: {robot: {protect: ["**/*_test.go"]}}
`), kinds)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	a, b := f.Delegates[0].Spec.(*agent), f.Delegates[1].Spec.(*agent)
	if a.name != "claude" || len(a.args) != 2 || a.budget != 9 || a.quiet || a.idle != 5*time.Second || a.limit != 1024 || a.mode != "copy" ||
		a.labels["x"].String() != "y" || len(a.patch.paths) != 1 || len(a.options) != 1 {
		t.Errorf("a %+v", a)
	}
	if value, err := a.any.Expand(nil); err != nil || fmt.Sprint(value) != "[1 two]" {
		t.Errorf("any %v, %v", value, err)
	}
	if b.name != "" || b.args != nil || b.budget != 5 || !b.quiet || b.idle != time.Minute || b.limit != 7 || b.mode != "clone" || b.labels != nil || b.options != nil {
		t.Errorf("b %+v: not the defaults", b)
	}
	if unset := f.Delegates[0].Unset(environment()); len(unset) != 1 || !strings.Contains(unset.Error(), "delegates.a.robot.args[1]: the environment variable MODEL") {
		t.Errorf("unset %v", unset)
	}
	_, problems = Parse("f", []byte(`
delegates:
  a:
    robot: {kind: codex, protect: [a], isolate: copy, budgte: 3, labels: {bad: x, good: 5}, patch: {path: [x]}}
  b:
    robot: {kind: aider, protect: a, args: [5], options: [1], labels: [x], patch: x}
`), kinds)
	want := `f:4:49: delegates.a.robot.isolate: codex isolates itself; remove it
f:4:55: delegates.a.robot: unknown key "budgte"; did you mean "budget"?
f:4:75: delegates.a.robot.labels.bad: a label cannot be bad
f:4:89: delegates.a.robot.labels.good: got the number 5, want a text; put it in quotes: "5"
f:4:101: delegates.a.robot.patch: unknown key "path"; did you mean "paths"?
f:6:5: warning: delegates.b.robot: no agent at f:6:5
f:6:19: delegates.b.robot.kind: got the text "aider", want claude or codex
f:6:35: delegates.b.robot.protect: got the text "a", want a list of texts; write [a]
f:6:45: delegates.b.robot.args[0]: got the number 5, want a text; put it in quotes: "5"
f:6:58: delegates.b.robot.options: got a list, want a mapping; write {name: value}
f:6:71: delegates.b.robot.labels: got a list, want a mapping from names to texts; write {name: text}
f:6:83: delegates.b.robot.patch: got the text "x", want a mapping; write its keys below it, or in braces: {key: …}`
	if problems.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", problems, want)
	}
}

// TestNoKinds holds that a file can be read by somebody who knows no kind.
func TestNoKinds(t *testing.T) {
	_, problems := Parse("f", []byte("delegates: {a: {openai: {model: m}}}\n"), nil)
	if !problems.Failed() {
		t.Error("a delegate of an unknown kind was taken")
	}
	if f, problems := Parse("f", []byte("x-a: 1\n"), nil); f == nil || len(problems) > 0 {
		t.Errorf("%v %v", f, problems)
	}
}

func TestPatternsAndTheirKeys(t *testing.T) {
	var got []string
	for _, p := range Patterns() {
		line := p.Name
		for _, s := range p.Slots {
			line += fmt.Sprintf(" %s/%v", s.Name, s.List)
		}
		for _, k := range p.Keys() {
			line += " " + k.Name
			if k.Doc == "" {
				t.Errorf("%s.%s is not explained", p.Name, k.Name)
			}
		}
		got = append(got, line)
		for _, shelf := range []string{"", "std/patterns/", "std/controls/", "std/composites/"} {
			if found, ok := PatternNamed(shelf + p.Name); !ok || found.Name != p.Name {
				t.Errorf("%s%s: %v", shelf, p.Name, found)
			}
		}
	}
	want := `fallback-chain chain/true failure_criteria acceptance_criteria nonempty timeout advance_on stop_on on_refusal protect patch apply reserve budget wait_for_recovery
race candidates/true order start_after max_parallel hedge_ceiling failure_criteria acceptance_criteria nonempty timeout advance_on stop_on on_refusal protect patch apply reserve budget wait_for_recovery
fan-out delegates/true width failure_criteria acceptance_criteria nonempty timeout reserve budget wait_for_recovery
retry-with-learning target/false max_retries failure_criteria acceptance_criteria nonempty timeout advance_on stop_on on_refusal protect patch apply reserve budget wait_for_recovery`
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if _, ok := PatternNamed("std/other/race"); ok {
		t.Error("std/other is a shelf")
	}
}
