package pattern

import "time"

// Plan is what a pattern says of a run. Delegates are known by their place in the list alone, from 0.
type Plan struct {
	N      int           // how many delegates there are
	First  int           // how many start at once
	Want   int           // how many accepted replies settle the run
	Delay  time.Duration // a tick after this long without an event starts one more; 0: no ticks
	Most   int           // a tick starts none while so many are in flight; 0: no limit. First is not above it
	Listed bool          // Want is 1: take the earliest-listed acceptable, once all before it have settled
	// Timeout is the run's, 0: none. Reserve is how much of it is kept for each round still to come, 0: nothing.
	// Hosts hold them; see [Plan.End].
	Timeout, Reserve time.Duration
	// May is asked before each start, and must not block. Refused on a tick, the delegate is left for a later
	// event; refused otherwise, it is passed over for good. Nil allows all.
	May func(i int, tick bool) bool
}

// End is when attempt i must be over, judgement included, since the start of the run, so that each delegate still to
// come has its Reserve. Those that can be in flight together share it: the first First are one round, and so on. It is 0
// where there is no such time: without a Timeout or a Reserve, with ticks, which start the others whatever happens, and
// in the last round.
func (p *Plan) End(i int) time.Duration {
	later := p.rounds() - 1 - i/max(p.First, 1)
	if p.Timeout == 0 || p.Reserve == 0 || p.Delay > 0 || later <= 0 {
		return 0
	}
	return p.Timeout - p.Reserve*time.Duration(later)
}

// rounds is how many times First delegates it takes to have all at work.
func (p *Plan) rounds() int { return (p.N + max(p.First, 1) - 1) / max(p.First, 1) }

// Turn is one event of a run: delegate I has finished, or time has passed.
type Turn struct {
	I        int
	Accepted bool // its reply is good; otherwise it failed or was rejected
	Fatal    bool // nothing that anybody else does can count any more; never of an accepted reply
	Tick     bool // the wait is over and nobody finished; the other fields mean nothing
}

// Host carries a plan out. Its methods are called from one goroutine. A host knows what the rule does not: briefs
// and replies, clocks and contexts.
type Host interface {
	// Call starts delegate i and does not wait for it. Each delegate is started at most once, in listed order.
	Call(i int)
	// Cancel tells delegate i that it lost to winner, or to nobody when that is -1. Once a run is settled it is
	// called for all that came up before that and did not win; one that has finished, or that May passed over,
	// takes no notice.
	Cancel(i, winner int)
	// Next waits for something to happen. Of all finishes known at that moment it returns the lowest-listed, and
	// each finish once; when nothing has finished after wait, a tick; when wait is 0 there are no ticks. An error
	// ends the run, and it is for the host to stop what is in flight. An error takes precedence over a finish,
	// and a finish over a tick, that is known at the same instant.
	Next(wait time.Duration) (Turn, error)
}

// Decision is how a plan ended.
type Decision struct {
	Winner   int  // the delegate that settled the run, -1 for none, or where more than one was wanted
	Accepted int  // accepted replies that were consumed
	Started  int  // delegates started
	Finished int  // finishes consumed
	Fatal    bool // a fatal turn ended the run
}

// Settle is the rule: start First delegates, then every event that does not settle the run starts one more, be it
// a failure, a rejection, a tick of Delay, or a success when more are wanted; settle at Want accepted. It returns
// as soon as the run is settled, after telling the others that they lost, or with the host's error.
//
// What Next returns is all that the plan does not determine: on the same turns, every host gets the same calls.
func Settle(p Plan, h Host) (Decision, error) {
	d, next := Decision{Winner: -1}, 0
	var seen places
	start := func(tick bool) {
		for ; next < p.N; next++ {
			if p.May == nil || p.May(next, tick) {
				h.Call(next)
				next, d.Started = next+1, d.Started+1
				return
			}
			if tick {
				return
			}
			seen.mark(next, failed)
		}
	}
	for range p.First {
		start(false)
	}
	for d.Finished < d.Started {
		t, err := h.Next(p.wait(next, d.Started-d.Finished))
		if err != nil {
			return d, err
		}
		if !t.Tick && seen.settles(p, &d, t) {
			for i := range next {
				if i != d.Winner {
					h.Cancel(i, d.Winner)
				}
			}
			return d, nil
		}
		if p.Listed && d.Accepted > 0 {
			p.N = next // those not started are listed later, and could not win
		}
		start(t.Tick)
	}
	return d, nil
}

// wait is how long the rule waits for a tick: not at all when that could start nothing.
func (p *Plan) wait(next, inFlight int) time.Duration {
	if next == p.N || p.Most > 0 && inFlight >= p.Most {
		return 0
	}
	return p.Delay
}

// places is what has become of the delegates of a listed plan, as far as anything is known. Head is the earliest
// that may still win.
type places struct {
	known []place
	head  int
}

type place int8

const (
	pending place = iota
	failed
	accepted
)

func (s *places) mark(i int, p place) {
	for len(s.known) <= i {
		s.known = append(s.known, pending)
	}
	s.known[i] = p
}

// settles enters a finish in d and reports whether the run is settled by it.
func (s *places) settles(p Plan, d *Decision, t Turn) bool {
	d.Finished++
	d.Fatal = t.Fatal
	if t.Accepted {
		d.Accepted++
	}
	if t.Fatal {
		return true
	}
	if !p.Listed {
		if p.Want == 1 && t.Accepted {
			d.Winner = t.I
		}
		return d.Accepted == p.Want
	}
	s.mark(t.I, failed)
	if t.Accepted {
		s.mark(t.I, accepted)
	}
	for s.head < len(s.known) && s.known[s.head] == failed {
		s.head++
	}
	if s.head < len(s.known) && s.known[s.head] == accepted {
		d.Winner = s.head
	}
	return d.Winner >= 0
}
