package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/isolate"
)

func newClean(t terminal) *cobra.Command {
	var kept, asJSON bool
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what runs that were killed have left behind",
		Long: `Remove the trees, the registrations of worktrees and the processes of runs that were killed, and finish or
undo a patch that was being applied then. What a run that goes on has is left alone.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			report, err := isolate.Clean(cmd.Context(), isolate.CleanConfig{Kept: kept})
			printed := emit(t.out, func(w io.Writer) {
				if asJSON {
					data, _ := json.Marshal(cleaningOf(report))
					fmt.Fprintf(w, "%s\n", data)
					return
				}
				printCleaning(w, report, err != nil)
			})
			if err != nil {
				return &exit{exitProgram, fmt.Errorf("not everything could be removed: %w", err)}
			}
			return printed
		},
	}
	cmd.Flags().BoolVar(&kept, "kept", false, "remove trees too that were kept with --keep")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// cleaning is an isolate.Report as `firstgood clean --json` prints it. No list is null.
type cleaning struct {
	Removed  []string `json:"removed"`
	Finished []string `json:"finished"`
	Undone   []string `json:"undone"`
	Killed   []int    `json:"killed"`
	Kept     []string `json:"kept"`
	Alive    []string `json:"alive"`
	Patches  []string `json:"patches"`
}

func cleaningOf(r isolate.Report) cleaning {
	return cleaning{
		Removed: append([]string{}, r.Removed...), Finished: append([]string{}, r.Finished...), Undone: append([]string{}, r.Undone...),
		Killed: append([]int{}, r.Killed...), Kept: append([]string{}, r.Kept...), Alive: append([]string{}, r.Alive...),
		Patches: append([]string{}, r.Patches...),
	}
}

// printCleaning tells people what was cleaned.
func printCleaning(w io.Writer, r isolate.Report, failed bool) {
	said := false
	list := func(what string, items []string) {
		for _, item := range items {
			fmt.Fprintf(w, "%s %s\n", what, live.Clean(item))
			said = true
		}
	}
	list("removed", r.Removed)
	list("finished applying a patch in", r.Finished)
	list("undid a patch that was half applied in", r.Undone)
	for _, pid := range r.Killed {
		fmt.Fprintf(w, "ended the process %d\n", pid)
		said = true
	}
	list("kept, as --keep asked (--kept removes it):", r.Kept)
	list("left alone, a run is at work in it (or was, on another machine):", r.Alive)
	list("yours to take or to remove, a patch that did not fit:", r.Patches)
	if !said && !failed {
		fmt.Fprintln(w, "there is nothing to clean")
	}
}
