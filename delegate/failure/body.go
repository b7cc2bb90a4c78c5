package failure

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// evidence is what an error object says.
type evidence struct {
	status  int      // the HTTP status, or the one that the body names under a status below 300
	codes   []string // every code in the object, as the body has them, the object's own first
	kind    string
	message string
	wait    time.Duration // how long the object asks to be left alone
}

// members of a JSON object.
type object map[string]json.RawMessage

// errorObject finds the error object in a body or in a frame of a stream, and reports whether there is one. These
// shapes are known:
//
//	{"error": {"message", "code", "type", "status"}}   OpenAI, Azure, Anthropic, Google, Groq, and those after them
//	{"error": "message"}                               Ollama; under a status below 300 only with nothing beside it
//	{"object": "error", "message", "code", "type"}     vLLM, Mistral
//	{"type": "error", "message", "code"}               an event of OpenAI's Responses
//	{"type": "response.failed", "response": {"error"}} another
//	{"message", "code", "type"}, {"detail"}            FastAPI, Mistral and others; only under a status of 300 and more
//	[{"error": {…}}]                                   Google
func errorObject(status int, body []byte) (evidence, bool) {
	body = bytes.TrimSpace(body)
	failed := status >= 300
	if !failed && !bytes.Contains(body, []byte(`"error"`)) {
		return evidence{}, false
	}
	var list []json.RawMessage
	if bytes.HasPrefix(body, []byte("[")) && json.Unmarshal(body, &list) == nil && len(list) == 1 {
		body = list[0]
	}
	members := objectOf(body)
	if word(members["type"]) == "response.failed" {
		members = objectOf(members["response"])
	}
	e := evidence{status: status}
	inner := objectOf(members["error"])
	var text string
	switch {
	case len(inner) > 0:
		e.read(inner)
	case json.Unmarshal(members["error"], &text) == nil && text != "" && (failed || len(members) == 1):
		e.read(members)
		e.message = text
	case failed, word(members["object"]) == "error", word(members["type"]) == "error":
		e.read(members)
	}
	return e, len(e.codes) > 0 || e.kind != "" || e.message != "" || len(inner) > 0
}

func objectOf(raw json.RawMessage) object {
	var members object
	if json.Unmarshal(raw, &members) != nil {
		return nil
	}
	return members
}

func (e *evidence) read(members object) {
	e.message = text(members["message"])
	if e.message == "" {
		e.message = text(members["detail"])
	}
	if e.kind = word(members["type"]); e.kind == "error" { // says nothing
		e.kind = ""
	}
	e.code(members["code"])
	e.code(members["status"])
	e.code(objectOf(members["innererror"])["code"]) // Azure
	e.details(members["details"])
}

// code notes a code, or the status that it is.
func (e *evidence) code(raw json.RawMessage) {
	code := word(raw)
	number, err := strconv.Atoi(code)
	switch {
	case err == nil && number >= 400 && number < 600 && e.status < 300:
		e.status = number
	case err != nil && code != "":
		e.codes = append(e.codes, code)
	}
}

// details reads Google's list of details, and Anthropic's object.
func (e *evidence) details(raw json.RawMessage) {
	e.code(objectOf(raw)["error_code"])
	var list []object
	if json.Unmarshal(raw, &list) != nil {
		return
	}
	for _, detail := range list {
		e.code(detail["reason"]) // of an ErrorInfo
		if wait, err := time.ParseDuration(word(detail["retryDelay"])); err == nil {
			e.wait = max(e.wait, wait)
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

// text returns a message. FastAPI has a list of objects with a msg where others have a text, and Mistral puts that, as
// the detail, where the message should be.
func text(raw json.RawMessage) string {
	if text := word(raw); text != "" {
		return text
	}
	var list []object
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return word(list[0]["msg"])
	}
	if inner := objectOf(raw)["detail"]; inner != nil {
		return text(inner)
	}
	return ""
}
