package interp_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/pattern"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/interp"
	"github.com/firstgood/firstgood/script/syntax"
)

// funcHost is a host whose calls are a function.
type funcHost struct {
	call   func(context.Context, interp.Call) (interp.Value, error)
	mu     sync.Mutex
	warned diagnostic.Problems
}

func (h *funcHost) Call(ctx context.Context, c interp.Call) (interp.Value, error) {
	return h.call(ctx, c)
}
func (h *funcHost) Criteria(context.Context, interp.Criterion) (interp.Verdict, error) {
	return interp.Verdict{}, errors.New("no judge")
}
func (h *funcHost) Decide(context.Context, interp.Question) (bool, error) {
	return false, errors.New("no judge")
}
func (h *funcHost) Warn(p diagnostic.Problem) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.warned = append(h.warned, p)
}

func compiled(t testing.TB, src string, env check.Env, cfg interp.Config) *interp.Script {
	t.Helper()
	script, problems := syntax.Parse(src, testPos)
	if problems.Failed() {
		t.Fatal(problems)
	}
	program, problems := check.New(script, env)
	if program == nil {
		t.Fatal(problems)
	}
	cfg.Program = program
	if cfg.Host == nil {
		cfg.Host = &funcHost{call: func(_ context.Context, c interp.Call) (interp.Value, error) {
			return interp.Text(c.Brief.String()), nil
		}}
	}
	s, err := interp.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func slotEnv(names ...string) check.Env {
	var env check.Env
	for _, name := range names {
		env.Inputs = append(env.Inputs, check.Input{Name: name, Kind: check.InputSlot})
	}
	return env
}

func TestConfig(t *testing.T) {
	program, _ := check.New(nil, check.Env{})
	host := &funcHost{}
	for _, test := range []struct {
		cfg  interp.Config
		want string
	}{
		{interp.Config{Host: host}, "there is no program"},
		{interp.Config{Program: program}, "there is no host"},
		{interp.Config{Program: program, Host: host, MaxParallel: -1}, "MaxParallel is negative"},
		{interp.Config{Program: program, Host: host, Backoff: -1}, "Backoff is negative"},
	} {
		if _, err := interp.New(test.cfg); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}

func TestInputs(t *testing.T) {
	s := compiled(t, "return [a, b, config]", check.Env{Inputs: []check.Input{
		{Name: "a"}, {Name: "b", Optional: true}, {Name: "c", Kind: check.InputConfig, Optional: true}}}, interp.Config{})
	for _, test := range []struct {
		inputs map[string]any
		want   string
	}{
		{map[string]any{"a": 1}, `[1,null,{"c":null}]`},
		{map[string]any{"a": nil, "b": "x", "c": true}, `[null,"x",{"c":true}]`},
		{nil, "the input a is missing"},
		{map[string]any{"a": 1, "z": 2, "y": 1}, "there is no input y"},
		{map[string]any{"a": func() {}}, "the input a: a func() has no JSON form"},
	} {
		v, err := s.Run(t.Context(), test.inputs)
		got := jsonText(v)
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("%v: got %s, want %s", test.inputs, got, test.want)
		}
	}
}

func TestF2_TheCallersDataIsNeverChanged(t *testing.T) {
	given := map[string]any{"xs": []any{1, map[string]any{"k": "v"}}, "o": map[string]any{"a": []any{}}}
	s := compiled(t, "let xs = xs\nlet o = o\nxs[1].k = 2\nappend 3 to xs\nappend 4 to o.a\no.new = 1\nreturn [xs, o]", check.Env{Inputs: []check.Input{{Name: "xs"}, {Name: "o"}}}, interp.Config{})
	for range 2 {
		v, err := s.Run(t.Context(), given)
		if want := `[[1,{"k":2},3],{"a":[4],"new":1}]`; err != nil || jsonText(v) != want {
			t.Fatalf("got %s, %v", jsonText(v), err)
		}
	}
	if got := fmt.Sprint(given); got != "map[o:map[a:[]] xs:[1 map[k:v]]]" {
		t.Errorf("the caller has %s", got)
	}
}

func TestF15_CancelledBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("never mind")
	cancel(cause)
	s := compiled(t, "call a", slotEnv("a"), interp.Config{Host: &funcHost{call: func(context.Context, interp.Call) (interp.Value, error) {
		t.Error("something was called")
		return interp.Null(), nil
	}}})
	if _, err := s.Run(ctx, map[string]any{"a": interp.Reference{Name: "a"}}); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// TestErrors holds what an uncaught error is for who runs the script.
func TestErrors(t *testing.T) {
	boom := &firstgood.Error{Kind: firstgood.KindAuth, Reason: "no key"}
	s := compiled(t, "let x = 1\nreturn [x, x]\ncall a", slotEnv("a"), interp.Config{})
	if _, err := s.Run(t.Context(), map[string]any{"a": interp.Reference{Name: "A"}}); err != nil {
		t.Fatal(err)
	}
	s = compiled(t, "\ncall a", slotEnv("a"), interp.Config{Host: &funcHost{call: func(context.Context, interp.Call) (interp.Value, error) { return interp.Null(), boom }}})
	_, err := s.Run(t.Context(), map[string]any{"a": interp.Reference{Name: "A"}})
	var placed *interp.Error
	if !errors.As(err, &placed) || placed.Pos.Line != 2 || placed.Delegate != "A" || !errors.Is(err, boom) || err.Error() != "f:2:1: A: no key" {
		t.Errorf("got %v", err)
	}
	if f := firstgood.FailureOf("script", 0, err); f.Kind != firstgood.KindAuth {
		t.Errorf("got the kind %s", f.Kind)
	}
}

func TestStops(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{errors.New("x"), false},
		{&firstgood.Error{Kind: firstgood.KindTimeout}, false},
		{fmt.Errorf("about: %w", &firstgood.Error{Fatal: true}), true},
		{&firstgood.NoWinnerError{Status: firstgood.StatusExhausted}, false},
		{&firstgood.NoWinnerError{Status: firstgood.StatusStopped}, true},
		{context.DeadlineExceeded, false},
	} {
		if got := interp.Stops(test.err); got != test.want {
			t.Errorf("%v: %v", test.err, got)
		}
	}
}

// TestLimits runs scripts that would go on, or grow, for ever.
func TestLimits(t *testing.T) {
	grow := "let s = \"0123456789abcdef\"\nrepeat 40:\n  s = \"{s}{s}\"\nreturn s.length"
	for _, test := range []struct{ name, src, want string }{
		{"a text that doubles", grow, "64 MiB"},
		{"a list that doubles", "let xs = [1]\nrepeat 70:\n  xs = [xs, xs]\nreturn xs", "64 MiB"},
		{"a list in itself", "let xs = []\nrepeat 2000:\n  xs = [xs]\nreturn xs", "1000 deep"},
		{"a list that is appended to itself", "let xs = []\nrepeat 2000:\n  append xs to xs\nreturn xs", "64 MiB"},
		{"an object in itself", "let o = {}\nrepeat 2000:\n  o.a = o\nreturn o", "1000 deep"},
		{"a list that is collected", "let big = \"x\"\nrepeat 20:\n  big = \"{big}{big}\"\nlet all = repeat 1000:\n  big\nreturn all", "64 MiB"},
		{"a block that calls itself", "block f():\n  do f\ndo f", "1000 deep"},
		{"blocks in parallels", "block f():\n  parallel repeat 1:\n    do f\ndo f", "1000 deep"},
		{"a brief", "let big = \"x\"\nrepeat 25:\n  big = \"{big}{big}\"\ncall a\n  x: big\n  y: big\n  z: big", "64 MiB"},
		{"branches", "let n = \"1000000\"\nparallel repeat n:\n  1", "at most 100000 branches"},
		{"branches in branches", "parallel repeat 1000:\n  let xs = parallel repeat 1000:\n    1\n  xs", "at most 100000 branches"},
	} {
		s := compiled(t, test.src, slotEnv("a"), interp.Config{})
		v, err := s.Run(t.Context(), map[string]any{"a": interp.Reference{Name: "a"}})
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "f:") {
			t.Errorf("%s: got %.80s, %v", test.name, v.String(), err)
		}
	}
}

// TestEndlessLoops are ended by their context alone.
func TestEndlessLoops(t *testing.T) {
	for _, src := range []string{
		"repeat 2000000000:\n  continue",
		"loop while true (max: 2000000000):\n  continue",
		"loop until false (max: 2000000000):\n  continue",
		"let x = repeat 2000000000:\n  repeat 2000000000:\n    continue\nreturn x",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		_, err := compiled(t, src, check.Env{}, interp.Config{}).Run(ctx, nil)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v", src, err)
		}
		cancel()
	}
}

func TestTenThousandBranches(t *testing.T) {
	xs := make([]any, 10_000)
	for i := range xs {
		xs[i] = i
	}
	var inFlight, most int
	var mu sync.Mutex
	host := &funcHost{call: func(ctx context.Context, c interp.Call) (interp.Value, error) {
		mu.Lock()
		inFlight++
		most = max(most, inFlight)
		mu.Unlock()
		defer func() {
			mu.Lock()
			inFlight--
			mu.Unlock()
		}()
		return interp.Text(c.Brief.String()), nil
	}}
	env := check.Env{Inputs: []check.Input{{Name: "xs"}, {Name: "a", Kind: check.InputSlot}}}
	for _, limit := range []int{0, 7} {
		most = 0
		s := compiled(t, "return parallel for x in xs:\n  call a\n    task: x", env, interp.Config{Host: host, MaxParallel: limit})
		v, err := s.Run(t.Context(), map[string]any{"xs": xs, "a": interp.Reference{Name: "a"}})
		items := v.Items()
		if err != nil || len(items) != len(xs) {
			t.Fatalf("%d results, %v", len(items), err)
		}
		for i, item := range items {
			if item.String() != fmt.Sprint(i) {
				t.Fatalf("result %d is %v", i, item)
			}
		}
		if limit > 0 && most > limit {
			t.Errorf("%d at once, of %d", most, limit)
		}
	}
}

// TestBranchesAreNoCallsInTheRecord looks at what a record holds of a run whose calls are made by a nested instance.
func TestBranchesAreNoCallsInTheRecord(t *testing.T) {
	keys := map[string]bool{}
	var mu sync.Mutex
	host := &funcHost{call: func(ctx context.Context, c interp.Call) (interp.Value, error) {
		chain, err := pattern.NewFallbackChain(pattern.Config[string]{Delegates: []firstgood.Delegate[string]{
			firstgood.Func(c.Delegate.Name, func(ctx context.Context, b firstgood.Brief) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				keys[firstgood.IdempotencyKey(ctx)] = true
				return b.String(), nil
			}),
		}})
		if err != nil {
			return interp.Null(), err
		}
		if key := firstgood.IdempotencyKey(ctx); key != "" {
			t.Errorf("a branch has the key %s", key)
		}
		text, err := chain.Attempt(ctx, c.Brief)
		return interp.Text(text), err
	}}
	s := compiled(t, "parallel:\n  let x = call a\n  let y = parallel repeat 2:\n    call b\nreturn [x, y]", slotEnv("a", "b"), interp.Config{Host: host})
	record := firstgood.NewRecord(time.Now(), nil)
	if _, err := s.Run(firstgood.WithRecord(t.Context(), record), map[string]any{"a": interp.Reference{Name: "A"}, "b": interp.Reference{Name: "B"}}); err != nil {
		t.Fatal(err)
	}
	calls := record.Calls()
	for _, c := range calls {
		if c.Parent != -1 || c.Delegate != "A" && c.Delegate != "B" {
			t.Errorf("the record holds %+v", c)
		}
	}
	if len(calls) != 3 || len(keys) != 3 || keys[""] {
		t.Errorf("%d calls with the keys %v", len(calls), keys)
	}
	if _, err := s.Run(t.Context(), map[string]any{"a": interp.Reference{Name: "A"}, "b": interp.Reference{Name: "B"}}); err != nil {
		t.Fatal(err)
	}
}

// TestR11_ADeafBranchHoldsNothingUp has a branch that takes no notice of having lost. What it does later changes nothing.
func TestR11_ADeafBranchHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		host := &funcHost{call: func(ctx context.Context, c interp.Call) (interp.Value, error) {
			if c.Target == "deaf" {
				<-late
			}
			return interp.Text(c.Target), nil
		}}
		s := compiled(t, "let x = 0\nparallel (\"first\"):\n  x = call deaf\n  let y = call quick\nx = [x, y]\nreturn x", slotEnv("deaf", "quick"), interp.Config{Host: host})
		v, err := s.Run(t.Context(), map[string]any{"deaf": interp.Reference{Name: "deaf"}, "quick": interp.Reference{Name: "quick"}})
		if want := `[0,"quick"]`; err != nil || jsonText(v) != want {
			t.Errorf("got %s, %v", jsonText(v), err)
		}
		drained := make(chan error, 1)
		go func() { drained <- s.Drain(context.Background()) }()
		synctest.Wait()
		select {
		case <-drained:
			t.Error("drained while a branch is at work")
		default:
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("no more time"))
		if err := s.Drain(ctx); err == nil || err.Error() != "no more time" {
			t.Errorf("got %v", err)
		}
		close(late)
		if err := <-drained; err != nil {
			t.Error(err)
		}
	})
}

// TestOneScriptManyRuns is for the race detector.
func TestOneScriptManyRuns(t *testing.T) {
	s := compiled(t, `let x = 1
let all = []
block f(n):
  return [n, x]
for y in xs:
  let z = do f(y)
  append z to all
let ys = parallel for y in xs ("any", count: 2):
  let mine = all
  append y to mine
  mine.length
return [all.length, ys]`, check.Env{Inputs: []check.Input{{Name: "xs"}}}, interp.Config{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 20 {
				v, err := s.Run(t.Context(), map[string]any{"xs": []any{1, 2, 3, 4}})
				if want := `[4,[5,5]]`; err != nil || jsonText(v) != want {
					t.Errorf("got %s, %v", jsonText(v), err)
				}
			}
		})
	}
	group.Wait()
	if err := s.Drain(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestListsAreShared adds to one list from many branches at once; nobody sees another's elements.
func TestListsAreShared(t *testing.T) {
	s := compiled(t, `let base = []
repeat 100:
  append 0 to base
return parallel repeat 50 as i:
  let mine = base
  repeat 20:
    append i to mine
  for x, at in mine:
    if at >= 100 and x != i:
      throw "an element is another's"
  return mine.length`, check.Env{}, interp.Config{})
	v, err := s.Run(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range v.Items() {
		if n.Number() != 120 {
			t.Fatalf("got %v", v)
		}
	}
}
