package firstgood

import (
	"math"
	"slices"
	"testing"
)

func TestS28_ABriefCannotBeChangedByWhoHoldsIt(t *testing.T) {
	body := []byte(`{"q":1}`)
	value := map[string]any{"n": 1}
	brief, err := Raw("application/json", body).With("v", value)
	if err != nil {
		t.Fatal(err)
	}
	body[0], value["n"] = 'X', 2 // what it was made of
	clear(brief.Bytes())         // what it gives
	input, _ := brief.Input("v")
	clear(input)
	clear(brief.Inputs())
	brief.WithText("else")
	if _, err := brief.With("v", 3); err != nil {
		t.Fatal(err)
	}
	if _, err := brief.With("w", 3); err != nil {
		t.Fatal(err)
	}
	if got := brief.String(); got != `{"q":1}` {
		t.Errorf("got body %s", got)
	}
	if got, ok := brief.Input("v"); !ok || string(got) != `{"n":1}` {
		t.Errorf("got input %s, %v", got, ok)
	}
	if got := brief.Inputs(); !slices.Equal(got, []string{"v"}) {
		t.Errorf("got inputs %v", got)
	}
}

func TestBriefWith(t *testing.T) {
	brief := Text("q")
	for _, in := range []struct {
		name  string
		value any
	}{{"b", 1}, {"a", "x"}, {"c", nil}, {"b", []int{2}}, {"", true}} {
		next, err := brief.With(in.name, in.value)
		if err != nil {
			t.Fatal(err)
		}
		brief = next
	}
	if got := brief.Inputs(); !slices.Equal(got, []string{"", "a", "b", "c"}) {
		t.Errorf("got inputs %q, want them sorted, each once", got)
	}
	for name, want := range map[string]string{"": "true", "a": `"x"`, "b": "[2]", "c": "null"} {
		if got, ok := brief.Input(name); !ok || string(got) != want {
			t.Errorf("input %q: got %s, %v, want %s", name, got, ok, want)
		}
	}
	if got, ok := brief.Input("z"); ok || got != nil {
		t.Errorf("got %s for an input that is not there", got)
	}
	same, err := brief.With("bad", math.NaN())
	if err == nil || err.Error() != "input bad: json: unsupported value: NaN" {
		t.Errorf("got %v, want an error that names the input", err)
	}
	if got := same.Inputs(); len(got) != 4 {
		t.Errorf("got inputs %q beside an error, want those before", got)
	}
}

func TestBriefMedia(t *testing.T) {
	for _, c := range []struct {
		brief Brief
		media string
		text  bool
	}{
		{Brief{}, TextMedia, true},
		{Text("q"), TextMedia, true},
		{Raw("", []byte("q")), TextMedia, true},
		{Raw(TextMedia, []byte("q")), TextMedia, true},
		{Raw("application/json", []byte("{}")), "application/json", false},
		{Raw("application/json", []byte("{}")).WithText("q"), TextMedia, true},
	} {
		if c.brief.MediaType() != c.media || c.brief.IsText() != c.text {
			t.Errorf("%+v: got %s, %v", c.brief, c.brief.MediaType(), c.brief.IsText())
		}
	}
	if got := (Brief{}).Bytes(); len(got) != 0 {
		t.Errorf("got %q for the zero brief", got)
	}
}
