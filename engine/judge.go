package engine

import (
	"context"
	"sync"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/pattern"
)

// judge is a delegate that weighs replies, and knows how many of its calls are still at work: those that ran out of
// their own time are left behind by the criteria, and nobody but [Bound.Drain] waits for them.
type judge struct {
	firstgood.Delegate[firstgood.Reply]

	mu      sync.Mutex
	working int
	idle    chan struct{} // closed when no call is at work any more; nil while nobody waits for that
}

// judge returns what weighs replies for a ref.
func (e *Engine) judge(ref config.Ref) (*judge, error) {
	key := keyOf(ref)
	if built, ok := e.judges[key]; ok {
		return built, nil
	}
	delegate, err := e.bind(ref)
	if err != nil {
		return nil, err
	}
	e.judges[key] = &judge{Delegate: delegate}
	return e.judges[key], nil
}

// keyOf tells apart what refs name: the *config.Delegate or the *config.Instance.
func keyOf(ref config.Ref) any {
	if ref.Delegate != nil {
		return ref.Delegate
	}
	return ref.Instance
}

func (j *judge) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	j.count(1)
	defer j.count(-1)
	return j.Delegate.Attempt(unbudgeted(ctx), brief)
}

func (j *judge) count(n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.working += n
	if j.working == 0 && j.idle != nil {
		close(j.idle)
		j.idle = nil
	}
}

// AttemptTimeout is that of the delegate; see [firstgood.Limited].
func (j *judge) AttemptTimeout() time.Duration {
	if limited, ok := j.Delegate.(firstgood.Limited); ok {
		return limited.AttemptTimeout()
	}
	return 0
}

// Nests says it of the delegate; see [pattern.Nests].
func (j *judge) Nests() bool { return pattern.Nests(j.Delegate) }

// Drain waits for every call, and for what the delegate may have left behind.
func (j *judge) Drain(ctx context.Context) error {
	for {
		j.mu.Lock()
		if j.working == 0 {
			j.mu.Unlock()
			break
		}
		if j.idle == nil {
			j.idle = make(chan struct{})
		}
		idle := j.idle
		j.mu.Unlock()
		select {
		case <-idle:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if drainer, ok := j.Delegate.(firstgood.Drainer); ok {
		return drainer.Drain(ctx)
	}
	return nil
}
