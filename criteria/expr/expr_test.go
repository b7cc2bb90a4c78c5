package expr

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
	"github.com/firstgood/firstgood/pattern"
)

const order = `{"ok": true, "score": 0.93, "note": null, "id": 9007199254740993, "big": 12345678901234567890, "same": 12345678901234567890,
	"other": 12345678901234567891, "huge": 1e400, "word": "Paris", "items": [{"name": "a", "price": 3.5}, {"name": "b", "price": 2}]}`

func reply(text string) firstgood.Reply { return firstgood.Reply{Text: text} }

func mustCompile(t testing.TB, source string) *program {
	t.Helper()
	p, err := compile(source)
	if err != nil {
		t.Fatalf("%s: %v", source, err)
	}
	return p
}

// truths are expressions with what they are for a reply that is the order, of a brief that is "the brief".
var truths = []struct {
	source string
	holds  bool
	values string // that the reason shows, or how it ends
}{
	{`true`, true, ""},
	{`1 > 2`, false, ""},
	{`len(reply.text) < 400`, true, "reply.text has 255 characters"},
	{`reply.text contains "Paris"`, true, "reply.text has 255 characters"},
	{`reply.text matches "(?i)PARIS"`, true, "reply.text has 255 characters"},
	{`reply["text"] == ""`, false, "reply.text has 255 characters"},
	{`reply.finish_reason in ["stop", "end_turn"]`, true, `reply.finish_reason is "stop"`},
	{`reply.refusal == ""`, true, `reply.refusal is ""`},
	{`reply.tool_calls == 2`, true, "reply.tool_calls is 2"},
	{`reply.usage.input_tokens + reply.usage.output_tokens < 40`, false, "reply.usage.input_tokens is 30, reply.usage.output_tokens is 12"},
	{`brief.text == "the brief"`, true, `brief.text is "the brief"`},
	{`duration == 0`, true, "duration is 0"},

	{`reply.json.ok`, true, "reply.json.ok is true"},
	{`reply.json.score >= 0.8 && reply.json.score <= 1`, true, "reply.json.score is 0.93"},
	{`reply.json.note == nil`, true, "reply.json.note is null"},
	{`reply.json.missing`, false, "reply.json.missing is missing"},
	{`reply.json.missing == nil`, true, "reply.json.missing is missing"},
	{`reply.json?.note?.deep == nil`, true, "reply.json.note.deep is missing"},
	{`reply.json["word"] == "Paris"`, true, `reply.json.word is "Paris"`},
	{`reply.json.items[1].price == 2`, true, "reply.json.items[1].price is 2"},
	{`reply.json.items[-1].name == "b"`, true, "reply.json.items has 2 elements"},
	{`len(reply.json.items) == 2 and len(reply.json) == 10`, true, "reply.json.items has 2 elements, reply.json has 10 members"},
	{`all(reply.json.items, .price > 0)`, true, "reply.json.items has 2 elements"},
	{`any(reply.json.items, {#.price > 3})`, true, "reply.json.items has 2 elements"},
	{`reply.json.items | map(.price) | sum() == 5.5`, true, "reply.json.items has 2 elements"},
	{`sortBy(reply.json.items, .price)[0].name == "b"`, true, "reply.json.items has 2 elements"},
	{`reduce(reply.json.items, #acc + .price, 0) > 6`, false, "reply.json.items has 2 elements"},
	{`count(reply.json.items, .price > 1) == 2 and filter(reply.json.items, .price > 3)[0].name == "a"`, true, "reply.json.items has 2 elements"},
	{`map(reply.json.items, #index) == [0, 1]`, true, "reply.json.items has 2 elements"},
	{`let p = reply.json.items; len(p) > 3`, false, "reply.json.items has 2 elements"},
	{`reply.text == "" || reply.json.ok && reply.json.score > 0.9 && reply.json.id > 0`, true, "reply.text has 255 characters, reply.json.ok is true, reply.json.score is 0.93"},
	{`reply.json.word in keys({"Paris": 1})`, true, `reply.json.word is "Paris"`},
	{`if reply.json.ok { reply.json.score > 1 } else { true }`, false, "reply.json.ok is true, reply.json.score is 0.93"},
	{"reply.json.ok\n\t&&  true", true, "reply.json.ok is true"},

	// numbers
	{`reply.json.id == 9007199254740993`, true, "reply.json.id is 9007199254740993"},
	{`reply.json.id == 9007199254740992`, false, "reply.json.id is 9007199254740993"},
	{`reply.json.id % 10 == 3`, true, "reply.json.id is 9007199254740993"},
	{`reply.json.big == reply.json.same`, true, "reply.json.big is 12345678901234567890, reply.json.same is 12345678901234567890"},
	{`reply.json.big == reply.json.other`, false, "reply.json.big is 12345678901234567890, reply.json.other is 12345678901234567891"},
	{`reply.json.big == "12345678901234567890"`, false, "reply.json.big is 12345678901234567890"},
	{`reply.json.huge == 1.5`, false, "reply.json.huge is 1e400"},
	{`type(reply.json.items[1].price) == "int" and type(reply.json.score) == "float"`, true, "reply.json.items[1].price is 2, reply.json.score is 0.93"},

	// functions that are changed
	{`replace(reply.json.word, "i", "") == "Pars"`, true, `reply.json.word is "Paris"`},
	{`replace("aaa", "a", "b", 2) == "bba" and replace("aaa", "a", "bb", -1) == "bbbbbb"`, true, ""},
	{`join(map(reply.json.items, .name), "-") == "a-b" and join(["x", "y"]) == "xy" and join(split("a b", " "), "+") == "a+b"`, true, "reply.json.items has 2 elements"},
	{`len(uniq([1, 1, 2])) == 2`, true, ""},
	{`fromJSON("{\"n\": 9007199254740993}").n == 9007199254740993`, true, ""},
}

func TestExpressions(t *testing.T) {
	of := firstgood.Reply{Text: order, FinishReason: "stop", ToolCalls: 2, Usage: firstgood.Usage{InputTokens: 30, OutputTokens: 12}}
	for _, c := range truths {
		f, err := mustCompile(t, c.source).find(t.Context(), firstgood.Text("the brief"), of)
		want := fmt.Sprintf("%s is %t", strings.Join(strings.Fields(c.source), " "), c.holds)
		if c.values != "" {
			want += " (" + c.values + ")"
		}
		if err != nil || f.Holds != c.holds || f.Reason != want || f.Detail != "" {
			t.Errorf("got %+v, error %v\nwant %s", f, err, want)
		}
	}
}

func TestCompile_Errors(t *testing.T) {
	for _, c := range []struct{ source, want string }{
		{"", "1:1: the expression is empty"},
		{" \n", "1:1: the expression is empty"},
		{strings.Repeat(" ", MaxSource) + "x", "1:1: the expression has 10001 bytes, want at most 10000; a longer check is better a command"},
		{strings.Repeat("(", MaxSource-1), "1:9999: unexpected token EOF"},
		{"true" + strings.Repeat("&&true", 1500), "1:6005: compilation failed: expression exceeds maximum allowed nodes"},

		{`repy.text == ""`, `1:1: unknown name "repy"; did you mean reply?`},
		{`reply.txt == ""`, `1:7: reply has no "txt"; did you mean reply.text?`},
		{`reply?.jsn.a == 1`, `1:8: reply has no "jsn"; did you mean reply.json?`},
		{`reply.usage.tokens > 1`, `1:13: reply.usage has no "tokens"; it has input_tokens, output_tokens`},
		{`reply.usage.output_token > 1`, `1:13: reply.usage has no "output_token"; did you mean reply.usage.output_tokens?`},
		{`brief.body == ""`, `1:7: brief has no "body"; it has text`},
		{`text != ""`, `1:1: unknown name "text"; did you mean reply.text?`},
		{`true && finish_reason == "stop"`, `1:9: unknown name "finish_reason"; did you mean reply.finish_reason?`},
		{`lenn(reply.text) > 1`, `1:1: unknown name "lenn"; did you mean len?`},
		{`durration > 1`, `1:1: unknown name "durration"; did you mean duration?`},
		{`weather == "fine"`, `1:1: unknown name "weather"; there are reply, brief, duration and the functions of expr-lang`},
		{"reply.text == \"é\" &&\n  é.x == 1", `2:3: unknown name "é"; there are reply, brief, duration and the functions of expr-lang`},
		{`weather == wind`, `1:1: unknown name "weather"; there are reply, brief, duration and the functions of expr-lang`},
		{`$env["reply"].text == ""`, `1:1: unknown name "$env"; there are reply, brief, duration and the functions of expr-lang`},
		{`reply == nil`, `1:1: reply is not a value by itself; write reply.text, reply.json, reply.finish_reason, reply.refusal, reply.tool_calls, reply.usage.input_tokens, reply.usage.output_tokens`},
		{`let r = brief; r.text == ""`, `1:9: brief is not a value by itself; write brief.text`},
		{`reply.usage != nil`, `1:1: reply.usage is not a value by itself; write reply.usage.input_tokens, reply.usage.output_tokens`},
		{`reply["te" + "xt"] == ""`, `1:1: reply is not a value by itself; write reply.text, reply.json, reply.finish_reason, reply.refusal, reply.tool_calls, reply.usage.input_tokens, reply.usage.output_tokens`},
		{`brief[0] == ""`, `1:1: brief is not a value by itself; write brief.text`},
		{`let reply = 1; reply == 1`, `1:5: cannot redeclare reply`},

		{`reply.text`, `1:1: the expression gives string, want true or false`},
		{`len(reply.text)`, `1:1: the expression gives int, want true or false`},
		{`filter(reply.json, true)`, `1:1: the expression gives []any, want true or false`},
		{`len(reply.text) > "4"`, `1:17: invalid operation: > (mismatched types int and string)`},
		{`reply.text.size > 1`, `1:12: type string has no field size`},
		{`reply.text() == ""`, `1:7: string is not callable`},
		{`reply.text && true`, `1:12: invalid operation: && (mismatched types string and bool)`},
		{`reply.text matches "(?=x)"`, "1:12: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{`reply.json.a > 1 ||`, `1:19: unexpected token EOF`},
		{`reply.json.a = 1`, `1:14: unexpected token Operator("=")`},
		{`"abc`, `1:5: literal not terminated`},

		{`repeat("a", 3) == "aaa"`, `1:1: repeat is not available here`},
		{`true && toJSON(reply.json) == ""`, `1:9: toJSON is not available here; look at the members of the value themselves`},
		{`reply.text | repeat(3) == ""`, `1:14: repeat is not available here`},
		{`duration < duration("5s")`, `1:12: duration is a number of seconds and no function; write for example duration < 5`},
		{`duration < "5s"`, `1:10: invalid operation: < (mismatched types float64 and string)`},
	} {
		rule, err := Compile(c.source)
		if rule != nil || err == nil || err.Error() != c.want {
			t.Errorf("%.60q: got %v\nwant %s", c.source, err, c.want)
		}
		if _, ok := errors.AsType[*Error](err); !ok {
			t.Errorf("%.60q: got an error of type %T", c.source, err)
		}
	}
}

func TestExpressionThatErrsRejects(t *testing.T) {
	for _, c := range []struct{ source, text, want string }{
		{`reply.json.score > 1`, "no", "the reply holds no JSON"},
		{`reply.json.score > 1`, `{"score": 1`, "the reply holds no JSON: what stands in its braces is none, at 1:11: unexpected end of JSON input"},
		{`reply.json.score > 1`, `{"score": 1, "score": 2}`, "the reply's JSON: /score stands twice"},
		{`reply.json.score > 1`, `{"score": 1e9999}`, "the reply's JSON: the number at /score has an exponent beyond 1000"},
		{`reply.json == nil`, "no", "the reply holds no JSON"},
		{`reply.json?.a == nil`, "no", "the reply holds no JSON"},
		{`(reply.json ?? 1) == 1`, "no", "the reply holds no JSON"},
		{`len(reply.text) > 0 && reply.json.ok`, "no", "the reply holds no JSON"},
		{`reply.json.a.b > 1`, "{}", "1:14: cannot fetch b from nil"},
		{`reply.json.score > 1`, `{"score": "high"}`, "1:18: invalid operation: string > int"},
		{`reply.json.score > 1`, `{}`, "1:18: invalid operation: nil > int"},
		{`reply.json.big > 1`, order, "1:16: invalid operation: a number beyond 64 bits > int"},
		{`reply.json.huge < 1`, order, "1:17: invalid operation: a number beyond 64 bits < int"},
		{`reply.json.big + 1 == 1`, order, "1:16: invalid operation: a number beyond 64 bits + int"},
		{`reply.json.big contains "1"`, order, "1:16: got a number beyond 64 bits, want string"},
		{`reply.json.items contains "a"`, order, "1:18: got []any, want string"},
		{`reply.json.items[5].price == 1`, order, "1:17: index out of range: 5 (array length is 2)"},
		{`reply.json.word`, order, "1:1: the expression gives string, want true or false"},
		{`reply.json.word && reply.json.ok`, order, "1:17: got string, want bool"},
		{`all(reply.json.ok, true)`, order, "1:1: got bool, want a list"},
		{`all(reply.json, .price > 1)`, order, "1:17: got map, want a list"},
		{`int(reply.json.word) == 1`, order, "1:1: invalid operation: int(Paris)"},
		{`fromJSON(reply.text).a == 1`, "{", "1:1: fromJSON: 1:1: unexpected end of JSON input"},
		{`len(groupBy(reply.json.items, #)) > 0`, order, "1:5: hash of unhashable type: map[string]any"},
	} {
		rule, err := Compile(c.source)
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
			continue
		}
		for place, cfg := range map[string]criteria.Config{
			"failure_criteria":    {Failure: []criteria.Rule{rule}},
			"acceptance_criteria": {Accept: []criteria.Rule{criteria.Not(rule)}},
		} {
			check, err := criteria.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			v, err := check(t.Context(), firstgood.Text("b"), reply(c.text))
			want := fmt.Sprintf("%s could not be applied: expr %s: %s", place, c.source, c.want)
			if err != nil || v != (firstgood.Verdict{Rejected: true, Reason: want}) {
				t.Errorf("got %+v, error %v\nwant %s", v, err, want)
			}
		}
	}
}

func TestJSONIsLookedForOnlyWhenAskedFor(t *testing.T) {
	for _, source := range []string{
		`reply.text == "no" || reply.json.ok`,
		`reply.text != "no" && reply.json.ok`,
		`reply.text == "no" ? true : reply.json.ok`,
	} {
		f, err := mustCompile(t, source).find(t.Context(), firstgood.Brief{}, reply("no"))
		if err != nil || !strings.HasSuffix(f.Reason, `(reply.text is "no")`) {
			t.Errorf("%s: got %+v, error %v", source, f, err)
		}
	}
	// It is the same value each time: JSON that was parsed twice would not be.
	e := &evaluation{ctx: t.Context(), reply: reply(`{"a": 1}`)}
	e.jsonView().(map[string]any)["a"] = 2
	if again := e.jsonView().(map[string]any); again["a"] != 2 {
		t.Errorf("the JSON was parsed again: %v", again)
	}
}

func TestReplyThatIsJSON(t *testing.T) {
	r := firstgood.Reply{JSON: []byte(`{ "a": [1, 2] }`)}
	f, err := mustCompile(t, `reply.text == "{\"a\":[1,2]}" && reply.json.a[1] == 2`).find(t.Context(), firstgood.Brief{}, r)
	if want := `reply.text == "{\"a\":[1,2]}" && reply.json.a[1] == 2 is true (reply.text is "{\"a\":[1,2]}", reply.json.a[1] is 2)`; err != nil || !f.Holds || f.Reason != want {
		t.Errorf("got %+v, error %v", f, err)
	}
	if f, err := mustCompile(t, `reply.json == nil`).find(t.Context(), firstgood.Brief{}, firstgood.Reply{JSON: []byte("null")}); err != nil || !f.Holds {
		t.Errorf("null: %+v, %v", f, err)
	}
}

func TestS7_OpenStream(t *testing.T) {
	open := firstgood.Reply{Stream: firstgood.NewStream(nil), FinishReason: "stop"}
	for _, source := range []string{`reply.text == ""`, `reply.json == nil`} {
		f, err := mustCompile(t, source).find(t.Context(), firstgood.Brief{}, open)
		if want := "expr " + source + ": the reply is an open stream, which has no text yet"; f.Holds || err == nil || err.Error() != want {
			t.Errorf("got %+v, error %v, want %s", f, err, want)
		}
	}
	f, err := mustCompile(t, `reply.finish_reason == "stop" || reply.text == ""`).find(t.Context(), firstgood.Brief{}, open)
	if err != nil || !f.Holds || !strings.HasSuffix(f.Reason, `is true (reply.finish_reason is "stop")`) {
		t.Errorf("got %+v, error %v", f, err)
	}
}

func TestReasonIsShort(t *testing.T) {
	source := `reply.text == "` + strings.Repeat("é", 500) + `" && brief.text == ""`
	f, err := mustCompile(t, source).find(t.Context(), firstgood.Text("line\n\x1b[31m"), reply(strings.Repeat("ü", 1000)))
	want := `reply.text == "` + strings.Repeat("é", 185) + `… is false (reply.text has 1000 characters, brief.text is "line\n\x1b[31m")`
	if err != nil || f.Reason != want {
		t.Errorf("got %+v, error %v\nwant %s", f, err, want)
	}
}

func TestDuration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rule, err := Compile(`duration < 2`)
		if err != nil {
			t.Fatal(err)
		}
		check, err := criteria.New(criteria.Config{Accept: []criteria.Rule{rule}})
		if err != nil {
			t.Fatal(err)
		}
		after := func(name string, d time.Duration) firstgood.Delegate[firstgood.Reply] {
			return firstgood.Func(name, func(context.Context, firstgood.Brief) (firstgood.Reply, error) {
				<-time.After(d)
				return reply("done"), nil
			})
		}
		chain, err := pattern.NewFallbackChain(pattern.Config[firstgood.Reply]{
			Delegates: []firstgood.Delegate[firstgood.Reply]{after("slow", 2500*time.Millisecond), after("fast", 1500*time.Millisecond)},
			Criteria:  check,
		})
		if err != nil {
			t.Fatal(err)
		}
		// The second is judged by its own time, not by the run's.
		for name, ctx := range map[string]context.Context{
			"recorded": firstgood.WithRecord(t.Context(), firstgood.NewRecord(time.Now(), nil)), "not recorded": t.Context(),
		} {
			out, err := chain.Run(ctx, firstgood.Text("b"))
			if err != nil || out.Winner != "fast" || len(out.History) != 1 || out.History[0].Reason != "duration < 2 is false (duration is 2.5)" {
				t.Errorf("%s: winner %q, history %v, error %v", name, out.Winner, out.History, err)
			}
		}
	})
}

// Replies that are made to be costly: what an expression does with them is bounded, or ends with its context.
func TestHostileReplies(t *testing.T) {
	list := func(n int) string { return "[" + strings.Repeat("1,", n-1) + "1]" }
	long := strings.Repeat("a", 1<<20)
	for _, c := range []struct{ name, source, text, want string }{
		{"quadratic loops", `all(reply.json, {let x = #; all(reply.json, # == x)})`, list(1500), "its loops make more than 2000000 steps"},
		{"quadratic uniq", `len(uniq(reply.json)) == 1`, list(5001), "1:5: uniq is given 5001 elements, want at most 5000"},
		{"a text in a text", `len(replace(reply.text, "a", reply.text)) > 0`, long, "1:5: replace would make a text of more than 16777216 bytes"},
		{"a text between letters", `replace(reply.text, "", reply.text) == ""`, long, "1:1: replace would make a text of more than 16777216 bytes"},
		{"a text as glue", `join(split(reply.text, ""), reply.text) == ""`, long, "1:1: join would make a text of more than 16777216 bytes"},
		{"a text as glue of a list", `join(map(reply.json, "x"), reply.text) == ""`, list(10000), "1:1: join would make a text of more than 16777216 bytes"},
		{"a range", `len(1..reply.json.n) > 0`, `{"n": 9223372036854775807}`, "1:6: memory budget exceeded"},
		{"a deep list", `reply.json[0] == nil`, strings.Repeat("[", 1001) + strings.Repeat("]", 1001), "the reply's JSON: it is nested more than 1000 deep"},
	} {
		f, err := mustCompile(t, c.source).find(t.Context(), firstgood.Brief{}, reply(c.text))
		if want := "expr " + c.source + ": " + c.want; f.Holds || err == nil || err.Error() != want {
			t.Errorf("%s: got %+v, error %v\nwant %s", c.name, f, err, want)
		}
	}

	for _, c := range []struct{ name, source, text string }{
		{"1 MB of text", `len(reply.text) == 1048576 && not (reply.text[:65536] matches "(a+)+b$")`, long},
		{"1 MB of JSON", `len(reply.json) == 100000 && all(reply.json, # == 123456789)`, strings.ReplaceAll(list(100000), "1", "123456789")},
		{"deep JSON is equal to itself", `reply.json == [reply.json[0]]`, strings.Repeat("[", 1000) + strings.Repeat("]", 1000)},
	} {
		if f, err := mustCompile(t, c.source).find(t.Context(), firstgood.Brief{}, reply(c.text)); err != nil || !f.Holds {
			t.Errorf("%s: got %+v, error %v", c.name, f, err)
		}
	}
}

func TestLoopsEndWithTheContext(t *testing.T) {
	cause := errors.New("the caller pressed stop")
	list := reply("[" + strings.Repeat("1,", 300) + "1]")
	for _, source := range []string{
		`all(reply.json, # == 1)`, `none(reply.json, # == 2)`, `any(reply.json, # == 2)`, `one(reply.json, # == 2)`,
		`filter(reply.json, # == 2) == []`, `map(reply.json, #) == []`, `count(reply.json, # == 1) == 1`, `sum(reply.json, #) == 1`,
		`find(reply.json, # == 2) == nil`, `findIndex(reply.json, # == 2) == -1`, `findLast(reply.json, # == 2) == nil`,
		`findLastIndex(reply.json, # == 2) == -1`, `len(groupBy(reply.json, #)) == 1`, `sortBy(reply.json, #) == []`,
		`reduce(reply.json, #acc + #, 0) == 0`, `reply.json | map(# + 1) | all(# == 2)`,
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if f, err := mustCompile(t, source).find(ctx, firstgood.Brief{}, list); !errors.Is(err, cause) || f.Holds {
			t.Errorf("%s: got %+v, error %v", source, f, err)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	rule, err := Compile(`reply.json.n == len(reply.json.l) and all(reply.json.l, # >= 0)`)
	if err != nil {
		t.Fatal(err)
	}
	check, err := criteria.New(criteria.Config{Accept: []criteria.Rule{rule}})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 50 {
				r := reply(fmt.Sprintf(`{"n": %d, "l": [%s]}`, n+i%2, strings.TrimSuffix(strings.Repeat("1,", n), ",")))
				if v, err := check(t.Context(), firstgood.Brief{}, r); err != nil || v.Rejected != (i%2 == 1) {
					t.Errorf("got %+v, error %v", v, err)
				}
			}
		})
	}
	group.Wait()
}

func ExampleCompile() {
	rule, err := Compile(`len(reply.text) < 20 && reply.json.score >= 0.8`)
	if err != nil {
		fmt.Println(err)
		return
	}
	check, _ := criteria.New(criteria.Config{Accept: []criteria.Rule{rule}})
	for _, text := range []string{`{"score": 0.9}`, `{"score": 0.3}`, `0.9, I think`} {
		v, _ := check(context.Background(), firstgood.Text("how sure are you?"), firstgood.Reply{Text: text})
		fmt.Printf("rejected %t: %s.\n", v.Rejected, v.Reason)
	}
	_, err = Compile(`reply.txt != ""`)
	fmt.Println(err)
	// Output:
	// rejected false: .
	// rejected true: len(reply.text) < 20 && reply.json.score >= 0.8 is false (reply.text is "{\"score\": 0.3}", reply.json.score is 0.3).
	// rejected true: acceptance_criteria could not be applied: expr len(reply.text) < 20 && reply.json.score >= 0.8: the reply holds no JSON.
	// 1:7: reply has no "txt"; did you mean reply.text?
}

// Whatever is compiled and asked, nothing panics, and an evaluation gives a finding or an error.
func FuzzCompile(f *testing.F) {
	for _, c := range truths {
		f.Add(c.source, order)
	}
	f.Add(`let a = reply.json; a.b?.c[1:2] == $env`, "[]")
	f.Fuzz(func(t *testing.T, source, text string) {
		p, err := compile(source)
		if err != nil {
			if e, ok := errors.AsType[*Error](err); !ok || e.Line < 1 || e.Column < 1 || e.Message == "" {
				t.Fatalf("%q: %#v", source, err)
			}
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		found, err := p.find(ctx, firstgood.Text("b"), reply(text))
		if (err == nil) == (found.Reason == "") {
			t.Fatalf("%q: %+v, error %v", source, found, err)
		}
	})
}

func BenchmarkExpr(b *testing.B) {
	for _, c := range []struct{ name, source, text string }{
		{"text", `len(reply.text) < 400`, "It is Paris."},
		{"json", `reply.json.score >= 0.8 && len(reply.json.items) == 2`, order},
		{"loop over 1000", `all(reply.json, # == 1)`, "[" + strings.Repeat("1,", 999) + "1]"},
	} {
		b.Run(c.name, func(b *testing.B) {
			p, brief, r := mustCompile(b, c.source), firstgood.Text("b"), reply(c.text)
			b.ReportAllocs()
			for b.Loop() {
				if f, err := p.find(b.Context(), brief, r); err != nil || !f.Holds {
					b.Fatal(f, err)
				}
			}
		})
	}
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			mustCompile(b, `len(reply.text) < 400 && reply.json.score >= 0.8`)
		}
	})
}
