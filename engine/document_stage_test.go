package engine_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/engine"
)

// scene is a run of a document with delegates that answer from a script. As a text it is lines of
//
//	document NAME              what is run
//	with SLOT: A, B            what a slot is bound to
//	input NAME: VALUE          JSON, or else a text
//	set NAME: VALUE            of the instance's config
//	brief: TEXT                the brief
//	state: OBJECT              what a composite begins with
//	stop DURATION              when the caller cancels
//	NAME[@DURATION]: REPLY     what a delegate replies, and after how long, else as many milliseconds as its place; ! begins an error. A further line of the same name
//	                           is its next reply, and the last one is repeated
//	                           The delegate model, where it replies, is the file's model
//	judge TEXT: REPLY          what the judge says when TEXT is in what it is asked
type scene struct {
	document string
	with     []config.Binding
	inputs   map[string]json.RawMessage
	set      []config.Setting
	brief    string
	state    json.RawMessage
	stop     time.Duration
	names    []string // of the delegates
	replies  map[string][]reply
	verdicts []reply // of the judge; about is what is in the question
}

type reply struct {
	about string
	text  string
	after time.Duration
}

func parseScene(t testing.TB, text string) *scene {
	t.Helper()
	s := &scene{inputs: map[string]json.RawMessage{}, replies: map[string][]reply{}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, found := strings.Cut(line, ":")
		value = strings.ReplaceAll(strings.TrimSpace(value), `\n`, "\n")
		word, name, _ := strings.Cut(key, " ")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "document":
			s.document = name
		case word == "stop":
			s.stop, _ = time.ParseDuration(name)
		case !found:
			t.Fatalf("what is %q?", line)
		case key == "state":
			s.state = json.RawMessage(value)
		case key == "brief":
			s.brief = value
		case word == "with":
			b := config.Binding{Origin: "with " + name, Slot: name}
			for n := range strings.SplitSeq(value, ",") {
				if n = strings.TrimSpace(n); n != "" {
					b.Names = append(b.Names, n)
				}
			}
			s.with = append(s.with, b)
			for _, n := range b.Names {
				s.delegate(n)
			}
		case word == "set":
			s.set = append(s.set, config.Setting{Origin: "set " + name, Key: name, Value: value})
		case word == "input":
			s.inputs[name] = json.RawMessage(value)
			if !json.Valid(s.inputs[name]) {
				s.inputs[name], _ = json.Marshal(value)
			}
		case word == "judge":
			s.verdicts = append(s.verdicts, reply{about: name, text: value})
		default:
			name, after, _ := strings.Cut(key, "@")
			delay, _ := time.ParseDuration(after)
			s.delegate(name)
			s.replies[name] = append(s.replies[name], reply{text: value, after: delay})
		}
	}
	return s
}

func (s *scene) delegate(name string) {
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

// stage plays a scene. It is the transport of all delegates.
type stage struct {
	*scene
	virtual bool // time is that of a bubble; else nobody waits
	began   time.Time

	mu     sync.Mutex
	turns  map[string]int
	events []event
}

type event struct {
	at   time.Duration
	text string
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event{time.Since(s.began), strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n  ")})
}

// RoundTrip answers a request for a chat completion.
func (s *stage) RoundTrip(request *http.Request) (*http.Response, error) {
	var asked struct {
		Model    string
		Messages []struct{ Content string }
	}
	data, err := io.ReadAll(request.Body)
	if err == nil {
		err = json.Unmarshal(data, &asked)
	}
	if err != nil || len(asked.Messages) == 0 {
		return nil, fmt.Errorf("stage: %s: %w", data, err)
	}
	brief := asked.Messages[len(asked.Messages)-1].Content
	var r reply
	if asked.Model == "judge" {
		r = s.verdict(brief)
	} else {
		s.note("%s ← %s", asked.Model, brief)
		s.mu.Lock()
		all := s.replies[asked.Model]
		if turn := s.turns[asked.Model]; len(all) > 0 {
			r = all[min(turn, len(all)-1)]
		}
		s.turns[asked.Model]++
		s.mu.Unlock()
	}
	if s.virtual {
		select {
		case <-time.After(cmp.Or(r.after, time.Duration(1+slices.Index(s.names, asked.Model))*time.Millisecond)):
		case <-request.Context().Done():
			s.note("%s: cancelled", asked.Model)
			return nil, context.Cause(request.Context())
		}
	}
	status, body := 200, any(map[string]any{"choices": []any{map[string]any{
		"message": map[string]any{"role": "assistant", "content": r.text}, "finish_reason": "stop"}}})
	if message, fails := strings.CutPrefix(r.text, "!"); fails {
		status, body = 500, map[string]any{"error": map[string]any{"message": message}}
	}
	data, err = json.Marshal(body)
	return &http.Response{
		StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(data)), Request: request, ProtoMajor: 1, ProtoMinor: 1,
	}, err
}

// verdict is what the judge says of a question. Which reply it was shown is noted, and what it was asked.
func (s *stage) verdict(question string) reply {
	what := "decide"
	for _, key := range []string{"is_failure", "acceptable"} {
		if strings.Contains(question, `"`+key+`"`) {
			what = key
		}
	}
	_, shown, _ := strings.Cut(question, "\n") // the first line is the same for all, and has words of its own
	for _, v := range s.verdicts {
		if strings.Contains(shown, v.about) {
			s.note("judge %s: %s → %s", what, v.about, v.text)
			return v
		}
	}
	s.note("judge %s: %s → nothing", what, shown)
	return reply{text: "!the judge has no answer for this"}
}

// file is a file that names the delegates of the scene.
func (s *scene) file() string {
	var b strings.Builder
	model := "judge" // which answers the calls of a composite that name nobody
	if slices.Contains(s.names, "model") {
		model = "model"
	}
	fmt.Fprintf(&b, "judge: judge\nmodel: %s\ndelegates:\n", model)
	for _, name := range append(slices.Clone(s.names), "judge") {
		fmt.Fprintf(&b, "  %s: {%s}\n", name, at(name))
	}
	return b.String()
}

// played is a scene that has been played.
type played struct {
	events []event
	result *engine.Result
	err    error // nothing ran
}

// form is a way in which a document runs.
type form struct {
	name    string
	path    func(document string) string // of its file, or a name of the library
	literal bool
	process bool // in a process of its own, so that there is no virtual time
}

// play runs a scene.
func (f form) play(t *testing.T, s *scene) (got played) {
	t.Helper()
	run := func(t *testing.T) {
		st := &stage{scene: s, virtual: !f.process, began: time.Now(), turns: map[string]int{}}
		got.result, got.err = st.run(t, f)
		got.events = st.events
	}
	if f.process {
		run(t)
	} else {
		synctest.Test(t, run)
	}
	return got
}

func (s *stage) run(t *testing.T, f form) (*engine.Result, error) {
	world, err := engine.NewWorld(engine.WorldConfig{Literal: f.literal})
	if err != nil {
		t.Fatal(err)
	}
	file, problems := config.Parse("scene.yaml", []byte(s.file()), config.Kinds(), world.Extras()...)
	if problems.Failed() {
		t.Fatal(problems)
	}
	doc, problems := world.Open(f.path(s.document))
	if problems.Failed() {
		return nil, problems
	}
	set := slices.Clone(s.set)
	brief := firstgood.Text(s.brief)
	for name, value := range s.inputs {
		if world.Native(doc) != "" && strings.HasSuffix(name, "_criteria") { // as the command does
			var text string
			if _ = json.Unmarshal(value, &text); text != "" {
				set = append(set, config.Setting{Origin: name, Key: name, Value: text})
			}
			continue
		}
		if brief, err = brief.With(name, value); err != nil {
			t.Fatal(err)
		}
	}
	in, problems := world.Instance(file, doc, s.with, set)
	if problems.Failed() {
		return nil, problems
	}
	e := made(t, engine.Config{File: file, HTTPClient: &http.Client{Transport: s}, Environ: []string{}})
	bound, err := e.Bind(config.Ref{Name: doc.Name, Instance: in}, 0)
	if err != nil {
		return nil, err
	}
	bound.State = s.state
	if err := bound.Ready(brief); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	if s.stop > 0 {
		time.AfterFunc(s.stop, func() { cancel(fmt.Errorf("the caller has gone")) })
	}
	result := bound.Run(ctx, brief, nil)
	if err := bound.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	return result, nil
}

// transcript is what happened: who was asked what and the judge's words, then the outcome. Together says that delegates were
// asked at once, so that the order among them says nothing.
func (p played) transcript(t *testing.T, together bool) string {
	t.Helper()
	if p.err != nil {
		said, _, _ := strings.Cut(p.err.Error(), " is missing: ") // what is missing is said in the document's words
		return "nothing ran: " + strings.TrimSpace(said) + "\n"
	}
	events := slices.Clone(p.events)
	if together {
		slices.SortStableFunc(events, func(a, b event) int { return strings.Compare(a.group(), b.group()) })
	} else {
		slices.SortStableFunc(events, func(a, b event) int {
			if a.at != b.at {
				return int(a.at - b.at)
			}
			return strings.Compare(a.text, b.text)
		})
	}
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.text + "\n")
	}
	data, err := p.result.MarshalJSON()
	var out struct {
		Status      string
		Result      json.RawMessage
		Winner      *string
		WinnerIndex *int `json:"winner_index"`
		Attempts    int
		History     []map[string]any `json:"failure_history"`
		Error       *string
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%s: %s", out.Status, out.Result)
	if out.Winner != nil {
		fmt.Fprintf(&b, " by %s", *out.Winner)
		if out.WinnerIndex != nil {
			fmt.Fprintf(&b, ", place %d", *out.WinnerIndex)
		}
	}
	fmt.Fprintf(&b, ", %d attempts\n", out.Attempts)
	for _, entry := range out.History {
		b.WriteString("- " + firstSaid(entry, "delegate", "candidate"))
		if reason := firstSaid(entry, "reason", "error"); reason != "" {
			b.WriteString(": " + place.ReplaceAllString(reason, "LINE: "))
		}
		if detail := firstSaid(entry, "detail"); detail != "" {
			b.WriteString(" (" + detail + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// place is one in a document, which another document says elsewhere.
var place = regexp.MustCompile(`\S+\.md:\d+:\d+: `)

// firstSaid is the first of the fields that says something.
func firstSaid(entry map[string]any, names ...string) string {
	for _, name := range names {
		if entry[name] != nil {
			return firstgood.TextOf(entry[name])
		}
	}
	return ""
}

// group orders events of delegates that work together: asked, by name; then what the judge said, as it came; then who was
// cancelled.
func (e event) group() string {
	switch {
	case strings.HasPrefix(e.text, "judge "):
		return "2"
	case strings.HasSuffix(e.text, ": cancelled"):
		return "3" + e.text
	}
	return "1" + e.text
}

// inFolder finds documents NAME + ending in a folder.
func inFolder(folder, ending string) func(string) string {
	return func(name string) string { return filepath.Join(folder, name+ending) }
}

func inLibrary(name string) string { return "std/patterns/" + name }

// seeds is the folder of the seeds, "" where it is not at hand.
func seeds() string {
	folder := os.Getenv("FIRSTGOOD_SEEDS")
	if folder == "" {
		folder = "../../shared/seeds"
	}
	if _, err := os.Stat(folder); err != nil {
		return ""
	}
	return folder
}

// opened is a document that is there.
func opened(t *testing.T, world *engine.World, path string) *document.Document {
	t.Helper()
	doc, problems := world.Open(path)
	if problems.Failed() {
		t.Fatal(problems)
	}
	return doc
}
