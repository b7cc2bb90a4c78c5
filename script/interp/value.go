package interp

import (
	"errors"
	"strings"
	"sync/atomic"

	"github.com/firstgood/firstgood"
)

// Value is a value of a script. Values are immutable: what a script adds to a list or gives to a key is a new value,
// which shares with the old one whatever it can, so that nothing a script does is seen by who else holds a value. The
// zero Value is null. Values may be used from several goroutines.
type Value struct {
	kind    Kind
	initial bool    // it is the literal that a variable was initialised with; only of what stands in a frame
	num     float64 // of a number; 1 for true
	ref     any     // string, *list, *object, *failure or *Reference; of a number, its text where that is not how num is printed
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of values.
const (
	KindNull     Kind = iota
	KindBool          // true or false
	KindNumber        // a number, as in JSON
	KindText          // a text
	KindList          // a list of values
	KindObject        // keys with values, in an order
	KindError         // what a catch has caught; it has the keys message, kind and delegate
	KindDelegate      // a delegate that can be called
)

func (k Kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "an object", "an error", "a delegate"}[k]
}

// The bounds of a value.
const (
	MaxNesting = 1000     // how deep lists and objects may be nested
	MaxSize    = 64 << 20 // how much room a value may take: about its length as JSON, in bytes
)

var (
	errNesting = errors.New("the value is nested more than 1000 deep")
	errSize    = errors.New("the value takes more than 64 MiB")
)

// Reference is a delegate as a value. As text and as JSON it is its name.
type Reference struct {
	Name  string
	Index int // its place in its list, from 0
	Ref   any // the host's own, handed back with each call; nil for nothing
}

// Field is a key of an object with its value.
type Field struct {
	Key   string
	Value Value
}

type list struct {
	items []Value
	depth int32
	size  int64
	room  *atomic.Int64 // how much of the array behind items is taken; who takes the next place may write it
}

type object struct {
	fields []Field
	index  map[string]int // nil for few keys
	depth  int32
	size   int64
}

type failure struct {
	message  string
	kind     firstgood.Kind
	delegate string
	err      error
}

// Null returns null.
func Null() Value { return Value{} }

// Bool returns a boolean.
func Bool(b bool) Value {
	if b {
		return Value{kind: KindBool, num: 1}
	}
	return Value{kind: KindBool}
}

// Number returns a number. What JSON cannot hold (an infinity, what is no number) is null.
func Number(f float64) Value {
	if f-f != 0 {
		return Value{}
	}
	return Value{kind: KindNumber, num: f}
}

// Text returns a text. What is not UTF-8 in it is replaced.
func Text(s string) Value {
	return Value{kind: KindText, ref: strings.ToValidUTF8(s, "\uFFFD")}
}

func text(s string) Value { return Value{kind: KindText, ref: s} }

// Delegate returns a delegate as a value.
func Delegate(r Reference) Value { return Value{kind: KindDelegate, ref: &r} }

// List returns a list of copies of the values. It fails beyond [MaxNesting] and [MaxSize].
func List(items ...Value) (Value, error) {
	return newList(append(make([]Value, 0, len(items)), items...))
}

// newList makes a list of the slice itself.
func newList(items []Value) (Value, error) {
	l := &list{items: items, depth: 1, size: 2, room: new(atomic.Int64)}
	l.room.Store(int64(len(items)))
	for i := range items {
		items[i].initial = false
		l.depth = max(l.depth, items[i].depth()+1)
		l.size += items[i].size() + 1
	}
	return bounded(Value{kind: KindList, ref: l})
}

// Object returns an object with the keys in this order. Of a key that stands twice the last value counts, at the first
// one's place. It fails beyond [MaxNesting] and [MaxSize].
func Object(fields ...Field) (Value, error) {
	return newObject(append(make([]Field, 0, len(fields)), fields...))
}

// indexed is how many keys an object has before they are found by an index.
const indexed = 16

// newObject makes an object of the slice itself.
func newObject(fields []Field) (Value, error) {
	o := &object{fields: fields[:0], depth: 1, size: 2}
	if len(fields) > indexed {
		o.index = make(map[string]int, len(fields))
	}
	for _, f := range fields {
		f.Value.initial = false
		if at := o.find(f.Key); at >= 0 {
			o.size -= o.fields[at].Value.size()
			o.fields[at].Value = f.Value
		} else {
			if o.index != nil {
				o.index[f.Key] = len(o.fields)
			}
			o.fields = append(o.fields, f)
			o.size += int64(len(f.Key)) + 4
		}
		o.depth = max(o.depth, f.Value.depth()+1)
		o.size += f.Value.size()
	}
	return bounded(Value{kind: KindObject, ref: o})
}

func bounded(v Value) (Value, error) {
	switch {
	case v.depth() > MaxNesting:
		return Value{}, errNesting
	case v.size() > MaxSize:
		return Value{}, errSize
	}
	return v, nil
}

func (v Value) depth() int32 {
	switch v.kind {
	case KindList:
		return v.ref.(*list).depth
	case KindObject:
		return v.ref.(*object).depth
	}
	return 0
}

// size is about the length of v as JSON.
func (v Value) size() int64 {
	switch v.kind {
	case KindText:
		return int64(len(v.ref.(string))) + 2
	case KindList:
		return v.ref.(*list).size
	case KindObject:
		return v.ref.(*object).size
	case KindError:
		return int64(len(v.ref.(*failure).message)) + 2
	case KindDelegate:
		return int64(len(v.ref.(*Reference).Name)) + 2
	}
	return 8
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == KindNull }

// Bool returns the boolean that v is, and false for anything else.
func (v Value) Bool() bool { return v.kind == KindBool && v.num != 0 }

// Number returns the number that v is, and 0 for anything else.
func (v Value) Number() float64 {
	if v.kind != KindNumber {
		return 0
	}
	return v.num
}

// Reference returns the delegate that v is, and whether it is one.
func (v Value) Reference() (Reference, bool) {
	if r, ok := v.ref.(*Reference); ok {
		return *r, true
	}
	return Reference{}, false
}

// Err returns the error that v is, nil for anything else.
func (v Value) Err() error {
	if v.kind != KindError {
		return nil
	}
	return v.ref.(*failure).err
}

// Items returns a copy of the elements of a list, nil for anything else.
func (v Value) Items() []Value {
	if v.kind != KindList {
		return nil
	}
	return append([]Value(nil), v.ref.(*list).items...)
}

// Fields returns a copy of the keys of an object with their values, in order, and nil for anything else.
func (v Value) Fields() []Field {
	if v.kind != KindObject {
		return nil
	}
	return append([]Field(nil), v.ref.(*object).fields...)
}

// Get returns the value of a key of an object, and whether it has it.
func (v Value) Get(key string) (Value, bool) {
	if v.kind != KindObject {
		return Value{}, false
	}
	return v.ref.(*object).get(key)
}

func (o *object) find(key string) int {
	if o.index != nil {
		if i, ok := o.index[key]; ok {
			return i
		}
		return -1
	}
	for i := range o.fields {
		if o.fields[i].Key == key {
			return i
		}
	}
	return -1
}

func (o *object) get(key string) (Value, bool) {
	if i := o.find(key); i >= 0 {
		return o.fields[i].Value, true
	}
	return Value{}, false
}

// with returns a copy of the object with a key set.
func (o *object) with(key string, v Value) (Value, error) {
	fields := make([]Field, len(o.fields), len(o.fields)+1)
	copy(fields, o.fields)
	return newObject(append(fields, Field{key, v}))
}

// with returns a copy of the list with an element set.
func (l *list) with(i int, v Value) (Value, error) {
	items := append(make([]Value, 0, len(l.items)), l.items...)
	items[i] = v
	return newList(items)
}

// push returns a list with one more element. The array is shared with l, where nobody else has added to it; elements
// that a list has are never written again, so that readers of l see nothing of it.
func (l *list) push(v Value) (Value, error) {
	v.initial = false
	n := len(l.items)
	grown := &list{depth: max(l.depth, v.depth()+1), size: l.size + v.size() + 1, room: l.room}
	if n < cap(l.items) && l.room.CompareAndSwap(int64(n), int64(n)+1) {
		grown.items = l.items[:n+1]
		grown.items[n] = v
	} else {
		grown.items = make([]Value, n+1, max(4, 2*n))
		copy(grown.items, l.items)
		grown.items[n] = v
		grown.room = new(atomic.Int64)
		grown.room.Store(int64(n) + 1)
	}
	return bounded(Value{kind: KindList, ref: grown})
}
