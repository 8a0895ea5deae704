package claudetest

import (
	"bytes"
	"io"
	"sync"

	"github.com/sayso-dev/sayso/claude"
)

// Pipe returns the two ends of a conversation in memory. It buffers up to one line in each
// direction and blocks only on channels, so it works under testing/synctest. After one end is
// closed, the other end receives the lines sent before that, and then io.EOF.
func Pipe() (host, cli claude.Transport) {
	down, up := make(chan []byte, 1), make(chan []byte, 1)
	h := &end{in: up, out: down, closed: make(chan struct{})}
	c := &end{in: down, out: up, closed: make(chan struct{})}
	h.other, c.other = c, h
	return h, c
}

type end struct {
	in     <-chan []byte
	out    chan<- []byte
	other  *end
	once   sync.Once
	closed chan struct{} // closed by Close
}

func (e *end) Recv() ([]byte, error) {
	select {
	case <-e.closed:
		return nil, io.EOF
	default:
	}
	select {
	case line := <-e.in:
		return line, nil
	case <-e.closed:
		return nil, io.EOF
	case <-e.other.closed:
	}
	select { // lines sent before the close still arrive
	case line := <-e.in:
		return line, nil
	default:
		return nil, io.EOF
	}
}

func (e *end) Send(line []byte) error {
	select {
	case <-e.closed:
		return io.ErrClosedPipe
	case <-e.other.closed:
		return io.ErrClosedPipe
	default:
	}
	select {
	case e.out <- bytes.Clone(line):
		return nil
	case <-e.closed:
		return io.ErrClosedPipe
	case <-e.other.closed:
		return io.ErrClosedPipe
	}
}

func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}
