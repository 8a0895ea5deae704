package folder

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// activeParts matches keys in the front matter of an agent, a command or a skill that run or
// permit something.
var activeParts = regexp.MustCompile(`(?i)hooks|mcp_?servers|permission_?mode|allowed[-_]?tools|^\s*"?tools|shell|plugin`)

// readDefinitions reads the agents, commands or skills in a folder.
func (r *reader) readDefinitions(kind Kind, dir string) {
	if r.isUserFile(dir) {
		return
	}
	files := 0
	if !r.readDefinitionsIn(kind, dir, 0, &files) {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: dir, Text: "It holds more files than can be looked at."})
	}
}

// readDefinitionsIn reads one folder and its subfolders. It reports whether it could read
// everything.
func (r *reader) readDefinitionsIn(kind Kind, dir string, depth int, files *int) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.recordTransient(err)
		return true // missing, or the CLI cannot read it either
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // the CLI follows links
		if err != nil {
			r.recordTransient(err)
			continue
		}
		if !info.IsDir() && !strings.EqualFold(filepath.Ext(path), ".md") {
			continue // files that belong to a skill
		}
		if *files++; *files > maxFiles {
			return false
		}
		switch {
		case info.IsDir() && kind == Skill && r.exists(filepath.Join(dir, "SKILL.md")): // belongs to the same skill
		case info.IsDir():
			if depth == maxDepth || !r.readDefinitionsIn(kind, path, depth+1, files) {
				return false
			}
		case kind == Skill && !strings.EqualFold(e.Name(), "SKILL.md"):
		default:
			r.readDefinition(kind, path)
		}
	}
	return true
}

func (r *reader) readDefinition(kind Kind, path string) {
	data, err := r.read(path)
	if err != nil {
		return
	}
	head, body := frontMatter(string(data))
	var lines []string
	rest := string(data) // what is front matter here may be the text that the CLI runs
	if isActive(head) {
		lines, rest = append(lines, head), body
	}
	for line := range strings.Lines(rest) {
		if strings.Contains(line, "!`") || strings.Contains(line, "```!") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		if len(r.instructions) < maxItems {
			r.instructions = append(r.instructions, path)
		}
		return
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if kind == Skill {
		name = filepath.Base(filepath.Dir(path))
	}
	// The hash covers the whole text, because the command may be on the next line.
	r.add(Item{
		Kind: kind, Danger: Runs, File: path, Name: name,
		Text: strings.TrimSpace(strings.Join(lines, "\n")), Hash: hashOf(data),
	})
}

// isActive reports whether front matter runs or permits something.
func isActive(head string) bool {
	if strings.Contains(head, `\`) { // an escape can spell any key
		return true
	}
	for line := range strings.Lines(head) {
		if activeParts.MatchString(line) {
			return true
		}
	}
	return false
}

// frontMatter splits a file into its YAML front matter and the rest.
func frontMatter(text string) (head, body string) {
	text = strings.TrimPrefix(text, "\ufeff")
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), "---")
	if !ok {
		return "", text
	}
	head, body, ok = strings.Cut(rest, "\n---")
	if !ok {
		return rest, ""
	}
	return head, body
}
