package syntax

import "strings"

// unit is the kind of what stands at a place of the source, for reading text that is no code: headers of conditions, and
// what firstgood passes over.
type unit int

const (
	unitText   unit = iota // a character
	unitSpace              // a space or tab
	unitQuoted             // a text in quotes, or in marks of a condition
	unitNote               // a comment
	unitEnd                // of the line
	unitOpen               // ( [ {
	unitClose              // ) ] }
	unitComma
	unitColon
)

// readUnit says what stands at i, and where it ends.
func readUnit(s string, i int) (unit, int) {
	switch c := s[i]; c {
	case '\n':
		return unitEnd, i + 1
	case ' ', '\t':
		return unitSpace, i + 1
	case '#':
		return unitNote, lineEnd(s, i)
	case '(', '[', '{':
		return unitOpen, i + 1
	case ')', ']', '}':
		return unitClose, i + 1
	case ',':
		return unitComma, i + 1
	case ':':
		return unitColon, i + 1
	case '"':
		end, _ := quoteEnd(s, i)
		return unitQuoted, end
	case '*':
		if end, ok := marksEnd(s, i); ok {
			return unitQuoted, end
		}
	}
	return unitText, i + 1
}

func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(s)
}

// quoteEnd is where the text in quotes that begins at i ends. One that is not closed ends with its line, or, in three
// quotes, with the source.
func quoteEnd(s string, i int) (end int, closed bool) {
	if strings.HasPrefix(s[i:], `"""`) {
		for j := i + 3; j < len(s); j++ {
			switch {
			case s[j] == '\\':
				j++
			case s[j] == '"' && strings.HasPrefix(s[j:], `"""`):
				return j + 3, true
			}
		}
		return len(s), false
	}
	for j := i + 1; j < len(s); j++ {
		switch s[j] {
		case '\\':
			if j+1 < len(s) && s[j+1] != '\n' {
				j++
			}
		case '"':
			return j + 1, true
		case '\n':
			return j, false
		}
	}
	return len(s), false
}

// marksEnd is where the marks that begin at i, ** or ***, are closed. Those of two stars close on their line.
func marksEnd(s string, i int) (end int, ok bool) {
	mark, within := "", s
	switch {
	case strings.HasPrefix(s[i:], "***"):
		mark = "***"
	case strings.HasPrefix(s[i:], "**"):
		mark, within = "**", s[:lineEnd(s, i)]
	default:
		return 0, false
	}
	n := strings.Index(within[i+len(mark):], mark)
	if n < 0 {
		return 0, false
	}
	return i + 2*len(mark) + n, true
}

// extent is where what begins at i ends, with the lines below it that are indented more than base. Inside brackets it ends
// before the comma or bracket that belongs to those. Open is where a text in it begins that is not closed, -1 for none.
func extent(s string, i, base int, inside bool) (end, open int) {
	depth := 0
	end, open = i, -1
	for i < len(s) {
		kind, next := readUnit(s, i)
		switch kind {
		case unitOpen:
			depth++
		case unitClose:
			if depth--; depth < 0 && inside {
				return end, open
			}
		case unitComma:
			if depth <= 0 && inside {
				return end, open
			}
		case unitEnd:
			indent, first := nextLine(s, next)
			if first == len(s) || indent <= base && (depth <= 0 || !isCloser(s[first])) {
				return end, open
			}
			next = first
		}
		if kind == unitQuoted && next == len(s) && strings.HasPrefix(s[i:], `"""`) {
			if _, closed := quoteEnd(s, i); !closed {
				open = i
			}
		}
		if i = next; kind != unitEnd && kind != unitSpace && kind != unitNote {
			end = i
		}
	}
	return end, open
}

func isCloser(c byte) bool { return c == ')' || c == ']' || c == '}' }

// nextLine is the indentation of the first line from i on that holds more than a comment, and where it holds it: -1, and
// the end, for none.
func nextLine(s string, i int) (indent, first int) {
	for i < len(s) {
		end := lineEnd(s, i)
		line := s[i:end]
		text := strings.TrimLeft(line, " \t")
		if text != "" && text[0] != '#' {
			return width(line[:len(line)-len(text)]), end - len(text)
		}
		i = end + 1
	}
	return -1, len(s)
}

// width is that of an indentation. A tab, which is an error, counts as one level.
func width(indent string) int { return len(indent) + strings.Count(indent, "\t") }

// reindent changes the indentation of every line but the first, and of none inside a text in quotes: it takes away what
// is less than from, and adds to.
func reindent(s string, from, to int) string {
	if !strings.Contains(s, "\n") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		kind, next := readUnit(s, i)
		b.WriteString(s[i:next])
		if i = next; kind != unitEnd {
			continue
		}
		n := 0
		for i+n < len(s) && n < from && s[i+n] == ' ' {
			n++
		}
		i += n
		switch rest := strings.TrimLeft(s[i:lineEnd(s, i)], " \t"); {
		case rest == "":
			i = lineEnd(s, i)
		case to > 0:
			b.WriteString(strings.Repeat(" ", to))
		}
	}
	return b.String()
}

// functionEnd is where the arguments of a function that begin at i end, with the keys and indexes that follow: -1 where the
// bracket is not closed before a line that is not indented more than base.
func functionEnd(s string, i, base int) int {
	for i < len(s) {
		switch {
		case s[i] == '(' || s[i] == '[':
			depth := 0
			for {
				if i == len(s) {
					return -1
				}
				kind, next := readUnit(s, i)
				i = next
				if kind == unitOpen {
					depth++
				} else if kind == unitClose {
					depth--
				} else if kind == unitEnd {
					indent, first := nextLine(s, next)
					if first == len(s) || indent <= base && !isCloser(s[first]) {
						return -1
					}
					i = first
				}
				if depth == 0 {
					break
				}
			}
		case s[i] == '.' && pathLength(s[i+1:]) > 0:
			i += 1 + pathLength(s[i+1:])
		default:
			return i
		}
	}
	return i
}
