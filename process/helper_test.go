package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the program that the tests run. It then takes its arguments as steps, done in order:
//
//	out:TEXT, err:TEXT     writes
//	flood                  writes to stdout without end
//	cat, env, pwd, args    writes its stdin, environment, working directory, the remaining arguments
//	heed, ignore           tells the test of each SIGTERM, and exits on it or goes on; stands before hello
//	hello:NAME             connects to the test and tells its name and process id
//	await                  waits for the test to say go on
//	block                  waits for ever (a minute, lest a failed test leaves it)
//	spawn:N, leave:N       starts the next N arguments as a child with the same stdin, stdout and stderr, in the same
//	                       group or in a session of its own
//	quiet:N                the same in the same group, with neither
//	exit:N                 exits
const (
	stepsEnv   = "FIRSTGOOD_TEST_STEPS"
	controlEnv = "FIRSTGOOD_TEST_CONTROL"
)

func TestMain(m *testing.M) {
	if os.Getenv(stepsEnv) != "" {
		time.AfterFunc(time.Minute, func() { os.Exit(99) })
		follow(os.Args[1:])
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func follow(steps []string) {
	var conn net.Conn
	var terms chan os.Signal
	var heed bool
	for i := 0; i < len(steps); i++ {
		step, arg, _ := strings.Cut(steps[i], ":")
		n, _ := strconv.Atoi(arg)
		if special[step] != nil {
			special[step]()
			continue
		}
		switch step {
		case "out":
			fmt.Print(arg)
		case "err":
			fmt.Fprint(os.Stderr, arg)
		case "flood":
			for page := []byte(strings.Repeat("x", 1<<16)); ; {
				if _, err := os.Stdout.Write(page); err != nil {
					os.Exit(98)
				}
			}
		case "cat":
			_, _ = io.Copy(os.Stdout, os.Stdin)
		case "env":
			env := os.Environ()
			slices.Sort(env)
			fmt.Print(strings.Join(env, "\n"))
		case "pwd":
			dir, _ := os.Getwd()
			fmt.Print(dir)
		case "args":
			fmt.Printf("%q", steps[i+1:])
			return
		case "hello":
			var err error
			if conn, err = net.Dial("tcp", os.Getenv(controlEnv)); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(97)
			}
			fmt.Fprintf(conn, "%s %d\n", arg, os.Getpid())
			go func() {
				for range terms {
					fmt.Fprintln(conn, "term")
					if heed {
						os.Exit(0)
					}
				}
			}()
		case "heed", "ignore":
			terms = make(chan os.Signal, 1)
			signal.Notify(terms, syscall.SIGTERM)
			heed = step == "heed"
		case "await":
			_, _ = bufio.NewReader(conn).ReadString('\n')
		case "block":
			<-make(chan bool)
		case "spawn", "leave", "quiet":
			child := exec.Command(os.Args[0], steps[i+1:i+1+n]...)
			if step != "quiet" {
				child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
			}
			if step == "leave" {
				child.SysProcAttr = ownSession()
			}
			if err := child.Start(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(96)
			}
			i += n
		case "exit":
			os.Exit(n)
		default:
			fmt.Fprintf(os.Stderr, "no such step: %q\n", steps[i])
			os.Exit(95)
		}
	}
}

// steps returns the specification of a program that follows steps.
func steps(t testing.TB, steps ...string) Spec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A program that was built with the race detector else takes a second to exit.
	return Spec{Argv: append([]string{self}, steps...), Env: []string{stepsEnv + "=1", "GORACE=atexit_sleep_ms=0"}}
}

// control is where helpers say hello. Their connections end when they die, and not before.
type control struct {
	listener net.Listener
	met      chan *peer
}

type peer struct {
	name  string
	pid   int
	conn  net.Conn
	lines *bufio.Reader
}

func listen(t *testing.T) *control {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &control{listener, make(chan *peer, 100)}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetReadDeadline(time.Now().Add(safety))
			p := &peer{conn: conn, lines: bufio.NewReader(conn)}
			if _, err := fmt.Fscanf(p.lines, "%s %d\n", &p.name, &p.pid); err == nil {
				c.met <- p
			}
		}
	}()
	return c
}

// steps is [steps] with the address of the control.
func (c *control) steps(t testing.TB, args ...string) Spec {
	t.Helper()
	spec := steps(t, args...)
	spec.Env = append(spec.Env, controlEnv+"="+c.listener.Addr().String())
	return spec
}

// meet waits until the helpers of the given names, and no others, have said hello. A name may be given repeatedly.
func (c *control) meet(t *testing.T, names ...string) []*peer {
	t.Helper()
	peers := make([]*peer, len(names))
	for range names {
		p := receive(t, c.met)
		at := 0
		for at < len(names) && (names[at] != p.name || peers[at] != nil) {
			at++
		}
		if at == len(names) {
			t.Fatalf("unexpected helper %s", p.name)
		}
		peers[at] = p
		t.Cleanup(func() { _ = p.conn.Close() })
	}
	return peers
}

// rest returns what the helper says until it dies, and waits for that.
func (p *peer) rest(t *testing.T) string {
	t.Helper()
	said, err := io.ReadAll(p.lines)
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Fatalf("%s is still alive", p.name)
	}
	return string(said)
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

type ended struct {
	Result
	err error
}

// runAside starts Run in the background.
func runAside(ctx context.Context, spec Spec) <-chan ended {
	done := make(chan ended, 1)
	go func() {
		result, err := Run(ctx, spec)
		done <- ended{result, err}
	}()
	return done
}
