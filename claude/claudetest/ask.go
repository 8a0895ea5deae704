package claudetest

import (
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/google/uuid"
)

// ask is an open request to the host: can_use_tool, or any other control request.
type ask struct {
	requestID string
	other     bool
	toolUseID string
	request   map[string]any
	run       bool
	answers   chan<- answer // has capacity for the answers of every ask that shares it
}

// answer is the result of an ask.
type answer struct {
	ask     *ask
	line    []byte // the control_response; nil if there is none
	problem string // why there is no control_response
}

var errInterrupted = errors.New("interrupted")

func (a *ask) envelope() map[string]any {
	return map[string]any{"type": "control_request", "request_id": a.requestID, "request": a.request}
}

func (c *CLI) pendingRequests() []any {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := []any{}
	for _, a := range c.open {
		if !a.other {
			list = append(list, a.envelope())
		}
	}
	return list
}

// asks sends the requests of a step and handles the answers as the real CLI does, except that an
// allowed tool usually has the result "ran <tool> with <input>".
func (c *CLI) asks(s Step) error {
	count := max(1, s.Count)
	answers := make(chan answer, count)
	messageID := "msg_" + uuid.NewString()
	if s.Parallel {
		for range count {
			c.ask(s, messageID, answers)
			if s.EveryMS > 0 {
				if err := c.pause(time.Duration(s.EveryMS) * time.Millisecond); err != nil {
					return err
				}
			}
		}
		return c.await(answers, count, s.CancelMS)
	}
	for range count {
		c.ask(s, messageID, answers)
		if err := c.await(answers, 1, s.CancelMS); err != nil {
			return err
		}
		if s.EveryMS > 0 {
			if err := c.pause(time.Duration(s.EveryMS) * time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *CLI) ask(s Step, messageID string, answers chan<- answer) {
	if s.Request != nil {
		c.put(&ask{requestID: uuid.NewString(), other: true, request: s.Request, answers: answers})
		return
	}
	a := &ask{requestID: uuid.NewString(), request: maps.Clone(s.Ask), run: s.Run, answers: answers}
	a.toolUseID, _ = a.request["tool_use_id"].(string)
	a.toolUseID = orElse(a.toolUseID, "toolu_"+uuid.NewString())
	a.request["subtype"], a.request["tool_use_id"] = "can_use_tool", a.toolUseID
	if a.request["input"] == nil {
		a.request["input"] = map[string]any{}
	}
	proposed := a.request["input"]
	if s.Proposed != nil {
		proposed = s.Proposed
	}
	c.toolUse(messageID, a.toolUseID, a.toolName(), proposed, a.parent())
	c.put(a)
}

// put sends a request, and keeps it open for the answer.
func (c *CLI) put(a *ask) {
	c.mu.Lock()
	eof := c.eof
	if !eof {
		c.open[a.requestID] = a
	}
	c.mu.Unlock()
	if eof {
		a.answers <- answer{ask: a, problem: "Tool permission request failed: Error: Stream closed"}
		return
	}
	c.record(Record{Kind: "asked", RequestID: a.requestID})
	c.emit(a.envelope())
}

func (a *ask) toolName() string {
	s, _ := a.request["tool_name"].(string)
	return s
}

// parent returns the id of the Task call that started the asking subagent, nil for the main thread.
func (a *ask) parent() any {
	if s, ok := a.request["agent_id"].(string); ok {
		return "toolu_task_" + s
	}
	return nil
}

func (c *CLI) await(answers <-chan answer, count, cancelMS int) error {
	c.mu.Lock()
	abort := c.interrupted
	c.mu.Unlock()
	var withdraw <-chan time.Time
	if cancelMS > 0 {
		timer := time.NewTimer(time.Duration(cancelMS) * time.Millisecond)
		defer timer.Stop()
		withdraw = timer.C
	}
	for range count {
		select {
		case a := <-answers:
			if c.settle(a) {
				return errInterrupted
			}
		case <-withdraw:
			c.withdrawAll()
			return nil
		case <-abort:
			for _, a := range <-c.aborted {
				if !a.other {
					c.toolResult(a.toolUseID, "The user doesn't want to proceed with this tool use.", true, a.parent())
				}
			}
			return errInterrupted
		case <-c.exited:
			return errExited
		}
	}
	return nil
}

// withdrawAll cancels every open request, as when a hook has decided.
func (c *CLI) withdrawAll() {
	c.mu.Lock()
	open := c.open
	c.open = make(map[string]*ask)
	c.mu.Unlock()
	for id, a := range open {
		c.emit(map[string]any{"type": "control_cancel_request", "request_id": id})
		if !a.other {
			c.toolResult(a.toolUseID, "decided elsewhere", true, a.parent())
		}
	}
}

// settle emits the tool result for an answer and reports whether the answer ends the turn.
func (c *CLI) settle(a answer) (interrupt bool) {
	if a.ask.other {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.lastResult = a.problem
		if a.line != nil {
			c.lastResult = string(a.line)
		}
		return false
	}
	parent := a.ask.parent()
	if a.problem != "" {
		c.toolResult(a.ask.toolUseID, a.problem, true, parent)
		return false
	}
	var m struct {
		Response struct {
			Subtype  string `json:"subtype"`
			Error    string `json:"error"`
			Response struct {
				Behavior     string          `json:"behavior"`
				UpdatedInput json.RawMessage `json:"updatedInput"`
				Message      *string         `json:"message"`
				Interrupt    bool            `json:"interrupt"`
			} `json:"response"`
		} `json:"response"`
	}
	if err := json.Unmarshal(a.line, &m); err != nil {
		c.fail(err.Error())
		return false
	}
	r := m.Response.Response
	switch {
	case m.Response.Subtype == "error":
		c.toolResult(a.ask.toolUseID, "Tool permission request failed: "+m.Response.Error, true, parent)
	case r.Behavior == "allow" && r.UpdatedInput != nil && a.ask.run && c.host.run != nil && (a.ask.toolName() == "Bash" || a.ask.toolName() == "Write"):
		result, err := c.host.run(c.CWD, a.ask.toolName(), r.UpdatedInput)
		if err != nil {
			result += err.Error()
		}
		c.toolResult(a.ask.toolUseID, result, err != nil, parent)
	case r.Behavior == "allow" && r.UpdatedInput != nil:
		c.toolResult(a.ask.toolUseID, "ran "+a.ask.toolName()+" with "+string(r.UpdatedInput), false, parent)
	case r.Behavior == "deny" && r.Message != nil:
		c.toolResult(a.ask.toolUseID, *r.Message, true, parent)
		return r.Interrupt
	default:
		// The message of 2.1.197 for an allow without updatedInput.
		c.toolResult(a.ask.toolUseID, "Tool permission request failed: ZodError: invalid_union", true, parent)
	}
	return false
}
