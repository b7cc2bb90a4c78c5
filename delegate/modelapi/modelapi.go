// Package modelapi is what delegates of models behind an HTTP API have in common, whatever the protocol: settings, the
// request that is made of a brief, and the exchange itself: one request and its response, whole or as a stream of
// events, timed, limited and classified.
//
// A kind of delegate embeds an [Endpoint], and reads what it gets through a [Reader].
package modelapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/delegate/failure"
	"github.com/firstgood/firstgood/delegate/httpcall"
)

// DefaultMaxBody is how many bytes a response may have where the Settings set no limit.
const DefaultMaxBody = 32 << 20

// Settings are what the configurations of all kinds share. Model and BaseURL are required.
type Settings struct {
	Name        string            // empty takes the Model
	Model       string            // sent with every request, also with one that names another
	BaseURL     string            // http or https, without query and fragment
	Credentials []Credential      // an empty value is none
	Headers     map[string]string // nil means none
	Params      map[string]any    // members of every request, over those of a brief; read once, by New
	Reserved    map[string]string // members that Params cannot have, and why; model, messages and stream are so anyway
	Retries     int               // see failure.Retry
	FirstToken  time.Duration     // see Endpoint.Send; 0 means no limit
	Idle        time.Duration     // see Endpoint.Send; 0 means no limit
	MaxBody     int64             // in bytes, after decompression; 0 means DefaultMaxBody
	Rules       []failure.Rule    // tried before the built-in ones
	Secrets     []string          // further texts that no error shows
	HTTPClient  *http.Client      // nil means a client with a transport of its own; see httpcall.NewClient
}

// Credential is a value that goes into a header and into no error.
type Credential struct{ Name, Value string }

// Endpoint is a model at an address. It is safe for concurrent use.
type Endpoint struct {
	name             string
	params           map[string]json.RawMessage // and the model
	headers          httpcall.Headers
	client           *http.Client
	own              bool // the client's transport is the endpoint's
	retries          int
	firstToken, idle time.Duration
	maxBody          int64
	classifier       *failure.Classifier
}

// New returns an endpoint. It fails on a setting that could never work, naming kind, name and setting, and showing no
// credential.
func New(kind string, s Settings) (*Endpoint, error) {
	e := &Endpoint{name: s.Name, retries: s.Retries, firstToken: s.FirstToken, idle: s.Idle, maxBody: s.MaxBody}
	if e.name == "" {
		e.name = s.Model
	}
	fail := func(err error) (*Endpoint, error) { return nil, fmt.Errorf("%s %s: %w", kind, e.name, err) }
	if s.Model == "" {
		return fail(errors.New("model: it is required"))
	}
	secrets, err := checkBase(s.BaseURL)
	if err != nil {
		return fail(err)
	}
	if e.headers, err = httpcall.ParseHeaders(s.Headers); err != nil {
		return fail(err)
	}
	if e.params, err = params(s); err != nil {
		return fail(err)
	}
	for _, limit := range []struct {
		name string
		less bool
	}{{"max body", s.MaxBody < 0}, {"retries", s.Retries < 0}, {"first token", s.FirstToken < 0}, {"idle", s.Idle < 0}} {
		if limit.less {
			return fail(fmt.Errorf("%s: less than 0", limit.name))
		}
	}
	if e.maxBody == 0 {
		e.maxBody = DefaultMaxBody
	}
	for _, c := range s.Credentials {
		if err := httpcall.CheckValue(c.Value); err != nil {
			return fail(fmt.Errorf("%s: %w", c.Name, err))
		}
		secrets = append(secrets, c.Value)
	}
	secrets = slices.Concat(secrets, e.headers.Secrets, s.Secrets)
	if e.classifier, err = failure.New(failure.Config{Rules: s.Rules, Secrets: secrets}); err != nil {
		return fail(err)
	}
	e.client, e.own = httpcall.NewClient(s.HTTPClient), s.HTTPClient == nil
	return e, nil
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

// Name returns the name of the Settings, or their Model.
func (e *Endpoint) Name() string { return e.name }

// Client returns what sends the requests.
func (e *Endpoint) Client() *http.Client { return e.client }

// Header returns the headers of the Settings, but for Host, which Send sets. It is not to be changed.
func (e *Endpoint) Header() http.Header { return e.headers.Values }

// Streams reports whether requests ask for a stream: whether there is a limit that only a stream can keep.
func (e *Endpoint) Streams() bool { return e.firstToken > 0 || e.idle > 0 }

// Close lets go of idle connections, unless they belong to the Settings' HTTPClient. The endpoint can still be used.
func (e *Endpoint) Close() error {
	if e.own {
		e.client.CloseIdleConnections()
	}
	return nil
}

// Attempt makes a request body of the brief by fill and tries exchange with it, as often as the Settings allow; see
// [failure.Retry]. An error of fill is [firstgood.KindBadRequest], and nothing is sent. Where ctx has ended already,
// fill is not called.
func (e *Endpoint) Attempt(ctx context.Context, brief firstgood.Brief, fill func(firstgood.Brief) ([]byte, error), exchange func(context.Context, []byte) (firstgood.Reply, error)) (firstgood.Reply, error) {
	if stopped := failure.Stopped(ctx); stopped != nil {
		return firstgood.Reply{}, stopped
	}
	body, err := fill(brief)
	if err != nil {
		return firstgood.Reply{}, &firstgood.Error{Kind: firstgood.KindBadRequest, Reason: err.Error(), Err: err}
	}
	return failure.Retry(ctx, e.retries, func() (firstgood.Reply, error) { return exchange(ctx, body) })
}

// Failure returns err as a *[firstgood.Error]: as it is where it is one, else as an error of sending.
func (e *Endpoint) Failure(err error) *firstgood.Error {
	return e.classifier.Classify(0, nil, nil, err)
}
