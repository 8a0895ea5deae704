package scriptedmodel

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"
)

// rendered is a reply whose placeholders have been replaced and whose calls have ids.
type rendered struct {
	id         string
	model      string
	blocks     []renderedBlock
	stopReason string
	usage      Usage
}

type renderedBlock struct {
	kind  string // text, thinking, tool_use
	text  string // text or thinking
	id    string
	name  string
	input json.RawMessage
}

// object encodes the block. With empty, it encodes the start of a streamed block.
func (b renderedBlock) object(empty bool) map[string]any {
	text, input := b.text, b.input
	if empty {
		text, input = "", json.RawMessage("{}")
	}
	switch b.kind {
	case "thinking":
		signature := ""
		if !empty {
			signature = thinkingSignature
		}
		return map[string]any{"type": "thinking", "thinking": text, "signature": signature}
	case "tool_use":
		return map[string]any{"type": "tool_use", "id": b.id, "name": b.name, "input": input}
	default:
		return map[string]any{"type": "text", "text": text}
	}
}

// thinkingSignature stands for the opaque signature of thinking in the real API.
const thinkingSignature = "c2NyaXB0ZWQ="

func (b renderedBlock) deltas() []map[string]any {
	var out []map[string]any
	switch b.kind {
	case "thinking":
		for _, c := range chunks(b.text) {
			out = append(out, map[string]any{"type": "thinking_delta", "thinking": c})
		}
		out = append(out, map[string]any{"type": "signature_delta", "signature": thinkingSignature})
	case "tool_use":
		// The real API opens with an empty delta.
		out = append(out, map[string]any{"type": "input_json_delta", "partial_json": ""})
		for _, c := range chunks(string(b.input)) {
			out = append(out, map[string]any{"type": "input_json_delta", "partial_json": c})
		}
	default:
		for _, c := range chunks(b.text) {
			out = append(out, map[string]any{"type": "text_delta", "text": c})
		}
	}
	return out
}

const (
	chunkBytes = 12   // about two words, the granularity that a person sees
	maxChunks  = 2000 // per block; in larger blocks, the chunks are larger
)

// chunks splits a text between runes, after a space if one is near.
func chunks(s string) []string {
	size := max(chunkBytes, len(s)/maxChunks)
	var out []string
	for len(s) > size {
		n := size
		for n < len(s) && n < size+8 && s[n-1] != ' ' && s[n-1] != '\n' {
			n++
		}
		for n < len(s) && !utf8.RuneStart(s[n]) {
			n++
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	if s != "" {
		out = append(out, s)
	}
	return out
}

func (r *rendered) object() map[string]any {
	blocks := make([]map[string]any, len(r.blocks))
	for i, b := range r.blocks {
		blocks[i] = b.object(false)
	}
	return map[string]any{
		"id": r.id, "type": "message", "role": "assistant", "model": r.model,
		"content": blocks, "stop_reason": r.stopReason, "stop_sequence": nil, "usage": r.usage,
	}
}

// frame is one server-sent event. piece marks a frame that adds visible text.
type frame struct {
	name  string
	body  any
	piece bool
}

func (r *rendered) frames() []frame {
	start := r.object()
	start["content"] = []any{}
	start["stop_reason"] = nil
	usage := r.usage
	usage.OutputTokens = 1
	start["usage"] = usage

	out := []frame{
		{name: "message_start", body: map[string]any{"type": "message_start", "message": start}},
	}
	for i, b := range r.blocks {
		out = append(out, frame{name: "content_block_start", body: map[string]any{
			"type": "content_block_start", "index": i, "content_block": b.object(true)}})
		if i == 0 {
			out = append(out, frame{name: "ping", body: map[string]any{"type": "ping"}})
		}
		for _, d := range b.deltas() {
			out = append(out, frame{name: "content_block_delta", piece: true, body: map[string]any{
				"type": "content_block_delta", "index": i, "delta": d}})
		}
		out = append(out, frame{name: "content_block_stop", body: map[string]any{
			"type": "content_block_stop", "index": i}})
	}
	return append(out,
		frame{name: "message_delta", body: map[string]any{
			"type": "message_delta", "delta": map[string]any{"stop_reason": r.stopReason, "stop_sequence": nil}, "usage": r.usage}},
		frame{name: "message_stop", body: map[string]any{"type": "message_stop"}},
	)
}

// half returns the number of frames to send of a reply that breaks off: up to and including half of
// its pieces.
func half(frames []frame) int {
	pieces := 0
	for _, f := range frames {
		if f.piece {
			pieces++
		}
	}
	seen := 0
	for i, f := range frames {
		if f.piece {
			if seen++; seen*2 >= pieces {
				return i + 1
			}
		}
	}
	return len(frames)
}

// stream sends the frames, pausing after each piece. It reports whether all of them were
// sent.
func stream(ctx context.Context, w http.ResponseWriter, frames []frame, pause time.Duration) bool {
	flusher := http.NewResponseController(w)
	var line bytes.Buffer
	for _, f := range frames {
		line.Reset()
		fmt.Fprintf(&line, "event: %s\ndata: ", f.name)
		enc := json.NewEncoder(&line) // ends with one newline
		enc.SetEscapeHTML(false)
		if err := enc.Encode(f.body); err != nil {
			return false
		}
		line.WriteByte('\n')
		if _, err := w.Write(line.Bytes()); err != nil {
			return false
		}
		if !f.piece || pause > 0 {
			// Flushing a test recorder never fails; a lost connection ends ctx.
			_ = flusher.Flush()
		}
		if f.piece && !wait(ctx, pause) {
			return false
		}
	}
	_ = flusher.Flush()
	return true
}

// wait waits for d, or until the client is gone. It reports whether d has passed.
func wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
