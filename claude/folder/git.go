package folder

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gitFolder is the repository that a folder belongs to, as far as there is one.
type gitFolder struct {
	root   string // of the work tree
	dir    string // .git, or what it names
	common string // dir that worktrees share; dir itself for the main one
	loose  []string
}

// gitOf finds the repository as Git does: the nearest .git upwards. A folder that is
// a repository itself counts too, whatever it is called: it can be part of what was
// cloned.
func gitOf(dir string) gitFolder {
	var g gitFolder
	for _, parent := range upwards(dir) {
		if exists(filepath.Join(parent, "HEAD")) && exists(filepath.Join(parent, "objects")) && exists(filepath.Join(parent, "refs")) {
			g.loose = append(g.loose, parent)
		}
		link := filepath.Join(parent, ".git")
		info, err := os.Stat(link)
		if err != nil {
			continue
		}
		g.root, g.dir = parent, link
		if !info.IsDir() {
			data, err := contents(link)
			to, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
			if err != nil || !ok {
				continue
			}
			if g.dir = strings.TrimSpace(to); !filepath.IsAbs(g.dir) {
				g.dir = filepath.Join(parent, g.dir)
			}
		}
		g.common = g.dir
		if data, err := contents(filepath.Join(g.dir, "commondir")); err == nil {
			if g.common = strings.TrimSpace(string(data)); !filepath.IsAbs(g.common) {
				g.common = filepath.Join(g.dir, g.common)
			}
		}
		return g
	}
	return g
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// roots are the root of the work tree and that of the main one.
func (g gitFolder) roots() []string {
	if g.root == "" {
		return nil
	}
	main := g.root
	if filepath.Base(g.common) == ".git" {
		main = filepath.Dir(g.common)
	}
	return unique([]string{g.root, main})
}

// configs are the files of Git's configuration that come with the repository, its
// submodules included.
func (g gitFolder) configs() []string {
	var files []string
	for _, dir := range append(slices.Clone(g.loose), g.dir, g.common) {
		if dir != "" {
			files = append(files, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree"))
		}
	}
	if g.common != "" {
		files = append(files, modules(filepath.Join(g.common, "modules"), 0)...)
	}
	return unique(files)
}

// modules finds the configurations of submodules, whose names may have slashes.
func modules(dir string, depth int) []string {
	const most = 200
	entries, err := os.ReadDir(dir)
	if err != nil || depth > 4 {
		return nil
	}
	var files []string
	for _, e := range entries {
		if !e.IsDir() || len(files) > most {
			continue
		}
		below := filepath.Join(dir, e.Name())
		if exists(filepath.Join(below, "config")) {
			files = append(files, filepath.Join(below, "config"), filepath.Join(below, "config.worktree"))
		} else {
			files = append(files, modules(below, depth+1)...)
		}
	}
	return files
}

// gitRuns matches the keys, in lower case but for their middle part, whose values
// Git runs, or that bring such values from elsewhere.
var gitRuns = regexp.MustCompile(`^(core\.(fsmonitor|sshcommand|hookspath|pager|editor|askpass|gitproxy|alternaterefscommand)|` +
	`filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|` +
	`gpg\..*|log\.showsignature|include\.path|includeif\..*\.path|credential\.(.*\.)?helper|sequence\.editor|` +
	`difftool\..*|mergetool\..*|pager\..*|remote\..*\.(vcs|uploadpack|receivepack)|protocol\.ext\.allow|hook\..*|uploadpack\..*|interactive\.difffilter)$`)

// gitStubborn matches those that cannot be overridden from outside.
var gitStubborn = regexp.MustCompile(`^(include\.path|includeif\..*\.path)$`)

func (r *reader) git(file string) {
	data, err := r.read(file)
	if err != nil {
		r.stubborn = r.stubborn || err != errNone
		return
	}
	for _, e := range gitEntries(string(data)) {
		if e.key == "core.fsmonitor" && isBoolean(e.value) {
			continue // Git's own
		}
		alias := strings.HasPrefix(e.key, "alias.") && strings.HasPrefix(strings.TrimSpace(e.value), "!")
		if !alias && !gitRuns.MatchString(e.key) {
			continue
		}
		r.stubborn = r.stubborn || gitStubborn.MatchString(e.key)
		r.add(Item{Kind: Git, Danger: Runs, File: file, Name: e.key, Text: e.value})
	}
}

func isBoolean(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	return false
}

type gitEntry struct{ key, value string }

// gitEntries reads a file of Git's configuration. It takes more for an entry than
// Git does, never less: what stands in a comment's place is looked at too.
func gitEntries(text string) []gitEntry {
	var entries []gitEntry
	section := ""
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "")
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		if strings.HasPrefix(line, "[") {
			head, rest, ok := cutSection(line[1:])
			if !ok {
				continue
			}
			section, line = head, strings.TrimSpace(rest)
		}
		name, value, _ := strings.Cut(line, "=")
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" || section == "" {
			continue
		}
		entries = append(entries, gitEntry{section + "." + name, strings.Trim(strings.TrimSpace(value), `"`)})
	}
	return entries
}

// cutSection reads `core]` or `filter "x"]`, and what follows on the line.
func cutSection(text string) (section, rest string, ok bool) {
	var name strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' && i+1 < len(text):
			i++
			name.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
		case c == ']' && !quoted:
			return strings.TrimRight(name.String(), " \t."), text[i+1:], true
		case !quoted && (c == ' ' || c == '\t'):
			if s := name.String(); s != "" && !strings.HasSuffix(s, ".") {
				name.WriteByte('.')
			}
		case !quoted && 'A' <= c && c <= 'Z':
			name.WriteByte(c + 'a' - 'A')
		default:
			name.WriteByte(c)
		}
	}
	return "", "", false
}

// LeaveOut returns variables under which Git runs nothing of what was found when the
// CLI itself asks it for the state of a repository, next to the flags that leave out
// the project's settings. It is false when some of it cannot be left out.
func (f Found) LeaveOut() (variables map[string]string, ok bool) {
	overrides := []gitEntry{{"core.fsmonitor", "false"}, {"log.showSignature", "false"}}
	for _, i := range f.Items {
		if i.Kind == Git && strings.HasPrefix(i.Name, "filter.") {
			overrides = append(overrides, gitEntry{i.Name, ""})
		}
	}
	variables = map[string]string{"GIT_CONFIG_COUNT": strconv.Itoa(len(overrides))}
	for i, o := range overrides {
		variables["GIT_CONFIG_KEY_"+strconv.Itoa(i)], variables["GIT_CONFIG_VALUE_"+strconv.Itoa(i)] = o.key, o.value
	}
	return variables, !f.Stubborn
}
