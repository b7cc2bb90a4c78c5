package interp

import (
	"context"
	"errors"
	"fmt"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
	"github.com/firstgood/firstgood/script/syntax"
)

// What runs in parallel. Each branch is a delegate of an instance of package pattern: a fan-out where all are waited for, or
// as many as are wanted, a race where the first is. So a branch that is not needed any more is cancelled, and one that does
// not listen holds nothing up.
//
// A branch works on a copy of the frame as it was before. What it binds is copied back when it has joined, so that nothing
// is shared, and a branch that has lost and goes on changes nothing.

// modes is how branches join.
type modes struct {
	pos    syntax.Pos
	join   string // all, first or any
	onFail string // fail-fast, continue, ignore, or "" where it is not said
	count  expr   // nil where it is not said
}

func (c *compiler) modes(pos syntax.Pos, m syntax.Mods) modes {
	j := modes{pos: pos, join: m.Join, onFail: m.OnFail}
	if j.join == "" {
		j.join = "all"
	}
	if m.Count != nil {
		j.count = c.expr(m.Count)
	}
	return j
}

// done is what a branch ended with.
type done struct {
	value  Value
	frame  []Value
	joined bool // it ended well; not of the zero value, which stands for those that did not
}

// joint is how the branches of a parallel have ended, by their index.
type joint struct {
	done   []done
	errs   []error // of those that failed; nil for those that did not
	winner int     // of "first" and "any" without a count, else -1
	short  bool    // fewer succeeded than were wanted, and that is no error
}

// fork runs n branches. Work runs one of them in a thread of its own.
func (t *thread) fork(j modes, n int, work func(*thread, int) (Value, error)) (joint, error) {
	defer t.run.open.Add(int64(-n))
	if open := t.run.open.Add(int64(n)); open > MaxBranches {
		return joint{}, failf(j.pos, "at most %d branches may be open at once, and with these there would be %d", MaxBranches, open)
	}
	want := 0
	if j.count != nil {
		v, err := j.count(t)
		if err != nil {
			return joint{}, err
		}
		if want, err = t.count(v, j.pos, "count", false); err != nil {
			return joint{}, err
		}
	}
	if err := t.stopped(j.pos); err != nil {
		return joint{}, err
	}
	out := joint{done: make([]done, n), errs: make([]error, n), winner: -1}
	if n == 0 {
		if j.join != "all" {
			t.warn(j.pos, "there is nothing to run in parallel, so that nothing can be first")
			out.short = true
		}
		return out, nil
	}
	delegates := make([]firstgood.Delegate[done], n)
	shared := &shared{from: t, frame: append([]Value(nil), t.frame...), work: work, outer: t.ctx}
	shared.top = shared.frame
	if len(t.top) > 0 && len(t.frame) > 0 && &t.top[0] != &t.frame[0] {
		shared.top = append([]Value(nil), t.top...)
	}
	for i := range delegates {
		delegates[i] = &branch{shared, i}
	}
	cfg := pattern.Config[done]{Name: "parallel", Delegates: delegates, MaxParallel: t.s.cfg.MaxParallel}
	if j.onFail == "fail-fast" || j.onFail == "" && j.join == "all" {
		cfg.Stop = func(firstgood.Failure) bool { return true }
	}
	ctx := context.WithValue(t.ctx, firstgood.ScopeKey{}, (*firstgood.Scope)(nil)) // branches are no calls in the record
	if j.join == "all" || want > 0 {
		return t.fan(ctx, j, cfg, want, out)
	}
	return t.race(ctx, j, cfg, out)
}

func (t *thread) race(ctx context.Context, j modes, cfg pattern.Config[done], out joint) (joint, error) {
	race, err := pattern.NewRace(cfg)
	if err != nil {
		return out, placed(j.pos, err)
	}
	o, err := race.Run(ctx, firstgood.Brief{})
	t.leave(race)
	t.failures(o.History, &out)
	if err == nil {
		out.winner = o.WinnerIndex
		out.done[o.WinnerIndex] = o.Result
		return out, nil
	}
	return out, t.settled(j, o.Status, o.History, err, &out)
}

func (t *thread) fan(ctx context.Context, j modes, cfg pattern.Config[done], want int, out joint) (joint, error) {
	cfg.Want = min(want, len(cfg.Delegates))
	fan, err := pattern.NewFanOut(cfg)
	if err != nil {
		return out, placed(j.pos, err)
	}
	o, err := fan.Run(ctx, firstgood.Brief{})
	if err != nil || want > 0 {
		t.leave(fan)
	}
	t.failures(o.History, &out)
	good := 0
	for i := range o.Result {
		if o.Result[i].joined {
			out.done[i] = o.Result[i]
			good++
		}
	}
	if err == nil && good >= want {
		return out, nil
	}
	if err == nil {
		err = fmt.Errorf("%d of %d branches were to succeed, and %d did", want, len(cfg.Delegates), good)
	}
	return out, t.settled(j, o.Status, o.History, err, &out)
}

// leave lets those that are still running end by themselves.
func (t *thread) leave(in firstgood.Drainer) {
	t.s.live.add(1)
	go func() {
		defer t.s.live.add(-1)
		_ = in.Drain(context.WithoutCancel(t.ctx))
	}()
}

func (t *thread) failures(history []firstgood.Failure, out *joint) {
	for i := range history {
		out.errs[history[i].Index] = errorOf(&history[i])
	}
}

func errorOf(f *firstgood.Failure) error {
	if f.Err != nil {
		return f.Err
	}
	return errors.New(f.Reason)
}

// settled says what becomes of a parallel in which not enough branches succeeded: its error, or nil where the script
// takes it as it is.
func (t *thread) settled(j modes, status firstgood.Status, history []firstgood.Failure, err error, out *joint) error {
	if stopped := t.stopped(j.pos); stopped != nil {
		return stopped
	}
	for i := range history {
		if failed := errorOf(&history[i]); Stops(failed) {
			return placed(j.pos, failed)
		}
	}
	if j.onFail == "continue" || j.onFail == "ignore" {
		out.short = true
		return nil
	}
	if status == firstgood.StatusStopped && len(history) > 0 { // fail-fast
		return placed(j.pos, errorOf(&history[0]))
	}
	if len(history) == 1 {
		return placed(j.pos, errorOf(&history[0]))
	}
	return &Error{Pos: j.pos, Err: &firstgood.Error{Kind: firstgood.KindExhausted, Reason: reason(j, history, err)}}
}

func reason(j modes, history []firstgood.Failure, err error) string {
	said := "no branch of the parallel succeeded"
	if j.count != nil {
		said = err.Error()
	}
	for i := range history {
		if i == 3 {
			return fmt.Sprintf("%s; and %d more", said, len(history)-i)
		}
		said += "; " + caught(errorOf(&history[i])).String()
	}
	return said
}

// shared is what the branches of a parallel have in common. None of it changes.
type shared struct {
	from  *thread
	frame []Value
	top   []Value
	outer context.Context
	work  func(*thread, int) (Value, error)
}

type branch struct {
	*shared
	i int
}

func (b *branch) Name() string { return fmt.Sprintf("branch %d", b.i+1) }

// Attempt runs the branch.
func (b *branch) Attempt(ctx context.Context, _ firstgood.Brief) (done, error) {
	frame := append([]Value(nil), b.frame...)
	top := b.top
	if len(b.frame) > 0 && &b.top[0] == &b.frame[0] {
		top = frame
	}
	t := &thread{
		ctx: inside{ctx, b.outer}, s: b.from.s, run: b.from.run,
		frame: frame, top: top, started: b.from.started, depth: b.from.depth,
	}
	v, err := b.work(t, b.i)
	if err != nil {
		return done{}, err
	}
	return done{v, frame, true}, nil
}

// inside is the context of a branch for what runs in it: it ends with the branch, and otherwise is that of the parallel,
// so that calls are entered in the record as if there were no branch.
type inside struct {
	context.Context
	outer context.Context
}

func (c inside) Value(key any) any {
	switch key.(type) {
	case firstgood.ScopeKey, firstgood.IdempotencyKeyContext:
		return c.outer.Value(key)
	}
	return c.Context.Value(key)
}

// spread compiles a repeat or for that collects in parallel.
func (c *compiler) spread(pos syntax.Pos, m syntax.Mods, k *collector, count func(*thread) (int, func(*thread, int), error)) expr {
	j := c.modes(pos, m)
	return func(t *thread) (Value, error) {
		n, enter, err := count(t)
		if err != nil {
			return Value{}, err
		}
		out, err := t.fork(j, n, func(t *thread, i int) (Value, error) {
			enter(t, i)
			v, _, err := k.once(t)
			return v, err
		})
		if err != nil {
			return Value{}, err
		}
		return out.value(j, k.add)
	}
}

// value is what a parallel gives: the value of the branch that won, or a list in the order of the branches. With
// "continue" the list holds the errors of those that failed in their places.
func (out *joint) value(j modes, add func([]Value, Value) []Value) (Value, error) {
	one := j.join == "first" || j.join == "any" && j.count == nil
	if out.winner >= 0 {
		return out.done[out.winner].value, nil
	}
	if one && j.onFail != "continue" {
		return Value{}, nil
	}
	var values []Value
	for i := range out.done {
		switch {
		case out.done[i].joined:
			values = add(values, out.done[i].value)
		case j.onFail == "continue" && out.errs[i] != nil:
			values = append(values, caught(out.errs[i]))
		}
	}
	v, err := newList(values)
	return v, placed(j.pos, err)
}

// parallel compiles a parallel whose statements are its branches.
func (c *compiler) parallel(x *syntax.Parallel) expr {
	j := c.modes(x.Pos, x.Mods)
	branches := make([]stmt, len(x.Body))
	own := make([][]int, len(x.Body)) // what a branch that is a let binds
	value := make([]int, len(x.Body)) // the slot that is the branch's value, -1 for that of its statement
	for i, s := range x.Body {
		branches[i] = c.body([]syntax.Stmt{s}, true)
		value[i] = -1
		if bind, ok := s.(*syntax.Bind); ok {
			for k := range bind.Names {
				own[i] = append(own[i], c.p.Slots[&bind.Names[k]])
			}
			if !bind.Destruc {
				value[i] = own[i][0]
			}
		}
	}
	writes := c.p.Branches[x]
	return func(t *thread) (Value, error) {
		out, err := t.fork(j, len(branches), func(t *thread, i int) (Value, error) {
			f := branches[i](t)
			if f == next && value[i] >= 0 {
				return t.frame[value[i]], nil
			}
			return t.result(f)
		})
		if err != nil {
			return Value{}, err
		}
		for i := range out.done {
			if out.done[i].joined {
				for _, slot := range writes[i] {
					t.frame[slot] = out.done[i].frame[slot]
				}
				continue
			}
			failed := Value{}
			if out.errs[i] != nil && j.onFail == "continue" {
				failed = caught(out.errs[i])
			}
			for _, slot := range own[i] {
				t.frame[slot] = failed
			}
		}
		return out.value(j, func(values []Value, v Value) []Value { return append(values, v) })
	}
}
