package expr

import (
	"fmt"
	"reflect"
	"strings"

	lang "github.com/expr-lang/expr"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/vm/runtime"

	"github.com/firstgood/firstgood/criteria"
)

// withheld are functions of the language that are not there, with what is said of it. With a hostile reply they make much
// of little, or their name means something else here.
var withheld = map[string]string{
	"repeat":   "repeat is not available here",
	"toJSON":   "toJSON is not available here; look at the members of the value themselves",
	"duration": "duration is a number of seconds and no function; write for example duration < 5",
}

// functions returns what an expression finds changed of the functions of the language: those that could build or do
// without measure what a reply says have a limit, and what fromJSON gives is like reply.json.
func functions() []lang.Option {
	options := []lang.Option{
		limited("replace", func(args []any) error {
			text, old, by := args[0].(string), args[1].(string), args[2].(string)
			count := strings.Count(text, old)
			if len(args) > 3 {
				if most := runtime.ToInt(args[3]); most >= 0 {
					count = min(count, most)
				}
			}
			return room("replace", len(text)+count*max(0, len(by)-len(old)))
		}),
		limited("join", func(args []any) error {
			parts, size := reflect.ValueOf(args[0]), 0
			if parts.Kind() != reflect.Slice || len(args) < 2 {
				return nil
			}
			for i := range parts.Len() {
				part, _ := parts.Index(i).Interface().(string)
				size += len(part)
			}
			return room("join", size+parts.Len()*len(args[1].(string)))
		}),
		limited("uniq", func(args []any) error {
			if list := reflect.ValueOf(args[0]); list.Kind() == reflect.Slice && list.Len() > maxUniq {
				return fmt.Errorf("uniq is given %d elements, want at most %d", list.Len(), maxUniq)
			}
			return nil
		}),
		lang.Function("fromJSON", func(args ...any) (any, error) {
			value, err := criteria.ParseJSON([]byte(args[0].(string)))
			if err != nil {
				return nil, fmt.Errorf("fromJSON: %w", err)
			}
			return counted(value), nil
		}, new(func(string) any)),
	}
	for name := range withheld {
		options = append(options, lang.DisableBuiltin(name))
	}
	return options
}

func room(name string, size int) error {
	if size > maxText {
		return fmt.Errorf("%s would make a text of more than %d bytes", name, maxText)
	}
	return nil
}

// limited returns a function of the language that is asked only when may allows its arguments.
func limited(name string, may func(args []any) error) lang.Option {
	f := *builtin.Builtins[builtin.Index[name]]
	inner := f.Func
	f.Func = func(args ...any) (any, error) {
		if err := may(args); err != nil {
			return nil, err
		}
		return inner(args...)
	}
	return func(c *conf.Config) { c.Functions[name] = &f }
}
