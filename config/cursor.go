package config

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/firstgood/firstgood/diagnostic"
)

// Map is a cursor over one mapping of the file. A decoder asks it for each key that it knows, by a getter that says
// the key's type and, in doc, what the key is for. A getter reports what is wrong with the value, at its place in
// the file, and then returns the default. When the decoder returns, keys that nobody asked for are reported, with
// the nearest known one, and so are missing ones; keys that begin with x- are free. A null value is an error.
//
// A decoder must ask for the same keys whatever the file holds. It is also called with a Map over nothing, where every
// key is absent, to learn its keys for [Schema]: so the keys of the decoder and of the schema are the same. A Map
// must not be used after its decoder has returned, nor by several goroutines.
type Map struct {
	r       *reading
	path    string
	pos     Pos   // of the key that the mapping stands under
	node    *node // nil when the keys are only described
	noun    string
	outside bool // the mapping is one setting from outside a file
	fields  []field
	// A key in a wrong place may be the one that is missing here, which is then not said.
	lenient bool
	hint    func(key string) string // where a key belongs that is wrong here, "" for nowhere; may be nil
}

type field struct {
	name, doc string
	required  bool
	shape     schema
}

// Option says more about a key.
type Option int

// Required makes a missing key an error, and a text that is empty or a list without items as well.
const Required Option = 1

// Pos returns the place of the key that the mapping stands under.
func (m *Map) Pos() Pos { return m.pos }

// Has reports whether the key is there, whatever its value.
func (m *Map) Has(key string) bool { return m.node != nil && m.node.entry(key) != nil }

// Errorf reports an error about the value of key, or about the mapping when the key is absent or "". The message
// must not hold a credential.
func (m *Map) Errorf(key, format string, args ...any) {
	m.reportf(SeverityError, key, format, args...)
}

// Warnf is [Map.Errorf] for a warning.
func (m *Map) Warnf(key, format string, args ...any) {
	m.reportf(SeverityWarning, key, format, args...)
}

func (m *Map) reportf(severity Severity, key, format string, args ...any) {
	if m.node == nil {
		return
	}
	if e := m.node.entry(key); e != nil {
		pos := e.value.pos
		if e.value.isNull() {
			pos = e.pos
		}
		m.r.report(severity, pos, m.at(key), format, args...)
		return
	}
	m.r.report(severity, m.pos, m.path, format, args...)
}

// at returns the path of a key.
func (m *Map) at(key string) string {
	if m.outside {
		return "" // the origin names the key
	}
	return step(m.path, key)
}

// take enters the key as known and returns its value, nil when it has none.
func (m *Map) take(key, doc string, options []Option, shape func() schema) *node {
	f := field{name: key, doc: doc, required: slices.Contains(options, Required)}
	if m.node == nil {
		f.shape = shape()
	}
	m.fields = append(m.fields, f)
	if !m.Has(key) {
		return nil
	}
	e := m.node.entry(key)
	if e.value.bad && e.value.isNull() {
		return nil
	}
	if e.value.isNull() {
		m.r.report(SeverityError, e.pos, m.at(key), "the key has no value; give it one or remove it")
		return nil
	}
	return e.value
}

// finish reports the keys that nobody knows and those that are missing.
func (m *Map) finish() {
	if m.node == nil {
		return
	}
	noun := m.noun
	if noun == "" {
		noun = "key"
	}
	known := make([]string, len(m.fields))
	for i, f := range m.fields {
		known[i] = f.name
	}
	meant, misplaced := map[string]bool{}, false
	for _, e := range m.node.keys {
		if strings.HasPrefix(e.key, "x-") || slices.Contains(known, e.key) {
			continue
		}
		hint := ""
		if m.hint != nil {
			hint = m.hint(e.key)
		}
		if e.value.isNull() && tightText.MatchString(e.key) {
			key, _, _ := strings.Cut(e.key, ":")
			meant[key] = true
			m.r.report(SeverityError, e.pos, m.path, "unknown %s %s; %s", noun, quote(key+":…"), tightColon)
		} else if hint != "" {
			misplaced = true
			m.r.report(SeverityError, e.pos, m.path, "%s does not belong here: %s", quote(e.key), hint)
		} else if near := diagnostic.Nearest(e.key, known); near != "" {
			meant[near] = true
			m.r.report(SeverityError, e.pos, m.path, "unknown %s %s; did you mean %q?", noun, quote(e.key), near)
		} else {
			m.r.report(SeverityError, e.pos, m.path, "unknown %s %s; known here: %s", noun, quote(e.key), strings.Join(known, ", "))
		}
	}
	for _, f := range m.fields {
		forgiven := meant[f.name] || m.lenient && misplaced
		if f.required && !m.Has(f.name) && !forgiven {
			m.r.report(SeverityError, m.pos, m.path, "the %s %q is missing: %s", noun, f.name, f.doc)
		}
	}
}

// mismatch reports a value of the wrong type; way is what to do about it.
func (r *reading) mismatch(n *node, path, want, way string) {
	if n.bad {
		return
	}
	message := fmt.Sprintf("got %s, want %s", describe(n), want)
	if way != "" {
		message += "; " + way
	}
	r.errorf(n, path, "%s", message)
}

// quoting says how to make a text of what YAML read as something else.
func quoting(n *node) string {
	switch {
	case n.isNull():
		return ""
	case n.shape == scalar && !n.hidden:
		return "put it in quotes: " + strconv.Quote(n.text)
	case n.shape == scalar:
		return "put it in quotes"
	case n.shape == mapping && n.flow && len(n.keys) == 1 && n.keys[0].value.isNull():
		return fmt.Sprintf("put it in quotes: \"{%s}\"", n.keys[0].key)
	}
	return ""
}

// Text returns a text in which variables of the environment may stand. Absent gives the zero Text.
func (m *Map) Text(key, doc string, options ...Option) Text {
	n := m.take(key, doc, options, textSchema)
	if n == nil {
		return Text{}
	}
	if n.isText() && strings.TrimSpace(n.text) == "" && slices.Contains(options, Required) {
		m.r.errorf(n, m.at(key), "the text is empty; this is %s", doc)
		return Text{}
	}
	return m.r.text(n, m.at(key))
}

func (r *reading) text(n *node, path string) Text {
	if n.isNull() {
		r.mismatch(n, path, "a text", `write "" for an empty one`)
		return Text{}
	}
	if !n.isText() {
		r.mismatch(n, path, "a text", quoting(n))
		return Text{}
	}
	return r.parseText(n, path)
}

// Texts returns a list of texts. Absent gives nil, an empty list an empty slice that is not nil.
func (m *Map) Texts(key, doc string, options ...Option) []Text {
	least := 0
	if slices.Contains(options, Required) {
		least = 1
	}
	return m.texts(key, doc, "", least, options)
}

// Command returns a command with its arguments: a list of texts of which the first must not be empty. It is never
// run by a shell. Absent gives nil.
func (m *Map) Command(key, doc string, options ...Option) []Text {
	way := "write a list, one argument each"
	if m.Has(key) {
		if n := m.node.entry(key).value; n.isText() && !n.hidden && !strings.ContainsAny(n.text, "\"'`\\|&;<>$*?()#~") {
			way += ": " + asList(strings.Fields(n.text))
		}
	}
	argv := m.texts(key, doc, way+"; commands are never run by a shell", 1, options)
	if len(argv) > 0 {
		if first := m.node.entry(key).value.items[0]; first.isText() && strings.TrimSpace(first.text) == "" {
			m.r.errorf(first, index(m.at(key), 0), "the first item is the program to run, and it is empty")
		}
	}
	return argv
}

// asList returns words as a list in the file.
func asList(words []string) string {
	for i, word := range words {
		if strings.ContainsAny(word, "{}[],:!%@") || strings.HasPrefix(word, "-") && len(word) == 1 {
			words[i] = strconv.Quote(word)
		}
	}
	return "[" + strings.Join(words, ", ") + "]"
}

func (m *Map) texts(key, doc, way string, least int, options []Option) []Text {
	n := m.take(key, doc, options, func() schema {
		return schema{"type": "array", "items": textSchema(), "minItems": least}
	})
	if n == nil {
		return nil
	}
	if n.shape != list {
		if way == "" {
			way = "write each in brackets: [a, b]"
			if n.isText() && !n.hidden {
				way = "write " + asList([]string{n.text})
			}
		}
		m.r.mismatch(n, m.at(key), "a list of texts", way)
		return nil
	}
	if len(n.items) < least {
		m.r.errorf(n, m.at(key), "the list is empty; this is %s", doc)
	}
	texts := make([]Text, len(n.items))
	for i, item := range n.items {
		texts[i] = m.r.text(item, index(m.at(key), i))
	}
	return texts
}

// TextMap returns a mapping from names of the user's choice to texts; want, when not nil, says what is wrong with a
// name. Absent gives nil.
func (m *Map) TextMap(key, doc string, want func(name string) error, options ...Option) map[string]Text {
	n := m.take(key, doc, options, func() schema {
		return schema{"type": "object", "additionalProperties": textSchema()}
	})
	if n == nil {
		return nil
	}
	if n.shape != mapping {
		m.r.mismatch(n, m.at(key), "a mapping from names to texts", "write {name: text}")
		return nil
	}
	texts := make(map[string]Text, len(n.keys))
	for _, e := range n.keys {
		path := step(m.at(key), e.key)
		if want != nil {
			if err := want(e.key); err != nil {
				m.r.report(SeverityError, e.pos, path, "%v", err)
				continue
			}
		}
		texts[e.key] = m.r.text(e.value, path)
	}
	return texts
}

// Value returns any value that JSON has, and whether the key is there. Texts in it may hold variables.
func (m *Map) Value(key, doc string, options ...Option) (Value, bool) {
	n := m.take(key, doc, options, func() schema { return schema{} })
	if n == nil {
		return Value{}, false
	}
	return m.r.value(n, m.at(key)), true
}

// Values returns a mapping from names of the user's choice to any values. Absent gives nil.
func (m *Map) Values(key, doc string, options ...Option) map[string]Value {
	n := m.take(key, doc, options, func() schema { return schema{"type": "object"} })
	if n == nil {
		return nil
	}
	if n.shape != mapping {
		m.r.mismatch(n, m.at(key), "a mapping", "write {name: value}")
		return nil
	}
	return m.r.value(n, m.at(key)).tree().(map[string]Value)
}

func (r *reading) value(n *node, path string) Value {
	switch n.shape {
	case list:
		items := make([]Value, len(n.items))
		for i, item := range n.items {
			items[i] = r.value(item, index(path, i))
		}
		return valueOf(items)
	case mapping:
		if n.flow && len(n.keys) == 1 && n.keys[0].key == "brief" && n.keys[0].value.isNull() {
			r.mismatch(n, path, "a value", quoting(n))
		}
		keys := make(map[string]Value, len(n.keys))
		for _, e := range n.keys {
			keys[e.key] = r.value(e.value, step(path, e.key))
		}
		return valueOf(keys)
	}
	switch n.tag {
	case "!!null":
		return Value{}
	case "!!bool":
		return valueOf(strings.EqualFold(n.text, "true"))
	case "!!int":
		number, err := strconv.ParseInt(n.text, 10, 64)
		if digits := strings.TrimLeft(n.text, "+-"); err != nil || len(digits) > 1 && digits[0] == '0' {
			r.mismatch(n, path, "a decimal number of at most 64 bits", "or "+quoting(n))
		}
		return valueOf(number)
	case "!!float":
		number, err := strconv.ParseFloat(n.text, 64)
		if err != nil || math.IsInf(number, 0) || math.IsNaN(number) {
			r.mismatch(n, path, "a number that JSON has", "or "+quoting(n))
		}
		return valueOf(number)
	}
	return valueOf(r.parseText(n, path))
}

// Bool returns true or false; otherwise where the key is absent.
func (m *Map) Bool(key, doc string, otherwise bool) bool {
	n := m.take(key, doc, nil, func() schema { return schema{"type": "boolean", "default": otherwise} })
	if n == nil {
		return otherwise
	}
	way := ""
	switch text := strings.ToLower(n.text); {
	case n.shape == scalar && (n.tag == "!!bool" || n.loose && (text == "true" || text == "false")):
		return text == "true"
	case n.isText() && slices.Contains([]string{"yes", "on", "y", "true"}, text):
		way = "write true"
	case n.isText() && slices.Contains([]string{"no", "off", "n", "false"}, text):
		way = "write false"
	}
	m.r.mismatch(n, m.at(key), "true or false", way)
	return otherwise
}

// Int returns a whole number from least to most; otherwise where the key is absent.
func (m *Map) Int(key, doc string, least, most, otherwise int) int {
	n := m.take(key, doc, nil, func() schema { return schema{"type": "integer", "minimum": least, "maximum": most} })
	if n == nil {
		return otherwise
	}
	if n.shape == scalar && (n.tag == "!!int" || n.loose) {
		if number, err := strconv.Atoi(n.text); err == nil && least <= number && number <= most {
			return number
		}
	}
	way := ""
	if _, err := strconv.Atoi(n.text); err == nil && n.isText() && !n.loose && !n.hidden {
		way = "write " + n.text + " without quotes"
	}
	m.r.mismatch(n, m.at(key), fmt.Sprintf("a whole number from %d to %d", least, most), way)
	return otherwise
}

var bareNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

// Duration returns a time span of more than zero, such as 400ms, 90s or 1h30m; otherwise where the key is absent.
func (m *Map) Duration(key, doc string, otherwise time.Duration) time.Duration {
	return m.span(key, doc, otherwise, "s")
}

// span is Duration, where a number without a unit is likely to be meant in one of the units.
func (m *Map) span(key, doc string, otherwise time.Duration, units ...string) time.Duration {
	n := m.take(key, doc, nil, durationSchema)
	if n == nil {
		return otherwise
	}
	if span := m.r.duration(n, m.at(key), units...); span > 0 {
		return span
	}
	return otherwise
}

func durationSchema() schema {
	return schema{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`, "examples": []any{"60s", "1m30s"}}
}

// duration returns the time span that n is, or reports what is wrong with it, with a unit that may be missing, and
// returns 0.
func (r *reading) duration(n *node, path string, units ...string) time.Duration {
	way := "write for example 400ms, 90s or 1h30m"
	switch {
	case n.shape != scalar || n.hidden:
	case bareNumber.MatchString(n.text):
		var ways []string
		for _, unit := range units {
			ways = append(ways, n.text+unit)
		}
		way = "write " + or(ways)
		if strings.Trim(n.text, "0.") == "" {
			way = "it must be more than zero"
		}
	case n.isText():
		span, err := time.ParseDuration(n.text)
		switch {
		case err == nil && span > 0:
			return span
		case err == nil:
			way = "it must be more than zero"
		case strings.Contains(n.text, "${"):
			way = "variables have no place in it"
		}
	}
	r.mismatch(n, path, "a duration", way)
	return 0
}

var (
	sizeText  = regexp.MustCompile(`^([0-9]+)(?: ?(B|kB|KB|KiB|MB|MiB|GB|GiB))?$`)
	sizeUnits = map[string]int64{"": 1, "B": 1, "kB": 1e3, "KB": 1e3, "KiB": 1 << 10, "MB": 1e6, "MiB": 1 << 20, "GB": 1e9, "GiB": 1 << 30}
)

// Size returns a number of bytes of more than zero, written such as 512 KiB or 10 MiB, or as a whole number; otherwise
// where the key is absent.
func (m *Map) Size(key, doc string, otherwise int64) int64 {
	n := m.take(key, doc, nil, func() schema {
		written := schema{"type": "string", "pattern": sizeText.String(), "examples": []any{"512 KiB", "10 MiB"}}
		return schema{"anyOf": []any{written, schema{"type": "integer", "minimum": 1}}}
	})
	if n == nil {
		return otherwise
	}
	way := "write for example 512 KiB or 10 MiB"
	if n.shape == scalar {
		if match := sizeText.FindStringSubmatch(n.text); match != nil && (n.isText() || n.tag == "!!int") {
			count, err := strconv.ParseInt(match[1], 10, 64)
			if unit := sizeUnits[match[2]]; err == nil && count > 0 && count <= math.MaxInt64/unit {
				return count * unit
			}
			way = "it must be more than zero and less than 8 EiB"
		}
	}
	m.r.mismatch(n, m.at(key), "a size in bytes", way)
	return otherwise
}

// Enum returns one of the given words; otherwise, which may be "", where the key is absent.
func (m *Map) Enum(key, doc, otherwise string, words ...string) string {
	n := m.take(key, doc, nil, func() schema { return schema{"enum": words} })
	if n == nil {
		return otherwise
	}
	if n.isText() && slices.Contains(words, n.text) {
		return n.text
	}
	m.r.choose(n, m.at(key), words)
	return otherwise
}

// choose reports a value that is none of the words.
func (r *reading) choose(n *node, path string, words []string) {
	way := ""
	if n.isText() && !n.hidden {
		if near := diagnostic.Nearest(n.text, words); near != "" {
			way = fmt.Sprintf("did you mean %s?", near)
		}
	}
	want := words[0]
	if last := len(words) - 1; last > 0 {
		want = strings.Join(words[:last], ", ") + " or " + words[last]
	}
	r.mismatch(n, path, want, way)
}

// Mapping hands a nested mapping to decode and reports whether there was one.
func (m *Map) Mapping(key, doc string, decode func(*Map), options ...Option) bool {
	n := m.take(key, doc, options, func() schema { return m.r.object(decode) })
	if n == nil {
		return false
	}
	return m.r.enter(n, m.node.entry(key).pos, m.at(key), decode)
}

// enter hands the mapping n to decode; pos is that of its key.
func (r *reading) enter(n *node, pos Pos, path string, decode func(*Map)) bool {
	if n.shape != mapping {
		described := &Map{r: r}
		decode(described)
		var examples []string
		for _, f := range described.fields {
			if f.required {
				examples = append(examples, f.name+": …")
			}
		}
		if examples == nil {
			examples = []string{"key: …"}
		}
		way := "write its keys below it, or in braces: {" + strings.Join(examples, ", ") + "}"
		if n.isText() && tightText.MatchString(n.text) {
			way = tightColon
		}
		r.mismatch(n, path, "a mapping", way)
		return false
	}
	m := &Map{r: r, path: path, pos: pos, node: n}
	decode(m)
	m.finish()
	return true
}

// open hands a nested mapping to decode, of which the schema says no more than that it is a mapping.
func (m *Map) open(key, doc string, decode func(*Map), options ...Option) {
	if n := m.take(key, doc, options, func() schema { return schema{"type": "object"} }); n != nil {
		m.r.enter(n, m.node.entry(key).pos, m.at(key), decode)
	}
}

// named is a mapping whose keys are names of the user's choice. It hands each to visit, except free ones.
func (m *Map) named(key, doc string, item func() schema, visit func(name string, pos Pos, n *node)) {
	n := m.take(key, doc, nil, func() schema {
		return schema{"type": "object", "patternProperties": schema{"^x-": true}, "additionalProperties": item(), "propertyNames": schema{"pattern": nameText.String()}}
	})
	if n == nil {
		return
	}
	if n.shape != mapping {
		m.r.mismatch(n, m.at(key), "a mapping from names to what they stand for", "write name: {…} below it")
		return
	}
	for _, e := range n.keys {
		if strings.HasPrefix(e.key, "x-") {
			continue
		}
		path := step(m.at(key), e.key)
		switch {
		case !nameText.MatchString(e.key):
			m.r.report(SeverityError, e.pos, m.at(key), "%s cannot be a name; use letters, digits, _, - and . and begin with a letter or digit", quote(e.key))
		case strings.HasSuffix(e.key, ".md"):
			m.r.report(SeverityError, e.pos, m.at(key), "%s cannot be a name: what ends in .md is taken for a document", quote(e.key))
		case e.value.isNull():
			m.r.report(SeverityError, e.pos, path, "the name has nothing behind it; say what it is, or remove it")
		default:
			visit(e.key, e.pos, e.value)
		}
	}
}

// nameText is what names of delegates and patterns look like.
var nameText = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
