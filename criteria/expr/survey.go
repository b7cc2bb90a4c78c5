package expr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
)

// sight is a value that an expression looks at, as the way to it from a name, such as reply.json.items[0]. It goes as far
// as it does not depend on other values.
type sight []step

// step is one step of a sight: a name, or an index as an int.
type step struct {
	to any
	at file.Location
}

func (s sight) String() string {
	var b strings.Builder
	for i, step := range s {
		switch to := step.to.(type) {
		case int:
			fmt.Fprintf(&b, "[%d]", to)
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			fmt.Fprint(&b, to)
		}
	}
	return b.String()
}

func (s sight) root() string { return s[0].to.(string) }

// survey returns what an expression looks at, each thing once, in the order in which it is written. Its error is the
// first name in the expression that is not known.
func survey(tree *parser.Tree) ([]sight, error) {
	s := surveyor{sights: map[ast.Node]sight{}, declared: map[string]bool{}}
	ast.Walk(&tree.Node, &s)
	var sights []sight
	for _, found := range s.sights {
		if at, message := unknown(found); !s.declared[found.root()] && !isFunction(found.root()) {
			sights = append(sights, found)
			s.fault(at, message)
		}
	}
	if s.message != "" {
		bound := (&file.Error{Location: s.at}).Bind(tree.Source)
		return nil, &Error{bound.Line, bound.Column + 1, s.message}
	}
	slices.SortFunc(sights, func(a, b sight) int { return cmp.Compare(a[0].at.From, b[0].at.From) })
	var once []sight
	for _, found := range sights {
		if !slices.ContainsFunc(once, func(s sight) bool { return s.String() == found.String() }) {
			once = append(once, found)
		}
	}
	return once, nil
}

// surveyor finds the longest ways from a name.
type surveyor struct {
	sights   map[ast.Node]sight
	declared map[string]bool
	at       file.Location // of the first fault
	message  string        // "" for none
}

func (s *surveyor) fault(at file.Location, message string) {
	if message != "" && (s.message == "" || at.From < s.at.From) {
		s.at, s.message = at, message
	}
}

// Visit implements [ast.Visitor]; a node is visited after what it is made of.
func (s *surveyor) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		s.sights[n] = sight{{n.Value, n.Location()}}
	case *ast.VariableDeclaratorNode:
		s.declared[n.Name] = true
	case *ast.BuiltinNode:
		s.fault(n.Location(), withheld[n.Name])
	case *ast.ChainNode:
		s.lead(n.Node, n)
	case *ast.MemberNode:
		switch property := n.Property.(type) {
		case *ast.StringNode:
			s.lead(n.Node, n, step{property.Value, n.Location()})
		case *ast.IntegerNode:
			s.lead(n.Node, n, step{property.Value, n.Location()})
		}
	}
}

// lead makes the way to one node go on to another.
func (s *surveyor) lead(from, to ast.Node, steps ...step) {
	if path, ok := s.sights[from]; ok {
		delete(s.sights, from)
		s.sights[to] = append(slices.Clip(path), steps...)
	}
}

func isFunction(name string) bool {
	return slices.Contains(builtin.Names, name) && !slices.Contains(known, name)
}

// unknown says what is wrong with a sight and where, "" for nothing. What stands beyond a value that is known is for
// the types to tell, or for the reply.
func unknown(s sight) (file.Location, string) {
	at := ""
	for i, step := range s {
		name, isName := step.to.(string)
		if !isName {
			break // [0] of what is not a value
		}
		inner := name
		if i > 0 {
			inner = at + "." + name
		}
		if slices.Contains(known, inner) {
			return step.at, ""
		}
		if len(under(inner)) == 0 {
			return step.at, noSuch(at, name)
		}
		at = inner
	}
	return s[0].at, fmt.Sprintf("%s is not a value by itself; write %s", at, strings.Join(under(at), ", "))
}

// under returns the known values that begin with at.
func under(at string) []string {
	return slices.DeleteFunc(slices.Clone(known), func(k string) bool { return !strings.HasPrefix(k, at+".") })
}

// noSuch says that there is no name inside at, which is "" for the names at the top.
func noSuch(at, name string) string {
	var names []string // that could stand here
	for _, k := range known {
		rest, ok := k, at == ""
		if !ok {
			rest, ok = strings.CutPrefix(k, at+".")
		}
		if first, _, _ := strings.Cut(rest, "."); ok && !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	if at != "" {
		if near := nearest(name, names); near != "" {
			return fmt.Sprintf("%s has no %q; did you mean %s.%s?", at, name, at, near)
		}
		return fmt.Sprintf("%s has no %q; it has %s", at, name, strings.Join(names, ", "))
	}
	for _, k := range known {
		if strings.HasSuffix(k, "."+name) {
			return fmt.Sprintf("unknown name %q; did you mean %s?", name, k)
		}
	}
	functions := slices.DeleteFunc(slices.Clone(builtin.Names), func(name string) bool { return withheld[name] != "" })
	if near := nearest(name, append(names, functions...)); near != "" {
		return fmt.Sprintf("unknown name %q; did you mean %s?", name, near)
	}
	return fmt.Sprintf("unknown name %q; there are %s and the functions of expr-lang", name, strings.Join(names, ", "))
}

// nearest returns the name that is meant by one with about one slip in three letters, "" for none.
func nearest(name string, names []string) string {
	best, least := "", len(name)/3+1
	for _, n := range names {
		distance := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n))
		if distance < least || distance == 1 && least == 1 && best == "" {
			best, least = n, distance
		}
	}
	return best
}
