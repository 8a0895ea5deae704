// Package config edits the files of a person's Claude CLI, ~/.claude.json and
// settings.json. They are not ours: what is not the one value that is changed
// stays as it is, byte for byte, also what this program knows nothing of.
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
	// ErrNotJSON: a file does not hold one JSON object, so nothing was written.
	ErrNotJSON = errors.New("is not valid JSON")
	// ErrShape: a value on the way is no object, so nothing can be put into it.
	ErrShape = errors.New("is not an object")
	// ErrBusy: other programs changed or held the file at every try.
	ErrBusy = errors.New("is being changed by another program")
)

// Get returns the value at the path of keys, as it stands; nil when there is
// none. Of equal keys the last one counts, as for the CLI.
func Get(data []byte, path ...string) (json.RawMessage, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	at := start(data)
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
	return json.RawMessage(bytes.Clone(data[at:end(data, at)])), nil
}

// Set returns data with value at the path, whose objects are made where they are
// missing. A nil value removes what is there. The bytes around stay.
func Set(data []byte, value json.RawMessage, path ...string) ([]byte, error) {
	if err := check(data); err != nil {
		return nil, err
	}
	if value != nil && !json.Valid(value) {
		return nil, errors.New("config: the value to write is not valid JSON")
	}
	style := styleOf(data)
	at := start(data)
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
		return style.insert(data, at, all, key, nest(value, rest), depth), nil
	}
	return nil, errors.New("config: no path was given")
}

// nest puts a value into objects of these keys, the first outermost.
func nest(value json.RawMessage, keys []string) json.RawMessage {
	for _, key := range slices.Backward(keys) {
		value = slices.Concat([]byte("{"), quote(key), []byte(":"), value, []byte("}"))
	}
	return value
}

// style is how a file is laid out.
type style struct{ unit string } // of indentation; "" when all is on one line

func styleOf(data []byte) style {
	all := members(data, start(data))
	if len(all) == 0 {
		return style{"  "} // as the CLI writes
	}
	before := data[start(data)+1 : all[0].key]
	i := bytes.LastIndexByte(before, '\n')
	if i < 0 {
		return style{}
	}
	return style{string(before[i+1:])}
}

// format lays a value out that stands in an object of this depth.
func (s style) format(value json.RawMessage, depth int) []byte {
	var b bytes.Buffer
	if s.unit == "" {
		_ = json.Compact(&b, value) // it is valid
	} else {
		_ = json.Indent(&b, value, strings.Repeat(s.unit, depth), s.unit)
	}
	return b.Bytes()
}

// insert adds a member behind the others of the object at a place.
func (s style) insert(data []byte, at int, all []member, key string, value json.RawMessage, depth int) []byte {
	colon, line, back := ":", "", ""
	if s.unit != "" {
		colon, line, back = ": ", "\n"+strings.Repeat(s.unit, depth+1), "\n"+strings.Repeat(s.unit, depth)
	}
	added := slices.Concat([]byte(line), quote(key), []byte(colon), s.format(value, depth+1))
	if len(all) == 0 {
		return splice(data, at+1, end(data, at)-1, append(added, back...))
	}
	behind := all[len(all)-1].end
	return splice(data, behind, behind, append([]byte(","), added...))
}

// remove drops every member of that key from the object at a place: without the
// last of equal keys the one before it would count.
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
			data = splice(data, at+1, end(data, at)-1, nil)
		}
	}
}

// splice returns a copy in which the bytes from..to are others.
func splice(data []byte, from, to int, by []byte) []byte {
	return slices.Concat(data[:from], by, data[to:])
}

// member is one key with its value, by their places in the text.
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

// check says whether data is one JSON object. What follows relies on it.
func check(data []byte) error {
	if !json.Valid(data) {
		var nothing any
		err := json.Unmarshal(data, &nothing)
		return fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if data[start(data)] != '{' {
		return fmt.Errorf("%w: it holds no object", ErrNotJSON)
	}
	return nil
}

// members reads the object that begins at a place.
func members(data []byte, at int) []member {
	var all []member
	for i := skip(data, at+1); data[i] != '}'; {
		if data[i] == ',' {
			i = skip(data, i+1)
		}
		m := member{key: i}
		i = end(data, i)
		_ = json.Unmarshal(data[m.key:i], &m.name) // it is a valid string
		m.value = skip(data, skip(data, i)+1)
		m.end = end(data, m.value)
		all = append(all, m)
		i = skip(data, m.end)
	}
	return all
}

// start is where the value of a text begins.
func start(data []byte) int { return skip(data, 0) }

// skip passes over white space.
func skip(data []byte, i int) int {
	for data[i] == ' ' || data[i] == '\t' || data[i] == '\n' || data[i] == '\r' {
		i++
	}
	return i
}

// end is the place behind the value that begins at i.
func end(data []byte, i int) int {
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
			continue // inside, as a value begins with none of them
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

// quote is a key as the CLI would write it.
func quote(key string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(key) // a string is always encoded
	return bytes.TrimRight(b.Bytes(), "\n")
}

func name(path []string) string {
	if len(path) == 0 {
		return "the file"
	}
	return fmt.Sprintf("%q", strings.Join(path, "."))
}
