package config

import (
	"encoding/json"
	"fmt"
)

// The lists of a settings file that grants something without asking.
var (
	allowList       = []string{"permissions", "allow"}
	directoriesList = []string{"permissions", "additionalDirectories"}
)

// Granted are the rules and folders that a settings file allows, in its order.
// What is no text in those lists is left out.
func Granted(data []byte) (rules, directories []string, err error) {
	if rules, err = texts(data, allowList); err != nil {
		return nil, nil, err
	}
	directories, err = texts(data, directoriesList)
	return rules, directories, err
}

func texts(data []byte, path []string) ([]string, error) {
	value, err := Get(data, path...)
	if err != nil || value == nil {
		return nil, err
	}
	var list []json.RawMessage
	if err := json.Unmarshal(value, &list); err != nil {
		return nil, fmt.Errorf("%s is no list", name(path))
	}
	var found []string
	for _, item := range list {
		var text string
		if json.Unmarshal(item, &text) == nil {
			found = append(found, text)
		}
	}
	return found, nil
}

// WithoutRule returns data without that rule among what it allows; the same bytes
// when it is not there. All else stays as it is.
func WithoutRule(data []byte, rule string) ([]byte, error) { return without(data, allowList, rule) }

// WithoutDirectory does so for a folder that Claude may work in.
func WithoutDirectory(data []byte, directory string) ([]byte, error) {
	return without(data, directoriesList, directory)
}

// without drops every element of a list that is this text.
func without(data []byte, path []string, text string) ([]byte, error) {
	if _, err := texts(data, path); err != nil {
		return nil, err
	}
	at, found := place(data, path)
	if !found {
		return data, nil
	}
	for {
		all := elements(data, at)
		i := -1
		for j, e := range all {
			var s string
			if data[e.from] == '"' && json.Unmarshal(data[e.from:e.to], &s) == nil && s == text {
				i = j
			}
		}
		switch {
		case i < 0:
			return data, nil
		case i > 0:
			data = splice(data, all[i-1].to, all[i].to, nil)
		case len(all) > 1:
			data = splice(data, all[0].from, all[1].from, nil)
		default:
			data = splice(data, at+1, end(data, at)-1, nil)
		}
	}
}

// place is where the value at a path begins.
func place(data []byte, path []string) (at int, found bool) {
	at = start(data)
	for _, key := range path {
		m, ok := last(members(data, at), key)
		if !ok {
			return 0, false
		}
		at = m.value
	}
	return at, true
}

// element is one value of a list, by its place in the text.
type element struct{ from, to int }

// elements reads the list that begins at a place.
func elements(data []byte, at int) []element {
	var all []element
	for i := skip(data, at+1); data[i] != ']'; {
		if data[i] == ',' {
			i = skip(data, i+1)
		}
		e := element{from: i, to: end(data, i)}
		all = append(all, e)
		i = skip(data, e.to)
	}
	return all
}
