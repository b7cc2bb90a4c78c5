// Package openaichat makes delegates of models behind an OpenAI-compatible chat completions endpoint, through the
// official client.
//
// The client is used without the environment that it reads by default: a key, organization or project goes to an
// endpoint only when the Config holds it.
package openaichat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/modelapi"
)

// DefaultBaseURL is the endpoint of a Config without a BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultMaxBody is how many bytes a response may have where the Config sets no limit.
const DefaultMaxBody = modelapi.DefaultMaxBody

// Config describes one model at one endpoint. Model alone is required.
type Config struct {
	// Name identifies the delegate in records and messages. Empty takes the Model.
	Name string
	// Model is sent with every request, also with one that names another: the model belongs to the delegate.
	Model string
	// BaseURL is where "/chat/completions" is added. Empty means DefaultBaseURL, which needs an APIKey.
	BaseURL string
	// APIKey is sent as a bearer token to BaseURL and nowhere else. Empty sends none.
	APIKey string
	// Organization and Project are sent to BaseURL as the OpenAI headers of those names. Empty sends none.
	Organization, Project string
	// System is the first message of every request. It takes the place of the system and developer messages of a
	// brief that is a request. Empty adds none, and leaves those be.
	System string
	// Headers are sent with every request, over those of the client. Nil means none.
	Headers map[string]string
	// Params are members of every request, as they are and over those of a brief that is a request: "temperature",
	// "max_tokens", whatever the endpoint knows. They cannot be "model", "messages" or "stream"; "stream_options" can
	// be one only with FirstToken or Idle, and nil sends none, for an endpoint that refuses them, as Mistral's does.
	// They are read once, by New. Nil means none.
	Params map[string]any
	// Retries is how many more times one attempt tries after a failure that may pass; see [failure.Retry]. 0 means none.
	Retries int
	// OnRefusal makes a reply whose refusal field is set a failure of [firstgood.KindRefused]. Otherwise it is a reply.
	OnRefusal bool
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
	keyless   bool // OpenAI's own endpoint, without a key
	onRefusal bool
	system    json.RawMessage // nil without one
	options   json.RawMessage // of a stream, nil for none
	service   openai.ChatCompletionService
}

var _ firstgood.Delegate[firstgood.Reply] = (*Delegate)(nil)

// New returns a delegate for config. It fails on a setting that could never work, naming it. A missing key is
// no such setting: it shows when the delegate is used.
func New(config Config) (*Delegate, error) {
	d := &Delegate{onRefusal: config.OnRefusal}
	base := config.BaseURL
	if base == "" {
		base, d.keyless = DefaultBaseURL, config.APIKey == ""
	}
	settings := modelapi.Settings{
		Name: config.Name, Model: config.Model, BaseURL: base, Headers: config.Headers, Params: config.Params,
		Credentials: []modelapi.Credential{{Name: "api key", Value: config.APIKey}, {Name: "organization", Value: config.Organization}, {Name: "project", Value: config.Project}},
		Retries:     config.Retries, FirstToken: config.FirstToken, Idle: config.Idle, MaxBody: config.MaxBody,
		Rules: config.Rules, Secrets: config.Secrets, HTTPClient: config.HTTPClient,
	}
	if config.FirstToken == 0 && config.Idle == 0 {
		settings.Reserved = map[string]string{"stream_options": "whether the endpoint streams is not a request's to say"}
	} else if value, given := config.Params["stream_options"]; given && value == nil {
		settings.Params = maps.Clone(config.Params)
		delete(settings.Params, "stream_options")
	} else {
		d.options = json.RawMessage(`{"include_usage":true}`)
	}
	var err error
	if d.endpoint, err = modelapi.New("openaichat", settings); err != nil {
		return nil, err
	}
	if config.System != "" {
		text, err := modelapi.Text(config.System)
		if err != nil {
			return nil, fmt.Errorf("openaichat %s: system: %w", d.Name(), err)
		}
		d.system = modelapi.Message("system", text)
	}
	options := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(d.endpoint.Client()),
		option.WithMaxRetries(0), // failure.Retry does that: the client's own loop loses the failure when ctx ends its wait
	}
	for _, account := range []struct {
		value  string
		option func(string) option.RequestOption
	}{{config.APIKey, option.WithAPIKey}, {config.Organization, option.WithOrganization}, {config.Project, option.WithProject}} {
		if account.value != "" {
			options = append(options, account.option(account.value))
		}
	}
	for name := range d.endpoint.Header() {
		options = append(options, option.WithHeader(name, d.endpoint.Header().Get(name)))
	}
	d.service = openai.NewChatCompletionService(options...)
	return d, nil
}

// Name returns the name of the Config, or its Model.
func (d *Delegate) Name() string { return d.endpoint.Name() }

// Close lets go of idle connections, unless they belong to the Config's HTTPClient. The delegate can still be used.
func (d *Delegate) Close() error { return d.endpoint.Close() }

// Attempt asks the model for one completion. A text brief becomes the user's message. A brief of the media type
// application/json is a chat completions request, sent on with the delegate's own model, system message and params, and
// streamed only as the Config says. Named inputs of the brief are not sent. Each request carries the attempt's
// idempotency key. The reply's Text is the content of the first choice, empty when there is none; its usage is measured
// when the endpoint reports one, else unknown.
//
// Each error is a *[firstgood.Error]: what the Classifier makes of the exchange; [firstgood.KindRefused] for the finish
// reason content_filter, and for a refusal with OnRefusal; [firstgood.KindTruncated] when the response stops short, and
// [firstgood.KindError] when it is no completion or larger than MaxBody; [firstgood.KindTimeout] for FirstToken and Idle;
// without a request, [firstgood.KindAuth] when the endpoint is OpenAI's and there is no key, and
// [firstgood.KindBadRequest] for a brief that cannot be sent. When ctx ends the connection is closed and the error wraps
// ctx's cause; see [failure.Stopped].
func (d *Delegate) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	if stopped := failure.Stopped(ctx); d.keyless && stopped == nil {
		return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindAuth, Reason: "no API key for " + DefaultBaseURL +
			": set OPENAI_API_KEY, or the delegate's api_key or api_key_env; or set base_url when another endpoint is meant"}
	}
	return d.endpoint.Attempt(ctx, brief, d.fill, d.complete)
}

// fill returns the request for a brief.
func (d *Delegate) fill(brief firstgood.Brief) ([]byte, error) {
	request, err := d.endpoint.Read(brief)
	if err != nil {
		return nil, err
	}
	if d.system != nil {
		messages := slices.DeleteFunc(request.Messages, func(m json.RawMessage) bool {
			_, instructs := modelapi.Instructs(m)
			return instructs
		})
		request.Messages = slices.Insert(messages, 0, d.system)
	}
	if d.options != nil {
		request.Members["stream_options"] = d.options
	}
	return d.endpoint.Write(request)
}

// complete is one exchange.
func (d *Delegate) complete(ctx context.Context, body []byte) (firstgood.Reply, error) {
	var got answer
	var failed error
	var unread *http.Response // keeps the client from decoding, so that got is all there is
	_, err := d.service.New(ctx, openai.ChatCompletionNewParams{},
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(&unread),
		option.WithMiddleware(func(request *http.Request, next option.MiddlewareNext) (response *http.Response, err error) {
			response, failed = d.endpoint.Send(request, next, &got)
			return response, failed
		}))
	if err = cmp.Or(failed, err); err != nil {
		return firstgood.Reply{}, d.endpoint.Failure(err)
	}
	return got.reply(d.onRefusal)
}
