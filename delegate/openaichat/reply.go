package openaichat

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
)

// reply reads a completion.
func (d *Delegate) reply(got answer) (firstgood.Reply, error) {
	var completion openai.ChatCompletion
	if err := failure.Decode(got.body, &completion); err != nil {
		return firstgood.Reply{}, err
	}
	reply := firstgood.Reply{Usage: firstgood.Usage{Source: firstgood.SourceUnknown}}
	if completion.JSON.Usage.Valid() {
		reply.Usage = firstgood.Usage{
			InputTokens:  int(completion.Usage.PromptTokens),
			OutputTokens: int(completion.Usage.CompletionTokens),
			Source:       firstgood.SourceMeasured,
		}
	}
	fail := func(kind firstgood.Kind, reason string) (firstgood.Reply, error) {
		return firstgood.Reply{}, &firstgood.Error{Kind: kind, Reason: reason, Status: got.status, Usage: reply.Usage}
	}
	if len(completion.Choices) == 0 {
		return fail(firstgood.KindError, "the response has no choices, so it is no chat completion")
	}
	choice := completion.Choices[0]
	// OpenRouter and those like it put a failure that came after the status into the choice.
	if inner, ok := choice.JSON.ExtraFields["error"]; ok {
		envelope := []byte(`{"error":` + inner.Raw() + `}`)
		if f := d.classifier.Classify(got.status, got.header, envelope, nil); f != nil {
			f.Usage = reply.Usage
			return firstgood.Reply{}, f
		}
	}
	if !choice.JSON.Message.Valid() {
		return fail(firstgood.KindError, "the response's first choice has no message, so it is no chat completion")
	}
	message := choice.Message
	reply.Text, reply.Refusal, reply.FinishReason = content(message), message.Refusal, choice.FinishReason
	reply.ToolCalls = len(message.ToolCalls)
	if message.JSON.FunctionCall.Valid() {
		reply.ToolCalls++
	}
	switch {
	case reply.FinishReason == "content_filter":
		return fail(firstgood.KindRefused, "a content filter withheld the answer (finish_reason content_filter)")
	case d.onRefusal && strings.TrimSpace(reply.Refusal) != "":
		excerpt, _ := firstgood.Excerpt(strings.Join(strings.Fields(reply.Refusal), " "), 400)
		return fail(firstgood.KindRefused, "the model refused: "+excerpt)
	}
	return reply, nil
}

// content returns the text of a message. Some servers send a list of parts where OpenAI has a string; the client's
// own field then holds the JSON.
func content(message openai.ChatCompletionMessage) string {
	raw := message.JSON.Content.Raw()
	if !strings.HasPrefix(raw, "[") {
		return message.Content
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal([]byte(raw), &parts) != nil {
		return message.Content
	}
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part.Text)
	}
	return text.String()
}
