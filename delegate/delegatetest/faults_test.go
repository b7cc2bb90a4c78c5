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
	fault func(w *Work, b Behaviour, rest attempt) attempt
	seen  []string
}{
	"none": {func(_ *Work, _ Behaviour, rest attempt) attempt { return rest }, nil},
	"trims its answers": {func(_ *Work, _ Behaviour, rest attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			reply, err := rest(ctx, brief)
			reply.Text = strings.ReplaceAll(reply.Text, "\r", "")
			return reply, err
		}
	}, []string{"answer/lines", "answer/large"}},
	"trims its briefs": {func(w *Work, b Behaviour, _ attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return sound(ctx, firstgood.Text(strings.TrimSpace(brief.String())), w)
		}
	}, []string{"brief/space", "brief/twice"}},
	"has errors without a class": {func(_ *Work, b Behaviour, rest attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			if b.Fail != "" {
				return firstgood.Reply{}, errors.New(b.Fail)
			}
			return rest(ctx, brief)
		}
	}, []string{"fail"}},
	"answers where it failed": {func(_ *Work, _ Behaviour, rest attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			reply, _ := rest(ctx, brief)
			return reply, nil
		}
	}, []string{"fail", "cancelled_before", "cancelled_in_flight", "deadline_in_flight", "lost_in_flight", "overlap"}},
	"works after it was cancelled": {func(w *Work, b Behaviour, rest attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			if ctx.Err() != nil {
				_, _ = w.Do(context.WithoutCancel(ctx), brief.String())
			}
			return rest(ctx, brief)
		}
	}, []string{"cancelled_before"}},
	"hides the cause": {func(_ *Work, _ Behaviour, rest attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			reply, err := rest(ctx, brief)
			if ctx.Err() != nil {
				err = errors.New("it did not work")
			}
			return reply, err
		}
	}, []string{"cancelled_before", "cancelled_in_flight", "deadline_in_flight", "lost_in_flight", "overlap"}},
	"does one thing at a time": {func(_ *Work, _ Behaviour, rest attempt) attempt {
		var one sync.Mutex
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			one.Lock()
			defer one.Unlock()
			return rest(ctx, brief)
		}
	}, []string{"overlap"}},
	"leaves a goroutine": {func(_ *Work, b Behaviour, rest attempt) attempt {
		return func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			if b.Fail != "" {
				go func() { select {} }()
			}
			return rest(ctx, brief)
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
		w := NewWork(b)
		return w.Subject(firstgood.Func("faulty", f.fault(w, b, func(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
			return sound(ctx, brief, w)
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
