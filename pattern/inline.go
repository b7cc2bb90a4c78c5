package pattern

import (
	"context"
	"time"

	"github.com/firstgood/firstgood"
)

// plain is the host of an inline run in which no attempt needs anything set up: no timeout, no gate, no record, no
// nested instance. An attempt is made inside Next, under the caller's context. An instance keeps the one that was
// used last, so that a run needs none of its own.
type plain[R any] struct {
	in      *Instance[R]
	ctx     context.Context
	brief   firstgood.Brief
	i       int       // the delegate that Next will ask
	f       finish[R] // of the attempt made last
	made    bool      // the attempt that Next should make has been made, and f is what came of it
	history []firstgood.Failure
}

// runPlain makes the first attempt ahead of the rule. When it is good, the rule would settle at once, so that nothing
// else need be set up.
func (in *Instance[R]) runPlain(ctx context.Context, brief *firstgood.Brief, out *firstgood.Outcome[R]) error {
	var first finish[R]
	in.try(ctx, brief, 0, nil, &first)
	if first.accepted() && ctx.Err() == nil {
		out.Attempts = 1
		in.win(out, 0, first.reply, nil)
		return nil
	}
	h := in.spare.Swap(nil)
	if h == nil {
		h = new(plain[R])
	}
	h.in, h.ctx, h.brief, h.f, h.made = in, ctx, *brief, first, true
	d, err := Settle(in.plan, h)
	out.Attempts, out.History = in.attempts(d), h.history
	if d.Winner >= 0 {
		in.win(out, d.Winner, h.f.reply, nil)
	} else {
		err = in.noWinner(out, d, err, nil)
	}
	*h = plain[R]{}
	in.spare.Store(h)
	return err
}

// Call implements [Host].
func (h *plain[R]) Call(i int) { h.i = i }

// Cancel implements [Host]. Nothing is ever in flight when a run is settled.
func (h *plain[R]) Cancel(int, int) {}

// Next implements [Host]: it makes the attempt that Call named.
func (h *plain[R]) Next(time.Duration) (Turn, error) {
	in, f := h.in, &h.f
	if !h.made {
		brief := &h.brief
		if in.grow != nil {
			grown := in.grow(h.brief, h.history)
			brief = &grown
		}
		*f = finish[R]{}
		in.try(h.ctx, brief, h.i, nil, f)
	}
	h.made = false
	switch {
	case h.ctx.Err() != nil:
		in.free(f)
		return Turn{}, context.Cause(h.ctx)
	case f.accepted():
		return Turn{I: h.i, Accepted: true}, nil
	}
	if h.history == nil {
		h.history = make([]firstgood.Failure, 0, min(in.plan.N, 4))
	}
	h.history = append(h.history, firstgood.Failure{})
	in.tell(h.i, f, &h.history[len(h.history)-1])
	in.free(f)
	return Turn{I: h.i, Fatal: f.fatal}, nil
}
