package composite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var fence = regexp.MustCompile("(?s)^(.*?\n```javascript\n)(.*?)\n```")

// document returns the config of a document's body. It skips where there is no such document.
func document(t testing.TB, file string) Config {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no " + file)
	}
	found := fence.FindSubmatch(text)
	if err != nil || found == nil {
		t.Fatalf("%s has no body (%v)", file, err)
	}
	c := config(string(found[2]))
	c.File, c.Line = file, strings.Count(string(found[1]), "\n")+1
	if strings.Contains(c.Source, "__compositeState") {
		c.StateName = "compositeState"
	}
	return c
}

func seed(t testing.TB, name string) Config {
	t.Helper()
	dir := os.Getenv("FIRSTGOOD_SEEDS")
	if dir == "" {
		dir = "../../shared/seeds"
	}
	return document(t, filepath.Join(dir, name))
}

// answers are delegates by name, "" for who is named by no use. An answer that begins with ! is an error.
type answers map[string]string

func (a answers) call(_ context.Context, c Call) (string, error) {
	name := ""
	if c.Use != nil {
		name = *c.Use
	}
	text, ok := a[name]
	if reason, fails := strings.CutPrefix(text, "!"); fails || !ok {
		return "", errors.New(reason)
	}
	return text, nil
}

func TestSeeds_FallbackChain(t *testing.T) {
	for _, test := range []struct {
		criteria, value, state string
		answers                answers
	}{
		{"", `"B"`, `{"attempts":2,"failure_history":[{"delegate":"a","reason":"down"}],"result":"B","winner":"b"}`,
			answers{"a": "!down", "b": "B", "c": "C"}},
		{"", `null`, `{"attempts":3,"failure_history":[{"delegate":"a","reason":"1"},{"delegate":"b","reason":"2"},{"delegate":"c","reason":"3"}],"result":null,"winner":null}`,
			answers{"a": "!1", "b": "!2", "c": "!3"}},
		{"empty", `null`, `{"attempts":3,"failure_history":[{"delegate":"a","reason":"r"},{"delegate":"b","reason":"r"},{"delegate":"c","reason":"r"}],"result":null,"winner":null}`,
			answers{"a": "A", "b": "B", "c": "C", "": `So: {"is_failure": true, "reason": "r"}`}},
		{"empty", `"A"`, `{"attempts":1,"failure_history":[],"result":"A","winner":"a"}`,
			answers{"a": "A", "": `no idea`}},
		{"empty", `null`, `{"attempts":3,"failure_history":[{"delegate":"a","reason":"judge"},{"delegate":"b","reason":"judge"},{"delegate":"c","reason":"judge"}],"result":null,"winner":null}`,
			answers{"a": "A", "b": "B", "c": "C", "": `!judge`}},
	} {
		c := seed(t, "fallback-chain.composite.md")
		c.State, _ = json.Marshal(map[string]any{"chain": []string{"a", "b", "c"}, "task_brief": "t", "failure_criteria": test.criteria, "winner": "stale"})
		c.Call = test.answers.call
		wantRun(t, c, test.value, test.state)
	}
}

func TestSeeds_Race(t *testing.T) {
	for _, test := range []struct {
		criteria, value, state string
		answers                answers
	}{
		{"", `"B"`, `{"attempts":2,"result":"B","winner":"b"}`, answers{"a": "!down", "b": "B"}},
		{"", `null`, `{"attempts":2,"result":null,"winner":null}`, answers{"a": "!1", "b": "!2"}},
		{"good", `null`, `{"attempts":2,"result":null,"winner":null}`, answers{"a": "A", "b": "B", "": `{"acceptable": false}`}},
	} {
		c := seed(t, "race.composite.md")
		c.State, _ = json.Marshal(map[string]any{"candidates": []string{"a", "b"}, "task_brief": "t", "acceptance_criteria": test.criteria})
		c.Call = test.answers.call
		wantRun(t, c, test.value, test.state)
	}
	// A judge's outage goes through the body, which does not catch it.
	c := seed(t, "race.composite.md")
	c.State = json.RawMessage(`{"candidates":["a"],"task_brief":"t","acceptance_criteria":"c"}`)
	c.Call = answers{"a": "A", "": "!no judge"}.call
	if _, err := Run(t.Context(), c); !errors.Is(err, ErrThrown) || !strings.HasSuffix(err.Error(), ": thrown: no judge") {
		t.Errorf("got %v", err)
	}
}

// wantRun wants the state to have what is given, beside what it had.
func wantRun(t *testing.T, c Config, value, state string) {
	t.Helper()
	got, err := Run(t.Context(), c)
	var all map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(got.State, &all)
	}
	var before map[string]json.RawMessage
	_ = json.Unmarshal(c.State, &before)
	for key := range before {
		if key != "winner" {
			delete(all, key)
		}
	}
	written, _ := json.Marshal(all)
	if err != nil || string(got.Value) != value || string(written) != state {
		t.Errorf("got  %s, %s, %v\nwant %s, %s", got.Value, written, err, value, state)
	}
}

// TestUpstream runs the composites of a checkout of openprose/prose, at a revision that has them, with delegates that
// answer what all of the bodies can read.
func TestUpstream(t *testing.T) {
	root := os.Getenv("FIRSTGOOD_OPENPROSE_C")
	if root == "" {
		t.Skip("FIRSTGOOD_OPENPROSE_C names no checkout")
	}
	files, err := filepath.Glob(filepath.Join(root, "packages/std/co*/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		if filepath.Base(file) == "README.md" {
			continue
		}
		ran++
		t.Run(strings.TrimSuffix(filepath.Base(file), ".md"), func(t *testing.T) {
			c := document(t, file)
			c.State = json.RawMessage(`{"chain":["a","b"],"candidates":["a","b"],"delegates":["a","b"],"stages":["a","b"],"target":"a","guard":"g",
				"mapper":"a","reducer":"b","chunks":["1",{"x":2}],"refiner":"a","evaluator":"b","miner":"a","comparator":"b","reviewer":"a",
				"reader":"a","sync_analyst":"b","measurement":"a","ranker":"b","thesis":"a","antithesis":"b","ensemble_member":"a","synthesizer":"b",
				"actor":"a","observer":"b","arbiter":"c","proposer":"a","adversary":"b","advancer":"a","certifier":"b","probe":"a","analyst":"b",
				"worker":"a","critic":"b","task_brief":"t","criteria":"c","material":"m","materials":["m1","m2"],"corpus_a":"A","corpus_b":"B",
				"candidate_a":{"x":1},"candidate_b":{"x":2},"dimension":"d","tiers":[{"model":"small","count":2},{"model":"large"}]}`)
			var mu sync.Mutex
			calls := 0
			c.Call = func(_ context.Context, call Call) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				calls++
				if call.Use == nil {
					return "", errors.New("no criteria are set, and a judge is asked")
				}
				return fmt.Sprintf(`{"verdict":"accept","proceed":true,"score":0.9,"by":%q,"call":%d}`, *call.Use, calls), nil
			}
			got, err := Run(t.Context(), c)
			if err != nil || calls == 0 {
				t.Fatalf("got %v after %d calls", err, calls)
			}
			var state map[string]json.RawMessage
			if err := json.Unmarshal(got.State, &state); err != nil {
				t.Fatal(err)
			}
			if string(state["result"]) != string(got.Value) || len(got.Value) < 10 {
				t.Errorf("returned %s, and the state has %s", got.Value, state["result"])
			}
			t.Logf("%d calls; returned %.120s", calls, got.Value)
		})
	}
	if ran != 19 {
		t.Errorf("ran %d composites, want 19", ran)
	}
}

// BenchmarkRun_FallbackChain is the seed, whose first delegate wins.
func BenchmarkRun_FallbackChain(b *testing.B) {
	c := seed(b, "fallback-chain.composite.md")
	c.State = json.RawMessage(`{"chain":["a","b","c"],"task_brief":"t"}`)
	c.Call = answers{"a": "!down", "b": "!down", "c": "C"}.call
	for b.Loop() {
		if got, err := Run(b.Context(), c); err != nil || string(got.Value) != `"C"` {
			b.Fatal(string(got.Value), err)
		}
	}
}
