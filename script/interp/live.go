package interp

import (
	"context"
	"sync"
)

// live counts branches that have not returned.
type live struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed at zero; nil when nobody waits
}

func (l *live) add(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n += n
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
