package delegatetest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// faultVariable names the fault that TestFaulty has when the test binary runs itself.
const faultVariable = "DELEGATETEST_FAULT"

type attempt func(context.Context, firstgood.Brief) (firstgood.Reply, error)

// faults are ways to break a sound attempt, and the tests of the suite that must see it.
var faults = map[string]struct {
	fault func(w *work, b Behaviour, sound attempt) attempt
	seen  []string
}{
	"none": {func(_ *work, _ Behaviour, sound attempt) attempt { return sound }, nil},
	"trims its answers": {func(_ *work, _ Behaviour, sound attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			reply, err := sound(ctx, brief)
			reply.Text = strings.ReplaceAll(reply.Text, "\r", "")
			return reply, err
		}
	}, []string{"answer/lines", "answer/large"}},
	"trims its briefs": {func(w *work, b Behaviour, _ attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return w.do(ctx, firstgood.Text(strings.TrimSpace(brief.String())), b)
		}
	}, []string{"brief/space", "brief/twice"}},
	"has errors without a class": {func(_ *work, b Behaviour, sound attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			if b.Fail != "" {
				return firstgood.Reply{}, errors.New(b.Fail)
			}
			return sound(ctx, brief)
		}
	}, []string{"fail"}},
	"answers where it failed": {func(_ *work, _ Behaviour, sound attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			reply, _ := sound(ctx, brief)
			return reply, nil
		}
	}, []string{"fail", "cancelled_before", "cancelled_in_flight", "deadline_in_flight", "lost_in_flight", "overlap"}},
	"works after it was cancelled": {func(w *work, b Behaviour, sound attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			if ctx.Err() != nil {
				w.do(context.WithoutCancel(ctx), brief, b)
			}
			return sound(ctx, brief)
		}
	}, []string{"cancelled_before"}},
	"hides the cause": {func(_ *work, _ Behaviour, sound attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			reply, err := sound(ctx, brief)
			if ctx.Err() != nil {
				err = errors.New("it did not work")
			}
			return reply, err
		}
	}, []string{"cancelled_before", "cancelled_in_flight", "deadline_in_flight", "lost_in_flight", "overlap"}},
	"does one thing at a time": {func(_ *work, _ Behaviour, sound attempt) attempt {
		var one sync.Mutex
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			one.Lock()
			defer one.Unlock()
			return sound(ctx, brief)
		}
	}, []string{"overlap"}},
	"leaves a goroutine": {func(_ *work, b Behaviour, sound attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			if b.Fail != "" {
				go func() { select {} }()
			}
			return sound(ctx, brief)
		}
	}, []string{"fail"}},
}

// TestFaulty runs the suite on a faulty delegate, in the process that TestSuiteSeesFaults starts.
func TestFaulty(t *testing.T) {
	f, ok := faults[os.Getenv(faultVariable)]
	if !ok {
		t.Skip("run by TestSuiteSeesFaults in a process of its own")
	}
	Run(t, Kind{Patience: 2 * time.Second, New: func(t *testing.T, b Behaviour) Subject {
		w := newWork()
		return w.subject(firstgood.Func("faulty", f.fault(w, b, func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return w.do(ctx, brief, b)
		})))
	}})
}

func TestSuiteSeesFaults(t *testing.T) {
	failure := regexp.MustCompile(`(?m)^    --- FAIL: TestFaulty/(\S+) `)
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaulty$", "-test.v")
			command.Env = append(os.Environ(), faultVariable+"="+name)
			out, err := command.CombinedOutput()
			if (err != nil) != (len(f.seen) > 0) {
				t.Fatalf("the suite ended with %v:\n%s", err, out)
			}
			var seen []string
			for _, match := range failure.FindAllStringSubmatch(string(out), -1) {
				seen = append(seen, match[1])
			}
			slices.Sort(seen)
			want := slices.Sorted(slices.Values(f.seen))
			if !slices.Equal(seen, want) {
				t.Errorf("the tests %q saw it, want %q", seen, want)
			}
		})
	}
}
