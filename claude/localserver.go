package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// LocalServer is an MCP server in this process. Package claude/tool creates one from functions, or from
// a server of the official Go SDK for MCP.
type LocalServer struct {
	// Serve serves one connection until ctx ends. [Client.Run] calls it in its own goroutine and
	// waits for it. When the CLI connects again, the context of Serve ends, and Serve is called
	// again once it has returned.
	Serve func(ctx context.Context, conn MCPConn) error
	// Timeout bounds a tool call; 0 for the CLI's default.
	Timeout time.Duration
	Tools   []MCPToolPolicy
}

func (s LocalServer) config() (map[string]any, error) {
	if s.Serve == nil {
		return nil, errors.New("has no function to serve it")
	}
	return nil, nil
}

// MCPConn is the connection of a [LocalServer] to the CLI. Messages are JSON-RPC.
type MCPConn interface {
	// Recv returns the next message of the CLI. It blocks until there is one or ctx ends, and
	// returns io.EOF when the connection has ended.
	Recv(ctx context.Context) (json.RawMessage, error)
	// Send sends a message to the CLI. It is safe for concurrent use. Unless the message is a
	// response, Send blocks until [Client.Run] has sent initialize, and then until the CLI has
	// acknowledged the message.
	Send(ctx context.Context, message json.RawMessage) error
}

// localServer connects a LocalServer with the control requests of the CLI. Each control request
// carries one message of the CLI, and its answer carries the response.
type localServer struct {
	name   string
	serve  func(ctx context.Context, conn MCPConn) error
	client *Client

	mu     sync.Mutex
	conn   *localConn    // the latest
	opened chan struct{} // capacity 1; signals that conn has been replaced
}

// localConn is one connection of a localServer, from one MCP initialize to the next.
type localConn struct {
	server *localServer

	// Protected by the mutex of the server.
	queue       []json.RawMessage
	waiting     map[string]chan json.RawMessage
	initialized bool // initialize has been forwarded
	changed     bool // the server has announced a change of its tools
	ended       error
	cancel      context.CancelFunc // cancels the context of Serve; nil before Serve is called

	arrived chan struct{} // capacity 1; signals that the queue has grown
	done    chan struct{} // closed when the connection has ended
}

var errReconnected = errors.New("the CLI has connected again")

func newLocalServer(name string, serve func(context.Context, MCPConn) error, c *Client) *localServer {
	s := &localServer{name: name, serve: serve, client: c, opened: make(chan struct{}, 1)}
	s.conn = s.newConn()
	return s
}

func (s *localServer) newConn() *localConn {
	return &localConn{server: s, arrived: make(chan struct{}, 1), waiting: map[string]chan json.RawMessage{}, done: make(chan struct{})}
}

// run serves one connection after the other until ctx ends.
func (s *localServer) run(ctx context.Context) {
	for ctx.Err() == nil {
		serving, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		conn := s.conn
		ended := conn.ended != nil
		conn.cancel = cancel
		s.mu.Unlock()
		if !ended {
			conn.serve(serving)
		}
		cancel()
		select {
		case <-s.opened:
		case <-ctx.Done():
		}
	}
}

// serve serves the connection until ctx ends.
func (c *localConn) serve(ctx context.Context) {
	s := c.server
	_, err := guard(ctx, func(ctx context.Context) (response, error) { return response{}, s.serve(ctx, c) })
	if err == nil {
		err = io.EOF
	}
	s.mu.Lock()
	c.ended = err
	s.mu.Unlock()
	close(c.done)
	if ctx.Err() == nil {
		s.client.reportError(&call{subtype: "mcp_message"}, fmt.Errorf("claude: MCP server %s ended: %w", s.name, err))
	}
}

// handle forwards a message of the CLI and waits for the response.
func (s *localServer) handle(ctx context.Context, r MCPMessageRequest) (json.RawMessage, error) {
	return s.exchange(ctx, r.Message)
}

func (s *localServer) exchange(ctx context.Context, message json.RawMessage) (json.RawMessage, error) {
	fields, err := appendFields(nil, message)
	if err != nil {
		return nil, err
	}
	id, method := string(lookup(fields, "id")), text(lookup(fields, "method"))
	isRequest := method != "" && id != "" && id != "null"
	var answer chan json.RawMessage
	s.mu.Lock()
	if method == "initialize" {
		s.connect()
	}
	c := s.conn
	if c.ended != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("claude: MCP server %s has ended: %w", s.name, c.ended)
	}
	if isRequest {
		answer = make(chan json.RawMessage, 1)
		c.waiting[id] = answer
	}
	c.enqueue(message)
	s.mu.Unlock()
	if !isRequest {
		return nil, nil
	}
	defer func() {
		s.mu.Lock()
		delete(c.waiting, id)
		s.mu.Unlock()
	}()
	select {
	case out := <-answer:
		return out, nil
	case <-c.done:
		return nil, fmt.Errorf("claude: MCP server %s ended before it answered", s.name)
	case <-ctx.Done():
		if method != "initialize" { // MCP forbids canceling it
			s.mu.Lock()
			c.enqueue(json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
			s.mu.Unlock()
		}
		return nil, context.Cause(ctx)
	}
}

// connect replaces the connection unless it is new, because a server accepts initialize only once. The
// caller holds s.mu.
func (s *localServer) connect() {
	if old := s.conn; old.initialized || old.ended != nil {
		s.conn = s.newConn()
		if old.cancel != nil {
			old.cancel()
		} else {
			old.ended = errReconnected
			close(old.done)
		}
		select {
		case s.opened <- struct{}{}:
		default:
		}
	}
	s.conn.initialized = true
}

// enqueue adds a message for Recv. The caller holds the mutex of the server.
func (c *localConn) enqueue(message json.RawMessage) {
	c.queue = append(c.queue, message)
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// Recv implements [MCPConn].
func (c *localConn) Recv(ctx context.Context) (json.RawMessage, error) {
	for {
		c.server.mu.Lock()
		if len(c.queue) > 0 {
			m := c.queue[0]
			c.queue = c.queue[1:]
			c.server.mu.Unlock()
			return m, nil
		}
		c.server.mu.Unlock()
		select {
		case <-c.arrived:
		case <-c.done:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Send implements [MCPConn].
func (c *localConn) Send(ctx context.Context, message json.RawMessage) error {
	message, err := compact(message)
	if err != nil {
		return err
	}
	fields, err := appendFields(nil, message)
	if err != nil {
		return err
	}
	s := c.server
	if method := text(lookup(fields, "method")); method != "" {
		if started := s.client.started; started != nil {
			if method == toolsChanged {
				s.mu.Lock()
				c.changed = true
				s.mu.Unlock()
			}
			select {
			case <-started.opened: // a CLI exits if its first line is another request
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		_, err := s.client.Request(ctx, "mcp_message", map[string]any{"server_name": s.name, "message": message})
		return err
	}
	id := string(lookup(fields, "id"))
	s.mu.Lock()
	answer := c.waiting[id]
	delete(c.waiting, id)
	s.mu.Unlock()
	if answer != nil { // the CLI may have withdrawn the request
		answer <- message
	}
	return nil
}
