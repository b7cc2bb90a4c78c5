package document

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestPrompt(t *testing.T) {
	d := parsed(t, `---
name: critic
kind: function
---

# Critic

Weigh a text.

### Description

Say whether it is good.

### Errors

- `+"`empty`"+`: there is no text

### Strategies

- when in doubt: no

### Notes

For people.

### Parameters

- text: the text

### Returns

- `+"`verdict`"+`: accept or reject
- `+"`issues`"+`: a list
  - each with its line
`)
	got := d.Prompt(
		Given{"text", "  as it is\n\"quoted\" <b>\n"}, Given{"none", nil}, Given{"nothing", ""}, Given{"list", []any{}}, Given{"object", map[string]any{}},
		Given{"null", json.RawMessage("null")}, Given{"raw", json.RawMessage(`{"b":"<","a":1}`)}, Given{"said", json.RawMessage(`"a \"text\""`)},
		Given{"number", 0}, Given{"no", false}, Given{"odd", func() {} == nil}, Given{"items", []any{"a", 1.5, nil}},
	)
	want := `Weigh a text.

Say whether it is good.

## Strategies

- when in doubt: no

## Errors

- ` + "`empty`" + `: there is no text

## text

  as it is
"quoted" <b>


## raw

{"b":"<","a":1}

## said

a "text"

## number

0

## no

false

## odd

false

## items

["a",1.5,null]

## Reply

Reply with one JSON object and nothing else. Its keys:

- "verdict": accept or reject
- "issues": a list
  - each with its line`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if again := d.Prompt(Given{"x", complex(1, 2)}); again != d.Prompt(Given{"x", complex(1, 2)}) {
		t.Error("the prompt is not the same twice")
	}
}

func TestPrompt_Replies(t *testing.T) {
	for _, test := range []struct{ sections, want string }{
		{"", "You are f."},
		{"### Returns\n\n- `message`: a sentence\n", "You are f.\n\n## Reply\n\nReply with message: a sentence\n\nThe reply is that text alone, with nothing before or after it."},
		{"### Ensures\n\n- `message`\n", "You are f.\n\n## Reply\n\nReply with message\n\nThe reply is that text alone, with nothing before or after it."},
		{"### Returns\n\nA poem that rhymes.\n", "You are f.\n\n## Reply\n\nA poem that rhymes."},
		{"### Maintains\n\nA list.\n\n#### part\n\nOne part.\n", "You are f.\n\n## Reply\n\nA list.\n\n#### part\n\nOne part."},
		{"### Goal\n\nPeace.\n\n### Returns\n\n- `a`\n- `b`: c\n", "## Goal\n\nPeace.\n\n## Reply\n\nReply with one JSON object and nothing else. Its keys:\n\n- \"a\"\n- \"b\": c"},
		{"### Execution\n\nThink first.\n", "## Steps\n\nThink first."},
		{"### Execution\n\n```prose\nreturn 1\n```\n", "You are f."},
	} {
		d := parsed(t, "---\nname: f\nkind: function\n---\n\n"+test.sections)
		if got := d.Prompt(); got != test.want {
			t.Errorf("%q\ngot  %q\nwant %q", test.sections, got, test.want)
		}
	}
}

func ExampleDocument_Prompt() {
	d, _ := Parse("translator.prose.md", []byte(`---
name: translator
kind: function
---

Translate what you are given.

### Parameters

- text: what is to be translated
- language: the language to translate into

### Returns

- translation: the text in the other language
`))
	fmt.Println(d.Prompt(Given{"text", "Guten Morgen"}, Given{"language", "English"}))
	// Output:
	// Translate what you are given.
	//
	// ## text
	//
	// Guten Morgen
	//
	// ## language
	//
	// English
	//
	// ## Reply
	//
	// Reply with translation: the text in the other language
	//
	// The reply is that text alone, with nothing before or after it.
}
