package expr

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a reason shows.
const (
	maxShown = 3  // values
	maxQuote = 40 // characters of a text; of a longer one only the length is told
)

// reason says whether the expression is true, and what it looked at.
func (e *evaluation) reason(p *program, holds bool) string {
	said := fmt.Sprintf("%s is %t", p.label, holds)
	if len(p.sights) == 0 {
		return said
	}
	all := e.all()
	var shown []string
	for _, s := range p.sights {
		if len(shown) < maxShown && e.mayHaveSeen(s) {
			shown = append(shown, describe(all, s))
		}
	}
	if len(shown) == 0 {
		return said
	}
	return fmt.Sprintf("%s (%s)", said, strings.Join(shown, ", "))
}

// all returns what an expression can look at, by name.
func (e *evaluation) all() map[string]any {
	view := e.environment().Reply
	return map[string]any{
		"reply": map[string]any{
			"text": e.reply.String(), "json": e.json,
			"finish_reason": view.FinishReason, "refusal": view.Refusal, "tool_calls": view.ToolCalls,
			"usage": map[string]any{"input_tokens": view.Usage.InputTokens, "output_tokens": view.Usage.OutputTokens},
		},
		"brief":    map[string]any{"text": e.brief.String()},
		"duration": e.duration(),
	}
}

// mayHaveSeen reports whether what is in sight was there to be looked at.
func (e *evaluation) mayHaveSeen(s sight) bool {
	if s.root() != "reply" {
		return true
	}
	switch s[1].to {
	case "json":
		return e.asked
	case "text":
		return e.reply.Stream == nil
	}
	return true
}

// describe says what a value is.
func describe(all map[string]any, s sight) string {
	var value any = all
	for _, step := range s {
		var ok bool
		if value, ok = member(value, step.to); !ok {
			return s.String() + " is missing"
		}
	}
	return s.String() + " " + told(value)
}

// member returns a member of a JSON value.
func member(value, step any) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		name, _ := step.(string)
		inner, ok := value[name]
		return inner, ok
	case []any:
		i, ok := step.(int)
		if ok && 0 <= i && i < len(value) {
			return value[i], true
		}
	}
	return nil, false
}

func told(value any) string {
	switch value := value.(type) {
	case string:
		if n := utf8.RuneCountInString(value); n > maxQuote {
			return fmt.Sprintf("has %d characters", n)
		}
		return "is " + strconv.Quote(value)
	case []any:
		return "has " + count(len(value), "element")
	case map[string]any:
		return "has " + count(len(value), "member")
	case nil:
		return "is null"
	case float64:
		return "is " + strconv.FormatFloat(value, 'g', 6, 64)
	case json.Number:
		return fmt.Sprintf("is %.40s", value)
	default:
		return fmt.Sprintf("is %v", value)
	}
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
