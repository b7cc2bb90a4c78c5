package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria/judging"
)

// evaluation is a report with what it is about.
type evaluation struct {
	path   string
	rules  []string
	judges []string
	report judging.Report
	bill   *bill
}

// printText writes the report for people.
func (e *evaluation) printText(out io.Writer) error {
	var b strings.Builder
	r := e.report
	fmt.Fprintf(&b, "%s, weighed by %s\n", count(r.Cases, "case"), strings.Join(e.judges, ", "))
	for _, rule := range e.rules {
		fmt.Fprintf(&b, "  %s\n", rule)
	}
	fmt.Fprintln(&b)
	e.printMatrix(&b, r.Matrix)
	fmt.Fprintln(&b)
	low, high := r.Matrix.Accuracy().Interval()
	accuracy := r.Matrix.Accuracy().String()
	if r.Matrix.Total() > 0 {
		accuracy += fmt.Sprintf("  (95 %% confidence: %.1f to %.1f %%)", 100*low, 100*high)
	}
	rows := [][]string{
		{"accuracy", accuracy},
		{"catching bad replies", "precision " + r.Matrix.PrecisionBad().String(), "recall " + r.Matrix.RecallBad().String()},
		{"passing good replies", "precision " + r.Matrix.PrecisionGood().String(), "recall " + r.Matrix.RecallGood().String()},
		{"unparseable answers", r.UnparseableShare().String()},
		{"judge errors", count(len(r.Failed), "case")},
	}
	if n := r.Unjudged(); n > 0 {
		rows = append(rows, []string{"not judged", count(n, "case")})
	}
	rows = append(rows,
		[]string{"calls", fmt.Sprint(r.Calls)},
		[]string{"tokens", fmt.Sprintf("%d in, %d out (%s)", r.Usage.InputTokens, r.Usage.OutputTokens, sourceOf(r.Usage))},
		[]string{"cost", e.bill.String()})
	printParagraphs(&b, rows)
	if r.Vote > 0 {
		fmt.Fprintf(&b, "\nvotes, until one side leads by two, %d answers at most\n", r.Vote)
		printParagraphs(&b, [][]string{
			{"  answers a case", fmt.Sprintf("%.2f, the mean", r.MeanAnswers())},
			{"  votes with their case's majority", r.Agreement().String()},
			{"  accuracy of the first answers alone", r.First.Accuracy().String()},
		})
	}
	if len(r.Wrong) > 0 {
		fmt.Fprintln(&b, "\nwrong")
		var wrong [][]string
		for _, w := range r.Wrong {
			row := []string{fmt.Sprintf("  %s:%d", e.path, w.Case.Line), "is " + string(labelOf(w.Case.Good)), "said " + string(w.Said)}
			if r.Vote > 0 {
				row = append(row, fmt.Sprintf("%d:%d", w.Votes.Good, w.Votes.Bad))
			}
			wrong = append(wrong, append(row, oneLine(w.Reason)))
		}
		printColumns(&b, wrong)
	}
	if len(r.Failed) > 0 {
		fmt.Fprintln(&b, "\nno answer")
		var failed [][]string
		for _, w := range r.Failed {
			failed = append(failed, []string{fmt.Sprintf("  %s:%d", e.path, w.Case.Line), oneLine(w.Err.Error())})
		}
		printColumns(&b, failed)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (e *evaluation) printMatrix(b *strings.Builder, m judging.Matrix) {
	head := []string{"", "said good", "said bad", "unparseable"}
	rows := [][]string{matrixRow("good replies", m.Good), matrixRow("bad replies", m.Bad)}
	if e.report.Vote > 0 {
		head = append(head, "undecided")
		rows[0] = append(rows[0], fmt.Sprint(m.Good.Undecided))
		rows[1] = append(rows[1], fmt.Sprint(m.Bad.Undecided))
	}
	printColumns(b, append([][]string{head}, rows...))
}

func matrixRow(name string, r judging.Row) []string {
	return []string{name, fmt.Sprint(r.Good), fmt.Sprint(r.Bad), fmt.Sprint(r.Unparseable)}
}

// printParagraphs aligns the first column alone.
func printParagraphs(b *strings.Builder, rows [][]string) {
	var joined [][]string
	for _, row := range rows {
		joined = append(joined, []string{row[0], strings.Join(row[1:], "; ")})
	}
	printColumns(b, joined)
}

// oneLine returns what a judge said so that it can neither break the line nor steer a terminal.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F || 0x80 <= r && r < 0xA0 {
			return ' '
		}
		return r
	}, text)
	text, cut := firstgood.Excerpt(strings.Join(strings.Fields(text), " "), 200)
	if cut {
		text += "…"
	}
	return text
}

func labelOf(good bool) judging.Said {
	if good {
		return judging.Good
	}
	return judging.Bad
}

func sourceOf(u firstgood.Usage) firstgood.Source {
	if u.Source == "" {
		return firstgood.SourceUnknown
	}
	return u.Source
}

// evaluationDocument is what --json prints. Every field is always there, and no list is null. A share of nothing is null.
type evaluationDocument struct {
	Schema      int             `json:"schema"`
	Judges      []string        `json:"judges"`
	Rules       []string        `json:"rules"`
	Interrupted bool            `json:"interrupted"`
	Cases       int             `json:"cases"`
	Judged      int             `json:"judged"`
	Unjudged    int             `json:"unjudged"`
	Matrix      judging.Matrix  `json:"matrix"`
	Accuracy    judging.Share   `json:"accuracy"`
	Interval    []float64       `json:"accuracy_95"`
	Bad         sharesDocument  `json:"bad"`
	Good        sharesDocument  `json:"good"`
	Unparseable judging.Share   `json:"unparseable_share"`
	Answers     int             `json:"answers"`
	Calls       int             `json:"calls"`
	Usage       usageDocument   `json:"usage"`
	Vote        *voteDocument   `json:"vote"`
	Wrong       []wrongDocument `json:"wrong"`
	Errors      []errorDocument `json:"judge_errors"`
}

type usageDocument struct {
	firstgood.Usage
	Cost *float64 `json:"cost_usd"` // of what has a price, null where nothing has
}

type sharesDocument struct {
	Precision judging.Share `json:"precision"`
	Recall    judging.Share `json:"recall"`
}

type voteDocument struct {
	Most          int            `json:"most"`
	MeanAnswers   float64        `json:"mean_answers"`
	Agreement     judging.Share  `json:"agreement"`
	First         judging.Matrix `json:"first_answers"`
	FirstAccuracy judging.Share  `json:"first_accuracy"`
}

type wrongDocument struct {
	Line     int           `json:"line"`
	Expected judging.Said  `json:"expected"`
	Said     judging.Said  `json:"said"`
	Reason   string        `json:"reason"`
	Votes    judging.Votes `json:"votes"`
}

type errorDocument struct {
	Line   int    `json:"line"`
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
}

func (e *evaluation) printJSON(out io.Writer, interrupted bool) error {
	r := e.report
	low, high := r.Matrix.Accuracy().Interval()
	doc := evaluationDocument{
		Schema: 1, Judges: e.judges, Rules: e.rules, Interrupted: interrupted,
		Cases: r.Cases, Judged: r.Matrix.Total(), Unjudged: r.Unjudged(),
		Matrix: r.Matrix, Accuracy: r.Matrix.Accuracy(), Interval: []float64{low, high},
		Bad:         sharesDocument{r.Matrix.PrecisionBad(), r.Matrix.RecallBad()},
		Good:        sharesDocument{r.Matrix.PrecisionGood(), r.Matrix.RecallGood()},
		Unparseable: r.UnparseableShare(), Answers: r.Answers, Calls: r.Calls,
		Usage: usageDocument{Usage: r.Usage},
		Wrong: []wrongDocument{}, Errors: []errorDocument{},
	}
	doc.Usage.Source = sourceOf(r.Usage)
	if e.bill.priced {
		doc.Usage.Cost = &e.bill.dollars
	}
	if r.Vote > 0 {
		doc.Vote = &voteDocument{r.Vote, r.MeanAnswers(), r.Agreement(), r.First, r.First.Accuracy()}
	}
	for _, w := range r.Wrong {
		doc.Wrong = append(doc.Wrong, wrongDocument{w.Case.Line, labelOf(w.Case.Good), w.Said, w.Reason, w.Votes})
	}
	for _, w := range r.Failed {
		failure := firstgood.FailureOf("", 0, w.Err)
		doc.Errors = append(doc.Errors, errorDocument{w.Case.Line, string(failure.Kind), failure.Reason})
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(doc)
}

// String tells the cost to people.
func (b *bill) String() string {
	without := ""
	if len(b.unpriced) > 0 {
		without = fmt.Sprintf("%s without a price in the file", strings.Join(b.unpriced, ", "))
	}
	switch {
	case b.priced && without == "":
		return fmt.Sprintf("%.6f US dollars", b.dollars)
	case b.priced:
		return fmt.Sprintf("%.6f US dollars and more: %s", b.dollars, without)
	case without == "":
		return "nothing was called"
	}
	return "unknown: " + without
}
