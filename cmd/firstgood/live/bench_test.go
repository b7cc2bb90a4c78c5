package live

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

func benchView(b *testing.B, members int) *View {
	rows := make([]Row, members)
	for i := range rows {
		rows[i].Name = fmt.Sprintf("delegate-%d", i)
	}
	view, err := New(Config{Out: io.Discard, Name: "all", Pattern: "race", Rows: rows, Screen: Screen{Live: true, Unicode: true, Color: true}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(view.Close)
	return view
}

// BenchmarkWatch is what a call's start, judgement and end cost the run.
func BenchmarkWatch(b *testing.B) {
	view := benchView(b, 5)
	b.ReportAllocs()
	for i := range b.N {
		c := firstgood.Call{ID: i, Parent: -1, Index: i % 5, Role: firstgood.RoleDelegate, State: firstgood.StateRunning}
		view.Watch(c)
		c.State = firstgood.StateJudging
		view.Watch(c)
		c.State, c.Duration, c.Reason = firstgood.StateRejected, time.Second, "the answer is empty or refuses"
		view.Watch(c)
	}
}

// BenchmarkFrame is what laying out the block costs, ten times a second.
func BenchmarkFrame(b *testing.B) {
	for _, members := range []int{5, 10_000} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			view := benchView(b, members)
			for i := range members / 2 {
				view.Watch(firstgood.Call{ID: i, Parent: -1, Index: i, Role: firstgood.RoleDelegate, State: firstgood.StateRunning})
			}
			b.ReportAllocs()
			for b.Loop() {
				view.frame(80, 24)
			}
		})
	}
}
