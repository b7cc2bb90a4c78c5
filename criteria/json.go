package criteria

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/firstgood/firstgood"
)

// What JSON is read for a rule. More has no use in a reply, and lets a short one cost its reader a lot.
const (
	MaxNesting  = 1000 // how deep lists and objects may be nested
	MaxExponent = 1000 // how large the exponent of a number may be, and how many characters it may have
)

// ErrNoJSON is matched by the error of [JSONOf] for a reply in which no JSON can be found.
var ErrNoJSON = errors.New("the reply holds no JSON")

// JSONOf returns the JSON of a reply, as a value and as it is written. It is the reply's JSON where it is a JSON value.
// In a text it is the first of these that there is:
//
//   - the whole text, white space around it apart;
//   - the content of a fence (``` or ~~~): of those marked as json, else of any;
//   - what stands between the first { and the last };
//   - the object in outermost braces.
//
// What is no JSON is passed over; nothing is repaired. Where there are several fences or objects to choose from, the
// reply does not say which is meant, and that is an error. So is what [ParseJSON] refuses, and an open stream. A reply
// in which there is no JSON at all is an error that matches [ErrNoJSON].
//
// The value is the caller's own; what it consists of is described at [ParseJSON].
func JSONOf(reply firstgood.Reply) (value any, raw json.RawMessage, err error) {
	text, err := textOf(reply)
	switch {
	case err != nil:
		return nil, nil, err
	case reply.JSON != nil:
		raw = reply.JSON
	default:
		if text, err = jsonIn(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))); err != nil {
			return nil, nil, err
		}
		raw = json.RawMessage(text)
	}
	if value, err = ParseJSON(raw); err != nil {
		return nil, nil, fmt.Errorf("the reply's JSON: %w", err)
	}
	return value, raw, nil
}

// jsonIn returns the part of text that is JSON.
func jsonIn(text string) (string, error) {
	if json.Valid([]byte(text)) {
		return text, nil
	}
	marked, others := fences(text)
	for _, found := range [][]string{marked, others} {
		switch len(found) {
		case 0:
		case 1:
			return found[0], nil
		default:
			return "", fmt.Errorf("the reply holds JSON in %d fences, so it is not clear which is meant", len(found))
		}
	}
	return braced(text)
}

// fences returns the contents that are JSON of the fences in text: of those marked as json, and of the others.
func fences(text string) (marked, others []string) {
	open, isMarked := "", false // the fence that is open
	start := 0                  // of its content
	end := func(content string) {
		content = strings.TrimSpace(content)
		switch {
		case !json.Valid([]byte(content)):
		case isMarked:
			marked = append(marked, content)
		default:
			others = append(others, content)
		}
	}
	for at := 0; at < len(text); {
		next := len(text)
		if i := strings.IndexByte(text[at:], '\n'); i >= 0 {
			next = at + i + 1
		}
		fence, info := fenceOf(text[at:next])
		switch {
		case fence == "":
		case open == "" && (fence[0] == '~' || strings.IndexByte(info, '`') < 0):
			open, start = fence, next
			isMarked = len(info) >= len("json") && strings.EqualFold(info[:len("json")], "json")
		case open != "" && info == "" && fence[0] == open[0] && len(fence) >= len(open):
			end(text[start:at])
			open = ""
		}
		at = next
	}
	if open != "" {
		end(text[start:])
	}
	return marked, others
}

// fenceOf returns the three or more ` or ~ that a line begins with, "" for none, and what follows them.
func fenceOf(line string) (fence, info string) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] != '`' && line[0] != '~' {
		return "", ""
	}
	info = strings.TrimLeft(line, line[:1])
	if fence = line[:len(line)-len(info)]; len(fence) < 3 {
		return "", ""
	}
	return fence, strings.TrimSpace(info)
}

// braced returns the JSON in the outermost braces of text.
func braced(text string) (string, error) {
	first, last := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if first < 0 {
		return "", ErrNoJSON
	}
	span := text[first:]
	if last > first {
		span = text[first : last+1]
	}
	fault := syntax([]byte(span))
	if fault == nil {
		return span, nil
	}
	found := ""
	for _, object := range outermost(span) {
		if !json.Valid([]byte(object)) {
			continue
		}
		if found != "" {
			return "", errors.New("the reply holds several JSON objects, so it is not clear which is meant")
		}
		found = object
	}
	if found == "" {
		return "", fmt.Errorf("%w: what stands in its braces is none, at %w", ErrNoJSON, fault)
	}
	return found, nil
}

// ParseJSON reads one JSON document: nil, bool, string, [json.Number], []any or map[string]any. Numbers are kept as they
// are written. Its error begins with the line and column of what is no JSON. It refuses, with its place as a JSON
// pointer, what is JSON but means different things to different readers, or costs them too much: a key that stands twice
// in an object, nesting deeper than [MaxNesting], a number beyond [MaxExponent].
func ParseJSON(data []byte) (any, error) {
	if err := syntax(data); err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	return parse(in, nil)
}

// syntax returns an error where data is not one JSON document.
func syntax(data []byte) error {
	err := json.Unmarshal(data, new(json.RawMessage))
	fault, ok := errors.AsType[*json.SyntaxError](err)
	if !ok {
		return err
	}
	before := data[:min(max(int(fault.Offset)-1, 0), len(data))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + len(bytes.Runes(before[bytes.LastIndexByte(before, '\n')+1:]))
	return fmt.Errorf("%d:%d: %w", line, column, err)
}

// spot is where a value stands in a document; nil is the document itself. A list or object that is being read has one,
// which moves along with what is read of it.
type spot struct {
	in    *spot
	key   string
	index int // in a list; -1 in an object
	depth int
}

func (s *spot) inside(index int) *spot {
	if s == nil {
		return &spot{nil, "", index, 1}
	}
	return &spot{s, "", index, s.depth + 1}
}

func (s *spot) String() string {
	var path []string
	for ; s != nil; s = s.in {
		if s.index >= 0 {
			path = append(path, strconv.Itoa(s.index))
		} else {
			path = append(path, s.key)
		}
	}
	slices.Reverse(path)
	return Pointer(path)
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns the way to a value in a JSON document as a JSON pointer for a message: "the top" for the document
// itself, long keys and ways shortened, what cannot be printed replaced.
func Pointer(path []string) string {
	if len(path) == 0 {
		return "the top"
	}
	var b strings.Builder
	for i, key := range path {
		if len(path) > 12 && i >= 4 && i < len(path)-6 {
			if i == 4 {
				b.WriteString("/…")
			}
			continue
		}
		key, cut := firstgood.Excerpt(key, 40)
		if cut {
			key += "…"
		}
		b.WriteByte('/')
		for _, r := range pointerEscapes.Replace(key) {
			if !unicode.IsPrint(r) {
				r = unicode.ReplacementChar
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// parse reads the next value of a valid document.
func parse(in *json.Decoder, at *spot) (any, error) {
	token, err := in.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Number:
		return token, bounded(token, at)
	case json.Delim:
		if at != nil && at.depth >= MaxNesting {
			return nil, fmt.Errorf("it is nested more than %d deep", MaxNesting)
		}
		if token == '[' {
			return parseList(in, at.inside(0))
		}
		return parseObject(in, at.inside(-1))
	default:
		return token, nil
	}
}

func parseList(in *json.Decoder, at *spot) (any, error) {
	list := []any{}
	for ; in.More(); at.index++ {
		value, err := parse(in, at)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := in.Token()
	return list, err
}

func parseObject(in *json.Decoder, at *spot) (any, error) {
	object := map[string]any{}
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return nil, err
		}
		at.key = token.(string)
		if _, twice := object[at.key]; twice {
			return nil, fmt.Errorf("%v stands twice", at)
		}
		key := at.key
		if object[key], err = parse(in, at); err != nil {
			return nil, err
		}
	}
	_, err := in.Token()
	return object, err
}

// bounded refuses a number whose exact value would take more room than it does.
func bounded(n json.Number, at *spot) error {
	text := n.String()
	if len(text) > MaxExponent {
		return fmt.Errorf("the number at %v has more than %d characters", at, MaxExponent)
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(text[i+1:]); err != nil || exponent > MaxExponent || exponent < -MaxExponent {
			return fmt.Errorf("the number at %v has an exponent beyond %d", at, MaxExponent)
		}
	}
	return nil
}
