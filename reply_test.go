package firstgood

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestReplyEmptyAndString(t *testing.T) {
	stream := func() *Stream { return NewStream(io.NopCloser(strings.NewReader("x"))) }
	for _, c := range []struct {
		reply Reply
		empty bool
		text  string
	}{
		{Reply{}, true, ""},
		{Reply{Text: " \n\t\u00a0"}, true, " \n\t\u00a0"},
		{Reply{Text: "4"}, false, "4"},
		{Reply{Text: "null"}, false, "null"}, // a text is never parsed
		{Reply{JSON: json.RawMessage("null")}, true, "null"},
		{Reply{JSON: json.RawMessage(" [ ] ")}, true, "[]"},
		{Reply{JSON: json.RawMessage("{\n}")}, true, "{}"},
		{Reply{JSON: json.RawMessage(`""`)}, true, `""`},
		{Reply{JSON: json.RawMessage(`" \u0020 "`)}, true, `" \u0020 "`},
		{Reply{JSON: json.RawMessage("0")}, false, "0"},
		{Reply{JSON: json.RawMessage("false")}, false, "false"},
		{Reply{JSON: json.RawMessage("[null]")}, false, "[null]"},
		{Reply{JSON: json.RawMessage(`{ "a" : "<&>" }`)}, false, `{"a":"<&>"}`},
		{Reply{JSON: json.RawMessage(`not json`)}, false, "not json"},
		{Reply{ToolCalls: 1}, false, ""}, // S9
		{Reply{Refusal: "I will not"}, false, ""},
		{Reply{Refusal: " "}, true, ""},
		{Reply{FinishReason: "stop", Usage: Usage{InputTokens: 1}}, true, ""},
		{Reply{Stream: stream()}, false, ""},
	} {
		if got := c.reply.Empty(); got != c.empty {
			t.Errorf("%+v: got empty %v", c.reply, got)
		}
		if got := c.reply.String(); got != c.text {
			t.Errorf("%+v: got text %q, want %q", c.reply, got, c.text)
		}
	}
}

func TestReplyWithoutAStreamHoldsAndClosesNothing(t *testing.T) {
	if (Reply{Text: "4"}).Hold(func() { t.Error("released") }) {
		t.Error("it holds")
	}
	if err := (Reply{}).Close(); err != nil {
		t.Error(err)
	}
}

type body struct {
	io.Reader
	closes int
	err    error
}

func (b *body) Close() error {
	b.closes++
	return b.err
}

func TestStreamClosesOnceAndReleasesLastFirst(t *testing.T) {
	errClose := errors.New("close")
	b := &body{Reader: strings.NewReader("abc"), err: errClose}
	s := NewStream(b)
	reply := Reply{Stream: s}
	var released []int
	for i := range 3 {
		if !reply.Hold(func() { released = append(released, i) }) {
			t.Fatal("an open stream does not hold")
		}
	}
	if got, err := io.ReadAll(s); string(got) != "abc" || err != nil || released != nil {
		t.Errorf("got %q, %v, released %v before it was closed", got, err, released)
	}
	if err := reply.Close(); err != errClose {
		t.Errorf("got %v, want what the body said", err)
	}
	if err := reply.Close(); err != nil {
		t.Errorf("got %v the second time", err)
	}
	if b.closes != 1 || !slices.Equal(released, []int{2, 1, 0}) {
		t.Errorf("got %d closes, released %v", b.closes, released)
	}
	if s.Hold(func() { t.Error("released") }) {
		t.Error("a closed stream holds")
	}
}

func TestStreamIsClosedOnceFromManyGoroutines(t *testing.T) {
	b := new(body)
	s := NewStream(b)
	var mu sync.Mutex
	held, released := 0, 0
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() { _ = s.Close() })
		wait.Go(func() {
			if s.Hold(func() { mu.Lock(); released++; mu.Unlock() }) {
				mu.Lock()
				held++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if b.closes != 1 || held != released {
		t.Errorf("got %d closes, %d held, %d released", b.closes, held, released)
	}
}

func TestNonEmpty(t *testing.T) {
	type text string
	var closed *Stream
	var nilReply *Reply
	for _, c := range []struct {
		reply any
		empty bool
	}{
		{nil, true},
		{"", true},
		{" \n", true},
		{"0", false},
		{text(" "), true},
		{text("x"), false},
		{[]byte(" \n"), true},
		{[]byte("x"), false},
		{json.RawMessage("null"), false}, // bytes are a text, and not parsed
		{0, true},
		{1, false},
		{false, true},
		{true, false},
		{[]int{}, true},
		{[]int(nil), true},
		{[]int{0}, false},
		{map[string]int{}, true},
		{map[string]int{"a": 0}, false},
		{[2]int{}, true},
		{[2]int{0, 1}, false},
		{struct{ A string }{}, true},
		{struct{ A string }{"x"}, false},
		{closed, true},
		{nilReply, true},
		{&Reply{}, true},
		{&Reply{Text: "x"}, false},
		{Reply{}, true},
		{Reply{ToolCalls: 1}, false},
		{time.Time{}, true},
		{func() {}, false},
	} {
		verdict, err := NonEmpty(t.Context(), Text("q"), c.reply)
		want := Verdict{}
		if c.empty {
			want = Verdict{Rejected: true, Reason: "the reply is empty"}
		}
		if verdict != want || err != nil {
			t.Errorf("%T %v: got %+v, %v, want %+v", c.reply, c.reply, verdict, err, want)
		}
	}
}
