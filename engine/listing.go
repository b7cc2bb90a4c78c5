package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/firstgood/firstgood"
	"github.com/firstgood/firstgood/pattern"
)

// listing is a fan-out whose result is one reply: the JSON list of the replies, null where one failed.
type listing struct {
	*pattern.FanOut[firstgood.Reply]
}

func newListing(cfg pattern.Config[firstgood.Reply]) (*listing, error) {
	fan, err := pattern.NewFanOut(cfg)
	return &listing{fan}, err
}

func (l *listing) Attempt(ctx context.Context, brief firstgood.Brief) (firstgood.Reply, error) {
	out, err := l.Run(ctx, brief)
	return out.Result, err
}

func (l *listing) Run(ctx context.Context, brief firstgood.Brief) (firstgood.Outcome[firstgood.Reply], error) {
	all, err := l.FanOut.Run(ctx, brief)
	out := firstgood.Outcome[firstgood.Reply]{
		Status: all.Status, WinnerIndex: all.WinnerIndex, Attempts: all.Attempts, History: all.History, Calls: all.Calls, Duration: all.Duration,
	}
	if err != nil {
		return out, err
	}
	values := make([]json.RawMessage, len(all.Result))
	for i, reply := range all.Result {
		values[i] = valueOf(reply)
	}
	for _, f := range all.History {
		values[f.Index] = json.RawMessage("null")
	}
	out.Result = firstgood.Reply{JSON: encode(values), Usage: firstgood.Usage{Source: firstgood.SourceMeasured}}
	return out, nil
}

// valueOf returns a reply as a JSON value: a text is a string, whatever it holds. An open stream is read to its end.
func valueOf(reply firstgood.Reply) json.RawMessage {
	if reply.Stream != nil {
		text, err := io.ReadAll(reply.Stream)
		_ = reply.Close()
		if err != nil {
			return json.RawMessage("null")
		}
		return encode(firstgood.TextOf(text))
	}
	if reply.JSON != nil {
		return encode(reply.JSON)
	}
	return encode(firstgood.TextOf(reply.Text))
}

// encode writes v as compact JSON without the escapes that only HTML needs. A value that has no JSON form, which
// none here is, gives null.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(v) != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
