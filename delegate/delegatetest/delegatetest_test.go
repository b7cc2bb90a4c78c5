package delegatetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// sound is an attempt as it should be.
func sound(ctx context.Context, brief firstgood.Brief, w *Work) (firstgood.Reply, error) {
	if ctx.Err() != nil {
		return firstgood.Reply{}, context.Cause(ctx)
	}
	answer, err := w.Do(ctx, brief.String())
	if err != nil && ctx.Err() == nil {
		err = &firstgood.Error{Err: err}
	}
	return firstgood.Reply{Text: answer}, err
}

func TestFunc(t *testing.T) {
	Run(t, Kind{New: func(t *testing.T, b Behaviour) Subject {
		w := NewWork(b)
		return w.Subject(firstgood.Func("func", func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return sound(ctx, brief, w)
		}))
	}})
}

func TestWithin(t *testing.T) {
	Run(t, Kind{New: func(t *testing.T, b Behaviour) Subject {
		w := NewWork(b)
		return w.Subject(firstgood.Within(time.Hour, firstgood.Func("within", func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return sound(ctx, brief, w)
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
	c := &trial{t, NewWork(Behaviour{}).Subject(leaky), "a label", time.Minute}
	c.attempt(context.Background(), firstgood.Text(""))
	if left := labelled("a label"); !strings.Contains(left, "TestLeftGoroutineIsSeen") {
		t.Errorf("the goroutine was not seen; got %q", left)
	}
	if left := labelled("another label"); left != "" {
		t.Errorf("got %q for a label that nothing has", left)
	}
	close(release)
}
