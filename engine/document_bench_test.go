package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
)

// BenchmarkFallbackOfThree is a fallback over three functions, the first two of which fail at once: natively, and as the text of
// the library's document. Nothing else takes time, so that it is the engine that is measured.
func BenchmarkFallbackOfThree(b *testing.B) {
	for _, way := range []struct {
		name    string
		literal bool
	}{{"native", false}, {"text", true}} {
		b.Run(way.name, func(b *testing.B) {
			run := fallbackOfThree(b, way.literal)
			b.ReportAllocs()
			for b.Loop() {
				run()
			}
		})
	}
	// Both in one run, turn and turn about, so that they meet the same machine.
	b.Run("ratio", func(b *testing.B) {
		runs := []func(){fallbackOfThree(b, false), fallbackOfThree(b, true)}
		var took [2]time.Duration
		for b.Loop() {
			for i, run := range runs {
				began := time.Now()
				for range 100 {
					run()
				}
				took[i] += time.Since(began)
			}
		}
		b.ReportMetric(float64(took[1])/float64(took[0]), "text/native")
	})
}

func fallbackOfThree(b *testing.B, literal bool) (run func()) {
	world, err := NewWorld(WorldConfig{Literal: literal})
	if err != nil {
		b.Fatal(err)
	}
	file, problems := config.Parse("bench.yaml", []byte(`
delegates: {one: {command: {argv: [one]}}, two: {command: {argv: [two]}}, three: {command: {argv: [three]}}}
`), config.Kinds(), world.Extras()...)
	if problems.Failed() {
		b.Fatal(problems)
	}
	doc, problems := world.Open("std/patterns/fallback-chain")
	if problems.Failed() {
		b.Fatal(problems)
	}
	in, problems := world.Instance(file, doc, []config.Binding{{Origin: "with", Slot: "chain", Names: []string{"one", "two", "three"}}}, nil)
	if problems.Failed() {
		b.Fatal(problems)
	}
	e, err := New(Config{File: file, Environ: []string{}})
	if err != nil {
		b.Fatal(err)
	}
	down := errors.New("down")
	for _, d := range file.Delegates {
		e.delegates[d] = firstgood.Func(d.Name, func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			if d.Name == "three" {
				return firstgood.Reply{Text: "yes"}, nil
			}
			return firstgood.Reply{}, down
		})
	}
	bound, err := e.Bind(config.Ref{Name: doc.Name, Instance: in}, 0)
	if err != nil {
		b.Fatal(err)
	}
	brief := firstgood.Text("Hi.")
	return func() {
		if result := bound.Run(b.Context(), brief, nil); result.Outcome.Winner != "three" {
			b.Fatal(result.Err)
		}
	}
}
