// Command firstgood gives a task to several delegates and brings back the first good answer.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/composite"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/process"
)

func main() {
	if composite.IsChild() { // this process runs the text of a composite, for one that is its parent
		os.Exit(composite.Child(os.Stdin, os.Stdout))
	}
	os.Exit(execute(os.Args[1:], terminal{os.Stdin, os.Stdout, os.Stderr}))
}

// terminal is where a command reads and writes.
type terminal struct {
	in  *os.File
	out io.Writer
	err io.Writer
}

// Exit statuses. What a run's status gives is in exitOf.
const (
	exitOK      = 0
	exitUsage   = 2 // usage, file or document error; nothing ran
	exitProgram = 3 // the program itself failed
)

// exitOf maps how a run ended to the exit status. A cancelled run's depends on the signal; see interrupted.
var exitOf = map[firstgood.Status]int{
	firstgood.StatusWon:        exitOK,
	firstgood.StatusExhausted:  1,
	firstgood.StatusStopped:    1,
	firstgood.StatusJudgeError: 3,
	firstgood.StatusTimeout:    124,
	firstgood.StatusCancelled:  130,
}

// exit is an error that carries an exit status. What is to be said has been said when err is nil.
type exit struct {
	status int
	err    error
}

func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}
func (e *exit) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// interrupted is the cause of a run that a signal cancelled.
type interrupted struct{ signal syscall.Signal }

func (i *interrupted) Error() string {
	switch i.signal {
	case syscall.SIGTERM:
		return "terminated (SIGTERM)"
	case syscall.SIGHUP:
		return "the terminal was closed (SIGHUP)"
	}
	return "interrupted (SIGINT)"
}

func (i *interrupted) status() int { return 128 + int(i.signal) }

// statusOf is the exit status of an error that ends a command which had begun its work: that of the signal which stopped it, if
// one did.
func statusOf(err error) int {
	if cause, ok := errors.AsType[*interrupted](err); ok {
		return cause.status()
	}
	return exitProgram
}

// execute runs the command line and returns the exit status.
func execute(args []string, t terminal) (status int) {
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintf(t.err, "firstgood: it failed itself, which is a bug: %v\n%s", fault, debug.Stack())
			status = exitProgram
		}
	}()
	ctx, stop := withSignals(context.Background())
	defer stop()
	root := newRoot(t)
	root.SetArgs(args)
	root.SetIn(t.in)
	root.SetOut(t.out)
	root.SetErr(t.err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	status = exitUsage // what cobra itself refuses
	var carried *exit
	if errors.As(err, &carried) {
		status = carried.status
	}
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		showProblems(t.err, problems)
	case err.Error() != "":
		// What a server, a judge or a program says may be in it, and must not command the terminal.
		lines := strings.Split(strings.TrimSuffix(err.Error(), "\n"), "\n")
		for i, line := range lines {
			lines[i] = live.Clean(line)
		}
		fmt.Fprintf(t.err, "firstgood: %s\n", strings.Join(lines, "\n"))
	}
	return status
}

// withSignals returns a context that SIGINT, SIGTERM and SIGHUP cancel. A second SIGINT or SIGTERM kills what runs, so
// that there is nothing to wait for, and ends the process soon in any case: it has the time to remove its trees, since some
// senders (such as timeout) signal twice. A third one ends it at once. A second SIGHUP does nothing, since a terminal that is closed
// sends one, and its shell another. A reader of stdout that has gone is an error of the write, not the end of the process: what runs is to be
// stopped first.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		var cause *interrupted
		var soon <-chan time.Time
		for {
			select {
			case <-soon:
				os.Exit(cause.status())
			case s := <-signals:
				if cause != nil && s == syscall.SIGHUP {
					continue
				}
				if cause != nil {
					process.KillAll()
					if soon != nil {
						os.Exit(cause.status())
					}
					soon = time.After(2 * time.Second)
					continue
				}
				cause = &interrupted{syscall.SIGINT}
				if number, ok := s.(syscall.Signal); ok {
					cause.signal = number
				}
				cancel(cause)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(pipes)
		close(done)
		cancel(nil)
	}
}

// showProblems writes problems as file:line:col: message, with the source line and a caret on a terminal.
func showProblems(w io.Writer, problems config.Problems) {
	if isTerminal(w) {
		_ = problems.Render(w, colored(w))
		return
	}
	fmt.Fprintln(w, problems.Error())
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func colored(w any) bool {
	return isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func newRoot(t terminal) *cobra.Command {
	root := &cobra.Command{
		Use:   "firstgood",
		Short: "Give a task to several delegates, get the first good answer",
		Long: `Firstgood gives a task to several delegates (models, coding agents, services) and brings
back the first good answer: by fallback-chain, which tries them in order, or by race, which
starts all at once and cancels the rest. What is good is decided on the reply.

  firstgood demo                 see it work: no key, no network
  firstgood init                 write firstgood.yaml from what this machine has
  firstgood run NAME "BRIEF"     run a pattern or a delegate of the file
  firstgood agents               show which coding agents this machine has

  firstgood race --agents claude,codex --accept 'go test ./...' "fix the bug"`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			var known []string
			for _, c := range cmd.Commands() {
				known = append(known, c.Name())
			}
			if near := diagnostic.Nearest(args[0], known); near != "" {
				return usagef("unknown command %q; did you mean %q?", args[0], near)
			}
			return usagef("unknown command %q; firstgood --help lists the commands", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.Version = version()
	root.SetVersionTemplate("firstgood {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(newRun(t), newChain(t), newRace(t), newDemo(t), newInit(t), newAgents(t), newClean(t), newDemoAgent(t), newCheck(t), newFormat(t), newJudge(t), newPatterns(t), newSchema(t), newLab(t), newVersion(t))
	root.InitDefaultCompletionCmd()
	root.SetHelpCommand(&cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about a command",
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return usagef("%s has no command %q; %[1]s --help lists what it has", found.CommandPath(), rest[0])
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	})
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped "+strconv.Itoa(screen)))
	narrow(root)
	return root
}

// narrow folds the help of a command, and of those under it, to the screen.
func narrow(cmd *cobra.Command) {
	cmd.Long = wrap(cmd.Long)
	for _, sub := range cmd.Commands() {
		narrow(sub)
	}
}
