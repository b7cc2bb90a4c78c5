package config

import (
	"strings"
	"testing"
	"time"
)

func TestAgentsAndIsolation(t *testing.T) {
	file, problems := Parse("f", []byte(`
delegates:
  mine:   {command: {argv: [./fix.sh, "{brief}"], isolate: clone}, effects: unsafe}
  claude: {agent: claude}
  opus:   {agent: {kind: claude, args: [--model, opus], isolate: none}, effects: unsafe}
patterns:
  fix:
    pattern: race
    with: {candidates: [mine, claude]}
    config:
      acceptance_criteria: {command: [go, test, ./...], timeout: 5m}
      protect: ["**/*_test.go"]
      patch: {nonempty: true, paths: ["pkg/**"], max_lines: 400}
      apply: patch
  rest:
    pattern: fallback-chain
    with: {chain: [mine, claude]}
    config: {protect: []}
`), Kinds())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	claude, opus := file.Delegates[1].Spec.(*Agent), file.Delegates[2].Spec.(*Agent)
	if claude.Kind != "claude" || claude.Isolate != "" || claude.Grace != 5*time.Second || len(claude.Args) != 0 || opus.Kind != "claude" || len(opus.Args) != 2 {
		t.Errorf("%+v %+v", claude, opus)
	}
	for i, want := range []struct{ isolated, unsafe bool }{{true, false}, {true, false}, {false, true}} {
		if d := file.Delegates[i]; d.Isolated() != want.isolated || d.Unsafe() != want.unsafe {
			t.Errorf("%s: isolated %t, unsafe %t", d.Name, d.Isolated(), d.Unsafe())
		}
	}
	fix, rest := file.Instances[0].Config, file.Instances[1].Config
	if len(fix.Protect) != 1 || fix.Apply != ApplyPatch || !fix.Patch.NonEmpty || fix.Patch.MaxLines != 400 || fix.Patch.Paths[0].String() != "pkg/**" {
		t.Errorf("%+v %+v", fix, fix.Patch)
	}
	if rest.Protect == nil || len(rest.Protect) != 0 || rest.Patch != nil || rest.Apply != "" {
		t.Errorf("%+v", rest)
	}
}

func TestAgentsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"delegates: {a: {agent: clade}}\n":                        `f:1:24: delegates.a.agent.kind: got the text "clade", want claude, codex, gemini, opencode, qwen or aider; did you mean claude?`,
		"delegates: {a: {agent: {args: [x]}}}\n":                  `f:1:17: delegates.a.agent: it does not say which agent it is; write kind: claude, or one of codex, gemini, opencode, qwen or aider`,
		"delegates: {a: {agent: {kind: codex, isolate: clon}}}\n": `f:1:47: delegates.a.agent.isolate: got the text "clon", want none, clone, worktree, copy or tempdir; did you mean clone?`,
		"delegates: {a: {codex: {}}}\n":                           `"codex" does not belong here: write agent: codex`,
		"delegates: {a: {agent: codex}, b: {command: {argv: [b]}, effects: unsafe}}\npatterns: {r: {pattern: race, with: {candidates: [a, b]}}}\n": `b leaves something behind each time it runs (effects: unsafe), and a race starts several`,
		"delegates: {a: {openai: {model: m}}}\npatterns: {r: {pattern: race, with: {candidates: [a]}, config: {apply: patch}}}\n":                  `f:2:72: warning: patterns.r.config.apply: nobody in r works in a place of its own`,
		"delegates: {a: {agent: codex}}\npatterns: {r: {pattern: race, with: {candidates: [a]}, config: {patch: {paths: []}}}}\n":                  `the list is empty, so that nothing may change`,
	} {
		if _, problems := Parse("f", []byte(text), Kinds()); !strings.Contains(problems.Error(), want) {
			t.Errorf("%s got  %v\nwant %s", text, problems, want)
		}
	}
}
