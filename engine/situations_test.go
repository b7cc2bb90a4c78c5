package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/health"
	"github.com/firstgood/firstgood/lab"
)

// The situations that a file's settings decide, each through the file, the engine and the wire, in virtual time.

// told is a history, an entry a line.
func told(history []firstgood.Failure) []string {
	lines := make([]string, len(history))
	for i, f := range history {
		lines[i] = f.String()
	}
	return lines
}

// outcome is what a run is expected to be.
type outcome struct {
	status   firstgood.Status
	winner   string
	attempts int
	history  []string // how each entry begins
}

func (o outcome) check(t *testing.T, r *engine.Result) {
	t.Helper()
	out := r.Outcome
	if out.Status != o.status || out.Winner != o.winner || out.Attempts != o.attempts {
		t.Errorf("got %s, winner %q, %d attempts, want %s, %q, %d", out.Status, out.Winner, out.Attempts, o.status, o.winner, o.attempts)
	}
	got := told(out.History)
	same := len(got) == len(o.history)
	for i := 0; same && i < len(got); i++ {
		same = strings.HasPrefix(got[i], o.history[i])
	}
	if !same {
		t.Errorf("got the history\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(o.history, "\n"))
	}
}

// failingWith is a model that answers with an error.
func failingWith(status int, message, code string) lab.Model {
	return func(context.Context, lab.Request) lab.Reply {
		return lab.Reply{Status: status, Error: &lab.Error{Message: message, Type: "invalid_request_error", Code: code}}
	}
}

// scripted gives its replies one after another, and the last for ever.
func scripted(replies ...lab.Reply) lab.Model {
	next := make(chan lab.Reply, len(replies))
	for _, reply := range replies {
		next <- reply
	}
	return func(context.Context, lab.Request) lab.Reply {
		select {
		case reply := <-next:
			return reply
		default:
			return replies[len(replies)-1]
		}
	}
}

func tooMany(after string) lab.Reply {
	reply := lab.Reply{Status: http.StatusTooManyRequests}
	if after != "" {
		reply.Header = http.Header{"Retry-After": {after}}
	}
	return reply
}

// TestS25_RateLimitedIsLeftAlone: a 429 advances, and the delegate is not called for the default, or for as long as it
// asked; after that it is.
func TestS25_RateLimitedIsLeftAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		first lab.Reply
		set   string // of the file
		alone time.Duration
		kept  string // what the history says a second later
		kind  string
	}{
		{"default", tooMany(""), "health: true", health.DefaultRateLimited, "cooling for 29s after rate_limited (until ", "rate_limited: 429"},
		{"Retry-After", tooMany("60"), "health: true", time.Minute, "cooling for 59s after rate_limited (until ", "rate_limited: 429"},
		{"Retry-After is shorter than the default", tooMany("2"), "health: true", 2 * time.Second, "cooling for 1s after rate_limited (until ", "rate_limited: 429"},
		{"in milliseconds", lab.Reply{Status: 429, Header: http.Header{"Retry-After-Ms": {"90000"}}}, "health: true", 90 * time.Second, "cooling for 1m29s after rate_limited (until ", "rate_limited: 429"},
		{"not beyond the most", tooMany("86400"), "health: {max_cooldown: 10m}", 10 * time.Minute, "cooling for 9m59s after rate_limited (until ", "rate_limited: 429"},
		{"200 whose body is one", lab.Reply{Error: &lab.Error{Message: "slow down", Code: "rate_limit_exceeded"}}, "health: true", health.DefaultRateLimited, "cooling for 29s after rate_limited (until ", "rate_limited: "},
		{"unavailable", lab.Reply{Status: 503}, "health: {breaker: false}", health.DefaultUnavailable, "cooling for 4s after unavailable (until ", "unavailable: 503"},
		{"the file's own", tooMany(""), "health: {cooldown: {rate_limited: 3m}}", 3 * time.Minute, "cooling for 2m59s after rate_limited (until ", "rate_limited: 429"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := file(t, c.set+`
delegates: {a: {`+at("a")+`}, b: {`+at("b")+`}}
patterns:
  chain: {pattern: fallback-chain, with: {chain: [a, b]}}
  other: {pattern: fallback-chain, with: {chain: [a, b]}}
`)
			inWorld(t, map[string]lab.Model{"a": scripted(c.first, lab.Reply{Text: "A"}), "b": saying("B", 0)}, func(w *world) {
				e := w.engineOf(f)
				run := func(name string) *engine.Result {
					return bound(w, e, f, name).Run(w.Context(), firstgood.Text("Hi"), nil)
				}
				outcome{firstgood.StatusWon, "b", 2, []string{"a: " + c.kind}}.check(w.T, run("chain"))
				began := time.Now()
				pass(time.Second)

				next := run("other") // health is the delegate's, not the instance's
				outcome{firstgood.StatusWon, "b", 1, []string{"a: no_start: " + c.kept}}.check(w.T, next)
				if len(next.Outcome.History) == 1 {
					until := began.Add(c.alone)
					if at := until.Format(time.TimeOnly); !strings.Contains(next.Outcome.History[0].Reason, at) {
						w.Errorf("got %s, want %s in it", next.Outcome.History[0], at)
					}
					var cooling *health.CoolingError
					if !errors.As(next.Outcome.History[0].Err, &cooling) || !cooling.Until.Equal(until) {
						w.Errorf("got the error %v, want one until %v", next.Outcome.History[0].Err, until)
					}
				}
				if n := len(w.asked("a")); n != 1 {
					w.Errorf("a was asked %d times, want once", n)
				}

				pass(c.alone - time.Second - time.Millisecond)
				outcome{firstgood.StatusWon, "b", 1, []string{"a: no_start: cooling for 1ms after "}}.check(w.T, run("chain"))
				pass(time.Millisecond)
				outcome{firstgood.StatusWon, "a", 1, nil}.check(w.T, run("chain"))
				if s := e.Health().State("a"); s.State != health.OK || s.Successes != 1 || s.Failures != 1 {
					w.Errorf("got %+v", s)
				}
			})
		})
	}
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// bound is what an engine of the test's makes of a name.
func bound(w *world, e *engine.Engine, f *config.File, name string) *engine.Bound {
	w.Helper()
	b, err := e.Bind(ref(w.T, f, name), 0)
	if err != nil {
		w.Fatal(err)
	}
	return b
}

// TestS25_WithoutHealthNothingIsRemembered: it is opt-in.
func TestS25_WithoutHealthNothingIsRemembered(t *testing.T) {
	f := file(t, `
delegates: {a: {`+at("429:60")+`}, b: {`+at("ok:B")+`}}
patterns: {chain: {pattern: fallback-chain, with: {chain: [a, b]}}}
`)
	inWorld(t, nil, func(w *world) {
		e := w.engineOf(f)
		for range 2 {
			outcome{firstgood.StatusWon, "b", 2, []string{"a: rate_limited: 429"}}.check(w.T, bound(w, e, f, "chain").Run(w.Context(), firstgood.Text("Hi"), nil))
		}
		if e.Health() != nil {
			w.Error("health is kept")
		}
	})
}

// TestS26_AllCooling: no_start for each, with when it recovers; wait_for_recovery waits for the first, and no longer than it
// says.
func TestS26_AllCooling(t *testing.T) {
	for _, c := range []struct {
		name   string
		config string
		took   time.Duration
		want   outcome
	}{
		{"not waiting", "", 0, outcome{firstgood.StatusExhausted, "", 0, []string{"a: no_start: cooling for 1m0s", "b: no_start: cooling for 20s", "judged: exhausted"}}},
		{"waiting", "wait_for_recovery: 30s", 20 * time.Second, outcome{firstgood.StatusWon, "b", 1, []string{"a: no_start: cooling for 40s"}}},
		{"waiting just long enough", "wait_for_recovery: 20s", 20 * time.Second, outcome{firstgood.StatusWon, "b", 1, []string{"a: no_start: cooling for 40s"}}},
		{"too long to wait", "wait_for_recovery: 19s", 0, outcome{firstgood.StatusExhausted, "", 0, []string{"a: no_start: cooling for 1m0s", "b: no_start: cooling for 20s", "judged: exhausted"}}},
		{"a run with time left", "wait_for_recovery: 20s, timeout: 30s", 20 * time.Second, outcome{firstgood.StatusWon, "b", 1, []string{"a: no_start: cooling for 40s"}}},
		{"a run without that much time", "wait_for_recovery: 30s, timeout: 10s", 0, outcome{firstgood.StatusExhausted, "", 0, []string{"a: no_start: cooling for 1m0s", "b: no_start: cooling for 20s", "judged: exhausted"}}},
	} {
		for _, judged := range []bool{false, true} {
			settings := c.config
			if judged { // a judge that is well is nobody to start
				settings = strings.TrimPrefix(settings+`, failure_criteria: {text: it declines, judge: judge}`, ", ")
			}
			for _, nested := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s judged=%v nested=%v", c.name, judged, nested), func(t *testing.T) {
					chain, want := "[a, b]", c.want
					want.history = slices.Clone(want.history)
					if want.status == firstgood.StatusExhausted {
						want.history = want.history[:2]
					}
					if nested {
						chain = "[inner]"
						if want.history = nil; want.status == firstgood.StatusExhausted {
							want.attempts, want.history = 1, []string{"inner: exhausted: "}
						} else {
							want.winner = "inner"
						}
					}
					f := file(t, `
health: true
delegates: {a: {`+at("a")+`}, b: {`+at("b")+`}, judge: {`+at("judge")+`}}
patterns:
  inner: {pattern: race, with: {candidates: [a, b]}}
  first: {pattern: race, with: {candidates: [a, b]}}
  then: {pattern: fallback-chain, with: {chain: `+chain+`}, config: {`+settings+`}}
`)
					models := map[string]lab.Model{"a": scripted(tooMany("60"), lab.Reply{Text: "A"}), "b": scripted(tooMany("20"), lab.Reply{Text: "B"})}
					inWorld(t, models, func(w *world) {
						e := w.engineOf(f)
						bound(w, e, f, "first").Run(w.Context(), firstgood.Text("Hi"), nil)
						began := time.Now()
						result := bound(w, e, f, "then").Run(w.Context(), firstgood.Text("Hi"), nil)
						want.check(w.T, result)
						if took := time.Since(began); took != c.took || result.Outcome.Duration != took {
							w.Errorf("took %v, and said %v, want %v", took, result.Outcome.Duration, c.took)
						}
					})
				})
			}
		}
	}
}

// TestS26_TheWaitIsTheRunsTime: what a run waits for recovery is taken from its timeout, and the caller ends it too.
func TestS26_TheWaitIsTheRunsTime(t *testing.T) {
	f := file(t, `
health: true
delegates: {a: {`+at("a")+`}}
patterns:
  first: {pattern: fallback-chain, with: {chain: [a]}}
  then: {pattern: fallback-chain, with: {chain: [a]}, config: {wait_for_recovery: 25s, timeout: 30s}}
`)
	begin := func(w *world) *engine.Bound {
		e := w.engineOf(f)
		bound(w, e, f, "first").Run(w.Context(), firstgood.Text("Hi"), nil)
		return bound(w, e, f, "then")
	}
	inWorld(t, map[string]lab.Model{"a": scripted(tooMany("20"), lab.Reply{Text: "late", Delay: 15 * time.Second})}, func(w *world) {
		b, began := begin(w), time.Now()
		result := b.Run(w.Context(), firstgood.Text("Hi"), nil)
		outcome{firstgood.StatusTimeout, "", 1, nil}.check(w.T, result)
		if took := time.Since(began); took != 30*time.Second || result.Outcome.Duration != took || !errors.Is(result.Err, context.DeadlineExceeded) {
			w.Errorf("took %v, said %v, %v", took, result.Outcome.Duration, result.Err)
		}
		if err := b.Drain(w.Context()); err != nil {
			w.Error(err)
		}
	})
	inWorld(t, map[string]lab.Model{"a": scripted(tooMany("20"), lab.Reply{Text: "A", Delay: 5 * time.Second})}, func(w *world) {
		b := begin(w)
		result := b.Run(w.Context(), firstgood.Text("Hi"), nil)
		outcome{firstgood.StatusWon, "a", 1, nil}.check(w.T, result)
		if result.Outcome.Duration != 25*time.Second {
			w.Errorf("took %v", result.Outcome.Duration)
		}
	})
	inWorld(t, map[string]lab.Model{"a": scripted(tooMany("20"), lab.Reply{Text: "A"})}, func(w *world) {
		b, cause := begin(w), errors.New("the caller has had enough")
		ctx, cancel := context.WithCancelCause(w.Context())
		time.AfterFunc(3*time.Second, func() { cancel(cause) })
		began := time.Now()
		result := b.Run(ctx, firstgood.Text("Hi"), nil)
		outcome{firstgood.StatusCancelled, "", 0, nil}.check(w.T, result)
		if took := time.Since(began); took != 3*time.Second || !errors.Is(result.Err, cause) {
			w.Errorf("took %v, %v", took, result.Err)
		}
	})
}
