package folder

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// gitFolder is the repository that a folder belongs to. It is empty if there is none.
type gitFolder struct {
	root   string   // of the worktree
	dir    string   // .git, or the folder that it names
	common string   // the folder that worktrees share; dir itself for the main worktree
	loose  []string // folders from dir upwards that look like bare repositories
}

// findRepository finds the repository as Git does: the nearest .git in dir or a parent. It also
// records bare repositories, which may have any name: a clone may contain one.
func (r *reader) findRepository(dir string) gitFolder {
	var g gitFolder
	for _, parent := range upwards(dir) {
		if r.looksBare(parent) {
			g.loose = append(g.loose, parent)
		}
		link := filepath.Join(parent, ".git")
		if !r.exists(link) {
			continue
		}
		g.root, g.dir = parent, link
		if found, common, ok := r.gitDirOf(link); ok {
			g.dir, g.common = found, common
			return g
		}
	}
	return g
}

// looksBare reports whether Git would treat a folder as a bare repository.
func (r *reader) looksBare(dir string) bool {
	return r.exists(filepath.Join(dir, "HEAD")) && r.exists(filepath.Join(dir, "objects")) && r.exists(filepath.Join(dir, "refs"))
}

// gitDirOf returns the folder that a .git is or names, and the folder that it shares with other
// worktrees, which may be the same. ok is false for a file that names no folder.
func (r *reader) gitDirOf(link string) (dir, common string, ok bool) {
	info, err := os.Stat(link)
	if err != nil {
		r.recordTransient(err)
		return "", "", false
	}
	dir = link
	if !info.IsDir() {
		data, err := r.readGitFile(link)
		to, is := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
		if err != nil || !is {
			return "", "", false
		}
		if dir = strings.TrimSpace(to); !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(link), dir)
		}
	}
	common = dir
	if data, err := r.readGitFile(filepath.Join(dir, "commondir")); err == nil {
		if common = strings.TrimSpace(string(data)); !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
	}
	return dir, common, true
}

// readGitFile is readContents, but an unreadable file adds no item.
func (r *reader) readGitFile(file string) ([]byte, error) {
	data, err := readContents(file)
	var sentence unreadable
	if err != nil && !errors.Is(err, errNone) && !errors.As(err, &sentence) {
		r.recordTransient(err)
	}
	return data, err
}

func (r *reader) exists(path string) bool {
	_, err := os.Stat(path)
	r.recordTransient(err)
	return err == nil
}

// roots returns the root of the worktree and that of the main worktree.
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

// gitDirs returns the Git folders of the repository: that of the worktree, the shared one, those
// of submodules, and folders that look like bare repositories.
func (r *reader) gitDirs(g gitFolder) []string {
	var dirs []string
	for _, dir := range append(slices.Clone(g.loose), g.dir, g.common) {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	if g.common != "" {
		dirs = append(dirs, r.modules(filepath.Join(g.common, "modules"), 0)...)
	}
	return unique(dirs)
}

// modules finds the Git folders of submodules, whose names may contain slashes.
func (r *reader) modules(dir string, depth int) []string {
	const maxModules = 200
	entries, err := os.ReadDir(dir)
	r.recordTransient(err)
	if err != nil || depth > 4 {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if !e.IsDir() || len(dirs) > maxModules {
			continue
		}
		below := filepath.Join(dir, e.Name())
		if r.exists(filepath.Join(below, "config")) {
			dirs = append(dirs, below)
			dirs = append(dirs, r.modules(filepath.Join(below, "modules"), depth+1)...)
		} else {
			dirs = append(dirs, r.modules(below, depth+1)...)
		}
	}
	return dirs
}

// gitRuns matches keys whose values Git runs, and keys that include such values from other
// files. Keys are in lower case except for their middle part.
var gitRuns = regexp.MustCompile(`^(core\.(fsmonitor|sshcommand|hookspath|pager|editor|askpass|gitproxy|alternaterefscommand)|` +
	`filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|` +
	`gpg\..*|log\.showsignature|include\.path|includeif\..*\.path|credential\.(.*\.)?helper|sequence\.editor|` +
	`difftool\..*|mergetool\..*|guitool\..*|pager\..*|remote\..*\.(vcs|uploadpack|receivepack)|protocol\.ext\.allow|hook\..*|uploadpack\..*|interactive\.difffilter|` +
	`browser\..*|man\..*|web\.browser|help\.browser|instaweb\..*|sendemail\..*|imap\.tunnel|tar\..*\.command|trailer\..*\.(command|cmd)|` +
	`gc\.recentobjectshook|init\.templatedir|lfs\.(customtransfer|extension)\..*|receive\.fsck\.skiplist|bitmappseudomerge\..*)$`)

// gitNotOverridable matches the keys that environment variables cannot override.
var gitNotOverridable = regexp.MustCompile(`^(include\.path|includeif\..*\.path)$`)

// readGitDir reads the configuration and the hooks in a Git folder. nested means that the folder
// belongs to a repository inside another one, where Git ignores the overriding variables.
func (r *reader) readGitDir(dir string, nested bool) {
	for _, name := range []string{"config", "config.worktree"} {
		r.readGitConfig(filepath.Join(dir, name), nested, 0)
	}
	r.readGitHooks(filepath.Join(dir, "hooks"), nested)
}

// readGitHooks adds the hooks that Git runs. Git ignores files that are not executable, and the
// samples of git init.
func (r *reader) readGitHooks(dir string, nested bool) {
	if r.seen[dir] {
		return
	}
	r.seen[dir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.recordTransient(err)
		return // no hooks
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		info, err := os.Stat(file)
		r.recordTransient(err)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 || strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		data, err := r.read(file)
		if err != nil {
			continue
		}
		// Even commands that only read run this hook.
		r.cannotOverride = r.cannotOverride || nested && e.Name() == "post-index-change"
		r.add(Item{Kind: Git, Danger: Runs, File: file, Name: hookPrefix + e.Name(), Text: string(data), Hash: hashOf(data)})
	}
}

// hookPrefix starts the names of items that are Git hooks.
const hookPrefix = "hooks/"

// readGitConfig reads a file of Git's configuration and the files that it includes,
// regardless of conditions.
func (r *reader) readGitConfig(file string, nested bool, depth int) {
	const maxIncludeDepth = 10 // as in Git
	if r.seen[file] {
		return
	}
	r.seen[file] = true
	data, err := r.read(file)
	if err != nil {
		r.cannotOverride = r.cannotOverride || err != errNone
		return
	}
	for _, e := range gitEntries(string(data)) {
		if !gitRunsEntry(e) {
			continue
		}
		r.cannotOverride = r.cannotOverride || nested || gitNotOverridable.MatchString(e.key)
		r.add(Item{Kind: Git, Danger: Runs, File: file, Name: e.key, Text: e.value})
		if gitNotOverridable.MatchString(e.key) && depth < maxIncludeDepth {
			for _, path := range r.includedFiles(file, e.value) {
				r.readGitConfig(path, nested, depth+1)
			}
		}
	}
}

// gitRunsEntry reports whether an entry makes Git run something.
func gitRunsEntry(e gitEntry) bool {
	value := strings.TrimSpace(e.value)
	switch {
	case e.key == "core.fsmonitor":
		return !isBoolean(e.value) // a boolean selects Git's own monitor
	case strings.HasPrefix(e.key, "alias."),
		strings.HasPrefix(e.key, "submodule.") && strings.HasSuffix(e.key, ".update"):
		return strings.HasPrefix(value, "!")
	case strings.HasPrefix(e.key, "remote.") && (strings.HasSuffix(e.key, ".url") || strings.HasSuffix(e.key, ".pushurl")),
		strings.HasPrefix(e.key, "url."):
		return strings.Contains(e.key+value, "ext::")
	}
	return gitRuns.MatchString(e.key)
}

// includedFiles returns the files that an include may name: the whole value, and the value
// without what may be a comment.
func (r *reader) includedFiles(by, value string) []string {
	var files []string
	for _, path := range []string{value, value[:max(strings.IndexAny(value+"#", "#;"), 0)]} {
		path = strings.Trim(strings.TrimSpace(path), `"`)
		if rest, ok := strings.CutPrefix(path, "~/"); ok && r.known.Home != "" {
			path = filepath.Join(r.known.Home, rest)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(by), path)
		}
		files = append(files, filepath.Clean(path))
	}
	return unique(files)
}

func isBoolean(value string) bool {
	switch strings.ToLower(value) {
	case "", "true", "false", "yes", "no", "on", "off", "0", "1":
		return true
	}
	return false
}

type gitEntry struct{ key, value string }

// gitEntries parses a file of Git's configuration. It finds at least the entries that Git
// finds, and possibly more: it treats a comment after a value as part of the value.
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

// cutSection parses `core]` or `filter "x"]` and returns the rest of the line.
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

// disableTasks is the environment variable that disables the scheduled tasks of a folder.
const disableTasks = "CLAUDE_CODE_DISABLE_CRON"

// OverrideVariables returns environment variables that disable what the CLI's flags cannot
// disable. With them, Git runs none of the items found, even in commands that the CLI allows
// without asking, and no scheduled task of the folder starts a turn. ok is false if some items
// cannot be disabled.
func (f Found) OverrideVariables() (variables map[string]string, ok bool) {
	overrides := []gitEntry{{"core.fsmonitor", "false"}, {"log.showSignature", "false"}}
	override := func(o gitEntry) {
		if !slices.Contains(overrides, o) {
			overrides = append(overrides, o)
		}
	}
	for _, i := range f.Items {
		if i.Kind != Git {
			continue
		}
		switch {
		case strings.HasPrefix(i.Name, hookPrefix), i.Name == "core.hookspath":
			override(gitEntry{"core.hooksPath", "/dev/null"})
		case strings.HasSuffix(i.Name, ".textconv"):
			override(gitEntry{i.Name, "cat"})
		case strings.HasPrefix(i.Name, "filter."), strings.HasPrefix(i.Name, "diff."):
			override(gitEntry{i.Name, ""})
		}
	}
	variables = map[string]string{
		disableTasks:       "1",
		"GIT_CONFIG_COUNT": strconv.Itoa(len(overrides)),
	}
	for i, o := range overrides {
		variables["GIT_CONFIG_KEY_"+strconv.Itoa(i)], variables["GIT_CONFIG_VALUE_"+strconv.Itoa(i)] = o.key, o.value
	}
	return variables, !f.CannotOverride
}
