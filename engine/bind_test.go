package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
)

const bindFile = `
delegates:
  ok: {openai: {base_url: "http://lab.invalid/v1", model: ok}}
  nokey: {openai: {model: ok}}
  named: {openai: {base_url: "http://lab.invalid/v1", model: ok, api_key_env: MY_KEY}}
  unset: {openai: {base_url: "http://lab.invalid/v1", model: "${MODEL}"}}
  unset2: {http: {url: "${URL}?q={brief}", headers: {x-key: "${HEADER}"}}}
  baseless: {openai: {base_url: "${BASE}", model: ok}}
patterns:
  mixed: {pattern: fallback-chain, with: {chain: [nokey, unset, ok, nokey]}}
  none: {pattern: race, with: {candidates: [nokey, unset, nokey]}}
  empty: {pattern: race, with: {candidates: []}}
  inner: {pattern: race, with: {candidates: [unset]}}
  outer: {pattern: fallback-chain, with: {chain: [inner, ok]}}
  hopeless: {pattern: fallback-chain, with: {chain: [inner, nokey]}}
  judged: {pattern: fallback-chain, with: {chain: [ok]}, config: {failure_criteria: {text: w, judge: nokey}}}
  judgedbymember: {pattern: fallback-chain, with: {chain: [nokey, ok]}, config: {failure_criteria: {text: w, judge: nokey}}}
  judgedinside: {pattern: fallback-chain, with: {chain: [judged, ok]}}
  bench: {pattern: fallback-chain, with: {chain: [nokey, judge]}}
  judge: {pattern: fallback-chain, with: {chain: [ok]}}
  judgedbybench: {pattern: fallback-chain, with: {chain: [ok]}, config: {failure_criteria: {text: w, judge: bench}}}
  text: {pattern: fallback-chain, with: {chain: [ok]}, config: {failure_criteria: {text: "like ${EXAMPLE}", judge: ok}}}
  command: {pattern: fallback-chain, with: {chain: [ok]}, config: {failure_criteria: {command: [test, "${EXAMPLE}"]}}}
  textinside: {pattern: race, with: {candidates: [ok, text]}}
`

// TestBind_WhatCannotStart holds what a run that reaches a delegate without its key or variable does: it passes over it
// with a warning, or is refused where no delegate can start, or a judge cannot.
func TestBind_WhatCannotStart(t *testing.T) {
	f := file(t, bindFile)
	const (
		noKey  = "test.yaml:4:3: delegates.nokey: there is no API key: the environment variable OPENAI_API_KEY is not set; set it, or name another with api_key_env"
		noMine = "test.yaml:5:3: delegates.named: there is no API key: the environment variable MY_KEY is not set; set it, or name another with api_key_env"
		unset  = "test.yaml:6:63: delegates.unset.openai.model: the environment variable MODEL is not set; set it, or give it a default: ${MODEL:-…}"
	)
	for _, test := range []struct {
		name     string
		err      []string
		warnings []string
	}{
		{name: "ok"},
		{name: "nokey", err: []string{noKey}},
		{name: "named", err: []string{noMine}},
		{name: "unset", err: []string{unset}},
		{name: "unset2", err: []string{
			"test.yaml:7:25: delegates.unset2.http.url: the environment variable URL is not set; set it, or give it a default: ${URL:-…}",
			"test.yaml:7:62: delegates.unset2.http.headers.x-key: the environment variable HEADER is not set; set it, or give it a default: ${HEADER:-…}",
		}},
		{name: "mixed", warnings: []string{noKey, unset}},
		{name: "none", err: []string{noKey, unset}},
		{name: "empty"},
		{name: "inner", err: []string{unset}},
		{name: "outer", warnings: []string{unset}},
		{name: "hopeless", err: []string{unset, noKey}},
		{name: "judged", err: []string{noKey}},
		{name: "judgedbymember", err: []string{noKey}},
		{name: "judgedinside", err: []string{noKey}},
		{name: "bench", warnings: []string{noKey}},
		{name: "judgedbybench", warnings: []string{noKey}},
		{name: "text", err: []string{"test.yaml:22:96: patterns.text.config.failure_criteria.text: the environment variable EXAMPLE is not set; set it, or give it a default: ${EXAMPLE:-…}"}},
		{name: "command", err: []string{"test.yaml:23:104: patterns.command.config.failure_criteria.command[1]: the environment variable EXAMPLE is not set; set it, or give it a default: ${EXAMPLE:-…}"}},
		{name: "textinside", err: []string{"test.yaml:22:96: patterns.text.config.failure_criteria.text: the environment variable EXAMPLE is not set; set it, or give it a default: ${EXAMPLE:-…}"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, nil, func(w *world) {
				bound, err := w.engine().Bind(ref(t, f, test.name), 0)
				if len(test.err) > 0 {
					var problems config.Problems
					if !errors.As(err, &problems) || problems.Error() != strings.Join(test.err, "\n") || bound != nil {
						t.Errorf("got the error\n%v\nwant\n%s", err, strings.Join(test.err, "\n"))
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				var want []string
				for _, warning := range test.warnings {
					at := strings.Index(warning, ": ") + 2
					want = append(want, warning[:at]+"warning: "+warning[at:])
				}
				if got := bound.Warnings.Error(); got != strings.Join(want, "\n") {
					t.Errorf("got the warnings\n%s\nwant\n%s", got, strings.Join(want, "\n"))
				}
				if bound.Warnings.Failed() {
					t.Error("a warning is an error")
				}
			})
		})
	}
}

// TestBind_PassesOver holds what the history of a run says of a delegate that cannot start: what is missing, and where the
// file asks for it. It does not count as measured, and nobody is asked.
func TestBind_PassesOver(t *testing.T) {
	f := file(t, bindFile)
	inWorld(t, nil, func(w *world) {
		out := w.run(f, "mixed", "Hi").Outcome
		if out.Winner != "ok" || out.WinnerIndex != 2 || out.Attempts != 3 || len(out.History) != 2 {
			w.Fatalf("got %+v", out)
		}
		first, second := out.History[0], out.History[1]
		if first.Kind != firstgood.KindAuth || !strings.Contains(first.Reason, "OPENAI_API_KEY is not set") || first.Detail != "test.yaml:4:3" {
			w.Errorf("got %+v", first)
		}
		if second.Kind != firstgood.KindBadRequest || !strings.Contains(second.Reason, "MODEL is not set") || second.Detail != "test.yaml:6:63" {
			w.Errorf("got %+v", second)
		}
		if n := len(w.lab.Visits()); n != 1 {
			w.Errorf("the lab was visited %d times, want once", n)
		}
	})
}

// TestBind_Keys holds where keys of the environment go: to who names them, and OpenAI's own to who has no base_url.
func TestBind_Keys(t *testing.T) {
	f := file(t, bindFile)
	for _, test := range []struct {
		name string
		env  map[string]string
		sent bool
	}{
		{"ok", map[string]string{"OPENAI_API_KEY": "sk-1"}, false},
		{"named", map[string]string{"MY_KEY": "sk-1"}, true},
		{"nokey", map[string]string{"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "http://lab.invalid/v1"}, true},
		{"nokey", map[string]string{"OPENAI_BASE_URL": "http://lab.invalid/v1"}, false}, // a local server needs none
		{"unset", map[string]string{"MODEL": "ok", "OPENAI_API_KEY": "sk-1"}, false},
	} {
		inWorld(t, nil, func(w *world) {
			w.env = test.env
			if result := w.run(f, test.name, "Hi"); result.Err != nil {
				w.Errorf("%s with %v: %v", test.name, test.env, result.Err)
			}
			for _, v := range w.lab.Visits() {
				if v.Authorization != test.sent {
					w.Errorf("%s with %v: Authorization %v, want %v", test.name, test.env, v.Authorization, test.sent)
				}
			}
		})
	}
}

// TestBind_SettingsThatOnlyTheEnvironmentMakesWrong are refused with the place of the delegate, and without the value.
func TestBind_SettingsThatOnlyTheEnvironmentMakesWrong(t *testing.T) {
	f := file(t, bindFile)
	inWorld(t, nil, func(w *world) {
		w.env = map[string]string{"BASE": "ftp://user:sk-secret@nowhere/v1", "URL": "gopher://sk-secret", "HEADER": "sk-secret\nx"}
		for _, name := range []string{"baseless", "unset2"} {
			bound, err := w.engine().Bind(ref(t, f, name), 0)
			if err == nil || bound != nil || !strings.HasPrefix(err.Error(), "test.yaml:") {
				w.Errorf("%s: got %v", name, err)
			}
			if err != nil && strings.Contains(err.Error(), "sk-secret") {
				w.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestBind_SharesDelegates holds that an engine makes each delegate once, and that a bound run is independent of the next.
func TestBind_Twice(t *testing.T) {
	f := file(t, bindFile)
	inWorld(t, nil, func(w *world) {
		e := w.engine()
		for range 2 {
			bound, err := e.Bind(ref(t, f, "mixed"), 0)
			if err != nil {
				w.Fatal(err)
			}
			if len(bound.Warnings) != 2 {
				w.Errorf("got the warnings %v", bound.Warnings)
			}
			if result := bound.Run(w.Context(), firstgood.Text("Hi"), nil); result.Err != nil {
				w.Error(result.Err)
			}
		}
	})
}

// TestBind_Unmade are refs that no file leads to.
func TestBind_Unmade(t *testing.T) {
	e := made(t, engine.Config{})
	if _, err := e.Bind(config.Ref{Name: "x", Instance: &config.Instance{Name: "x", Pattern: "relay"}}, 0); err == nil || !strings.Contains(err.Error(), `no pattern "relay"`) {
		t.Errorf("got %v", err)
	}
	if _, err := e.Bind(config.Ref{Name: "x", Delegate: &config.Delegate{Name: "x", Kind: "oracle"}}, 0); err == nil || !strings.Contains(err.Error(), "no delegate is made of kind oracle") {
		t.Errorf("got %v", err)
	}
}
