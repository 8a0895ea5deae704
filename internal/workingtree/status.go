package workingtree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/workspace"
)

// Base is what the working tree is compared with: BaseHead, BaseBranch, or what Snapshot returned.
type Base string

const (
	BaseHead   Base = "head"   // the last commit
	BaseBranch Base = "branch" // where the branch left the main branch
)

// ChangeStatus describes what happened to a file.
type ChangeStatus string

const (
	Added       ChangeStatus = "added"
	Modified    ChangeStatus = "modified"
	Deleted     ChangeStatus = "deleted"
	Renamed     ChangeStatus = "renamed"
	TypeChanged ChangeStatus = "type_changed" // such as a file that became a symbolic link
	Untracked   ChangeStatus = "untracked"
	Conflicted  ChangeStatus = "conflicted"
)

// Change is a changed file.
type Change struct {
	Path    string // relative to the folder; not always UTF-8
	OldPath string // of a renamed file
	Status  ChangeStatus
	// Added and Removed count lines. Both are -1 for a binary file, and for an untracked one
	// that was not read.
	Added, Removed int
	// Uncommitted reports that the file differs from the last commit, so that it can be committed
	// or discarded.
	Uncommitted bool
	// Readable reports that both paths are UTF-8 and name a file, so that clients can request it.
	Readable bool
	// Version encodes the size and modification time of the file. It is "" for a deleted file.
	Version string
}

// Status lists what changed in a folder.
type Status struct {
	Repository RepositoryState
	Branch     string // "" when HEAD is detached
	Head       string // abbreviated; "" before the first commit
	Base       Base
	MainBranch string // with which BaseBranch compares; "" if there is none
	Changes    []Change
	More       bool // further files were left out
}

// Limits of a status.
const (
	maxChanges = 1000
	// maxCounted and maxCountedBytes bound the untracked files whose lines are counted.
	maxCounted      = 200
	maxCountedBytes = 4 << 20
)

// statusArgs returns the arguments of git status, whose output parseStatus reads. untracked is
// "normal", or "all" to list the files in new folders, too.
func statusArgs(untracked string) []string {
	return []string{"status", "--porcelain=v2", "-z", "--branch", "--no-renames", "--untracked-files=" + untracked, "--ignore-submodules=dirty", "--", "."}
}

// Status compares the working tree with a base. It falls back to [BaseHead] when there is no
// main branch.
func (f *Folder) Status(ctx context.Context, base Base) (Status, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	s := Status{Repository: f.State, Base: BaseHead, Changes: []Change{}}
	if f.State != RepositoryFound {
		return s, nil
	}
	head, main, fork, err := f.heads(ctx)
	if err != nil {
		return s, err
	}
	s.Head, s.MainBranch = head[:min(len(head), 8)], main
	commit := head
	if base == BaseBranch && fork != "" {
		s.Base, commit = BaseBranch, fork
	}
	if commit == "" {
		if commit, err = f.emptyTree(ctx); err != nil {
			return s, err
		}
	}

	out, cut, err := f.exec(ctx, call{args: statusArgs("all")})
	if err != nil {
		return s, failed(err)
	}
	s.More = cut
	work := parseStatus(records(out, cut))
	s.Branch = work.branch
	var env []string
	var left map[string]bool // changed files that are not compared with a snapshot
	if tree := base.tree(); tree != "" {
		s.Base, commit = base, tree
		var more bool
		if env, left, more, err = f.untrackedIndex(ctx, work); err != nil {
			return s, err
		}
		s.More = s.More || more
		for _, path := range work.untracked { // git diff lists those that differ
			work.changed[path] = true
		}
		work.untracked = nil
	}

	out, cut, err = f.exec(ctx, call{env: env, args: []string{
		"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "--find-renames", "--raw", "--numstat", "-z", "--no-abbrev", commit, "--", ".",
	}})
	if exit := (*exitError)(nil); errors.As(err, &exit) {
		// Git diff cannot read a tracked file that became a pipe or a device, and fails. diff-index
		// reads no files, but counts no lines.
		out, cut, err = f.exec(ctx, call{env: env, args: []string{"diff-index", "--ignore-submodules=dirty", "--no-renames", "--raw", "-z", "--no-abbrev", commit, "--", "."}})
	}
	if err != nil {
		return s, failed(err)
	}
	s.More = s.More || cut
	listed := map[string]bool{}
	for _, c := range parseDiff(records(out, cut)) {
		if work.conflicted[c.Path] {
			c.Status = Conflicted
		}
		c.Uncommitted = work.changed[c.Path] || work.changed[c.OldPath]
		if !listed[c.Path] && !left[c.Path] {
			listed[c.Path] = true
			f.add(&s, c)
		}
	}
	for _, path := range work.untracked {
		if !listed[path] {
			f.add(&s, Change{Path: path, Status: Untracked, Uncommitted: true, Added: -1, Removed: -1})
		}
	}
	return s, f.inspect(ctx, s.Changes)
}

// Summary is a short description of a folder's repository.
type Summary struct {
	Repository  RepositoryState
	Branch      string // "" when HEAD is detached
	Head        string // abbreviated; "" before the first commit
	Uncommitted int    // files that differ from the last commit; a new folder counts as one
	More        bool   // Uncommitted is incomplete
	Base        string // the branch that a worktree of ours is merged into, else ""
	// WorktreesFolder is where AddWorktree creates worktrees, absolute, "" if it cannot create any.
	WorktreesFolder string
}

// Summary returns a short description of the folder's repository.
func (f *Folder) Summary(ctx context.Context) (Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	s := Summary{Repository: f.State, WorktreesFolder: f.WorktreesFolder()}
	if f.State != RepositoryFound {
		return s, nil
	}
	out, cut, err := f.exec(ctx, call{args: statusArgs("normal")})
	if err != nil {
		return s, failed(err)
	}
	work := parseStatus(records(out, cut))
	s.Branch, s.Head, s.Uncommitted, s.More = work.branch, work.head[:min(len(work.head), 8)], len(work.changed)+len(work.untracked), cut
	m, ours, err := f.mark()
	if ours {
		s.Base = m.Base
	}
	return s, err
}

// emptyTree returns the id of a tree without files, with which everything is compared before the
// first commit. Git knows that tree without storing it.
func (f *Folder) emptyTree(ctx context.Context) (string, error) {
	out, _, err := f.exec(ctx, call{args: []string{"hash-object", "-t", "tree", "--stdin"}})
	return strings.TrimSpace(string(out)), failed(err)
}

// add adds a change to a status if the person may see the file.
func (f *Folder) add(s *Status, c Change) {
	var inside bool
	if c.Path, inside = strings.CutPrefix(c.Path, f.prefix); !inside {
		return
	}
	c.OldPath = strings.TrimPrefix(c.OldPath, f.prefix)
	if !f.place.Visible(filepath.Join(f.dir, c.Path)) {
		return
	}
	if len(s.Changes) == maxChanges {
		s.More = true
		return
	}
	c.Readable = utf8.ValidString(c.Path+c.OldPath) && !strings.HasSuffix(c.Path, "/")
	s.Changes = append(s.Changes, c)
}

// heads returns the last commit ("" before the first), the name of the main branch ("" if there
// is none besides the current one), and fork, the commit at which the current branch left it. In a
// worktree of ours, its base replaces the main branch.
func (f *Folder) heads(ctx context.Context) (head, main, fork string, err error) {
	out, _, err := f.exec(ctx, call{args: []string{"rev-parse", "--verify", "--quiet", "HEAD^{commit}"}})
	var exit *exitError
	if errors.As(err, &exit) {
		return "", "", "", nil
	}
	if err != nil {
		return "", "", "", err
	}
	head = strings.TrimSpace(string(out))
	const prefix = "refs/remotes/origin/"
	out, _, err = f.exec(ctx, call{args: []string{
		"for-each-ref", "--format=%(refname)%00%(symref)%00%(HEAD)", prefix + "HEAD", prefix + "main", prefix + "master", "refs/heads/main", "refs/heads/master",
	}})
	if err != nil {
		return "", "", "", failed(err)
	}
	known := map[string]bool{}
	preferred := ""
	for line := range strings.Lines(string(out)) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\x00")
		symref, current, _ := strings.Cut(rest, "\x00")
		if name == prefix+"HEAD" {
			preferred = symref
		} else if current != "*" {
			known[name] = true
		}
	}
	names := []string{preferred, prefix + "main", prefix + "master", "refs/heads/main", "refs/heads/master"}
	if m, ours, err := f.mark(); err != nil {
		return "", "", "", err
	} else if ours {
		preferred = "refs/heads/" + m.Base
		names = append([]string{preferred}, names...)
	}
	for _, name := range names {
		if name == "" || name != preferred && !known[name] {
			continue
		}
		out, _, err := f.exec(ctx, call{args: []string{"merge-base", "HEAD", name}})
		if errors.As(err, &exit) {
			continue // no common history, or a reference to nothing
		}
		if err != nil {
			return "", "", "", err
		}
		return head, strings.TrimPrefix(strings.TrimPrefix(name, "refs/remotes/"), "refs/heads/"), strings.TrimSpace(string(out)), nil
	}
	return head, "", "", nil
}

// inspect sets the versions of files, and counts the lines of the first untracked ones.
func (f *Folder) inspect(ctx context.Context, changes []Change) error {
	return f.git.o.As(func() error {
		root, err := os.OpenRoot(f.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		files, budget := maxCounted, int64(maxCountedBytes)
		for i := range changes {
			c := &changes[i]
			if info, err := root.Lstat(c.Path); err == nil {
				c.Version = fmt.Sprintf("%x-%x", info.ModTime().UnixNano(), info.Size())
			}
			if c.Status != Untracked || strings.HasSuffix(c.Path, "/") {
				continue
			}
			if files--; files < 0 || budget <= 0 || ctx.Err() != nil {
				continue
			}
			file, err := workspace.Roots(nil).ReadFile(f.dir, c.Path, budget)
			if err != nil || file.State != workspace.FileRead {
				continue // it is listed without line counts
			}
			budget -= file.Size
			if isText(file.Data) {
				c.Added, c.Removed = lines(file.Data), 0
			}
		}
		return nil
	})
}

// isText reports whether content can be shown as text.
func isText(data []byte) bool { return utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 }

// lines counts lines as git does: the last one may lack a line break.
func lines(data []byte) int {
	n := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		n++
	}
	return n
}

// records splits the output of git -z. It leaves out the last record if the output was cut.
func records(out []byte, cut bool) []string {
	all := strings.Split(string(out), "\x00")
	if cut && len(all) > 0 {
		all = all[:len(all)-1]
	}
	if len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// work is the result of git status, with paths relative to the top of the working tree.
type work struct {
	branch, head        string // head is "" before the first commit
	changed, conflicted map[string]bool
	untracked           []string
}

// parseStatus reads git status --porcelain=v2 --branch -z --no-renames. Lines of an unknown
// kind are skipped, as the format asks.
func parseStatus(all []string) work {
	w := work{changed: map[string]bool{}, conflicted: map[string]bool{}}
	for _, r := range all {
		kind, rest, _ := strings.Cut(r, " ")
		switch kind {
		case "#":
			if name, ok := strings.CutPrefix(rest, "branch.head "); ok && name != "(detached)" {
				w.branch = name
			}
			if id, ok := strings.CutPrefix(rest, "branch.oid "); ok && id != "(initial)" {
				w.head = id
			}
		case "1": // XY sub mH mI mW hH hI path
			if fields := strings.SplitN(rest, " ", 8); len(fields) == 8 {
				w.changed[fields[7]] = true
			}
		case "u": // XY sub m1 m2 m3 mW h1 h2 h3 path
			if fields := strings.SplitN(rest, " ", 10); len(fields) == 10 {
				w.changed[fields[9]], w.conflicted[fields[9]] = true, true
			}
		case "?":
			w.untracked = append(w.untracked, rest)
		}
	}
	return w
}

// parseDiff reads git diff --raw --numstat -z: first the raw records, then the counts.
func parseDiff(all []string) (changes []Change) {
	at := map[string]int{} // by path, of changes
	for i := 0; i < len(all); {
		if strings.HasPrefix(all[i], ":") { // :mode mode id id STATUS, then one path, or two for a rename
			fields := strings.Fields(all[i])
			if len(fields) != 5 || i+1 >= len(all) {
				return changes
			}
			c := Change{Added: -1, Removed: -1, Path: all[i+1]}
			i += 2
			switch fields[4][0] {
			case 'A':
				c.Status = Added
			case 'D':
				c.Status = Deleted
			case 'T':
				c.Status = TypeChanged
			case 'U':
				c.Status = Conflicted
			case 'R', 'C':
				if i >= len(all) {
					return changes
				}
				c.Status, c.OldPath, c.Path = Renamed, c.Path, all[i]
				if fields[4][0] == 'C' {
					c.Status, c.OldPath = Added, ""
				}
				i++
			default:
				c.Status = Modified
			}
			if _, twice := at[c.Path]; !twice { // a conflict has two
				at[c.Path] = len(changes)
				changes = append(changes, c)
			}
			continue
		}
		fields := strings.SplitN(all[i], "\t", 3) // added, removed, path; "" when two paths follow
		i++
		if len(fields) != 3 {
			continue
		}
		path := fields[2]
		if path == "" {
			if i+1 >= len(all) {
				return changes
			}
			path = all[i+1]
			i += 2
		}
		n, known := at[path]
		added, err1 := strconv.Atoi(fields[0])
		removed, err2 := strconv.Atoi(fields[1])
		if known && err1 == nil && err2 == nil { // "-" stands for binary
			changes[n].Added, changes[n].Removed = added, removed
		}
	}
	return changes
}
