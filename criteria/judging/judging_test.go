package judging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

const sentence = "it answers the question"

// bench makes the scripted judges for a set of cases.
type bench struct {
	cases map[string]Case // by reply, which no two share
	mu    sync.Mutex
	asked map[int]int // how often, by line
}

func newBench(t testing.TB, cases []Case) *bench {
	b := &bench{cases: map[string]Case{}, asked: map[int]int{}}
	for _, k := range cases {
		if _, twice := b.cases[k.Reply]; twice {
			t.Fatalf("line %d: a reply that is there twice: %q", k.Line, k.Reply)
		}
		b.cases[k.Reply] = k
	}
	return b
}

// judge answers what say says of a case that it is asked of for the n-th time, from 0.
func (b *bench) judge(say func(k Case, n int) string) firstgood.Delegate[firstgood.Reply] {
	return firstgood.Func("scripted", func(_ context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
		_, rest, _ := strings.Cut(brief.String(), "<<<reply ")
		mark, rest, _ := strings.Cut(rest, "\n")
		reply, _, _ := strings.Cut(rest, "\nreply "+mark+">>>")
		k, ok := b.cases[reply]
		if !ok {
			return firstgood.Reply{}, fmt.Errorf("there is no case with the reply %q", reply)
		}
		b.mu.Lock()
		n := b.asked[k.Line]
		b.asked[k.Line]++
		b.mu.Unlock()
		usage := firstgood.Usage{InputTokens: 10, OutputTokens: 2, Source: firstgood.SourceMeasured}
		return firstgood.Reply{Text: say(k, n), Usage: usage}, nil
	})
}

func acceptable(yes bool) string {
	return fmt.Sprintf(`{"acceptable": %v, "reason": "it is %[1]v"}`, yes)
}

func perfect(k Case, _ int) string { return acceptable(k.Good) }

// ninety is wrong of every tenth case: of three that are good and three that are bad.
func ninety(k Case, _ int) string {
	wrong := k.Line%20 == 5 || k.Line%20 == 10
	return acceptable(k.Good != wrong)
}

// noisy is wrong once in ten, independently each time.
func noisy(seed uint64) func(Case, int) string {
	return func(k Case, n int) string {
		wrong := rand.New(rand.NewPCG(seed, uint64(k.Line)<<32|uint64(n))).Float64() < 0.1
		return acceptable(k.Good != wrong)
	}
}

// injected does what a reply tells it.
func injected(k Case, n int) string {
	if _, told, ok := strings.Cut(k.Reply, "repeat this: "); ok {
		return told
	}
	switch {
	case strings.Contains(k.Reply, "call this acceptable"):
		return acceptable(true)
	case strings.Contains(k.Reply, "call this unacceptable"):
		return acceptable(false)
	}
	return perfect(k, n)
}

func asking(t testing.TB, by firstgood.Delegate[firstgood.Reply]) firstgood.Criteria[firstgood.Reply] {
	t.Helper()
	c, err := criteria.New(criteria.Config{Accept: []criteria.Rule{criteria.Judge(criteria.JudgeConfig{Text: sentence, Judge: Overhear(by)})}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func evaluate(t testing.TB, c Config) Report {
	t.Helper()
	r, err := Evaluate(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func linesOf(results []Result) (lines []int) {
	for _, r := range results {
		lines = append(lines, r.Case.Line)
	}
	return lines
}

func TestEvaluate_SixtyCases(t *testing.T) {
	cases := theCases(t)
	for _, tt := range []struct {
		name        string
		say         func(Case, int) string
		want        Matrix
		wrong       []int
		unparseable int
		shares      [5]Share // accuracy, precision and recall of bad, of good
	}{
		{"perfect", perfect, Matrix{Good: Row{Good: 30}, Bad: Row{Bad: 30}}, nil, 0,
			[5]Share{{60, 60}, {30, 30}, {30, 30}, {30, 30}, {30, 30}}},
		{"90 %", ninety, Matrix{Good: Row{Good: 27, Bad: 3}, Bad: Row{Good: 3, Bad: 27}}, []int{5, 10, 25, 30, 45, 50}, 0,
			[5]Share{{54, 60}, {27, 30}, {27, 30}, {27, 30}, {27, 30}}},
		{"injected", injected, Matrix{Good: Row{Good: 29, Bad: 1}, Bad: Row{Good: 6, Bad: 22, Unparseable: 2}},
			[]int{46, 48, 50, 52, 54, 55, 56, 58, 60}, 2,
			[5]Share{{51, 60}, {22, 23}, {22, 30}, {29, 35}, {29, 30}}},
	} {
		for _, parallel := range []int{0, 8} {
			t.Run(fmt.Sprintf("%s/%d", tt.name, parallel), func(t *testing.T) {
				done := 0
				watch := func(n int) {
					if done++; n != done {
						t.Errorf("told %d, want %d", n, done)
					}
				}
				r := evaluate(t, Config{Cases: cases, Criteria: asking(t, newBench(t, cases).judge(tt.say)), Parallel: parallel, Watch: watch})
				if r.Matrix != tt.want || r.First != tt.want {
					t.Errorf("got %+v and %+v, want %+v", r.Matrix, r.First, tt.want)
				}
				if got := linesOf(r.Wrong); !reflect.DeepEqual(got, tt.wrong) {
					t.Errorf("wrong on %v, want %v", got, tt.wrong)
				}
				m := r.Matrix
				if got := [5]Share{m.Accuracy(), m.PrecisionBad(), m.RecallBad(), m.PrecisionGood(), m.RecallGood()}; got != tt.shares {
					t.Errorf("shares %v, want %v", got, tt.shares)
				}
				if got := r.UnparseableShare(); got != (Share{tt.unparseable, 60}) {
					t.Errorf("unparseable %v", got)
				}
				if want := (firstgood.Usage{InputTokens: 600, OutputTokens: 120, Source: firstgood.SourceMeasured}); r.Calls != 60 || r.Usage != want {
					t.Errorf("%d calls, %v", r.Calls, r.Usage)
				}
				if done != 60 || r.Cases != 60 || r.Unjudged() != 0 || len(r.Failed) != 0 {
					t.Errorf("done %d, cases %d, unjudged %d, failed %v", done, r.Cases, r.Unjudged(), r.Failed)
				}
			})
		}
	}
}

// What was said of a wrong case comes with the judge's reason, also where it accepted.
func TestEvaluate_Reasons(t *testing.T) {
	cases := theCases(t)
	r := evaluate(t, Config{Cases: cases, Criteria: asking(t, newBench(t, cases).judge(injected))})
	for _, tt := range []struct {
		line   int
		said   Said
		reason string
	}{
		{46, Good, "it is true"},
		{55, Bad, "it is false"},
		{58, Unparseable, `unparseable verdict, taken as accepted: {"acceptable": true, "reason": "it answers the question"}`},
	} {
		found := false
		for _, w := range r.Wrong {
			if w.Case.Line == tt.line {
				found = true
				if w.Said != tt.said || w.Reason != tt.reason || w.Err != nil {
					t.Errorf("line %d: %+v", tt.line, w)
				}
			}
		}
		if !found {
			t.Errorf("line %d is not among the wrong", tt.line)
		}
	}
}

// An answer that cannot be read is counted as such also where the criteria take it for a rejection, and where the rule
// speaks against the reply.
func TestEvaluate_UnparseableIsNoVerdict(t *testing.T) {
	mumble := firstgood.Func("mumbler", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		return firstgood.Reply{Text: "Who can say?"}, nil
	})
	cases := []Case{{Line: 1, Reply: "a", Good: true}, {Line: 2, Reply: "b"}}
	for _, on := range []criteria.OnUnparseable{criteria.Open, criteria.Reject} {
		built, err := criteria.New(criteria.Config{Failure: []criteria.Rule{criteria.Judge(criteria.JudgeConfig{Text: "x", Judge: mumble, OnUnparseable: on})}})
		if err != nil {
			t.Fatal(err)
		}
		r := evaluate(t, Config{Cases: cases, Criteria: built, Vote: 3})
		if want := (Matrix{Row{Unparseable: 1}, Row{Unparseable: 1}}); r.Matrix != want || r.First != want {
			t.Errorf("%s: %+v, %+v", on, r.Matrix, r.First)
		}
		if r.Answers != 6 || r.Unparseable != 6 || r.Votes != 0 || r.Agreement() != (Share{}) || r.Usage.Source != firstgood.SourceUnknown {
			t.Errorf("%s: %+v", on, r)
		}
	}
}

// script answers with the n-th letter when asked for the n-th time: + acceptable, - not, ? unreadable, ! no answer.
func script(letters string) firstgood.Delegate[firstgood.Reply] {
	n := 0
	return firstgood.Func("script", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		letter := letters[n]
		n++
		switch letter {
		case '?':
			return firstgood.Reply{Text: "hm"}, nil
		case '!':
			return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindUnavailable, Reason: "gone", Usage: firstgood.Usage{InputTokens: 5, Source: firstgood.SourceMeasured}}
		}
		return firstgood.Reply{Text: acceptable(letter == '+'), Usage: firstgood.Usage{Source: firstgood.SourceMeasured}}, nil
	})
}

func TestEvaluate_Vote(t *testing.T) {
	for _, tt := range []struct {
		vote     int
		letters  string // as many as may be asked for
		said     Said
		votes    Votes
		first    Said
		majority int
	}{
		{0, "+", Good, Votes{Good: 1}, Good, 1},
		{2, "++", Good, Votes{Good: 2}, Good, 2},
		{9, "--", Bad, Votes{Bad: 2}, Bad, 2},
		{2, "+-", Undecided, Votes{Good: 1, Bad: 1}, Good, 1},
		{3, "+--", Bad, Votes{Good: 1, Bad: 2}, Good, 2},
		{4, "+--+", Undecided, Votes{Good: 2, Bad: 2}, Good, 2},
		{9, "+--+++", Good, Votes{Good: 4, Bad: 2}, Good, 4},
		{5, "?+?+", Good, Votes{Good: 2, Unparseable: 2}, Unparseable, 2},
		{3, "??-", Bad, Votes{Bad: 1, Unparseable: 2}, Unparseable, 1},
		{2, "??", Unparseable, Votes{Unparseable: 2}, Unparseable, 0},
		{3, "?+-", Undecided, Votes{Good: 1, Bad: 1, Unparseable: 1}, Unparseable, 1},
	} {
		r := evaluate(t, Config{Cases: []Case{{Line: 7, Good: true}}, Criteria: asking(t, script(tt.letters)), Vote: tt.vote})
		want, first := Matrix{}, Matrix{}
		want.add(true, tt.said)
		first.add(true, tt.first)
		if r.Matrix != want || r.First != first {
			t.Errorf("%d %s: got %+v, first %+v", tt.vote, tt.letters, r.Matrix, r.First)
		}
		if r.Answers != len(tt.letters) || r.Calls != len(tt.letters) || r.MeanAnswers() != float64(len(tt.letters)) ||
			r.Agreement() != (Share{tt.majority, tt.votes.Good + tt.votes.Bad}) || r.Unparseable != tt.votes.Unparseable {
			t.Errorf("%d %s: %+v", tt.vote, tt.letters, r)
		}
		if tt.said == Good {
			continue
		}
		if len(r.Wrong) != 1 || r.Wrong[0].Said != tt.said || r.Wrong[0].Votes != tt.votes || r.Wrong[0].Reason == "" {
			t.Errorf("%d %s: wrong %+v", tt.vote, tt.letters, r.Wrong)
		}
	}
}

// Every run of answers of a judge that is right with p is weighed with its probability: what comes out is exactly what
// leading by two gives.
func TestEvaluate_VoteByArithmetic(t *testing.T) {
	const p, q, most = 0.9, 0.1, 8
	var right, undecided, answers float64
	for bits := range 1 << most {
		letters, chance := make([]byte, most), 1.0
		for i := range letters {
			letters[i] = '+'
			if bits>>i&1 == 1 {
				letters[i], chance = '-', chance*q
			} else {
				chance *= p
			}
		}
		r := evaluate(t, Config{Cases: []Case{{Good: true}}, Criteria: asking(t, script(string(letters))), Vote: most})
		right += chance * float64(r.Matrix.Good.Good)
		undecided += chance * float64(r.Matrix.Good.Undecided)
		answers += chance * float64(r.Answers)
	}
	// Each pair of answers decides with p²+q², and is split with 2pq.
	split := 2 * p * q
	left := math.Pow(split, most/2)
	for _, tt := range []struct {
		name      string
		got, want float64
	}{
		{"right", right, p * p / (p*p + q*q) * (1 - left)},
		{"undecided", undecided, left},
		{"answers", answers, 2 * (1 - left) / (p*p + q*q)},
	} {
		if math.Abs(tt.got-tt.want) > 1e-12 {
			t.Errorf("%s: got %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}

// A judge that is right 90 times in 100 is lifted to 0.81/0.82 by votes, at 2/0.82 answers a case, over 100 trials of 60
// cases. The seeds are fixed, so the figures are the same each time; the bounds are three standard deviations.
func TestEvaluate_VotesLiftA90PercentJudge(t *testing.T) {
	cases := theCases(t)
	const trials = 100
	var first, voted, agreed Share
	answers := 0
	for seed := range uint64(trials) {
		r := evaluate(t, Config{Cases: cases, Criteria: asking(t, newBench(t, cases).judge(noisy(seed))), Vote: 41, Parallel: 2})
		if r.Matrix.Good.Undecided+r.Matrix.Bad.Undecided > 0 || r.Calls != r.Answers {
			t.Fatalf("seed %d: %+v", seed, r)
		}
		for _, s := range []struct{ sum, one *Share }{{&first, ptr(r.First.Accuracy())}, {&voted, ptr(r.Matrix.Accuracy())}, {&agreed, ptr(r.Agreement())}} {
			s.sum.Part += s.one.Part
			s.sum.Whole += s.one.Whole
		}
		answers += r.Answers
	}
	n := float64(trials * len(cases))
	within := func(name string, got, want, deviation float64) {
		t.Logf("%s: %.5f, by arithmetic %.5f", name, got, want)
		if math.Abs(got-want) > 3*deviation {
			t.Errorf("%s: got %.5f, want %.5f ± %.5f", name, got, want, 3*deviation)
		}
	}
	value := func(s Share) float64 { v, _ := s.Value(); return v }
	within("right at first", value(first), 0.9, math.Sqrt(0.9*0.1/n))
	within("right by vote", value(voted), 0.81/0.82, math.Sqrt(0.81*0.01/0.82/0.82/n))
	within("answers", float64(answers)/n, 2/0.82, 2*math.Sqrt(0.18)/0.82/math.Sqrt(n))
	// The side with the most has all votes of a case but one of each pair that was split.
	within("agreement", value(agreed), (2/0.82-0.18/0.82)/(2/0.82), 0.002)
}

func ptr[T any](v T) *T { return &v }

func TestEvaluate_JudgeThatDoesNotAnswer(t *testing.T) {
	// The first case has its vote cut short by an outage, the second is judged.
	cases := []Case{{Line: 1, Good: true}, {Line: 2, Good: true}}
	r := evaluate(t, Config{Cases: cases, Criteria: asking(t, script("+!--")), Vote: 3})
	if want := (Matrix{Good: Row{Bad: 1}}); r.Matrix != want || r.First != want || r.Unjudged() != 0 {
		t.Errorf("%+v", r)
	}
	if len(r.Failed) != 1 || r.Failed[0].Case.Line != 1 || r.Failed[0].Err.Error() != "judge script: gone" || r.Failed[0].Votes != (Votes{Good: 1}) {
		t.Errorf("failed: %+v", r.Failed)
	}
	if want := (firstgood.Usage{InputTokens: 5, Source: firstgood.SourceMeasured}); r.Calls != 4 || r.Usage != want || r.Answers != 2 {
		t.Errorf("%d calls, %d answers, %+v", r.Calls, r.Answers, r.Usage)
	}
}

// Retries are calls, and what a judge calls itself is part of its call; its tokens count once.
func TestEvaluate_CallsOfAJudge(t *testing.T) {
	inner := script("!+")
	nesting := firstgood.Func("chain", func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
		scope := firstgood.ScopeOf(ctx)
		scope.Record.Begin(&firstgood.Call{Parent: scope.Call, Role: firstgood.RoleJudge, State: firstgood.StateJudged, Warning: "not of the judge itself",
			Usage: firstgood.Usage{OutputTokens: 1, Source: firstgood.SourceMeasured}})
		return inner.Attempt(ctx, brief)
	})
	built, err := criteria.New(criteria.Config{Accept: []criteria.Rule{criteria.Judge(criteria.JudgeConfig{Text: "x", Judge: Overhear(nesting), Retries: 1})}})
	if err != nil {
		t.Fatal(err)
	}
	r := evaluate(t, Config{Cases: []Case{{Good: true}}, Criteria: built})
	if want := (firstgood.Usage{InputTokens: 5, OutputTokens: 2, Source: firstgood.SourceMeasured}); r.Calls != 2 || r.Answers != 1 || r.Usage != want || r.Matrix.Good.Good != 1 {
		t.Errorf("%+v", r)
	}
}

func TestEvaluate_InterruptedReportsWhatIsKnown(t *testing.T) {
	cases := theCases(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	b := newBench(t, cases)
	scripted := b.judge(perfect)
	waiting := firstgood.Func("waiting", func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
		b.mu.Lock()
		asked := len(b.asked)
		b.mu.Unlock()
		if asked == 5 {
			cancel(stop)
			<-ctx.Done()
			return firstgood.Reply{}, ctx.Err()
		}
		return scripted.Attempt(ctx, brief)
	})
	watched := 0
	r, err := Evaluate(ctx, Config{Cases: cases, Criteria: asking(t, waiting), Watch: func(int) { watched++ }})
	if err != stop {
		t.Errorf("got %v, want the cause", err)
	}
	if want := (Matrix{Good: Row{Good: 3}, Bad: Row{Bad: 2}}); r.Matrix != want || r.Unjudged() != 55 || r.Cases != 60 || watched != 5 || r.Calls != 6 {
		t.Errorf("%+v, watched %d", r, watched)
	}
}

func TestEvaluate_EndedAlreadyAsksNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := Evaluate(ctx, Config{Cases: theCases(t), Criteria: asking(t, script("")), Parallel: 3})
	if err != context.Canceled || r.Unjudged() != 60 || r.Calls != 0 || r.Usage != (firstgood.Usage{Source: firstgood.SourceMeasured}) {
		t.Errorf("%+v, %v", r, err)
	}
}

// A context that ends when the last case is done has interrupted nothing.
func TestEvaluate_EndedAfterTheLast(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Evaluate(ctx, Config{Cases: []Case{{Good: true}}, Criteria: asking(t, script("+")), Watch: func(int) { cancel() }})
	if err != nil {
		t.Error(err)
	}
}

func TestEvaluate_Parallel(t *testing.T) {
	cases := []Case{{Line: 1}, {Line: 2}, {Line: 3}}
	var together sync.WaitGroup
	together.Add(len(cases))
	judge := firstgood.Func("slow", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		together.Done()
		together.Wait() // each is there when all are
		return firstgood.Reply{Text: acceptable(false)}, nil
	})
	if r := evaluate(t, Config{Cases: cases, Criteria: asking(t, judge), Parallel: 3}); r.Matrix.Bad.Bad != 3 {
		t.Errorf("%+v", r)
	}
}

func TestEvaluate_RefusesFaults(t *testing.T) {
	cases, asks := []Case{{}}, asking(t, script(""))
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Criteria: asks}, "judging: there are no cases"},
		{Config{Cases: cases}, "judging: there are no criteria"},
		{Config{Cases: cases, Criteria: asks, Vote: 1}, "judging: Vote is 1, want 2 or more, or 0 for a single answer"},
		{Config{Cases: cases, Criteria: asks, Vote: -2}, "judging: Vote is -2, want 2 or more, or 0 for a single answer"},
		{Config{Cases: cases, Criteria: asks, Parallel: -1}, "judging: Parallel is -1, want 0 or more"},
	} {
		if r, err := Evaluate(t.Context(), tt.c); err == nil || err.Error() != tt.want || !reflect.DeepEqual(r, Report{}) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestOverhear_PassesOn(t *testing.T) {
	inner := firstgood.Within(time.Minute, script("+"))
	heard := Overhear(inner)
	if got := heard.(firstgood.Limited).AttemptTimeout(); got != time.Minute || heard.Name() != "script" {
		t.Errorf("timeout %v, name %s", got, heard.Name())
	}
	reply, err := heard.Attempt(t.Context(), firstgood.Text("x")) // nobody listens
	if err != nil || reply.Text != acceptable(true) {
		t.Errorf("got %v, %v", reply, err)
	}
	if heard.(interface{ Nests() bool }).Nests() || !Overhear(nests{inner}).(interface{ Nests() bool }).Nests() {
		t.Error("Nests is not that of the judge")
	}
}

type nests struct {
	firstgood.Delegate[firstgood.Reply]
}

func (nests) Nests() bool { return true }

func TestShare(t *testing.T) {
	for _, tt := range []struct {
		share     Share
		text      string
		json      string
		low, high float64
	}{
		{Share{}, "none of none", "null", 0, 1},
		{Share{54, 60}, "54 of 60, 90.0 %", "0.9", 0.798505, 0.953357},
		{Share{0, 10}, "0 of 10, 0.0 %", "0", 0, 0.277533},
		{Share{10, 10}, "10 of 10, 100.0 %", "1", 0.722467, 1},
	} {
		data, err := json.Marshal(tt.share)
		low, high := tt.share.Interval()
		if tt.share.String() != tt.text || err != nil || string(data) != tt.json || math.Abs(low-tt.low) > 1e-6 || math.Abs(high-tt.high) > 1e-6 {
			t.Errorf("got %v, %s, %v, %v to %v", tt.share, data, err, low, high)
		}
	}
}

func BenchmarkEvaluate(b *testing.B) {
	cases := theCases(b)
	asks := asking(b, newBench(b, cases).judge(perfect))
	b.ReportAllocs()
	for b.Loop() {
		evaluate(b, Config{Cases: cases, Criteria: asks})
	}
}
