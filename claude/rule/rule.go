// Package rule reads the permission rules of the CLI, such as "Bash(git *)", and
// says which tool calls one of them covers. It is the only place that knows their
// language. The CLI alone decides what runs: this is how people are told what a
// rule is good for.
//
// The facts were seen with the CLI 2.1.197 and 2.1.329; where the two differ, this
// package does as 2.1.329.
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
	Content string // what stands in the brackets, "" when the rule is about every call
}

// Parse reads a rule as settings files hold it: Tool, or Tool(content), in which a
// backslash takes the meaning from brackets and backslashes. What cannot be one is
// a tool that does not exist, and covers nothing.
func Parse(text string) Rule {
	open := unescaped(text, '(')
	if open <= 0 || text[len(text)-1] != ')' || escaped(text, len(text)-1) {
		return Rule{Tool: text}
	}
	content := text[open+1 : len(text)-1]
	if content == "*" {
		content = ""
	}
	return Rule{Tool: text[:open], Content: unescape.Replace(content)}
}

// String returns the rule as settings files hold it, so that Parse reads the same.
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

// escaped reports whether an odd number of backslashes stands before text[at].
func escaped(text string, at int) bool {
	n := 0
	for at-n > 0 && text[at-n-1] == '\\' {
		n++
	}
	return n%2 == 1
}

// unescaped is where a character first stands without a backslash, -1 for nowhere.
func unescaped(text string, c byte) int {
	for i := range len(text) {
		if text[i] == c && !escaped(text, i) {
			return i
		}
	}
	return -1
}

// Call is a tool call that may be covered.
type Call struct {
	Tool  string
	Input json.RawMessage
	Dir   string // absolute path of the folder that Claude works in
	Home  string // of the person whose CLI it is
	// Commands are the simple commands of a command line, as a shell reads it; nil to
	// have it split at its operators.
	Commands []string
}

// The tools that rules for Edit and Read are about.
var (
	editTools  = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
	readTools  = []string{"Read", "Grep", "Glob", "LS", "NotebookRead"}
	agentTools = []string{"Agent", "Task"}
)

// Edits reports whether a tool is one of those that write files, and that rules
// for Edit are about.
func Edits(tool string) bool { return slices.Contains(editTools, tool) }

// Reads reports whether a tool is one of those that read files, and that rules for
// Read are about.
func Reads(tool string) bool { return slices.Contains(readTools, tool) }

// About reports whether the rule is about calls of a tool, with some input. Edit
// stands for every tool that edits and Read for every one that reads.
func (r Rule) About(tool string) bool {
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
		// mcp__server and mcp__server__* are all tools of a server.
		_, name, named := strings.Cut(r.Tool[len("mcp__"):], "__")
		if !named {
			return strings.HasPrefix(tool, r.Tool+"__")
		}
		return strings.Contains(name, "*") && Glob(r.Tool, tool)
	}
	return false
}

// Covers reports whether a call, or a part of a compound command, is one that the
// rule is about.
func (r Rule) Covers(c Call) bool {
	if !r.About(c.Tool) || r.Content == "" {
		return r.About(c.Tool)
	}
	var in struct {
		Command      string `json:"command"`
		URL          string `json:"url"`
		FilePath     string `json:"file_path"`
		NotebookPath string `json:"notebook_path"`
		Path         string `json:"path"`
		SubagentType string `json:"subagent_type"`
		Skill        string `json:"skill"`
	}
	if json.Unmarshal(c.Input, &in) != nil && c.Commands == nil {
		return false
	}
	switch {
	case c.Tool == "Bash":
		commands := c.Commands
		if commands == nil {
			commands = split(in.Command)
		}
		return slices.ContainsFunc(commands, r.CoversCommand)
	case c.Tool == "WebFetch":
		u, err := url.Parse(in.URL)
		host, isDomain := strings.CutPrefix(r.Content, "domain:")
		return err == nil && isDomain && u.Hostname() != "" && Glob(strings.ToLower(host), strings.ToLower(u.Hostname()))
	case Edits(c.Tool) || Reads(c.Tool):
		for _, file := range []string{in.FilePath, in.NotebookPath, in.Path} {
			if file != "" {
				return r.coversFile(c, file)
			}
		}
		return r.coversFile(c, c.Dir)
	case in.SubagentType != "":
		return in.SubagentType == r.Content
	case in.Skill != "":
		prefix, isPrefix := strings.CutSuffix(r.Content, ":*")
		return in.Skill == r.Content || isPrefix && (in.Skill == prefix || strings.HasPrefix(in.Skill, prefix+" "))
	}
	return false
}

// CoversCommand reports whether the content of a rule for Bash, such as "git
// status", "git log:*" or "git * main", covers one simple command. Blanks between
// words count as one, a comment is none of it, and the CLI looks through some
// programs that run another.
func (r Rule) CoversCommand(command string) bool {
	if r.Content == "" {
		return true
	}
	words := wordsOf(command)
	for {
		if r.coversText(strings.Join(words, " ")) {
			return true
		}
		inner := unwrap(words)
		if inner == nil {
			return false
		}
		words = inner
	}
}

func (r Rule) coversText(command string) bool {
	if prefix, ok := strings.CutSuffix(r.Content, ":*"); ok {
		// The prefix is taken as it stands, a star in it too.
		return prefix != "" && (command == prefix || strings.HasPrefix(command, prefix+" "))
	}
	if prefix, ok := strings.CutSuffix(r.Content, " *"); ok && !strings.Contains(prefix, "*") && command == prefix {
		return true // no argument is fine, too
	}
	return Glob(r.Content, command)
}

// unwrap returns what a program that runs another would run, nil when it is none
// through which the CLI looks.
func unwrap(words []string) []string {
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
		rest = rest[min(1, len(rest)):] // for how long
	case "xargs": // without options
	default:
		return nil
	}
	if len(rest) == 0 || strings.HasPrefix(rest[0], "-") {
		return nil
	}
	return rest
}

// wordsOf splits a simple command at blanks outside of quotes, and leaves out a
// comment. Quotes stay: rules are compared with what is written.
func wordsOf(command string) (words []string) {
	scan(command, func(word string, _ byte) bool {
		if strings.HasPrefix(word, "#") {
			return false
		}
		words = append(words, word)
		return true
	}, " \t\r\n")
	return words
}

// split splits a command line into its simple commands. It knows quotes and no
// more of the shell: a use that is overlooked is better than one that was none.
func split(line string) (commands []string) {
	scan(line, func(part string, _ byte) bool {
		if part = strings.TrimSpace(part); part != "" {
			commands = append(commands, part)
		}
		return true
	}, "&|;\n")
	return commands
}

// scan gives what stands between separators outside of quotes, with the separator
// after it, until each says no.
func scan(text string, each func(part string, end byte) bool, separators string) {
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

// coversFile compares a file with a pattern as in a .gitignore: //x is absolute,
// ~/x below the home folder, /x and ./x below the folder of the session, and x too
// unless it has no other slash: then it is anywhere below. A pattern that fits a
// folder covers what is in it. Case does not count, as it does not for the CLI.
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
