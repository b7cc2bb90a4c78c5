package document

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Items of Slots, Config, Requires, Parameters and Returns are written in several ways:
//
//	`n`                                  `n` (primary)              `n`: text
//	`n` (type, default: v): text         `n`: integer, default `3`  `n`: 3          n: text
//	n: type -- (optional, default v) text
var (
	nameForm  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	headForm  = regexp.MustCompile("^(?:`([^`\\s]+)`|([A-Za-z_&][A-Za-z0-9_.-]*))[ \t]*")
	noneForm  = regexp.MustCompile(`(?i)^[(\[]?none[)\]]?(?:[.;,—–-].*)?$`)
	typeWord  = `(?:string|text|integer|int|number|float|boolean|bool|object|map|array|list|any)(?:\[\])*`
	typeLead  = regexp.MustCompile(`(?i)^(` + typeWord + `)(?:\s*$|\s*,\s*|\s+(?:--|—|–|-)\s+|\s+\()`)
	dashLead  = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.|<> \[\]]*?)\s*(?:--|—|–)\s+`)
	hintLead  = regexp.MustCompile(`(?i)^(optional|required|default|primary|list)\b`)
	optional  = regexp.MustCompile(`(?i)(?:^|,\s*)optional\b`)
	defaulted = regexp.MustCompile(`(?i)(?:^|,\s*|\s)default(?:s to)?\b\s*[:=]?\s*(\S.*)$`)
	trailing  = regexp.MustCompile(`(?i)\s*,\s*(?:optional|required)\s*$`)
)

// head is how an item begins: its name, what stands in parentheses after it, and what follows a colon.
type head struct {
	name       string
	attributes string
	group      bool // there were parentheses
	text       string
	colon      bool // a text follows
	quoted     bool // the name stands between backticks
}

// parseHead reads how an item begins. It returns false where the item is mere text.
func parseHead(s string) (head, bool) {
	m := headForm.FindStringSubmatch(s)
	if m == nil {
		return head{}, false
	}
	h := head{name: m[1] + m[2], quoted: m[1] != ""}
	rest := s[len(m[0]):]
	if strings.HasPrefix(rest, "(") {
		end := closing(rest)
		if end < 0 {
			return head{}, false
		}
		h.group, h.attributes = true, strings.TrimSpace(rest[1:end])
		rest = strings.TrimSpace(rest[end+1:])
	}
	switch {
	case rest == "":
		return h, h.quoted || h.group
	case strings.HasPrefix(rest, ":"):
		h.colon, h.text = true, strings.TrimSpace(rest[1:])
		return h, true
	case h.quoted && (strings.HasPrefix(rest, "-- ") || strings.HasPrefix(rest, "— ") || strings.HasPrefix(rest, "– ") || strings.HasPrefix(rest, "- ")):
		_, text, _ := strings.Cut(rest, " ")
		h.colon, h.text = true, strings.TrimSpace(text)
		return h, true
	}
	return head{}, false
}

// closing returns the index of the parenthesis that closes the one s begins with, or -1.
func closing(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// hints are what the attributes of an item say.
type hints struct {
	kind       string // its type, as it is written
	initial    string // its default, as it is written
	hasDefault bool
	optional   bool
	primary    bool
	list       bool
}

// parseHints reads attributes such as string, optional, default: none.
func parseHints(s string) hints {
	var h hints
	if m := defaulted.FindStringSubmatchIndex(s); m != nil {
		h.hasDefault, h.initial = true, s[m[2]:m[3]]
		if cut := trailing.FindStringIndex(h.initial); cut != nil {
			h.optional = h.optional || strings.Contains(strings.ToLower(h.initial[cut[0]:]), "optional")
			h.initial = h.initial[:cut[0]]
		}
		s = s[:m[0]]
	}
	for word := range strings.SplitSeq(s, ",") {
		switch word = strings.TrimSpace(word); {
		case optional.MatchString(word):
			h.optional = true
		case strings.EqualFold(word, "required"), word == "":
		case strings.EqualFold(word, "primary"):
			h.primary = true
		case strings.EqualFold(word, "list"):
			h.list = true
			fallthrough
		default:
			if h.kind == "" {
				h.kind = word
			}
		}
	}
	return h
}

// hintsIn looks for attributes in the text of an item: a leading type, parentheses that begin with optional or default.
func hintsIn(text string) (h hints, doc string) {
	doc = text
	if m := typeLead.FindStringSubmatch(text); m != nil {
		h.kind = m[1]
		doc = strings.TrimSpace(text[len(m[1]):])
		for _, mark := range []string{",", "--", "—", "–", "- "} {
			if rest, ok := strings.CutPrefix(doc, mark); ok {
				doc = strings.TrimSpace(rest)
				break
			}
		}
		if m := defaulted.FindStringSubmatchIndex(doc); m != nil && m[0] == 0 {
			h.hasDefault, h.initial, doc = true, doc[m[2]:m[3]], ""
			if value, rest, ok := backticked(h.initial); ok {
				h.initial, doc = value, strings.TrimLeft(rest, " :;,.-—–")
			}
			return h, doc
		}
	} else if m := dashLead.FindStringSubmatch(text); m != nil && len(strings.Fields(m[1])) == 1 {
		h.kind = m[1]
		doc = text[len(m[0]):]
	}
	for i := 0; i < len(doc); i++ {
		if doc[i] != '(' {
			continue
		}
		end := closing(doc[i:])
		if end < 0 {
			break
		}
		inner := strings.TrimSpace(doc[i+1 : i+end])
		if hintLead.MatchString(inner) {
			found := parseHints(inner)
			h.optional = h.optional || found.optional
			if found.hasDefault && !h.hasDefault {
				h.hasDefault, h.initial = true, found.initial
			}
			if i == 0 {
				doc = strings.TrimLeft(doc[end+1:], " —–-")
				i = -1
				continue
			}
		}
		i += end
	}
	h.optional = h.optional || optional.MatchString(doc)
	return h, doc
}

// backticked cuts a text in backticks off the beginning of s.
func backticked(s string) (value, rest string, ok bool) {
	if !strings.HasPrefix(s, "`") {
		return "", s, false
	}
	end := strings.IndexByte(s[1:], '`')
	if end < 0 {
		return "", s, false
	}
	return s[1 : end+1], s[end+2:], true
}

// literal returns a text that is a value as a whole, such as 3, "x" or `[1]`, as JSON.
func literal(s string) (json.RawMessage, bool) {
	if value, rest, ok := backticked(s); ok && rest == "" {
		v, _ := initial("", value)
		return v, true
	}
	switch {
	case s == "":
		return nil, false
	case strings.EqualFold(s, "none"), s == "null":
		return json.RawMessage("null"), true
	case json.Valid([]byte(s)):
		return compact(s), true
	case s[0] == '[' || s[0] == '{':
		return flow(s)
	case len(s) > 1 && s[0] == '\'' && strings.IndexByte(s[1:], '\'') == len(s)-2:
		return jsonText(s[1 : len(s)-1]), true
	}
	return nil, false
}

// initial returns a default, as it is written, as JSON. It returns false where it is not of the type.
func initial(kind, s string) (json.RawMessage, bool) {
	s = strings.TrimSpace(s)
	if value, rest, ok := backticked(s); ok && strings.TrimSpace(rest) == "" {
		s = strings.TrimSpace(value)
	}
	if strings.EqualFold(s, "none") || s == "null" {
		return json.RawMessage("null"), true
	}
	switch JSONType(kind) {
	case "string":
		if len(s) > 1 && s[0] == '"' && json.Valid([]byte(s)) {
			return compact(s), true
		}
		if len(s) > 1 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
			s = s[1 : len(s)-1]
		}
		return jsonText(s), true
	case "integer", "number":
		var n json.Number
		if json.Unmarshal([]byte(s), &n) == nil && s[0] != '"' && (JSONType(kind) == "number" || !strings.ContainsAny(s, ".eE")) {
			return json.RawMessage(s), true
		}
	case "boolean":
		if s == "true" || s == "false" {
			return json.RawMessage(s), true
		}
	case "list":
		if !strings.HasPrefix(s, "[") {
			s = "[" + s + "]"
		}
		if v, ok := flow(s); ok && v[0] == '[' {
			return v, true
		}
		return jsonText(s), false
	case "object":
		if v, ok := flow(s); ok && v[0] == '{' {
			return v, true
		}
	default:
		if v, ok := literal(s); ok {
			return v, true
		}
		return jsonText(s), true
	}
	return jsonText(s), false
}

// flow reads brackets and braces as they are written in YAML, which has JSON and single quotes.
func flow(s string) (json.RawMessage, bool) {
	if json.Valid([]byte(s)) {
		return compact(s), true
	}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(s), &node); err != nil || len(node.Content) != 1 {
		return nil, false
	}
	v, err := toJSON(node.Content[0])
	return v, err == nil && len(v) > 0
}

// compact takes the white space out of JSON; keys keep their order.
func compact(s string) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(s)); err != nil {
		return json.RawMessage(s)
	}
	return b.Bytes()
}
