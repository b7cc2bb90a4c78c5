package firstgood

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// TextMedia is the media type of a brief made by [Text].
const TextMedia = "text/plain; charset=utf-8"

// Brief is the task given to a delegate. It is immutable: every accessor that could let a holder change it
// returns a copy, so that one delegate cannot alter what another is given. The zero Brief is an empty text.
// A Brief may be used from several goroutines.
type Brief struct {
	media  string // "" means TextMedia
	body   string
	inputs []input // sorted by name; never changed in place
}

type input struct{ name, json string }

// Text returns a brief that is the text s.
func Text(s string) Brief { return Brief{body: s} }

// Raw returns a brief that is a protocol request or another document as it came over the wire: body in the given
// media type (for instance "application/json"). An empty media type means [TextMedia]. The bytes are copied.
func Raw(mediaType string, body []byte) Brief {
	if mediaType == TextMedia {
		mediaType = ""
	}
	return Brief{media: mediaType, body: string(body)}
}

// With returns a copy of b that also carries a named input. The value is kept as JSON, so later changes to it
// are not seen; an input of the same name is replaced. It fails when the value has no JSON form.
func (b Brief) With(name string, value any) (Brief, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return b, fmt.Errorf("input %s: %w", name, err)
	}
	at, found := slices.BinarySearchFunc(b.inputs, name, func(in input, name string) int { return strings.Compare(in.name, name) })
	inputs := slices.Clone(b.inputs)
	if found {
		inputs[at].json = string(data)
	} else {
		inputs = slices.Insert(inputs, at, input{name, string(data)})
	}
	b.inputs = inputs
	return b, nil
}

// String returns the body as text. For a [Raw] brief that is the document itself.
func (b Brief) String() string { return b.body }

// Bytes returns a fresh copy of the body.
func (b Brief) Bytes() []byte { return []byte(b.body) }

// MediaType returns the media type of the body, never empty.
func (b Brief) MediaType() string {
	if b.media == "" {
		return TextMedia
	}
	return b.media
}

// IsText reports whether the body is a text for a reader, not a protocol request.
func (b Brief) IsText() bool { return b.media == "" }

// Input returns a copy of the JSON of the named input, and whether there is one.
func (b Brief) Input(name string) (json.RawMessage, bool) {
	for _, in := range b.inputs {
		if in.name == name {
			return json.RawMessage(in.json), true
		}
	}
	return nil, false
}

// Inputs returns the names of the inputs, sorted.
func (b Brief) Inputs() []string {
	names := make([]string, len(b.inputs))
	for i, in := range b.inputs {
		names[i] = in.name
	}
	return names
}

// WithText returns a copy of b whose body is the text s; the inputs stay.
func (b Brief) WithText(s string) Brief {
	b.media, b.body = "", s
	return b
}
