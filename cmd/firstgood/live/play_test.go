package live

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

var update = flag.Bool("update", false, "write the golden files anew")

// play is a scripted run in virtual time, watched by a view on a terminal.
type play struct {
	t      *testing.T
	term   *terminal
	view   *View
	record *firstgood.Record
	calls  map[int]firstgood.Call
	seen   strings.Builder
}

func newPlay(t *testing.T, cfg Config, cols, rows int) *play {
	t.Helper()
	p := &play{t: t, term: newTerminal(cols, rows), calls: map[int]firstgood.Call{}}
	if cfg.Out == nil {
		cfg.Out = p.term
	}
	cfg.Screen.Size = p.term.size
	p.term.colors = cfg.Screen.Color
	view, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	p.view = view
	p.record = firstgood.NewRecord(time.Now(), view.Watch)
	return p
}

// wait lets time pass.
func (p *play) wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (p *play) begin(parent int, name string, index int) int {
	return p.enter(firstgood.Call{Parent: parent, Delegate: name, Index: index, Role: firstgood.RoleDelegate})
}

func (p *play) judge(of int, name string) int {
	return p.enter(firstgood.Call{Parent: of, Delegate: name, Index: p.calls[of].Index, Role: firstgood.RoleJudge})
}

func (p *play) enter(c firstgood.Call) int {
	c.State, c.Started = firstgood.StateRunning, p.record.Elapsed()
	p.record.Begin(&c)
	p.calls[c.ID] = c
	return c.ID
}

// put changes a call's state, as the hosts do.
func (p *play) put(id int, state firstgood.State, change ...func(*firstgood.Call)) {
	c := p.calls[id]
	if state != firstgood.StateJudging && c.Duration == 0 { // one that has been accepted keeps its own
		c.Duration = p.record.Elapsed() - c.Started
	}
	c.State = state
	for _, f := range change {
		f(&c)
	}
	p.calls[id] = c
	p.record.Put(&c)
}

func (p *play) judging(id int) { p.put(id, firstgood.StateJudging) }

// accepted leaves the state as it is, as the record does until the decision.
func (p *play) accepted(id int) {
	p.put(id, p.calls[id].State, func(c *firstgood.Call) { c.Duration = p.record.Elapsed() - c.Started })
}

func (p *play) won(id int)       { p.put(id, firstgood.StateWon) }
func (p *play) lost(id int)      { p.put(id, firstgood.StateLost) }
func (p *play) cancelled(id int) { p.put(id, firstgood.StateCancelled) }
func (p *play) judged(id int)    { p.put(id, firstgood.StateJudged) }

func (p *play) warned(id int, warning string) {
	p.put(id, firstgood.StateJudged, func(c *firstgood.Call) { c.Warning = warning })
}

func (p *play) failed(id int, kind firstgood.Kind, reason string) {
	p.put(id, firstgood.StateFailed, func(c *firstgood.Call) { c.Kind, c.Reason = kind, reason })
}

func (p *play) rejected(id int, reason string) {
	p.put(id, firstgood.StateRejected, func(c *firstgood.Call) { c.Kind, c.Reason = firstgood.KindRejected, reason })
}

// look notes what is to be seen.
func (p *play) look(what string) {
	p.t.Helper()
	synctest.Wait()
	fmt.Fprintf(&p.seen, "== %s\n%s", what, p.term.screen())
	if wrong := p.term.state(); wrong != "" {
		p.t.Errorf("%s: %s", what, wrong)
	}
}

// close closes the view and notes what it leaves.
func (p *play) close() {
	p.t.Helper()
	p.view.Close()
	p.look("closed")
}

func (p *play) compare(name string) { p.t.Helper(); golden(p.t, name, p.seen.String()) }

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(string(data), "\r\n", "\n")
	if got != want {
		t.Errorf("%s (run with -update to accept): got\n%s\nwant\n%s", file, got, want)
	}
}

const ms = time.Millisecond

var live80 = Screen{Live: true, Unicode: true}

var chainRows = []Row{{Name: "fast"}, {Name: "careful"}, {Name: "local"}}

var nestedRows = []Row{
	{Name: "quota"},
	{Name: "answer", Pattern: "fallback-chain"},
	{Name: "fast", Depth: 1}, {Name: "careful", Depth: 1}, {Name: "local", Depth: 1},
	{Name: "again", Pattern: "retry-with-learning"},
	{Name: "coder", Depth: 1, Repeats: 3},
	{Name: "slow"}, {Name: "slow"},
}

const quota = "429 Too Many Requests: you have exceeded your quota, please see\nhttps://provider.example/limits"

// playNested is a race of everything at once; look is called at each turn of it.
func playNested(p *play, look func(string)) {
	quotaCall := p.begin(-1, "quota", 0)
	answer := p.begin(-1, "answer", 1)
	again := p.begin(-1, "again", 2)
	slow := p.begin(-1, "slow", 3)
	broken := p.begin(-1, "slow", 4)
	fast := p.begin(answer, "fast", 0)
	coder := p.begin(again, "coder", 0)
	p.wait(120 * ms)
	p.failed(quotaCall, firstgood.KindRateLimited, quota)
	p.wait(680 * ms)
	p.judging(fast)
	judge := p.judge(fast, "careful")
	inJudge := p.begin(judge, "small", 0) // the judge is an instance
	p.wait(500 * ms)
	look("judging")
	p.won(inJudge)
	p.judged(judge)
	p.rejected(fast, "the answer is empty or refuses")
	careful := p.begin(answer, "careful", 1)
	p.rejected(coder, "it does not compile")
	coder = p.begin(again, "coder", 1)
	p.wait(700 * ms)
	look("second attempts")
	p.failed(broken, firstgood.KindError, "connection reset by peer")
	p.failed(coder, firstgood.KindTimeout, "no reply within 700ms")
	p.failed(again, firstgood.KindExhausted, "again: no winner (exhausted): coder: rejected: …")
	p.judging(careful)
	judge = p.judge(careful, "careful")
	p.wait(1200 * ms)
	look("third in line")
	p.judged(judge)
	p.accepted(careful)
	p.won(careful)
	p.accepted(answer)
	p.won(answer)
	p.cancelled(slow)
}

// everything runs f in a bubble, in which a goroutine that is left behind fails the test.
func everything(t *testing.T, cfg Config, cols, rows int, f func(*play)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPlay(t, cfg, cols, rows)
		f(p)
		p.view.Close()
	})
}

// blocked is a writer that takes nothing until it is told to.
type blocked struct{ open chan struct{} }

func (b blocked) Write(p []byte) (int, error) {
	<-b.open
	return len(p), nil
}

var _ io.Writer = blocked{}
