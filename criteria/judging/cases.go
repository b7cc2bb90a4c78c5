package judging

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Case is a reply of which somebody has said whether it is good.
type Case struct {
	Line  int // where it stands in its file, from 1; 0 for nowhere
	Brief string
	Reply string
	Good  bool
}

// MaxSize is how large a file of cases may be, in bytes.
const MaxSize = 64 << 20

const (
	byteOrderMark = "\uFEFF"
	mostFaults    = 20 // how many faults an error names
	form          = `a case is {"brief": "…", "reply": "…", "good": true}`
)

// ReadCases reads cases from in, which messages call name: one JSON object a line, with exactly the members brief and
// reply, which are strings, and good, which is true or false. Lines of white space alone are passed over. There is at
// least one case when the error is nil. The error has a line for each fault, `name:line: …`, of which the first 20
// are named; or it is that of in.
func ReadCases(name string, in io.Reader) ([]Case, error) { return readCases(name, in, MaxSize) }

func readCases(name string, in io.Reader, most int) ([]Case, error) {
	data, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	case len(data) > most:
		line := 1 + bytes.Count(data[:most], []byte("\n"))
		return nil, fmt.Errorf("%s:%d: the file goes beyond %d MiB here; make several files of it", name, line, most>>20)
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}), bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return nil, fmt.Errorf("%s:1: the file is in UTF-16; save it as UTF-8", name)
	case bytes.HasPrefix(data, []byte(byteOrderMark)):
		return nil, fmt.Errorf("%s:1: the file begins with a byte order mark; save it as UTF-8 without one", name)
	}
	var cases []Case
	var faults []error
	wrong := 0
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		k, err := readCase(line)
		if err == nil {
			k.Line = number
			cases = append(cases, k)
			continue
		}
		if wrong++; wrong <= mostFaults {
			faults = append(faults, fmt.Errorf("%s:%d: %w", name, number, err))
		}
	}
	if wrong > mostFaults {
		faults = append(faults, fmt.Errorf("and %d more", wrong-mostFaults))
	}
	if wrong == 0 && len(cases) == 0 {
		faults = append(faults, fmt.Errorf("%s:1: there are no cases in the file; %s, one a line", name, form))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return cases, nil
}

// readCase reads one line. It does not leave that to [json.Unmarshal], which takes keys in any case and twice.
func readCase(line []byte) (Case, error) {
	if !utf8.Valid(line) {
		return Case{}, errors.New("the line is not UTF-8; save the file as UTF-8 text")
	}
	if !json.Valid(line) {
		var any json.RawMessage
		return Case{}, fmt.Errorf("the line is not JSON: %w; %s", json.Unmarshal(line, &any), form)
	}
	in := json.NewDecoder(bytes.NewReader(line))
	if start, err := in.Token(); err != nil || start != json.Delim('{') {
		return Case{}, fmt.Errorf("the line is not an object; %s", form)
	}
	var k Case
	given := map[string]bool{}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return Case{}, err
		}
		name, _ := key.(string)
		var to any
		want := "a string"
		switch name {
		case "brief":
			to = &k.Brief
		case "reply":
			to = &k.Reply
		case "good":
			to, want = &k.Good, "true or false"
		default:
			return Case{}, fmt.Errorf("there is no key %q in a case; %s", name, form)
		}
		if given[name] {
			return Case{}, fmt.Errorf("%s is given twice; keep one", name)
		}
		given[name] = true
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return Case{}, err
		}
		if json.Unmarshal(value, to) != nil || string(value) == "null" {
			return Case{}, fmt.Errorf("%s is %s, want %s", name, kindOf(value), want)
		}
	}
	var missing []string
	for _, name := range []string{"brief", "reply", "good"} {
		if !given[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return Case{}, fmt.Errorf("%s missing; %s", strings.Join(missing, " and "), form)
	}
	return k, nil
}

// kindOf says what a JSON value is.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f', 'n':
		return string(value)
	}
	return "a number"
}
