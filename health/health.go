// Package health knows, within a process, how delegates are doing, so that one that is not well is left alone for
// a while instead of being asked once more by every run.
//
// A [Tracker] keeps two things for each delegate. A cooldown begins when the other side says that it has had too
// much, or is not there: it lasts for as long as the other side asked (Retry-After), or for a default. A circuit
// breaker opens when many attempts fail, whatever they fail of, and lets one attempt through after a while to see
// whether the delegate is back.
//
// [Watch] counts the attempts of a delegate and keeps those from starting that should not. [Tracker.May] says the
// same beforehand, and is meant for the Gate of an instance: what a gate refuses was never started.
//
// # What counts
//
// A success is a reply, whatever criteria say of it afterwards: a rejection does not count against a delegate. A
// failure is an error of a kind that [Breaker] counts, returned while somebody was still waiting for it, or the end
// of the delegate's own attempt timeout, deaf delegates included. Nothing else counts, as success or as failure:
// not an attempt whose caller has left or ran out of time, whose run ran out of its own, or that lost; not a
// refusal, a brief that was wrong or too long.
package health

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/firstgood/firstgood"
)

// Config says when a delegate is left alone, and for how long. The zero Config is useful.
type Config struct {
	// Cooldown is for how long a delegate is left alone after one failure of a kind, where the other side did not
	// say for how long. Kinds that it does not hold set no cooldown. Nil takes 30 s for rate_limited and 5 s for
	// unavailable; an empty map means no cooldowns at all, not even those that the other side asks for.
	Cooldown map[firstgood.Kind]time.Duration

	// MaxCooldown is the most that the other side can ask for; 0: 1 h. A value in Cooldown is not above it.
	MaxCooldown time.Duration

	Breaker Breaker
}

// Breaker says when a delegate's circuit breaker opens. The zero Breaker is useful.
type Breaker struct {
	// Off is for cooldowns alone. The other fields are then not looked at.
	Off bool

	// Counts are the kinds of failure that count. Nil takes error, timeout, rate_limited, unavailable, truncated
	// and panic. Of the others auth can be named: it does not count by itself, since a wrong key fails fast,
	// and is for somebody to put right who should see it in every history, not a breaker that is open. The rest say
	// something of the brief, the reply or another delegate, and are an error here.
	Counts []firstgood.Kind

	// It opens when, of the attempts that ended within the last Window, there were at least Sample, and at least
	// the share Ratio of them failed. The window moves on in tenths, and the share is taken to whole percents.
	Window time.Duration // 0: 5 min; at least 10 ms
	Sample int           // 0: 5
	Ratio  float64       // 0.01 to 1; 0: 0.5

	// Open is for how long it stays open. After that it is half-open: one attempt may start, to try the delegate
	// out. A success closes the breaker, a failure opens it again, and after anything else, such as a lost race, the
	// next attempt takes the place. 0: 30 s.
	Open time.Duration
}

// What the zero values of a [Config] and a [Breaker] stand for.
const (
	DefaultRateLimited = 30 * time.Second
	DefaultUnavailable = 5 * time.Second
	DefaultMaxCooldown = time.Hour
	DefaultWindow      = 5 * time.Minute
	DefaultSample      = 5
	DefaultRatio       = 0.5
	DefaultOpen        = 30 * time.Second
)

// blamed are the kinds of failure that count unless told otherwise, and blamable those that can.
var (
	blamed = []firstgood.Kind{firstgood.KindError, firstgood.KindTimeout, firstgood.KindRateLimited,
		firstgood.KindUnavailable, firstgood.KindTruncated, firstgood.KindPanic}
	blamable = append(slices.Clone(blamed), firstgood.KindAuth)
)

// Tracker knows how the delegates that were given to [Watch] are doing. One tracker serves any number of instances
// and runs; a delegate is known to it by a name. It is safe for concurrent use, and nothing in it needs to be closed.
type Tracker struct {
	cfg    Config
	counts map[firstgood.Kind]bool

	mu      sync.RWMutex
	entries map[string]*entry
	news    chan struct{} // closed when a delegate may start earlier than was said; nil when nobody waits
}

// New returns a tracker that knows of no delegates. It fails on values that Config does not allow.
func New(cfg Config) (*Tracker, error) {
	cfg.MaxCooldown = cmp.Or(cfg.MaxCooldown, DefaultMaxCooldown)
	if cfg.Cooldown == nil {
		cfg.Cooldown = map[firstgood.Kind]time.Duration{
			firstgood.KindRateLimited: min(DefaultRateLimited, cfg.MaxCooldown),
			firstgood.KindUnavailable: min(DefaultUnavailable, cfg.MaxCooldown),
		}
	}
	cfg.Cooldown = maps.Clone(cfg.Cooldown)
	b := &cfg.Breaker
	b.Window, b.Sample = cmp.Or(b.Window, DefaultWindow), cmp.Or(b.Sample, DefaultSample)
	b.Ratio, b.Open = cmp.Or(b.Ratio, DefaultRatio), cmp.Or(b.Open, DefaultOpen)
	if b.Counts == nil {
		b.Counts = blamed
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	t := &Tracker{cfg: cfg, counts: map[firstgood.Kind]bool{}, entries: map[string]*entry{}}
	for _, kind := range b.Counts {
		t.counts[kind] = true
	}
	return t, nil
}

func (c *Config) validate() error {
	if c.MaxCooldown < 0 {
		return fmt.Errorf("the MaxCooldown is negative: %v", c.MaxCooldown)
	}
	for _, kind := range slices.Sorted(maps.Keys(c.Cooldown)) {
		d := c.Cooldown[kind]
		switch {
		case !slices.Contains(blamable, kind):
			return unfit("a Cooldown", kind)
		case d <= 0:
			return fmt.Errorf("the Cooldown of %s is %v, want more than 0; leave the kind out for none", kind, d)
		case d > c.MaxCooldown:
			return fmt.Errorf("the Cooldown of %s is %v, above the MaxCooldown of %v", kind, d, c.MaxCooldown)
		}
	}
	b := &c.Breaker
	if b.Off {
		return nil
	}
	for _, kind := range b.Counts {
		if !slices.Contains(blamable, kind) {
			return unfit("the breaker's Counts", kind)
		}
	}
	switch {
	case len(b.Counts) == 0:
		return errors.New("the breaker Counts nothing; set Off for no breaker")
	case b.Window < 10*time.Millisecond:
		return fmt.Errorf("the breaker's Window is %v, want at least 10ms", b.Window)
	case b.Sample < 0:
		return fmt.Errorf("the breaker's Sample is negative: %d", b.Sample)
	case !(b.Ratio >= 0.01 && b.Ratio <= 1):
		return fmt.Errorf("the breaker's Ratio is %v, want a share from 0.01 to 1", b.Ratio)
	case b.Open < 0:
		return fmt.Errorf("the breaker's Open is negative: %v", b.Open)
	}
	return nil
}

func unfit(field string, kind firstgood.Kind) error {
	return fmt.Errorf("%s: %q says nothing of a delegate's health; the kinds that do are %q", field, kind, blamable)
}

// entry returns what is known of the named delegate, and makes it known where make is true; else it may be nil.
func (t *Tracker) entry(name string, create bool) *entry {
	t.mu.RLock()
	e := t.entries[name]
	t.mu.RUnlock()
	if e != nil || !create {
		return e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e = t.entries[name]; e == nil {
		e = newEntry(t, name)
		t.entries[name] = e
	}
	return e
}
