package mcpapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxStdioLine bounds one message on stdin, in bytes.
const maxStdioLine = 16 << 20

// stdio is a transport of one message a line. Unlike the one of the SDK it outlives
// the end of its input until every request that was read is answered, and answers a
// line that is no message instead of breaking off.
type stdio struct {
	in  io.Reader
	out io.Writer
}

// Connect implements [mcp.Transport]. The connection owns in and out.
func (s *stdio) Connect(context.Context) (mcp.Connection, error) {
	c := &stdioConn{out: s.out, lines: make(chan []byte), closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
	go func() { // reading a pipe cannot be interrupted; the end of the process ends it
		defer close(c.lines)
		scanner := bufio.NewScanner(s.in)
		scanner.Buffer(make([]byte, 0, 64<<10), maxStdioLine)
		for scanner.Scan() {
			select {
			case c.lines <- bytes.Clone(scanner.Bytes()):
			case <-c.closed:
				return
			}
		}
		c.failed = scanner.Err()
	}()
	return c, nil
}

type stdioConn struct {
	lines  chan []byte
	failed error // once lines is closed
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	out      io.Writer
	open     map[jsonrpc.ID]bool // requests that were read and have no answer
	answered chan struct{}       // a buffer of one: open has become smaller
}

// SessionID implements [mcp.Connection].
func (c *stdioConn) SessionID() string { return "" }

// Close implements [mcp.Connection].
func (c *stdioConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// Read implements [mcp.Connection].
func (c *stdioConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case line, more := <-c.lines:
			if !more {
				return nil, c.drain(ctx)
			}
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			message, err := jsonrpc.DecodeMessage(line)
			if err == nil {
				c.note(message)
				return message, nil
			}
			if err := c.write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`)); err != nil {
				return nil, err
			}
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// note counts a request that needs an answer; one that is cancelled needs none.
func (c *stdioConn) note(message jsonrpc.Message) {
	request, ok := message.(*jsonrpc.Request)
	switch {
	case !ok:
	case request.IsCall():
		c.mu.Lock()
		defer c.mu.Unlock()
		c.open[request.ID] = true
	case request.Method == "notifications/cancelled":
		var params struct {
			RequestID any `json:"requestId"`
		}
		if json.Unmarshal(request.Params, &params) != nil {
			return
		}
		if id, err := jsonrpc.MakeID(params.RequestID); err == nil {
			c.settle(id)
		}
	}
}

func (c *stdioConn) settle(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.open, id)
	c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

// drain waits until all is answered and returns why there is no more to read.
func (c *stdioConn) drain(ctx context.Context) error {
	for {
		c.mu.Lock()
		left := len(c.open)
		c.mu.Unlock()
		if left == 0 {
			break
		}
		select {
		case <-c.answered:
		case <-c.closed:
			return io.EOF
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if c.failed != nil {
		return c.failed
	}
	return io.EOF
}

// Write implements [mcp.Connection].
func (c *stdioConn) Write(_ context.Context, message jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	err = c.write(data)
	if response, ok := message.(*jsonrpc.Response); ok {
		c.settle(response.ID)
	}
	return err
}

func (c *stdioConn) write(message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(message, '\n'))
	return err
}
