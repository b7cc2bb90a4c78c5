package pattern

import (
	"context"
	"sync"
)

// live counts attempts that have not returned.
type live struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed at zero; nil when nobody waits
}

func (l *live) enter() {
	l.mu.Lock()
	l.n++
	l.mu.Unlock()
}

func (l *live) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.n == 0 && l.idle != nil {
		close(l.idle)
		l.idle = nil
	}
}

func (l *live) wait(ctx context.Context) error {
	l.mu.Lock()
	if l.n == 0 {
		l.mu.Unlock()
		return nil
	}
	if l.idle == nil {
		l.idle = make(chan struct{})
	}
	idle := l.idle
	l.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
