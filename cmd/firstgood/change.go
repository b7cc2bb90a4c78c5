package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/agent"
	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/isolate"
)

// changeFlags are the flags about what delegates do to files.
type changeFlags struct {
	accept  string
	protect []string
	apply   string
	dir     string
	base    string
	keep    bool
	agents  []string // of race and chain alone
}

func (f *changeFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.accept, "accept", "", "only a reply, or a change, of which this shell `command` says so by its exit status is good")
	flags.StringArrayVar(&f.protect, "protect", nil, "a `glob` of paths that no change may touch before --accept runs; may be repeated; '' protects nothing; without it, the usual places of tests and fixtures")
	flags.StringVar(&f.apply, "apply", "", "what is done with the winner's change: `how` is patch, branch, commit or none")
	flags.StringVar(&f.dir, "dir", "", "the `folder` that delegates work on; the current one unless said")
	flags.StringVar(&f.base, "base", "", "the `revision` that attempts start from; unless said, HEAD with what is uncommitted")
	flags.BoolVar(&f.keep, "keep", false, "keep the trees in which attempts worked")
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.RegisterFlagCompletionFunc("apply", cobra.FixedCompletions([]string{"patch", "branch", "commit", "none"}, cobra.ShellCompDirectiveNoFileComp))
}

// changeSettings are what the flags about changes set in an instance's config.
func (f *runFlags) changeSettings() ([]config.Setting, error) {
	var set []config.Setting
	add := func(flag, key string, value any) {
		data, _ := json.Marshal(value)
		set = append(set, config.Setting{Origin: "--" + flag, Key: key, Value: strings.ReplaceAll(string(data), "${", "$${")})
	}
	if f.given("accept") {
		if strings.TrimSpace(f.accept) == "" {
			return nil, usagef("--accept is empty; give it a command, such as 'go test ./...'")
		}
		if f.acceptIf != "" {
			return nil, usagef("--accept and --accept-if are both given; keep one, or write acceptance_criteria: {all: […]} in the file")
		}
		shell := []string{"sh", "-c", f.accept}
		if runtime.GOOS == "windows" {
			shell = []string{"cmd", "/c", f.accept}
		}
		add("accept", "acceptance_criteria", map[string]any{"command": shell})
	}
	if f.given("protect") {
		globs := slices.DeleteFunc(slices.Clone(f.protect), func(glob string) bool { return glob == "" })
		add("protect", "protect", append([]string{}, globs...))
	}
	if f.given("apply") {
		if !slices.Contains([]string{"patch", "branch", "commit", "none"}, f.apply) {
			return nil, usagef("--apply %s: want patch, branch, commit or none", f.apply)
		}
		set = append(set, config.Setting{Origin: "--apply", Key: "apply", Value: f.apply})
	}
	return set, nil
}

// work is where delegates in places of their own work.
func (f *changeFlags) work() engine.WorkConfig {
	return engine.WorkConfig{Dir: f.dir, Base: f.base, Keep: f.keep}
}

// checkWork reports flags about places that nobody works in.
func (f *runFlags) checkWork(isolated bool) error {
	if f.dir != "" {
		if info, err := os.Stat(f.dir); err != nil || !info.IsDir() {
			return usagef("--dir %s: there is no such folder", f.dir)
		}
	}
	if isolated {
		return nil
	}
	for _, flag := range []string{"base", "keep", "protect"} {
		if f.given(flag) {
			return usagef("--%s is for delegates that work in a place of their own, and there is none here; name agents with --agents, or give a command isolate: clone in the file", flag)
		}
	}
	if f.given("apply") && f.apply != config.ApplyNone {
		return usagef("--apply %s: nobody here works in a place of its own, so that there is no change to apply; name agents with --agents, or give a command isolate: clone in the file", f.apply)
	}
	return nil
}

// isolatedIn reports whether one of the delegates that ref leads to works in a place of its own.
func isolatedIn(ref config.Ref) bool {
	if ref.Delegate != nil {
		return ref.Delegate.Isolated()
	}
	return slices.ContainsFunc(ref.Instance.Reach(), (*config.Delegate).Isolated)
}

// addAgents adds the agents that --agents names to a file, unless that has delegates of these names, and returns the names.
// Those that are not on this machine are told of; without any other it is an error.
func (f *runFlags) addAgents(t terminal, file *config.File) ([]string, error) {
	var names, missing []string
	for _, name := range f.agents {
		name = strings.TrimSpace(name)
		if _, known := file.Lookup(name); known {
			names = append(names, name)
			continue
		}
		kind, ok := agent.Named(name)
		if !ok {
			known := append(config.AgentKinds(), file.Names()...)
			if near := diagnostic.Nearest(name, known); near != "" {
				return nil, usagef("--agents: there is no agent %q; did you mean %s?", name, near)
			}
			return nil, usagef("--agents: there is no agent %q; firstgood knows %s, and the delegates of the file", name, strings.Join(config.AgentKinds(), ", "))
		}
		i := slices.IndexFunc(agent.Find(nil), func(found agent.Found) bool { return found.Kind.Name == name && found.Path != "" })
		if i < 0 {
			missing = append(missing, fmt.Sprintf("%s is not on PATH; get it with: %s", name, kind.Install))
		}
		file.Delegates = append(file.Delegates, &config.Delegate{
			Name: name, Pos: config.Pos{File: "--agents"}, Kind: "agent", Effects: config.EffectsNone, Timeout: file.Defaults.Timeout,
			Spec: &config.Agent{Kind: name, Grace: agent.DefaultGrace, MaxOutput: agent.DefaultMaxOutput},
		})
		names = append(names, name)
	}
	if len(missing) == len(names) && len(names) > 0 {
		return nil, usagef("--agents: %s", strings.Join(missing, "; "))
	}
	for _, what := range missing {
		f.say(t, config.Problems{{Pos: config.Pos{File: "--agents"}, Severity: config.SeverityWarning, Message: what}})
	}
	return names, nil
}

// loadOrNone reads the file, or none where it is the one that nobody named and it is not there.
func (f *runFlags) loadOrNone(t terminal) (*config.File, error) {
	if _, err := os.Stat(f.file); errors.Is(err, fs.ErrNotExist) && !f.given("file") {
		file, problems := config.Parse(f.file, []byte("{}\n"), config.Kinds())
		return file, problems.Err()
	}
	return f.loadFile(t)
}

// applied brings the winner's change to the user's files, as how says.
func applied(ctx context.Context, bound *engine.Bound, result *engine.Result, how string, brief firstgood.Brief) {
	if result.Err != nil || result.Outcome.Result.Change == nil || len(result.Outcome.Result.Change.Diff()) == 0 {
		return
	}
	title, _, _ := strings.Cut(strings.TrimSpace(brief.String()), "\n")
	title, cut := firstgood.Excerpt(title, 70)
	if cut {
		title += "…"
	}
	_, _ = bound.Apply(ctx, result, how, fmt.Sprintf("%s\n\nWritten by %s, accepted by firstgood.", title, result.Outcome.Winner))
}

// tellChange says what the winner has changed, what was put back, and what has become of it.
func tellChange(w io.Writer, result *engine.Result, how string) {
	change := result.Outcome.Result.Change
	if result.Err != nil || change == nil {
		return
	}
	if len(change.Diff()) == 0 {
		fmt.Fprintln(w, "the winner changed no file")
		return
	}
	files := engine.ChangedFiles(change)
	for _, f := range files[:min(len(files), 10)] {
		fmt.Fprintf(w, "  %s\n", live.Clean(f))
	}
	if len(files) > 10 {
		fmt.Fprintf(w, "  and %d more\n", len(files)-10)
	}
	if restored := change.Restored(); len(restored) > 0 {
		fmt.Fprintf(w, "put back, since it is protected: %s\n", live.Clean(strings.Join(restored, ", ")))
	}
	switch {
	case result.ApplyError != nil:
		// the command ends with it
	case result.Applied == "" || how == "" || how == config.ApplyNone:
		fmt.Fprintln(w, "not applied; --apply patch does, and --json has the patch")
	case how == config.ApplyBranch:
		fmt.Fprintf(w, "on the branch %s; git merge %[1]s takes it\n", result.Applied)
	case how == config.ApplyCommit:
		fmt.Fprintf(w, "committed as %.12s; git reset --keep HEAD~1 undoes it\n", result.Applied)
	default:
		fmt.Fprintln(w, "applied to the working tree; git diff shows it")
	}
}

// closePlaces removes the trees of a run.
func closePlaces(t terminal, bound *engine.Bound) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := bound.Close(ctx); err != nil {
		fmt.Fprintf(t.err, "firstgood: a tree could not be removed: %v; firstgood clean tries again\n", err)
	}
}

func newAgents(t terminal) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "Show which coding agents this machine has",
		Long:  "Show the coding agents that firstgood knows: where each is on PATH and its version, or how to get it.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type entry struct {
				Name    string  `json:"name"`
				Title   string  `json:"title"`
				Path    *string `json:"path"`
				Version *string `json:"version"`
				Install string  `json:"install"`
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 10*time.Second)
			defer cancel()
			found := agent.Find(nil)
			entries := make([]entry, len(found))
			done := make(chan int)
			for i, f := range found {
				go func() {
					entries[i] = entry{Name: f.Kind.Name, Title: f.Kind.Title, Install: f.Kind.Install}
					if f.Path != "" {
						entries[i].Path = &f.Path
						if version, err := f.Version(ctx); err == nil {
							entries[i].Version = &version
						}
					}
					done <- i
				}()
			}
			for range found {
				<-done
			}
			return emit(t.out, func(w io.Writer) {
				if asJSON {
					data, _ := json.Marshal(entries)
					fmt.Fprintf(w, "%s\n", data)
					return
				}
				var rows [][]string
				for _, e := range entries {
					switch {
					case e.Path == nil:
						rows = append(rows, []string{e.Name, "missing", "get it with: " + e.Install})
					case e.Version == nil:
						rows = append(rows, []string{e.Name, "found", *e.Path + " (it does not tell its version)"})
					default:
						rows = append(rows, []string{e.Name, "found", *e.Path + " (" + *e.Version + ")"})
					}
				}
				printColumns(w, rows)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON list")
	return cmd
}

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
					data, _ := json.Marshal(report)
					fmt.Fprintf(w, "%s\n", data)
					return
				}
				printReport(w, report)
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

func printReport(w io.Writer, r isolate.Report) {
	list := func(what string, items []string) {
		for _, item := range items {
			fmt.Fprintf(w, "%s %s\n", what, item)
		}
	}
	list("removed", r.Removed)
	list("finished applying a patch in", r.Finished)
	list("undid a patch that was half applied in", r.Undone)
	for _, pid := range r.Killed {
		fmt.Fprintf(w, "ended the process %d\n", pid)
	}
	list("kept (--kept removes it)", r.Kept)
	list("still in use", r.Alive)
	list("a patch to take by hand:", r.Patches)
	if len(r.Removed)+len(r.Finished)+len(r.Undone)+len(r.Killed)+len(r.Kept)+len(r.Alive)+len(r.Patches) == 0 {
		fmt.Fprintln(w, "there is nothing to clean")
	}
}
