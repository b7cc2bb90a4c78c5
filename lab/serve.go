package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ServeHTTP answers a request. A reply that must not look whole, because the model breaks it off, the client went
// away or the lab was closed, ends in the panic [http.ErrAbortHandler], by which net/http breaks the connection.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.join() {
		sendError(w, http.StatusServiceUnavailable, Error{Message: errClosed.Error(), Type: "server_error"})
		return
	}
	defer s.work.Done()
	at := placeOf(r.URL.Path)
	switch {
	case at.method == "":
		sendError(w, http.StatusNotFound, Error{Type: "invalid_request_error",
			Message: fmt.Sprintf("the lab has no %.200q; it has GET /v1/models, and POST /v1/chat/completions, /v1/responses, /v1/messages and %sMODEL:generateContent", r.URL.Path, generatePrefix)})
	case at.method != r.Method:
		w.Header().Set("Allow", at.method)
		sendError(w, http.StatusMethodNotAllowed, Error{Type: "invalid_request_error",
			Message: fmt.Sprintf("%s is for %s, not for %.20s", r.URL.Path, at.method, r.Method)})
	case at.wire == nil:
		s.serveModels(w)
	case at.counts:
		s.serveCount(w, r, at.wire)
	default:
		s.serveReply(w, r, at.wire)
	}
}

// serveCount tells how many words a request has, in place of tokens. It is no visit.
func (s *Server) serveCount(w http.ResponseWriter, r *http.Request, wire wire) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.maxBody))
	if err != nil {
		sendError(w, http.StatusBadRequest, Error{Type: "invalid_request_error", Message: "the request body cannot be read"})
		return
	}
	req, err := wire.request(r.URL.Path, body)
	if err != nil {
		send(w, http.StatusBadRequest, encode(wire.failed(http.StatusBadRequest, Error{Type: "invalid_request_error", Message: err.Error()})))
		return
	}
	n := count(req, Reply{}).Prompt
	send(w, http.StatusOK, encode(object{"input_tokens": n, "totalTokens": n}))
}

func (s *Server) serveModels(w http.ResponseWriter) {
	type model struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	var models []model
	for _, name := range s.names() {
		models = append(models, model{ID: name, Object: "model", OwnedBy: "lab"})
	}
	send(w, http.StatusOK, encode(map[string]any{"object": "list", "data": models}))
}

// serveReply reads a request whole, since net/http notices that a client has gone only after that, enters
// the visit, and lets the model's reply be played.
func (s *Server) serveReply(w http.ResponseWriter, r *http.Request, wire wire) {
	visit := Visit{Started: time.Now(), Authorization: r.Header.Get("Authorization") != ""}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.maxBody))
	var req Request
	var model Model
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		model = refuse(http.StatusRequestEntityTooLarge, fmt.Sprintf("the request body is larger than %d bytes", s.maxBody), "")
	case err != nil: // the client left in the middle of it, or speaks broken HTTP
		model = func(context.Context, Request) Reply { return Reply{Fault: noReply} }
	default:
		visit.body = body
		req, err = wire.request(r.URL.Path, body)
		if err != nil {
			model = refuse(http.StatusBadRequest, err.Error(), "")
		} else {
			model = s.model(req.Model)
		}
	}
	req.Header = r.Header
	visit.Model, visit.Stream, visit.Brief = req.Model, req.Stream, req.Brief()

	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	entry := s.book.enter(visit)
	req.Number = entry.Number
	leave := context.AfterFunc(ctx, func() { s.book.leave(entry, s.endOfContext()) })

	p := player{ctx: ctx, w: w, wire: wire, req: req}
	end := EndCut // what a model that panics leaves behind
	defer func() {
		leave()
		s.book.end(entry, p.status, end)
	}()
	p.reply = model(ctx, req)
	switch whole := p.play(); {
	case whole:
		end = EndDone
		return
	case ctx.Err() != nil || p.reply.Fault == noReply:
		end = s.endOfContext()
	}
	panic(http.ErrAbortHandler)
}

// endOfContext is how a visit ends whose context is done: by the lab's end, else by the client's.
func (s *Server) endOfContext() End {
	if s.ctx.Err() != nil {
		return EndClosed
	}
	return EndGone
}

// model returns what answers for a name with its argument. A name that is not known, and an argument that cannot
// be understood, give a model that says so.
func (s *Server) model(full string) Model {
	if model, ok := s.models[full]; ok {
		return model
	}
	name, text, given := strings.Cut(full, ":")
	if model, ok := s.models[name]; ok {
		return model
	}
	b, ok := s.behaviours[name]
	if !ok {
		return refuse(http.StatusNotFound,
			fmt.Sprintf("the lab has no model %.200q; it has %s", full, strings.Join(s.names(), ", ")), "model_not_found")
	}
	model, err := b.model(argument{text, given})
	if err != nil {
		return refuse(http.StatusBadRequest, fmt.Sprintf("model %.200q: %v; want %s", full, err, b.Form), "")
	}
	return model
}

// names returns the names of all models, sorted.
func (s *Server) names() []string {
	all := make(map[string]bool)
	for name := range s.models {
		all[name] = true
	}
	for name := range s.behaviours {
		all[name] = true
	}
	return slices.Sorted(maps.Keys(all))
}

func refuse(status int, message, code string) Model {
	return func(context.Context, Request) Reply {
		return Reply{Status: status, Error: &Error{Message: message, Type: "invalid_request_error", Code: code}}
	}
}

func sendError(w http.ResponseWriter, status int, e Error) bool {
	return send(w, status, encode(openAIError(e)))
}
