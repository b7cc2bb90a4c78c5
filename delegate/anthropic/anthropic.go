// Package anthropic makes delegates of models behind Anthropic's Messages API, through the official client.
//
// The client is used without the environment that it reads by default: a key or token goes to an endpoint only when
// the Config holds it.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/modelapi"
)

// DefaultBaseURL is the endpoint of a Config without a BaseURL.
const DefaultBaseURL = "https://api.anthropic.com"

// DefaultMaxTokens is how many tokens a reply may have where neither the Config nor a brief that is a request says so.
const DefaultMaxTokens = 4096

// DefaultMaxBody is how many bytes a response may have where the Config sets no limit.
const DefaultMaxBody = modelapi.DefaultMaxBody

// Config describes one model at one endpoint. Model alone is required.
type Config struct {
	// Name identifies the delegate in records and messages. Empty takes the Model.
	Name string
	// Model is sent with every request, also with one that names another: the model belongs to the delegate.
	Model string
	// BaseURL is where "/v1/messages" is added. Empty means DefaultBaseURL, which needs an APIKey.
	BaseURL string
	// APIKey is sent as x-api-key to BaseURL and nowhere else. Empty sends none.
	APIKey string
	// System is the system prompt of every request. It takes the place of one in a brief that is a request, and of its
	// system and developer messages. Empty sets none; then such messages become the system prompt, unless there is one.
	System string
	// MaxTokens is the most that a reply may have, also for a brief that is a request and says otherwise. 0 leaves it to
	// such a brief, and otherwise means DefaultMaxTokens.
	MaxTokens int
	// Headers are sent with every request, over those of the client. Nil means none.
	Headers map[string]string
	// Params are members of every request, as they are and over those of a brief that is a request: "temperature",
	// "thinking", whatever the endpoint knows. They cannot be "model", "messages", "system", "max_tokens" or "stream".
	// They are read once, by New. Nil means none.
	Params map[string]any
	// Retries is how many more times one attempt tries after a failure that may pass; see [failure.Retry]. 0 means none.
	Retries int
	// FirstToken is how long a request may take, from its dispatch, until something of the reply comes, and Idle how
	// long the gaps after that may be. What takes longer has failed with [firstgood.KindTimeout]. Where either is set,
	// the endpoint is asked for a stream, which is gathered into one reply; see [modelapi.Endpoint.Send]. 0 means no
	// limit.
	FirstToken, Idle time.Duration
	// MaxBody is the size limit of a response in bytes, after decompression. 0 means DefaultMaxBody. A larger
	// response is an error.
	MaxBody int64
	// Rules classify failures before the built-in rules do; see [failure.Rule]. Nil means none.
	Rules []failure.Rule
	// Secrets are further texts that no error shows, such as one in the Params; see [failure.Config]. Nil means none.
	Secrets []string
	// HTTPClient sends the requests, under the rule of [httpcall.NewClient] for redirects. Nil means a client with a
	// transport of its own.
	HTTPClient *http.Client
}

// Delegate asks one model. It is safe for concurrent use.
type Delegate struct {
	endpoint  *modelapi.Endpoint
	keyless   bool            // Anthropic's own endpoint, without a key
	system    json.RawMessage // nil without one
	maxTokens int
	client    sdk.Client
}

var _ firstgood.Delegate[firstgood.Reply] = (*Delegate)(nil)

// New returns a delegate for config. It fails on a setting that could never work, naming it. A missing key is
// no such setting: it shows when the delegate is used.
func New(config Config) (*Delegate, error) {
	d := &Delegate{maxTokens: config.MaxTokens}
	base := config.BaseURL
	if base == "" {
		base, d.keyless = DefaultBaseURL, config.APIKey == ""
	}
	var err error
	d.endpoint, err = modelapi.New("anthropic", modelapi.Settings{
		Name: config.Name, Model: config.Model, BaseURL: base, Headers: config.Headers, Params: config.Params,
		Credentials: []modelapi.Credential{{Name: "api key", Value: config.APIKey}},
		Reserved:    map[string]string{"system": "set the delegate's system", "max_tokens": "set the delegate's max tokens"},
		Retries:     config.Retries, FirstToken: config.FirstToken, Idle: config.Idle, MaxBody: config.MaxBody,
		Rules: config.Rules, Secrets: config.Secrets, HTTPClient: config.HTTPClient,
	})
	if err != nil {
		return nil, err
	}
	if config.MaxTokens < 0 {
		return nil, fmt.Errorf("anthropic %s: max tokens: less than 0", d.Name())
	}
	if config.System != "" {
		if d.system, err = modelapi.Text(config.System); err != nil {
			return nil, fmt.Errorf("anthropic %s: system: %w", d.Name(), err)
		}
	}
	options := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(d.endpoint.Client()),
		option.WithMaxRetries(0), // failure.Retry does that: the client's own loop sleeps whatever becomes of ctx
	}
	if config.APIKey != "" {
		options = append(options, option.WithAPIKey(config.APIKey))
	}
	for name := range d.endpoint.Header() {
		options = append(options, option.WithHeader(name, d.endpoint.Header().Get(name)))
	}
	d.client.Options = options // its constructor would read the environment
	return d, nil
}

// Name returns the name of the Config, or its Model.
func (d *Delegate) Name() string { return d.endpoint.Name() }

// Close lets go of idle connections, unless they belong to the Config's HTTPClient. The delegate can still be used.
func (d *Delegate) Close() error { return d.endpoint.Close() }

// Attempt asks the model for one message. A text brief becomes the user's message. A brief of the media type
// application/json is a Messages request, or a chat completions request as far as the two are alike, sent on with the
// delegate's own model, system prompt, limit and params, and streamed only as the Config says. Named inputs of the brief
// are not sent. Each request carries the attempt's idempotency key.
//
// The reply's Text is that of the text blocks, joined; its ToolCalls are the tool_use blocks, which wait for the caller,
// and not what the endpoint ran itself; its FinishReason is the stop_reason. Its usage is measured when the endpoint
// reports one, else unknown; the input tokens are all that the model read: input_tokens, which are those outside the
// cache, and those that were written to the cache or read from it.
//
// Each error is a *[firstgood.Error]: what the Classifier makes of the exchange; [firstgood.KindRefused] for the stop
// reason refusal; [firstgood.KindTruncated] when the response stops short, and [firstgood.KindError] when it is no message
// or larger than MaxBody; [firstgood.KindTimeout] for FirstToken and Idle; without a request, [firstgood.KindAuth] when the
// endpoint is Anthropic's and there is no key, and [firstgood.KindBadRequest] for a brief that cannot be sent. When ctx
// ends the connection is closed and the error wraps ctx's cause; see [failure.Stopped].
func (d *Delegate) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	if stopped := failure.Stopped(ctx); d.keyless && stopped == nil {
		return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindAuth, Reason: "no API key for " + DefaultBaseURL +
			": set ANTHROPIC_API_KEY, or the delegate's api_key or api_key_env; or set base_url when another endpoint is meant"}
	}
	return d.endpoint.Attempt(ctx, brief, d.fill, d.create)
}

// fill returns the request for a brief.
func (d *Delegate) fill(brief firstgood.Brief) ([]byte, error) {
	request, err := d.endpoint.Read(brief)
	if err != nil {
		return nil, err
	}
	var instructions []json.RawMessage
	request.Messages = slices.DeleteFunc(request.Messages, func(m json.RawMessage) bool {
		content, instructs := modelapi.Instructs(m)
		if instructs {
			instructions = append(instructions, content)
		}
		return instructs
	})
	if len(request.Messages) == 0 {
		return nil, errors.New("the brief is no chat request: it has no message but the system's")
	}
	if d.system != nil {
		request.Members["system"] = d.system
	} else if request.Members["system"] == nil && instructions != nil {
		if request.Members["system"], err = blocks(instructions); err != nil {
			return nil, err
		}
	}
	if d.maxTokens > 0 || request.Members["max_tokens"] == nil {
		request.Members["max_tokens"] = fmt.Append(nil, cmp.Or(d.maxTokens, DefaultMaxTokens))
	}
	return d.endpoint.Write(request)
}

// blocks returns contents of messages, each a text or a list of blocks, as one list of blocks.
func blocks(contents []json.RawMessage) (json.RawMessage, error) {
	var list []json.RawMessage
	for _, content := range contents {
		var some []json.RawMessage
		if json.Unmarshal(content, &some) != nil {
			some = []json.RawMessage{fmt.Appendf(nil, `{"type":"text","text":%s}`, content)}
		}
		list = append(list, some...)
	}
	return json.Marshal(list)
}

// create is one exchange. It is a bare post, since the client's own method sets a time limit of its own.
func (d *Delegate) create(ctx context.Context, body []byte) (firstgood.Reply, error) {
	var got answer
	var failed error
	var unread *http.Response // keeps the client from decoding, so that got is all there is
	err := d.client.Post(ctx, "v1/messages", body, &unread,
		option.WithMiddleware(func(request *http.Request, next option.MiddlewareNext) (response *http.Response, err error) {
			response, failed = d.endpoint.Send(request, next, &got)
			return response, failed
		}))
	if err = cmp.Or(failed, err); err != nil {
		return firstgood.Reply{}, d.endpoint.Failure(err)
	}
	return got.reply()
}
