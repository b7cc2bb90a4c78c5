package schema

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	text "golang.org/x/text/message"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/criteria"
)

// What a reason shows.
const (
	maxFailures = 3   // failures
	maxBranches = 3   // ways in which a value fails the branches of an anyOf or oneOf
	maxListed   = 8   // names or values in a list
	maxMessage  = 200 // units of one failure
	maxGot      = 40  // units of a text in the reply
)

// failure is one thing that is wrong with a value.
type failure struct {
	path    []string
	message string
	types   []string // for a value of a wrong type, the right ones
}

func (f failure) String() string {
	return fmt.Sprintf("at %s: %s", criteria.Pointer(f.path), f.message)
}

// byPlace orders failures by their place: what is outside first, and indexes by their number.
func byPlace(a, b failure) int {
	return cmp.Or(slices.CompareFunc(a.path, b.path, byKey), strings.Compare(a.message, b.message))
}

// byKey orders numbers before names. A key can be either, and "1" is not "01".
func byKey(a, b string) int {
	if a == b {
		return 0
	}
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	switch {
	case errA == nil && errB == nil:
		return cmp.Or(cmp.Compare(i, j), strings.Compare(a, b))
	case errA == nil:
		return -1
	case errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

// reason says why a value does not fit. Its error is that the schema turned out to have no end.
func reason(failed *jsonschema.ValidationError) (string, error) {
	t := teller{}
	failures := t.failures(failed)
	if t.endless != "" {
		return "", errors.New("the schema leads back to itself without end: " + t.endless)
	}
	said := make([]string, 0, maxFailures+1)
	for i, f := range failures {
		if i == maxFailures {
			said = append(said, fmt.Sprintf("and %d more", len(failures)-i))
			break
		}
		said = append(said, f.String())
	}
	return strings.Join(said, "; "), nil
}

type teller struct {
	endless string // where a reference turned out to have no end
}

// failures returns what is at the ends of trees of failures, by place, each once.
func (t *teller) failures(failed ...*jsonschema.ValidationError) []failure {
	var all []failure
	for _, f := range failed {
		all = t.collect(all, f)
	}
	slices.SortFunc(all, byPlace)
	return slices.CompactFunc(all, func(a, b failure) bool { return byPlace(a, b) == 0 })
}

func (t *teller) collect(all []failure, failed *jsonschema.ValidationError) []failure {
	at := failed.InstanceLocation
	switch k := failed.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, inner := range failed.Causes {
			all = t.collect(all, inner)
		}
		return all
	case *kind.RefCycle:
		t.endless = k.KeywordLocation1
		return all
	case *kind.AnyOf:
		return append(all, t.branches("anyOf", failed))
	case *kind.OneOf:
		if len(k.Subschemas) == 0 {
			return append(all, t.branches("oneOf", failed))
		}
		return append(all, failure{path: at, message: fmt.Sprintf("fits %d and %d of oneOf, want one", k.Subschemas[0], k.Subschemas[1])})
	case *kind.PropertyNames:
		said := fmt.Sprintf("the name %s is not allowed", quoted(k.Property))
		if inner := t.failures(failed.Causes...); len(inner) > 0 {
			said += ": " + inner[0].message
		}
		return append(all, failure{path: at, message: said})
	case *kind.Type:
		return append(all, failure{at, message(k), k.Want})
	default:
		return append(all, failure{path: at, message: message(k)})
	}
}

// branches says why a value fits none of several schemas: by its type alone, or by the first failure of each.
func (t *teller) branches(keyword string, failed *jsonschema.ValidationError) failure {
	here := failure{path: failed.InstanceLocation}
	var said, types []string
	byType := true
	for _, branch := range failed.Causes {
		found := t.failures(branch)
		if len(found) == 0 {
			continue
		}
		first := found[0]
		line := first.message
		if len(first.path) > len(here.path) {
			line = first.String()
			byType = false
		}
		byType = byType && first.types != nil
		types = append(types, first.types...)
		if !slices.Contains(said, line) {
			said = append(said, line)
		}
	}
	if byType && len(said) > 0 {
		got, _, _ := strings.Cut(said[0], ", want ")
		slices.Sort(types)
		here.types = slices.Compact(types)
		here.message = got + ", want " + strings.Join(here.types, " or ")
		return here
	}
	if len(said) > maxBranches {
		said = append(said[:maxBranches], "…")
	}
	here.message = fmt.Sprintf("fits none of %s (%s)", keyword, strings.Join(said, " | "))
	return here
}

// message says what is wrong, in not many words whatever the reply holds.
func message(k jsonschema.ErrorKind) string {
	said := ""
	switch k := k.(type) {
	case *kind.Not:
		said = "fits the schema in not"
	case *kind.FalseSchema:
		said = "nothing may stand here"
	case *kind.Required:
		said = "missing " + several(k.Missing)
	case *kind.DependentRequired:
		said = fmt.Sprintf("missing %s, which must be there with %s", several(k.Missing), quoted(k.Prop))
	case *kind.Dependency:
		said = fmt.Sprintf("missing %s, which must be there with %s", several(k.Missing), quoted(k.Prop))
	case *kind.AdditionalProperties:
		said = "unknown " + several(slices.Sorted(slices.Values(k.Properties)))
	case *kind.Const:
		said = fmt.Sprintf("got %s, want %s", shown(k.Got), shown(k.Want))
	case *kind.Enum:
		said = fmt.Sprintf("got %s, want one of %s", shown(k.Got), list(k.Want, shown))
	case *kind.Pattern:
		said = fmt.Sprintf("%s does not match pattern %s", quoted(k.Got), k.Want)
	case *kind.Format:
		said = fmt.Sprintf("%s is not a valid %s: %v", shown(k.Got), k.Want, k.Err)
	case *kind.Contains:
		said = "contains: got 0, want at least 1"
	case *kind.MinContains:
		said = fmt.Sprintf("contains: got %d, want at least %d", len(k.Got), k.Want)
	case *kind.MaxContains:
		said = fmt.Sprintf("contains: got %d, want at most %d", len(k.Got), k.Want)
	case *kind.Type:
		said = fmt.Sprintf("got %s, want %s", k.Got, strings.Join(k.Want, " or "))
	case *kind.MinLength:
		said = fmt.Sprintf("minLength: got %d, want %d", k.Got, k.Want)
	case *kind.MaxLength:
		said = fmt.Sprintf("maxLength: got %d, want %d", k.Got, k.Want)
	case *kind.MinItems:
		said = fmt.Sprintf("minItems: got %d, want %d", k.Got, k.Want)
	case *kind.MaxItems:
		said = fmt.Sprintf("maxItems: got %d, want %d", k.Got, k.Want)
	case *kind.MinProperties:
		said = fmt.Sprintf("minProperties: got %d, want %d", k.Got, k.Want)
	case *kind.MaxProperties:
		said = fmt.Sprintf("maxProperties: got %d, want %d", k.Got, k.Want)
	case *kind.Minimum:
		said = fmt.Sprintf("minimum: got %s, want %s", number(k.Got), number(k.Want))
	case *kind.Maximum:
		said = fmt.Sprintf("maximum: got %s, want %s", number(k.Got), number(k.Want))
	case *kind.ExclusiveMinimum:
		said = fmt.Sprintf("got %s, want more than %s", number(k.Got), number(k.Want))
	case *kind.ExclusiveMaximum:
		said = fmt.Sprintf("got %s, want less than %s", number(k.Got), number(k.Want))
	case *kind.MultipleOf:
		said = fmt.Sprintf("multipleOf: got %s, want a multiple of %s", number(k.Got), number(k.Want))
	default:
		said = k.LocalizedString(text.NewPrinter(language.English))
	}
	said, cut := firstgood.Excerpt(said, maxMessage)
	if cut {
		said += "…"
	}
	return said
}

// number returns a number: in full where that is short, else rounded.
func number(n *big.Rat) string {
	if n.IsInt() && n.Num().BitLen() < 100 {
		return n.Num().String()
	}
	return new(big.Float).SetRat(n).Text('g', 10)
}

// several names properties.
func several(names []string) string {
	if len(names) == 1 {
		return "property " + quoted(names[0])
	}
	return "properties " + list(names, quoted)
}

func list[E any](all []E, show func(E) string) string {
	var said []string
	for i, e := range all {
		if i == maxListed {
			said = append(said, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		said = append(said, show(e))
	}
	return strings.Join(said, ", ")
}

// shown returns the beginning of a JSON value.
func shown(value any) string {
	switch value := value.(type) {
	case string:
		return quoted(value)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	case nil:
		return "null"
	default:
		said, _ := firstgood.Excerpt(fmt.Sprint(value), maxGot)
		return said
	}
}

func quoted(text string) string {
	text, cut := firstgood.Excerpt(text, maxGot)
	if cut {
		text += "…"
	}
	return strconv.Quote(text)
}
