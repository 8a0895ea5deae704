package workingtree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/problem"
	"github.com/sayso-dev/sayso/internal/workspace"
)

// MaxText bounds the text of a file that is shown, in bytes.
const MaxText = 512 << 10

// maxKept bounds the content of a file that Discard keeps, in bytes.
const maxKept = 32 << 20

// ContentState reports whether the text of a file can be shown, or why not.
type ContentState string

const (
	ContentText    ContentState = "text"
	ContentLink    ContentState = "link"    // the text is the target of a symbolic link
	ContentMissing ContentState = "missing" // there is no such file
	ContentBinary  ContentState = "binary"
	ContentLarge   ContentState = "large"
	ContentOutside ContentState = "outside" // leads out of the folder, has several hard links, or is hidden from the person
	ContentDenied  ContentState = "denied"  // the user of sessions may not read it
	ContentOther   ContentState = "other"   // a folder, a device, a pipe or a submodule
)

// Content is one side of a comparison.
type Content struct {
	State ContentState
	Text  string // when State is ContentText or ContentLink
	Size  int64  // in bytes
}

// Comparison holds the earlier and the current content of a file.
type Comparison struct {
	Before, After Content
	// Digest identifies the current content, so that Discard removes only what was shown.
	Digest string
}

// checkPath returns the cleaned form of a path below the folder, with slashes. It refuses a path
// that leads out of the folder or into a .git folder.
func checkPath(p string) (string, error) {
	if p == "" || len(p) > 4096 || !utf8.ValidString(p) || strings.ContainsRune(p, 0) || path.IsAbs(p) {
		return "", problem.For("path", "path_invalid")
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." || strings.EqualFold(part, ".git") {
			return "", problem.For("path", "path_invalid")
		}
	}
	return path.Clean(p), nil
}

// Compare returns the content of a file in a base, under oldPath if it was renamed, and its current
// content.
func (f *Folder) Compare(ctx context.Context, base Base, filePath, oldPath string) (Comparison, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	name, err := checkPath(filePath)
	if err != nil {
		return Comparison{}, err
	}
	old := name
	if oldPath != "" {
		if old, err = checkPath(oldPath); err != nil {
			return Comparison{}, err
		}
	}
	c := Comparison{Before: Content{State: ContentMissing}}
	if !f.place.Visible(filepath.Join(f.dir, old)) {
		c.Before.State = ContentOutside
	} else if f.State == RepositoryFound {
		head := base.tree()
		if head == "" {
			var fork string
			if head, _, fork, err = f.heads(ctx); err != nil {
				return Comparison{}, err
			}
			if base == BaseBranch && fork != "" {
				head = fork
			}
		}
		if head != "" {
			if c.Before, err = f.committed(ctx, head, old); err != nil {
				return Comparison{}, err
			}
		}
	}
	content, data, modTime, err := f.content(name, MaxText)
	if err != nil {
		return Comparison{}, err
	}
	c.After, c.Digest = content, digest(content, data, modTime)
	return c, nil
}

// digest identifies the content of a file. For a file that was not read, it identifies the state
// and the size, the target of a symbolic link, and when a large file was changed.
func digest(c Content, data []byte, modTime time.Time) string {
	if data == nil {
		data = fmt.Appendf(nil, "%s\x00%s\x00%d\x00%d", c.State, c.Text, c.Size, modTime.UnixNano())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// committed returns the content of a file in a commit or a tree.
func (f *Folder) committed(ctx context.Context, commit, name string) (Content, error) {
	out, _, err := f.exec(ctx, call{args: []string{"ls-tree", "-z", "--long", commit, "--", name}})
	if err != nil {
		return Content{}, failed(err)
	}
	for _, r := range records(out, false) { // mode type id size\tpath
		facts, _, _ := strings.Cut(r, "\t")
		fields := strings.Fields(facts)
		if len(fields) != 4 {
			continue
		}
		if fields[1] != "blob" {
			return Content{State: ContentOther}, nil
		}
		data, cut, err := f.exec(ctx, call{args: []string{"cat-file", "blob", fields[2]}, limit: MaxText})
		if err != nil {
			return Content{}, failed(err)
		}
		c := Content{State: ContentText, Size: int64(len(data))}
		switch {
		case cut:
			c.State = ContentLarge
			if c.Size, err = strconv.ParseInt(fields[3], 10, 64); err != nil {
				return Content{}, failed(err)
			}
		case !isText(data):
			c.State = ContentBinary
		default:
			c.Text = string(data)
			if fields[0] == "120000" {
				c.State = ContentLink
			}
		}
		return c, nil
	}
	return Content{State: ContentMissing}, nil
}

// content reads a file of the folder. data is nil if the file was not read, as for a symbolic link.
// modTime is that of a file, also of one that is too large to be read.
func (f *Folder) content(name string, limit int64) (c Content, data []byte, modTime time.Time, err error) {
	err = f.git.o.As(func() error {
		root, err := os.OpenRoot(f.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		if target, err := root.Readlink(name); err == nil {
			c = Content{State: ContentLink, Text: strings.ToValidUTF8(target, "�"), Size: int64(len(target))}
			return nil
		}
		real, err := filepath.EvalSymlinks(filepath.Join(f.dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			c = Content{State: ContentMissing}
			return nil
		}
		if err == nil && !f.shows(real) {
			c = Content{State: ContentOutside}
			return nil
		}
		file, err := workspace.Roots(nil).ReadFile(f.dir, name, limit)
		if err != nil {
			return err
		}
		c, data = asContent(file)
		modTime = file.ModTime
		return nil
	})
	return c, data, modTime, err
}

// asContent returns the content of a file, and its bytes, which are nil if it was not read.
func asContent(file workspace.File) (c Content, data []byte) {
	c = Content{State: contentStates[file.State], Size: file.Size}
	if file.State != workspace.FileRead {
		return c, nil
	}
	data = file.Data
	if data == nil {
		data = []byte{}
	}
	if isText(data) {
		c.Text = string(data)
	} else {
		c.State = ContentBinary
	}
	return c, data
}

var contentStates = map[workspace.FileState]ContentState{
	workspace.FileRead: ContentText, workspace.FileMissing: ContentMissing, workspace.FileOutside: ContentOutside,
	workspace.FileOther: ContentOther, workspace.FileLarge: ContentLarge, workspace.FileDenied: ContentDenied,
}

// Read returns a file of the folder. data is nil unless the state is [ContentText] or
// [ContentBinary].
func (f *Folder) Read(name string, limit int64) (c Content, data []byte, err error) {
	if name, err = checkPath(name); err != nil {
		return Content{}, nil, err
	}
	if !f.place.Visible(filepath.Join(f.dir, name)) {
		return Content{State: ContentOutside}, nil, nil
	}
	c, data, _, err = f.content(name, limit)
	return c, data, err
}

// EntryKind is the kind of an entry of a folder.
type EntryKind string

const (
	EntryFolder EntryKind = "folder"
	EntryFile   EntryKind = "file"
	EntryLink   EntryKind = "link" // symbolic
	EntryOther  EntryKind = "other"
)

// Entry is an entry of a folder.
type Entry struct {
	Name     string
	Readable bool // the name is UTF-8, so that clients can request it
	Kind     EntryKind
}

// Listing is a list of entries of a folder, folders first. More means that some were left out.
type Listing struct {
	Entries []Entry
	More    bool
}

// Found is a list of paths, the best matches first. More means that some were left out.
type Found struct {
	Paths []string
	More  bool
}

// File is a file of a folder. Data is nil unless State is [ContentText] or [ContentBinary].
type File struct {
	Content
	Data []byte
}

// Limits of listings.
const (
	maxEntries = 2000
	maxFound   = 100
)

// List returns the entries of a folder, folders first. The folder is relative to the session's, ""
// for that folder itself. more means that some entries were left out.
func (f *Folder) List(folder string) (list []Entry, more bool, err error) {
	name := "."
	if folder != "" {
		if name, err = checkPath(folder); err != nil {
			return nil, false, err
		}
	}
	if !f.place.Visible(filepath.Join(f.dir, name)) {
		return nil, false, problem.For("path", "path_not_found")
	}
	err = f.git.o.As(func() error {
		root, err := os.OpenRoot(f.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		// A link would show the folder it leads to under a second name.
		if real, err := filepath.EvalSymlinks(filepath.Join(f.dir, name)); err != nil || real != filepath.Join(f.dir, name) {
			return problem.For("path", "path_not_found")
		}
		// Without O_NONBLOCK, a pipe of this name would block until somebody writes to it.
		dir, err := root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
		if err != nil {
			return problem.For("path", "path_not_found")
		}
		defer dir.Close()
		// io.EOF means the end; other errors, a folder that was just removed.
		for entries, err := dir.ReadDir(maxEntries + 1); err == nil && !more; entries, err = dir.ReadDir(maxEntries + 1) {
			list, more = f.appendVisible(list, name, entries)
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Entry) int {
		if folders := compareTrueFirst(a.Kind == EntryFolder, b.Kind == EntryFolder); folders != 0 {
			return folders
		}
		return strings.Compare(a.Name, b.Name)
	})
	return list, more, err
}

// appendVisible appends the visible ones of the entries of a folder, up to maxEntries in all. more
// reports whether some were left out.
func (f *Folder) appendVisible(list []Entry, folder string, entries []fs.DirEntry) (_ []Entry, more bool) {
	for _, e := range entries {
		if strings.EqualFold(e.Name(), ".git") || !f.place.Visible(filepath.Join(f.dir, folder, e.Name())) {
			continue
		}
		if len(list) == maxEntries {
			return list, true
		}
		entry := Entry{Name: e.Name(), Readable: utf8.ValidString(e.Name()), Kind: EntryOther}
		switch {
		case e.IsDir():
			entry.Kind = EntryFolder
		case e.Type().IsRegular():
			entry.Kind = EntryFile
		case e.Type()&fs.ModeSymlink != 0:
			entry.Kind = EntryLink
		}
		list = append(list, entry)
	}
	return list, false
}

// compareTrueFirst puts true first.
func compareTrueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// Search finds files by parts of their path, ignoring case: all words of query must occur. In a
// repository, it leaves out files that git ignores. Files whose name contains the last word come
// first, then shorter paths.
func (f *Folder) Search(ctx context.Context, query string) (found []string, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	words := strings.Fields(strings.ToLower(query))
	all, more, err := f.paths(ctx)
	if err != nil || len(words) == 0 {
		return nil, false, err
	}
	type hit struct {
		path string
		rank int
	}
	var hits []hit
	for _, p := range all {
		lower := strings.ToLower(p)
		if slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(lower, w) }) || !utf8.ValidString(p) || !f.place.Visible(filepath.Join(f.dir, p)) {
			continue
		}
		rank := len(p)
		if !strings.Contains(path.Base(lower), words[len(words)-1]) {
			rank += 10_000
		}
		hits = append(hits, hit{p, rank})
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if a.rank != b.rank {
			return a.rank - b.rank
		}
		return strings.Compare(a.path, b.path)
	})
	more = more || len(hits) > maxFound
	for _, h := range hits[:min(len(hits), maxFound)] {
		found = append(found, h.path)
	}
	return found, more, nil
}

// maxWalked bounds the entries that are read to search a folder without a repository.
const maxWalked = 20_000

// paths lists the files of the folder.
func (f *Folder) paths(ctx context.Context) (all []string, more bool, err error) {
	if f.State == RepositoryFound {
		out, cut, err := f.exec(ctx, call{args: []string{"ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", "."}, limit: 4 * maxListing})
		return records(out, cut), cut, failed(err)
	}
	err = f.git.o.As(func() error {
		root, err := os.OpenRoot(f.dir)
		if err != nil {
			return err
		}
		defer root.Close()
		walked := 0
		return fs.WalkDir(root.FS(), ".", func(p string, e fs.DirEntry, err error) error {
			walked++
			switch {
			case walked > maxWalked || ctx.Err() != nil:
				more = true
				return fs.SkipAll
			case err != nil:
				return nil // an unreadable folder has no files
			case e.IsDir() && (e.Name() == ".git" || e.Name() == "node_modules" || p != "." && !f.place.Visible(filepath.Join(f.dir, p))):
				return fs.SkipDir
			case !e.IsDir():
				all = append(all, p)
			}
			return nil
		})
	})
	return all, more, err
}
