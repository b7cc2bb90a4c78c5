// Command firstgood gives a task to several delegates and brings back the first good answer.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
)

func main() {
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
	if i.signal == syscall.SIGTERM {
		return "terminated (SIGTERM)"
	}
	return "interrupted (SIGINT)"
}

func (i *interrupted) status() int { return 128 + int(i.signal) }

// execute runs the command line and returns the exit status.
func execute(args []string, t terminal) int {
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
	status := exitUsage // what cobra itself refuses
	var carried *exit
	if errors.As(err, &carried) {
		status = carried.status
	}
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		showProblems(t.err, problems)
	case err.Error() != "":
		fmt.Fprintf(t.err, "firstgood: %s\n", strings.TrimSuffix(err.Error(), "\n"))
	}
	return status
}

// withSignals returns a context that SIGINT and SIGTERM cancel. A second signal ends the process.
func withSignals(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var cause *interrupted
		for {
			select {
			case s := <-signals:
				if cause != nil {
					os.Exit(cause.status())
				}
				cause = &interrupted{syscall.SIGINT}
				if s == syscall.SIGTERM {
					cause.signal = syscall.SIGTERM
				}
				cancel(cause)
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
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
  firstgood run NAME "BRIEF"     run a pattern or a delegate of the file`,
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
			if near := config.Nearest(args[0], known); near != "" {
				return usagef("unknown command %q; did you mean %q?", args[0], near)
			}
			return usagef("unknown command %q; firstgood --help lists the commands", args[0])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%s; %s --help lists the flags", err, cmd.CommandPath())
	})
	root.AddCommand(newRun(t), newChain(t), newRace(t), newDemo(t), newInit(t), newCheck(t), newJudge(t), newPatterns(t), newSchema(t), newLab(t), newVersion(t))
	root.InitDefaultCompletionCmd()
	return root
}
