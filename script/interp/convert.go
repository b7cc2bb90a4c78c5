package interp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood"
)

// Conversions: a value as text, as JSON, as a value of Go, and back.

// String returns v as text: a text as it is, the message of an error, the name of a delegate, and everything else as
// JSON.
func (v Value) String() string {
	switch v.kind {
	case KindText:
		return v.ref.(string)
	case KindError:
		return v.ref.(*failure).message
	case KindDelegate:
		return v.ref.(*Reference).Name
	case KindNull:
		return "null"
	}
	return string(v.appendJSON(nil))
}

// MarshalJSON returns v as compact JSON. Keys keep their order, an error is its message, a delegate its name.
func (v Value) MarshalJSON() ([]byte, error) { return v.appendJSON(nil), nil }

func (v Value) appendJSON(b []byte) []byte {
	switch v.kind {
	case KindBool:
		return strconv.AppendBool(b, v.num != 0)
	case KindNumber:
		if written, ok := v.ref.(string); ok {
			return append(b, written...)
		}
		return appendNumber(b, v.num)
	case KindText, KindError, KindDelegate:
		return appendText(b, v.String())
	case KindList:
		b = append(b, '[')
		for i, item := range v.ref.(*list).items {
			if i > 0 {
				b = append(b, ',')
			}
			b = item.appendJSON(b)
		}
		return append(b, ']')
	case KindObject:
		b = append(b, '{')
		for i, f := range v.ref.(*object).fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, f.Key)
			b = append(b, ':')
			b = f.Value.appendJSON(b)
		}
		return append(b, '}')
	}
	return append(b, "null"...)
}

// appendNumber prints f as encoding/json does.
func appendNumber(b []byte, f float64) []byte {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.AppendInt(b, int64(f), 10)
	}
	data, err := json.Marshal(f)
	if err != nil { // not of a value
		return append(b, "null"...)
	}
	return append(b, data...)
}

// appendText prints s as a JSON string, without HTML escapes.
func appendText(b []byte, s string) []byte {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			plain = false
			break
		}
	}
	if plain {
		b = append(b, '"')
		b = append(b, s...)
		return append(b, '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return append(b, `""`...)
	}
	return append(b, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// FromJSON returns the value of one JSON document. Keys keep their order; of one that stands twice the last counts.
// Numbers are printed again as they were written. It fails on what is no JSON, and beyond [MaxNesting] and [MaxSize].
func FromJSON(data []byte) (Value, error) {
	if len(data) > MaxSize {
		return Value{}, errSize
	}
	in := json.NewDecoder(bytes.NewReader(data))
	in.UseNumber()
	v, err := decode(in, 0)
	if err != nil {
		return Value{}, err
	}
	if _, err := in.Token(); err != io.EOF {
		return Value{}, fmt.Errorf("something follows the JSON value")
	}
	return v, nil
}

func decode(in *json.Decoder, depth int) (Value, error) {
	token, err := in.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return Value{}, err
	}
	switch token := token.(type) {
	case bool:
		return Bool(token), nil
	case string:
		return text(token), nil
	case json.Number:
		return numeral(string(token))
	case json.Delim:
		if depth >= MaxNesting {
			return Value{}, errNesting
		}
		if token == '[' {
			return decodeList(in, depth)
		}
		return decodeObject(in, depth)
	}
	return Value{}, nil
}

func decodeList(in *json.Decoder, depth int) (Value, error) {
	items := []Value{}
	for in.More() {
		item, err := decode(in, depth+1)
		if err != nil {
			return Value{}, err
		}
		items = append(items, item)
	}
	if _, err := in.Token(); err != nil {
		return Value{}, err
	}
	return newList(items)
}

func decodeObject(in *json.Decoder, depth int) (Value, error) {
	var fields []Field
	for in.More() {
		token, err := in.Token()
		if err != nil {
			return Value{}, err
		}
		key, ok := token.(string)
		if !ok {
			return Value{}, fmt.Errorf("a key is no text")
		}
		value, err := decode(in, depth+1)
		if err != nil {
			return Value{}, err
		}
		fields = append(fields, Field{key, value})
	}
	if _, err := in.Token(); err != nil {
		return Value{}, err
	}
	return newObject(fields)
}

// numeral returns the number that is written so.
func numeral(written string) (Value, error) {
	f, err := strconv.ParseFloat(written, 64)
	if err != nil || f-f != 0 || len(written) > 1000 {
		return Value{}, fmt.Errorf("the number %.40s is out of range", written)
	}
	v := Value{kind: KindNumber, num: f}
	var room [32]byte
	if string(appendNumber(room[:0], f)) != written {
		v.ref = strings.Clone(written)
	}
	return v, nil
}

// FromGo returns a value of Go as a value: nil, booleans, numbers, texts, a [Value], a [Reference] or a slice of
// them, an error, a [firstgood.Reply], slices and maps of such, and whatever else has a JSON form. Everything is copied; the
// keys of a map are sorted. It fails on what has no JSON form, and beyond [MaxNesting] and [MaxSize].
func FromGo(x any) (Value, error) { return fromGo(x, 0) }

func fromGo(x any, depth int) (Value, error) {
	if depth > MaxNesting {
		return Value{}, errNesting
	}
	switch x := x.(type) {
	case nil:
		return Value{}, nil
	case Value:
		x.initial = false
		return x, nil
	case bool:
		return Bool(x), nil
	case string:
		return Text(x), nil
	case int:
		return numeral(strconv.Itoa(x))
	case float64:
		if x-x != 0 {
			return Value{}, fmt.Errorf("%v is no number that JSON can hold", x)
		}
		return Number(x), nil
	case json.RawMessage:
		return FromJSON(x)
	case firstgood.Reply:
		return FromReply(x)
	case Reference:
		return Delegate(x), nil
	case []Reference:
		items := make([]Value, len(x))
		for i, r := range x {
			items[i] = Delegate(r)
		}
		return newList(items)
	case error:
		return errorValue(x, ""), nil
	case []Value:
		return List(x...)
	case []string:
		items := make([]Value, len(x))
		for i, s := range x {
			items[i] = Text(s)
		}
		return newList(items)
	case []any:
		items := make([]Value, len(x))
		for i, item := range x {
			var err error
			if items[i], err = fromGo(item, depth+1); err != nil {
				return Value{}, err
			}
		}
		return newList(items)
	case map[string]any:
		fields := make([]Field, 0, len(x))
		for _, key := range slices.Sorted(maps.Keys(x)) {
			value, err := fromGo(x[key], depth+1)
			if err != nil {
				return Value{}, err
			}
			fields = append(fields, Field{strings.ToValidUTF8(key, "\uFFFD"), value})
		}
		return newObject(fields)
	}
	data, err := json.Marshal(x)
	if err != nil {
		return Value{}, fmt.Errorf("a %T has no JSON form: %w", x, err)
	}
	return FromJSON(data)
}

// FromReply returns a reply as a value: its JSON where it is a JSON value, else its text. A stream must have been read.
func FromReply(r firstgood.Reply) (Value, error) {
	if r.JSON != nil {
		return FromJSON(r.JSON)
	}
	if len(r.Text) > MaxSize {
		return Value{}, errSize
	}
	return Text(r.Text), nil
}

// Go returns v as nil, bool, [json.Number], string, []any or map[string]any, all of it the caller's own. An error is its
// message, a delegate its name.
func (v Value) Go() any {
	switch v.kind {
	case KindNull:
		return nil
	case KindBool:
		return v.num != 0
	case KindNumber:
		return json.Number(v.String())
	case KindList:
		items := make([]any, len(v.ref.(*list).items))
		for i, item := range v.ref.(*list).items {
			items[i] = item.Go()
		}
		return items
	case KindObject:
		fields := make(map[string]any, len(v.ref.(*object).fields))
		for _, f := range v.ref.(*object).fields {
			fields[f.Key] = f.Value.Go()
		}
		return fields
	}
	return v.String()
}

// errorValue returns an error as a value. Delegate is who it came from, "" for nobody.
func errorValue(err error, delegate string) Value {
	f := firstgood.FailureOf(delegate, 0, err)
	return Value{kind: KindError, ref: &failure{f.Reason, f.Kind, delegate, err}}
}
