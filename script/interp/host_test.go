package interp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/interp"
	"github.com/firstgood/firstgood/script/syntax"
)

// scene is a script with what it is given and how everybody answers, as the comments at its beginning say:
//
//	#in NAME JSON             an input, with its value unless that is left out
//	#config NAME JSON         one that is also config.NAME
//	#slot NAME [DELEGATE]     a slot
//	#list NAME DELEGATE…      a slot that is a list
//	#fn NAME [INPUT[?]|…]…    a function with its inputs; … for one that takes any
//	#NAME: REPLY              what a delegate answers, once for each line: JSON, or fail, fatal, stopped, or hang, after a
//	                          duration perhaps; when there are no more, its name and the number of the call
//	#judge TEXT: REPLY        how the judge decides: true, false, or fail
//	#criteria: REPLY          what the judge of criteria says: true or false with a reason, or fail
//	#max N, #cancel D         at most so many branches at once; the caller cancels after so long
//	#sorted                   what happens at one instant is in no order
type scene struct {
	env     check.Env
	inputs  map[string]any
	replies map[string][]string
	max     int
	cancel  time.Duration
	sorted  bool
	terse   bool // leaves out what briefs say, and the places of what is said of the script

	mu     sync.Mutex
	asked  map[string]int
	events []event
	start  time.Time
}

type event struct {
	at   time.Duration
	text string
	end  bool
}

func parseScene(t *testing.T, src string) *scene {
	t.Helper()
	s := &scene{inputs: map[string]any{}, replies: map[string][]string{}, asked: map[string]int{}}
	for line := range strings.Lines(src) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, "#") || strings.HasPrefix(line, "# ") {
			break
		}
		key, rest, _ := strings.Cut(line[1:], " ")
		words := strings.Fields(rest)
		switch key {
		case "in", "config":
			name, value, given := strings.Cut(rest, " ")
			kind := check.InputValue
			if key == "config" {
				kind = check.InputConfig
			}
			s.env.Inputs = append(s.env.Inputs, check.Input{Name: name, Kind: kind, Optional: true})
			if given {
				s.inputs[name] = json.RawMessage(value)
			}
		case "slot":
			s.env.Inputs = append(s.env.Inputs, check.Input{Name: words[0], Kind: check.InputSlot})
			s.inputs[words[0]] = interp.Reference{Name: words[len(words)-1]}
		case "list":
			s.env.Inputs = append(s.env.Inputs, check.Input{Name: words[0], Kind: check.InputList})
			refs := []interp.Reference{}
			for i, name := range words[1:] {
				refs = append(refs, interp.Reference{Name: name, Index: i})
			}
			s.inputs[words[0]] = refs
		case "fn":
			target := check.Target{Name: words[0]}
			for _, w := range words[1:] {
				if w == "…" {
					target.Open = true
					continue
				}
				name, optional := strings.CutSuffix(w, "?")
				target.Inputs = append(target.Inputs, check.Param{Name: name, Optional: optional})
			}
			s.env.Targets = append(s.env.Targets, target)
		case "max":
			s.max, _ = strconv.Atoi(rest)
		case "cancel":
			s.cancel, _ = time.ParseDuration(rest)
		case "sorted":
			s.sorted = true
		case "judge":
			text, reply, _ := strings.Cut(rest, ": ")
			s.replies["judge "+text] = append(s.replies["judge "+text], reply)
		default:
			name, ok := strings.CutSuffix(key, ":")
			if !ok {
				t.Fatalf("what is %s?", line)
			}
			s.replies[name] = append(s.replies[name], rest)
		}
	}
	return s
}

// note enters what happens.
func (s *scene) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event{time.Since(s.start), fmt.Sprintf(format, args...), strings.HasPrefix(format, "= ") || strings.HasPrefix(format, "! ")})
}

// transcript is all that happened.
func (s *scene) transcript() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := slices.Clone(s.events)
	if s.sorted {
		slices.SortStableFunc(events, func(a, b event) int {
			switch {
			case a.at != b.at:
				return cmp.Compare(a.at, b.at)
			case a.end != b.end:
				if a.end {
					return 1
				}
				return -1
			}
			return strings.Compare(a.text, b.text)
		})
	}
	var b strings.Builder
	for _, e := range events {
		if e.at > 0 {
			fmt.Fprintf(&b, "%v ", e.at)
		}
		b.WriteString(e.text + "\n")
	}
	return b.String()
}

func (s *scene) next(name string) (reply string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = s.asked[name]
	s.asked[name]++
	if n < len(s.replies[name]) {
		reply = s.replies[name][n]
	}
	return reply, n + 1
}

// answer waits as long as a reply says, and returns what it is.
func (s *scene) answer(ctx context.Context, name string) (string, error) {
	reply, n := s.next(name)
	first, rest, _ := strings.Cut(reply, " ")
	if d, err := time.ParseDuration(first); err == nil && strings.HasSuffix(first, "s") {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			s.note("%s is cancelled: %v", name, context.Cause(ctx))
			return "", context.Cause(ctx)
		}
		reply = rest
		first, rest, _ = strings.Cut(reply, " ")
	}
	switch first {
	case "":
		return strconv.Quote(fmt.Sprintf("%s %d", name, n)), nil
	case "hang":
		<-ctx.Done()
		s.note("%s is cancelled: %v", name, context.Cause(ctx))
		return "", context.Cause(ctx)
	case "fail":
		if kind, message, ok := strings.Cut(rest, ": "); ok {
			return "", &firstgood.Error{Kind: firstgood.Kind(kind), Reason: message}
		}
		return "", errors.New(rest)
	case "fatal":
		return "", &firstgood.Error{Reason: rest, Fatal: true}
	case "stopped":
		return "", &firstgood.NoWinnerError{Name: name, Status: firstgood.StatusStopped}
	case "panic":
		panic(rest)
	}
	return reply, nil
}

func (s *scene) Call(ctx context.Context, call interp.Call) (interp.Value, error) {
	name := call.Target
	if call.Delegate != nil {
		name = call.Delegate.Name
	}
	line := fmt.Sprintf("call %s %q", name, call.Brief.String())
	if s.terse {
		line = "call " + name
		if input, ok := call.Brief.Input("task_brief"); ok && call.Brief.String() == stringOf(input) {
			line += " as it is"
		}
	}
	if names := call.Brief.Inputs(); len(names) > 0 {
		line += " with " + strings.Join(names, ", ")
	}
	if call.Model != "" {
		line += " by " + call.Model
	}
	if call.Retry > 0 {
		line += fmt.Sprintf(" again %d", call.Retry)
	}
	s.note("%s", line)
	reply, err := s.answer(ctx, name)
	if err != nil {
		return interp.Value{}, err
	}
	return interp.FromJSON([]byte(reply))
}

func (s *scene) Criteria(ctx context.Context, c interp.Criterion) (interp.Verdict, error) {
	s.note("weigh %s %v: %v is %s (%q)", c.Input, c.Criteria, c.Value, c.Form, c.Brief.String())
	reply, err := s.answer(ctx, "criteria")
	if err != nil {
		return interp.Verdict{}, err
	}
	word, reason, _ := strings.Cut(reply, " ")
	return interp.Verdict{Holds: word == "true", Reason: reason}, nil
}

func (s *scene) Decide(ctx context.Context, q interp.Question) (bool, error) {
	line := fmt.Sprintf("decide %q", q.Text)
	for _, f := range q.Values {
		line += fmt.Sprintf(" %s=%v", f.Key, f.Value)
	}
	if s.terse {
		line = "decide"
		if len(q.Values) > 0 {
			line += fmt.Sprintf(" about %v", q.Values[0].Value)
		}
	}
	s.note("%s", line)
	reply, err := s.answer(ctx, "judge "+q.Text)
	return reply == "true", err
}

func (s *scene) Warn(p diagnostic.Problem) { s.said(p) }

func (s *scene) said(p diagnostic.Problem) {
	if s.terse {
		s.note("%v: %s", p.Severity, p.Message)
		return
	}
	s.note("%v", p)
}

func stringOf(data json.RawMessage) string {
	var s string
	_ = json.Unmarshal(data, &s)
	return s
}

var testPos = syntax.Pos{File: "f", Line: 1, Column: 1}

// compile reads and checks a script, and notes what is said of it.
func (s *scene) compile(src string) (*interp.Script, error) {
	script, problems := syntax.Parse(src, testPos)
	if problems.Failed() {
		return nil, problems
	}
	program, problems := check.New(script, s.env)
	for _, p := range problems {
		s.said(p)
	}
	if program == nil {
		return nil, errors.New("the checker refuses it")
	}
	return interp.New(interp.Config{Program: program, Host: s, MaxParallel: s.max})
}

// play runs a script to its end and that of all that it has left, and returns what happened.
func (s *scene) play(src string) string {
	s.start = time.Now()
	script, err := s.compile(src)
	if err != nil {
		return s.transcript() + "! " + err.Error() + "\n"
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if s.cancel > 0 {
		timer := time.AfterFunc(s.cancel, func() { cancel(errors.New("the caller has had enough")) })
		defer timer.Stop()
	}
	before := snapshot(s.inputs)
	value, err := script.Run(ctx, s.inputs)
	if after := snapshot(s.inputs); before != after {
		s.note("the inputs have changed from %s to %s", before, after)
	}
	var placed *interp.Error
	switch {
	case err != nil && s.terse && errors.As(err, &placed):
		s.note("! %s: %v", placed.Delegate, placed.Err)
	case err != nil:
		s.note("! %v", err)
	default:
		s.note("= %s", jsonText(value))
	}
	_ = script.Drain(context.Background())
	return s.transcript()
}

func jsonText(v interp.Value) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func snapshot(inputs map[string]any) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		fmt.Fprintf(&b, "%s=%v ", name, inputs[name])
	}
	return b.String()
}
