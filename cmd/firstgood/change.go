package main

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
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
	flags.StringVar(&f.base, "base", "", "the `revision` that attempts start from, without what is uncommitted; unless said, HEAD with it")
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
	return engine.WorkConfig{Dir: f.dir, Base: f.base, Committed: f.base != "", Keep: f.keep}
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
