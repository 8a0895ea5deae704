package apitest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/store/sqlitetest"
)

// Pipes is a listener with connections in memory, so that they work in a bubble of
// testing/synctest: a write blocks until the other end reads.
type Pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// NewPipes returns a listener to which only [Pipes.Dial] connects.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

// Accept implements [net.Listener].
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *Pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

// Addr implements [net.Listener].
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8787} }

// Dial connects to the listener. It has the type of [http.Transport.DialContext].
func (p *Pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// InBubble runs a test with a harness in a bubble of testing/synctest, where time advances only
// while every goroutine blocks.
func InBubble(t *testing.T, test func(t *testing.T, h *Harness), change ...func(*Options)) {
	t.Helper()
	InBubbleOn(t, sqlitetest.New(t), test, change...)
}

// InBubbleOn is InBubble on the database at path.
func InBubbleOn(t *testing.T, path string, test func(t *testing.T, h *Harness), change ...func(*Options)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := Open(t, path, change...)
		p := NewPipes()
		h.Web = &httptest.Server{URL: "http://127.0.0.1:8787", Listener: p, Config: &http.Server{Handler: h.Server}}
		client := &http.Client{Transport: &http.Transport{DialContext: p.Dial}}
		h.Client = client
		served := make(chan struct{})
		go func() { defer close(served); _ = h.Web.Config.Serve(p) }()
		t.Cleanup(func() {
			client.CloseIdleConnections()
			_ = h.Web.Config.Close()
			<-served
		})
		h.Run()
		synctest.Wait()
		test(t, h)
	})
}
