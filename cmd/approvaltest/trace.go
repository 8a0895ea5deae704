package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// maxTraced bounds a line in a trace, in bytes. Of a longer line, the trace has the beginning, the size
// and a hash.
const maxTraced = 4 << 10

// entry is an event of a scenario.
type entry struct {
	AtMS int64           `json:"at_ms"` // since the scenario began
	Who  string          `json:"who"`   // cli, host (lines to the CLI), person (their actions), shown (events of the host), kit
	Line json.RawMessage `json:"line,omitempty"`
	Text string          `json:"text,omitempty"`
}

// trace records everything that happens in a scenario, in order.
type trace struct {
	mu      sync.Mutex
	began   time.Time
	entries []entry
}

func (t *trace) line(who string, line []byte) {
	e := entry{Who: who}
	switch {
	case len(line) > maxTraced:
		sum := sha256.Sum256(line)
		e.Text = fmt.Sprintf("%s… %d bytes, sha256 %x", bytes.ToValidUTF8(line[:200], nil), len(line), sum[:8])
	case json.Valid(line):
		e.Line = bytes.Clone(line)
	default:
		e.Text = string(line)
	}
	t.add(e)
}

func (t *trace) note(format string, args ...any) {
	t.add(entry{Who: "kit", Text: fmt.Sprintf(format, args...)})
}

func (t *trace) add(e entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.AtMS = time.Since(t.began).Milliseconds()
	t.entries = append(t.entries, e)
}

// write writes the trace to a file, one entry per line, as JSON.
func (t *trace) write(file string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for _, e := range t.entries {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(file, b.Bytes(), 0o644)
}
