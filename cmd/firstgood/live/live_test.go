package live

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
)

func TestChain(t *testing.T) {
	everything(t, Config{Name: "answer", Pattern: "fallback-chain", Rows: chainRows, Screen: live80}, 80, 24, func(p *play) {
		p.wait(period)
		p.look("before the first call")
		fast := p.begin(-1, "fast", 0)
		p.wait(700 * ms)
		p.look("the first runs")
		p.wait(120 * ms)
		p.failed(fast, firstgood.KindError, "exit status 1")
		careful := p.begin(-1, "careful", 1)
		p.wait(12300 * ms)
		p.look("the second takes long")
		p.wait(70 * time.Second)
		p.look("and longer")
		p.accepted(careful)
		p.won(careful)
		p.close()
		p.compare("chain")
	})
}

func TestNested(t *testing.T) {
	for _, tt := range []struct {
		name       string
		cols, rows int
		screen     Screen
	}{
		{"nested", 80, 24, Screen{Live: true, Unicode: true}},
		{"nested-120", 120, 24, Screen{Live: true, Unicode: true}},
		{"nested-ascii", 80, 24, Screen{Live: true}},
		{"nested-color", 80, 24, Screen{Live: true, Unicode: true, Color: true}},
		{"nested-40x10", 40, 10, Screen{Live: true, Unicode: true}},
		{"nested-20x24", 20, 24, Screen{Live: true, Unicode: true}},
		{"nested-20x24-ascii", 20, 24, Screen{Live: true}},
		{"nested-10x5", 10, 5, Screen{Live: true, Unicode: true}},
		{"nested-80x2", 80, 2, Screen{Live: true, Unicode: true}},
		{"nested-1x1", 1, 1, Screen{Live: true, Unicode: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			everything(t, Config{Name: "quick", Pattern: "race", Rows: nestedRows, Screen: tt.screen}, tt.cols, tt.rows, func(p *play) {
				playNested(p, p.look)
				if tt.rows > 3 {
					if gone := p.term.scrollback(); gone != "" {
						t.Errorf("left the screen before the end:\n%s", gone)
					}
				}
				p.close()
				p.compare(tt.name)
			})
		})
	}
}

func TestPlain(t *testing.T) {
	everything(t, Config{Name: "quick", Pattern: "race", Rows: nestedRows}, 1000, 100, func(p *play) {
		playNested(p, func(string) {})
		p.begin(-1, "late", 5)
		p.view.Print("a note")
		p.wait(time.Second)
		p.close()
		p.compare("plain")
	})
}

// Each plain line is there when it is time for it, and not only at the end.
func TestPlain_AtOnce(t *testing.T) {
	everything(t, Config{Rows: chainRows}, 80, 24, func(p *play) {
		fast := p.begin(-1, "fast", 0)
		synctest.Wait()
		if got, want := p.term.screen(), "fast: started\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		p.wait(800 * ms)
		p.rejected(fast, "the answer is empty")
		synctest.Wait()
		if got, want := p.term.screen(), "fast: started\nfast: rejected after 0.8s: the answer is empty\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// In a fan-out a good reply has won, though the record says so only when all have settled.
func TestPlain_FanOut(t *testing.T) {
	everything(t, Config{Name: "all", Pattern: "fan-out", Rows: chainRows}, 80, 24, func(p *play) {
		fast, careful, local := p.begin(-1, "fast", 0), p.begin(-1, "careful", 1), p.begin(-1, "local", 2)
		p.wait(300 * ms)
		p.accepted(fast)
		p.look("one has answered")
		p.wait(time.Second)
		p.failed(careful, firstgood.KindUnavailable, "unavailable: 503")
		p.accepted(local)
		p.won(fast)
		p.won(local)
		p.close()
		p.compare("plain-fan-out")
	})
}

func TestFanOut(t *testing.T) {
	everything(t, Config{Name: "all", Pattern: "fan-out", Rows: chainRows, Screen: live80}, 80, 24, func(p *play) {
		fast, careful := p.begin(-1, "fast", 0), p.begin(-1, "careful", 1)
		p.wait(300 * ms)
		p.judging(fast)
		judge := p.judge(fast, "small")
		p.wait(200 * ms)
		p.judged(judge)
		p.accepted(fast)
		p.wait(time.Second)
		p.look("the first has answered; its time stands still")
		p.won(fast)
		p.won(careful)
		p.close()
		p.compare("fan-out")
	})
}

func TestJudge(t *testing.T) {
	everything(t, Config{Name: "answer", Pattern: "fallback-chain", Rows: chainRows, Screen: live80}, 80, 24, func(p *play) {
		fast := p.begin(-1, "fast", 0)
		p.wait(time.Second)
		judge := p.judge(fast, "small") // made inline: the call itself stays running
		p.wait(400 * ms)
		p.look("judged inline")
		p.warned(judge, "its answer could not be read")
		p.judging(fast)
		p.wait(period)
		p.look("between two judges")
		second, third := p.judge(fast, "careful"), p.judge(fast, "small")
		p.wait(300 * ms)
		p.look("two judges at once")
		p.judged(second)
		p.judged(third)
		p.won(fast)
		p.close()
		p.compare("judge")
	})
}

func TestJudge_WarningIsToldPlainly(t *testing.T) {
	everything(t, Config{Rows: chainRows}, 80, 24, func(p *play) {
		fast := p.begin(-1, "fast", 0)
		judge := p.judge(fast, "small")
		p.wait(400 * ms)
		p.warned(judge, "its answer could not be read")
		p.warned(judge, "its answer could not be read") // what it used is entered later
		p.won(fast)
		p.close()
		want := "== closed\nfast: started\nfast: warning: its answer could not be read\nfast: won after 0.4s\n"
		if got := p.seen.String(); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// An instance that is attempted again starts over: its members wait, and what its earlier calls report is not theirs.
func TestRetryOfAnInstance(t *testing.T) {
	rows := []Row{{Name: "answer", Pattern: "fallback-chain", Repeats: 2}, {Name: "fast", Depth: 1}, {Name: "careful", Depth: 1}}
	everything(t, Config{Name: "again", Pattern: "retry-with-learning", Rows: rows, Screen: live80}, 80, 24, func(p *play) {
		answer := p.begin(-1, "answer", 0)
		fast := p.begin(answer, "fast", 0)
		p.wait(time.Second)
		p.failed(fast, firstgood.KindAuth, "401 Unauthorized")
		careful := p.begin(answer, "careful", 1)
		p.wait(time.Second)
		p.rejected(answer, "too short")
		p.begin(-1, "answer", 1)
		p.cancelled(careful)
		p.wait(period)
		p.look("the second attempt begins")
		p.begin(answer, "fast", 0) // of the first attempt
		p.wait(period)
		p.look("nothing of the first is shown")
		p.close()
		p.compare("retry-of-instance")
	})
}

// Whatever the size of the screen, the block fits on it as long as the run goes on, and each line as long as it stands.
func TestFitsAnyScreen(t *testing.T) {
	rows := append(nestedRows, Row{Name: "日本語モデル", Depth: 0}, Row{Name: strings.Repeat("deep", 9), Depth: 1}, Row{Name: "er", Depth: 2})
	for _, screen := range []Screen{live80, {Live: true}} {
		everything(t, Config{Name: "quick", Pattern: "race", Rows: rows, Screen: screen}, 80, 24, func(p *play) {
			check := func(what string) {
				for cols := 1; cols < 140; cols++ {
					for _, height := range []int{1, 2, 3, 5, 8, 13, 24} {
						lines := p.view.frame(cols, height)
						if len(lines) == 0 || what != "closed" && len(lines) > max(1, height-1) {
							t.Fatalf("%s, %d×%d: got %d lines", what, cols, height, len(lines))
						}
						for _, l := range lines {
							if got := width(l.text); got != l.cells || got > max(1, cols-1) {
								t.Fatalf("%s, %d×%d: got a line %d wide, said to be %d: %q", what, cols, height, got, l.cells, l.text)
							}
						}
					}
				}
			}
			playNested(p, check)
			p.view.Close()
			p.view.painter.left = false
			check("closed")
		})
	}
}

// Calls that the plan does not have, as documents make them, get rows of their own.
func TestUnplanned(t *testing.T) {
	everything(t, Config{Name: "report.md", Rows: chainRows[:1], Screen: live80}, 80, 24, func(p *play) {
		p.begin(-1, "fast", 0)
		for i := range 3 {
			p.won(p.begin(-1, "search", 7+i))
			p.wait(period)
		}
		inner := p.begin(-1, "answer", 1)
		p.begin(inner, "inside", 0)
		p.begin(99, "of an unknown call", 0)
		p.enter(firstgood.Call{Parent: 99, Delegate: "judge of an unknown call", Role: firstgood.RoleJudge})
		p.enter(firstgood.Call{Parent: -1, Delegate: "judge of the run", Role: firstgood.RoleJudge})
		p.begin(-1, "\x1b]0;title\a", 9)
		p.wait(period)
		p.look("as they come")
		p.close()
		p.compare("unplanned")
	})
}

func TestManyRows(t *testing.T) {
	var rows []Row
	for i := range 60 {
		rows = append(rows, Row{Name: fmt.Sprintf("d%02d", i)})
	}
	everything(t, Config{Name: "all", Pattern: "race", Rows: rows, Screen: live80}, 60, 10, func(p *play) {
		var ids []int
		for i := range 4 {
			ids = append(ids, p.begin(-1, "", i))
		}
		p.wait(period)
		p.look("four run")
		for i, id := range ids[:3] {
			p.failed(id, firstgood.KindError, fmt.Sprintf("reason %d", i))
		}
		for i := range 16 {
			ids = append(ids, p.begin(-1, "", i+4))
		}
		p.wait(period)
		p.look("more run than fit")
		for _, id := range ids[4:18] {
			p.accepted(id)
			p.lost(id)
		}
		p.wait(period)
		p.look("most have lost")
		if gone := p.term.scrollback(); gone != "" {
			t.Errorf("left the screen before the end:\n%s", gone)
		}
		for i := range 6 {
			p.failed(p.begin(-1, "", i+20), firstgood.KindError, "one of many")
		}
		p.won(ids[18])
		p.view.Close()
		fmt.Fprintf(&p.seen, "== closed, with what has left the screen\n%s%s", p.term.scrollback(), p.term.screen())
		p.compare("many")
	})
}

func TestResize(t *testing.T) {
	everything(t, Config{Name: "quick", Pattern: "race", Rows: nestedRows, Screen: live80}, 80, 24, func(p *play) {
		p.view.Print("$ firstgood run quick")
		turn := 0
		sizes := [][2]int{{40, 24}, {20, 24}, {100, 24}}
		playNested(p, func(string) {
			cols, rows := sizes[turn][0], sizes[turn][1]
			turn++
			p.term.resize(cols, rows)
			p.wait(period)
			p.look(fmt.Sprintf("%d columns", cols))
			if screen := p.term.screen(); strings.Count(screen, "quick  race") != 1 || !strings.HasPrefix(screen, "$ firstgood run") {
				t.Errorf("%d columns: something was left behind or lost:\n%s", cols, screen)
			}
		})
		p.term.resize(50, 8)
		p.close()
		p.compare("resize")
	})
}

// A character that the terminal takes for wider than the view does must not move the block.
func TestDrawnWithoutWrapping(t *testing.T) {
	everything(t, Config{Name: "n", Rows: chainRows, Screen: live80}, 80, 24, func(p *play) {
		p.failed(p.begin(-1, "fast", 0), firstgood.KindError, strings.Repeat("long ", 100))
		p.wait(period)
		p.term.resize(40, 24) // and the view is not told
		p.view.screen.Size = func() (int, int) { return 80, 24 }
		p.begin(-1, "careful", 1)
		p.view.writing.Lock()
		p.view.painter.drawn = nil // the terminal has wrapped it; that is not what is tested
		p.view.writing.Unlock()
		before := p.term.height()
		p.wait(period)
		if got, want := p.term.height(), before+4; got != want {
			t.Errorf("got %d lines, want %d:\n%s", got, want, p.term.screen())
		}
	})
}

func TestPrint(t *testing.T) {
	everything(t, Config{Name: "answer", Pattern: "fallback-chain", Rows: chainRows, Screen: live80}, 40, 8, func(p *play) {
		p.begin(-1, "fast", 0)
		p.view.Print("before anything is drawn")
		p.look("printed early")
		p.wait(period)
		p.view.Print("a line that is longer than the terminal is wide\nand another\n")
		p.look("printed in between")
		p.wait(period)
		p.view.Close()
		p.view.Print("after the end")
		fmt.Fprintf(&p.seen, "== everything\n%s%s", p.term.scrollback(), p.term.screen())
		p.compare("print")
	})
}

// Texts from outside command nothing, and take the columns that they are given.
func TestHostileTexts(t *testing.T) {
	rows := []Row{{Name: "e\u0301te\u0301"}, {Name: "日本語モデル"}, {Name: "\x1b[2Jred\n\tnext"}, {Name: "z" + strings.Repeat("\u0336", 500)}}
	for _, screen := range []Screen{{Live: true, Unicode: true}, {Live: true}, {}} {
		name := fmt.Sprintf("hostile-%t-%t", screen.Live, screen.Unicode)
		t.Run(name, func(t *testing.T) {
			everything(t, Config{Name: "a\u202eb", Rows: rows, Screen: screen}, 70, 24, func(p *play) {
				reasons := []string{
					"\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x1b\\link\x1b]8;;\a, a\r\nb\tc\u2028d\x00\x07\u009b2Je",
					strings.Repeat("漢字", 40),
					strings.Repeat("👩\u200d💻 e\u0301", 30),
					"not UTF-8: \xff\x9b2J; \x1b[",
				}
				for i, reason := range reasons {
					p.failed(p.begin(-1, "", i), firstgood.KindError, reason)
				}
				p.close()
				p.compare(name)
			})
		})
	}
}

func TestClose_NothingAfter(t *testing.T) {
	for _, screen := range []Screen{live80, {}} {
		everything(t, Config{Rows: chainRows, Screen: screen}, 80, 24, func(p *play) {
			fast := p.begin(-1, "fast", 0)
			p.wait(time.Second)
			var group sync.WaitGroup
			for range 3 {
				group.Go(p.view.Close)
			}
			group.Wait()
			writes, screen := p.term.written(), p.term.screen()
			p.cancelled(fast) // a loser that is late
			p.begin(-1, "careful", 1)
			p.wait(time.Minute)
			p.view.Close()
			if p.term.written() != writes || p.term.screen() != screen {
				t.Errorf("got %d writes, want %d; and\n%s", p.term.written(), writes, p.term.screen())
			}
			if !strings.Contains(screen, "cancelled") {
				t.Errorf("got %q, want the call that was under way cancelled", screen)
			}
			if wrong := p.term.state(); wrong != "" {
				t.Error(wrong)
			}
		})
	}
}

// A run that is over at once is drawn once.
func TestClose_AtOnce(t *testing.T) {
	everything(t, Config{Name: "answer", Rows: chainRows[:1], Screen: live80}, 80, 24, func(p *play) {
		p.won(p.begin(-1, "fast", 0))
		p.close()
		want := "== closed\nanswer  0ms\n  ✓ fast  won         0ms\n"
		if got := p.seen.String(); got != want || p.term.written() != 1 {
			t.Errorf("got %d writes and\n%swant 1 and\n%s", p.term.written(), got, want)
		}
	})
}

// A delegate that is run by its name is named once.
func TestHeadline_NotForTheOnlyRow(t *testing.T) {
	everything(t, Config{Name: "fast", Rows: chainRows[:1], Screen: live80}, 80, 24, func(p *play) {
		p.begin(-1, "fast", 0)
		p.wait(period)
		p.look("running")
		if got, want := p.seen.String(), "== running\n▸ fast  running    0.1s\n"; got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// The block is redrawn at most ten times a second, however much happens, and not at all when nothing is to be seen.
func TestRate(t *testing.T) {
	everything(t, Config{Name: "answer", Rows: chainRows, Screen: live80}, 80, 24, func(p *play) {
		for i := range 1000 {
			p.failed(p.begin(-1, "fast", 0), firstgood.KindError, fmt.Sprint(i))
			p.wait(ms)
		}
		if got := p.term.written(); got < 9 || got > 10 {
			t.Errorf("got %d writes in a second, want 9 or 10", got)
		}
		p.begin(-1, "careful", 1)
		p.wait(19 * time.Second)
		before := p.term.written()
		p.wait(10 * time.Second)
		if got := p.term.written() - before; got != 10 {
			t.Errorf("got %d writes in ten quiet seconds, want 10", got)
		}
	})
}

// A reader that takes nothing must not hold up the run.
func TestWatchDoesNotWait(t *testing.T) {
	for _, screen := range []Screen{live80, {}} {
		synctest.Test(t, func(t *testing.T) {
			out := blocked{make(chan struct{})}
			p := newPlay(t, Config{Out: out, Rows: chainRows, Screen: screen}, 80, 24)
			for range 3 {
				p.begin(-1, "fast", 0)
				p.wait(time.Second) // a Watch that waited would be a deadlock
			}
			close(out.open)
			p.view.Close()
		})
	}
}

func TestWriteFails(t *testing.T) {
	for _, screen := range []Screen{live80, {}} {
		out := &failing{}
		everything(t, Config{Out: out, Rows: chainRows, Screen: screen}, 80, 24, func(p *play) {
			p.begin(-1, "fast", 0)
			p.wait(time.Second)
			p.begin(-1, "careful", 1)
		})
		if out.writes != 1 {
			t.Errorf("got %d writes, want none after the first has failed", out.writes)
		}
	}
}

type failing struct{ writes int }

func (f *failing) Write([]byte) (int, error) {
	f.writes++
	return 0, errors.New("gone")
}

// Calls change while the block is drawn, resized and printed over, on real goroutines.
func TestConcurrently(t *testing.T) {
	for _, screen := range []Screen{{Live: true, Unicode: true, Color: true}, {}} {
		term := newTerminal(80, 24)
		screen.Size = term.size
		view, err := New(Config{Out: term, Name: "all", Pattern: "fan-out", Rows: nestedRows, Screen: screen})
		if err != nil {
			t.Fatal(err)
		}
		record := firstgood.NewRecord(time.Now(), view.Watch)
		var group sync.WaitGroup
		for i := range 9 {
			group.Go(func() {
				for n := range 50 {
					c := firstgood.Call{Parent: -1, Index: i, Role: firstgood.RoleDelegate, State: firstgood.StateRunning}
					record.Begin(&c)
					c.State = firstgood.StateFailed
					record.Put(&c)
					if n%25 == 0 {
						term.resize(20+n, 5+n)
						view.Print("printed")
					}
				}
			})
		}
		group.Go(func() {
			for range 200 {
				view.writing.Lock()
				view.draw()
				view.writing.Unlock()
			}
		})
		group.Wait()
		view.Close()
		if wrong := term.state(); wrong != "" {
			t.Error(wrong)
		}
	}
}

func TestNew_Errors(t *testing.T) {
	for _, tt := range []struct {
		rows []Row
		want string
	}{
		{[]Row{{Name: "a"}, {}}, "progress: row 1 has no name"},
		{[]Row{{Name: "a", Depth: 1}}, "progress: row 0 (a): got depth 1, want 0 to 0"},
		{[]Row{{Name: "a"}, {Name: "b", Depth: 2}}, "progress: row 1 (b): got depth 2, want 0 to 1"},
		{[]Row{{Name: "a", Depth: -1}}, "progress: row 0 (a): got depth -1, want 0 to 0"},
		{[]Row{{Name: "a", Repeats: -1}}, "progress: row 0 (a): got -1 repeats, want 0 or more"},
	} {
		view, err := New(Config{Out: newTerminal(80, 24), Rows: tt.rows})
		if view != nil || err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	if _, err := New(Config{}); err == nil || err.Error() != "progress: Out is nil" {
		t.Errorf("got %v, want that Out is nil", err)
	}
}
