package firstgood_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/firstgood/firstgood/config"
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

// TestDocs_FilesAreValid checks the files that the documents show: the one of README.md, and the parts of docs/file.md
// put together. Criteria that stand alone are put into an instance.
func TestDocs_FilesAreValid(t *testing.T) {
	yaml := regexp.MustCompile("(?s)```yaml\\n(.*?)```")
	criteria := regexp.MustCompile(`(?m)^(failure|acceptance)_criteria: .*$`)
	whole, rules := 0, 0
	for _, path := range []string{"README.md", "docs/file.md"} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var parts strings.Builder
		for _, block := range yaml.FindAllStringSubmatch(string(data), -1) {
			text := block[1]
			switch {
			case strings.Contains(text, "delegates: {}"): // the outline
			case criteria.MatchString(text):
				for _, rule := range criteria.FindAllString(text, -1) {
					rules++
					valid(t, path, "judge: j\ndelegates: {j: {openai: {model: x}}}\npatterns:\n  p:\n    pattern: fallback-chain\n    with: {chain: [j]}\n    config:\n      "+rule+"\n")
				}
			default:
				parts.WriteString(text)
			}
		}
		whole++
		text := parts.String()
		if !strings.Contains(text, "judge:") {
			text = "judge: fast\n" + text
		}
		valid(t, path, text)
	}
	if whole != 2 || rules < 5 {
		t.Errorf("checked %d files and %d rules", whole, rules)
	}
}

func valid(t *testing.T, path, text string) {
	t.Helper()
	if _, problems := config.Parse(path, []byte(text), config.Kinds()); problems.Failed() {
		t.Errorf("%v\nin\n%s", problems, text)
	}
}
