package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// decimal is how a number is written that is not only a whole one. Leading zeros are octal in some YAML.
var decimal = regexp.MustCompile(`^\+?(0|[1-9][0-9]*)?(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// number returns the number that n is.
func (n *node) number() (float64, bool) {
	if n.shape != scalar || n.tag != "!!int" && n.tag != "!!float" && !n.loose || !decimal.MatchString(n.text) {
		return 0, false
	}
	number, err := strconv.ParseFloat(n.text, 64)
	return number, err == nil
}

// dollars returns an amount of US dollars, in which 0 has a place where zero says so; 0 where the key is absent.
func (m *Map) dollars(key, doc string, zero bool, options ...Option) float64 {
	least, want := "minimum", fmt.Sprintf("a number of US dollars from 0 to %d", maxDollars)
	if !zero {
		least, want = "exclusiveMinimum", fmt.Sprintf("a number of US dollars above 0, up to %d", maxDollars)
	}
	n := m.take(key, doc, options, func() schema { return schema{"type": "number", least: 0, "maximum": maxDollars} })
	if n == nil {
		return 0
	}
	if number, ok := n.number(); ok && number <= maxDollars && (number > 0 || zero) {
		return number
	}
	way := ""
	if bare := strings.Trim(n.text, "$ "); n.isText() && decimal.MatchString(bare) && bare != "" && !n.loose && !n.hidden {
		way = "write " + bare
		if bare == n.text {
			way += " without quotes"
		}
	}
	m.r.mismatch(n, m.at(key), want, way)
	return 0
}

const maxDollars = 1_000_000

var percent = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?%$`)

// share returns a part of a whole, from least to 1, written such as 0.1 or 10%; otherwise where the key is absent.
func (m *Map) share(key, doc string, least, otherwise float64) float64 {
	n := m.take(key, doc, nil, func() schema {
		return schema{"anyOf": []any{schema{"type": "number", "minimum": least, "maximum": 1}, schema{"type": "string", "pattern": percent.String()}}}
	})
	if n == nil {
		return otherwise
	}
	number, ok := n.number()
	way := "write for example 10% or 0.1"
	if match := percent.FindStringSubmatch(n.text); match != nil && n.isText() {
		number, _ = strconv.ParseFloat(match[1], 64)
		number, ok = number/100, true
	} else if ok && number > 1 && number <= 100 {
		way = "write " + n.text + "%"
	}
	if ok && least <= number && number <= 1 {
		return number
	}
	m.r.mismatch(n, m.at(key), fmt.Sprintf("a share from %v%% to 100%%", 100*least), way)
	return otherwise
}

// toggle reads what is either on or off, or a mapping that says how it is on, which goes to decode. It reports whether
// it is on; otherwise where the key is absent.
func (m *Map) toggle(key, doc string, otherwise bool, decode func(*Map)) bool {
	n := m.take(key, doc, nil, func() schema {
		return schema{"anyOf": []any{schema{"type": "boolean"}, m.r.object(decode)}}
	})
	switch {
	case n == nil:
		return otherwise || m.Has(key)
	case n.shape == mapping:
		m.r.enter(n, m.node.entry(key).pos, m.at(key), decode)
	case n.shape == scalar && n.tag == "!!bool":
		return strings.EqualFold(n.text, "true")
	default:
		way := "write true or false, or its keys in braces"
		if n.isText() && slices.Contains([]string{"yes", "on", "y", "true"}, strings.ToLower(n.text)) {
			way = "write true"
		} else if n.isText() && slices.Contains([]string{"no", "off", "n", "false", "none"}, strings.ToLower(n.text)) {
			way = "write false"
		}
		m.r.mismatch(n, m.at(key), "true, false or a mapping", way)
	}
	return true
}

// choice returns some of the words, each at most once; otherwise where the key is absent.
func (m *Map) choice(key, doc string, otherwise, words []string) []string {
	n := m.take(key, doc, nil, func() schema {
		return schema{"type": "array", "items": schema{"enum": words}, "minItems": 1, "uniqueItems": true}
	})
	if n == nil {
		return otherwise
	}
	items, ok := n.list()
	if !ok {
		way := "write for example [" + words[0] + "]"
		if n.isText() && !n.hidden {
			way = "write [" + n.text + "]"
		}
		m.r.mismatch(n, m.at(key), "a list", way)
		return otherwise
	}
	found := []string{}
	for i, item := range items {
		path := index(m.at(key), i)
		switch {
		case !item.isText() || !slices.Contains(words, item.text):
			m.r.choose(item, path, words)
		case slices.Contains(found, item.text):
			m.r.errorf(item, path, "%s is here twice; keep one", item.text)
		default:
			found = append(found, item.text)
		}
	}
	if len(items) == 0 {
		m.r.errorf(n, m.at(key), "the list is empty; this is %s", doc)
	}
	return found
}

// list returns the items of a list, or of a text from outside a file that separates them by commas.
func (n *node) list() ([]*node, bool) {
	if n.shape == list || !n.loose {
		return n.items, n.shape == list
	}
	var items []*node
	for part := range strings.SplitSeq(n.text, ",") {
		item := *n
		item.text = strings.TrimSpace(part)
		items = append(items, &item)
	}
	return items, true
}
