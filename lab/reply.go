package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"
)

// Model answers requests. It may be called from several goroutines. Its context ends when the client goes away
// or the lab closes; what it returns after that is not sent.
type Model func(ctx context.Context, req Request) Reply

// Reply is what a model does with a request, faults included. The zero Reply is a 200 with an empty text.
//
// A text goes out in tokens: a word and the white space behind it. A stream has one frame for each.
type Reply struct {
	Delay        time.Duration // before the headers; Forever never sends any
	Pace         time.Duration // before each token of a stream
	Status       int           // 0 is 200; 400 to 599 send Error, or one that fits the status
	Header       http.Header   // more headers
	Error        *Error        // an error object; with status 200 it stands where the completion should
	Text         string
	Refusal      string // sent in the refusal field, with null for a content
	ToolCall     string // the name of a function that the model calls, with null for a content
	ToolInput    any    // what the function gets, which must have a JSON form; nil is {}
	FinishReason string // "" is stop, or tool_calls with a ToolCall
	Usage        *Usage // nil counts the words
	Fault        Fault
	After        int // how many tokens go out before the fault: 0 none, Half the half of them
}

// Forever is a delay that ends only when the client goes away or the lab closes.
const Forever time.Duration = math.MaxInt64

// Half is the middle of a text, in [Reply].After.
const Half = -1

// Fault is what goes wrong in the middle of a reply that began with status 200.
type Fault int

// The faults. The zero Fault is none. Where a reply is not streamed, what goes out before the fault is its JSON
// up to the token in question, under a Content-Length for the whole.
const (
	Stall      Fault = iota + 1 // nothing more comes
	Cut                         // the connection is closed
	BadJSON                     // a stream has a frame that is not JSON and then goes on; otherwise the JSON ends, and the body with it
	ErrorFrame                  // a stream has Error for a frame and then its end; otherwise Error is the body
	NoContent                   // the message has a role and no content, and no usage is told

	noReply // nobody is there to reply to
)

// Error is an error object, in OpenAI's words. Other protocols are told their own for the type.
type Error struct {
	Message string
	Type    string
	Code    string // "" is null
}

// Usage is the number of tokens that a reply reports.
type Usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// tokens splits a text so that its parts, joined, are the text.
func tokens(text string) []string {
	var parts []string
	start, space := 0, false
	for i, r := range text {
		blank := strings.ContainsRune(" \t\r\n", r)
		if space && !blank {
			parts = append(parts, text[start:i])
			start = i
		}
		space = blank
	}
	if start < len(text) {
		parts = append(parts, text[start:])
	}
	return parts
}

// count makes up the usage of a reply: its words, and those of the request.
func count(req Request, reply Reply) Usage {
	u := Usage{Completion: len(strings.Fields(reply.Text)) + len(strings.Fields(reply.Refusal))}
	if reply.ToolCall != "" {
		u.Completion++
	}
	for _, m := range req.Messages {
		u.Prompt += len(strings.Fields(m.Text))
	}
	u.Total = u.Prompt + u.Completion
	return u
}

// input is what the function of a tool call gets.
func (r Reply) input() any {
	if r.ToolInput == nil {
		return object{}
	}
	return r.ToolInput
}

// player sends one reply.
type player struct {
	ctx    context.Context
	w      http.ResponseWriter
	wire   wire
	req    Request
	reply  Reply
	status int // what was sent; 0 for nothing yet
}

// play sends the reply and tells whether it came to its end. What is false must not look whole to the client.
func (p *player) play() bool {
	reply := &p.reply
	if reply.Fault == noReply || wait(p.ctx, reply.Delay) != nil {
		return false
	}
	for name, values := range reply.Header {
		p.w.Header()[name] = values
	}
	p.status = cmp.Or(reply.Status, http.StatusOK)
	switch {
	case p.status != http.StatusOK && (p.status < 400 || p.status > 599):
		reply.Error = &Error{Message: fmt.Sprintf("the lab's model %.200q gave status %d, want 200, or 400 to 599", p.req.Model, p.status), Type: "server_error"}
		p.status = http.StatusInternalServerError
	case reply.Error != nil:
	case p.status != http.StatusOK:
		reply.Error = errorFor(p.status, p.req.Model)
	case reply.Fault == ErrorFrame:
		reply.Error = errorFor(http.StatusInternalServerError, p.req.Model)
	}
	switch {
	case p.status == http.StatusOK && p.req.Stream:
		return p.stream()
	case reply.Error != nil:
		return send(p.w, p.status, encode(p.wire.failed(p.status, *reply.Error)))
	default:
		return p.whole()
	}
}

// wait returns nil after d, or the context's error as soon as it is done.
func wait(ctx context.Context, d time.Duration) error {
	if d == Forever { // a timer, however long, would let a synctest bubble jump ahead
		<-ctx.Done()
	}
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// usage returns what the reply reports, nil for nothing.
func (p *player) usage() *Usage {
	if p.reply.Usage != nil || p.reply.Fault == NoContent {
		return p.reply.Usage
	}
	u := count(p.req, p.reply)
	return &u
}

// after is how many of n tokens go out before the fault.
func (p *player) after(n int) int {
	if p.reply.After < 0 {
		return n / 2
	}
	return min(p.reply.After, n)
}

// whole sends a reply that is not streamed.
func (p *player) whole() bool {
	reply := p.reply
	whole, key := p.wire.whole(p)
	body := encode(whole)
	switch reply.Fault {
	case Stall, Cut:
		p.w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		if send(p.w, p.status, body[:p.stopsAt(body, key)]) && flush(p.w) && reply.Fault == Stall {
			<-p.ctx.Done()
		}
		return false
	case BadJSON:
		body = body[:p.stopsAt(body, key)]
	}
	return send(p.w, p.status, body)
}

// stopsAt is the place in the JSON of the reply at which its fault happens: behind the last token before it.
// The key, such as "content":" with its quotes, cannot occur inside a JSON string, where a quote is escaped.
func (p *player) stopsAt(body []byte, key string) int {
	at := bytes.Index(body, []byte(key))
	if at < 0 {
		return len(body) / 2
	}
	parts := tokens(p.reply.Text)
	sent := encode(strings.Join(parts[:p.after(len(parts))], ""))
	return at + len(key) + len(sent) - len(`""`)
}

// stream sends a reply as server-sent events.
func (p *player) stream() bool {
	reply := p.reply
	p.w.Header().Set("Content-Type", "text/event-stream")
	p.w.Header().Set("Cache-Control", "no-cache")
	p.w.WriteHeader(p.status)
	if reply.Error != nil && reply.Fault != ErrorFrame {
		return p.finish(p.wire.errors(p.status, *reply.Error))
	}
	events, from, to := p.wire.events(p)
	if !p.send(events[:from]) {
		return false
	}
	tokens := events[from:to]
	after := p.after(len(tokens))
	for i := 0; ; i++ {
		if i == after {
			switch reply.Fault {
			case Stall:
				<-p.ctx.Done()
				return false
			case Cut:
				return false
			case BadJSON:
				if !p.event(p.wire.broken(p)) {
					return false
				}
			case ErrorFrame:
				return p.finish(p.wire.errors(p.status, *reply.Error))
			}
		}
		if i == len(tokens) {
			break
		}
		if wait(p.ctx, reply.Pace) != nil || !p.event(tokens[i]) {
			return false
		}
	}
	return p.finish(events[to:])
}

func (p *player) event(e event) bool {
	if p.ctx.Err() != nil {
		return false
	}
	_, err := io.WriteString(p.w, e.String())
	return err == nil && flush(p.w)
}

func (p *player) send(events []event) bool {
	for _, e := range events {
		if !p.event(e) {
			return false
		}
	}
	return true
}

// finish sends the events that end a stream. It leaves it to net/http to send the last, with the end of the body, once
// the visit has ended: who has seen the end of a reply finds its visit ended.
func (p *player) finish(events []event) bool {
	last := len(events) - 1
	if !p.send(events[:last]) {
		return false
	}
	_, err := io.WriteString(p.w, events[last].String())
	return err == nil && p.ctx.Err() == nil
}

// flush sends what has been written so far. A writer that cannot flush is left alone.
func flush(w http.ResponseWriter) bool {
	err := http.NewResponseController(w).Flush()
	return err == nil || errors.Is(err, http.ErrNotSupported)
}

// send writes a whole reply, without its length, so that its end is not seen before the visit has ended.
func send(w http.ResponseWriter, status int, body []byte) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, err := w.Write(body)
	return err == nil
}

// encode returns v as JSON, without escapes for HTML. All that the lab sends has a JSON form.
func encode(v any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		panic(fmt.Sprintf("lab: encode %T: %v", v, err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// errorFor is the error object that OpenAI would send, more or less, with a status.
func errorFor(status int, model string) *Error {
	e := &Error{Message: fmt.Sprintf("the lab's model %.200q answers with status %d", model, status), Type: "invalid_request_error"}
	switch {
	case status == http.StatusUnauthorized:
		e.Code = "invalid_api_key"
	case status == http.StatusForbidden:
		e.Type = "permission_error"
	case status == http.StatusNotFound:
		e.Code = "model_not_found"
	case status == http.StatusTooManyRequests:
		e.Type, e.Code = "requests", "rate_limit_exceeded"
	case status == 529:
		e.Type = "overloaded_error"
	case status >= 500:
		e.Type = "server_error"
	}
	return e
}
