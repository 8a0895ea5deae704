package scriptedmodel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A Script is the sequence of the model's replies in one conversation.
type Script struct {
	Replies []Reply `json:"replies"`
	// After is the text of the reply when Replies are used up; "" means "Done.".
	After string `json:"after,omitempty"`
}

// A Reply is one assistant message, or a failure to deliver it.
type Reply struct {
	Blocks []Block `json:"blocks,omitempty"`

	// DelayMS is the wait before the first byte, in milliseconds.
	DelayMS int `json:"delay_ms,omitempty"`
	// ChunkMS is the pause after each chunk of a streamed block, in milliseconds.
	ChunkMS int `json:"chunk_ms,omitempty"`

	// Status fails the request with this HTTP status and the error body of the
	// real API. RetryAfter, in seconds, becomes the header of that name.
	Status     int    `json:"status,omitempty"`
	RetryAfter int    `json:"retry_after,omitempty"`
	Message    string `json:"message,omitempty"`

	// Stall never finishes the reply. It sends nothing if there are no blocks, else half of
	// them.
	Stall bool `json:"stall,omitempty"`
	// Cut drops the connection after half of the blocks have been streamed.
	Cut bool `json:"cut,omitempty"`
	// StreamError ends the stream with an error of this type (such as
	// "overloaded_error") after half of the blocks.
	StreamError string `json:"stream_error,omitempty"`

	// Times bounds a failure (Status, Stall, Cut, StreamError): the first Times
	// requests for this reply fail, later requests get its blocks. With 0, all fail.
	Times int `json:"times,omitempty"`

	// StopReason replaces the reason derived from the blocks.
	StopReason string `json:"stop_reason,omitempty"`
	Usage      *Usage `json:"usage,omitempty"`
}

// A Block is one content block. Exactly one of Text, Thinking and Tool is set.
type Block struct {
	// If is a condition without which the block is omitted: "ok" and "error" test the last tool
	// result, "tool:NAME" and "no_tool:NAME" the offered tools.
	If string `json:"if,omitempty"`

	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`

	Tool  string          `json:"tool,omitempty"`
	Input json.RawMessage `json:"input,omitempty"` // a JSON object; absent means {}
	// Script is appended, fenced, to the "prompt" of Input, as the script of the subagent
	// that this call starts.
	Script *Script `json:"script,omitempty"`
}

// Usage is the usage that a reply reports, in tokens.
type Usage struct {
	InputTokens              int `json:"input_tokens"`
	OutputTokens             int `json:"output_tokens"`
	CacheCreationInputTokens int `json:"cache_creation_input_tokens"`
	CacheReadInputTokens     int `json:"cache_read_input_tokens"`
}

// Fence returns the script as a fenced block for a prompt.
func (s *Script) Fence() string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // only for an Input that is not JSON
		return "```script\n" + err.Error() + "\n```"
	}
	return "```script\n" + b.String() + "```"
}

// WithPace returns a copy of the script in which every ChunkMS that is not 0 is replaced with chunkMS,
// in milliseconds, including those of subagents.
func (s *Script) WithPace(chunkMS int) *Script {
	if s == nil {
		return nil
	}
	out := &Script{Replies: make([]Reply, len(s.Replies)), After: s.After}
	for i, r := range s.Replies {
		if r.ChunkMS > 0 {
			r.ChunkMS = chunkMS
		}
		blocks := make([]Block, len(r.Blocks))
		for j, b := range r.Blocks {
			b.Script = b.Script.WithPace(chunkMS)
			blocks[j] = b
		}
		r.Blocks = blocks
		out.Replies[i] = r
	}
	return out
}

// ParseScript parses a script: an object with "replies", or the list of replies, each an
// object or the list of its blocks. Unknown fields are errors, so that typos are noticed.
func ParseScript(data []byte) (*Script, error) {
	s := new(Script)
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return s, nil
}

// UnmarshalJSON accepts a reply that is only the list of its blocks.
func (r *Reply) UnmarshalJSON(data []byte) error {
	if firstByte(data) == '[' {
		return decodeStrict(data, &r.Blocks)
	}
	type plain Reply
	return decodeStrict(data, (*plain)(r))
}

// UnmarshalJSON accepts a script that is only the list of its replies.
func (s *Script) UnmarshalJSON(data []byte) error {
	if firstByte(data) == '[' {
		return decodeStrict(data, &s.Replies)
	}
	type plain Script
	return decodeStrict(data, (*plain)(s))
}

func decodeStrict(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(into)
}

func firstByte(data []byte) byte {
	data = bytes.TrimLeft(data, " \t\r\n")
	if len(data) == 0 {
		return 0
	}
	return data[0]
}

func (s *Script) check() error {
	for i, r := range s.Replies {
		if r.Status != 0 && (r.Status < 400 || r.Status > 599) {
			return fmt.Errorf("reply %d: status %d is not an error status", i, r.Status)
		}
		if r.DelayMS < 0 || r.ChunkMS < 0 || r.Times < 0 || r.RetryAfter < 0 {
			return fmt.Errorf("reply %d: a duration or count is negative", i)
		}
		if len(r.Blocks) == 0 && !r.fails() {
			return fmt.Errorf("reply %d: no blocks and no failure", i)
		}
		for j, b := range r.Blocks {
			if err := b.check(); err != nil {
				return fmt.Errorf("reply %d, block %d: %w", i, j, err)
			}
		}
	}
	return nil
}

func (r *Reply) fails() bool {
	return r.Status != 0 || r.Stall || r.Cut || r.StreamError != ""
}

func (b *Block) check() error {
	kinds := 0
	for _, s := range []string{b.Text, b.Thinking, b.Tool} {
		if s != "" {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("want exactly one of text, thinking, tool")
	}
	switch condition, name, _ := strings.Cut(b.If, ":"); {
	case b.If == "", b.If == "ok", b.If == "error":
	case (condition == "tool" || condition == "no_tool") && name != "":
	default:
		return fmt.Errorf("unknown condition %q", b.If)
	}
	if b.Tool == "" {
		if b.Input != nil || b.Script != nil {
			return fmt.Errorf("input and script belong to a tool")
		}
		return nil
	}
	if b.Input != nil && firstByte(b.Input) != '{' {
		return fmt.Errorf("input of %s is not an object", b.Tool)
	}
	if b.Script != nil {
		return b.Script.check()
	}
	return nil
}

// A closing fence must be a whole line. A script inside a script needs no escaping: its line breaks
// are \n in JSON, so its fence is not a line.
var fence = regexp.MustCompile("(?ms)^[ \t]*```script(?:[ \t]+([A-Za-z0-9_-]+))?[ \t]*(?:```[ \t]*$|\r?\n(.*?)(?:\r?\n)?^[ \t]*```[ \t]*$)")

// findScript returns the name or the body of the last fenced script in a text.
func findScript(text string) (name, body string, ok bool) {
	if !strings.Contains(text, "```script") {
		return "", "", false
	}
	all := fence.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return "", "", false
	}
	last := all[len(all)-1]
	return last[1], last[2], true
}
