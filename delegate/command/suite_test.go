package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/firstgood/firstgood/delegate/delegatetest"
)

// answer is what the test tells a program of the suite to do.
type answer struct {
	Text string
	Fail string
}

// ask is the role of the suite's programs: the brief goes to the test, which says what to do.
func ask() {
	brief, err := io.ReadAll(os.Stdin)
	if err != nil {
		panic(err)
	}
	conn, err := net.Dial("tcp", os.Getenv(controlEnv))
	if err != nil {
		panic(err)
	}
	var a answer
	if err := json.NewEncoder(conn).Encode(brief); err != nil {
		panic(err)
	}
	if err := json.NewDecoder(conn).Decode(&a); err != nil {
		panic(err)
	}
	if a.Fail != "" {
		fmt.Fprintln(os.Stderr, a.Fail)
		os.Exit(1)
	}
	fmt.Println(a.Text)
}

// serve does the work of one program. The end of the connection is the end of the program.
func serve(conn net.Conn, work *delegatetest.Work) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var brief []byte
	decoder := json.NewDecoder(conn)
	if decoder.Decode(&brief) != nil {
		_ = conn.Close()
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
		cancel()
	}()
	text, err := work.Do(ctx, string(brief))
	a := answer{Text: text}
	if err != nil {
		a.Fail = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(a)
	<-ended
	_ = conn.Close()
}

func TestSuite(t *testing.T) {
	delegatetest.Run(t, delegatetest.Kind{New: func(t *testing.T, b delegatetest.Behaviour) delegatetest.Subject {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = listener.Close() })
		work := delegatetest.NewWork(b)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				go serve(conn, work)
			}
		}()
		c := program(t, "ask")
		c.Env[controlEnv] = listener.Addr().String()
		return work.Subject(build(t, c))
	}})
}
