package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// messages are Anthropic's messages.
type messages struct{}

func (messages) request(_ string, body []byte) (Request, error) {
	var wire struct {
		Model    string          `json:"model"`
		System   json.RawMessage `json:"system"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"input_schema"`
		} `json:"tools"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the request body is not a JSON request for a message: %w", err)
	}
	req, err := begin(Messages, wire.Model, body)
	if err != nil {
		return req, err
	}
	if len(wire.Messages) == 0 {
		return req, errors.New("messages is missing or empty, want one at least")
	}
	req.Stream = wire.Stream
	if system, err := textOf(wire.System); err != nil {
		return req, fmt.Errorf("system: %w", err)
	} else if system != "" {
		req.Messages = append(req.Messages, Message{Role: "system", Text: system})
	}
	for i, m := range wire.Messages {
		text, err := textOf(m.Content)
		if err != nil {
			return req, fmt.Errorf("messages[%d].content: %w", i, err)
		}
		var parts []struct {
			Type string `json:"type"`
		}
		_ = json.Unmarshal(m.Content, &parts)
		results := 0
		for _, part := range parts {
			if part.Type == "tool_result" {
				results++
			}
		}
		req.Results += results
		role := m.Role
		if results > 0 {
			role = "tool"
		}
		req.Messages = append(req.Messages, Message{Role: role, Text: text})
	}
	for _, tool := range wire.Tools {
		req.Tools = append(req.Tools, Tool{tool.Name, tool.Schema})
	}
	return req, nil
}

// begin is what all protocols have: a request with a model.
func begin(protocol, model string, body []byte) (Request, error) {
	req := Request{Protocol: protocol, Model: model, Body: body}
	_, req.Argument, _ = strings.Cut(model, ":")
	if model == "" {
		return req, errors.New("model is missing or empty, want a name such as ok")
	}
	return req, nil
}

func (w messages) whole(p *player) (any, string) {
	message := w.envelope(p)
	message["content"] = w.content(p.reply)
	message["stop_reason"] = w.stopReason(p.reply)
	if u := p.usage(); u != nil {
		message["usage"] = w.usage(*u)
	}
	return message, `"text":"`
}

func (messages) content(reply Reply) []object {
	switch {
	case reply.ToolCall != "":
		return []object{{"type": "tool_use", "id": "toolu_lab_1", "name": reply.ToolCall, "input": reply.input()}}
	case reply.Fault == NoContent:
		return []object{}
	}
	return []object{{"type": "text", "text": reply.Text + reply.Refusal}}
}

func (w messages) events(p *player) (events []event, from, to int) {
	add := func(name string, data object) {
		data["type"] = name
		events = append(events, event{name, encode(data)})
	}
	message := w.envelope(p)
	message["content"] = []any{}
	if u := p.usage(); u != nil {
		message["usage"] = w.usage(Usage{Prompt: u.Prompt, Completion: 1})
	}
	add("message_start", object{"message": message})
	for _, content := range w.content(p.reply) {
		var deltas []object
		if content["type"] == "tool_use" {
			deltas = []object{{"type": "input_json_delta", "partial_json": string(encode(content["input"]))}}
			content["input"] = object{}
		} else {
			for _, part := range tokens(p.reply.Text + p.reply.Refusal) {
				deltas = append(deltas, object{"type": "text_delta", "text": part})
			}
			content["text"] = ""
		}
		add("content_block_start", object{"index": 0, "content_block": content})
		from = len(events)
		for _, delta := range deltas {
			add("content_block_delta", object{"index": 0, "delta": delta})
		}
		to = len(events)
		add("content_block_stop", object{"index": 0})
	}
	if to == 0 {
		from, to = len(events), len(events)
	}
	end := object{"delta": object{"stop_reason": w.stopReason(p.reply), "stop_sequence": nil}}
	if u := p.usage(); u != nil {
		end["usage"] = object{"output_tokens": u.Completion}
	}
	add("message_delta", end)
	add("message_stop", object{})
	return events, from, to
}

func (messages) broken(*player) event {
	return event{"content_block_delta", []byte(`{"type":"content_block_delta","index":0,"delta":{"te`)}
}

func (messages) failed(status int, e Error) any {
	kind := "api_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status == http.StatusForbidden:
		kind = "permission_error"
	case status == http.StatusNotFound:
		kind = "not_found_error"
	case status == http.StatusRequestEntityTooLarge:
		kind = "request_too_large"
	case status == http.StatusTooManyRequests, e.Code == "rate_limit_exceeded":
		kind = "rate_limit_error"
	case status == 529:
		kind = "overloaded_error"
	case status >= 400 && status < 500:
		kind = "invalid_request_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": e.Message}}
}

func (w messages) errors(status int, e Error) []event {
	return []event{{"error", encode(w.failed(status, e))}}
}

func (messages) envelope(p *player) object {
	return object{"id": fmt.Sprintf("msg_lab_%d", p.req.Number), "type": "message", "role": "assistant", "model": p.req.Model,
		"stop_reason": nil, "stop_sequence": nil}
}

func (messages) stopReason(reply Reply) string {
	switch {
	case reply.ToolCall != "":
		return "tool_use"
	case reply.Refusal != "", reply.FinishReason == "content_filter":
		return "refusal"
	case reply.FinishReason == "length":
		return "max_tokens"
	case reply.FinishReason != "" && reply.FinishReason != "stop":
		return reply.FinishReason
	}
	return "end_turn"
}

func (messages) usage(u Usage) object {
	return object{"input_tokens": u.Prompt, "output_tokens": u.Completion}
}
