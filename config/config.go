// Package config reads the file that names delegates and patterns (firstgood.yaml), strictly and with the place of
// every problem. It knows nothing of how a delegate works: the kinds of delegates are handed in as [Kind], and
// [Kinds] are the decoders of those that the file always knows. What it returns holds names that are resolved and
// texts whose variables are not yet expanded.
package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/firstgood/firstgood/diagnostic"
)

// File is a file without errors. It must not be changed, and may be used from several goroutines. The zero File is
// one without delegates.
type File struct {
	Path      string
	Judge     Ref // weighs plain language where a criterion names no judge; the zero Ref when not given
	Model     Ref // answers a document's call without a component; the zero Ref when neither it nor Judge is given
	Defaults  Defaults
	Health    *Health     // nil: nobody's health is kept
	Delegates []*Delegate // in the order of the file
	Instances []*Instance // what stands under patterns, in the order of the file

	FailureRules []FailureRule // in the order of the file, in which they are tried

	kinds  []Kind
	extras []Extra
}

// Defaults hold for each delegate that says nothing else.
type Defaults struct {
	Timeout time.Duration // 0: none
	Retries int
}

// Delegate is an entry under delegates.
type Delegate struct {
	Name    string
	Pos     Pos
	Kind    string        // the name of its [Kind]
	Spec    any           // what the kind's Decode returned
	Timeout time.Duration // of one attempt, the default applied; 0: none
	Retries int           // inside one attempt, the default applied unless Effects is EffectsUnsafe
	Effects string        // EffectsNone, EffectsIdempotent or EffectsUnsafe
	Price   *Price        // nil: what an attempt costs is unknown

	// Of a kind that streams, else 0. 0: no limit.
	FirstToken time.Duration // until the first piece of the reply is there
	Idle       time.Duration // between two pieces of it

	texts      []Text
	ownTimeout bool
}

// What an attempt may leave behind.
const (
	EffectsNone       = "none"       // nothing; the default
	EffectsIdempotent = "idempotent" // the same, however often it runs
	EffectsUnsafe     = "unsafe"     // something each time
)

// Kind is a kind of delegate: the key under which its settings stand, and the decoder of these settings. What Decode
// returns becomes the delegate's Spec; see [Map] for what it may do. A kind's name must not be a key that every
// delegate has.
type Kind struct {
	Name    string
	Doc     string
	Decode  func(*Map) any
	Streams bool   // a reply arrives piece by piece, so that first_token and idle can be set
	Word    string // the key of the settings that a plain word stands for: NAME: word; "" where there is none
}

// reading is one reading of a file, or of settings from outside one.
type reading struct {
	name     string
	origin   bool // name is not that of a file, and there are no lines
	lines    []string
	kinds    []Kind
	checks   []Check
	docs     *documents // nil: there are none
	mask     mask
	problems Problems
	left     int    // problems beyond the most that are kept
	unshown  int    // a line that must not be shown, or 0
	texts    []Text // those of the delegate or instance that is being read
}

func newReading(name string, kinds []Kind, extras []Extra) *reading {
	r := &reading{name: name, kinds: kinds}
	for _, extra := range extras {
		extra.extend(r)
	}
	return r
}

// Load reads the file at path; see [Parse]. Of a file that is too large no more is read than it takes to know.
func Load(path string, kinds []Kind, extras ...Extra) (*File, Problems) {
	data, err := read(path)
	if err != nil {
		problem := Problem{Pos: Pos{File: path}, Message: fmt.Sprintf("cannot read the file: %v", err), Err: err}
		var pathError *fs.PathError
		switch {
		case errors.Is(err, fs.ErrNotExist):
			problem.Message = "there is no such file"
		case errors.As(err, &pathError):
			problem.Message = fmt.Sprintf("cannot read the file: %v", pathError.Err)
		}
		return nil, Problems{problem}
	}
	return Parse(path, data, kinds, extras...)
}

func read(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	return io.ReadAll(io.LimitReader(file, maxSize+1))
}

// Parse reads data, which came from the file of the given name. It checks the whole file, whatever will be run, and
// returns every problem by position. The File is nil when one of them is an error. Parse looks at no environment
// variable and, but for what extras do, at no other file. Kinds are the kinds of delegates that the file may hold; their
// names must differ. Of the extras, each [Check] is asked about each expression and schema (without one, any is taken), and
// [Documents] finds what the file names and does not hold (without it, nothing).
func Parse(filename string, data []byte, kinds []Kind, extras ...Extra) (*File, Problems) {
	r := newReading(filename, kinds, extras)
	text, ok := r.checkBytes(data)
	if !ok {
		return nil, r.finish()
	}
	r.lines = splitLines(text)
	file := &File{Path: filename, kinds: kinds, extras: extras}
	if root := r.parse(text); root != nil {
		r.enter(root, root.pos, "", func(m *Map) { r.file(m, file) })
		r.resolve(file)
	}
	problems := r.finish()
	if problems.Failed() {
		return nil, problems
	}
	return file, problems
}

// file reads the top level.
func (r *reading) file(m *Map, f *File) {
	m.hint = func(key string) string {
		switch {
		case key == "with" || key == "config" || key == "pattern":
			return "it belongs to an instance: patterns: {NAME: {pattern: …, with: …}}"
		case key == "timeout" || key == "retries":
			return "write it under defaults, for every delegate, or in one delegate"
		case slices.Contains(delegateKeys, key):
			return fmt.Sprintf("it belongs to a delegate: delegates: {NAME: {%s: …}}", key)
		case slices.Contains(healthKeys, key):
			return fmt.Sprintf("it belongs to health: {%s: …}", key)
		case keyOwner(key) != "":
			return fmt.Sprintf("it belongs to an instance: patterns: {NAME: {…, config: {%s: …}}}", key)
		case slices.ContainsFunc(r.kinds, func(k Kind) bool { return k.Name == key }):
			return fmt.Sprintf("it belongs to a delegate: delegates: {NAME: {%s: …}}", key)
		}
		return ""
	}
	version := m.take("version", "the version of the file's format, 1", nil, func() schema { return schema{"const": 1} })
	if version != nil && (version.tag != "!!int" || version.text != "1") {
		r.mismatch(version, m.at("version"), "1, the only version there is", "write version: 1")
	}
	f.Judge = m.ref("judge", "who weighs criteria in plain language: the name of a delegate or pattern")
	f.Model = m.ref("model", "who answers a document's call that names nobody: the name of a delegate or pattern; the judge unless said")
	m.Mapping("defaults", "what holds for each delegate that says nothing else", func(m *Map) {
		f.Defaults.Timeout = m.Duration("timeout", timeoutDoc, 0)
		f.Defaults.Retries = m.Int("retries", retriesDoc, 0, maxRetries, 0)
		m.hint = func(key string) string {
			if slices.Contains(delegateKeys, key) {
				return "it has no default; write it in each delegate"
			}
			return topHint(key)
		}
	})
	f.Health = m.health("health", "true: a delegate that is rate limited or unavailable is left alone for a while; or how")
	f.FailureRules = m.failureRules("failure_rules", "what the words of an error body mean, tried before what is built in")
	m.named("delegates", "who can attempt a brief, by name", func() schema { return r.object(func(m *Map) { r.delegate(m, "", Defaults{}) }) },
		func(name string, pos Pos, n *node) {
			r.enter(n, pos, step(m.at("delegates"), name), func(m *Map) {
				f.Delegates = append(f.Delegates, r.delegate(m, name, f.Defaults))
			})
		})
	m.named("patterns", "patterns with their slots bound, by name; each is a delegate, too", func() schema { return schema{"$ref": "#/$defs/instance"} },
		func(name string, pos Pos, n *node) {
			r.texts = nil
			r.enter(n, pos, step(m.at("patterns"), name), func(m *Map) {
				in := r.instance(m, name)
				in.texts = r.texts
				f.Instances = append(f.Instances, in)
			})
		})
}

const (
	maxRetries = 100
	timeoutDoc = "how long one attempt may take, such as 60s or 5m"
	retriesDoc = "how often a failed call is made again inside one attempt"
)

// delegate reads one entry under delegates.
func (r *reading) delegate(m *Map, name string, defaults Defaults) *Delegate {
	d := &Delegate{Name: name, Pos: m.pos}
	r.texts = nil
	m.hint = func(key string) string {
		if key == "pattern" || key == "with" || key == "config" {
			return "an instance of a pattern goes under patterns"
		}
		if slices.Contains(AgentKinds(), key) {
			return "write agent: " + key
		}
		for _, kind := range r.kinds {
			if r.keyOf(kind, key) {
				return fmt.Sprintf("write it inside %s: {%s: {%s: …}}", kind.Name, kind.Name, key)
			}
		}
		if key != "timeout" && keyOwner(key) != "" {
			return fmt.Sprintf("it belongs to an instance: patterns: {NAME: {…, config: {%s: …}}}", key)
		}
		return topHint(key)
	}
	var given, names []string
	for _, kind := range r.kinds {
		names = append(names, kind.Name)
		if m.Has(kind.Name) {
			given = append(given, kind.Name)
		}
		m.kind(kind, func(m *Map) {
			m.hint = func(key string) string {
				if key == "timeout" || key == "retries" || slices.Contains(delegateKeys, key) {
					return fmt.Sprintf("write it beside %s, not in it", kind.Name)
				}
				return ""
			}
			d.Kind, d.Spec = kind.Name, kind.Decode(m)
		})
	}
	d.Timeout = m.Duration("timeout", timeoutDoc, defaults.Timeout)
	d.Retries = m.Int("retries", retriesDoc, 0, maxRetries, defaults.Retries)
	d.Effects = m.Enum("effects", "what an attempt may leave behind: nothing, the same however often it runs, or something each time",
		EffectsNone, EffectsNone, EffectsIdempotent, EffectsUnsafe)
	d.Price = m.price("price", "what its tokens cost, in US dollars per million")
	d.FirstToken = m.Duration("first_token", "how long the first piece of the reply may take, such as 10s", 0)
	d.Idle = m.Duration("idle", "how long the reply may pause between two pieces, such as 20s", 0)
	d.ownTimeout = m.Has("timeout")
	d.texts = r.texts
	r.oneKind(m, given, names)
	r.pace(m, d)
	r.streamOptions(m, d)
	r.unsafeRetries(m, d)
	return d
}

// kind hands the settings of a kind to decode. A plain word stands for one of them.
func (m *Map) kind(kind Kind, decode func(*Map)) {
	n := m.take(kind.Name, kind.Doc, nil, func() schema {
		settings := m.r.object(decode)
		if kind.Word == "" {
			return settings
		}
		return schema{"anyOf": []any{settings["properties"].(schema)[kind.Word], settings}}
	})
	if n == nil {
		return
	}
	if kind.Word != "" && n.isText() && !tightText.MatchString(n.text) {
		n = &node{shape: mapping, pos: n.pos, keys: []entry{{kind.Word, n.pos, n}}}
	}
	m.r.enter(n, m.node.entry(kind.Name).pos, m.at(kind.Name), decode)
}

// delegateKeys are the keys that every delegate has and defaults do not.
var delegateKeys = []string{"effects", "price", "first_token", "idle"}

// topHint says where a key of the top level belongs, "" for any other.
func topHint(key string) string {
	if key == "health" || key == "failure_rules" {
		return "write it at the top of the file"
	}
	return ""
}

// pace checks the limits on the pieces of a reply.
func (r *reading) pace(m *Map, d *Delegate) {
	for _, limit := range []struct {
		key  string
		span time.Duration
	}{{"first_token", d.FirstToken}, {"idle", d.Idle}} {
		i := slices.IndexFunc(r.kinds, func(k Kind) bool { return k.Name == d.Kind })
		switch {
		case i < 0 || !m.Has(limit.key):
		case r.keyOf(r.kinds[i], limit.key):
			m.Errorf(limit.key, "%s has a key of this name; write it inside: {%s: {%s: …}}", d.Kind, d.Kind, limit.key)
		case !r.kinds[i].Streams:
			m.Errorf(limit.key, "the kind %s gives its reply in one piece; write timeout instead, or use a kind that streams%s", d.Kind, r.streaming())
		case d.Timeout > 0 && limit.span >= d.Timeout:
			m.reportf(SeverityNote, limit.key, "%s, %v, is not below the attempt's timeout, %v, which comes first", limit.key, limit.span, d.Timeout)
		}
	}
}

// streamOptions checks a parameter that an endpoint takes only for a stream.
func (r *reading) streamOptions(m *Map, d *Delegate) {
	spec, ok := d.Spec.(*OpenAI)
	if !ok || d.FirstToken > 0 || d.Idle > 0 {
		return
	}
	if _, given := spec.Params["stream_options"]; given {
		e := m.node.entry(d.Kind).value.entry("params").value.entry("stream_options")
		r.report(SeverityError, e.pos, step(step(m.at(d.Kind), "params"), e.key), "the endpoint is asked for a stream only where first_token or idle is set; set one, or remove it")
	}
}

// streaming returns the kinds that stream, in parentheses and after a space.
func (r *reading) streaming() string {
	var names []string
	for _, kind := range r.kinds {
		if kind.Streams {
			names = append(names, kind.Name)
		}
	}
	if names == nil {
		return ""
	}
	return " (" + or(names) + ")"
}

// oneKind reports a delegate of no kind or of several.
func (r *reading) oneKind(m *Map, given, kinds []string) {
	if m.node == nil || len(given) == 1 {
		return
	}
	if len(given) > 1 {
		second := m.node.entry(given[1])
		for _, name := range given {
			if e := m.node.entry(name); second.pos.Before(e.pos) {
				second = e
			}
		}
		r.report(SeverityError, second.pos, m.path, "got %s, but a delegate has one kind; make a delegate of each", and(given))
		return
	}
	if slices.ContainsFunc(m.node.keys, func(e entry) bool { return diagnostic.Nearest(e.key, kinds) != "" || m.hint(e.key) != "" }) {
		return // a misspelt kind, and a key that belongs into one, is reported as such
	}
	r.report(SeverityError, m.pos, m.path, "it has no kind; give it one of %s", or(kinds))
}

// keyOf reports whether the kind's settings have the key.
func (r *reading) keyOf(kind Kind, key string) bool {
	m := &Map{r: &reading{kinds: r.kinds}}
	kind.Decode(m)
	for _, f := range m.fields {
		if f.name == key {
			return true
		}
	}
	return false
}
