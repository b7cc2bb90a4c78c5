package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

// demoFile is what the demo runs; LAB stands for the lab's address.
const demoFile = `judge: judge
defaults: {timeout: 10s}
delegates:
  broken: {openai: {base_url: "LAB", model: "500"}}
  shy:    {openai: {base_url: "LAB", model: "ok:Sorry, I cannot help with that."}}
  good:   {openai: {base_url: "LAB", model: "ok:Paris."}}
  fast:   {openai: {base_url: "LAB", model: "slow:300ms:Paris, said the fastest."}}
  slow:   {openai: {base_url: "LAB", model: "slow:5s"}}
  hung:   {openai: {base_url: "LAB", model: "hang"}}
  judge:  {openai: {base_url: "LAB", model: "judge"}}
patterns:
  answer:
    pattern: fallback-chain
    with: {chain: [broken, shy, good]}
    config: {failure_criteria: "it does not answer the question"}
  quick:
    pattern: race
    with: {candidates: [slow, fast, hung]}
    config: {nonempty: true}
`

const demoBrief = "What is the capital of France?"

func newDemo(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "See a chain and a race work: no key, no network",
		Long: `Run a fallback-chain and a race against the lab, a provider on this machine whose models misbehave on
demand. It needs no key and no network, and takes a few seconds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), t) },
	}
}

func demo(ctx context.Context, t terminal) error {
	server, err := lab.New(lab.Config{})
	if err != nil {
		return &exit{exitProgram, err}
	}
	if err := server.Start(""); err != nil {
		return &exit{exitProgram, err}
	}
	defer server.Close()
	text := strings.ReplaceAll(demoFile, "LAB", server.URL())
	file, problems := config.Parse("demo.yaml", []byte(text), config.Kinds())
	if problems.Failed() {
		return &exit{exitProgram, problems}
	}
	fmt.Fprintf(t.out, "The task: %s\n\n", demoBrief)
	fmt.Fprintln(t.out, "1. A fallback-chain moves on past a 500 and past a reply that a judge rejects.")
	chain, err := demoRun(ctx, t, file, "answer")
	if err != nil {
		return err
	}
	for _, f := range chain.Outcome.History {
		line, cut := firstgood.Excerpt(f.String(), 62)
		if cut {
			line += "…"
		}
		fmt.Fprintf(t.out, "   history: %s\n", line)
	}
	fmt.Fprintln(t.out, "\n2. A race starts all at once; the first good reply wins, the rest are cut off.")
	decided := time.Now()
	race, err := demoRun(ctx, t, file, "quick")
	if err != nil {
		return err
	}
	decided = decided.Add(race.Outcome.Duration)
	wait, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := server.WaitGone(wait, 2); err != nil {
		return &exit{exitProgram, fmt.Errorf("the losers were not cut off: %w", err)}
	}
	for _, v := range server.Visits() {
		if v.End == lab.EndGone {
			fmt.Fprintf(t.out, "   the lab saw %s hang up %.1f ms after the decision\n", loser(file, v.Model), max(0, v.Gone.Sub(decided).Seconds()*1000))
		}
	}
	fmt.Fprint(t.out, `
Next:
  firstgood init               write firstgood.yaml from what this machine has
  firstgood run NAME "BRIEF"   run a pattern of your file; --json for the record
  firstgood lab                serve these misbehaving models yourself
  firstgood --help             the rest
`)
	return nil
}

// demoRun runs a pattern of the demo's file and tells how it ended.
func demoRun(ctx context.Context, t terminal, file *config.File, name string) (*engine.Result, error) {
	ref, _ := file.Lookup(name)
	// The demo is the same everywhere, whatever the environment holds.
	made, err := engine.New(engine.Config{File: file, Lookup: func(string) (string, bool) { return "", false }})
	if err != nil {
		return nil, &exit{exitProgram, err}
	}
	bound, err := made.Bind(ref, 0)
	if err != nil {
		return nil, &exit{exitProgram, err}
	}
	view := newProgress(t.err, bound.Plan)
	result := bound.Run(ctx, firstgood.Text(demoBrief), view.Watch)
	view.Close()
	drain(bound)
	if result.Err != nil {
		return nil, finish(result, false)
	}
	out := result.Outcome
	fmt.Fprintf(t.out, "   result: %s\n   winner: %s (attempts: %d, %v)\n", out.Result, out.Winner, out.Attempts, out.Duration.Round(time.Millisecond))
	return result, nil
}

// loser is the delegate of the demo's file that has the model.
func loser(file *config.File, model string) string {
	for _, d := range file.Delegates {
		if spec, ok := d.Spec.(*config.OpenAI); ok && spec.Model.String() == model {
			return d.Name
		}
	}
	return model
}
