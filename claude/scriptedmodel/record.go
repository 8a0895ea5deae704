package scriptedmodel

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// A Request is the record of one request.
type Request struct {
	Number int               `json:"number"` // counts from 1
	At     time.Time         `json:"at"`
	Method string            `json:"method"`
	Path   string            `json:"path"` // with its query
	Header map[string]string `json:"header,omitempty"`

	// Of a Messages request:
	SessionID   string       `json:"session_id,omitempty"`
	Model       string       `json:"model,omitempty"`
	Stream      bool         `json:"stream,omitempty"`
	Tools       []string     `json:"tools,omitempty"`
	Messages    int          `json:"messages,omitempty"`     // number of messages
	UserText    string       `json:"user_text,omitempty"`    // last text that a person typed
	ToolResults []ToolResult `json:"tool_results,omitempty"` // since the last assistant message

	Body      json.RawMessage `json:"body,omitempty"` // absent if larger than 256 KiB, or not among the latest 32
	BodyBytes int             `json:"body_bytes"`

	Index int `json:"index"` // of the reply in its script; -1 if there was no script
	// Outcome is the kind of reply: reply, status, stall, cut, stream_error, canned (no tools
	// offered), greeting (no script), after (replies used up), bad_script, none (not a Messages
	// request).
	Outcome string `json:"outcome"`
}

// Limits of the record, so that the memory of a demo that runs for weeks does not grow.
const (
	maxRequests    = 512
	maxBodies      = 32
	maxBody        = 256 << 10
	maxKeptResult  = 8 << 10
	maxKeptUserLen = 8 << 10
)

// record holds the latest requests.
type record struct {
	mu      sync.Mutex
	total   int
	kept    []Request
	changed chan struct{} // closed and replaced by add
}

func (r *record) add(q Request) {
	for i := range q.ToolResults {
		q.ToolResults[i].Text = truncate(q.ToolResults[i].Text, maxKeptResult)
	}
	q.UserText = truncate(q.UserText, maxKeptUserLen)
	if len(q.Body) > maxBody {
		q.Body = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.total++
	q.Number = r.total
	if len(r.kept) == maxRequests {
		r.kept = append(r.kept[:0], r.kept[1:]...)
	}
	r.kept = append(r.kept, q)
	if old := len(r.kept) - maxBodies - 1; old >= 0 {
		r.kept[old].Body = nil
	}
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// all returns a copy of the record, and a channel that the next add closes.
func (r *record) all() ([]Request, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return append([]Request(nil), r.kept...), r.changed
}

func (r *record) await(ctx context.Context, match func(Request) bool) (Request, error) {
	for {
		all, changed := r.all()
		for _, q := range all {
			if match(q) {
				return q, nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Request{}, ctx.Err()
		}
	}
}

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}
