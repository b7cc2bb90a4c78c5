package composite

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"time"
)

// childEnv is the environment variable by which a program knows that it is the child.
const childEnv = "FIRSTGOOD_COMPOSITE_CHILD"

// IsChild reports whether this process was started by [Run]. The program then calls [Child] and nothing else.
func IsChild() bool { return os.Getenv(childEnv) == "1" }

const (
	watchEach = 5 * time.Millisecond   // how often the limits are looked at
	lastWords = 100 * time.Millisecond // what an interrupted body gets to say where it was
)

// Child is the main of the child: it runs the body that Run sends and returns the exit status. It limits this whole
// process, and ends it where a limit is passed or stdin ends.
func Child(stdin io.Reader, stdout io.Writer) int {
	time.Local = time.UTC
	debug.SetTraceback("none")
	if err := encode(stdout, said{Ready: true}); err != nil {
		return exitGone
	}
	lines := json.NewDecoder(bufio.NewReaderSize(stdin, 64<<10))
	var s start
	if err := lines.Decode(&s); err != nil {
		return exitGone
	}
	limit(s.Memory, time.Duration(s.CPU))

	replies := make(chan reply, MaxCalls) // as many as there can be, so that the end of stdin is noticed at once
	go func() {
		for {
			var r reply
			if err := lines.Decode(&r); err != nil {
				os.Exit(exitGone)
			}
			replies <- r
		}
	}()
	e := newEngine(s, replies, func(line said) {
		if err := encode(stdout, line); err != nil {
			os.Exit(exitGone)
		}
	})
	go watch(s.Memory, time.Duration(s.CPU), &e.over, e.interrupt)
	ended := e.run()
	if e.over.Swap(true) && ended.Fails == nil {
		<-make(chan struct{}) // the watch has decided otherwise, and ends this process
	}
	if err := encode(stdout, said{End: &ended}); err != nil {
		return exitGone
	}
	return 0
}

// limit sets what the system and the Go runtime enforce themselves. It is a little wider than what watch holds, which
// can say what happened.
func limit(memory int64, cpu time.Duration) {
	debug.SetMemoryLimit(memory / 10 * 9)
	debug.SetMaxStack(int(min(memory/4, 64<<20)))
	limitSystem(memory, cpu)
}

// watch interrupts the body when a limit is passed, and ends the process when the body does not stop, as in a long native
// function. Over is set by who decides first: watch, or the end of the body.
func watch(memory int64, cpu time.Duration, over *atomic.Bool, interrupt func(kind string)) {
	used := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(watchEach) {
		metrics.Read(used)
		kind, status := "", 0
		switch {
		case int64(used[0].Value.Uint64()-used[1].Value.Uint64()) > memory:
			kind, status = "memory", exitMemory
		case processorTime() > cpu:
			kind, status = "cpu", exitCPU
		default:
			continue
		}
		if over.Swap(true) {
			return
		}
		interrupt(kind)
		time.Sleep(lastWords)
		os.Exit(status)
	}
}

// recovered says what a panic of the engine means. Go's own, about lengths that no memory has, are not numbered.
func (e *engine) recovered(r any) failure {
	text := fmt.Sprint(r)
	for _, tooMuch := range []string{"makeslice", "growslice", "makechan", "out of range", "too large", "overflow"} {
		if strings.Contains(text, tooMuch) {
			return failure{Kind: "memory", Message: overMemory(e.Memory)}
		}
	}
	return failure{Kind: "died", Message: "the JavaScript engine failed: " + firstLine(text)}
}
