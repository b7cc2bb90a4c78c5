package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/cmd/firstgood/live"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/engine"
	"github.com/firstgood/firstgood/pattern"
)

// runFlags are the flags of run, chain and race.
type runFlags struct {
	file      string
	brief     string
	briefFile string
	inputs    []string
	set       []string
	with      []string
	failIf    string
	acceptIf  string
	nonempty  bool
	timeout   time.Duration
	json      bool
	quiet     bool
	literal   bool
	strict    bool
	state     string
	changeFlags

	given func(flag string) bool // whether a flag stands on the command line
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.changeFlags.add(cmd)
	flags := cmd.Flags()
	f.given = flags.Changed
	flags.StringVarP(&f.file, "file", "f", "firstgood.yaml", "the file that names delegates and patterns")
	flags.StringVar(&f.brief, "brief", "", "the brief")
	flags.StringVar(&f.briefFile, "brief-file", "", "a file that holds the brief; - is standard input")
	flags.StringArrayVar(&f.set, "set", nil, "set a key of the pattern's config, as `key=value`; may be repeated")
	flags.DurationVar(&f.timeout, "timeout", 0, "how long the whole run may take, such as 90s")
	flags.BoolVar(&f.json, "json", false, "print the whole outcome as one JSON object")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress on stderr")
	_ = cmd.MarkFlagFilename("file", "yaml", "yml")
	_ = cmd.MarkFlagFilename("brief-file")
}

func newRun(t terminal) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run NAME [BRIEF]",
		Short: "Run a pattern or a delegate of the file",
		Long: `Run an instance or a delegate of the file on a brief. The winner's reply goes to stdout and nothing
else; progress goes to stderr. Without a brief on the command line, piped standard input is the brief.

Exit status: 0 won, 1 no winner, 2 usage or file error (nothing ran), 3 a judge did not answer or
firstgood itself failed, 124 timeout, 130 or 143 interrupted.`,
		Example: `  firstgood run answer "What is the capital of France?"
  git diff | firstgood run review --json
  firstgood run quick "2+2?" --set start_after=200ms --with candidates=a,b`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("run needs the name of a pattern or delegate: firstgood run NAME [BRIEF]")
			case len(args) > 2:
				return usagef("got %d arguments, want NAME and BRIEF; put the brief in quotes", len(args))
			}
			return nil
		},
		ValidArgsFunction: completeNames(&f, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if isDocument(args[0]) {
				return f.runDocument(cmd.Context(), t, args[0], args[1:])
			}
			if flag := f.documentFlag(); flag != "" {
				return usagef("%s is for documents; %s names something in %s", flag, args[0], f.file)
			}
			brief, err := f.theBrief(cmd.Context(), t.in, args[1:])
			if err != nil {
				return err
			}
			file, err := f.loadFile(t)
			if err != nil {
				return err
			}
			ref, err := find(file, args[0])
			if err != nil {
				return err
			}
			if ref, err = f.change(t, file, ref); err != nil {
				return err
			}
			_, err = f.run(cmd.Context(), t, file, ref, brief, nil)
			return err
		},
	}
	f.add(cmd)
	cmd.Flags().StringArrayVar(&f.inputs, "input", nil, "an input by name, as `key=value`; task_brief, brief, input or task is the brief; may be repeated")
	flags := cmd.Flags()
	flags.BoolVar(&f.literal, "literal", false, "run a document's own text, also where firstgood has the pattern natively")
	flags.BoolVar(&f.strict, "strict", false, "refuse a document that leaves a condition to a judge")
	flags.StringVar(&f.state, "state", "", "the `file` of a composite's state, a JSON object, which is read and written back")
	_ = cmd.MarkFlagFilename("state", "json")
	cmd.Flags().StringArrayVar(&f.with, "with", nil, "bind a slot of the pattern, as `slot=a,b`; may be repeated")
	return cmd
}

// documentFlag returns the first flag given that is for documents alone, "" for none.
func (f *runFlags) documentFlag() string {
	for _, name := range []string{"literal", "strict", "state"} {
		if f.given(name) {
			return "--" + name
		}
	}
	return ""
}

// theBrief returns the one brief that was given, with its inputs.
func (f *runFlags) theBrief(ctx context.Context, stdin *os.File, args []string) (firstgood.Brief, error) {
	var brief firstgood.Brief
	inputs, err := f.inputTexts()
	if err != nil {
		return brief, err
	}
	given := ""
	ways := f.ways(args)
	for _, name := range []string{"task_brief", "brief", "input", "task"} {
		if _, ok := inputs[name]; ok {
			given, ways = name, append(ways, "--input "+name)
		}
	}
	if len(ways) > 1 {
		return brief, usagef("the brief is given twice, by %s; keep one", strings.Join(ways, " and by "))
	}
	if given == "" {
		brief, err = f.read(ctx, stdin, args)
	} else if brief = firstgood.Text(inputs[given]); strings.TrimSpace(inputs[given]) == "" {
		err = usagef("there is no brief: --input %s is empty; give it as an argument, by --brief, by --brief-file or on standard input", given)
	}
	if err != nil {
		return brief, err
	}
	for name, value := range inputs {
		if brief, err = brief.With(name, value); err != nil {
			return brief, usagef("--input %s: %w", name, err)
		}
	}
	return brief, nil
}

// inputTexts are the --input flags, by name.
func (f *runFlags) inputTexts() (map[string]string, error) {
	inputs := make(map[string]string, len(f.inputs))
	for _, input := range f.inputs {
		name, value, ok := strings.Cut(input, "=")
		if !ok || name == "" {
			return nil, usagef("--input %s: want key=value", input)
		}
		if _, twice := inputs[name]; twice {
			return nil, usagef("--input %s is given twice; keep one", name)
		}
		inputs[name] = value
	}
	return inputs, nil
}

// ways are those in which the command line gives the brief, but for inputs.
func (f *runFlags) ways(args []string) []string {
	var given []string
	if len(args) > 0 {
		given = append(given, "an argument")
	}
	for _, flag := range []string{"brief", "brief-file"} {
		if f.given(flag) {
			given = append(given, "--"+flag)
		}
	}
	return given
}

// errNoBrief is matched by the error of a brief that is not there, or is empty.
var errNoBrief = errors.New("there is no brief")

// read returns the brief that an argument, --brief, --brief-file or standard input holds.
func (f *runFlags) read(ctx context.Context, stdin *os.File, args []string) (firstgood.Brief, error) {
	var brief firstgood.Brief
	if len(args) > 1 {
		return brief, usagef("got %d arguments for the brief; put it in quotes", len(args))
	}
	given := f.ways(args)
	if len(given) > 1 {
		return brief, usagef("the brief is given twice, by %s; keep one", strings.Join(given, " and by "))
	}
	text := f.brief
	if len(args) == 1 {
		text = args[0]
	}
	source := "the brief"
	switch {
	case f.given("brief-file") && f.briefFile != "-":
		data, err := os.ReadFile(f.briefFile)
		if err != nil {
			return brief, usagef("cannot read the brief: %w", err)
		}
		text, source = string(data), f.briefFile
	case f.briefFile == "-" || len(given) == 0 && stdin != nil && !term.IsTerminal(int(stdin.Fd())):
		data, err := readAll(ctx, stdin)
		if cause, ok := errors.AsType[*interrupted](err); ok {
			return brief, &exit{cause.status(), fmt.Errorf("%w while the brief was read from standard input", cause)}
		}
		if err != nil {
			return brief, usagef("cannot read the brief from standard input: %w", err)
		}
		text, source = string(data), "standard input"
	}
	if strings.TrimSpace(text) == "" {
		if len(given) == 0 && source == "the brief" {
			return brief, usagef("%w; give it as an argument, by --brief, by --brief-file or on standard input", errNoBrief)
		}
		return brief, usagef("%w: %s is empty; give it as an argument, by --brief, by --brief-file or on standard input", errNoBrief, source)
	}
	return firstgood.Text(text), nil
}

// readAll reads to the end, or until ctx is done, and then returns its cause. Who types may end there.
func readAll(ctx context.Context, from io.Reader) ([]byte, error) {
	type reading struct {
		data []byte
		err  error
	}
	done := make(chan reading, 1)
	go func() {
		data, err := io.ReadAll(from)
		done <- reading{data, err}
	}()
	select {
	case r := <-done:
		return r.data, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// loadFile reads the file, with the documents beside it.
func (f *runFlags) loadFile(t terminal) (*config.File, error) {
	world, err := f.world()
	if err != nil {
		return nil, err
	}
	return f.load(t, world)
}

// load reads the file. Its warnings are shown unless -q.
func (f *runFlags) load(t terminal, world *engine.World) (*config.File, error) {
	file, problems := config.Load(f.file, config.Kinds(), world.Extras()...)
	if problems.Failed() {
		if errors.Is(problems, os.ErrNotExist) {
			return nil, usagef("%s: there is no such file; firstgood init writes one, -f names another", f.file)
		}
		return nil, &exit{exitUsage, problems}
	}
	f.say(t, slices.DeleteFunc(problems, func(p config.Problem) bool { return p.Severity == config.SeverityNote })) // check tells those
	return file, nil
}

func (f *runFlags) say(t terminal, problems config.Problems) {
	if len(problems) > 0 && !f.quiet {
		showProblems(t.err, problems)
	}
}

// find looks up a name of the file.
func find(file *config.File, name string) (config.Ref, error) {
	ref, ok := file.Lookup(name)
	if ok {
		return ref, nil
	}
	known := file.Names()
	if near := diagnostic.Nearest(name, known); near != "" {
		return ref, usagef("%s has no delegate or pattern %q; did you mean %q?", file.Path, name, near)
	}
	if len(known) == 0 {
		return ref, usagef("%s has no delegate or pattern %q; it names none", file.Path, name)
	}
	return ref, usagef("%s has no delegate or pattern %q; it has %s", file.Path, name, strings.Join(known, ", "))
}

// settings are what --set and the flags for criteria set in an instance's config.
func (f *runFlags) settings() ([]config.Setting, error) {
	var set []config.Setting
	for _, s := range f.set {
		key, value, ok := strings.Cut(s, "=")
		if !ok || key == "" {
			return nil, usagef("--set %s: want key=value", s)
		}
		set = append(set, config.Setting{Origin: "--set " + key, Key: key, Value: value})
	}
	if f.failIf != "" {
		set = append(set, config.Setting{Origin: "--fail-if", Key: "failure_criteria", Value: f.failIf})
	}
	if f.acceptIf != "" {
		set = append(set, config.Setting{Origin: "--accept-if", Key: "acceptance_criteria", Value: f.acceptIf})
	}
	if f.nonempty {
		set = append(set, config.Setting{Origin: "--nonempty", Key: "nonempty", Value: "true"})
	}
	more, err := f.changeSettings()
	return append(set, more...), err
}

// bindings are the --with flags.
func (f *runFlags) bindings() ([]config.Binding, error) {
	var with []config.Binding
	for _, w := range f.with {
		slot, names, ok := strings.Cut(w, "=")
		if !ok || slot == "" {
			return nil, usagef("--with %s: want slot=name,name", w)
		}
		binding := config.Binding{Origin: "--with " + slot, Slot: slot}
		if names != "" {
			binding.Names = strings.Split(names, ",")
		}
		with = append(with, binding)
	}
	return with, nil
}

// change applies --set and --with to an instance of the file.
func (f *runFlags) change(t terminal, file *config.File, ref config.Ref) (config.Ref, error) {
	set, err := f.settings()
	if err != nil {
		return ref, err
	}
	with, err := f.bindings()
	if err != nil {
		return ref, err
	}
	if len(set)+len(with) == 0 {
		return ref, nil
	}
	if ref.Instance == nil && len(with) == 0 && !f.given("set") { // a delegate whose reply, or change, is weighed
		in, problems := file.Instance(ref.Name, pattern.FallbackChainName, []config.Binding{{Origin: ref.Name, Slot: "chain", Names: []string{ref.Name}}}, set)
		if problems.Failed() {
			return ref, &exit{exitUsage, problems}
		}
		if err := f.checkWork(isolatedIn(config.Ref{Instance: in})); err != nil {
			return ref, err
		}
		f.say(t, problems)
		return config.Ref{Name: ref.Name, Pos: ref.Pos, Instance: in}, nil
	}
	if ref.Instance == nil {
		return ref, usagef("%s is a delegate; --set and --with are for patterns", ref.Name)
	}
	in, problems := file.Change(ref.Instance, with, set)
	if problems.Failed() {
		return ref, &exit{exitUsage, problems}
	}
	if err := f.checkWork(isolatedIn(config.Ref{Instance: in})); err != nil {
		return ref, err
	}
	f.say(t, problems)
	ref.Instance = in
	return ref, nil
}

// run binds what ref names, runs it and prints the outcome. State is what a composite begins with, or nil. The result is
// nil where nothing ran.
func (f *runFlags) run(ctx context.Context, t terminal, file *config.File, ref config.Ref, brief firstgood.Brief, state json.RawMessage) (*engine.Result, error) {
	if f.timeout < 0 || f.timeout == 0 && f.given("timeout") {
		return nil, usagef("--timeout %v: want a positive time, such as 90s", f.timeout)
	}
	if err := f.checkWork(isolatedIn(ref)); err != nil {
		return nil, err
	}
	made, err := engine.New(engine.Config{File: file, Work: f.work(), Warn: func(p config.Problem) { f.say(t, config.Problems{p}) }})
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	bound, err := made.Bind(ref, f.timeout)
	if err != nil {
		return nil, &exit{exitUsage, err}
	}
	bound.State = state
	if err := bound.Ready(brief); err != nil {
		return nil, &exit{exitUsage, err}
	}
	if err := bound.Prepare(ctx); err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return nil, &exit{statusOf(cause), cause}
		}
		return nil, &exit{exitUsage, err}
	}
	defer closePlaces(t, bound)
	change := application{dir: f.dir}
	if ref.Instance != nil {
		change.how = ref.Instance.Config.Apply
	}
	f.say(t, bound.Warnings)
	var view progress = silent{}
	if !f.quiet {
		view = newProgress(t.err, bound.Plan)
	}
	result := bound.Run(ctx, brief, view.Watch)
	view.Close()
	change.apply(ctx, bound, result, brief)
	err = f.print(t, result)
	if err == nil && !f.quiet {
		if isTerminal(t.err) {
			reasons(t.err, result) // the view had to cut them
		}
		change.tell(t.err, result)
	}
	drain(bound)
	if err != nil {
		return result, &exit{exitProgram, fmt.Errorf("cannot print the outcome: %w", err)}
	}
	return result, finish(result, f.quiet)
}

// reasons tells why each delegate failed, where nobody won and the headline does not say it.
func reasons(w io.Writer, result *engine.Result) {
	if result.Err == nil || len(result.Outcome.History) < 2 {
		return
	}
	for _, f := range result.Outcome.History {
		fmt.Fprintf(w, "  %s\n", live.Clean(f.String()))
	}
}

// print writes the outcome to stdout: the winner's reply, or everything as JSON.
func (f *runFlags) print(t terminal, result *engine.Result) error {
	if f.json {
		data, err := result.MarshalJSON()
		if err == nil {
			_, err = t.out.Write(append(data, '\n'))
		}
		return err
	}
	if result.Outcome.Status != firstgood.StatusWon {
		return nil
	}
	reply := result.Outcome.Result
	if reply.Stream != nil {
		_, err := io.Copy(t.out, reply.Stream)
		return errors.Join(err, reply.Close())
	}
	text := reply.String()
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(t.out, text)
	return err
}

// drain gives losers their grace.
func drain(bound *engine.Bound) {
	ctx, cancel := context.WithTimeout(context.Background(), bound.Grace()+2*time.Second)
	defer cancel()
	_ = bound.Drain(ctx)
}

// finish turns a result into the command's error.
func finish(result *engine.Result, quiet bool) error {
	if result.ApplyError != nil {
		return &exit{statusOf(result.ApplyError), result.ApplyError}
	}
	if result.Err == nil {
		return nil
	}
	status := exitOf[result.Outcome.Status]
	var cause *interrupted
	if errors.As(result.Err, &cause) {
		status = cause.status()
	}
	if quiet {
		return &exit{status, result.Err}
	}
	return &exit{status, errors.New(headline(result))} // the progress has told the rest
}

// headline says in a few words how a run without a winner ended.
func headline(result *engine.Result) string {
	var e *firstgood.NoWinnerError
	if !errors.As(result.Err, &e) {
		return result.Err.Error()
	}
	out := result.Outcome
	switch out.Status {
	case firstgood.StatusExhausted:
		switch {
		case len(out.History) == 0:
			return fmt.Sprintf("%s: no winner: there was no delegate to try", result.Name)
		case len(out.History) == 1:
			return fmt.Sprintf("%s: no winner: %s", result.Name, out.History[0])
		}
		return fmt.Sprintf("%s: no winner: all %d failed", result.Name, len(out.History))
	case firstgood.StatusJudgeError:
		return fmt.Sprintf("%s: no winner, and a reply could not be judged%s", result.Name, because(out.History, func(f firstgood.Failure) bool { return f.Kind == firstgood.KindJudgeError }))
	case firstgood.StatusStopped:
		return fmt.Sprintf("%s: stopped without a winner%s", result.Name, because(out.History, func(firstgood.Failure) bool { return true }))
	default:
		return fmt.Sprintf("%s: no winner: %v", result.Name, e.Cause)
	}
}

// because names the last failure of a kind.
func because(history []firstgood.Failure, kind func(firstgood.Failure) bool) string {
	for _, f := range slices.Backward(history) {
		if kind(f) {
			return ": " + f.String()
		}
	}
	return ""
}

// completeNames completes the names of the file in the first most arguments; -1 is all of them.
func completeNames(f *runFlags, most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		world, err := f.world()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		file, _ := config.Load(f.file, config.Kinds(), world.Extras()...)
		if file == nil || most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return file.Names(), cobra.ShellCompDirectiveNoFileComp
	}
}
