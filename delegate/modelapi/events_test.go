package modelapi

import (
	"bufio"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
)

var streams = []struct {
	name, body string
	want       []string // "name|data"
}{
	{"none", "", nil},
	{"one", "data: a\n\n", []string{"|a"}},
	{"named", "event: ping\ndata: {}\n\n", []string{"ping|{}"}},
	{"two", "data: a\n\ndata: b\n\n", []string{"|a", "|b"}},
	{"a name is for one event", "event: x\ndata: a\n\ndata: b\n\n", []string{"x|a", "|b"}},
	{"a name without data is forgotten", "event: x\n\ndata: b\n\n", []string{"|b"}},
	{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"|a", "|b"}},
	{"no space", "data:a\n\ndata:  b\n\n", []string{"|a", "| b"}},
	{"lines", "data: a\ndata:\ndata\ndata: b\n\n", []string{"|a\n\n\nb"}},
	{"empty data", "data:\n\ndata\n\n", []string{"|", "|"}},
	{"comments and other fields", ": c\n\nid: 7\nretry: 3\nfoo\ndata: a\n: c\n\n", []string{"|a"}},
	{"a colon in the data", "data: a: b\n\n", []string{"|a: b"}},
	{"byte order mark", "\uFEFFdata: a\n\n", []string{"|a"}},
	{"no mark later", "data: a\n\n\uFEFFdata: b\n\n", []string{"|a"}},
	{"no last empty line", "data: a\n\ndata: b\n", []string{"|a", "|b"}},
	{"no last line's end", "data: a\n\ndata: b", []string{"|a", "|b"}},
	{"a name at the end", "data: a\n\nevent: b", []string{"|a"}},
	{"longer than a buffer", "data: " + strings.Repeat("x", 10_000) + "\n\ndata: b\n\n", []string{"|" + strings.Repeat("x", 10_000), "|b"}},
	{"a lone CR ends nothing", "data: a\rdata: b\n\n", []string{"|a\rdata: b"}},
}

// read returns the events of a body, and the error at its end.
func read(body io.Reader) (got []string, err error) {
	s := events{body: bufio.NewReaderSize(body, 16)}
	for {
		e, err := s.next()
		if err != nil {
			return got, err
		}
		got = append(got, e.name+"|"+string(e.data))
	}
}

func TestEvents(t *testing.T) {
	for _, c := range streams {
		for _, body := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body)), iotest.DataErrReader(strings.NewReader(c.body))} {
			if got, err := read(body); !errors.Is(err, io.EOF) || !slices.Equal(got, c.want) {
				t.Errorf("%s: got %.100q, %v", c.name, got, err)
			}
		}
		// A body that is cut says so, and its last event is none.
		cut := io.MultiReader(strings.NewReader(c.body+"data: half"), iotest.ErrReader(io.ErrUnexpectedEOF))
		if got, err := read(cut); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) > len(c.want) {
			t.Errorf("%s, cut: got %.100q, %v", c.name, got, err)
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	endless := failure.Limit(iotest.DataErrReader(strings.NewReader("data: "+strings.Repeat("x", 1<<20))), 1<<16)
	_, err := read(endless)
	var f *firstgood.Error
	if !errors.As(err, &f) || f.Reason != "the reply is larger than the limit of 65536 bytes" {
		t.Errorf("got %v", err)
	}
}

// naive reads events from a whole body at once.
func naive(body string) (want []string) {
	var name string
	var data []string
	body = strings.TrimPrefix(body, "\uFEFF")
	for _, line := range append(strings.Split(body, "\n"), "") {
		line = strings.TrimSuffix(line, "\r")
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "" && data != nil:
			want = append(want, name+"|"+strings.Join(data, "\n"))
			name, data = "", nil
		case line == "":
			name = ""
		case field == "data":
			data = append(data, value)
		case field == "event":
			name = value
		}
	}
	return want
}

func FuzzEvents(f *testing.F) {
	for _, c := range streams {
		f.Add(c.body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := read(strings.NewReader(body))
		if want := naive(body); !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v, want %q", body, got, err, want)
		}
	})
}

func TestInstructs(t *testing.T) {
	text, err := Text("a <b>\"")
	if err != nil {
		t.Fatal(err)
	}
	message := Message("developer", text)
	if string(message) != `{"role":"developer","content":"a <b>\""}` {
		t.Errorf("got %s", message)
	}
	if content, yes := Instructs(message); !yes || string(content) != `"a <b>\""` {
		t.Errorf("got %s, %v", content, yes)
	}
	for _, other := range []string{`{"role":"user","content":"x"}`, `null`, `"system"`, `{"role":1}`} {
		if _, yes := Instructs([]byte(other)); yes {
			t.Errorf("%s instructs", other)
		}
	}
	if _, err := Text("\xff"); err == nil {
		t.Error("bytes that are no text are one")
	}
}
