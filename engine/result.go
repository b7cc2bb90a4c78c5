package engine

import (
	"encoding/json"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
)

// Result is how a run of a [Bound] ended.
type Result struct {
	ID      string // of the run
	Name    string // what was run
	Pattern string // "" for a delegate that was run by its name
	Outcome firstgood.Outcome[firstgood.Reply]
	Err     error // nil when there is a winner, else a *firstgood.NoWinnerError
	// State is the state object of a composite that ran as it is written, as it was left; nil for any other.
	State json.RawMessage
	// Applied is what the winner's change has become; see [Bound.Apply]. "" for nothing.
	Applied string
	// ApplyError is why the change could not be applied; nil for no failure.
	ApplyError error

	history json.RawMessage // the failure_history that a document's text gave; nil for that of the outcome
	prices  map[string]config.Price
}

// MarshalJSON writes the result as `firstgood run --json` prints it: every field is always there, and no list is
// null.
func (r *Result) MarshalJSON() ([]byte, error) {
	out := r.Outcome
	doc := printed{
		Schema: 1, ID: r.ID, Name: r.Name, Pattern: optional(r.Pattern), Status: out.Status, Result: json.RawMessage("null"),
		Winner: optional(out.Winner), WinnerPath: out.WinnerPath, Attempts: out.Attempts, History: out.History,
		Calls: r.calls(), Usage: r.total(), DurationMS: out.Duration.Milliseconds(),
	}
	if out.Status == firstgood.StatusWon {
		doc.Result = valueOf(out.Result)
	}
	if out.WinnerIndex >= 0 {
		doc.WinnerIndex = &out.WinnerIndex
	}
	if doc.WinnerPath == nil {
		doc.WinnerPath = []string{}
	}
	switch {
	case r.history != nil:
		doc.History = r.history
	case out.History == nil:
		doc.History = []firstgood.Failure{}
	}
	switch {
	case r.Err != nil:
		doc.Error = optional(r.Err.Error())
	case r.ApplyError != nil:
		doc.Error = optional(r.ApplyError.Error())
	}
	doc.Applied, doc.Restored = optional(r.Applied), []string{}
	if c := out.Result.Change; out.Status == firstgood.StatusWon && c != nil {
		doc.Patch = optional(string(c.Diff()))
		doc.Restored = append(doc.Restored, c.Restored()...)
	}
	return encode(doc), nil
}

type printed struct {
	Schema      int              `json:"schema"`
	ID          string           `json:"run_id"`
	Name        string           `json:"name"`
	Pattern     *string          `json:"pattern"`
	Status      firstgood.Status `json:"status"`
	Result      json.RawMessage  `json:"result"`
	Winner      *string          `json:"winner"`
	WinnerIndex *int             `json:"winner_index"`
	WinnerPath  []string         `json:"winner_path"`
	Attempts    int              `json:"attempts"`
	Patch       *string          `json:"patch"`
	Applied     *string          `json:"applied"`
	Restored    []string         `json:"restored"`
	History     any              `json:"failure_history"` // []firstgood.Failure, or what a text gave
	Calls       []call           `json:"calls"`
	Usage       spent            `json:"usage"`
	DurationMS  int64            `json:"duration_ms"`
	Error       *string          `json:"error"`
}

type call struct {
	Delegate   string          `json:"delegate"`
	Index      int             `json:"index"`
	Path       []string        `json:"path"`
	Role       firstgood.Role  `json:"role"`
	State      firstgood.State `json:"state"`
	StartedMS  int64           `json:"started_ms"`
	DurationMS int64           `json:"duration_ms"`
	Usage      spent           `json:"usage"`
	Kind       *string         `json:"kind"`
	Reason     *string         `json:"reason"`
	Warning    *string         `json:"warning"`
}

// calls describes the calls, each with the way to it from the run: the names of the calls that it serves, then its
// own.
func (r *Result) calls() []call {
	record := r.Outcome.Calls
	listed := make([]call, 0, len(record))
	paths := make(map[int][]string, len(record))
	for _, c := range record {
		above := paths[c.Parent]
		paths[c.ID] = append(above[:len(above):len(above)], c.Delegate)
		listed = append(listed, call{
			Delegate: c.Delegate, Index: c.Index, Path: paths[c.ID], Role: c.Role, State: c.State,
			StartedMS: c.Started.Milliseconds(), DurationMS: c.Duration.Milliseconds(), Usage: r.spent(c),
			Kind: optional(string(c.Kind)), Reason: optional(c.Reason), Warning: optional(c.Warning),
		})
	}
	return listed
}

// spent is a usage with what it cost.
type spent struct {
	firstgood.Usage
	// Cost is in US dollars, as far as the tokens are known; nil where nothing has a price.
	Cost *float64 `json:"cost_usd"`
}

func (r *Result) spent(c firstgood.Call) spent {
	if c.Nested { // what it used stands in the calls inside it
		return spent{Usage: firstgood.Usage{Source: firstgood.SourceMeasured}}
	}
	s := spent{Usage: c.Usage}
	if s.Source == "" {
		s.Source = firstgood.SourceUnknown
	}
	if _, priced := r.prices[c.Delegate]; priced || c.Usage.Cost > 0 {
		cost := costOf(c, r.prices)
		s.Cost = &cost
	}
	return s
}

// total is what the run used, losers and judges included.
func (r *Result) total() spent {
	s := spent{Usage: firstgood.Total(r.Outcome.Calls)}
	for _, c := range r.Outcome.Calls {
		if one := r.spent(c); one.Cost != nil {
			sum := *one.Cost
			if s.Cost != nil {
				sum += *s.Cost
			}
			s.Cost = &sum
		}
	}
	return s
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
