package main

import (
	"io"
	"os"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/engine"
)

// progress shows a run while it goes on.
type progress interface {
	Watch(firstgood.Call)
	Close()
}

// silent is the progress of -q.
type silent struct{}

func (silent) Watch(firstgood.Call) {}
func (silent) Close()               {}

// newProgress shows a run of the plan on w.
func newProgress(w io.Writer, plan *engine.Plan) progress {
	var screen live.Screen
	if file, ok := w.(*os.File); ok {
		screen = live.Detect(file, os.Getenv)
	}
	view, err := live.New(live.Config{Out: w, Name: plan.Name, Pattern: plan.Pattern, Rows: rows(nil, plan, 0), Screen: screen})
	if err != nil { // a run is worth more than the sight of it
		return silent{}
	}
	return view
}

// mostRows bounds what instances that are shared many times over would come to.
const mostRows = 1000

// rows are the lines of what runs in the plan, each followed by what runs in it.
func rows(all []live.Row, plan *engine.Plan, depth int) []live.Row {
	if plan.Text { // its calls are shown as they come
		return all
	}
	for _, member := range plan.Members {
		if len(all) >= mostRows {
			break // calls that have no row get one when they come
		}
		row := live.Row{Name: member.Name, Pattern: member.Pattern, Depth: depth}
		if plan.Repeats > 1 {
			row.Repeats = plan.Repeats
		}
		all = rows(append(all, row), member, depth+1)
	}
	return all
}
