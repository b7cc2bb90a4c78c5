package failure

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/firstgood/firstgood"
)

// Read reads body to its end. A body of more than limit bytes, which must be less than the largest int64, is a
// *[firstgood.Error] of [firstgood.KindError]; any other error is that of body. What was read so far is returned with
// it.
func Read(body io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(Limit(body, limit))
}

// Limit returns a reader of body's first limit bytes, which must be less than the largest int64. Where body goes on
// after them, it fails with a *[firstgood.Error] of [firstgood.KindError].
func Limit(body io.Reader, limit int64) io.Reader { return &limited{body, limit, limit} }

type limited struct {
	body        io.Reader
	limit, left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1] // the one more tells a body that goes on from one that ends
	}
	n, err := l.body.Read(p)
	if int64(n) > l.left {
		n, l.left = int(l.left), 0
		return n, fault(firstgood.KindError, nil, "the reply is larger than the limit of %d bytes", l.limit)
	}
	l.left -= int64(n)
	return n, err
}

// Decode reads the JSON document data into value. Data that stops short is [firstgood.KindTruncated], and what is no
// JSON, or does not fit into value, [firstgood.KindError]. A byte order mark is skipped.
func Decode(data []byte, value any) error {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	decoder := json.NewDecoder(bytes.NewReader(data))
	switch err := decoder.Decode(value); {
	case errors.Is(err, io.ErrUnexpectedEOF), err == io.EOF:
		return fault(firstgood.KindTruncated, io.ErrUnexpectedEOF, "the reply's JSON stops short after %d bytes", len(data))
	case err != nil:
		return fault(firstgood.KindError, err, "the reply is not the expected JSON: %v", err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return fault(firstgood.KindError, nil, "the reply goes on after its JSON, at byte %d", decoder.InputOffset())
	}
	return nil
}

func fault(kind firstgood.Kind, err error, format string, args ...any) *firstgood.Error {
	return &firstgood.Error{Kind: kind, Reason: fmt.Sprintf(format, args...), Err: err}
}
