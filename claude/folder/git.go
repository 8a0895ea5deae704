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
func (r *reader) gitOf(dir string) gitFolder {
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

// looksBare reports whether a folder is a repository itself, as Git takes one for it.
func (r *reader) looksBare(dir string) bool {
	return r.exists(filepath.Join(dir, "HEAD")) && r.exists(filepath.Join(dir, "objects")) && r.exists(filepath.Join(dir, "refs"))
}

// gitDirOf returns the folder that a .git is or names, and the one that it shares
// with other worktrees, which may be the same. It is false for a file that names none.
func (r *reader) gitDirOf(link string) (dir, common string, ok bool) {
	info, err := os.Stat(link)
	if err != nil {
		r.check(err)
		return "", "", false
	}
	dir = link
	if !info.IsDir() {
		data, err := r.contentsOfGit(link)
		to, is := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir:")
		if err != nil || !is {
			return "", "", false
		}
		if dir = strings.TrimSpace(to); !filepath.IsAbs(dir) {
			dir = filepath.Join(filepath.Dir(link), dir)
		}
	}
	common = dir
	if data, err := r.contentsOfGit(filepath.Join(dir, "commondir")); err == nil {
		if common = strings.TrimSpace(string(data)); !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
	}
	return dir, common, true
}

// contentsOfGit is contents; that a file is unreadable is no item of its own.
func (r *reader) contentsOfGit(file string) ([]byte, error) {
	data, err := contents(file)
	var sentence unreadable
	if err != nil && !errors.Is(err, errNone) && !errors.As(err, &sentence) {
		r.check(err)
	}
	return data, err
}

func (r *reader) exists(path string) bool {
	_, err := os.Stat(path)
	r.check(err)
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

// gitDirs are the folders of Git that come with the repository: that of the work tree,
// those that worktrees share, those of its submodules, and those that look like one.
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

// modules finds the folders of submodules, whose names may have slashes.
func (r *reader) modules(dir string, depth int) []string {
	const most = 200
	entries, err := os.ReadDir(dir)
	r.check(err)
	if err != nil || depth > 4 {
		return nil
	}
	var dirs []string
	for _, e := range entries {
		if !e.IsDir() || len(dirs) > most {
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

// gitRuns matches the keys, in lower case but for their middle part, whose values
// Git runs, or that bring such values from elsewhere.
var gitRuns = regexp.MustCompile(`^(core\.(fsmonitor|sshcommand|hookspath|pager|editor|askpass|gitproxy|alternaterefscommand)|` +
	`filter\..*\.(clean|smudge|process)|diff\.external|diff\..*\.(command|textconv)|merge\..*\.driver|` +
	`gpg\..*|log\.showsignature|include\.path|includeif\..*\.path|credential\.(.*\.)?helper|sequence\.editor|` +
	`difftool\..*|mergetool\..*|guitool\..*|pager\..*|remote\..*\.(vcs|uploadpack|receivepack)|protocol\.ext\.allow|hook\..*|uploadpack\..*|interactive\.difffilter|` +
	`browser\..*|man\..*|web\.browser|help\.browser|instaweb\..*|sendemail\..*|imap\.tunnel|tar\..*\.command|trailer\..*\.(command|cmd)|` +
	`gc\.recentobjectshook|init\.templatedir|lfs\.(customtransfer|extension)\..*|receive\.fsck\.skiplist|bitmappseudomerge\..*)$`)

// gitStubborn matches those that cannot be overridden from outside.
var gitStubborn = regexp.MustCompile(`^(include\.path|includeif\..*\.path)$`)

// gitDir looks at what is configured in a folder of Git, and at its hooks. nested:
// it belongs to a repository inside of another, which Git enters without what we
// would have it leave out.
func (r *reader) gitDir(dir string, nested bool) {
	for _, name := range []string{"config", "config.worktree"} {
		r.git(filepath.Join(dir, name), nested, 0)
	}
	r.hooksOfGit(filepath.Join(dir, "hooks"), nested)
}

// hooksOfGit adds the programs that Git runs by themselves. What is not executable,
// and what git init leaves there, it does not run.
func (r *reader) hooksOfGit(dir string, nested bool) {
	if r.seen[dir] {
		return
	}
	r.seen[dir] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		r.check(err)
		return // there are none
	}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		info, err := os.Stat(file)
		r.check(err)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 || strings.HasSuffix(e.Name(), ".sample") {
			continue
		}
		data, err := r.read(file)
		if err != nil {
			continue
		}
		// Commands that only look run this one, too.
		r.stubborn = r.stubborn || nested && e.Name() == "post-index-change"
		r.add(Item{Kind: Git, Danger: Runs, File: file, Name: hookPrefix + e.Name(), Text: string(data), Hash: hashOf(data)})
	}
}

// hookPrefix begins the names of items that are hooks of Git.
const hookPrefix = "hooks/"

// git looks at a file of Git's configuration and at those that it includes, whatever
// the condition.
func (r *reader) git(file string, nested bool, depth int) {
	const deepest = 10 // as Git has it
	if r.seen[file] {
		return
	}
	r.seen[file] = true
	data, err := r.read(file)
	if err != nil {
		r.stubborn = r.stubborn || err != errNone
		return
	}
	for _, e := range gitEntries(string(data)) {
		if !gitRunsEntry(e) {
			continue
		}
		r.stubborn = r.stubborn || nested || gitStubborn.MatchString(e.key)
		r.add(Item{Kind: Git, Danger: Runs, File: file, Name: e.key, Text: e.value})
		if gitStubborn.MatchString(e.key) && depth < deepest {
			for _, path := range r.included(file, e.value) {
				r.git(path, nested, depth+1)
			}
		}
	}
}

// gitRunsEntry reports whether an entry has Git run something.
func gitRunsEntry(e gitEntry) bool {
	value := strings.TrimSpace(e.value)
	switch {
	case e.key == "core.fsmonitor":
		return !isBoolean(e.value) // Git's own
	case strings.HasPrefix(e.key, "alias."),
		strings.HasPrefix(e.key, "submodule.") && strings.HasSuffix(e.key, ".update"):
		return strings.HasPrefix(value, "!")
	case strings.HasPrefix(e.key, "remote.") && (strings.HasSuffix(e.key, ".url") || strings.HasSuffix(e.key, ".pushurl")),
		strings.HasPrefix(e.key, "url."):
		return strings.Contains(e.key+value, "ext::")
	}
	return gitRuns.MatchString(e.key)
}

// included are the files that a value of a configuration may name, with and without
// what may be a comment after it.
func (r *reader) included(by, value string) []string {
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

// LeaveOut returns variables under which the CLI takes none of what its flags do not
// leave out with the project's settings: Git runs nothing of what was found, also in
// commands that the CLI lets through without asking, and no task of the folder's
// schedule begins a turn. It is false when some of it cannot be left out.
func (f Found) LeaveOut() (variables map[string]string, ok bool) {
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
		"CLAUDE_CODE_DISABLE_CRON": "1",
		"GIT_CONFIG_COUNT":         strconv.Itoa(len(overrides)),
	}
	for i, o := range overrides {
		variables["GIT_CONFIG_KEY_"+strconv.Itoa(i)], variables["GIT_CONFIG_VALUE_"+strconv.Itoa(i)] = o.key, o.value
	}
	return variables, !f.Stubborn
}
