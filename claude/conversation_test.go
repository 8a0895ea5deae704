package claude_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"testing/synctest"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/claude/claudetest"
)

// conversation is a client in a synctest bubble whose CLI the test plays by hand.
type conversation struct {
	t      *testing.T
	client *claude.Client
	cli    claude.Transport
	run    chan error  // the result of Run
	sent   chan []byte // what the client sends
}

// converse runs body in a bubble with a running client, then ends the
// conversation and checks that it ends cleanly.
func converse(t *testing.T, o claude.Options, body func(c *conversation)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := open(t, t.Context(), o)
		body(c)
		if err := c.end(); err != nil {
			t.Errorf("Run at the end of input: got %v, want nil", err)
		}
	})
}

func open(t *testing.T, ctx context.Context, o claude.Options) *conversation {
	host, cli := claudetest.Pipe()
	c := &conversation{t: t, client: claude.NewClient(host, o), cli: cli, run: make(chan error, 1), sent: make(chan []byte, 1000)}
	go func() { c.run <- c.client.Run(ctx) }()
	go func() {
		for {
			line, err := cli.Recv()
			if err != nil {
				close(c.sent)
				return
			}
			c.sent <- line
		}
	}()
	return c
}

// end ends the CLI's output and returns the result of Run.
func (c *conversation) end() error {
	c.cli.Close()
	return <-c.run
}

// says has the CLI print one line.
func (c *conversation) says(line string) {
	c.t.Helper()
	if err := c.cli.Send([]byte(line)); err != nil {
		c.t.Fatalf("send to the client: %v", err)
	}
}

// asks has the CLI ask for Bash with the given input.
func (c *conversation) asks(requestID, input string) {
	c.t.Helper()
	c.says(`{"type":"control_request","request_id":"` + requestID + `","request":{"subtype":"can_use_tool","tool_name":"Bash","input":` + input + `,"tool_use_id":"tool-` + requestID + `"}}`)
}

// hears returns the next line that the client sends.
func (c *conversation) hears() string {
	c.t.Helper()
	synctest.Wait()
	select {
	case line, ok := <-c.sent:
		if !ok {
			c.t.Fatal("the client closed its end")
		}
		return string(line)
	default:
		c.t.Fatal("the client sent nothing")
		return ""
	}
}

// hearsNothing fails if the client has sent something.
func (c *conversation) hearsNothing() {
	c.t.Helper()
	synctest.Wait()
	select {
	case line, ok := <-c.sent:
		if ok {
			c.t.Fatalf("the client sent %s, want nothing", line)
		}
	default:
	}
}

// answer is the payload of the next control_response, which must be for
// requestID and a success.
func (c *conversation) answer(requestID string) map[string]any {
	c.t.Helper()
	line := c.hears()
	var m struct {
		Type     string
		Response struct {
			Subtype   string
			RequestID string `json:"request_id"`
			Response  map[string]any
		}
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.t.Fatalf("%s: %v", line, err)
	}
	if m.Type != "control_response" || m.Response.Subtype != "success" || m.Response.RequestID != requestID {
		c.t.Fatalf("got %s, want a success for %s", line, requestID)
	}
	return m.Response.Response
}

// request is the id and the request of the next control_request.
func (c *conversation) request() (string, map[string]any) {
	c.t.Helper()
	line := c.hears()
	var m struct {
		Type      string
		RequestID string `json:"request_id"`
		Request   map[string]any
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil || m.Type != "control_request" {
		c.t.Fatalf("got %s (%v), want a control_request", line, err)
	}
	return m.RequestID, m.Request
}

func (c *conversation) succeeds(requestID, response string) {
	c.t.Helper()
	c.says(`{"type":"control_response","response":{"subtype":"success","request_id":"` + requestID + `","response":` + response + `}}`)
}

var errBoom = errors.New("boom")

// broken is a transport that breaks at once.
type broken struct{ err error }

func (b broken) Recv() ([]byte, error) { return nil, b.err }
func (b broken) Send([]byte) error     { return io.ErrClosedPipe }
func (b broken) Close() error          { return nil }

// scripted is a transport that returns lines (string) and errors in order.
type scripted struct{ recv []any }

func (s *scripted) Recv() ([]byte, error) {
	if len(s.recv) == 0 {
		return nil, io.EOF
	}
	next := s.recv[0]
	s.recv = s.recv[1:]
	if err, ok := next.(error); ok {
		return nil, err
	}
	return []byte(next.(string)), nil
}
func (s *scripted) Send([]byte) error { return nil }
func (s *scripted) Close() error      { return nil }
