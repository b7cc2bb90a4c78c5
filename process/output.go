package process

import (
	"bytes"
	"errors"
	"sync"
)

var errFull = errors.New("output limit reached")

// head keeps what is written to it up to a limit. The first byte beyond closes full and ends the writing.
type head struct {
	mu    sync.Mutex
	data  []byte
	limit int
	full  chan struct{}
}

func newHead(limit int) *head { return &head{limit: limit, full: make(chan struct{})} }

func (h *head) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if room := h.limit - len(h.data); len(p) > room {
		h.data = append(h.data, p[:room]...)
		if !isClosed(h.full) {
			close(h.full)
		}
		return room, errFull
	}
	h.data = append(h.data, p...)
	return len(p), nil
}

// bytes returns what was written so far. Later writes do not change it.
func (h *head) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
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
