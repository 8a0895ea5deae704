package folder

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// gitFolder is the repository that a folder belongs to. It is empty if there is none.
type gitFolder struct {
	root    string   // of the worktree
	dirs    []string // .git, or the folder that it names; more if Git and the CLI read its name differently
	commons []string // the folders that worktrees share; dirs itself for the main worktree
	loose   []string // folders from the session's upwards that look like bare repositories
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
		g.root, g.dirs = parent, []string{link}
		if dirs, commons := r.gitDirsOf(link); len(dirs) > 0 {
			g.dirs, g.commons = dirs, commons
			return g
		}
	}
	return g
}

// looksBare reports whether Git might treat a folder as a bare repository. Its objects and refs may
// be in the folder that commondir names.
func (r *reader) looksBare(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD")) // a link to a branch without commits leads nowhere
	r.recordTransient(err)
	return err == nil &&
		(r.exists(filepath.Join(dir, "commondir")) || r.exists(filepath.Join(dir, "objects")) && r.exists(filepath.Join(dir, "refs")))
}

// gitDirsOf returns the folder that a .git is or names, and the folder that it shares with other
// worktrees, which may be the same. There are more if Git and the CLI read a name differently, and
// none for a file that names no folder.
func (r *reader) gitDirsOf(link string) (dirs, commons []string) {
	info, err := os.Stat(link)
	if err != nil {
		r.recordTransient(err)
		return nil, nil
	}
	dirs = []string{link}
	if !info.IsDir() {
		data, err := r.readGitFile(link)
		to, is := strings.CutPrefix(strings.TrimLeft(gitPath(data), " \t\r\n"), "gitdir:")
		if err != nil || !is {
			return nil, nil
		}
		dirs = r.readings(filepath.Dir(link), strings.TrimPrefix(to, " "))
	}
	for _, dir := range dirs {
		commons = append(commons, r.commonsOf(dir)...)
	}
	return dirs, unique(commons)
}

// commonsOf returns the folder that a Git folder shares with other worktrees: the one that its
// commondir names, or dir itself.
func (r *reader) commonsOf(dir string) []string {
	data, err := r.read(filepath.Join(dir, "commondir"))
	if err != nil {
		r.cannotOverride = r.cannotOverride || err != errNone
		return []string{dir}
	}
	return r.readings(dir, gitPath(data))
}

// gitPath returns the path in a file that names a folder of Git. Git removes only the end of the
// line, and stops at a zero byte.
func gitPath(data []byte) string {
	path, _, _ := strings.Cut(strings.TrimRight(string(data), "\r\n"), "\x00")
	return path
}

// readings returns the folders that a path in base may name: Git keeps spaces around it, the CLI
// removes them.
func (r *reader) readings(base, path string) []string {
	return unique([]string{r.resolve(base, path), r.resolve(base, strings.TrimSpace(path))})
}

// resolve returns the file that a path in base names. The system follows a link before it goes up
// from there, so a path with a link and ".." may not be shortened as text.
func (r *reader) resolve(base, path string) string {
	if !filepath.IsAbs(path) {
		path = base + string(filepath.Separator) + path
	}
	short := filepath.Clean(path)
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		if errno := syscall.Errno(0); errors.As(err, &errno) { // else there are too many links
			r.recordTransient(err)
		}
		return short
	}
	if same, err := filepath.EvalSymlinks(short); err == nil && same == file {
		return short
	}
	return file
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
	roots := []string{g.root}
	for _, common := range g.commons {
		if filepath.Base(common) == ".git" {
			roots = append(roots, filepath.Dir(common))
		}
	}
	return unique(roots)
}

// gitDirs returns the Git folders of the repository: that of the worktree, the shared one, those
// of submodules, and folders that look like bare repositories.
func (r *reader) gitDirs(g gitFolder) []string {
	var dirs []string
	for _, dir := range g.loose {
		dirs = append(append(dirs, dir), r.commonsOf(dir)...)
	}
	return unique(append(dirs, r.withModules(g.dirs, g.commons)...))
}

// withModules adds the shared folders, and those of submodules, to the Git folders of a repository.
func (r *reader) withModules(dirs, commons []string) []string {
	dirs = append(slices.Clone(dirs), commons...)
	for _, common := range commons {
		dirs = append(dirs, r.modules(filepath.Join(common, "modules"), 0)...)
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
		text := e.written
		if !gitRunsValue(e.key, e.written) {
			if !gitRunsValue(e.key, e.value) {
				continue
			}
			text = e.value // quotes or escapes hide what runs
		}
		r.cannotOverride = r.cannotOverride || nested || gitNotOverridable.MatchString(e.key)
		r.add(Item{Kind: Git, Danger: Runs, File: file, Name: e.key, Text: text})
		if gitNotOverridable.MatchString(e.key) && depth < maxIncludeDepth {
			for _, path := range r.includedFiles(file, e.value) {
				r.readGitConfig(path, nested, depth+1)
			}
		}
	}
}

// gitRunsValue reports whether a key with this value makes Git run something.
func gitRunsValue(key, value string) bool {
	switch {
	case key == "core.fsmonitor":
		return !isBoolean(value) // a boolean selects Git's own monitor
	case strings.HasPrefix(key, "alias."),
		strings.HasPrefix(key, "submodule.") && strings.HasSuffix(key, ".update"):
		return strings.HasPrefix(strings.TrimSpace(value), "!")
	case strings.HasPrefix(key, "remote.") && (strings.HasSuffix(key, ".url") || strings.HasSuffix(key, ".pushurl")),
		strings.HasPrefix(key, "url."):
		return strings.Contains(key+strings.TrimSpace(value), "ext::")
	}
	return gitRuns.MatchString(key)
}

// includedFiles returns the files that an include may name. Earlier releases of Git read a tab in a
// value as a space.
func (r *reader) includedFiles(by, value string) []string {
	var files []string
	for _, path := range []string{value, strings.NewReplacer("\t", " ", "\r", " ").Replace(value)} {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && r.known.Home != "" {
			path = r.known.Home + "/" + rest
		}
		files = append(files, r.resolve(filepath.Dir(by), path))
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

// gitEntry is an entry of Git's configuration.
type gitEntry struct {
	key     string // in lower case except for its middle part
	value   string // as Git reads it
	written string // the value as it is in the file, with its comment, without quotes around it
}

// gitEntries parses a file of Git's configuration byte by byte, as Git does. Git gives up at the
// first mistake; gitEntries goes on with the next line, so it finds at least the entries that Git
// finds.
func gitEntries(text string) []gitEntry {
	var entries []gitEntry
	section := ""
	f := gitFile{rest: strings.TrimPrefix(text, "\ufeff")}
	for f.rest != "" {
		switch c := f.next(); {
		case isGitSpace(c):
		case c == '[':
			if name, ok := f.section(); ok {
				section = name
				continue // another section or an entry may follow on the same line
			}
			f.skipLine()
		case 'a' <= lower(c) && lower(c) <= 'z':
			name := f.name(c)
			for f.last == ' ' || f.last == '\t' {
				f.next()
			}
			e := gitEntry{key: zeroEnded(section + "." + name)}
			if f.last == '=' {
				e.value, e.written = f.value()
			}
			if section != "" && f.last == '\n' {
				entries = append(entries, e)
			}
			f.skipLine()
		default: // a comment or a mistake
			f.skipLine()
		}
	}
	return entries
}

// gitFile reads a file of Git's configuration.
type gitFile struct {
	rest string
	last byte // the byte that was read last
}

// next reads a byte. Like Git, it reads a carriage return and a line feed as a line feed, and
// finds a line feed at the end of the file.
func (f *gitFile) next() byte {
	if strings.HasPrefix(f.rest, "\r\n") {
		f.rest = f.rest[1:]
	}
	f.last = '\n'
	if f.rest != "" {
		f.last, f.rest = f.rest[0], f.rest[1:]
	}
	return f.last
}

func (f *gitFile) skipLine() {
	for f.last != '\n' {
		f.next()
	}
}

// section reads the rest of `[core]` or `[filter "x"]`.
func (f *gitFile) section() (name string, ok bool) {
	var base []byte
	for c := f.next(); c != ']'; c = f.next() {
		switch {
		case isGitSpace(c):
			return f.subsection(string(base))
		case !isGitKeyByte(c) && c != '.':
			return "", false
		}
		base = append(base, lower(c))
	}
	return string(base), len(base) > 0
}

// subsection reads the rest of `[filter "x"]`, starting at the space.
func (f *gitFile) subsection(base string) (name string, ok bool) {
	for isGitSpace(f.last) && f.last != '\n' {
		f.next()
	}
	if f.last != '"' {
		return "", false
	}
	sub := []byte(base + ".")
	for c := f.next(); c != '"'; c = f.next() {
		if c == '\\' {
			c = f.next()
		}
		if c == '\n' {
			return "", false
		}
		sub = append(sub, c)
	}
	return string(sub), f.next() == ']'
}

// name reads the rest of a name that starts with c, and the byte after it.
func (f *gitFile) name(c byte) string {
	var name []byte
	for ; isGitKeyByte(c); c = f.next() {
		name = append(name, lower(c))
	}
	return string(name)
}

// value reads a value to the end of its last line.
func (f *gitFile) value() (value, written string) {
	var read, raw []byte
	length := 0 // of read without spaces at the end
	quoted, comment := false, false
	for c := f.next(); c != '\n'; c = f.next() {
		raw = append(raw, c)
		switch {
		case comment:
			continue
		case !quoted && isGitSpace(c):
			if len(read) > 0 {
				read = append(read, c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			comment = true
			continue
		case c == '"':
			quoted = !quoted
		case c == '\\':
			switch c = f.next(); c {
			case '\n': // the value goes on in the next line
				raw = raw[:len(raw)-1]
			case 't':
				read, raw = append(read, '\t'), append(raw, c)
			case 'b':
				read, raw = append(read, '\b'), append(raw, c)
			case 'n':
				read, raw = append(read, '\n'), append(raw, c)
			default:
				read, raw = append(read, c), append(raw, c)
			}
		default:
			read = append(read, c)
		}
		length = len(read)
	}
	return zeroEnded(string(read[:length])), strings.Trim(strings.TrimSpace(string(raw)), `"`)
}

// zeroEnded returns a text up to its first zero byte, where it ends for Git.
func zeroEnded(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return text
}

// Like Git, these know only ASCII.

func isGitSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isGitKeyByte(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9' || c == '-'
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// disableTasks is the environment variable that disables the scheduled tasks of a folder.
const disableTasks = "CLAUDE_CODE_DISABLE_CRON"

// OverrideVariables returns environment variables that disable what the CLI's flags cannot
// disable. With them, Git runs none of the items found, even in commands that the CLI allows
// without asking, and no scheduled task of the folder starts a turn. ok is false if some items
// cannot be disabled.
func (f Found) OverrideVariables() (variables map[string]string, ok bool) {
	overrides := []gitEntry{{key: "core.fsmonitor", value: "false"}, {key: "log.showSignature", value: "false"}}
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
			override(gitEntry{key: "core.hooksPath", value: "/dev/null"})
		case strings.HasSuffix(i.Name, ".textconv"):
			override(gitEntry{key: i.Name, value: "cat"})
		case strings.HasPrefix(i.Name, "filter."), strings.HasPrefix(i.Name, "diff."):
			override(gitEntry{key: i.Name})
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
