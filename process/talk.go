package process

import (
	"context"
	"fmt"
	"io"
	"time"
)

// Talk runs a program like [Run], but lets talk write its stdin and read its stdout while it runs. Spec.Stdin and
// Spec.Stdout must be empty; Spec.MaxOutput does not count, and Result.Stdout is nil: how much is kept is talk's affair.
//
// Talk is called once, on a goroutine of its own, and Talk returns after it. When it returns, stdin is closed and
// the program gets Spec.Linger to exit by itself; then its group is ended as Run does. When the program exits first,
// talk finds the end of stdout, and has Spec.Linger to read what is left of it. When ctx is done the group is ended,
// and talk's reads and writes fail. It must then return.
//
// The error is that of talk if the program was not stopped by ctx, and else the one that Run gives.
func Talk(ctx context.Context, spec Spec, talk func(stdin io.Writer, stdout io.Reader) error) (Result, error) {
	notRun := Result{ExitCode: -1}
	if spec.Stdin != "" || spec.Stdout != nil {
		return notRun, fmt.Errorf("%w: stdin or stdout has another use than to be talked with", ErrInvalid)
	}
	spec, err := spec.complete()
	if err != nil {
		return notRun, err
	}
	if ctx.Err() != nil {
		return notRun, stopped(ctx)
	}
	var failure error
	talked := make(chan struct{})
	p, err := start(spec, func(stdin io.Writer, stdout io.Reader) {
		defer close(talked)
		failure = talk(stdin, stdout)
	})
	if err != nil {
		return notRun, err
	}
	enter(&p.group)
	defer leave(&p.group)
	select {
	case <-p.exited:
		p.linger(ctx, spec.Linger)
	case <-talked:
		select {
		case <-p.exited:
		case <-ctx.Done():
		case <-time.After(spec.Linger):
		}
	case <-ctx.Done():
	}
	interrupted := ctx.Err() != nil && !isClosed(talked)
	left := p.end(spec.Grace)
	<-talked
	result, err := p.result()
	result.Stdout, result.Left = nil, left
	switch {
	case interrupted:
		return result, stopped(ctx)
	case failure != nil:
		return result, failure
	}
	return result, err
}
