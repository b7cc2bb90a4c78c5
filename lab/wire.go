package lab

import (
	"fmt"
	"strings"
)

// wire is a protocol: how requests are read, and how a reply looks whole and in events.
type wire interface {
	// request reads a request. place is the URL's path. The errors say which field is wrong.
	request(place string, body []byte) (Request, error)
	// whole returns the body of a reply that is not streamed, and the key in front of the text in its JSON, which a fault
	// cuts.
	whole(p *player) (body any, key string)
	// events returns a streamed reply. Those from from to to are its tokens, between which faults happen; the last is
	// written when everything is.
	events(p *player) (events []event, from, to int)
	// broken is an event that is no JSON.
	broken(p *player) event
	// failed is the body of an error.
	failed(status int, e Error) any
	// errors is a stream's end with an error.
	errors(status int, e Error) []event
}

// event is a server-sent event.
type event struct {
	name string // "" has none
	data []byte
}

func (e event) String() string {
	if e.name == "" {
		return fmt.Sprintf("data: %s\n\n", e.data)
	}
	return fmt.Sprintf("event: %s\ndata: %s\n\n", e.name, e.data)
}

// object is a JSON object.
type object = map[string]any

// Protocols of a [Request].
const (
	Completions = "completions" // OpenAI's chat completions
	Responses   = "responses"   // OpenAI's responses
	Messages    = "messages"    // Anthropic's messages
	Generate    = "generate"    // Gemini's generateContent
)

// place is what the lab has at a path.
type place struct {
	method string
	wire   wire // nil is the list of models
	counts bool // it counts tokens and does not ask a model
}

const generatePrefix = "/v1beta/models/"

// placeOf returns what the lab has at a URL's path. One without a method is nothing.
func placeOf(path string) place {
	switch path {
	case "/v1/models":
		return place{method: "GET"}
	case "/v1/chat/completions":
		return place{method: "POST", wire: completions{}}
	case "/v1/responses":
		return place{method: "POST", wire: responses{}}
	case "/v1/messages":
		return place{method: "POST", wire: messages{}}
	case "/v1/messages/count_tokens":
		return place{method: "POST", wire: messages{}, counts: true}
	}
	if rest, ok := strings.CutPrefix(path, generatePrefix); ok {
		switch _, verb, _ := cutLast(rest, ":"); verb {
		case "generateContent", "streamGenerateContent":
			return place{method: "POST", wire: generate{}}
		case "countTokens":
			return place{method: "POST", wire: generate{}, counts: true}
		}
	}
	return place{}
}

func cutLast(text, sep string) (before, after string, found bool) {
	at := strings.LastIndex(text, sep)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(sep):], true
}
