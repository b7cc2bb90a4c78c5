package composite

import (
	"reflect"

	"github.com/grafana/sobek"
	"github.com/grafana/sobek/ast"
	"github.com/grafana/sobek/file"
)

// An Error knows where it was made, but a body may throw anything, such as a text. So what it throws goes through a function
// that remembers the place. The name of the function is none that a body can say.
const thrower = " thrower"

// mark is the function.
func (e *engine) mark(thrown sobek.FunctionCall) sobek.Value {
	e.threw = thrown.Argument(0)
	e.threwAt = placeOfFrames(e.Source, e.rt.CaptureCallStack(0, nil))
	return e.threw
}

// markThrows changes every throw of a tree.
func markThrows(tree *ast.Program) {
	marker{}.walk(reflect.ValueOf(tree))
}

// marker holds the nodes that were seen: declarations are in a tree twice.
type marker map[any]bool

func (m marker) walk(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		m.walk(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			m.walk(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			m.walk(v.Field(i))
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type() == reflect.TypeFor[*file.File]() || !v.CanInterface() {
			return
		}
		node := v.Interface()
		if m[node] {
			return
		}
		m[node] = true
		m.walk(v.Elem())
		if throw, ok := node.(*ast.ThrowStatement); ok {
			throw.Argument = &ast.CallExpression{
				Callee:           &ast.Identifier{Name: thrower, Idx: throw.Throw},
				LeftParenthesis:  throw.Throw,
				ArgumentList:     []ast.Expression{throw.Argument},
				RightParenthesis: throw.Argument.Idx1(),
			}
		}
	}
}
