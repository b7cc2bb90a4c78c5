package engine_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/lab"
)

// TestS9_NothingIsRejectedWhereNothingWillDo: with nonempty a 200 with no text, no tool call and no usage is rejected; one of
// tool calls, or a refusal, is not empty.
func TestS9_NothingIsRejectedWhereNothingWillDo(t *testing.T) {
	f := file(t, `
delegates:
  b: {`+at("ok:B")+`}
  empty: {`+at("empty")+`}
  nothing: {`+at("role-only")+`}
  blank: {`+at("blank")+`}
  tool: {`+at("tool-call")+`}
  refusal: {`+at("refusal")+`}
  streamed: {`+at("role-only")+`, first_token: 5s}
  streamedtool: {`+at("tool-call")+`, first_token: 5s}
patterns:
  any: {pattern: fallback-chain, with: {chain: [nothing, b]}}
  c.empty: {pattern: fallback-chain, with: {chain: [empty, b]}, config: {nonempty: true}}
  c.nothing: {pattern: fallback-chain, with: {chain: [nothing, b]}, config: {nonempty: true}}
  c.blank: {pattern: fallback-chain, with: {chain: [blank, b]}, config: {nonempty: true}}
  c.tool: {pattern: fallback-chain, with: {chain: [tool, b]}, config: {nonempty: true}}
  c.refusal: {pattern: fallback-chain, with: {chain: [refusal, b]}, config: {nonempty: true}}
  c.streamed: {pattern: fallback-chain, with: {chain: [streamed, b]}, config: {nonempty: true}}
  c.streamedtool: {pattern: fallback-chain, with: {chain: [streamedtool, b]}, config: {nonempty: true}}
  r.nothing: {pattern: race, with: {candidates: [nothing, b]}, config: {nonempty: true, order: listed}}
`)
	models := map[string]lab.Model{"blank": saying(" \n\t", 0)}
	const empty = "rejected: the reply is empty"
	for name, want := range map[string]outcome{
		"any":            {firstgood.StatusWon, "nothing", 1, nil},
		"c.empty":        {firstgood.StatusWon, "b", 2, []string{"empty: " + empty}},
		"c.nothing":      {firstgood.StatusWon, "b", 2, []string{"nothing: " + empty}},
		"c.blank":        {firstgood.StatusWon, "b", 2, []string{"blank: " + empty}},
		"c.tool":         {firstgood.StatusWon, "tool", 1, nil},
		"c.refusal":      {firstgood.StatusWon, "refusal", 1, nil},
		"c.streamed":     {firstgood.StatusWon, "b", 2, []string{"streamed: "}},
		"c.streamedtool": {firstgood.StatusWon, "streamedtool", 1, nil},
		"r.nothing":      {firstgood.StatusWon, "b", 2, []string{"nothing: " + empty}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) { want.check(w.T, w.run(f, name, "Hi")) })
		})
	}
}

// TestS10_ARefusalIsAKindOfItsOwn, however it comes, and on_refusal decides what follows.
func TestS10_ARefusalIsAKindOfItsOwn(t *testing.T) {
	f := file(t, `
delegates:
  policy: {`+at("policy")+`}
  filter: {`+at("content-filter")+`}
  field: {`+at("refusal")+`}
  down: {`+at("500")+`}
  b: {`+at("ok:B")+`}
  c: {`+at("ok:C")+`}
  slow: {`+at("slow:9s:late")+`}
patterns:
  policy.on: {pattern: fallback-chain, with: {chain: [policy, b]}}
  policy.stop: {pattern: fallback-chain, with: {chain: [policy, b]}, config: {on_refusal: stop}}
  policy.stop_on: {pattern: fallback-chain, with: {chain: [policy, b]}, config: {stop_on: [refused]}}
  policy.advance_on: {pattern: fallback-chain, with: {chain: [down, policy, b]}, config: {advance_on: [unavailable]}}
  policy.ask: {pattern: fallback-chain, with: {chain: [policy, b, c]}, config: {on_refusal: [c]}}
  policy.asknone: {pattern: fallback-chain, with: {chain: [c, policy, b]}, config: {on_refusal: [c], failure_criteria: {matches: C}}}
  filter.on: {pattern: fallback-chain, with: {chain: [filter, b]}}
  filter.stop: {pattern: fallback-chain, with: {chain: [filter, b]}, config: {on_refusal: stop}}
  field.on: {pattern: fallback-chain, with: {chain: [field, b]}}
  field.stop: {pattern: fallback-chain, with: {chain: [field, b]}, config: {on_refusal: stop}}
  field.ask: {pattern: fallback-chain, with: {chain: [field, b, c]}, config: {on_refusal: [c]}}
  other.stop: {pattern: fallback-chain, with: {chain: [down, b]}, config: {on_refusal: stop}}
  race.stop: {pattern: race, with: {candidates: [policy, {pattern: fallback-chain, with: {chain: [late]}}]}, config: {on_refusal: stop}}
  hedge.ask: {pattern: race, with: {candidates: [policy, b, c]}, config: {on_refusal: [c], start_after: 1s}}
  inner: {pattern: fallback-chain, with: {chain: [policy, down]}}
  innerfield: {pattern: fallback-chain, with: {chain: [field]}}
  nested.on: {pattern: fallback-chain, with: {chain: [inner, b]}}
  nested.stop: {pattern: fallback-chain, with: {chain: [inner, b]}, config: {on_refusal: stop}}
  nested.ask: {pattern: fallback-chain, with: {chain: [inner, b, c]}, config: {on_refusal: [c]}}
  nested.field: {pattern: fallback-chain, with: {chain: [innerfield, b]}, config: {on_refusal: stop}}
  late: {pattern: fallback-chain, with: {chain: [slow]}}
  bench: {pattern: fallback-chain, with: {chain: [policy]}}
  judge.stop: {pattern: fallback-chain, with: {chain: [c, b]}, config: {on_refusal: stop, failure_criteria: {any: [{matches: B}, {text: it declines, judge: bench}]}}}
`)
	const policy = `policy: refused: 400 Bad Request: Your request was rejected as a result of our safety system. (content_policy_violation)`
	const field = "field: refused: I'm sorry, but I cannot help with that."
	won := func(winner string, attempts int, history ...string) outcome {
		return outcome{firstgood.StatusWon, winner, attempts, history}
	}
	stopped := func(attempts int, history ...string) outcome {
		return outcome{firstgood.StatusStopped, "", attempts, history}
	}
	models := map[string]lab.Model{"policy": failingWith(400, "Your request was rejected as a result of our safety system.", "content_policy_violation")}
	for name, want := range map[string]outcome{
		"policy.on":         won("b", 2, policy),
		"policy.stop":       stopped(1, policy),
		"policy.stop_on":    stopped(1, policy),
		"policy.advance_on": stopped(2, "down: unavailable", policy),
		"policy.ask":        won("c", 2, policy, "b: no_start: after a refusal only c may be asked"),
		"policy.asknone":    {firstgood.StatusExhausted, "", 2, []string{"c: rejected", policy, "b: no_start: after a refusal only c may be asked"}},
		"filter.on":         won("b", 2, "filter: refused: "),
		"filter.stop":       stopped(1, "filter: refused: "),
		"field.on":          won("field", 1), // where nobody asked, a refusal is a reply
		"field.stop":        stopped(1, field),
		"field.ask":         won("c", 2, field, "b: no_start: after a refusal only c may be asked"),
		"other.stop":        won("b", 2, "down: unavailable"),
		"race.stop":         stopped(1, policy),
		"hedge.ask":         won("c", 2, policy, "b: no_start: after a refusal only c may be asked"),
		"nested.on":         won("b", 2, "inner: exhausted"),
		"nested.stop":       stopped(1, "inner: exhausted"),
		"nested.ask":        won("c", 2, "inner: exhausted", "b: no_start: after a refusal only c may be asked"),
		"judge.stop":        {firstgood.StatusJudgeError, "", 2, []string{"c: judge_error: ", "b: rejected: "}},
		"nested.field":      stopped(1, "innerfield: refused: I'm sorry"),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) {
				result := w.run(f, name, "Hi")
				want.check(w.T, result)
				if want.status == firstgood.StatusStopped && len(w.asked("ok:B")) != 0 {
					w.Error("b was asked")
				}
			})
		})
	}
}

// TestS11_TheFileClassifies a wording that no one has met.
func TestS11_TheFileClassifies(t *testing.T) {
	const foreign = "Eingabe passt nicht: 9001 Stücke, Fenster 4096"
	f := file(t, `
failure_rules:
  - {matches: 'passt nicht.*fenster \d+', kind: context_length}
  - {matches: 'morgen wieder', kind: rate_limited, status: [418, 503]}
  - {matches: 'gesperrt', kind: auth, status: 200}
health: true
delegates:
  foreign: {`+at("foreign")+`}
  streamed: {`+at("foreign")+`, first_token: 5s}
  teapot: {`+at("teapot")+`}
  elsewhere: {`+at("elsewhere")+`}
  inside: {`+at("inside")+`}
  service: {http: {url: "http://lab.invalid/v1/chat/completions", json: {model: foreign, messages: [{role: user, content: "{brief}"}]}}}
  claude: {anthropic: {base_url: "http://lab.invalid", model: claude-x, api_key: sk-1}}
  b: {`+at("ok:B")+`}
patterns:
  c.foreign: {pattern: fallback-chain, with: {chain: [foreign, b]}}
  c.streamed: {pattern: fallback-chain, with: {chain: [streamed, b]}}
  c.service: {pattern: fallback-chain, with: {chain: [service, b]}}
  c.teapot: {pattern: fallback-chain, with: {chain: [teapot, b]}}
  c.elsewhere: {pattern: fallback-chain, with: {chain: [elsewhere, b]}}
  c.inside: {pattern: fallback-chain, with: {chain: [inside, b]}}
  only: {pattern: fallback-chain, with: {chain: [foreign, b]}, config: {stop_on: [context_length]}}
`)
	models := map[string]lab.Model{
		"foreign":   failingWith(400, foreign, ""),
		"teapot":    failingWith(418, "komm morgen wieder", ""),
		"elsewhere": failingWith(409, "komm morgen wieder", ""),
		"inside":    failingWith(0, "das Konto ist gesperrt", ""),
	}
	for name, want := range map[string]outcome{
		"c.foreign":   {firstgood.StatusWon, "b", 2, []string{"foreign: context_length: 400 Bad Request: " + foreign}},
		"c.streamed":  {firstgood.StatusWon, "b", 2, []string{"streamed: context_length: "}},
		"c.service":   {firstgood.StatusWon, "b", 2, []string{"service: context_length: "}},
		"c.teapot":    {firstgood.StatusWon, "b", 2, []string{"teapot: rate_limited: "}},
		"c.elsewhere": {firstgood.StatusWon, "b", 2, []string{"elsewhere: error: "}},
		"c.inside":    {firstgood.StatusWon, "b", 2, []string{"inside: auth: "}},
		"only":        {firstgood.StatusStopped, "", 1, []string{"foreign: context_length: "}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) { want.check(w.T, w.run(f, name, "Hi")) })
		})
	}
}

// TestS14_TheTimerRunsFromDispatch: a connection is accepted and headers never come.
func TestS14_TheTimerRunsFromDispatch(t *testing.T) {
	f := file(t, `
delegates:
  whole: {`+at("hang")+`, timeout: 7s}
  first: {`+at("hang")+`, first_token: 2s}
  idle: {`+at("stall:2")+`, idle: 3s}
  steady: {`+at("steady")+`, first_token: 2s, idle: 3s}
  b: {`+at("ok:B")+`}
patterns:
  c.whole: {pattern: fallback-chain, with: {chain: [whole, b]}}
  c.first: {pattern: fallback-chain, with: {chain: [first, b]}}
  c.idle: {pattern: fallback-chain, with: {chain: [idle, b]}}
  c.steady: {pattern: fallback-chain, with: {chain: [steady, b]}}
`)
	models := map[string]lab.Model{"steady": func(context.Context, lab.Request) lab.Reply {
		return lab.Reply{Text: "one two three four five", Pace: 1900 * time.Millisecond}
	}}
	for name, c := range map[string]struct {
		took time.Duration
		want outcome
	}{
		"c.whole":  {7 * time.Second, outcome{firstgood.StatusWon, "b", 2, []string{"whole: timeout: no reply within 7s"}}},
		"c.first":  {2 * time.Second, outcome{firstgood.StatusWon, "b", 2, []string{"first: timeout: no first token within 2s"}}},
		"c.idle":   {3 * time.Second, outcome{firstgood.StatusWon, "b", 2, []string{"idle: timeout: no token for 3s"}}},
		"c.steady": {9500 * time.Millisecond, outcome{firstgood.StatusWon, "steady", 1, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) {
				result := w.run(f, name, "Hi")
				c.want.check(w.T, result)
				if result.Outcome.Duration != c.took {
					w.Errorf("took %v, want %v", result.Outcome.Duration, c.took)
				}
			})
		})
	}
}

// TestS16_RetriesAreInsideTheTimeout: 20 s, not 60.
func TestS16_RetriesAreInsideTheTimeout(t *testing.T) {
	f := file(t, `
delegates:
  hung: {`+at("hang")+`, timeout: 20s, retries: 3}
  flaky: {`+at("flaky")+`, timeout: 20s, retries: 3}
  asks: {`+at("429:30")+`, timeout: 20s, retries: 3}
  b: {`+at("ok:B")+`}
patterns:
  c.hung: {pattern: fallback-chain, with: {chain: [hung, b]}}
  c.flaky: {pattern: fallback-chain, with: {chain: [flaky, b]}}
  c.asks: {pattern: fallback-chain, with: {chain: [asks, b]}}
  run: {pattern: fallback-chain, with: {chain: [hung]}, config: {timeout: 15s}}
`)
	models := map[string]lab.Model{"flaky": func(context.Context, lab.Request) lab.Reply { return lab.Reply{Status: 503, Delay: 9 * time.Second} }}
	for name, c := range map[string]struct {
		took  time.Duration
		tries int
		want  outcome
	}{
		"c.hung":  {20 * time.Second, 1, outcome{firstgood.StatusWon, "b", 2, []string{"hung: timeout: no reply within 20s"}}},
		"c.flaky": {20 * time.Second, 3, outcome{firstgood.StatusWon, "b", 2, []string{"flaky: timeout: no reply within 20s"}}},
		"c.asks":  {0, 1, outcome{firstgood.StatusWon, "b", 2, []string{"asks: rate_limited: 429"}}}, // it cannot be back in time
		"run":     {15 * time.Second, 1, outcome{firstgood.StatusTimeout, "", 1, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, models, func(w *world) {
				result := w.run(f, name, "Hi")
				c.want.check(w.T, result)
				if result.Outcome.Duration != c.took {
					w.Errorf("took %v, want %v", result.Outcome.Duration, c.took)
				}
				if n := len(w.lab.Visits()) - len(w.asked("ok:B")); n != c.tries {
					w.Errorf("got %d tries, want %d", n, c.tries)
				}
			})
		})
	}
}

// TestS17_AFloorIsKept by the file's reserve for those still to come.
func TestS17_AFloorIsKept(t *testing.T) {
	f := file(t, `
delegates:
  hung: {`+at("hang")+`}
  also: {`+at("hang")+`, timeout: 1h}
  b: {`+at("slow:2s:B")+`}
patterns:
  kept: {pattern: fallback-chain, with: {chain: [hung, also, b]}, config: {timeout: 10s, reserve: 3s}}
  not: {pattern: fallback-chain, with: {chain: [hung, also, b]}, config: {timeout: 10s}}
  batches: {pattern: race, with: {candidates: [hung, also, hung, b]}, config: {timeout: 10s, reserve: 4s, max_parallel: 2}}
  nested: {pattern: fallback-chain, with: {chain: [{pattern: race, with: {candidates: [hung, also]}}, b]}, config: {timeout: 10s, reserve: 3s}}
`)
	for name, c := range map[string]struct {
		took time.Duration
		want outcome
	}{
		"kept":    {9 * time.Second, outcome{firstgood.StatusWon, "b", 3, []string{"hung: timeout: no reply within 4s", "also: timeout: no reply within 3s"}}},
		"not":     {10 * time.Second, outcome{firstgood.StatusTimeout, "", 1, nil}},
		"batches": {8 * time.Second, outcome{firstgood.StatusWon, "b", 3, []string{"hung: timeout: no reply within 6s", "also: timeout: no reply within 6s"}}},
		"nested":  {9 * time.Second, outcome{firstgood.StatusWon, "b", 2, []string{"nested.chain[0]: timeout: no reply within 7s"}}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *world) {
				result := w.run(f, name, "Hi")
				c.want.check(w.T, result)
				if result.Outcome.Duration != c.took {
					w.Errorf("took %v, want %v", result.Outcome.Duration, c.took)
				}
			})
		})
	}
}

// TestS21_S22_S23_WhoIsNotToBlame: a caller who stops or runs out of time, and a lost race, charge nobody, and start nobody.
func TestS21_S22_S23_WhoIsNotToBlame(t *testing.T) {
	f := file(t, `
health: {breaker: {min_sample: 1, failure_ratio: 1%}, cooldown: {rate_limited: 1h, unavailable: 1h, timeout: 1h, error: 1h}}
delegates:
  slow: {`+at("slow:3s")+`, timeout: 10s}
  fast: {`+at("slow:1s")+`}
  b: {`+at("ok:B")+`}
patterns:
  chain: {pattern: fallback-chain, with: {chain: [slow, b]}}
  limited: {pattern: fallback-chain, with: {chain: [slow, b]}, config: {timeout: 2s}}
  race: {pattern: race, with: {candidates: [slow, fast]}}
  inner: {pattern: fallback-chain, with: {chain: [{pattern: fallback-chain, with: {chain: [slow]}, config: {timeout: 2s}}, b]}}
`)
	enough := errors.New("the caller has had enough")
	for _, c := range []struct {
		name string
		run  string
		ctx  func(context.Context) (context.Context, context.CancelFunc)
		want outcome
		is   error
		took time.Duration
	}{
		{"S21 the caller stops", "chain", func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			time.AfterFunc(2*time.Second, func() { cancel(enough) })
			return ctx, func() { cancel(nil) }
		}, outcome{firstgood.StatusCancelled, "", 1, nil}, enough, 2 * time.Second},
		{"S22 the caller's deadline", "chain", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 100*time.Millisecond)
		}, outcome{firstgood.StatusCancelled, "", 1, nil}, context.DeadlineExceeded, 100 * time.Millisecond},
		{"S22 the run's deadline", "limited", context.WithCancel, outcome{firstgood.StatusTimeout, "", 1, nil}, context.DeadlineExceeded, 2 * time.Second},
		{"S22 an inner run's deadline", "inner", context.WithCancel, outcome{firstgood.StatusWon, "b", 2, []string{"inner.chain[0]: timeout"}}, nil, 2 * time.Second},
		{"S23 a lost race", "race", context.WithCancel, outcome{firstgood.StatusWon, "fast", 1, nil}, nil, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, nil, func(w *world) {
				e := w.engineOf(f)
				b := bound(w, e, f, c.run)
				ctx, cancel := c.ctx(w.Context())
				result := b.Run(ctx, firstgood.Text("Hi"), nil)
				cancel()
				if err := b.Drain(w.Context()); err != nil {
					w.Error(err)
				}
				c.want.check(w.T, result)
				if result.Outcome.Duration != c.took || !errors.Is(result.Err, c.is) {
					w.Errorf("took %v, %v, want %v, %v", result.Outcome.Duration, result.Err, c.took, c.is)
				}
				if c.want.winner != "b" && len(w.asked("ok:B")) != 0 {
					w.Error("b was asked")
				}
				if s := e.Health().State("slow"); s.State != "ok" || s.Failures != 0 || s.Successes != 0 || s.Uncounted != 1 {
					w.Errorf("got %+v", s)
				}
				outcome{firstgood.StatusWon, "slow", 1, nil}.check(w.T, bound(w, e, f, "chain").Run(w.Context(), firstgood.Text("Hi"), nil))
			})
		})
	}
}

// TestS24_ABreakerHasASample: one failure of one call is not 100 % failing; four of five are.
func TestS24_ABreakerHasASample(t *testing.T) {
	f := file(t, `
health: {cooldown: false, breaker: {min_sample: 5, failure_ratio: 80%, open: 10s}}
delegates: {a: {`+at("a")+`}, b: {`+at("ok:B")+`}}
patterns: {x: {pattern: fallback-chain, with: {chain: [a, b]}}}
`)
	down, up := lab.Reply{Status: http.StatusInternalServerError}, lab.Reply{Text: "A"}
	inWorld(t, map[string]lab.Model{"a": scripted(down, up, down, down, down, down, up)}, func(w *world) {
		e := w.engineOf(f)
		run := func(want outcome) {
			w.Helper()
			want.check(w.T, bound(w, e, f, "x").Run(w.Context(), firstgood.Text("Hi"), nil))
		}
		failed := outcome{firstgood.StatusWon, "b", 2, []string{"a: unavailable"}}
		good := outcome{firstgood.StatusWon, "a", 1, nil}
		for _, want := range []outcome{failed, good, failed, failed, failed} { // the fifth fills the sample: 4 of 5
			run(want)
		}
		run(outcome{firstgood.StatusWon, "b", 1, []string{"a: no_start: open for 10s after 4 of 5 attempts failed, the last: unavailable"}})
		pass(10 * time.Second)
		run(failed) // the one that tries it out
		run(outcome{firstgood.StatusWon, "b", 1, []string{"a: no_start: open for 10s after the attempt that tried it out failed too: unavailable"}})
		pass(10 * time.Second)
		run(good)
		run(good)
	})
}
