package lab

import (
	"context"
	"net"
	"net/http"
	"sync"
)

// Pipe is a listener without a network: what is dialled stays in memory. It lets a lab run in a testing/synctest
// bubble. Its methods are safe for concurrent use.
type Pipe struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipe returns a pipe that nobody serves yet: a dial waits until it is accepted.
func NewPipe() *Pipe {
	return &Pipe{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Accept waits for a dial and returns its other side. It returns [net.ErrClosed] once the pipe is closed.
func (p *Pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and dials. Connections stay open. The error is always nil.
func (p *Pipe) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns an address that no network has.
func (p *Pipe) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "lab.invalid" }

// DialContext connects to whoever accepts, whatever the network and address; it fits [http.Transport]. It returns
// ctx's cause when ctx is done before, and [net.ErrClosed] once the pipe is closed.
func (p *Pipe) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	err := net.ErrClosed
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	_ = ours.Close()
	_ = theirs.Close()
	return nil, err
}

// Client returns a client all of whose requests go through the pipe, whatever their host. Its idle connections
// end with the server's, or by CloseIdleConnections.
func (p *Pipe) Client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: p.DialContext}}
}
