package config

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// The YAML library says what is wrong with a text it cannot read, but hardly where: no column, and often the line
// at which the surrounding block began. So the place is searched for: it is where the shortest beginning of the
// text ends that cannot be read either, once all that is open in it (quotes, brackets) has been closed.

// syntax reports the error of the YAML library about text.
func (r *reading) syntax(text string, err error) {
	if r.origin {
		r.report(SeverityError, Pos{File: r.name}, "", "not YAML: %s", yamlMessage(err))
		return
	}
	pos, open := r.culprit(text)
	message := r.explain(yamlMessage(err), pos, open)
	if at, ok := r.tightColon(pos.Line - 1); ok && strings.Contains(yamlMessage(err), "mapping values") {
		pos, message = at, tightColon
	}
	r.report(SeverityError, pos, "", "%s", message)
	if r.secretLine(pos.Line) {
		r.unshown = pos.Line
	}
}

var yamlPlace = regexp.MustCompile(`^yaml: (line \d+: )?`)

func yamlMessage(err error) string { return yamlPlace.ReplaceAllString(err.Error(), "") }

// bracket is an opening quote or bracket and its place.
type bracket struct {
	char rune
	pos  Pos
}

func (b bracket) closer() string {
	switch b.char {
	case '[':
		return "]"
	case '{':
		return "}"
	}
	return string(b.char)
}

func readable(text string) bool {
	var document yaml.Node
	return yaml.Unmarshal([]byte(text), &document) == nil
}

// culprit returns where text stops being YAML, and the bracket or quote, if any, that is open there.
func (r *reading) culprit(text string) (Pos, *bracket) {
	open := r.opened(text)
	if len(open) > 0 && readable(text+closers(open)) {
		last := open[len(open)-1]
		return last.pos, &last
	}
	// The first line with which the text cannot be read any more, by halving.
	lines := r.lines
	broken := func(n int) bool {
		part := strings.Join(lines[:n], "\n")
		return !readable(part + closers(r.opened(part)))
	}
	low, high := 0, len(lines) // lines[:low] can be read, lines[:high] cannot
	for high-low > 1 {
		if middle := (low + high) / 2; broken(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	line := []rune(lines[high-1])
	pos := Pos{File: r.name, Line: high, Column: 1 + utf8.RuneCountInString(leadingSpace(lines[high-1]))}
	before := strings.Join(lines[:high-1], "\n")
	if high > 1 {
		before += "\n"
	}
	// The first column from which on no beginning of that line can be read.
	if len(line)*len(before) < 10<<20 && len(line) < 500 {
		for column := len(line); column >= 1; column-- {
			part := before + string(line[:column-1])
			if readable(part + closers(r.opened(part))) {
				pos.Column = column
				break
			}
		}
	}
	pos.Column = min(pos.Column, len(line)+1)
	if open = r.opened(before + string(line[:pos.Column-1])); len(open) > 0 {
		last := open[len(open)-1]
		return pos, &last
	}
	return pos, nil
}

const tightColon = "a key needs a space after its colon"

var (
	tightKey  = regexp.MustCompile(`^\s*(- )?[A-Za-z0-9_-]+:[^\s/]`)
	tightText = regexp.MustCompile(`^[A-Za-z0-9_-]+:[^\s/]`)
)

// tightColon returns the place of the colon where the line, or the last before it that is not blank, is a key
// without a space after its colon. YAML takes it for a text that goes on in the next line.
func (r *reading) tightColon(number int) (Pos, bool) {
	for number > 1 && strings.TrimSpace(r.line(number)) == "" {
		number--
	}
	line := r.line(number)
	if !tightKey.MatchString(line) {
		return Pos{}, false
	}
	return Pos{File: r.name, Line: number, Column: strings.IndexByte(line, ':') + 1}, true
}

func leadingSpace(line string) string { return line[:indentation(line)] }

func closers(open []bracket) string {
	var b strings.Builder
	for i := len(open) - 1; i >= 0; i-- {
		b.WriteString(open[i].closer())
	}
	return b.String()
}

// opened returns the brackets and the quote that are open at the end of text. It knows as much of YAML as that
// takes: where a value may begin, comments, and block texts.
func (r *reading) opened(text string) []bracket {
	var open []bracket
	block := -1 // the indentation that a block text is deeper than
	fresh := true
	for number, line := range splitLines(text) {
		indent := indentation(line)
		if block >= 0 && (strings.TrimSpace(line) == "" || indent > block) {
			continue
		}
		block = -1
		if len(open) == 0 || !isQuote(open[len(open)-1].char) {
			fresh = true
		}
		runes := []rune(line)
		for i := 0; i < len(runes); i++ {
			c := runes[i]
			if len(open) > 0 && isQuote(open[len(open)-1].char) {
				quote := open[len(open)-1].char
				switch {
				case quote == '"' && c == '\\', quote == '\'' && c == '\'' && i+1 < len(runes) && runes[i+1] == '\'':
					i++
				case c == quote:
					open, fresh = open[:len(open)-1], false
				}
				continue
			}
			flow := len(open) > 0
			after := i+1 == len(runes) || unicode.IsSpace(runes[i+1])
			switch {
			case unicode.IsSpace(c):
			case c == '#' && (i == 0 || unicode.IsSpace(runes[i-1])):
				i = len(runes)
			case fresh && isQuote(c), (fresh || flow) && (c == '[' || c == '{'):
				open, fresh = append(open, bracket{c, Pos{File: r.name, Line: number + 1, Column: i + 1}}), true
			case flow && (c == ']' || c == '}'):
				open, fresh = open[:len(open)-1], false
			case flow && c == ',', c == ':' && (after || flow && i > 0 && isQuote(runes[i-1])), fresh && (c == '-' || c == '?') && after:
				fresh = true
			case fresh && !flow && (c == '|' || c == '>'):
				block, i = indent, len(runes)
			default:
				fresh = false
			}
		}
	}
	return open
}

func isQuote(c rune) bool { return c == '"' || c == '\'' }

// explain turns the library's message into one that says what to do.
func (r *reading) explain(message string, pos Pos, open *bracket) string {
	line := []rune(r.line(pos.Line))
	at := rune(0)
	if pos.Column <= len(line) {
		at = line[pos.Column-1]
	}
	tab := strings.ContainsRune(leadingSpace(string(line)), '\t')
	has := func(part string) bool { return strings.Contains(message, part) }
	switch {
	case open != nil && open.pos == pos && isQuote(open.char):
		return fmt.Sprintf("the quote %c is never closed; to write one inside a text, put the text in the other kind of quotes", open.char)
	case open != nil && open.pos == pos:
		return fmt.Sprintf("the bracket %c is never closed with %s", open.char, open.closer())
	case tab && (at == '\t' || len(leadingSpace(string(line))) >= pos.Column-1):
		return "a tab in the indentation; YAML wants spaces"
	case has("cannot start any token"):
		return fmt.Sprintf("a text cannot begin with %c; put it in quotes", at)
	case has("unknown anchor"), at == '*' && has("alphabetic or numeric"):
		return "a * at the start of a value makes it an alias, and nothing has this name; put a text in quotes"
	case has("unknown escape"):
		return "in double quotes a backslash begins an escape, and this is none; use single quotes, or write \\\\"
	case open != nil && (has("',' or") || has("expected ':'")):
		return fmt.Sprintf("a comma or %s is missing before this; the %c was opened at %d:%d", open.closer(), open.char, open.pos.Line, open.pos.Column)
	case has("mapping values are not allowed"):
		return "a colon and a space make a key, which cannot stand here; put a text that holds them in quotes, otherwise check the indentation"
	case has("could not find expected ':'"):
		return "this line is no \"key: value\"; a key needs a colon and a space after it"
	case has("',' or"):
		return "a comma or a closing bracket is missing before this"
	case has("expected key"), has("'-' indicator"), has("block sequence entries"), has("<document start>"):
		return "the line does not fit what is around it; check its indentation"
	}
	return "not YAML: " + message
}
