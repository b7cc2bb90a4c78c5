package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/firstgood/firstgood/lab"
)

func newLab(t terminal) *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:   "lab",
		Short: "Serve a local provider whose models misbehave on demand",
		Long:  "Serve chat completions on this machine, whole and streamed, by models that misbehave on demand, until\ninterrupted. It needs no key, and prints each request and when its client went away.\n\nModels:\n" + labModels(),
		Example: `  firstgood lab
  firstgood lab --addr 127.0.0.1:9000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := lab.New(lab.Config{Log: func(v lab.Visit) { fmt.Fprintln(t.err, v) }})
			if err != nil {
				return &exit{exitProgram, err}
			}
			if err := server.Start(addr); err != nil {
				return usagef("%w", err)
			}
			fmt.Fprintf(t.out, "the lab listens at %s; in firstgood.yaml:\n\n", server.URL())
			fmt.Fprintf(t.out, "delegates:\n  good:   {openai: {base_url: %q, model: ok}}\n  broken: {openai: {base_url: %q, model: \"500\"}}\n\n", server.URL(), server.URL())
			<-cmd.Context().Done()
			_ = server.Close()
			var cause *interrupted
			if errors.As(context.Cause(cmd.Context()), &cause) {
				return nil // that is how a lab ends
			}
			return &exit{exitProgram, context.Cause(cmd.Context())}
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8181", "the loopback address to listen at; port 0 takes a free one")
	return cmd
}

func labModels() string {
	var b strings.Builder
	var rows [][]string
	for _, behaviour := range lab.Behaviours() {
		rows = append(rows, []string{"  " + behaviour.Form, behaviour.Does})
	}
	printColumns(&b, rows)
	return b.String()
}
