package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/isolate"
)

// application is what becomes of the winner's change.
type application struct {
	how  string // one of the Apply constants of config, or "" for none
	dir  string // the user's folder, "" for the current one
	undo string // how a change of the working tree is taken back, in words behind what was done
}

// apply brings the winner's change to the user's files, and keeps in the result what it has become, or why not.
func (a *application) apply(ctx context.Context, bound *engine.Bound, result *engine.Result, brief firstgood.Brief) {
	change := result.Outcome.Result.Change
	if result.Err != nil || change == nil || len(change.Diff()) == 0 {
		return
	}
	if a.how == config.ApplyPatch {
		a.undo = wayBack(ctx, a.dir, engine.ChangedFiles(change))
	}
	title, _, _ := strings.Cut(strings.TrimSpace(brief.String()), "\n")
	title, cut := firstgood.Excerpt(title, 70)
	if cut {
		title += "…"
	}
	_, err := bound.Apply(ctx, result, a.how, fmt.Sprintf("%s\n\nWritten by %s, accepted by firstgood.", title, result.Outcome.Winner))
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, isolate.ErrConflict) {
		result.ApplyError = fmt.Errorf("the change of %s was not applied, and nothing was changed: %w", result.Outcome.Winner, cause)
	}
}

// wayBack says how a change of files is taken back that is about to be applied. It looks at the files as they are now, and
// writes nothing.
func wayBack(ctx context.Context, dir string, files []isolate.FileChange) string {
	args := []string{"-c", "core.fsmonitor=false", "status", "--porcelain", "-z", "--ignored", "--untracked-files=all", "--"}
	for _, f := range files {
		args = append(args, ":(top,literal)"+f.Path)
		if f.Old != "" {
			args = append(args, ":(top,literal)"+f.Old)
		}
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "GIT_") }), "GIT_OPTIONAL_LOCKS=0")
	switch out, err := cmd.Output(); {
	case err != nil:
		return "; it is not in git, which could take it back"
	case len(out) > 0:
		return ", into files with changes of your own; git diff shows both"
	}
	return "; undo: " + undo(dir, files)
}

// tell says what the winner has changed, what was put back, and what has become of it.
func (a *application) tell(w io.Writer, result *engine.Result) {
	change := result.Outcome.Result.Change
	if result.Err != nil || change == nil {
		return
	}
	files := engine.ChangedFiles(change)
	for _, f := range files[:min(len(files), mostFiles)] {
		fmt.Fprintf(w, "  %s\n", live.Clean(describe(f)))
	}
	if len(files) > mostFiles {
		fmt.Fprintf(w, "  and %d more\n", len(files)-mostFiles)
	}
	if restored := change.Restored(); len(restored) > 0 {
		names := strings.Join(restored[:min(len(restored), mostFiles)], ", ")
		if len(restored) > mostFiles {
			names += fmt.Sprintf(" and %d more", len(restored)-mostFiles)
		}
		fmt.Fprintf(w, "left out, since a change may not touch the tests that weigh it: %s (--protect '' lets it)\n", live.Clean(names))
	}
	switch {
	case len(files) == 0:
		if a.how != "" && a.how != config.ApplyNone {
			fmt.Fprintf(w, "%s changed no file, so there is nothing to apply\n", live.Clean(result.Outcome.Winner))
		}
	case result.ApplyError != nil:
		// the command ends with it
	case result.Applied == "":
		fmt.Fprintln(w, "not applied: --apply patch applies it, --json prints it")
	case a.how == config.ApplyBranch:
		fmt.Fprintf(w, "committed on the branch %s; take it: git merge %[1]s; drop it: git branch -D %[1]s\n", result.Applied)
	case a.how == config.ApplyCommit:
		fmt.Fprintf(w, "committed as %.12s; undo: git reset --keep HEAD~1 (which unstages what is staged)\n", result.Applied)
	default:
		fmt.Fprintf(w, "applied to the working tree%s\n", live.Clean(a.undo))
	}
}

// mostFiles bounds what is told of a large change.
const mostFiles = 10

// describe tells of one file of a change in a line.
func describe(f isolate.FileChange) string {
	line := string(f.Status) + " " + f.Path
	if f.Old != "" {
		line += " (from " + f.Old + ")"
	}
	switch {
	case f.Binary:
		return line + " (binary)"
	case f.Added+f.Removed > 0:
		return line + fmt.Sprintf(" +%d -%d", f.Added, f.Removed)
	}
	return line
}

// undo is the command that takes a change back whose files were as committed.
func undo(dir string, files []isolate.FileChange) string {
	var back, away []string
	for _, f := range files {
		switch {
		case f.Status == isolate.Added:
			away = append(away, shellPath(f.Path))
		case f.Status == isolate.Renamed:
			back, away = append(back, shellPath(f.Old)), append(away, shellPath(f.Path))
		default:
			back = append(back, shellPath(f.Path))
		}
	}
	if len(back)+len(away) > mostFiles {
		return "git diff shows all, git restore and git clean take it back"
	}
	git := "git "
	if dir != "" {
		git += "-C " + shellWord(dir) + " "
	}
	var commands []string
	if len(back) > 0 {
		commands = append(commands, git+"restore "+strings.Join(back, " "))
	}
	if len(away) > 0 {
		commands = append(commands, git+"clean -f "+strings.Join(away, " "))
	}
	return strings.Join(commands, " && ")
}

// shellPath writes a path from the top of the repository as git takes it anywhere in it, for a POSIX shell.
func shellPath(path string) string {
	if plain := ":/" + path; shellWord(plain) == plain {
		return plain
	}
	return shellWord(":(top,literal)" + path)
}

// shellWord writes a word for a POSIX shell.
func shellWord(word string) string {
	if strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+,@=:") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// closePlaces removes the trees of a run.
func closePlaces(t terminal, bound *engine.Bound) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := bound.Close(ctx); err != nil {
		fmt.Fprintf(t.err, "firstgood: a tree could not be removed: %v; firstgood clean tries again\n", err)
	}
}
