// Package lab is a local provider with faults: it speaks the protocols of OpenAI, Anthropic and Gemini, and its models misbehave on
// demand. A request picks the behaviour by its model field, with an argument behind a colon: "slow:300ms",
// "429:60", "cut:40"; [Behaviours] lists them. The lab needs no key and no network, and records who came, what
// was asked, and when a client went away.
//
//	GET  /v1/models
//	POST /v1/chat/completions            whole or streamed (server-sent events), as all of them
//	POST /v1/responses                   without state: a request holds all that went before
//	POST /v1/messages                    and /v1/messages/count_tokens
//	POST /v1beta/models/MODEL:generateContent, :streamGenerateContent and :countTokens
//
// All waiting follows the request's context and timers, so that inside a testing/synctest bubble, on a [Pipe],
// time is virtual and exact.
package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Config is what a lab is made from. The zero Config is a lab with the built-in behaviours.
type Config struct {
	// Models are models of your own beside the built-in behaviours, by name; one of the same name replaces a
	// built-in. A request is matched with the whole of its model first, then with what stands before the first
	// colon.
	Models map[string]Model
	// Seed chooses the delays of long-tail: the same seed gives the same sequence.
	Seed uint64
	// MaxBody is the largest request body in bytes, 0 for 8 MiB. A larger one is answered with 413.
	MaxBody int64
	// Keep is how many visits are remembered, 0 for 10,000; older ones are forgotten, and sooner when the bodies
	// kept come to more than 64 MiB.
	Keep int
	// Log is called when a visit begins and when it has ended, one call at a time. It must not call back into
	// the lab, and should return fast. Nil logs nothing.
	Log func(Visit)
}

// Server is a lab. It serves by itself after [Server.Start] or [Server.StartOn], and is an [http.Handler] for
// other servers. Its methods are safe for concurrent use.
type Server struct {
	models     map[string]Model
	behaviours map[string]behaviour
	maxBody    int64
	book       book

	ctx    context.Context // ends at Close
	cancel context.CancelFunc

	mu      sync.Mutex
	closing bool
	url     string
	server  *http.Server
	served  chan struct{}  // closed when server.Serve has returned
	work    sync.WaitGroup // requests and connections
	closed  chan struct{}  // closed when Close is through
}

var errClosed = errors.New("the lab is closed")

// New returns a lab that does not listen yet. It fails on a Config with a negative number, or a model without a
// name or a function.
func New(config Config) (*Server, error) {
	if config.MaxBody < 0 {
		return nil, fmt.Errorf("lab: MaxBody is %d, want 0 or more bytes", config.MaxBody)
	}
	if config.Keep < 0 {
		return nil, fmt.Errorf("lab: Keep is %d, want 0 or more visits", config.Keep)
	}
	s := &Server{
		models:     make(map[string]Model, len(config.Models)),
		behaviours: make(map[string]behaviour),
		maxBody:    config.MaxBody,
		book:       book{keep: config.Keep, watch: config.Log},
		closed:     make(chan struct{}),
	}
	if s.maxBody == 0 {
		s.maxBody = 8 << 20
	}
	if s.book.keep == 0 {
		s.book.keep = 10_000
	}
	for name, model := range config.Models {
		if name == "" || model == nil {
			return nil, fmt.Errorf("lab: model %q has no name or no function", name)
		}
		s.models[name] = model
	}
	for _, b := range behaviours(config.Seed) {
		s.behaviours[b.Name] = b
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Start listens on addr, a loopback address with a port such as "127.0.0.1:8080" or "localhost:0", and serves
// until [Server.Close]. Empty means "127.0.0.1:0": a free port. It fails on an address that others could reach,
// one that cannot be listened on, and a lab that has been started or closed.
func (s *Server) Start(addr string) error {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("lab: address %q: %w", addr, err)
	}
	if host == "" {
		return fmt.Errorf("lab: address %q is open to the network, want a loopback address such as 127.0.0.1%s", addr, addr)
	}
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return fmt.Errorf("lab: address %q: %w", addr, err)
	}
	if !resolved.IP.IsLoopback() {
		return fmt.Errorf("lab: address %q is not a loopback address, want one such as 127.0.0.1:%d", addr, resolved.Port)
	}
	listener, err := net.ListenTCP("tcp", resolved)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	return s.StartOn(listener)
}

// StartOn serves on a listener of the caller's, such as a [Pipe], until [Server.Close], which closes it; it does
// not wait, and does not ask who can reach it. It fails, and closes the listener, when the lab has been started
// or closed.
func (s *Server) StartOn(listener net.Listener) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing || s.server != nil {
		_ = listener.Close()
		if s.closing {
			return fmt.Errorf("lab: start: %w", errClosed)
		}
		return errors.New("lab: start: the lab has been started already")
	}
	s.url = "http://" + listener.Addr().String() + "/v1"
	s.served = make(chan struct{})
	s.server = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				s.work.Add(1)
			case http.StateClosed:
				s.work.Done()
			}
		},
	}
	go func() {
		defer close(s.served)
		_ = s.server.Serve(listener) // http.ErrServerClosed, or the listener's own end
	}()
	return nil
}

// URL returns the base URL for clients, ending in /v1, or "" before the start.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close ends every visit that is under way, whose client sees a broken connection, and the listener, and returns
// when nothing of the lab is running any more. Only a model of the caller's own that does not heed its context
// holds it up. Visits remain readable. Later calls wait for the first one. The error is always nil.
func (s *Server) Close() error {
	s.mu.Lock()
	first, server := !s.closing, s.server
	s.closing = true
	s.mu.Unlock()
	if !first {
		<-s.closed
		return nil
	}
	s.cancel()
	if server != nil {
		_ = server.Close()
		<-s.served
		_ = server.Close() // for a connection that was accepted while the first call went round
	}
	s.work.Wait()
	close(s.closed)
	return nil
}

// join counts a request in, unless the lab is closing; s.work.Done counts it out.
func (s *Server) join() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing {
		s.work.Add(1)
	}
	return !s.closing
}
