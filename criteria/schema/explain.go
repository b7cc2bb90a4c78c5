package schema

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/firstgood/firstgood/criteria"
)

// fault returns an error at an address, which may have a place in the document as its fragment.
func (s *source) fault(at, format string, args ...any) error {
	message := fmt.Sprintf(format, args...)
	address, place, _ := strings.Cut(at, "#")
	if place, err := url.PathUnescape(place); err == nil && place != "" {
		message = fmt.Sprintf("at %s: %s", criteria.Pointer(tokens(place)), message)
	}
	if name := s.nameOf(address); name != "" {
		return fmt.Errorf("schema %s: %s", name, message)
	}
	return fmt.Errorf("schema: %s", message)
}

// nameOf returns the name of the file at an address, "" for none.
func (s *source) nameOf(address string) string {
	u, err := url.Parse(address)
	if s.name == "" || err != nil || u.Scheme != "file" {
		return s.name
	}
	inner, err := filepath.Rel(s.dir, pathOf(u))
	if err != nil {
		return s.name
	}
	return filepath.Join(filepath.Dir(s.name), inner)
}

var unescapes = strings.NewReplacer("~1", "/", "~0", "~")

// tokens returns the keys of a JSON pointer.
func tokens(pointer string) []string {
	keys := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range keys {
		keys[i] = unescapes.Replace(keys[i])
	}
	return keys
}

// explain returns an error of the library as one of ours.
func (s *source) explain(err error) error {
	if bad, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		failed, ok := errors.AsType[*jsonschema.ValidationError](bad.Err)
		if !ok {
			return s.fault(bad.URL, "%v", bad.Err)
		}
		why, err := reason(failed)
		if err != nil {
			why = err.Error()
		}
		return s.fault(bad.URL, "it is no valid schema: %s", why)
	}
	if bad, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return s.reference(bad.URL, false, bad.Err)
	}
	if bad, ok := errors.AsType[*jsonschema.JSONPointerNotFoundError](err); ok {
		return s.reference(bad.URL, true, errors.New("there is nothing at that place"))
	}
	if bad, ok := errors.AsType[*jsonschema.AnchorNotFoundError](err); ok {
		return s.reference(bad.Reference, true, errors.New("there is no such anchor"))
	}
	return s.fault(s.address, "%v", err)
}

// reference returns an error about a reference to an address, at the first place that has one.
func (s *source) reference(to string, whole bool, err error) error {
	at, written := s.address, to
	addresses := make([]string, 0, len(s.docs))
	for address := range s.docs {
		addresses = append(addresses, address)
	}
	sort.Slice(addresses, func(i, j int) bool {
		return addresses[i] == s.address || addresses[j] != s.address && addresses[i] < addresses[j]
	})
	for _, address := range addresses {
		base, parseErr := url.Parse(address)
		if parseErr != nil {
			continue
		}
		if place, ref, ok := referrer(s.docs[address], base, to, whole, ""); ok {
			at, written = address+"#"+place, ref
			break
		}
	}
	fault := s.fault(at, "it refers to %s", written)
	return fmt.Errorf("%w: %w", fault, err)
}

// referrer finds a reference to an address in a document, and how it is written there.
func referrer(doc any, base *url.URL, to string, whole bool, at string) (place, written string, ok bool) {
	switch doc := doc.(type) {
	case []any:
		for i, inner := range doc {
			if place, written, ok = referrer(inner, base, to, whole, fmt.Sprintf("%s/%d", at, i)); ok {
				return place, written, true
			}
		}
	case map[string]any:
		if id, is := doc["$id"].(string); is {
			if u, err := base.Parse(id); err == nil {
				base = u
			}
		}
		keys := make([]string, 0, len(doc))
		for key := range doc {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		for _, key := range keys {
			inner := at + "/" + escapes.Replace(key)
			ref, is := doc[key].(string)
			if is && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef" || key == "$schema") && meets(base, ref, to, whole) {
				return url.PathEscape(inner), ref, true
			}
			if place, written, ok = referrer(doc[key], base, to, whole, inner); ok {
				return place, written, true
			}
		}
	}
	return "", "", false
}

var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// meets reports whether a reference leads to an address, or where it is not the whole that counts to its document.
func meets(base *url.URL, ref, to string, whole bool) bool {
	u, err := base.Parse(ref)
	target, err2 := url.Parse(to)
	if err != nil || err2 != nil || whole && u.Fragment != target.Fragment {
		return ref == to
	}
	u.Fragment, u.RawFragment, target.Fragment, target.RawFragment = "", "", "", ""
	return u.String() == target.String()
}
