package claude

import (
	"bytes"
	"encoding/json"
)

// appendString appends s as a JSON string.
func appendString(b []byte, s string) []byte {
	v, err := marshal(s)
	if err != nil { // a string always marshals
		panic(err)
	}
	return append(b, v...)
}

// marshal is json.Marshal without escaping <, > and &, which are common in commands: people read what
// was sent.
func marshal(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// compact checks that v is one JSON value and puts it on one line.
func compact(v json.RawMessage) (json.RawMessage, error) {
	var out bytes.Buffer
	if err := json.Compact(&out, v); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// escapeSeparators escapes U+2028 and U+2029. JSON allows them in strings, but JavaScript
// line readers break lines there.
func escapeSeparators(line []byte) []byte {
	prefix := []byte("\u2028")[:2]
	if !bytes.Contains(line, prefix) {
		return line
	}
	line = bytes.ReplaceAll(line, []byte("\u2028"), []byte(`\u2028`))
	return bytes.ReplaceAll(line, []byte("\u2029"), []byte(`\u2029`))
}
