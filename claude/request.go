package claude

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// RequestError is the CLI's refusal of a request.
type RequestError struct {
	Subtype  string // of the request
	Sentence string // error message of the CLI
	Code     string // "" when the CLI gave none
}

func (e *RequestError) Error() string {
	return fmt.Sprintf("the CLI refused %s: %s", e.Subtype, e.Sentence)
}

// Request sends a control request and returns the CLI's response, or nil if it is empty.
// fields are the other fields of the request: anything that marshals to a JSON object, or nil.
// It blocks until the CLI answers, ctx ends, or the conversation is over ([ErrClosed]). A
// refusal is a *[RequestError].
func (c *Client) Request(ctx context.Context, subtype string, fields any) (json.RawMessage, error) {
	r, err := c.request(ctx, subtype, fields)
	return r.response, err
}

func (c *Client) request(ctx context.Context, subtype string, fields any) (reply, error) {
	return c.requestFor(ctx, subtype, fields, waitingReply{})
}

// requestFor is request; w tells the read loop how to handle the answer.
func (c *Client) requestFor(ctx context.Context, subtype string, fields any, w waitingReply) (reply, error) {
	body := append([]byte(`{"subtype":`), appendString(nil, subtype)...)
	if fields != nil {
		v, err := marshal(fields)
		if err != nil {
			return reply{}, fmt.Errorf("claude: %s: %w", subtype, err)
		}
		if string(v) == "null" { // a nil map
			v = []byte(`{}`)
		}
		if !isObject(v) {
			return reply{}, fmt.Errorf("claude: %s: fields are no JSON object", subtype)
		}
		if len(v) > len(`{}`) {
			body = append(append(body, ','), v[1:len(v)-1]...)
		}
	}
	if err := ctx.Err(); err != nil {
		return reply{}, context.Cause(ctx)
	}

	answered := make(chan reply, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return reply{}, fmt.Errorf("claude: %s: %w", subtype, ErrClosed)
	}
	id := c.nextID()
	w.reply = answered
	c.waiting[id] = w
	c.mu.Unlock()

	line := append([]byte(`{"type":"control_request","request_id":`), appendString(nil, id)...)
	line = append(append(append(line, `,"request":`...), body...), `}}`...)
	if err := c.send(line); err != nil {
		if c.cancelWait(id) {
			return reply{}, fmt.Errorf("claude: %s: %w: %w", subtype, ErrClosed, err)
		}
		// The conversation ended first, and its ErrClosed is in the channel.
	} else if w.sent != nil {
		w.sent()
	}
	select {
	case r := <-answered:
		var refused *RequestError
		if errors.As(r.err, &refused) {
			refused.Subtype = subtype
		}
		if r.err != nil {
			return r, fmt.Errorf("claude: %s: %w", subtype, r.err)
		}
		return r, nil
	case <-ctx.Done():
		c.cancelWait(id)
		return reply{}, fmt.Errorf("claude: %s: %w", subtype, context.Cause(ctx))
	}
}

// cancelWait removes a request and reports whether it was still waiting.
func (c *Client) cancelWait(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, waited := c.waiting[id]
	delete(c.waiting, id)
	return waited
}

// Interrupt ends the current turn; the CLI stays ready for the next message. It returns when
// the CLI has acknowledged, which may be before the turn's result.
func (c *Client) Interrupt(ctx context.Context) error {
	_, err := c.Request(ctx, "interrupt", nil)
	return err
}

// SetModel changes the model from the next turn on; "" resets it.
func (c *Client) SetModel(ctx context.Context, model string) error {
	fields := map[string]any{"model": nil}
	if model != "" {
		fields["model"] = model
	}
	_, err := c.Request(ctx, "set_model", fields)
	return err
}

// SetPermissionMode changes the permission mode; see [PermissionModes].
func (c *Client) SetPermissionMode(ctx context.Context, mode string) error {
	_, err := c.Request(ctx, "set_permission_mode", map[string]any{"mode": mode})
	return err
}

// SessionCost returns the cost that the CLI has counted so far, in US dollars: total_cost_usd
// of its results, rounded to cents from 0.50 up. A CLI of 2.1.3xx that resumes a conversation
// starts with the previous cost.
func (c *Client) SessionCost(ctx context.Context) (float64, error) {
	raw, err := c.Request(ctx, "get_session_cost", nil)
	if err != nil {
		return 0, err
	}
	var r struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return 0, fmt.Errorf("claude: get_session_cost: %w", err)
	}
	_, rest, found := strings.Cut(r.Text, " cost:")
	if !found {
		return 0, fmt.Errorf("claude: get_session_cost says no cost")
	}
	amount, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
	amount, _, _ = strings.Cut(amount, " ") // a remark may follow
	usd, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimPrefix(strings.TrimSpace(amount), "$"), ",", ""), 64)
	if err != nil {
		return 0, fmt.Errorf("claude: get_session_cost: %w", err)
	}
	return usd, nil
}

// ApplySettings overrides the settings of all files for the lifetime of the process: a
// top-level key replaces its previous value, null removes it. It takes effect with the next
// tool call.
func (c *Client) ApplySettings(ctx context.Context, settings map[string]any) error {
	_, err := c.Request(ctx, "apply_flag_settings", map[string]any{"settings": settings})
	return err
}

// Rewind is the result of [Client.RewindFiles].
type Rewind struct {
	// CanRewind is false when the CLI cannot restore the files; Error is the reason.
	CanRewind bool   `json:"canRewind"`
	Error     string `json:"error"`
	// FilesChanged are absolute paths; Insertions and Deletions count the lines of all files
	// together. Only a dry run sets these three.
	FilesChanged []string `json:"filesChanged"`
	Insertions   int      `json:"insertions"`
	Deletions    int      `json:"deletions"`
}

// RewindFiles restores the files that Claude's own tools have changed since a person's message to
// their contents before it. With dryRun it changes nothing. The CLI must have run with
// [FileCheckpoints] since that message.
func (c *Client) RewindFiles(ctx context.Context, messageUUID string, dryRun bool) (Rewind, error) {
	raw, err := c.Request(ctx, "rewind_files", map[string]any{"user_message_id": messageUUID, "dry_run": dryRun})
	if err != nil {
		return Rewind{}, err
	}
	var r Rewind
	if err := json.Unmarshal(raw, &r); err != nil {
		return Rewind{}, fmt.Errorf("claude: rewind_files: %w", err)
	}
	return r, nil
}

// FileCheckpoints is an environment variable. With the value true, the CLI keeps the previous
// content of each file that its tools change, for [Client.RewindFiles].
const FileCheckpoints = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"
