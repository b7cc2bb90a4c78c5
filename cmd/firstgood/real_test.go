package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood/lab"
)

// TestIssue5_RealAgents races real agents, and runs them as a chain, against a model of the lab that writes a file by one call of
// a tool and then answers; the patch is applied. (A file that is there some would have to read first.) FIRSTGOOD_AGENTS names a folder that holds their programs; see TestReal of
// package agent, which says how to get them.
func TestIssue5_RealAgents(t *testing.T) {
	folder := os.Getenv("FIRSTGOOD_AGENTS")
	if folder == "" {
		t.Skip("FIRSTGOOD_AGENTS is not set")
	}
	const content, answer = "package calc\n\n// Add adds.\nfunc Add(a, b int) int { return a + b }\n", "I have written calc.go."
	server, err := lab.New(lab.Config{Models: map[string]lab.Model{"fix": lab.Edit("calc.go", content, answer)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	home := t.TempDir()
	for dir, file := range map[string]string{".codex": "", ".gemini": `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if file != "" {
			if err := os.WriteFile(filepath.Join(home, dir, "settings.json"), []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	base := strings.TrimSuffix(server.URL(), "/v1")
	codex := fmt.Sprintf(`model_providers.lab={name="lab",base_url=%q,wire_api="responses",env_key="OPENAI_API_KEY",request_max_retries=0,stream_max_retries=0}`, server.URL())
	opencode := fmt.Sprintf(`{"provider":{"lab":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":%q,"apiKey":"lab"},"models":{"fix":{}}}}}`, server.URL())
	specs := map[string]map[string]any{
		"claude":   {"args": []string{"--model", "fix"}, "env": map[string]string{"ANTHROPIC_API_KEY": "lab", "ANTHROPIC_BASE_URL": base}},
		"codex":    {"args": []string{"--model", "fix", "-c", "model_provider=lab", "-c", codex}, "env": map[string]string{"OPENAI_API_KEY": "lab"}},
		"gemini":   {"args": []string{"--model", "fix"}, "env": map[string]string{"GEMINI_API_KEY": "lab", "GOOGLE_GEMINI_BASE_URL": base}},
		"qwen":     {"args": []string{"--model", "fix", "--auth-type", "openai"}, "env": map[string]string{"OPENAI_API_KEY": "lab", "OPENAI_BASE_URL": server.URL()}},
		"opencode": {"args": []string{"--model", "lab/fix"}, "env": map[string]string{"OPENCODE_CONFIG_CONTENT": opencode}},
	}
	delegates := map[string]any{}
	var names []string
	for _, name := range []string{"claude", "codex", "gemini", "qwen", "opencode"} {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err != nil {
			t.Logf("%s is not there", path)
			continue
		}
		spec := specs[name]
		spec["kind"], spec["program"] = name, path
		spec["env"].(map[string]string)["HOME"] = home
		delegates[name] = map[string]any{"agent": spec, "timeout": "2m"}
		names = append(names, name)
	}
	if len(names) < 2 {
		t.Skip("there are fewer than two")
	}
	file, err := json.Marshal(map[string]any{"delegates": delegates})
	if err != nil {
		t.Fatal(err)
	}

	u := newUser(t)
	u.write("go.mod", "module example.com/calc\n\ngo 1.21\n")
	u.write("doc.go", "// Package calc lacks what its test calls.\npackage calc\n")
	u.write("calc_test.go", "package calc\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 3) != 5 {\n\t\tt.Fatal(Add(2, 3))\n\t}\n}\n")
	u.git("add", "go.mod", "doc.go", "calc_test.go")
	u.git("commit", "-q", "-m", "calc")
	if err := os.WriteFile(u.file, file, 0o600); err != nil {
		t.Fatal(err)
	}
	try := func(args ...string) {
		t.Helper()
		begun := time.Now()
		cmd := exec.Command("firstgood", append(args, "-f", u.file, "--accept", "go test ./...", "--json", "mend the failing test")...)
		cmd.Dir, cmd.Env = u.dir, u.env
		var stderr strings.Builder
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		t.Logf("%v in %v\n%s", args, time.Since(begun).Round(10*time.Millisecond), stderr.String())
		var got struct {
			Result, Winner, Patch, Applied string
		}
		if err != nil || json.Unmarshal(out, &got) != nil || got.Result != answer || got.Applied != "patch" || !strings.Contains(got.Patch, "+func Add(a, b int) int { return a + b }") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
		if now, err := os.ReadFile(filepath.Join(u.dir, "calc.go")); err != nil || string(now) != content {
			t.Errorf("%v: calc.go has %q, %v", args, now, err)
		}
		if err := os.Remove(filepath.Join(u.dir, "calc.go")); err != nil {
			t.Fatal(err)
		}
		u.clean("there is nothing")
	}
	for _, name := range names {
		try("chain", "--agents", name)
	}
	try("chain", "--agents", strings.Join(names, ","))
	try("race", "--agents", strings.Join(names, ","))
}
