package pattern

import (
	"context"
	"slices"
	"time"

	"github.com/firstgood/firstgood"
)

// plain is the host of an inline run in which no attempt needs anything set up: no timeout, no gate, no policy, no
// record, no nested instance. An attempt is made inside Next, under the caller's context. An instance keeps the one
// that was used last, so that a run needs none of its own.
type plain[R any] struct {
	in      *Instance[R]
	ctx     context.Context
	brief   firstgood.Brief
	i       int // the delegate that Next will ask
	history []firstgood.Failure
	reply   R // of the attempt that was accepted

	// What came of the first attempt, where it has been made before the rule was asked.
	made bool
	turn Turn
	err  error
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
	h.in, h.ctx, h.brief = in, ctx, *brief
	h.turn, h.err = h.take(&first)
	h.made = true
	d, err := Settle(in.plan, h)
	out.Attempts, out.History = in.attempts(d), h.history
	if d.Winner >= 0 {
		in.win(out, d.Winner, h.reply, nil)
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
	if h.made {
		h.made = false
		return h.turn, h.err
	}
	brief := &h.brief
	if h.in.grow != nil {
		grown := h.in.grow(h.brief, h.history)
		brief = &grown
	}
	var f finish[R]
	h.in.try(h.ctx, brief, h.i, nil, &f)
	return h.take(&f)
}

// take makes a turn of what came of attempt i.
func (h *plain[R]) take(f *finish[R]) (Turn, error) {
	switch {
	case h.ctx.Err() != nil:
		h.in.free(f)
		return Turn{}, context.Cause(h.ctx)
	case f.accepted():
		h.reply = f.reply
		return Turn{I: h.i, Accepted: true}, nil
	}
	n := len(h.history)
	if n == 0 {
		h.history = make([]firstgood.Failure, 0, min(max(1, h.in.plan.N-1), 4)) // most runs are won in the end
	}
	h.history = slices.Grow(h.history, 1)[:n+1]
	h.in.tell(h.i, f, &h.history[n])
	h.in.free(f)
	return Turn{I: h.i, Fatal: f.fatal}, nil
}
