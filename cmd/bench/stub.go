package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// The prompt contains the stub's commands, one on each line:
//
//	ask COUNT GAP FILE   COUNT requests, each GAP after the answer to the one
//	                     before; FILE gets the round trips in ns, one a line
//	flood LINES BYTES    LINES messages of about BYTES each
//	deltas COUNT GAP BYTES  one message that grows COUNT times by BYTES, GAP apart
//	open COUNT           COUNT requests at once
//
// The input of a request contains, as written_at, the Unix nanosecond at which it
// was written. The text of the result of a flood is that of its first line.

// stub acts as the CLI on the given streams. It returns when its input ends.
func stub(in io.Reader, out io.Writer) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	w := &stubOutput{w: out}
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var m struct {
			Type      string
			RequestID string `json:"request_id"`
			Request   struct{ Subtype string }
			Message   struct{ Content json.RawMessage }
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		switch m.Type {
		case "control_request":
			w.line(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"commands":[],"models":[],"account":{"apiKeySource":"ANTHROPIC_API_KEY"},"pid":%d}}}`, m.RequestID, os.Getpid())
		case "user":
			if err := w.turn(promptOf(m.Message.Content), lines); err != nil {
				return err
			}
		}
		if w.err != nil {
			return w.err
		}
	}
}

// promptOf returns the text of a message: a string, or blocks of text.
func promptOf(content json.RawMessage) string {
	var plain string
	if json.Unmarshal(content, &plain) == nil {
		return plain
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(content, &blocks) // without text there are no commands
	var all []string
	for _, b := range blocks {
		all = append(all, b.Text)
	}
	return strings.Join(all, "\n")
}

type stubOutput struct {
	w   io.Writer
	err error
	ids int
}

func (w *stubOutput) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.w, format+"\n", args...)
	}
}

const stubSession = "00000000-0000-4000-8000-000000000000"

func (w *stubOutput) turn(prompt string, answers *bufio.Reader) error {
	w.line(`{"type":"system","subtype":"init","cwd":"/","session_id":%q,"tools":["Bash"],"mcp_servers":[],"model":"stub","permissionMode":"default","uuid":"u"}`, stubSession)
	text := "done"
	for order := range strings.Lines(prompt) {
		words := strings.Fields(order)
		switch {
		case len(words) == 4 && words[0] == "ask":
			count, _ := strconv.Atoi(words[1])
			gap, err := time.ParseDuration(words[2])
			if err != nil {
				return err
			}
			if err := w.ask(count, gap, words[3], answers); err != nil {
				return err
			}
		case len(words) == 3 && words[0] == "flood":
			count, _ := strconv.Atoi(words[1])
			size, _ := strconv.Atoi(words[2])
			text = strconv.FormatInt(time.Now().UnixNano(), 10)
			w.flood(count, size)
		case len(words) == 4 && words[0] == "deltas":
			count, _ := strconv.Atoi(words[1])
			gap, err := time.ParseDuration(words[2])
			if err != nil {
				return err
			}
			size, _ := strconv.Atoi(words[3])
			w.deltas(count, gap, size)
		case len(words) == 2 && words[0] == "open":
			count, _ := strconv.Atoi(words[1])
			for range count {
				w.request()
			}
			_, err := io.Copy(io.Discard, answers)
			return err
		}
	}
	w.line(`{"type":"result","subtype":"success","is_error":false,"duration_ms":1,"duration_api_ms":1,"num_turns":1,"result":%q,"stop_reason":"end_turn","session_id":%q,"total_cost_usd":0,"usage":{"input_tokens":1,"output_tokens":1},"modelUsage":{},"permission_denials":[],"uuid":"u"}`, text, stubSession)
	return w.err
}

func (w *stubOutput) ask(count int, gap time.Duration, file string, answers *bufio.Reader) error {
	trips := make([]string, 0, count)
	for range count {
		started := time.Now()
		id := w.request()
		if w.err != nil {
			return w.err
		}
		for {
			line, err := answers.ReadBytes('\n')
			if err != nil {
				return err
			}
			if bytes.Contains(line, []byte(id)) {
				break
			}
		}
		trips = append(trips, strconv.FormatInt(time.Since(started).Nanoseconds(), 10))
		// The CLI would run the tool now; the server remembers the answer until its result.
		w.line(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_%d","content":"done"}]},"parent_tool_use_id":null,"session_id":%q,"uuid":"u"}`, w.ids, stubSession)
		time.Sleep(gap)
	}
	return os.WriteFile(file, []byte(strings.Join(trips, "\n")), 0o600)
}

// request asks for the use of a tool and returns the id of the request.
func (w *stubOutput) request() string {
	w.ids++
	id := fmt.Sprintf("request-%d-%d", os.Getpid(), w.ids)
	w.line(`{"type":"control_request","request_id":%q,"request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch file","written_at":%d},"tool_use_id":"toolu_%d"}}`, id, time.Now().UnixNano(), w.ids)
	return id
}

// deltas writes one message as count pieces of about size bytes, with a gap after each.
func (w *stubOutput) deltas(count int, gap time.Duration, size int) {
	w.ids++
	event := func(format string, args ...any) {
		w.line(`{"type":"stream_event","event":`+format+`,"parent_tool_use_id":null,"session_id":%q,"uuid":"u"}`, append(args, stubSession)...)
	}
	piece := strings.Repeat("word ", max(1, size/5))
	event(`{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":"stub","content":[]}}`, w.ids)
	event(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for range count {
		event(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`, piece)
		time.Sleep(gap)
	}
	event(`{"type":"content_block_stop","index":0}`)
	w.line(`{"type":"assistant","message":{"id":"msg_%d","type":"message","role":"assistant","model":"stub","content":[{"type":"text","text":%q}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":%q,"uuid":"u"}`, w.ids, strings.Repeat(piece, count), stubSession)
	event(`{"type":"message_stop"}`)
}

// deltasSize returns the number of bytes that deltas writes.
func deltasSize(count, size int) int {
	var c counter
	(&stubOutput{w: &c}).deltas(count, 0, size)
	return int(c)
}

// flood writes in pieces of 64 KiB, as the real CLI's runtime does.
func (w *stubOutput) flood(count, size int) {
	head := `{"type":"assistant","message":{"id":"msg","type":"message","role":"assistant","model":"stub","content":[{"type":"text","text":"`
	tail := fmt.Sprintf(`"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":%q,"uuid":"u"}`+"\n", stubSession)
	// Typical text: words, line breaks and quotes that need escaping.
	const words = `The quick brown fox said \"jump\" over the lazy dog.\n`
	body := strings.Repeat(words, max(1, (size-len(head)-len(tail))/len(words)))
	line := head + body + tail
	buffered := bufio.NewWriterSize(w.w, 64<<10)
	for range count {
		if w.err == nil {
			_, w.err = buffered.WriteString(line)
		}
	}
	if w.err == nil {
		w.err = buffered.Flush()
	}
}

// floodSize returns the number of bytes that a flood writes.
func floodSize(count, size int) int {
	var c counter
	(&stubOutput{w: &c}).flood(count, size)
	return int(c)
}

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }
