package schema

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

func reply(text string) firstgood.Reply { return firstgood.Reply{Text: text} }

// schemaOf returns the rule for a schema that is written as JSON.
func schemaOf(t testing.TB, text string) *rule {
	t.Helper()
	s, err := inline(json.RawMessage(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	first, err := s.compile()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return &rule{source: s, idle: []*checker{first}}
}

func find(t testing.TB, r *rule, text string) (criteria.Finding, error) {
	t.Helper()
	return r.find(t.Context(), firstgood.Brief{}, reply(text))
}

const fits = "the reply's JSON fits the schema"

const order = `{"type": "object", "required": ["items"], "properties": {
	"items": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "price": {"type": "number"}}}},
	"total": {"minimum": 0}}}`

const tree = `{"type": "object", "properties": {"value": {"type": "integer"}, "children": {"type": "array", "items": {"$ref": "#"}}}, "additionalProperties": false}`

// cases are schemas and replies, with the reason.
var cases = []struct{ schema, text, want string }{
	{order, `{"items": []}`, fits},
	{order, "Here:\n```json\n{\"items\": [{\"name\": \"a\", \"price\": 1.5}], \"total\": 3}\n```", fits},
	{order, `{"items": [{"name": "a"}, {"name": "b"}, {"name": "c", "price": "5"}]}`, "at /items/2/price: got string, want number"},
	{order, `{"total": -1}`, `at the top: missing property "items"; at /total: minimum: got -1, want 0`},
	{order, `{"items": [1, 2, 3, 4, 5], "total": 1}`, "at /items/0: got number, want object; at /items/1: got number, want object; at /items/2: got number, want object; and 2 more"},
	{order, `{"items": [{"name": "a", "price": ""}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {"name": 1}]}`,
		`at /items/0/price: got string, want number; at /items/1: missing property "name"; at /items/2: missing property "name"; and 8 more`},
	{order, `[]`, "at the top: got array, want object"},
	{order, "", "the reply holds no JSON"},
	{order, "I have no items.", "the reply holds no JSON"},
	{order, `{"items": [`, "the reply holds no JSON: what stands in its braces is none, at 1:11: unexpected end of JSON input"},

	{`true`, `null`, fits},
	{`{}`, `"text"`, fits},
	{`false`, `1`, "at the top: nothing may stand here"},
	{`{"type": ["string", "null"]}`, `1`, "at the top: got number, want null or string"},
	{`{"type": "integer"}`, `1.0`, fits},
	{`{"type": "integer"}`, `1e400`, fits},
	{`{"type": "integer"}`, `1e-400`, "at the top: got number, want integer"},
	{`{"type": "integer", "maximum": 9007199254740992}`, `9007199254740993`, "at the top: maximum: got 9007199254740993, want 9007199254740992"},
	{`{"multipleOf": 0.01}`, `0.07`, fits},
	{`{"multipleOf": 0.01}`, `0.075`, "at the top: multipleOf: got 0.075, want a multiple of 0.01"},
	{`{"exclusiveMinimum": 0, "exclusiveMaximum": 1}`, `0.5`, fits},
	{`{"exclusiveMinimum": 0}`, `0.0`, "at the top: got 0, want more than 0"},
	{`{"exclusiveMaximum": 0.1}`, `1e-1`, "at the top: got 0.1, want less than 0.1"},
	{`{"minItems": 2, "maxItems": 3}`, `[1, 2, 3, 4]`, "at the top: maxItems: got 4, want 3"},
	{`{"minItems": 2}`, `[]`, "at the top: minItems: got 0, want 2"},
	{`{"minProperties": 1}`, `{}`, "at the top: minProperties: got 0, want 1"},
	{`{"maxProperties": 1}`, `{"a": 1, "b": 2}`, "at the top: maxProperties: got 2, want 1"},
	{`{"minLength": 1}`, `""`, "at the top: minLength: got 0, want 1"},
	{`{"additionalProperties": false, "patternProperties": {"": {"type": "null"}}}`, `{"1a": 1, "9": 1, "10": 1}`, "at /9: got number, want null; at /10: got number, want null; at /1a: got number, want null"},
	{`{"additionalProperties": {"type": "null"}}`, `{"1": 1, "01": 1}`, "at /01: got number, want null; at /1: got number, want null"},
	{`{"const": {"a": 1.0}}`, `{"a": 1}`, fits},
	{`{"const": 5}`, `6`, "at the top: got 6, want 5"},
	{`{"const": [1]}`, `{}`, "at the top: got an object, want a list"},
	{`{"enum": ["a", 1, null, true]}`, `"b"`, `at the top: got "b", want one of "a", 1, null, true`},
	{`{"enum": [0,1,2,3,4,5,6,7,8,9]}`, `10`, `at the top: got 10, want one of 0, 1, 2, 3, 4, 5, 6, 7, and 2 more`},
	{`{"required": ["b", "a"]}`, `{}`, `at the top: missing properties "b", "a"`},
	{`{"dependentRequired": {"a": ["b"]}}`, `{"a": 1}`, `at the top: missing property "b", which must be there with "a"`},
	{`{"properties": {"a": true}, "additionalProperties": false}`, `{"z": 1, "a": 1, "b": 1}`, `at the top: unknown properties "b", "z"`},
	{`{"properties": {"a": true}, "unevaluatedProperties": false}`, `{"z": 1, "a": 1}`, `at /z: nothing may stand here`},
	{`{"allOf": [{"properties": {"a": true}}, {"properties": {"b": true}}], "unevaluatedProperties": false}`, `{"a": 1, "b": 1}`, fits},
	{`{"propertyNames": {"pattern": "^[a-z]+$"}}`, `{"A": 1}`, `at the top: the name "A" is not allowed: "A" does not match pattern ^[a-z]+$`},
	{`{"maxLength": 3}`, `"éééé"`, "at the top: maxLength: got 4, want 3"},
	{`{"pattern": "^\\d{4}$"}`, `"12"`, `at the top: "12" does not match pattern ^\d{4}$`},
	{`{"format": "date"}`, `"2026-02-28"`, fits},
	{`{"format": "date"}`, `"28 February"`, `at the top: "28 February" is not a valid date: parsing time "28 February" as "2006-01-02": cannot parse "28 February" as "2006"`},
	{`{"format": "regex"}`, `"(?=x)"`, "at the top: \"(?=x)\" is not a valid regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
	{`{"format": "no such format"}`, `"x"`, fits},
	{`{"uniqueItems": true}`, `[1, {"a": 2}, {"a": 2.0}]`, "at the top: items at 1 and 2 are equal"},
	{`{"contains": {"type": "string"}}`, `[1]`, "at the top: contains: got 0, want at least 1"},
	{`{"contains": {"type": "number"}, "minContains": 2}`, `[1, "a"]`, "at the top: contains: got 1, want at least 2"},
	{`{"contains": {"type": "number"}, "maxContains": 1}`, `[1, 2]`, "at the top: contains: got 2, want at most 1"},
	{`{"prefixItems": [{"type": "string"}], "items": false}`, `["a", 1]`, "at /1: nothing may stand here"},
	{`{"not": {"type": "number"}}`, `1`, "at the top: fits the schema in not"},
	{`{"not": {"type": "number"}}`, `""`, fits},
	{`{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `1`, "at the top: got number, want null or string"},
	{`{"anyOf": [{"type": "object", "required": ["a"]}, {"type": "array", "items": {"type": "string"}}]}`, `[1]`, "at the top: fits none of anyOf (got array, want object | at /0: got number, want string)"},
	{`{"anyOf": [{"minimum": 1}, {"minimum": 2}, {"minimum": 3}, {"minimum": 4}, {"minimum": 5}]}`, `0`, "at the top: fits none of anyOf (minimum: got 0, want 1 | minimum: got 0, want 2 | minimum: got 0, want 3 | …)"},
	{`{"oneOf": [{"minItems": 3}, {"type": "object"}]}`, `[1]`, "at the top: fits none of oneOf (minItems: got 1, want 3 | got array, want object)"},
	{`{"oneOf": [{"minItems": 1}, {"maxItems": 2}]}`, `[1]`, "at the top: fits 0 and 1 of oneOf, want one"},
	{`{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}`, `{"a": 1}`, `at the top: missing property "b"`},
	{`{"allOf": [{"type": "string"}, {"type": "string"}]}`, `1`, "at the top: got number, want string"},
	{tree, `{"value": 1, "children": [{"value": 2, "children": []}, {"value": 3}]}`, fits},
	{tree, `{"children": [{}, {"children": [{"value": 0.5}]}]}`, "at /children/1/children/0/value: got number, want integer"},
	{`{"$defs": {"n": {"$anchor": "n", "type": "number"}}, "items": {"$ref": "#n"}}`, `[1, "a"]`, "at /1: got string, want number"},
	{`{"$id": "https://example.com/s", "$defs": {"x": {"$id": "x", "type": "string"}}, "items": {"$ref": "x"}}`, `[1]`, "at /0: got number, want string"},
	{`{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}], "additionalItems": false}`, `[1, 2]`, "at the top: last 1 additionalItem(s) not allowed; at /0: got number, want string"},
	{`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": ["b"], "c": {"required": ["d"]}}}`, `{"a": 1, "c": 2}`, `at the top: missing property "b", which must be there with "a"; at the top: missing property "d"`},
	{`{"$ref": "https://json-schema.org/draft/2020-12/schema"}`, `{"type": 1}`, `at /type: fits none of anyOf (got 1, want one of "array", "boolean", "integer", "null", "number", "object", "string" | got number, want array)`},
}

func TestSchemas(t *testing.T) {
	for _, c := range cases {
		r := schemaOf(t, c.schema)
		for range 3 { // maps in the library are in no order
			f, err := find(t, r, c.text)
			if err != nil || f.Reason != c.want || f.Holds != (c.want == fits) {
				t.Errorf("%s of %s\ngot  %+v, error %v\nwant %s", c.schema, c.text, f, err, c.want)
				break
			}
		}
	}
}

func TestCompile_Values(t *testing.T) {
	for _, value := range []any{
		map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"maximum": 3}}},
		map[string]any{"type": "object", "properties": map[string]any{"n": map[string]any{"maximum": json.Number("3")}}},
		json.RawMessage(`{"type": "object", "properties": {"n": {"maximum": 3.0}}}`),
		map[string]map[string]map[string]int64{"properties": {"n": {"maximum": 3}}},
	} {
		made, err := Compile(value)
		if err != nil {
			t.Errorf("%v: %v", value, err)
			continue
		}
		check, err := criteria.New(criteria.Config{Accept: []criteria.Rule{made}})
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]string{`{"n": 3}`: "", `{"n": 4}`: "at /n: maximum: got 4, want 3"} {
			if v, err := check(t.Context(), firstgood.Brief{}, reply(text)); err != nil || v.Reason != want || v.Rejected != (want != "") {
				t.Errorf("%v of %s: got %+v, error %v", value, text, v, err)
			}
		}
		if made.Cost() != criteria.CostCheap {
			t.Errorf("costs %d", made.Cost())
		}
	}
}

func TestCompile_Errors(t *testing.T) {
	const own = "; have it refer to itself from inside, as in properties or items"
	for _, c := range []struct{ schema, want string }{
		{`"answer.schema.json"`, "schema: got a text, want an object, or true or false"},
		{`[]`, "schema: got a list, want an object, or true or false"},
		{`null`, "schema: got null, want an object, or true or false"},
		{`1`, "schema: got a number, want an object, or true or false"},
		{`{"minimum": 1e2000}`, "schema: the number at /minimum has an exponent beyond 1000"},
		{`{"type": "objct"}`, `schema: it is no valid schema: at /type: fits none of anyOf (got "objct", want one of "array", "boolean", "integer", "null", "number", "object", "string" | got string, want array)`},
		{`{"properties": {"a/b": {"minLength": -1, "required": "x"}}}`, "schema: it is no valid schema: at /properties/a~1b/minLength: minimum: got -1, want 0; at /properties/a~1b/required: got string, want array"},
		{`{"properties": {"a": {"pattern": "(?=x)"}}}`, "schema: it is no valid schema: at /properties/a/pattern: \"(?=x)\" is not a valid regex: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`{"patternProperties": {"a(": true}}`, "schema: it is no valid schema: at /patternProperties: the name \"a(\" is not allowed: \"a(\" is not a valid regex: error parsing regexp: missing closing ): `a(`"},
		{`{"items": {"$ref": "#/$defs/x"}}`, "schema: at /items/$ref: it refers to #/$defs/x: there is nothing at that place"},
		{`{"items": {"$ref": "#x"}}`, "schema: at /items/$ref: it refers to #x: there is no such anchor"},
		{`{"items": {"$ref": "#/title"}, "title": "x"}`, "schema: at /title: it is no valid schema: at the top: got string, want boolean or object"},
		{`{"items": {"a b": {"$ref": "https://example.com/x.json#/a"}}, "allOf": [{"$ref": "https://example.com/x.json#/a"}]}`,
			"schema: at /allOf/0/$ref: it refers to https://example.com/x.json#/a: nothing is loaded from the network; put it in a file beside the schema and refer to that by its path"},
		{`{"$id": "https://example.com/s/t", "properties": {"a": {"$ref": "u#/x"}}}`,
			"schema: at /properties/a/$ref: it refers to u#/x: nothing is loaded from the network; put it in a file beside the schema and refer to that by its path"},
		{`{"$schema": "https://example.com/my"}`, "schema: at /$schema: it refers to https://example.com/my: nothing is loaded from the network; put it in a file beside the schema and refer to that by its path"},
		{`{"$ref": "common.json"}`, "schema: at /$ref: it refers to common.json: a schema that is in no file of its own can only refer into itself; put it in a file, or what it needs into its $defs"},
		{`{"$ref": "file:///etc/passwd"}`, "schema: at /$ref: it refers to file:///etc/passwd: a schema that is in no file of its own can only refer into itself; put it in a file, or what it needs into its $defs"},
		{`{"$ref": "#"}`, "schema: the schema leads back to itself without end" + own},
		{`{"properties": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}}, "$defs": {"b": {"not": {"$ref": "#/properties/a"}}}}`, "schema: at /properties/a: the schema leads back to itself without end" + own},
		{`{"dependentSchemas": {"a": {"$ref": "#"}}}`, "schema: the schema leads back to itself without end" + own},
		{`{"$schema": "http://json-schema.org/draft-07/schema#", "dependencies": {"a": {"$ref": "#"}}}`, "schema: the schema leads back to itself without end" + own},
		{`{"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveRef": "#"}`, "schema: the schema leads back to itself without end" + own},
	} {
		for range 3 {
			made, err := Compile(json.RawMessage(c.schema))
			if made != nil || err == nil || err.Error() != c.want {
				t.Errorf("%s\ngot  %v\nwant %s", c.schema, err, c.want)
				break
			}
		}
	}
	if _, err := Compile(map[string]any{"const": func() {}}); err == nil || err.Error() != "schema: it has no JSON form: json: unsupported type: func()" {
		t.Errorf("no JSON: %v", err)
	}
	if _, err := Compile(json.RawMessage(`{"a": 1, "a": 2}`)); err == nil || err.Error() != "schema: /a stands twice" {
		t.Errorf("a key twice: %v", err)
	}
}

// A schema in a file may refer to files beside it and below, and to nothing else.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("outside.json", `{"type": "string"}`)
	write("s/common.json", `{"$defs": {"name": {"type": "string", "maxLength": 5}, "list": {"items": {"$ref": "deep/item.json"}}}}`)
	write("s/deep/item.json", `{"properties": {"name": {"$ref": "../common.json#/$defs/name"}, "next": {"$ref": "#"}}}`)
	write("s/deep/wrong.json", `{"items": {"type": "strin"}}`)
	write("s/broken.json", "{\n  \"type\": }")
	write("s/twice.json", `{"type": "string", "type": "number"}`)
	write("s/text.json", `"x"`)
	for _, c := range []struct{ name, schema, text, want, err string }{
		{"main.json", `{"properties": {"names": {"$ref": "./common.json#/$defs/list"}}}`, `{"names": [{"name": "Anna"}, {"next": {"name": "Annabel"}}]}`, "at /names/1/next/name: maxLength: got 7, want 5", ""},
		{"main.json", "\ufefftrue", `1`, fits, ""},
		{"odd #1 %41 é.json", `{"$defs": {"n": {"type": "number"}}, "items": {"$ref": "#/$defs/n"}}`, `["a"]`, "at /0: got string, want number", ""},
		{"odd.json", `{"items": {"$ref": "odd%20%231%20%2541%20%C3%A9.json#/$defs/n"}}`, `["a"]`, "at /0: got string, want number", ""},
		{"main.json", `{"items": {"$ref": "../outside.json"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to ../outside.json: only files in the schema's folder or below it can be referred to"},
		{"main.json", `{"items": {"$ref": "deep/../../outside.json"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to deep/../../outside.json: only files in the schema's folder or below it can be referred to"},
		{"main.json", `{"items": {"$ref": "//host/outside.json"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to //host/outside.json: only files beside the schema can be referred to, by their relative path"},
		{"main.json", `{"items": {"$ref": "urn:a:b"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to urn:a:b: only files beside the schema can be referred to, by their relative path"},
		{"main.json", `{"items": {"$ref": "http://127.0.0.1:1/x"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to http://127.0.0.1:1/x: nothing is loaded from the network; put it in a file beside the schema and refer to that by its path"},
		{"main.json", `{"items": {"$ref": "common.json#/$defs/nam"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to common.json#/$defs/nam: there is nothing at that place"},
		{"main.json", `{"items": {"$ref": "deep/wrong.json"}}`, "", "", `schema s/deep/wrong.json: it is no valid schema: at /items/type: fits none of anyOf (got "strin", want one of "array", "boolean", "integer", "null", "number", "object", "string" | got string, want array)`},
		{"main.json", `{"items": {"$ref": "broken.json"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to broken.json: s/broken.json:2:11: invalid character '}' looking for beginning of value"},
		{"main.json", "{\n\t\"type\": \"é\",\n}", "", "", "schema s/main.json:3:1: invalid character '}' looking for beginning of object key string"},
		{"main.json", `{"type": "object", "type": "array"}`, "", "", "schema s/main.json: /type stands twice"},
		{"main.json", `{"items": {"$ref": "twice.json"}}`, "", "", "schema s/main.json: at /items/$ref: it refers to twice.json: s/twice.json: /type stands twice"},
		{"main.json", `{"items": {"$ref": "text.json"}}`, "", "", "schema s/text.json: it is no valid schema: at the top: got string, want boolean or object"},
		{"main.json", `"x"`, "", "", "schema s/main.json: got a text, want an object, or true or false"},
		{"main.json", "type: object", "", "", "schema s/main.json:1:2: invalid character 'y' in literal true (expecting 'r')"},
		{"main.json", `{"not": {"$ref": "#"}}`, "", "", "schema s/main.json: the schema leads back to itself without end; have it refer to itself from inside, as in properties or items"},
	} {
		write("s/"+c.name, c.schema)
		t.Chdir(dir)
		s, err := load("s/" + c.name)
		var first *checker
		if err == nil {
			first, err = s.compile()
		}
		if c.err != "" {
			if err == nil || filepath.ToSlash(err.Error()) != c.err {
				t.Errorf("%s\ngot  %v\nwant %s", c.schema, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		r := &rule{source: s, idle: []*checker{first}}
		if f, err := find(t, r, c.text); err != nil || f.Reason != c.want {
			t.Errorf("%s\ngot  %+v, error %v\nwant %s", c.schema, f, err, c.want)
		}
	}

	if _, err := Load("s/none.json"); !errors.Is(err, os.ErrNotExist) || !strings.HasPrefix(err.Error(), "schema: open ") {
		t.Errorf("no such file: %v", err)
	}
	write("s/main.json", `{"items": {"$ref": "none.json"}}`)
	if _, err := Load("s/main.json"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such file beside it: %v", err)
	}
	write("s/large.json", `{"title": "`+strings.Repeat("x", MaxFile)+`"}`)
	if _, err := Load("s/large.json"); err == nil || filepath.ToSlash(err.Error()) != "schema s/large.json: the file has more than 10485760 bytes" {
		t.Errorf("large: %v", err)
	}
}

func TestLoad_LinksDoNotLeadOutside(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "inside")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{"outside.json": `true`, "inside/main.json": `{"items": {"$ref": "link.json"}}`} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "outside.json"), filepath.Join(inside, "link.json")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("links need a right that not everybody has: ", err)
		}
		t.Fatal(err)
	}
	if _, err := Load(filepath.Join(inside, "main.json")); err == nil || !strings.Contains(err.Error(), "it refers to link.json") {
		t.Errorf("got %v", err)
	}
}

// Later copies of a schema are made of what was read at first.
func TestLoad_ReadsOnce(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{"main.json": `{"items": {"$ref": "n.json"}}`, "n.json": `{"type": "number"}`} {
		if err := os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := load(filepath.Join(dir, "main.json"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.compile(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if f, err := find(t, &rule{source: s}, `["a"]`); err != nil || f.Reason != "at /0: got string, want number" {
		t.Errorf("got %+v, error %v", f, err)
	}
}

func TestRuleThatErrsRejects(t *testing.T) {
	for _, c := range []struct {
		reply firstgood.Reply
		want  string
	}{
		{reply(`{"a": 1, "a": 2}`), "schema: the reply's JSON: /a stands twice"},
		{reply(`{"a": 1} {"a": 2}`), "schema: the reply holds several JSON objects, so it is not clear which is meant"},
		{reply(`{"a": 1e5000}`), "schema: the reply's JSON: the number at /a has an exponent beyond 1000"},
		{firstgood.Reply{Stream: firstgood.NewStream(nil)}, "schema: the reply is an open stream, which has no text yet"},
	} {
		made, err := Compile(true)
		if err != nil {
			t.Fatal(err)
		}
		for place, cfg := range map[string]criteria.Config{
			"failure_criteria":    {Failure: []criteria.Rule{made}},
			"acceptance_criteria": {Accept: []criteria.Rule{criteria.Not(made)}},
		} {
			check, err := criteria.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			v, err := check(t.Context(), firstgood.Brief{}, c.reply)
			if want := place + " could not be applied: " + c.want; err != nil || !v.Rejected || v.Reason != want {
				t.Errorf("got %+v, error %v, want %s", v, err, want)
			}
		}
	}
	if f, err := schemaOf(t, `{"type": "array"}`).find(t.Context(), firstgood.Brief{}, firstgood.Reply{JSON: []byte(`[1]`)}); err != nil || !f.Holds {
		t.Errorf("a reply that is JSON: %+v, %v", f, err)
	}
}

// A $dynamicRef can turn out to have no end when a reply is checked; then nobody can say whether it fits.
func TestEndlessDynamicRef(t *testing.T) {
	const endless = `{"$id": "https://example.com/a", "$dynamicAnchor": "n", "$ref": "b", "$defs": {"b": {"$id": "b", "$dynamicAnchor": "n", "allOf": [{"$dynamicRef": "#n"}]}}}`
	f, err := find(t, schemaOf(t, endless), `1`)
	if f.Holds || err == nil || !strings.HasPrefix(err.Error(), "schema: the schema leads back to itself without end: /") {
		t.Errorf("got %+v, error %v", f, err)
	}
}

// both is a schema whose branches each go into the same children, as in many a schema of an expression or a menu: what it
// takes to check grows with 2 to the power of the depth.
const both = `{"anyOf": [
	{"type": "array", "items": {"$ref": "#"}, "minItems": 1},
	{"type": "array", "items": {"$ref": "#"}, "maxItems": 1}]}`

func nested(depth int, open, inner, end string) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(end, depth)
}

func TestHostileReplies(t *testing.T) {
	const tooLarge = "it does not fit the schema, and is too large to say where"
	ones := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	million := strings.ReplaceAll(ones(100000), "1", "123456789")
	for _, c := range []struct{ name, schema, text, want, err string }{
		{"1 MB that fits", `{"items": {"type": "number"}, "minItems": 100000}`, million, fits, ""},
		{"1 MB that does not", `{"items": {"type": "string"}}`, million, "at /0: got number, want string; at /1: got number, want string; at /2: got number, want string; and 99997 more", ""},
		{"many equal items", `{"uniqueItems": true}`, ones(100000), "at the top: items at 0 and 1 are equal", ""},
		{"many different items", `{"uniqueItems": true}`, "[" + strings.ReplaceAll(strings.Trim(manyNames(20000), "{}"), ": ", ", ") + "]", "at the top: items at 1 and 3 are equal", ""},
		{"a long text", `{"pattern": "^(a+)+$", "maxLength": 3}`, `"` + strings.Repeat("a", 1<<16) + `!"`, `at the top: "` + strings.Repeat("a", 40) + `…" does not match pattern ^(a+)+$; at the top: maxLength: got 65537, want 3`, ""},
		{"many names", `{"additionalProperties": false}`, manyNames(50000), `at the top: unknown properties "k0", "k1", "k10", "k100", "k1000", "k10000", "k10001", "k10002", and 49992 more`, ""},
		{"many failures, each far in", tree, nested(400, `{"children": [`, strings.TrimSuffix(strings.Repeat("1,", 100000), ","), "]}"), tooLarge, ""},
		{"many failures, each less far in", tree, nested(150, `{"children": [`, strings.TrimSuffix(strings.Repeat("1,", 100000), ","), "]}"), tooLarge, ""},
		{"deep", tree, nested(499, `{"children": [`, `{"value": ""}`, "]}"), "at /children/0/children/0/…/0/children/0/children/0/value: got string, want integer", ""},
		{"too deep", tree, nested(501, `{"children": [`, `{}`, "]}"), "", "schema: the reply's JSON: it is nested more than 1000 deep"},
		{"a branch too many", both, nested(40, "[", "1", "]"), "", "schema: it takes more than 100000 steps on this reply"},
		{"a branch too many, in a not", `{"not": {"$ref": "#/$defs/both"}, "$defs": {"both": ` + strings.ReplaceAll(both, `"#"`, `"#/$defs/both"`) + `}}`, nested(40, "[", "1", "]"), "", "schema: it takes more than 100000 steps on this reply"},
		{"numbers with large exponents", `{"items": {"type": "integer", "maximum": 1}}`, "[" + strings.Repeat("1e1000,", 5000) + "1]", "at /0: maximum: got 1e+1000, want 1; at /1: maximum: got 1e+1000, want 1; at /2: maximum: got 1e+1000, want 1; and 4997 more", ""},
		{"a text that is a regex", `{"format": "regex"}`, `"` + strings.Repeat("(a{1,1000}){1,1000}", 100) + `"`, `at the top: "(a{1,1000}){1,1000}(a{1,1000}){1,1000}(a…" is not a valid regex: error parsing regexp: invalid repeat count: ` + "`{1,1000}`", ""},
		{"control characters", `{"additionalProperties": {"const": 1}}`, `{"a\u001b[31m\nb": "\u001b[31m\n"}`, "at /a\ufffd[31m\ufffdb: got \"\\x1b[31m\\n\", want 1", ""},
	} {
		r := schemaOf(t, c.schema)
		if c.err != "" {
			r.idle[0].steps = 100_000 // sooner than in earnest
		}
		f, err := find(t, r, c.text)
		switch {
		case c.err != "" && (err == nil || err.Error() != c.err || f.Holds):
			t.Errorf("%s: got %+v, error %v, want %s", c.name, f, err, c.err)
		case c.err == "" && (err != nil || f.Reason != c.want || f.Holds != (c.want == fits)):
			t.Errorf("%s\ngot  %+v, error %v\nwant %s", c.name, f, err, c.want)
		}
	}
}

func manyNames(n int) string {
	var b strings.Builder
	b.WriteString("{")
	for i := range n {
		fmt.Fprintf(&b, `"k%d": 1,`, i)
	}
	return strings.TrimSuffix(b.String(), ",") + "}"
}

func TestEndsWithTheContext(t *testing.T) {
	cause := errors.New("the caller pressed stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	r := schemaOf(t, both)
	f, err := r.find(ctx, firstgood.Brief{}, reply(nested(40, "[", "1", "]")))
	if !errors.Is(err, cause) || f.Holds {
		t.Errorf("got %+v, error %v", f, err)
	}
	// Where it was cut off does not show in the next reply.
	if f, err := find(t, r, "[1]"); err != nil || f.Reason != "at the top: fits none of anyOf (at /0: got number, want array)" {
		t.Errorf("the next: got %+v, error %v", f, err)
	}
}

func TestConcurrentUse(t *testing.T) {
	r := schemaOf(t, order)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 30 {
				want := fmt.Sprintf("at /items/%d/name: got number, want string", n)
				f, err := find(t, r, `{"items": [`+strings.Repeat(`{"name": "a"},`, n)+fmt.Sprintf(`{"name": %d}`, i)+`]}`)
				if err != nil || f.Reason != want {
					t.Errorf("got %+v, error %v, want %s", f, err, want)
				}
			}
		})
	}
	group.Wait()
	if len(r.idle) == 0 || len(r.idle) > 8 {
		t.Errorf("%d copies for 8 goroutines", len(r.idle))
	}
}

func ExampleCompile() {
	rule, err := Compile(map[string]any{
		"type":       "object",
		"required":   []string{"city", "score"},
		"properties": map[string]any{"city": map[string]any{"enum": []string{"Paris", "Rome"}}, "score": map[string]any{"type": "number"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	check, _ := criteria.New(criteria.Config{Accept: []criteria.Rule{rule}})
	for _, text := range []string{`It is {"city": "Paris", "score": 0.9}.`, `{"city": "Oslo", "score": "high"}`, "Paris"} {
		v, _ := check(context.Background(), firstgood.Text("where?"), firstgood.Reply{Text: text})
		fmt.Printf("rejected %t: %s.\n", v.Rejected, v.Reason)
	}
	// Output:
	// rejected false: .
	// rejected true: at /city: got "Oslo", want one of "Paris", "Rome"; at /score: got string, want number.
	// rejected true: the reply holds no JSON.
}

// What the guard and the quick first look do to a schema changes nothing of what it means: the library alone comes to the
// same.
func FuzzSchema(f *testing.F) {
	for _, c := range cases {
		f.Add(c.schema, c.text)
	}
	f.Fuzz(func(t *testing.T, schema, text string) {
		s, err := inline(json.RawMessage(schema))
		if err != nil {
			return
		}
		first, err := s.compile()
		plain := jsonschema.NewCompiler()
		plain.AssertFormat()
		plain.UseLoader(s)
		if err := plain.AddResource("inline:///schema", s.docs[inlineAddress]); err != nil {
			t.Fatal(err)
		}
		alone, errAlone := plain.Compile("inline:///schema")
		if err != nil {
			if errAlone == nil && !strings.Contains(err.Error(), "without end") {
				t.Fatalf("%s: only we refuse it: %v", schema, err)
			}
			return
		}
		if errAlone != nil {
			t.Fatalf("%s: only the library refuses it: %v", schema, errAlone)
		}
		value, _, err := criteria.JSONOf(reply(text))
		if err != nil {
			return
		}
		found, err := (&rule{source: s, idle: []*checker{first}}).find(t.Context(), firstgood.Brief{}, reply(text))
		if err != nil {
			return
		}
		if want := alone.Validate(value) == nil; found.Holds != want || found.Reason == "" {
			t.Fatalf("%s of %s: %+v, the library says %t", schema, text, found, want)
		}
	})
}

func BenchmarkSchema(b *testing.B) {
	small := `{"items": [{"name": "a", "price": 1.5}, {"name": "b", "price": 2}], "total": 3.5}`
	for _, c := range []struct{ name, text string }{
		{"fits", small},
		{"does not fit", strings.Replace(small, "3.5", "-1", 1)},
		{"1MB fits", `{"items": [` + strings.Repeat(`{"name": "a", "price": 1.5},`, 1<<20/28) + `{"name": "b"}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := schemaOf(b, order)
			b.SetBytes(int64(len(c.text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := find(b, r, c.text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			schemaOf(b, order)
		}
	})
}
