package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// counter is an Output that counts lines, and fails as it was told.
type counter struct {
	written string
	fails   error
	whole   []bool
}

func (c *counter) Write(p []byte) (int, error) {
	c.written += string(p)
	return 0, errors.New("is not looked at")
}

func (c *counter) Line() string { return "line" + strings.Repeat("!", strings.Count(c.written, "\n")) }

func (c *counter) End(whole bool) (firstgood.Reply, error) {
	c.whole = append(c.whole, whole)
	used := firstgood.Usage{InputTokens: 7, OutputTokens: 1, Source: firstgood.SourceMeasured}
	return firstgood.Reply{Text: strings.ToUpper(c.written), Usage: used}, c.fails
}

func TestOutput(t *testing.T) {
	own := firstgood.Usage{InputTokens: 1, Source: firstgood.SourceEstimated}
	read := firstgood.Usage{InputTokens: 7, OutputTokens: 1, Source: firstgood.SourceMeasured}
	for _, test := range []struct {
		name  string
		exit  string
		fails error
		whole bool
		kind  firstgood.Kind // "" for success
		says  string
		used  firstgood.Usage
	}{
		{name: "success", exit: "0", whole: true, used: read},
		{name: "its error", exit: "0", fails: errors.New("no sense in it"), whole: true, kind: firstgood.KindError, says: "no sense in it", used: read},
		{name: "its error of a kind", exit: "0", fails: &firstgood.Error{Kind: firstgood.KindTruncated, Reason: "half, hush-hush"}, whole: true,
			kind: firstgood.KindTruncated, says: "half, [secret]", used: read},
		{name: "its error with a usage", exit: "0", fails: &firstgood.Error{Reason: "x", Usage: own}, whole: true, kind: firstgood.KindError, says: "x", used: own},
		{name: "exit status", exit: "3", kind: firstgood.KindError, says: "exit status 3: aside", used: read},
		{name: "exit status and its error", exit: "3", fails: errors.New("no sense in it"), kind: firstgood.KindError, says: "exit status 3: aside", used: read},
		{name: "exit status that it explains", exit: "3", fails: &firstgood.Error{Kind: firstgood.KindAuth, Status: 401, Reason: "log in"}, kind: firstgood.KindAuth, says: "log in", used: read},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := &counter{fails: test.fails}
			c := program(t, "print", `"one\ntwo\n"`, `"aside"`, test.exit)
			c.Secrets = []string{"hush-hush"}
			c.Output = func() Output { return out }
			reply, err := build(t, c).Attempt(t.Context(), firstgood.Text("x"))
			if !slices.Equal(out.whole, []bool{test.whole}) {
				t.Errorf("End was told %v, want %v once", out.whole, test.whole)
			}
			if test.kind == "" {
				if err != nil || reply.Text != "ONE\nTWO\n" || reply.Usage != test.used {
					t.Errorf("got %+v, %v", reply, err)
				}
				return
			}
			f := failure(t, err)
			if f.Kind != test.kind || f.Reason != test.says || f.Detail != "aside" {
				t.Errorf("got %+v, want %s: %s", f, test.kind, test.says)
			}
			if metered, ok := errors.AsType[*firstgood.Error](err); !ok || metered.Used() != test.used {
				t.Errorf("used %+v, want %+v", metered.Used(), test.used)
			}
		})
	}
}

// TestOutput_OfAStoppedProgramTellsWhatItUsed also holds that the cause stays what it is.
func TestOutput_OfAStoppedProgramTellsWhatItUsed(t *testing.T) {
	c, met := stubborn(t)
	c.Grace = time.Millisecond
	c.Output = func() Output { return &counter{} }
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		conn := <-met
		cancel(context.DeadlineExceeded)
		_ = conn.Close()
	}()
	_, err := build(t, c).Attempt(ctx, firstgood.Text("x"))
	metered, ok := errors.AsType[interface {
		error
		firstgood.Metered
	}](err)
	if !ok || metered.Used().InputTokens != 7 {
		t.Errorf("%v does not tell what was used", err)
	}
	if f := firstgood.FailureOf("d", 0, err); f.Kind != firstgood.KindTimeout {
		t.Errorf("got %s, want that its time was up", f)
	}
}

func TestIn(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "a b"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := program(t, "where")
	c.Dir = dir
	d := build(t, c)
	for want, ctx := range map[string]context.Context{
		dir:                       t.Context(),
		filepath.Join(dir, "a b"): In(t.Context(), filepath.Join(dir, "a b")),
	} {
		reply, err := d.Attempt(ctx, firstgood.Text("x"))
		if err != nil || reply.Text != want {
			t.Errorf("it worked in %q, %v, want %q", reply.Text, err, want)
		}
	}
	_, err = d.Attempt(In(t.Context(), filepath.Join(dir, "gone")), firstgood.Text("x"))
	if f := failure(t, err); f.Kind != firstgood.KindUnavailable || !strings.Contains(f.Reason, "gone") {
		t.Errorf("a directory that does not exist: got %+v", f)
	}
}

// TestAttempt_NotesItsLastLine looks at what the record of a run is told.
func TestAttempt_NotesItsLastLine(t *testing.T) {
	var notes []string
	record := firstgood.NewRecord(time.Now(), func(c firstgood.Call) { notes = append(notes, c.Note) })
	call := firstgood.Call{Parent: -1}
	record.Begin(&call)
	ctx := context.WithValue(t.Context(), firstgood.ScopeKey{}, &firstgood.Scope{Record: record, Call: call.ID})
	c := program(t, "print", `"first\n\x1b[31mthe hush-hush\ttest\x1b[0m runs\n\nhalf a li"`)
	c.Secrets = []string{"hush-hush"}
	if _, err := build(t, c).Attempt(ctx, firstgood.Text("x")); err != nil {
		t.Fatal(err)
	}
	if last := notes[len(notes)-1]; last != "the [secret] test runs" {
		t.Errorf("noted %q", notes)
	}
}

func TestText_Line(t *testing.T) {
	for _, test := range []struct {
		pieces []string
		want   string
	}{
		{nil, ""},
		{[]string{"no end"}, ""},
		{[]string{"one\n"}, "one"},
		{[]string{"one\ntw", "o\nthr"}, "two"},
		{[]string{"one\n", "\n", "  \n"}, "one"},
		{[]string{"one\r\n", "\r\n"}, "one"},
	} {
		out := &text{}
		for _, piece := range test.pieces {
			_, _ = out.Write([]byte(piece))
			out.Line()
		}
		if got := out.Line(); got != test.want {
			t.Errorf("%q: got %q, want %q", test.pieces, got, test.want)
		}
	}
}
