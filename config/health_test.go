package config

import (
	"reflect"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

func TestHealth(t *testing.T) {
	cooldown := func(pairs ...any) map[firstgood.Kind]time.Duration {
		spans := map[firstgood.Kind]time.Duration{}
		for i := 0; i < len(pairs); i += 2 {
			spans[pairs[i].(firstgood.Kind)] = pairs[i+1].(time.Duration)
		}
		return spans
	}
	for _, test := range []struct {
		text string
		want *Health
	}{
		{"x-health: true", nil},
		{"health: false", nil},
		{"health: true", &Health{Breaker: &Breaker{}}},
		{"health: {}", &Health{Breaker: &Breaker{}}},
		{"health: {breaker: false}", &Health{}},
		{"health: {breaker: true}", &Health{Breaker: &Breaker{}}},
		{"health: {cooldown: 30s, max_cooldown: 2h}", &Health{
			Cooldown:    cooldown(firstgood.KindRateLimited, 30*time.Second, firstgood.KindUnavailable, 30*time.Second),
			MaxCooldown: 2 * time.Hour, Breaker: &Breaker{},
		}},
		{"health: {cooldown: {unavailable: 5s, auth: 10m}}", &Health{
			Cooldown: cooldown(firstgood.KindUnavailable, 5*time.Second, firstgood.KindAuth, 10*time.Minute), Breaker: &Breaker{},
		}},
		{"health: {cooldown: false}", &Health{Cooldown: cooldown(), Breaker: &Breaker{}}},
		{"health: {breaker: {min_sample: 20, failure_ratio: 50%, window: 2m, open: 10s}}", &Health{
			Breaker: &Breaker{MinSample: 20, FailureRatio: 0.5, Window: 2 * time.Minute, Open: 10 * time.Second},
		}},
		{"health: {breaker: {failure_ratio: 1}}", &Health{Breaker: &Breaker{FailureRatio: 1}}},
		{"health: {breaker: {failure_ratio: 0.01}}", &Health{Breaker: &Breaker{FailureRatio: 0.01}}},
	} {
		if got := parsed(t, test.text+"\n").Health; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.text, got, test.want)
		}
	}
}

func TestS11_FailureRules(t *testing.T) {
	f := parsed(t, `
failure_rules:
  - {matches: 'too many (words|tokens)', kind: context_length}
  - {matches: busy, kind: rate_limited, status: 400}
  - matches: come back
    kind: unavailable
    status: [200, 418]
`)
	want := []FailureRule{
		{Pos{File: "firstgood.yaml", Line: 3, Column: 5}, "too many (words|tokens)", firstgood.KindContextLength, nil},
		{Pos{File: "firstgood.yaml", Line: 4, Column: 5}, "busy", firstgood.KindRateLimited, []int{400}},
		{Pos{File: "firstgood.yaml", Line: 5, Column: 5}, "come back", firstgood.KindUnavailable, []int{200, 418}},
	}
	if !reflect.DeepEqual(f.FailureRules, want) {
		t.Errorf("got %+v\nwant %+v", f.FailureRules, want)
	}
	for _, kind := range answerKinds {
		if f := parsed(t, "failure_rules: [{matches: a, kind: "+kind+"}]\n"); f.FailureRules[0].Kind != firstgood.Kind(kind) {
			t.Errorf("%s: %+v", kind, f.FailureRules)
		}
	}
	if f := parsed(t, "failure_rules: []\n"); f.FailureRules != nil {
		t.Errorf("got %+v", f.FailureRules)
	}
}

func TestPricesAndPieces(t *testing.T) {
	f := parsed(t, `
defaults: {timeout: 1m}
delegates:
  a: {openai: {model: m}, price: {input: 0.25, output: 2}, first_token: 10s, idle: 20s}
  b: {command: {argv: [./b, "{brief}"]}, price: {input: 0, output: 0}}
  c: {anthropic: {model: m}, price: {input: 1e1, output: .5}, first_token: 59999ms}
  d: {openai: {model: m}}
`)
	for i, want := range []Delegate{
		{Price: &Price{0.25, 2}, FirstToken: 10 * time.Second, Idle: 20 * time.Second},
		{Price: &Price{}},
		{Price: &Price{10, 0.5}, FirstToken: 59999 * time.Millisecond},
		{},
	} {
		got := f.Delegates[i]
		if !reflect.DeepEqual(got.Price, want.Price) || got.FirstToken != want.FirstToken || got.Idle != want.Idle {
			t.Errorf("%s: %+v", got.Name, got)
		}
	}
}

// TestPiecesOfAKindThatIsHandedIn holds that a kind's own key of that name is found, and that no kind need stream.
func TestPiecesOfAKindThatIsHandedIn(t *testing.T) {
	_, problems := Parse("f", []byte("delegates: {a: {robot: {protect: [x]}, idle: 5s, first_token: 5s}}\n"), []Kind{agentKind()})
	want := "f:1:46: delegates.a.idle: robot has a key of this name; write it inside: {robot: {idle: …}}\n" +
		"f:1:63: delegates.a.first_token: the kind robot gives its reply in one piece; write timeout instead, or use a kind that streams"
	if problems.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", problems, want)
	}
	streaming := agentKind()
	streaming.Streams = true
	if f, problems := Parse("f", []byte("delegates: {a: {robot: {protect: [x]}, first_token: 5s}}\n"), []Kind{streaming}); len(problems) > 0 || f.Delegates[0].FirstToken != 5*time.Second {
		t.Errorf("%v", problems)
	}
}

func TestAnthropic(t *testing.T) {
	f := parsed(t, `
delegates:
  a: {anthropic: {model: claude-x}}
  b: {anthropic: {model: m, base_url: "https://example.com/anthropic/", api_key_env: KEY, system: Be brief., max_tokens: 100, headers: {anthropic-beta: x}, params: {top_k: 5}}}
  c: {anthropic: {model: m, api_key: "${KEY}"}}
`)
	a, b, c := f.Delegates[0].Spec.(*Anthropic), f.Delegates[1].Spec.(*Anthropic), f.Delegates[2].Spec.(*Anthropic)
	if a.Model.String() != "claude-x" || a.MaxTokens != 0 || !a.BaseURL.IsZero() || a.APIKeyEnv != "" || !a.APIKey.IsZero() || a.Params != nil {
		t.Errorf("a %+v", a)
	}
	if b.BaseURL.String() != "https://example.com/anthropic/" || b.APIKeyEnv != "KEY" || b.System.String() != "Be brief." || b.MaxTokens != 100 ||
		b.Headers["anthropic-beta"].written() != "x" || len(b.Params) != 1 || f.Delegates[1].Kind != "anthropic" {
		t.Errorf("b %+v", b)
	}
	if key, err := c.APIKey.Expand(environment("KEY", "k")); err != nil || key != "k" {
		t.Errorf("c %+v: %q, %v", c, key, err)
	}
}
