// Package bench measures the whole program: the engine over real connections, and the command as it is built.
//
//	go test -run '^$' -bench Losers -benchtime 1000x ./bench
//	go test -run '^$' -bench Startup -benchtime 50x ./bench
package bench

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

const raceFile = `
delegates:
  hung: {openai: {base_url: "${LAB}", model: hang}}
  fast: {openai: {base_url: "${LAB}", model: fast}}
  slow: {openai: {base_url: "${LAB}", model: "slow:1h"}}
patterns:
  quick: {pattern: race, with: {candidates: [hung, fast, slow]}}
`

// BenchmarkLosersAreCutOff runs races of three against the lab over loopback, one for each iteration, and measures how long
// after the decision the lab sees each of the two losers' connections close.
func BenchmarkLosersAreCutOff(b *testing.B) {
	var server *lab.Server
	races := 0
	server, err := lab.New(lab.Config{Keep: 3, Models: map[string]lab.Model{
		// The fast one answers when all three are being asked, so that there is something to cut off.
		"fast": func(ctx context.Context, _ lab.Request) lab.Reply {
			if err := server.WaitStarted(ctx, 3*races); err != nil {
				return lab.Reply{Status: 500}
			}
			return lab.Reply{Text: "First."}
		},
	}})
	if err != nil {
		b.Fatal(err)
	}
	if err := server.Start(""); err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	file, problems := config.Parse("race.yaml", []byte(raceFile), config.Kinds())
	if problems.Failed() {
		b.Fatal(problems)
	}
	ref, _ := file.Lookup("quick")
	made, err := engine.New(engine.Config{File: file, Lookup: func(string) (string, bool) { return server.URL(), true }})
	if err != nil {
		b.Fatal(err)
	}
	bound, err := made.Bind(ref, 0)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	cuts := make([]time.Duration, 0, 2*1000)
	for b.Loop() {
		races++
		began := time.Now()
		result := bound.Run(ctx, firstgood.Text("Who is first?"), nil)
		decided := began.Add(result.Outcome.Duration)
		if result.Outcome.Winner != "fast" || result.Outcome.Attempts != 1 {
			b.Fatalf("%s won after %d attempts: %v", result.Outcome.Winner, result.Outcome.Attempts, result.Err)
		}
		if err := server.WaitGone(ctx, 2*races); err != nil {
			b.Fatal(err)
		}
		for _, v := range server.Visits() {
			if v.End == lab.EndGone {
				cuts = append(cuts, v.Gone.Sub(decided))
			}
		}
	}
	if err := bound.Drain(ctx); err != nil {
		b.Fatal(err)
	}
	if len(cuts) != 2*races {
		b.Fatalf("%d losers were seen to go in %d races", len(cuts), races)
	}
	slices.Sort(cuts)
	for name, at := range map[string]int{"p50-µs": len(cuts) / 2, "p99-µs": len(cuts) * 99 / 100, "max-µs": len(cuts) - 1} {
		b.ReportMetric(float64(cuts[at].Nanoseconds())/1000, name)
	}
}

// BenchmarkStartup measures how long the built command takes to start, say its version and end, and how large it is.
func BenchmarkStartup(b *testing.B) {
	program := filepath.Join(b.TempDir(), "firstgood")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	build := exec.Command("go", "build", "-o", program, "./cmd/firstgood")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := exec.Command(program, "version").Run(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(info.Size())/1e6, "MB")
}
