package firstgood

import (
	"bytes"
	"context"
	"reflect"
	"strings"
)

// Verdict is what criteria say of a reply. The zero Verdict accepts it.
type Verdict struct {
	Rejected bool   // the reply is not good
	Fatal    bool   // stop the whole run: nothing else is started and nobody wins
	Reason   string // why it was rejected; a reply rejected without a reason gets a general one
	Detail   string // more than the reason holds, such as the judge's own words
}

// Criteria decide whether a reply is good. They run inside the attempt, after its timeout has been disarmed, so
// that replies are weighed side by side; ctx is the attempt's and ends when the attempt loses. They must not
// close the reply, or read from its stream. A returned error means that nobody could judge: the attempt fails
// with [KindJudgeError], never "accepted". Criteria must be safe for concurrent calls. Nil Criteria accept all.
type Criteria[R any] func(ctx context.Context, brief Brief, reply R) (Verdict, error)

// NonEmpty are criteria that reject a reply that says nothing: white space alone in a string or in bytes, nil, an
// empty list or map, another zero value, or a reply whose method Empty() bool says so.
func NonEmpty[R any](_ context.Context, _ Brief, reply R) (Verdict, error) {
	if isEmpty(any(reply)) {
		return Verdict{Rejected: true, Reason: "the reply is empty"}, nil
	}
	return Verdict{}, nil
}

func isEmpty(reply any) bool {
	if reply == nil {
		return true
	}
	v := reflect.ValueOf(reply)
	if says, ok := reply.(interface{ Empty() bool }); ok {
		return v.Kind() == reflect.Pointer && v.IsNil() || says.Empty()
	}
	switch v.Kind() {
	case reflect.String:
		return strings.TrimSpace(v.String()) == ""
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return len(bytes.TrimSpace(v.Bytes())) == 0
		}
		return v.Len() == 0
	case reflect.Map:
		return v.Len() == 0
	}
	return v.IsZero()
}
