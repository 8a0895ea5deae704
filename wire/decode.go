package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/ellipsis"
	"github.com/sayso-dev/sayso/internal/problem"
)

// maxDepth bounds the nesting of a body. Edited tool inputs are the deepest values; all other
// bodies are flat.
const maxDepth = 32

func missing(field string) error {
	return problem.For(field, "field_missing", "name", shortName(field))
}

// Decode decodes one JSON object into the struct that dst points to. Unlike encoding/json,
// it refuses unknown fields, fields in another case, repeated fields at any depth, missing
// fields, null for fields and in lists and maps, deep nesting, invalid UTF-8, and anything
// after the object, so that two parsers of a message cannot disagree. absent names required
// fields of the object that may be missing anyway. The error is a [problem.Error]; if a field
// is missing, the error names it.
func Decode(data []byte, dst any, absent ...string) error {
	if !utf8.Valid(data) {
		return problem.New("body_not_utf8")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	tok, err := dec.Token()
	if err != nil {
		return syntaxError(err)
	}
	if tok != json.Delim('{') {
		return problem.New("body_not_object")
	}
	if err := walkObject(dec, reflect.TypeOf(dst).Elem(), "", 1, absent...); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return problem.New("body_trailing")
	}
	if err := json.Unmarshal(data, dst); err != nil {
		if t, ok := err.(*json.UnmarshalTypeError); ok {
			return problem.New("field_type", "name", t.Field, "type", t.Value)
		}
		return syntaxError(err)
	}
	return nil
}

func syntaxError(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return problem.New("body_truncated")
	}
	return problem.New("body_not_json")
}

// walkObject checks the rest of an object after its '{'. t is the Go type that it is
// decoded into; below a type without fields, only repetition and depth are checked.
func walkObject(dec *json.Decoder, t reflect.Type, path string, depth int, absent ...string) error {
	fields := fieldsOf(t)
	seen, said := map[string]bool{}, map[string]bool{} // said: present with a valid value
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return syntaxError(err)
		}
		name := tok.(string) // the decoder allows nothing else as a key
		where := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			return problem.New("field_twice", "name", shortName(where))
		}
		seen[name] = true
		var below reflect.Type
		switch {
		case fields != nil:
			f, ok := fields[name]
			if !ok {
				return problem.New("field_unknown", "name", shortName(where))
			}
			below = f.Type
		case t != nil && t.Kind() == reflect.Map:
			below = t.Elem()
		}
		null, err := walkValue(dec, below, where, depth)
		switch {
		case err != nil:
			return err
		case null && fields == nil && !nullable(below):
			return problem.New("field_null", "name", shortName(where))
		}
		said[name] = !null || nullable(below)
	}
	if _, err := dec.Token(); err != nil {
		return syntaxError(err)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if fields[name].required && !said[name] && !slices.Contains(absent, name) {
			return missing(strings.TrimPrefix(path+"."+name, "."))
		}
	}
	return nil
}

// nullable reports whether null is a valid value of a type.
func nullable(t reflect.Type) bool {
	return t == nil || t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t == rawMessage
}

// walkValue checks one value and reports whether it is null.
func walkValue(dec *json.Decoder, t reflect.Type, path string, depth int) (null bool, err error) {
	tok, err := dec.Token()
	if err != nil {
		return false, syntaxError(err)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == rawMessage {
		t = nil
	}
	if tok == json.Delim('{') || tok == json.Delim('[') {
		if depth == maxDepth {
			return false, problem.New("body_too_deep", "max", maxDepth)
		}
	}
	switch tok {
	case json.Delim('{'):
		return false, walkObject(dec, t, path, depth+1)
	case json.Delim('['):
		if t == byteList {
			return false, problem.New("field_base64", "name", shortName(path))
		}
		var below reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			below = t.Elem()
		}
		for dec.More() {
			null, err := walkValue(dec, below, path, depth+1)
			switch {
			case err != nil:
				return false, err
			case null && !nullable(below):
				return false, problem.New("field_holds_null", "name", shortName(path))
			}
		}
		if _, err := dec.Token(); err != nil {
			return false, syntaxError(err)
		}
	}
	return tok == nil, nil
}

var (
	rawMessage = reflect.TypeFor[json.RawMessage]()
	byteList   = reflect.TypeFor[[]byte]()
	fieldCache sync.Map // reflect.Type → map[string]field
)

// field is a field of a message.
type field struct {
	reflect.Type
	// required means that the field must be present, and not null unless null is a valid value
	// of the type. A field whose validate tag defines when it may be missing is not required.
	required bool
}

// fieldsOf maps the JSON names of a struct to its fields; nil for any other type.
func fieldsOf(t reflect.Type) map[string]field {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]field)
	}
	m := map[string]field{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		rules := f.Tag.Get("validate")
		m[name] = field{f.Type, options == "" && !strings.HasPrefix(rules, "omitempty") && !strings.Contains(rules, "required_with")}
	}
	fieldCache.Store(t, m)
	return m
}

// shortName truncates a name from a client for use in an error.
func shortName(s string) string {
	const maxBytes = 60
	return ellipsis.Bytes(s, maxBytes)
}
