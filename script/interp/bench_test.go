package interp_test

import (
	"context"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/interp"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// The loops do a million iterations of a comparison, an index and an assignment. Starlark's functions may loop, and its
// locals are slots as well.
const loops = 1_000_000

const proseLoop = `
let best = 0
let last = null
repeat 1000:
  for x, i in xs:
    if xs[i] < limit:
      best = xs[i]
    last = x
return [best, last]
`

const starlarkLoop = `
def run(xs, limit):
    best = 0
    last = None
    for _ in range(1000):
        for i in range(len(xs)):
            x = xs[i]
            if xs[i] < limit:
                best = xs[i]
            last = x
    return [best, last]
`

func loopItems() []any {
	xs := make([]any, 1000)
	for i := range xs {
		xs[i] = i
	}
	return xs
}

// BenchmarkLoop runs the same loop in both languages by turns, and reports how many times as long ours takes.
func BenchmarkLoop(b *testing.B) {
	ours := compiled(b, proseLoop, check.Env{Inputs: []check.Input{{Name: "xs"}, {Name: "limit"}}}, interp.Config{})
	given := map[string]any{"xs": loopItems(), "limit": 500}
	globals, err := starlark.ExecFileOptions(&syntax.FileOptions{}, &starlark.Thread{}, "loop.star", starlarkLoop, nil)
	if err != nil {
		b.Fatal(err)
	}
	items := make([]starlark.Value, 1000)
	for i := range items {
		items[i] = starlark.MakeInt(i)
	}
	theirs := starlark.Tuple{starlark.NewList(items), starlark.MakeInt(500)}
	var mine, other time.Duration
	for b.Loop() {
		began := time.Now()
		if v, err := ours.Run(context.Background(), given); err != nil || jsonText(v) != "[499,999]" {
			b.Fatal(v, err)
		}
		half := time.Now()
		if v, err := starlark.Call(&starlark.Thread{}, globals["run"], theirs, nil); err != nil || v.String() != "[499, 999]" {
			b.Fatal(v, err)
		}
		mine, other = mine+half.Sub(began), other+time.Since(half)
	}
	n := float64(b.N) * loops
	b.ReportMetric(float64(mine)/n, "prosescript-ns/iteration")
	b.ReportMetric(float64(other)/n, "starlark-ns/iteration")
	b.ReportMetric(float64(mine)/float64(other), "times-starlark")
}

// BenchmarkCollect collects a million values.
func BenchmarkCollect(b *testing.B) {
	s := compiled(b, "let ys = repeat 1000:\n  for x in xs:\n    let y = x\n  y\nreturn ys.length", check.Env{Inputs: []check.Input{{Name: "xs"}}}, interp.Config{})
	given := map[string]any{"xs": loopItems()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Run(context.Background(), given); err != nil {
			b.Fatal(err)
		}
	}
}

const chainSource = `let failure_history = []
for d in chain:
  try:
    let answer = call d
      task_brief: task_brief
    if failure_criteria says answer is a failure:
      record { delegate: d, reason: "matched failure_criteria" } in failure_history
      continue
    return { result: answer, winner: d, attempts: "number of attempted delegates", failure_history: failure_history }
  catch as e:
    record { delegate: d, reason: e } in failure_history
return { result: null, winner: null, attempts: chain.length, failure_history: failure_history }
`

// BenchmarkFallback is a chain of three whose first two fail, as a script and as the native pattern.
func BenchmarkFallback(b *testing.B) {
	down := &firstgood.Error{Kind: firstgood.KindUnavailable, Reason: "down"}
	b.Run("prosescript", func(b *testing.B) {
		host := &funcHost{call: func(_ context.Context, c interp.Call) (interp.Value, error) {
			if c.Delegate.Index < 2 {
				return interp.Null(), down
			}
			return interp.Text("fine"), nil
		}}
		s := compiled(b, chainSource, check.Env{Inputs: []check.Input{{Name: "chain", Kind: check.InputList}, {Name: "task_brief"},
			{Name: "failure_criteria", Kind: check.InputConfig, Optional: true}}}, interp.Config{Host: host})
		given := map[string]any{"chain": []interp.Reference{{Name: "a"}, {Name: "b", Index: 1}, {Name: "c", Index: 2}}, "task_brief": "do it"}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Run(context.Background(), given); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, inline := range []bool{false, true} {
		b.Run(map[bool]string{false: "native", true: "native inline"}[inline], func(b *testing.B) {
			delegate := func(name string, err error) firstgood.Delegate[string] {
				return firstgood.Func(name, func(context.Context, firstgood.Brief) (string, error) { return "fine", err })
			}
			chain, err := pattern.NewFallbackChain(pattern.Config[string]{Inline: inline, Delegates: []firstgood.Delegate[string]{
				delegate("a", down), delegate("b", down), delegate("c", nil)}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := chain.Run(context.Background(), firstgood.Text("do it")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkParallel runs a thousand branches that do nothing.
func BenchmarkParallel(b *testing.B) {
	s := compiled(b, "return parallel for x in xs:\n  x", check.Env{Inputs: []check.Input{{Name: "xs"}}}, interp.Config{})
	given := map[string]any{"xs": loopItems()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Run(context.Background(), given); err != nil {
			b.Fatal(err)
		}
	}
}
