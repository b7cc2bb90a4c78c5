package httpcall

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/firstgood/firstgood"
)

// NewClient returns a client like base that follows no redirect to another origin (scheme, host and port; from http
// to https on the same host is allowed): net/http would carry headers of any name but a few there, and with 307 the
// brief too. Such a redirect is a *[firstgood.Error] that names the host. A CheckRedirect of base is asked after that.
//
// Base is not changed. For a nil base the client has a transport of its own: the standard one's settings, the proxy of
// the environment included, and room for 100 idle connections to one host.
func NewClient(base *http.Client) *http.Client {
	client := &http.Client{}
	if base != nil {
		*client = *base
	} else {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
		if standard, ok := http.DefaultTransport.(*http.Transport); ok {
			transport = standard.Clone()
		}
		transport.MaxIdleConnsPerHost = 100
		client.Transport = transport
	}
	further := client.CheckRedirect
	client.CheckRedirect = func(request *http.Request, via []*http.Request) error {
		switch from := via[len(via)-1].URL; {
		case !sameOrigin(from, request.URL):
			return &firstgood.Error{Kind: firstgood.KindError, Reason: fmt.Sprintf(
				"redirected to another host, %s: neither headers nor brief go there; put that address into the url if it is meant",
				request.URL.Scheme+"://"+request.URL.Host)}
		case further != nil:
			return further(request, via)
		case len(via) >= 10:
			return &firstgood.Error{Kind: firstgood.KindError, Reason: "stopped after 10 redirects"}
		}
		return nil
	}
	return client
}

func sameOrigin(from, to *url.URL) bool {
	upgrade := from.Scheme == "http" && to.Scheme == "https" && from.Port() == "" && to.Port() == ""
	return strings.EqualFold(from.Hostname(), to.Hostname()) && (upgrade || from.Scheme == to.Scheme && port(from) == port(to))
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Headers are the headers of a Config, ready to send.
type Headers struct {
	Values  http.Header
	Host    string   // the Host header, which net/http takes apart from the others; empty without one
	Secrets []string // the values, but for those of headers that never hold a secret
}

// ParseHeaders fails on a name or value that cannot be sent, without printing the value, and on two names that
// differ in case alone.
func ParseHeaders(values map[string]string) (Headers, error) {
	h := Headers{Values: http.Header{}}
	for name, value := range values {
		if name == "" || strings.ContainsFunc(name, notInToken) {
			return Headers{}, fmt.Errorf("header %q: not a valid name", name)
		}
		if err := CheckValue(value); err != nil {
			return Headers{}, fmt.Errorf("header %s: %w", name, err)
		}
		if _, twice := h.Values[http.CanonicalHeaderKey(name)]; twice {
			return Headers{}, fmt.Errorf("header %s: given twice, in different case", name)
		}
		h.Values.Set(name, value)
		switch strings.ToLower(name) {
		case "accept", "accept-language", "content-type", "user-agent", "host":
		default:
			h.Secrets = append(h.Secrets, value)
		}
	}
	h.Host = h.Values.Get("Host")
	h.Values.Del("Host")
	return h, nil
}

// notInToken reports whether r cannot stand in an HTTP token.
func notInToken(r rune) bool {
	return r <= ' ' || r >= 0x7F || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
}

// AddIdempotencyKey adds the [firstgood.IdempotencyKey] of the request's context, where there is one, as the header
// Idempotency-Key, unless the request has such a header already.
func AddIdempotencyKey(request *http.Request) {
	const name = "Idempotency-Key"
	if key := firstgood.IdempotencyKey(request.Context()); key != "" && request.Header.Get(name) == "" {
		request.Header.Set(name, key)
	}
}

// CheckValue returns an error, which does not hold the value, when it cannot be sent in a header.
func CheckValue(value string) error {
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7F }) {
		return errors.New("the value holds a line break or another control character")
	}
	return nil
}
