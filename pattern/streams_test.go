package pattern

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// flow is a body that is still being written: each read takes a second, and fails once its attempt's context is done.
type flow struct {
	ctx    context.Context
	left   int
	closed atomic.Int32
}

const part = 64 << 10

func (f *flow) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	select {
	case <-time.After(time.Second):
	case <-f.ctx.Done():
		return 0, context.Cause(f.ctx)
	}
	n := copy(p[:min(len(p), part, f.left)], bytes.Repeat([]byte("x"), part))
	f.left -= n
	return n, nil
}

func (f *flow) Close() error {
	f.closed.Add(1)
	return nil
}

// streams makes delegates that answer with flows, and keeps the flows.
type streams struct {
	mu    sync.Mutex
	flows map[string]*flow
}

func (s *streams) delegate(name string, a act) firstgood.Delegate[firstgood.Reply] {
	inner := a.named(name)
	return firstgood.Func(name, func(ctx context.Context, b firstgood.Brief) (firstgood.Reply, error) {
		if _, err := inner.Attempt(ctx, b); err != nil {
			return firstgood.Reply{}, err
		}
		f := &flow{ctx: ctx, left: 512 << 10}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.flows == nil {
			s.flows = map[string]*flow{}
		}
		s.flows[name] = f
		return firstgood.Reply{Stream: firstgood.NewStream(f)}, nil
	})
}

// flow returns the flow that the delegate of that name has answered with, nil for none.
func (s *streams) flow(name string) *flow {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flows[name]
}

func (s *streams) wantClosedOnce(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		f := s.flow(name)
		if f == nil {
			t.Errorf("%s has not answered", name)
			continue
		}
		equal(t, "times that the reply of "+name+" was closed", f.closed.Load(), int32(1))
		if f.ctx.Err() == nil {
			t.Errorf("the context of %s lives on", name)
		}
	}
}

func readAll(t *testing.T, r io.Reader) {
	t.Helper()
	got, err := io.ReadAll(r)
	if err != nil || len(got) != 512<<10 {
		t.Errorf("got %d bytes and %v, want all of them", len(got), err)
	}
}

func TestS8_AWinningStreamIsReadableToItsEndAfterTheRunHasReturned(t *testing.T) {
	type config = Config[firstgood.Reply]
	type delegates = []firstgood.Delegate[firstgood.Reply]
	for name, build := range map[string]func(s *streams) (*Instance[firstgood.Reply], error){
		"race": func(s *streams) (*Instance[firstgood.Reply], error) {
			return NewRace(config{Timeout: 3 * time.Second, Delegates: delegates{
				firstgood.Within(2*time.Second, s.delegate("a", good(time.Hour, ""))), firstgood.Within(2*time.Second, s.delegate("w", good(time.Second, ""))), s.delegate("late", act{after: time.Minute, deaf: true}),
			}})
		},
		"chain": func(s *streams) (*Instance[firstgood.Reply], error) {
			return NewFallbackChain(config{Timeout: 3 * time.Second, Delegates: delegates{
				firstgood.Within(time.Second, s.delegate("a", good(time.Hour, ""))), firstgood.Within(2*time.Second, s.delegate("w", good(time.Second, ""))),
			}})
		},
		"inline chain": func(s *streams) (*Instance[firstgood.Reply], error) {
			return NewFallbackChain(config{Inline: true, Timeout: 3 * time.Second, Delegates: delegates{
				firstgood.Within(time.Second, s.delegate("a", good(time.Hour, ""))), firstgood.Within(2*time.Second, s.delegate("w", good(time.Second, ""))),
			}})
		},
		"nested twice": func(s *streams) (*Instance[firstgood.Reply], error) {
			inner, err := NewRace(config{Timeout: 3 * time.Second, Delegates: delegates{firstgood.Within(2*time.Second, s.delegate("w", good(time.Second, ""))), s.delegate("a", good(time.Hour, ""))}})
			if err != nil {
				return nil, err
			}
			middle, err := NewFallbackChain(config{Timeout: 3 * time.Second, Inline: true, Delegates: delegates{inner}})
			if err != nil {
				return nil, err
			}
			return NewRace(config{Timeout: 3 * time.Second, Delegates: delegates{firstgood.Within(3*time.Second, firstgood.Delegate[firstgood.Reply](middle)), s.delegate("b", good(time.Hour, ""))}})
		},
	} {
		inBubble(t, name, func(t *testing.T) {
			s := new(streams)
			in, err := build(s)
			if err != nil {
				t.Fatal(err)
			}
			out, err := in.Run(t.Context(), question)
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Hour) // every timer that is armed has fired
			readAll(t, out.Result.Stream)
			w := s.flow("w")
			if err := w.ctx.Err(); err != nil {
				t.Errorf("the winner's context ended before its reply was closed: %v", err)
			}
			_, armed := w.ctx.Deadline()
			equal(t, "deadline that is left", armed, false)
			_ = out.Result.Close()
			_ = out.Result.Close()
			s.wantClosedOnce(t, "w")
			if name == "race" {
				_ = in.Drain(t.Context())
				s.wantClosedOnce(t, "late")
			}
		})
	}
	inBubble(t, "the caller's stop ends it", func(t *testing.T) {
		s := new(streams)
		in, err := NewRace(config{Delegates: delegates{s.delegate("w", good(time.Second, ""))}})
		if err != nil {
			t.Fatal(err)
		}
		errLeft := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		out, err := in.Run(ctx, question)
		if err != nil {
			t.Fatal(err)
		}
		cancel(errLeft)
		if _, err := io.ReadAll(out.Result.Stream); err != errLeft {
			t.Errorf("got %v, want the caller's cause", err)
		}
		_ = out.Result.Close()
	})
	inBubble(t, "a fan-out's, and one that is nested", func(t *testing.T) {
		s := new(streams)
		fan, err := NewFanOut(config{Timeout: 3 * time.Second, Delegates: delegates{s.delegate("a", good(time.Second, "")), s.delegate("b", bad(0, errDown)), s.delegate("c", good(2*time.Second, ""))}})
		if err != nil {
			t.Fatal(err)
		}
		in, err := NewFallbackChain(Config[[]firstgood.Reply]{Delegates: []firstgood.Delegate[[]firstgood.Reply]{fan}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := in.Run(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		readAll(t, out.Result[0].Stream)
		_ = out.Result[0].Close()
		readAll(t, out.Result[2].Stream)
		_ = out.Result[2].Close()
		s.wantClosedOnce(t, "a", "c")
	})
}

// response is a reply of a foreign type, like an *http.Response.
type response struct {
	from string
	body *firstgood.Stream
}

func TestForeignRepliesAreHeldAndDiscardedByHooks(t *testing.T) {
	answer := func(s *streams, name string, a act, beside error) firstgood.Delegate[*response] {
		inner := s.delegate(name, a)
		return firstgood.Func(name, func(ctx context.Context, b firstgood.Brief) (*response, error) {
			reply, err := inner.Attempt(ctx, b)
			if err != nil {
				return nil, err
			}
			return &response{name, reply.Stream}, beside
		})
	}
	hold := func(r *response, release func()) bool { return r.body.Hold(release) }
	everyHost(t, func(t *testing.T, h host) {
		s := new(streams)
		var mu sync.Mutex // a reply may be discarded while the next delegate is at work
		var discarded []string
		in, err := NewFallbackChain(Config[*response]{
			Inline: h.inline,
			Delegates: []firstgood.Delegate[*response]{
				answer(s, "failed", bad(0, errDown), nil), answer(s, "beside", good(0, ""), errDown), answer(s, "rejected", good(0, ""), nil),
				answer(s, "unjudged", good(0, ""), nil), answer(s, "crashed", good(0, ""), nil), answer(s, "good", good(0, ""), nil),
			},
			Criteria: func(_ context.Context, _ firstgood.Brief, r *response) (firstgood.Verdict, error) {
				switch r.from {
				case "unjudged":
					return firstgood.Verdict{}, errDown
				case "crashed":
					panic("criteria")
				}
				return firstgood.Verdict{Rejected: r.from == "rejected"}, nil
			},
			Hold: hold,
			Discard: func(r *response) {
				if r == nil {
					t.Error("what came beside an error is no reply")
					return
				}
				mu.Lock()
				discarded = append(discarded, r.from)
				mu.Unlock()
				_ = r.body.Close()
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		out, err := in.Run(h.ctx(t.Context()), question)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		slices.Sort(discarded)
		equal(t, "winner", out.Winner, "good")
		equal(t, "discarded", discarded, []string{"beside", "crashed", "rejected", "unjudged"})
		readAll(t, out.Result.body)
		_ = out.Result.body.Close()
		for _, f := range s.flows {
			equal(t, "times that a reply was closed", f.closed.Load(), int32(1))
		}
	})
	inBubble(t, "late, lost and cancelled", func(t *testing.T) {
		s := new(streams)
		in, err := NewRace(Config[*response]{
			Delegates: []firstgood.Delegate[*response]{
				answer(s, "won", good(time.Second, ""), nil), answer(s, "lost", good(time.Second, ""), nil),
				answer(s, "late", act{after: time.Hour, deaf: true}, nil), answer(s, "late and failed", act{after: time.Hour, deaf: true}, errDown),
				firstgood.Within(time.Millisecond, answer(s, "abandoned", act{after: time.Minute, deaf: true}, nil)), answer(s, "cancelled", good(time.Minute, ""), nil),
			},
			Hold: hold,
			Discard: func(r *response) {
				_ = r.body.Close()
				panic("a hook that panics")
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		in.ready = synctest.Wait
		out, err := in.Run(t.Context(), question)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "winner", out.Winner, "won")
		s.wantClosedOnce(t, "lost")
		_ = in.Drain(t.Context())
		readAll(t, out.Result.body)
		_ = out.Result.body.Close()
		s.wantClosedOnce(t, "won", "lost", "late", "late and failed", "abandoned")
		if s.flow("cancelled") != nil {
			t.Error("the cancelled candidate has answered")
		}
	})
	inBubble(t, "a fan-out that is stopped half-way", func(t *testing.T) {
		s := new(streams)
		fan, err := NewFanOut(Config[firstgood.Reply]{Delegates: []firstgood.Delegate[firstgood.Reply]{
			s.delegate("a", good(1, "")), s.delegate("b", act{after: time.Hour, deaf: true}), s.delegate("c", bad(time.Second, &firstgood.Error{Fatal: true})),
		}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := fan.Run(t.Context(), question)
		if !errors.Is(err, firstgood.ErrNoWinner) || out.Status != firstgood.StatusStopped || out.Result != nil {
			t.Errorf("got %+v, %v, want it stopped without a result", out, err)
		}
		_ = fan.Drain(t.Context())
		s.wantClosedOnce(t, "a", "b")
	})
	inBubble(t, "the replies of a fan-out that loses", func(t *testing.T) {
		s := new(streams)
		fan, err := NewFanOut(Config[firstgood.Reply]{Delegates: []firstgood.Delegate[firstgood.Reply]{s.delegate("a", good(1, "")), s.delegate("b", bad(1, errDown)), s.delegate("c", good(1, ""))}})
		if err != nil {
			t.Fatal(err)
		}
		in, err := NewFallbackChain(Config[[]firstgood.Reply]{
			Delegates: []firstgood.Delegate[[]firstgood.Reply]{fan},
			Criteria: func(context.Context, firstgood.Brief, []firstgood.Reply) (firstgood.Verdict, error) {
				return firstgood.Verdict{Rejected: true}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Run(t.Context(), question); !errors.Is(err, firstgood.ErrNoWinner) {
			t.Fatal(err)
		}
		_ = in.Drain(t.Context())
		s.wantClosedOnce(t, "a", "c")
	})
}
