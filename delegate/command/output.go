package command

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/firstgood/firstgood"
)

// Output makes a reply of what a program writes to stdout. It is used by one goroutine at a time, for one attempt.
type Output interface {
	// Write takes the next piece, which it does not keep. What it returns is not looked at.
	Write(piece []byte) (int, error)
	// Line returns what the program is doing, in a line for people: "" when it has said nothing yet. It is asked after
	// each piece.
	Line() string
	// End is called once, after the last piece. When the program has exited by itself with status 0, whole is true, and
	// the reply or the error is the attempt's. Otherwise the attempt has failed whatever End returns: of the reply its
	// Usage is kept, and an error of type *[firstgood.Error] tells why the program ended as it did, with its kind and
	// reason; any other, and none, leave that to the exit status and stderr.
	End(whole bool) (firstgood.Reply, error)
}

// In returns a context under which attempts run their program in dir and not where their Config says. Whoever has a
// place for each attempt gives it so, and finds nothing running there when Attempt has returned (see
// [Delegate.Attempt] for a stopped one). A relative path starts at this process's directory. Env are further variables of the
// program's, as NAME=value, over all others.
func In(ctx context.Context, dir string, env ...string) context.Context {
	return context.WithValue(ctx, placeKey{}, place{dir, env})
}

type placeKey struct{}

type place struct {
	dir string
	env []string
}

// text is the Output of a program whose stdout is the reply.
type text struct {
	data []byte
	line string // the last whole line that is not blank
	seen int    // how much of data line has been looked for in
}

func (t *text) Write(piece []byte) (int, error) {
	t.data = append(t.data, piece...)
	return len(piece), nil
}

func (t *text) Line() string {
	lines := t.data[t.seen:]
	last := bytes.LastIndexByte(lines, '\n')
	if last < 0 {
		return t.line
	}
	t.seen += last + 1
	lines = bytes.TrimSpace(lines[:last])
	if len(lines) > 0 {
		t.line = string(lines[bytes.LastIndexByte(lines, '\n')+1:])
	}
	return t.line
}

func (t *text) End(whole bool) (firstgood.Reply, error) {
	reply := firstgood.Reply{Usage: firstgood.Usage{Source: firstgood.SourceUnknown}}
	if !whole {
		return reply, nil
	}
	if !utf8.Valid(t.data) {
		return reply, &firstgood.Error{Reason: fmt.Sprintf("the output is not UTF-8 text (first at byte %d)", invalidAt(t.data))}
	}
	reply.Text = string(trimNewline(t.data))
	return reply, nil
}

// reader is where a program's stdout goes: to its Output, whose line it notes in the record of the run.
type reader struct {
	Output
	scope   *firstgood.Scope // nil notes nothing
	secrets secrets
	said    string
}

func (r *reader) Write(piece []byte) (int, error) {
	_, _ = r.Output.Write(piece)
	if r.scope == nil {
		return len(piece), nil
	}
	if line := r.Line(); line != r.said {
		r.said = line
		r.scope.Note(lastLine(r.secrets.hide(line, false)))
	}
	return len(piece), nil
}

// lastLine returns text as one line of bounded length that does nothing to a terminal.
func lastLine(text string) string {
	lines := tidyLines(text, 1)
	return strings.Join(lines, "")
}
