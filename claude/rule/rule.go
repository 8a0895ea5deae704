// Package rule parses the permission rules of the CLI, such as "Bash(git *)", and determines
// which tool calls a rule covers. No other package knows the syntax of rules. The results
// only explain rules to people; what runs is decided by the CLI alone.
//
// It implements the observed behavior of CLI 2.1.197 and 2.1.329, and that of 2.1.329 where
// they differ.
package rule

import (
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
)

// Rule is one permission rule.
type Rule struct {
	Tool    string // such as Bash, or mcp__server__tool
	Content string // text in the parentheses, "" for a rule that covers every call
}

// Parse parses a rule as settings files contain it: Tool or Tool(content), in which a
// backslash escapes parentheses and backslashes. Invalid text becomes a rule for a tool that
// does not exist, which covers nothing.
func Parse(text string) Rule {
	open := indexUnescaped(text, '(')
	if open <= 0 || text[len(text)-1] != ')' || isEscaped(text, len(text)-1) {
		return Rule{Tool: text}
	}
	content := text[open+1 : len(text)-1]
	if content == "*" {
		content = ""
	}
	return Rule{Tool: text[:open], Content: unescape.Replace(content)}
}

// String returns the rule as settings files contain it. [Parse] is the inverse.
func (r Rule) String() string {
	if r.Content == "" {
		return r.Tool
	}
	return r.Tool + "(" + escape.Replace(r.Content) + ")"
}

var (
	unescape = strings.NewReplacer(`\(`, `(`, `\)`, `)`, `\\`, `\`)
	escape   = strings.NewReplacer(`(`, `\(`, `)`, `\)`, `\`, `\\`)
)

// isEscaped reports whether an odd number of backslashes precedes text[at].
func isEscaped(text string, at int) bool {
	n := 0
	for at-n > 0 && text[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// indexUnescaped returns the index of the first c without a backslash before it, or -1.
func indexUnescaped(text string, c byte) int {
	for i := range len(text) {
		if text[i] == c && !isEscaped(text, i) {
			return i
		}
	}
	return -1
}

// Call is a tool call that a rule may cover.
type Call struct {
	Tool  string
	Input json.RawMessage
	Dir   string // absolute path of the folder that Claude works in
	Home  string // of the CLI's user
	// Commands are the simple commands of the command line, as a shell parses it. If nil,
	// Covers splits the command line at its operators.
	Commands []string
}

// The tools that rules for Edit, Read and Agent cover.
var (
	editTools  = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
	readTools  = []string{"Read", "Grep", "Glob", "LS", "NotebookRead"}
	agentTools = []string{"Agent", "Task"}
)

// Edits reports whether rules for Edit cover a tool.
func Edits(tool string) bool { return slices.Contains(editTools, tool) }

// Reads reports whether rules for Read cover a tool.
func Reads(tool string) bool { return slices.Contains(readTools, tool) }

// AppliesTo reports whether the rule can cover calls of a tool. Edit applies to every tool
// that edits files and Read to every one that reads.
func (r Rule) AppliesTo(tool string) bool {
	switch {
	case r.Tool == tool:
		return true
	case r.Tool == "Edit":
		return Edits(tool)
	case r.Tool == "Read":
		return Reads(tool)
	case slices.Contains(agentTools, r.Tool):
		return slices.Contains(agentTools, tool)
	case strings.HasPrefix(r.Tool, "mcp__"):
		// mcp__server and mcp__server__* cover all tools of a server.
		_, name, named := strings.Cut(r.Tool[len("mcp__"):], "__")
		if !named {
			return strings.HasPrefix(tool, r.Tool+"__")
		}
		return strings.Contains(name, "*") && Glob(r.Tool, tool)
	}
	return false
}

// Covers reports whether the rule covers a call or, for a compound command, part of it.
func (r Rule) Covers(c Call) bool {
	if !r.AppliesTo(c.Tool) || r.Content == "" {
		return r.AppliesTo(c.Tool)
	}
	// A map, because the names in the tags of a struct match in any case, and the CLI's do not.
	var in map[string]json.RawMessage
	valid := json.Unmarshal(c.Input, &in) == nil
	text := func(name string) (s string) {
		if value, there := in[name]; there {
			valid = json.Unmarshal(value, &s) == nil && valid
		}
		return s
	}
	command, address, subagent, skill := text("command"), text("url"), text("subagent_type"), text("skill")
	files := []string{text("file_path"), text("notebook_path"), text("path")}
	if !valid && c.Commands == nil {
		return false
	}
	switch {
	case c.Tool == "Bash":
		commands := c.Commands
		if commands == nil {
			commands = splitCommands(command)
		}
		return slices.ContainsFunc(commands, r.CoversCommand)
	case c.Tool == "WebFetch":
		u, err := url.Parse(address)
		host, isDomain := strings.CutPrefix(r.Content, "domain:")
		return err == nil && isDomain && u.Hostname() != "" && Glob(strings.ToLower(host), strings.ToLower(u.Hostname()))
	case Edits(c.Tool) || Reads(c.Tool):
		for _, file := range files {
			if file != "" {
				return r.coversFile(c, file)
			}
		}
		return r.coversFile(c, c.Dir)
	case subagent != "":
		return subagent == r.Content
	case skill != "":
		prefix, isPrefix := strings.CutSuffix(r.Content, ":*")
		return skill == r.Content || isPrefix && (skill == prefix || strings.HasPrefix(skill, prefix+" "))
	}
	return false
}

// CoversCommand reports whether the content of a rule for Bash, such as "git status", "git
// log:*" or "git * main", covers one simple command. Repeated blanks count as one and
// comments are ignored. Like the CLI, it looks through some programs that run another.
func (r Rule) CoversCommand(command string) bool {
	if r.Content == "" {
		return true
	}
	words := splitWords(command)
	for {
		if r.coversText(strings.Join(words, " ")) {
			return true
		}
		inner := unwrapCommand(words)
		if inner == nil {
			return false
		}
		words = inner
	}
}

func (r Rule) coversText(command string) bool {
	if prefix, ok := strings.CutSuffix(r.Content, ":*"); ok {
		// A prefix is literal, including any star.
		return prefix != "" && (command == prefix || strings.HasPrefix(command, prefix+" "))
	}
	if prefix, ok := strings.CutSuffix(r.Content, " *"); ok && !strings.Contains(prefix, "*") && command == prefix {
		return true // the star also matches the absence of arguments
	}
	return Glob(r.Content, command)
}

// unwrapCommand returns the command that a wrapper runs, or nil if the CLI does not look
// through the program.
func unwrapCommand(words []string) []string {
	if len(words) < 2 {
		return nil
	}
	rest := words[1:]
	options := func(withValue ...string) {
		for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
			skip := 1
			if slices.Contains(withValue, rest[0]) {
				skip = 2
			}
			rest = rest[min(skip, len(rest)):]
		}
	}
	switch words[0] {
	case "time", "nohup", "command":
	case "nice":
		options("-n", "--adjustment")
	case "stdbuf":
		options("-i", "-o", "-e")
	case "timeout":
		options("-k", "-s", "--kill-after", "--signal")
		rest = rest[min(1, len(rest)):] // the duration
	case "xargs": // only without options
	default:
		return nil
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return nil
	}
	return rest
}

// splitWords splits a simple command at blanks outside quotes and drops a comment. It keeps
// the quotes, because rules are compared with the text as written.
func splitWords(command string) (words []string) {
	scanParts(command, func(word string, _ byte) bool {
		if strings.HasPrefix(word, "#") {
			return false
		}
		words = append(words, word)
		return true
	}, " \t\r\n")
	return words
}

// splitCommands splits a command line into simple commands. Of the shell's syntax it
// understands only quotes: missing a use of a rule is better than reporting a wrong one.
func splitCommands(line string) (commands []string) {
	scanParts(line, func(part string, _ byte) bool {
		if part = strings.TrimSpace(part); part != "" {
			commands = append(commands, part)
		}
		return true
	}, "&|;\n")
	return commands
}

// scanParts calls each with every part between separators outside quotes, and the separator
// after it, until each returns false.
func scanParts(text string, each func(part string, end byte) bool, separators string) {
	var quote byte
	from := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(separators, c) >= 0:
			if i > from && !each(text[from:i], c) {
				return
			}
			from = i + 1
		}
	}
	if from < len(text) {
		each(text[from:], 0)
	}
}

// coversFile matches a file against a pattern of .gitignore syntax: //x is absolute, ~/x is
// below the home folder, /x and ./x are below the session's folder. Any other pattern is below
// the session's folder too: directly if it contains a slash before its end, else at any depth.
// A pattern that matches a folder covers its contents. As in the CLI, case does not matter.
func (r Rule) coversFile(c Call, file string) bool {
	if !path.IsAbs(file) {
		file = path.Join(c.Dir, file)
	}
	file = path.Clean(file)
	pattern, root, anchored := r.Content, c.Dir, true
	switch {
	case strings.HasPrefix(pattern, "//"):
		pattern, root = pattern[2:], "/"
	case strings.HasPrefix(pattern, "~/"):
		pattern, root = pattern[2:], c.Home
	case strings.HasPrefix(pattern, "/"):
		pattern = pattern[1:]
	default:
		pattern = strings.TrimPrefix(pattern, "./")
		anchored = strings.Contains(strings.TrimSuffix(pattern, "/"), "/")
	}
	inside, ok := strings.CutPrefix(strings.TrimSuffix(file, "/")+"/", strings.TrimSuffix(root, "/")+"/")
	if !ok || root == "" {
		return false
	}
	pattern, folder := strings.CutSuffix(pattern, "/")
	if pattern == "" || pattern == "." || strings.HasPrefix(pattern, "!") || strings.HasPrefix(pattern, "#") {
		return false
	}
	elements := strings.Split(strings.ToLower(strings.TrimSuffix(pattern, "/**")), "/")
	if !anchored {
		elements = append([]string{"**"}, elements...)
	}
	if folder {
		elements = append(elements, "*")
	}
	inside = strings.TrimSuffix(inside, "/")
	var names []string
	if inside != "" {
		names = strings.Split(strings.ToLower(inside), "/")
	}
	return Path(append(elements, "**"), names)
}
