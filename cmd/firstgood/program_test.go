package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is what delegates of the tests run. Its first argument says what it does; TEXT has no newline added:
//
//	say TEXT            writes TEXT
//	fail N OUT ERR      writes OUT to stdout and ERR to stderr, and exits with N
//	read                writes what it reads
//	flood               writes without end
//	mark FILE TEXT      makes the file, then writes TEXT
//	await FILE TEXT     waits until there is the file, then writes TEXT
//	block FILE          writes its process id into the file and waits
//	deaf FILE           the same, but it heeds no SIGTERM, and has a child that does neither and holds stdout; both ids.
//	                    It makes FILE.asked when it is first asked to end
//	env                 writes the names of its environment variables
//	var NAME            writes the value of one to stdout and to stderr, and exits with 1
//	grep TEXT           exits with 0 when TEXT is in what it reads, else says so on stdout and exits with 1
func program() {
	defer leave(0)
	time.AfterFunc(2*patience, func() { leave(99) }) // lest a failed test leaves it
	args := os.Args[1:]
	if len(args) < 1 {
		die("no arguments")
	}
	args = append(args, "", "", "")
	switch args[0] {
	case "say":
		fmt.Print(args[1])
	case "fail":
		fmt.Print(args[2])
		fmt.Fprint(os.Stderr, args[3])
		status, err := strconv.Atoi(args[1])
		check(err)
		leave(status)
	case "read":
		_, err := io.Copy(os.Stdout, os.Stdin)
		check(err)
	case "flood":
		for page := []byte(strings.Repeat("flood ", 1<<12)); ; {
			if _, err := os.Stdout.Write(page); err != nil {
				leave(98)
			}
		}
	case "mark":
		publish(args[1], "")
		fmt.Print(args[2])
	case "await":
		if !eventually(func() bool { return exists(args[1]) }) {
			die("waited in vain for " + args[1])
		}
		fmt.Print(args[2])
	case "block":
		publish(args[1], strconv.Itoa(os.Getpid()))
		select {}
	case "deaf":
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		ids := strconv.Itoa(os.Getpid())
		if args[2] == "" {
			child := exec.Command(os.Args[0], "deaf", args[1]+".child", "child")
			child.Path, _ = exec.LookPath("program")
			child.Stdout = os.Stdout
			check(child.Start())
			if !eventually(func() bool { return exists(args[1] + ".child") }) { // it is deaf by then
				die("the child is missing")
			}
			ids += " " + strconv.Itoa(child.Process.Pid)
		}
		publish(args[1], ids)
		<-asked
		publish(args[1]+".asked", "")
		select {}
	case "env":
		var names []string
		for _, entry := range os.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		fmt.Print(strings.Join(names, "\n"))
	case "var":
		fmt.Println(os.Getenv(args[1]))
		fmt.Fprintln(os.Stderr, os.Getenv(args[1]))
		leave(1)
	case "grep":
		text, err := io.ReadAll(os.Stdin)
		check(err)
		if !strings.Contains(string(text), args[1]) {
			fmt.Printf("there is no %q in it", args[1])
			leave(1)
		}
	default:
		die("unknown: " + args[0])
	}
}

// leave ends the process without what the race detector does at an exit, which takes a second unless GORACE says
// otherwise, and delegates get no GORACE.
func leave(status int) { syscall.Exit(status) }

// publish makes a file that is whole from the moment that it is there.
func publish(path, text string) {
	check(os.WriteFile(path+".part", []byte(text), 0o644))
	check(os.Rename(path+".part", path))
}

func check(err error) {
	if err != nil {
		die(err.Error())
	}
}

func die(message string) {
	fmt.Fprintln(os.Stderr, "program: "+message)
	leave(97)
}
