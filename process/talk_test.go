package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"
)

func TestTalk_BothWays(t *testing.T) {
	got, err := Talk(t.Context(), steps(t, "cat", "err:heard", "exit:3"), func(stdin io.Writer, stdout io.Reader) error {
		lines := bufio.NewReader(stdout)
		for i := range 3 { // each is answered before the next is said
			line := fmt.Sprintf("line %d\n", i)
			if _, err := io.WriteString(stdin, line); err != nil {
				return err
			}
			if back, err := lines.ReadString('\n'); back != line {
				return fmt.Errorf("got %q, %w", back, err)
			}
		}
		return nil // which closes stdin, so that cat ends
	})
	if err != nil || got.ExitCode != 3 || string(got.Stderr) != "heard" || got.Stdout != nil || got.Left {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTalk_ProgramExitsFirst(t *testing.T) {
	var said []byte
	got, err := Talk(t.Context(), steps(t, "out:last words", "exit:4"), func(_ io.Writer, stdout io.Reader) (err error) {
		said, err = io.ReadAll(stdout)
		return err
	})
	if err != nil || got.ExitCode != 4 || string(said) != "last words" {
		t.Errorf("got %q, %+v, %v", said, got, err)
	}
}

func TestTalk_ItsErrorComesBackAndTheProgramIsEnded(t *testing.T) {
	nonsense := errors.New("nonsense")
	spec := steps(t, "block")
	spec.Linger = time.Millisecond
	got, err := Talk(t.Context(), spec, func(io.Writer, io.Reader) error { return nonsense })
	if err != nonsense || got.ExitCode == 0 || got.Left {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTalk_Cancelled(t *testing.T) {
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	got, err := Talk(ctx, steps(t, "out:x", "block"), func(stdin io.Writer, stdout io.Reader) error {
		if _, err := io.ReadFull(stdout, make([]byte, 1)); err != nil {
			return err
		}
		cancel(stop)
		_, err := io.Copy(io.Discard, stdout)
		return err
	})
	if !errors.Is(err, ErrStopped) || !errors.Is(err, stop) || got.Left {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Talk(ctx, steps(t, "block"), nil); !errors.Is(err, stop) {
		t.Errorf("cancelled before it began: got %v", err)
	}
}

func TestTalk_Invalid(t *testing.T) {
	silent := func(io.Writer, io.Reader) error { t.Error("it is called"); return nil }
	for name, change := range map[string]func(*Spec){
		"stdin":   func(s *Spec) { s.Stdin = "x" },
		"stdout":  func(s *Spec) { s.Stdout = io.Discard },
		"no argv": func(s *Spec) { s.Argv = nil },
	} {
		spec := steps(t, "block")
		change(&spec)
		if _, err := Talk(t.Context(), spec, silent); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	spec := steps(t, "block")
	spec.Argv[0] += "-none"
	if _, err := Talk(t.Context(), spec, silent); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
