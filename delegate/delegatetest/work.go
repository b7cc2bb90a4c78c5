package delegatetest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/firstgood/firstgood"
)

// Work is the work behind a delegate under test where that runs in the test's own process, such as in an HTTP
// handler. It is safe for concurrent use; [NewWork] makes one.
type Work struct {
	behaviour     Behaviour
	started, gone chan struct{}
	mu            sync.Mutex
	briefs        []string
}

// NewWork returns work with the given behaviour, and room for 16 attempts.
func NewWork(b Behaviour) *Work {
	return &Work{behaviour: b, started: make(chan struct{}, 16), gone: make(chan struct{}, 16)}
}

// Do is one attempt's work on a brief: it answers, fails with an error that says what the behaviour says, or hangs
// until ctx is done and then returns its cause.
func (w *Work) Do(ctx context.Context, brief string) (string, error) {
	w.mu.Lock()
	w.briefs = append(w.briefs, brief)
	w.mu.Unlock()
	w.started <- struct{}{}
	switch {
	case w.behaviour.Hang:
		<-ctx.Done()
		w.gone <- struct{}{}
		return "", context.Cause(ctx)
	case w.behaviour.Fail != "":
		return "", errors.New(w.behaviour.Fail)
	}
	return w.behaviour.Answer, nil
}

// Subject returns d as the delegate with this work behind it.
func (w *Work) Subject(d firstgood.Delegate[firstgood.Reply]) Subject {
	return Subject{Delegate: d, Started: w.started, Gone: w.gone, Briefs: func() []string {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.Clone(w.briefs)
	}}
}
