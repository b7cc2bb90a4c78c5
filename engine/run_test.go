package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

const runFile = `
judge: judge
delegates:
  broken: {%BROKEN%}
  sorry: {%SORRY%}
  good: {%GOOD%}
  json: {%JSON%}
  hung: {%HUNG%}
  impatient: {%HUNG%, timeout: 2s}
  judge: {%JUDGE%}
  services: {http: {url: "http://lab.invalid/v1/models?q={brief}", result: "data.0"}}
patterns:
  answer:
    pattern: fallback-chain
    with: {chain: [broken, sorry, good]}
    config: {failure_criteria: "it does not answer"}
  quick: {pattern: race, with: {candidates: [hung, good, broken]}}
  all: {pattern: fan-out, with: {delegates: [good, broken, json, services]}}
  outer: {pattern: fallback-chain, with: {chain: [hopeless, quick]}}
  hopeless: {pattern: race, with: {candidates: [broken, impatient]}}
  slow: {pattern: fallback-chain, with: {chain: [broken, hung, good]}, config: {timeout: 5s}}
  unjudged: {pattern: fallback-chain, with: {chain: [good]}, config: {acceptance_criteria: {text: "it is fine", judge: broken}}}
  none: {pattern: race, with: {candidates: []}}
`

func runsFile() string {
	return strings.NewReplacer("%BROKEN%", at("500"), "%SORRY%", at("sorry"), "%GOOD%", at("good"), "%JSON%", at("json"),
		"%HUNG%", at("hang"), "%JUDGE%", at("judge")).Replace(runFile)
}

var runModels = map[string]lab.Model{
	"sorry": saying("Sorry, I cannot.", time.Second),
	"good":  saying("Paris <b>&</b> 🙂", 1500*time.Millisecond),
	"json":  saying(`{"a": 1}`, 250*time.Millisecond),
}

// TestResult_JSON holds the whole JSON of runs of every sort, in virtual time, so that its times are right values too.
func TestResult_JSON(t *testing.T) {
	f := file(t, runsFile())
	for _, test := range []struct {
		name   string
		cancel time.Duration
		status firstgood.Status
	}{
		{"answer", 0, firstgood.StatusWon},
		{"quick", 0, firstgood.StatusWon},
		{"all", 0, firstgood.StatusWon},
		{"outer", 0, firstgood.StatusWon},
		{"good", 0, firstgood.StatusWon},
		{"services", 0, firstgood.StatusWon},
		{"hopeless", 0, firstgood.StatusExhausted},
		{"slow", 0, firstgood.StatusTimeout},
		{"slow", 3 * time.Second, firstgood.StatusCancelled},
		{"unjudged", 0, firstgood.StatusJudgeError},
		{"none", 0, firstgood.StatusExhausted},
	} {
		name := test.name
		if test.cancel > 0 {
			name += "-cancelled"
		}
		t.Run(name, func(t *testing.T) {
			inWorld(t, runModels, func(w *world) {
				ctx, cancel := context.WithCancelCause(w.Context())
				defer cancel(nil)
				cause := errors.New("the caller has had enough")
				if test.cancel > 0 {
					time.AfterFunc(test.cancel, func() { cancel(cause) })
				}
				bound := w.bind(f, test.name)
				result := bound.Run(ctx, firstgood.Text("What is it?"), nil)
				if result.Outcome.Status != test.status || (result.Err == nil) != (test.status == firstgood.StatusWon) {
					w.Errorf("got %s, %v", result.Outcome.Status, result.Err)
				}
				if test.cancel > 0 && !errors.Is(result.Err, cause) {
					w.Errorf("got %v, want the caller's cause", result.Err)
				}
				want(w.T, "testdata/"+name+".json", pretty(w.T, result))
				if err := bound.Drain(w.Context()); err != nil {
					w.Error(err)
				}
			})
		})
	}
}

// TestResult_EveryFieldIsThere holds that the zero Result, too, has all fields, and no list that is null.
func TestResult_EveryFieldIsThere(t *testing.T) {
	data, err := (&engine.Result{Outcome: firstgood.Outcome[firstgood.Reply]{WinnerIndex: -1}}).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 18 {
		t.Errorf("got %d fields, want 18: %s", len(got), data)
	}
	for _, list := range []string{"winner_path", "failure_history", "calls"} {
		if _, ok := got[list].([]any); !ok {
			t.Errorf("%s is %v, want a list", list, got[list])
		}
	}
	for _, null := range []string{"pattern", "result", "winner", "winner_index", "error"} {
		if got[null] != nil {
			t.Errorf("%s is %v, want null", null, got[null])
		}
	}
}

// TestRun_IDsDiffer holds that each run has an id of its own.
func TestRun_IDsDiffer(t *testing.T) {
	f := file(t, runsFile())
	inWorld(t, runModels, func(w *world) {
		seen := map[string]bool{}
		bound := w.bind(f, "json")
		for range 20 {
			seen[bound.Run(w.Context(), firstgood.Text("Hi"), nil).ID] = true
		}
		if len(seen) != 20 {
			w.Errorf("got %d ids of 20 runs", len(seen))
		}
	})
}

// TestRun_Watch holds that who watches sees each call begin and end, in order, also after the decision.
func TestRun_Watch(t *testing.T) {
	f := file(t, runsFile())
	inWorld(t, runModels, func(w *world) {
		var seen []string
		bound := w.bind(f, "quick")
		bound.Run(w.Context(), firstgood.Text("Hi"), func(c firstgood.Call) {
			seen = append(seen, c.Delegate+" "+string(c.State))
		})
		if err := bound.Drain(w.Context()); err != nil {
			w.Error(err)
		}
		got := strings.Join(seen, ", ")
		if !strings.HasPrefix(got, "hung running, good running, broken running, broken failed, ") ||
			!strings.Contains(got, "good won") || !strings.Contains(got, "hung cancelled") {
			w.Errorf("got %s", got)
		}
	})
}

// TestS46_TotalsCountLosersAndJudgesOnce adds up by hand what a nested run with judges has used.
func TestS46_TotalsCountLosersAndJudgesOnce(t *testing.T) {
	f := file(t, `
judge: bench
delegates:
  one: {`+at("one")+`}
  two: {`+at("two")+`}
  judge: {`+at("judge")+`}
patterns:
  bench: {pattern: fallback-chain, with: {chain: [judge]}}
  inner: {pattern: fallback-chain, with: {chain: [one, two]}, config: {failure_criteria: "it declines"}}
  race: {pattern: race, with: {candidates: [one, inner]}, config: {order: listed, failure_criteria: "it declines"}}
`)
	models := map[string]lab.Model{"one": saying("Sorry", time.Second), "two": saying("Well done", time.Second)}
	inWorld(t, models, func(w *world) {
		result := w.run(f, "race", "one two three")
		if result.Outcome.Winner != "inner" {
			w.Fatalf("got %v", result.Err)
		}
		var want firstgood.Usage
		nested := 0
		for i, c := range result.Outcome.Calls {
			if c.Nested {
				nested++
				continue
			}
			if c.Usage.Source != firstgood.SourceMeasured || c.Usage.InputTokens == 0 || c.Usage.OutputTokens == 0 {
				w.Errorf("%s, call %d, has the usage %v", c.Delegate, i, c.Usage)
			}
			if want == (firstgood.Usage{}) {
				want = c.Usage
			} else {
				want = want.Add(c.Usage)
			}
		}
		// one; inner: one, bench: judge, two, bench: judge; bench: judge about each candidate.
		if calls := len(result.Outcome.Calls); calls != 12 || nested != 5 {
			w.Errorf("got %d calls, %d of them nested: %v", calls, nested, result.Outcome.Calls)
		}
		if got := firstgood.Total(result.Outcome.Calls); got != want {
			w.Errorf("got the total %v, want %v", got, want)
		}
		var document struct {
			Usage firstgood.Usage
			Calls []struct {
				Path  []string
				Usage firstgood.Usage
			}
		}
		if err := json.Unmarshal([]byte(pretty(w.T, result)), &document); err != nil {
			w.Fatal(err)
		}
		sum := firstgood.Usage{Source: firstgood.SourceMeasured}
		for _, c := range document.Calls {
			sum = sum.Add(c.Usage)
		}
		if document.Usage != want || sum != want {
			w.Errorf("got the total %v and the sum %v, want both %v", document.Usage, sum, want)
		}
		if got := strings.Join(document.Calls[len(document.Calls)-1].Path, "/"); got != "inner/bench/judge" {
			w.Errorf("got the path %s", got)
		}
	})
}

// TestBound_ManyRunsAtOnce runs one Bound a hundred times at once. What one run is told never shows in another.
func TestBound_ManyRunsAtOnce(t *testing.T) {
	f := file(t, `
judge: judge
delegates:
  broken: {`+at("500")+`}
  echo: {`+at("echo")+`}
  hung: {`+at("hang")+`}
  judge: {`+at("judge")+`}
patterns:
  inner: {pattern: fallback-chain, with: {chain: [broken, echo]}, config: {failure_criteria: "it declines"}}
  outer: {pattern: race, with: {candidates: [hung, inner, broken]}}
`)
	const runs = 100
	inWorld(t, nil, func(w *world) {
		bound := w.bind(f, "outer")
		var group sync.WaitGroup
		for i := range runs {
			group.Go(func() {
				brief := fmt.Sprintf("brief number %d", i)
				result := bound.Run(w.Context(), firstgood.Text(brief), nil)
				out := result.Outcome
				if out.Result.Text != brief || strings.Join(out.WinnerPath, "/") != "inner/echo" || len(out.Calls) != 6 {
					w.Errorf("run %d got %q by %v in %d calls, %v", i, out.Result.Text, out.WinnerPath, len(out.Calls), result.Err)
				}
			})
		}
		group.Wait()
		if err := bound.Drain(w.Context()); err != nil {
			w.Error(err)
		}
		// A loser may be told so before its request is on the way; a winner's requests have all come.
		for _, model := range []string{"echo", "judge"} {
			if n := len(w.asked(model)); n != runs {
				w.Errorf("%s was asked %d times, want %d", model, n, runs)
			}
		}
		if n := len(w.asked("hang")); n > runs {
			w.Errorf("the hung one was asked %d times, want at most %d", n, runs)
		}
	})
}

// deafTransport serves requests to deaf.invalid by ignoring that nobody waits any more, until released.
type deafTransport struct {
	http.RoundTripper
	entered, release chan struct{}
}

func (d *deafTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "deaf.invalid" {
		return d.RoundTripper.RoundTrip(r)
	}
	d.entered <- struct{}{}
	<-d.release
	return nil, errors.New("released")
}

// TestDrain_WaitsForWhoIsDeaf holds that Drain waits for losers, for judges that were left behind when their own time was
// up, and for judges of judges, however long they take.
func TestDrain_WaitsForWhoIsDeaf(t *testing.T) {
	deaf := `openai: {base_url: "http://deaf.invalid/v1", model: x}`
	f := file(t, `
delegates:
  good: {`+at("ok")+`}
  deaf: {`+deaf+`}
  deafjudge: {`+deaf+`, timeout: 3s}
patterns:
  race: {pattern: race, with: {candidates: [deaf, good]}}
  judged: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: deafjudge}}}
  bench: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: deafjudge}}}
  twice: {pattern: fallback-chain, with: {chain: [good]}, config: {failure_criteria: {text: w, judge: bench}}}
  outer: {pattern: race, with: {candidates: [judged]}}
  limited: {pattern: fallback-chain, with: {chain: [deaf]}, config: {timeout: 2s}}
`)
	for name, took := range map[string]time.Duration{
		"race": 0, "judged": 3 * time.Second, "twice": 3 * time.Second, "outer": 3 * time.Second, "limited": 2 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *world) {
				transport := &deafTransport{w.client.Transport, make(chan struct{}, 1), make(chan struct{})}
				w.client = &http.Client{Transport: transport}
				bound := w.bind(f, name)
				result := bound.Run(w.Context(), firstgood.Text("Hi"), nil)
				if result.Outcome.Duration != took {
					w.Errorf("the run took %v, want %v", result.Outcome.Duration, took)
				}
				<-transport.entered

				limit := errors.New("waited long enough")
				ctx, cancel := context.WithTimeoutCause(w.Context(), time.Hour, limit)
				defer cancel()
				if err := bound.Drain(ctx); !errors.Is(err, limit) {
					w.Errorf("Drain got %v while one is at work, want %v", err, limit)
				}

				drained := make(chan error, 2)
				for range 2 { // may be called by several
					go func() { drained <- bound.Drain(w.Context()) }()
				}
				synctest.Wait()
				if len(drained) != 0 {
					w.Error("Drain has returned while one is at work")
				}
				close(transport.release)
				if err := errors.Join(<-drained, <-drained); err != nil {
					w.Error(err)
				}
			})
		})
	}
}
