package workingtree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// RepositoryState reports whether a folder has a repository that may be read, or why not.
type RepositoryState string

const (
	RepositoryFound     RepositoryState = "found"
	RepositoryMissing   RepositoryState = "missing"   // no repository at or above the folder, inside the roots
	RepositoryUntrusted RepositoryState = "untrusted" // git refuses it because it belongs to another user
	RepositoryOutside   RepositoryState = "outside"   // part of it is outside the roots, or hidden from the person
)

// Place is a folder and what a person may see of it.
type Place struct {
	Roots workspace.Roots
	CWD   string // of the session
	View
}

// View holds the folders that are hidden from a person and those shown to them, absolute and without
// symbolic links. The longest folder that contains a path decides. A path in none of them is visible.
type View struct{ Hidden, Shown []string }

// Visible reports whether the person may see a path, absolute and without symbolic links.
func (v View) Visible(path string) bool {
	path = filepath.Clean(path)
	longest := func(folders []string) (n int) {
		for _, f := range folders {
			if workspace.Roots([]string{f}).Contains(path) {
				n = max(n, len(f))
			}
		}
		return n
	}
	hidden := longest(v.Hidden)
	return hidden == 0 || longest(v.Shown) > hidden
}

// Folder is the folder of a session with its repository, as one person may see it. Close
// releases it.
type Folder struct {
	git   *Git
	place Place
	dir   string // real path

	State  RepositoryState
	prefix string // path of dir below the top of the working tree, with a trailing slash, or ""
	common string // our folder that replaces the repository's common one, see connect
	// Real paths of the repository: its folder for this working tree, the one that all working
	// trees share, and the top of this working tree.
	gitDir, commonDir, top string
	env                    []string
	// identity reports whether the settings of the user or the repository name a committer.
	identity bool
}

// Open finds the repository of a folder. It returns a [problem.Error] for a folder outside the
// roots, and when git is missing or too slow. The caller closes the Folder.
func (g *Git) Open(ctx context.Context, p Place) (*Folder, error) {
	g.sweeping.Do(g.sweep)
	p = g.within(p)
	f := &Folder{git: g, place: p, State: RepositoryMissing}
	err := g.o.As(func() (err error) {
		f.dir, err = p.Roots.Resolve(p.CWD)
		return err
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := f.connect(ctx); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// within limits the roots of a place to those of the options.
func (g *Git) within(p Place) Place {
	if g.o.Roots != nil {
		p.Roots = p.Roots.Within(g.o.Roots)
	}
	return p
}

// Close removes what Open created.
func (f *Folder) Close() {
	if f.common != "" {
		_ = f.git.o.As(func() error { return os.RemoveAll(f.common) }) // a folder of links in the temporary folder
	}
}

// safeSettings are the settings that are copied from the user and the repository. None names
// a program, and none is a path outside the repository except core.excludesfile, whose content
// is never shown.
var safeSettings = []string{
	"core.repositoryformatversion", "core.filemode", "core.symlinks", "core.ignorecase", "core.precomposeunicode",
	"core.autocrlf", "core.eol", "core.safecrlf", "core.checkstat", "core.trustctime", "core.protecthfs", "core.protectntfs",
	"core.sparsecheckout", "core.sparsecheckoutcone", "core.excludesfile", "core.bigfilethreshold", "core.logallrefupdates",
	"core.sharedrepository", "core.splitindex", "index.sparse", "index.version",
	"extensions.objectformat", "extensions.refstorage", "extensions.compatobjectformat",
	"user.name", "user.email", "user.useconfigonly", "author.name", "author.email", "committer.name", "committer.email",
}

// ownSettings follow the copied settings and override them.
const ownSettings = `[core]
	hooksPath = /dev/null
	fsmonitor = false
	attributesFile = /dev/null
[gc]
	auto = 0
[maintenance]
	auto = false
[commit]
	gpgSign = false
[submodule]
	recurse = false
`

// connect finds the repository and sets f.State.
//
// A repository's configuration can name programs in many places (file-system monitors,
// filters, hooks, diff drivers, signatures), and git keeps adding more. So it is not overridden
// setting by setting; later commands never read it. They get a common folder of ours, with
// links to the repository's objects and references, no hooks, and only the settings that are
// known to be harmless.
func (f *Folder) connect(ctx context.Context) error {
	guarded := []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}
	ceiling := ""
	for _, root := range f.place.Roots {
		if workspace.Roots([]string{root}).Contains(f.dir) && (ceiling == "" || len(root) < len(ceiling)) {
			ceiling = root
		}
	}
	env := []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(ceiling), "GIT_CONFIG_NOSYSTEM=1"}
	out, _, err := f.git.run(ctx, call{
		dir: f.dir, env: env,
		args: append(slices.Clone(guarded), "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-dir", "--git-common-dir"),
	})
	var exit *exitError
	switch {
	case errors.As(err, &exit) && strings.Contains(exit.stderr, "dubious ownership"):
		f.State = RepositoryUntrusted
		return nil
	case errors.As(err, &exit): // also in a bare repository, which has no working tree
		return nil
	case err != nil:
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3 { // a line break in a path: such a repository is not shown
		return nil
	}
	top, gitDir, commonDir := lines[0], lines[1], lines[2]
	listed, _, err := f.git.run(ctx, call{dir: f.dir, env: env, args: append(slices.Clone(guarded), "config", "--list", "-z")})
	if errors.As(err, &exit) {
		return fmt.Errorf("workingtree: read settings: %w", failed(err))
	}
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for entry := range strings.SplitSeq(string(listed), "\x00") {
		key, value, _ := strings.Cut(entry, "\n")
		if slices.Contains(safeSettings, key) {
			settings[key] = value
		}
	}
	f.identity = settings["user.email"] != "" || settings["author.email"] != "" && settings["committer.email"] != ""
	return f.git.o.As(func() error { return f.link(top, gitDir, commonDir, settings) })
}

// tempPrefix begins the names of the common folders that calls create. A folder older than
// abandonedAfter was left by a killed server: the longest call takes minutes.
const (
	tempPrefix     = "sayso-git-"
	abandonedAfter = time.Hour
)

// sweep removes the common folders that killed servers left behind.
func (g *Git) sweep() {
	_ = g.o.As(func() error {
		found, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPrefix+"*"))
		for _, folder := range found {
			if info, err := os.Lstat(folder); err == nil && info.IsDir() && time.Since(info.ModTime()) > abandonedAfter {
				_ = os.RemoveAll(folder) // another user's folder stays
			}
		}
		return nil
	})
}

// linked are the parts of a repository's common folder that git needs.
var linked = []string{"objects", "refs", "packed-refs", "reftable", "logs", "info", "shallow"}

// link creates the common folder. It runs with the rights of the user of sessions.
func (f *Folder) link(top, gitDir, commonDir string, settings map[string]string) error {
	for _, path := range []*string{&top, &gitDir, &commonDir} {
		real, err := filepath.EvalSymlinks(*path)
		if err != nil || !f.shows(real) {
			f.State = RepositoryOutside
			return nil //nolint:nilerr // who follows a broken link is outside
		}
		*path = real
	}
	rest, err := filepath.Rel(top, f.dir)
	if err != nil || rest == ".." || strings.HasPrefix(rest, "../") {
		f.State = RepositoryOutside
		return nil //nolint:nilerr // as above
	}
	if rest != "." {
		f.prefix = rest + "/"
	}
	if !f.linksInside(gitDir, commonDir, filepath.Join(commonDir, "objects"), 0) {
		f.State = RepositoryOutside
		return nil
	}
	if f.common, err = os.MkdirTemp("", tempPrefix); err != nil {
		return fmt.Errorf("workingtree: %w", err)
	}
	for _, name := range linked {
		if _, err := os.Lstat(filepath.Join(commonDir, name)); err == nil {
			if err := os.Symlink(filepath.Join(commonDir, name), filepath.Join(f.common, name)); err != nil {
				return fmt.Errorf("workingtree: %w", err)
			}
		}
	}
	var config bytes.Buffer
	for _, key := range safeSettings {
		value, set := settings[key]
		if !set {
			continue
		}
		section, name, _ := strings.Cut(key, ".")
		fmt.Fprintf(&config, "[%s]\n\t%s = \"%s\"\n", section, name, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value))
	}
	config.WriteString(ownSettings)
	if err := os.WriteFile(filepath.Join(f.common, "config"), config.Bytes(), 0o600); err != nil {
		return fmt.Errorf("workingtree: %w", err)
	}
	f.env = []string{
		"GIT_DIR=" + gitDir, "GIT_COMMON_DIR=" + f.common, "GIT_WORK_TREE=" + top,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null",
	}
	f.gitDir, f.commonDir, f.top = gitDir, commonDir, top
	f.State = RepositoryFound
	return nil
}

// shows reports whether a real path is inside the roots and visible to the person.
func (f *Folder) shows(real string) bool {
	return f.place.Roots.Contains(real) && f.place.Visible(real)
}

// maxAlternates bounds a chain of repositories that borrow objects from one another.
const maxAlternates = 5

// linksInside reports whether all symbolic links of a repository, and all alternates of its
// objects, stay inside what the person may see.
func (f *Folder) linksInside(gitDir, commonDir, objects string, depth int) bool {
	if depth > maxAlternates {
		return false
	}
	if real, err := filepath.EvalSymlinks(objects); err != nil || !f.shows(real) {
		return false
	}
	folders := []string{objects, filepath.Join(objects, "pack"), filepath.Join(objects, "info")}
	if depth == 0 {
		folders = append(folders, gitDir, commonDir)
	}
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false
		}
		for _, e := range entries {
			if e.Type()&fs.ModeSymlink == 0 {
				continue
			}
			if real, err := filepath.EvalSymlinks(filepath.Join(folder, e.Name())); err != nil || !f.shows(real) {
				return false
			}
		}
	}
	alternates, err := readSmall(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, fs.ErrNotExist) {
		return true
	}
	if err != nil {
		return false
	}
	for line := range strings.SplitSeq(string(alternates), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		if !f.linksInside("", "", line, depth+1) {
			return false
		}
	}
	return true
}

// readSmall reads a regular file of up to 64 KB.
func readSmall(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrInvalid
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, 64<<10))
}

// exec runs a git command in the folder's repository.
func (f *Folder) exec(ctx context.Context, c call) ([]byte, bool, error) {
	c.dir, c.env = f.dir, append(slices.Clone(f.env), c.env...)
	return f.git.run(ctx, c)
}

// failed turns a failed git command into a [problem.Error].
func failed(err error) error {
	var exit *exitError
	if !errors.As(err, &exit) {
		var gone *fs.PathError
		if errors.As(err, &gone) && gone.Op == "chdir" { // removed since it was found
			return problem.New("git_failed", "detail", "the folder is gone").WithCause(err)
		}
		return err
	}
	if strings.Contains(exit.stderr, ".lock': File exists") {
		return problem.New("git_busy")
	}
	detail, _, _ := strings.Cut(exit.stderr, "\n")
	e := problem.New("git_failed", "detail", strings.TrimPrefix(strings.TrimPrefix(detail, "fatal: "), "error: "))
	e.Cause = err
	return e
}
