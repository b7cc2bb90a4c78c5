package pattern

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

// What the tests are written in: delegates that act at given times of a virtual clock, the log of what they did, and
// the hosts that a statement has to hold on.

var (
	errDown  = errors.New("down")
	question = firstgood.Text("2+2?")
)

type (
	delegate  = firstgood.Delegate[string]
	delegates = []firstgood.Delegate[string]
	config    = Config[string]
)

// host is a way to run a fallback-chain or a retry-with-learning.
type host struct{ inline, recorded bool }

// everyHost runs f for each host, in a bubble of virtual time.
func everyHost(t *testing.T, f func(t *testing.T, h host)) {
	t.Helper()
	for name, h := range map[string]host{
		"goroutines":          {},
		"goroutines recorded": {recorded: true},
		"inline":              {inline: true},
		"inline recorded":     {inline: true, recorded: true},
	} {
		inBubble(t, name, func(t *testing.T) { f(t, h) })
	}
}

func inBubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

func (h host) ctx(parent context.Context) context.Context {
	if h.recorded {
		return firstgood.WithRecord(parent, firstgood.NewRecord(time.Now(), nil))
	}
	return parent
}

// chain builds a fallback-chain on the host.
func (h host) chain(t *testing.T, cfg config) *Instance[string] {
	t.Helper()
	cfg.Inline = h.inline
	return built(t)(NewFallbackChain(cfg))
}

// nested builds a chain for a slot. It is not exact, since only one goroutine of a bubble may wait for the others.
func (h host) nested(t *testing.T, cfg config) *Instance[string] {
	t.Helper()
	in := h.chain(t, cfg)
	in.ready = yield
	return in
}

func (h host) run(t *testing.T, in *Instance[string]) (firstgood.Outcome[string], error) {
	t.Helper()
	return in.Run(h.ctx(t.Context()), question)
}

// built returns what a constructor gave, made exact: of what happens at one virtual instant, all is known.
func built(t *testing.T) func(in *Instance[string], err error) *Instance[string] {
	return func(in *Instance[string], err error) *Instance[string] {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		in.ready = synctest.Wait
		return in
	}
}

// race runs a race in a bubble.
func race(t *testing.T, cfg config) (firstgood.Outcome[string], error) {
	t.Helper()
	return built(t)(NewRace(cfg)).Run(t.Context(), question)
}

// act is how a delegate behaves: it returns this after that long, or earlier with the cause when it is cancelled,
// unless it is deaf.
type act struct {
	after time.Duration
	reply string
	err   error
	deaf  bool
}

func (a act) named(name string) delegate { return a.logged(name, nil) }

// logged enters start, end and cancel in the log.
func (a act) logged(name string, l *log) delegate {
	return firstgood.Func(name, func(ctx context.Context, _ firstgood.Brief) (string, error) {
		l.add("start", name)
		done := ctx.Done()
		if a.deaf {
			done = nil
		}
		select {
		case <-time.After(a.after):
			l.add("end", name)
			return a.reply, a.err
		case <-done:
			l.add("cancelled", name)
			return "", context.Cause(ctx)
		}
	})
}

func good(after time.Duration, reply string) act { return act{after: after, reply: reply} }
func bad(after time.Duration, err error) act     { return act{after: after, err: err} }

// log is what happened, with virtual times since the log was made. A nil log drops all.
type log struct {
	mu      sync.Mutex
	start   time.Time
	entries []string
}

func newLog() *log { return &log{start: time.Now()} }

func (l *log) add(words ...string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, fmt.Sprintf("%v %s", time.Since(l.start), strings.Join(words, " ")))
}

func (l *log) want(t *testing.T, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	equal(t, "log", l.entries, want)
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %#v, want %#v", what, got, want)
	}
}

// reject are criteria that reject the replies given, with the reason.
func reject(reasons map[string]string) firstgood.Criteria[string] {
	return func(_ context.Context, _ firstgood.Brief, reply string) (firstgood.Verdict, error) {
		reason, bad := reasons[reply]
		return firstgood.Verdict{Rejected: bad, Reason: reason}, nil
	}
}

// told is a history without what differs from run to run.
func told(history []firstgood.Failure) []string {
	entries := []string{}
	for _, f := range history {
		entries = append(entries, fmt.Sprintf("%d %s", f.Index, f))
	}
	return entries
}

// states are the states of the calls, in order of start.
func states(calls []firstgood.Call) []string {
	entries := []string{}
	for _, c := range calls {
		entries = append(entries, fmt.Sprintf("%s %s", c.Delegate, c.State))
	}
	return entries
}

// noWinner checks the error of a run without a winner, against the outcome.
func noWinner(t *testing.T, out firstgood.Outcome[string], err error, status firstgood.Status) *firstgood.NoWinnerError {
	t.Helper()
	var e *firstgood.NoWinnerError
	if !errors.As(err, &e) || !errors.Is(err, firstgood.ErrNoWinner) {
		t.Fatalf("got error %v, want a *NoWinnerError", err)
	}
	equal(t, "status", out.Status, status)
	equal(t, "status of the error", e.Status, status)
	equal(t, "history of the error", e.History, out.History)
	equal(t, "attempts of the error", e.Attempts, out.Attempts)
	equal(t, "result", out.Result, "")
	equal(t, "winner", out.Winner, "")
	equal(t, "winner index", out.WinnerIndex, -1)
	equal(t, "winner path", out.WinnerPath, []string(nil))
	return e
}

// won checks who has won, and with what.
func won(t *testing.T, out firstgood.Outcome[string], err error, winner, result string) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v, want %s to win", err, winner)
	}
	equal(t, "status", out.Status, firstgood.StatusWon)
	equal(t, "winner", out.Winner, winner)
	equal(t, "result", out.Result, result)
}
