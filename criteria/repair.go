package criteria

import (
	"iter"
	"strings"
)

// pieces cuts text that is almost JSON into what is a string, with its quotes, and what stands between strings; in
// order, each piece once. A string begins, inside an object, with a quote where a key or a value may begin. It ends
// with the same quote, or with the line, since no string of JSON goes beyond it. A backslash hides a quote, and
// so does a single-quoted string the apostrophes in it: only one after which the object may go on is its end.
func pieces(text string) iter.Seq2[string, bool] {
	return func(yield func(piece string, isString bool) bool) {
		start, depth := 0, 0
		before := byte(0) // the last byte that is not white space
		for i := 0; i < len(text); i++ {
			c := text[i]
			switch {
			case c == '{':
				depth++
			case c == '}' && depth > 0:
				depth--
			case (c == '"' || c == '\'') && depth > 0 && strings.IndexByte("{[,:", before) >= 0:
				end := stringEnd(text, i)
				if !yield(text[start:i], false) || !yield(text[i:end], true) {
					return
				}
				start, i = end, end-1
			}
			if !isSpace(c) {
				before = c
			}
		}
		yield(text[start:], false)
	}
}

// stringEnd returns the end of the string that begins at start.
func stringEnd(text string, start int) int {
	quote := text[start]
	for i := start + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '\n':
			return i
		case c == quote && (quote == '"' || strings.IndexByte(",:]}", after(text[i+1:])) >= 0):
			return i + 1
		}
	}
	return len(text)
}

// after returns the first byte of text that is not white space, or 0.
func after(text string) byte {
	for i := 0; i < len(text); i++ {
		if !isSpace(text[i]) {
			return text[i]
		}
	}
	return 0
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// outermost returns the balanced objects in text that are in no other balanced object, in order. Braces in strings
// do not count, and neither does a brace without its partner.
func outermost(text string) []string {
	type span struct{ start, end int }
	var open []int
	var spans []span
	at := 0
	for piece, isString := range pieces(text) {
		for i := 0; i < len(piece) && !isString; i++ {
			switch {
			case piece[i] == '{':
				open = append(open, at+i)
			case piece[i] == '}' && len(open) > 0:
				start := open[len(open)-1]
				open = open[:len(open)-1]
				for len(spans) > 0 && spans[len(spans)-1].start > start {
					spans = spans[:len(spans)-1]
				}
				spans = append(spans, span{start, at + i + 1})
			}
		}
		at += len(piece)
	}
	objects := make([]string, len(spans))
	for i, s := range spans {
		objects[i] = text[s.start:s.end]
	}
	return objects
}

// repaired returns text with single-quoted strings in double quotes, without trailing commas, and with Python's
// True, False and None as JSON has them. It need not be JSON then.
func repaired(text string) []byte {
	out := make([]byte, 0, len(text)+16)
	for piece, isString := range pieces(text) {
		if isString {
			out = appendString(out, piece)
		} else {
			out = appendBare(out, piece)
		}
	}
	return out
}

// appendString appends a string, in double quotes.
func appendString(out []byte, piece string) []byte {
	if piece[0] == '"' || len(piece) < 2 || piece[len(piece)-1] != '\'' {
		return append(out, piece...)
	}
	out = append(out, '"')
	inside := piece[1 : len(piece)-1]
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case c == '"':
			out = append(out, '\\', '"')
		case c == '\\' && i+1 < len(inside):
			i++
			if inside[i] != '\'' {
				out = append(out, '\\')
			}
			out = append(out, inside[i])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// appendBare appends what stands between two strings.
func appendBare(out []byte, piece string) []byte {
	for i := 0; i < len(piece); {
		if piece[i] == ',' {
			if next := after(piece[i+1:]); next != '}' && next != ']' {
				out = append(out, ',')
			}
			i++
			continue
		}
		end := i
		for end < len(piece) && isWord(piece[end]) {
			end++
		}
		switch word := piece[i:end]; word {
		case "":
			out = append(out, piece[i])
			end++
		case "True":
			out = append(out, "true"...)
		case "False":
			out = append(out, "false"...)
		case "None":
			out = append(out, "null"...)
		default:
			out = append(out, word...)
		}
		i = end
	}
	return out
}

func isWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}
