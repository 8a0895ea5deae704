package folder

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// active finds, in an agent, a command or a skill, what runs or permits something:
// keys of the front matter, and commands that the CLI runs to fill in a text.
var active = regexp.MustCompile(`(?i)hooks|mcp_?servers|permission_?mode|allowed[-_]?tools|^\s*"?tools|shell|plugin`)

// prose looks at the files of agents, commands or skills in a folder.
func (r *reader) prose(kind Kind, dir string) {
	if r.isOwn(dir) {
		return
	}
	files := 0
	if !r.walk(kind, dir, 0, &files) {
		r.add(Item{Kind: Unreadable, Danger: Changes, File: dir, Text: "It holds more files than can be looked at."})
	}
}

// walk reports whether it could look at everything.
func (r *reader) walk(kind Kind, dir string, depth int, files *int) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.check(err)
		return true // there is none, or the CLI, who is no better than we, cannot read it either
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path) // the CLI follows links
		if err != nil {
			r.check(err)
			continue
		}
		if !info.IsDir() && !strings.EqualFold(filepath.Ext(path), ".md") {
			continue // what a skill brings along
		}
		if *files++; *files > maxFiles {
			return false
		}
		switch {
		case info.IsDir() && kind == Skill && r.exists(filepath.Join(dir, "SKILL.md")): // of the same skill
		case info.IsDir():
			if depth == maxDepth || !r.walk(kind, path, depth+1, files) {
				return false
			}
		case kind == Skill && !strings.EqualFold(e.Name(), "SKILL.md"):
		default:
			r.file(kind, path)
		}
	}
	return true
}

func (r *reader) file(kind Kind, path string) {
	data, err := r.read(path)
	if err != nil {
		return
	}
	head, body := frontMatter(string(data))
	var lines []string
	if strings.Contains(head, `\`) { // an escape can spell any key
		lines = append(lines, head)
	} else {
		for line := range strings.Lines(head) {
			if active.MatchString(line) {
				lines = append(lines, head)
				break
			}
		}
	}
	for line := range strings.Lines(body) {
		if strings.Contains(line, "!`") || strings.Contains(line, "```!") {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		if len(r.told) < maxItems {
			r.told = append(r.told, path)
		}
		return
	}
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if kind == Skill {
		name = filepath.Base(filepath.Dir(path))
	}
	// All of it counts: what runs may stand on the next line.
	r.add(Item{
		Kind: kind, Danger: Runs, File: path, Name: name,
		Text: strings.TrimSpace(strings.Join(lines, "\n")), Hash: hashOf(data),
	})
}

// frontMatter splits the YAML at the head of a file from the rest.
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
