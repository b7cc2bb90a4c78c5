package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/delegate/command"
	"github.com/firstgood/firstgood/isolate"
)

// WorkConfig says where delegates in places of their own work. The zero WorkConfig is the current folder.
type WorkConfig struct {
	Dir       string // the folder that is isolated; "" is the current one
	Base      string // the revision that attempts start from; "" is HEAD with what is uncommitted
	Committed bool   // leave out what is uncommitted
	Keep      bool   // keep the trees of attempts
}

// workspace has the places of one run: a base for each way of isolation, taken when the first attempt needs it.
type workspace struct {
	cfg WorkConfig

	mu    sync.Mutex
	bases map[isolate.Mode]*isolate.Base
}

type workspaceKey struct{}

func newWorkspace(cfg WorkConfig) *workspace {
	return &workspace{cfg: cfg, bases: map[isolate.Mode]*isolate.Base{}}
}

// base returns the base of a mode, which it takes if nobody has. "" is a clone inside a repository, else a copy.
func (w *workspace) base(ctx context.Context, mode isolate.Mode) (*isolate.Base, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if base := w.bases[mode]; base != nil {
		return base, nil
	}
	as := mode
	if mode == "" {
		as = isolate.Clone
	}
	open := func(as isolate.Mode) (*isolate.Base, error) {
		return isolate.Open(ctx, isolate.Config{Dir: w.cfg.Dir, Base: w.cfg.Base, Committed: w.cfg.Committed, Mode: as, Keep: w.cfg.Keep})
	}
	base, err := open(as)
	if mode == "" && errors.Is(err, isolate.ErrNoRepository) && w.cfg.Base == "" {
		base, err = open(isolate.Copy)
	}
	if err != nil {
		return nil, err
	}
	w.bases[mode] = base
	return base, nil
}

// close removes the places, when nothing works in them any more.
func (w *workspace) close(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []error
	for mode, base := range w.bases {
		all = append(all, base.Close(ctx))
		delete(w.bases, mode)
	}
	return errors.Join(all...)
}

// isolated is a delegate each of whose attempts works in a place of its own. Its reply brings the change that it made there.
type isolated struct {
	firstgood.Delegate[firstgood.Reply]
	mode isolate.Mode
}

func (d *isolated) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	places, ok := ctx.Value(workspaceKey{}).(*workspace)
	if !ok {
		return firstgood.Reply{}, errors.New("there is no workspace to work in")
	}
	scope := firstgood.ScopeOf(ctx)
	base, err := places.base(ctx, d.mode)
	if err != nil {
		return firstgood.Reply{}, unplaced(ctx, err)
	}
	tree, err := base.Tree(ctx, d.Name())
	if err != nil {
		return firstgood.Reply{}, unplaced(ctx, err)
	}
	defer func() { _ = tree.Remove(context.WithoutCancel(ctx)) }()
	reply, err := d.Delegate.Attempt(command.In(ctx, tree.Dir(), tree.Env()...), brief)
	if ctx.Err() != nil {
		return reply, err
	}
	patch, failed := tree.Patch(ctx)
	switch {
	case failed != nil && err == nil:
		return reply, fmt.Errorf("its change cannot be told: %w", failed)
	case failed != nil:
		return reply, err
	}
	made := &change{base: base, patch: patch}
	if scope != nil {
		scope.Note(made.size())
	}
	if err == nil {
		reply.Change = made
		return reply, nil
	}
	if e, ok := errors.AsType[*firstgood.Error](err); ok && !patch.Empty() {
		with := *e
		with.Change = made
		return reply, &with
	}
	return reply, err
}

// Drain waits for what the delegate has left at work.
func (d *isolated) Drain(ctx context.Context) error {
	if drainer, ok := d.Delegate.(firstgood.Drainer); ok {
		return drainer.Drain(ctx)
	}
	return nil
}

// unplaced is the error of an attempt that found no place to work in.
func unplaced(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &firstgood.Error{Kind: firstgood.KindError, Reason: fmt.Sprintf("it has no place to work in: %v", err), Err: errors.Join(errUnable, err)}
}

// modeOf is how a delegate is isolated, and whether it is.
func modeOf(d *config.Delegate) (isolate.Mode, bool) {
	if !d.Isolated() {
		return "", false
	}
	switch spec := d.Spec.(type) {
	case *config.Command:
		return isolate.Mode(spec.Isolate), true
	case *config.Agent:
		return isolate.Mode(spec.Isolate), true
	}
	return "", false
}

// inPlaces lets a delegate work in places of its own, where its file says so.
func inPlaces(d *config.Delegate, built firstgood.Delegate[firstgood.Reply]) firstgood.Delegate[firstgood.Reply] {
	mode, ok := modeOf(d)
	if !ok {
		return built
	}
	return &isolated{built, mode}
}
