package engine

import (
	"context"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/health"
	"github.com/firstgood/firstgood/pattern"
)

// BenchmarkCost is what the engine and its policies cost a chain of one whose delegate answers at once:
//
//	pattern  the bare pattern, with a record as the engine keeps it; without one it knows less
//	nothing  the engine with nothing configured
//	budget   with a budget that is never spent
//	health   with health: cooldowns and a breaker
//	all      with health, a budget, on_refusal, wait_for_recovery, stop_on
//
// What is asked is nothing over pattern, and all less nothing.
//
// The delegate is a few kilobytes of calls deep, as any is that is worth a policy. The stack of a new goroutine is small, and
// else the first to need more would be charged with making it larger.
//
//	go test -run '^$' -bench Cost -count 6 ./engine
func BenchmarkCost(b *testing.B) {
	answers := firstgood.Within(time.Minute, firstgood.Func("a", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		return firstgood.Reply{Text: "4", ToolCalls: deep(40)}, nil
	}))
	brief := firstgood.Text("2+2?")
	for _, record := range []bool{false, true} {
		name := map[bool]string{false: "pattern-without-record", true: "pattern"}[record]
		b.Run(name, func(b *testing.B) {
			in, err := pattern.NewFallbackChain(pattern.Config[firstgood.Reply]{Delegates: []firstgood.Delegate[firstgood.Reply]{answers}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				ctx := context.Background()
				if record {
					ctx = firstgood.WithRecord(ctx, firstgood.NewRecord(time.Now(), nil))
				}
				if out, err := in.Run(ctx, brief); err != nil || out.Result.Text != "4" {
					b.Fatal(out, err)
				}
			}
		})
	}
	for _, c := range []struct{ name, top, config string }{
		{"nothing", "", ""},
		{"budget", "", "budget: {calls: 9, tokens: 9000}"},
		{"health", "health: true\n", ""},
		{"all", "health: true\n", "budget: {calls: 9, tokens: 9000, cost: 9}, on_refusal: [a], stop_on: [auth], wait_for_recovery: 1s"},
	} {
		b.Run(c.name, func(b *testing.B) {
			file, problems := config.Parse("cost.yaml", []byte(c.top+`
delegates: {a: {command: {argv: [never, "{brief}"]}, price: {input: 1, output: 2}}}
patterns: {x: {pattern: fallback-chain, with: {chain: [a]}, config: {`+c.config+`}}}
`), config.Kinds())
			if problems.Failed() {
				b.Fatal(problems)
			}
			e, err := New(Config{File: file, Environ: []string{}})
			if err != nil {
				b.Fatal(err)
			}
			e.delegates[file.Delegates[0]] = health.Watch(e.tracker, "a", answers)
			ref, _ := file.Lookup("x")
			bound, err := e.Bind(ref, 0)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if r := bound.Run(context.Background(), brief, nil); r.Err != nil || r.Outcome.Result.Text != "4" {
					b.Fatal(r.Err)
				}
			}
		})
	}
}

// deep uses a hundred bytes of stack and more for each of its n calls, and returns 0.
func deep(n int) int {
	var room [128]byte
	if n == 0 {
		return int(room[n])
	}
	room[n] = byte(n)
	return deep(n-1) + int(room[0])
}
