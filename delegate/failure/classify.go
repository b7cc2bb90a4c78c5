// Package failure says what went wrong in an exchange over HTTP, in one way for every delegate that speaks it.
//
// A [Classifier] turns a status, headers, a body and a Go error into a *[firstgood.Error]. The evidence is weighed in
// this order: the error code in the body, the words of its message (on 200, 400, 413 and 422 alone, since elsewhere
// the status is worth more), the status, the error's type. A 200 that holds an error object is that error, and so is a
// frame of a stream. What each piece of evidence means is a table of [Rule] values, which a [Config] puts its own rules
// in front of.
//
// [Retry] tries again what may pass, and [WithRetries] does so for any delegate; [Read] and [Decode] read a body and
// tell one that stops short from one that is wrong.
package failure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/firstgood/firstgood"
)

// Config is what a Classifier needs to know. The zero Config is the built-in table.
type Config struct {
	// Rules are tried before the built-in ones, in order; the first that holds decides. Nil means none.
	Rules []Rule
	// Secrets are replaced by "[redacted]" in every reason and detail, wherever the other side repeats them: keys,
	// header values, passwords. Those shorter than 8 bytes are ignored, since they would hide ordinary words.
	Secrets []string
}

// Classifier tells failures apart. It is immutable and safe for concurrent use.
type Classifier struct {
	rules   []rule
	secrets *strings.Replacer
}

// New returns a Classifier. It fails on a rule that could never hold or has no valid kind, naming its place.
func New(config Config) (*Classifier, error) {
	c := &Classifier{secrets: redactor(config.Secrets)}
	for i, r := range slices.Concat(config.Rules, builtin()) {
		compiled, err := r.compile()
		if err != nil {
			return nil, fmt.Errorf("failure rule %d: %w", i+1, err)
		}
		c.rules = append(c.rules, compiled)
	}
	return c, nil
}

// redactor hides the secrets, longer ones first so that none is left in part.
func redactor(secrets []string) *strings.Replacer {
	var forms []string
	for _, s := range secrets {
		forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s))
		if fields := strings.Fields(s); len(fields) > 1 { // "Bearer KEY"
			forms = append(forms, fields[len(fields)-1])
		}
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, form := range forms {
		if len(form) >= 8 {
			pairs = append(pairs, form, "[redacted]")
		}
	}
	return strings.NewReplacer(pairs...)
}

// ServerError is what the other side said. [errors.As] finds it in every failure that came with a status of 300 or
// more, or with an error object.
type ServerError struct {
	Code    string // as the body has it; empty when there was none, or when it only repeated a status
	Type    string
	Message string // one line, without secrets

	final bool // another try cannot mend it
}

// Error returns the message and, in parentheses, the code or else the type.
func (e *ServerError) Error() string {
	label := e.Code
	if label == "" {
		label = e.Type
	}
	switch {
	case e.Message == "" && label == "":
		return "no message"
	case e.Message == "":
		return label
	case label == "":
		return e.Message
	}
	return e.Message + " (" + label + ")"
}

// Classify returns the failure that an exchange is, or nil when it is none: a status below 300, no error, and a body
// without an error object. Status is 0, and header nil, when none came. Body is as much of it as was read. Err is the
// Go error of sending or reading, or nil.
//
// An error before the status is [firstgood.KindUnavailable], one after a status below 300 [firstgood.KindTruncated],
// and one that matches [context.DeadlineExceeded] [firstgood.KindTimeout], unless connecting took too long. A status
// of 300 or more outweighs err. An err that has a *[firstgood.Error] in its chain is returned as that. The failure
// wraps a *[ServerError], or err where that is what it is. Its texts hold no query, user or password of a URL, no
// header, and none of the secrets.
//
// RetryAfter is what the header says (retry-after-ms, or retry-after as seconds or a date), else the details of the
// error object, else its message.
func (c *Classifier) Classify(status int, header http.Header, body []byte, err error) *firstgood.Error {
	var f *firstgood.Error
	switch object, found := errorObject(status, body); {
	case err != nil && status < 300:
		f = broken(status, err)
	case found:
		f = c.weigh(status, header, object)
	case status >= 300:
		f = c.weigh(status, header, evidence{status: status})
		f.Detail = c.page(body)
	default:
		return nil
	}
	if f.Status == 0 {
		f.Status = status
	}
	if f.RetryAfter == 0 {
		f.RetryAfter = retryAfter(header)
	}
	f.Reason, f.Detail = c.line(f.Reason, 500), c.secrets.Replace(f.Detail)
	return f
}

// weigh applies the rules to what the other side said.
func (c *Classifier) weigh(status int, header http.Header, e evidence) *firstgood.Error {
	said := &ServerError{Type: c.line(e.kind, 100), Message: c.line(e.message, 400), final: header.Get("X-Should-Retry") == "false"}
	if len(e.codes) > 0 {
		said.Code = c.line(e.codes[0], 100)
	}
	f := &firstgood.Error{Kind: firstgood.KindError, Reason: said.Error(), Err: said}
	if status >= 300 {
		f.Reason = statusLine(status)
		if *said != (ServerError{final: said.final}) {
			f.Reason += ": " + said.Error()
		}
	}
	for _, r := range c.rules {
		if r.holds(status, e) {
			f.Kind = r.Kind
			said.final = said.final || r.Final
			break
		}
	}
	f.RetryAfter = cmp.Or(retryAfter(header), e.wait)
	if f.RetryAfter == 0 && (f.Kind == firstgood.KindRateLimited || f.Kind == firstgood.KindUnavailable) {
		f.RetryAfter = inWords(e.message)
	}
	return f
}

// line returns s on one line, without secrets and no longer than units.
func (c *Classifier) line(s string, units int) string {
	s = strings.Join(strings.Fields(c.secrets.Replace(s)), " ")
	if cut, short := firstgood.Excerpt(s, units); short {
		s = cut + "…"
	}
	return s
}

func statusLine(status int) string {
	if text := http.StatusText(status); text != "" {
		return strconv.Itoa(status) + " " + text
	}
	return "status " + strconv.Itoa(status)
}

// page is the start of a body that is no error object, such as a proxy's page.
func (c *Classifier) page(body []byte) string {
	if !utf8.Valid(body) {
		return ""
	}
	text, _ := firstgood.Excerpt(strings.TrimSpace(c.secrets.Replace(string(body))), firstgood.ExcerptUnits)
	return text
}

// broken is the failure of an exchange that a Go error ended.
func broken(status int, err error) *firstgood.Error {
	var classed *firstgood.Error
	if errors.As(err, &classed) {
		own := *classed
		return &own
	}
	at, err := located(err)
	var dial *net.OpError
	switch {
	case errors.As(err, &dial) && dial.Op == "dial":
		return fault(firstgood.KindUnavailable, err, "no connection%s: %v", at, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fault(firstgood.KindTimeout, err, "no answer in time%s: %v", at, err)
	case status == 0:
		return fault(firstgood.KindUnavailable, err, "no answer%s: %v", at, err)
	}
	return fault(firstgood.KindTruncated, err, "the reply stops short%s: %v", at, err)
}

// located takes the URL out of err, since it may hold secrets, and returns the part of it that can be shown. What
// wrapped the URL is given up with it.
func located(err error) (at string, inner error) {
	for inner = err; ; {
		var in *url.Error
		if !errors.As(inner, &in) {
			return at, inner
		}
		if u, err := url.Parse(in.URL); err == nil && u.Host != "" {
			at = " from " + u.Scheme + "://" + u.Host + u.EscapedPath()
		}
		inner = in.Err
	}
}
