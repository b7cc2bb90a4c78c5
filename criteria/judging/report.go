package judging

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/firstgood/firstgood"
)

// Said is what a judge said of a reply.
type Said string

// What it may have said.
const (
	Good        Said = "good"
	Bad         Said = "bad"
	Unparseable Said = "unparseable" // the answer could not be read, or one of several to it
	Undecided   Said = "undecided"   // as many votes for good as for bad
)

// Report is how a judge did.
type Report struct {
	Cases  int    // that there are, whatever became of them
	Matrix Matrix // the verdicts, those of the vote where there was one
	First  Matrix // the first answers alone, to the same cases; without a vote the same as Matrix

	Vote        int // as in [Config]
	Answers     int // to the judged cases
	Unparseable int // those of the answers that could not be read
	Votes       int // those of the answers that could be
	Majority    int // the votes that were for the side with the most, half of them in a tie

	Calls int             // of judges, retries and those without an answer included; what a judge calls itself is part of its call
	Usage firstgood.Usage // of all calls

	Wrong  []Result // the cases of which the verdict was not what the label says
	Failed []Result // the cases of which the judge did not answer
}

// Result is what became of a case.
type Result struct {
	Case   Case
	Said   Said // the verdict; "" where the judge did not answer
	Votes  Votes
	Reason string // the judge's, from the first answer that said the same; "" when it gave none
	Err    error  // why the judge did not answer, else nil
}

// Votes are the answers to a case.
type Votes struct {
	Good        int `json:"good"`
	Bad         int `json:"bad"`
	Unparseable int `json:"unparseable"`
}

func (v *Votes) add(said Said) {
	switch said {
	case Good:
		v.Good++
	case Bad:
		v.Bad++
	default:
		v.Unparseable++
	}
}

func (v *Votes) winner() Said {
	switch {
	case v.Good > v.Bad:
		return Good
	case v.Bad > v.Good:
		return Bad
	case v.Good > 0:
		return Undecided
	}
	return Unparseable
}

// Matrix counts replies by what they are and what was said of them.
type Matrix struct {
	Good Row `json:"good"` // the replies that are good
	Bad  Row `json:"bad"`  // the replies that are bad
}

// Row counts what was said.
type Row struct {
	Good        int `json:"good"`
	Bad         int `json:"bad"`
	Unparseable int `json:"unparseable"`
	Undecided   int `json:"undecided"`
}

// Total is how many replies the row counts.
func (r Row) Total() int { return r.Good + r.Bad + r.Unparseable + r.Undecided }

func (r *Row) add(said Said) {
	switch said {
	case Good:
		r.Good++
	case Bad:
		r.Bad++
	case Unparseable:
		r.Unparseable++
	default:
		r.Undecided++
	}
}

func (m *Matrix) add(good bool, said Said) {
	if good {
		m.Good.add(said)
		return
	}
	m.Bad.add(said)
}

// Total is how many replies the matrix counts.
func (m Matrix) Total() int { return m.Good.Total() + m.Bad.Total() }

// Accuracy is the share of all replies of which the right thing was said. What is unparseable or undecided is not
// right.
func (m Matrix) Accuracy() Share { return Share{m.Good.Good + m.Bad.Bad, m.Total()} }

// PrecisionBad is, of the replies said to be bad, the share that is.
func (m Matrix) PrecisionBad() Share { return Share{m.Bad.Bad, m.Bad.Bad + m.Good.Bad} }

// RecallBad is, of the replies that are bad, the share that was said to be.
func (m Matrix) RecallBad() Share { return Share{m.Bad.Bad, m.Bad.Total()} }

// PrecisionGood is, of the replies said to be good, the share that is.
func (m Matrix) PrecisionGood() Share { return Share{m.Good.Good, m.Good.Good + m.Bad.Good} }

// RecallGood is, of the replies that are good, the share that was said to be.
func (m Matrix) RecallGood() Share { return Share{m.Good.Good, m.Good.Total()} }

// Share is a part of a whole. The share of nothing is unknown.
type Share struct{ Part, Whole int }

// Value returns the share as a number from 0 to 1, or false when it is unknown.
func (s Share) Value() (float64, bool) {
	if s.Whole == 0 {
		return 0, false
	}
	return float64(s.Part) / float64(s.Whole), true
}

// Interval returns between what shares the true one lies with 95 % confidence when the whole is a random sample
// (Wilson's interval); 0 and 1 when the share is unknown.
func (s Share) Interval() (low, high float64) {
	p, ok := s.Value()
	if !ok {
		return 0, 1
	}
	const z = 1.959963984540054
	n := float64(s.Whole)
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	reach := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, middle-reach), min(1, middle+reach)
}

// MarshalJSON writes the share as a number, null when it is unknown.
func (s Share) MarshalJSON() ([]byte, error) {
	p, ok := s.Value()
	if !ok {
		return []byte("null"), nil
	}
	return json.Marshal(p)
}

// String returns the share as `54 of 60, 90.0 %`.
func (s Share) String() string {
	p, ok := s.Value()
	if !ok {
		return "none of none"
	}
	return fmt.Sprintf("%d of %d, %.1f %%", s.Part, s.Whole, 100*p)
}

// Unjudged is how many cases were not done when ctx ended.
func (r Report) Unjudged() int { return r.Cases - r.Matrix.Total() - len(r.Failed) }

// UnparseableShare is the share of answers that could not be read.
func (r Report) UnparseableShare() Share { return Share{r.Unparseable, r.Answers} }

// Agreement is the share of votes that were for the side with the most votes of its case. It is 1 for a judge that
// says the same each time, right or wrong.
func (r Report) Agreement() Share { return Share{r.Majority, r.Votes} }

// MeanAnswers is how many answers a judged case took, 0 when there is none.
func (r Report) MeanAnswers() float64 {
	if r.Answers == 0 {
		return 0
	}
	return float64(r.Answers) / float64(r.Matrix.Total())
}

// report counts what became of the cases.
func (c Config) report(trials []trial) Report {
	r := Report{Cases: len(c.Cases), Vote: c.Vote}
	spent := cost{usage: firstgood.Total(nil)}
	for _, t := range trials {
		spent = spent.add(t.cost)
		k, votes := t.result.Case, t.result.Votes
		switch t.state {
		case failed:
			r.Failed = append(r.Failed, t.result)
		case judged:
			r.Matrix.add(k.Good, t.result.Said)
			r.First.add(k.Good, t.first)
			r.Answers += votes.Good + votes.Bad + votes.Unparseable
			r.Unparseable += votes.Unparseable
			r.Votes += votes.Good + votes.Bad
			r.Majority += max(votes.Good, votes.Bad)
			if t.result.Said != labelOf(k) {
				r.Wrong = append(r.Wrong, t.result)
			}
		}
	}
	r.Calls, r.Usage = spent.calls, spent.usage
	return r
}

func labelOf(k Case) Said {
	if k.Good {
		return Good
	}
	return Bad
}
