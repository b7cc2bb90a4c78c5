package delegatetest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// work is the work behind a function delegate.
type work struct {
	mu      sync.Mutex
	briefs  []string
	started chan struct{}
	gone    chan struct{}
}

func newWork() *work {
	return &work{started: make(chan struct{}, 16), gone: make(chan struct{}, 16)}
}

func (w *work) subject(d firstgood.Delegate[firstgood.Reply]) Subject {
	return Subject{Delegate: d, Started: w.started, Gone: w.gone, Briefs: func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.briefs)
	}}
}

func (w *work) do(ctx context.Context, brief firstgood.Brief, b Behaviour) (firstgood.Reply, error) {
	if ctx.Err() != nil {
		return firstgood.Reply{}, context.Cause(ctx)
	}
	w.mu.Lock()
	w.briefs = append(w.briefs, brief.String())
	w.mu.Unlock()
	w.started <- struct{}{}
	if b.Hang {
		<-ctx.Done()
		w.gone <- struct{}{}
		return firstgood.Reply{}, context.Cause(ctx)
	}
	if b.Fail != "" {
		return firstgood.Reply{}, &firstgood.Error{Reason: b.Fail}
	}
	return firstgood.Reply{Text: b.Answer}, nil
}

func TestFunc(t *testing.T) {
	Run(t, Kind{New: func(t *testing.T, b Behaviour) Subject {
		w := newWork()
		return w.subject(firstgood.Func("func", func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return w.do(ctx, brief, b)
		}))
	}})
}

func TestWithin(t *testing.T) {
	Run(t, Kind{New: func(t *testing.T, b Behaviour) Subject {
		w := newWork()
		return w.subject(firstgood.Within(time.Hour, firstgood.Func("within", func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return w.do(ctx, brief, b)
		})))
	}})
}

// A goroutine of the attempt that outlives it must be found, one of the test's own must not.
func TestLeftGoroutineIsSeen(t *testing.T) {
	release, running := make(chan struct{}), make(chan struct{})
	leaky := firstgood.Func("leaky", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		go func() { close(running); <-release }()
		<-running
		return firstgood.Reply{}, nil
	})
	go func() { <-release }()
	c := &trial{t, newWork().subject(leaky), "a label", time.Minute}
	c.attempt(context.Background(), firstgood.Text(""))
	if left := labelled("a label"); !strings.Contains(left, "TestLeftGoroutineIsSeen") {
		t.Errorf("the goroutine was not seen; got %q", left)
	}
	if left := labelled("another label"); left != "" {
		t.Errorf("got %q for a label that nothing has", left)
	}
	close(release)
}
