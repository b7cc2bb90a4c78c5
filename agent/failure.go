package agent

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/firstgood/firstgood"
)

// failure makes an error of what an agent says went wrong.
func (p *Parser) failure(message string) *firstgood.Error {
	kind, status := classify(message)
	message = unwrap(message)
	reason := tidy(strings.ReplaceAll(strings.TrimSpace(message), "\n", " "))
	if reason == "" {
		reason = p.kind.Name + " failed and did not say why"
	}
	return &firstgood.Error{Kind: kind, Status: status, Reason: reason}
}

// unwrap takes the message out of what Gemini CLI and Qwen Code make of an error: [API Error: …] around a text, or around the
// provider's JSON.
func unwrap(message string) string {
	message = strings.TrimSpace(message)
	if inner, ok := strings.CutPrefix(message, "[API Error: "); ok {
		message = strings.TrimSuffix(inner, "]")
	}
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal([]byte(message), &e) == nil {
		if inner := said(e.Error); inner != "" {
			return inner
		}
	}
	return message
}

// phrases are what agents, and the providers that they quote, say of each kind of failure. The first that occurs counts, so
// what is more particular comes first.
var phrases = []struct {
	kind  firstgood.Kind
	words []string
}{
	{firstgood.KindContextLength, []string{"prompt is too long", "context length", "context_length", "context window", "maximum context", "input token count"}},
	{firstgood.KindRefused, []string{"usage policy", "content_filter", "content policy", "content_policy", "contentpolicy", "safety system", "safety reasons"}},
	{firstgood.KindRateLimited, []string{"rate limit", "rate_limit", "ratelimit", "too many requests", "quota", "usage limit", "resource_exhausted", "credit balance"}},
	{firstgood.KindAuth, []string{"api key", "api_key", "unauthorized", "unauthenticated", "authentication", "not logged in", "please run /login", "log in again", "forbidden", "permission_denied"}},
	{firstgood.KindUnavailable, []string{"overloaded", "connection error", "connection failed", "connection refused", "econnrefused", "enotfound", "econnreset", "fetch failed",
		"unable to connect", "cannot connect", "stream disconnected", "error sending request", "service unavailable", "internal server error", "bad gateway", "internalservererror", "apiconnectionerror"}},
}

// code finds an HTTP status where it is clearly one: behind a word that says so.
var code = regexp.MustCompile(`(?i)(?:api error:?|status(?: code)?:?|http(?: status)?:?|error code:?|unexpected status|"code"\s*:|"status"\s*:|^)\s*\(?([45]\d\d)\b`)

// classify tells the kind of a failure from its words, and the HTTP status where they name one, else 0.
func classify(message string) (firstgood.Kind, int) {
	status := 0
	if found := code.FindStringSubmatch(message); found != nil {
		status, _ = strconv.Atoi(found[1])
	}
	lower := strings.ToLower(message)
	kind := firstgood.KindError
	for _, p := range phrases {
		for _, word := range p.words {
			if kind == firstgood.KindError && strings.Contains(lower, word) {
				kind = p.kind
			}
		}
	}
	switch {
	case kind == firstgood.KindContextLength, kind == firstgood.KindRefused:
		return kind, status
	case status == 401, status == 403:
		return firstgood.KindAuth, status
	case status == 429:
		return firstgood.KindRateLimited, status
	case status >= 500:
		return firstgood.KindUnavailable, status
	case status == 400 && kind == firstgood.KindError:
		return firstgood.KindBadRequest, status
	}
	return kind, status
}
