package process

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

var errFull = errors.New("output limit reached")

// head keeps what is written to it up to a limit, or hands it on to a sink. The first byte beyond closes full and ends the
// writing.
type head struct {
	mu    sync.Mutex
	data  []byte
	sink  io.Writer // nil: the data is kept
	taken int       // how many bytes were kept or handed on
	limit int
	full  chan struct{}
	ended bool
}

func newHead(limit int, sink io.Writer) *head {
	return &head{limit: limit, sink: sink, full: make(chan struct{})}
}

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := h.limit - h.taken
	if len(p) <= room {
		return h.take(p)
	}
	if _, err := h.take(p[:room]); err != nil {
		return 0, err
	}
	if !isClosed(h.full) {
		close(h.full)
	}
	return room, errFull
}

func (h *head) take(p []byte) (int, error) {
	h.taken += len(p)
	switch {
	case h.ended:
	case h.sink == nil:
		h.data = append(h.data, p...)
	case len(p) > 0:
		if _, err := h.sink.Write(p); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// end returns what was kept so far. Later writes do not change it, and reach no sink.
func (h *head) end() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = true
	return h.data[:len(h.data):len(h.data)]
}

// tail keeps the end of what is written to it.
type tail struct {
	mu    sync.Mutex
	data  []byte // up to twice the limit, so that it is moved seldom
	limit int
	cut   bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	written := len(p)
	if len(p) > t.limit {
		p = p[len(p)-t.limit:]
		t.cut = true
	}
	if len(t.data)+len(p) > 2*t.limit {
		t.data = append(t.data[:0], t.data[len(t.data)-t.limit:]...)
		t.cut = true
	}
	t.data = append(t.data, p...)
	return written, nil
}

// bytes returns a copy of the end of what was written so far, and whether that is less than all.
func (t *tail) bytes() ([]byte, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.data[max(0, len(t.data)-t.limit):]
	return bytes.Clone(end), t.cut || len(end) < len(t.data)
}
