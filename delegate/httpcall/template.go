package httpcall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// fill replaces {brief} in text by value, and {{brief}} by a literal {brief}.
func fill(text, value string) string {
	return strings.NewReplacer("{{brief}}", "{brief}", "{brief}", value).Replace(text)
}

// address is a URL with places for the brief in its path and query.
type address struct {
	path, query string // templates; the path with all that comes before it, the query with its "?"
	host        string
	secrets     []string // the password and the values in the query
}

func parseAddress(template string) (address, error) {
	if template == "" {
		return address{}, errors.New("url: it is required")
	}
	// What net/url says of a URL that it cannot read repeats parts of it, and those may be secret.
	u, err := url.Parse(fill(template, "x"))
	if err != nil {
		return address{}, errors.New("url: not a valid URL")
	}
	other, err := url.Parse(fill(template, "y"))
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return address{}, fmt.Errorf("url: got scheme %q, want http or https", u.Scheme)
	case u.Hostname() == "":
		return address{}, errors.New("url: it has no host")
	case err != nil || other.Scheme != u.Scheme || other.Host != u.Host || other.User.String() != u.User.String():
		return address{}, errors.New("url: {brief} can stand in the path and the query alone")
	case strings.ContainsAny(template, " \t"):
		return address{}, errors.New("url: it holds a space; write %20")
	case strings.Contains(template, "#"):
		return address{}, errors.New("url: a fragment (#) is never sent; write %23 for a # in the path or query")
	}
	a := address{host: u.Host}
	var found bool
	if a.path, a.query, found = strings.Cut(template, "?"); found {
		a.query = "?" + a.query
	}
	if password, ok := u.User.Password(); ok {
		a.secrets = append(a.secrets, password)
	}
	for _, values := range u.Query() {
		a.secrets = append(a.secrets, values...)
	}
	return a, nil
}

// fill returns the URL for a brief. It fails on a brief that would be read as a step in the path.
func (a address) fill(brief string) (string, error) {
	value := url.PathEscape(brief)
	for segment := range strings.SplitSeq(a.path, "/") {
		if step := fill(segment, value); step != segment && (step == "." || step == "..") {
			return "", fmt.Errorf("the brief %q in the url's path would be read as a step in it, not as a value", brief)
		}
	}
	return fill(a.path, value) + fill(a.query, url.QueryEscape(brief)), nil
}

// template is a JSON value with places for the brief in its strings: map[string]any, []any, string, and what holds
// no string.
type template struct{ value any }

// parseTemplate takes a copy of value as the JSON that it is.
func parseTemplate(value any) (*template, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var t template
	err = decoder.Decode(&t.value)
	return &t, err
}

// fill returns the JSON for a brief. It fails on a brief that JSON cannot carry unchanged.
func (t *template) fill(brief string) ([]byte, error) {
	var used bool
	value := replace(t.value, func(text string) string {
		used = used || strings.Contains(text, "{brief}")
		return fill(text, brief)
	})
	if used && !utf8.ValidString(brief) {
		return nil, errors.New("the brief is not valid UTF-8, so JSON cannot carry it; convert it first")
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(data.Bytes(), []byte("\n")), err
}

// replace returns a copy of value with each of its strings, but not the names of members, replaced.
func replace(value any, with func(string) string) any {
	switch value := value.(type) {
	case string:
		return with(value)
	case []any:
		list := make([]any, len(value))
		for i, element := range value {
			list[i] = replace(element, with)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(value))
		for name, member := range value {
			object[name] = replace(member, with)
		}
		return object
	}
	return value
}
