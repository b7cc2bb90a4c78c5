package interp

import (
	"strconv"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/script/check"
	"github.com/firstgood/firstgood/script/syntax"
)

// cond compiles a condition.
func (c *compiler) cond(x *syntax.Cond) test {
	info := c.p.Conds[x]
	if info == nil { // of a script that has been changed since
		info = &check.Condition{Pos: x.Pos, Text: x.Text, Discretion: true}
	}
	if info.Discretion {
		return c.discretion(x.Text, info)
	}
	return c.test(x.Test, x.Text, info)
}

// discretion compiles asking the judge whether a sentence holds.
func (c *compiler) discretion(sentence string, info *check.Condition) test {
	pos := info.Pos
	names, values := make([]string, len(info.Named)), make([]expr, len(info.Named))
	for i, named := range info.Named {
		names[i], values[i] = named.Name, c.ref(named.Ref, true)
	}
	return func(t *thread) (bool, error) {
		q := Question{Pos: pos, Text: sentence, Values: make([]Field, len(values))}
		for i, value := range values {
			v, err := value(t)
			if err != nil {
				return false, err
			}
			v.initial = false
			q.Values[i] = Field{names[i], v}
		}
		if err := t.stopped(pos); err != nil {
			return false, err
		}
		holds, err := t.s.cfg.Host.Decide(t.ctx, q)
		return holds, judgeError(pos, err)
	}
}

// judgeError is the error of a judge that did not answer.
func judgeError(pos syntax.Pos, err error) error {
	if err == nil || Stops(err) {
		return placed(pos, err)
	}
	return &Error{Pos: pos, Err: &firstgood.Error{Kind: firstgood.KindJudgeError, Err: err}}
}

// test compiles a condition that is decided without a model, or by a judge of criteria.
func (c *compiler) test(x syntax.Test, sentence string, info *check.Condition) test {
	switch x := x.(type) {
	case *syntax.ExprTest:
		return c.truth(x.X)
	case *syntax.IsTest:
		return c.is(x)
	case *syntax.MeetsTest:
		return c.meets(x)
	case *syntax.VerdictTest:
		return c.verdict(x, sentence, info)
	case *syntax.CriteriaTest:
		return c.criteria(x)
	case *syntax.NotTest:
		inner := c.test(x.X, part(x.X, sentence), info)
		return func(t *thread) (bool, error) {
			holds, err := inner(t)
			return !holds && err == nil, err
		}
	case *syntax.AndTest:
		a, b := c.test(x.X, part(x.X, sentence), info), c.test(x.Y, part(x.Y, sentence), info)
		return func(t *thread) (bool, error) {
			holds, err := a(t)
			if err != nil || !holds {
				return false, err
			}
			return b(t)
		}
	case *syntax.OrTest:
		a, b := c.test(x.X, part(x.X, sentence), info), c.test(x.Y, part(x.Y, sentence), info)
		return func(t *thread) (bool, error) {
			holds, err := a(t)
			if err != nil || holds {
				return holds, err
			}
			return b(t)
		}
	}
	return c.discretion(sentence, info)
}

// part is a part of a condition as a sentence of its own, for the judge.
func part(x syntax.Test, sentence string) string {
	v, ok := x.(*syntax.VerdictTest)
	if !ok {
		return sentence
	}
	words := []string{pathOf(v.V)}
	switch v.Form {
	case "field":
		words = append(words, v.Word)
	case "says":
		words = append(words, v.Form, v.Word)
	default:
		words = append(words, v.Form)
	}
	if v.Rest != "" {
		words = append(words, v.Rest)
	}
	return strings.Join(words, " ")
}

func pathOf(ref *syntax.Ref) string {
	name := ref.Name.Text
	for _, s := range ref.Path {
		if s.Index == nil {
			name += "." + s.Key
		}
	}
	return name
}

func (c *compiler) is(x *syntax.IsTest) test {
	value, not := c.ref(x.X, true), x.Not
	var holds func(Value) bool
	switch x.Word {
	case "present":
		holds = func(v Value) bool { return !v.IsNull() }
	case "empty":
		holds = Value.empty
	case "true", "false":
		want := x.Word == "true"
		holds = func(v Value) bool {
			b, ok := boolean(v)
			return ok && b == want
		}
	default: // absent, null
		holds = Value.IsNull
	}
	return func(t *thread) (bool, error) {
		v, err := value(t)
		return holds(v) != not, err
	}
}

// meets compiles X meets Y: whether a score is at least a threshold.
func (c *compiler) meets(x *syntax.MeetsTest) test {
	score, threshold := c.ref(x.X, false), c.ref(x.Y, false)
	pos, limit := x.X.Pos, x.Y.Pos
	return func(t *thread) (bool, error) {
		v, err := score(t)
		if err != nil {
			return false, err
		}
		w, err := threshold(t)
		if err != nil {
			return false, err
		}
		least, ok := number(w)
		if !ok {
			return false, failf(limit, "a score meets a number, not %s", describe(w))
		}
		got, ok := t.score(v, least, pos)
		return ok && got >= least, nil
	}
}

// score reads a score: a number, the key score of an object or of the JSON in a text, and otherwise the first number in
// a text: 8/10 and 80% are what they say, and where the threshold is at most 1, what is above 1 counts as a percentage.
func (t *thread) score(v Value, threshold float64, pos syntax.Pos) (float64, bool) {
	if f, ok := number(v); ok && v.kind == KindNumber {
		return f, true
	}
	from := v
	if v.kind == KindText {
		if view, ok := t.jsonOf(v.ref.(string)); ok {
			from = view
		}
	}
	if from.kind == KindNumber && v.kind == KindText && from.num <= 1 {
		return from.num, true
	}
	if s, ok := from.Get("score"); ok {
		if f, ok := number(s); ok {
			return f, true
		}
		from = s
	}
	if from.kind == KindNumber {
		from = text(from.String())
	}
	if from.kind == KindText {
		if f, ok := scoreIn(from.ref.(string), threshold); ok {
			t.warn(pos, "the score was read out of %s; ask for a JSON object with a number score", describe(from))
			return f, true
		}
	}
	t.warn(pos, "%s is no score, and does not meet anything", describe(v))
	return 0, false
}

// scoreIn reads the first number in a text.
func scoreIn(s string, threshold float64) (float64, bool) {
	start := strings.IndexAny(s, "0123456789")
	if start < 0 {
		return 0, false
	}
	f, rest := leading(s[start:])
	if start > 0 && s[start-1] == '.' && (start < 2 || s[start-2] < '0' || s[start-2] > '9') { // .8
		if g, err := strconv.ParseFloat("0."+strings.TrimSuffix(s[start:len(s)-len(rest)], "."), 64); err == nil {
			f = g
		}
	}
	rest = strings.TrimLeft(rest, " ")
	if of, ok := strings.CutPrefix(rest, "/"); ok {
		of = strings.TrimLeft(of, " ")
		if of != "" && of[0] >= '0' && of[0] <= '9' {
			if n, _ := leading(of); n > 0 && threshold <= 1 {
				return f / n, true
			}
		}
	}
	if threshold <= 1 && (f > 1 || strings.HasPrefix(rest, "%")) {
		f /= 100
	}
	return f, true
}

// leading reads the digits, with at most one point among them, that s begins with.
func leading(s string) (float64, string) {
	end, point := 0, false
	for end < len(s) && end < 32 && (s[end] >= '0' && s[end] <= '9' || s[end] == '.' && !point) {
		point = point || s[end] == '.'
		end++
	}
	f, err := strconv.ParseFloat(strings.TrimSuffix(s[:end], "."), 64)
	if err != nil {
		return 0, s[end:]
	}
	return f, s[end:]
}

// verdictKeys are where a structured verdict says what it is.
var verdictKeys = [...]string{"verdict", "decision", "status", "action"}

// verdicts are words that are a verdict when they are all that was said.
var verdicts = map[string]bool{
	"accept": true, "accepted": true, "reject": true, "rejected": true, "certify": true, "certified": true,
	"continue": true, "adjust": true, "abort": true, "proceed": true, "stop": true, "approve": true, "approved": true,
}

// verdict compiles a test of a verdict. One that is not structured goes to the judge; whether a guard proceeds is never
// asked, and no when in doubt.
func (c *compiler) verdict(x *syntax.VerdictTest, sentence string, info *check.Condition) test {
	value, pos := c.ref(x.V, false), x.V.Pos
	if x.Form == "proceeds" {
		return func(t *thread) (bool, error) {
			v, err := value(t)
			return !t.proceeds(v), err
		}
	}
	words, fields := wordsOf(x)
	judge := c.discretion(sentence, info)
	return func(t *thread) (bool, error) {
		v, err := value(t)
		if err != nil {
			return false, err
		}
		if v.IsNull() {
			t.warn(pos, "there is no verdict in %s, which is taken as no", pathOf(x.V))
			return false, nil
		}
		if holds, ok := t.says(v, words, fields); ok {
			return holds, nil
		}
		return judge(t)
	}
}

// wordsOf are the words that a verdict may say, and the keys that may say it with true or false.
func wordsOf(x *syntax.VerdictTest) (words, fields []string) {
	switch x.Form {
	case "accepts":
		return []string{"accept", "accepts", "accepted"}, []string{"accepted", "accept", "accepts"}
	case "certifies":
		return []string{"certify", "certifies", "certified"}, []string{"certified", "certify", "certifies"}
	}
	return []string{x.Word}, []string{x.Word}
}

// says reads a structured verdict: whether it says one of the words; ok is false where it is not structured.
func (t *thread) says(v Value, words, fields []string) (holds, ok bool) {
	from := v
	if v.kind == KindText {
		if view, found := t.jsonOf(v.ref.(string)); found {
			from = view
		}
	}
	said := ""
	switch from.kind {
	case KindObject:
		for _, field := range fields {
			if b, found := from.Get(field); found && b.kind == KindBool {
				return b.Bool(), true
			}
		}
		for _, key := range verdictKeys {
			if word, found := from.Get(key); found && word.kind == KindText {
				said = word.String()
				break
			}
		}
		if said == "" {
			return false, false
		}
	case KindText:
		said = from.String()
		if !verdicts[trimmed(said)] && !anyOf(words, said) {
			return false, false
		}
	case KindBool:
		return from.Bool(), true
	default:
		return false, false
	}
	return anyOf(words, said), true
}

func trimmed(s string) string { return strings.ToLower(strings.Trim(strings.TrimSpace(s), ".!*\"'`")) }

func anyOf(words []string, said string) bool {
	said = trimmed(said)
	for _, w := range words {
		if strings.ToLower(w) == said {
			return true
		}
	}
	return false
}

// proceeds reports whether a guard's decision says so explicitly: a key proceed that is true.
func (t *thread) proceeds(v Value) bool {
	if v.kind == KindText {
		v, _ = t.jsonOf(v.ref.(string))
	}
	p, _ := v.Get("proceed")
	return p.Bool()
}

// guardUnits is how much of an unreadable decision is shown.
const guardUnits = 200

// guardReason compiles V.reason of a guard's decision, which there must be even where the guard did not answer as it
// was asked.
func (c *compiler) guardReason(slot int) expr {
	return func(t *thread) (Value, error) {
		v := t.frame[slot]
		from := v
		if v.kind == KindText {
			from, _ = t.jsonOf(v.ref.(string))
		}
		if reason, ok := from.Get("reason"); ok && !reason.empty() {
			return reason, nil
		}
		said, _ := firstgood.Excerpt(v.String(), guardUnits)
		return Text("the guard gave no clear decision, which counts as no: " + said), nil
	}
}

// criteria compiles K says X is a failure, or acceptable. Without criteria nobody is asked.
func (c *compiler) criteria(x *syntax.CriteriaTest) test {
	criteria, value, pos := c.ref(x.K, false), c.ref(x.X, false), x.K.Pos
	name := pathOf(x.K)
	if len(x.K.Path) > 0 {
		name = x.K.Path[len(x.K.Path)-1].Key
	}
	form := Form(x.Word)
	return func(t *thread) (bool, error) {
		t.reason = ""
		k, err := criteria(t)
		if err != nil {
			return false, err
		}
		if k.empty() {
			return form == FormAcceptable, nil
		}
		v, err := value(t)
		if err != nil {
			return false, err
		}
		if err := t.stopped(pos); err != nil {
			return false, err
		}
		k.initial, v.initial = false, false
		brief, _ := t.brief()
		verdict, err := t.s.cfg.Host.Criteria(t.ctx, Criterion{Pos: pos, Input: name, Criteria: k, Value: v, Form: form, Brief: brief})
		if err != nil {
			return false, judgeError(pos, err)
		}
		if verdict.Holds {
			t.reason = verdict.Reason
		}
		return verdict.Holds, nil
	}
}

// isMatch reports whether what is recorded is an object whose reason says that criteria were met. The judge's own words
// are then added to it as detail.
func (c *compiler) isMatch(x syntax.Expr) bool {
	o, ok := x.(*syntax.Object)
	if !ok {
		return false
	}
	for _, entry := range o.Entries {
		if text, ok := entry.Value.(*syntax.String); ok && entry.Key.Text == "reason" && len(text.Parts) == 1 && strings.HasPrefix(text.Parts[0].Text, "matched ") {
			return true
		}
	}
	return false
}

func withDetail(v Value, detail string) (Value, error) {
	if _, ok := v.Get("detail"); ok || v.kind != KindObject {
		return v, nil
	}
	return v.ref.(*object).with("detail", Text(detail))
}

// adjustedBrief is the key whose absence means that the brief is the original one with what was decided.
const adjustedBrief = "adjusted_brief"

// adjusted compiles V.adjusted_brief.
func (c *compiler) adjusted(slot int, key []step, quiet bool) expr {
	return func(t *thread) (Value, error) {
		v := t.frame[slot]
		found, err := t.walk(v, key, true)
		if err != nil || !found.IsNull() || quiet || v.IsNull() {
			return found, err
		}
		brief, ok := t.brief()
		if !ok {
			return t.walk(v, key, false)
		}
		return Text(brief.String() + "\n\n" + v.String()), nil
	}
}
