package claude

import (
	"context"
	"fmt"
)

// UserMessage is a message of a person.
type UserMessage struct {
	UUID   string // of the message, "" to let the CLI choose
	Text   string
	Blocks []ContentBlockParam // precede Text
	// Priority is now, next or later for a message sent during a turn; "" for the
	// CLI's default.
	Priority string
}

// SendUser sends a message to the CLI. It returns when the transport has taken it.
func (c *Client) SendUser(ctx context.Context, m UserMessage) error {
	type inner struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	out := struct {
		Type            string  `json:"type"`
		Message         inner   `json:"message"`
		ParentToolUseID *string `json:"parent_tool_use_id"`
		SessionID       string  `json:"session_id"` // the CLI ignores it; the official SDKs send ""
		UUID            string  `json:"uuid,omitempty"`
		Priority        string  `json:"priority,omitempty"`
	}{Type: "user", Message: inner{Role: "user", Content: m.Text}, UUID: m.UUID, Priority: m.Priority}
	if len(m.Blocks) > 0 {
		blocks := append([]ContentBlockParam(nil), m.Blocks...)
		if m.Text != "" {
			blocks = append(blocks, TextBlock(m.Text))
		}
		out.Message.Content = blocks
	}
	line, err := marshal(out)
	if err != nil {
		return fmt.Errorf("claude: send user message: %w", err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return fmt.Errorf("claude: send user message: %w", ErrClosed)
	}
	return c.send(line)
}
