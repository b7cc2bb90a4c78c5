package config

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// escapedBrief stands for the text {brief}, as it is shown to what looks for the place of the brief.
const escapedBrief = "\x00"

// holdsBrief reports whether the brief has a place in a text as it is written.
func holdsBrief(written string) bool {
	return strings.Contains(strings.ReplaceAll(written, "{{brief}}", escapedBrief), "{brief}")
}

// beforePath is what comes before the path and the query of an address.
var beforePath = regexp.MustCompile(`^[^/?#]*(//[^/?#]*)?`)

// checkService reports a text without variables that is no address of a service, in the path and query of which the
// brief may have a place.
func checkService(m *Map, key string, text Text) {
	raw, static := text.Static()
	if !static || strings.TrimSpace(raw) == "" { // an empty one was reported
		return
	}
	if holdsBrief(beforePath.FindString(raw)) {
		m.Errorf(key, "the brief cannot choose the host; {brief} has a place in the path and the query alone, as in https://example.com/{brief}")
		return
	}
	checkAddress(m, key, strings.NewReplacer("{{brief}}", "{brief}", "{brief}", "brief").Replace(raw), shown(text, raw))
}

// checkBase reports a text without variables that is no address of an endpoint, to which a path is added.
func checkBase(m *Map, key string, text Text) {
	raw, static := text.Static()
	switch {
	case text.IsZero() || !static:
	case strings.TrimSpace(raw) == "":
		m.Errorf(key, "the address is empty; write where the endpoint is, or leave %s out for the provider's own", key)
	case checkAddress(m, key, raw, shown(text, raw)) && strings.Contains(raw, "?"):
		m.Errorf(key, "%s has a query, and a path is added to it for each request; remove the query, and send what the endpoint needs in headers", shown(text, raw))
	}
}

// shown returns the address as a message may show it: the text itself may be a credential.
func shown(text Text, raw string) string {
	if text.isSecret() {
		return "the text"
	}
	return quote(raw)
}

// checkAddress reports whether the text is a web address, and in a message, where it is called by the name shown, if it
// is not.
func checkAddress(m *Map, key, text, shown string) bool {
	address, err := url.Parse(text)
	if err != nil {
		why, ok := errors.AsType[*url.Error](err)
		switch {
		case !strings.Contains(text, "://"):
			m.Errorf(key, "%s is no web address; write one that begins with https:// or http://", shown)
		case ok && shown != "the text":
			m.Errorf(key, "%s is no web address: %v", shown, why.Err)
		default:
			m.Errorf(key, "%s is no web address", shown)
		}
		return false
	}
	switch {
	case address.Scheme != "http" && address.Scheme != "https":
		m.Errorf(key, "%s is no web address; write one that begins with https:// or http://", shown)
	case address.Hostname() == "":
		m.Errorf(key, "%s names no host; write for example https://example.com/v1", shown)
	case address.User != nil:
		m.Errorf(key, "a name or password has no place in an address; send it in headers, or as api_key where there is one")
	case !isPort(address.Port()):
		m.Errorf(key, "%s has the port %s; a port is a number from 1 to 65535", shown, address.Port())
	case strings.Contains(text, "#"):
		m.Errorf(key, "%s ends in a #fragment, which is never sent; remove it, or write %%23 for the character", shown)
	case strings.ContainsAny(text, " \t"):
		m.Errorf(key, "%s holds a space; write %%20 for it, or remove it", shown)
	default:
		return true
	}
	return false
}

// isPort reports whether the text is a port, or empty.
func isPort(text string) bool {
	port, err := strconv.ParseUint(text, 10, 16)
	return text == "" || err == nil && port > 0
}
