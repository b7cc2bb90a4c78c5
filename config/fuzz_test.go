package config

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// FuzzParse holds that every text is answered, with problems that lie within it and in order, and that a file without
// errors can be walked.
func FuzzParse(f *testing.F) {
	_, archives := broken(f)
	for _, a := range archives {
		for _, file := range a.files {
			if strings.HasSuffix(file.name, ".yaml") {
				f.Add([]byte(file.data))
			}
		}
	}
	for _, text := range []string{example, changeable, fullFile, "a: \"\xff", "\ufeffa: b\r\nc:\td", "a: |\n  b\n c\n", "? a\n: *b", "a: 'b\n\n\n", "%YAML 9.9\n---\n", "a: !!binary x", "- &a [*a]", "a: b\u2028c: d", "{a: b, [c]: d"} {
		f.Add([]byte(text))
	}
	kinds := append(Kinds(), agentKind())
	f.Fuzz(func(t *testing.T, data []byte) {
		file, problems := Parse("f", data, kinds, Check(faults))
		if (file == nil) != problems.Failed() {
			t.Fatalf("file %v, problems %v", file, problems)
		}
		lines := splitLines(strings.TrimPrefix(string(data), byteOrderMark))
		for i, p := range problems {
			if p.Pos.Line < 1 || p.Pos.Line > len(lines) || p.Pos.Column < 1 || p.Pos.Column > len([]rune(lines[p.Pos.Line-1]))+1 {
				t.Fatalf("problem at %v, outside the text: %v", p.Pos, p)
			}
			if i > 0 && p.Pos.Before(problems[i-1].Pos) {
				t.Fatalf("not in order: %v", problems)
			}
			if p.Message == "" || strings.ContainsAny(p.Message, "\n\x1b\x00") {
				t.Fatalf("message %q", p.Message)
			}
		}
		if err := problems.Render(io.Discard, true); err != nil {
			t.Fatal(err)
		}
		if file == nil {
			return
		}
		for _, in := range file.Instances {
			if unset := in.Unset(environment()); len(unset) > 0 && len(in.Reach()) == 0 && in.texts == nil {
				t.Fatalf("variables of nobody: %v", unset)
			}
			if _, problems := file.Change(in, nil, []Setting{{"--set nonempty", "nonempty", "true"}}); problems.Failed() {
				t.Fatalf("a change that cannot fail: %v", problems)
			}
		}
	})
}

// bigFile has 200 lines: 120 delegates, and patterns over them with criteria of every rule.
func bigFile() string {
	var b strings.Builder
	b.WriteString("judge: d0\ndefaults: {timeout: 60s}\ndelegates:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "  d%d: {openai: {model: gpt-5, api_key_env: KEY, headers: {x-key: \"${KEY}\"}}, timeout: 90s}\n", i)
	}
	for i := range 60 {
		fmt.Fprintf(&b, "  c%d: {command: {argv: [./answer.sh, \"{brief}\"], env: [HOME]}, effects: idempotent}\n", i)
	}
	b.WriteString("patterns:\n")
	for i := range 19 {
		fmt.Fprintf(&b, `  p%d:
    pattern: fallback-chain
    with: {chain: [d%d, c%d, d%d]}
    config: {failure_criteria: {all: [it is empty, {matches: '^\d+$'}, {command: [go, test]}]}, timeout: 5m}
`, i, i, i, i+1)
	}
	return b.String()
}

func BenchmarkParse(b *testing.B) {
	data := []byte(bigFile())
	kinds := Kinds()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if file, problems := Parse("f", data, kinds); file == nil || len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

func BenchmarkParseBroken(b *testing.B) {
	data := []byte(strings.Replace(bigFile(), "chain: [d9, c9, d10]}", "chain: [d9, c9, d10}", 1))
	kinds := Kinds()
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Parse("f", data, kinds); len(problems) != 1 {
			b.Fatal(problems)
		}
	}
}
