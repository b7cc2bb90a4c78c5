package failure

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
)

// Rule says what a piece of evidence means. It holds when each of its fields that is set does.
type Rule struct {
	Code    string // a code in the error object, in any case; Azure's innererror and Google's details count too
	Type    string // the type in the error object, in any case
	Message string // a regular expression that matches somewhere in the message, in any case
	// Status is the HTTP status, or under a status below 300 the one that the error object names as its code. One digit
	// stands for its hundred: 5 for all of 5xx. A rule with a Message and no Status holds on 200, 400, 413 and 422.
	Status int

	Kind  firstgood.Kind // what the failure is; see [firstgood.Kind]
	Final bool           // [Retry] does not try again, although the kind would allow it
}

// rule is a Rule that is ready for use.
type rule struct {
	Rule
	message *regexp.Regexp
}

// kinds are those that a rule may give: what an exchange can be, and no verdict of a pattern.
var kinds = []firstgood.Kind{
	firstgood.KindError, firstgood.KindTimeout, firstgood.KindRateLimited, firstgood.KindUnavailable,
	firstgood.KindContextLength, firstgood.KindAuth, firstgood.KindBadRequest, firstgood.KindRefused, firstgood.KindTruncated,
}

func (r Rule) compile() (rule, error) {
	if !slices.Contains(kinds, r.Kind) {
		return rule{}, fmt.Errorf("got kind %q, want one of %q", r.Kind, kinds)
	}
	if r.Code == "" && r.Type == "" && r.Message == "" && r.Status == 0 {
		return rule{}, errors.New("it needs a code, a type, a message or a status")
	}
	if r.Status != 0 && (r.Status < 2 || r.Status > 5) && (r.Status < 200 || r.Status > 599) {
		return rule{}, fmt.Errorf("got status %d, want 200 to 599, or 2 to 5 for a hundred", r.Status)
	}
	compiled := rule{Rule: r}
	if r.Message != "" {
		var err error
		if compiled.message, err = regexp.Compile("(?i)" + r.Message); err != nil {
			return rule{}, fmt.Errorf("message: %w", err)
		}
	}
	return compiled, nil
}

func (r rule) holds(status int, e evidence) bool {
	switch {
	case r.Code != "" && !slices.ContainsFunc(e.codes, func(code string) bool { return strings.EqualFold(r.Code, code) }):
	case r.Type != "" && !strings.EqualFold(r.Type, e.kind):
	case r.Status >= 100 && r.Status != e.status:
	case r.Status > 0 && r.Status < 100 && r.Status != e.status/100:
	case r.Message != "" && r.Status == 0 && !slices.Contains([]int{200, 400, 413, 422}, status):
	case r.message != nil && !r.message.MatchString(e.message):
	default:
		return true
	}
	return false
}

// builtin is the table, in the order in which evidence counts. Codes and types that say no more than that the request
// was wrong are not in it before the end, so that words and status can say more.
func builtin() []Rule {
	return slices.Concat(several(), codes(), messages(), statuses(), types())
}

// several are rows whose code or status alone would say something else.
func several() []Rule {
	return []Rule{
		// Who allows so many tokens a minute will never take a request that needs more, however long one waits.
		{Code: "rate_limit_exceeded", Message: `request too large`, Kind: firstgood.KindContextLength},
		{Status: 429, Message: `request too large|tokens must be reduced|required for long context`, Kind: firstgood.KindContextLength},
		{Status: 403, Message: `requires moderation|(input|prompt) was flagged`, Kind: firstgood.KindRefused},
	}
}

func codes() []Rule {
	return []Rule{
		{Code: "rate_limit_exceeded", Kind: firstgood.KindRateLimited},
		{Code: "rate_limit_error", Kind: firstgood.KindRateLimited},
		{Code: "too_many_requests", Kind: firstgood.KindRateLimited},
		{Code: "slow_down", Kind: firstgood.KindRateLimited},
		{Code: "insufficient_quota", Kind: firstgood.KindRateLimited, Final: true},
		{Type: "insufficient_quota", Kind: firstgood.KindRateLimited, Final: true}, // of which OpenAI has several codes
		{Code: "billing_hard_limit_reached", Kind: firstgood.KindRateLimited, Final: true},
		{Code: "billing_not_active", Kind: firstgood.KindRateLimited, Final: true},
		{Code: "enforced_spend_limit_reached", Kind: firstgood.KindRateLimited, Final: true},
		{Code: "resource_exhausted", Kind: firstgood.KindRateLimited},

		{Code: "context_length_exceeded", Kind: firstgood.KindContextLength},
		{Code: "string_above_max_length", Kind: firstgood.KindContextLength},
		{Code: "model_max_prompt_tokens_exceeded", Kind: firstgood.KindContextLength},

		{Code: "content_policy_violation", Kind: firstgood.KindRefused},
		{Code: "content_filter", Kind: firstgood.KindRefused},
		{Code: "responsibleaipolicyviolation", Kind: firstgood.KindRefused},
		{Code: "moderation_blocked", Kind: firstgood.KindRefused},
		{Code: "invalid_prompt", Kind: firstgood.KindRefused}, // OpenAI's word for a prompt that its policy flagged

		{Code: "invalid_api_key", Kind: firstgood.KindAuth},
		{Code: "api_key_invalid", Kind: firstgood.KindAuth},
		{Code: "invalid_organization", Kind: firstgood.KindAuth},
		{Code: "account_deactivated", Kind: firstgood.KindAuth},
		{Code: "unsupported_country_region_territory", Kind: firstgood.KindAuth},
		{Code: "unauthenticated", Kind: firstgood.KindAuth},
		{Code: "permission_denied", Kind: firstgood.KindAuth},

		{Code: "model_not_found", Kind: firstgood.KindBadRequest},
		{Code: "deploymentnotfound", Kind: firstgood.KindBadRequest},

		// The model's own failure to say what was asked of it, which Groq calls a bad request.
		{Code: "tool_use_failed", Kind: firstgood.KindError},
		{Code: "json_validate_failed", Kind: firstgood.KindError},

		{Code: "server_error", Kind: firstgood.KindUnavailable},
		{Code: "internal_server_error", Kind: firstgood.KindUnavailable},
		{Code: "internal_error", Kind: firstgood.KindUnavailable},
		{Code: "service_unavailable", Kind: firstgood.KindUnavailable},
		{Code: "server_is_overloaded", Kind: firstgood.KindUnavailable},
		{Code: "engine_overloaded", Kind: firstgood.KindUnavailable},
		{Code: "model_overloaded", Kind: firstgood.KindUnavailable},
		{Code: "capacity_exceeded", Kind: firstgood.KindUnavailable},
		{Code: "unavailable", Kind: firstgood.KindUnavailable},

		{Code: "request_timeout", Kind: firstgood.KindTimeout},
		{Code: "deadline_exceeded", Kind: firstgood.KindTimeout},
	}
}

// messages are the words of servers that give no code, or one that says nothing.
func messages() []Rule {
	return []Rule{
		{Message: `(maximum|available) context (length|size|window)`, Kind: firstgood.KindContextLength},
		{Message: `exceeds? (the |this |its )?(model'?s? )?(maximum )?context`, Kind: firstgood.KindContextLength},
		{Message: `context (length|window|size) (is )?exceeded|context length of only`, Kind: firstgood.KindContextLength},
		{Message: `longer than the maximum model length`, Kind: firstgood.KindContextLength},
		{Message: `(prompt|input|message|request)s? (is|are) too (long|large)`, Kind: firstgood.KindContextLength},
		{Message: `input (token count|length|tokens)\b.* exceeds?|must have less than \d+ tokens`, Kind: firstgood.KindContextLength},
		{Message: `reduce the length of the (messages|prompt|input)`, Kind: firstgood.KindContextLength},
		{Message: `too many tokens: total number of tokens in the prompt`, Kind: firstgood.KindContextLength},

		{Message: `content (management |filtering )?policy`, Kind: firstgood.KindRefused},
		{Message: `(rejected|blocked) (as a result of|by) our safety system`, Kind: firstgood.KindRefused},
		{Message: `flagged as potentially violating`, Kind: firstgood.KindRefused},

		{Message: `api key not valid|(invalid|incorrect|missing) api key`, Kind: firstgood.KindAuth},
		{Message: `user location is not supported`, Kind: firstgood.KindAuth},
		{Message: `rate limit|too many requests`, Kind: firstgood.KindRateLimited},
		{Message: `exceeded your current quota`, Kind: firstgood.KindRateLimited, Final: true},
		{Message: `credit balance is too low|insufficient (credits|balance|quota)`, Kind: firstgood.KindRateLimited, Final: true},
		{Message: `reached your specified (api|workspace api) usage limits`, Kind: firstgood.KindRateLimited, Final: true},
		{Message: `\boverloaded\b|temporarily unavailable`, Kind: firstgood.KindUnavailable},

		{Status: 404, Message: `\bmodels?\b.*(not found|does not exist|is not supported)`, Kind: firstgood.KindBadRequest},
	}
}

func statuses() []Rule {
	return []Rule{
		{Status: 401, Kind: firstgood.KindAuth},
		{Status: 402, Kind: firstgood.KindRateLimited, Final: true}, // to be paid first
		{Status: 403, Kind: firstgood.KindAuth},
		{Status: 408, Kind: firstgood.KindTimeout},
		{Status: 413, Kind: firstgood.KindContextLength},
		{Status: 429, Kind: firstgood.KindRateLimited},
		{Status: 498, Kind: firstgood.KindUnavailable}, // Groq: no capacity
		{Status: 5, Kind: firstgood.KindUnavailable},
	}
}

// types are last: many servers give one type to every failure of a request.
func types() []Rule {
	return []Rule{
		{Type: "rate_limit_error", Kind: firstgood.KindRateLimited},
		{Type: "rate_limit_exceeded", Kind: firstgood.KindRateLimited},
		{Type: "rate_limited", Kind: firstgood.KindRateLimited},
		{Type: "billing_error", Kind: firstgood.KindRateLimited, Final: true},
		{Type: "exceed_context_size_error", Kind: firstgood.KindContextLength},
		{Type: "request_too_large", Kind: firstgood.KindContextLength},
		{Type: "authentication_error", Kind: firstgood.KindAuth},
		{Type: "permission_error", Kind: firstgood.KindAuth},
		{Type: "server_error", Kind: firstgood.KindUnavailable},
		{Type: "internal_server_error", Kind: firstgood.KindUnavailable},
		{Type: "service_unavailable_error", Kind: firstgood.KindUnavailable},
		{Type: "api_error", Kind: firstgood.KindUnavailable},
		{Type: "overloaded_error", Kind: firstgood.KindUnavailable},
		{Type: "timeout_error", Kind: firstgood.KindTimeout},

		// What nothing above claims.
		{Status: 400, Kind: firstgood.KindBadRequest},
		{Status: 422, Kind: firstgood.KindBadRequest},
		{Type: "invalid_request_error", Status: 2, Kind: firstgood.KindBadRequest},
	}
}
