package firstgood

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
)

// Reply is what an attempt of the engine's delegates produced. A reply is a text, a JSON value, or an open
// stream; the zero Reply is the empty text. Go callers may use any other type as their reply.
type Reply struct {
	Text string
	// JSON is set, and Text is empty, where the delegate answered with a JSON value and not with a text; a
	// valid JSON document. "null" is the null reply.
	JSON json.RawMessage
	// Stream is set, and Text and JSON are empty, where the reply is still being written. Who holds the reply
	// closes it.
	Stream *Stream

	// Change is what the delegate did to files, where it works in a place of its own; nil where it does not.
	Change Change

	FinishReason string // as the provider named it; empty when it named none
	Refusal      string // the provider's own refusal field, empty when the model did not use it
	ToolCalls    int    // how many tool calls the reply holds; such a reply is not empty
	Usage        Usage
}

// String returns the reply as text: Text, or the JSON value compactly, without HTML escapes and with nothing
// parsed twice. An open stream has no text yet and gives "".
func (r Reply) String() string {
	if r.JSON == nil {
		return r.Text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, r.JSON) != nil {
		return string(r.JSON)
	}
	return compact.String()
}

// Empty reports whether the reply says nothing: white space alone, null, an empty JSON string, list or object,
// and neither a tool call, a refusal nor a change. An open stream is not empty.
func (r Reply) Empty() bool {
	if r.Stream != nil || r.Change != nil && len(r.Change.Diff()) > 0 || r.ToolCalls > 0 || strings.TrimSpace(r.Refusal) != "" {
		return false
	}
	if r.JSON == nil {
		return strings.TrimSpace(r.Text) == ""
	}
	switch value := strings.TrimSpace(r.String()); value {
	case "null", "[]", "{}":
		return true
	default:
		var text string
		return json.Unmarshal(r.JSON, &text) == nil && strings.TrimSpace(text) == ""
	}
}

// Used returns the tokens that the reply has cost; see [Metered].
func (r Reply) Used() Usage { return r.Usage }

// Changed returns Change; see [Changed].
func (r Reply) Changed() Change { return r.Change }

// Hold keeps release for the moment the reply's stream is closed; see [Holder].
func (r Reply) Hold(release func()) bool { return r.Stream != nil && r.Stream.Hold(release) }

// Close closes the reply's stream, if it has one.
func (r Reply) Close() error {
	if r.Stream == nil {
		return nil
	}
	return r.Stream.Close()
}

// Holder is implemented by a reply that needs its attempt's context for as long as it is open, such as one that
// is read from the network. Hold returns true when the reply will call release exactly once, when it is closed;
// it returns false, and never calls release, when the reply needs the context no longer. Releases stack: a reply
// that came through nested instances is asked to hold one for each.
type Holder interface{ Hold(release func()) bool }

// Metered is implemented by a reply that knows what it has cost.
type Metered interface{ Used() Usage }

// Stream is an open body that runs hooks when it is closed. Read and Close may be called from different
// goroutines as far as the wrapped body allows it; Hold from any.
type Stream struct {
	body    io.ReadCloser
	mu      sync.Mutex
	closed  bool
	release []func()
}

// NewStream returns a stream over body, which it will close once.
func NewStream(body io.ReadCloser) *Stream { return &Stream{body: body} }

// Read reads from the body.
func (s *Stream) Read(p []byte) (int, error) { return s.body.Read(p) }

// Hold registers a hook for Close, the last registered to run first. It returns false when the stream is
// closed already.
func (s *Stream) Hold(release func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.release = append(s.release, release)
	return true
}

// Close closes the body and runs the hooks, the first time; later calls do nothing and return nil.
func (s *Stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	release := s.release
	s.release = nil
	s.mu.Unlock()
	err := s.body.Close()
	for i := len(release) - 1; i >= 0; i-- {
		release[i]()
	}
	return err
}
