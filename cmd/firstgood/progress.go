package main

import (
	"io"

	"github.com/firstgood/firstgood"
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

func newProgress(w io.Writer, plan *engine.Plan) progress { return silent{} }
