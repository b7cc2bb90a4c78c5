// Package httpcall makes delegates of HTTP services that speak no protocol that another kind knows: the brief goes into
// a URL or a JSON body, the reply comes out of the whole body or a path into it.
package httpcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
)

// DefaultMaxBody is how many bytes a reply may have where the Config sets no limit.
const DefaultMaxBody = 32 << 20

// Config describes one HTTP service. URL alone is required.
type Config struct {
	// Name identifies the delegate in records and messages. Empty takes the URL's host.
	Name string
	// URL is where the request goes: http or https. "{brief}" in its path or query is replaced by the brief, escaped
	// so that it is one path segment or one query value; "{{brief}}" stands for a literal "{brief}". The text before
	// the path can hold none.
	URL string
	// Method is the HTTP method. Empty means POST with a JSON body and GET without.
	Method string
	// Headers are sent as they are. They never go to another host: see [NewClient]. Nil means none.
	Headers map[string]string
	// JSON is the body: any value that encoding/json can write. In each of its strings "{brief}" is replaced by the
	// brief and "{{brief}}" by a literal "{brief}" before it is written, so a brief never leaves its string. Names of
	// members stay. The value is read once, by New. Nil means no body.
	JSON any
	// Result is the way to the reply in a JSON body: names of members and, for lists, places from 0, joined by dots,
	// such as "items.0.title". Empty takes the whole body.
	Result string
	// MaxBody is the size limit of a reply's body in bytes, after decompression. 0 means DefaultMaxBody. A larger
	// reply is an error.
	MaxBody int64
	// Retries is how many more times one attempt tries after a failure that may pass; see [failure.Retry]. 0 means none.
	Retries int
	// Rules classify failures before the built-in rules do; see [failure.Rule]. Nil means none.
	Rules []failure.Rule
	// Secrets are further texts that no error shows, such as one in the JSON; see [failure.Config]. Nil means none.
	Secrets []string
	// HTTPClient sends the requests, under the rule of [NewClient] for redirects. Nil means a client with a transport
	// of its own.
	HTTPClient *http.Client
}

// Delegate calls one HTTP service. It is safe for concurrent use.
type Delegate struct {
	name, method string
	url          address
	header       http.Header
	host         string
	body         *template // nil without a body
	result       path
	maxBody      int64
	retries      int
	classifier   *failure.Classifier
	client       *http.Client
	own          bool // the client's transport is the delegate's
}

var _ firstgood.Delegate[firstgood.Reply] = (*Delegate)(nil)

// New returns a delegate for config. It fails on a setting that could never work, naming it.
func New(config Config) (*Delegate, error) {
	d := &Delegate{name: config.Name, method: config.Method, maxBody: config.MaxBody, retries: config.Retries}
	var err error
	if d.url, err = parseAddress(config.URL); err != nil {
		return nil, fmt.Errorf("httpcall: %w", err)
	}
	if d.name == "" {
		d.name = d.url.host
	}
	fail := func(err error) (*Delegate, error) { return nil, fmt.Errorf("httpcall %s: %w", d.name, err) }
	headers, err := ParseHeaders(config.Headers)
	if err != nil {
		return fail(err)
	}
	d.header, d.host = headers.Values, headers.Host
	if config.JSON != nil {
		if d.body, err = parseTemplate(config.JSON); err != nil {
			return fail(fmt.Errorf("json: %w", err))
		}
		if d.header.Get("Content-Type") == "" {
			d.header.Set("Content-Type", "application/json")
		}
	}
	if d.method == "" {
		d.method = http.MethodGet
		if d.body != nil {
			d.method = http.MethodPost
		}
	}
	if _, err := http.NewRequest(d.method, "http://localhost", nil); err != nil {
		return fail(fmt.Errorf("method %q: not a valid HTTP method", d.method))
	}
	if d.result, err = parsePath(config.Result); err != nil {
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
	secrets := slices.Concat(headers.Secrets, d.url.secrets, config.Secrets)
	if d.classifier, err = failure.New(failure.Config{Rules: config.Rules, Secrets: secrets}); err != nil {
		return fail(err)
	}
	d.client, d.own = NewClient(config.HTTPClient), config.HTTPClient == nil
	return d, nil
}

// Name returns the name of the Config, or the URL's host.
func (d *Delegate) Name() string { return d.name }

// Close lets go of idle connections, unless they belong to the Config's HTTPClient. The delegate can still be used.
func (d *Delegate) Close() error {
	if d.own {
		d.client.CloseIdleConnections()
	}
	return nil
}

// Attempt sends one request, and more as Retries allows, each with the attempt's idempotency key; see
// [AddIdempotencyKey]. A string in the reply becomes Text, any other JSON value
// JSON. Without a Result the whole body is the reply: a JSON value where its media type says so, else text; an empty
// body is an empty text. The usage is unknown.
//
// Each error is a *[firstgood.Error]: what the Classifier makes of the exchange; [firstgood.KindError] when there is
// nothing at the Result, when the body is no JSON although it ought to be, or is larger than MaxBody;
// [firstgood.KindTruncated] when it stops short; [firstgood.KindBadRequest], without a request, for a brief that has
// no place in the URL or in JSON. When ctx ends the connection is closed and the error wraps ctx's cause; see
// [failure.Stopped].
func (d *Delegate) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	if stopped := failure.Stopped(ctx); stopped != nil {
		return firstgood.Reply{}, stopped
	}
	address, err := d.url.fill(brief.String())
	if err != nil {
		return firstgood.Reply{}, badRequest(err)
	}
	var body []byte
	if d.body != nil {
		if body, err = d.body.fill(brief.String()); err != nil {
			return firstgood.Reply{}, badRequest(err)
		}
	}
	return failure.Retry(ctx, d.retries, func() (firstgood.Reply, error) { return d.call(ctx, address, body) })
}

func badRequest(err error) *firstgood.Error {
	return &firstgood.Error{Kind: firstgood.KindBadRequest, Reason: err.Error()}
}

// call is one exchange.
func (d *Delegate) call(ctx context.Context, address string, body []byte) (firstgood.Reply, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, d.method, address, reader)
	if err != nil {
		return firstgood.Reply{}, badRequest(errors.New("the url with the brief in it is not valid"))
	}
	request.Header, request.Host = d.header.Clone(), d.host
	AddIdempotencyKey(request)
	response, err := d.client.Do(request)
	if err != nil {
		return firstgood.Reply{}, d.classifier.Classify(0, nil, nil, err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := failure.Read(response.Body, d.maxBody)
	if f := d.classifier.Classify(response.StatusCode, response.Header, data, err); f != nil {
		return firstgood.Reply{}, f
	}
	return d.reply(response.Header.Get("Content-Type"), data)
}

// reply reads a body that came whole.
func (d *Delegate) reply(contentType string, data []byte) (firstgood.Reply, error) {
	if d.result == nil && (len(data) == 0 || !isJSON(contentType)) {
		return firstgood.Reply{Text: string(data)}, nil
	}
	value, err := d.result.find(data)
	if err != nil {
		return firstgood.Reply{}, err
	}
	var text *string
	if failure.Decode(value, &text) == nil && text != nil {
		return firstgood.Reply{Text: *text}, nil
	}
	return firstgood.Reply{JSON: value}, nil
}

func isJSON(contentType string) bool {
	media, _, _ := mime.ParseMediaType(contentType)
	return media == "application/json" || strings.HasSuffix(media, "+json")
}
