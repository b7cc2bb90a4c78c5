package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/script/syntax"
)

func newFormat(t terminal) *cobra.Command {
	var write, list bool
	cmd := &cobra.Command{
		Use:   "fmt FILE…",
		Short: "Format the ProseScript of documents",
		Long: `Print documents with the ProseScript in their fences in its one form: two spaces a level, one space around
signs, comments kept. What stands outside the fences is left as it is. A file whose name does not end in
.md is a script as a whole.`,
		Example: `  firstgood fmt review.prose.md
  firstgood fmt -w *.prose.md`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("fmt needs the files to format: firstgood fmt FILE…")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			type change struct {
				path     string
				old, new []byte
			}
			var changes []change
			var all diagnostic.Problems
			for _, path := range args { // all are read before one is written
				data, err := os.ReadFile(path)
				if err != nil {
					return usagef("cannot read %s: %w", path, err)
				}
				formatted, problems := format(path, data)
				all = append(all, problems...)
				changes = append(changes, change{path, data, formatted})
			}
			if all.Failed() {
				return &exit{exitUsage, all}
			}
			for _, c := range changes {
				same := bytes.Equal(c.old, c.new)
				var err error
				switch {
				case list && !same:
					_, err = fmt.Fprintln(t.out, c.path)
				case !list && !write:
					_, err = t.out.Write(c.new)
				}
				if err == nil && write && !same {
					err = replace(c.path, c.new)
				}
				if err != nil {
					return &exit{exitProgram, fmt.Errorf("cannot write: %w", err)}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&write, "write", "w", false, "write the files instead of printing them")
	cmd.Flags().BoolVarP(&list, "list", "l", false, "print the names of files whose form is another")
	return cmd
}

// format returns a file with its scripts in their one form.
func format(path string, data []byte) ([]byte, diagnostic.Problems) {
	if !strings.HasSuffix(path, ".md") {
		script, problems := syntax.Parse(string(data), diagnostic.Pos{File: path, Line: 1, Column: 1})
		if problems.Failed() {
			return nil, problems
		}
		return []byte(syntax.Print(script)), nil
	}
	doc, problems := document.Parse(path, data)
	if problems.Failed() {
		return nil, problems
	}
	lines := strings.SplitAfter(string(data), "\n")
	ending := "\n"
	if strings.HasSuffix(lines[0], "\r\n") {
		ending = "\r\n"
	}
	all := append([]*document.Document{doc}, doc.Nodes...)
	for i := len(all) - 1; i >= 0; i-- { // from the end, so that lines above keep their numbers
		body := all[i].Body
		if body == nil || body.Language != document.Prose || strings.TrimSpace(body.Source) == "" {
			continue
		}
		script, problems := syntax.Parse(body.Source, body.Pos)
		if problems.Failed() {
			return nil, problems
		}
		indent := strings.Repeat(" ", body.Pos.Column-1)
		var formatted []string
		for _, line := range strings.Split(strings.TrimSuffix(syntax.Print(script), "\n"), "\n") {
			if line != "" {
				line = indent + line
			}
			formatted = append(formatted, line+ending)
		}
		first := body.Pos.Line - 1
		last := first + strings.Count(strings.TrimSuffix(body.Source, "\n"), "\n") + 1
		lines = append(lines[:first:first], append(formatted, lines[last:]...)...)
	}
	return []byte(strings.Join(lines, "")), nil
}
