package health

import (
	"cmp"
	"fmt"
	"math"
	"sync"
)

// CeilingConfig says how many extra starts there may be. The zero CeilingConfig is useful.
type CeilingConfig struct {
	Share float64 // extra starts for each run, in the long run; above 0, up to 1000; 0: 0.1
	Burst int     // how many may come at once after a quiet time, and at the start; 0: 10
}

// What the zero values of a [CeilingConfig] stand for.
const (
	DefaultShare = 0.1
	DefaultBurst = 10
)

// Ceiling bounds the extra starts of an instance, those that it makes because time passes and not because something
// has failed, to a share of its runs. When everything becomes slow, every run would hedge, and twice the load makes
// nothing faster. All runs of an instance share one ceiling.
//
// It is a bucket of tokens. Each run puts Share into it, and each extra start takes one out; it never holds more than
// Burst, and is full at the beginning. So of any r consecutive runs at most r × Share + Burst extra starts are made.
// It knows no time: without runs nothing is put in.
//
// In a Gate, ask it last: a token that is taken should be used, and a run is one run however many delegates are
// refused before the first that starts.
//
//	func(_ context.Context, s pattern.Start) error {
//		if err := tracker.May(names[s.I]); err != nil {
//			return err
//		}
//		if s.Started == 0 {
//			ceiling.Run()
//		}
//		if !s.Tick {
//			return nil
//		}
//		return ceiling.Extra()
//	}
//
// A Ceiling is safe for concurrent use and never blocks.
type Ceiling struct {
	share, most int64 // in millionths of a token
	full        error

	mu   sync.Mutex
	left int64
}

// whole is a token.
const whole = 1_000_000

// NewCeiling returns a ceiling whose bucket is full. It fails on values that CeilingConfig does not allow.
func NewCeiling(cfg CeilingConfig) (*Ceiling, error) {
	share, burst := cmp.Or(cfg.Share, DefaultShare), cmp.Or(cfg.Burst, DefaultBurst)
	switch {
	case !(share >= 1.0/whole && share <= 1000):
		return nil, fmt.Errorf("health: Share is %v, want from 0.000001 to 1000 extra starts for each run", share)
	case burst < 1 || burst > 1_000_000_000:
		return nil, fmt.Errorf("health: Burst is %d, want from 1 to 1000000000 extra starts", burst)
	}
	c := &Ceiling{share: int64(math.Floor(share*whole + 1e-6)), most: int64(burst) * whole}
	c.left = c.most
	c.full = fmt.Errorf("extra starts are at their ceiling, which is %v for each run", share)
	return c, nil
}

// Run notes that a run begins.
func (c *Ceiling) Run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = min(c.left+c.share, c.most)
}

// Extra takes a token for one extra start, or returns an error when there is none left.
func (c *Ceiling) Extra() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left < whole {
		return c.full
	}
	c.left -= whole
	return nil
}
