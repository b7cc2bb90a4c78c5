package health

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// Whatever attempts come to, and however they overlap, a delegate is never called while it is kept, never kept for
// longer than its deadlines allow, and is back after them.
func TestRandomSequencesLockNobodyOut(t *testing.T) {
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			s := &sequence{T: t, random: rand.New(rand.NewPCG(seed, 0))}
			s.run()
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

const longest = 10 * time.Minute // MaxCooldown

type sequence struct {
	*testing.T
	random  *rand.Rand
	tracker *Tracker
	limit   time.Duration // of an attempt, 0: none
	open    time.Duration

	mu     sync.Mutex
	until  time.Time // the naive twin of the cooldown
	trying int       // attempts in flight that began half-open
	calls  int
}

// part is what one attempt does.
type part struct {
	after time.Duration
	err   error
	cause error         // the caller's, who leaves ...
	leave time.Duration // ... then; 0: never
	deaf  bool
}

var causes = []error{errors.New("stop"), &firstgood.LostError{Winner: "x"}, context.DeadlineExceeded, failed(firstgood.KindTimeout)}

func (s *sequence) part() part {
	p := part{after: time.Duration(s.random.Int64N(int64(time.Minute))), deaf: s.random.IntN(3) == 0}
	kinds := append(slices.Clone(blamable), firstgood.KindRefused, firstgood.KindBadRequest, firstgood.KindNoStart)
	if s.random.IntN(3) > 0 {
		p.err = retryAfter(kinds[s.random.IntN(len(kinds))], time.Duration(s.random.Int64N(3))*time.Duration(s.random.Int64N(int64(2*longest))))
	}
	if s.random.IntN(3) == 0 {
		p.leave, p.cause = 1+time.Duration(s.random.Int64N(int64(2*time.Minute))), causes[s.random.IntN(len(causes))]
	}
	if s.random.IntN(10) == 0 {
		p.after = time.Hour
	}
	return p
}

func (s *sequence) run() {
	cfg := Config{MaxCooldown: longest, Breaker: Breaker{
		Sample: 1 + s.random.IntN(6), Ratio: 0.1 + 0.9*s.random.Float64(), Open: time.Duration(1 + s.random.Int64N(int64(time.Minute))),
	}}
	s.open = cfg.Breaker.Open
	if s.random.IntN(2) == 0 {
		s.limit = time.Duration(1 + s.random.Int64N(int64(time.Minute)))
	}
	if s.random.IntN(3) == 0 {
		cfg.Cooldown = map[firstgood.Kind]time.Duration{}
	}
	s.tracker = tracked(s.T, cfg)
	var wg sync.WaitGroup
	for range 120 {
		p := s.part()
		wg.Go(func() { s.attempt(p) })
		time.Sleep(time.Duration(s.random.Int64N(int64(20 * time.Second))))
		synctest.Wait()
		s.bounded()
	}
	wg.Wait()

	// It is back: after its deadline one success at the most makes it well, and that ends all.
	s.limit = 0
	for range 2 {
		if at, kept := s.tracker.Earliest("d"); kept {
			time.Sleep(time.Until(at))
		}
		if err := s.tracker.May("d"); err != nil {
			s.Errorf("after its deadline: %v", err)
		}
		s.attempt(part{})
	}
	if got := s.tracker.State("d"); got.State != OK {
		s.Errorf("after a success: %+v", got)
	}
	if s.calls == 0 {
		s.Error("nothing was called")
	}
}

// bounded checks that nothing keeps the delegate for longer than it may.
func (s *sequence) bounded() {
	got := s.tracker.State("d")
	most := map[State]time.Duration{Cooling: longest, Open: s.open, HalfOpen: s.limit + s.open}[got.State]
	if left := time.Until(got.Until); !got.Until.IsZero() && left > most {
		s.Errorf("%s for %v, want at most %v", got.State, left, most)
	}
	if err := s.tracker.May("d"); (err == nil) != got.Until.IsZero() {
		s.Errorf("May says %v, State %+v", err, got)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limit > 0 && s.trying > 1 {
		s.Errorf("%d attempts try it out at once", s.trying)
	}
}

// attempt makes one as a host does, with the delegate's timeout and the caller's leave.
func (s *sequence) attempt(p part) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if s.limit > 0 {
		defer time.AfterFunc(s.limit, func() { cancel(failed(firstgood.KindTimeout)) }).Stop()
	}
	if p.leave > 0 {
		defer time.AfterFunc(p.leave, func() { cancel(p.cause) }).Stop()
	}
	before := s.tracker.State("d")
	d := firstgood.Within(s.limit, firstgood.Func("d", func(ctx context.Context, _ firstgood.Brief) (string, error) {
		return s.called(ctx, p, before)
	}))
	_, _ = Watch(s.tracker, "d", d).Attempt(ctx, firstgood.Brief{})
}

func (s *sequence) called(ctx context.Context, p part, before Status) (string, error) {
	s.mu.Lock()
	s.calls++
	if !before.Until.IsZero() || s.until.After(time.Now()) {
		s.Errorf("it was called though it was %+v, and cooling until %v", before, s.until)
	}
	s.mu.Unlock()
	if before.State == HalfOpen {
		s.try(1)
		over := sync.OnceFunc(func() { s.try(-1) })
		defer over()
		context.AfterFunc(ctx, over)
	}
	done := ctx.Done()
	if p.deaf {
		done = nil
	}
	select {
	case <-time.After(p.after):
	case <-done:
		return "", context.Cause(ctx)
	}
	if e, ok := errors.AsType[*firstgood.Error](p.err); ok && ctx.Err() == nil {
		s.cools(e)
	}
	return "yes", p.err
}

func (s *sequence) try(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trying += n
}

func (s *sequence) cools(e *firstgood.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d, cools := s.tracker.cfg.Cooldown[e.Kind]; cools {
		if e.RetryAfter > 0 {
			d = min(e.RetryAfter, longest)
		}
		if until := time.Now().Add(d); until.After(s.until) {
			s.until = until
		}
	}
}
