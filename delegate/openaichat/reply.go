package openaichat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/modelapi"
)

// piece is a chat completion, and a chunk of one: in a chunk each choice has a delta in place of a message. The
// client's own types for the two have nothing in common, and take four times as long and ten times the memory to decode.
type piece struct {
	Choices []choice `json:"choices"`
	Usage   *struct {
		Input  float64 `json:"prompt_tokens"`
		Output float64 `json:"completion_tokens"`
	} `json:"usage"`
}

type choice struct {
	Index        int             `json:"index"`
	Message      *message        `json:"message"`
	Delta        *message        `json:"delta"`
	FinishReason string          `json:"finish_reason"`
	Error        json.RawMessage `json:"error"` // of OpenRouter and those like it, for a failure after the status
}

type message struct {
	Content      json.RawMessage `json:"content"`
	Refusal      string          `json:"refusal"`
	ToolCalls    []toolCall      `json:"tool_calls"`
	FunctionCall json.RawMessage `json:"function_call"`

	// What a model thinks is no part of the reply, but shows that it is at work.
	Reasoning        string `json:"reasoning"`
	ReasoningContent string `json:"reasoning_content"`
}

type toolCall struct {
	Index *int   `json:"index"`
	ID    string `json:"id"`
}

// answer gathers one response, whole or in chunks.
type answer struct {
	status        int
	text, refusal strings.Builder
	calls         []toolCall
	function      bool // a call in the old form
	finish        string
	usage         firstgood.Usage // the zero Usage before anything was read
	choices       bool            // there was one
	message       bool            // and it had a message
	done          bool
}

var _ modelapi.Reader = (*answer)(nil)

// Whole implements [modelapi.Reader].
func (a *answer) Whole(from modelapi.Answer, body []byte) error {
	var p piece
	if err := modelapi.Fits(failure.Decode(body, &p)); err != nil {
		return err
	}
	if len(p.Choices) > 0 {
		p.Choices[0].Index = 0
		p.Choices = p.Choices[:1]
	}
	_, err := a.add(from, p)
	return err
}

// Event implements [modelapi.Reader].
func (a *answer) Event(from modelapi.Answer, data []byte) (bool, error) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		a.done = true
		return true, nil
	}
	var p piece
	if err := modelapi.Fits(json.Unmarshal(data, &p)); err != nil {
		return false, err
	}
	return a.add(from, p)
}

// Complete implements [modelapi.Reader].
func (a *answer) Complete() bool { return a.done || a.finish != "" }

// Ended implements [modelapi.Reader].
func (a *answer) Ended() bool { return a.done }

// Used implements [modelapi.Reader].
func (a *answer) Used() firstgood.Usage { return a.usage }

// add takes in a completion or a chunk, and reports whether it brought the reply forward.
func (a *answer) add(from modelapi.Answer, p piece) (forward bool, err error) {
	a.status = from.Status
	if a.usage.Source == "" {
		a.usage.Source = firstgood.SourceUnknown
	}
	if p.Usage != nil {
		a.usage = firstgood.Usage{InputTokens: int(p.Usage.Input), OutputTokens: int(p.Usage.Output), Source: firstgood.SourceMeasured}
		forward = true
	}
	for _, choice := range p.Choices {
		if choice.Index != 0 {
			continue
		}
		a.choices = true
		if len(choice.Error) > 0 {
			if f := from.Failure(fmt.Appendf(nil, `{"error":%s}`, choice.Error)); f != nil {
				return false, f
			}
		}
		if choice.FinishReason != "" {
			a.finish, forward = choice.FinishReason, true
		}
		for _, m := range []*message{choice.Message, choice.Delta} {
			if m != nil {
				forward = a.say(m) || forward
			}
		}
	}
	return forward, nil
}

// say takes in a message, or a piece of one, and reports whether it says anything.
func (a *answer) say(m *message) bool {
	a.message = true
	text := content(m.Content)
	a.text.WriteString(text)
	a.refusal.WriteString(m.Refusal)
	for _, call := range m.ToolCalls {
		if !a.known(call) {
			a.calls = append(a.calls, call)
		}
	}
	function := len(m.FunctionCall) > 0 && string(m.FunctionCall) != "null"
	a.function = a.function || function
	return text != "" || m.Refusal != "" || len(m.ToolCalls) > 0 || function || m.Reasoning != "" || m.ReasoningContent != ""
}

// known reports whether a piece of a tool call belongs to one that has begun. A piece with a new id begins one, also
// under an index that is in use, as Gemini sends them; a piece without an id goes on with its index.
func (a *answer) known(part toolCall) bool {
	for _, call := range a.calls {
		switch {
		case part.ID != "" && part.ID == call.ID:
			return true
		case part.ID == "" && part.Index != nil && call.Index != nil && *part.Index == *call.Index:
			return true
		}
	}
	return false
}

// content returns the text of a content. Some servers send a list of parts where OpenAI has a string.
func content(raw json.RawMessage) string {
	var text string
	if !bytes.HasPrefix(raw, []byte("[")) {
		_ = json.Unmarshal(raw, &text) // what is no text says nothing
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if modelapi.Fits(json.Unmarshal(raw, &parts)) != nil {
		return ""
	}
	for _, part := range parts {
		text += part.Text
	}
	return text
}

// reply is what the response comes to.
func (a *answer) reply(onRefusal bool) (firstgood.Reply, error) {
	reply := firstgood.Reply{Text: a.text.String(), Refusal: a.refusal.String(), FinishReason: a.finish, ToolCalls: len(a.calls), Usage: a.usage}
	if a.function {
		reply.ToolCalls++
	}
	fail := func(kind firstgood.Kind, reason string) (firstgood.Reply, error) {
		return firstgood.Reply{}, &firstgood.Error{Kind: kind, Reason: reason, Status: a.status, Usage: a.usage}
	}
	switch {
	case !a.choices:
		return fail(firstgood.KindError, "the response has no choices, so it is no chat completion")
	case a.finish == "error":
		return fail(firstgood.KindError, "the endpoint broke the answer off (finish_reason error) and does not say why")
	case !a.message:
		return fail(firstgood.KindError, "the response's first choice has no message, so it is no chat completion")
	case a.finish == "content_filter":
		return fail(firstgood.KindRefused, "a content filter withheld the answer (finish_reason content_filter)")
	case onRefusal && strings.TrimSpace(reply.Refusal) != "":
		excerpt, _ := firstgood.Excerpt(strings.Join(strings.Fields(reply.Refusal), " "), 400)
		return fail(firstgood.KindRefused, "the model refused: "+excerpt)
	}
	return reply, nil
}
