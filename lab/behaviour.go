package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Behaviour describes a built-in model, for people.
type Behaviour struct {
	Name string // what requests call it
	Form string // how it is written, with its arguments in brackets
	Does string
}

// Behaviours returns the built-in models.
func Behaviours() []Behaviour {
	var all []Behaviour
	for _, b := range behaviours(0) {
		all = append(all, b.Behaviour)
	}
	return all
}

// behaviour is a built-in model, made from what stands behind the first colon of its name.
type behaviour struct {
	Behaviour
	model func(argument) (Model, error)
}

type argument struct {
	text  string
	given bool // there was a colon
}

func behaviours(seed uint64) []behaviour {
	return []behaviour{
		{Behaviour{"ok", "ok[:TEXT]",
			"answers at once with TEXT, else with a sentence about the last user message"},
			func(a argument) (Model, error) { return say(a, 0), nil }},
		{Behaviour{"slow", "slow[:DURATION[:TEXT]]",
			"answers after DURATION, else after 2s"}, slow},
		{Behaviour{"long-tail", "long-tail[:TEXT]",
			"answers after 50 to 150 ms, but after 2 s twice in every hundred; the seed chooses when"}, longTail(seed)},
		{Behaviour{"hang", "hang",
			"takes the request and never sends a header"}, fixed(Reply{Delay: Forever})},
		{Behaviour{"stall", "stall[:N]",
			"sends N tokens, else half of them, then nothing more"}, faulty(Stall)},
		{Behaviour{"cut", "cut[:N]",
			"sends N tokens, else half of them, and closes the connection"}, faulty(Cut)},
		{Behaviour{"bad-json", "bad-json[:N]",
			"200 whose JSON ends after N tokens, else half of them; a stream has a frame there that is no JSON"}, faulty(BadJSON)},
		{Behaviour{"429", "429[:SECONDS]",
			"429, with Retry-After only when SECONDS are given"},
			func(a argument) (Model, error) { return failing("429", a.text, a.given) }},
		{Behaviour{"500", "500[:SECONDS]",
			"500, with Retry-After only when SECONDS are given"},
			func(a argument) (Model, error) { return failing("500", a.text, a.given) }},
		{Behaviour{"status", "status:NNN[:SECONDS]",
			"any status from 400 to 599, as above"},
			func(a argument) (Model, error) {
				code, seconds, given := strings.Cut(a.text, ":")
				return failing(code, seconds, given)
			}},
		{Behaviour{"ok-but-error-body", "ok-but-error-body[:CODE]",
			"200 with an error object, of code rate_limit_exceeded unless CODE is given; a stream begins with it"}, errorBody},
		{Behaviour{"error-frame", "error-frame[:N]",
			"200 and a stream of N tokens, else none, then an error object; without a stream as ok-but-error-body"}, errorFrame},
		{Behaviour{"empty", "empty",
			"200 with an empty text"}, fixed(Reply{})},
		{Behaviour{"role-only", "role-only",
			"200 with a message that has a role, but no content and no usage"}, fixed(Reply{Fault: NoContent})},
		{Behaviour{"tool-call", "tool-call[:NAME]",
			"200 with a call of the function NAME, else lookup, and no content"},
			func(a argument) (Model, error) { return always(Reply{ToolCall: cmp.Or(a.text, "lookup")}), nil }},
		{Behaviour{"edit", "edit:PATH:TEXT",
			"has a coding agent write TEXT to the file PATH, by the tool that it offers for that, then answers"}, edit},
		{Behaviour{"refusal", "refusal",
			"200 with a refusal and no content"}, fixed(Reply{Refusal: "I'm sorry, but I cannot help with that."})},
		{Behaviour{"content-filter", "content-filter",
			"200 with half of a text and the finish reason content_filter"},
			bare(func(_ context.Context, req Request) Reply {
				parts := tokens(sentence(req.Brief()))
				return Reply{Text: strings.Join(parts[:len(parts)/2], ""), FinishReason: "content_filter"}
			})},
		{Behaviour{"content-policy", "content-policy",
			"400 with the code content_policy_violation"},
			badRequest("content_policy_violation", "Your request was rejected as a result of our safety system.")},
		{Behaviour{"context-length", "context-length",
			"400 with the code context_length_exceeded"},
			badRequest("context_length_exceeded", "This model's maximum context length is 8 tokens. Please reduce the length of the messages.")},
		{Behaviour{"echo", "echo",
			"answers with the last user message"},
			bare(func(_ context.Context, req Request) Reply { return Reply{Text: req.Brief()} })},
		{Behaviour{"judge", "judge",
			"judges: a reply is bad when it is blank, apologises or declines"},
			bare(func(_ context.Context, req Request) Reply { return Reply{Text: judge(req.Brief())} })},
	}
}

func badRequest(code, message string) func(argument) (Model, error) {
	return bare(refuse(http.StatusBadRequest, message, code))
}

func always(reply Reply) Model { return func(context.Context, Request) Reply { return reply } }

func fixed(reply Reply) func(argument) (Model, error) { return bare(always(reply)) }

// bare makes a behaviour of a model that takes no argument.
func bare(model Model) func(argument) (Model, error) {
	return func(a argument) (Model, error) {
		if a.given {
			return nil, errors.New("it takes no argument")
		}
		return model, nil
	}
}

// sentence is the lab's own answer: always the same for the same brief. It quotes the brief's beginning, unless
// that would make the lab's judge take the answer for an apology.
func sentence(brief string) string {
	all := strings.Join(strings.Fields(brief), " ")
	about := fmt.Sprintf("%.60s", all)
	if about != all {
		about += "…"
	}
	if about == "" || declines(about) != "" {
		about = "your question"
	} else {
		about = "“" + about + "”"
	}
	return "The lab's answer to " + about + " is the same every time, and long enough to be cut."
}

func say(a argument, delay time.Duration) Model {
	return func(_ context.Context, req Request) Reply {
		if a.given {
			return Reply{Text: a.text, Delay: delay}
		}
		return Reply{Text: sentence(req.Brief()), Delay: delay}
	}
}

func edit(a argument) (Model, error) {
	path, text, ok := strings.Cut(a.text, ":")
	if !ok || path == "" {
		return nil, errors.New("it needs a path and a text")
	}
	return Edit(path, text+"\n", "I have written "+path+"."), nil
}

func slow(a argument) (Model, error) {
	length, text, given := strings.Cut(a.text, ":")
	delay := 2 * time.Second
	if length != "" {
		var err error
		if delay, err = time.ParseDuration(length); err != nil || delay < 0 {
			return nil, fmt.Errorf("%q is not a duration such as 300ms or 2s", length)
		}
	}
	return say(argument{text, given}, delay), nil
}

func longTail(seed uint64) func(argument) (Model, error) {
	var calls atomic.Uint64
	return func(a argument) (Model, error) {
		return func(ctx context.Context, req Request) Reply {
			return say(a, tailDelay(seed, calls.Add(1)-1))(ctx, req)
		}, nil
	}
}

// tailDelay is the delay of the n-th call, from 0: exactly two of each hundred are in the tail, the others are
// spread evenly, so that half of them are at or below 100 ms.
func tailDelay(seed, n uint64) time.Duration {
	order := rand.New(rand.NewPCG(seed, n/100)).Perm(100)
	place := order[n%100]
	if place >= 98 {
		return 2 * time.Second
	}
	return time.Duration(50+(place*100+48)/97) * time.Millisecond
}

// maxTokens bounds the N of a fault, since the text grows with it.
const maxTokens = 100_000

// tokensBefore reads the N of a fault; def stands for none.
func tokensBefore(a argument, def int) (int, error) {
	if !a.given {
		return def, nil
	}
	n, err := strconv.Atoi(a.text)
	if err != nil || n < 0 || n > maxTokens {
		return 0, fmt.Errorf("%q is not a number of tokens from 0 to %d", a.text, maxTokens)
	}
	return n, nil
}

// faulty is a model whose text is half as long again as what goes out before the fault, at least.
func faulty(fault Fault) func(argument) (Model, error) {
	return func(a argument) (Model, error) {
		n, err := tokensBefore(a, Half)
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, req Request) Reply {
			return Reply{Text: atLeast(n+(n+1)/2, sentence(req.Brief())), Fault: fault, After: n}
		}, nil
	}
}

// atLeast repeats text until it has n tokens, and cuts it there when it was too short.
func atLeast(n int, text string) string {
	parts := tokens(text + " ")
	if len(parts) >= n {
		return text
	}
	var b strings.Builder
	for i := range n {
		b.WriteString(parts[i%len(parts)])
	}
	return strings.TrimRight(b.String(), " ")
}

// failing answers with the status that code names.
func failing(code, seconds string, given bool) (Model, error) {
	n, err := strconv.Atoi(code)
	if err != nil || n < 400 || n > 599 {
		return nil, fmt.Errorf("%q is not a status from 400 to 599", code)
	}
	reply := Reply{Status: n}
	if given {
		if after, err := strconv.Atoi(seconds); err != nil || after < 0 {
			return nil, fmt.Errorf("%q is not a number of seconds", seconds)
		}
		reply.Header = http.Header{"Retry-After": {seconds}}
	}
	return always(reply), nil
}

// overQuota is the error that a reply holds which began with 200.
func overQuota(code string) *Error {
	return &Error{Message: "the lab's model is over its quota", Type: "requests", Code: code}
}

func errorBody(a argument) (Model, error) {
	return always(Reply{Error: overQuota(cmp.Or(a.text, "rate_limit_exceeded"))}), nil
}

func errorFrame(a argument) (Model, error) {
	n, err := tokensBefore(a, 0)
	if err != nil {
		return nil, err
	}
	return func(_ context.Context, req Request) Reply {
		return Reply{Text: atLeast(n+(n+1)/2, sentence(req.Brief())), Error: overQuota("rate_limit_exceeded"), Fault: ErrorFrame, After: n}
	}, nil
}
