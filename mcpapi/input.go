package mcpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/pending"
)

// object is a JSON object in the input of a tool. A map distinguishes "Question" and
// "question", which encoding/json treats alike when it fills a struct.
type object map[string]json.RawMessage

// parseObject parses an object. A missing one is empty.
func parseObject(raw json.RawMessage) (object, error) {
	if isMissing(raw) {
		return object{}, nil
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, errors.New("arguments must be an object")
	}
	return o, nil
}

// parseInput parses the arguments of a call. It ignores unknown fields, as the protocol
// requires, and refuses JSON that two parsers could read differently.
func parseInput(arguments json.RawMessage) (object, error) {
	if !isMissing(arguments) {
		if err := pending.CheckJSON(arguments); err != nil {
			return nil, fmt.Errorf("arguments cannot be read: %w", err)
		}
	}
	return parseObject(arguments)
}

func isMissing(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// has reports whether a field exists.
func (o object) has(key string) bool { return !isMissing(o[key]) }

// text returns a string of at most limit characters and without NUL; "" when it is missing.
func (o object) text(key string, limit int) (string, error) {
	if !o.has(key) {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(o[key], &s); err != nil {
		return "", fmt.Errorf("%s must be a string", key)
	}
	if strings.ContainsRune(s, 0) { // the store would change it
		return "", fmt.Errorf("%s must not contain NUL characters", key)
	}
	if utf8.RuneCountInString(s) > limit {
		return "", fmt.Errorf("%s exceeds maximum of %d characters", key, limit)
	}
	return s, nil
}

// flag returns a boolean, or fallback when it is missing.
func (o object) flag(key string, fallback bool) (bool, error) {
	if !o.has(key) {
		return fallback, nil
	}
	var b bool
	if err := json.Unmarshal(o[key], &b); err != nil {
		return false, fmt.Errorf("%s must be true or false", key)
	}
	return b, nil
}

// number returns a finite number; nil when it is missing.
func (o object) number(key string) (*float64, error) {
	if !o.has(key) {
		return nil, nil
	}
	var f float64
	if err := json.Unmarshal(o[key], &f); err != nil || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%s must be a number", key)
	}
	return &f, nil
}

// list returns an array; nil when it is missing.
func (o object) list(key string) ([]json.RawMessage, error) {
	if !o.has(key) {
		return nil, nil
	}
	list := []json.RawMessage{}
	if err := json.Unmarshal(o[key], &list); err != nil {
		return nil, fmt.Errorf("%s must be an array", key)
	}
	return list, nil
}

// marshal is json.Marshal without escaping <, > and &.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
