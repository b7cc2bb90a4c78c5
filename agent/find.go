package agent

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/firstgood/firstgood/delegate/command"
	"github.com/firstgood/firstgood/process"
)

// Found is an agent that was looked for.
type Found struct {
	Kind Kind
	Path string // of its program; "" when there is none
}

// Find looks for every kind's program, and returns one Found for each, in the order of [Kinds]. Nothing is run. Nil looks in
// this process's PATH.
func Find(lookPath func(program string) (string, error)) []Found {
	if lookPath == nil {
		lookPath = exec.LookPath
	}
	var all []Found
	for _, kind := range Kinds() {
		path, err := lookPath(kind.Program)
		if err != nil {
			path = ""
		}
		all = append(all, Found{kind, path})
	}
	return all
}

// Version runs the program with --version and returns the last line of what it says, without its colours. Some need a second
// or two for that; ctx should have a deadline. It fails when there is no program, when that fails, and when it says nothing.
func (f Found) Version(ctx context.Context) (string, error) {
	if f.Path == "" {
		return "", fmt.Errorf("%s was not found", f.Kind.Program)
	}
	var env []string
	for _, name := range command.Harmless() {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	result, err := process.Run(ctx, process.Spec{Argv: []string{f.Path, "--version"}, Env: env, MaxOutput: 64 << 10})
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", f.Path, err)
	}
	if result.ExitCode != 0 {
		return "", fmt.Errorf("%s --version: %s", f.Path, result.Status())
	}
	lines := strings.Split(strings.TrimSpace(string(result.Stdout)), "\n")
	if version := tidy(lines[len(lines)-1]); version != "" {
		return version, nil
	}
	return "", fmt.Errorf("%s --version said nothing", f.Path)
}
