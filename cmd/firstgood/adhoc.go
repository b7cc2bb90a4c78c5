package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/pattern"
)

func newChain(t terminal) *cobra.Command {
	return newAdHoc(t, "chain", pattern.FallbackChainName, "chain", "Try delegates in order, moving on only when one fails",
		`  firstgood chain fast careful -- "What is the capital of France?"
  firstgood chain fast careful --fail-if "it names no city" -- "France?"
  firstgood chain --agents claude,codex --accept 'go test ./...' "fix the bug"`)
}

func newRace(t terminal) *cobra.Command {
	return newAdHoc(t, "race", pattern.RaceName, "candidates", "Start delegates at once, take the first good reply",
		`  firstgood race fast careful local -- "What is the capital of France?"
  firstgood race fast careful --set start_after=400ms -- "France?"
  firstgood race --agents claude,codex --accept 'go test ./...' "fix the bug"`)
}

// newAdHoc is a command that runs an instance which is not in the file.
func newAdHoc(t terminal, name, patternName, slot, short, example string) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   name + " NAME… -- BRIEF\n  firstgood " + name + " --agents a,b BRIEF",
		Short: short,
		Long: short + `.
The names are those of delegates, or patterns, in the file. The brief stands behind --.

With --agents there are no names and no file is needed: the one argument is the brief, and each coding agent works
in a clone of the repository here. The change of the winner, the first that --accept accepts, is applied to the
working tree (--apply says how else), which nothing touches before. A file that is there is read for its judge and
for agents of its own.

Exit status: 0 won, 1 no winner, 2 usage or file error (nothing ran), 3 the change could not be applied (and nothing
was changed), a judge did not answer or firstgood itself failed, 124 timeout, 130 or 143 interrupted.`,
		Example: example,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && !f.given("agents") {
				return usagef("%s needs the names of delegates: firstgood %s NAME… -- BRIEF, or --agents and the brief", name, name)
			}
			return nil
		},
		ValidArgsFunction: completeNames(&f, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			names, rest, err := f.namesOf(name, args, cmd.ArgsLenAtDash())
			if err != nil {
				return err
			}
			brief, err := f.theBrief(cmd.Context(), t.in, rest)
			if err != nil {
				return err
			}
			file, err := f.fileOf(t)
			if err != nil {
				return err
			}
			if f.given("agents") {
				if names, err = f.addAgents(t, file); err != nil {
					return err
				}
			}
			for _, name := range names {
				if _, err := find(file, name); err != nil {
					return err
				}
			}
			set, err := f.settings()
			if err != nil {
				return err
			}
			in, problems := file.Instance(name, patternName, []config.Binding{{Origin: name, Slot: slot, Names: names}}, set)
			if problems.Failed() {
				return &exit{exitUsage, problems}
			}
			if err := f.checkWork(isolatedIn(config.Ref{Instance: in})); err != nil {
				return err
			}
			f.say(t, problems)
			if in.Config.Apply == "" && isolatedIn(config.Ref{Instance: in}) {
				in.Config.Apply = config.ApplyPatch
			}
			if f.given("agents") && !weighs(in) {
				f.say(t, config.Problems{{Pos: config.Pos{File: "--agents"}, Severity: config.SeverityWarning,
					Message: "without --accept the first agent that ends wins, whatever it has changed"}})
			}
			_, err = f.run(cmd.Context(), t, file, config.Ref{Name: name, Instance: in}, brief, nil)
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.failIf, "fail-if", "", "a reply of which this is true has failed; plain language, weighed by the file's judge")
	cmd.Flags().StringVar(&f.acceptIf, "accept-if", "", "only a reply of which this is true is good; plain language, weighed by the file's judge")
	cmd.Flags().BoolVar(&f.nonempty, "nonempty", false, "a reply that says nothing has failed")
	cmd.Flags().StringSliceVar(&f.agents, "agents", nil, "coding agents, as `a,b`: "+strings.Join(config.AgentKinds(), ", ")+", or agents of the file")
	_ = cmd.RegisterFlagCompletionFunc("agents", cobra.FixedCompletions(config.AgentKinds(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// weighs reports whether an instance rejects anything.
func weighs(in *config.Instance) bool {
	return in.Config.Acceptance != nil || in.Config.Failure != nil || in.Config.NonEmpty || in.Config.Patch != nil
}

// namesOf parts the arguments into names and what is to be the brief. With --agents all is that.
func (f *runFlags) namesOf(name string, args []string, dash int) (names, brief []string, err error) {
	if f.given("agents") {
		if len(args) > 1 {
			return nil, nil, usagef("with --agents the one argument is the brief, and got %d; put the brief in quotes, and names into --agents", len(args))
		}
		return nil, args, nil
	}
	if names, brief = split(args, dash); len(names) == 0 {
		return nil, nil, usagef("%s needs the names of delegates before --: firstgood %s NAME… -- BRIEF, or --agents and the brief", name, name)
	}
	return names, brief, nil
}

// split parts names from the brief: at the dash, or before a last argument that cannot be a name.
func split(args []string, dash int) (names, brief []string) {
	if dash >= 0 {
		return args[:dash], args[dash:]
	}
	if last := len(args) - 1; last >= 0 && strings.ContainsAny(args[last], " \t\n") {
		return args[:last], args[last:]
	}
	return args, nil
}

// fileOf reads the file. With --agents it need not be there, unless it was named.
func (f *runFlags) fileOf(t terminal) (*config.File, error) {
	if f.given("agents") && !f.given("file") {
		if _, err := os.Stat(f.file); errors.Is(err, fs.ErrNotExist) {
			file, problems := config.Parse(f.file, []byte("{}\n"), config.Kinds())
			return file, problems.Err()
		}
	}
	return f.loadFile(t)
}
