// Package agent runs coding agents (Claude Code, Codex, Gemini CLI, OpenCode, Qwen Code, aider) as delegates. An agent is a
// command whose flags, environment and output are known: [New] returns a [command.Delegate] that runs it without asking
// anybody, gives it the brief so that nothing in it becomes a flag, and reads what it prints while it works.
//
// An agent changes files. Where, is the caller's affair: [command.In] gives an attempt a directory of its own.
package agent

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood/delegate/command"
)

// Defaults of a [Config]. An agent gets more time to end than other commands, since it has children and sessions of its
// own to end, and more output, since its stream of events holds the files that it reads.
const (
	DefaultGrace     = 5 * time.Second
	DefaultMaxOutput = 64 << 20
)

// Config says which agent to run, and how.
type Config struct {
	Name    string   // of the delegate; "" is Kind
	Kind    string   // the Name of one of [Kinds]. Required
	Program string   // the program, by name or path; "" is the kind's, looked for in PATH
	Model   string   // what the agent's own flag for the model gets; "" leaves the choice to the agent
	Args    []string // added behind the kind's own, as they are. A flag of the kind's that is among them, or is at odds with one, is left out
	// PassEnv names variables that are passed on beside [command.Harmless] and the kind's own; Env sets variables, over
	// all of those. See [command.Config].
	PassEnv   []string
	Env       map[string]string
	Secrets   []string      // further texts that no error shows
	Dir       string        // the working directory, unless [command.In] gives an attempt its own; "" is this process's
	Grace     time.Duration // from asking the agent to end until it is killed; 0 is DefaultGrace
	MaxOutput int           // the most bytes of stdout; 0 is DefaultMaxOutput
}

// New returns a delegate that runs an agent for each attempt, or an error that names what is wrong with c. It does not look
// whether the program exists; see [Find].
//
// Beside the kinds of failure of [command.Delegate.Attempt], an attempt fails with the kind that fits the agent's own words
// when it says that it failed, even with exit status 0, and with [firstgood.KindTruncated] when its output ends before it
// says that it is done.
func New(c Config) (*command.Delegate, error) {
	kind, ok := Named(c.Kind)
	if !ok {
		return nil, fmt.Errorf("agent: kind: got %q, want one of %s", c.Kind, strings.Join(names(), ", "))
	}
	if c.Name == "" {
		c.Name = kind.Name
	}
	for i, arg := range c.Args {
		if strings.ContainsRune(arg, 0) {
			return nil, fmt.Errorf("agent %s: args[%d]: contains a NUL byte", c.Name, i)
		}
	}
	if strings.ContainsRune(c.Program+c.Model, 0) {
		return nil, fmt.Errorf("agent %s: program or model: contains a NUL byte", c.Name)
	}
	if strings.HasPrefix(c.Model, "-") {
		return nil, fmt.Errorf("agent %s: model: %q begins with -", c.Name, c.Model)
	}
	if c.Grace == 0 {
		c.Grace = DefaultGrace
	}
	if c.MaxOutput == 0 {
		c.MaxOutput = DefaultMaxOutput
	}
	env := map[string]string{}
	for name, value := range kind.set {
		if _, given := os.LookupEnv(name); !given {
			env[name] = value
		}
	}
	for name, value := range c.Env {
		env[name] = value
	}
	d, err := command.New(command.Config{
		Name:      c.Name,
		Argv:      kind.argv(c),
		PassEnv:   slices.Concat(kind.Env, c.PassEnv),
		Env:       env,
		Secrets:   slices.Concat(c.Secrets, proxyPasswords()),
		Dir:       c.Dir,
		Grace:     c.Grace,
		MaxOutput: c.MaxOutput,
		Output:    func() command.Output { return kind.Parser() },
	})
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	return d, nil
}

// Argv returns the program and the arguments with which c is run, in the form of [command.Config].Argv: with the place
// {brief} where the agent takes the brief as an argument, without one where it reads it from stdin. It fails on an unknown
// kind.
func Argv(c Config) ([]string, error) {
	kind, ok := Named(c.Kind)
	if !ok {
		return nil, errors.New("agent: no kind " + c.Kind)
	}
	return kind.argv(c), nil
}

func (k Kind) argv(c Config) []string {
	program := c.Program
	if program == "" {
		program = k.Program
	}
	argv := slices.Concat([]string{literal(program)}, k.sub)
	for _, flag := range k.flags {
		if !flag.overruled(c.Args) {
			argv = append(argv, flag.args...)
		}
	}
	if c.Model != "" {
		argv = append(argv, k.model, literal(c.Model))
	}
	for _, arg := range c.Args {
		argv = append(argv, literal(arg))
	}
	if k.brief != "" {
		argv = append(argv, k.brief)
	}
	return argv
}

// literal keeps a text from holding the place of the brief.
func literal(text string) string { return strings.ReplaceAll(text, "{brief}", "{{brief}}") }

// proxyPasswords returns the passwords in the addresses of this process's proxies, which agents are told: as they are written
// there, and as they are meant.
func proxyPasswords() []string {
	var passwords []string
	for _, name := range network {
		address := os.Getenv(name)
		at := strings.LastIndexByte(address, '@')
		if at < 0 {
			continue
		}
		user := address[:at]
		if _, rest, ok := strings.Cut(user, "://"); ok {
			user = rest
		}
		if _, password, ok := strings.Cut(user, ":"); ok {
			passwords = append(passwords, password)
			if meant, err := url.PathUnescape(password); err == nil {
				passwords = append(passwords, meant)
			}
		}
	}
	return passwords
}
