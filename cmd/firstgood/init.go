package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/agent"
)

// defaultFile is where the file is unless told otherwise.
const defaultFile = "firstgood.yaml"

func newInit(t terminal) *cobra.Command {
	path := defaultFile
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write firstgood.yaml from what this machine has",
		Long: `Look for what this machine has (keys in the environment, a local model server, coding agents on PATH) and
write a file that uses it. A file that is there already is never overwritten, and no key is written into it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := os.Lstat(path); err == nil {
				return usagef("%s is there already, and init never writes over a file; remove it, or name another with -f", path)
			}
			found := look(cmd.Context(), machine{os.LookupEnv, exec.LookPath, localServers})
			text := found.file()
			file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if errors.Is(err, fs.ErrExist) {
				return usagef("%s is there already, and init never writes over a file", path)
			}
			if err != nil {
				return usagef("cannot write the file: %w", err)
			}
			_, err = io.WriteString(file, text)
			if err = errors.Join(err, file.Close()); err != nil {
				_ = os.Remove(path)
				return &exit{exitProgram, fmt.Errorf("cannot write the file: %w", err)}
			}
			found.tell(t.out, path)
			return nil
		},
	}
	cmd.Flags().StringVarP(&path, "file", "f", path, "the file to write")
	return cmd
}

// machine is what init looks at.
type machine struct {
	lookup  func(string) (string, bool)
	find    func(string) (string, error)
	servers []server
}

type server struct{ name, url string }

// localServers are the addresses at which the usual local model servers listen unless told otherwise, as their
// documentation says.
var localServers = []server{
	{"ollama", "http://127.0.0.1:11434/v1"},
	{"lmstudio", "http://127.0.0.1:1234/v1"},
	{"llamacpp", "http://127.0.0.1:8080/v1"},
	{"vllm", "http://127.0.0.1:8000/v1"},
}

// provider is a model for which a key is enough: behind an endpoint that speaks chat completions, or Anthropic's own.
type provider struct{ name, variable, base, model string }

var providers = []provider{
	{"openai", "OPENAI_API_KEY", "", "gpt-5-mini"},
	{"gemini", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-flash"},
	{"claude-api", "ANTHROPIC_API_KEY", "", "claude-sonnet-4-5"},
	{"groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1", "llama-3.3-70b-versatile"},
	{"mistral", "MISTRAL_API_KEY", "https://api.mistral.ai/v1", "mistral-small-latest"},
	{"openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", "openrouter/auto"},
}

// findings is what init found.
type findings struct {
	models []string // names of delegates that answer, the preferred first
	lines  []string // of delegates
	agents []string
	notes  []string // for people
}

// look finds what the machine has. It contacts nothing but addresses of this machine.
func look(ctx context.Context, m machine) findings {
	var f findings
	for _, p := range providers {
		if value, ok := m.lookup(p.variable); !ok || value == "" {
			continue
		}
		base := ""
		if p.base != "" {
			base = fmt.Sprintf("base_url: %q, api_key_env: %s, ", p.base, p.variable)
		}
		f.models = append(f.models, p.name)
		kind := "openai"
		if p.variable == "ANTHROPIC_API_KEY" {
			kind = "anthropic"
		}
		f.lines = append(f.lines, fmt.Sprintf("  %s: {%s: {%smodel: %s}}", p.name, kind, base, p.model))
		f.notes = append(f.notes, fmt.Sprintf("%s: %s is set", p.name, p.variable))
	}
	models := make([]string, len(m.servers))
	var group sync.WaitGroup
	for i, s := range m.servers {
		group.Go(func() { models[i] = firstModel(ctx, s.url) })
	}
	group.Wait()
	for i, s := range m.servers {
		if models[i] == "" {
			continue
		}
		f.models = append(f.models, s.name)
		f.lines = append(f.lines, fmt.Sprintf("  %s: {openai: {base_url: %q, model: %s}}", s.name, s.url, quoted(models[i])))
		f.notes = append(f.notes, fmt.Sprintf("%s: a server at %s with the model %s", s.name, s.url, models[i]))
	}
	for _, found := range agent.Find(m.find) {
		if found.Path == "" {
			continue
		}
		name := found.Kind.Name + "-agent"
		f.agents = append(f.agents, name)
		f.lines = append(f.lines, fmt.Sprintf("  %s: {agent: %s, timeout: 30m} # works in a clone of the repository", name, found.Kind.Name))
		f.notes = append(f.notes, fmt.Sprintf("%s: %s is on PATH", name, found.Kind.Program))
	}
	return f
}

// firstModel asks a local server for its models, and returns "" when it has none or is not there.
func firstModel(ctx context.Context, base string) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/models", nil)
	if err != nil {
		return ""
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine
	response, err := client.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if response.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&list) != nil || len(list.Data) == 0 {
		return ""
	}
	return list.Data[0].ID
}

// quoted writes a text as a YAML value in double quotes, in which $ starts no variable.
func quoted(s string) string {
	data, err := json.Marshal(strings.ReplaceAll(s, "${", "$${"))
	if err != nil {
		return `""`
	}
	return string(data)
}

// file is the text of the file.
func (f findings) file() string {
	var b strings.Builder
	b.WriteString("# Delegates and patterns for firstgood. `firstgood check` validates this file and says what a run may do;\n" +
		"# `firstgood schema` prints its JSON Schema for editors.\n")
	if len(f.models) == 0 && len(f.agents) == 0 {
		b.WriteString(emptyFile)
		return b.String()
	}
	if len(f.models) > 0 {
		fmt.Fprintf(&b, "judge: %s # weighs criteria in plain language\n", f.models[0])
	}
	b.WriteString("defaults: {timeout: 2m}\ndelegates:\n")
	b.WriteString(strings.Join(f.lines, "\n"))
	b.WriteString("\n")
	if len(f.models)+len(f.agents) > 0 {
		b.WriteString("patterns:\n")
	}
	if len(f.models) > 0 {
		fmt.Fprintf(&b, "  answer: # in order of preference, moving on only when one fails\n    pattern: fallback-chain\n    with: {chain: [%s]}\n    config: {nonempty: true}\n", strings.Join(f.models, ", "))
	}
	if len(f.models) > 1 {
		fmt.Fprintf(&b, "  quick: # all at once, the first good reply wins\n    pattern: race\n    with: {candidates: [%s]}\n    config: {nonempty: true}\n", strings.Join(f.models, ", "))
	}
	if len(f.agents) > 0 {
		fmt.Fprintf(&b, "  fix: # the first change that the command accepts; write your own tests there\n    pattern: race\n    with: {candidates: [%s]}\n"+
			"    config:\n      acceptance_criteria: {command: [go, test, ./...], timeout: 10m}\n      patch: {nonempty: true}\n      apply: patch\n", strings.Join(f.agents, ", "))
	}
	return b.String()
}

// emptyFile is what init writes where it found nothing: it runs against the lab.
const emptyFile = `# Nothing was found on this machine, so these delegates ask the lab: run "firstgood lab" in another terminal, then
#   firstgood run answer "What is the capital of France?"
# and replace them by your own, such as
#   fast: {openai: {model: gpt-5-mini}}                                              # OPENAI_API_KEY
#   local: {openai: {base_url: "http://127.0.0.1:11434/v1", model: llama3.2}}        # ollama
#   claude: {agent: claude}                                                         # a coding agent
defaults: {timeout: 30s}
delegates:
  broken: {openai: {base_url: "http://127.0.0.1:8181/v1", model: "500"}}
  good: {openai: {base_url: "http://127.0.0.1:8181/v1", model: ok}}
patterns:
  answer: # in order of preference, moving on only when one fails
    pattern: fallback-chain
    with: {chain: [broken, good]}
    config: {nonempty: true}
`

func (f findings) tell(w io.Writer, path string) {
	fmt.Fprintf(w, "wrote %s\n", path)
	file, named := "", ""
	if path != defaultFile {
		file, named = " "+path, " -f "+path
	}
	for _, note := range f.notes {
		fmt.Fprintf(w, "  %s\n", note)
	}
	if len(f.notes) == 0 {
		fmt.Fprintf(w, "  no key, local model server or agent was found; the file uses the lab\n\nnext, in two terminals:\n  firstgood lab\n  firstgood run%s answer \"What is the capital of France?\"\n", named)
		return
	}
	name, brief := "answer", "What is the capital of France?"
	if len(f.models) == 0 {
		name, brief = "fix", "Make the failing test pass."
	}
	fmt.Fprintf(w, "\nnext:\n  firstgood check%s\n  firstgood run%s %s %q\n", file, named, name, brief)
}
