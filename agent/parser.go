package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/command"
)

// maxLine bounds the memory of a line. An event may hold a whole file that the agent has read.
const maxLine = 16 << 20

// Result is what an agent has said at its end.
type Result struct {
	Text  string          // its answer
	Usage firstgood.Usage // of all its models together, as far as it is told; input includes what came from a cache
	Cost  *float64        // in US dollars; nil when it does not say
	// Error says that the agent failed, and with which kind, or that it did not come to its end
	// ([firstgood.KindTruncated]). Nil for success.
	Error *firstgood.Error
}

// Parser reads what one run of an agent writes to stdout, in pieces of any size. The formats are open: events, and fields of
// events, that it does not know are ignored, and so is a line that is no event.
type Parser struct {
	kind    Kind
	partial []byte // of a line whose end has not come yet
	skip    bool   // the rest of a line that is too long
	lost    int    // how many lines were too long

	line    string // for people
	result  Result
	done    bool   // it has said that it is at its end
	trouble string // what it has said went wrong, which it may yet get over
	text    strings.Builder
	stale   bool // what text holds stood before a tool call
	counted string
}

var _ command.Output = (*Parser)(nil)

// Parser returns a parser for one run of the agent.
func (k Kind) Parser() *Parser {
	return &Parser{kind: k, result: Result{Usage: firstgood.Usage{Source: firstgood.SourceUnknown}}}
}

// Write takes the next piece of the output. The error is always nil.
func (p *Parser) Write(piece []byte) (int, error) {
	written := len(piece)
	for len(piece) > 0 {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			p.keep(piece)
			break
		}
		if p.skip || len(p.partial)+end > maxLine {
			p.keep(piece[:end])
			p.skip = false
		} else if len(p.partial) == 0 {
			p.take(piece[:end])
		} else {
			p.take(append(p.partial, piece[:end]...))
			p.partial = p.partial[:0]
		}
		piece = piece[end+1:]
	}
	return written, nil
}

// keep adds to the line that has not ended, or drops it when it is too long.
func (p *Parser) keep(piece []byte) {
	switch {
	case p.skip:
	case len(p.partial)+len(piece) > maxLine:
		p.partial, p.skip = nil, true
		p.lost++
	default:
		p.partial = append(p.partial, piece...)
	}
}

func (p *Parser) take(line []byte) {
	if line = bytes.TrimSpace(line); len(line) > 0 {
		p.kind.read(p, line)
	}
}

// Line returns what the agent is doing, in a line for people, "" before it has said anything.
func (p *Parser) Line() string { return p.line }

// Result returns what the agent has said so far; whole says that it has exited by itself with status 0, without which a
// missing end is not an error of its output. It takes what has been written for the last line, whether ended or not.
func (p *Parser) Result(whole bool) Result {
	if len(p.partial) > 0 {
		p.take(p.partial)
		p.partial = nil
	}
	if p.kind.end != nil {
		p.kind.end(p)
	}
	r := p.result
	r.Text = strings.ToValidUTF8(r.Text, "\uFFFD")
	switch {
	case r.Error == nil && !p.done && p.trouble != "":
		r.Error = p.failure(p.trouble)
	case r.Error == nil && !p.done && whole:
		r.Error = &firstgood.Error{Kind: firstgood.KindTruncated, Reason: p.kind.Name + " ended without a result"}
		if p.lost > 0 {
			r.Error.Reason += fmt.Sprintf("; %d of its lines had more than %d bytes and were left out", p.lost, maxLine)
		}
	}
	if r.Error != nil {
		r.Error.Usage = r.Usage
	}
	return r
}

// End makes the reply of the result; see [command.Output]. The cost is not in it.
func (p *Parser) End(whole bool) (firstgood.Reply, error) {
	r := p.Result(whole)
	reply := firstgood.Reply{Text: r.Text, Usage: r.Usage}
	if r.Cost != nil {
		reply.Usage.Cost = *r.Cost
	}
	if r.Error != nil {
		return reply, r.Error
	}
	return reply, nil
}

// decode reads a line as an event. A field of another type than expected is left empty.
func decode(line []byte, event any) bool {
	if line[0] != '{' || !json.Valid(line) {
		return false
	}
	_ = json.Unmarshal(line, event)
	return true
}

// say sets the line to the last line of a text that is not blank.
func (p *Parser) say(text string) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if line := tidy(lines[len(lines)-1]); line != "" {
		p.line = line
	}
}

// sayTool sets the line to the use of a tool: its name, and what it is used on.
func (p *Parser) sayTool(name string, input json.RawMessage) {
	var on map[string]any
	_ = json.Unmarshal(input, &on)
	line := name
	for _, key := range []string{"file_path", "filePath", "path", "absolute_path", "command", "cmd", "pattern", "query", "url", "description"} {
		if value, ok := on[key].(string); ok && value != "" {
			first, _, _ := strings.Cut(strings.TrimSpace(value), "\n")
			line += " " + first
			break
		}
	}
	if line = tidy(line); line != "" {
		p.line = line
	}
}

// tidy makes a line of a text that does nothing to a terminal, and is not long.
func tidy(text string) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
	short, cut := firstgood.Excerpt(text, 200)
	if cut {
		short += "…"
	}
	return short
}

// spoke adds a piece of what the agent says to its user. What it said before it used a tool is not its answer, unless it says
// nothing after it.
func (p *Parser) spoke(text string) {
	if p.stale && strings.TrimSpace(text) != "" {
		p.text.Reset()
		p.stale = false
	}
	p.text.WriteString(text)
	p.say(strings.ToValidUTF8(p.text.String()[max(0, p.text.Len()-1000):], ""))
}

// uses measures what was used: the counts are never negative in what is said.
func (p *Parser) uses(input, output int) {
	p.result.Usage = firstgood.Usage{InputTokens: max(0, input), OutputTokens: max(0, output), Source: firstgood.SourceMeasured}
}

func (p *Parser) costs(dollars *float64) {
	if dollars != nil && *dollars >= 0 {
		p.result.Cost = dollars
	}
}
