package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func withInstances(yaml string) string {
	return "---\nname: f\nkind: function\n---\n\n### Patterns\n\n```yaml\n" + yaml + "```\n"
}

// written is an instance in one line, the way it was understood.
func written(in *Instance) string {
	var parts []string
	for _, b := range in.With {
		var members []string
		for _, m := range b.Members {
			if m.Instance != nil {
				members = append(members, "{"+written(m.Instance)+"}")
			} else {
				members = append(members, m.Name)
			}
		}
		text := strings.Join(members, ",")
		if b.List {
			text = "[" + text + "]"
		}
		parts = append(parts, b.Slot+"="+text)
	}
	for _, v := range in.Config {
		parts = append(parts, v.Key+":"+string(v.JSON))
	}
	return fmt.Sprintf("%s %s %s", in.Name, in.Pattern, strings.Join(parts, " "))
}

func TestParse_Instances(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{withInstances("- name: a\n  pattern: race\n  with:\n    candidates: [x, std/roles/y]\n  config:\n    acceptance_criteria: \"it's good\"\n    n: 3\n    t: {b: [1, 2.50, null, true], a: ~}\n"),
			`a race candidates=[x,std/roles/y] acceptance_criteria:"it's good" n:3 t:{"b":[1,2.5,null,true],"a":null}`},
		{withInstances("- name: a\n  pattern: fallback-chain\n  with:\n    chain:\n      - x\n      - pattern: race\n        with: {candidates: [y, z]}\n        config: {k: v}\n      - name: inner\n        pattern: ./w\n"),
			`a fallback-chain chain=[x,{ race candidates=[y,z] k:"v"},{inner ./w }]`},
		{withInstances("- name: a\n  pattern: worker-critic\n  with:\n    worker: w\n    critic: {pattern: race, with: {candidates: []}}\n- name: b\n  pattern: race\n  with:\n"),
			`a worker-critic worker=w critic={ race candidates=[]};b race `},
		{strings.Replace(withInstances("- writer\n- name: critic\n- name: a\n  pattern: race\n"), "Patterns", "Services", 1), `a race `},
		{"---\nname: f\nkind: service\nservices:\n  - writer\n  - name: a\n    compose: std/composites/worker-critic\n    with: {worker: w, critic: c, max_rounds: 3}\n---\n", `a std/composites/worker-critic worker=w critic=c max_rounds=`},
		{"---\nname: f\nkind: service\n---\n\n### Services\n\n- `writer`\n- `critic`: judges\n- `a`: `std/composites/worker-critic`\n  - `worker`: `w`\n  - `max_rounds`: 3\n", `a std/composites/worker-critic worker=w max_rounds=`},
		{withInstances(""), ""},
		{"---\nname: f\nkind: function\n---\n\n### Patterns\n\nNone.\n", ""},
	} {
		d := parsed(t, test.text)
		var got []string
		for _, in := range d.Instances {
			got = append(got, written(in))
		}
		if strings.Join(got, ";") != test.want {
			t.Errorf("%s\ngot  %s\nwant %s", test.text, strings.Join(got, ";"), test.want)
		}
	}
	d := parsed(t, withInstances("- name: a\n  pattern: é\n  with: {candidates: [x, yy]}\n  config: {n: 3}\n"))
	in := d.Instances[0]
	for got, want := range map[Pos]string{
		in.Pos: "9:9", in.At: "10:12", in.With[0].Pos: "11:10", in.With[0].Members[1].Pos: "11:26", in.Config[0].Pos: "12:12", in.Config[0].At: "12:15",
	} {
		if got.String() != "x.md:"+want {
			t.Errorf("got %v, want %s", got, want)
		}
	}
}

func TestInstance_For(t *testing.T) {
	d := parsed(t, withInstances("- name: a\n  compose: worker-critic\n  with: {worker: w, critic: c, max_rounds: 3, criteria: good, other: x}\n"))
	critic := standardDocument(t, "worker-critic")
	if got, want := written(d.Instances[0].For(critic)), `a worker-critic worker=w critic=c other=x max_rounds:3 criteria:"good"`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(d.Instances[0].Config) != 0 {
		t.Error("the instance itself was changed")
	}
	newer := parsed(t, withInstances("- name: a\n  pattern: worker-critic\n  with: {max_rounds: w}\n")).Instances[0]
	if newer.For(critic) != newer {
		t.Error("only the older form mixes slots and settings")
	}
}

// TestCheckInstance holds what is said about an instance once its pattern is known.
func TestCheckInstance(t *testing.T) {
	for _, test := range []struct {
		pattern, yaml string
		want          []string
	}{
		{"race", "with: {candidates: [a, b]}", nil},
		{"race", "with: {candidates: [a]}\n  config: {acceptance_criteria: none, timeout: 3s}", nil},
		{"race", "", []string{"10:12: the slot `candidates` of race is not bound; write with: {candidates: [name, …]}"}},
		{"worker-critic", "with: {worker: w}", []string{"10:12: the slot `critic` of worker-critic is not bound; write with: {critic: name}"}},
		{"race", "with: {candidats: [a]}", []string{"10:12: the slot `candidates` of race is not bound; write with: {candidates: [name, …]}", "11:10: race has no slot `candidats`; did you mean candidates?"}},
		{"race", "with: {candidates: [a], zzz: b}", []string{"11:27: race has no slot `zzz`; its slots are candidates"}},
		{"race", "with: {candidates: a}", []string{"11:10: `candidates` takes a list of delegates; write [a]"}},
		{"race", "with: {candidates: []}", []string{"11:10: warning: `candidates` is empty: nothing will be tried"}},
		{"guard", "with: {guard: [a, b], target: []}", []string{"11:10: `guard` takes one delegate, and a list of 2 is bound to it", "11:25: `target` takes one delegate, and a list of 0 is bound to it"}},
		{"worker-critic", "with: {worker: w, critic: c, max_rounds: many}", []string{"11:32: `max_rounds` is a setting of worker-critic; write it under config:"}},
		{"worker-critic", "with: {worker: w, critic: c, task_brief: t}", []string{"11:32: `task_brief` is an input of worker-critic; give it where the instance is called, or under config:"}},
		{"worker-critic", "with: {worker: w, critic: c, timeout: t}", []string{"11:32: `timeout` is a setting of worker-critic; write it under config:"}},
		{"worker-critic", "with: {worker: w, critic: c}\n  config: {worker: x}", []string{"12:12: `worker` is a slot of worker-critic; bind it under with:"}},
		{"worker-critic", "with: {worker: w, critic: c}\n  config: {max_round: 3}", []string{"12:12: worker-critic has no setting `max_round`; did you mean max_rounds?"}},
		{"proposer-adversary", "with: {proposer: w, adversary: c}\n  config: {zzz: 3}", []string{"12:12: proposer-adversary has no setting `zzz`; its settings are timeout, task_brief"}},
		{"worker-critic", "with: {worker: w, critic: c}\n  config: {max_rounds: many, criteria: 3}", []string{"12:24: warning: worker-critic says that `max_rounds` is of type integer; it is given as it is"}},
		{"worker-critic", "with: {worker: w, critic: c}\n  config: {max_rounds: 2.5}", []string{"12:24: warning: worker-critic says that `max_rounds` is of type integer; it is given as it is"}},
		{"blind-review", "with: {reviewer: w, comparator: c}\n  config: {tiers: [{model: m}], output_dir: null}", nil},
		{"blind-review", "with: {reviewer: w, comparator: c}\n  config: {tiers: {model: m}}", []string{"12:19: warning: blind-review says that `tiers` is of type object[]; it is given as it is"}},
	} {
		d := parsed(t, withInstances("- name: a\n  pattern: "+test.pattern+"\n  "+test.yaml+"\n"))
		problems := CheckInstance(d.Instances[0], standardDocument(t, test.pattern), "timeout")
		var got []string
		for _, p := range problems {
			got = append(got, strings.TrimPrefix(p.String(), "x.md:"))
			if p.Source != d.Line(p.Pos.Line) || p.Source == "" {
				t.Errorf("%v shows %q", p, p.Source)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s, %s\ngot  %s\nwant %s", test.pattern, test.yaml, strings.Join(got, "\n     "), strings.Join(test.want, "\n     "))
		}
	}
	d := parsed(t, withInstances("- name: a\n  pattern: f\n"))
	if got := CheckInstance(d.Instances[0], d).Error(); got != "x.md:10:12: `f` is a function, and has no slots; call it" {
		t.Error(got)
	}
	open := parsed(t, "---\nname: p\nkind: pattern\n---\n\n### Slots\n\n- `w`\n"+steps)
	d = parsed(t, withInstances("- name: a\n  pattern: p\n  with: {w: x}\n  config: {anything: 3}\n"))
	if problems := CheckInstance(d.Instances[0], open); problems != nil {
		t.Error(problems)
	}
}
