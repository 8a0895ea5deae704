package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// MaxSafeInteger is the largest integer that JavaScript can distinguish from its neighbors.
// The last frame about a deleted session has it as its version, so that no later frame is
// newer.
const MaxSafeInteger = 1<<53 - 1

// Seconds returns t as Unix seconds, 0 for the zero time.
func Seconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

// SecondsOrNull returns t as Unix seconds, nil for the zero time.
func SecondsOrNull(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	s := Seconds(t)
	return &s
}

// OrNull returns nil for "", which is null on the wire.
func OrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Encode encodes v as JSON without escaping HTML, so that inputs are shown byte for byte.
// The result is always valid UTF-8, because a browser closes the connection otherwise.
// Encode panics if v cannot be encoded, which happens only for a type that is not a
// message.
func Encode(v any) []byte {
	if t, ok := v.(Transcript); ok {
		return validUTF8(t.encode())
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("wire: encode %T: %w", v, err))
	}
	return validUTF8(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

func validUTF8(text []byte) []byte {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	return text
}

// itemHead is the approximate size of an item without its strings and body, in bytes.
const itemHead = 100

// encode encodes the frame and copies its items unchanged. encoding/json would validate and
// copy each of them twice more.
func (t Transcript) encode() []byte {
	items := t.Items
	t.Items = []Item{}
	frame := Encode(&t) // a pointer, so that Encode leaves it to encoding/json
	// Within a string, the second quote would be escaped.
	at := bytes.Index(frame, []byte(`"items":[]`)) + len(`"items":[`)
	size := len(frame)
	for _, it := range items {
		size += len(it.Body) + len(it.Key) + len(it.AgentID) + itemHead
	}
	out := append(make([]byte, 0, size), frame[:at]...)
	for i, it := range items {
		if i > 0 {
			out = append(out, ',')
		}
		var err error
		if out, err = it.append(out); err != nil {
			panic(err)
		}
	}
	return append(out, frame[at:]...)
}

// RawOr returns raw if it is JSON. Otherwise it returns fallback for an empty text, and a
// JSON string for any other.
func RawOr(raw json.RawMessage, fallback string) json.RawMessage {
	switch {
	case len(raw) == 0:
		return json.RawMessage(fallback)
	case !json.Valid(raw):
		return Encode(string(raw))
	}
	return raw
}

// appendString appends s to b as JSON.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(b, Encode(s)...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// finite returns n, or nil if JSON cannot represent it.
func finite(n *float64) *float64 {
	if n == nil || math.IsNaN(*n) || math.IsInf(*n, 0) {
		return nil
	}
	return n
}
