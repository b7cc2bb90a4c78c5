package criteria

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/firstgood/firstgood"
)

// consult calls the judge once, enters the call in ctx's record and reads the answer. Its error is ctx's cause
// when ctx has ended, else the judge's.
//
// The judge runs on a goroutine of its own, so that one that ignores the end of its time can be left behind: the
// reply it is weighing goes on to be unjudged. When ctx ends, the judge is waited for all the same. The run does not
// wait for an attempt that has been cancelled, but a shutdown does, and must find the judge's work in it.
func consult(ctx context.Context, by firstgood.Delegate[firstgood.Reply], brief firstgood.Brief, read func(string) (Finding, string)) (Finding, error) {
	inner, call := enter(ctx, by)
	if d, ok := by.(firstgood.Limited); ok && d.AttemptTimeout() > 0 {
		late := &firstgood.Error{
			Kind:   firstgood.KindTimeout,
			Reason: fmt.Sprintf("no answer within %v", d.AttemptTimeout()),
			Err:    context.DeadlineExceeded,
		}
		var stop context.CancelFunc
		inner, stop = context.WithTimeoutCause(inner, d.AttemptTimeout(), late)
		defer stop()
	}

	answered := make(chan answer, 1)
	go func() {
		a := answer{err: &firstgood.Error{Kind: firstgood.KindPanic, Reason: "the judge called runtime.Goexit"}}
		defer func() {
			if v := recover(); v != nil {
				a.err = &firstgood.Error{Kind: firstgood.KindPanic, Reason: fmt.Sprintf("panic: %v", v), Detail: string(debug.Stack())}
			}
			answered <- a
		}()
		a = ask(inner, by, brief)
	}()

	var a answer
	select {
	case a = <-answered:
	case <-inner.Done():
		if ctx.Err() == nil {
			a.err = context.Cause(inner)
			call.fail(a)
			go func() { call.used((<-answered).usage) }()
			return Finding{}, a.err
		}
		call.end(firstgood.StateCancelled)
		a = <-answered
	}
	switch {
	case ctx.Err() != nil:
		call.Usage = a.usage
		call.end(firstgood.StateCancelled)
		return Finding{}, context.Cause(ctx)
	case a.err != nil:
		if inner.Err() != nil {
			a.err = context.Cause(inner)
		}
		call.fail(a)
		return Finding{}, a.err
	}
	f, warning := read(a.text)
	call.Usage, call.Warning = a.usage, warning
	call.end(firstgood.StateJudged)
	return f, nil
}

// answer is what came of asking a judge.
type answer struct {
	text  string
	usage firstgood.Usage
	err   error
}

// ask has the judge attempt the brief, and reads and closes what it replied.
func ask(ctx context.Context, by firstgood.Delegate[firstgood.Reply], brief firstgood.Brief) answer {
	reply, err := by.Attempt(ctx, brief)
	if err != nil {
		_ = reply.Close() // what stands beside an error is discarded
		if metered, ok := errors.AsType[interface {
			error
			firstgood.Metered
		}](err); ok {
			return answer{err: err, usage: metered.Used()}
		}
		return answer{err: err, usage: reply.Usage}
	}
	if reply.Stream == nil {
		return answer{text: reply.String(), usage: reply.Usage}
	}
	defer reply.Close()
	// Closing it is what ends a read that has no other way to learn that ctx is done.
	defer context.AfterFunc(ctx, func() { _ = reply.Close() })()
	data, err := io.ReadAll(io.LimitReader(reply.Stream, MaxVerdict+1))
	if err != nil {
		err = &firstgood.Error{Kind: firstgood.KindTruncated, Reason: fmt.Sprintf("its answer stops short: %v", err), Err: err}
	}
	return answer{string(data), reply.Usage, err}
}

// entry is the judge's call in the record, if there is a record.
type entry struct {
	firstgood.Call
	record *firstgood.Record
}

// enter enters the call, and returns it with the context for what the judge itself calls.
func enter(ctx context.Context, by firstgood.Delegate[firstgood.Reply]) (context.Context, *entry) {
	scope := firstgood.ScopeOf(ctx)
	if scope == nil || scope.Record == nil {
		return ctx, &entry{}
	}
	instance, ok := by.(interface{ Nests() bool })
	call := &entry{record: scope.Record, Call: firstgood.Call{
		Parent:   scope.Call,
		Delegate: by.Name(),
		Index:    scope.Index,
		Role:     firstgood.RoleJudge,
		State:    firstgood.StateRunning,
		Started:  scope.Record.Elapsed(),
		Nested:   ok && instance.Nests(),
	}}
	call.record.Begin(&call.Call)
	inside := &firstgood.Scope{Record: call.record, Call: call.ID, Index: call.Index}
	return context.WithValue(ctx, firstgood.ScopeKey{}, inside), call
}

func (e *entry) end(state firstgood.State) {
	if e.record == nil {
		return
	}
	e.State = state
	e.Duration = e.record.Elapsed() - e.Started
	e.record.Put(&e.Call)
}

func (e *entry) fail(a answer) {
	f := firstgood.FailureOf(e.Delegate, e.Index, a.err)
	e.Usage, e.Kind, e.Reason = a.usage, f.Kind, f.Reason
	e.end(firstgood.StateFailed)
}

// used enters what a call that was left behind turned out to cost, if anybody can tell.
func (e *entry) used(usage firstgood.Usage) {
	if e.record == nil || usage == (firstgood.Usage{}) {
		return
	}
	e.Usage = usage
	e.record.Put(&e.Call)
}
