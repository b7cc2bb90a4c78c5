package criteria

import (
	"context"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

type attempt = func(context.Context, firstgood.Brief) (firstgood.Reply, error)

const rude = `{"is_failure": true, "reason": "rude"}`

func spent(input int) firstgood.Usage {
	return firstgood.Usage{InputTokens: input, OutputTokens: 1, Source: firstgood.SourceMeasured}
}

// recorded weighs a reply with a judge that does f, as the delegate at index 2 of a list, whose call has the ID 1.
func recorded(ctx context.Context, t *testing.T, c JudgeConfig, f attempt) (*firstgood.Record, firstgood.Verdict, error) {
	t.Helper()
	record := firstgood.NewRecord(time.Now(), nil)
	record.Begin(&firstgood.Call{Parent: -1})
	record.Begin(&firstgood.Call{Parent: 0, Index: 2})
	ctx = context.WithValue(ctx, firstgood.ScopeKey{}, &firstgood.Scope{Record: record, Call: 1, Index: 2})
	c.Text = "it is rude"
	if c.Judge == nil {
		c.Judge = firstgood.Func("careful", f)
	}
	v, err := mustNew(t, Config{Failure: []Rule{Judge(c)}})(ctx, firstgood.Text("b"), text("r"))
	return record, v, err
}

// judged returns the calls of judges, without their times.
func judged(record *firstgood.Record) []firstgood.Call {
	calls := record.Calls()[2:]
	for i := range calls {
		calls[i].Started, calls[i].Duration = 0, 0
	}
	return calls
}

func checkCalls(t *testing.T, record *firstgood.Record, want ...firstgood.Call) {
	t.Helper()
	for i := range want {
		want[i].ID, want[i].Parent, want[i].Index, want[i].Role = i+2, 1, 2, firstgood.RoleJudge
		if want[i].Delegate == "" {
			want[i].Delegate = "careful"
		}
	}
	if got := judged(record); !reflect.DeepEqual(got, want) {
		t.Errorf("recorded\n%+v\nwant\n%+v", got, want)
	}
}

func TestRecord_Judged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		record, v, err := recorded(t.Context(), t, JudgeConfig{}, func(ctx context.Context, _ firstgood.Brief) (firstgood.Reply, error) {
			scope := firstgood.ScopeOf(ctx)
			if scope == nil || scope.Call != 2 || scope.Index != 2 {
				t.Errorf("the judge's scope is %+v", scope)
			}
			if got := scope.Record.Calls()[2].State; got != firstgood.StateRunning {
				t.Errorf("while it judges its state is %s", got)
			}
			<-time.After(3 * time.Second)
			return firstgood.Reply{Text: rude, Usage: spent(7)}, nil
		})
		if v.Reason != "rude" || err != nil {
			t.Errorf("%+v, %v", v, err)
		}
		if got := record.Calls()[2].Duration; got != 3*time.Second {
			t.Errorf("took %v", got)
		}
		checkCalls(t, record, firstgood.Call{State: firstgood.StateJudged, Usage: spent(7)})
	})
}

func TestRecord_Unparseable(t *testing.T) {
	answer := "Well,\n that is " + strings.Repeat("hard 😀 ", 40)
	start, _ := firstgood.Excerpt("Well, that is "+strings.Repeat("hard 😀 ", 40), 80)
	for lean, want := range map[OnUnparseable]string{
		Open:   "unparseable verdict, taken as accepted: " + start + "…",
		Reject: "unparseable verdict, taken as rejected: " + start + "…",
	} {
		record, _, err := recorded(t.Context(), t, JudgeConfig{OnUnparseable: lean}, func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			return firstgood.Reply{Text: answer}, nil
		})
		if err != nil {
			t.Error(err)
		}
		checkCalls(t, record, firstgood.Call{State: firstgood.StateJudged, Warning: want})
	}
}

func TestF17_R16_OutageIsAnErrorOfTheCriteria(t *testing.T) {
	down := &firstgood.Error{Kind: firstgood.KindUnavailable, Reason: "connection refused", Usage: spent(2)}
	for name, wrap := range map[string]func(Rule) Rule{
		"alone": func(r Rule) Rule { return r }, "not": Not, "all": func(r Rule) Rule { return All(r) }, "any": func(r Rule) Rule { return Any(r) },
	} {
		for _, lean := range []OnUnparseable{Open, Reject} {
			r := wrap(Judge(JudgeConfig{Text: "x", OnUnparseable: lean, Judge: firstgood.Func("careful", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
				return firstgood.Reply{}, down
			})}))
			for _, c := range []Config{{Failure: []Rule{r}}, {Accept: []Rule{r}}} {
				v, err := mustNew(t, c)(t.Context(), firstgood.Text(""), text("x"))
				if v != (firstgood.Verdict{}) || !errors.Is(err, down) || err.Error() != "judge careful: connection refused" {
					t.Errorf("%s: %+v, %v", name, v, err)
				}
			}
		}
	}
	record, _, _ := recorded(t.Context(), t, JudgeConfig{}, func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		return firstgood.Reply{}, down
	})
	checkCalls(t, record, firstgood.Call{State: firstgood.StateFailed, Kind: firstgood.KindUnavailable, Reason: "connection refused", Usage: spent(2)})
}

func TestF17_Retries(t *testing.T) {
	failing := func(kind firstgood.Kind, times int) (attempt, *int) {
		calls := 0
		return func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			if calls++; calls <= times {
				return firstgood.Reply{}, &firstgood.Error{Kind: kind}
			}
			return firstgood.Reply{Text: rude, Usage: spent(1)}, nil
		}, &calls
	}
	for _, c := range []struct {
		kind           firstgood.Kind
		failures       int
		retries, calls int
		answered       bool
	}{
		{firstgood.KindUnavailable, 1, 0, 1, false},
		{firstgood.KindUnavailable, 2, 1, 2, false},
		{firstgood.KindUnavailable, 2, 2, 3, true},
		{firstgood.KindUnavailable, 0, 5, 1, true},
		{firstgood.KindError, 1, 1, 2, true},
		{firstgood.KindTimeout, 1, 1, 2, true},
		{firstgood.KindRateLimited, 1, 1, 2, true},
		{firstgood.KindTruncated, 1, 1, 2, true},
		{firstgood.KindPanic, 1, 1, 2, true},
		{firstgood.KindExhausted, 1, 1, 2, true},
		{firstgood.KindAuth, 1, 1, 1, false},
		{firstgood.KindBadRequest, 1, 1, 1, false},
		{firstgood.KindContextLength, 1, 1, 1, false},
		{firstgood.KindRefused, 1, 1, 1, false},
		{firstgood.KindNoStart, 1, 1, 1, false},
	} {
		f, calls := failing(c.kind, c.failures)
		record, v, err := recorded(t.Context(), t, JudgeConfig{Retries: c.retries}, f)
		if *calls != c.calls || (err == nil) != c.answered || v.Rejected != c.answered {
			t.Errorf("%+v: %d calls, %+v, %v", c, *calls, v, err)
		}
		want := make([]firstgood.Call, c.calls)
		for i := range want {
			want[i] = firstgood.Call{State: firstgood.StateFailed, Kind: c.kind, Reason: string(c.kind)}
		}
		if c.answered {
			want[c.calls-1] = firstgood.Call{State: firstgood.StateJudged, Usage: spent(1)}
		}
		checkCalls(t, record, want...)
	}
}

func TestJudgeThatIsAnInstanceNests(t *testing.T) {
	record, _, err := recorded(t.Context(), t, JudgeConfig{Judge: instance{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := record.Calls()[2:]
	if len(calls) != 2 || !calls[0].Nested || calls[1].Parent != calls[0].ID || calls[1].Delegate != "inner" {
		t.Errorf("%+v", calls)
	}
	if got := firstgood.Total(calls); got != spent(5) {
		t.Errorf("used %+v", got)
	}
}

// instance enters what it calls, as a pattern does.
type instance struct{}

func (instance) Name() string { return "chain" }
func (instance) Nests() bool  { return true }

func (instance) Attempt(ctx context.Context, _ firstgood.Brief) (firstgood.Reply, error) {
	scope := firstgood.ScopeOf(ctx)
	scope.Record.Begin(&firstgood.Call{Parent: scope.Call, Delegate: "inner", State: firstgood.StateWon, Usage: spent(5)})
	return firstgood.Reply{Text: rude, Usage: spent(5)}, nil
}

func TestJudgeWithItsOwnTimeout(t *testing.T) {
	late := func(answer firstgood.Reply, err error) attempt {
		return func(ctx context.Context, _ firstgood.Brief) (firstgood.Reply, error) {
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
				t.Errorf("the judge's cause is %v", context.Cause(ctx))
			}
			return answer, err
		}
	}
	for name, f := range map[string]attempt{
		"returns the context's error": late(firstgood.Reply{}, context.DeadlineExceeded),
		"returns another error":       late(firstgood.Reply{}, errors.New("signal: killed")),
	} {
		synctest.Test(t, func(t *testing.T) {
			record, v, err := recorded(t.Context(), t, JudgeConfig{Judge: firstgood.Within(90*time.Second, firstgood.Func("careful", f))}, nil)
			if v != (firstgood.Verdict{}) || err == nil || err.Error() != "judge careful: no answer within 1m30s" || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %+v, %v", name, v, err)
			}
			if took := record.Elapsed(); took != 90*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			checkCalls(t, record, firstgood.Call{State: firstgood.StateFailed, Kind: firstgood.KindTimeout, Reason: "no answer within 1m30s"})
		})
	}
}

func TestDeafJudgeIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wake := make(chan struct{})
		closed := 0
		deaf := firstgood.Func("careful", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			<-wake
			return firstgood.Reply{Stream: firstgood.NewStream(body{strings.NewReader(rude), func() { closed++ }}), Usage: spent(4)}, nil
		})
		record, _, err := recorded(t.Context(), t, JudgeConfig{Judge: firstgood.Within(time.Second, deaf)}, nil)
		if err == nil || record.Elapsed() != time.Second {
			t.Errorf("%v after %v", err, record.Elapsed())
		}
		failed := firstgood.Call{State: firstgood.StateFailed, Kind: firstgood.KindTimeout, Reason: "no answer within 1s"}
		checkCalls(t, record, failed)
		if got := record.Calls()[2].Duration; got != time.Second {
			t.Errorf("recorded as %v", got)
		}

		close(wake)
		synctest.Wait()
		failed.Usage = spent(4)
		checkCalls(t, record, failed)
		if closed != 1 {
			t.Errorf("the late reply was closed %d times", closed)
		}
	})
}

func TestR12_CancelledJudgement(t *testing.T) {
	lost := &firstgood.LostError{Winner: "other"}
	for name, late := range map[string]func() (firstgood.Reply, error){
		"the context's error": func() (firstgood.Reply, error) { return firstgood.Reply{}, context.Canceled },
		"a verdict all the same": func() (firstgood.Reply, error) {
			return firstgood.Reply{Text: rude, Usage: spent(6)}, nil
		},
		"an error that knows its usage": func() (firstgood.Reply, error) {
			return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindUnavailable, Usage: spent(6)}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			calls := 0
			started, wake := make(chan struct{}), make(chan struct{})
			type result struct {
				record *firstgood.Record
				v      firstgood.Verdict
				err    error
			}
			done := make(chan result, 1)
			var record *firstgood.Record
			go func() {
				r, v, err := recorded(ctx, t, JudgeConfig{Retries: 3}, func(ctx context.Context, _ firstgood.Brief) (firstgood.Reply, error) {
					calls++
					record = firstgood.ScopeOf(ctx).Record
					close(started)
					<-ctx.Done()
					if context.Cause(ctx) != lost {
						t.Errorf("the judge's cause is %v", context.Cause(ctx))
					}
					<-wake
					return late()
				})
				done <- result{r, v, err}
			}()
			<-started
			cancel(lost)
			synctest.Wait()
			// The record does not wait for a judge that takes its time to stop.
			checkCalls(t, record, firstgood.Call{State: firstgood.StateCancelled})
			select {
			case <-done:
				t.Error("the judge's work was left behind, and a shutdown would miss it")
			default:
			}
			close(wake)
			r := <-done
			if r.v != (firstgood.Verdict{}) || r.err != lost || calls != 1 {
				t.Errorf("%s: %+v, %v, %d calls", name, r.v, r.err, calls)
			}
			want := firstgood.Call{State: firstgood.StateCancelled}
			if name != "the context's error" {
				want.Usage = spent(6)
			}
			checkCalls(t, r.record, want)
		})
	}
}

// body is a stream's body that says when it is closed.
type body struct {
	io.Reader
	closed func()
}

func (b body) Close() error {
	b.closed()
	return nil
}

func TestJudgeThatStreams(t *testing.T) {
	broken := errors.New("connection reset")
	long := strings.Repeat(" ", MaxVerdict) + rude
	for _, c := range []struct {
		name    string
		from    io.Reader
		err     error // beside the reply
		want    string
		wantErr string
		state   firstgood.State
	}{
		{"whole", strings.NewReader(rude), nil, "rude", "", firstgood.StateJudged},
		{"breaks off", io.MultiReader(strings.NewReader(rude), errorReader{broken}), nil, "", "judge careful: its answer stops short: connection reset", firstgood.StateFailed},
		{"too long", io.MultiReader(strings.NewReader(long), errorReader{errors.New("read on")}), nil, "", "", firstgood.StateJudged},
		{"beside an error", errorReader{errors.New("was read")}, broken, "", "judge careful: connection reset", firstgood.StateFailed},
	} {
		closed := 0
		record, v, err := recorded(t.Context(), t, JudgeConfig{}, func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			return firstgood.Reply{Stream: firstgood.NewStream(body{c.from, func() { closed++ }}), Usage: spent(8)}, c.err
		})
		if v.Reason != c.want || (err == nil) != (c.wantErr == "") || err != nil && err.Error() != c.wantErr || closed != 1 {
			t.Errorf("%s: %+v, %v, closed %d times", c.name, v, err, closed)
		}
		if call := judged(record)[0]; call.State != c.state || call.Usage != spent(8) {
			t.Errorf("%s: %+v", c.name, call)
		}
	}
}

type errorReader struct{ err error }

func (e errorReader) Read([]byte) (int, error) { return 0, e.err }

func TestJudgeWhoseStreamStallsIsClosedAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		j := firstgood.Within(time.Second, firstgood.Func("careful", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			return firstgood.Reply{Stream: firstgood.NewStream(from)}, nil
		}))
		_, v, err := recorded(t.Context(), t, JudgeConfig{Judge: j}, nil)
		if v.Rejected || err == nil || err.Error() != "judge careful: no answer within 1s" {
			t.Errorf("%+v, %v", v, err)
		}
		synctest.Wait()
		if _, err := to.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("the stream is still open: %v", err)
		}
	})
}

func TestJudgeThatPanics(t *testing.T) {
	for want, f := range map[string]attempt{
		"panic: out of words":             func(context.Context, firstgood.Brief) (firstgood.Reply, error) { panic("out of words") },
		"the judge called runtime.Goexit": func(context.Context, firstgood.Brief) (firstgood.Reply, error) { runtime.Goexit(); panic("") },
	} {
		record, v, err := recorded(t.Context(), t, JudgeConfig{}, f)
		if v.Rejected || err == nil || err.Error() != "judge careful: "+want {
			t.Errorf("%+v, %v", v, err)
		}
		checkCalls(t, record, firstgood.Call{State: firstgood.StateFailed, Kind: firstgood.KindPanic, Reason: want})
	}
}

func TestJudgeWithoutARecord(t *testing.T) {
	for _, ctx := range []context.Context{
		t.Context(), context.WithValue(t.Context(), firstgood.ScopeKey{}, &firstgood.Scope{Call: -1}),
	} {
		j := firstgood.Within(time.Minute, firstgood.Func("careful", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
			return firstgood.Reply{Text: rude}, nil
		}))
		v, err := mustNew(t, Config{Failure: []Rule{Judge(JudgeConfig{Text: "x", Judge: j})}})(ctx, firstgood.Text(""), text("r"))
		if v.Reason != "rude" || err != nil {
			t.Errorf("%+v, %v", v, err)
		}
	}
}

func TestS38_JudgementsOverlap(t *testing.T) {
	const n = 8
	var inside atomic.Int32
	all := make(chan struct{})
	j := firstgood.Func("careful", func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
		if inside.Add(1) == n {
			close(all)
		}
		<-all
		return firstgood.Reply{Text: rude}, nil
	})
	rules := mustNew(t, Config{Failure: []Rule{Judge(JudgeConfig{Text: "x", Judge: j})}})
	done := make(chan error, n)
	for range n {
		go func() {
			_, err := rules(t.Context(), firstgood.Text(""), text("r"))
			done <- err
		}()
	}
	for range n {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
