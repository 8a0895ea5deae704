package project

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Call is a tool call that somebody is to approve.
type Call struct {
	Tool  string
	Input json.RawMessage // a JSON object
	CWD   string          // of the session, absolute
}

// Ruling is what the rules of a project say about a call.
type Ruling struct {
	Effect Effect
	People []string // user ids: nobody else may approve; empty: whoever may answer
}

// Free reports whether whoever may answer may approve, alone.
func (r Ruling) Free() bool { return r.Effect == Allow && len(r.People) == 0 }

// ruling finds the first rule that fits a call; without one it is free.
func (p Project) ruling(c Call) Ruling {
	for _, r := range p.Rules {
		if r.fits(c) {
			return Ruling{Effect: r.Effect, People: r.People}
		}
	}
	return Ruling{Effect: Allow}
}

// restricts reports whether a rule says more about a tool, with whatever input,
// than that anybody may approve it.
func (p Project) restricts(tool string) bool {
	name, _, _ := strings.Cut(tool, "(")
	name = strings.TrimSpace(name)
	return slices.ContainsFunc(p.Rules, func(r Rule) bool {
		if r.Effect == Allow && len(r.People) == 0 {
			return false
		}
		// A grant of "mcp__server" is one of all its tools.
		return matches(r.Tool, name) || strings.ContainsRune(name, '*') || strings.HasPrefix(r.Tool, name+"__")
	})
}

// fits reports whether the rule is about a call. What would make it easier must
// fit what is asked as a whole; what makes it harder need fit a part of it only.
func (r Rule) fits(c Call) bool {
	if !matches(r.Tool, c.Tool) {
		return false
	}
	if r.Pattern == "" {
		return true
	}
	var input map[string]any
	if json.Unmarshal(c.Input, &input) != nil {
		return !r.eases() // what cannot be read may be anything
	}
	field := func(name string) string { s, _ := input[name].(string); return s }
	for _, name := range []string{"file_path", "notebook_path", "path"} {
		if value := field(name); value != "" && c.Tool != "Bash" {
			return r.fitsPath(value, c.CWD)
		}
	}
	if command, ok := input["command"].(string); ok {
		return r.fitsCommand(command)
	}
	if address := field("url"); address != "" {
		return matches(r.Pattern, address)
	}
	if r.eases() {
		return false
	}
	return slices.ContainsFunc(strung(input), func(s string) bool { return matches(r.Pattern, s) })
}

// eases reports whether the rule lets somebody approve alone.
func (r Rule) eases() bool { return r.Effect == Allow }

// shell are the characters with which one command line becomes more than one
// command.
const shell = ";|&<>`$(){}\\\n\r"

func (r Rule) fitsCommand(command string) bool {
	command = strings.TrimSpace(command)
	if r.eases() {
		return !strings.ContainsAny(command, shell) && matches(r.Pattern, command)
	}
	if matches(r.Pattern, command) {
		return true
	}
	parts := strings.FieldsFunc(command, func(c rune) bool { return strings.ContainsRune(shell, c) })
	return slices.ContainsFunc(parts, func(part string) bool { return matches(r.Pattern, strings.TrimSpace(part)) })
}

// fitsPath compares with the path in the file system and, where it is inside of
// the session's folder, with the one from there.
func (r Rule) fitsPath(name, cwd string) bool {
	if !path.IsAbs(name) {
		name = path.Join(cwd, name)
	}
	name = path.Clean(name)
	if matches(r.Pattern, name) {
		return true
	}
	inside, ok := strings.CutPrefix(name, strings.TrimSuffix(cwd, "/")+"/")
	return ok && matches(r.Pattern, inside)
}

// strung are the texts in a JSON value.
func strung(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			list = append(list, strung(x)...)
		}
	case map[string]any:
		for _, x := range v {
			list = append(list, strung(x)...)
		}
	}
	return list
}

// matches reports whether a text is as a pattern says, in which * stands for any
// text, also for none.
func matches(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, last)
}
