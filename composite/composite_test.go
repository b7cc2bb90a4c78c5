package composite

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/process"
)

func TestRun_TheLanguage(t *testing.T) {
	for _, test := range []struct{ body, value string }{
		{``, `null`},
		{`return`, `null`},
		{`return(null)`, `null`},
		{`return(() => 1)`, `null`},
		{`return("<é\u2028\"😀>")`, "\"<é\u2028\\\"😀>\""},
		{`return('😀'.slice(0, 1))`, `"\ud83d"`},
		{`return { a: undefined, b: [1.5, true], c: new Date() }`, `{"b":[1.5,true],"c":"2000-01-01T00:00:00.000Z"}`},
		{`return await rlm("x") + await rlm("y")`, `"xy"`},
		{`return rlm("x")`, `"x"`},
		{`return typeof await rlm("{}")`, `"string"`},
		{`return(await Promise.all(["a", "b"].map(async (x, i) => (await rlm(x)) + i)))`, `["a0","b1"]`},
		{`return(await Promise.race([new Promise(() => {}), rlm("x")]))`, `"x"`},
		{`const { a = 1, b: [c] = [3], f: { g = 6 } = {}, ...rest } = { e: 5 }; return [a, c, g, rest]`, `[1,3,6,{"e":5}]`},
		{`const o = null; return [o?.a.b, o ?? 2, ({ f: () => 3 }).f?.()]`, `[null,2,3]`},
		{"const xs = [1, 2]; return `<${xs.map(x => `[${x}]`).join(`,`)}>`", `"<[1],[2]>"`},
		{`const m = 'say {"is_failure": true}'.match(/\{[\s\S]*"is_failure"[\s\S]*\}/); return JSON.parse(m[0]).is_failure`, `true`},
		{`try { JSON.parse("{") } catch { return "caught" }`, `"caught"`},
		{`try { await rlm(true) } catch (e) { return [e instanceof Error, e.name, e.message] }`, `[true,"Error","json: cannot unmarshal bool into Go value of type string"]`},
		{`class A { #x = 1; get x() { return this.#x } }; return new A().x`, `1`},
		{`outer: for (const a of [1, 2]) { for (;;) { if (a < 2) continue outer; return a } }`, `2`},
		{`console.log("x"); console.error(rlm); return typeof console.table`, `"undefined"`},
		{`return [typeof require, typeof process, typeof fetch, typeof setTimeout, typeof Deno]`, `["undefined","undefined","undefined","undefined","undefined"]`},
		{`return Object.keys(globalThis)`, `["console","rlm","__controlState"]`},
		{`return eval("1+1") + new Function("a", "return a*2")(4)`, `10`},
		{`JSON.stringify = () => 0; JSON.parse = null; Promise.prototype.then = null; Error = null; return { a: await rlm("x") }`, `{"a":"x"}`},
		{`return new Date().getHours() + Date.now()`, `946684800000`},
		{"return 1 // no line end", `1`},
		{"return 1\r\n// a line\r\n", `1`},
		{"return 1\n//# sourceMappingURL=no/such/file.map", `1`},
		{"return eval('2\\n//# sourceMappingURL=no/such/file.map')", `2`},
		{`const p = rlm("x"), q = Promise.reject(new Error("late")); await p; try { await q } catch (e) { return e.message }`, `"late"`},
	} {
		c := config(test.body)
		c.Call = echo
		got, err := Run(t.Context(), c)
		if err != nil || string(got.Value) != test.value {
			t.Errorf("%s\ngot  %s, %v\nwant %s", test.body, got.Value, err, test.value)
		}
	}
}

func TestRun_TheState(t *testing.T) {
	for _, test := range []struct{ name, state, body, want string }{
		{"controlState", ``, `__controlState.x = 1`, `{"x":1}`},
		{"controlState", `{"result":"stale","keep":[1]}`, `__controlState.result = null; delete __controlState.none`, `{"result":null,"keep":[1]}`},
		{"compositeState", `{"a":{"b":2},"__proto__":3}`, `__compositeState.a.b++; return 1`, `{"a":{"b":3},"__proto__":3}`},
		{"controlState", `{"a":1}`, `__controlState = { b: 2 }`, `{"b":2}`},
		{"controlState", `{"a":1}`, `__controlState = undefined`, `null`},
	} {
		c := config(test.body)
		c.StateName = test.name
		if test.state != "" {
			c.State = json.RawMessage(test.state)
		}
		got, err := Run(t.Context(), c)
		if err != nil || string(got.State) != test.want {
			t.Errorf("%s of %s: got %s, %v, want %s", test.body, test.state, got.State, err, test.want)
		}
	}
}

// TestRun_ErrorsHaveAPlace runs bodies that begin on line 10 of c.md.
func TestRun_ErrorsHaveAPlace(t *testing.T) {
	for _, test := range []struct {
		body string
		kind error
		want string
	}{
		{`throw new Error("boo")`, ErrThrown, `c.md:10:7: thrown: boo`},
		{"\n\n  throw 'é'", ErrThrown, `c.md:12:3: thrown: é`},
		{"const s = '😀é'; throw { a: s }", ErrThrown, `c.md:10:17: thrown: {"a":"😀é"}`},
		{"let a = 1\r\n\r\nthrow a", ErrThrown, `c.md:12:1: thrown: 1`},
		{"let a = `\u2028`; throw a", ErrThrown, "c.md:10:14: thrown: \u2028"},
		{"const f = async () => {\n await null\n throw [1] }\nawait f()", ErrThrown, `c.md:12:2: thrown: [1]`},
		{"const f = () => {\n null.x }\nf()", ErrThrown, `c.md:11:7: thrown: TypeError: Cannot read property 'x' of undefined`},
		{`throw { toString() { throw 1 }, toJSON() { throw 2 } }`, ErrThrown, `c.md:10:1: thrown: something that cannot be shown`},
		{`require("fs")`, ErrThrown, `c.md:10:8: thrown: ReferenceError: require is not defined`},
		{`await import("fs")`, ErrThrown, `c.md:10:13: thrown: TypeError: a composite has no modules to import`},
		{`import fs from "fs"`, ErrSyntax, `c.md:10:1: JavaScript: import not supported in script`},
		{"let x = 1\n\nawait rlm(1)", ErrThrown, `c.md:12:10: thrown: json: cannot unmarshal number into Go value of type string`},
		{`Promise.reject(new Error("lost")); return 1`, ErrThrown, `c.md:10:16: thrown: lost (a promise that nobody awaits was rejected)`},
		{"rlm(2)\nreturn await rlm('x') + await rlm('y')", ErrThrown, `c.md:10:4: thrown: json: cannot unmarshal number into Go value of type string (a promise that nobody awaits was rejected)`},
		{`await new Promise(() => {})`, ErrNever, `c.md:10:1: the composite waits for something that never comes`},
		{`await rlm("x"); await { then() {} }`, ErrNever, `c.md:10:1: the composite waits for something that never comes`},
		{"let x = '';\nlet x = 1", ErrSyntax, `c.md:11:5: JavaScript: identifier 'x' has already been declared`},
		{"foo(", ErrSyntax, `c.md:10:5: JavaScript: the body ends inside of something: a bracket, a string or a comment is not closed`},
		{"for await (const x of []);", ErrSyntax, `c.md:10:5: JavaScript: unexpected token await`},
		{"return async function* () {}", ErrSyntax, `c.md:10:8: JavaScript: async generators are not supported yet`},
		{`function f() { f() }; f()`, ErrStack, `c.md:10:17: the composite's functions call each other more than 10000 deep`},
		{`try { (function f() { f() })() } catch { return 1 }`, ErrStack, `c.md:10:24: the composite's functions call each other more than 10000 deep`},
		{`let o = {}; o.o = o; return o`, ErrThrown, `c.md:10:1: the returned value cannot be written as JSON: TypeError: Converting circular structure to JSON`},
		{`__controlState.n = 1n`, ErrThrown, `c.md:10:1: the state cannot be written as JSON: TypeError: Do not know how to serialize a BigInt`},
	} {
		c := config(test.body)
		c.Call = echo
		_, err := Run(t.Context(), c)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, test.kind) || err.Error() != test.want {
			t.Errorf("%s\ngot  %v\nwant %s, %v", test.body, err, test.want, test.kind)
		}
	}
}

func TestRun_AThrowLeavesTheState(t *testing.T) {
	got, err := Run(t.Context(), config(`__controlState.seen = 1; throw 1`))
	if !errors.Is(err, ErrThrown) || string(got.State) != `{"seen":1}` || got.Value != nil {
		t.Errorf("got %s, %s, %v", got.Value, got.State, err)
	}
}

// TestRun_Limits holds that a composite that loops for ever, or asks for 10 GB, ends with a clear error and leaves
// nothing behind.
func TestRun_Limits(t *testing.T) {
	const memory = `the composite used more than 64 MiB of memory`
	const cpu = `the composite used more than 300ms of processor time`
	for _, test := range []struct {
		body string
		kind error
		want string
	}{
		{"for (;;) {}", ErrCPU, `c.md:10:1: `},
		{"\nlet i = 0; for (;;) i++", ErrCPU, `c.md:11:`},
		{`for (;;) await null`, ErrCPU, `c.md:10:`},
		{`for (;;) try { throw 1 } catch {} finally {}`, ErrCPU, `c.md:10:`},
		{`return { toJSON() { for (;;); } }`, ErrCPU, `c.md:10:`},
		{`/(a+)+\1$/.test("a".repeat(40) + "b")`, ErrCPU, `c.md:10:1: `},
		{`return "x".repeat(2 ** 33)`, ErrMemory, `c.md:10:1: `},
		{`return "x".repeat(2 ** 53)`, ErrMemory, `c.md:10:1: `},
		{`return new ArrayBuffer(1e10)`, ErrMemory, `c.md:10:1: `},
		{`return new Uint8Array(1e10).length`, ErrMemory, `c.md:10:1: `},
		{`return new Array(1e9).fill(0)`, ErrMemory, `c.md:10:`},
		{`let s = "a"; for (;;) s += s`, ErrMemory, `c.md:10:`},
		{`const a = []; for (;;) a.push("x".repeat(1e6) + a.length)`, ErrMemory, `c.md:10:`},
		{`const a = "x".repeat(1e6), b = Array(10000).fill(a); return b`, ErrMemory, `c.md:10:`},
		{`for (;;) Promise.reject(new Error("x".repeat(1e4) + Math.random()))`, ErrMemory, `c.md:10:`},
		{`return JSON.parse("[".repeat(1e6))`, ErrStack, `c.md:10:1: the composite nests too deep`},
		{strings.Repeat("a:", 100_000), nil, ``},
		{strings.Repeat("(", 200_000), nil, ``},
	} {
		before := look(t)
		c := config(test.body)
		c.Memory, c.CPU = 64<<20, 300*time.Millisecond
		switch test.kind {
		case ErrMemory:
			c.CPU = time.Minute
			test.want += memory
		case ErrCPU:
			test.want += cpu
		case ErrStack:
			c.CPU, c.Memory = time.Minute, 512<<20 // the stack, not the memory
		}
		_, err := Run(t.Context(), c)
		var e *Error
		switch {
		case !errors.As(err, &e):
			t.Errorf("%.80s\ngot %v", test.body, err)
		case test.kind == nil: // some limit is passed, or it is read and is wrong
		case !errors.Is(err, test.kind), !strings.HasPrefix(err.Error(), test.want[:strings.LastIndex(test.want, ":")]),
			!strings.HasSuffix(err.Error(), e.Message), e.Message != message(test.want):
			t.Errorf("%.80s\ngot  %v\nwant %s", test.body, err, test.want)
		}
		before.same(t)
	}
}

// message is what stands behind the place of an error.
func message(s string) string { return s[strings.Index(s, "the composite"):] }

func TestRun_OutputIsBounded(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`return "x".repeat(1 << 20)`, `c.md:10:1: the returned value has more than 1 MiB`},
		{`__controlState.x = "x".repeat(1 << 20)`, `c.md:10:1: the state has more than 1 MiB`},
	} {
		c := config(test.body)
		c.maxOutput = 1 << 20
		_, err := Run(t.Context(), c)
		if !errors.Is(err, ErrOutput) || err.Error() != test.want {
			t.Errorf("%s: got %v, want %s", test.body, err, test.want)
		}
	}
}

func TestRun_CallsInFlightAreBounded(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{`for (let i = 0; i < 1024; i++) rlm("x"); try { await rlm("y") } catch (e) { return e.message }`,
			`"rlm: 1024 calls are in flight, and no more can be; await some of them first"`},
		{`const s = "x".repeat(600_000); rlm(s); try { await rlm(s) } catch (e) { return e.message }`,
			`"rlm: the calls in flight have more than 1 MiB; await some of them first"`},
	} {
		c := config(test.body)
		c.maxOutput = 1 << 20
		c.Call = func(ctx context.Context, _ Call) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		got, err := Run(t.Context(), c)
		if err != nil || string(got.Value) != test.want {
			t.Errorf("%s: got %s, %v", test.body, got.Value, err)
		}
	}
}

func TestRun_WhatACallIsGiven(t *testing.T) {
	c := config(`
await rlm("say \"é\"", null, { use: "a", model: "m" });
await rlm();
await rlm({ q: [1] }, { c: 2 }, { use: null, model: undefined, other: undefined });
await rlm(null, null, { use: "b", compositeState: { x: 1 } });`)
	var got []Call
	c.Call = func(_ context.Context, call Call) (string, error) { got = append(got, call); return "", nil }
	if _, err := Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	name := func(s string) *string { return &s }
	at := func(line int) diagnostic.Pos { return diagnostic.Pos{File: "c.md", Line: line, Column: 10} }
	want := []Call{
		{raw(`"say \"é\""`), raw(`null`), name("a"), name("m"), nil, at(11)},
		{raw(`null`), raw(`null`), nil, nil, nil, at(12)},
		{raw(`{"q":[1]}`), raw(`{"c":2}`), nil, nil, nil, at(13)},
		{raw(`null`), raw(`null`), name("b"), nil, raw(`{"x":1}`), at(14)},
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("got  %s\nwant %s", a, b)
	}
}

func TestRun_WrongArgumentsAreThrown(t *testing.T) {
	for _, test := range []struct{ call, want string }{
		{`rlm("x", null, "a")`, `TypeError: rlm: the third argument is an object such as { use: name }, and not a`},
		{`rlm("x", null, { user: "a" })`, `TypeError: rlm: there is no option user; the options are use, model, compositeState, controlState`},
		{`rlm("x", null, { use: ["a"] })`, `TypeError: rlm: the option use is a name, and not ["a"]`},
		{`rlm("x", null, { model: 3 })`, `TypeError: rlm: the option model is a name, and not 3`},
		{`rlm("x", null, { compositeState: [] })`, `TypeError: rlm: the option compositeState is an object, and not []`},
		{`rlm("x", null, { compositeState: {}, controlState: {} })`, `TypeError: rlm: compositeState and controlState are both given; give one`},
		{`rlm(1n)`, `TypeError: Do not know how to serialize a BigInt`},
		{`rlm("x", null, { get use() { throw 7 } })`, `7`},
	} {
		got, err := Run(t.Context(), config(`try { await `+test.call+` } catch (e) { return String(e) }`))
		var text string
		if json.Unmarshal(got.Value, &text); err != nil || text != test.want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", test.call, got.Value, err, test.want)
		}
	}
}

func TestRun_CallsOverlap(t *testing.T) {
	c := config(`return (await Promise.all([1, 2, 3].map(i => rlm("b" + i)))).join()`)
	var all sync.WaitGroup
	all.Add(3)
	c.Call = func(ctx context.Context, call Call) (string, error) {
		all.Done()
		all.Wait() // none returns before all have begun
		return echo(ctx, call)
	}
	if got, err := Run(t.Context(), c); err != nil || string(got.Value) != `"b1,b2,b3"` {
		t.Errorf("got %s, %v", got.Value, err)
	}
}

func TestRun_CallsInFlightAreCancelledAtTheEnd(t *testing.T) {
	for _, body := range []string{`rlm("slow"); return await rlm("fast")`, `rlm("slow"); await rlm("fast"); throw 1`, `rlm("slow"); await rlm("fast"); for (;;);`} {
		c := config(body)
		c.CPU = 300 * time.Millisecond
		slow := make(chan struct{})
		var cause error
		c.Call = func(ctx context.Context, call Call) (string, error) {
			if string(call.Brief) == `"fast"` {
				<-slow
				return "won", nil
			}
			close(slow)
			<-ctx.Done()
			cause = context.Cause(ctx)
			return "", cause
		}
		_, _ = Run(t.Context(), c)
		if cause != errEnded {
			t.Errorf("%s: the slow call's cause is %v", body, cause)
		}
	}
}

func TestRun_TheErrorOfACallComesBack(t *testing.T) {
	broke := errors.New("no credit")
	c := config("\nconst x = await rlm('x')")
	c.Call = func(context.Context, Call) (string, error) { return "", broke }
	_, err := Run(t.Context(), c)
	if !errors.Is(err, broke) || !errors.Is(err, ErrThrown) || err.Error() != "c.md:11:20: thrown: no credit" {
		t.Errorf("got %v", err)
	}
	c.Source = `try { await rlm('x') } catch (e) { throw new Error("other: " + e.message) }`
	if _, err := Run(t.Context(), c); errors.Is(err, broke) || err == nil || err.Error() != "c.md:10:42: thrown: other: no credit" {
		t.Errorf("got %v", err)
	}
}

func TestRun_IsTheSameEachTime(t *testing.T) {
	c := config(`return [Math.random(), Math.random(), Date.now(), String(new Date())]`)
	first, err := Run(t.Context(), c)
	second, err2 := Run(t.Context(), c)
	if err != nil || err2 != nil || string(first.Value) != string(second.Value) {
		t.Errorf("got %s, %v and %s, %v", first.Value, err, second.Value, err2)
	}
}

func TestRun_Cancelled(t *testing.T) {
	stop := errors.New("stop")
	for _, body := range []string{`rlm("x"); for (;;);`, `await rlm("x")`, `rlm("x"); return "x".repeat(2 ** 20).replace(/x/g, () => { for (;;); })`} {
		before := look(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		c := config(body)
		c.CPU = time.Minute
		c.Call = func(ctx context.Context, _ Call) (string, error) {
			cancel(stop)
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		_, err := Run(ctx, c)
		if !errors.Is(err, stop) || !errors.Is(err, process.ErrStopped) {
			t.Errorf("%s: got %v", body, err)
		}
		before.same(t)
		if _, err := Run(ctx, c); !errors.Is(err, stop) {
			t.Errorf("%s: cancelled before it began: got %v", body, err)
		}
	}
}

func TestRun_ManyLeaveNothing(t *testing.T) {
	before := look(t)
	c := config(`rlm("never awaited"); return await rlm("x")`)
	c.Call = echo
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 5 {
				if _, err := Run(t.Context(), c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	before.same(t)
}

// TestChild_EndsWithItsParent is the parent that goes away: its pipes close.
func TestChild_EndsWithItsParent(t *testing.T) {
	for _, body := range []string{`for (;;);`, `await rlm("x")`} {
		child := exec.Command(os.Args[0])
		child.Env = append(config("").Env, childEnv+"=1")
		stdin, err := child.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		stdout, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		if err := encode(stdin, start{Source: body, StateName: "controlState", State: json.RawMessage(`{}`), Memory: DefaultMemory, CPU: int64(time.Minute), MaxOutput: MaxOutput}); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "{\"ready\":true}\n" {
			t.Errorf("got %q, %v", line, err)
		}
		_ = stdin.Close()
		_, _ = io.Copy(io.Discard, stdout)
		if err := child.Wait(); child.ProcessState.ExitCode() != exitGone {
			t.Errorf("%s: got %v, want exit status %d", body, err, exitGone)
		}
	}
}

func TestRun_AProgramThatIsNoChild(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip("no program named true")
	}
	c := config(`return 1`)
	c.Argv = []string{program}
	if _, err := Run(t.Context(), c); !errors.Is(err, ErrNoChild) || !strings.Contains(err.Error(), program) {
		t.Errorf("got %v", err)
	}
	c.Argv = []string{program + "-none"}
	if _, err := Run(t.Context(), c); !errors.Is(err, process.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}

// TestRun_NoChildrenOfChildren is a program that forgot to ask IsChild: it must not start itself for ever.
func TestRun_NoChildrenOfChildren(t *testing.T) {
	t.Setenv(childEnv, "1")
	if _, err := Run(t.Context(), config(`return 1`)); !errors.Is(err, ErrNoChild) {
		t.Errorf("got %v", err)
	}
}

func TestRun_WrongConfigs(t *testing.T) {
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Source = strings.Repeat(" ", MaxSource+1) }, "the body has 1048577 bytes, and may have 1048576"},
		{func(c *Config) { c.StateName = "" }, `"" is no name of a state; it is controlState or compositeState`},
		{func(c *Config) { c.StateName = "a.b" }, `"a.b" is no name of a state; it is controlState or compositeState`},
		{func(c *Config) { c.Call = nil }, "no Call"},
		{func(c *Config) { c.State = json.RawMessage(`[]`) }, "the state is not a JSON object"},
		{func(c *Config) { c.State = json.RawMessage(`null`) }, "the state is not a JSON object"},
		{func(c *Config) { c.State = json.RawMessage(`{`) }, "the state is not a JSON object"},
		{func(c *Config) { c.Memory = 1 }, "1 bytes of memory are too few; the least is 33554432"},
		{func(c *Config) { c.Memory = -1 }, "-1 bytes of memory are too few; the least is 33554432"},
		{func(c *Config) { c.CPU = -1 }, "negative processor time or line"},
		{func(c *Config) { c.Line = -1 }, "negative processor time or line"},
	} {
		c := config(`return 1`)
		test.change(&c)
		if _, err := Run(t.Context(), c); !errors.Is(err, ErrInvalid) || err.Error() != ErrInvalid.Error()+": "+test.want {
			t.Errorf("got %v, want %s", err, test.want)
		}
	}
}
