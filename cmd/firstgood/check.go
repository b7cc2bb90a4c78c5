package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/pattern"
)

func newCheck(t terminal) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "check [FILE…]",
		Short: "Validate files and documents, and print what a run may do",
		Long: `Validate each file, ./firstgood.yaml when none is named, and print its plan: for every pattern how many
calls and how much time it takes at most, and what needs a judge. Of a document (a name with / or .md, or
std/…) it prints what it declares, whether its steps run natively or as written, and who decides
each condition. Nothing is run.`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return []string{"yaml", "yml", "md"}, cobra.ShellCompDirectiveFilterFileExt
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = []string{"firstgood.yaml"}
			}
			broken := false
			for i, path := range args {
				f.file = path
				if isDocument(path) && !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".yml") {
					f.file = "firstgood.yaml"
				}
				world, err := f.world()
				if err != nil {
					return err
				}
				if f.file != path {
					if i > 0 {
						fmt.Fprintln(t.out)
					}
					failed, err := checkDocument(t, world, path)
					if err != nil {
						return err
					}
					broken = broken || failed
					continue
				}
				file, problems := config.Load(path, config.Kinds(), world.Extras()...)
				if len(problems) > 0 {
					showProblems(t.err, problems)
				}
				if problems.Failed() {
					broken = true
					continue
				}
				if err := emit(t.out, func(w io.Writer) {
					if i > 0 {
						fmt.Fprintln(w)
					}
					printPlans(w, file)
				}); err != nil {
					return err
				}
				unset(t.err, file)
			}
			if broken {
				return &exit{status: exitUsage}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&f.literal, "literal", false, "look at a document's own text, also where firstgood has the pattern natively")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "refuse documents that leave a condition to a judge")
	return cmd
}

// unset tells of variables that are not set, which matter only to the runs that reach them.
func unset(w io.Writer, file *config.File) {
	var notes config.Problems
	told := map[config.Pos]bool{}
	note := func(problems config.Problems) {
		for _, problem := range problems {
			if !told[problem.Pos] {
				told[problem.Pos] = true
				problem.Severity = config.SeverityNote
				notes = append(notes, problem)
			}
		}
	}
	for _, d := range file.Delegates {
		note(d.Unset(os.LookupEnv))
	}
	for _, in := range file.Instances {
		note(in.Unset(os.LookupEnv))
	}
	if len(notes) > 0 {
		showProblems(w, notes)
	}
}

func printPlans(w io.Writer, file *config.File) {
	fmt.Fprintf(w, "%s: ok, %s and %s\n", file.Path, count(len(file.Delegates), "delegate"), count(len(file.Instances), "pattern"))
	var rows [][]string
	for _, d := range file.Delegates {
		plan := engine.PlanOf(config.Ref{Name: d.Name, Delegate: d})
		rows = append(rows, []string{"  " + d.Name, d.Kind, "timeout " + limit(plan), "effects " + d.Effects})
	}
	if len(rows) > 0 {
		fmt.Fprintln(w, "\ndelegates")
		printColumns(w, rows)
	}
	if len(file.Instances) == 0 {
		return
	}
	fmt.Fprintln(w, "\npatterns")
	plans := engine.Plans(file)
	shown := map[*engine.Plan]bool{}
	for i, in := range file.Instances {
		if i > 0 {
			fmt.Fprintln(w)
		}
		plan := plans[in]
		printPlan(w, plan, "  ", shown)
		fmt.Fprintf(w, "    at most: %s, %s\n", calls(plan), atMost(plan))
	}
}

// printPlan prints what is in a plan. What was printed before in another pattern is not printed again.
func printPlan(w io.Writer, plan *engine.Plan, indent string, shown map[*engine.Plan]bool) {
	what := plan.Pattern
	if what == "" {
		what = plan.Kind
		if plan.Effects != config.EffectsNone {
			what += ", effects " + plan.Effects
		}
	} else if plan.Pattern == pattern.RetryWithLearningName {
		what += fmt.Sprintf(", up to %d attempts", plan.Repeats)
	}
	if plan.Pattern != "" && shown[plan] {
		what += ", as above"
	}
	fmt.Fprintf(w, "%s%s  (%s)\n", indent, plan.Name, what)
	if shown[plan] {
		return
	}
	shown[plan] = plan.Pattern != ""
	for _, member := range plan.Members {
		printPlan(w, member, indent+"  ", shown)
	}
	for _, rule := range plan.Rules {
		fmt.Fprintf(w, "%s  %s\n", indent, rule)
	}
}

func calls(plan *engine.Plan) string {
	if plan.Open {
		return "as many calls as the text makes"
	}
	return count(plan.Calls, "call") + judgeCalls(plan)
}

func judgeCalls(plan *engine.Plan) string {
	if plan.JudgeCalls == 0 {
		return ", no judge"
	}
	return " and " + count(plan.JudgeCalls, "call") + " of a judge"
}

func limit(plan *engine.Plan) string {
	if plan.Time == 0 {
		return "none"
	}
	return plan.Time.String()
}

func atMost(plan *engine.Plan) string {
	switch {
	case plan.Time > 0:
		return plan.Time.String()
	case len(plan.Unbounded) == 0:
		return "no time"
	}
	return "no limit in time (no timeout: " + strings.Join(plan.Unbounded, ", ") + ")"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if n == engine.MostCalls {
		return fmt.Sprintf("over %d %ss", n, what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// screen is how wide a text for people is at most, in columns.
const screen = 80

// printColumns aligns rows of texts. The last column goes on below itself where it is too wide.
func printColumns(w io.Writer, rows [][]string) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row[:len(row)-1] {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		last, at := len(row)-1, 0
		for i, cell := range row[:last] {
			line.WriteString(cell + strings.Repeat(" ", widths[i]-len([]rune(cell))+2))
			at += widths[i] + 2
		}
		line.WriteString(strings.Join(fold(row[last], max(screen-at, 24)), "\n"+strings.Repeat(" ", at)))
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// fold breaks a text into lines of at most so many characters, at white space; a longer word stays whole.
func fold(text string, width int) []string {
	if len([]rune(text)) <= width {
		return []string{text}
	}
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		line := &lines[len(lines)-1]
		switch {
		case *line == "":
			*line = word
		case len([]rune(*line))+1+len([]rune(word)) <= width:
			*line += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// wrap folds the paragraphs of a text to the screen. Lines that begin with white space stay as they are.
func wrap(text string) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, fold(strings.Join(paragraph, " "), screen)...)
			paragraph = nil
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, " ") {
			flush()
			out = append(out, line)
		} else {
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return strings.Join(out, "\n")
}
