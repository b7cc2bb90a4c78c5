package pattern

import (
	"context"
	"errors"
	"time"
)

// ErrSimulatedCancel is what a [Simulation] ends a run with at CancelAt.
var ErrSimulatedCancel = errors.New("simulated cancel")

// Never is the time of what does not happen in a [Simulation].
const Never time.Duration = -1

// Act is what a delegate does in a simulation: finish this long after it was started, or [Never], with this turn.
type Act struct {
	After    time.Duration
	Accepted bool
	Fatal    bool
}

// Simulation is a host with a virtual clock and no goroutines, for tests of plans and of what is built on them. The
// same script gives the same run, always. The zero CancelAt cancels at the start; set it to [Never] for a run that
// is left alone.
type Simulation struct {
	Acts     []Act         // one for each delegate
	CancelAt time.Duration // when the caller leaves
	Plan     Plan          // whose Timeout and Reserve hold; the zero Plan has none

	Now     time.Duration // the virtual time
	Events  []SimEvent    // what happened, in order
	ends    []time.Duration
	pending []bool
	cut     []bool // what it would have brought comes too late
}

// SimEvent is an entry in the log of a simulation.
type SimEvent struct {
	At     time.Duration
	Verb   string // start, finish, tick, lost (in flight when another won), cancel (the caller, or the timeout)
	I      int    // the delegate, -1 for tick and cancel
	Winner int    // of lost; else -1
}

func (s *Simulation) log(verb string, i, winner int) {
	s.Events = append(s.Events, SimEvent{s.Now, verb, i, winner})
}

// Call implements [Host].
func (s *Simulation) Call(i int) {
	if s.ends == nil {
		s.ends, s.pending, s.cut = make([]time.Duration, len(s.Acts)), make([]bool, len(s.Acts)), make([]bool, len(s.Acts))
	}
	s.pending[i] = true
	s.ends[i] = Never
	if s.Acts[i].After >= 0 {
		s.ends[i] = s.Now + s.Acts[i].After
	}
	if end := s.Plan.End(i); end > 0 && (s.ends[i] == Never || s.ends[i] > end) {
		s.ends[i], s.cut[i] = end, true
	}
	s.log("start", i, -1)
}

// Cancel implements [Host].
func (s *Simulation) Cancel(i, winner int) {
	if s.pending[i] {
		s.pending[i] = false
		s.log("lost", i, winner)
	}
}

// Next implements [Host]. It advances the clock to the next event. A run in which nothing can happen any more is
// cancelled where it stands.
func (s *Simulation) Next(wait time.Duration) (Turn, error) {
	first, at := -1, Never
	for i, end := range s.ends {
		if s.pending[i] && end >= 0 && (first < 0 || end < at) { // of those at one instant, the lowest-listed
			first, at = i, end
		}
	}
	tick := wait > 0 && (first < 0 || s.Now+wait < at)
	if tick {
		at = s.Now + wait
	}
	stop, why := s.CancelAt, ErrSimulatedCancel
	if limit := s.Plan.Timeout; limit > 0 && (stop < 0 || limit < stop) {
		stop, why = limit, context.DeadlineExceeded
	}
	if stop >= 0 && (at < 0 || stop <= at) || at < 0 {
		s.Now = max(s.Now, stop)
		s.log("cancel", -1, -1)
		return Turn{}, why
	}
	s.Now = at
	if tick {
		s.log("tick", -1, -1)
		return Turn{Tick: true}, nil
	}
	s.pending[first] = false
	s.log("finish", first, -1)
	act := s.Acts[first]
	if s.cut[first] {
		act.Accepted, act.Fatal = false, false
	}
	return Turn{I: first, Accepted: act.Accepted && !act.Fatal, Fatal: act.Fatal}, nil
}
