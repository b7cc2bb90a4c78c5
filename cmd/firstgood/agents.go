package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/agent"
	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
)

// addAgents adds the agents that --agents names to a file, unless that has them, and returns the names. It is an error when
// none of them is on this machine; of those that are not it tells.
func (f *runFlags) addAgents(t terminal, file *config.File) ([]string, error) {
	var names, missing []string
	unknown := func(name string) error {
		if near := diagnostic.Nearest(name, append(config.AgentKinds(), file.Names()...)); near != "" {
			return usagef("--agents: there is no agent %q; did you mean %s?", name, near)
		}
		others := "and there is no " + f.file + " here that could name others"
		if len(file.Names()) > 0 {
			others = f.file + " names " + strings.Join(file.Names(), ", ")
		}
		return usagef("--agents: there is no agent %q; firstgood knows %s; %s", name, strings.Join(config.AgentKinds(), ", "), others)
	}
	found := agent.Find(nil)
	for _, name := range f.agents {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, usagef("--agents has an empty name; write names with commas between, such as claude,codex")
		}
		names = append(names, name)
		if ref, known := file.Lookup(name); known {
			if !isolatedIn(ref) {
				return nil, usagef("--agents: %s (%s) does not work in a place of its own, so it brings no change; give it isolate: clone there, or run it without --agents", name, ref.Pos)
			}
			continue
		}
		kind, ok := agent.Named(name)
		if !ok {
			return nil, unknown(name)
		}
		if slices.ContainsFunc(found, func(found agent.Found) bool { return found.Kind.Name == name && found.Path == "" }) {
			missing = append(missing, fmt.Sprintf("%s is not on PATH; get it with: %s", name, kind.Install))
		}
		file.Delegates = append(file.Delegates, &config.Delegate{ // without the file's defaults, which are of delegates in it: models, mostly
			Name: name, Pos: config.Pos{File: "--agents"}, Kind: "agent", Effects: config.EffectsNone,
			Spec: &config.Agent{Kind: name, Grace: agent.DefaultGrace, MaxOutput: agent.DefaultMaxOutput},
		})
	}
	switch {
	case len(names) == 0:
		return nil, usagef("--agents is empty; name agents with commas between, such as claude,codex")
	case len(missing) == len(names):
		return nil, usagef("--agents: %s", strings.Join(missing, "\n"))
	}
	for _, what := range missing {
		f.say(t, config.Problems{{Pos: config.Pos{File: "--agents"}, Severity: config.SeverityWarning, Message: what}})
	}
	return names, nil
}

// agentEntry is an agent as `firstgood agents --json` prints it.
type agentEntry struct {
	Name    string  `json:"name"`
	Title   string  `json:"title"`
	Path    *string `json:"path"`    // null: it is not on PATH
	Version *string `json:"version"` // null: it does not tell
	Install string  `json:"install"`
}

func newAgents(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "Show which coding agents this machine has",
		Long:  "Show the coding agents that firstgood knows: where each is on PATH and its version, or how to get it.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 20*time.Second) // some start slowly
			defer cancel()
			entries := lookForAgents(ctx)
			if err := context.Cause(cmd.Context()); err != nil {
				return &exit{statusOf(err), err}
			}
			return emit(t.out, func(w io.Writer) {
				if asJSON {
					data, _ := json.Marshal(entries)
					fmt.Fprintf(w, "%s\n", data)
					return
				}
				printAgents(w, entries)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

// lookForAgents asks each agent that is on PATH for its version, all at once.
func lookForAgents(ctx context.Context) []agentEntry {
	found := agent.Find(nil)
	entries := make([]agentEntry, len(found))
	var group sync.WaitGroup
	for i, f := range found {
		entries[i] = agentEntry{Name: f.Kind.Name, Title: f.Kind.Title, Install: f.Kind.Install}
		if f.Path == "" {
			continue
		}
		entries[i].Path = &f.Path
		group.Go(func() {
			if version, err := f.Version(ctx); err == nil {
				entries[i].Version = &version
			}
		})
	}
	group.Wait()
	return entries
}

func printAgents(w io.Writer, entries []agentEntry) {
	var rows [][]string
	for _, e := range entries {
		switch {
		case e.Path == nil:
			rows = append(rows, []string{e.Name, "missing; get it:", e.Install})
		case e.Version == nil:
			rows = append(rows, []string{e.Name, "of some version", live.Clean(*e.Path)})
		default:
			rows = append(rows, []string{e.Name, live.Clean(*e.Version), live.Clean(*e.Path)})
		}
	}
	printColumns(w, rows)
	var names []string
	for _, e := range entries {
		if e.Path != nil && len(names) < 3 {
			names = append(names, e.Name)
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(w, "\nnext, in a repository:\n  firstgood race --agents %s --accept 'go test ./...' \"BRIEF\"\n", strings.Join(names, ","))
	}
}
