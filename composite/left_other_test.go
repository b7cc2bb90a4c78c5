//go:build !linux

package composite

import "testing"

// left is looked at on Linux alone.
type left struct{}

func look(*testing.T) left { return left{} }

func (left) same(*testing.T) {}
