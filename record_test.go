package firstgood

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestUsageAdd(t *testing.T) {
	for _, c := range []struct{ a, b, want Source }{
		{SourceMeasured, SourceMeasured, SourceMeasured},
		{SourceMeasured, SourceEstimated, SourceEstimated},
		{SourceEstimated, SourceEstimated, SourceEstimated},
		{SourceMeasured, SourceUnknown, SourceUnknown},
		{SourceEstimated, SourceUnknown, SourceUnknown},
		{SourceMeasured, "", SourceUnknown},
		{"", "", SourceUnknown},
	} {
		want := Usage{11, 22, c.want, 0.75}
		if got := (Usage{1, 2, c.a, 0.5}).Add(Usage{10, 20, c.b, 0.25}); got != want {
			t.Errorf("%q and %q: got %+v, want %+v", c.a, c.b, got, want)
		}
		if got := (Usage{1, 2, c.b, 0.5}).Add(Usage{10, 20, c.a, 0.25}); got != want {
			t.Errorf("%q and %q: got %+v, want %+v", c.b, c.a, got, want)
		}
	}
}

func TestS46_TheTotalCountsLosersAndJudgesAndEachOnce(t *testing.T) {
	measured := func(n int) Usage { return Usage{InputTokens: n, OutputTokens: 10 * n, Source: SourceMeasured} }
	calls := []Call{
		{State: StateWon, Nested: true, Usage: measured(1000)}, // stands in the calls inside it
		{State: StateWon, Usage: measured(1)},
		{State: StateCancelled, Usage: measured(2)},
		{State: StateLost, Usage: measured(4)},
		{State: StateJudged, Role: RoleJudge, Usage: measured(8)},
	}
	if got := Total(calls); got != measured(15) {
		t.Errorf("got %+v", got)
	}
	if got := Total(append(calls, Call{State: StateFailed})); got != (Usage{15, 150, SourceUnknown, 0}) {
		t.Errorf("got %+v with a call that nobody has measured", got)
	}
	if got := Total(nil); got != (Usage{Source: SourceMeasured}) {
		t.Errorf("got %+v of nothing", got)
	}
}

func TestRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var watched []string
		r := NewRecord(time.Now(), func(c Call) { watched = append(watched, fmt.Sprint(c.ID, c.Delegate, c.State)) })
		begin := func(parent int, name string) *Call {
			c := &Call{Parent: parent, Delegate: name, State: StateRunning}
			r.Begin(c)
			return c
		}
		a := begin(-1, "a")
		b := begin(-1, "b")
		a1, b1 := begin(a.ID, "a1"), begin(b.ID, "b1")
		a11 := begin(a1.ID, "a11")
		c := begin(-1, "c")
		before := r.Calls()
		b1.State = StateWon
		r.Put(b1)
		names := func(calls []Call) []string {
			var all []string
			for _, c := range calls {
				all = append(all, c.Delegate)
			}
			return all
		}
		for _, each := range []struct {
			got  []Call
			want []string
		}{
			{r.Calls(), []string{"a", "b", "a1", "b1", "a11", "c"}},
			{r.Under(-1), []string{"a", "b", "a1", "b1", "a11", "c"}},
			{r.Under(a.ID), []string{"a1", "a11"}},
			{r.Under(a11.ID), nil},
			{r.Tree(a.ID), []string{"a", "a1", "a11"}},
			{r.Tree(c.ID, b.ID), []string{"b", "b1", "c"}},
			{r.Tree(), nil},
		} {
			if got := names(each.got); !slices.Equal(got, each.want) {
				t.Errorf("got %v, want %v", got, each.want)
			}
		}
		if before[3].State != StateRunning || r.Calls()[3].State != StateWon {
			t.Error("a snapshot changes with the record, or the record does not")
		}
		if want := []string{"0arunning", "1brunning", "2a1running", "3b1running", "4a11running", "5crunning", "3b1won"}; !slices.Equal(watched, want) {
			t.Errorf("got %v watched, want %v", watched, want)
		}
		<-time.After(time.Second)
		if r.Elapsed() != time.Second || time.Since(r.Start()) != time.Second {
			t.Errorf("got %v since %v", r.Elapsed(), r.Start())
		}
	})
}

func TestScope(t *testing.T) {
	if ScopeOf(t.Context()) != nil {
		t.Error("got a scope from nowhere")
	}
	r := NewRecord(time.Now(), nil)
	scope := ScopeOf(WithRecord(context.WithoutCancel(t.Context()), r))
	if scope == nil || scope.Record != r || scope.Call != -1 || scope.Path() != nil {
		t.Fatalf("got %+v", scope)
	}
	var wait sync.WaitGroup
	for range 10 {
		wait.Go(func() { scope.SetPath([]string{"a", "b"}) })
		wait.Go(func() { _ = scope.Path() })
	}
	wait.Wait()
	if got := scope.Path(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("got %v", got)
	}
}
