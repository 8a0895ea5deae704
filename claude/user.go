package claude

import (
	"context"
	"fmt"
)

// UserMessage is a message from a person.
type UserMessage struct {
	UUID   string // "" lets the CLI choose one
	Text   string
	Blocks []ContentBlockParam // precede Text
	// Priority is now, next or later for a message sent during a turn; "" for the
	// CLI's default.
	Priority string
	// NoTurn adds the message to the conversation without starting a turn.
	NoTurn bool
	// Verbatim sends Text as it is: the CLI expands no slash commands and no @ mentions in it.
	// It needs CLI 2.1.248.
	Verbatim bool
	// IsSynthetic marks a message that no person wrote.
	IsSynthetic bool
}

// Send sends a text. See [Client.SendUser].
func (c *Client) Send(ctx context.Context, text string) error {
	return c.SendUser(ctx, UserMessage{Text: text})
}

// SendUser sends a message to the CLI. It returns when the transport has accepted it. On a client
// from [Start], it first waits until the conversation is initialized.
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
		ShouldQuery     *bool   `json:"shouldQuery,omitempty"`
		ClientComposed  bool    `json:"client_composed,omitempty"`
		IsSynthetic     bool    `json:"isSynthetic,omitempty"`
	}{
		Type: "user", Message: inner{Role: "user", Content: m.Text}, UUID: m.UUID, Priority: m.Priority,
		ClientComposed: m.Verbatim, IsSynthetic: m.IsSynthetic,
	}
	if m.NoTurn {
		out.ShouldQuery = new(bool)
	}
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
	if c.started != nil {
		if _, err := c.Ready(ctx); err != nil {
			return fmt.Errorf("claude: send user message: %w", err)
		}
		if !m.NoTurn {
			c.started.busy()
		}
	}
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		return fmt.Errorf("claude: send user message: %w", ErrClosed)
	}
	return c.send(line)
}
