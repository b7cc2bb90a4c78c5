package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func environment(pairs ...string) func(string) (string, bool) {
	vars := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func TestTextExpand(t *testing.T) {
	lookup := environment("NAME", "value", "EMPTY", "", "NESTED", "${NAME}", "YAML", "a: [b, {c: *d}]\n")
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"plain", "plain"},
		{"${NAME}", "value"},
		{"a ${NAME} b${NAME}", "a value bvalue"},
		{"${EMPTY}", ""},
		{"${UNSET:-default}", "default"},
		{"${UNSET:-}", ""},
		{"${EMPTY:-default}", "default"},
		{"${NAME:-default}", "value"},
		{"${UNSET:-a b:c-d $5 {x}", "a b:c-d $5 {x"},
		{"$${NAME}", "${NAME}"},
		{"$$${NAME}", "$${NAME}"},
		{"$${${NAME}", "${value"},
		{"$NAME $5 $$ $", "$NAME $5 $$ $"},
		{"{brief} {{brief}}", "{brief} {{brief}}"},
		{"${NESTED}", "${NAME}"},
		{"${YAML}", "a: [b, {c: *d}]\n"},
	} {
		r := &reading{}
		text := r.parseText(&node{tag: "!!str", text: test.text}, "")
		if got, err := text.Expand(lookup); got != test.want || err != nil || len(r.problems) > 0 {
			t.Errorf("%q: got %q, %v, want %q; problems %v", test.text, got, err, test.want, r.problems)
		}
		if text.String() != test.text {
			t.Errorf("%q is shown as %q", test.text, text)
		}
	}
}

func TestTextUnset(t *testing.T) {
	f := parsed(t, "delegates:\n  a: {openai: {model: '${ONE}/${TWO:-2}/${THREE}'}}\n")
	text := f.Delegates[0].Spec.(*OpenAI).Model
	_, err := text.Expand(environment("ONE", "1"))
	if want := "firstgood.yaml:2:41: delegates.a.openai.model: the environment variable THREE is not set; set it, or give it a default: ${THREE:-…}"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if _, static := text.Static(); static {
		t.Error("a text with variables is static")
	}
	if text.Pos() != (Pos{File: "firstgood.yaml", Line: 2, Column: 23}) {
		t.Errorf("position %v", text.Pos())
	}
}

func TestLiteral(t *testing.T) {
	for _, s := range []string{"", "a", "${NAME}", "$${x", "{brief}"} {
		text := Literal(s)
		if got, err := text.Expand(environment()); got != s || err != nil || text.IsZero() != (s == "") {
			t.Errorf("%q: %q, %v", s, got, err)
		}
		r := &reading{}
		if again := r.parseText(&node{tag: "!!str", text: text.String()}, ""); again.expand(nil) != s {
			t.Errorf("%q is shown as %q, which is %q", s, text, again.expand(nil))
		}
	}
}

func TestValueExpand(t *testing.T) {
	f := parsed(t, `
delegates:
  a:
    http:
      url: https://example.com/{brief}
      json:
        text: "${NAME}"
        "${NAME}": [1, -2.5, 1e3, true, null, "5", 2024-01-01, yes, {}, []]
        nested: {list: [{deep: "x${NAME}"}]}
`)
	spec := f.Delegates[0].Spec.(*HTTP)
	got, err := spec.JSON.Expand(environment("NAME", "value"))
	want := map[string]any{
		"text":    "value",
		"${NAME}": []any{int64(1), -2.5, 1000.0, true, nil, "5", "2024-01-01", "yes", map[string]any{}, []any{}},
		"nested":  map[string]any{"list": []any{map[string]any{"deep": "xvalue"}}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %#v, %v\nwant %#v", got, err, want)
	}
	if _, err := json.Marshal(got); err != nil {
		t.Errorf("no JSON: %v", err)
	}
	if _, err := spec.JSON.Expand(environment()); err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("unset: %v", err)
	}
	if value, err := (Value{}).Expand(environment()); value != nil || err != nil {
		t.Errorf("the zero value is %v, %v", value, err)
	}
}

// TestSecretsArePrintedNowhere holds what no message, no shown line and no way of printing a spec may show.
func TestSecretsArePrintedNowhere(t *testing.T) {
	const secret = "hunter2hunter2"
	specs := []string{
		"openai: {model: m, api_key: %s}",
		"openai: {model: m, api_key: '%s'}",
		"openai: {model: m, api_key: \"\\x68unter2hunter2 %s\"}",
		"openai: {model: m, headers: {x-any: %s}}",
		"openai: {model: m, headers: {authorization: Bearer %s}}",
		"openai: {model: m, base_url: 'https://me:%s@example.com'}",
		"openai: {model: m, base_url: 'https://example.com/?api_key=%s'}",
		"http: {url: 'https://example.com/{brief}?token=%s'}",
		"http: {url: 'https://example.com/', json: {q: '{brief}', password: %s}}",
		"command: {argv: [./a], env: {API_KEY: %s}}",
		"command: {argv: [./a], env: ['API_KEY=%s']}",
		"command: {argv: [./a, 'Authorization: Bearer %s']}",
		"command: {argv: [./a, '--token=%s']}",
	}
	// What goes wrong around the secret: nothing, an unknown key on the line, and texts that are no YAML.
	for _, frame := range []string{
		"delegates: {a: {%s}}\n",
		"delegates: {a: {unknown: 1, %s, unknown-too: 2}}\n",
		"delegates: {a: {%s, timeout: 5}, a: {timeout: 6}}\n",
		"delegates: {a: {%s}}}\n",
		"delegates: {a: {%s x: }}\n",
		"delegates: {a: {%s, b: 'unclosed}}\n",
		"patterns: {a: {%s}}\n",
		"x-unused: {%s}\nzzz: 1\n",
		"%s\n",
	} {
		for _, spec := range specs {
			text := fmt.Sprintf(frame, fmt.Sprintf(spec, secret))
			file, problems := Parse("f", []byte(text), Kinds())
			var b strings.Builder
			if err := problems.Render(&b, true); err != nil {
				t.Fatal(err)
			}
			b.WriteString(problems.Error())
			if file != nil {
				fmt.Fprintf(&b, "%v %+v %#v", file.Delegates[0].Spec, file.Delegates[0], file.Delegates[0].Spec)
				data, err := json.Marshal(file)
				if err != nil {
					t.Fatal(err)
				}
				b.Write(data)
			}
			if strings.Contains(b.String(), secret) || strings.Contains(b.String(), "unter2") {
				t.Errorf("%s shows the secret:\n%s", text, b.String())
			}
		}
	}
	// As a value of the wrong type, as a key, and behind an alias.
	for _, text := range []string{
		"delegates: {a: {openai: {model: m, api_key: [hunter2hunter2]}}}\n",
		"delegates: {a: {openai: {model: m, api_key:hunter2hunter2}}}\n",
		"delegates: {a: {openai: {model: m, headers: {x-key:hunter2hunter2}}}}\n",
		"delegates:\n  a:\n    openai:\n      api_key:hunter2hunter2\n",
		"delegates:\n  a:\n    openai:\n      headers:\n        x:hunter2hunter2\n",
		"delegates: {a: {openai: {model: m, api_key_env: AIhunter2hunter2hunter2}}}\n",
		"delegates: {a: {openai: {model: m, api_key_env: hunter2-hunter2}}}\n",
		"x-k: &k {password: hunter2hunter2}\ndelegates: {a: {openai: {model: *k, api_key: 5}}}\n",
		"delegates: {a: {command: {argv: [./a], env: [hunter2-hunter2]}}}\n",
		"delegates: {a: {openai: {model: m, api_key: '${hunter2hunter2'}}}\n",
		"delegates: {a: {openai: {model: m, api_key: 'hunter2hunter2 ${1}'}}}\n",
	} {
		_, problems := Parse("f", []byte(text), Kinds())
		var b strings.Builder
		if err := problems.Render(&b, false); err != nil {
			t.Fatal(err)
		}
		if len(problems) == 0 || strings.Contains(b.String(), "unter2") {
			t.Errorf("%s\n%s", text, b.String())
		}
	}
}

func TestVariablesOfACommand(t *testing.T) {
	f := parsed(t, `
delegates:
  a: {command: {argv: [./a], env: [HOME, LANG=C, "TOKEN=${SECRET}=x", EMPTY=]}}
  b: {command: {argv: [./b], env: {LANG: C, EMPTY: ""}}}
  c: {command: {argv: [./c], env: []}}
  d: {command: {argv: [./d]}}
`)
	var got []string
	for _, d := range f.Delegates {
		spec := d.Spec.(*Command)
		line := fmt.Sprint(spec.Env == nil)
		for _, v := range spec.Env {
			value, err := v.Value.Expand(environment("SECRET", "s"))
			if err != nil {
				t.Fatal(err)
			}
			line += fmt.Sprintf(" %s/%v/%s", v.Name, v.Pass, value)
		}
		got = append(got, line)
	}
	want := []string{"false HOME/true/ LANG/false/C TOKEN/false/s=x EMPTY/false/", "false LANG/false/C EMPTY/false/", "false", "true"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestHTTPMethod(t *testing.T) {
	for settings, want := range map[string]string{
		"": "GET", "json: {}": "POST", "json: {}, method: PUT": "PUT", "method: DELETE": "DELETE", "json: {}, method: DELETE": "DELETE",
	} {
		f := parsed(t, "delegates: {a: {http: {url: 'https://example.com/{brief}', "+settings+"}}}\n")
		if got := f.Delegates[0].Spec.(*HTTP).Method; got != want {
			t.Errorf("%q: %s, want %s", settings, got, want)
		}
	}
}

func TestAddressesThatAreFine(t *testing.T) {
	for _, address := range []string{"https://api.example.com/v1", "http://127.0.0.1:11434/v1/", "http://[::1]:8080/v1", "${BASE}/v1", "https://${HOST}/v1", "HTTPS://example.com:65535/v1", "http://localhost:1"} {
		parsed(t, "delegates: {a: {openai: {model: m, base_url: '"+address+"'}}}\n")
	}
}

func TestSizes(t *testing.T) {
	for written, want := range map[string]int64{"1 B": 1, "512 KiB": 512 << 10, "10MiB": 10 << 20, "2 GiB": 2 << 30, "3 kB": 3000, "4 MB": 4_000_000, "1000": 1000, "'1000'": 1000} {
		f := parsed(t, "delegates: {a: {command: {argv: [./a], max_output: "+written+"}}}\n")
		if got := f.Delegates[0].Spec.(*Command).MaxOutput; got != want {
			t.Errorf("%s: %d, want %d", written, got, want)
		}
	}
}

func TestTextThatWasGiven(t *testing.T) {
	spec := parsed(t, "delegates: {a: {openai: {model: m, base_url: '${LOCAL:-}', system: ''}}}\n").Delegates[0].Spec.(*OpenAI)
	for name, test := range map[string]struct {
		text  Text
		given bool
	}{"base_url": {spec.BaseURL, true}, "system": {spec.System, true}, "api_key": {spec.APIKey, false}} {
		if got, err := test.text.Expand(environment()); test.text.IsZero() == test.given || got != "" || err != nil {
			t.Errorf("%s: IsZero %v, %q, %v", name, test.text.IsZero(), got, err)
		}
	}
}
