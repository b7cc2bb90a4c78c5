package isolate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood/process"
)

// Bounds of what git may print.
const (
	maxListing = 256 << 20 // names of files, a line each
	maxDiff    = 64 << 20  // the text of a patch
)

// minGit is the oldest git that knows all that is used here: GIT_CONFIG_COUNT came with it.
var minGit = [2]int{2, 31}

// gitError is git's refusal. Its text is what git said.
type gitError struct {
	command string
	status  string
	said    string
	code    int
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %s", e.command, e.status)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

// git is a way to call git: where, with which repository, index and settings. The zero value is git without any of them.
type git struct {
	dir    string   // the working directory
	vars   []string // GIT_… variables, NAME=value
	config []string // settings that overrule every file: key, value, key, value, …
}

// in returns a copy that works in another directory.
func (g git) in(dir string) git { g.dir = dir; return g }

// with returns a copy with further variables.
func (g git) with(vars ...string) git {
	g.vars = slices.Concat(g.vars, vars)
	return g
}

// set returns a copy with further settings.
func (g git) set(config ...string) git {
	g.config = slices.Concat(g.config, config)
	return g
}

// settled are the settings under which every git runs: nothing of the user's runs that is not needed to read and write the
// bytes of files, nothing is done in the background, and nothing depends on taste.
var settled = []string{
	"core.hooksPath", "/dev/null",
	"core.fsmonitor", "false",
	"core.untrackedCache", "false",
	"core.splitIndex", "false",
	"core.safecrlf", "false", // true refuses files whose line ends are mixed
	"core.pager", "cat",
	"gc.auto", "0",
	"maintenance.auto", "false",
	"submodule.recurse", "false",
	"apply.ignoreWhitespace", "no",
	"apply.whitespace", "nowarn",
	"commit.gpgSign", "false",
	"protocol.allow", "never",
}

// withoutLFS keeps Git LFS out: what is stored is what is on disk, and the other way round.
var withoutLFS = []string{"filter.lfs.clean", "", "filter.lfs.smudge", "", "filter.lfs.process", "", "filter.lfs.required", "false"}

// run runs git and returns what it printed. A refusal of git's is a [*gitError].
func (g git) run(ctx context.Context, stdin string, args ...string) ([]byte, error) {
	return g.bounded(ctx, maxListing, stdin, args...)
}

func (g git) bounded(ctx context.Context, limit int, stdin string, args ...string) ([]byte, error) {
	result, err := process.Run(ctx, process.Spec{
		Argv:      slices.Concat([]string{"git"}, args),
		Dir:       g.dir,
		Env:       g.environment(),
		Stdin:     stdin,
		MaxOutput: limit,
	})
	if errors.Is(err, process.ErrNotFound) {
		return nil, fmt.Errorf("%w: install git %d.%d or newer", ErrNoGit, minGit[0], minGit[1])
	}
	if err != nil {
		return nil, fmt.Errorf("git %s: %w", args[0], err)
	}
	if result.ExitCode != 0 {
		said := strings.TrimSpace(string(bytes.ToValidUTF8(result.Stderr, []byte("?"))))
		return result.Stdout, &gitError{command: args[0], status: result.Status(), said: said, code: result.ExitCode}
	}
	return result.Stdout, nil
}

// line runs git and returns what it printed, less one final newline.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, "", args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// passed are the variables of this process that git gets. None of them is git's own: a caller that is itself run by git, such
// as a hook, has variables that point into its own work.
var passed = []string{
	"PATH", "HOME", "XDG_CONFIG_HOME", "USER", "LOGNAME", "TMPDIR",
	"SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "APPDATA",
	"LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
}

func (g git) environment() []string {
	env := []string{
		"LC_ALL=C",
		"GIT_OPTIONAL_LOCKS=0", // status and diff do not write the index
		"GIT_TERMINAL_PROMPT=0",
		"GIT_NO_LAZY_FETCH=1",
		"GIT_LFS_SKIP_SMUDGE=1",
		"GIT_LITERAL_PATHSPECS=1",
		"GIT_EDITOR=false",
		"GIT_ADVICE=0",
	}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	config := slices.Concat(settled, g.config)
	env = append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(len(config)/2))
	for i := 0; i+1 < len(config); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+config[i], "GIT_CONFIG_VALUE_"+n+"="+config[i+1])
	}
	return slices.Concat(env, g.vars)
}

// checkVersion finds out whether git is there and new enough.
func checkVersion(ctx context.Context) error {
	said, err := git{}.line(ctx, "version")
	if err != nil {
		return err
	}
	var major, minor int
	if _, err := fmt.Sscanf(said, "git version %d.%d", &major, &minor); err != nil {
		return fmt.Errorf("git version: cannot read %q", said)
	}
	if major < minGit[0] || major == minGit[0] && minor < minGit[1] {
		return fmt.Errorf("%w: %s is too old; install git %d.%d or newer", ErrNoGit, said, minGit[0], minGit[1])
	}
	return nil
}

// fields splits a listing whose entries end with a NUL byte.
func fields(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// joined is the opposite of fields.
func joined(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, "\x00") + "\x00"
}

// workers is how many files git writes at once. Making files is mostly waiting for the disk: on a busy one with two cores, four
// took half the time of two, and on a file system in memory the same.
func workers() string { return strconv.Itoa(min(2*runtime.NumCPU(), 8)) }
