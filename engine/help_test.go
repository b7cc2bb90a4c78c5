package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/lab"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

// world is what a test runs in: virtual time, a lab without a network at any http address, and an environment.
type world struct {
	*testing.T
	lab    *lab.Server
	client *http.Client
	env    map[string]string
}

// inWorld runs a test in a world. A goroutine that is left at its end fails it.
func inWorld(t *testing.T, models map[string]lab.Model, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server, err := lab.New(lab.Config{Models: models})
		if err != nil {
			t.Fatal(err)
		}
		pipe := lab.NewPipe()
		if err := server.StartOn(pipe); err != nil {
			t.Fatal(err)
		}
		client := pipe.Client()
		t.Cleanup(func() {
			_ = server.Close()
			client.CloseIdleConnections()
		})
		test(&world{T: t, lab: server, client: client, env: map[string]string{}})
	})
}

// file parses a file in which LAB, as an openai delegate's settings, stands for the lab's address.
func file(t *testing.T, text string) *config.File {
	t.Helper()
	f, problems := config.Parse("test.yaml", []byte(text), config.Kinds())
	if problems.Failed() {
		t.Fatal(problems)
	}
	return f
}

func ref(t *testing.T, f *config.File, name string) config.Ref {
	t.Helper()
	found, ok := f.Lookup(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return found
}

func (w *world) engine() *engine.Engine { return w.engineOf(nil) }

// engineOf is an engine with the settings of a file.
func (w *world) engineOf(f *config.File) *engine.Engine {
	w.Helper()
	return made(w.T, engine.Config{
		File:       f,
		Lookup:     func(name string) (string, bool) { value, ok := w.env[name]; return value, ok },
		Environ:    []string{},
		HTTPClient: w.client,
	})
}

func made(t *testing.T, cfg engine.Config) *engine.Engine {
	t.Helper()
	e, err := engine.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (w *world) bind(f *config.File, name string) *engine.Bound {
	w.Helper()
	bound, err := w.engineOf(f).Bind(ref(w.T, f, name), 0)
	if err != nil {
		w.Fatal(err)
	}
	return bound
}

func (w *world) run(f *config.File, name, brief string) *engine.Result {
	w.Helper()
	bound := w.bind(f, name)
	result := bound.Run(w.Context(), firstgood.Text(brief), nil)
	if err := bound.Drain(w.Context()); err != nil {
		w.Error(err)
	}
	return result
}

// asked returns the briefs that reached a model.
func (w *world) asked(model string) []string {
	var briefs []string
	for _, v := range w.lab.Visits() {
		if v.Model == model {
			briefs = append(briefs, v.Brief)
		}
	}
	return briefs
}

// at is an openai delegate of the lab's model.
func at(model string) string {
	return fmt.Sprintf("openai: {base_url: \"http://lab.invalid/v1\", model: %q}", model)
}

// saying is a model that waits and then answers.
func saying(text string, delay time.Duration) lab.Model {
	return func(context.Context, lab.Request) lab.Reply { return lab.Reply{Text: text, Delay: delay} }
}

// want compares with a file in testdata, which -update writes.
func want(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(data) {
		t.Errorf("%s: got\n%s\nwant\n%s", path, got, data)
	}
}

// pretty is the JSON of a result with the run's id, which is another each time, replaced.
func pretty(t *testing.T, r *engine.Result) string {
	t.Helper()
	same := *r
	same.ID = "RUN"
	data, err := same.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(data, '\n') {
		t.Errorf("it is more than one line: %s", data)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	return indented.String() + "\n"
}
