package live

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// painter keeps a block of lines on a terminal up to date. Between two frames the cursor is at the start of the line
// below the block, and visible: a process that is killed leaves nothing to be repaired.
//
// Each frame is one write: go up to the block's first line, write every line over the old one, erase what is right of
// it, and at last erase what is below. While that happens lines do not wrap, so that a character that the terminal
// takes for wider than we do cannot move the block.
type painter struct {
	out   io.Writer
	drawn []line // on the terminal, to be written over
	cols  int    // the screen's width and height when they were drawn
	rows  int
	left  bool // the block is left as it is
	broke bool // a write has failed, and nothing is written any more
}

const (
	startFrame = "\x1b[?25l\x1b[?7l"
	endFrame   = "\x1b[?7h\x1b[?25h"
)

// paint replaces the block.
func (p *painter) paint(lines []line, cols, rows int) {
	if p.left || cols == p.cols && rows == p.rows && slices.Equal(lines, p.drawn) {
		return
	}
	var b strings.Builder
	b.WriteString(startFrame)
	p.top(&b, cols, rows)
	if cols != p.cols { // a terminal may remember that a line goes on in the next until all of it is erased
		b.WriteString("\x1b[J")
	}
	p.block(&b, lines)
	b.WriteString("\x1b[J" + endFrame)
	p.write(b.String())
	p.drawn, p.cols, p.rows = lines, cols, rows
}

// insert writes text where the block was, and the block below it.
func (p *painter) insert(text string, lines []line, cols, rows int) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if p.left || lines == nil {
		p.write(text)
		return
	}
	var b strings.Builder
	b.WriteString(startFrame)
	p.top(&b, cols, rows)
	b.WriteString("\x1b[J\x1b[?7h" + text + "\x1b[?7l")
	p.block(&b, lines)
	b.WriteString(endFrame)
	p.write(b.String())
	p.drawn, p.cols, p.rows = lines, cols, rows
}

// leave leaves the block as it is.
func (p *painter) leave() { p.left = true }

// lines writes plain lines.
func (p *painter) lines(lines []string) {
	if len(lines) > 0 {
		p.write(strings.Join(lines, "\n") + "\n")
	}
}

// top goes to the first line of the block. A terminal that has become narrower since has wrapped the lines that no
// longer fit, so that the block is higher than it was drawn; what has left the screen at its top is out of reach.
func (p *painter) top(b *strings.Builder, cols, rows int) {
	up := 0
	for _, l := range p.drawn {
		up += max(1, (l.cells+cols-1)/cols)
	}
	if up = min(up, rows-1); up > 0 {
		fmt.Fprintf(b, "\x1b[%dA", up)
	}
	b.WriteString("\r")
}

func (p *painter) block(b *strings.Builder, lines []line) {
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteString("\x1b[K\r\n")
	}
}

func (p *painter) write(s string) {
	if p.broke {
		return
	}
	if _, err := io.WriteString(p.out, s); err != nil {
		p.broke = true
	}
}
