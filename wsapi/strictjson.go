package wsapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"unicode/utf8"
)

// sentence is an error whose text is shown to the person who caused it.
type sentence string

func (s sentence) Error() string { return string(s) }

func sentencef(format string, args ...any) error { return sentence(fmt.Sprintf(format, args...)) }

// maxDepth is how deeply a body from a client may nest. What people send is
// flat; a tool input that was edited is the deepest thing there is.
const maxDepth = 32

// decodeStrict reads one JSON object into the struct that dst points to. Unlike
// encoding/json it refuses unknown fields, fields spelled in another case,
// repeated fields at any depth, deep nesting, invalid UTF-8 and anything after
// the object: two readers of one message must never understand two things. The
// error is a sentence for the sender.
func decodeStrict(data []byte, dst any) error {
	if !utf8.Valid(data) {
		return sentence("The body is not valid UTF-8.")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	tok, err := dec.Token()
	if err != nil {
		return syntaxSentence(err)
	}
	if tok != json.Delim('{') {
		return sentence("The body must be a JSON object.")
	}
	if err := walkObject(dec, reflect.TypeOf(dst).Elem(), "", 1); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return sentence("There is something after the JSON object.")
	}
	if err := json.Unmarshal(data, dst); err != nil {
		if t, ok := err.(*json.UnmarshalTypeError); ok {
			return sentencef("The field %q must not be a %s.", t.Field, t.Value)
		}
		return syntaxSentence(err)
	}
	return nil
}

func syntaxSentence(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return sentence("The JSON ends too early.")
	}
	return sentence("The body is not valid JSON.")
}

// walkObject reads the rest of an object whose '{' was taken. t is the Go type
// that it will be read into; below a type without fields of its own everything
// is allowed but repetition and depth.
func walkObject(dec *json.Decoder, t reflect.Type, path string, depth int) error {
	fields := fieldsOf(t)
	seen := map[string]bool{}
	for dec.More() {
		tok, err := dec.Token()
		if err != nil {
			return syntaxSentence(err)
		}
		name := tok.(string) // the decoder allows nothing else as a key
		where := strings.TrimPrefix(path+"."+name, ".")
		if seen[name] {
			return sentencef("The field %q is there twice.", clip(where))
		}
		seen[name] = true
		var below reflect.Type
		switch {
		case fields != nil:
			f, ok := fields[name]
			if !ok {
				return sentencef("The field %q is not known here.", clip(where))
			}
			below = f
		case t != nil && t.Kind() == reflect.Map:
			below = t.Elem()
		}
		if err := walkValue(dec, below, where, depth); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return syntaxSentence(err)
	}
	return nil
}

func walkValue(dec *json.Decoder, t reflect.Type, path string, depth int) error {
	tok, err := dec.Token()
	if err != nil {
		return syntaxSentence(err)
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == rawMessage {
		t = nil
	}
	if tok == json.Delim('{') || tok == json.Delim('[') {
		if depth == maxDepth {
			return sentencef("The JSON is nested more than %d levels deep.", maxDepth)
		}
	}
	switch tok {
	case json.Delim('{'):
		return walkObject(dec, t, path, depth+1)
	case json.Delim('['):
		var below reflect.Type
		if t != nil && t.Kind() == reflect.Slice {
			below = t.Elem()
		}
		for dec.More() {
			if err := walkValue(dec, below, path, depth+1); err != nil {
				return err
			}
		}
		if _, err := dec.Token(); err != nil {
			return syntaxSentence(err)
		}
	}
	return nil
}

var (
	rawMessage = reflect.TypeFor[json.RawMessage]()
	fieldCache sync.Map // reflect.Type → map[string]reflect.Type
)

// fieldsOf maps the JSON names of a struct to the types of its fields; nil for
// anything that is no struct.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	if m, ok := fieldCache.Load(t); ok {
		return m.(map[string]reflect.Type)
	}
	m := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			m[name] = f.Type
		}
	}
	fieldCache.Store(t, m)
	return m
}

// clip keeps a name from outside short enough for a sentence.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
