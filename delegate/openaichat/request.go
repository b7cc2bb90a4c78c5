package openaichat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"

	"github.com/firstgood/firstgood"
)

// template is what a delegate puts into every request.
type template struct {
	members map[string]json.RawMessage // the params and the model
	system  json.RawMessage            // nil without one
}

func newTemplate(config Config) (template, error) {
	t := template{members: map[string]json.RawMessage{}}
	for name, value := range config.Params {
		switch name {
		case "model":
			return t, errors.New("params: model cannot be one; set the delegate's model")
		case "messages":
			return t, errors.New("params: messages cannot be one; they come from the brief and the delegate's system")
		case "stream", "stream_options":
			return t, fmt.Errorf("params: %s cannot be one; whether the endpoint streams is not a request's to say", name)
		}
		data, err := json.Marshal(value)
		if err != nil {
			return t, fmt.Errorf("params: %s: %w", name, err)
		}
		t.members[name] = data
	}
	for _, text := range []struct{ name, value string }{{"model", config.Model}, {"system", config.System}} {
		if !utf8.ValidString(text.value) {
			return t, fmt.Errorf("%s: not valid UTF-8", text.name)
		}
	}
	var err error
	if t.members["model"], err = encode(config.Model); err != nil {
		return t, err
	}
	if config.System != "" {
		t.system, err = encode(openai.SystemMessage(config.System))
	}
	return t, err
}

// fill returns the request for a brief. It fails on a brief that is no text and no chat completions request.
func (t template) fill(brief firstgood.Brief) ([]byte, error) {
	media, _, err := mime.ParseMediaType(brief.MediaType())
	if err != nil {
		return nil, fmt.Errorf("the brief's media type %q is not valid: %w", brief.MediaType(), err)
	}
	members := map[string]json.RawMessage{}
	var messages []json.RawMessage
	switch {
	case strings.HasPrefix(media, "text/"):
		if !utf8.ValidString(brief.String()) {
			return nil, errors.New("the brief is not valid UTF-8, so a chat request cannot carry it; convert it first")
		}
		user, err := encode(openai.UserMessage(brief.String()))
		if err != nil {
			return nil, err
		}
		messages = append(messages, user)
	case media == "application/json":
		if err := json.Unmarshal(brief.Bytes(), &members); err != nil {
			return nil, fmt.Errorf("the brief is no chat completions request: %w", err)
		}
		if err := json.Unmarshal(members["messages"], &messages); err != nil || len(messages) == 0 {
			return nil, errors.New("the brief is no chat completions request: it has no list of messages")
		}
		delete(members, "stream")
		delete(members, "stream_options")
		if t.system != nil {
			messages = slices.DeleteFunc(messages, instructs)
		}
	default:
		return nil, fmt.Errorf("the brief has the media type %s; a chat takes text or a request as application/json", media)
	}
	if t.system != nil {
		messages = slices.Insert(messages, 0, t.system)
	}
	for name, value := range t.members {
		members[name] = value
	}
	if members["messages"], err = encode(messages); err != nil {
		return nil, err
	}
	return encode(members)
}

// instructs reports whether a message is the system's or the developer's.
func instructs(message json.RawMessage) bool {
	var m struct {
		Role string `json:"role"`
	}
	return json.Unmarshal(message, &m) == nil && (m.Role == "system" || m.Role == "developer")
}

// encode is json.Marshal without the escapes that only HTML needs.
func encode(value any) ([]byte, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(data.Bytes(), []byte("\n")), err
}
