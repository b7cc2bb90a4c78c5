package pattern

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
)

// lessons is the brief of the next attempt of a retry-with-learning: the original text, a blank line, and a section
// that lists every earlier attempt with its reason and its reply, each cut to ExcerptUnits. What never started teaches
// nothing.
func lessons(brief firstgood.Brief, failures []firstgood.Failure) firstgood.Brief {
	failures = slices.DeleteFunc(slices.Clone(failures), func(f firstgood.Failure) bool { return f.Kind == firstgood.KindNoStart })
	if !brief.IsText() || len(failures) == 0 {
		return brief
	}
	var b strings.Builder
	b.WriteString(brief.String())
	b.WriteString("\n\nEarlier attempts at this task failed. Learn from them and do not repeat their mistakes.\n")
	for _, f := range failures {
		reason, _ := firstgood.Excerpt(f.Reason, firstgood.ExcerptUnits)
		fmt.Fprintf(&b, "\nAttempt %d failed (%s): %s\n", f.Index+1, f.Kind, reason)
		if f.Reply != "" {
			fmt.Fprintf(&b, "Its reply was:\n%s\n", f.Reply)
		}
	}
	return brief.WithText(b.String())
}
