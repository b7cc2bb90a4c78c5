package config

import (
	"slices"
	"strings"
	"time"
)

// Agent is the spec of a coding agent: a program whose flags and output are known.
type Agent struct {
	Kind      string        // one of AgentKinds
	Args      []Text        // added to its own
	Program   Text          // zero: the program of its kind, as PATH has it
	Env       []Variable    // beside what its kind needs; nil when not given
	Isolate   string        // one of the Isolate constants; "" for what fits the folder: a clone inside a repository, else a copy
	Grace     time.Duration // between asking it to stop and ending it; 5s unless given
	MaxOutput int64         // in bytes; 64 MiB unless given
}

// AgentKinds are the coding agents that are known by name.
func AgentKinds() []string { return []string{"claude", "codex", "gemini", "opencode", "qwen", "aider"} }

// Where a program works.
const (
	IsolateNone     = "none"     // in the folder itself
	IsolateClone    = "clone"    // in a clone of the repository, which shares objects and nothing else
	IsolateWorktree = "worktree" // in a worktree of the repository
	IsolateCopy     = "copy"     // in a copy of the folder
	IsolateTempDir  = "tempdir"  // in an empty folder
)

func (m *Map) isolate(otherwise string) string {
	return m.Enum("isolate", "where it works: in a clone of the repository, a worktree of it, a copy of the folder, or an empty folder; its change is part of the reply then, and nothing else is left of it",
		otherwise, IsolateNone, IsolateClone, IsolateWorktree, IsolateCopy, IsolateTempDir)
}

func decodeAgent(m *Map) any {
	spec := &Agent{
		Kind:      m.Enum("kind", "which agent it is", "", AgentKinds()...),
		Args:      m.Texts("args", "arguments added to those that it is always given, such as [--model, opus]"),
		Program:   m.Text("program", "the program, where it is not the agent's own on PATH"),
		Env:       m.variables("env", "environment variables it gets beside those that it needs: a list of names to pass on and NAME=value, or a mapping of names to values"),
		Isolate:   m.isolate(""),
		Grace:     m.Duration("grace", "how long it may take to end once it was told to; 5s unless said", 5*time.Second),
		MaxOutput: m.Size("max_output", "how much it may print, such as 64 MiB, which is the default; more is a failure", 64<<20),
	}
	if m.node != nil && !m.Has("kind") {
		m.Errorf("", "it does not say which agent it is; write kind: claude, or one of %s", or(AgentKinds()[1:]))
	}
	for i, arg := range spec.Args {
		if strings.ContainsRune(arg.written(), 0) {
			m.r.errorf(m.node.entry("args").value.items[i], index(m.at("args"), i), "it holds a NUL byte, which no program can be given; remove it")
		}
	}
	return spec
}

// isolated is implemented by the specs of delegates that may work in a place of their own.
type isolated interface{ isolated() bool }

func (a *Agent) isolated() bool   { return a.Isolate != IsolateNone }
func (c *Command) isolated() bool { return c.Isolate != "" && c.Isolate != IsolateNone }

// Isolated reports whether each attempt works in a place of its own, of which nothing is left but the change in its reply.
func (d *Delegate) Isolated() bool {
	spec, ok := d.Spec.(isolated)
	return ok && spec.isolated()
}

// Unsafe reports whether an attempt may leave behind something each time: it says so, and works in no place of its own.
func (d *Delegate) Unsafe() bool { return d.Effects == EffectsUnsafe && !d.Isolated() }

// Patch are rules about the change that a reply brings.
type Patch struct {
	NonEmpty bool
	Paths    []Text // globs; every changed path must match one; nil: any may change
	MaxLines int    // added and removed; 0: no bound
}

// What is done with the change of the winner.
const (
	ApplyNone   = "none"
	ApplyPatch  = "patch"  // to the working tree
	ApplyBranch = "branch" // a branch that holds it
	ApplyCommit = "commit" // a commit on the current branch
)

// changes reads what an instance says of the change that its winner brings.
func (m *Map) changes(c *Config) {
	if globs := m.Texts("protect", "globs of paths that no change may touch before the acceptance command runs; absent: the usual places of tests, fixtures and CI; []: none"); globs != nil {
		c.Protect = globs
	}
	m.Mapping("patch", "what a change must be", func(m *Map) {
		p := &Patch{}
		if c.Patch != nil {
			*p = *c.Patch
		}
		p.NonEmpty = m.Bool("nonempty", "true: there is one", p.NonEmpty)
		if globs := m.Texts("paths", "globs; each changed path must match one"); globs != nil {
			if p.Paths = globs; len(globs) == 0 {
				m.Errorf("paths", "the list is empty, so that nothing may change; name paths, or remove it")
			}
		}
		p.MaxLines = m.Int("max_lines", "how many lines it may add and remove", 1, 10_000_000, p.MaxLines)
		c.Patch = p
	})
	c.Apply = m.Enum("apply", "what is done with the winner's change: nothing, patch: the working tree gets it, branch: a new branch, commit: a commit on the current branch",
		c.Apply, ApplyNone, ApplyPatch, ApplyBranch, ApplyCommit)
}

// changing checks that an instance which says something of changes has somebody who makes one.
func (s *scope) changing(in *Instance) {
	set := slices.DeleteFunc([]string{"apply", "patch", "protect"}, func(key string) bool {
		_, given := in.places[key]
		return !given
	})
	if len(set) == 0 || slices.ContainsFunc(in.Reach(), (*Delegate).Isolated) {
		return
	}
	at := in.places[set[0]]
	s.report(SeverityWarning, at.pos, at.path, "nobody in %s works in a place of its own, so that there is no change; give a command isolate: clone, or bind an agent", in.Name)
}
