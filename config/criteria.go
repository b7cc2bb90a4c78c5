package config

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/firstgood/firstgood"
)

// Rule says how a criterion is decided.
type Rule string

// The rules.
const (
	RuleText         Rule = "text"          // a judge weighs Text
	RuleMatches      Rule = "matches"       // Regexp matches the reply
	RuleExpr         Rule = "expr"          // Expr is true of the reply
	RuleSchema       Rule = "schema"        // the reply's JSON is as Schema or SchemaFile says
	RuleFinishReason Rule = "finish_reason" // the reply ended for one of FinishReasons
	RuleCommand      Rule = "command"       // Argv exits with 0
	RuleNonEmpty     Rule = "nonempty"      // the reply says something
	RuleAll          Rule = "all"           // each of Children holds
	RuleAny          Rule = "any"           // one of Children holds
	RuleNot          Rule = "not"           // the one of Children does not hold
)

// Criterion is a rule about a reply. A nil Criterion is none at all: nothing is judged.
type Criterion struct {
	Pos  Pos
	Rule Rule

	// Of RuleText.
	Text          Text
	Judge         Ref      // never zero
	Sees          []string // "brief" and "reply", or "reply" alone
	Chars         int      // how much of the reply the judge is sent, in UTF-16 units
	OnUnparseable string   // "accept" (the rule is taken to be in the reply's favour) or "reject"
	JudgeRetries  int      // how often a judge that did not answer is asked again

	Regexp        *regexp.Regexp  // of RuleMatches
	Expr          string          // of RuleExpr: the expression as written, which a [Check] found in order
	Schema        json.RawMessage // of RuleSchema: a JSON Schema that stands in the file, an object; nil for one that does not
	SchemaFile    string          // of RuleSchema: the path of one, from where the program is, not from where the file is; "" for none
	FinishReasons []string        // of RuleFinishReason: at least one, as a provider names it
	Argv          []Text          // of RuleCommand
	Timeout       time.Duration   // of RuleCommand; 0: none of its own
	Children      []*Criterion    // of RuleAll, RuleAny and RuleNot

	path string
}

// Visit calls visit for the criterion and for all that it is made of. A nil Criterion has nothing to visit.
func (c *Criterion) Visit(visit func(*Criterion)) {
	if c == nil {
		return
	}
	visit(c)
	for _, child := range c.Children {
		child.Visit(visit)
	}
}

// The keys that are rules, and those that only go with text.
var (
	rules     = []string{"text", "matches", "expr", "schema", "finish_reason", "command", "nonempty", "all", "any", "not"}
	textExtra = []string{"judge", "sees", "chars", "on_unparseable", "on_judge_error"}
)

// criterion returns the criteria under key, nil for none.
func (m *Map) criterion(key, doc string) *Criterion {
	if m.node != nil && m.Has(key) && m.node.entry(key).value.isNull() { // as in documents: no criteria
		m.fields = append(m.fields, field{name: key, doc: doc})
		return nil
	}
	n := m.take(key, doc, nil, criterionRef)
	if n == nil {
		return nil
	}
	pos := n.pos
	if e := m.node.entry(key); e != nil && pos.Line > 0 {
		pos = e.pos
	}
	return m.r.criterion(n, pos, m.at(key), true)
}

func criterionRef() schema {
	return schema{"anyOf": []any{schema{"$ref": "#/$defs/criterion"}, schema{"type": "null"}}}
}

// criterion returns the rule that n is; at the top a blank text is none.
func (r *reading) criterion(n *node, pos Pos, path string, top bool) *Criterion {
	c := &Criterion{Pos: n.pos, path: path}
	switch {
	case n.isText():
		return r.plain(c, n, path, top)
	case n.shape == mapping:
		ok := false
		r.enter(n, pos, path, func(m *Map) { ok = r.rule(m, c, top) })
		if !ok {
			return nil
		}
		return c
	case n.shape == list:
		r.mismatch(n, path, "one criterion", "combine several as {all: […]} or {any: […]}")
	default:
		r.mismatch(n, path, "a text or a rule such as {nonempty: true}", quoting(n))
	}
	return nil
}

// plain makes c a rule in plain language.
func (r *reading) plain(c *Criterion, n *node, path string, top bool) *Criterion {
	if strings.TrimSpace(n.text) == "" {
		if !top {
			r.errorf(n, path, "the text is empty; a rule inside another must say something")
		}
		return nil
	}
	c.Rule, c.Text = RuleText, r.parseText(n, path)
	c.Sees, c.Chars, c.OnUnparseable = []string{"reply"}, firstgood.ExcerptUnits, "accept"
	return c
}

// rule reads a criterion that is a mapping, and reports whether there is one.
func (r *reading) rule(m *Map, c *Criterion, top bool) bool {
	m.noun = "rule"
	ok := true
	if n := m.take("text", "a rule in plain language, which a judge weighs", nil, textSchema); n != nil {
		if !n.isText() {
			r.mismatch(n, m.at("text"), "a text", quoting(n))
			ok = false
		} else {
			ok = r.plain(c, n, m.at("text"), top) != nil
		}
	}
	if n := m.take("matches", "a regular expression (RE2) that matches somewhere in the reply", nil, textSchema); n != nil {
		c.Rule = RuleMatches
		c.Regexp = r.regexp(n, m.at("matches"))
	}
	m.expr("expr", c)
	m.jsonSchema("schema", c)
	m.finishReason("finish_reason", c)
	if m.Has("command") {
		c.Rule = RuleCommand
	}
	c.Argv = m.Command("command", "a program and its arguments, which gets the reply on its standard input; exit status 0 means that the rule holds")
	if m.Has("nonempty") {
		c.Rule = RuleNonEmpty
		if !m.Bool("nonempty", "true: the reply says something", true) {
			m.Errorf("nonempty", "a rule can only be nonempty: true; for its opposite write {not: {nonempty: true}}")
		}
	} else {
		m.Bool("nonempty", "true: the reply says something", true)
	}
	if n := m.take("all", "a list of rules that must all hold", nil, criteriaList); n != nil {
		c.Rule, c.Children = RuleAll, r.criteria(n, m.at("all"))
	}
	if n := m.take("any", "a list of rules of which one must hold", nil, criteriaList); n != nil {
		c.Rule, c.Children = RuleAny, r.criteria(n, m.at("any"))
	}
	if n := m.take("not", "a rule that must not hold", nil, func() schema { return schema{"$ref": "#/$defs/criterion"} }); n != nil {
		c.Rule = RuleNot
		if child := r.criterion(n, m.node.entry("not").pos, m.at("not"), false); child != nil {
			c.Children = []*Criterion{child}
		}
	}
	c.Judge = m.ref("judge", "who weighs the text; the file's judge unless said")
	c.Sees = m.words("sees", "what the judge is shown: brief and reply, or the reply alone", c.Sees, "brief", "reply")
	c.Chars = m.Int("chars", "how much of the reply the judge is sent, in UTF-16 units; 2000 unless said", 1, 10_000_000, c.Chars)
	c.OnUnparseable = m.Enum("on_unparseable", "what a judge's answer that cannot be read means for the reply; accept unless said", c.OnUnparseable, "accept", "reject")
	c.JudgeRetries = m.judgeRetries("on_judge_error", "what happens when the judge does not answer: fail, or retry N times before")
	c.Timeout = m.Duration("timeout", "how long the command may take", 0)
	return r.oneRule(m) && ok
}

// oneRule reports a mapping without a rule, with several, or with keys that do not go with its rule.
func (r *reading) oneRule(m *Map) bool {
	if m.node == nil {
		return false
	}
	var given []entry
	unknown := false
	for _, e := range m.node.keys {
		if slices.Contains(rules, e.key) {
			given = append(given, e)
		} else if e.key != "timeout" && !slices.Contains(textExtra, e.key) && !strings.HasPrefix(e.key, "x-") {
			unknown = true
		}
	}
	switch {
	case len(given) > 1:
		r.report(SeverityError, given[1].pos, m.path, "got the rules %s and %s in one mapping; combine them as {all: [{%s: …}, {%s: …}]}", given[0].key, given[1].key, given[0].key, given[1].key)
		return false
	case len(given) == 0:
		if !unknown {
			r.report(SeverityError, m.pos, m.path, "there is no rule here; write one of %s", or(rules))
		}
		return false
	}
	rule := given[0].key
	for _, key := range textExtra {
		if rule != "text" && m.Has(key) {
			r.report(SeverityError, m.node.entry(key).pos, m.path, "%s goes with text, not with %s; remove it", key, rule)
		}
	}
	if rule != "command" && m.Has("timeout") {
		r.report(SeverityError, m.node.entry("timeout").pos, m.path, "timeout goes with command, not with %s; remove it", rule)
	}
	return true
}

func criteriaList() schema {
	return schema{"type": "array", "minItems": 1, "items": schema{"$ref": "#/$defs/criterion"}}
}

// criteria returns the rules in a list.
func (r *reading) criteria(n *node, path string) []*Criterion {
	if n.shape != list {
		r.mismatch(n, path, "a list of criteria", "write it in brackets: […]")
		return nil
	}
	if len(n.items) == 0 {
		r.errorf(n, path, "the list is empty; it needs at least one criterion")
	}
	var children []*Criterion
	for i, item := range n.items {
		if child := r.criterion(item, item.pos, index(path, i), false); child != nil {
			children = append(children, child)
		}
	}
	return children
}

var looksLikeVariable = regexp.MustCompile(`\$\{[A-Za-z_]`)

// regexp compiles the regular expression n. Variables are not expanded in one.
func (r *reading) regexp(n *node, path string) *regexp.Regexp {
	if !n.isText() {
		r.mismatch(n, path, "a regular expression", quoting(n))
		return nil
	}
	if n.text == "" {
		r.errorf(n, path, "the regular expression is empty, so it matches everything; write one")
		return nil
	}
	if looksLikeVariable.MatchString(n.text) {
		r.errorf(n, path, "variables are not expanded in a regular expression; write \\$\\{ for the characters themselves")
		return nil
	}
	re, err := regexp.Compile(n.text)
	var wrong *syntax.Error
	if errors.As(err, &wrong) {
		r.errorf(n, path, "the regular expression %s is wrong: %s in %s", quote(n.text), wrong.Code, quote(wrong.Expr))
	}
	return re
}

// words returns a list of some of the words, each at most once and the last always.
func (m *Map) words(key, doc string, otherwise []string, words ...string) []string {
	n := m.take(key, doc, nil, func() schema {
		return schema{"type": "array", "items": schema{"enum": words}, "contains": schema{"const": words[len(words)-1]}, "uniqueItems": true}
	})
	if n == nil {
		return otherwise
	}
	if n.shape != list {
		m.r.mismatch(n, m.at(key), "a list", "write ["+strings.Join(words, ", ")+"]")
		return otherwise
	}
	var found []string
	for i, item := range n.items {
		switch {
		case !item.isText() || !slices.Contains(words, item.text):
			m.r.choose(item, index(m.at(key), i), words)
			return otherwise
		case slices.Contains(found, item.text):
			m.r.errorf(item, index(m.at(key), i), "%s is here twice; keep one", item.text)
		}
		found = append(found, item.text)
	}
	if last := words[len(words)-1]; !slices.Contains(found, last) {
		m.r.errorf(n, m.at(key), "%s must be in the list; write [%s]", last, strings.Join(words, ", "))
	}
	return found
}

var retryText = regexp.MustCompile(`^retry ([1-9][0-9]?)$`)

func (m *Map) judgeRetries(key, doc string) int {
	n := m.take(key, doc, nil, func() schema {
		return schema{"anyOf": []any{schema{"const": "fail"}, schema{"type": "string", "pattern": retryText.String()}}}
	})
	if n == nil || n.isText() && n.text == "fail" {
		return 0
	}
	if match := retryText.FindStringSubmatch(n.text); match != nil && n.isText() {
		count := 0
		for _, digit := range match[1] {
			count = count*10 + int(digit-'0')
		}
		return count
	}
	m.r.mismatch(n, m.at(key), "fail or retry N", "write for example retry 2")
	return 0
}
