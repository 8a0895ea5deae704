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

// stdio is a transport with one message per line. Unlike the SDK's, it stays open after the end
// of its input until every request is answered, and answers an invalid line instead of
// closing.
type stdio struct {
	in  io.Reader
	out io.Writer
}

// Connect implements [mcp.Transport]. The connection owns in and out.
func (s *stdio) Connect(context.Context) (mcp.Connection, error) {
	c := &stdioConn{out: s.out, lines: make(chan []byte), closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}, answered: make(chan struct{}, 1)}
	go func() { // reading a pipe cannot be interrupted; it ends with the process
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
	failed error // valid once lines is closed
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	out      io.Writer
	open     map[jsonrpc.ID]bool // requests without a response yet
	answered chan struct{}       // signals that open has become smaller; capacity 1
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
				c.trackRequest(message)
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

// trackRequest adds a request to open, and removes a cancelled one, which needs no response.
func (c *stdioConn) trackRequest(message jsonrpc.Message) {
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
			c.finishRequest(id)
		}
	}
}

func (c *stdioConn) finishRequest(id jsonrpc.ID) {
	c.mu.Lock()
	delete(c.open, id)
	c.mu.Unlock()
	select {
	case c.answered <- struct{}{}:
	default:
	}
}

// drain waits until everything is answered and returns why the input ended.
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
		c.finishRequest(response.ID)
	}
	return err
}

func (c *stdioConn) write(message []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(message, '\n'))
	return err
}
