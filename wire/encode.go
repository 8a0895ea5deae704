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
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Errorf("wire: encode %T: %w", v, err))
	}
	out := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if !utf8.Valid(out) {
		out = bytes.ToValidUTF8(out, []byte("\uFFFD"))
	}
	return out
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

// finite is n unless JSON has no word for it.
func finite(n *float64) *float64 {
	if n == nil || math.IsNaN(*n) || math.IsInf(*n, 0) {
		return nil
	}
	return n
}
