package config

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/firstgood/firstgood"
)

// FailureRule says what words in an error body mean. It is tried before what the adapters know themselves.
type FailureRule struct {
	Pos     Pos
	Matches string // a regular expression (RE2) that compiles; it matches somewhere in the message, in any case
	Kind    firstgood.Kind
	Status  []int // the statuses under which the rule holds; nil: where an adapter looks at words at all
}

// answerKinds are the kinds of failure that an error body can be. failureKinds are those that an attempt can have
// had; what never started is not among them.
var (
	answerKinds = []string{
		string(firstgood.KindContextLength), string(firstgood.KindRateLimited), string(firstgood.KindAuth), string(firstgood.KindRefused),
		string(firstgood.KindUnavailable), string(firstgood.KindBadRequest), string(firstgood.KindTimeout), string(firstgood.KindTruncated),
		string(firstgood.KindError),
	}
	failureKinds = append(slices.Clone(answerKinds),
		string(firstgood.KindRejected), string(firstgood.KindJudgeError), string(firstgood.KindExhausted), string(firstgood.KindPanic))
)

func (m *Map) failureRules(key, doc string) []FailureRule {
	var rules []FailureRule
	decode := func(m *Map) { rules = append(rules, m.r.failureRule(m)) }
	n := m.take(key, doc, nil, func() schema {
		items := m.r.object(decode)
		rules = nil
		return schema{"type": "array", "items": items}
	})
	if n == nil {
		return nil
	}
	if n.shape != list {
		way := "write a - before each, or brackets: [{matches: …, kind: …}]"
		m.r.mismatch(n, m.at(key), "a list of rules", way)
		return nil
	}
	for i, item := range n.items {
		m.r.enter(item, item.pos, index(m.at(key), i), decode)
	}
	return rules
}

func (r *reading) failureRule(m *Map) FailureRule {
	rule := FailureRule{Pos: m.pos}
	m.lenient = true
	m.hint = func(key string) string {
		if key == "message" || key == "match" {
			return "write matches: REGEX, which looks into the message"
		}
		return ""
	}
	if n := m.take("matches", "a regular expression (RE2) that matches somewhere in the message of an error body, in any case", []Option{Required}, textSchema); n != nil {
		r.regexp(n, m.at("matches"))
		rule.Matches = n.text
	}
	if n := m.take("kind", "which kind of failure that is", []Option{Required}, func() schema { return schema{"enum": answerKinds} }); n != nil {
		switch {
		case n.isText() && slices.Contains(answerKinds, n.text):
			rule.Kind = firstgood.Kind(n.text)
		case n.isText() && (slices.Contains(failureKinds, n.text) || n.text == string(firstgood.KindNoStart)):
			r.errorf(n, m.at("kind"), "%s is never what an error body says; write one of %s", n.text, or(answerKinds))
		default:
			r.choose(n, m.at("kind"), answerKinds)
		}
	}
	rule.Status = m.statuses("status", "under which status, or which of a list, the rule holds; 200, 400, 413 and 422 unless said")
	return rule
}

var digits = regexp.MustCompile(`^[0-9]+$`)

const leastStatus, mostStatus = 200, 599

// statuses returns a status or a list of them, nil where the key is absent.
func (m *Map) statuses(key, doc string) []int {
	one := schema{"type": "integer", "minimum": leastStatus, "maximum": mostStatus}
	n := m.take(key, doc, nil, func() schema {
		return schema{"anyOf": []any{one, schema{"type": "array", "items": one, "minItems": 1, "uniqueItems": true}}}
	})
	if n == nil {
		return nil
	}
	items, path := []*node{n}, func(int) string { return m.at(key) }
	if n.shape == list {
		items, path = n.items, func(i int) string { return index(m.at(key), i) }
	}
	if len(items) == 0 {
		m.r.errorf(n, m.at(key), "the list is empty; name a status, or leave the key out")
	}
	var found []int
	for i, item := range items {
		number, ok := item.number()
		status := int(number)
		switch {
		case !ok || float64(status) != number || status < leastStatus || status > mostStatus:
			way := ""
			if item.isText() && digits.MatchString(item.text) {
				way = "write it without quotes"
			}
			m.r.mismatch(item, path(i), fmt.Sprintf("an HTTP status from %d to %d", leastStatus, mostStatus), way)
		case slices.Contains(found, status):
			m.r.errorf(item, path(i), "%d is here twice; keep one", status)
		default:
			found = append(found, status)
		}
	}
	return found
}
