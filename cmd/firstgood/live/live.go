// Package live shows a run while it goes on: on a terminal each delegate on its own line, kept up to date; elsewhere
// a plain line for each start and each end.
//
// A [View] is told of the run's calls by its method Watch, which is made to be the watch function of a
// [firstgood.Record]. It keeps what it was told on a board (board.go), and a goroutine of its own writes: the block
// that is redrawn in place (block.go, paint.go) or the plain lines (plain.go). So a terminal that is stopped, or a pipe
// that nobody reads, holds up nobody but Close.
package live

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/firstgood/firstgood"
)

// Config is what a view is made of.
type Config struct {
	Out     io.Writer // where to write; it must not be nil. The view writes to it from one goroutine at a time
	Name    string    // what runs, for the headline; no headline for "", or for the name of the only row
	Pattern string    // its pattern; "" for none
	Rows    []Row     // its plan; calls that the plan does not have get rows of their own as they come
	Screen  Screen    // what Out is able to show; the zero Screen gets plain lines
}

// Row is a delegate of the plan. The members of an instance follow it, one deeper, in listed order; what runs
// directly in the instance of the headline has depth 0.
type Row struct {
	Name    string // never ""
	Pattern string // of an instance; "" for any other delegate
	Depth   int
	Repeats int // how many attempts the target of a retry-with-learning has in all; 0: the row is no such target
}

// Screen says what can be shown where the view writes; see [Detect].
type Screen struct {
	Live    bool                    // it is a terminal that moves its cursor when told to; false: plain lines
	Color   bool                    // colours may be used
	Unicode bool                    // characters beyond ASCII may be used; plain lines keep those of names and reasons anyway
	Size    func() (cols, rows int) // asked before each draw; nil, and figures below 1, are taken for 80 and 24
}

// period is how often a terminal is redrawn, at most.
const period = 100 * time.Millisecond

// View shows one run. Its methods may be called from several goroutines.
type View struct {
	screen  Screen
	changed chan struct{} // holds a token when a plain line waits to be written
	stop    chan struct{} // closed by Close
	stopped chan struct{} // closed when the view's goroutine has ended
	once    sync.Once

	// writing is held while out is written to, and taken before mu.
	writing sync.Mutex
	painter painter

	// mu is never held while anything is written, so that Watch does not wait for the reader of out.
	mu      sync.Mutex
	board   board
	pending []string // plain lines
	closed  bool
}

// New returns a view of the run that is about to start, and starts its goroutine, which ends with Close. It fails
// when Out is nil, and for rows that are no plan: one without a name, of negative Repeats, or deeper by more than one
// than the row before it.
func New(cfg Config) (*View, error) {
	if cfg.Out == nil {
		return nil, errors.New("progress: Out is nil")
	}
	board, err := newBoard(cfg, time.Now())
	if err != nil {
		return nil, fmt.Errorf("progress: %w", err)
	}
	v := &View{
		screen:  cfg.Screen,
		changed: make(chan struct{}, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
		painter: painter{out: cfg.Out},
		board:   board,
	}
	go v.run()
	return v, nil
}

// Watch takes in a new or changed call. It does not wait for anything to be written. After Close it does nothing.
func (v *View) Watch(c firstgood.Call) {
	now := time.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return
	}
	r, what := v.board.apply(c, now)
	if v.screen.Live || what == nothing {
		return // the next tick shows it, or it is not worth a line
	}
	v.tell(r, what)
}

// tell queues the plain line for what has happened to r, if it is worth one. The caller holds mu.
func (v *View) tell(r *row, what event) {
	line := v.board.plain(r, what)
	if line == "" {
		return
	}
	v.pending = append(v.pending, line)
	select {
	case v.changed <- struct{}{}:
	default:
	}
}

// Print writes text, and a newline where it ends without one, as lines of their own: above the block on a terminal,
// between the plain lines elsewhere. The text is written as it is. It may be called after Close.
func (v *View) Print(text string) {
	v.writing.Lock()
	defer v.writing.Unlock()
	if v.screen.Live {
		cols, rows := v.size()
		v.painter.insert(text, v.frame(cols, rows), cols, rows)
		return
	}
	v.flush()
	v.painter.insert(text, nil, 0, 0)
}

// Close shows how the run has ended, leaves the cursor on a fresh line below that, and ends the view's goroutine.
// Calls still under way are shown as cancelled, rows that had none as not started. Afterwards the view writes nothing
// but what Print is given. Later and concurrent calls wait for the first to be done.
func (v *View) Close() {
	v.once.Do(func() {
		close(v.stop)
		<-v.stopped
		v.writing.Lock()
		defer v.writing.Unlock()
		v.mu.Lock()
		v.closed = true
		left := v.board.finish(time.Now())
		if !v.screen.Live {
			for _, r := range left {
				v.tell(r, ended)
			}
		}
		v.mu.Unlock()
		v.draw()
		v.painter.leave()
	})
}

// run writes what there is to write, until Close.
func (v *View) run() {
	defer close(v.stopped)
	var tick <-chan time.Time
	if v.screen.Live {
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-v.stop:
			return
		case <-tick:
		case <-v.changed:
		}
		v.writing.Lock()
		v.draw()
		v.writing.Unlock()
	}
}

// draw brings what is shown up to date. The caller holds writing.
func (v *View) draw() {
	if !v.screen.Live {
		v.flush()
		return
	}
	cols, rows := v.size()
	v.painter.paint(v.frame(cols, rows), cols, rows)
}

// flush writes the plain lines that wait. The caller holds writing.
func (v *View) flush() {
	v.mu.Lock()
	lines := v.pending
	v.pending = nil
	v.mu.Unlock()
	v.painter.lines(lines)
}

// frame is the block as it should stand on the screen now; nothing once that has been left behind.
func (v *View) frame(cols, rows int) []line {
	if v.painter.left {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	b := block{board: &v.board, screen: v.screen, cols: cols, rows: rows, now: time.Now()}
	return b.lines()
}

func (v *View) size() (cols, rows int) {
	if v.screen.Size != nil {
		cols, rows = v.screen.Size()
	}
	if cols < 1 {
		cols = 80
	}
	if rows < 1 {
		rows = 24
	}
	return cols, rows
}
