package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
	"github.com/firstgood/firstgood/document"
	"github.com/firstgood/firstgood/document/library"
	"github.com/firstgood/firstgood/engine"
)

func newPatterns(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "patterns",
		Short: "List the patterns: slots, config, what each is for",
		Long: `List the patterns that an instance in the file can be of: first those that firstgood has natively, then the
other documents of its library. Each is a document as well: firstgood patterns show NAME prints it, and
firstgood run std/patterns/NAME runs it.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("patterns has no command %q; firstgood patterns show NAME prints a document", args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error { return emit(t.out, printPatterns) },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "show NAME",
		Short: "Print a document of the library",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("patterns show needs one name: firstgood patterns show NAME")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return library.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0][strings.LastIndexByte(args[0], '/')+1:]
			data, ok := library.Read(strings.TrimSuffix(strings.TrimSuffix(name, ".md"), ".prose"))
			if !ok {
				if near := diagnostic.Nearest(name, library.Names()); near != "" {
					return usagef("the library has no document %q; did you mean %q?", args[0], near)
				}
				return usagef("the library has no document %q; it has %s", args[0], strings.Join(library.Names(), ", "))
			}
			return emit(t.out, func(w io.Writer) { _, _ = w.Write(data) })
		},
	})
	return cmd
}

func printPatterns(w io.Writer) {
	for i, p := range config.Patterns() {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", p.Name, p.Doc)
		var rows [][]string
		for _, slot := range p.Slots {
			name := slot.Name
			if slot.List {
				name += " (list)"
			}
			rows = append(rows, []string{"  with", name, slot.Doc})
		}
		for _, key := range p.Keys() {
			rows = append(rows, []string{"  config", key.Name, key.Doc})
		}
		printColumns(w, rows)
	}
	for _, name := range library.Names() {
		if _, native := config.PatternNamed(name); native {
			continue
		}
		data, _ := library.Read(name)
		doc, _ := document.Parse("std/patterns/"+name, data)
		fmt.Fprintf(w, "\n%s: %s\n", name, strings.Join(fold(firstSentence(doc.Description), screen), "\n  "))
		var rows [][]string
		for _, slot := range doc.Slots {
			of := slot.Name
			if slot.List {
				of += " (list)"
			}
			rows = append(rows, []string{"  with", of, firstSentence(slot.Doc)})
		}
		for _, key := range doc.Config {
			rows = append(rows, []string{"  config", key.Name, firstSentence(key.Doc)})
		}
		printColumns(w, rows)
	}
}

// firstSentence is a text up to the end of its first sentence.
func firstSentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if first, _, more := strings.Cut(text, ". "); more {
		return first
	}
	return strings.TrimSuffix(text, ".")
}

// emit writes what print writes, at once. That it could not is the program's failure.
func emit(w io.Writer, print func(io.Writer)) error {
	var text bytes.Buffer
	print(&text)
	if _, err := text.WriteTo(w); err != nil {
		return &exit{exitProgram, fmt.Errorf("cannot print: %w", err)}
	}
	return nil
}

func newSchema(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the file, for editors",
		Long: `Print the JSON Schema (2020-12) of firstgood.yaml. Editors that use the YAML language server take it by a first line

  # yaml-language-server: $schema=./firstgood.schema.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			world, err := engine.NewWorld(engine.WorldConfig{})
			if err != nil {
				return err
			}
			return emit(t.out, func(w io.Writer) {
				fmt.Fprintln(w, strings.TrimRight(string(config.Schema(config.Kinds(), world.Extras()...)), "\n"))
			})
		},
	}
}

func newVersion(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return emit(t.out, func(w io.Writer) {
				fmt.Fprintf(w, "firstgood %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			})
		},
	}
}

// version is that of the module, with the revision where it was built from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(unknown)"
	}
	v := info.Main.Version
	if v != "" && v != "(devel)" {
		return v
	}
	v = "(devel)"
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			v += " " + setting.Value[:12]
		}
	}
	return v
}
