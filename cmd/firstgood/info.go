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
)

func newPatterns(t terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "patterns",
		Short: "List the patterns: slots, config, what each is for",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return emit(t.out, printPatterns) },
	}
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
			return emit(t.out, func(w io.Writer) {
				fmt.Fprintln(w, strings.TrimRight(string(config.Schema(config.Kinds())), "\n"))
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
