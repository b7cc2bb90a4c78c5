//go:build unix

package command

import (
	"context"
	"fmt"
	"testing"

	"github.com/firstgood/firstgood"
)

func TestS41_ASignalIsNamed(t *testing.T) {
	d := build(t, Config{Name: "d", Argv: []string{"sh", "-c", "echo fine; echo oops >&2; kill -KILL $$"}})
	_, err := d.Attempt(t.Context(), firstgood.Text("b"))
	if f := failure(t, err); f.Kind != firstgood.KindError || f.Reason != "killed by SIGKILL: oops" || f.Detail != "oops\n" {
		t.Errorf("got %v, detail %q", f, f.Detail)
	}
}

func Example() {
	shout, err := New(Config{Name: "shout", Argv: []string{"tr", "a-z", "A-Z"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := shout.Attempt(context.Background(), firstgood.Text("the first good answer"))
	fmt.Println(reply, err)
	// Output: THE FIRST GOOD ANSWER <nil>
}
