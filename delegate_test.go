package firstgood

import (
	"context"
	"errors"
	"testing"
	"time"
)

// full is a delegate with all that a delegate may have.
type full struct{ Delegate[string] }

func (full) AttemptTimeout() time.Duration { return time.Hour }
func (full) Nests() bool                   { return true }
func (full) Drain(context.Context) error   { return errors.New("drained") }

func TestWithinKeepsWhatItsDelegateIs(t *testing.T) {
	plain := Func("a", func(_ context.Context, b Brief) (string, error) { return b.String(), nil })
	for _, c := range []struct {
		d      Delegate[string]
		nests  bool
		drains string
	}{
		{Within(time.Second, plain), false, ""},
		{Within(time.Second, Delegate[string](full{plain})), true, "drained"},
		{Within(time.Second, Within(time.Minute, Delegate[string](full{plain}))), true, "drained"},
	} {
		if reply, err := c.d.Attempt(t.Context(), Text("q")); c.d.Name() != "a" || reply != "q" || err != nil {
			t.Errorf("got %s, %q, %v", c.d.Name(), reply, err)
		}
		if got := c.d.(Limited).AttemptTimeout(); got != time.Second {
			t.Errorf("got timeout %v, want the one that was set last", got)
		}
		if got := c.d.(interface{ Nests() bool }).Nests(); got != c.nests {
			t.Errorf("got nests %v", got)
		}
		err := c.d.(Drainer).Drain(t.Context())
		if got := errors.Join(err); (got == nil) != (c.drains == "") || got != nil && got.Error() != c.drains {
			t.Errorf("got %v from Drain, want %q", err, c.drains)
		}
	}
}
