package workspace

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Limits of a listing.
const (
	// maxFolders bounds the folders in one listing.
	maxFolders = 200
	// maxNamesRead bounds the names that are read from one folder, which may hold millions of
	// files.
	maxNamesRead = 20_000
)

// Folder is a folder in which a person may start a session.
type Folder struct {
	Path   string // absolute; its parent is spelled as the person typed it
	Recent bool   // a session ran in it
}

// Listing is a list of folders to choose from.
type Listing struct {
	Folders []Folder
	More    bool // further folders were left out
}

// Search describes what to list.
type Search struct {
	// Prefix is what the person has typed so far. Up to its last slash it names a folder;
	// List returns its subfolders that begin with the rest, ignoring case. Without a slash,
	// List searches in the roots, and anywhere in the paths of Recent.
	Prefix string
	Hidden bool // includes names that begin with a dot; a prefix with a dot includes them anyway
	Limit  int  // maximum number of folders; 0 means maxFolders
	// Recent lists folders that come first, in this order, if they match and still exist.
	Recent []string
}

// List lists folders inside the roots. It includes a symbolic link to a folder inside the
// same root, and follows none out of it. It returns a [problem.Error] for a prefix outside
// the roots. A missing or unreadable folder has no subfolders.
func (r Roots) List(s Search) (Listing, error) {
	limit := s.Limit
	if limit <= 0 || limit > maxFolders {
		limit = maxFolders
	}
	prefix, err := expandHome(s.Prefix)
	if err != nil {
		return Listing{}, err
	}
	if s.Prefix == "~" {
		prefix += "/"
	}
	var found []string
	var more bool
	for _, recent := range s.Recent {
		fits := strings.HasPrefix(fold(recent), fold(prefix))
		if !strings.HasPrefix(prefix, "/") {
			fits = strings.Contains(fold(recent), fold(prefix))
		}
		if fits && r.exists(recent) {
			found = append(found, recent)
		}
	}
	known := len(found)
	switch {
	case !strings.HasPrefix(prefix, "/"):
		for _, root := range r {
			if prefix == "" {
				found = append(found, root)
				continue
			}
			below, cut := namesIn(root, ".", prefix, s.Hidden)
			more = more || cut
			for _, name := range below {
				found = append(found, filepath.Join(root, name))
			}
		}
	default:
		folder, start := filepath.Clean(prefix[:strings.LastIndexByte(prefix, '/')+1]), prefix[strings.LastIndexByte(prefix, '/')+1:]
		inside := false
		for _, root := range r {
			if strings.HasPrefix(fold(root), fold(prefix)) { // a parent of a root
				found, inside = append(found, root), true
			}
			rest, ok := relativeTo(root, folder)
			if !ok {
				continue
			}
			inside = true
			names, cut := namesIn(root, rest, start, s.Hidden)
			more = more || cut
			for _, name := range names {
				found = append(found, filepath.Join(folder, name))
			}
		}
		if !inside {
			return Listing{}, r.outsideError(prefix)
		}
	}
	out := Listing{More: more, Folders: []Folder{}}
	seen := map[string]bool{}
	for i, path := range found {
		switch {
		case seen[path]:
		case len(out.Folders) == limit:
			out.More = true
			return out, nil
		default:
			seen[path] = true
			out.Folders = append(out.Folders, Folder{Path: path, Recent: i < known})
		}
	}
	return out, nil
}

// exists reports whether a folder still exists inside the roots.
func (r Roots) exists(path string) bool {
	return slices.ContainsFunc(r, func(root string) bool {
		rest, ok := relativeTo(root, path)
		if !ok {
			return false
		}
		in, err := os.OpenRoot(root)
		if err != nil {
			return false
		}
		defer in.Close()
		info, err := in.Stat(rest)
		return err == nil && info.IsDir()
	})
}

// namesIn lists the subfolders of a folder below a root whose names begin with start, sorted.
// Names that match its case come first.
func namesIn(root, rest, start string, hidden bool) (names []string, truncated bool) {
	in, err := os.OpenRoot(root)
	if err != nil {
		return nil, false
	}
	defer in.Close()
	// os.Root follows no link out of the root. Without O_NONBLOCK, a pipe of this name would
	// block until somebody writes to it.
	list, err := in.OpenFile(rest, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false
	}
	defer list.Close()
	for looked := 0; ; {
		entries, err := list.ReadDir(256)
		for _, e := range entries {
			name := e.Name()
			switch {
			case !strings.HasPrefix(fold(name), fold(start)):
			case strings.HasPrefix(name, ".") && !hidden && !strings.HasPrefix(start, "."):
			case isFolder(in, rest, e) && isTypable(name):
				names = append(names, name)
			}
		}
		looked += len(entries)
		if err != nil {
			truncated = !errors.Is(err, io.EOF)
			break
		}
		if looked >= maxNamesRead {
			truncated = true
			break
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		exact := func(s string) int {
			if strings.HasPrefix(s, start) {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(exact(a), exact(b)), cmp.Compare(fold(a), fold(b)), cmp.Compare(a, b))
	})
	return names, truncated
}

// isFolder reports whether an entry is a folder, or a link to one inside the root.
func isFolder(in *os.Root, rest string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := in.Stat(filepath.Join(rest, e.Name()))
	return err == nil && info.IsDir()
}

// isTypable reports whether a person could type a name. List leaves out other folders.
func isTypable(name string) bool {
	_, err := expandHome(name)
	return err == nil
}

func fold(s string) string { return strings.ToLower(s) }
