package claudetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
)

var errExited = errors.New("the CLI has exited")

// play runs steps until one ends the turn or the CLI.
func (c *CLI) play(steps []Step) error {
	for _, s := range steps {
		c.mu.Lock()
		interrupted := c.interrupted
		c.mu.Unlock()
		select {
		case <-interrupted: // during the previous step
			return errInterrupted
		default:
		}
		if err := c.step(s); err != nil {
			return err
		}
		select {
		case <-c.exited:
			return errExited
		default:
		}
	}
	return nil
}

func (c *CLI) step(s Step) error {
	switch {
	case s.Ask != nil || s.Request != nil:
		return c.asks(s)
	case s.Text != "":
		c.mu.Lock()
		c.lastText = strings.ReplaceAll(s.Text, "{{last_tool_result}}", c.lastResult)
		text := c.lastText
		c.mu.Unlock()
		c.emitText(text)
	case s.Raw != "":
		_ = c.Transport.Send([]byte(s.Raw))
	case s.Bytes > 0:
		id := "toolu_" + uuid.NewString()
		c.toolUse(uuid.NewString(), id, "Read", map[string]any{"file_path": "/big"}, nil)
		c.toolResult(id, strings.Repeat("0123456789abcdef", s.Bytes/16+1)[:s.Bytes], false, nil)
	case s.Flood != nil:
		c.flood(*s.Flood)
	case s.SleepMS > 0:
		return c.pause(time.Duration(s.SleepMS) * time.Millisecond)
	case s.Cost != 0:
		c.addCost(s.Cost)
	case s.Reply != nil:
		c.mu.Lock()
		c.replies[s.Reply.Subtype] = *s.Reply
		c.mu.Unlock()
	case s.Silent:
		return c.pause(-1)
	case s.Exit != nil:
		c.exit(*s.Exit)
		return errExited
	case s.Rubbish:
		for i := range 50 {
			_ = c.Transport.Send(fmt.Appendf(nil, "[SandboxDebug] line %d of 50 that is no JSON", i+1))
		}
	case s.DieMidLine:
		const half = `{"type":"assistant","message":{"role":"assis`
		if c.host.stdout != nil {
			_, _ = io.WriteString(c.host.stdout, half)
		} else {
			_ = c.Transport.Send([]byte(half))
		}
		c.exit(1)
		return errExited
	case s.Stderr != "" && c.host.stderr != nil:
		fmt.Fprintln(c.host.stderr, s.Stderr)
	case s.StderrFlood > 0 && c.host.stderr != nil:
		line := strings.Repeat("stderr ", 15) + "\n"
		for n := 0; n < s.StderrFlood; n += len(line) {
			_, _ = io.WriteString(c.host.stderr, line)
		}
	case s.SpawnChild != "" && c.host.spawn != nil:
		if err := c.host.spawn(s.SpawnChild); err != nil {
			c.fail(err.Error())
			return errExited
		}
	case s.Stubborn:
		c.mu.Lock()
		c.stubborn = true
		c.mu.Unlock()
		if c.host.ignore != nil {
			c.host.ignore()
		}
	case s.Deaf:
		close(c.deaf)
	}
	return nil
}

// pause waits; a negative duration waits for an interrupt.
func (c *CLI) pause(d time.Duration) error {
	c.mu.Lock()
	abort := c.interrupted
	c.mu.Unlock()
	var after <-chan time.Time
	if d >= 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
		return nil
	case <-abort:
		return errInterrupted
	case <-c.exited:
		return errExited
	}
}

func (c *CLI) assistant(messageID string, block map[string]any, parent any) {
	c.mu.Lock()
	model := c.Model
	c.mu.Unlock()
	c.emit(map[string]any{"type": "assistant", "parent_tool_use_id": parent, "message": map[string]any{
		"id": messageID, "type": "message", "role": "assistant", "model": model, "content": []any{block},
		"stop_reason": nil, "usage": map[string]any{"input_tokens": 10, "output_tokens": 1},
	}})
}

func (c *CLI) emitText(text string) {
	id := "msg_" + uuid.NewString()
	if c.Partial {
		event := func(e map[string]any) {
			c.emit(map[string]any{"type": "stream_event", "parent_tool_use_id": nil, "event": e})
		}
		event(map[string]any{"type": "message_start", "message": map[string]any{"id": id, "role": "assistant", "content": []any{}}})
		event(map[string]any{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
		for rest := []rune(text); len(rest) > 0; {
			n := min(16, len(rest))
			event(map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": string(rest[:n])}})
			rest = rest[n:]
		}
		event(map[string]any{"type": "content_block_stop", "index": 0})
		defer event(map[string]any{"type": "message_stop"})
	}
	c.assistant(id, map[string]any{"type": "text", "text": text}, nil)
}

func (c *CLI) toolUse(messageID, id, name string, input, parent any) {
	c.assistant(messageID, map[string]any{"type": "tool_use", "id": id, "name": name, "input": input}, parent)
}

func (c *CLI) toolResult(id, text string, isError bool, parent any) {
	c.mu.Lock()
	c.lastResult = text
	c.mu.Unlock()
	c.emit(map[string]any{"type": "user", "parent_tool_use_id": parent, "message": map[string]any{
		"role":    "user",
		"content": []any{map[string]any{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": isError}},
	}})
}

// flood writes messages in chunks of 64 KiB, as a busy CLI does.
func (c *CLI) flood(f Flood) {
	line, err := json.Marshal(map[string]any{
		"type": "assistant", "session_id": c.SessionID, "uuid": uuid.NewString(), "parent_tool_use_id": nil,
		"message": map[string]any{"id": "msg_flood", "role": "assistant", "content": []any{
			map[string]any{"type": "text", "text": strings.Repeat("flood\n", max(1, (f.Bytes-250)/7))},
		}},
	})
	if err != nil {
		panic(err)
	}
	if c.host.stdout == nil {
		for range f.Lines {
			_ = c.Transport.Send(line)
		}
		return
	}
	line = append(line, '\n')
	var piece []byte
	for range f.Lines {
		if piece = append(piece, line...); len(piece) >= 64<<10 {
			_, _ = c.host.stdout.Write(piece)
			piece = piece[:0]
		}
	}
	_, _ = c.host.stdout.Write(piece)
}
