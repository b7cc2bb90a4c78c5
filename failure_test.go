package firstgood

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	for _, c := range []struct {
		in    string
		units int
		want  string
		cut   bool
	}{
		{"", 0, "", false},
		{"a", 0, "", true},
		{"abc", 3, "abc", false},
		{"abcd", 3, "abc", true},
		{"äöü", 3, "äöü", false}, // six bytes, three units
		{"äöüx", 3, "äöü", true},
		{"日本語", 2, "日本", true},
		{"😀", 2, "😀", false},
		{"😀", 1, "", true},
		{"a😀b", 2, "a", true}, // never half a character, so one unit less
		{"a😀b", 3, "a😀", true},
		{"a😀b", 4, "a😀b", false},
		{"\xff\xfe\xfd", 2, "\xff\xfe", true}, // a byte that is not UTF-8 counts one
		{"\xffä", 2, "\xffä", false},
		{strings.Repeat("😀", 1001), ExcerptUnits, strings.Repeat("😀", 1000), true},
		{"x" + strings.Repeat("😀", 1000), ExcerptUnits, "x" + strings.Repeat("😀", 999), true},
	} {
		if got, cut := Excerpt(c.in, c.units); got != c.want || cut != c.cut {
			t.Errorf("Excerpt(%.20q, %d): got %.20q, %v, want %.20q, %v", c.in, c.units, got, cut, c.want, c.cut)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	for _, s := range []string{"", "abc", "a😀b", "äöü", "\xff😀", "日本語"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, units int) {
		got, cut := Excerpt(s, units)
		if !strings.HasPrefix(s, got) || cut != (got != s) {
			t.Fatalf("Excerpt(%q, %d): got %q, %v", s, units, got, cut)
		}
		n := len(utf16.Encode([]rune(got)))
		if n > max(units, 0) {
			t.Fatalf("Excerpt(%q, %d): got %d units", s, units, n)
		}
		if cut { // one character more would not have gone in
			_, size := utf8.DecodeRuneInString(s[len(got):])
			if more := len(utf16.Encode([]rune(s[:len(got)+size]))); more <= units {
				t.Fatalf("Excerpt(%q, %d): got %q, though %d units would do", s, units, got, more)
			}
		}
	})
}

type mute struct{}

func (mute) Error() string { return "" }

type slow bool

func (slow) Error() string   { return "slow" }
func (s slow) Timeout() bool { return bool(s) }

func TestFailureOf(t *testing.T) {
	down := errors.New("down")
	busy := &Error{Kind: KindRateLimited, Reason: "busy", Detail: "quota", Status: 429, Err: down}
	inner := []Failure{{Delegate: "x", Kind: KindError, Reason: "down"}}
	lost := func(status Status, cause error) *NoWinnerError {
		return &NoWinnerError{Name: "inner", Status: status, History: inner, Cause: cause}
	}
	for name, c := range map[string]struct {
		err  error
		want Failure // without delegate, index and error
	}{
		"a plain error":             {down, Failure{Kind: KindError, Reason: "down"}},
		"without a message":         {errors.New(""), Failure{Kind: KindError, Reason: "an error without a message (*errors.errorString)"}},
		"white space":               {errors.New(" \n\t"), Failure{Kind: KindError, Reason: "an error without a message (*errors.errorString)"}},
		"no message, own type":      {mute{}, Failure{Kind: KindError, Reason: "an error without a message (firstgood.mute)"}},
		"bytes that are no text":    {errors.New("a\xffb"), Failure{Kind: KindError, Reason: "a\uFFFDb"}},
		"classed":                   {busy, Failure{Kind: KindRateLimited, Reason: "busy", Detail: "quota", Status: 429}},
		"classed, wrapped":          {fmt.Errorf("ask: %w", busy), Failure{Kind: KindRateLimited, Reason: "ask: busy", Detail: "quota", Status: 429}},
		"classed, joined":           {errors.Join(down, busy), Failure{Kind: KindRateLimited, Reason: "down\nbusy", Detail: "quota", Status: 429}},
		"classed without a kind":    {&Error{Err: down}, Failure{Kind: KindError, Reason: "down"}},
		"classed with nothing":      {&Error{}, Failure{Kind: KindError, Reason: "error"}},
		"a kind alone":              {&Error{Kind: KindAuth}, Failure{Kind: KindAuth, Reason: "auth"}},
		"a kind over a mute error":  {&Error{Kind: KindAuth, Err: mute{}}, Failure{Kind: KindAuth, Reason: "auth"}},
		"deadline":                  {context.DeadlineExceeded, Failure{Kind: KindTimeout, Reason: "context deadline exceeded"}},
		"deadline, wrapped":         {fmt.Errorf("read: %w", context.DeadlineExceeded), Failure{Kind: KindTimeout, Reason: "read: context deadline exceeded"}},
		"deadline, joined":          {errors.Join(down, context.DeadlineExceeded), Failure{Kind: KindTimeout, Reason: "down\ncontext deadline exceeded"}},
		"an os deadline":            {os.ErrDeadlineExceeded, Failure{Kind: KindTimeout, Reason: "i/o timeout"}},
		"a timeout by its method":   {slow(true), Failure{Kind: KindTimeout, Reason: "slow"}},
		"no timeout by its method":  {slow(false), Failure{Kind: KindError, Reason: "slow"}},
		"a timeout, wrapped":        {fmt.Errorf("dial: %w", slow(true)), Failure{Kind: KindTimeout, Reason: "dial: slow"}},
		"a class goes before it":    {errors.Join(slow(true), busy), Failure{Kind: KindRateLimited, Reason: "slow\nbusy", Detail: "quota", Status: 429}},
		"cancelled":                 {context.Canceled, Failure{Kind: KindError, Reason: "context canceled"}},
		"nested":                    {lost(StatusExhausted, nil), Failure{Kind: KindExhausted, Reason: "inner: no winner (exhausted): x: error: down", Nested: inner}},
		"nested and stopped":        {lost(StatusStopped, nil), Failure{Kind: KindExhausted, Reason: "inner: no winner (stopped): x: error: down", Nested: inner}},
		"nested, wrapped":           {fmt.Errorf("try: %w", lost(StatusExhausted, nil)), Failure{Kind: KindExhausted, Reason: "try: inner: no winner (exhausted): x: error: down", Nested: inner}},
		"nested, its judge failed":  {lost(StatusJudgeError, nil), Failure{Kind: KindJudgeError, Reason: "inner: no winner (judge_error): x: error: down", Nested: inner}},
		"nested, its time was up":   {lost(StatusTimeout, &Error{Kind: KindTimeout, Reason: "no decision within 1s", Err: context.DeadlineExceeded}), Failure{Kind: KindTimeout, Reason: "inner: no winner (timeout: no decision within 1s): x: error: down", Nested: inner}},
		"nested, within a class":    {fmt.Errorf("%w: %w", busy, lost(StatusExhausted, nil)), Failure{Kind: KindRateLimited, Reason: "busy: inner: no winner (exhausted): x: error: down", Detail: "quota", Status: 429, Nested: inner}},
		"nested without a history":  {&NoWinnerError{Name: "inner", Status: StatusExhausted}, Failure{Kind: KindExhausted, Reason: "inner: no winner (exhausted)"}},
		"lost, which is no timeout": {&LostError{Winner: "b"}, Failure{Kind: KindError, Reason: "lost to b"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Delegate, c.want.Index, c.want.Err = "d", 3, c.err
			if got := FailureOf("d", 3, c.err); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestFailureJSON(t *testing.T) {
	for _, c := range []struct {
		failure Failure
		want    string
	}{
		{Failure{Delegate: "a", Kind: KindError, Reason: "down", Duration: 1999 * time.Microsecond, Err: errors.New("not this")},
			`{"delegate":"a","index":0,"kind":"error","reason":"down","duration_ms":1}`},
		{Failure{Delegate: "a", Index: 2, Kind: KindRejected, Reason: "no", Detail: "words", Reply: "<5>"},
			`{"delegate":"a","index":2,"kind":"rejected","reason":"no","detail":"words","reply":"\u003c5\u003e","duration_ms":0}`},
		{Failure{Delegate: "a", Kind: KindRejected, Reason: "empty"},
			`{"delegate":"a","index":0,"kind":"rejected","reason":"empty","reply":"","duration_ms":0}`},
		{Failure{Delegate: "a", Kind: KindJudgeError, Reason: "no judge", Reply: "5"},
			`{"delegate":"a","index":0,"kind":"judge_error","reason":"no judge","reply":"5","duration_ms":0}`},
		{Failure{Delegate: "a", Kind: KindExhausted, Reason: "none", Status: 503, Nested: []Failure{{Delegate: "b", Kind: KindTimeout, Reason: "late", Duration: time.Second}}},
			`{"delegate":"a","index":0,"kind":"exhausted","reason":"none","status":503,"nested":[{"delegate":"b","index":0,"kind":"timeout","reason":"late","duration_ms":1000}],"duration_ms":0}`},
	} {
		got, err := json.Marshal(c.failure)
		if err != nil || string(got) != c.want {
			t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
		}
	}
}

type named struct{ n int }

func (n named) String() string { return fmt.Sprint("named ", n.n) }

func TestTextOf(t *testing.T) {
	for _, c := range []struct {
		reply any
		want  string
	}{
		{nil, "null"},
		{"a", "a"},
		{"a\xff", "a\uFFFD"},
		{[]byte("b\xff"), "b\uFFFD"},
		{named{1}, "named 1"},
		{errors.New("down"), "down"},
		{map[string]any{"b": 1, "a": []int{2}}, `{"a":[2],"b":1}`},
		{4.5, "4.5"},
		{make(chan int, 1) == nil, "false"},
		{Reply{Text: "hi"}, "hi"},
		{Reply{JSON: json.RawMessage(`{ "a" : "<" }`)}, `{"a":"<"}`},
		{complex(1, 2), "(1+2i)"}, // has no JSON form
	} {
		if got := TextOf(c.reply); got != c.want {
			t.Errorf("TextOf(%v): got %q, want %q", c.reply, got, c.want)
		}
	}
}

func TestNoWinnerError(t *testing.T) {
	errLeft := errors.New("the user left")
	err := error(&NoWinnerError{Name: "answer", Status: StatusCancelled, Cause: errLeft, History: []Failure{
		{Delegate: "a", Kind: KindError, Reason: "two\n lines"}, {Delegate: "b", Kind: KindRejected, Reason: strings.Repeat("x", 201)},
	}})
	if want := "answer: no winner (cancelled: the user left): a: error: two lines; b: rejected: " + strings.Repeat("x", 200) + "…"; err.Error() != want {
		t.Errorf("got %q, want %q", err.Error(), want)
	}
	if !errors.Is(err, ErrNoWinner) || !errors.Is(err, errLeft) {
		t.Error("it matches neither the sentinel nor its cause")
	}
	if err := error(&NoWinnerError{Name: "answer", Status: StatusExhausted}); errors.Is(err, context.Canceled) || !errors.Is(err, ErrNoWinner) {
		t.Error("without a cause it matches the sentinel alone")
	}
}

func TestLostErrorIsACancellation(t *testing.T) {
	err := error(&LostError{Winner: "b"})
	if !errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || err.Error() != "lost to b" {
		t.Errorf("got %v", err)
	}
}

type patch struct{}

func (patch) Diff() []byte       { return []byte("diff --git a/x b/x\n") }
func (patch) Restored() []string { return nil }

func TestFailureWithAChange(t *testing.T) {
	f := FailureOf("a", 1, &Error{Kind: KindError, Reason: "exit status 1", Change: patch{}})
	data, err := json.Marshal(f)
	want := `{"delegate":"a","index":1,"kind":"error","reason":"exit status 1","patch":"diff --git a/x b/x\n","restored":[],"applied":null,"duration_ms":0}`
	if err != nil || string(data) != want {
		t.Errorf("got  %s, %v\nwant %s", data, err, want)
	}
	if (Reply{Change: patch{}}).Empty() || !(Reply{}).Empty() {
		t.Error("a reply with a change alone is not empty")
	}
}
