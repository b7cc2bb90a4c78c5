package command

import "strings"

// argument is an element of argv: the texts between which the brief goes.
type argument []string

// parseArgument reads {brief} as the place of the brief and {{brief}} as the word {brief}. Every other brace is
// itself. What can be read either way is read from the left.
func parseArgument(text string) argument {
	const place, word = "{brief}", "{{brief}}"
	var arg argument
	var piece strings.Builder
	for text != "" {
		switch {
		case strings.HasPrefix(text, word):
			piece.WriteString(place)
			text = text[len(word):]
		case strings.HasPrefix(text, place):
			arg = append(arg, piece.String())
			piece.Reset()
			text = text[len(place):]
		default:
			piece.WriteByte(text[0])
			text = text[1:]
		}
	}
	return append(arg, piece.String())
}

func (a argument) takesBrief() bool { return len(a) > 1 }

func (a argument) with(brief string) string { return strings.Join(a, brief) }
