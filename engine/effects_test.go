package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

// TestS40_RefusedAtLoad: what would run an unsafe delegate twice is an error of the file, with its place.
func TestS40_RefusedAtLoad(t *testing.T) {
	const delegates = `delegates:
  deploy: {command: {argv: [deploy]}, effects: unsafe}
  twice: {command: {argv: [deploy]}, effects: idempotent}
  b: {command: {argv: [b]}}
patterns:
`
	for _, c := range []struct{ patterns, at, says string }{
		{"  x: {pattern: race, with: {candidates: [b, deploy]}}", "6:45", "deploy leaves something behind each time it runs (effects: unsafe), and a race starts several to keep one"},
		{"  x: {pattern: race, with: {candidates: [b, deploy]}, config: {start_after: 1h}}", "6:45", "and a race starts several to keep one"},
		{"  x: {pattern: race, with: {candidates: [b, deploy]}, config: {max_parallel: 1}}", "6:45", "and a race starts several to keep one"},
		{"  x: {pattern: race, with: {candidates: [inner, b]}}\n  inner: {pattern: fallback-chain, with: {chain: [b, deploy]}}", "6:42", "deploy, to which inner leads, leaves something behind"},
		{"  x: {pattern: race, with: {candidates: [{pattern: fan-out, with: {delegates: [deploy]}}, b]}}", "6:42", "and a race starts several to keep one"},
		{"  x: {pattern: retry-with-learning, with: {target: deploy}}", "6:52", "and this runs it up to 3 times"},
		{"  x: {pattern: race, with: {candidates: [deploy]}}", "", ""},
		{"  x: {pattern: race, with: {candidates: [b, twice]}}", "", ""},
		{"  x: {pattern: retry-with-learning, with: {target: deploy}, config: {max_retries: 1}}", "", ""},
		{"  x: {pattern: fallback-chain, with: {chain: [deploy, b]}}", "", ""}, // a note
	} {
		_, problems := config.Parse("test.yaml", []byte(delegates+c.patterns+"\n"), config.Kinds(), config.Check(engine.Check))
		got := problems.Error()
		switch {
		case c.says == "" && problems.Failed():
			t.Errorf("%s: got %s", c.patterns, got)
		case c.says != "" && (!problems.Failed() || !strings.HasPrefix(got, "test.yaml:"+c.at+": ") || !strings.Contains(got, c.says)):
			t.Errorf("%s: got %s, want %s at %s", c.patterns, got, c.says, c.at)
		}
	}
	_, problems := config.Parse("test.yaml", []byte("delegates: {d: {command: {argv: [x]}, effects: unsafe, retries: 2}}\n"), config.Kinds())
	if !problems.Failed() || !strings.HasPrefix(problems.Error(), "test.yaml:1:65: ") && !strings.HasPrefix(problems.Error(), "test.yaml:1:56: ") {
		t.Errorf("retries of an unsafe one: %v", problems)
	}
}

// TestS40_AChainDoesNotGoPastOneThatStarted, and does go past one that could not start.
func TestS40_AChainDoesNotGoPastOneThatStarted(t *testing.T) {
	unsafe := func(model string) string { return at(model) + ", effects: unsafe" }
	f := file(t, `
health: true
delegates:
  safe: {`+at("500")+`}
  works: {`+unsafe("ok:deployed")+`}
  fails: {`+unsafe("500")+`}
  slow: {`+unsafe("hang")+`, timeout: 5s}
  mute: {`+unsafe("empty")+`}
  keyless: {openai: {model: x}, effects: unsafe}
  missing: {command: {argv: [no-such-program-anywhere]}, effects: unsafe}
  nodir: {command: {argv: [`+quotedSelf(t)+`], dir: /no/such/folder}, effects: unsafe}
  cool: {`+unsafe("429:60")+`}
  same: {`+at("500")+`, effects: idempotent}
  judge: {`+unsafe("judge")+`}
  hasty: {`+at("hang")+`, timeout: 1s}
  b: {`+at("ok:B")+`}
patterns:
  run.works: {pattern: fallback-chain, with: {chain: [safe, works, b]}}
  run.fails: {pattern: fallback-chain, with: {chain: [safe, fails, b]}}
  run.slow: {pattern: fallback-chain, with: {chain: [slow, b]}}
  run.mute: {pattern: fallback-chain, with: {chain: [mute, b]}, config: {nonempty: true}}
  run.keyless: {pattern: fallback-chain, with: {chain: [keyless, b]}}
  run.missing: {pattern: fallback-chain, with: {chain: [missing, b]}}
  run.nodir: {pattern: fallback-chain, with: {chain: [nodir, b]}}
  run.same: {pattern: fallback-chain, with: {chain: [same, b]}}
  run.cool: {pattern: fallback-chain, with: {chain: [cool, b]}}
  nested: {pattern: fallback-chain, with: {chain: [fails, b]}}
  nestedsafe: {pattern: fallback-chain, with: {chain: [innersafe, b]}}
  innersafe: {pattern: fallback-chain, with: {chain: [safe, keyless]}}
  nestedrace: {pattern: fallback-chain, with: {chain: [{pattern: race, with: {candidates: [fails]}}, b]}}
  nestedfan: {pattern: fallback-chain, with: {chain: [{pattern: fan-out, with: {delegates: [fails, safe]}}, b]}}
  nestedfansafe: {pattern: fallback-chain, with: {chain: [{pattern: fan-out, with: {delegates: [missing, safe]}}, b]}}
  deepfan: {pattern: fallback-chain, with: {chain: [{pattern: fallback-chain, with: {chain: [{pattern: fan-out, with: {delegates: [fails]}}]}}, b]}}
  timed: {pattern: fallback-chain, with: {chain: [{pattern: fallback-chain, with: {chain: [slow]}, config: {timeout: 2s}}, b]}}
  judged: {pattern: fallback-chain, with: {chain: [{pattern: fallback-chain, with: {chain: [hasty]}, config: {failure_criteria: {text: w, judge: judge}, timeout: 500ms}}, b]}}
  budget: {pattern: fallback-chain, with: {chain: [safe, fails, b]}, config: {budget: {calls: 1}}}
`)
	won := func(attempts int, history ...string) outcome {
		return outcome{firstgood.StatusWon, "b", attempts, history}
	}
	stopped := func(attempts int, history ...string) outcome {
		return outcome{firstgood.StatusStopped, "", attempts, history}
	}
	for _, c := range []struct {
		name string
		want outcome
	}{
		{"run.works", outcome{firstgood.StatusWon, "works", 2, []string{"safe: unavailable"}}},
		{"run.fails", stopped(2, "safe: unavailable", "fails: unavailable")},
		{"run.slow", stopped(1, "slow: timeout: no reply within 5s")},
		{"run.mute", stopped(1, "mute: rejected: the reply is empty")},
		{"run.keyless", won(2, "keyless: auth: ")},
		{"run.missing", won(2, "missing: ")},
		{"run.nodir", won(2, "nodir: ")},
		{"run.same", won(2, "same: unavailable")},
		{"nested", stopped(1, "fails: ")},
		{"nestedsafe", won(2, "innersafe: exhausted")},
		{"nestedrace", stopped(1, "nestedrace.chain[0]: ")},
		{"nestedfan", stopped(1, "nestedfan.chain[0]: exhausted")},
		{"nestedfansafe", won(2, "nestedfansafe.chain[0]: exhausted")},
		{"deepfan", stopped(1, "deepfan.chain[0]: ")},
		{"timed", stopped(1, "timed.chain[0]: timeout")},
		{"judged", won(2, "judged.chain[0]: timeout")},
		{"budget", outcome{firstgood.StatusExhausted, "", 1, []string{"safe: unavailable", "fails: no_start: the budget of budget is spent", "b: no_start: the budget"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, nil, func(w *world) { c.want.check(w.T, w.run(f, c.name, "Hi")) })
		})
	}
	t.Run("kept from starting by its health", func(t *testing.T) {
		inWorld(t, nil, func(w *world) {
			e := w.engineOf(f)
			run := func() *engine.Result {
				return bound(w, e, f, "run.cool").Run(w.Context(), firstgood.Text("Hi"), nil)
			}
			stopped(1, "cool: rate_limited").check(w.T, run())
			won(1, "cool: no_start: cooling for 1m0s").check(w.T, run())
		})
	})
}

func quotedSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%q", self)
}

// TestS40_IdempotencyKeyInTheHeader: each attempt has a key of its own, the same over its retries, and a judge does not share it.
func TestS40_IdempotencyKeyInTheHeader(t *testing.T) {
	keys := map[string][]string{}
	noting := func(name string, replies ...lab.Reply) lab.Model {
		answer := scripted(replies...)
		return func(ctx context.Context, r lab.Request) lab.Reply {
			keys[name] = append(keys[name], r.Header.Get("Idempotency-Key"))
			return answer(ctx, r)
		}
	}
	f := file(t, `
judge: judge
delegates:
  a: {`+at("a")+`, retries: 2}
  b: {`+at("b")+`, retries: 1}
  judge: {`+at("judging")+`, retries: 1}
patterns:
  inner: {pattern: fallback-chain, with: {chain: [a, b]}, config: {failure_criteria: "it declines"}}
  outer: {pattern: retry-with-learning, with: {target: inner}, config: {max_retries: 2}}
`)
	down := lab.Reply{Status: 503}
	models := map[string]lab.Model{
		"a":       noting("a", down),
		"b":       noting("b", down, lab.Reply{Text: "no"}, lab.Reply{Text: "yes"}),
		"judging": noting("judge", down, lab.Reply{Text: `{"is_failure": true, "reason": "it is short"}`}, lab.Reply{Text: `{"is_failure": false, "reason": "fine"}`}),
	}
	inWorld(t, models, func(w *world) {
		outcome{firstgood.StatusWon, "inner", 2, []string{"inner: exhausted"}}.check(w.T, w.run(f, "outer", "Hi"))
	})
	if len(keys["a"]) != 6 || len(keys["b"]) != 3 || len(keys["judge"]) != 3 {
		t.Fatalf("got the keys %q", keys)
	}
	attempts := [][]string{keys["a"][:3], keys["a"][3:], keys["b"][:2], keys["b"][2:]}
	seen := map[string]bool{}
	for i, of := range attempts {
		for _, key := range of {
			if key != of[0] || len(key) < 16 {
				t.Errorf("attempt %d has the keys %q", i, of)
			}
		}
		if seen[of[0]] {
			t.Errorf("attempt %d shares its key with another: %q", i, keys)
		}
		seen[of[0]] = true
	}
	for _, key := range keys["judge"] {
		if seen[key] {
			t.Errorf("the judge shares a delegate's key: %q", keys)
		}
	}
}

// TestS40_ProgramThatNotesItsKey is the program of the next test.
func TestS40_ProgramThatNotesItsKey(t *testing.T) {
	path := os.Getenv("NOTE")
	if path == "" {
		t.Skip("it is run by a test")
	}
	out, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	fmt.Fprintln(out, os.Getenv("FIRSTGOOD_IDEMPOTENCY_KEY"))
	t.Fatal("so that it is tried again")
}

// TestS40_IdempotencyKeyInTheEnvironment holds the same of programs.
func TestS40_IdempotencyKeyInTheEnvironment(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	program := `{command: {argv: [` + quotedSelf(t) + `, "-test.run=^TestS40_ProgramThatNotesItsKey$"], env: {NOTE: ` + fmt.Sprintf("%q", notes) + `}}, retries: 1}`
	f := file(t, `
delegates: {a: `+program+`, b: `+program+`}
patterns: {x: {pattern: fallback-chain, with: {chain: [a, b]}}}
`)
	b, err := made(t, engine.Config{}).Bind(ref(t, f, "x"), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	outcome{firstgood.StatusExhausted, "", 2, []string{"a: error", "b: error"}}.check(t, b.Run(ctx, firstgood.Text("Hi"), nil))
	data, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	keys := strings.Fields(string(data))
	if len(keys) != 4 || keys[0] != keys[1] || keys[2] != keys[3] || keys[0] == keys[2] {
		t.Errorf("got the keys %q", keys)
	}
}
