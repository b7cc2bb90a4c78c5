package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/config"
	"github.com/firstgood/firstgood/document"
)

// body is an instance whose steps a document says: ProseScript, JavaScript, or a question to a model. It is an instance
// like any other from outside: what it calls is entered in the record, and it ends with an outcome.
type body struct {
	name    string
	slots   []config.Slot // of the instance, with their members as they run
	members [][]runner    // by slot and place, each a chain of one
	timeout time.Duration
	doc     *document.Document
	free    []string                   // inputs that the text reads and the document does not declare
	values  map[string]json.RawMessage // what the instance sets, by name
	steps   steps
	judge   *judge                      // of what the text leaves open; nil: there is none
	drain   func(context.Context) error // waits for what the steps have left at work; nil: they leave nothing
}

// steps are what a body does. They return what it has come to.
type steps interface {
	take(ctx context.Context, w *work) (yield, error)
	// judgeable fails where criteria are set and nobody could weigh them.
	judgeable(w *work) error
}

// work is one run of a body.
type work struct {
	*body
	brief  firstgood.Brief
	inputs map[string]json.RawMessage // what the caller gives, the instance sets, and the document says, in this order
	said   map[string]bool            // the inputs that are more than what the document says

	unweighed atomic.Bool // a judge did not answer
}

// yield is what a body has come to.
type yield struct {
	value json.RawMessage // all that it returned
	text  *string         // the result, where it is a text
	// The fields of the outcome, as far as the body says anything of them.
	result      json.RawMessage // nil, or null: there is none
	winner      string
	winnerIndex int // -1: unknown
	attempts    int
	history     json.RawMessage // a list, or nil
	state       json.RawMessage // of a composite: the object as it was left; else nil
}

// yieldKey is the context key under which a caller that wants all that a body has come to, and not its outcome alone, has
// room for it: a *yield.
type yieldKey struct{}

func (b *body) Name() string { return b.name }

// Nests is true: what the body uses is entered by what it calls.
func (b *body) Nests() bool { return true }

func (b *body) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	out, err := b.Run(ctx, brief)
	if scope := firstgood.ScopeOf(ctx); scope != nil {
		scope.SetPath(out.WinnerPath)
	}
	return out.Result, err
}

func (b *body) Run(ctx context.Context, brief firstgood.Brief) (firstgood.Outcome[firstgood.Reply], error) {
	began := time.Now()
	outer := ctx
	scope := firstgood.ScopeOf(ctx)
	if scope == nil {
		scope = &firstgood.Scope{Record: firstgood.NewRecord(began, nil), Call: -1}
	}
	// A scope of its own tells what the body starts from the start of the body.
	ctx = context.WithValue(ctx, firstgood.ScopeKey{}, &firstgood.Scope{Record: scope.Record, Call: scope.Call, Index: scope.Index})
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(errDone)
	if b.timeout > 0 {
		limit := &firstgood.Error{Kind: firstgood.KindTimeout, Reason: fmt.Sprintf("no decision within %v", b.timeout), Err: context.DeadlineExceeded}
		defer time.AfterFunc(b.timeout, func() { cancel(limit) }).Stop()
	}
	sink, _ := ctx.Value(yieldKey{}).(*yield)
	w := b.begin(brief)
	got, err := b.steps.take(context.WithValue(ctx, yieldKey{}, nil), w)
	if sink != nil {
		*sink = got
	}
	out := firstgood.Outcome[firstgood.Reply]{WinnerIndex: -1, Duration: time.Since(began), Calls: decided(scope.Record, scope.Call)}
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
		out.Status = firstgood.StatusCancelled
		if outer.Err() == nil {
			out.Status = firstgood.StatusTimeout
		}
		return out, &firstgood.NoWinnerError{Name: b.name, Status: out.Status, Cause: err}
	case err != nil:
		failure := firstgood.FailureOf(b.name, 0, err)
		out.History = []firstgood.Failure{failure}
		if failure.Nested != nil {
			out.History = failure.Nested
		}
		out.Status = statusOf(failure)
	default:
		out.Status = firstgood.StatusWon
		out.Winner, out.WinnerIndex, out.Attempts, out.History = got.winner, got.winnerIndex, got.attempts, historyOf(got.history)
		switch {
		case got.text != nil:
			out.Result = firstgood.Reply{Text: *got.text}
		case isNull(got.result):
			out.Status, out.Winner, out.WinnerIndex = firstgood.StatusExhausted, "", -1
			if w.unweighed.Load() { // the steps have caught it, and nobody having won would claim that all were weighed
				out.Status = firstgood.StatusJudgeError
			}
		default:
			out.Result = firstgood.Reply{JSON: got.result}
		}
		out.Result.Usage = firstgood.Usage{Source: firstgood.SourceMeasured}
		if out.Winner != "" {
			out.WinnerPath = []string{out.Winner}
		}
	}
	if out.Status == firstgood.StatusWon {
		return out, nil
	}
	return out, &firstgood.NoWinnerError{Name: b.name, Status: out.Status, Attempts: out.Attempts, History: out.History}
}

var errDone = errors.New("the steps have ended")

// decided is what a body has called, as it stands when that has ended: calls that have not heard of it yet are cancelled.
func decided(record *firstgood.Record, under int) []firstgood.Call {
	calls := record.Under(under)
	for i := range calls {
		if c := &calls[i]; c.State == firstgood.StateRunning || c.State == firstgood.StateJudging {
			c.State, c.Duration = firstgood.StateCancelled, record.Elapsed()-c.Started
		}
	}
	return calls
}

// statusOf is the status of a run that an error has ended.
func statusOf(f firstgood.Failure) firstgood.Status {
	var e *firstgood.Error
	switch {
	case f.Kind == firstgood.KindJudgeError:
		return firstgood.StatusJudgeError
	case errors.As(f.Err, &e) && e.Fatal && f.Kind != firstgood.KindNoStart:
		return firstgood.StatusStopped
	}
	var none *firstgood.NoWinnerError
	if errors.As(f.Err, &none) && none.Status == firstgood.StatusStopped {
		return firstgood.StatusStopped
	}
	return firstgood.StatusExhausted
}

// begin collects the inputs of a run. A brief that is a text is the first of task_brief, brief, input and task that the
// document has, or its only input, unless the caller gives that by name.
func (b *body) begin(brief firstgood.Brief) *work {
	w := &work{body: b, brief: brief, inputs: map[string]json.RawMessage{}, said: map[string]bool{}}
	for _, s := range b.doc.Config {
		w.inputs[s.Name] = b.doc.Default(s.Name)
	}
	for _, in := range b.doc.Inputs {
		w.inputs[in.Name] = b.doc.Default(in.Name)
	}
	maps.DeleteFunc(w.inputs, func(_ string, value json.RawMessage) bool { return value == nil })
	for name, value := range b.values {
		w.inputs[name], w.said[name] = value, true
	}
	for _, name := range brief.Inputs() {
		w.inputs[name], _ = brief.Input(name)
		w.said[name] = true
	}
	target := BriefInput(b.doc)
	for _, known := range briefNames {
		if target == "" && slices.Contains(b.free, known) {
			target = known
		}
	}
	_, asks := b.steps.(*asking) // it shows what it is given, whatever its name
	if target != "" && brief.IsText() && brief.String() != "" && takesText(b.doc, b.free, brief, target, !asks) {
		w.inputs[target], w.said[target] = encode(brief.String()), true
	}
	return w
}

// takesText reports whether the text of a brief is the input target. Where a text calls a text, the brief has inputs by name
// and renders them; then they are taken by name, unless the document does not know them all and needs the text for the rest.
func takesText(doc *document.Document, free []string, brief firstgood.Brief, target string, needs bool) bool {
	named, unknown := false, false
	for _, name := range brief.Inputs() {
		if name == "candidate_config" && doc.Input(name) == nil {
			return false // what it holds are inputs, and the rest is about it
		}
		if isBrief(name) || name == target {
			named = true
			var text string
			value, _ := brief.Input(name)
			if json.Unmarshal(value, &text) == nil && text != "" && strings.HasPrefix(brief.String(), text) {
				return true // the same, or the same with what was learnt
			}
			continue
		}
		unknown = unknown || doc.Input(name) == nil && doc.Setting(name) == nil && !slices.Contains(free, name)
	}
	return !named || unknown && needs
}

// promptInput is the input of a brief that holds what the calling text asks for, beside the inputs that it gives by name.
const promptInput = "prompt"

// BriefInput is the input of a document that a brief is: the first of task_brief, brief, input and task that it has, else
// its only one; "" when there is none.
func BriefInput(doc *document.Document) string {
	for _, name := range briefNames {
		if doc.Input(name) != nil {
			return name
		}
	}
	if len(doc.Inputs) == 1 && doc.Setting(doc.Inputs[0].Name) == nil {
		return doc.Inputs[0].Name
	}
	return ""
}

// Drain waits for everything that the body may have left at work.
func (b *body) Drain(ctx context.Context) error {
	var all []error
	for _, slot := range b.members {
		for _, member := range slot {
			all = append(all, member.Drain(ctx))
		}
	}
	if b.drain != nil {
		all = append(all, b.drain(ctx))
	}
	if b.judge != nil {
		all = append(all, b.judge.Drain(ctx))
	}
	return errors.Join(all...)
}

// ask gives the brief to a member of a slot and returns its reply, read to its end. The error is the failure of the
// attempt, without the chain of one around it. An error that the steps must not catch is fatal, or ctx is done.
func (b *body) ask(ctx context.Context, member runner, brief firstgood.Brief) (firstgood.Reply, error) {
	reply, err := member.Attempt(ctx, brief)
	if err == nil {
		return whole(reply)
	}
	var none *firstgood.NoWinnerError
	if !errors.As(err, &none) || len(none.History) != 1 || ctx.Err() != nil {
		return firstgood.Reply{}, err
	}
	f := none.History[0]
	if f.Err != nil && f.Kind != firstgood.KindNoStart {
		return firstgood.Reply{}, f.Err
	}
	var spent *spentError
	return firstgood.Reply{}, &firstgood.Error{
		Kind: f.Kind, Reason: f.Reason, Detail: f.Detail, Err: f.Err, Fatal: errors.As(f.Err, &spent) || none.Status == firstgood.StatusStopped,
	}
}

// whole reads a reply that is still open.
func whole(reply firstgood.Reply) (firstgood.Reply, error) {
	if reply.Stream == nil {
		return reply, nil
	}
	text, err := io.ReadAll(reply.Stream)
	err = errors.Join(err, reply.Close())
	if err != nil {
		return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindTruncated, Reason: fmt.Sprintf("the reply was cut off: %v", err), Err: err}
	}
	reply.Stream, reply.Text = nil, string(text)
	return reply, nil
}

// isNull reports whether a JSON value is null, or there is none.
func isNull(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	return len(value) == 0 || string(value) == "null"
}

// historyOf reads what a body says of failures, as far as it says it in the usual words.
func historyOf(list json.RawMessage) []firstgood.Failure {
	var entries []struct {
		Delegate, Candidate string
		Reason, Error       any
		Attempt             int
	}
	if json.Unmarshal(list, &entries) != nil {
		return nil
	}
	var history []firstgood.Failure
	for i, e := range entries {
		f := firstgood.Failure{Delegate: e.Delegate, Index: i, Kind: firstgood.KindError}
		if f.Delegate == "" {
			f.Delegate = e.Candidate
		}
		for _, said := range []any{e.Reason, e.Error} {
			if said != nil && f.Reason == "" {
				f.Reason = firstgood.TextOf(said)
			}
		}
		if f.Reason == "" {
			continue
		}
		history = append(history, f)
	}
	return history
}

// outcomeOf takes the fields of an outcome out of an object. Other says what the whole is where it has no key result.
func outcomeOf(object map[string]json.RawMessage) yield {
	got := yield{result: object["result"], winnerIndex: -1, history: object["failure_history"]}
	_ = json.Unmarshal(object["winner"], &got.winner)
	_ = json.Unmarshal(object["attempts"], &got.attempts)
	var text string
	if json.Unmarshal(got.result, &text) == nil && !isNull(got.result) {
		got.text = &text
	}
	if !bytes.HasPrefix(bytes.TrimSpace(got.history), []byte("[")) {
		got.history = nil
	}
	return got
}
