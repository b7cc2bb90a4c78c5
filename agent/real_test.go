package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/command"
	"github.com/firstgood/firstgood/lab"
)

// TestReal runs the real agents against the lab. FIRSTGOOD_AGENTS names a folder that holds their programs:
//
//	npm install --prefix /tmp/agents @anthropic-ai/claude-code @openai/codex @google/gemini-cli opencode-ai @qwen-code/qwen-code
//	FIRSTGOOD_AGENTS=/tmp/agents/node_modules/.bin go test -v -run TestReal ./agent
//
// Each gets a HOME of its own, and no key but the lab's. Those that are not in the folder are skipped.
func TestReal(t *testing.T) {
	folder := os.Getenv("FIRSTGOOD_AGENTS")
	if folder == "" {
		t.Skip("FIRSTGOOD_AGENTS is not set")
	}
	const content, answer = "hello\nfrom the lab's model\n", "I have written hello.txt.\nIt says hello."
	server, err := lab.New(lab.Config{Models: map[string]lab.Model{"fix": lab.Edit("hello.txt", content, answer)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Close() }()

	for _, kind := range Kinds() {
		path := filepath.Join(folder, kind.Program)
		if _, err := os.Stat(path); err != nil {
			t.Run(kind.Name, func(t *testing.T) { t.Skipf("%s is not there", path) })
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			home := t.TempDir()
			configured := func(model string) Config {
				c, err := atLab(kind.Name, model, server.URL(), home)
				if err != nil {
					t.Fatal(err)
				}
				c.Program = path
				return c
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()

			if version, err := (Found{kind, path}).Version(ctx); err != nil {
				t.Error(err)
			} else {
				t.Logf("version %s; flags were taken from %s", version, kind.Source)
			}

			dir := t.TempDir()
			start := time.Now()
			// The brief begins like a flag.
			reply, err := build(t, configured("fix")).Attempt(command.In(ctx, dir), firstgood.Text("--help me: write hello.txt"))
			if err != nil {
				t.Fatalf("%v\n%s", err, firstgood.FailureOf(kind.Name, 0, err).Detail)
			}
			t.Logf("edited and answered in %v, used %+v", time.Since(start).Round(10*time.Millisecond), reply.Usage)
			if reply.Text != answer {
				t.Errorf("text %q, want %q", reply.Text, answer)
			}
			if reply.Usage.OutputTokens == 0 || reply.Usage.Source != firstgood.SourceMeasured {
				t.Errorf("usage %+v", reply.Usage)
			}
			if got, err := os.ReadFile(filepath.Join(dir, "hello.txt")); string(got) != content {
				t.Errorf("hello.txt: %q, %v", got, err)
			}

			for model, want := range map[string]firstgood.Kind{"status:401": firstgood.KindAuth, "context-length": firstgood.KindContextLength} {
				_, err := build(t, configured(model)).Attempt(command.In(ctx, t.TempDir()), firstgood.Text("hello"))
				if got := firstgood.FailureOf(kind.Name, 0, err); got.Kind != want {
					t.Errorf("%s: got %s: %s, want %s", model, got.Kind, got.Reason, want)
				} else {
					t.Logf("%s: %s: %s", model, got.Kind, got.Reason)
				}
			}

			stopped, stop := context.WithCancelCause(ctx)
			cause := errors.New("enough")
			var at time.Time
			go func() {
				_ = server.Wait(ctx, func(visits []lab.Visit) bool {
					for _, v := range visits {
						if v.Model == "hang" && v.End == "" {
							return true
						}
					}
					return false
				})
				at = time.Now()
				stop(cause)
			}()
			if _, err := build(t, configured("hang")).Attempt(command.In(stopped, t.TempDir()), firstgood.Text("hello")); !errors.Is(err, cause) {
				t.Errorf("stopped: got %v", err)
			}
			t.Logf("stopped within %v", time.Since(at).Round(10*time.Millisecond))
		})
	}
}

// atLab returns an agent whose provider is the lab at url, and writes to home what it needs there.
func atLab(kind, model, url, home string) (Config, error) {
	base := strings.TrimSuffix(url, "/v1")
	c := Config{Kind: kind, Model: model, Env: map[string]string{"HOME": home, "TERM": "dumb"}}
	switch kind {
	case "claude":
		c.Env["ANTHROPIC_API_KEY"], c.Env["ANTHROPIC_BASE_URL"] = "lab", base
	case "codex":
		c.Env["OPENAI_API_KEY"] = "lab"
		c.Args = []string{"-c", "model_provider=lab", "-c",
			fmt.Sprintf(`model_providers.lab={name="lab",base_url=%q,wire_api="responses",env_key="OPENAI_API_KEY",request_max_retries=0,stream_max_retries=0}`, url)}
		return c, os.MkdirAll(filepath.Join(home, ".codex"), 0o700)
	case "gemini":
		c.Env["GEMINI_API_KEY"], c.Env["GOOGLE_GEMINI_BASE_URL"] = "lab", base
		settings := filepath.Join(home, ".gemini")
		if err := os.MkdirAll(settings, 0o700); err != nil {
			return c, err
		}
		return c, os.WriteFile(filepath.Join(settings, "settings.json"), []byte(`{"security":{"auth":{"selectedType":"gemini-api-key"}}}`), 0o600)
	case "qwen":
		c.Env["OPENAI_API_KEY"], c.Env["OPENAI_BASE_URL"] = "lab", url
		c.Args = []string{"--auth-type", "openai"}
	case "opencode":
		c.Env["OPENCODE_CONFIG_CONTENT"] = fmt.Sprintf(`{"provider":{"lab":{"npm":"@ai-sdk/openai-compatible","options":{"baseURL":%q,"apiKey":"lab"},"models":{%q:{}}}}}`, url, model)
		c.Model = "lab/" + model
	}
	return c, nil
}
