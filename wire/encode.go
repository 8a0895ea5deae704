package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// MaxSafeInteger is the largest version that JavaScript can tell from the next.
// The last frame about a deleted session carries it: nothing can come after.
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

// Encode writes v as JSON without escaping HTML, so that what was asked is shown
// byte for byte. The result is valid UTF-8 whatever a stored input holds: a
// browser ends a connection on anything else. It panics when v cannot be
// written, which only a type that is no message can cause.
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

// itemHead is about how long the fields of an item beside its strings and its body are.
const itemHead = 100

// encode writes the frame with its items as they are. encoding/json would validate and copy
// each of them twice more.
func (t Transcript) encode() []byte {
	items := t.Items
	t.Items = []Item{}
	frame := Encode(&t) // of a pointer, by encoding/json
	// In a string, the second quote would have a backslash before it.
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

// RawOr returns raw when it is JSON, and otherwise what is shown in its place: the
// fallback for nothing, a string for what cannot be read.
func RawOr(raw json.RawMessage, fallback string) json.RawMessage {
	switch {
	case len(raw) == 0:
		return json.RawMessage(fallback)
	case !json.Valid(raw):
		return Encode(string(raw))
	}
	return raw
}

// appendString appends s as JSON to b.
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

// finite is n unless JSON has no word for it.
func finite(n *float64) *float64 {
	if n == nil || math.IsNaN(*n) || math.IsInf(*n, 0) {
		return nil
	}
	return n
}
