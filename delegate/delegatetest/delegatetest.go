// Package delegatetest holds the tests that every kind of delegate passes. A kind's own test calls [Run] with a
// [Kind] whose New turns a [Behaviour] into a delegate that does that, by way of all that the kind brings along: a
// server, a process, a function. A Behaviour is data and no closure, so that it can cross into another process.
package delegatetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// Behaviour is what the work behind a delegate does with each brief. The zero Behaviour answers with an empty text.
type Behaviour struct {
	Answer string `json:"answer,omitempty"` // the text to answer with; it never ends in a line break
	Fail   string `json:"fail,omitempty"`   // when not empty: fail, and say this in the reason or the detail
	Hang   bool   `json:"hang,omitempty"`   // start, and then neither answer nor fail until torn down
}

// Subject is a delegate under test with windows onto its work. The channels need room for 16 values each, or a
// sender that does not hold up the work.
type Subject struct {
	Delegate firstgood.Delegate[firstgood.Reply]
	// Started receives once for each attempt whose work has begun, after its brief is among the Briefs.
	Started <-chan struct{}
	// Gone receives once for each hanging attempt whose work has been torn down: the connection closed, the process
	// ended.
	Gone <-chan struct{}
	// Briefs returns the briefs that have reached the work, as the work read them, in any order. It is safe to call
	// at any time.
	Briefs func() []string
}

// Kind is one kind of delegate.
type Kind struct {
	// New returns a delegate with the given behaviour. What it opens it closes through t.Cleanup; before that, the suite
	// drains a delegate that is a [firstgood.Drainer] and closes one that is an [io.Closer].
	New func(t *testing.T, b Behaviour) Subject
	// Skip holds a reason for each test that the kind cannot pass by its nature, under the test's name below Run, such
	// as "brief/nul" for one that passes the brief in an argument. An unknown name fails.
	Skip map[string]string
	// Patience is how long a test waits for what ought to happen soon, before it fails. 0 means 30 seconds.
	Patience time.Duration
}

// Run runs the suite as subtests of t.
func Run(t *testing.T, kind Kind) {
	patience := kind.Patience
	if patience <= 0 {
		patience = 30 * time.Second
	}
	tests := suite()
	for name := range kind.Skip {
		if !slices.ContainsFunc(tests, func(c test) bool { return c.name == name }) {
			t.Errorf("Skip names %q, which is no test of the suite", name)
		}
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			if reason, skip := kind.Skip[c.name]; skip {
				t.Skip(reason)
			}
			label := watchGoroutines(t, patience)
			s := kind.New(t, c.behaviour)
			if s.Delegate == nil || s.Started == nil || s.Gone == nil || s.Briefs == nil {
				t.Fatal("New returned a Subject with a nil field")
			}
			t.Cleanup(func() { shut(t, s.Delegate, patience) })
			c.run(&trial{t, s, label, patience})
		})
	}
}

// shut ends what the delegate may have left behind.
func shut(t *testing.T, d firstgood.Delegate[firstgood.Reply], patience time.Duration) {
	if drainer, ok := d.(firstgood.Drainer); ok {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := drainer.Drain(ctx); err != nil {
			t.Errorf("Drain: %v", err)
		}
	}
	if closer, ok := d.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

type test struct {
	name      string
	behaviour Behaviour
	run       func(*trial)
}

// suite lists the tests. Their names are part of the package's interface: Skip uses them.
func suite() []test {
	tests := []test{
		{"name", Behaviour{Answer: "yes"}, checkName},
		{"fail", Behaviour{Fail: "out of paper"}, checkFail},
		{"brief/twice", Behaviour{Answer: "yes"}, checkTwice},
		{"cancelled_before", Behaviour{Answer: "yes"}, checkCancelledBefore},
		{"cancelled_in_flight", Behaviour{Hang: true}, checkCancelledInFlight},
		{"deadline_in_flight", Behaviour{Hang: true}, checkDeadlineInFlight},
		{"lost_in_flight", Behaviour{Hang: true}, checkLostInFlight},
		{"overlap", Behaviour{Hang: true}, checkOverlap},
		{"many_at_once", Behaviour{Answer: "yes"}, checkMany},
	}
	large := strings.Repeat("All work and no play — 退屈 🎈.\r\n", 1<<20/40) + "end"
	for _, answer := range []struct{ name, text string }{
		{"plain", "forty-two"},
		{"empty", ""},
		{"unicode", "naïve – 日本語 🎉 e\u0301\u2028end"},
		{"lines", "one\r\ntwo\n\n  three"},
		{"markup", "<b>1 &amp; 2</b> \"q\" 'q' \\n \\u0041"},
		{"json", `{"answer": [1, 2.50, null]}`},
		{"large", large},
	} {
		tests = append(tests, test{"answer/" + answer.name, Behaviour{Answer: answer.text}, func(c *trial) {
			got := c.attempt(context.Background(), firstgood.Text("what is it?"))
			if got.err != nil {
				c.Fatalf("Attempt: %v", got.err)
			}
			c.same("answer", got.text, answer.text)
		}})
	}
	for _, brief := range []struct{ name, text string }{
		{"plain", "summarise this"},
		{"empty", ""},
		{"unicode", "naïve – 日本語 🎉 e\u0301\u2028end\uFEFF"},
		{"crlf", "one\r\ntwo\rthree\nfour"},
		{"space", "  \t leading and trailing \n\n"},
		{"quotes", "\"double\" 'single' `back` \\ \\n \\\" end"},
		{"shell", "$HOME $(exit 1) ; exit 1 | cat > f & %PATH% !! * ? ~ # <b>&lt;</b>"},
		{"template", "{brief} {{brief}} ${HOME} $${HOME} {0} %s %d {{.}}"},
		{"flag", "--help"},
		{"dots", ".."},
		{"query", "a=b&c=d+e%20f?g#h/../i"},
		{"json", `{"model":"other","messages":[]}`},
		{"nul", "before\x00after"},
		{"large", large},
	} {
		tests = append(tests, test{"brief/" + brief.name, Behaviour{Answer: "yes"}, func(c *trial) {
			if got := c.attempt(context.Background(), firstgood.Text(brief.text)); got.err != nil {
				c.Fatalf("Attempt: %v", got.err)
			}
			c.arrived(brief.text)
		}})
	}
	return tests
}

func checkName(c *trial) {
	name := c.Delegate.Name()
	if name == "" {
		c.Error("Name is empty")
	}
	if got := c.attempt(context.Background(), firstgood.Text("hello")); got.err != nil {
		c.Errorf("Attempt: %v", got.err)
	}
	if after := c.Delegate.Name(); after != name {
		c.Errorf("Name changed from %q to %q", name, after)
	}
}

func checkFail(c *trial) {
	got := c.attempt(context.Background(), firstgood.Text("print it"))
	if got.err == nil {
		c.Fatalf("Attempt answered %q, want a failure", got.text)
	}
	var classed *firstgood.Error
	var nested *firstgood.NoWinnerError
	if !errors.As(got.err, &classed) && !errors.As(got.err, &nested) {
		c.Errorf("the error %T has no *firstgood.Error in its chain: %v", got.err, got.err)
	}
	f := firstgood.FailureOf(c.Delegate.Name(), 0, got.err)
	if said := f.Reason + f.Detail; !strings.Contains(said, "out of paper") {
		c.Errorf("neither the reason %q nor the detail %q says %q", f.Reason, f.Detail, "out of paper")
	}
	if strings.Contains(f.Reason, "\n") {
		c.Errorf("the reason %q has more than one line", f.Reason)
	}
}

// checkTwice holds F2 and S28: what one attempt is given, another is too.
func checkTwice(c *trial) {
	text := "the one brief\n"
	brief := firstgood.Text(text)
	for range 2 {
		if got := c.attempt(context.Background(), brief); got.err != nil {
			c.Fatalf("Attempt: %v", got.err)
		}
	}
	c.arrived(text, text)
	c.same("brief after both attempts", brief.String(), text)
}

func checkCancelledBefore(c *trial) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("nobody wants it")
	cancel(cause)
	c.stopped(c.attempt(ctx, firstgood.Text("hello")), cause)
	if briefs := c.Briefs(); len(briefs) > 0 {
		c.Errorf("work was done on %d briefs", len(briefs))
	}
}

func checkCancelledInFlight(c *trial) { _ = c.stopInFlight(errors.New("nobody wants it")) }

func checkDeadlineInFlight(c *trial) {
	err := c.stopInFlight(fmt.Errorf("its 5s were up: %w", context.DeadlineExceeded))
	if f := firstgood.FailureOf(c.Delegate.Name(), 0, err); f.Kind != firstgood.KindTimeout {
		c.Errorf("kind %s, want %s", f.Kind, firstgood.KindTimeout)
	}
}

func checkLostInFlight(c *trial) { _ = c.stopInFlight(&firstgood.LostError{Winner: "another"}) }

// checkOverlap holds S38: two attempts are under way at once, and the end of one does not touch the other.
func checkOverlap(c *trial) {
	first, cancelFirst := context.WithCancelCause(context.Background())
	second, cancelSecond := context.WithCancelCause(context.Background())
	defer cancelFirst(nil)
	defer cancelSecond(nil)
	a, b := c.start(first, firstgood.Text("first")), c.start(second, firstgood.Text("second"))
	await(c, c.Started, "the first start")
	await(c, c.Started, "the second start, while the first is under way")

	lost := &firstgood.LostError{Winner: "another"}
	cancelFirst(lost)
	c.stopped(await(c, a, "the first attempt's return"), lost)
	await(c, c.Gone, "the end of the first attempt's work")
	select {
	case got := <-b:
		c.Errorf("the second attempt returned %q, %v, though only the first was cancelled", got.text, got.err)
		return
	case <-c.Gone:
		c.Error("the second attempt's work is gone, though only the first was cancelled")
	default:
	}
	cancelSecond(lost)
	c.stopped(await(c, b, "the second attempt's return"), lost)
	await(c, c.Gone, "the end of the second attempt's work")
}

func checkMany(c *trial) {
	var want []string
	var attempts []<-chan result
	for i := range 8 {
		want = append(want, fmt.Sprintf("brief %d", i))
		attempts = append(attempts, c.start(context.Background(), firstgood.Text(want[i])))
	}
	for _, attempt := range attempts {
		got := await(c, attempt, "an attempt's return")
		if got.err != nil || got.text != "yes" {
			c.Errorf("got %q, %v, want %q", got.text, got.err, "yes")
		}
	}
	c.arrived(want...)
}
