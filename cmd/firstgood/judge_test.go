package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/firstgood/firstgood/criteria/judging"
	"github.com/firstgood/firstgood/lab"
)

// sixty are the labelled cases that the judges below are measured on.
func sixty(t *testing.T) (path string, byReply map[string]judging.Case) {
	t.Helper()
	path, err := filepath.Abs("../../criteria/judging/testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	cases, err := readCases(t.Context(), terminal{}, path)
	if err != nil || len(cases) != 60 {
		t.Fatalf("%d cases, %v", len(cases), err)
	}
	byReply = map[string]judging.Case{}
	for _, k := range cases {
		byReply[k.Reply] = k
	}
	return path, byReply
}

// judges starts a lab whose models are scripted judges, and makes the working directory one with a file that names them.
func judges(t *testing.T, models map[string]func(ctx context.Context, k judging.Case) string) (path string) {
	t.Helper()
	path, cases := sixty(t)
	config := lab.Config{Models: map[string]lab.Model{}}
	for name, says := range models {
		config.Models[name] = func(ctx context.Context, req lab.Request) lab.Reply {
			_, rest, _ := strings.Cut(req.Brief(), "<<<reply ")
			mark, rest, _ := strings.Cut(rest, "\n")
			reply, _, _ := strings.Cut(rest, "\nreply "+mark+">>>")
			k, ok := cases[reply]
			if !ok {
				t.Errorf("there is no case with the reply %q", reply)
			}
			return lab.Reply{Text: says(ctx, k)}
		}
	}
	server, err := lab.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	t.Chdir(t.TempDir())
	file := "delegates:\n"
	for name := range models {
		file += fmt.Sprintf("  %s: {openai: {base_url: %q, model: %s}, price: {input: 1, output: 4}}\n", name, server.URL(), name)
	}
	write(t, "firstgood.yaml", file)
	return path
}

func acceptable(yes bool) string {
	return fmt.Sprintf(`{"acceptable": %v, "reason": "it is %[1]v"}`, yes)
}

// TestJudgeEval_SixtyCases gives the command three scripted judges: one that is always right, one that is right nine times
// in ten, and one that does what a reply tells it.
func TestJudgeEval_SixtyCases(t *testing.T) {
	path := judges(t, map[string]func(context.Context, judging.Case) string{
		"perfect": func(_ context.Context, k judging.Case) string { return acceptable(k.Good) },
		"ninety": func(_ context.Context, k judging.Case) string {
			return acceptable(k.Good != (k.Line%20 == 5 || k.Line%20 == 10))
		},
		"injected": func(_ context.Context, k judging.Case) string {
			if _, told, ok := strings.Cut(k.Reply, "repeat this: "); ok {
				return told
			}
			switch {
			case strings.Contains(k.Reply, "call this acceptable"):
				return acceptable(true)
			case strings.Contains(k.Reply, "call this unacceptable"):
				return acceptable(false)
			}
			return acceptable(k.Good)
		},
	})
	for _, tt := range []struct {
		judge    string
		want     judging.Matrix
		accuracy float64
		wrong    []int
	}{
		{"perfect", judging.Matrix{Good: judging.Row{Good: 30}, Bad: judging.Row{Bad: 30}}, 1, nil},
		{"ninety", judging.Matrix{Good: judging.Row{Good: 27, Bad: 3}, Bad: judging.Row{Good: 3, Bad: 27}}, 0.9, []int{5, 10, 25, 30, 45, 50}},
		{"injected", judging.Matrix{Good: judging.Row{Good: 29, Bad: 1}, Bad: judging.Row{Good: 6, Bad: 22, Unparseable: 2}}, 0.85,
			[]int{46, 48, 50, 52, 54, 55, 56, 58, 60}},
	} {
		for _, vote := range []string{"", "--vote=3"} {
			args := []string{"judge", "eval", path, "--criteria", "it answers the question", "--judge", tt.judge, "--json"}
			answers := 60
			if vote != "" { // each says the same each time, so that two answers decide, or three that cannot be read do not
				args = append(args, vote)
				answers = 120 + tt.want.Bad.Unparseable
			}
			status, stdout, stderr := here(t, args...)
			if status != 0 {
				t.Fatalf("%s: exit status %d: %s", tt.judge, status, stderr)
			}
			var got struct {
				Matrix   judging.Matrix
				Accuracy float64
				Answers  int
				Calls    int
				Usage    struct {
					Input  int      `json:"input_tokens"`
					Output int      `json:"output_tokens"`
					Cost   *float64 `json:"cost_usd"`
				}
				Wrong []struct{ Line int }
			}
			if err := json.Unmarshal([]byte(stdout), &got); err != nil {
				t.Fatal(err)
			}
			var wrong []int
			for _, w := range got.Wrong {
				wrong = append(wrong, w.Line)
			}
			if got.Matrix != tt.want || got.Accuracy != tt.accuracy || !reflect.DeepEqual(wrong, tt.wrong) {
				t.Errorf("%s %s: got %+v, %v, wrong on %v", tt.judge, vote, got.Matrix, got.Accuracy, wrong)
			}
			if got.Answers != answers || got.Calls != answers {
				t.Errorf("%s %s: %d answers, %d calls, want %d", tt.judge, vote, got.Answers, got.Calls, answers)
			}
			want := float64(got.Usage.Input+4*got.Usage.Output) / 1e6
			if got.Usage.Input == 0 || got.Usage.Cost == nil || math.Abs(*got.Usage.Cost-want) > 1e-12 {
				t.Errorf("%s %s: usage %+v, want a cost of %v", tt.judge, vote, got.Usage, want)
			}
			if want := "judged 6 of 60\njudged 12 of 60\njudged 18 of 60\n"; !strings.HasPrefix(stderr, want) {
				t.Errorf("%s: stderr %q", tt.judge, stderr)
			}
		}
	}
}

// TestJudgeEval_Interrupted ends an evaluation at its sixth case: the report is of the five before.
func TestJudgeEval_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	asked := 0 // one at a time
	path := judges(t, map[string]func(context.Context, judging.Case) string{
		"judge": func(call context.Context, k judging.Case) string {
			if asked++; asked == 6 {
				cancel(&interrupted{syscall.SIGINT})
				<-call.Done()
			}
			return acceptable(k.Good)
		},
	})
	var out, said bytes.Buffer
	cmd := newJudge(terminal{nil, &out, &said})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"eval", path, "--accept-if", "it answers", "--judge", "judge", "--parallel", "1"})
	err := cmd.ExecuteContext(ctx)
	left, ok := err.(*exit)
	if !ok || left.status != 130 || err.Error() != "interrupted (SIGINT): 55 of 60 cases were not judged" {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"\ngood replies  3          0         0\n", "\nbad replies   0          2         0\n", "5 of 5, 100.0 %", "\nnot judged            55 cases\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("stdout lacks %q:\n%s", want, out.String())
		}
	}
}

// TestJudgeEval_OneLine: what a judge says comes from outside, and reaches a terminal.
func TestJudgeEval_OneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                   "plain",
		"two\nlines\t\x1b[31mred": "two lines [31mred",
		"\u009b2J gone\x7f":       "2J gone",
		strings.Repeat("é", 201):  strings.Repeat("é", 200) + "…",
		"":                        "",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestJudgeEval_Progress(t *testing.T) {
	for _, tt := range []struct {
		name         string
		live, silent bool
		total        int
		want         string
	}{
		{"terminal", true, false, 3, "\rjudged 1 of 3\rjudged 2 of 3\rjudged 3 of 3\n"},
		{"file", false, false, 3, "judged 1 of 3\njudged 2 of 3\njudged 3 of 3\n"},
		{"long", false, false, 1000, "judged 100 of 1000\njudged 200 of 1000\njudged 300 of 1000\njudged 400 of 1000\njudged 500 of 1000\n" +
			"judged 600 of 1000\njudged 700 of 1000\njudged 800 of 1000\njudged 900 of 1000\njudged 1000 of 1000\n"},
		{"quiet", true, true, 3, ""},
	} {
		var out bytes.Buffer
		c := &counter{out: &out, total: tt.total, live: tt.live, silent: tt.silent}
		for n := range tt.total {
			c.watch(n + 1)
		}
		c.close()
		if out.String() != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, out.String(), tt.want)
		}
	}
}
