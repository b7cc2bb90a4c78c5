package config

import (
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
)

// Health says how long a delegate that is not well is left alone. A zero value takes the default of package health.
type Health struct {
	// Cooldown is for how long after a failure of each kind where the other side names no time; kinds that it does not
	// hold set none. Nil: the default; empty: no cooldowns, not even those that the other side asks for.
	Cooldown    map[firstgood.Kind]time.Duration
	MaxCooldown time.Duration // the longest that the other side can ask for
	Breaker     *Breaker      // nil: off
}

// Breaker says when a delegate that fails too often is left alone, and for how long. A zero value takes the default of
// package health.
type Breaker struct {
	MinSample    int           // how many attempts within the window it takes
	FailureRatio float64       // the share of them that failed, from 0.01 to 1
	Window       time.Duration // at least 10ms
	Open         time.Duration // until one attempt may try the delegate out
}

var healthKeys = []string{"cooldown", "max_cooldown", "breaker"}

// healthKinds are the kinds of failure that can say something of a delegate's health.
var healthKinds = []string{
	string(firstgood.KindRateLimited), string(firstgood.KindUnavailable), string(firstgood.KindTimeout), string(firstgood.KindTruncated),
	string(firstgood.KindError), string(firstgood.KindPanic), string(firstgood.KindAuth),
}

const (
	defaultMaxCooldown = time.Hour
	leastWindow        = 10 * time.Millisecond
)

// health returns what the key says, nil where it is absent or false.
func (m *Map) health(key, doc string) *Health {
	h, b := &Health{}, &Breaker{}
	breaker := true
	on := m.toggle(key, doc, false, func(m *Map) {
		h.Cooldown = m.cooldown("cooldown", "how long a delegate is left alone that fails and names no time: one for rate_limited and unavailable, or one for "+
			"each kind; false for none; {rate_limited: 30s, unavailable: 5s} unless said")
		h.MaxCooldown = m.Duration("max_cooldown", "how long at most, whatever the delegate asks for; 1h unless said", 0)
		breaker = m.toggle("breaker", "when a delegate is left alone because it fails too often; false for never", true, func(m *Map) {
			b.MinSample = m.Int("min_sample", "how many attempts it takes to conclude anything; 5 unless said", 1, 1_000_000, 0)
			b.FailureRatio = m.share("failure_ratio", "which share of them must have failed, such as 50%, which is the default", 0.01, 0)
			b.Window = m.Duration("window", "how far back attempts count; 5m unless said", 0)
			b.Open = m.Duration("open", "how long the delegate is left alone then; 30s unless said", 0)
			if m.Has("window") && 0 < b.Window && b.Window < leastWindow {
				m.Errorf("window", "%v is too short; it must be at least %v", b.Window, leastWindow)
			}
		})
		h.checkCooldown(m)
		if !breaker && h.Cooldown != nil && len(h.Cooldown) == 0 {
			m.Warnf("", "without cooldown and breaker nothing is left of it; write health: false")
		}
	})
	if breaker {
		h.Breaker = b
	}
	if !on {
		return nil
	}
	return h
}

func (h *Health) checkCooldown(m *Map) {
	most := h.MaxCooldown
	if most == 0 {
		most = defaultMaxCooldown
	}
	for _, kind := range healthKinds {
		if span := h.Cooldown[firstgood.Kind(kind)]; span > most {
			m.Errorf("cooldown", "%v is above max_cooldown, %v; lower it, or raise max_cooldown", span, most)
			return
		}
	}
}

// cooldown returns one span for the kinds that usually pass, one for each kind named, or an empty map for false; nil
// where the key is absent.
func (m *Map) cooldown(key, doc string) map[firstgood.Kind]time.Duration {
	spans := map[firstgood.Kind]time.Duration{}
	each := func(m *Map) {
		for _, kind := range healthKinds {
			if span := m.Duration(kind, "how long after a failure of this kind", 0); span > 0 {
				spans[firstgood.Kind(kind)] = span
			}
		}
		m.hint = func(key string) string {
			if slices.Contains(failureKinds, key) || key == string(firstgood.KindNoStart) {
				return "it says nothing of a delegate's health; remove it"
			}
			return ""
		}
	}
	n := m.take(key, doc, nil, func() schema {
		return schema{"anyOf": []any{durationSchema(), schema{"const": false}, m.r.object(each)}}
	})
	switch {
	case n == nil:
		return nil
	case n.shape == mapping && len(n.keys) == 0:
		m.r.errorf(n, m.at(key), "it names no kind; write false for no cooldowns, or leave it out for the default")
	case n.shape == mapping:
		m.r.enter(n, m.node.entry(key).pos, m.at(key), each)
	case n.shape == scalar && n.tag == "!!bool" && strings.EqualFold(n.text, "false"):
	case n.shape == scalar && n.tag == "!!bool":
		m.r.mismatch(n, m.at(key), "a duration, false, or a mapping from kinds to durations", "for the default leave it out")
	default:
		span := m.r.duration(n, m.at(key), "s")
		spans[firstgood.KindRateLimited], spans[firstgood.KindUnavailable] = span, span
	}
	return spans
}
