package criteria

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
)

// jsonTexts are texts with the JSON that is in them, or the error.
var jsonTexts = []struct{ name, text, raw, err string }{
	// the whole text
	{"object", `{"a":1}`, `{"a":1}`, ""},
	{"white space", " \n{\"a\": 1}\n\t", `{"a": 1}`, ""},
	{"byte order mark", "\ufeff[1]", `[1]`, ""},
	{"list", `[1, [2]]`, `[1, [2]]`, ""},
	{"string", `"{\"a\":1}"`, `"{\"a\":1}"`, ""},
	{"number", "42", "42", ""},
	{"true", "true", "true", ""},
	{"null", "null", "null", ""},
	{"no HTML escapes, no change", `{"a":"<&>","b":1.0}`, `{"a":"<&>","b":1.0}`, ""},

	// a fence
	{"fence", "Here:\n```json\n{\"a\":1}\n```\nDone.", `{"a":1}`, ""},
	{"fence without a word", "Here:\n```\n[1]\n```", `[1]`, ""},
	{"fence of tildes", "~~~\n[1]\n~~~~", `[1]`, ""},
	{"indented", "1. so:\n   ```json\n   [1,\n    2]\n   ```", "[1,\n    2]", ""},
	{"CRLF", "So:\r\n```json\r\n{\"a\":1}\r\n```\r\n", `{"a":1}`, ""},
	{"open fence", "So:\n```json\n{\"a\":1}\n", `{"a":1}`, ""},
	{"marked before others", "It prints:\n```\n42\n```\n```JSON\n{\"a\":1}\n```\n```\n[]\n```", `{"a":1}`, ""},
	{"others are no JSON", "```sh\nls\n```\n```json5\n{a:1}\n```\n~~~py\n[1]\n~~~", `[1]`, ""},
	{"longer fence holds a shorter", "````json\n\"\\n```\\n\"\n````", "\"\\n```\\n\"", ""},
	{"a fence line in a list of JSON", "````\n[1,\n```\n2]\n````\n{\"a\":1}", `{"a":1}`, ""},
	{"fence before braces", "{\"draft\":1}\n```json\n{\"a\":1}\n```", `{"a":1}`, ""},
	{"two fences", "```json\n{\"a\":1}\n```\nor\n```json\n{\"a\":2}\n```", "", "the reply holds JSON in 2 fences, so it is not clear which is meant"},
	{"two other fences", "```\n1\n```\n```\n2\n```", "", "the reply holds JSON in 2 fences, so it is not clear which is meant"},
	{"inline code is no fence", "```json {\"a\":1}```", `{"a":1}`, ""},

	// braces
	{"in prose", `Sure: {"a": {"b": "}"}} - done.`, `{"a": {"b": "}"}}`, ""},
	{"a placeholder before it", `As for {x}: {"a":1}`, `{"a":1}`, ""},
	{"a brace after it", `{"a":1} is it, not {y`, `{"a":1}`, ""},
	{"no JSON fence, then braces", "```\n{a}\n```\n{\"b\":1}", `{"b":1}`, ""},
	{"two objects", `{"a":1} or {"a":2}`, "", "the reply holds several JSON objects, so it is not clear which is meant"},
	{"list of objects in prose", `Sure: [{"a":1},{"a":2}]`, "", "the reply holds several JSON objects, so it is not clear which is meant"},
	{"lines of JSON", "{\"a\":1}\n{\"a\":2}\n", "", "the reply holds several JSON objects, so it is not clear which is meant"},
	{"brackets in prose are no list", "It rose [2024] by far.", "", "the reply holds no JSON"},

	// none
	{"empty", "", "", "the reply holds no JSON"},
	{"white space alone", " \n", "", "the reply holds no JSON"},
	{"prose", "It is 42.", "", "the reply holds no JSON"},
	{"closing brace alone", "a } b", "", "the reply holds no JSON"},
	{"cut short", `{"a": [1, 2`, "", "the reply holds no JSON: what stands in its braces is none, at 1:11: unexpected end of JSON input"},
	{"cut short in prose", `So: {"a":`, "", "the reply holds no JSON: what stands in its braces is none, at 1:5: unexpected end of JSON input"},
	{"trailing comma", "{\"a\": 1,\n}", "", "the reply holds no JSON: what stands in its braces is none, at 2:1: invalid character '}' looking for beginning of object key string"},
	{"single quotes", `{'a': 1}`, "", `the reply holds no JSON: what stands in its braces is none, at 1:2: invalid character '\'' looking for beginning of object key string`},
	{"NaN", "NaN", "", "the reply holds no JSON"},

	// JSON that is refused
	{"a key twice", `{"a":1,"b":{"c":[0,{"x":1,"x":1}]}}`, "", "the reply's JSON: /b/c/1/x stands twice"},
	{"a key twice, escaped", `{"a/b~":1,"a\/b\u007e":2}`, "", "the reply's JSON: /a~1b~0 stands twice"},
	{"the empty key twice", `{"":1,"":2}`, "", "the reply's JSON: / stands twice"},
	{"keys that differ in case", `{"a":1,"A":2}`, `{"a":1,"A":2}`, ""},
	{"a key in two objects", `[{"a":1},{"a":1}]`, `[{"a":1},{"a":1}]`, ""},
	{"a key that tries to break the line", "{\"a\\nb\":1,\"a\\nb\":2}", "", "the reply's JSON: /a\ufffdb stands twice"},
	{"a huge exponent", `{"n":[1e1001]}`, "", "the reply's JSON: the number at /n/0 has an exponent beyond 1000"},
	{"a tiny exponent", `-1.5E-99999999999999999999`, "", "the reply's JSON: the number at the top has an exponent beyond 1000"},
	{"a large exponent", `[1e400, 1E+1000, 1e-1000]`, `[1e400, 1E+1000, 1e-1000]`, ""},
}

func TestJSONOf(t *testing.T) {
	for _, c := range jsonTexts {
		value, raw, err := JSONOf(text(c.text))
		if c.err != "" {
			if err == nil || err.Error() != c.err || value != nil || raw != nil {
				t.Errorf("%s: got %v, %s, error %v, want %s", c.name, value, raw, err, c.err)
			}
			if none := strings.HasPrefix(c.err, ErrNoJSON.Error()); errors.Is(err, ErrNoJSON) != none {
				t.Errorf("%s: matches ErrNoJSON: %t, want %t", c.name, !none, none)
			}
			continue
		}
		if err != nil || string(raw) != c.raw {
			t.Errorf("%s: got %s, error %v, want %s", c.name, raw, err, c.raw)
			continue
		}
		want, err := ParseJSON([]byte(c.raw))
		if err != nil || !reflect.DeepEqual(value, want) {
			t.Errorf("%s: got %#v, want %#v, error %v", c.name, value, want, err)
		}
	}
}

func TestJSONOf_ReplyThatIsJSON(t *testing.T) {
	for _, c := range []struct {
		reply firstgood.Reply
		want  any
		err   string
	}{
		{firstgood.Reply{JSON: []byte(`{"a":[true,null]}`)}, map[string]any{"a": []any{true, nil}}, ""},
		{firstgood.Reply{JSON: []byte("null")}, nil, ""},
		{firstgood.Reply{JSON: []byte(`"{\"a\":1}"`)}, `{"a":1}`, ""}, // a string stays one
		{firstgood.Reply{JSON: []byte(`{"a":1,"a":2}`)}, nil, "the reply's JSON: /a stands twice"},
		{firstgood.Reply{JSON: []byte("x {}")}, nil, "the reply's JSON: 1:1: invalid character 'x' looking for beginning of value"},
		{firstgood.Reply{Stream: firstgood.NewStream(nil)}, nil, "the reply is an open stream, which has no text yet"},
	} {
		value, raw, err := JSONOf(c.reply)
		switch {
		case c.err == "" && (err != nil || !reflect.DeepEqual(value, c.want) || string(raw) != string(c.reply.JSON)):
			t.Errorf("%s: got %#v, %s, error %v", c.reply.JSON, value, raw, err)
		case c.err != "" && (err == nil || err.Error() != c.err || errors.Is(err, ErrNoJSON)):
			t.Errorf("%s: got error %v, want %s", c.reply.JSON, err, c.err)
		}
	}
}

func TestParseJSON_Values(t *testing.T) {
	const long = "12345678901234567890123456789012345678901234567890"
	got, err := ParseJSON([]byte(`{"n": [0, -0, 1.50, 1e400, 9007199254740993, ` + long + `], "s": "\u00e9\ud83d\ude00\ud83d", "l": [], "o": {}, "b": false, "z": null}`))
	want := map[string]any{
		"n": []any{json.Number("0"), json.Number("-0"), json.Number("1.50"), json.Number("1e400"), json.Number("9007199254740993"), json.Number(long)},
		"s": "é😀\ufffd", "l": []any{}, "o": map[string]any{}, "b": false, "z": nil,
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, error %v", got, err)
	}
}

func TestParseJSON_Errors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "1:1: unexpected end of JSON input"},
		{"{\n  \"é\": tru }", "2:11: invalid character ' ' in literal true (expecting 'e')"},
		{"[1] 2", "1:5: invalid character '2' after top-level value"},
		{"[1,]", "1:4: invalid character ']' looking for beginning of value"},
		{strings.Repeat("[", MaxNesting+1) + strings.Repeat("]", MaxNesting+1), "it is nested more than 1000 deep"},
		{strings.Repeat(`{"a":`, MaxNesting+1) + "1" + strings.Repeat("}", MaxNesting+1), "it is nested more than 1000 deep"},
		{"[" + strings.Repeat("9", MaxExponent+1) + "]", "the number at /0 has more than 1000 characters"},
	} {
		if value, err := ParseJSON([]byte(c.text)); value != nil || err == nil || err.Error() != c.want {
			t.Errorf("%.40s: got %v, error %v, want %s", c.text, value, err, c.want)
		}
	}
	deep := strings.Repeat("[", MaxNesting) + strings.Repeat("]", MaxNesting)
	if _, err := ParseJSON([]byte(deep)); err != nil {
		t.Errorf("%d deep: %v", MaxNesting, err)
	}
}

func TestPointer(t *testing.T) {
	var far []string
	for i := range 20 {
		far = append(far, fmt.Sprint(i))
	}
	for _, c := range []struct {
		path []string
		want string
	}{
		{nil, "the top"},
		{[]string{""}, "/"},
		{[]string{"items", "2", "price"}, "/items/2/price"},
		{[]string{"a/b", "~"}, "/a~1b/~0"},
		{[]string{"a\nb\x1b[31m"}, "/a\ufffdb\ufffd[31m"},
		{[]string{strings.Repeat("k", 100)}, "/" + strings.Repeat("k", 40) + "…"},
		{far, "/0/1/2/3/…/14/15/16/17/18/19"},
		{far[:12], "/0/1/2/3/4/5/6/7/8/9/10/11"},
	} {
		if got := Pointer(c.path); got != c.want {
			t.Errorf("%v: got %s, want %s", c.path, got, c.want)
		}
	}
}

// Texts of a megabyte that are made to be slow: each is read in a few passes, whatever it holds.
func TestJSONOf_HostileTexts(t *testing.T) {
	for _, c := range []struct{ name, unit, err string }{
		{"open braces", "{", "the reply holds no JSON"},
		{"open lists", "[", "the reply holds no JSON"},
		{"empty objects", "{}", "the reply holds several JSON objects"},
		{"objects that are none", "{x}", "the reply holds no JSON"},
		{"open strings", `{"`, "the reply holds no JSON"},
		{"single quotes", `{'a' `, "the reply holds no JSON"},
		{"fences", "```\n", "the reply holds no JSON"},
		{"fences that grow", "```json\n{\n", "the reply holds no JSON"},
		{"fences of JSON", "```\n1\n```\n", "the reply holds JSON in"},
		{"back ticks", "`", "the reply holds no JSON"},
		{"escapes", `{"\`, "the reply holds no JSON"},
		{"bytes that are no UTF-8", "\xff{", "the reply holds no JSON"},
	} {
		_, _, err := JSONOf(text(strings.Repeat(c.unit, 1<<20/len(c.unit))))
		if err == nil || !strings.HasPrefix(err.Error(), c.err) || len(err.Error()) > 500 {
			t.Errorf("%s: got error %.600v, want %s", c.name, err, c.err)
		}
	}
}

func FuzzJSONOf(f *testing.F) {
	for _, c := range jsonTexts {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		value, raw, err := JSONOf(text(s))
		if err != nil {
			if value != nil || raw != nil {
				t.Fatalf("a value beside an error: %v, %s, %v", value, raw, err)
			}
			return
		}
		if !json.Valid(raw) || !strings.Contains(s, string(raw)) {
			t.Fatalf("%q is no JSON, or not in the text", raw)
		}
		again, same, err := JSONOf(firstgood.Reply{JSON: raw})
		if err != nil || string(same) != string(raw) || !reflect.DeepEqual(again, value) {
			t.Fatalf("%q as JSON: %#v, error %v, want %#v", raw, again, err, value)
		}
		// What is written from the value means the same: nothing was lost.
		written, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseJSON(written); err != nil || !reflect.DeepEqual(back, value) {
			t.Fatalf("%q written anew is %q: %#v, error %v", raw, written, back, err)
		}
	})
}

func BenchmarkJSONOf(b *testing.B) {
	small := `{"answer": "Paris", "score": 0.93, "sources": [{"title": "Geography", "page": 12}, {"title": "Atlas", "page": 3}]}`
	large := "[" + strings.Repeat(small+",", 1<<20/len(small)-1) + small + "]"
	for _, c := range []struct{ name, text string }{
		{"small", small},
		{"fence", "Here you are:\n```json\n" + small + "\n```\nAnything else?"},
		{"braces", "Here you are: " + small + " Anything else?"},
		{"none", strings.Repeat("All happy families are alike. ", 20)},
		{"1MB", large},
	} {
		b.Run(c.name, func(b *testing.B) {
			reply := text(c.text)
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := JSONOf(reply); (err != nil) != (c.name == "none") {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("1MB unmarshal", func(b *testing.B) { // what encoding/json takes for the same
		b.SetBytes(int64(len(large)))
		b.ReportAllocs()
		for b.Loop() {
			var value any
			if err := json.Unmarshal([]byte(large), &value); err != nil {
				b.Fatal(err)
			}
		}
	})
}
