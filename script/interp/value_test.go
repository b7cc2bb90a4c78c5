package interp_test

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/script/interp"
)

func TestValuesOfGo(t *testing.T) {
	cycle := []any{nil}
	cycle[0] = cycle
	for _, test := range []struct {
		name  string
		x     any
		want  string // as JSON; "" for an error
		text  string // where it is not the same
		kind  interp.Kind
		fault string
	}{
		{"nil", nil, "null", "", interp.KindNull, ""},
		{"true", true, "true", "", interp.KindBool, ""},
		{"int", 9007199254740993, "9007199254740993", "", interp.KindNumber, ""},
		{"float", 0.1, "0.1", "", interp.KindNumber, ""},
		{"large", 1e21, "1e+21", "", interp.KindNumber, ""},
		{"text", "a\"<b>\n", `"a\"<b>\n"`, "a\"<b>\n", interp.KindText, ""},
		{"bytes that are no text", "a\xffb", `"a` + "\uFFFD" + `b"`, "a\uFFFDb", interp.KindText, ""},
		{"texts", []string{"a", "b"}, `["a","b"]`, "", interp.KindList, ""},
		{"list", []any{1, "a", nil, []any{}}, `[1,"a",null,[]]`, "", interp.KindList, ""},
		{"map", map[string]any{"b": 1, "a": []string{}}, `{"a":[],"b":1}`, "", interp.KindObject, ""},
		{"struct", struct {
			B int `json:"b"`
			A string
		}{1, "x"}, `{"b":1,"A":"x"}`, "", interp.KindObject, ""},
		{"raw", json.RawMessage(`{"z": 1.50, "a": [1e3, -0]}`), `{"z":1.50,"a":[1e3,-0]}`, "", interp.KindObject, ""},
		{"twice", json.RawMessage(`{"a":1,"b":2,"a":3}`), `{"a":3,"b":2}`, "", interp.KindObject, ""},
		{"reply", firstgood.Reply{Text: "hi"}, `"hi"`, "hi", interp.KindText, ""},
		{"JSON reply", firstgood.Reply{JSON: json.RawMessage("[1]")}, `[1]`, "", interp.KindList, ""},
		{"delegate", interp.Reference{Name: "fast", Index: 2}, `"fast"`, "fast", interp.KindDelegate, ""},
		{"delegates", []interp.Reference{{Name: "a"}, {Name: "b"}}, `["a","b"]`, "", interp.KindList, ""},
		{"error", &firstgood.Error{Kind: firstgood.KindAuth, Reason: "no key"}, `"no key"`, "no key", interp.KindError, ""},
		{"value", interp.Text("x"), `"x"`, "x", interp.KindText, ""},
		{"values", []interp.Value{interp.Bool(false), interp.Null()}, `[false,null]`, "", interp.KindList, ""},

		{"no number", math.NaN(), "", "", 0, "no number that JSON can hold"},
		{"func", func() {}, "", "", 0, "no JSON form"},
		{"cycle", cycle, "", "", 0, "1000 deep"},
		{"broken", json.RawMessage(`{"a":`), "", "", 0, "unexpected EOF"},
		{"two", json.RawMessage(`1 2`), "", "", 0, "something follows"},
		{"huge number", json.RawMessage(`1e999`), "", "", 0, "out of range"},
		{"deep", json.RawMessage(strings.Repeat("[", 1001) + strings.Repeat("]", 1001)), "", "", 0, "1000 deep"},
		{"large text", strings.Repeat("x", interp.MaxSize+1), "", "", 0, ""},
	} {
		v, err := interp.FromGo(test.x)
		switch {
		case test.fault != "":
			if err == nil || !strings.Contains(err.Error(), test.fault) {
				t.Errorf("%s: got %v, want an error with %q", test.name, err, test.fault)
			}
			continue
		case test.want == "":
			continue
		case err != nil:
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		data, err := v.MarshalJSON()
		if got := string(data); err != nil || got != test.want || v.Kind() != test.kind {
			t.Errorf("%s: got %s, %v", test.name, got, v.Kind())
		}
		text := test.text
		if text == "" {
			text = test.want
		}
		if v.String() != text {
			t.Errorf("%s: the text is %q", test.name, v.String())
		}
		again, err := interp.FromJSON([]byte(test.want))
		if data, _ := again.MarshalJSON(); err != nil || string(data) != test.want {
			t.Errorf("%s: there and back gives %s, %v", test.name, data, err)
		}
	}
}

func TestGoOfValues(t *testing.T) {
	v, err := interp.FromJSON([]byte(`{"a":[1.50,true,null,"x"],"b":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": []any{json.Number("1.50"), true, nil, "x"}, "b": map[string]any{}}
	if got := v.Go(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v", got)
	}
	items := v.Fields()[0].Value.Items()
	items[0] = interp.Text("changed")
	v.Fields()[1].Key = "changed"
	if got := jsonText(v); got != `{"a":[1.50,true,null,"x"],"b":{}}` {
		t.Errorf("a copy changed the value: %s", got)
	}
	if items[1].Bool() != true || items[0].Number() != 0 || items[3].Bool() || !items[2].IsNull() {
		t.Error("the elements are not what they were")
	}
	cause := errors.New("the cause")
	e, err := interp.FromGo(cause)
	if err != nil || !errors.Is(e.Err(), cause) || items[3].Err() != nil {
		t.Errorf("%v, %v", e.Err(), err)
	}
	if ref, ok := interp.Delegate(interp.Reference{Name: "d", Index: 1, Ref: 5}).Reference(); !ok || ref.Ref != 5 {
		t.Errorf("%v %v", ref, ok)
	}
	if _, ok := items[0].Reference(); ok {
		t.Error("a text is a delegate")
	}
	if interp.Number(math.Inf(1)).Kind() != interp.KindNull {
		t.Error("an infinity is a number")
	}
}

func TestValuesAreBounded(t *testing.T) {
	half := interp.Text(strings.Repeat("x", interp.MaxSize/2))
	if _, err := interp.List(half, half); err == nil {
		t.Error("a list of 64 MiB and more")
	}
	if _, err := interp.Object(interp.Field{Key: "a", Value: half}, interp.Field{Key: "b", Value: half}); err == nil {
		t.Error("an object of 64 MiB and more")
	}
	v := interp.Null()
	for i := range interp.MaxNesting + 1 {
		list, err := interp.List(v)
		if (err != nil) != (i == interp.MaxNesting) {
			t.Fatalf("%d deep: %v", i+1, err)
		}
		v = list
	}
	wide := make([]interp.Field, 100)
	for i := range wide {
		wide[i] = interp.Field{Key: strings.Repeat("k", i%50), Value: interp.Number(float64(i))}
	}
	o, err := interp.Object(wide...)
	if last, ok := o.Get("kk"); err != nil || len(o.Fields()) != 50 || !ok || last.Number() != 52 {
		t.Errorf("%v, %d keys, %v", err, len(o.Fields()), last)
	}
}
