package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// responses are OpenAI's responses.
type responses struct{}

func (responses) request(_ string, body []byte) (Request, error) {
	var wire struct {
		Model        string          `json:"model"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
		Stream bool `json:"stream"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the request body is not a JSON request for a response: %w", err)
	}
	req, err := begin(Responses, wire.Model, body)
	if err != nil {
		return req, err
	}
	req.Stream = wire.Stream
	if wire.Instructions != "" {
		req.Messages = append(req.Messages, Message{Role: "system", Text: wire.Instructions})
	}
	var text string
	var items []struct {
		Type    string          `json:"type"`
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	switch {
	case json.Unmarshal(wire.Input, &text) == nil && text != "":
		req.Messages = append(req.Messages, Message{Role: "user", Text: text})
	case json.Unmarshal(wire.Input, &items) != nil || len(items) == 0:
		return req, errors.New("input is missing, empty, or neither a text nor a list of items")
	}
	for i, item := range items {
		switch item.Type {
		case "message", "":
			text, err := textOf(item.Content)
			if err != nil {
				return req, fmt.Errorf("input[%d].content: %w", i, err)
			}
			req.Messages = append(req.Messages, Message{Role: item.Role, Text: text})
		case "function_call_output", "custom_tool_call_output":
			req.Results++
			req.Messages = append(req.Messages, Message{Role: "tool"})
		}
	}
	if len(req.Messages) == 0 {
		return req, errors.New("input holds no message")
	}
	for _, tool := range wire.Tools {
		if tool.Name != "" {
			req.Tools = append(req.Tools, Tool{tool.Name, tool.Parameters})
		}
	}
	return req, nil
}

func (w responses) whole(p *player) (any, string) {
	return w.envelope(p, "completed", w.output(p.reply)), `"text":"`
}

// output returns the items of a reply: a message, or a call.
func (responses) output(reply Reply) []object {
	switch {
	case reply.ToolCall != "":
		return []object{{"type": "function_call", "id": "fc_lab_1", "call_id": "call_lab_1", "status": "completed",
			"name": reply.ToolCall, "arguments": string(encode(reply.input()))}}
	case reply.Fault == NoContent:
		return []object{}
	case reply.Refusal != "":
		return []object{message(object{"type": "refusal", "refusal": reply.Refusal})}
	}
	return []object{message(object{"type": "output_text", "text": reply.Text, "annotations": []any{}})}
}

func message(content ...object) object {
	if content == nil {
		content = []object{}
	}
	return object{"type": "message", "id": "msg_lab_1", "status": "completed", "role": "assistant", "content": content}
}

func (w responses) events(p *player) (events []event, from, to int) {
	add := func(name string, data object) {
		data["type"], data["sequence_number"] = name, len(events)
		events = append(events, event{name, encode(data)})
	}
	add("response.created", object{"response": w.envelope(p, "in_progress", []object{})})
	from, to = 1, 1
	output := w.output(p.reply)
	for _, item := range output {
		place := object{"item_id": item["id"], "output_index": 0}
		with := func(name string, value any) object {
			data := object{name: value}
			for k, v := range place {
				data[k] = v
			}
			return data
		}
		field, delta, text := "text", "response.output_text.delta", p.reply.Text
		begun := message()
		switch {
		case item["type"] == "function_call":
			field, delta, text = "arguments", "response.function_call_arguments.delta", ""
			begun = object{"type": "function_call", "id": item["id"], "call_id": item["call_id"], "name": item["name"], "arguments": "", "status": "in_progress"}
		case p.reply.Refusal != "":
			field, delta, text = "refusal", "response.refusal.delta", p.reply.Refusal
		}
		add("response.output_item.added", object{"output_index": 0, "item": begun})
		if field != "arguments" {
			place["content_index"] = 0
			kind := "output_text"
			if field == "refusal" {
				kind = "refusal"
			}
			add("response.content_part.added", with("part", object{"type": kind, field: ""}))
		}
		from = len(events)
		for _, part := range tokens(text) {
			add(delta, with("delta", part))
		}
		if field == "arguments" {
			add(delta, with("delta", item["arguments"]))
		}
		to = len(events)
		add("response.output_item.done", object{"output_index": 0, "item": item})
	}
	add("response.completed", object{"response": w.envelope(p, "completed", output)})
	return events, from, to
}

func (responses) broken(*player) event {
	return event{"response.output_text.delta", []byte(`{"type":"response.output_text.delta","del`)}
}

func (responses) failed(_ int, e Error) any { return openAIError(e) }

func (responses) errors(_ int, e Error) []event {
	failed := object{"type": "response.failed", "response": object{"id": "resp_lab", "object": "response", "status": "failed", "output": []any{},
		"error": object{"code": e.Code, "message": e.Message}}}
	return []event{{"response.failed", encode(failed)}}
}

func (responses) envelope(p *player, status string, output []object) object {
	response := object{"id": fmt.Sprintf("resp_lab_%d", p.req.Number), "object": "response", "created_at": time.Now().Unix(),
		"model": p.req.Model, "status": status, "output": output, "error": nil}
	if p.reply.FinishReason == "content_filter" && status == "completed" {
		response["status"], response["incomplete_details"] = "incomplete", object{"reason": "content_filter"}
	}
	if u := p.usage(); u != nil && status == "completed" {
		response["usage"] = object{"input_tokens": u.Prompt, "input_tokens_details": object{"cached_tokens": 0},
			"output_tokens": u.Completion, "output_tokens_details": object{"reasoning_tokens": 0}, "total_tokens": u.Total}
	}
	return response
}
