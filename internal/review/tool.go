package review

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Limits for [Place.ToolLevel]. A form waits for its level, so longer input is medium without being
// parsed. Within the limits the worst command takes milliseconds.
const (
	maxInput        = 64 << 10 // bytes of the whole input
	maxFormCommand  = 8 << 10  // bytes of a command
	maxFormBrackets = 100      // the contents of brackets are parsed again at each level
)

// readTools are the tools of Claude Code that only read, with the known fields of their
// input.
var readTools = map[string]map[string]bool{
	"Read":         set("file_path", "limit", "offset", "pages"),
	"NotebookRead": set("notebook_path", "cell_id"),
	"LS":           set("path", "ignore"),
	"Grep":         set("pattern", "path", "glob", "output_mode", "type", "head_limit", "offset", "multiline", "context", "-A", "-B", "-C", "-i", "-n"),
	"Glob":         set("pattern", "path"),
	"Bash":         set("command", "description", "timeout", "run_in_background", "dangerouslyDisableSandbox"),
}

// ToolLevel returns the risk level of a tool call in a place, judged by its input. It is low
// if the input was read completely and only reads: a command, or a tool of Claude Code, that
// reads in the folder and no file that may hold secrets. A call that changes files, or is
// unknown here, is at least medium, because its input does not show all it does.
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
		if !readTools[tool][name] {
			level = Medium
		}
	}
	switch tool {
	case "Bash":
		command, ok := in.text("command")
		if !ok || len(command) > maxFormCommand || brackets(command) > maxFormBrackets {
			return Medium
		}
		if in.isSet("run_in_background") || in.isSet("dangerouslyDisableSandbox") {
			level = Medium
		}
		return atLeast(level, p.ReadCommand(command).Level)
	case "Read":
		return atLeast(level, in.readLevel(p, "file_path"))
	case "NotebookRead":
		return atLeast(level, in.readLevel(p, "notebook_path"))
	case "LS":
		return atLeast(level, in.readLevel(p, "path"))
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

// ReadLevel returns the risk level of reading a file or folder, by its path.
func (p Place) ReadLevel(file string) Level {
	w := newWalker(p.Dir)
	w.markHidden(file)
	w.markRead(field{text: file})
	r := &reading{w: w, place: p, dirs: []string{p.Dir}}
	if file != "" && path.Clean(p.Dir) != "/" && !strings.HasPrefix(file, "~") && r.whyNotReadablePath(join(p.Dir, file), true) == "" {
		return atLeast(*w.level, Low)
	}
	return atLeast(*w.level, Medium)
}

// toolFields are the fields of an input by their exact names, because the CLI distinguishes
// case: Command is not command.
type toolFields map[string]json.RawMessage

func fieldsOf(input json.RawMessage) (toolFields, bool) {
	var in toolFields
	return in, json.Unmarshal(input, &in) == nil
}

// CommandOf returns the command in an input of Bash, "" when there is none.
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

// decode stores the value of a field. A missing field changes nothing.
func (in toolFields) decode(name string, to any) error {
	value, there := in[name]
	if !there {
		return nil
	}
	return json.Unmarshal(value, to)
}

// isSet reports whether a field has a value other than false, null or "".
func (in toolFields) isSet(name string) bool {
	v := string(in[name])
	return v != "" && v != "false" && v != "null"
}

func (in toolFields) readLevel(p Place, name string) Level {
	file, ok := in.text(name)
	if !ok || file == "" {
		return Medium
	}
	return p.ReadLevel(file)
}

// folder returns the level of the folder where a search starts, the session's by default.
func (in toolFields) folder(p Place) Level {
	dir := p.Dir
	if _, there := in["path"]; there {
		named, ok := in.text("path")
		if !ok || named == "" {
			return Medium
		}
		dir = named
	}
	if slices.ContainsFunc(p.private(), func(private string) bool { return within(private, join(p.Dir, dir)) }) {
		return Medium
	}
	return p.ReadLevel(dir)
}

// search checks the pattern and the files of Grep. A search through a whole folder also reads
// the secrets in it, so its pattern must not match them.
func (in toolFields) search(p Place) Level {
	level := in.pattern(p, "glob")
	glob, _ := in.text("glob")
	kind, _ := in.text("type")
	// A file that matches the glob is searched whatever its type is.
	if (glob != "" || kind != "") && (glob == "" || sourceGlob(glob)) && (kind == "" || sourceTypes[kind]) {
		return level
	}
	for _, more := range []string{"multiline", "context", "-A", "-B", "-C"} {
		if in.isSet(more) {
			return Medium
		}
	}
	if wanted, ok := in.text("pattern"); !ok || !needsWord(wanted) {
		return Medium
	}
	return level
}

// pattern checks which files the pattern of a search may match.
func (in toolFields) pattern(p Place, name string) Level {
	if _, there := in[name]; !there {
		return Low
	}
	pattern, ok := in.text(name)
	switch {
	case !ok, strings.Contains(pattern, ".."), strings.Contains(pattern, "{/"), strings.Contains(pattern, ",/"), strings.Contains(pattern, "~"):
		return Medium
	}
	// ".env*" matches ".env", too.
	at := Place{Dir: p.Dir, Private: p.Private}
	if start := strings.TrimRight(pattern, "*?"); start != "" && at.ReadLevel(start) != Low {
		return Medium
	}
	return at.ReadLevel(pattern)
}
