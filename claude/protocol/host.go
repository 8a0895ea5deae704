package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/claude"
)

// Direction is the side that sent a line.
type Direction string

// The directions of a line.
const (
	FromCLI  Direction = "cli"
	FromHost Direction = "host"
)

// Line is a line of a conversation.
type Line struct {
	Conversation string          `json:"conversation"`
	From         Direction       `json:"from"`
	JSON         json.RawMessage `json:"line"`
}

// message is a decoded line of the CLI.
type message map[string]any

// at returns the value below a path of keys, or nil.
func (m message) at(keys ...string) any {
	var v any = map[string]any(m)
	for _, k := range keys {
		o, _ := v.(map[string]any)
		v = o[k]
	}
	return v
}

func (m message) text(keys ...string) string {
	s, _ := m.at(keys...).(string)
	return s
}

// awaitTimeout bounds how long a CLI may take to send the line that a conversation waits for.
const awaitTimeout = 60 * time.Second

// errEnded means that the CLI's output has ended.
var errEnded = errors.New("the CLI has ended")

// host plays the host of one CLI, in one goroutine. It records every line. After a failure, its methods
// do nothing, and err is the failure.
type host struct {
	process      *claude.Process
	lines        chan []byte // from the CLI; closed when its output ends
	conversation string
	record       func(Line)
	recordDoes   func(Behavior)
	err          error
	ids          int
	dir, home    string  // the CLI's working folder and HOME
	open         message // the request that was open when the previous process was killed
}

// start starts a CLI. If it succeeds, the host must be closed.
func (h *host) start(c claude.Command) error {
	p, err := claude.StartProcess(c)
	if err != nil {
		return err
	}
	h.process, h.lines = p, make(chan []byte)
	go func() {
		defer close(h.lines)
		for {
			line, err := p.Recv()
			if err != nil {
				return
			}
			h.lines <- append([]byte(nil), line...)
		}
	}()
	return nil
}

// close kills the CLI and waits until it has exited.
func (h *host) close() {
	_ = h.process.Kill()
	for range h.lines {
	}
	<-h.process.Done()
	_ = h.process.Close()
}

func (h *host) fail(err error) {
	if h.err == nil {
		h.err = fmt.Errorf("%s: %w", h.conversation, err)
	}
}

// observe records what the CLI does in a situation.
func (h *host) observe(situation, outcome string) {
	if h.err == nil {
		h.recordDoes(Behavior{situation, outcome})
	}
}

// send sends a line.
func (h *host) send(line map[string]any) {
	if h.err != nil {
		return
	}
	b, err := json.Marshal(line)
	if err != nil {
		h.fail(err)
		return
	}
	h.record(Line{h.conversation, FromHost, b})
	if err := h.process.Send(b); err != nil {
		h.fail(err)
	}
}

// await reads lines until one matches, and returns it.
func (h *host) await(what string, match func(message) bool) message {
	if h.err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), awaitTimeout)
	defer cancel()
	for {
		select {
		case line, ok := <-h.lines:
			if !ok {
				h.fail(fmt.Errorf("await %s: %w: %s", what, errEnded, h.process.Stderr()))
				return nil
			}
			h.record(Line{h.conversation, FromCLI, line})
			var m message
			if json.Unmarshal(line, &m) != nil {
				continue
			}
			if m.text("request", "subtype") == "mcp_message" {
				h.serveMCP(m)
			}
			if match(m) {
				return m
			}
		case <-ctx.Done():
			h.fail(fmt.Errorf("%s never came", what))
			return nil
		}
	}
}

// end reads until the CLI's output ends, and returns its exit status, or -1 if it does not exit in time.
func (h *host) end() int {
	timeout := time.AfterFunc(awaitTimeout, func() { _ = h.process.Kill() })
	defer timeout.Stop()
	h.await("the end", func(message) bool { return false })
	if !errors.Is(h.err, errEnded) {
		return -1
	}
	h.err = nil
	_ = h.process.Wait()
	return exitStatus(h.process.ExitError())
}

func exitStatus(err error) int {
	var exit interface{ ExitCode() int }
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// user sends a message with a script for the model.
func (h *host) user(script string) {
	h.send(map[string]any{
		"type": "user", "session_id": "", "parent_tool_use_id": nil,
		"message": map[string]any{"role": "user", "content": "```script\n" + script + "\n```"},
	})
}

// request sends a control request and returns its id.
func (h *host) request(subtype string, fields map[string]any) string {
	h.ids++
	id := fmt.Sprintf("host-%d", h.ids)
	request := map[string]any{"subtype": subtype}
	for k, v := range fields {
		request[k] = v
	}
	h.send(map[string]any{"type": "control_request", "request_id": id, "request": request})
	return id
}

// call sends a control request and returns the object inside its response.
func (h *host) call(subtype string, fields map[string]any) message {
	id := h.request(subtype, fields)
	m := h.await("the response to "+subtype, isResponse(id))
	response, _ := m.at("response").(map[string]any)
	return response
}

func isResponse(id string) func(message) bool {
	return func(m message) bool { return m["type"] == "control_response" && m.text("response", "request_id") == id }
}

// answer answers a control request of the CLI.
func (h *host) answer(request message, response any) {
	h.send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": request.text("request_id"), "response": response,
	}})
}

// allow approves a can_use_tool request with its original input.
func (h *host) allow(request message) {
	h.answer(request, map[string]any{
		"behavior": "allow", "updatedInput": request.at("request", "input"), "toolUseID": request.text("request", "tool_use_id"),
	})
}

// asked waits for a control request of a subtype.
func (h *host) asked(subtype string) message {
	return h.await("a request "+subtype, func(m message) bool {
		return m["type"] == "control_request" && m.text("request", "subtype") == subtype
	})
}

// result waits for the result that ends a turn, and returns it.
func (h *host) result() message {
	return h.await("the result", func(m message) bool { return m["type"] == "result" })
}
