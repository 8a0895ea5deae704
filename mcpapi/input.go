package mcpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/pending"
)

// object is the input of a tool, or an object in it. encoding/json would take
// "Question" for "question" where it fills a struct; a map tells them apart.
type object map[string]json.RawMessage

// objectOf reads an object; nothing is an empty one.
func objectOf(raw json.RawMessage) (object, error) {
	if missing(raw) {
		return object{}, nil
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, errors.New("arguments must be an object")
	}
	return o, nil
}

// inputOf reads the arguments of a call. Fields that no tool knows are left alone, as
// the protocol has it; what two readers would understand differently is refused.
func inputOf(arguments json.RawMessage) (object, error) {
	if !missing(arguments) {
		if err := pending.CheckJSON(arguments); err != nil {
			return nil, fmt.Errorf("arguments cannot be read: %w", err)
		}
	}
	return objectOf(arguments)
}

func missing(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// has reports whether a field is there.
func (o object) has(key string) bool { return !missing(o[key]) }

// text reads a text of at most limit characters; "" when it is missing.
func (o object) text(key string, limit int) (string, error) {
	if !o.has(key) {
		return "", nil
	}
	var s string
	if err := json.Unmarshal(o[key], &s); err != nil {
		return "", fmt.Errorf("%s must be a string", key)
	}
	if utf8.RuneCountInString(s) > limit {
		return "", fmt.Errorf("%s exceeds maximum of %d characters", key, limit)
	}
	return s, nil
}

// flag reads a boolean, with what holds when it is missing.
func (o object) flag(key string, otherwise bool) (bool, error) {
	if !o.has(key) {
		return otherwise, nil
	}
	var b bool
	if err := json.Unmarshal(o[key], &b); err != nil {
		return false, fmt.Errorf("%s must be true or false", key)
	}
	return b, nil
}

// number reads a number that is not infinite; nil when it is missing.
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

// list reads an array; nil when it is missing.
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

// marshal is JSON without the escapes that only a browser needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
