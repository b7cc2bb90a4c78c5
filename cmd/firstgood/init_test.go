package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/firstgood/firstgood/config"
)

// TestInit_Files holds what init writes for machines of every sort: a file that is valid, holds no key, and names what was
// found.
func TestInit_Files(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "" {
			t.Errorf("got %s, Authorization %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		_, _ = w.Write([]byte(`{"data": [{"id": "a \"model\": ${HOME}"}, {"id": "b"}]}`))
	}))
	defer models.Close()
	none := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"data": []}`)) }))
	defer none.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	servers := []server{{"here", models.URL + "/v1"}, {"none", none.URL + "/v1"}, {"other", other.URL + "/v1"}, {"gone", gone.URL + "/v1"}}
	for _, test := range []struct {
		name    string
		keys    map[string]string
		agents  []string
		servers []server
		names   string // of the file's delegates and patterns
		chain   string // of answer
		judge   string
	}{
		{name: "nothing", names: "broken good answer", chain: "broken good"},
		{name: "empty key", keys: map[string]string{"OPENAI_API_KEY": ""}, names: "broken good answer", chain: "broken good"},
		{name: "one key", keys: map[string]string{"OPENAI_API_KEY": "sk-4711"}, names: "openai answer", chain: "openai", judge: "openai"},
		{name: "keys, server and agents", keys: map[string]string{"GROQ_API_KEY": "sk-4711", "MISTRAL_API_KEY": "sk-4712"},
			servers: servers, agents: []string{"claude", "gemini"},
			names: "groq mistral here claude-agent gemini-agent answer quick fix", chain: "groq mistral here", judge: "groq"},
		{name: "all keys", keys: map[string]string{"OPENAI_API_KEY": "sk-1111", "GEMINI_API_KEY": "sk-1111", "ANTHROPIC_API_KEY": "sk-1111",
			"GROQ_API_KEY": "sk-1111", "MISTRAL_API_KEY": "sk-1111", "OPENROUTER_API_KEY": "sk-1111"},
			names: "openai gemini claude-api groq mistral openrouter answer quick", chain: "openai gemini claude-api groq mistral openrouter", judge: "openai"},
		{name: "server alone", servers: servers, names: "here answer", chain: "here", judge: "here"},
		{name: "agents alone", agents: []string{"codex", "aider", "qwen", "opencode"},
			names: "codex-agent opencode-agent qwen-agent aider-agent fix"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := look(t.Context(), machine{
				lookup: func(name string) (string, bool) { value, ok := test.keys[name]; return value, ok },
				find: func(program string) (string, error) {
					for _, a := range test.agents {
						if a == program {
							return "/bin/" + a, nil
						}
					}
					return "", errors.New("not found")
				},
				servers: test.servers,
			})
			text := found.file()
			if strings.Contains(text, "sk-") {
				t.Errorf("it holds a key:\n%s", text)
			}
			file, problems := config.Parse("firstgood.yaml", []byte(text), config.Kinds())
			if len(problems) > 0 {
				t.Fatalf("%v\n%s", problems, text)
			}
			if got := strings.Join(file.Names(), " "); got != test.names {
				t.Errorf("got the names %s, want %s", got, test.names)
			}
			answer, _ := file.Lookup("answer")
			var chain []string
			if answer.Instance != nil { // agents alone make no chain, but a race
				for _, ref := range answer.Instance.Bound("chain") {
					chain = append(chain, ref.Name)
				}
			}
			if got := strings.Join(chain, " "); got != test.chain || file.Judge.Name != test.judge {
				t.Errorf("got the chain %s and the judge %q, want %s and %q", got, file.Judge.Name, test.chain, test.judge)
			}
			for _, d := range file.Delegates {
				spec, ok := d.Spec.(*config.OpenAI)
				if base, _ := d.Spec.(*config.OpenAI); ok && d.Name == "here" {
					if model, _ := base.Model.Static(); model != `a "model": ${HOME}` {
						t.Errorf("got the model %s", model)
					}
				}
				if ok && d.Name != "openai" && spec.BaseURL.IsZero() {
					t.Errorf("%s has no base_url, so it would get OpenAI's key", d.Name)
				}
				if _, ok := d.Spec.(*config.Agent); ok && !d.Isolated() {
					t.Errorf("the agent %s works in the folder itself", d.Name)
				}
			}
		})
	}
}

// TestInit_ServersThatHang holds that init does not wait for a server longer than a moment, nor after an interrupt.
func TestInit_ServersThatHang(t *testing.T) {
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer hang.Close()
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if model := firstModel(ctx, hang.URL); model != "" {
		t.Errorf("got %q", model)
	}
	if model := firstModel(t.Context(), hang.URL); model != "" {
		t.Errorf("got %q", model)
	}
}

// TestSchema_HasTheKeysOfFiles holds that schema prints JSON, and that it has every key of the files that this program
// writes itself. That it takes what config takes is held there.
func TestSchema_HasTheKeysOfFiles(t *testing.T) {
	status, stdout, stderr := here(t, "schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil || status != 0 || stderr != "" {
		t.Fatalf("%v, exit status %d, stderr %q", err, status, stderr)
	}
	known := map[string]bool{}
	collect(schema, known)
	for _, text := range []string{demoFile, emptyFile} {
		var file map[string]any
		if err := yaml.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		for key, value := range file {
			inner, _ := value.(map[string]any)
			if !known[key] {
				t.Errorf("the schema has no %s", key)
			}
			if key != "delegates" && key != "patterns" {
				continue
			}
			for name, entry := range inner {
				for _, key := range keysOf(entry) {
					if !known[key] {
						t.Errorf("the schema has no %s, a key of %s", key, name)
					}
				}
			}
		}
	}
}

// collect enters the names of all properties that a schema has.
func collect(schema any, known map[string]bool) {
	switch schema := schema.(type) {
	case map[string]any:
		if properties, ok := schema["properties"].(map[string]any); ok {
			for name := range properties {
				known[name] = true
			}
		}
		for _, inner := range schema {
			collect(inner, known)
		}
	case []any:
		for _, inner := range schema {
			collect(inner, known)
		}
	}
}

func keysOf(value any) []string {
	var keys []string
	if m, ok := value.(map[string]any); ok {
		for key, inner := range m {
			keys = append(append(keys, key), keysOf(inner)...)
		}
	}
	return keys
}
