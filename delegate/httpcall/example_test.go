package httpcall_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/httpcall"
)

func Example() {
	search := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"items":[{"title":"About %s"}]}`, r.URL.Query().Get("q"))
	}))
	defer search.Close()

	d, err := httpcall.New(httpcall.Config{Name: "search", URL: search.URL + "/find?q={brief}", Result: "items.0.title"})
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := d.Attempt(context.Background(), firstgood.Text("cats & dogs"))
	fmt.Println(reply.Text, err)
	// Output: About cats & dogs <nil>
}
