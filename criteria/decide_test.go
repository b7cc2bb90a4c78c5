package criteria

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/firstgood/firstgood"
)

func TestDecide(t *testing.T) {
	var asked string
	says := func(answer string, err error) firstgood.Delegate[firstgood.Reply] {
		return firstgood.Func("careful", func(_ context.Context, b firstgood.Brief) (firstgood.Reply, error) {
			asked = b.String()
			return firstgood.Reply{Text: answer}, err
		})
	}
	long := strings.Repeat("x", 3000)
	values := []Named{{"draft", firstgood.Reply{Text: `{"holds": false}`}}, {"review", firstgood.Reply{JSON: []byte(`{"issues":[]}`)}}, {"log", firstgood.Reply{Text: long}}}
	got, err := Decide(t.Context(), says(`Sure. {"holds": true, "reason": "it does"}`, nil), "the draft is ready", values)
	if !got || err != nil {
		t.Errorf("got %t, %v", got, err)
	}
	for _, want := range []string{`Condition: "the draft is ready"`, "draft:\n<<<value ", `{"issues":[]}`, "log, of which only the first 2000 characters are shown", strings.Repeat("x", 2000) + "\n"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the judge was not shown %q:\n%s", want, asked)
		}
	}
	if strings.Contains(asked, strings.Repeat("x", 2001)) {
		t.Error("the judge was shown too much")
	}
	if got, err := Decide(t.Context(), says(`{"holds": "no"}`, nil), "it rains", nil); got || err != nil {
		t.Errorf("no: got %t, %v", got, err)
	}
	down := errors.New("down")
	for _, test := range []struct {
		by       firstgood.Delegate[firstgood.Reply]
		sentence string
		want     string
	}{
		{says("I think so.", nil), "it rains", "judge careful: it gave no answer that could be read"},
		{says(`{"holds": false}`, nil), "the draft is ready", "judge careful: it gave no answer that could be read"}, // only what it was shown
		{says("", down), "it rains", "judge careful: down"},
		{nil, "it rains", "there is no judge"},
		{says("", nil), "  ", "blank"},
	} {
		if got, err := Decide(t.Context(), test.by, test.sentence, values); got || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %t, %v, want %s", test.sentence, got, err, test.want)
		}
	}
	if _, err := Decide(t.Context(), says("", down), "it rains", nil); !errors.Is(err, down) {
		t.Errorf("the judge's error is lost: %v", err)
	}
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(stopped)
	if _, err := Decide(ctx, says(`{"holds": true}`, nil), "it rains", nil); !errors.Is(err, stopped) {
		t.Errorf("the cause is lost: %v", err)
	}
}
