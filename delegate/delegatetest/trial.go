package delegatetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// trial is one subject in one test.
type trial struct {
	*testing.T
	Subject
	label    string
	patience time.Duration
}

type result struct {
	text string
	err  error
}

// start begins an attempt.
func (c *trial) start(ctx context.Context, brief firstgood.Brief) <-chan result {
	done := make(chan result, 1)
	go pprof.Do(ctx, pprof.Labels(labelKey, c.label), func(ctx context.Context) {
		reply, err := c.Delegate.Attempt(ctx, brief)
		if err != nil {
			if reply.Stream != nil {
				c.Error("Attempt returned an open stream beside an error")
				_ = reply.Close()
			}
			done <- result{err: err}
			return
		}
		text := reply.String()
		if reply.Stream != nil {
			var data []byte
			data, err = io.ReadAll(reply.Stream)
			text, err = string(data), errors.Join(err, reply.Close())
		}
		done <- result{text, err}
	})
	return done
}

// attempt is a whole attempt.
func (c *trial) attempt(ctx context.Context, brief firstgood.Brief) result {
	c.Helper()
	return await(c, c.start(ctx, brief), "the attempt's return")
}

// stopInFlight cancels an attempt whose work hangs, and returns its error.
func (c *trial) stopInFlight(cause error) error {
	c.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	attempt := c.start(ctx, firstgood.Text("take your time"))
	await(c, c.Started, "the start of the work")
	select {
	case got := <-attempt:
		c.Fatalf("a hanging attempt returned %q, %v", got.text, got.err)
	default:
	}
	cancel(cause)
	got := await(c, attempt, "the attempt's return after it was cancelled")
	c.stopped(got, cause)
	await(c, c.Gone, "the end of the cancelled work")
	return got.err
}

// stopped checks the end of an attempt whose context has ended with cause.
func (c *trial) stopped(got result, cause error) {
	c.Helper()
	switch {
	case got.err == nil:
		c.Fatalf("Attempt answered %q after it was cancelled", got.text)
	case !errors.Is(got.err, cause) && !errors.Is(got.err, context.Canceled):
		c.Errorf("the error %q matches neither the cause %q nor context.Canceled", got.err, cause)
	case firstgood.FailureOf(c.Delegate.Name(), 0, got.err).Reason == "":
		c.Error("the failure has no reason")
	}
}

// arrived checks which briefs have reached the work, in any order.
func (c *trial) arrived(want ...string) {
	c.Helper()
	got := c.Briefs()
	if len(got) != len(want) {
		c.Errorf("%d briefs reached the work, want %d", len(got), len(want))
		return
	}
	got, want = slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))
	for i := range want {
		c.same("brief", got[i], want[i])
	}
}

// same compares texts, and shows where they part.
func (c *trial) same(what, got, want string) {
	c.Helper()
	if got == want {
		return
	}
	at := 0
	for at < min(len(got), len(want)) && got[at] == want[at] {
		at++
	}
	excerpt := func(s string) string { return s[max(0, at-20):min(len(s), at+20)] }
	c.Errorf("%s of %d bytes, want %d; at byte %d got %q, want %q", what, len(got), len(want), at, excerpt(got), excerpt(want))
}

// await receives from ch, and fails the test when nothing comes.
func await[T any](c *trial, ch <-chan T, what string) T {
	c.Helper()
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-timer.C:
		c.Fatalf("waited %v for %s", c.patience, what)
		panic("unreachable")
	}
}

// labelKey marks goroutines: those that an attempt starts inherit its label, so that they can be told from the
// work's own and from other tests'.
const labelKey = "delegatetest"

// watchGoroutines returns a label for the test's attempts. Once all else of the test has been cleaned up, no
// goroutine with the label may be left.
func watchGoroutines(t *testing.T, patience time.Duration) string {
	label := fmt.Sprintf("%s %p", t.Name(), t)
	t.Cleanup(func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		var left string
		for range int(patience / time.Millisecond) {
			if left = labelled(label); left == "" {
				return
			}
			<-tick.C // a goroutine's end cannot be waited for, only seen
		}
		t.Errorf("goroutines left behind:\n%s", left)
	})
	return label
}

// labelled returns the stacks of the goroutines with the label.
func labelled(label string) string {
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		return err.Error()
	}
	var left []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", labelKey, label)) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
