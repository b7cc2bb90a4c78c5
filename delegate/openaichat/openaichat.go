// Package openaichat makes delegates of models behind an OpenAI-compatible chat completions endpoint, through the
// official client.
//
// The client is used without the environment that it reads by default: a key, organization or project goes to an
// endpoint only when the Config holds it.
package openaichat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/httpcall"
)

// DefaultBaseURL is the endpoint of a Config without a BaseURL.
const DefaultBaseURL = "https://api.openai.com/v1"

// DefaultMaxBody is how many bytes a response may have where the Config sets no limit.
const DefaultMaxBody = 32 << 20

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
	// "max_tokens", whatever the endpoint knows. They cannot be "model", "messages", "stream" or "stream_options".
	// They are read once, by New. Nil means none.
	Params map[string]any
	// Retries is how many more times one attempt tries after a failure that may pass; see [failure.Retry]. 0 means none.
	Retries int
	// OnRefusal makes a reply whose refusal field is set a failure of [firstgood.KindRefused]. Otherwise it is a reply.
	OnRefusal bool
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
	name       string
	keyless    bool // OpenAI's own endpoint, without a key
	retries    int
	onRefusal  bool
	maxBody    int64
	host       string // the Host header, when it is not that of the URL
	request    template
	service    openai.ChatCompletionService
	client     *http.Client
	own        bool // the client's transport is the delegate's
	classifier *failure.Classifier
}

var _ firstgood.Delegate[firstgood.Reply] = (*Delegate)(nil)

// New returns a delegate for config. It fails on a setting that could never work, naming it. A missing key is
// no such setting: it shows when the delegate is used.
func New(config Config) (*Delegate, error) {
	d := &Delegate{name: config.Name, retries: config.Retries, onRefusal: config.OnRefusal, maxBody: config.MaxBody}
	if d.name == "" {
		d.name = config.Model
	}
	fail := func(err error) (*Delegate, error) { return nil, fmt.Errorf("openaichat %s: %w", d.name, err) }
	if config.Model == "" {
		return fail(errors.New("model: it is required"))
	}
	base := config.BaseURL
	if base == "" {
		base, d.keyless = DefaultBaseURL, config.APIKey == ""
	}
	secrets, err := checkBase(base)
	if err != nil {
		return fail(err)
	}
	headers, err := httpcall.ParseHeaders(config.Headers)
	if err != nil {
		return fail(err)
	}
	d.host, secrets = headers.Host, slices.Concat(secrets, headers.Secrets, config.Secrets)
	if d.request, err = newTemplate(config); err != nil {
		return fail(err)
	}
	switch {
	case config.MaxBody < 0:
		return fail(errors.New("max body: less than 0"))
	case config.MaxBody == 0:
		d.maxBody = DefaultMaxBody
	}
	if config.Retries < 0 {
		return fail(errors.New("retries: less than 0"))
	}

	d.client, d.own = httpcall.NewClient(config.HTTPClient), config.HTTPClient == nil
	options := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(d.client),
		option.WithMaxRetries(0), // failure.Retry does that: the client's own loop loses the failure when ctx ends its wait
	}
	for _, account := range []struct {
		name, value string
		option      func(string) option.RequestOption
	}{
		{"api key", config.APIKey, option.WithAPIKey},
		{"organization", config.Organization, option.WithOrganization},
		{"project", config.Project, option.WithProject},
	} {
		if err := httpcall.CheckValue(account.value); err != nil {
			return fail(fmt.Errorf("%s: %w", account.name, err))
		}
		if account.value != "" {
			options = append(options, account.option(account.value))
			secrets = append(secrets, account.value)
		}
	}
	for name := range headers.Values {
		options = append(options, option.WithHeader(name, headers.Values.Get(name)))
	}
	d.service = openai.NewChatCompletionService(options...)
	if d.classifier, err = failure.New(failure.Config{Rules: config.Rules, Secrets: secrets}); err != nil {
		return fail(err)
	}
	return d, nil
}

// checkBase returns the secrets in a base URL. Its errors do not repeat the URL, which may hold some.
func checkBase(base string) (secrets []string, err error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("base url: not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base url: got scheme %q, want http or https", u.Scheme)
	case u.Hostname() == "":
		return nil, errors.New("base url: it has no host")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("base url: it cannot have a query or fragment; send what the endpoint needs in headers")
	}
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	return secrets, nil
}

// Name returns the name of the Config, or its Model.
func (d *Delegate) Name() string { return d.name }

// Close lets go of idle connections, unless they belong to the Config's HTTPClient. The delegate can still be used.
func (d *Delegate) Close() error {
	if d.own {
		d.client.CloseIdleConnections()
	}
	return nil
}

// Attempt asks the model for one completion. A text brief becomes the user's message. A brief of the media type
// application/json is a chat completions request, sent on with the delegate's own model, system message and params, and
// not streamed. Named inputs of the brief are not sent. The reply's Text is the content of the first choice, empty when
// there is none; its usage is measured when the endpoint reports one, else unknown.
//
// Each error is a *[firstgood.Error]: what the Classifier makes of the exchange; [firstgood.KindRefused] for the finish
// reason content_filter, and for a refusal with OnRefusal; [firstgood.KindTruncated] when the response stops short, and
// [firstgood.KindError] when it is no completion or larger than MaxBody; without a request, [firstgood.KindAuth] when the
// endpoint is OpenAI's and there is no key, and [firstgood.KindBadRequest] for a brief that cannot be sent. When ctx
// ends the connection is closed and the error wraps ctx's cause; see [failure.Stopped].
func (d *Delegate) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	if stopped := failure.Stopped(ctx); stopped != nil {
		return firstgood.Reply{}, stopped
	}
	if d.keyless {
		return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindAuth, Reason: "no API key for " + DefaultBaseURL +
			": set OPENAI_API_KEY, or the delegate's api_key or api_key_env; or set base_url when another endpoint is meant"}
	}
	body, err := d.request.fill(brief)
	if err != nil {
		return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindBadRequest, Reason: err.Error(), Err: err}
	}
	return failure.Retry(ctx, d.retries, func() (firstgood.Reply, error) {
		reply, err := d.complete(ctx, body)
		if stopped := failure.Stopped(ctx); err != nil && stopped != nil {
			err = stopped
		}
		return reply, err
	})
}

// complete is one exchange.
func (d *Delegate) complete(ctx context.Context, body []byte) (firstgood.Reply, error) {
	var got answer
	var unread *http.Response // keeps the client from decoding, so that got is all there is
	_, err := d.service.New(ctx, openai.ChatCompletionNewParams{},
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(&unread),
		option.WithMiddleware(func(request *http.Request, next option.MiddlewareNext) (response *http.Response, err error) {
			got, response, err = d.exchange(request, next)
			return response, err
		}))
	if err != nil {
		return firstgood.Reply{}, d.classifier.Classify(0, nil, nil, err)
	}
	return d.reply(got)
}

// answer is a response that is no failure as far as HTTP goes.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// exchange sends the request and reads the response. It sits inside the client, which would read without a limit
// and has no word for an error that is not shaped like OpenAI's.
func (d *Delegate) exchange(request *http.Request, next option.MiddlewareNext) (answer, *http.Response, error) {
	if d.host != "" {
		request.Host = d.host
	}
	response, err := next(request)
	if err != nil {
		return answer{}, nil, d.classifier.Classify(0, nil, nil, err)
	}
	defer func() { _ = response.Body.Close() }()
	got := answer{status: response.StatusCode, header: response.Header}
	got.body, err = failure.Read(response.Body, d.maxBody)
	if f := d.classifier.Classify(got.status, got.header, got.body, err); f != nil {
		return answer{}, nil, f
	}
	response.Body = io.NopCloser(bytes.NewReader(nil))
	return got, response, nil
}
