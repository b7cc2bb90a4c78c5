package engine

import (
	"context"
	"fmt"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/pattern"
)

// budgeted is an instance whose runs may spend so much. What is spent is read from the record: losers and judges count,
// and so does what runs inside. It is checked before each start, so that it can be exceeded by what is in flight.
type budgeted struct {
	runner
	name   string
	budget config.Budget
	prices map[string]config.Price
}

func (b *budgeted) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	return b.runner.Attempt(b.open(ctx), brief)
}

func (b *budgeted) Run(ctx context.Context, brief firstgood.Brief) (firstgood.Outcome[firstgood.Reply], error) {
	return b.runner.Run(b.open(ctx), brief)
}

// purse is the budget of a run that is under way, and that of the run around it.
type purse struct {
	*budgeted
	scope *firstgood.Scope
	outer *purse
}

type purseKey struct{}

func (b *budgeted) open(ctx context.Context) context.Context {
	outer, _ := ctx.Value(purseKey{}).(*purse)
	return context.WithValue(ctx, purseKey{}, &purse{b, firstgood.ScopeOf(ctx), outer})
}

// unbudgeted returns a context for weighing a reply. That is part of the attempt which was paid for: its calls count, but
// none is refused, whether the judge is one delegate or a chain of them, but by a budget of the judge's own.
func unbudgeted(ctx context.Context) context.Context {
	if ctx.Value(purseKey{}) == nil {
		return ctx
	}
	return context.WithValue(ctx, purseKey{}, (*purse)(nil))
}

// affordable is the gate of every instance where there are budgets. The first start of a run is never refused by its
// own budget.
func affordable(ctx context.Context, s pattern.Start) error {
	p, _ := ctx.Value(purseKey{}).(*purse)
	scope := firstgood.ScopeOf(ctx)
	for ; p != nil; p = p.outer {
		own := p.scope == scope
		if own && s.Started == 0 {
			continue
		}
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

func (p *purse) check() error {
	calls, tokens, cost := 0, 0, 0.0
	for _, c := range p.scope.Record.Under(p.scope.Call) {
		if c.Nested {
			continue
		}
		calls++
		tokens += c.Usage.InputTokens + c.Usage.OutputTokens
		cost += costOf(c, p.prices)
	}
	switch b := p.budget; {
	case b.Calls > 0 && calls >= b.Calls:
		return spentf("the budget of %s is spent: %d of %d calls", p.name, calls, b.Calls)
	case b.Tokens > 0 && tokens >= b.Tokens:
		return spentf("the budget of %s is spent: %d of %d tokens", p.name, tokens, b.Tokens)
	case b.Cost > 0 && cost >= b.Cost:
		return spentf("the budget of %s is spent: $%.4g of $%.4g", p.name, cost, b.Cost)
	}
	return nil
}

// spentError says that a budget is spent, which no text of a document can catch.
type spentError struct{ reason string }

func (e *spentError) Error() string { return e.reason }

func spentf(format string, args ...any) error { return &spentError{fmt.Sprintf(format, args...)} }

// costOf is what a call has cost in US dollars, as far as its price and usage are known.
func costOf(c firstgood.Call, prices map[string]config.Price) float64 {
	price, priced := prices[c.Delegate]
	if !priced {
		return c.Usage.Cost // as the delegate says
	}
	return (float64(c.Usage.InputTokens)*price.Input + float64(c.Usage.OutputTokens)*price.Output) / 1e6
}

// pricesOf are the prices of the file's delegates, per million tokens, by name.
func pricesOf(delegates []*config.Delegate) map[string]config.Price {
	prices := map[string]config.Price{}
	for _, d := range delegates {
		if d.Price != nil {
			prices[d.Name] = *d.Price
		}
	}
	return prices
}
