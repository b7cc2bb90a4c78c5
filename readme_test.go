package firstgood_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme_GoExamples runs the Go of README.md as a reader would paste it, one block after the other.
func TestReadme_GoExamples(t *testing.T) {
	data, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var body strings.Builder
	for _, part := range strings.Split(string(data), "```go\n")[1:] {
		block, _, _ := strings.Cut(part, "```\n")
		body.WriteString(block)
	}
	source := `package main

import (
	"context"
	"fmt"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

func askFast(context.Context, string) (string, error)    { return "", nil }
func askCareful(context.Context, string) (string, error) { return "Paris", nil }

func main() { fmt.Println(run(context.Background())) }

func run(ctx context.Context) error {
` + body.String() + `
	fmt.Println(out.Winner)
	return err
}
`
	dir, err := os.MkdirTemp(".", ".readme-") // inside the module, so that it is found
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "main.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", path).CombinedOutput()
	if want := "careful Paris [fast: rejected: the reply is empty]\nfast\n<nil>\n"; err != nil || string(out) != want {
		t.Errorf("got %v and\n%s\nwant\n%s\nof\n%s", err, out, want, source)
	}
}
