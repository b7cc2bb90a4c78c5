package pattern

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// The goroutine host is checked against the simulation: the same plan, with delegates that do at the same virtual
// times what the simulation's acts say, must come out the same, down to the time and state of each call.

const unit = time.Millisecond

// enactment is a scenario on its way through both hosts.
type enactment struct {
	scenario
	r       *rand.Rand
	refused []int // passed over by the gate
}

// enact makes delegate i do what its act says, in one of many ways.
func (e *enactment) enact(i int) delegate {
	a := e.acts[i]
	total := a.After * unit
	reply, err := "good", error(nil)
	switch {
	case a.Fatal && e.r.IntN(2) == 0:
		reply = "fatal"
	case a.Fatal:
		err = &firstgood.Error{Fatal: true}
	case !a.Accepted:
		switch e.r.IntN(4) {
		case 0:
			reply = "rejected"
		case 1:
			reply = "unjudged"
		default:
			err = errDown
		}
	}
	judged := time.Duration(0)
	if err == nil && a.After > 0 {
		judged = time.Duration(e.r.IntN(int(a.After)+1)) * unit
		reply = fmt.Sprintf("%s %d", reply, judged)
	}
	deaf, panics, times := e.r.IntN(3) == 0, err == errDown && e.r.IntN(3) == 0, err == errDown && a.After > 0 && e.r.IntN(3) == 0
	work := total - judged
	if a.After == Never || times {
		work = time.Hour
	}
	name := fmt.Sprint("d", i)
	d := firstgood.Func(name, func(ctx context.Context, _ firstgood.Brief) (string, error) {
		done := ctx.Done()
		if deaf {
			done = nil
		}
		if work == 0 { // a select would choose between the two
			done = nil
		}
		select {
		case <-time.After(work):
		case <-done:
			return "", context.Cause(ctx)
		}
		if panics {
			panic("oh")
		}
		return reply, err
	})
	if times {
		d = firstgood.Within(total, d)
	}
	return d
}

func (e *enactment) judge(ctx context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
	var verdict string
	var wait time.Duration
	if n, _ := fmt.Sscanf(reply, "%s %d", &verdict, (*int64)(&wait)); n == 0 {
		return firstgood.Verdict{}, errors.New("a reply of nobody's")
	}
	if wait > 0 {
		<-time.After(wait)
	}
	switch verdict {
	case "unjudged":
		return firstgood.Verdict{}, errDown
	case "fatal":
		return firstgood.Verdict{Fatal: true}, nil
	}
	return firstgood.Verdict{Rejected: verdict == "rejected"}, nil
}

// outcome is a run as both hosts can tell it.
type outcome struct {
	status   firstgood.Status
	winner   int
	attempts int
	history  []int
	elapsed  time.Duration
	starts   []string
	states   []string
}

func (e *enactment) onGoroutines(t *testing.T) outcome {
	start := time.Now()
	cfg := config{Listed: e.listed, StartAfter: e.startAfter * unit, MaxParallel: e.maxParallel, Criteria: e.judge}
	for i := range e.acts {
		cfg.Delegates = append(cfg.Delegates, e.enact(i))
	}
	if e.gate != nil {
		cfg.Gate = func(_ context.Context, s Start) error {
			if !e.gate(s.I, s.Tick, time.Since(start)/unit) {
				return errDown
			}
			return nil
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status := firstgood.StatusCancelled
	if e.cancelAt >= 0 {
		if e.cancelAt > 0 && e.r.IntN(2) == 0 {
			status, cfg.Timeout = firstgood.StatusTimeout, e.cancelAt*unit
		} else {
			time.AfterFunc(e.cancelAt*unit, cancel)
		}
	}
	if e.r.IntN(2) == 0 {
		ctx = firstgood.WithRecord(ctx, firstgood.NewRecord(time.Now(), nil))
	}
	var got outcome
	var history []firstgood.Failure
	var calls []firstgood.Call
	var drain func(context.Context) error
	if e.pattern == FanOutName {
		fan, err := NewFanOut(cfg)
		if err != nil {
			t.Fatal(err)
		}
		fan.in.ready = synctest.Wait
		out, _ := fan.Run(ctx, question)
		got.status, got.winner, got.attempts = out.Status, -1, out.Attempts
		history, calls, drain = out.History, out.Calls, fan.Drain
		equal(t, "duration", out.Duration, time.Since(start))
		if out.Status == firstgood.StatusWon {
			for i, reply := range out.Result {
				equal(t, "there is a reply", reply != "", e.acts[i].Accepted && !slices.Contains(e.refused, i))
			}
		}
	} else {
		build := NewRace[string]
		if e.pattern == FallbackChainName {
			build = NewFallbackChain[string]
		}
		in := built(t)(build(cfg))
		out, _ := in.Run(ctx, question)
		got.status, got.winner, got.attempts = out.Status, out.WinnerIndex, out.Attempts
		history, calls, drain = out.History, out.Calls, in.Drain
		equal(t, "duration", out.Duration, time.Since(start))
	}
	if got.status == status {
		got.status = "ended from outside"
	}
	got.elapsed = time.Since(start) / unit
	for _, f := range history {
		got.history = append(got.history, f.Index)
	}
	for _, c := range calls {
		got.starts = append(got.starts, fmt.Sprintf("%d at %d", c.Index, c.Started/unit))
		state := string(c.State)
		if c.State == firstgood.StateRejected {
			state = "failed"
		}
		got.states = append(got.states, state)
	}
	cancel()
	_ = drain(context.Background())
	return got
}

func (e *enactment) onSimulation(p Plan) outcome {
	sim := &Simulation{Acts: e.acts, CancelAt: e.cancelAt}
	if e.gate != nil {
		p.May = func(i int, tick bool) bool {
			may := e.gate(i, tick, sim.Now)
			if !may && !tick {
				e.refused = append(e.refused, i)
			}
			return may
		}
	}
	d, err := Settle(p, sim)
	want := outcome{winner: d.Winner, history: slices.Clone(e.refused), elapsed: sim.Now}
	states, ends, order := map[int]string{}, map[int]time.Duration{}, []int{}
	fan := e.pattern == FanOutName
	for _, event := range sim.Events {
		switch event.Verb {
		case "start":
			want.starts = append(want.starts, fmt.Sprintf("%d at %d", event.I, event.At))
			states[event.I] = "cancelled"
			ends[event.I] = Never
			if after := e.acts[event.I].After; after >= 0 {
				ends[event.I] = event.At + after
			}
			order = append(order, event.I)
		case "finish":
			switch {
			case !e.acts[event.I].Accepted || e.acts[event.I].Fatal:
				states[event.I] = "failed"
				want.history = append(want.history, event.I)
			case event.I == d.Winner || fan && err == nil && !d.Fatal:
				states[event.I] = "won"
			default:
				states[event.I] = "lost"
			}
		case "lost": // it may have finished at that very instant
			if ends[event.I] == event.At {
				states[event.I] = "failed"
				if e.acts[event.I].Accepted && !e.acts[event.I].Fatal {
					states[event.I] = "lost"
				}
			}
		}
	}
	for _, i := range order {
		if err != nil && ends[i] == sim.Now && states[i] == "cancelled" {
			states[i] = "any" // it ended at the instant of the stop, and may have seen either
		}
		want.states = append(want.states, states[i])
	}
	slices.Sort(want.history)
	switch {
	case err != nil:
		want.status = "ended from outside"
	case d.Fatal:
		want.status = firstgood.StatusStopped
	case d.Winner >= 0 && !fan, fan && d.Accepted > 0:
		want.status = firstgood.StatusWon
	default:
		want.status = firstgood.StatusExhausted
	}
	switch {
	case e.pattern == FallbackChainName:
		want.attempts = d.Started
	case e.listed && d.Winner >= 0:
		want.attempts = d.Winner + 1
	default:
		want.attempts = d.Finished
	}
	if fan {
		want.winner = -1
	}
	return want
}

func TestTheGoroutineHostAgreesWithTheSimulation(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := scaled(20_000)
	synctest.Test(t, func(t *testing.T) {
		for range n {
			e := &enactment{scenario: randomScenario(r), r: r}
			if e.cancelAt == 0 {
				e.cancelAt = 1
			}
			want := e.onSimulation(e.plan(t))
			got := e.onGoroutines(t)
			if got.status == firstgood.StatusJudgeError { // an exhaustion that could not judge some reply
				got.status = firstgood.StatusExhausted
			}
			for i, state := range want.states {
				if state == "any" && i < len(got.states) {
					want.states[i] = got.states[i]
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%v:\ngot  %+v\nwant %+v", e.scenario, got, want)
			}
		}
	})
}
