// Package judging measures a judge: it has criteria weigh replies of which people have said whether they are good, and
// counts how often the two agree. [ReadCases] reads such replies, [Evaluate] has them weighed, and a [Report] holds
// the counts.
package judging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

// Config says what is measured, and by what.
type Config struct {
	// Cases are the labelled replies; at least one.
	Cases []Case
	// Criteria weigh a reply by asking the judge, as those of [criteria.New] with [criteria.Judge] in them do. They must be
	// safe for as many concurrent calls as Parallel says. Required.
	Criteria firstgood.Criteria[firstgood.Reply]
	// Vote, when not 0, is how many answers a case gets at most, 2 or more: it is weighed again until good or bad leads
	// by two. At the last answer the side that leads has it, and a tie is undecided. An answer that cannot be read is no
	// vote for either. 0 weighs each case once.
	Vote int
	// Parallel is how many cases are weighed at the same time; 0 is one.
	Parallel int
	// Watch, when not nil, is told after each case how many are done, those without an answer too. It is called once at
	// a time.
	Watch func(done int)
}

// Evaluate has every case weighed and reports how that went. The report is in the order of the cases, whichever was
// weighed first. A case of which the judge did not answer is in the report as failed, and is no error.
//
// The error is a fault of c, and then nothing was weighed, or the cause of ctx when that ended before every case was
// done: then the report is of the cases that were. It returns when no case is being weighed any more.
func Evaluate(ctx context.Context, c Config) (Report, error) {
	switch {
	case len(c.Cases) == 0:
		return Report{}, errors.New("judging: there are no cases")
	case c.Criteria == nil:
		return Report{}, errors.New("judging: there are no criteria")
	case c.Vote < 0 || c.Vote == 1:
		return Report{}, fmt.Errorf("judging: Vote is %d, want 2 or more, or 0 for a single answer", c.Vote)
	case c.Parallel < 0:
		return Report{}, fmt.Errorf("judging: Parallel is %d, want 0 or more", c.Parallel)
	}
	var (
		trials = make([]trial, len(c.Cases))
		next   = make(chan int)
		work   sync.WaitGroup
		mu     sync.Mutex
		done   int
	)
	for range min(max(c.Parallel, 1), len(c.Cases)) {
		work.Go(func() {
			for i := range next {
				trials[i] = c.try(ctx, c.Cases[i])
				if trials[i].state == cutOff || c.Watch == nil {
					continue
				}
				mu.Lock()
				done++
				c.Watch(done)
				mu.Unlock()
			}
		})
	}
	for i := range c.Cases {
		if ctx.Err() != nil {
			break
		}
		select {
		case next <- i:
		case <-ctx.Done():
		}
	}
	close(next)
	work.Wait()
	report := c.report(trials)
	if report.Unjudged() > 0 {
		return report, context.Cause(ctx)
	}
	return report, nil
}

// trial is what became of one case. The zero trial never began.
type trial struct {
	state  state
	result Result
	first  Said // the first answer
	cost   cost
}

type state int

const (
	cutOff state = iota // by ctx
	failed              // the judge did not answer
	judged
)

// try weighs one case as often as it takes.
func (c Config) try(ctx context.Context, k Case) trial {
	t := trial{result: Result{Case: k}}
	votes := &t.result.Votes
	reasons := map[Said]string{}
	for n := range max(c.Vote, 1) {
		said, reason, spent, err := c.ask(ctx, k)
		t.cost = t.cost.add(spent)
		switch {
		case err != nil && ctx.Err() != nil:
			return t
		case err != nil:
			t.state, t.result.Err = failed, err
			return t
		}
		votes.add(said)
		if _, known := reasons[said]; !known {
			reasons[said] = reason
		}
		if n == 0 {
			t.first = said
		}
		if votes.Good-votes.Bad == 2 || votes.Bad-votes.Good == 2 {
			break
		}
	}
	t.state = judged
	t.result.Said = votes.winner()
	t.result.Reason = reasons[t.result.Said]
	if t.result.Said == Undecided {
		t.result.Reason = fmt.Sprintf("%d votes for good and %d for bad", votes.Good, votes.Bad)
	}
	return t
}

// ask weighs one case once.
func (c Config) ask(ctx context.Context, k Case) (said Said, reason string, spent cost, err error) {
	record := firstgood.NewRecord(time.Now(), nil)
	words := &words{}
	inner := context.WithValue(firstgood.WithRecord(ctx, record), wordsKey{}, words)
	verdict, err := c.Criteria(inner, firstgood.Text(k.Brief), firstgood.Reply{Text: k.Reply})
	calls := record.Calls()
	spent.usage = firstgood.Total(calls)
	warning := ""
	for _, call := range calls {
		if call.Role != firstgood.RoleJudge || call.Parent >= 0 { // what serves a judge is a part of its call
			continue
		}
		spent.calls++
		warning = cmp.Or(warning, call.Warning)
	}
	switch {
	case err != nil:
		return "", "", spent, err
	case warning != "":
		return Unparseable, warning, spent, nil
	case verdict.Rejected:
		return Bad, verdict.Reason, spent, nil
	}
	return Good, words.reason(k), spent, nil
}

// cost is what answers have cost. The zero cost is that of none.
type cost struct {
	calls int
	usage firstgood.Usage
}

func (c cost) add(d cost) cost {
	switch {
	case d.calls == 0:
		return c
	case c.calls == 0:
		return d
	}
	return cost{c.calls + d.calls, c.usage.Add(d.usage)}
}

// Overhear returns the judge with its answers noted while [Evaluate] asks it. Criteria give no reason why they accept a
// reply; with this, a [Result] has the judge's. An answer that is an open stream is not noted.
func Overhear(judge firstgood.Delegate[firstgood.Reply]) firstgood.Delegate[firstgood.Reply] {
	return overheard{judge}
}

type overheard struct {
	firstgood.Delegate[firstgood.Reply]
}

func (o overheard) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	reply, err := o.Delegate.Attempt(ctx, brief)
	if words, ok := ctx.Value(wordsKey{}).(*words); ok && err == nil && reply.Stream == nil {
		words.note(reply.String())
	}
	return reply, err
}

// AttemptTimeout is that of the judge; see [firstgood.Limited].
func (o overheard) AttemptTimeout() time.Duration {
	if limited, ok := o.Delegate.(firstgood.Limited); ok {
		return limited.AttemptTimeout()
	}
	return 0
}

// Nests says it of the judge; see [criteria.Judge].
func (o overheard) Nests() bool {
	instance, ok := o.Delegate.(interface{ Nests() bool })
	return ok && instance.Nests()
}

// words are what was overheard of judges while one reply was weighed once.
type words struct {
	mu      sync.Mutex // a judge that is left behind may still answer
	answers []string
}

type wordsKey struct{}

func (w *words) note(answer string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, answer)
}

// reason returns the reasons in what was said about a case.
func (w *words) reason(k Case) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var reasons []string
	for _, answer := range w.answers {
		for _, key := range []string{"acceptable", "is_failure"} {
			if _, reason, ok := criteria.ParseVerdict(answer, key, k.Reply, k.Brief); ok && reason != "" {
				reasons = append(reasons, reason)
				break
			}
		}
	}
	return strings.Join(reasons, "; ")
}
