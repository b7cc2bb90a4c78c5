package document

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// Hash returns what a body is recognised by: the SHA-256 of its source, in hexadecimal, after white space at the end of each line
// and blank lines at both ends are removed and line ends are made \n. Nothing else is overlooked, comments neither. A text
// of a body that goes over a line end may hold such white space; no body that [Native] knows has one, so an edit that
// changes what it does changes its hash.
func Hash(source string) string {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	sum := sha256.Sum256([]byte(strings.Trim(trimRight(source), "\n")))
	return hex.EncodeToString(sum[:])
}

// fence is a fenced block of a section.
type fence struct {
	info   string // the first word after the fence, in lower case
	pos    Pos    // of the fence
	source string
	at     Pos // of the first character of the source
}

// fences returns the fenced blocks of a section.
func (r *reading) fences(s *section) []fence {
	var found []fence
	text := []byte(r.text)
	for _, block := range s.blocks {
		code, ok := block.(*ast.FencedCodeBlock)
		if !ok {
			continue
		}
		start, end := r.lineAround(code.Pos())
		opening := r.text[start:end]
		indent := len(opening) - len(strings.TrimLeft(opening, " "))
		f := fence{pos: r.pos(start + indent), at: r.pos(end)}
		if code.Info != nil {
			word, _, _ := strings.Cut(string(code.Info.Segment.Value(text)), " ")
			f.info = strings.ToLower(word)
		}
		var source strings.Builder
		for i := range code.Lines().Len() {
			segment := code.Lines().At(i)
			if i == 0 {
				f.at = r.pos(segment.Start)
			}
			source.Write(segment.Value(text))
			end = segment.Stop
		}
		f.source = source.String()
		mark := strings.TrimSpace(opening)[:3]
		closing, _ := r.lineEnd(end)
		if !strings.HasPrefix(strings.TrimSpace(closing), mark) || end >= len(r.text) {
			r.errorAt(f.pos, "the fence that opens here is never closed; put %s on a line of its own after the last step", mark)
		}
		found = append(found, f)
	}
	return found
}

// lineEnd returns the line that begins at an offset.
func (r *reading) lineEnd(offset int) (string, bool) {
	start, end := r.lineAround(offset)
	return strings.TrimSuffix(r.text[start:end], "\n"), start == offset
}

var (
	proseFences  = map[string]bool{"prose": true, "prosescript": true}
	scriptFences = map[string]bool{"javascript": true, "js": true, "typescript": true, "ts": true}
)

// delegation reads the body of a pattern or composite.
func (r *reading) delegation(d *Document, p *part) {
	if one, two := p.section("delegation"), p.section("delegation loop"); one != nil && two != nil {
		r.errorAt(two.Pos, "the document has a Delegation and a Delegation Loop; a pattern has one body")
	}
	s := p.section("delegation", "delegation loop")
	if s == nil {
		r.errorAt(d.Pos, "the %s has no ### Delegation, and so no steps", d.Kind)
		return
	}
	fences := r.fences(s)
	if len(fences) == 0 {
		r.errorAt(s.Pos, "%s holds no steps; put them into a fence, ```%s", s.Title, fenceOf(d.Kind))
		return
	}
	f := fences[0]
	if len(fences) > 1 {
		r.errorAt(fences[1].pos, "a second fence in %s; a pattern has one body", s.Title)
	}
	language := Prose
	switch {
	case scriptFences[f.info]:
		language = JavaScript
		if d.Kind == Pattern {
			r.errorAt(f.pos, "the steps of a pattern are ProseScript; JavaScript belongs to kind: composite")
		}
	case f.info == "":
		if d.Kind == Composite {
			r.errorAt(f.pos, "the fence does not say its language; write ```javascript")
		}
	case !proseFences[f.info]:
		r.errorAt(f.pos, "a fence of %s holds no steps; write ```%s", quote(f.info), fenceOf(d.Kind))
	}
	d.Body = r.body(f, language)
	if d.Kind == Composite && d.State == "" {
		d.State = "compositeState"
		if strings.Contains(f.source, "__controlState") {
			d.State = "controlState"
		}
	}
}

func fenceOf(kind Kind) Language {
	if kind == Composite {
		return JavaScript
	}
	return Prose
}

func (r *reading) body(f fence, language Language) *Body {
	if strings.TrimSpace(f.source) == "" {
		r.errorAt(f.pos, "the fence is empty; it holds the steps")
	}
	return &Body{Language: language, Source: f.source, Pos: f.at, Hash: Hash(f.source)}
}

// execution reads the body of a function, if it has one: a fence, or lines that are clearly ProseScript. What is prose is left for
// the prompt.
func (r *reading) execution(d *Document, p *part) {
	s := p.section("execution")
	if s == nil {
		if s := p.section("delegation", "delegation loop"); s != nil {
			r.errorAt(s.Pos, "%s belongs to a pattern; the steps of a function stand under ### Execution", s.Title)
		}
		return
	}
	var steps []fence
	foreign := false
	for _, f := range r.fences(s) {
		switch {
		case proseFences[f.info], f.info == "" && looksLikeScript(f.source):
			steps = append(steps, f)
		case scriptFences[f.info]:
			r.errorAt(f.pos, "the steps of a function are ProseScript; JavaScript belongs to kind: composite")
			foreign = true
		}
	}
	switch {
	case foreign:
	case len(steps) > 1:
		r.errorAt(steps[1].pos, "a second fence of steps in %s; a function has one body", s.Title)
		fallthrough
	case len(steps) == 1:
		d.Body = r.body(steps[0], Prose)
	case looksLikeScript(s.Text):
		d.Body = r.plain(s)
	case strings.TrimSpace(s.Text) == "":
		r.errorAt(s.Pos, "%s is empty; put the steps into a fence, ```prose", s.Title)
	default:
		r.noteAt(s.Pos, "%s is no ProseScript; it becomes part of the prompt", s.Title)
	}
}

// plain takes the text of a section as a body, less the indent that all its lines have.
func (r *reading) plain(s *section) *Body {
	lines := strings.Split(s.Text, "\n")
	indent := len(s.Text)
	for _, l := range lines {
		if l != "" {
			indent = min(indent, len(l)-len(strings.TrimLeft(l, " ")))
		}
	}
	for i, l := range lines {
		lines[i] = l[min(indent, len(l)):]
	}
	source := strings.Join(lines, "\n") + "\n"
	at := s.Pos
	for at.Line++; strings.TrimSpace(r.line(at.Line)) == ""; {
		at.Line++
	}
	at.Column = indent + 1
	return &Body{Language: Prose, Source: source, Pos: at, Hash: Hash(source)}
}

var statement = regexp.MustCompile(`^(?:(?:let|const)\s+[\w{][\w, {}-]*\s*=|[\w.-]+\s*=\s|call\s+[\w./-]+\s*$|call\s+[\w-]+\(|return(?:\s+[\w.-]+|\s*[{\["].*)?$|parallel\b.*:\s*$|repeat\b.*:\s*$|for\s.*:\s*$|loop\b.*:\s*$|(?:if|elif|else|try|catch|finally)\b.*:\s*$|do\s*:\s*$|block\s.*:\s*$|(?:record|append)\s.+|throw\b|[}\])])`)

// looksLikeScript reports whether each line that is not indented begins as a statement does, and one of them is.
func looksLikeScript(text string) bool {
	found := false
	margin := -1
	for l := range strings.SplitSeq(text, "\n") {
		trimmed := strings.TrimSpace(l)
		if trimmed == "" || strings.HasPrefix(trimmed, "# ") {
			continue
		}
		indent := len(l) - len(strings.TrimLeft(l, " \t"))
		if margin < 0 {
			margin = indent
		}
		if indent > margin {
			continue
		}
		if !statement.MatchString(trimmed) || !utf8.ValidString(trimmed) {
			return false
		}
		found = true
	}
	return found
}
