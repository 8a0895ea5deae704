// Package rule reads the permission rules of the CLI, such as "Bash(git *)", and
// says which tool calls one of them covers. The CLI alone decides what runs: this
// is how people are told what a rule was good for.
package rule

import (
	"encoding/json"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Rule is one permission rule.
type Rule struct {
	Tool    string // such as Bash, or mcp__server__tool
	Content string // what stands in the brackets, "" when the rule is about every call
}

// Parse reads a rule as settings files hold it. What cannot be one is a tool that
// does not exist, and covers nothing.
func Parse(text string) Rule {
	tool, content, found := strings.Cut(text, "(")
	if !found || !strings.HasSuffix(content, ")") {
		return Rule{Tool: text}
	}
	content = strings.TrimSuffix(content, ")")
	if content == "*" {
		content = ""
	}
	return Rule{Tool: tool, Content: content}
}

// Call is a tool call that may be covered.
type Call struct {
	Tool  string
	Input json.RawMessage
	Dir   string // absolute path of the folder that Claude works in
	Home  string // of the person whose CLI it is
}

// The tools that rules for Edit and Read are about.
var (
	editTools = []string{"Edit", "Write", "MultiEdit", "NotebookEdit"}
	readTools = []string{"Read", "Grep", "Glob", "LS"}
)

// Covers reports whether a call, or a part of a compound command, is one that the
// rule is about.
func (r Rule) Covers(c Call) bool {
	if strings.HasPrefix(r.Tool, "mcp__") {
		server := strings.TrimSuffix(strings.TrimSuffix(r.Tool, "*"), "__")
		return c.Tool == r.Tool || strings.HasPrefix(c.Tool, server+"__") && strings.Count(server, "__") == 1
	}
	about := r.Tool == c.Tool || r.Tool == "Edit" && slices.Contains(editTools, c.Tool) || r.Tool == "Read" && slices.Contains(readTools, c.Tool) ||
		r.Tool == "Agent" && c.Tool == "Task" || r.Tool == "Task" && c.Tool == "Agent"
	if !about || r.Content == "" {
		return about
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
	if json.Unmarshal(c.Input, &in) != nil {
		return false
	}
	switch {
	case c.Tool == "Bash":
		return slices.ContainsFunc(commands(in.Command), r.coversCommand)
	case c.Tool == "WebFetch":
		u, err := url.Parse(in.URL)
		host, isDomain := strings.CutPrefix(r.Content, "domain:")
		return err == nil && isDomain && glob(strings.ToLower(host), strings.ToLower(u.Hostname()))
	case slices.Contains(editTools, c.Tool) || slices.Contains(readTools, c.Tool):
		for _, file := range []string{in.FilePath, in.NotebookPath, in.Path} {
			if file != "" {
				return r.coversFile(c, file)
			}
		}
		return r.coversFile(c, c.Dir)
	case in.SubagentType != "":
		return in.SubagentType == r.Content
	case in.Skill != "":
		return in.Skill == r.Content
	}
	return false
}

// coversCommand holds one simple command against "git status", "git log:*" or
// "git * main".
func (r Rule) coversCommand(command string) bool {
	pattern := r.Content
	if prefix, ok := strings.CutSuffix(pattern, ":*"); ok {
		return command == prefix || strings.HasPrefix(command, prefix+" ")
	}
	if prefix, ok := strings.CutSuffix(pattern, " *"); ok && glob(prefix, command) {
		return true // no argument is fine, too
	}
	return glob(pattern, command)
}

// commands splits a command line into its simple commands. It knows quotes and no
// more of the shell: a use that is overlooked is better than one that was none.
func commands(line string) []string {
	var all []string
	var quote rune
	escaped := false
	from := 0
	part := func(to int) {
		if s := strings.TrimSpace(line[from:to]); s != "" {
			all = append(all, s)
		}
	}
	for i, c := range line {
		switch {
		case escaped:
			escaped = false
		case c == '\\' && quote != '\'':
			escaped = true
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.ContainsRune("&|;\n", c):
			part(i)
			from = i + 1
		}
	}
	part(len(line))
	return all
}

// coversFile holds a file against a pattern as in a .gitignore: //x is absolute,
// ~/x below the home folder, /x and x below the folder of the session.
func (r Rule) coversFile(c Call, file string) bool {
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Dir, file)
	}
	file = path.Clean(file)
	pattern := r.Content
	switch {
	case strings.HasPrefix(pattern, "//"):
		pattern = pattern[1:]
	case strings.HasPrefix(pattern, "~/"):
		pattern = path.Join(c.Home, pattern[2:])
	default:
		pattern = path.Join(c.Dir, strings.TrimPrefix(pattern, "./"))
	}
	return files(strings.Split(pattern, "/"), strings.Split(file, "/"))
}

// files matches path elements; ** is any number of them, and a pattern that ends
// covers what is below it.
func files(pattern, file []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := range len(file) + 1 {
				if files(pattern[1:], file[i:]) {
					return true
				}
			}
			return false
		}
		if len(file) == 0 || !glob(pattern[0], file[0]) {
			return false
		}
		pattern, file = pattern[1:], file[1:]
	}
	return true
}

// glob matches a text; * is any number of characters, all others are themselves.
func glob(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return strings.HasSuffix(text, parts[len(parts)-1])
}
