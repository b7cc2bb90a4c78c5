package composite

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/sobek"
)

// rlm is the function of the body. What is wrong with its arguments rejects the promise.
func (e *engine) rlm(arguments sobek.FunctionCall) sobek.Value {
	promise, resolve, reject := e.rt.NewPromise()
	at := placeOfFrames(e.Source, e.rt.CaptureCallStack(0, nil))
	c := call{ID: e.last + 1, At: at}
	err := e.read(arguments, &c)
	size := len(c.Brief) + len(c.Context) + len(c.State)
	switch {
	case err != nil:
	case len(e.flight) == MaxCalls:
		err = fmt.Errorf("rlm: %d calls are in flight, and no more can be; await some of them first", MaxCalls)
	case e.inFlight+size > e.MaxOutput:
		err = fmt.Errorf("rlm: the calls in flight have more than %s; await some of them first", spell(int64(e.MaxOutput)))
	}
	if err == nil {
		e.last = c.ID
		e.flight[c.ID] = inFlight{resolve, reject, at, size}
		e.inFlight += size
		e.say(said{Call: &c})
		return e.rt.ToValue(promise)
	}
	var thrown *sobek.Exception
	var reason sobek.Value
	switch {
	case errors.As(err, &thrown):
		reason = thrown.Value()
	case uncatchable(err):
		panic(err)
	default:
		reason = e.rt.NewTypeError(err.Error())
	}
	if err := reject(reason); err != nil {
		panic(err)
	}
	return e.rt.ToValue(promise)
}

func uncatchable(err error) bool {
	var interrupted *sobek.InterruptedError
	var overflow *sobek.StackOverflowError
	return errors.As(err, &interrupted) || errors.As(err, &overflow)
}

// options are the keys of the third argument.
var options = []string{"use", "model", "compositeState", "controlState"}

// read reads the arguments of rlm.
func (e *engine) read(arguments sobek.FunctionCall, c *call) (err error) {
	if c.Brief, err = e.json(arguments.Argument(0)); err != nil {
		return err
	}
	if c.Context, err = e.json(arguments.Argument(1)); err != nil {
		return err
	}
	third := arguments.Argument(2)
	if absent(third) {
		return nil
	}
	given, ok := third.(*sobek.Object)
	if !ok {
		return fmt.Errorf("rlm: the third argument is an object such as { use: name }, and not %s", third.String())
	}
	for _, key := range given.Keys() {
		value := given.Get(key)
		switch {
		case absent(value):
			continue
		case !slices.Contains(options, key):
			return fmt.Errorf("rlm: there is no option %s; the options are %s", key, strings.Join(options, ", "))
		case key == "use" || key == "model":
			if !sobek.IsString(value) {
				return fmt.Errorf("rlm: the option %s is a name, and not %s", key, e.text(value))
			}
			name := value.String()
			if key == "use" {
				c.Use = &name
			} else {
				c.Model = &name
			}
		case c.State != nil:
			return errors.New("rlm: compositeState and controlState are both given; give one")
		default:
			if c.State, err = e.json(value); err != nil {
				return err
			}
			if !strings.HasPrefix(string(c.State), "{") {
				return fmt.Errorf("rlm: the option %s is an object, and not %s", key, e.text(value))
			}
		}
	}
	return nil
}

func absent(v sobek.Value) bool { return v == nil || sobek.IsUndefined(v) || sobek.IsNull(v) }
