package pattern

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
)

// learner answers with its replies or errors in turn, and keeps the briefs.
type learner struct {
	briefs  []string
	replies []any
}

func (l *learner) Name() string { return "pupil" }

func (l *learner) Attempt(_ context.Context, b firstgood.Brief) (string, error) {
	reply := l.replies[len(l.briefs)]
	l.briefs = append(l.briefs, b.String())
	if err, bad := reply.(error); bad {
		return "", err
	}
	return reply.(string), nil
}

func (h host) retry(t *testing.T, cfg config) *Instance[string] {
	t.Helper()
	cfg.Inline = h.inline
	return built(t)(NewRetryWithLearning(cfg))
}

func TestARetryLearnsFromEveryEarlierAttempt(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		pupil := &learner{replies: []any{"five", errDown, "4"}}
		out, err := h.run(t, h.retry(t, config{Delegates: delegates{pupil}, Criteria: reject(map[string]string{"five": "not a digit"})}))
		won(t, out, err, "pupil", "4")
		equal(t, "winner index", out.WinnerIndex, 2)
		equal(t, "attempts", out.Attempts, 3)
		equal(t, "history", told(out.History), []string{"0 pupil: rejected: not a digit", "1 pupil: error: down"})
		const head = "2+2?\n\nEarlier attempts at this task failed. Learn from them and do not repeat their mistakes.\n"
		const first = "\nAttempt 1 failed (rejected): not a digit\nIts reply was:\nfive\n"
		equal(t, "briefs", pupil.briefs, []string{"2+2?", head + first, head + first + "\nAttempt 2 failed (error): down\n"})
	})
}

func TestARetryMakesAtMostSoManyAttempts(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		for given, want := range map[int]int{0: 3, 1: 1, 5: 5} {
			pupil := &learner{replies: []any{errDown, errDown, errDown, errDown, errDown, "never"}}
			out, err := h.run(t, h.retry(t, config{MaxAttempts: given, Delegates: delegates{pupil}}))
			noWinner(t, out, err, firstgood.StatusExhausted)
			equal(t, "attempts", []int{out.Attempts, len(pupil.briefs)}, []int{want, want})
		}
	})
}

func TestARetryQuotesNoMoreThanTheExcerpt(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		long := strings.Repeat("r", firstgood.ExcerptUnits+1)
		pupil := &learner{replies: []any{long, errors.New(strings.Repeat("e", firstgood.ExcerptUnits+1)), "4"}}
		_, err := h.run(t, h.retry(t, config{Delegates: delegates{pupil}, Criteria: reject(map[string]string{long: "too long"})}))
		if err != nil {
			t.Fatal(err)
		}
		for _, cut := range []string{"r", "e"} {
			if quoted := strings.Repeat(cut, firstgood.ExcerptUnits); !strings.Contains(pupil.briefs[2], quoted+"\n") || strings.Contains(pupil.briefs[2], quoted+cut) {
				t.Errorf("got %d units, want the first %d of each text", len(pupil.briefs[2]), firstgood.ExcerptUnits)
			}
		}
	})
}

// What was kept from starting is no attempt, and teaches nothing; a brief that is a document cannot grow, and its
// inputs stay.
func TestARetryGrowsTextsAloneAndOnlyByAttempts(t *testing.T) {
	everyHost(t, func(t *testing.T, h host) {
		pupil := &learner{replies: []any{errDown, "4"}}
		in := h.retry(t, config{Delegates: delegates{pupil}, Gate: func(_ context.Context, s Start) error {
			if s.I == 0 {
				return errDown
			}
			return nil
		}})
		out, err := h.run(t, in)
		won(t, out, err, "pupil", "4")
		equal(t, "first brief", pupil.briefs[0], "2+2?")
		if !strings.Contains(pupil.briefs[1], "Attempt 2 failed") || strings.Contains(pupil.briefs[1], "Attempt 1 failed") {
			t.Errorf("got brief %q", pupil.briefs[1])
		}

		pupil = &learner{replies: []any{errDown, "4"}}
		_, err = h.retry(t, config{Delegates: delegates{pupil}}).Run(h.ctx(t.Context()), firstgood.Raw("application/json", []byte("{}")))
		equal(t, "briefs", []any{err, pupil.briefs}, []any{nil, []string{"{}", "{}"}})

		brief, err := question.With("n", 1)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		_, err = h.retry(t, config{Delegates: delegates{firstgood.Func("inputs", func(_ context.Context, b firstgood.Brief) (string, error) {
			n++
			equal(t, "inputs", b.Inputs(), []string{"n"})
			return "", errDown
		})}}).Run(h.ctx(t.Context()), brief)
		equal(t, "attempts", []any{errors.Is(err, firstgood.ErrNoWinner), n}, []any{true, 3})
	})
}
