package engine_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/document/library"
	"github.com/firstgood/firstgood/engine"
)

const libraryScenes = "testdata/documents/library.txtar"

// TestLibrary plays each document of the library from end to end, with what is sent to whom, and compares with the transcripts.
func TestLibrary(t *testing.T) {
	archive, err := txtar.ParseFile(libraryScenes)
	if err != nil {
		t.Fatal(err)
	}
	scenes, wanted := scenesOf(archive)
	written := &txtar.Archive{Comment: archive.Comment}
	var documents []string
	for _, f := range scenes {
		t.Run(f.Name, func(t *testing.T) {
			s := parseScene(t, string(f.Data))
			documents = append(documents, s.document)
			got := form{path: inLibrary}.play(t, s).transcript(t, false)
			written.Files = append(written.Files, f, txtar.File{Name: f.Name + " →", Data: []byte(got)})
			if want := wanted[f.Name]; !*update && got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	slices.Sort(documents)
	if got, want := slices.Compact(documents), library.Names(); !slices.Equal(got, want) {
		t.Errorf("the scenes are of %v, and the library has %v", got, want)
	}
	if *update {
		if err := os.WriteFile(libraryScenes, txtar.Format(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func scenesOf(archive *txtar.Archive) (scenes []txtar.File, wanted map[string]string) {
	wanted = map[string]string{}
	for _, f := range archive.Files {
		if name, transcript := strings.CutSuffix(f.Name, " →"); transcript {
			wanted[name] = string(f.Data)
		} else {
			scenes = append(scenes, f)
		}
	}
	return scenes, wanted
}

// TestUpstreamPatterns plays the scenes of the library with the documents of the same names in a checkout of openprose/prose, to
// which they were fitted: who is called, how often, and how it ends, are the same. Prompts have other words.
func TestUpstreamPatterns(t *testing.T) {
	root := os.Getenv("FIRSTGOOD_OPENPROSE")
	if root == "" {
		t.Skip("FIRSTGOOD_OPENPROSE names no checkout of openprose/prose")
	}
	playUpstream(t, form{path: inFolder(filepath.Join(root, "packages", "std", "patterns"), ".prose.md")}, nil)
}

// TestUpstreamComposites does the same with composites, of a revision that has them. They have no virtual time, so that the order
// of calls is not compared.
func TestUpstreamComposites(t *testing.T) {
	root := os.Getenv("FIRSTGOOD_OPENPROSE_C")
	if root == "" {
		t.Skip("FIRSTGOOD_OPENPROSE_C names no checkout of openprose/prose with composites")
	}
	for _, folder := range []string{"controls", "composites"} {
		playUpstream(t, form{path: inFolder(filepath.Join(root, "packages", "std", folder), ".md"), literal: true, process: true}, map[string]bool{
			"race": true, // takes list order
			// These read replies with patterns of their own.
			"guard: unclear": true, "worker-critic: a judge reads the critic": true,
		})
	}
}

// playUpstream plays the scenes with documents of upstream; composites tells of those that differ where they are composites, and is
// nil where they are patterns.
func playUpstream(t *testing.T, f form, composites map[string]bool) {
	archive, err := txtar.ParseFile(libraryScenes)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	scenes, wanted := scenesOf(archive)
	for _, scene := range scenes {
		s := parseScene(t, string(scene.Data))
		if _, err := os.Stat(f.path(s.document)); err != nil {
			continue
		}
		ran++
		t.Run(scene.Name, func(t *testing.T) {
			played := f.play(t, s)
			text := played.transcript(t, false)
			if played.err != nil {
				t.Fatal(played.err)
			}
			got, want := bare(text), bare(wanted[scene.Name])
			if composites != nil {
				got, want = unordered(got), unordered(want)
			}
			if differs := got != want; differs != composites[scene.Name] {
				t.Errorf("got\n%s\nwant\n%s\nthe whole of it:\n%s", got, want, text)
			}
		})
	}
	if ran == 0 {
		t.Errorf("there is none of the documents where %s should be", f.path("guard"))
	}
}

// bare is a transcript without what was said to whom: the first words of its events, and the outcome.
func bare(transcript string) string {
	var b strings.Builder
	for line := range strings.Lines(transcript) {
		if name, _, asked := strings.Cut(line, " ← "); asked {
			line = name + "\n"
		} else if strings.HasPrefix(line, "  ") || strings.TrimSpace(line) == "" {
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// unordered is who was asked, in no order, and what came of it.
func unordered(transcript string) string {
	var names []string
	outcome := ""
	for line := range strings.Lines(transcript) {
		switch {
		case strings.HasPrefix(line, "judge "), strings.HasPrefix(line, "- "):
		case strings.Contains(line, ": "):
			outcome = line
		default:
			names = append(names, line)
		}
	}
	slices.Sort(names)
	return strings.Join(names, "") + outcome
}

// TestFunctions plays functions, with what they call: natively and with every pattern as it is written, which is the same.
func TestFunctions(t *testing.T) {
	const file = "testdata/documents/functions.txtar"
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	written := &txtar.Archive{Comment: archive.Comment}
	scenes, wanted := scenesOf(archive)
	for _, f := range scenes {
		if strings.HasSuffix(f.Name, ".md") {
			written.Files = append(written.Files, f)
			if err := os.WriteFile(filepath.Join(folder, f.Name), f.Data, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			s := parseScene(t, string(f.Data))
			got := form{path: inFolder(folder, ".prose.md")}.play(t, s).transcript(t, false)
			text := form{path: inFolder(folder, ".prose.md"), literal: true}.play(t, s).transcript(t, false)
			if text != got {
				t.Errorf("as it is written:\n%s\nand natively:\n%s", text, got)
			}
			written.Files = append(written.Files, f, txtar.File{Name: f.Name + " →", Data: []byte(got)})
			if want := wanted[f.Name]; !*update && got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(written), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUpstreamSmoke plays the smoke tests of a checkout of openprose/prose that need nobody to wire them.
func TestUpstreamSmoke(t *testing.T) {
	root := os.Getenv("FIRSTGOOD_OPENPROSE")
	folder := filepath.Join(root, "tests", "open-prose", "smoke")
	if _, err := os.Stat(folder); root == "" || err != nil {
		t.Skip("FIRSTGOOD_OPENPROSE names no checkout of openprose/prose with tests/open-prose")
	}
	for _, test := range []struct{ document, scene, calls, result string }{
		{"02-caller-input", "brief: tea\nmodel: tea, caller-input-smoke-pass", "model", `"tea, caller-input-smoke-pass"`},
		{"06-execution-block", "brief: do it\nmodel: a plan\nmodel: execution-block-smoke-pass", "model model", `"execution-block-smoke-pass"`},
		{"09-local-pattern", "brief: do it\ninput quality-bar: short\nmodel: long\nmodel: {\"score\": 9, \"feedback\": \"too long\", \"accepted\": false}\nmodel: short\nmodel: {\"score\": 99, \"feedback\": \"\", \"accepted\": true}",
			"model model model model", `"short"`},
	} {
		t.Run(test.document, func(t *testing.T) {
			s := parseScene(t, test.scene)
			s.document = test.document
			got := form{path: inFolder(folder, ".prose.md")}.play(t, s)
			text := got.transcript(t, false)
			var calls []string
			for _, e := range got.events {
				name, _, _ := strings.Cut(e.text, " ← ")
				calls = append(calls, name)
			}
			if strings.Join(calls, " ") != test.calls || !strings.Contains(text, "won: "+test.result+",") {
				t.Errorf("got\n%s\nwant the calls %s and the result %s", text, test.calls, test.result)
			}
		})
	}
}

// echoing answers with the brief.
type echoing struct{}

func (echoing) RoundTrip(request *http.Request) (*http.Response, error) {
	var asked struct{ Messages []struct{ Content string } }
	if err := json.NewDecoder(request.Body).Decode(&asked); err != nil {
		return nil, err
	}
	text, err := json.Marshal(asked.Messages[len(asked.Messages)-1].Content)
	body := `{"choices": [{"message": {"role": "assistant", "content": ` + string(text) + `}, "finish_reason": "stop"}]}`
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		Request: request, ProtoMajor: 1, ProtoMinor: 1,
	}, err
}

// TestDocuments_AtTheSameTime: runs of one text, and of one function, that are under way at the same time know nothing of each other.
func TestDocuments_AtTheSameTime(t *testing.T) {
	for _, name := range []string{"pipeline", "fallback-chain", "race"} {
		t.Run(name, func(t *testing.T) {
			world, err := engine.NewWorld(engine.WorldConfig{Literal: true})
			if err != nil {
				t.Fatal(err)
			}
			f, problems := config.Parse("test.yaml", []byte("delegates: {a: {"+at("a")+"}, b: {"+at("b")+"}}"), config.Kinds(), world.Extras()...)
			if problems.Failed() {
				t.Fatal(problems)
			}
			doc := opened(t, world, inLibrary(name))
			in, problems := world.Instance(f, doc, []config.Binding{{Origin: "with", Slot: doc.Slots[0].Name, Names: []string{"a", "b"}}}, nil)
			if problems.Failed() {
				t.Fatal(problems)
			}
			bound, err := made(t, engine.Config{File: f, HTTPClient: &http.Client{Transport: echoing{}}}).Bind(config.Ref{Name: name, Instance: in}, 0)
			if err != nil {
				t.Fatal(err)
			}
			var runs sync.WaitGroup
			for i := range 50 {
				runs.Go(func() {
					want := fmt.Sprint("brief ", i)
					if r := bound.Run(t.Context(), firstgood.Text(want), nil); r.Outcome.Result.Text != want {
						t.Errorf("got %q, %v, want %q", r.Outcome.Result.Text, r.Err, want)
					}
				})
			}
			runs.Wait()
			if err := bound.Drain(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDocuments_Huge: a document of nearly 1 MiB and a brief of 8 MiB are run, and the brief arrives whole.
func TestDocuments_Huge(t *testing.T) {
	var text strings.Builder
	text.WriteString("---\nname: huge\nkind: pattern\n---\n\n### Slots\n\n- `one`\n\n### Parameters\n\n- Gets:\n    one: string -- who\n    task: string -- what\n\n### Delegation\n\n```prose\nlet n = 0\n")
	for text.Len() < 1<<20-200 {
		text.WriteString("if n is absent:\n  n = [1, 2, { a: \"b\" }]\n")
	}
	text.WriteString("return call one\n  task: task\n```\n")
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "huge.md"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	brief := strings.Repeat("0123456789abcde\n", 1<<19)
	s := parseScene(t, "document huge\nwith one: a\na: ok")
	s.brief = brief
	got := form{path: inFolder(folder, ".md")}.play(t, s)
	if got.err != nil || len(got.events) != 1 || got.result.Outcome.Result.Text != "ok" {
		t.Fatalf("got %v, %d events", got.err, len(got.events))
	}
	if sent := strings.ReplaceAll(got.events[0].text, "\n  ", "\n"); sent != "a ← "+brief {
		t.Errorf("%d characters arrived, want %d", len(sent), len(brief))
	}
}
