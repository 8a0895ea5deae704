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

// LocalServer is an MCP server in this process. Package claude/tool makes one of functions, or of a
// server of the official Go SDK for MCP.
type LocalServer struct {
	// Serve serves one connection until ctx ends. [Client.Run] calls it in a goroutine of its
	// own and waits for it.
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
	// returns io.EOF at the end of the conversation.
	Recv(ctx context.Context) (json.RawMessage, error)
	// Send sends a message to the CLI. It is safe for concurrent use.
	Send(ctx context.Context, message json.RawMessage) error
}

// localServer connects a LocalServer with the control requests of the CLI, each of which
// carries one message of the CLI and returns the response to it.
type localServer struct {
	name   string
	serve  func(ctx context.Context, conn MCPConn) error
	client *Client

	mu      sync.Mutex
	queue   []json.RawMessage
	arrived chan struct{} // capacity 1: the queue has grown
	waiting map[string]chan json.RawMessage
	ended   error
	done    chan struct{} // closed at the end
}

func newLocalServer(name string, serve func(context.Context, MCPConn) error, c *Client) *localServer {
	return &localServer{name: name, serve: serve, client: c, arrived: make(chan struct{}, 1), waiting: map[string]chan json.RawMessage{}, done: make(chan struct{})}
}

// run serves until ctx ends.
func (s *localServer) run(ctx context.Context) {
	_, err := guard(ctx, func(ctx context.Context) (response, error) { return response{}, s.serve(ctx, s) })
	if err == nil {
		err = io.EOF
	}
	s.mu.Lock()
	s.ended = err
	s.mu.Unlock()
	close(s.done)
	if ctx.Err() == nil {
		s.client.reportError(&call{subtype: "mcp_message"}, fmt.Errorf("claude: MCP server %s ended: %w", s.name, err))
	}
}

// handle passes a message of the CLI on and waits for the response to it.
func (s *localServer) handle(ctx context.Context, r MCPMessageRequest) (json.RawMessage, error) {
	fields, err := appendFields(nil, r.Message)
	if err != nil {
		return nil, err
	}
	id := string(lookup(fields, "id"))
	isRequest := lookup(fields, "method") != nil && id != "" && id != "null"
	var answer chan json.RawMessage
	s.mu.Lock()
	if s.ended != nil {
		s.mu.Unlock()
		return nil, fmt.Errorf("claude: MCP server %s has ended: %w", s.name, s.ended)
	}
	if isRequest {
		answer = make(chan json.RawMessage, 1)
		s.waiting[id] = answer
	}
	s.enqueue(r.Message)
	s.mu.Unlock()
	if !isRequest {
		return nil, nil
	}
	defer func() {
		s.mu.Lock()
		delete(s.waiting, id)
		s.mu.Unlock()
	}()
	select {
	case out := <-answer:
		return out, nil
	case <-s.done:
		return nil, fmt.Errorf("claude: MCP server %s ended before it answered", s.name)
	case <-ctx.Done():
		s.mu.Lock()
		s.enqueue(json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`))
		s.mu.Unlock()
		return nil, context.Cause(ctx)
	}
}

// enqueue adds a message for Recv. The caller holds s.mu.
func (s *localServer) enqueue(message json.RawMessage) {
	s.queue = append(s.queue, message)
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// Recv implements [MCPConn].
func (s *localServer) Recv(ctx context.Context) (json.RawMessage, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			m := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return m, nil
		}
		s.mu.Unlock()
		select {
		case <-s.arrived:
		case <-s.done:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Send implements [MCPConn].
func (s *localServer) Send(ctx context.Context, message json.RawMessage) error {
	message, err := compact(message)
	if err != nil {
		return err
	}
	fields, err := appendFields(nil, message)
	if err != nil {
		return err
	}
	if lookup(fields, "method") != nil {
		_, err := s.client.Request(ctx, "mcp_message", map[string]any{"server_name": s.name, "message": message})
		return err
	}
	s.mu.Lock()
	answer := s.waiting[string(lookup(fields, "id"))]
	delete(s.waiting, string(lookup(fields, "id")))
	s.mu.Unlock()
	if answer != nil { // the CLI may have withdrawn the request
		answer <- message
	}
	return nil
}
