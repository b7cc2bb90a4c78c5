package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/health"
	"github.com/firstgood/firstgood/pattern"
)

// What an instance says of failures, budgets and health becomes the Stop and the Gate of its pattern here.

// policy sets what in's config says of failures, starts and time.
func (e *Engine) policy(in *config.Instance, cfg *pattern.Config[firstgood.Reply]) error {
	cfg.Reserve = in.Config.Reserve
	if in.Config.OnRefusal != nil {
		for i, d := range cfg.Delegates {
			cfg.Delegates[i] = &refusing{d}
		}
	}
	cfg.Stop = stopOf(in)
	gates, err := e.gates(in)
	if err != nil || len(gates) == 0 {
		return err
	}
	cfg.Gate = func(ctx context.Context, s pattern.Start) error {
		for _, gate := range gates {
			if err := gate(ctx, s); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

// stopOf returns which failures end a run of in, nil for none.
func stopOf(in *config.Instance) func(firstgood.Failure) bool {
	var stops []func(firstgood.Failure) bool
	if kinds := in.Config.AdvanceOn; kinds != nil {
		stops = append(stops, func(f firstgood.Failure) bool { return !slices.Contains(kinds, f.Kind) })
	}
	if kinds := in.Config.StopOn; kinds != nil {
		stops = append(stops, func(f firstgood.Failure) bool { return slices.Contains(kinds, f.Kind) })
	}
	if refusal := in.Config.OnRefusal; refusal != nil && refusal.Stop {
		stops = append(stops, refused)
	}
	if left := leftBehind(in); left != nil && in.Pattern != pattern.FanOutName {
		stops = append(stops, left)
	}
	if len(stops) == 0 {
		return nil
	}
	return func(f firstgood.Failure) bool {
		for _, stop := range stops {
			if stop(f) {
				return true
			}
		}
		return false
	}
}

// refused reports whether the attempt, or one in the inner run that it was, was refused. A judge that refuses says nothing
// of the brief.
func refused(f firstgood.Failure) bool {
	inner, ok := f.Err.(*firstgood.NoWinnerError) // one that is wrapped is a judge's
	return f.Kind == firstgood.KindRefused || ok && slices.ContainsFunc(inner.History, refused)
}

// refusing makes a reply whose refusal field is set a failure.
type refusing struct {
	firstgood.Delegate[firstgood.Reply]
}

func (r *refusing) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	reply, err := r.Delegate.Attempt(ctx, brief)
	if err == nil && strings.TrimSpace(reply.Refusal) != "" {
		reason, _ := firstgood.Excerpt(reply.Refusal, firstgood.ExcerptUnits)
		err = &firstgood.Error{Kind: firstgood.KindRefused, Reason: reason, Usage: reply.Usage}
	}
	return reply, err
}

func (r *refusing) AttemptTimeout() time.Duration {
	if limited, ok := r.Delegate.(firstgood.Limited); ok {
		return limited.AttemptTimeout()
	}
	return 0
}

func (r *refusing) Drain(ctx context.Context) error {
	if drainer, ok := r.Delegate.(firstgood.Drainer); ok {
		return drainer.Drain(ctx)
	}
	return nil
}

func (r *refusing) Nests() bool { return pattern.Nests(r.Delegate) }

type gate func(context.Context, pattern.Start) error

// gates returns what has to agree before a delegate of in starts, the cheapest first. The ceiling is last, since a
// token that it gives should be used.
func (e *Engine) gates(in *config.Instance) ([]gate, error) {
	var gates []gate
	var names []string
	for member := range membersOf(in) {
		names = append(names, member.Name)
	}
	name := func(s pattern.Start) string { return names[min(s.I, len(names)-1)] } // a target has one name
	if refusal := in.Config.OnRefusal; refusal != nil && !refusal.Stop {
		gates = append(gates, func(_ context.Context, s pattern.Start) error {
			if slices.ContainsFunc(s.History, refused) && !slices.Contains(refusal.Ask, name(s)) {
				return fmt.Errorf("after a refusal only %s may be asked", strings.Join(refusal.Ask, ", "))
			}
			return nil
		})
	}
	if e.budgets {
		gates = append(gates, affordable)
	}
	if e.tracker != nil {
		watched := make([]bool, 0, len(names))
		for member := range membersOf(in) {
			watched = append(watched, member.Delegate != nil)
		}
		gates = append(gates, func(_ context.Context, s pattern.Start) error {
			if !watched[min(s.I, len(watched)-1)] {
				return nil
			}
			return e.tracker.May(name(s))
		})
	}
	if share := in.Config.HedgeCeiling; share > 0 {
		ceiling, err := health.NewCeiling(health.CeilingConfig{Share: share})
		if err != nil {
			return nil, err
		}
		gates = append(gates, func(_ context.Context, s pattern.Start) error {
			if s.Started == 0 {
				ceiling.Run()
			}
			if !s.Tick {
				return nil
			}
			return ceiling.Extra()
		})
	}
	return gates, nil
}

// trackerOf returns the health that the file asks for, nil where it is off.
func trackerOf(file *config.File) (*health.Tracker, error) {
	if file == nil || file.Health == nil {
		return nil, nil
	}
	cfg := health.Config{Cooldown: file.Health.Cooldown, MaxCooldown: file.Health.MaxCooldown, Breaker: health.Breaker{Off: true}}
	if b := file.Health.Breaker; b != nil {
		cfg.Breaker = health.Breaker{Sample: b.MinSample, Ratio: b.FailureRatio, Window: b.Window, Open: b.Open}
	}
	return health.New(cfg)
}
