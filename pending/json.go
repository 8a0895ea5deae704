package pending

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CheckJSON returns an error if two parsers could read a JSON text differently: it is not
// valid JSON or UTF-8, something follows it, or an object has duplicate keys.
func CheckJSON(raw []byte) error {
	_, err := decode(raw)
	return err
}

// decode parses one JSON text strictly: valid UTF-8, nothing after it, and no duplicate keys,
// which parsers treat differently. Numbers stay as written ([json.Number]).
func decode(raw []byte) (any, error) {
	switch {
	case !utf8.Valid(raw):
		return nil, errors.New("not valid UTF-8")
	case !json.Valid(raw): // also bounds the nesting of what follows
		return nil, errors.New("not valid JSON")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return next(d)
}

func next(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			v, err := next(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err := d.Token()
		return list, err
	case json.Delim('{'):
		object := map[string]any{}
		for d.More() {
			key, err := d.Token()
			if err != nil {
				return nil, err
			}
			name := key.(string)
			if _, twice := object[name]; twice {
				return nil, fmt.Errorf("the field %q is there twice", name)
			}
			if object[name], err = next(d); err != nil {
				return nil, err
			}
		}
		_, err := d.Token()
		return object, err
	}
	return token, nil
}

// same reports whether two decoded texts are equivalent.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, v := range a {
			w, ok := b[key]
			if !ok || !same(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && sameNumber(string(a), string(b))
	}
	return a == b
}

// sameNumber treats 1.0 as equal to 1, because browsers format numbers in their own way. Up
// to 15 digits, a float64 distinguishes all decimal numbers; beyond that, only equal texts
// are equal numbers.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, ok := short(a)
	y, ok2 := short(b)
	return ok && ok2 && x == y
}

func short(n string) (float64, bool) {
	mantissa, _, _ := strings.Cut(strings.ToLower(n), "e")
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	f, err := strconv.ParseFloat(n, 64)
	if err != nil || len(digits) > 15 {
		return 0, false
	}
	const normal = 1e-300 // digits are lost below it
	return f, digits == "" || math.Abs(f) > normal
}

// compact returns a JSON text without line breaks of any kind. The CLI reads lines, and its
// reader also breaks them at U+2028 and U+2029.
func compact(raw []byte) json.RawMessage {
	var b bytes.Buffer
	b.Grow(len(raw))
	if err := json.Compact(&b, raw); err != nil {
		return nil
	}
	out := bytes.ReplaceAll(b.Bytes(), []byte("\u2028"), []byte(`\u2028`))
	return bytes.ReplaceAll(out, []byte("\u2029"), []byte(`\u2029`))
}

func isNull(raw []byte) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}
