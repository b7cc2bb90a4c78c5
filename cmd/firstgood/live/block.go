package live

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// look is how a state is shown: by a word and a glyph, and by a colour where there are colours.
type look struct {
	word  string
	glyph string // of width 1 also where East Asian conventions hold
	ascii string
	color string // the parameter of the escape sequence
}

var looks = [...]look{
	waiting:   {"waiting", "◦", ".", "2"},
	running:   {"running", "▸", ">", "36"},
	judging:   {"judging", "?", "?", "35"},
	accepted:  {"accepted", "+", "+", "32"},
	won:       {"won", "✓", "*", "32"},
	lost:      {"lost", "~", "~", "2"},
	rejected:  {"rejected", "⊘", "!", "33"},
	failed:    {"failed", "✗", "x", "31"},
	cancelled: {"cancelled", "−", "-", "2"},
	unstarted: {"not started", "◦", ".", "2"},
}

func (s state) look() look { return looks[s] }

// line is one line of the block.
type line struct {
	text  string // as it is written, colours included
	cells int    // its width
}

// block lays the board out as lines, none wider than the screen less one column (to write into the last column is to
// leave the cursor in a place on which terminals differ), and no more than the screen has, less one for the cursor.
// A run that has ended may take more: what failed or won is shown however long that gets.
type block struct {
	board      *board
	screen     Screen
	cols, rows int
	now        time.Time

	indent int // columns before the glyph of a row of depth 0
	step   int // and more per depth
	label  int // columns of indent, glyph and name
	gap    int // columns between that and the word
	word   bool
	time   bool
}

const (
	wordCells  = 9 // "cancelled"; "not started" has nothing behind it and may be longer
	timeCells  = 5 // "12.3s", "2m05s"
	leastLabel = 6
	leastNote  = 8  // what is narrower says nothing
	fairNote   = 24 // a reason that needs more than it would have, and has less than this, takes the time's place
	roomy      = 60 // screens narrower than this have narrower gaps
)

func (b *block) width() int { return max(1, b.cols-1) }

// lines is the whole block.
func (b *block) lines() []line {
	height := max(1, b.rows-1)
	var lines []line
	if b.board.headed() && height > 2 {
		lines = append(lines, b.headline())
		height--
	}
	all := slices.Collect(b.board.all)
	shown, hidden := b.fold(all, height)
	b.arrange(all, len(lines) > 0)
	for _, r := range shown {
		lines = append(lines, b.row(r))
	}
	if hidden != "" {
		lines = append(lines, b.fit(strings.Repeat(" ", b.indent)+hidden))
	}
	return lines
}

func (b *block) fit(text string) line {
	text = cut(text, b.width(), b.board.ellipsis)
	return line{text, width(text)}
}

func (b *block) headline() line {
	root := b.board.root
	elapsed := b.now.Sub(root.began)
	text := ticking(elapsed)
	if ended := b.board.ended; !ended.IsZero() {
		text = seconds(ended.Sub(root.began))
	}
	if root.pattern != "" {
		text = root.pattern + "  " + text
	}
	l := b.fit(root.name + "  " + text)
	if b.screen.Color && strings.HasPrefix(l.text, root.name) {
		l.text = paintText("1", root.name) + l.text[len(root.name):]
	}
	return l
}

// arrange decides on the columns. They depend on the plan and the screen alone, so that nothing moves while the run
// goes on.
func (b *block) arrange(all []*row, headline bool) {
	b.step, b.gap = 2, 2
	if b.cols < roomy {
		b.step, b.gap = 1, 1
	}
	if headline {
		b.indent = b.step
	}
	b.label = leastLabel
	for _, r := range all {
		b.label = max(b.label, b.indent+r.depth*b.step+2+width(r.name))
	}
	room := b.width() - b.gap - wordCells - 1 - timeCells
	switch {
	case room >= leastLabel:
		b.word, b.time = true, true
		if most := max(16, b.width()/3); b.label > most && b.label > room-2-leastNote {
			b.label = min(b.label, max(most, room-2-leastNote))
		}
		b.label = min(b.label, room)
	case b.width()-wordCells-1 >= leastLabel:
		b.word = true
		b.label = min(b.label, b.width()-wordCells-1)
	default:
		b.label = min(b.label, b.width())
	}
}

// row is the line of r: glyph and name, the word for its state, its time, and what there is to say about it.
func (b *block) row(r *row) line {
	state := b.board.shown(r)
	look := state.look()
	glyph := look.ascii
	if b.screen.Unicode {
		glyph = look.glyph
	}
	label := b.label
	if b.word && !b.time { // the word may be longer than its column
		label = max(3, min(label, b.width()-b.gap-len(look.word)))
	}
	w := writer{color: b.screen.Color}
	w.pad(max(0, min(b.indent+r.depth*b.step, label-3))) // a name deep inside still shows how it begins
	w.painted(look.color, glyph)
	w.text(cut(" "+r.name, label-w.cells, b.board.ellipsis))
	if !b.word {
		return w.line()
	}
	w.pad(label + b.gap)
	w.painted(look.color, look.word)
	if state == waiting || state == unstarted {
		return w.line()
	}
	note := b.note(r, state)
	at := b.label + b.gap + wordCells + 1 // the time's column
	room := b.width() - at - timeCells - 2
	if short := (state == failed || state == rejected) && room < min(fairNote, width(note)); short && b.width()-at >= leastNote {
		w.pad(at)
		w.text(cut(note, b.width()-at, b.board.ellipsis))
		return w.line()
	}
	if !b.time {
		return w.line()
	}
	elapsed := seconds(r.took)
	if state == running || state == judging {
		elapsed = ticking(b.now.Sub(r.began))
	}
	w.pad(at + timeCells - len(elapsed))
	w.text(elapsed)
	if room = b.width() - w.cells - 2; note == r.pattern && width(note) > room {
		note = "" // a part of it says nothing
	}
	if note != "" && room >= leastNote {
		w.text("  " + cut(note, room, b.board.ellipsis))
	}
	return w.line()
}

// note is what there is to say about r beside its state.
func (b *block) note(r *row, state state) string {
	var detail string
	by, took := b.judges(r)
	switch state {
	case failed, rejected:
		detail = r.reason
	case running:
		switch {
		case r.said != "":
			detail = r.said
		case r.before != "":
			detail = "before: " + r.before
		}
	case judging:
		detail = r.said
		if by != "" {
			detail = also(detail, fmt.Sprintf("by %s, %s", by, ticking(took)))
		}
	case accepted, won, lost:
		detail = r.said
		if by != "" {
			detail = also(detail, fmt.Sprintf("judged by %s, %s", by, seconds(took)))
		}
		if r.warning != "" {
			detail = strings.TrimPrefix(detail+": "+r.warning, ": ")
		}
	}
	attempt := r.attempts(b.cols < roomy)
	switch {
	case attempt != "" && detail != "":
		return attempt + "; " + detail
	case attempt+detail != "":
		return attempt + detail
	}
	return r.pattern
}

// also joins what is said with what there is to say besides.
func also(said, more string) string {
	if said == "" {
		return more
	}
	return said + "; " + more
}

// judges names those that judge or have judged r, and says how long that took from the first to the last.
func (b *block) judges(r *row) (by string, took time.Duration) {
	var names []string
	for _, j := range r.judges {
		if !slices.Contains(names, j.by) {
			names = append(names, j.by)
		}
		until := j.ended
		if until.IsZero() {
			until = b.now
		}
		took = max(took, until.Sub(r.judges[0].began))
	}
	return strings.Join(names, " and "), took
}

// What is hidden first when not everything fits. The rows of a rank are hidden from the deepest up.
const (
	idleRank     = iota // from the last listed up
	besideRank          // lost and cancelled; from the first listed down, as what follows
	endedRank           // failed and rejected
	busyRank            // from the last listed up, as what follows
	answeredRank        // accepted and won
)

func rank(s state) int {
	switch s {
	case waiting, unstarted:
		return idleRank
	case lost, cancelled:
		return besideRank
	case failed, rejected:
		return endedRank
	case running, judging:
		return busyRank
	}
	return answeredRank
}

// fold returns the rows that fit in height, in order, and a line for those that do not, "" when there are none.
func (b *block) fold(all []*row, height int) (shown []*row, hidden string) {
	if len(all) <= height {
		return all, ""
	}
	type candidate struct{ at, rank, depth int }
	candidates := make([]candidate, len(all))
	open := []int{} // of each depth, the place of the last row; an instance stays as long as any of its members
	for i, r := range all {
		open = append(open[:r.depth], i)
		candidates[i] = candidate{i, rank(b.board.shown(r)), r.depth}
		for _, above := range open[:r.depth] {
			candidates[above].rank = max(candidates[above].rank, candidates[i].rank)
		}
	}
	slices.SortFunc(candidates, func(x, y candidate) int {
		if order := cmp.Or(cmp.Compare(x.rank, y.rank), cmp.Compare(y.depth, x.depth)); order != 0 {
			return order
		}
		if x.rank == besideRank || x.rank == endedRank {
			return cmp.Compare(x.at, y.at)
		}
		return cmp.Compare(y.at, x.at)
	})
	hide := len(all) - height + 1
	if !b.board.ended.IsZero() {
		hide = min(hide, sort.Search(len(candidates), func(i int) bool { return candidates[i].rank >= endedRank }))
	}
	gone := make([]bool, len(all))
	var counts [len(looks)]int
	for _, c := range candidates[:hide] {
		gone[c.at] = true
		counts[b.board.shown(all[c.at])]++
	}
	for i, r := range all {
		if !gone[i] {
			shown = append(shown, r)
		}
	}
	more := "more "
	if shown == nil {
		more = ""
	}
	var parts []string
	for s, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s%s", n, more, state(s).look().word))
		}
	}
	if parts == nil {
		return shown, ""
	}
	return shown, b.board.ellipsis + " " + strings.Join(parts, ", ")
}
