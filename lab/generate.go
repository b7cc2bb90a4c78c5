package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// generate is Gemini's generateContent, and streamGenerateContent in server-sent events. The model is in the path.
type generate struct{}

func (generate) request(place string, body []byte) (Request, error) {
	type parts []struct {
		Text             string          `json:"text"`
		FunctionResponse json.RawMessage `json:"functionResponse"`
	}
	var wire struct {
		System struct {
			Parts parts `json:"parts"`
		} `json:"systemInstruction"`
		Contents []struct {
			Role  string `json:"role"`
			Parts parts  `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
				Schema     json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the request body is not a JSON request for content: %w", err)
	}
	model, verb, _ := cutLast(strings.TrimPrefix(place, generatePrefix), ":")
	if plain, err := url.PathUnescape(model); err == nil {
		model = plain
	}
	req, err := begin(Generate, model, body)
	if err != nil {
		return req, err
	}
	if len(wire.Contents) == 0 {
		return req, errors.New("contents is missing or empty, want one at least")
	}
	req.Stream = verb == "streamGenerateContent"
	add := func(role string, parts parts) {
		var text strings.Builder
		for _, part := range parts {
			text.WriteString(part.Text)
			if part.FunctionResponse != nil {
				role = "tool"
				req.Results++
			}
		}
		req.Messages = append(req.Messages, Message{Role: role, Text: text.String()})
	}
	if len(wire.System.Parts) > 0 {
		add("system", wire.System.Parts)
	}
	for _, content := range wire.Contents {
		if content.Role == "" {
			content.Role = "user"
		}
		add(content.Role, content.Parts)
	}
	for _, tools := range wire.Tools {
		for _, f := range tools.Functions {
			if f.Schema == nil {
				f.Schema = f.Parameters
			}
			req.Tools = append(req.Tools, Tool{f.Name, f.Schema})
		}
	}
	return req, nil
}

func (w generate) whole(p *player) (any, string) {
	return w.envelope(p, w.parts(p.reply), true), `"text":"`
}

func (generate) parts(reply Reply) []object {
	switch {
	case reply.ToolCall != "":
		return []object{{"functionCall": object{"name": reply.ToolCall, "args": reply.input()}}}
	case reply.Fault == NoContent:
		return []object{}
	}
	return []object{{"text": reply.Text + reply.Refusal}}
}

func (w generate) events(p *player) (events []event, from, to int) {
	add := func(parts []object, last bool) {
		events = append(events, event{data: encode(w.envelope(p, parts, last))})
	}
	if p.reply.ToolCall != "" {
		add(w.parts(p.reply), true)
		return events, 0, 0
	}
	if p.reply.Fault != NoContent {
		for _, part := range tokens(p.reply.Text + p.reply.Refusal) {
			add([]object{{"text": part}}, false)
		}
	}
	to = len(events)
	add([]object{}, true)
	return events, 0, to
}

func (generate) broken(*player) event { return event{data: []byte(`{"candidates":[{"content":{"par`)} }

func (generate) failed(status int, e Error) any {
	kind := "INVALID_ARGUMENT"
	switch {
	case e.Code == "rate_limit_exceeded":
		status = http.StatusTooManyRequests
		kind = "RESOURCE_EXHAUSTED"
	case status == http.StatusUnauthorized:
		kind = "UNAUTHENTICATED"
	case status == http.StatusForbidden:
		kind = "PERMISSION_DENIED"
	case status == http.StatusNotFound:
		kind = "NOT_FOUND"
	case status == http.StatusTooManyRequests:
		kind = "RESOURCE_EXHAUSTED"
	case status == http.StatusServiceUnavailable:
		kind = "UNAVAILABLE"
	case status >= 500:
		kind = "INTERNAL"
	}
	return object{"error": object{"code": status, "message": e.Message, "status": kind}}
}

func (w generate) errors(status int, e Error) []event {
	return []event{{data: encode(w.failed(status, e))}}
}

func (generate) envelope(p *player, parts []object, last bool) object {
	candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	envelope := object{"candidates": []object{candidate}, "modelVersion": p.req.Model, "responseId": fmt.Sprintf("lab-%d", p.req.Number)}
	if !last {
		return envelope
	}
	candidate["finishReason"] = "STOP"
	if p.reply.FinishReason == "content_filter" || p.reply.Refusal != "" {
		candidate["finishReason"] = "SAFETY"
	}
	if u := p.usage(); u != nil {
		envelope["usageMetadata"] = object{"promptTokenCount": u.Prompt, "candidatesTokenCount": u.Completion, "totalTokenCount": u.Total}
	}
	return envelope
}
