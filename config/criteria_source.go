package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// expr reads an expression.
func (m *Map) expr(key string, c *Criterion) {
	n := m.take(key, "an expression over reply, brief and duration that is true, such as len(reply.text) < 400", nil, textSchema)
	if n == nil {
		return
	}
	c.Rule = RuleExpr
	path := m.at(key)
	switch {
	case !n.isText():
		m.r.mismatch(n, path, "an expression", quoting(n))
	case strings.TrimSpace(n.text) == "":
		m.r.errorf(n, path, "the expression is empty; write one that is true of a good reply, or of a bad one")
	case looksLikeVariable.MatchString(n.text):
		m.r.errorf(n, path, `variables are not expanded in an expression; write "$" + "{" for the characters themselves`)
	default:
		c.Expr = n.text
		m.r.check(c, n, path)
	}
}

var webAddress = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+://`)

// jsonSchema reads a JSON Schema, or the path of one.
func (m *Map) jsonSchema(key string, c *Criterion) {
	n := m.take(key, "a JSON Schema that the reply's JSON meets: the path of its file, from the folder of this one, or the schema itself", nil, func() schema {
		return schema{"anyOf": []any{schema{"type": "string"}, schema{"type": "object"}}}
	})
	if n == nil {
		return
	}
	c.Rule = RuleSchema
	path := m.at(key)
	switch {
	case n.shape == mapping:
		tree, ok := m.r.bare(n, path)
		if !ok {
			return
		}
		data, err := json.Marshal(tree)
		if err != nil {
			m.r.errorf(n, path, "the schema has no form in JSON: %s", oneLine(err.Error()))
			return
		}
		c.Schema = data
	case !n.isText():
		m.r.mismatch(n, path, "the path of a file, or a schema", "write for example ./answer.schema.json, or {type: object, …}")
		return
	case strings.TrimSpace(n.text) == "":
		m.r.errorf(n, path, "the path is empty; name a file, or write the schema itself")
		return
	case strings.HasPrefix(strings.TrimSpace(n.text), "{"):
		m.r.errorf(n, path, "this is the path of a file; a schema itself stands here without quotes")
		return
	case webAddress.MatchString(n.text):
		m.r.errorf(n, path, "a schema is not fetched from the network; save it beside this file and write its path")
		return
	case looksLikeVariable.MatchString(n.text):
		m.r.errorf(n, path, "variables are not expanded in the path of a schema, which is read with the file")
		return
	default:
		c.SchemaFile = filepath.FromSlash(n.text)
		if !m.r.origin && !filepath.IsAbs(c.SchemaFile) && !os.IsPathSeparator(c.SchemaFile[0]) {
			c.SchemaFile = filepath.Join(filepath.Dir(m.r.name), c.SchemaFile)
		}
	}
	m.r.check(c, n, path)
}

// bare returns n as Go has JSON, texts as they are, and whether all of it is JSON.
func (r *reading) bare(n *node, path string) (any, bool) {
	ok := !n.bad
	switch n.shape {
	case list:
		items := make([]any, len(n.items))
		for i, item := range n.items {
			var good bool
			items[i], good = r.bare(item, index(path, i))
			ok = ok && good
		}
		return items, ok
	case mapping:
		keys := make(map[string]any, len(n.keys))
		for _, e := range n.keys {
			var good bool
			keys[e.key], good = r.bare(e.value, step(path, e.key))
			ok = ok && good
		}
		return keys, ok
	}
	switch n.tag {
	case "!!null":
		return nil, ok
	case "!!bool":
		return strings.EqualFold(n.text, "true"), ok
	case "!!int", "!!float":
		written := strings.TrimPrefix(n.text, "+")
		if _, err := strconv.ParseFloat(written, 64); err != nil || !jsonNumber.MatchString(written) {
			r.mismatch(n, path, "a number that JSON has", "or "+quoting(n))
			return nil, false
		}
		return json.Number(written), ok
	}
	return n.text, ok
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// finishReasons are what the providers that are known here say.
var finishReasons = []string{
	"stop", "length", "tool_calls", "content_filter", "function_call", // chat completions
	"end_turn", "max_tokens", "stop_sequence", "tool_use", "pause_turn", "refusal", "model_context_window_exceeded", // messages
}

// finishReason reads the reasons for which a reply may end.
func (m *Map) finishReason(key string, c *Criterion) {
	n := m.take(key, "why the reply ended, such as stop, or a list of reasons of which it is one", nil, func() schema {
		reason := schema{"type": "string", "minLength": 1}
		return schema{"anyOf": []any{reason, schema{"type": "array", "items": reason, "minItems": 1, "uniqueItems": true}}}
	})
	if n == nil {
		return
	}
	c.Rule = RuleFinishReason
	items, path := []*node{n}, func(int) string { return m.at(key) }
	if n.shape == list {
		items, path = n.items, func(i int) string { return index(m.at(key), i) }
	}
	if len(items) == 0 {
		m.r.errorf(n, m.at(key), "the list is empty; name a reason such as stop")
	}
	for i, item := range items {
		switch {
		case !item.isText():
			m.r.mismatch(item, path(i), "a reason such as stop", quoting(item))
		case strings.TrimSpace(item.text) == "":
			m.r.errorf(item, path(i), "the reason is empty; name one such as stop")
		case slices.Contains(c.FinishReasons, item.text):
			m.r.errorf(item, path(i), "%s is here twice; keep one", quote(item.text))
		default:
			if near := diagnostic.Nearest(item.text, finishReasons); near != "" && near != item.text {
				m.r.report(SeverityWarning, item.pos, path(i), "%s is no reason that a known provider gives; did you mean %s?", quote(item.text), near)
			}
			c.FinishReasons = append(c.FinishReasons, item.text)
		}
	}
}
