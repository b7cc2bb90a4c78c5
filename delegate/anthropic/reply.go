package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/modelapi"
)

// message is a response of the Messages API, and what opens a stream.
type message struct {
	Type    string  `json:"type"`
	Content []block `json:"content"`
	stop
	Usage *tokens `json:"usage"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// stop is why a message ends where it does.
type stop struct {
	Reason  string `json:"stop_reason"`
	Details struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// event is one event of a stream.
type event struct {
	Type    string  `json:"type"`
	Message message `json:"message"`       // of message_start
	Block   block   `json:"content_block"` // of content_block_start
	Delta   struct {
		block
		stop
	} `json:"delta"` // of content_block_delta and message_delta
	Usage *tokens `json:"usage"` // of message_delta
}

// tokens are a usage. In a stream a later one is the sum so far, and need not name all.
type tokens struct {
	Input   *float64 `json:"input_tokens"`
	Written *float64 `json:"cache_creation_input_tokens"`
	Read    *float64 `json:"cache_read_input_tokens"`
	Output  *float64 `json:"output_tokens"`
}

// answer gathers one response, whole or in events.
type answer struct {
	status int
	begun  bool // there is a message
	text   strings.Builder
	calls  int
	stop   stop
	tokens *tokens // nil when none were told
	done   bool
}

var _ modelapi.Reader = (*answer)(nil)

// Whole implements [modelapi.Reader].
func (a *answer) Whole(from modelapi.Answer, body []byte) error {
	var m message
	if err := modelapi.Fits(failure.Decode(body, &m)); err != nil {
		return err
	}
	a.begin(from, m)
	a.done = true
	return nil
}

// begin takes in a message. It is none when it neither says so nor has a content.
func (a *answer) begin(from modelapi.Answer, m message) {
	a.status, a.begun = from.Status, m.Type == "message" || m.Content != nil
	for _, b := range m.Content {
		a.say(b)
	}
	a.stop = m.stop
	a.count(m.Usage)
}

// say takes in a block, and reports whether it says anything.
func (a *answer) say(b block) bool {
	switch b.Type {
	case "tool_use":
		a.calls++
	case "text":
		a.text.WriteString(b.Text)
		return b.Text != ""
	}
	return true
}

func (a *answer) count(t *tokens) {
	switch {
	case t == nil:
	case a.tokens == nil:
		a.tokens = t
	default:
		for _, pair := range []struct{ to, from **float64 }{
			{&a.tokens.Input, &t.Input}, {&a.tokens.Written, &t.Written}, {&a.tokens.Read, &t.Read}, {&a.tokens.Output, &t.Output},
		} {
			if *pair.from != nil {
				*pair.to = *pair.from
			}
		}
	}
}

// Event implements [modelapi.Reader].
func (a *answer) Event(from modelapi.Answer, data []byte) (bool, error) {
	var e event
	if err := modelapi.Fits(json.Unmarshal(data, &e)); err != nil {
		return false, err
	}
	switch e.Type {
	case "":
		return false, errors.New("it has no type")
	case "message_start":
		a.begin(from, e.Message)
	case "content_block_start":
		return a.say(e.Block), nil
	case "content_block_delta": // what the model thinks, and the pieces of a tool's input, show that it is at work
		if e.Delta.Type == "text_delta" {
			a.text.WriteString(e.Delta.Text)
		}
		return true, nil
	case "message_delta":
		a.count(e.Usage)
		if e.Delta.Reason != "" {
			a.stop = e.Delta.stop
		}
		return true, nil
	case "message_stop":
		a.done = true
		return true, nil
	}
	return false, nil
}

// Complete implements [modelapi.Reader].
func (a *answer) Complete() bool { return a.done || a.stop.Reason != "" }

// Ended implements [modelapi.Reader].
func (a *answer) Ended() bool { return a.done }

// Used implements [modelapi.Reader]. What a message that broke off has told is less than what it has cost.
func (a *answer) Used() firstgood.Usage {
	if !a.begun {
		return firstgood.Usage{}
	}
	usage := firstgood.Usage{Source: firstgood.SourceUnknown}
	if t := a.tokens; t != nil {
		usage.InputTokens = number(t.Input) + number(t.Written) + number(t.Read)
		usage.OutputTokens = number(t.Output)
		if a.Complete() {
			usage.Source = firstgood.SourceMeasured
		}
	}
	return usage
}

func number(n *float64) int {
	if n == nil {
		return 0
	}
	return int(*n)
}

// reply is what the response comes to.
func (a *answer) reply() (firstgood.Reply, error) {
	fail := func(kind firstgood.Kind, reason string) (firstgood.Reply, error) {
		return firstgood.Reply{}, &firstgood.Error{Kind: kind, Reason: reason, Status: a.status, Usage: a.Used()}
	}
	switch {
	case !a.begun:
		return fail(firstgood.KindError, "the response is no message of the Messages API")
	case a.stop.Reason == "refusal":
		return fail(firstgood.KindRefused, a.stop.refusal())
	}
	return firstgood.Reply{Text: a.text.String(), FinishReason: a.stop.Reason, ToolCalls: a.calls, Usage: a.Used()}, nil
}

// refusal says on one line why the model refused.
func (s stop) refusal() string {
	reason := "the model refused (stop_reason refusal)"
	for _, why := range []string{s.Details.Category, s.Details.Explanation} {
		if why = strings.Join(strings.Fields(why), " "); why != "" {
			excerpt, _ := firstgood.Excerpt(why, 400)
			reason += ": " + excerpt
		}
	}
	return reason
}
