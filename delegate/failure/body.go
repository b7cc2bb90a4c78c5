package failure

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// evidence is what an error object says.
type evidence struct {
	status  int // the HTTP status, or the one that the body names under a status below 300
	code    string
	kind    string
	message string
}

// errorObject finds the error object in a body, and reports whether there is one. These shapes are known:
//
//	{"error": {"message", "code", "type", "status"}}   OpenAI, Anthropic, Google, and those after them
//	{"error": "message"}                               Ollama; under a status below 300 only with nothing beside it
//	{"object": "error", "message", "code", "type"}     vLLM, Mistral
//	{"message", "code", "type"}, {"detail"}            FastAPI and others; only under a status of 300 and more
//	[{"error": {…}}]                                   Google
func errorObject(status int, body []byte) (evidence, bool) {
	body = bytes.TrimSpace(body)
	failed := status >= 300
	if !failed && !bytes.Contains(body, []byte(`"error"`)) {
		return evidence{}, false
	}
	var members map[string]json.RawMessage
	var list []json.RawMessage
	if bytes.HasPrefix(body, []byte("[")) && json.Unmarshal(body, &list) == nil && len(list) == 1 {
		body = list[0]
	}
	if json.Unmarshal(body, &members) != nil {
		return evidence{}, false
	}
	e := evidence{status: status}
	var object map[string]json.RawMessage
	var text string
	switch raw := members["error"]; {
	case json.Unmarshal(raw, &object) == nil && len(object) > 0:
		e.read(object)
	case json.Unmarshal(raw, &text) == nil && text != "" && (failed || len(members) == 1):
		e.read(members)
		e.message = text
	case word(members["object"]) == "error":
		e.read(members)
	case failed:
		e.read(members)
		if e.message == "" {
			e.message = detail(members["detail"])
		}
	}
	return e, e.code != "" || e.kind != "" || e.message != "" || len(object) > 0
}

func (e *evidence) read(members map[string]json.RawMessage) {
	e.message, e.kind = word(members["message"]), word(members["type"])
	for _, name := range []string{"code", "status"} {
		text := word(members[name])
		number, err := strconv.Atoi(text)
		switch {
		case err == nil && number >= 400 && number < 600 && e.status < 300:
			e.status = number
		case err != nil && e.code == "":
			e.code = text
		}
	}
}

// word returns a JSON string's text, a number's digits, and "" for everything else.
func word(raw json.RawMessage) string {
	var text string
	var number json.Number
	switch {
	case len(raw) == 0:
	case json.Unmarshal(raw, &text) == nil:
		return text
	case json.Unmarshal(raw, &number) == nil:
		return number.String()
	}
	return ""
}

// detail reads FastAPI's detail: a text, or a list of objects with a msg.
func detail(raw json.RawMessage) string {
	if text := word(raw); text != "" {
		return text
	}
	var list []struct {
		Msg string `json:"msg"`
	}
	if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
		return ""
	}
	return list[0].Msg
}
