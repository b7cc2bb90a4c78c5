package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// A group is looked at while it is being waited for, at first after minProbe, then ever less often; see group.
const (
	minProbe = time.Millisecond
	maxProbe = 50 * time.Millisecond
)

// running is a program that was started, with its group.
type running struct {
	cmd     *exec.Cmd
	group   group
	exited  chan struct{} // closed when the leader has been reaped; cmd.ProcessState and waitErr are set then
	drained chan struct{} // closed when stdout and stderr have ended; stdout has when talk has returned
	waitErr error

	stdout *head
	stderr *tail
	ours   []*os.File // our ends of the pipes
}

// start starts the program. The pipes are ours and not os/exec's, so that the wait for the leader, for the group
// and for the output can each be bounded on its own. With talk, that is who writes stdin and reads stdout.
func start(spec Spec, talk func(stdin io.Writer, stdout io.Reader)) (_ *running, err error) {
	if err := usableDir(spec.Dir); err != nil {
		return nil, err
	}
	p := &running{
		cmd:     exec.Command(spec.Argv[0], spec.Argv[1:]...),
		exited:  make(chan struct{}),
		drained: make(chan struct{}),
		stdout:  newHead(spec.MaxOutput, spec.Stdout),
		stderr:  &tail{limit: spec.StderrTail},
	}
	p.cmd.Dir = spec.Dir
	p.cmd.Env = append([]string{}, spec.Env...) // never nil, which would be our own environment

	outR, outW, err1 := os.Pipe()
	errR, errW, err2 := os.Pipe()
	var inR, inW *os.File
	var err3 error
	if spec.Stdin != "" || talk != nil {
		inR, inW, err3 = os.Pipe()
		p.cmd.Stdin = inR
	}
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	p.ours = []*os.File{outR, errR, inW}
	defer closeAll(outW, errW, inR)
	defer func() {
		if err != nil {
			closeAll(p.ours...)
		}
	}()
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Argv[0], err)
	}

	if err := p.group.prepare(p.cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Argv[0], err)
	}
	started := make(chan error, 1)
	go p.lead(started)
	if err := <-started; err != nil {
		p.group.close()
		return nil, startError(p.cmd, spec, err)
	}
	if err := p.group.adopt(p.cmd.Process); err != nil {
		_ = p.cmd.Process.Kill()
		p.group.close()
		return nil, fmt.Errorf("start %s: %w", spec.Argv[0], err)
	}
	if inW != nil && talk == nil {
		go func() {
			// An error means that nobody reads it, or no longer: that is the program's own affair.
			_, _ = io.WriteString(inW, spec.Stdin)
			_ = inW.Close()
		}()
	}
	errEnded := make(chan struct{})
	go func() {
		_, _ = io.Copy(p.stderr, errR)
		close(errEnded)
	}()
	go func() {
		if talk != nil {
			talk(inW, outR)
			_ = inW.Close()
		} else {
			_, _ = io.Copy(p.stdout, outR)
		}
		_ = outR.Close() // beyond the limit, so that what goes on writing gets SIGPIPE
		<-errEnded
		close(p.drained)
	}()
	return p, nil
}

// lead starts the leader and waits for it, on one thread. On Linux the signal that the leader gets when its parent
// dies is sent when the *thread* that forked it dies. Go ends a thread when a goroutine that is locked to it
// returns, and such a goroutine may be put on any thread that is free. So this one stays taken while the leader
// lives. It would be blocked in the wait anyway.
func (p *running) lead(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	var status *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &status) {
		p.waitErr = fmt.Errorf("wait for %s: %w", p.cmd.Path, err)
	}
	close(p.exited)
}

// linger waits, once the leader has been reaped, for the output to end, and reports whether it did.
func (p *running) linger(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	late := false
	for probe := minProbe; ; probe = min(2*probe, maxProbe) {
		var tick <-chan time.Time
		if p.group.alive() {
			tick = time.After(probe)
		}
		select {
		case <-p.drained:
			return true
		case <-p.stdout.full:
			return false
		case <-ctx.Done():
			return false
		case <-timer.C:
			if tick == nil && !late { // nobody of the group is left to write, so that it is we who are late
				late = true
				timer.Reset(lateness)
				continue
			}
			return false
		case <-tick:
		}
	}
}

// lateness is how long the end of the output is waited for beyond the limit when the whole group has ended: on a machine that
// is very busy, it may not have been read yet.
const lateness = 3 * time.Second

// end ends what there is of the group, closes the pipes, and reports whether something could not be ended.
func (p *running) end(grace time.Duration) (left bool) {
	if !p.gone(0) {
		p.group.ask()
		if !p.gone(grace) {
			p.group.kill()
			left = !p.gone(killWait)
		}
	}
	closeAll(p.ours...)
	p.group.close()
	return left
}

// gone waits until the leader has been reaped and the group is empty, and reports whether they are.
func (p *running) gone(limit time.Duration) bool {
	if isClosed(p.exited) && !p.group.alive() {
		return true
	}
	if limit == 0 {
		return false
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	exited := p.exited
	for probe := minProbe; ; probe = min(2*probe, maxProbe) {
		var tick <-chan time.Time
		if exited == nil {
			if !p.group.alive() {
				return true
			}
			tick = time.After(probe)
		}
		select {
		case <-exited:
			exited = nil
		case <-timer.C:
			return isClosed(p.exited) && !p.group.alive()
		case <-tick:
		}
	}
}

// result says what is known of the program now.
func (p *running) result() (Result, error) {
	r := Result{Stdout: p.stdout.end(), ExitCode: -1}
	r.Stderr, r.StderrCut = p.stderr.bytes()
	if !isClosed(p.exited) {
		return r, nil
	}
	if p.waitErr != nil {
		return r, p.waitErr
	}
	r.ExitCode = p.cmd.ProcessState.ExitCode()
	r.Signal = signalName(p.cmd.ProcessState)
	return r, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // some are nil or have been closed already; both are harmless
	}
}

// usableDir finds out what is wrong with a directory before the start does, whose error could be the program's.
func usableDir(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir + string(os.PathSeparator) + ".") // "." asks for the right to enter it
	var path *fs.PathError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%w: %s: %w", ErrDir, dir, path.Err)
	case err != nil:
		return fmt.Errorf("%w: %s: %w", ErrDir, dir, err)
	case !info.IsDir():
		return fmt.Errorf("%w: %s: not a directory", ErrDir, dir)
	}
	return nil
}

// startError says what kept the program from starting. The system's error does not tell a missing program from a
// missing interpreter.
func startError(cmd *exec.Cmd, spec Spec, err error) error {
	program := spec.Argv[0]
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("%w: %s (no such executable in PATH)", ErrNotFound, program)
	case errors.Is(err, exec.ErrDot):
		return fmt.Errorf("%w: %s (only in the current directory: write it with its path)", ErrNotFound, program)
	case errors.Is(err, fs.ErrNotExist):
		path := cmd.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(spec.Dir, path)
		}
		if _, err := os.Stat(path); err == nil {
			return fmt.Errorf("%w: %s: the interpreter that it names does not exist", ErrNotExecutable, program)
		}
		return fmt.Errorf("%w: %s", ErrNotFound, program)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s: permission denied", ErrNotExecutable, program)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w: %s: neither a program of this system nor a script with a #! line", ErrNotExecutable, program)
	case isTooLong(err):
		return fmt.Errorf("%w: %s", ErrTooLong, program)
	}
	return fmt.Errorf("start %s: %w", program, err)
}
