package pattern

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// scaled is n, or a part of it where that would take long.
func scaled(n int) int {
	if underRace {
		n /= 10
	}
	if testing.Short() {
		n /= 10
	}
	return n
}

// counting is a context that is never done and counts what is registered under it.
type counting struct {
	context.Context
	done     chan struct{}
	children atomic.Int64
}

func (c *counting) Done() <-chan struct{} { return c.done }
func (c *counting) Err() error            { return nil }
func (c *counting) Value(key any) any     { return nil }
func (c *counting) AfterFunc(func()) func() bool {
	c.children.Add(1)
	var once sync.Once
	return func() bool {
		once.Do(func() { c.children.Add(-1) })
		return true
	}
}

// settledGoroutines waits until no more than n goroutines are left. Those that have ended their work may take a
// moment to be gone.
func settledGoroutines(t *testing.T, n int) {
	t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= n {
			return
		}
		runtime.Gosched()
	}
	stacks := make([]byte, 1<<20)
	t.Errorf("%d goroutines are left, want %d:\n%s", runtime.NumGoroutine(), n, stacks[:runtime.Stack(stacks, true)])
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestS35_RunsUnderOneLongLivedContextKeepNothing(t *testing.T) {
	ctx := &counting{Context: context.Background(), done: make(chan struct{})}
	quick := func(name, reply string, err error) delegate {
		return firstgood.Func(name, func(context.Context, firstgood.Brief) (string, error) { return reply, err })
	}
	waits := firstgood.Func("waits", func(ctx context.Context, _ firstgood.Brief) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	panics := firstgood.Func("panics", func(context.Context, firstgood.Brief) (string, error) { panic("oh") })
	down, four := quick("down", "", errDown), quick("four", "4", nil)
	must := func(in *Instance[string], err error) *Instance[string] {
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	inner := must(NewRace(config{Timeout: time.Hour, Delegates: delegates{waits, four}}))
	held, err := NewRace(Config[firstgood.Reply]{Delegates: []firstgood.Delegate[firstgood.Reply]{
		firstgood.Within(time.Hour, firstgood.Func("stream", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			return firstgood.Reply{Stream: firstgood.NewStream(new(flow))}, nil
		})),
	}})
	if err != nil {
		t.Fatal(err)
	}
	fan, err := NewFanOut(config{MaxParallel: 2, Delegates: delegates{four, down, four}})
	if err != nil {
		t.Fatal(err)
	}
	all := []*Instance[string]{
		must(NewRace(config{Delegates: delegates{waits, four, four}})),
		must(NewRace(config{Listed: true, Timeout: time.Hour, Delegates: delegates{down, four, four}})),
		must(NewRace(config{StartAfter: time.Hour, Delegates: delegates{down, firstgood.Within(time.Hour, four), waits}})),
		must(NewFallbackChain(config{Timeout: time.Hour, Delegates: delegates{panics, firstgood.Within(time.Hour, down), four}})),
		must(NewFallbackChain(config{Delegates: delegates{down, down}, Criteria: firstgood.NonEmpty[string]})),
		must(NewFallbackChain(config{Inline: true, Delegates: delegates{down, four}})),
		must(NewFallbackChain(config{Inline: true, Timeout: time.Hour, Delegates: delegates{firstgood.Within(time.Hour, down), inner}})),
		must(NewRetryWithLearning(config{Inline: true, Delegates: delegates{down}})),
		must(NewFallbackChain(config{Inline: true, Timeout: time.Nanosecond, Delegates: delegates{waits}})),
		must(NewRace(config{Delegates: delegates{firstgood.Within(time.Nanosecond, waits), inner}})),
	}
	run := func(n int) {
		for i := range n {
			switch in := all[i%len(all)]; i % 12 {
			case 10:
				if _, err := fan.Run(ctx, question); err != nil {
					t.Fatal(err)
				}
			case 11:
				out, err := held.Run(ctx, question)
				if err != nil {
					t.Fatal(err)
				}
				if ctx.children.Load() == 0 {
					t.Fatal("the context of a reply that is open has ended")
				}
				_ = out.Result.Close()
			default:
				if _, err := in.Run(ctx, question); err != nil && !errors.Is(err, firstgood.ErrNoWinner) {
					t.Fatal(err)
				}
			}
		}
		for _, in := range append(all, inner) {
			if err := in.Drain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		_ = fan.Drain(t.Context())
		_ = held.Drain(t.Context())
	}
	before := runtime.NumGoroutine()
	run(2000)
	settledGoroutines(t, before)
	kept := heap()
	run(scaled(100_000))
	settledGoroutines(t, before)
	equal(t, "children of the context", ctx.children.Load(), int64(0))
	if grown := heap() - kept; grown > 1<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
}

func TestS35_RacesWhoseCallerLeavesLeaveNoGoroutine(t *testing.T) {
	waits := firstgood.Func("waits", func(ctx context.Context, _ firstgood.Brief) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	in, err := NewRace(config{Delegates: delegates{waits, firstgood.Within(time.Hour, waits), waits}})
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.NumGoroutine()
	var callers sync.WaitGroup
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		callers.Go(func() {
			out, err := in.Run(ctx, question)
			if !errors.Is(err, context.Canceled) || out.Status != firstgood.StatusCancelled {
				t.Errorf("got %v, %v", out, err)
			}
		})
		callers.Go(cancel)
	}
	callers.Wait()
	if err := in.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	settledGoroutines(t, before)
}

// handle is a reply that owns something.
type handle struct {
	of     *handles
	closed atomic.Bool
}

func (h *handle) Close() error {
	if h.closed.Swap(true) {
		h.of.twice.Add(1)
	}
	h.of.open.Add(-1)
	return nil
}

type handles struct{ opened, open, twice atomic.Int64 }

func (h *handles) new() *handle {
	h.opened.Add(1)
	h.open.Add(1)
	return &handle{of: h}
}

// TestS36 lets delegates do all that they should not, while callers leave and timers fire, in every combination that
// a long random run meets.
func TestS36_EachReplyThatOwnsAHandleIsClosedExactlyOnce(t *testing.T) {
	var all handles
	before := runtime.NumGoroutine()
	workers := 4
	var wait sync.WaitGroup
	var mu sync.Mutex
	ended := map[firstgood.Status]int{}
	for w := range workers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(36, uint64(w)))
			for range scaled(100_000) / workers {
				status := misbehave(t, random, &all)
				mu.Lock()
				ended[status]++
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	settledGoroutines(t, before)
	equal(t, "handles left open", all.open.Load(), int64(0))
	equal(t, "handles closed twice", all.twice.Load(), int64(0))
	t.Logf("%d handles, runs %v", all.opened.Load(), ended)
	for _, status := range []firstgood.Status{firstgood.StatusWon, firstgood.StatusExhausted, firstgood.StatusJudgeError, firstgood.StatusTimeout, firstgood.StatusCancelled} {
		if ended[status] == 0 {
			t.Errorf("no run has ended as %s", status)
		}
	}
}

// misbehave makes one run and returns how it ended, once all it started has returned.
func misbehave(t *testing.T, random *rand.Rand, all *handles) firstgood.Status {
	release := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 1 + random.IntN(4)
	slot := make([]firstgood.Delegate[*handle], n)
	inline := true // unless a delegate does what an inline run does not contain
	for i := range slot {
		act, leave := random.IntN(9), random.IntN(30) == 0
		d := firstgood.Func(fmt.Sprint("d", i), func(attempt context.Context, _ firstgood.Brief) (*handle, error) {
			if leave {
				cancel()
			}
			switch act {
			case 0:
				return nil, errDown
			case 1:
				return all.new(), errDown
			case 2:
				panic("oh")
			case 3:
				runtime.Goexit()
			case 4: // deaf, and late
				<-release
				return all.new(), nil
			case 5:
				<-attempt.Done()
				return all.new(), nil
			case 6:
				runtime.Gosched()
			}
			return all.new(), nil
		})
		if random.IntN(4) == 0 || act == 4 || act == 5 {
			d = firstgood.Within(time.Duration(1+random.IntN(20_000)), d)
		}
		slot[i] = d
		inline = inline && act != 3 && act != 4
	}
	cfg := Config[*handle]{Delegates: slot}
	if random.IntN(4) == 0 {
		cfg.Timeout = time.Duration(1 + random.IntN(20_000))
	}
	judge := random.IntN(6)
	if judge < 4 {
		cfg.Criteria = func(context.Context, firstgood.Brief, *handle) (firstgood.Verdict, error) {
			switch judge {
			case 0:
				return firstgood.Verdict{Rejected: true}, nil
			case 1:
				return firstgood.Verdict{}, errDown
			case 2:
				panic("judge")
			}
			return firstgood.Verdict{}, nil
		}
	}
	var out firstgood.Outcome[*handle]
	var drain func(context.Context) error
	switch kind := random.IntN(6); kind {
	case 0, 1, 2, 3:
		build := NewRace[*handle]
		switch kind {
		case 0:
			build = NewFallbackChain[*handle]
			cfg.Inline = inline
		case 1:
			cfg.Listed = true
		case 2:
			cfg.StartAfter = time.Duration(1 + random.IntN(5000))
			cfg.MaxParallel = random.IntN(3)
		}
		in, err := build(cfg)
		if err != nil {
			t.Error(err)
			return ""
		}
		if random.IntN(4) == 0 {
			outer, err := NewFallbackChain(Config[*handle]{Delegates: []firstgood.Delegate[*handle]{in, in}})
			if err != nil {
				t.Error(err)
				return ""
			}
			in = outer
		}
		out, _ = in.Run(ctx, question)
		drain = in.Drain
		if out.Result != nil {
			_ = out.Result.Close()
		}
	default:
		cfg.MaxParallel = random.IntN(3)
		fan, err := NewFanOut(cfg)
		if err != nil {
			t.Error(err)
			return ""
		}
		each, _ := fan.Run(ctx, question)
		out.Status = each.Status
		for _, h := range each.Result {
			if h != nil {
				_ = h.Close()
			}
		}
		drain = fan.Drain
	}
	cancel() // a race that nobody wins might be waiting for ever
	close(release)
	if err := drain(context.Background()); err != nil {
		t.Error(err)
	}
	return out.Status
}
