package composite

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
)

// The test binary is also the child.
func TestMain(m *testing.M) {
	if IsChild() {
		os.Exit(Child(os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// config is one that runs a body in this binary, and whose calls fail.
func config(body string) Config {
	return Config{
		Source: body, File: "c.md", Line: 10, StateName: "controlState",
		Call: func(context.Context, Call) (string, error) { return "", errors.New("no call is expected") },
		// A program that was built with the race detector else takes a second to exit.
		Env: []string{"GORACE=atexit_sleep_ms=0"},
	}
}

// echo answers with the brief, a text.
func echo(_ context.Context, c Call) (string, error) {
	var brief string
	err := json.Unmarshal(c.Brief, &brief)
	return brief, err
}
