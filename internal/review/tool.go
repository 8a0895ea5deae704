package review

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Limits of what [ToolLevel] reads: a form waits for its level, so what is longer is
// medium, unread. Within them the worst command takes milliseconds.
const (
	maxInput        = 64 << 10 // bytes of the whole input
	maxFormCommand  = 8 << 10  // bytes of a command
	maxFormBrackets = 100      // the text of what they hold is read again for each
)

// ToolLevel is how much harm a tool call can do that is to run in cwd, an absolute
// folder of which nothing else is known.
func ToolLevel(tool string, input json.RawMessage, cwd string) Level {
	return Place{Dir: cwd}.ToolLevel(tool, input)
}

// lookingTools are the tools of Claude Code that only look, with the fields that are
// known of their input.
var lookingTools = map[string]map[string]bool{
	"Read":         set("file_path", "limit", "offset", "pages"),
	"NotebookRead": set("notebook_path", "cell_id"),
	"LS":           set("path", "ignore"),
	"Grep":         set("pattern", "path", "glob", "output_mode", "type", "head_limit", "offset", "multiline", "context", "-A", "-B", "-C", "-i", "-n"),
	"Glob":         set("pattern", "path"),
	"Bash":         set("command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox"),
}

// ToolLevel is how much harm a tool call can do in a place, as far as its input says.
// Low is what was read whole and is known to only read: a command, or a tool of Claude
// Code that looks into the folder and at nothing that holds secrets. Whatever changes
// files or is not known here is at least medium, for what it does is not in its input.
func (p Place) ToolLevel(tool string, input json.RawMessage) Level {
	if len(input) > maxInput || !strings.HasPrefix(p.Dir, "/") {
		return Medium
	}
	in, ok := fieldsOf(input)
	if !ok {
		return Medium
	}
	level := Low
	for name := range in {
		if !lookingTools[tool][name] {
			level = Medium
		}
	}
	switch tool {
	case "Bash":
		command, ok := in.text("command")
		if !ok || len(command) > maxFormCommand || brackets(command) > maxFormBrackets {
			return Medium
		}
		if in.set("run_in_background") || in.set("dangerouslyDisableSandbox") {
			level = Medium
		}
		return atLeast(level, p.ReadCommand(command).Level)
	case "Read":
		return atLeast(level, in.lookedAt(p, "file_path"))
	case "NotebookRead":
		return atLeast(level, in.lookedAt(p, "notebook_path"))
	case "LS":
		return atLeast(level, in.lookedAt(p, "path"))
	case "Grep":
		return atLeast(level, atLeast(in.folder(p), in.search(p)))
	case "Glob":
		return atLeast(level, atLeast(in.folder(p), in.pattern(p, "pattern")))
	}
	if file := FilePath(tool, input); file != "" {
		return atLeast(Medium, PathLevel(file, p.Dir))
	}
	return Medium
}

// LookLevel is how much harm reading a file or a folder can do, by where it lies.
func (p Place) LookLevel(file string) Level {
	w := newWalker(p.Dir)
	w.hidden(file)
	w.reads(field{text: file})
	r := &reading{w: w, place: p, dirs: []string{p.Dir}}
	if file != "" && path.Clean(p.Dir) != "/" && !strings.HasPrefix(file, "~") && r.readable(join(p.Dir, file), true) == "" {
		return atLeast(*w.level, Low)
	}
	return atLeast(*w.level, Medium)
}

// toolFields are the fields of an input by their exact names: for the CLI, Command
// is not command.
type toolFields map[string]json.RawMessage

func fieldsOf(input json.RawMessage) (toolFields, bool) {
	var in toolFields
	return in, json.Unmarshal(input, &in) == nil
}

// CommandOf is the command of an input of Bash, "" when there is none.
func CommandOf(input json.RawMessage) string {
	in, _ := fieldsOf(input)
	command, _ := in.text("command")
	return command
}

func (in toolFields) text(name string) (string, bool) {
	var s *string
	if json.Unmarshal(in[name], &s) != nil || s == nil {
		return "", false
	}
	return *s, true
}

// set reports whether a field says anything but no.
func (in toolFields) set(name string) bool {
	v := string(in[name])
	return v != "" && v != "false" && v != "null"
}

func (in toolFields) lookedAt(p Place, name string) Level {
	file, ok := in.text(name)
	if !ok || file == "" {
		return Medium
	}
	return p.LookLevel(file)
}

// folder is where a search begins: the folder of the session when it is not said.
func (in toolFields) folder(p Place) Level {
	dir := p.Dir
	if _, there := in["path"]; there {
		named, ok := in.text("path")
		if !ok || named == "" {
			return Medium
		}
		dir = named
	}
	if slices.ContainsFunc(p.Private, func(private string) bool { return within(private, join(p.Dir, dir)) }) {
		return Medium
	}
	return p.LookLevel(dir)
}

// search checks what Grep looks for and in which files: a search through a whole folder
// also reads the secrets in it, so it must be for something else.
func (in toolFields) search(p Place) Level {
	level := in.pattern(p, "glob")
	glob, _ := in.text("glob")
	kind, _ := in.text("type")
	if glob != "" && sourceGlob(glob) || sourceEnds[kind] {
		return level
	}
	for _, more := range []string{"multiline", "context", "-A", "-B", "-C"} {
		if in.set(more) {
			return Medium
		}
	}
	if wanted, ok := in.text("pattern"); !ok || !needsWord(wanted) {
		return Medium
	}
	return level
}

// pattern holds the names that a search is for against where they may lead.
func (in toolFields) pattern(p Place, name string) Level {
	if _, there := in[name]; !there {
		return Low
	}
	pattern, ok := in.text(name)
	switch {
	case !ok, strings.Contains(pattern, ".."), strings.Contains(pattern, "{/"), strings.Contains(pattern, ",/"), strings.Contains(pattern, "~"):
		return Medium
	}
	// ".env*" is for ".env", too.
	at := Place{Dir: p.Dir, Private: p.Private}
	if start := strings.TrimRight(pattern, "*?"); start != "" && at.LookLevel(start) != Low {
		return Medium
	}
	return at.LookLevel(pattern)
}
