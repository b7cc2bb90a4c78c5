package config

import (
	"encoding/json"
)

// schema is a JSON Schema.
type schema map[string]any

func textSchema() schema { return schema{"type": "string"} }

// object returns the schema of a mapping that decode reads.
func (r *reading) object(decode func(*Map)) schema {
	m := &Map{r: r}
	decode(m)
	return m.schema()
}

// schema returns the schema of a mapping of which the keys were described.
func (m *Map) schema() schema {
	keys := schema{}
	required := []string{}
	for _, f := range m.fields {
		shape := schema{"description": f.doc}
		for keyword, value := range f.shape {
			shape[keyword] = value
		}
		keys[f.name] = shape
		if f.required {
			required = append(required, f.name)
		}
	}
	s := schema{"type": "object", "properties": keys, "patternProperties": schema{"^x-": true}, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// oneOf says that exactly one of the keys must be there.
func (s schema) oneOf(keys []string) schema {
	var ways []any
	for _, key := range keys {
		ways = append(ways, schema{"required": []string{key}})
	}
	s["oneOf"] = ways
	return s
}

// Schema returns the JSON Schema (2020-12) of the file with delegates of the given kinds, for editors. It is made
// from what the decoders ask for. What a schema cannot say (names, cycles, who judges) only [Parse] checks.
func Schema(kinds []Kind, extras ...Extra) []byte {
	r := newReading("", kinds, extras)
	root := r.object(func(m *Map) { r.file(m, &File{}) })
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "firstgood.yaml"
	root["$defs"] = schema{
		"criterion": schema{
			"description": "a rule about a reply: a text that a judge weighs, or one of the other rules",
			"anyOf":       []any{textSchema(), r.object(func(m *Map) { r.rule(m, &Criterion{}, false) }).oneOf(rules)},
		},
		"member": schema{
			"description": "the name of a delegate or pattern, or an instance of its own",
			"anyOf":       []any{schema{"type": "string", "pattern": nameText.String()}, schema{"$ref": "#/$defs/instance"}},
		},
		"instance": r.instanceSchema(),
	}
	var kindNames []string
	for _, kind := range kinds {
		kindNames = append(kindNames, kind.Name)
	}
	delegates := root["properties"].(schema)["delegates"].(schema)
	delegates["additionalProperties"].(schema).oneOf(kindNames)
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic(err) // it holds nothing that JSON has not
	}
	return append(text, '\n')
}

// instanceSchema returns the schema of an instance: what its slots and settings are depends on its pattern.
func (r *reading) instanceSchema() schema {
	s := r.object(func(m *Map) { r.instance(m, "") })
	var cases []any
	for _, p := range Patterns() {
		names := []string{p.Name}
		for _, shelf := range shelves {
			names = append(names, shelf+p.Name)
		}
		cases = append(cases, schema{
			"if": schema{"properties": schema{"pattern": schema{"enum": names}}, "required": []string{"pattern"}},
			"then": schema{
				"properties": schema{
					"with":   r.object(func(m *Map) { r.slots(m, p, newInstance(p, "", Pos{})) }),
					"config": r.object(func(m *Map) { r.configure(m, p, newInstance(p, "", Pos{})) }),
				},
				"required": []string{"with"},
			},
		})
	}
	s["allOf"] = cases
	return s
}
