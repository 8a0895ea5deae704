package claude

import (
	"encoding/json"
	"unicode/utf8"
)

// Envelope contains the fields of a line that routing needs. One structural pass finds them and decodes
// nothing else. Keys may be in any order; of equal keys the last one counts, as in JavaScript. A field
// of an unexpected type counts as absent.
type Envelope struct {
	Raw             json.RawMessage // the line
	Type            string
	Subtype         string
	RequestID       string
	SessionID       string
	UUID            string
	ParentToolUseID string

	// The bodies, as spans of Raw; nil when absent.
	Message, Request, Response, Event json.RawMessage

	// InvalidUTF8 means that the line contains invalid UTF-8, which decodes to U+FFFD.
	InvalidUTF8 bool

	fields []field
	body   body // of Message, when that is an object
}

// ReadEnvelope parses the envelope of one line. It returns [ErrMalformed] unless the line is
// one JSON object. Below the top level it checks only brackets and strings.
func ReadEnvelope(line []byte) (Envelope, error) {
	var e Envelope
	err := e.read(line)
	return e, err
}

// read is ReadEnvelope, but reuses the memory of e.
func (e *Envelope) read(line []byte) error {
	*e = Envelope{Raw: line, fields: e.fields[:0], body: e.body}
	i, err := object(line, skipSpace(line, 0), func(key []byte, i int) int {
		after := 0
		if string(key) == "message" && i < len(line) && line[i] == '{' {
			after = e.body.read(line, i)
		} else {
			after = skipValue(line, i)
		}
		if after >= 0 {
			e.fields = append(e.fields, field{key, line[i:after:after]})
		}
		return after
	})
	if err == nil {
		err = end(line, i)
	}
	if err != nil {
		return err
	}
	e.InvalidUTF8 = !utf8.Valid(line)
	for _, f := range e.fields {
		switch string(f.key) {
		case "type":
			e.Type = internedText(f.value)
		case "subtype":
			e.Subtype = internedText(f.value)
		case "request_id":
			e.RequestID = text(f.value)
		case "session_id":
			e.SessionID = text(f.value)
		case "uuid":
			e.UUID = text(f.value)
		case "parent_tool_use_id":
			e.ParentToolUseID = text(f.value)
		case "message":
			e.Message = f.value
		case "request":
			e.Request = f.value
		case "response":
			e.Response = f.value
		case "event":
			e.Event = f.value
		}
	}
	return nil
}

// reset drops the references to the line and keeps the envelope's own memory.
func (e *Envelope) reset() {
	clear(e.fields)
	e.body.reset()
	*e = Envelope{fields: e.fields[:0], body: e.body}
}

// field returns the value of a top-level key, nil if absent.
func (e *Envelope) field(key string) []byte { return lookup(e.fields, key) }

func lookup(fields []field, key string) []byte {
	for i := len(fields) - 1; i >= 0; i-- {
		if string(fields[i].key) == key {
			return fields[i].value
		}
	}
	return nil
}

// internedText is text, without an allocation for words that nearly every line contains.
func internedText(v []byte) string {
	switch string(v) {
	case `"assistant"`:
		return "assistant"
	case `"user"`:
		return "user"
	case `"system"`:
		return "system"
	case `"result"`:
		return "result"
	case `"stream_event"`:
		return "stream_event"
	case `"control_request"`:
		return "control_request"
	case `"text"`:
		return "text"
	case `"text_delta"`:
		return "text_delta"
	case `"content_block_delta"`:
		return "content_block_delta"
	case `"tool_use"`:
		return "tool_use"
	case `"tool_result"`:
		return "tool_result"
	}
	return text(v)
}
