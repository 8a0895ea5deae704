// Package config edits the configuration files of a person's Claude CLI, ~/.claude.json and
// settings.json. It changes single values and preserves all other bytes, including unknown
// settings.
package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of this package. The text of each error is a sentence for people.
var (
	// ErrNotJSON means that a file does not contain one JSON object, so nothing was written.
	ErrNotJSON = errors.New("is not valid JSON")
	// ErrShape means that a parent of the value is not an object, so the value cannot be set.
	ErrShape = errors.New("is not an object")
	// ErrBusy means that other programs changed or locked the file during every attempt.
	ErrBusy = errors.New("is being changed by another program")
)

// Get returns a copy of the value at the path of keys, or nil if there is none. Of equal keys the
// last one counts, as in the CLI.
func Get(data []byte, path ...string) (json.RawMessage, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	at := skipToStart(data)
	for i, key := range path {
		if data[at] != '{' {
			return nil, fmt.Errorf("%s %w", name(path[:i]), ErrShape)
		}
		m, ok := last(members(data, at), key)
		if !ok {
			return nil, nil
		}
		at = m.value
	}
	return json.RawMessage(bytes.Clone(data[at:endOfValue(data, at)])), nil
}

// Set returns data with value at the path. It creates missing objects. A nil value removes the
// member. All other bytes stay the same.
func Set(data []byte, value json.RawMessage, path ...string) ([]byte, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	if value != nil && !json.Valid(value) {
		return nil, errors.New("config: the value to write is not valid JSON")
	}
	style := styleOf(data)
	at := skipToStart(data)
	for depth, key := range path {
		if data[at] != '{' {
			return nil, fmt.Errorf("%s %w", name(path[:depth]), ErrShape)
		}
		all := members(data, at)
		m, found := last(all, key)
		rest := path[depth+1:]
		switch {
		case found && len(rest) > 0:
			at = m.value
			continue
		case found && value != nil:
			return splice(data, m.value, m.end, style.format(value, depth+1)), nil
		case found:
			return remove(data, at, key), nil
		case value == nil:
			return data, nil
		}
		return style.insert(data, at, all, key, wrapInObjects(value, rest), depth), nil
	}
	return nil, errors.New("config: no path was given")
}

// wrapInObjects wraps a value in objects with these keys, the first outermost.
func wrapInObjects(value json.RawMessage, keys []string) json.RawMessage {
	for _, key := range slices.Backward(keys) {
		value = slices.Concat([]byte("{"), quote(key), []byte(":"), value, []byte("}"))
	}
	return value
}

// style is the formatting of a file.
type style struct{ unit string } // of indentation; "" if everything is on one line

func styleOf(data []byte) style {
	all := members(data, skipToStart(data))
	if len(all) == 0 {
		return style{"  "} // as the CLI writes
	}
	before := data[skipToStart(data)+1 : all[0].key]
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return style{}
	}
	return style{string(before[i+1:])}
}

// format formats a value inside an object at this depth.
func (s style) format(value json.RawMessage, depth int) []byte {
	var b bytes.Buffer
	if s.unit == "" {
		_ = json.Compact(&b, value) // it is valid
	} else {
		_ = json.Indent(&b, value, strings.Repeat(s.unit, depth), s.unit)
	}
	return b.Bytes()
}

// insert appends a member to the object at an offset.
func (s style) insert(data []byte, at int, all []member, key string, value json.RawMessage, depth int) []byte {
	colon, line, back := ":", "", ""
	if s.unit != "" {
		colon, line, back = ": ", "\n"+strings.Repeat(s.unit, depth+1), "\n"+strings.Repeat(s.unit, depth)
	}
	added := slices.Concat([]byte(line), quote(key), []byte(colon), s.format(value, depth+1))
	if len(all) == 0 {
		return splice(data, at+1, endOfValue(data, at)-1, append(added, back...))
	}
	behind := all[len(all)-1].end
	return splice(data, behind, behind, append([]byte(","), added...))
}

// remove removes every member with this key from the object at an offset. If it removed only the
// last one, the previous one would count.
func remove(data []byte, at int, key string) []byte {
	for {
		all := members(data, at)
		i := slices.IndexFunc(all, func(m member) bool { return m.name == key })
		switch {
		case i < 0:
			return data
		case i > 0:
			data = splice(data, all[i-1].end, all[i].end, nil)
		case len(all) > 1:
			data = splice(data, all[0].key, all[1].key, nil)
		default:
			data = splice(data, at+1, endOfValue(data, at)-1, nil)
		}
	}
}

// splice returns a copy of data with data[from:to] replaced.
func splice(data []byte, from, to int, by []byte) []byte {
	return slices.Concat(data[:from], by, data[to:])
}

// member is one key with its value, as offsets into the text.
type member struct {
	name       string
	key        int // of the quote before the key
	value, end int
}

func last(all []member, key string) (member, bool) {
	for _, m := range slices.Backward(all) {
		if m.name == key {
			return m, true
		}
	}
	return member{}, false
}

// check returns an error unless data is one JSON object. The functions below rely on it.
func check(data []byte) error {
	if !json.Valid(data) {
		var value any
		err := json.Unmarshal(data, &value)
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if data[skipToStart(data)] != '{' {
		return fmt.Errorf("%w: it holds no object", ErrNotJSON)
	}
	return nil
}

// members parses the object at an offset.
func members(data []byte, at int) []member {
	var all []member
	for i := skipSpace(data, at+1); data[i] != '}'; {
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
		m := member{key: i}
		i = endOfValue(data, i)
		_ = json.Unmarshal(data[m.key:i], &m.name) // it is a valid string
		m.value = skipSpace(data, skipSpace(data, i)+1)
		m.end = endOfValue(data, m.value)
		all = append(all, m)
		i = skipSpace(data, m.end)
	}
	return all
}

// skipToStart returns the offset of the first byte that is not white space.
func skipToStart(data []byte) int { return skipSpace(data, 0) }

// skipSpace skips white space.
func skipSpace(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r' {
		i++
	}
	return i
}

// endOfValue returns the offset after the value that begins at i.
func endOfValue(data []byte, i int) int {
	depth := 0
	for ; i < len(data); i++ {
		switch data[i] {
		case '"':
			for i++; data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case ',', ':', ' ', '\t', '\n', '\r':
			continue // only these start a composite value or a string
		default: // a number, true, false or null
			for i+1 < len(data) && !strings.ContainsRune(",:]} \t\n\r", rune(data[i+1])) {
				i++
			}
		}
		if depth == 0 {
			return i + 1
		}
	}
	return i
}

// quote encodes a key as the CLI would.
func quote(key string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(key) // never fails for a string
	return bytes.TrimRight(b.Bytes(), "\n")
}

func name(path []string) string {
	if len(path) == 0 {
		return "the file"
	}
	return fmt.Sprintf("%q", strings.Join(path, "."))
}
