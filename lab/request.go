package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Request is a request for a completion, as a [Model] gets it.
type Request struct {
	Number       int    // of the visit, from 1
	Model        string // as it was asked for, with its argument
	Argument     string // what stands behind the first colon of Model, "" when there is none
	Messages     []Message
	Protocol     string // one of the protocols, such as Completions
	Tools        []Tool // that the client offers
	Results      int    // how many results of tool calls are among the messages
	Stream       bool
	IncludeUsage bool        // stream_options.include_usage: a stream ends with the usage
	Header       http.Header // as it came, with any key in it; not to be changed
	Body         []byte      // as it came; not to be changed
}

// Tool is a function that the client offers to a model.
type Tool struct {
	Name   string
	Schema json.RawMessage // of what it gets; nil where it takes a text, or none was told
}

// Message is one message of a request.
type Message struct {
	Role string
	Text string // the content, or the texts of its parts joined; "" where it has none
}

// Brief returns the text of the last message whose role is user, or "".
func (r Request) Brief() string {
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if r.Messages[i].Role == "user" {
			return r.Messages[i].Text
		}
	}
	return ""
}

// parseRequest reads the body of a request. Its errors say which field is wrong.
func parseRequest(body []byte) (Request, error) {
	var wire struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		Stream        bool `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, fmt.Errorf("the request body is not a JSON request for a completion: %w", err)
	}
	req := Request{Protocol: Completions, Model: wire.Model, Stream: wire.Stream, IncludeUsage: wire.StreamOptions.IncludeUsage, Body: body}
	_, req.Argument, _ = strings.Cut(wire.Model, ":")
	if req.Model == "" {
		return req, errors.New("model is missing or empty, want a name such as ok")
	}
	if len(wire.Messages) == 0 {
		return req, errors.New("messages is missing or empty, want one at least")
	}
	for i, m := range wire.Messages {
		text, err := textOf(m.Content)
		if err != nil {
			return req, fmt.Errorf("messages[%d].content: %w", i, err)
		}
		req.Messages = append(req.Messages, Message{Role: m.Role, Text: text})
		if m.Role == "tool" {
			req.Results++
		}
	}
	for _, tool := range wire.Tools {
		req.Tools = append(req.Tools, Tool{tool.Function.Name, tool.Function.Parameters})
	}
	return req, nil
}

// textOf reads a message's content: a string, a list of parts, or nothing.
func textOf(content json.RawMessage) (string, error) {
	if len(content) == 0 {
		return "", nil
	}
	switch content[0] {
	case 'n':
		return "", nil
	case '"':
		var text string
		err := json.Unmarshal(content, &text)
		return text, err
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(content, &parts); err != nil {
		return "", errors.New("want a string, or a list of parts")
	}
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text)
	}
	return text.String(), nil
}
