// Package calc is a package with a bug, for agents to mend.
package calc

// Add adds.
func Add(a, b int) int { return a - b }
