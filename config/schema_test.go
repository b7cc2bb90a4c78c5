package config

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// validator checks values against the part of JSON Schema that the file's schema uses. A keyword that it does not
// know is an error, so that the schema cannot say what nobody checks.
type validator struct{ defs map[string]any }

func (v *validator) check(s any, value any, path string) error {
	if s == true {
		return nil
	}
	if s == false {
		return fmt.Errorf("%s: nothing is allowed here", path)
	}
	rules := s.(map[string]any)
	each := func(kind string, sub any) (good int, last error) {
		for _, option := range sub.([]any) {
			if err := v.check(option, value, path); err != nil {
				last = err
			} else {
				good++
			}
		}
		return good, last
	}
	object, isObject := value.(map[string]any)
	list, isList := value.([]any)
	text, isText := value.(string)
	for keyword, rule := range rules {
		var err error
		switch keyword {
		case "description", "examples", "default", "$schema", "title", "$defs", "then", "patternProperties", "properties":
		case "$ref":
			err = v.check(v.defs[strings.TrimPrefix(rule.(string), "#/$defs/")], value, path)
		case "type":
			if got := typeOf(value); got != rule && (got != "integer" || rule != "number") {
				err = fmt.Errorf("%s: got %s, want %v", path, got, rule)
			}
		case "const":
			if !reflect.DeepEqual(value, rule) {
				err = fmt.Errorf("%s: want %v", path, rule)
			}
		case "enum":
			if !slices.ContainsFunc(rule.([]any), func(want any) bool { return reflect.DeepEqual(value, want) }) {
				err = fmt.Errorf("%s: want one of %v", path, rule)
			}
		case "pattern":
			if isText && !regexp.MustCompile(rule.(string)).MatchString(text) {
				err = fmt.Errorf("%s: %q does not match", path, text)
			}
		case "exclusiveMinimum":
			if n, ok := value.(float64); ok && n <= rule.(float64) {
				err = fmt.Errorf("%s: too small", path)
			}
		case "minLength":
			if isText && float64(len(text)) < rule.(float64) {
				err = fmt.Errorf("%s: too short", path)
			}
		case "minimum":
			if n, ok := value.(float64); ok && n < rule.(float64) {
				err = fmt.Errorf("%s: too small", path)
			}
		case "maximum":
			if n, ok := value.(float64); ok && n > rule.(float64) {
				err = fmt.Errorf("%s: too large", path)
			}
		case "required":
			for _, key := range rule.([]any) {
				if _, ok := object[key.(string)]; isObject && !ok {
					err = fmt.Errorf("%s: %s is missing", path, key)
				}
			}
		case "additionalProperties", "propertyNames":
			for key, inner := range object {
				if keyword == "propertyNames" {
					if e := v.check(rule, key, path+"."+key); e != nil {
						err = e
					}
				} else if !covered(rules, key) {
					if e := v.check(rule, inner, path+"."+key); e != nil {
						err = e
					}
				}
			}
		case "items":
			for i, item := range list {
				if e := v.check(rule, item, fmt.Sprintf("%s[%d]", path, i)); e != nil {
					err = e
				}
			}
		case "contains":
			if isList && !slices.ContainsFunc(list, func(item any) bool { return v.check(rule, item, path) == nil }) {
				err = fmt.Errorf("%s: the list lacks an item", path)
			}
		case "uniqueItems":
			for i, item := range list {
				if slices.ContainsFunc(list[:i], func(other any) bool { return reflect.DeepEqual(item, other) }) {
					err = fmt.Errorf("%s: an item twice", path)
				}
			}
		case "minItems":
			if isList && float64(len(list)) < rule.(float64) {
				err = fmt.Errorf("%s: too few items", path)
			}
		case "anyOf":
			if good, last := each(keyword, rule); good == 0 {
				err = last
			}
		case "oneOf":
			if good, last := each(keyword, rule); good != 1 {
				err = fmt.Errorf("%s: %d of oneOf hold: %w", path, good, last)
			}
		case "allOf":
			if good, last := each(keyword, rule); good != len(rule.([]any)) {
				err = last
			}
		case "if":
			if v.check(rule, value, path) == nil {
				err = v.check(rules["then"], value, path)
			}
		default:
			err = fmt.Errorf("%s: the keyword %s is not known to this test", path, keyword)
		}
		if err != nil {
			return err
		}
	}
	properties, _ := rules["properties"].(map[string]any)
	for key, inner := range object {
		if sub, ok := properties[key]; ok {
			if err := v.check(sub, inner, path+"."+key); err != nil {
				return err
			}
		}
	}
	return nil
}

func covered(rules map[string]any, key string) bool {
	properties, _ := rules["properties"].(map[string]any)
	if _, ok := properties[key]; ok {
		return true
	}
	patterns, _ := rules["patternProperties"].(map[string]any)
	for pattern := range patterns {
		if regexp.MustCompile(pattern).MatchString(key) {
			return true
		}
	}
	return false
}

func typeOf(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if value == math.Trunc(value) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// schemaSays returns what the schema says against a file.
func schemaSays(t *testing.T, text string) error {
	t.Helper()
	var file, s any
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(Schema(Kinds()), &s); err != nil {
		t.Fatal(err)
	}
	v := &validator{defs: s.(map[string]any)["$defs"].(map[string]any)}
	return v.check(s, file, "")
}

const fullFile = `
version: 1
judge: a
model: b
x-free: {anything: [1]}
defaults: {timeout: 60s, retries: 1}
delegates:
  a: {openai: {model: m, base_url: "http://127.0.0.1:1/v1", api_key_env: KEY, system: s, headers: {x-a: b}, params: {temperature: 0.5}}, timeout: 1m30s, retries: 2, effects: none, price: {input: 0.25, output: 2}, first_token: 10s, idle: 20s}
  b: {command: {argv: [./b, "{brief}"], stdin: none, env: [HOME, A=b], dir: /tmp, grace: 2s, max_output: 1000}, effects: idempotent}
  c: {http: {url: "https://example.com", method: PUT, headers: {a: b}, json: {q: "{brief}"}, result: a.b}, x-note: 1}
  d: {openai: {model: m, api_key: "${KEY}"}}
  e: {command: {argv: [./e], stdin: brief, env: {A: b}}, effects: unsafe, price: {input: 0, output: 0}}
  f: {anthropic: {model: m, base_url: "https://example.com", api_key_env: KEY, system: s, max_tokens: 100, headers: {x-a: b}, params: {top_k: 5}}, price: {input: 0, output: 0.5}}
  g: {anthropic: {model: m, api_key: "${KEY}"}}
health: {cooldown: {rate_limited: 1m, auth: 5m}, max_cooldown: 2h, breaker: {min_sample: 20, failure_ratio: 50%, window: 30s, open: 10s}}
failure_rules:
  - {matches: 'too many words', kind: context_length, status: [400, 422]}
  - {matches: 'try later', kind: unavailable, status: 418}
  - {matches: 'no', kind: refused}
patterns:
  chain: {pattern: std/patterns/fallback-chain, with: {chain: [a, {pattern: race, with: {candidates: [b, c]}}]}, config: {failure_criteria: bad, timeout: 5m, advance_on: [rate_limited, rejected, refused], on_refusal: [a], reserve: 10s, budget: {calls: 5}, wait_for_recovery: 1m}}
  race: {pattern: race, with: {candidates: []}, config: {order: listed, start_after: 1s, max_parallel: 2, nonempty: true, acceptance_criteria: null, hedge_ceiling: 10%, stop_on: [auth], on_refusal: stop}}
  fan: {pattern: fan-out, with: {delegates: [a, e]}, config: {width: 2, budget: {calls: 2, tokens: 1000, cost: 0.5}}}
  fine: {pattern: race, with: {candidates: [a, b]}, config: {start_after: 1s, hedge_ceiling: 0.1, acceptance_criteria: {all: [{expr: 'len(reply.text) < 5'}, {schema: ./a.json}, {schema: {type: object}}, {finish_reason: stop}, {finish_reason: [stop, length]}]}}}
  retry:
    pattern: retry-with-learning
    with: {target: chain}
    config:
      max_retries: 4
      failure_criteria: {text: t, judge: a, sees: [brief, reply], chars: 10, on_unparseable: reject, on_judge_error: retry 2}
      acceptance_criteria: {all: [x, {any: [{matches: a}, {nonempty: true}]}, {not: {command: [go, test], timeout: 1m}}, {not: z}]}
`

func TestSchemaTakesWhatParseTakes(t *testing.T) {
	for _, text := range []string{example, changeable, fullFile} {
		f, problems := Parse("f", []byte(text), Kinds())
		if f == nil {
			t.Fatal(problems)
		}
		if err := schemaSays(t, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	a := "delegates: {a: {openai: {model: m}}}\n"
	for _, text := range []string{
		"unknown: 1\n", "version: 2\n", "judge: 5\n", "defaults: {timeout: 60}\n", "defaults: {retries: -1}\n", "judge: a b\n",
		"delegates: {a: {openai: {}}}\n", "delegates: {a: {}}\n", "delegates: {a b: {openai: {model: m}}}\n", "delegates: {a: {openai: {model: 5}}}\n",
		"delegates: {a: {openai: {model: m}, command: {argv: [x]}}}\n", "delegates: {a: {command: {argv: []}}}\n", "delegates: {a: {command: {argv: x}}}\n",
		"delegates: {a: {command: {argv: [x], max_output: 0}}}\n", "delegates: {a: {command: {argv: [x], max_output: 1.5}}}\n", "delegates: {a: {openai: {model: m}, effects: some}}\n", "delegates: {a: {openai: {model: m, timeout: 5s}}}\n",
		a + "patterns: {p: {pattern: none, with: {}}}\n", a + "patterns: {p: {pattern: race}}\n", a + "patterns: {p: {pattern: race, with: {chain: [a]}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: a}}}\n", a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {width: 1}}}\n",
		a + "patterns: {p: {pattern: fan-out, with: {delegates: [a]}, config: {width: 0}}}\n", a + "patterns: {p: {pattern: retry-with-learning, with: {target: [a]}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {expr: 5}}}}\n",
		"health: on\n", "health: {cooldown: true}\n", "health: {cooldown: {refused: 5s}}\n", "health: {breaker: {failure_ratio: 0.001}}\n", "health: {breaker: {failure_ratio: 1.5}}\n",
		"failure_rules: {}\n", "failure_rules: [{matches: a}]\n", "failure_rules: [{matches: a, kind: rejected}]\n", "failure_rules: [{matches: a, kind: auth, status: []}]\n",
		"failure_rules: [{matches: a, kind: auth, status: 42}]\n", "failure_rules: [{matches: a, kind: auth, status: [400, 400]}]\n",
		"delegates: {a: {openai: {model: m}, price: {input: 1}}}\n", "delegates: {a: {openai: {model: m}, price: {input: -1, output: 1}}}\n",
		"delegates: {a: {openai: {model: m}, idle: 5}}\n", "delegates: {a: {anthropic: {model: m, max_tokens: 0}}}\n",
		a + "patterns: {p: {pattern: fallback-chain, with: {chain: [a]}, config: {advance_on: []}}}\n",
		a + "patterns: {p: {pattern: fallback-chain, with: {chain: [a]}, config: {stop_on: [no_start]}}}\n",
		a + "patterns: {p: {pattern: fallback-chain, with: {chain: [a]}, config: {on_refusal: []}}}\n",
		a + "patterns: {p: {pattern: retry-with-learning, with: {target: a}, config: {on_refusal: [a]}}}\n",
		a + "patterns: {p: {pattern: fan-out, with: {delegates: [a]}, config: {on_refusal: stop}}}\n",
		a + "patterns: {p: {pattern: fallback-chain, with: {chain: [a]}, config: {budget: {cost: 0}}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {start_after: 1s, hedge_ceiling: 0}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {schema: 5}}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {finish_reason: []}}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {matches: x, nonempty: true}}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {all: []}}}}\n",
		a + "patterns: {p: {pattern: race, with: {candidates: [a]}, config: {failure_criteria: {text: x, judge: a, sees: [brief]}}}}\n",
	} {
		if problems := refused(t, text); len(problems) > 0 && schemaSays(t, text) == nil {
			t.Errorf("the schema takes %s", text)
		}
	}
}

// TestSchemaKnowsEveryKey compares the schema with the keys that the decoder suggests for a wrong one.
func TestSchemaKnowsEveryKey(t *testing.T) {
	var s any
	if err := json.Unmarshal(Schema(append(Kinds(), agentKind())), &s); err != nil {
		t.Fatal(err)
	}
	at := func(path ...string) (keys []string) {
		here := s
		for _, step := range path {
			if list, ok := here.([]any); ok {
				i, err := strconv.Atoi(step)
				if err != nil {
					t.Fatal(err)
				}
				here = list[i]
				continue
			}
			here = here.(map[string]any)[step]
		}
		for key, sub := range here.(map[string]any)["properties"].(map[string]any) {
			if doc, _ := sub.(map[string]any)["description"].(string); doc == "" {
				t.Errorf("%v: %s is not explained", path, key)
			}
			keys = append(keys, key)
		}
		slices.Sort(keys)
		return keys
	}
	delegate := []string{"properties", "delegates", "additionalProperties"}
	within := func(path []string, more ...string) []string { return append(slices.Clone(path), more...) }
	for _, test := range []struct {
		text string
		path []string
	}{
		{"zzzzzz: 1\n", nil},
		{"defaults: {zzzzzz: 1}\n", []string{"properties", "defaults"}},
		{"delegates: {a: {zzzzzz: 1}}\n", delegate},
		{"delegates: {a: {openai: {zzzzzz: 1}}}\n", within(delegate, "properties", "openai")},
		{"delegates: {a: {command: {zzzzzz: 1}}}\n", within(delegate, "properties", "command")},
		{"delegates: {a: {http: {zzzzzz: 1}}}\n", within(delegate, "properties", "http")},
		{"delegates: {a: {agent: {zzzzzz: 1}}}\n", within(delegate, "properties", "agent", "anyOf", "1")},
		{"delegates: {a: {robot: {zzzzzz: 1}}}\n", within(delegate, "properties", "robot")},
		{"delegates: {a: {robot: {patch: {zzzzzz: 1}}}}\n", within(delegate, "properties", "robot", "properties", "patch")},
		{"patterns: {a: {pattern: race, with: {candidates: []}, config: {patch: {zzzzzz: 1}}}}\n",
			[]string{"$defs", "instance", "allOf", "1", "then", "properties", "config", "properties", "patch"}},
		{"delegates: {a: {anthropic: {zzzzzz: 1}}}\n", within(delegate, "properties", "anthropic")},
		{"delegates: {a: {price: {zzzzzz: 1}}}\n", within(delegate, "properties", "price")},
		{"health: {zzzzzz: 1}\n", []string{"properties", "health", "anyOf", "1"}},
		{"health: {cooldown: {zzzzzz: 1}}\n", []string{"properties", "health", "anyOf", "1", "properties", "cooldown", "anyOf", "2"}},
		{"health: {breaker: {zzzzzz: 1}}\n", []string{"properties", "health", "anyOf", "1", "properties", "breaker", "anyOf", "1"}},
		{"failure_rules: [{zzzzzz: 1}]\n", []string{"properties", "failure_rules", "items"}},
		{"patterns: {a: {pattern: race, with: {candidates: []}, config: {budget: {zzzzzz: 1}}}}\n",
			[]string{"$defs", "instance", "allOf", "1", "then", "properties", "config", "properties", "budget"}},
		{"patterns: {a: {zzzzzz: 1}}\n", []string{"$defs", "instance"}},
	} {
		known := regexp.MustCompile(`unknown key "zzzzzz"; known here: (.*)`)
		_, problems := Parse("f", []byte(test.text), append(Kinds(), agentKind()))
		found := known.FindStringSubmatch(problems.Error())
		if found == nil {
			t.Fatalf("%s: %v", test.text, problems)
		}
		want := strings.Split(found[1], ", ")
		slices.Sort(want)
		if got := at(test.path...); !slices.Equal(got, want) {
			t.Errorf("%s\nschema  %v\ndecoder %v", test.text, got, want)
		}
	}
	// Slots, config and criteria stand in lists of cases.
	defs := s.(map[string]any)["$defs"].(map[string]any)
	for i, p := range Patterns() {
		then := defs["instance"].(map[string]any)["allOf"].([]any)[i].(map[string]any)["then"].(map[string]any)["properties"].(map[string]any)
		slots, config := then["with"].(map[string]any)["properties"].(map[string]any), then["config"].(map[string]any)["properties"].(map[string]any)
		for _, slot := range p.Slots {
			if slots[slot.Name] == nil || len(slots) != len(p.Slots) {
				t.Errorf("%s: slots %v", p.Name, slots)
			}
		}
		for _, key := range p.Keys() {
			if config[key.Name] == nil || len(config) != len(p.Keys()) {
				t.Errorf("%s: config %v", p.Name, config)
			}
		}
	}
	criterion := defs["criterion"].(map[string]any)["anyOf"].([]any)[1].(map[string]any)["properties"].(map[string]any)
	for _, key := range append(append([]string{"timeout"}, rules...), textExtra...) {
		if criterion[key] == nil {
			t.Errorf("criterion: %s is missing", key)
		}
	}
	if len(criterion) != 1+len(rules)+len(textExtra) {
		t.Errorf("criterion: %d keys", len(criterion))
	}
}

func TestSchemaIsAlwaysTheSame(t *testing.T) {
	if first, second := Schema(Kinds()), Schema(Kinds()); string(first) != string(second) || first[len(first)-1] != '\n' {
		t.Error("two schemas differ")
	}
}
