package diagnostic

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the known name that somebody who wrote name most likely meant, or "" when none is near. It
// overlooks case and the difference between - and _, forgives about one slip in three letters, and takes a whole
// word for the name that begins or ends with it, such as url for base_url. Of equals the first listed wins.
func Nearest(name string, known []string) string {
	folded := fold(name)
	best, least := "", tolerance(folded)+1
	for _, k := range known {
		other := fold(k)
		if gap := len(other) - len(folded); gap > 3*utf8.UTFMax || gap < -3*utf8.UTFMax {
			continue
		}
		distance := levenshtein.ComputeDistance(folded, other)
		if distance == 2 && sameLetters(folded, other) {
			distance = 1 // two letters changed places
		}
		if distance < least {
			best, least = k, distance
		}
	}
	if best != "" || len(folded) < 3 {
		return best
	}
	for _, k := range known {
		other := fold(k)
		if strings.HasPrefix(other, folded+"_") || strings.HasSuffix(other, "_"+folded) ||
			strings.HasPrefix(folded, other+"_") || strings.HasSuffix(folded, "_"+other) {
			return k
		}
	}
	return ""
}

func fold(s string) string { return strings.ReplaceAll(strings.ToLower(s), "-", "_") }

// tolerance is how many slips are forgiven in a name.
func tolerance(name string) int {
	switch n := utf8.RuneCountInString(name); {
	case n <= 1:
		return 0
	case n <= 4:
		return 1
	case n <= 7:
		return 2
	default:
		return 3
	}
}

func sameLetters(a, b string) bool {
	x, y := []rune(a), []rune(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}
