package lab

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// End says how a visit ended.
type End string

// The ends of a visit. The zero End is a visit under way.
const (
	EndDone   End = "done"   // the whole reply was written
	EndCut    End = "cut"    // the lab broke it off, as the model said, or a model of the caller's panicked
	EndGone   End = "gone"   // the client went away before the end
	EndClosed End = "closed" // the lab was closed
)

// Visit is one request for a completion, well-formed or not. It begins before its model is asked, and ends before
// the client can see the end of the reply, so that who has read a reply whole finds its visit ended.
type Visit struct {
	Number        int    // from 1, in the order in which their bodies had been read
	Model         string // as it was asked for, with its argument; "" when the request could not be read
	Stream        bool
	Brief         string    // the last user message
	Authorization bool      // whether an Authorization header came; its value is not kept
	Status        int       // the HTTP status sent, 0 before the visit has ended and when no header was sent
	Started       time.Time // when the request came
	Ended         time.Time // when the reply ended; zero while under way
	Gone          time.Time // when the client went away before the end; zero when it did not
	End           End

	body []byte
}

// Body returns a copy of the request's body; nil when it could not be read.
func (v Visit) Body() []byte { return bytes.Clone(v.body) }

// String returns the visit as one line for people, such as
//
//	#3 slow:2s stream gone after 120ms: "Name a colour."
func (v Visit) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#%d ", v.Number)
	if v.Model == "" {
		b.WriteString("(no model)")
	} else {
		fmt.Fprintf(&b, "%.60s", v.Model)
	}
	if v.Stream {
		b.WriteString(" stream")
	}
	if v.Status != 0 {
		fmt.Fprintf(&b, " %d", v.Status)
	}
	if v.Ended.IsZero() {
		b.WriteString(" began")
	} else {
		fmt.Fprintf(&b, " %s after %v", v.End, v.Ended.Sub(v.Started).Round(time.Millisecond))
	}
	if v.Brief != "" {
		fmt.Fprintf(&b, ": %.60q", v.Brief)
	}
	return b.String()
}

// Visits returns the remembered visits in order of their numbers, those under way included. They are copies.
func (s *Server) Visits() []Visit {
	s.book.mu.Lock()
	defer s.book.mu.Unlock()
	return s.book.copies()
}

// Wait returns nil once ok holds of the visits, which it is given as by [Server.Visits], first now and then after
// every change. It returns ctx's cause when ctx is done before, and an error when the lab is closed before. Ok
// must not call back into the lab.
func (s *Server) Wait(ctx context.Context, ok func([]Visit) bool) error {
	return s.await(ctx, func(b *book) bool { return ok(b.copies()) })
}

// WaitStarted returns nil once n visits have begun since the lab was made; errors as for [Server.Wait].
func (s *Server) WaitStarted(ctx context.Context, n int) error {
	return s.await(ctx, func(b *book) bool { return b.entered >= n })
}

// WaitGone returns nil once n visits have ended because their client went away; errors as for [Server.Wait].
func (s *Server) WaitGone(ctx context.Context, n int) error {
	return s.await(ctx, func(b *book) bool { return b.gone >= n })
}

func (s *Server) await(ctx context.Context, ok func(*book) bool) error {
	for {
		met, changed := s.book.look(ok)
		if met {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.closed:
			if met, _ := s.book.look(ok); met {
				return nil
			}
			return fmt.Errorf("lab: wait: %w", errClosed)
		}
	}
}

const keepBytes = 64 << 20

// book holds the visits.
type book struct {
	keep  int
	watch func(Visit) // nil for none; called with mu held, so that calls keep their order

	mu      sync.Mutex
	visits  []*Visit // the remembered ones; each is changed with mu held
	size    int      // of their bodies
	entered int
	gone    int
	changed chan struct{} // closed at the next change; nil when nobody waits for one
}

// enter gives v its number and begins it.
func (b *book) enter(v Visit) *Visit {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entered++
	v.Number = b.entered
	b.visits = append(b.visits, &v)
	b.size += len(v.body)
	for len(b.visits) > b.keep || b.size > keepBytes && len(b.visits) > 1 {
		b.size -= len(b.visits[0].body)
		b.visits[0] = nil
		b.visits = b.visits[1:]
	}
	b.tell(v)
	return &v
}

// leave notes that the visit's client went away, or the lab closes, unless the visit has ended already.
func (b *book) leave(v *Visit, end End) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mark(v, end)
	b.wake()
}

func (b *book) mark(v *Visit, end End) {
	if v.End != "" {
		return
	}
	v.End = end
	if end == EndGone {
		v.Gone = time.Now()
	}
}

// end ends the visit, with end unless it has been marked with another before.
func (b *book) end(v *Visit, status int, end End) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mark(v, end)
	v.Status, v.Ended = status, time.Now()
	if v.End == EndGone {
		b.gone++
	}
	b.tell(*v)
}

func (b *book) tell(v Visit) {
	b.wake()
	if b.watch != nil {
		b.watch(v)
	}
}

func (b *book) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

func (b *book) copies() []Visit {
	visits := make([]Visit, len(b.visits))
	for i, v := range b.visits {
		visits[i] = *v
	}
	return visits
}

// look asks whether ok holds, and returns what is closed at the next change.
func (b *book) look(ok func(*book) bool) (bool, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return ok(b), b.changed
}
