package modelapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"strings"
	"unicode/utf8"

	"github.com/firstgood/firstgood"
)

// Request is a request in the making.
type Request struct {
	Members  map[string]json.RawMessage // all but the messages
	Messages []json.RawMessage
}

// params are what the settings put into every request.
func params(s Settings) (map[string]json.RawMessage, error) {
	members := map[string]json.RawMessage{}
	reserved := map[string]string{
		"model":    "set the delegate's model",
		"messages": "they come from the brief and the delegate's system",
		"stream":   "whether the endpoint streams is not a request's to say",
	}
	maps.Copy(reserved, s.Reserved)
	for name, value := range s.Params {
		if why, ok := reserved[name]; ok {
			return nil, fmt.Errorf("params: %s cannot be one; %s", name, why)
		}
		data, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("params: %s: %w", name, err)
		}
		members[name] = data
	}
	model, err := Text(s.Model)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	members["model"] = model
	return members, nil
}

// Read reads a brief: a text becomes one message of the user's; a brief of the media type application/json is a request
// with a list of messages, from which what the endpoint decides is taken out. Named inputs are not read. It fails on a
// brief that is neither, and on a text that is no UTF-8.
func (e *Endpoint) Read(brief firstgood.Brief) (Request, error) {
	media, _, err := mime.ParseMediaType(brief.MediaType())
	if err != nil {
		return Request{}, fmt.Errorf("the brief's media type %q is not valid: %w", brief.MediaType(), err)
	}
	r := Request{Members: map[string]json.RawMessage{}}
	switch {
	case strings.HasPrefix(media, "text/"):
		text, err := Text(brief.String())
		if err != nil {
			return Request{}, errors.New("the brief is not valid UTF-8, so a chat request cannot carry it; convert it first")
		}
		r.Messages = []json.RawMessage{Message("user", text)}
	case media == "application/json":
		if err := json.Unmarshal(brief.Bytes(), &r.Members); err != nil {
			return Request{}, fmt.Errorf("the brief is no chat request: %w", err)
		}
		if err := json.Unmarshal(r.Members["messages"], &r.Messages); err != nil || len(r.Messages) == 0 {
			return Request{}, errors.New("the brief is no chat request: it has no list of messages")
		}
		for _, name := range []string{"messages", "stream", "stream_options"} {
			delete(r.Members, name)
		}
	default:
		return Request{}, fmt.Errorf("the brief has the media type %s; a chat takes text or a request as application/json", media)
	}
	return r, nil
}

// Write returns the request as JSON, with the params, the model, and stream where the endpoint streams.
func (e *Endpoint) Write(r Request) ([]byte, error) {
	maps.Copy(r.Members, e.params)
	if e.Streams() {
		r.Members["stream"] = json.RawMessage("true")
	}
	messages, err := encode(r.Messages)
	if err != nil {
		return nil, err
	}
	r.Members["messages"] = messages
	return encode(r.Members)
}

// Text returns a text as JSON. It fails on what is no UTF-8.
func Text(text string) (json.RawMessage, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("not valid UTF-8")
	}
	return encode(text)
}

// Message returns a message of a role, whose content is JSON already.
func Message(role string, content json.RawMessage) json.RawMessage {
	return fmt.Appendf(nil, `{"role":%q,"content":%s}`, role, content)
}

// Instructs reports whether a message is the system's or the developer's, and returns its content.
func Instructs(message json.RawMessage) (content json.RawMessage, yes bool) {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	return m.Content, json.Unmarshal(message, &m) == nil && (m.Role == "system" || m.Role == "developer")
}

// encode is json.Marshal without the escapes that only HTML needs.
func encode(value any) ([]byte, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(data.Bytes(), []byte("\n")), err
}
