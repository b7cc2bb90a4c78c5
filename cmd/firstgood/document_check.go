package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/engine"
)

// checkDocument reads a document and everything that it leads to, and prints what it says.
func checkDocument(t terminal, world *engine.World, name string) (failed bool, err error) {
	doc, problems := world.Open(name)
	if doc != nil {
		problems = append(problems, world.Check(doc)...)
	}
	if len(problems) > 0 {
		showProblems(t.err, problems)
	}
	if problems.Failed() {
		return true, nil
	}
	return false, emit(t.out, func(w io.Writer) { printDocument(w, world, doc) })
}

func printDocument(w io.Writer, world *engine.World, doc *document.Document) {
	fmt.Fprintf(w, "%s: ok, %s\n", doc.Path, withArticle(string(doc.Kind)))
	describeDocument(w, world, doc, "  ")
	for _, in := range doc.Instances {
		fmt.Fprintf(w, "\n  %s: an instance of %s\n", in.Name, in.Pattern)
	}
	for _, node := range doc.Nodes {
		if node.Kind == document.Function {
			fmt.Fprintf(w, "\n  %s: a function\n", node.Name)
			describeDocument(w, world, node, "    ")
		}
	}
}

func withArticle(noun string) string { return "a " + noun }

func describeDocument(w io.Writer, world *engine.World, doc *document.Document, indent string) {
	var rows [][]string
	row := func(what, text string) {
		if text != "" {
			rows = append(rows, []string{indent + what, text})
		}
	}
	var slots, inputs, settings, returns []string
	for _, s := range doc.Slots {
		name := s.Name
		if s.List {
			name += " (list)"
		}
		slots = append(slots, name)
	}
	for _, in := range doc.Inputs {
		name := in.Name
		if in.Optional || in.Implicit || doc.Default(in.Name) != nil {
			name += " (optional)"
		}
		inputs = append(inputs, name)
	}
	for _, s := range doc.Config {
		name := s.Name
		switch {
		case string(s.Default) == "null":
			name += " (none)"
		case s.Default != nil:
			name += fmt.Sprintf(" (%s)", s.Default)
		}
		settings = append(settings, name)
	}
	for _, f := range doc.Returns {
		returns = append(returns, f.Name)
	}
	row("slots", strings.Join(slots, ", "))
	row("inputs", strings.Join(inputs, ", "))
	row("config", strings.Join(settings, ", "))
	row("returns", strings.Join(returns, ", "))
	program := world.Program(doc)
	switch native := world.Native(doc); {
	case native != "":
		row("runs", fmt.Sprintf("natively, as %s: these are its known steps (--literal runs the text)", native))
	case doc.Body == nil:
		row("runs", "as a prompt, by the file's model")
	case doc.Body.Language == document.JavaScript:
		row("runs", "as written: JavaScript, in a process of its own")
	default:
		row("runs", "as written")
	}
	if program == nil {
		printColumns(w, rows)
		return
	}
	for i, c := range program.Plan.Conditions {
		what := "conditions"
		if i > 0 {
			what = ""
		}
		needs := "needs a judge " + c.Need.String()
		if c.Need == 0 {
			needs = "needs no judge"
		}
		row(what, fmt.Sprintf("line %d: %s (%s; %s)", c.Pos.Line, c.Text, c.Class, needs))
	}
	for i, p := range program.Plan.Phrases {
		what := "counts"
		if i > 0 {
			what = ""
		}
		how := "worked out"
		if !p.Known {
			how = "stays a text"
		}
		row(what, fmt.Sprintf("line %d: %q (%s)", p.Pos.Line, p.Text, how))
	}
	printColumns(w, rows)
}
