package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestGuideOfAgents types what docs/agents.md shows behind $, and compares what comes out: … stands for anything. What is on
// stderr follows what is on stdout. The files that an example names are written before, those of the first for all; what is no
// YAML and no script is committed.
func TestGuideOfAgents(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its agents are shell scripts")
	}
	for _, program := range []string{"git", "go", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("there is no " + program)
		}
	}
	guide, err := os.ReadFile("../../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "firstgood")); err != nil { // testscript's main runs the command of that name
		t.Fatal(err)
	}
	common := map[string]string{}
	fence := regexp.MustCompile("(?ms)^```(\\w+)(?: (\\S+))?\n(.*?)^```$")
	examples := strings.Split(string(guide), "\n## Example: ")[1:]
	if len(examples) != 3 {
		t.Fatalf("%d examples", len(examples))
	}
	for i, example := range examples {
		name, text, _ := strings.Cut(example, "\n")
		text, _, _ = strings.Cut(text, "\n## ")
		t.Run(name, func(t *testing.T) {
			dir, consoles := t.TempDir(), ""
			files := map[string]string{}
			for _, f := range fence.FindAllStringSubmatch(text, -1) {
				switch {
				case f[1] == "console":
					consoles += f[3]
				case f[2] != "":
					files[f[2]] = f[3]
					if i == 0 {
						common[f[2]] = f[3]
					}
				}
			}
			write := func(files map[string]string, only string) {
				for name, content := range files {
					if slices.Contains([]string{".yaml", ".sh"}, filepath.Ext(name)) == (only == "mine") {
						path := filepath.Join(dir, name)
						if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			cache, err := exec.Command("go", "env", "GOCACHE").Output()
			if err != nil {
				t.Fatal(err)
			}
			caches := t.TempDir()
			if err := os.Symlink(strings.TrimSpace(string(cache)), filepath.Join(caches, "go-build")); err != nil { // of agents, which get no GOCACHE
				t.Fatal(err)
			}
			env := append(os.Environ(), "GOCACHE="+strings.TrimSpace(string(cache)), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "XDG_CACHE_HOME="+caches,
				"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a",
				"GIT_COMMITTER_EMAIL=a@example.com", "GOFLAGS=", "GOWORK=off", "GOTOOLCHAIN=local")
			typed := func(line string) string {
				var stdout, stderr strings.Builder
				cmd := exec.Command("sh", "-c", line)
				cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
				_ = cmd.Run() // what it says is compared
				return stdout.String() + stderr.String()
			}
			write(common, "")
			if said := typed("git init -q && git config user.name a && git config user.email a@example.com && git add -A && git commit -q -m base"); said != "" {
				t.Fatal(said)
			}
			write(common, "mine")
			write(files, "mine")
			for _, command := range strings.Split(consoles, "$ ")[1:] {
				line, want, _ := strings.Cut(command, "\n")
				pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*?")
				if got := typed(line); !regexp.MustCompile("(?s)^" + pattern + "$").MatchString(got) {
					t.Errorf("$ %s\ngot\n%s\nwant\n%s", line, got, want)
				}
			}
		})
	}
}
