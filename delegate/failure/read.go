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
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	if int64(len(data)) > limit {
		return data[:limit], fault(firstgood.KindError, nil, "the reply is larger than the limit of %d bytes", limit)
	}
	return data, err
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
