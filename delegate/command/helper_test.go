package command

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/firstgood/firstgood"
)

// The test binary is also the program that the tests run, in the role that its environment names.
const (
	roleEnv    = "FIRSTGOOD_TEST_ROLE"
	controlEnv = "FIRSTGOOD_TEST_CONTROL"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleEnv); role != "" {
		time.AfterFunc(time.Minute, func() { os.Exit(99) }) // lest a failed test leaves it
		play(role)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func play(role string) {
	switch role {
	case "show": // its arguments and its stdin
		stdin, _ := io.ReadAll(os.Stdin)
		fmt.Printf("%q %q", os.Args[1:], stdin)
	case "where":
		dir, _ := os.Getwd()
		fmt.Print(dir)
	case "env":
		env := os.Environ()
		slices.Sort(env)
		fmt.Print(strings.Join(env, "\n"))
	case "print": // to stdout the first argument, to stderr the second, in Go's quotes, and exits with the third
		for i, file := range []*os.File{os.Stdout, os.Stderr} {
			if len(os.Args) > i+1 {
				text, err := strconv.Unquote(os.Args[i+1])
				if err != nil {
					panic(err)
				}
				_, _ = file.WriteString(text)
			}
		}
		if len(os.Args) > 3 {
			code, _ := strconv.Atoi(os.Args[3])
			os.Exit(code)
		}
	case "half": // reads and answers a part, then dies
		part := make([]byte, 4)
		_, _ = io.ReadFull(os.Stdin, part)
		_, _ = os.Stdout.Write(part)
		os.Exit(1)
	case "ask":
		ask()
	case "flood":
		for page := make([]byte, 1<<16); ; {
			if _, err := os.Stdout.Write(page); err != nil {
				os.Exit(98)
			}
		}
	case "stubborn": // ignores SIGTERM; answers when the test says go on
		signal.Ignore(syscall.SIGTERM)
		conn, err := net.Dial("tcp", os.Getenv(controlEnv))
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(conn, "hello")
		_, _ = bufio.NewReader(conn).ReadString('\n')
		fmt.Print("the reply")
	default:
		panic("no such role: " + role)
	}
}

// program returns the configuration of a delegate that plays a role.
func program(t testing.TB, role string, args ...string) Config {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: role,
		Argv: append([]string{self}, args...),
		// Built with the race detector, a program takes a second to exit unless told otherwise.
		Env: map[string]string{roleEnv: role, "GORACE": "atexit_sleep_ms=0"},
	}
}

func build(t testing.TB, c Config) *Delegate {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// failure returns the failure that err is, which must be an *firstgood.Error.
func failure(t *testing.T, err error) firstgood.Failure {
	t.Helper()
	if _, ok := errors.AsType[*firstgood.Error](err); !ok {
		t.Fatalf("got error %v of type %T, want an *firstgood.Error", err, err)
	}
	return firstgood.FailureOf("d", 0, err)
}

// safety bounds every wait of the tests. It only matters when they fail.
const safety = 20 * time.Second

func receive[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(safety):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

// stubborn returns the configuration of a program that ignores SIGTERM, and a channel of the connections of each
// that has begun to. A connection ends when its program dies.
func stubborn(t *testing.T) (Config, <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	met := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetReadDeadline(time.Now().Add(safety))
			if _, err := fmt.Fscanln(conn, new(string)); err == nil {
				met <- conn
			}
		}
	}()
	c := program(t, "stubborn")
	c.Env[controlEnv] = listener.Addr().String()
	return c, met
}

// wantDead waits for the program at the other end to die.
func wantDead(t *testing.T, conn net.Conn) {
	t.Helper()
	_, err := io.Copy(io.Discard, conn)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the program is still alive")
	}
	_ = conn.Close()
}
