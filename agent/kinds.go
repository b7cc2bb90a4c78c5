package agent

import (
	"os"
	"slices"
	"strings"
)

// Kind is a coding agent that is known by name. All of its texts are for people.
type Kind struct {
	Name    string // what the file calls it
	Title   string // what its makers call it
	Program string // what it is called on PATH
	Install string // a command that installs it
	Doc     string // what it may do unless Args say otherwise, and why
	Source  string // where its flags and its output were taken from
	// Env names the variables that it gets beside [command.Harmless], which has PATH, HOME and XDG_*, where its login and
	// settings are: keys and addresses of its providers, its own settings, proxies. Nothing else of the environment
	// reaches it. Its keys are blotted out of errors.
	Env []string

	sub   []string          // subcommand, before all flags
	flags []flag            // in order
	model string            // the flag for the model
	brief string            // the last argument, with the place of the brief; "" when it is read from stdin
	set   map[string]string // variables that are set for it, unless Env passes them on
	read  func(*Parser, []byte)
	end   func(*Parser)
}

// flag is one flag of an agent with its value.
type flag struct {
	args   []string
	unless []string // other flags that make this one superfluous or wrong
}

// overruled reports whether the arguments of the user hold the flag itself or one of those that rule it out.
func (f flag) overruled(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return name == f.args[0] || slices.Contains(f.unless, name)
	})
}

// Kinds returns the agents that are known, in the order in which they are shown.
func Kinds() []Kind { return []Kind{claude(), codex(), gemini(), opencode(), qwen(), aider()} }

// Named returns the kind of a name, and whether there is one.
func Named(name string) (Kind, bool) {
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool { return k.Name == name })
	if i < 0 {
		return Kind{}, false
	}
	return kinds[i], true
}

func names() []string {
	var all []string
	for _, k := range Kinds() {
		all = append(all, k.Name)
	}
	return all
}

// network are the variables that say how to reach the network.
var network = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// node are those, and what programs in Node.js read beside them.
var node = slices.Concat(network, []string{"NODE_EXTRA_CA_CERTS"})

func claude() Kind {
	return Kind{
		Name: "claude", Title: "Claude Code", Program: "claude",
		Install: "npm install -g @anthropic-ai/claude-code",
		Source:  "claude --help, 2.1.197",
		Doc: "It may edit files below its working directory (--permission-mode acceptEdits); what else would ask, such as " +
			"running tests, is denied, and it goes on without. The mode that allows everything does so outside of its tree too. " +
			`Let it run tests with args: [--allowed-tools, "Bash(go test:*)"].`,
		Env: slices.Concat(node, []string{
			"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_MODEL",
			"ANTHROPIC_DEFAULT_OPUS_MODEL", "ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
			"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_MAX_RETRIES", "DISABLE_AUTOUPDATER",
		}),
		flags: []flag{
			{args: []string{"--print"}, unless: []string{"-p"}},
			{args: []string{"--output-format", "stream-json"}},
			{args: []string{"--verbose"}}, // stream-json wants it
			{args: []string{"--permission-mode", "acceptEdits"}, unless: []string{"--dangerously-skip-permissions"}},
			{args: []string{"--no-session-persistence"}, unless: []string{"-c", "--continue", "-r", "--resume", "--session-id"}},
		},
		model: "--model",
		// It would ask ten times, for minutes, even when its key is wrong. Others can be asked meanwhile.
		set:  map[string]string{"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_MAX_RETRIES": "3"},
		read: readClaude,
	}
}

func codex() Kind {
	return Kind{
		Name: "codex", Title: "Codex", Program: "codex",
		Install: "npm install -g @openai/codex",
		Source:  "codex exec --help, 0.171.0",
		Doc: "It may change what is below its working directory, in TMPDIR and in /tmp, and its shell commands run in its own " +
			"sandbox, without network (--sandbox workspace-write). It does not insist on a repository, since an isolated tree may be none.",
		Env: slices.Concat(network, []string{
			"OPENAI_API_KEY", "CODEX_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT", "CODEX_HOME",
		}),
		sub: []string{"exec"},
		flags: []flag{
			{args: []string{"--json"}},
			{args: []string{"--sandbox", "workspace-write"}, unless: []string{
				"-s", "--dangerously-bypass-approvals-and-sandbox", "--approve-for-me", "-p", "--profile"}},
			{args: []string{"--skip-git-repo-check"}},
			{args: []string{"--ephemeral"}},
			{args: []string{"--color", "never"}},
		},
		model: "--model",
		read:  readCodex,
	}
}

func gemini() Kind {
	return Kind{
		Name: "gemini", Title: "Gemini CLI", Program: "gemini",
		Install: "npm install -g @google/gemini-cli",
		Source:  "gemini --help, 0.61.0",
		Doc: "It may edit files below its working directory (--approval-mode auto_edit) and is offered no shell, since " +
			"that would ask. Its tree is trusted for the session, since otherwise it may do nothing there. A brief that begins " +
			"with / is one of its commands, and @path in a brief is the file.",
		Env: slices.Concat(node, []string{
			"GEMINI_API_KEY", "GOOGLE_API_KEY", "GEMINI_MODEL", "GOOGLE_GEMINI_BASE_URL", "GEMINI_CLI_HOME",
			"GOOGLE_GENAI_USE_GCA", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
			"GOOGLE_APPLICATION_CREDENTIALS",
		}),
		flags: []flag{
			{args: []string{"--output-format", "stream-json"}, unless: []string{"-o"}},
			{args: []string{"--approval-mode", "auto_edit"}, unless: []string{"-y", "--yolo"}},
			{args: []string{"--skip-trust"}},
		},
		model: "--model",
		read:  readGemini,
	}
}

func opencode() Kind {
	return Kind{
		Name: "opencode", Title: "OpenCode", Program: "opencode",
		Install: "npm install -g opencode-ai",
		Source:  "opencode run --help, 1.18.33",
		Doc: "It does what its configuration allows, which unless changed is to edit files and run shell commands; what it would " +
			"ask for, such as files outside of its tree, is denied. (--auto would allow that too.)",
		Env: slices.Concat(network, []string{
			"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "OPENROUTER_API_KEY",
			"GROQ_API_KEY", "DEEPSEEK_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "GITHUB_TOKEN",
			"OPENCODE_API_KEY", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_DISABLE_AUTOUPDATE",
		}),
		sub: []string{"run"},
		flags: []flag{
			{args: []string{"--format", "json"}},
		},
		model: "--model",
		set:   map[string]string{"OPENCODE_DISABLE_AUTOUPDATE": "1"},
		read:  readOpenCode,
		end:   endOpenCode,
	}
}

func qwen() Kind {
	return Kind{
		Name: "qwen", Title: "Qwen Code", Program: "qwen",
		Install: "npm install -g @qwen-code/qwen-code",
		Source:  "qwen --help, 0.15.10",
		Doc: "It may edit files below its working directory (--approval-mode auto-edit) and is offered no shell, since " +
			"that would ask. A brief that begins with / is one of its commands, and @path in a brief is the file.",
		Env: slices.Concat(node, []string{
			"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY",
			"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "GEMINI_API_KEY", "QWEN_HOME",
		}),
		flags: []flag{
			{args: []string{"--output-format", "stream-json"}, unless: []string{"-o"}},
			{args: []string{"--approval-mode", "auto-edit"}, unless: []string{"-y", "--yolo"}},
		},
		model: "--model",
		read:  readClaude,
	}
}

func aider() Kind {
	return Kind{
		Name: "aider", Title: "aider", Program: "aider",
		Install: "python -m pip install aider-chat",
		Source:  "aider's documentation (options and scripting); not run",
		Doc: "It edits files and commits nothing: the change stays in the working tree. It answers yes to its own questions, but " +
			"is not let to suggest shell commands. A line break stands before the brief, since a message that begins with / or ! " +
			"is a command to aider.",
		Env: slices.Concat(network, []string{
			"OPENAI_API_KEY", "OPENAI_API_BASE", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY",
			"GROQ_API_KEY", "MISTRAL_API_KEY", "XAI_API_KEY", "AIDER_MODEL", "AIDER_WEAK_MODEL", "AIDER_EDITOR_MODEL",
		}),
		flags: []flag{
			{args: []string{"--yes-always"}},
			{args: []string{"--no-auto-commits"}, unless: []string{"--auto-commits"}},
			{args: []string{"--no-dirty-commits"}, unless: []string{"--dirty-commits"}},
			{args: []string{"--no-gitignore"}, unless: []string{"--gitignore"}},
			{args: []string{"--no-suggest-shell-commands"}, unless: []string{"--suggest-shell-commands"}},
			{args: []string{"--no-detect-urls"}, unless: []string{"--detect-urls"}},
			{args: []string{"--no-stream"}, unless: []string{"--stream"}},
			{args: []string{"--no-pretty"}, unless: []string{"--pretty"}},
			{args: []string{"--no-fancy-input"}, unless: []string{"--fancy-input"}},
			{args: []string{"--no-check-update"}, unless: []string{"--check-update"}},
			{args: []string{"--no-show-release-notes"}, unless: []string{"--show-release-notes"}},
			{args: []string{"--no-analytics"}, unless: []string{"--analytics"}},
			{args: []string{"--input-history-file", os.DevNull}},
			{args: []string{"--chat-history-file", os.DevNull}},
		},
		model: "--model",
		brief: "--message=\n{brief}",
		read:  readAider,
		end:   endAider,
	}
}
