package review

import (
	"encoding/json"
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
// folder, as far as its input alone says. Low is what was read whole and is of the
// harmless sort: a command, or a tool of Claude Code that looks into that folder
// and at nothing that holds secrets. Whatever changes files or is not known here is
// at least medium, for what it does is not in its input.
func ToolLevel(tool string, input json.RawMessage, cwd string) Level {
	if len(input) > maxInput || !strings.HasPrefix(cwd, "/") {
		return Medium
	}
	in, ok := fieldsOf(input)
	if !ok {
		return Medium
	}
	switch tool {
	case "Bash":
		command, ok := in.text("command")
		if !ok || len(command) > maxFormCommand || brackets(command) > maxFormBrackets {
			return Medium
		}
		level := ReadCommand(command, cwd).Level
		if in.set("run_in_background") || in.set("dangerouslyDisableSandbox") {
			level = atLeast(level, Medium)
		}
		return level
	case "Read":
		return in.lookedAt(cwd, "file_path")
	case "NotebookRead":
		return in.lookedAt(cwd, "notebook_path")
	case "LS":
		return in.lookedAt(cwd, "path")
	case "Grep":
		return atLeast(in.folder(cwd), in.pattern(cwd, "glob"))
	case "Glob":
		return atLeast(in.folder(cwd), in.pattern(cwd, "pattern"))
	}
	if file := FilePath(tool, input); file != "" {
		return atLeast(Medium, PathLevel(file, cwd))
	}
	return Medium
}

// LookLevel is how much harm reading a file or a folder can do, by where it lies.
func LookLevel(file, cwd string) Level {
	w := newWalker(cwd)
	w.hidden(file)
	w.reads(field{text: file})
	if !w.inFolder(w.resolve(file)) {
		return atLeast(*w.level, Medium)
	}
	return atLeast(*w.level, Low)
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

func (in toolFields) lookedAt(cwd, name string) Level {
	file, ok := in.text(name)
	if !ok || file == "" {
		return Medium
	}
	return LookLevel(file, cwd)
}

// folder is where a search begins: the folder of the session when it is not said.
func (in toolFields) folder(cwd string) Level {
	if _, there := in["path"]; !there {
		return Low
	}
	return in.lookedAt(cwd, "path")
}

// pattern holds the names that a search is for against where they may lead.
func (in toolFields) pattern(cwd, name string) Level {
	if _, there := in[name]; !there {
		return Low
	}
	pattern, ok := in.text(name)
	switch {
	case !ok, strings.Contains(pattern, ".."), strings.Contains(pattern, "{/"), strings.Contains(pattern, ",/"), strings.Contains(pattern, "~"):
		return Medium
	}
	// ".env*" is for ".env", too.
	return atLeast(LookLevel(pattern, cwd), LookLevel(strings.TrimRight(pattern, "*?"), cwd))
}
