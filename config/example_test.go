package config_test

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/diagnostic"
)

// A file that is wrong in two places.
func ExampleParse() {
	data := []byte(`
delegates:
  fast: {openai: {modle: gpt-5-mini}, timeout: 60}
`)
	_, problems := config.Parse("firstgood.yaml", data, config.Kinds())
	if err := problems.Render(os.Stdout, false); err != nil {
		fmt.Println(err)
	}
	// Output:
	// firstgood.yaml:3:19: error: delegates.fast.openai: unknown key "modle"; did you mean "model"?
	//   3 |   fast: {openai: {modle: gpt-5-mini}, timeout: 60}
	//     |                   ^
	// firstgood.yaml:3:48: error: delegates.fast.timeout: got the number 60, want a duration; write 60s
	//   3 |   fast: {openai: {modle: gpt-5-mini}, timeout: 60}
	//     |                                                ^
}

// A kind of delegate that another package decodes.
func ExampleMap() {
	type parrot struct{ Words config.Text }
	kind := config.Kind{Name: "parrot", Doc: "repeats itself", Decode: func(m *config.Map) any {
		return parrot{Words: m.Text("words", "what it says", config.Required)}
	}}
	file, problems := config.Parse("f", []byte("delegates: {polly: {parrot: {words: '${WORD:-hello}'}}}\n"), []config.Kind{kind})
	if len(problems) > 0 {
		fmt.Println(problems)
		return
	}
	words, err := file.Delegates[0].Spec.(parrot).Words.Expand(os.LookupEnv)
	fmt.Println(words, err)
	// Output: hello <nil>
}

// A check that tells where in an expression the fault is.
func ExampleCheck() {
	check := func(c *config.Criterion) error {
		if before, _, found := strings.Cut(c.Expr, "=>"); found {
			return &config.SourceError{Offset: len([]rune(before)), Err: errors.New("there is no operator =>; write >=")}
		}
		return nil
	}
	data := []byte("delegates: {a: {openai: {model: m}}}\n" +
		"patterns: {p: {pattern: fallback-chain, with: {chain: [a]}, config: {acceptance_criteria: {expr: 'len(reply.text) => 5'}}}}\n")
	_, problems := config.Parse("f", data, config.Kinds(), config.Check(check))
	fmt.Println(problems)
	// Output: f:2:115: patterns.p.config.acceptance_criteria.expr: the expression is wrong: there is no operator =>; write >=
}

// A race that is in no file, of delegates that are.
func ExampleFile_Instance() {
	file, _ := config.Parse("f", []byte("delegates: {a: {command: {argv: [./a]}}, b: {command: {argv: [./b]}}}\n"), config.Kinds())
	_, problems := file.Instance("race", "race",
		[]config.Binding{{Origin: "race", Slot: "candidates", Names: []string{"a", "c"}}},
		[]config.Setting{{Origin: "--timeout", Key: "timeout", Value: "20"}})
	fmt.Println(problems)
	// Output:
	// --timeout: got the text "20", want a duration; write 20s
	// race: unknown delegate or pattern "c"; there are a and b
}

func ExampleNearest() {
	fmt.Println(diagnostic.Nearest("baseUrl", []string{"model", "base_url", "system"}))
	// Output: base_url
}
