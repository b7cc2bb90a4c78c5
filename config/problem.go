package config

import (
	"strings"

	"github.com/firstgood/firstgood/diagnostic"
)

// Pos, Severity, Problem and Problems are those of all files of the user.
type (
	Pos      = diagnostic.Pos
	Severity = diagnostic.Severity
	Problem  = diagnostic.Problem
	Problems = diagnostic.Problems
)

// The severities. Only an error makes a file unusable.
const (
	SeverityError   = diagnostic.SeverityError
	SeverityWarning = diagnostic.SeverityWarning
	SeverityNote    = diagnostic.SeverityNote
)

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }
