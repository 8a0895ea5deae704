package protocol

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// withEvents is the conversation whose trace contains stream_events.
const withEvents = "approval"

// Limits of a trace.
const (
	maxTraceText = 200 // characters that are kept of a string
	maxTraceList = 2   // elements that are kept of an array with more than five
)

// Trace returns the lines of one conversation as they are stored in docs/protocol/traces: one object per
// line, with ids, times, counts, paths and long texts replaced, so that two recordings of the same
// version are equal as far as the CLI is deterministic. It contains stream events only for the
// conversation approval, and of consecutive deltas only the first.
func (r *Recording) Trace(conversation string) []byte {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	n := newNormalizer(r.replacements)
	var previous string
	for _, l := range r.Lines {
		if l.Conversation != conversation {
			continue
		}
		var m message
		if err := json.Unmarshal(l.JSON, &m); err != nil {
			continue
		}
		event := m.text("event", "type")
		if event != "" && conversation != withEvents || event == "content_block_delta" && previous == event {
			continue
		}
		previous = event
		v := n.value("", map[string]any(m))
		if err := enc.Encode(map[string]any{"from": l.From, "line": v}); err != nil {
			panic(err) // v was decoded from JSON
		}
	}
	return out.Bytes()
}

// Conversations returns the names of the conversations in order.
func Conversations() []string {
	var names []string
	for _, p := range processes {
		for _, c := range p.conversations {
			names = append(names, c.name)
		}
	}
	return names
}

// normalizer replaces values that differ between recordings. Equal ids get the same replacement.
type normalizer struct {
	replace *strings.Replacer
	ids     map[string]string
	counts  map[string]int
}

func newNormalizer(replacements []string) *normalizer {
	return &normalizer{strings.NewReplacer(replacements...), map[string]string{}, map[string]int{}}
}

var (
	anyUUID   = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anyID     = regexp.MustCompile(`\b(toolu|msg|req|srvtoolu)_[0-9A-Za-z]{8,}`)
	agentID   = regexp.MustCompile(`^a[0-9a-f]{16}$`)
	timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z`)
	socket    = regexp.MustCompile(`cc-socks/\d+`)
	loopback  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	// variable matches the names of numbers that differ between recordings.
	variable = regexp.MustCompile(`(?i)(_ms$|ms$|duration|elapsed|_at$|time|usd|tokens|tokens_|pid$|bytes|percent|max(Result)?Size|chars)`)
)

// id returns the replacement for an id: format with n, for the n-th id of its kind.
func (n *normalizer) id(kind, format, id string) string {
	if n.ids[id] == "" {
		n.counts[kind]++
		n.ids[id] = fmt.Sprintf(format, n.counts[kind])
	}
	return n.ids[id]
}

func (n *normalizer) text(s string) string {
	s = n.replace.Replace(s)
	s = anyUUID.ReplaceAllStringFunc(s, func(id string) string { return n.id("uuid", "00000000-0000-4000-8000-%012d", id) })
	s = anyID.ReplaceAllStringFunc(s, func(id string) string {
		kind, _, _ := strings.Cut(id, "_")
		return n.id(kind, kind+"_%02d", id)
	})
	s = agentID.ReplaceAllStringFunc(s, func(id string) string { return n.id("agent", "agent%02d", id) })
	s = timestamp.ReplaceAllString(s, "2026-01-01T00:00:00.000Z")
	s = socket.ReplaceAllString(s, "cc-socks/1")
	s = loopback.ReplaceAllString(s, "127.0.0.1:9999")
	if r := []rune(s); len(r) > maxTraceText {
		s = fmt.Sprintf("%s… (%d characters)", string(r[:maxTraceText]), len(r))
	}
	return s
}

func (n *normalizer) value(key string, v any) any {
	switch v := v.(type) {
	case string:
		return n.text(v)
	case float64:
		if variable.MatchString(key) {
			return 0
		}
	case []any:
		if len(v) > 5 {
			v = v[:maxTraceList]
		}
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = n.value(key, e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[n.text(k)] = n.value(k, e)
		}
		return out
	}
	return v
}
