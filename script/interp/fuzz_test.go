package interp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/interp"
	"github.com/firstgood/firstgood/script/syntax"
	"github.com/rogpeppe/go-internal/txtar"
)

// tape is a host that answers from bytes, one for each question, round and round.
type tape struct {
	mu    sync.Mutex
	bytes []byte
	at    int
}

func (h *tape) next() byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.bytes) == 0 {
		return 0
	}
	h.at++
	return h.bytes[h.at%len(h.bytes)]
}

func (h *tape) Call(ctx context.Context, c interp.Call) (interp.Value, error) {
	_ = c.Brief.String()
	switch b := h.next(); b % 8 {
	case 0:
		return interp.Text(c.Target), nil
	case 1:
		return interp.Null(), errors.New("failed")
	case 2:
		return interp.FromJSON([]byte(`{"score": 0.9, "verdict": "accept", "proceed": true, "list": [1, 2], "count": 2}`))
	case 3:
		return interp.Text("Sure:\n```json\n{\"score\": \"7/10\", \"decision\": \"abort\"}\n```"), nil
	case 4:
		return interp.Number(float64(b)), nil
	case 5:
		return interp.Null(), nil
	case 6:
		return interp.FromJSON([]byte(`[{"model": "m", "count": 2}, "x", 3]`))
	default:
		if b > 240 {
			return interp.Null(), &firstgood.Error{Fatal: true, Reason: "stop"}
		}
		<-time.After(time.Duration(b) * time.Microsecond)
		return interp.Text("late"), ctx.Err()
	}
}

func (h *tape) Criteria(context.Context, interp.Criterion) (interp.Verdict, error) {
	b := h.next()
	if b%5 == 0 {
		return interp.Verdict{}, errors.New("no verdict")
	}
	return interp.Verdict{Holds: b%2 == 0, Reason: "why"}, nil
}

func (h *tape) Decide(context.Context, interp.Question) (bool, error) {
	b := h.next()
	if b%5 == 0 {
		return false, errors.New("no verdict")
	}
	return b%2 == 0, nil
}

func (h *tape) Warn(diagnostic.Problem) {}

// FuzzProgram reads, checks and runs whatever it is given, for a tenth of a second at most. None of it panics, and all of
// it ends soon after its context.
func FuzzProgram(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i, file := range archive.Files {
			if file.Name != "→" {
				f.Add(string(file.Data), []byte{byte(i), byte(3 * i), 1, 2, 3, 4, 5, 6})
			}
		}
	}
	wrong, err := os.ReadFile("../check/testdata/wrong.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, src := range strings.Split(string(wrong), "\n---\n") {
		var lines []string
		for line := range strings.Lines(src) {
			line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " ◄ ")
			lines = append(lines, line)
		}
		f.Add(strings.Join(lines, "\n"), []byte{2, 1})
	}
	f.Add(chainSource, []byte{1, 2, 1})
	var env check.Env
	inputs := map[string]any{}
	for _, name := range []string{"a", "b", "c", "critic", "guard", "arbiter"} {
		env.Inputs = append(env.Inputs, check.Input{Name: name, Kind: check.InputSlot})
		inputs[name] = interp.Reference{Name: name}
	}
	for _, name := range []string{"chain", "all"} {
		env.Inputs = append(env.Inputs, check.Input{Name: name, Kind: check.InputList})
		inputs[name] = []interp.Reference{{Name: "x"}, {Name: "y", Index: 1}}
	}
	for name, value := range map[string]any{"task_brief": "do it", "x": 5, "n": 2, "t": "{\"a\": 1}", "o": map[string]any{"a": 1}, "xs": []any{1, 2}, "v": nil} {
		env.Inputs = append(env.Inputs, check.Input{Name: name})
		inputs[name] = value
	}
	for name, value := range map[string]any{"rounds": 2, "failure_criteria": "it is bad", "least": 0.8} {
		env.Inputs = append(env.Inputs, check.Input{Name: name, Kind: check.InputConfig})
		inputs[name] = value
	}
	env.Targets = []check.Target{{Name: "write", Inputs: []check.Param{{Name: "topic"}, {Name: "depth", Optional: true}}, Outputs: []string{"title"}}, {Name: "open", Open: true}}
	f.Fuzz(func(t *testing.T, src string, answers []byte) {
		script, problems := syntax.Parse(src, testPos)
		if problems.Failed() {
			return
		}
		program, problems := check.New(script, env)
		for _, p := range problems {
			if p.Message == "" || p.Pos.Line < 1 {
				t.Errorf("a problem without a place or a message: %v", p)
			}
		}
		if program == nil {
			return
		}
		program.Strict()
		s, err := interp.New(interp.Config{Program: program, Host: &tape{bytes: answers}, Backoff: time.Microsecond})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		before := snapshot(inputs)
		v, err := s.Run(ctx, inputs)
		if after := snapshot(inputs); after != before {
			t.Errorf("the inputs were changed from %s to %s", before, after)
		}
		if err == nil {
			if _, err := interp.FromJSON([]byte(jsonText(v))); err != nil {
				t.Errorf("%s cannot be read again: %v", jsonText(v), err)
			}
		}
		late, stop := context.WithTimeout(context.Background(), 10*time.Second)
		defer stop()
		if err := s.Drain(late); err != nil {
			t.Errorf("branches go on: %v", err)
		}
	})
}
