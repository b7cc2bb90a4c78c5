package command

import (
	"slices"
	"strings"
	"testing"
)

var argumentTests = []struct {
	text string
	want argument
}{
	{"", argument{""}},
	{"plain", argument{"plain"}},
	{"{brief}", argument{"", ""}},
	{"a{brief}b{brief}", argument{"a", "b", ""}},
	{"{{brief}}", argument{"{brief}"}},
	{"{{brief}}{brief}", argument{"{brief}", ""}},
	{"{{brief}", argument{"{", ""}},
	{"{brief}}", argument{"", "}"}},
	{"{{{brief}}}", argument{"{{brief}}"}},
	{"{ brief } {BRIEF} {brie {", argument{"{ brief } {BRIEF} {brie {"}},
}

func TestParseArgument(t *testing.T) {
	for _, test := range argumentTests {
		if got := parseArgument(test.text); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, got, test.want)
		}
	}
}

func FuzzParseArgument(f *testing.F) {
	for _, test := range argumentTests {
		f.Add(test.text, "a {brief}")
	}
	f.Fuzz(func(t *testing.T, text, brief string) {
		arg := parseArgument(text)
		// With the place's own words as the brief, only the escapes are undone.
		if got, want := arg.with("{brief}"), strings.ReplaceAll(text, "{{brief}}", "{brief}"); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		// Every text can be written literally.
		literal := parseArgument(strings.ReplaceAll(text, "{brief}", "{{brief}}"))
		if literal.takesBrief() || literal.with(brief) != text {
			t.Errorf("%q, escaped: got %q", text, literal)
		}
	})
}
