package lab

import (
	"fmt"
	"time"
)

// completions are OpenAI's chat completions.
type completions struct{}

func (completions) request(_ string, body []byte) (Request, error) { return parseRequest(body) }

func (w completions) whole(p *player) (any, string) {
	reply := p.reply
	message := object{"role": "assistant", "content": reply.Text, "refusal": nil}
	if reply.Refusal != "" {
		message["content"], message["refusal"] = nil, reply.Refusal
	}
	if reply.ToolCall != "" {
		message["content"], message["tool_calls"] = nil, []any{w.call(reply.ToolCall, string(encode(reply.input())))}
	}
	if reply.Fault == NoContent {
		delete(message, "content")
	}
	whole := w.envelope(p, "chat.completion", []choice{{Message: message, FinishReason: w.finishReason(p.reply)}})
	if u := p.usage(); u != nil {
		whole.Usage = u
	}
	return whole, `"content":"`
}

func (w completions) events(p *player) (events []event, from, to int) {
	for _, delta := range w.deltas(p.reply) {
		events = append(events, w.chunk(p, []choice{{Delta: delta}}, nil))
	}
	from, to = 1, len(events)
	events = append(events, w.chunk(p, []choice{{Delta: object{}, FinishReason: w.finishReason(p.reply)}}, nil))
	if u := p.usage(); u != nil && p.req.IncludeUsage {
		events = append(events, w.chunk(p, []choice{}, u))
	}
	return append(events, done), from, to
}

var done = event{data: []byte("[DONE]")}

func (w completions) broken(p *player) event {
	return event{data: fmt.Appendf(nil, `{"id":%q,"choices":[{"index":0,"delta":{"conte`, w.id(p))}
}

func (completions) failed(_ int, e Error) any { return openAIError(e) }

func (completions) errors(_ int, e Error) []event {
	return []event{{data: encode(openAIError(e))}, done}
}

func openAIError(e Error) object {
	var code any
	if e.Code != "" {
		code = e.Code
	}
	return object{"error": object{"message": e.Message, "type": e.Type, "param": nil, "code": code}}
}

func (completions) id(p *player) string { return fmt.Sprintf("chatcmpl-lab-%d", p.req.Number) }

func (completions) finishReason(reply Reply) string {
	switch {
	case reply.FinishReason != "":
		return reply.FinishReason
	case reply.ToolCall != "":
		return "tool_calls"
	}
	return "stop"
}

// deltas returns the reply in pieces, the one with the role first.
func (w completions) deltas(reply Reply) []object {
	field, text := "content", reply.Text
	role := object{"role": "assistant", "content": ""}
	switch {
	case reply.Fault == NoContent:
		delete(role, "content")
		text = ""
	case reply.ToolCall != "":
		role["content"] = nil
		named := w.call(reply.ToolCall, "")
		arguments := object{"index": 0, "function": object{"arguments": string(encode(reply.input()))}}
		named["index"] = 0
		return []object{role, {"tool_calls": []any{named}}, {"tool_calls": []any{arguments}}}
	case reply.Refusal != "":
		role["content"] = nil
		field, text = "refusal", reply.Refusal
	}
	deltas := []object{role}
	for _, part := range tokens(text) {
		deltas = append(deltas, object{field: part})
	}
	return deltas
}

func (completions) call(name, arguments string) object {
	return object{"id": "call_lab_1", "type": "function", "function": object{"name": name, "arguments": arguments}}
}

func (w completions) chunk(p *player, choices []choice, u *Usage) event {
	chunk := w.envelope(p, "chat.completion.chunk", choices)
	if p.req.IncludeUsage {
		chunk.Usage = u
	}
	return event{data: encode(chunk)}
}

// completion is the envelope of a reply, or of a piece of one.
type completion struct {
	ID      string   `json:"id"`
	Object  string   `json:"object"`
	Created int64    `json:"created"`
	Model   string   `json:"model"`
	Choices []choice `json:"choices"`
	Usage   any      `json:"usage,omitempty"` // a *Usage; one that is nil is null
}

type choice struct {
	Index        int `json:"index"`
	Message      any `json:"message,omitempty"`
	Delta        any `json:"delta,omitempty"`
	FinishReason any `json:"finish_reason"`
}

func (w completions) envelope(p *player, kind string, choices []choice) completion {
	return completion{ID: w.id(p), Object: kind, Created: time.Now().Unix(), Model: p.req.Model, Choices: choices}
}
