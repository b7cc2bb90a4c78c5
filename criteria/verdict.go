package criteria

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/firstgood/firstgood"
)

// MaxVerdict is how long a judge's answer may be, in bytes. A longer one is unreadable: what a judge says first
// is often a draft of what it says last, so a part of an answer is no verdict.
const MaxVerdict = 1 << 20

// maxEchoes is how many objects that only repeat what the judge was shown are passed over. Each costs a search
// through all that it was shown.
const maxEchoes = 32

// ParseVerdict reads the verdict that a judge wrote into answer: the truth of key, and the judge's reason, "" when
// it gave none. It is not ok when there is no verdict to be read. Shown are the texts that the judge was shown as
// data, the reply first of all, uncut.
//
//   - The verdict is the span from the first { to the last }. If that is no JSON, it is one of the outermost
//     balanced objects in the answer, the last first. An object that lacks the key is passed over; one that has it
//     decides, readable or not.
//   - Each is tried as JSON, then with single-quoted strings, trailing commas and Python's True, False and None
//     put right. Nothing else is repaired.
//   - An object that occurs in what the judge was shown is no verdict, whoever wrote it there first. White space,
//     quotes, escapes, commas and case do not count in this comparison, so one that was only written anew is found
//     too. One whose members were put in another order is not.
//   - The key counts at the top level of the object only, exactly as written, with one of the values true, false,
//     0, 1 (or 0.0, 1.0), or a string with one of the words true, false, yes, no in any case. Twice the same key is
//     read only if both say the same.
//   - The reason is the member "reason", cut to [firstgood.ExcerptUnits]; one that is not a string is given as JSON.
//
// The time it takes grows linearly with the answer and, for each of at most 32 repeated objects, with what was shown.
func ParseVerdict(answer, key string, shown ...string) (value bool, reason string, ok bool) {
	if len(answer) > MaxVerdict {
		return false, "", false
	}
	first, last := strings.IndexByte(answer, '{'), strings.LastIndexByte(answer, '}')
	if first < 0 || last < first {
		return false, "", false
	}
	echo := echoes{shown: shown}
	span := answer[first : last+1]
	objects := []string{span}
	if strict(span) == nil {
		objects = outermost(span)
	}
	for i := len(objects) - 1; i >= 0 && echo.seen < maxEchoes; i-- {
		object := objects[i]
		if !strings.Contains(object, key) && strings.IndexByte(object, '\\') < 0 {
			continue // it cannot have the key, and there may be very many of these
		}
		answers, because := members(strict(object), key)
		if len(answers) == 0 || echo.has(object) {
			continue
		}
		value, ok = truth(answers[0])
		for _, other := range answers[1:] {
			again, readable := truth(other)
			ok = ok && readable && again == value
		}
		if !ok {
			break
		}
		return value, reasonIn(because), true
	}
	return false, "", false
}

// strict returns an object as JSON, repaired if need be, or nil if it is none.
func strict(object string) []byte {
	data := []byte(object)
	if json.Valid(data) {
		return data
	}
	if data = repaired(object); json.Valid(data) {
		return data
	}
	return nil
}

// members returns every value that a valid JSON object has for key, and its last reason; nothing for nil.
func members(object []byte, key string) (answers []json.RawMessage, reason json.RawMessage) {
	in := json.NewDecoder(bytes.NewReader(object))
	if _, err := in.Token(); err != nil {
		return nil, nil
	}
	for in.More() {
		name, err := in.Token()
		if err != nil {
			return nil, nil
		}
		var value json.RawMessage
		if in.Decode(&value) != nil {
			return nil, nil
		}
		switch name {
		case key:
			answers = append(answers, value)
		case "reason":
			reason = value
		}
	}
	return answers, reason
}

// truth reads a JSON value as a truth.
func truth(value json.RawMessage) (holds, ok bool) {
	word := string(value)
	if word[0] == '"' {
		if json.Unmarshal(value, &word) != nil {
			return false, false
		}
		switch word = strings.ToLower(strings.TrimSpace(word)); word {
		case "true", "yes":
			return true, true
		case "false", "no":
			return false, true
		}
		return false, false
	}
	if whole, fraction, found := strings.Cut(word, "."); found && strings.Trim(fraction, "0") == "" {
		word = whole
	}
	switch word {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

func reasonIn(value json.RawMessage) string {
	reason := string(value)
	var words string
	if json.Unmarshal(value, &words) == nil { // null is no reason
		reason = words
	}
	reason, _ = firstgood.Excerpt(strings.TrimSpace(reason), firstgood.ExcerptUnits)
	return reason
}

// echoes tells what a judge only repeated.
type echoes struct {
	shown []string
	gists []string // of shown, made when first needed
	seen  int      // how many were found
}

func (e *echoes) has(object string) bool {
	if e.gists == nil {
		for _, text := range e.shown {
			e.gists = append(e.gists, gist(text))
		}
	}
	if occurs(gist(object), e.gists) {
		e.seen++
		return true
	}
	return false
}

// gist returns text without what can be written in more than one way in JSON and its likes. What it does to a byte
// depends on that byte and the one before it, so the gist of an object in a text is in the text's gist.
func gist(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r', '"', '\'', '`', ',', '\\':
		case 'n', 'r', 't':
			if i == 0 || text[i-1] != '\\' {
				out = append(out, c)
			}
		default:
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			out = append(out, c)
		}
	}
	return string(out)
}
