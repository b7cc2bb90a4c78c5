package pattern

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

func TestAConfigThatMakesNoSenseIsRefused(t *testing.T) {
	chain := func(cfg config) error { _, err := NewFallbackChain(cfg); return err }
	racing := func(cfg config) error { _, err := NewRace(cfg); return err }
	fan := func(cfg config) error { _, err := NewFanOut(cfg); return err }
	retry := func(cfg config) error { _, err := NewRetryWithLearning(cfg); return err }
	one := delegates{good(0, "").named("a")}
	for _, c := range []struct {
		new  func(config) error
		cfg  config
		want string
	}{
		{chain, config{Delegates: delegates{nil}}, "fallback-chain: delegate 0 is nil"},
		{chain, config{Name: "mine", Timeout: -1}, "mine: Timeout is negative"},
		{chain, config{StartAfter: 1}, "fallback-chain: StartAfter is not for a fallback-chain"},
		{chain, config{Listed: true}, "fallback-chain: Listed is not for a fallback-chain"},
		{chain, config{MaxParallel: 1}, "fallback-chain: MaxParallel is not for a fallback-chain"},
		{chain, config{MaxAttempts: 1}, "fallback-chain: MaxAttempts is not for a fallback-chain"},
		{racing, config{StartAfter: -1}, "race: StartAfter is negative"},
		{racing, config{MaxParallel: -1}, "race: MaxParallel is negative"},
		{racing, config{MaxAttempts: 1}, "race: MaxAttempts is not for a race"},
		{racing, config{Inline: true}, "race: Inline is not for a race"},
		{chain, config{Reserve: 1}, "fallback-chain: a Reserve of 1ns needs a Timeout to be kept of"},
		{racing, config{Reserve: 1, Timeout: 9, StartAfter: 1}, "race: a Reserve of 1ns does not go with StartAfter, whose ticks start the others in any case"},
		{fan, config{Listed: true}, "fan-out: Listed is not for a fan-out"},
		{fan, config{StartAfter: 1}, "fan-out: StartAfter is not for a fan-out"},
		{fan, config{Inline: true}, "fan-out: Inline is not for a fan-out"},
		{retry, config{Delegates: one, MaxAttempts: -1}, "retry-with-learning: MaxAttempts is negative"},
		{retry, config{Delegates: one, MaxParallel: 1}, "retry-with-learning: MaxParallel is not for a retry-with-learning"},
		{retry, config{Delegates: append(one, one...)}, "retry-with-learning: got 2 delegates, want one target"},
		{retry, config{Name: "mine"}, "mine: got 0 delegates, want one target"},
	} {
		if err := c.new(c.cfg); err == nil || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.cfg, err, c.want)
		}
	}
}

func TestAnInstanceIsIndependentOfTheConfigItWasMadeFrom(t *testing.T) {
	cfg := config{Delegates: delegates{good(0, "4").named("a")}}
	in, err := NewFallbackChain(cfg)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Delegates[0] = bad(0, errDown).named("b")
	out, err := in.Run(t.Context(), question)
	won(t, out, err, "a", "4")
	equal(t, "name", []string{in.Name(), in.Pattern()}, []string{"fallback-chain", "fallback-chain"})
}

// plainCloser closes, and panics when it does.
type plainCloser struct{ closed *int }

func (c plainCloser) Close() error {
	*c.closed++
	panic("close")
}

// eager is closed by the time somebody wants it to hold something.
type eager struct{}

func (eager) Hold(release func()) bool {
	release()
	return true
}

// unwilling needs nothing held.
type unwilling struct{}

func (unwilling) Hold(func()) bool { return false }

func TestReplyHooks(t *testing.T) {
	closed := 0
	closeAll([]io.Closer{plainCloser{&closed}, nil, (*firstgood.Stream)(nil), plainCloser{&closed}})
	closeAll([][]plainCloser{{{&closed}}, nil, {{&closed}, {&closed}}})
	closeAll([]int{1})
	closeAll(nil)
	equal(t, "closed", closed, 5)

	for _, c := range []struct {
		name     string
		reply    any
		held     bool
		released int
	}{
		{"nothing", nil, false, 0},
		{"no holder", "4", false, 0},
		{"a nil holder", (*firstgood.Stream)(nil), false, 0},
		{"a reply without a stream", firstgood.Reply{}, false, 0},
		{"an empty list", []firstgood.Reply{}, false, 0},
		{"a list of strings", []string{"4"}, false, 0},
		{"a list that needs nothing", []firstgood.Reply{{}, {}}, false, 0},
		{"an eager one", eager{}, true, 1},
		{"a list of eager ones", []eager{{}, {}}, true, 1},
		{"an eager one that is last", []any{unwilling{}, eager{}}, true, 1},
		{"an eager one that is first", []any{eager{}, unwilling{}}, true, 1},
		{"lists in a list", [][]eager{{}, {{}, {}}}, true, 1},
	} {
		released := 0
		held := holdAll(c.reply, func() { released++ })
		equal(t, c.name, []any{held, released}, []any{c.held, c.released})
	}

	a, b := firstgood.NewStream(io.NopCloser(nil)), firstgood.NewStream(io.NopCloser(nil))
	released := 0
	equal(t, "held", holdAll([]firstgood.Reply{{Stream: a}, {}, {Stream: b}}, func() { released++ }), true)
	_ = b.Close()
	equal(t, "released with one open", released, 0)
	_ = a.Close()
	equal(t, "released with none open", released, 1)
}

func TestUsageIsThatOfTheErrorElseOfTheReply(t *testing.T) {
	in, err := NewFallbackChain(Config[firstgood.Reply]{})
	if err != nil {
		t.Fatal(err)
	}
	of := func(n int) firstgood.Usage { return firstgood.Usage{InputTokens: n, Source: firstgood.SourceMeasured} }
	equal(t, "reply", in.usage(firstgood.Reply{Usage: of(1)}, nil), of(1))
	equal(t, "error", in.usage(firstgood.Reply{Usage: of(1)}, errors.Join(errDown, &firstgood.Error{Usage: of(2)})), of(2))
	equal(t, "reply beside an error", in.usage(firstgood.Reply{Usage: of(1)}, errDown), of(1))
	other, err := NewFallbackChain(Config[*firstgood.Reply]{})
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "nil reply", other.usage(nil, nil), firstgood.Usage{})
}

// A hook of the caller's that panics while the winner is kept leaves no context behind.
func TestAHoldThatPanicsEndsTheWinnersContext(t *testing.T) {
	var attempt context.Context
	in, err := NewFallbackChain(config{
		Delegates: delegates{firstgood.Within(time.Hour, firstgood.Func("a", func(ctx context.Context, _ firstgood.Brief) (string, error) {
			attempt = ctx
			return "4", nil
		}))},
		Hold: func(string, func()) bool { panic("hold") },
	})
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { equal(t, "panic", recover(), any("hold")) }()
		_, _ = in.Run(t.Context(), question)
	}()
	equal(t, "context", attempt.Err(), context.Canceled)
}
