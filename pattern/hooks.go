package pattern

import (
	"errors"
	"io"
	"reflect"
	"sync/atomic"

	"github.com/firstgood/firstgood"
)

// What an instance does with replies beyond handing them on: it holds their contexts, discards them and asks what
// they have cost. Most types of reply need none of it, which is found out once.

// traits is what a reply of some type may be able to do. It may be that only some of its values can.
type traits struct{ holds, closes, meters bool }

var (
	holderType = reflect.TypeFor[firstgood.Holder]()
	closerType = reflect.TypeFor[io.Closer]()
	meterType  = reflect.TypeFor[firstgood.Metered]()
)

func traitsOf(t reflect.Type) traits {
	if t.Kind() == reflect.Interface {
		return traits{true, true, true}
	}
	own := traits{t.Implements(holderType), t.Implements(closerType), t.Implements(meterType)}
	if t.Kind() == reflect.Slice && t.Elem() != t { // the replies of a fan-out
		each := traitsOf(t.Elem())
		own.holds, own.closes = own.holds || each.holds, own.closes || each.closes
	}
	return own
}

func (in *Instance[R]) mayHold() bool { return in.cfg.Hold != nil || in.traits.holds }

// hold reports whether reply will call release once, when it is closed.
func (in *Instance[R]) hold(reply R, release func()) bool {
	switch {
	case in.cfg.Hold != nil:
		return in.cfg.Hold(reply, release)
	case in.traits.holds:
		return holdAll(any(reply), release)
	}
	return false
}

// holdAll makes reply hold release. A slice releases when the last of its elements has.
func holdAll(reply any, release func()) bool {
	if holder, ok := reply.(firstgood.Holder); ok {
		return !isNil(holder) && holder.Hold(release)
	}
	v, ok := sliceOf(reply)
	if !ok || !traitsOf(v.Type().Elem()).holds {
		return false
	}
	var open atomic.Int64
	open.Store(1) // this loop's own, so that nothing is released before it ends
	held := false
	for i := range v.Len() {
		open.Add(1)
		if holdAll(v.Index(i).Interface(), func() {
			if open.Add(-1) == 0 {
				release()
			}
		}) {
			held = true
		} else {
			open.Add(-1)
		}
	}
	if open.Add(-1) == 0 && held { // all were closed meanwhile
		release()
	}
	return held
}

// discard frees a reply that is not returned. What that panics with is dropped: it would take the process down from
// a goroutine that nobody waits for.
func (in *Instance[R]) discard(reply R) {
	switch {
	case in.cfg.Discard != nil:
		defer func() { _ = recover() }()
		in.cfg.Discard(reply)
	case in.traits.closes:
		closeAll(any(reply))
	}
}

// discardBeside frees what came beside an error, which is nothing where it is the zero R.
func (in *Instance[R]) discardBeside(reply R) {
	if (in.cfg.Discard != nil || in.traits.closes) && !reflect.ValueOf(&reply).Elem().IsZero() {
		in.discard(reply)
	}
}

func closeAll(reply any) {
	if closer, ok := reply.(io.Closer); ok {
		if !isNil(closer) {
			defer func() { _ = recover() }()
			_ = closer.Close()
		}
		return
	}
	if v, ok := sliceOf(reply); ok && traitsOf(v.Type().Elem()).closes {
		for i := range v.Len() {
			closeAll(v.Index(i).Interface())
		}
	}
}

func sliceOf(reply any) (reflect.Value, bool) {
	v := reflect.ValueOf(reply)
	return v, v.Kind() == reflect.Slice
}

func isNil(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Func, reflect.Chan, reflect.Slice:
		return r.IsNil()
	}
	return false
}

// usage is what an attempt has cost, as its error or its reply says.
func (in *Instance[R]) usage(reply R, err error) firstgood.Usage {
	if err != nil {
		if meter, ok := errors.AsType[meteredError](err); ok {
			return meter.Used()
		}
	}
	if in.traits.meters {
		if meter, ok := any(reply).(firstgood.Metered); ok && !isNil(meter) {
			return meter.Used()
		}
	}
	return firstgood.Usage{}
}

type meteredError interface {
	error
	firstgood.Metered
}
