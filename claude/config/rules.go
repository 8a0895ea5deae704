package config

import (
	"encoding/json"
	"fmt"
)

// The lists of a settings file that grant permissions.
var (
	allowList       = []string{"permissions", "allow"}
	directoriesList = []string{"permissions", "additionalDirectories"}
)

// GrantsOf returns the rules and folders that a settings file allows, in the order of the file. It
// skips elements that are not strings.
func GrantsOf(data []byte) (rules, directories []string, err error) {
	if rules, err = textsAt(data, allowList); err != nil {
		return nil, nil, err
	}
	directories, err = textsAt(data, directoriesList)
	return rules, directories, err
}

func textsAt(data []byte, path []string) ([]string, error) {
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

// WithoutRule returns data without this allow rule, or unchanged if it has none.
func WithoutRule(data []byte, rule string) ([]byte, error) {
	return withoutElement(data, allowList, rule)
}

// WithoutDirectory returns data without this additional folder, or unchanged if it has none.
func WithoutDirectory(data []byte, directory string) ([]byte, error) {
	return withoutElement(data, directoriesList, directory)
}

// withoutElement removes every element of a list that equals text.
func withoutElement(data []byte, path []string, text string) ([]byte, error) {
	if _, err := textsAt(data, path); err != nil {
		return nil, err
	}
	at, found := indexOf(data, path)
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
			data = splice(data, at+1, endOfValue(data, at)-1, nil)
		}
	}
}

// indexOf returns the offset of the value at a path.
func indexOf(data []byte, path []string) (at int, found bool) {
	at = skipToStart(data)
	for _, key := range path {
		m, ok := last(members(data, at), key)
		if !ok {
			return 0, false
		}
		at = m.value
	}
	return at, true
}

// element is one value of a list, as offsets into the text.
type element struct{ from, to int }

// elements parses the list at an offset.
func elements(data []byte, at int) []element {
	var all []element
	for i := skipSpace(data, at+1); data[i] != ']'; {
		if data[i] == ',' {
			i = skipSpace(data, i+1)
		}
		e := element{from: i, to: endOfValue(data, i)}
		all = append(all, e)
		i = skipSpace(data, e.to)
	}
	return all
}
