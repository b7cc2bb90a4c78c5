package modelapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/httpcall"
)

// Answer is a response that is no failure as far as HTTP goes.
type Answer struct {
	Status int
	Header http.Header

	endpoint *Endpoint
}

// Failure returns the failure that an error object inside the response is, or nil when it is none.
func (a Answer) Failure(object []byte) *firstgood.Error {
	return a.endpoint.classifier.Classify(a.Status, a.Header, object, nil)
}

// Reader makes a reply of one response. It is not used from several goroutines.
type Reader interface {
	// Whole reads a response that came in one piece. Its errors are those of [failure.Decode], or a *[firstgood.Error].
	Whole(answer Answer, body []byte) error
	// Event reads one event of a stream, which holds no error object. It reports whether the event brought the reply
	// forward, as a ping and an opening do not. An error that is no *[firstgood.Error] means that data is not what it
	// should be: the stream is broken. Data is valid during the call alone.
	Event(answer Answer, data []byte) (forward bool, err error)
	// Complete reports whether the stream has said that the reply is whole, and Ended whether nothing follows.
	Complete() bool
	Ended() bool
	// Used returns what the response has cost as far as it has said so.
	Used() firstgood.Usage
}

// Fits forgives a member of another type than it ought to be, which is then as if it were not there: it returns nil for
// an error of encoding/json that says so, and otherwise err.
func Fits(err error) error {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return nil
	}
	return err
}

// Send sends the request by next and lets reader read the response. It sits inside a provider's own client, which would
// read without a limit and has no word for an error that is not shaped like its own; to that it returns a response
// without a body. The request gets the attempt's idempotency key; see [httpcall.AddIdempotencyKey].
//
// Where the endpoint streams, both limits of the Settings hold: nothing of the reply within FirstToken of this call is
// [firstgood.KindTimeout], and so is a gap of more than Idle after that, until the end. Without a FirstToken the first
// gap begins with the first event, whatever it holds. A stream that stops before it said that it is complete, or holds
// what cannot be read, is [firstgood.KindTruncated]; an error object in it is that failure. An endpoint that answers
// with one piece all the same is read as one.
//
// Every error is a *[firstgood.Error]: what the Classifier makes of the exchange, or what reader returned. It holds what
// the response has cost. The provider's client may return another in its place, which says less.
func (e *Endpoint) Send(request *http.Request, next func(*http.Request) (*http.Response, error), reader Reader) (*http.Response, error) {
	if e.headers.Host != "" {
		request.Host = e.headers.Host
	}
	httpcall.AddIdempotencyKey(request)
	if !e.Streams() {
		response, err := next(request)
		if err != nil {
			return nil, e.Failure(err)
		}
		return e.finish(response, e.whole(response, response.Body, reader), reader)
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	defer cancel(nil)
	w := e.watch(cancel)
	defer w.stop()
	response, err := next(request.WithContext(ctx))
	if err != nil {
		return nil, w.explain(ctx, e.Failure(err))
	}
	body := bufio.NewReader(failure.Limit(response.Body, e.maxBody))
	if response.StatusCode < 300 && streamed(response.Header, body) {
		err = e.stream(response, body, reader, w)
	} else {
		err = e.whole(response, forwarding{body, w}, reader)
	}
	if err != nil {
		err = w.explain(ctx, err)
	}
	return e.finish(response, err, reader)
}

// finish closes the response and returns what the provider's client is to see of it.
func (e *Endpoint) finish(response *http.Response, err error, reader Reader) (*http.Response, error) {
	_ = response.Body.Close()
	if err == nil {
		response.Body = http.NoBody
		return response, nil
	}
	f := e.Failure(err)
	if f.Status == 0 {
		f.Status = response.StatusCode
	}
	if f.Usage == (firstgood.Usage{}) {
		f.Usage = reader.Used()
	}
	return nil, f
}

func (e *Endpoint) whole(response *http.Response, body io.Reader, reader Reader) error {
	data, err := failure.Read(body, e.maxBody)
	if f := e.classifier.Classify(response.StatusCode, response.Header, data, err); f != nil {
		return f
	}
	return reader.Whole(Answer{response.StatusCode, response.Header, e}, data)
}

// stream reads events until the stream has ended or nothing follows. What becomes of the connection after the reply was
// complete does not matter.
func (e *Endpoint) stream(response *http.Response, body *bufio.Reader, reader Reader, w *watch) error {
	answer := Answer{response.StatusCode, response.Header, e}
	events := events{body: body}
	for n := 0; ; n++ {
		event, err := events.next()
		switch {
		case err != nil && reader.Complete():
			return nil
		case errors.Is(err, io.EOF):
			return broken(io.ErrUnexpectedEOF, "the stream ends after %d events, before the reply is complete", n)
		case err != nil:
			return e.classifier.Classify(response.StatusCode, response.Header, nil, err)
		}
		w.event()
		if f := answer.Failure(event.object()); f != nil {
			return f
		}
		forward, err := reader.Event(answer, event.data)
		var own *firstgood.Error
		switch {
		case errors.As(err, &own):
			return err
		case err != nil:
			return broken(err, "the stream breaks off: event %d is not what it should be: %v", n+1, err)
		case reader.Ended():
			return nil
		case forward:
			w.forward()
		}
	}
}

func broken(err error, format string, args ...any) *firstgood.Error {
	return &firstgood.Error{Kind: firstgood.KindTruncated, Reason: fmt.Sprintf(format, args...), Err: err}
}

// object is what may be an error object: the data, and for an event that says it is an error whatever it holds.
func (e event) object() []byte {
	if e.name != "error" || bytes.HasPrefix(e.data, []byte("{")) || bytes.HasPrefix(e.data, []byte("[")) {
		return e.data
	}
	text, _ := json.Marshal(string(e.data))
	return fmt.Appendf(nil, `{"error":%s}`, text)
}

// streamed reports whether a response is a stream of events. Some servers do not say so, and some say so of JSON.
func streamed(header http.Header, body *bufio.Reader) bool {
	start, _ := body.Peek(1)
	if len(start) > 0 && (start[0] == '{' || start[0] == '[') {
		return false
	}
	if media, _, _ := mime.ParseMediaType(header.Get("Content-Type")); media == "text/event-stream" {
		return true
	}
	for _, field := range []string{":", "data:", "event:"} {
		if start, _ := body.Peek(len(field)); string(start) == field {
			return true
		}
	}
	return false
}

// watch ends an exchange that takes too long to say something.
type watch struct {
	first, gap *time.Timer // nil for no limit, or none yet
	idle       time.Duration
	cancel     context.CancelCauseFunc
}

// watch begins with the dispatch.
func (e *Endpoint) watch(cancel context.CancelCauseFunc) *watch {
	w := &watch{idle: e.idle, cancel: cancel}
	if e.firstToken > 0 {
		w.first = time.AfterFunc(e.firstToken, func() { cancel(silence("no first token within %v", e.firstToken)) })
	}
	return w
}

func silence(format string, limit time.Duration) *firstgood.Error {
	return &firstgood.Error{Kind: firstgood.KindTimeout, Reason: fmt.Sprintf(format, limit)}
}

// event notes that something has come.
func (w *watch) event() {
	if w.first == nil && w.gap == nil {
		w.forward()
	}
}

// forward notes that something of the reply has come.
func (w *watch) forward() {
	if w.first != nil {
		w.first.Stop()
	}
	switch {
	case w.idle == 0:
	case w.gap == nil:
		w.gap = time.AfterFunc(w.idle, func() { w.cancel(silence("no token for %v", w.idle)) })
	default:
		w.gap.Reset(w.idle)
	}
}

func (w *watch) stop() {
	for _, timer := range []*time.Timer{w.first, w.gap} {
		if timer != nil {
			timer.Stop()
		}
	}
}

// explain returns why ctx was cancelled, where the watch did so, and otherwise err.
func (w *watch) explain(ctx context.Context, err error) error {
	var f *firstgood.Error
	if errors.As(context.Cause(ctx), &f) {
		return f
	}
	return err
}

// forwarding is a body each piece of which brings the reply forward.
type forwarding struct {
	io.Reader
	watch *watch
}

func (f forwarding) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if n > 0 {
		f.watch.forward()
	}
	return n, err
}
