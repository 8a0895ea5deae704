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
)

// Limits of a listing.
const (
	// maxListed is the most folders that one listing holds.
	maxListed = 200
	// maxLooked is how many names of one folder are looked at; somebody may have
	// millions of files in one.
	maxLooked = 20_000
)

// Folder is one that somebody may start a session in.
type Folder struct {
	Path   string // absolute, as it was typed up to its name
	Recent bool   // somebody worked in it
}

// Listing are folders to choose from.
type Listing struct {
	Folders []Folder
	More    bool // than fit in
}

// Search says what to list.
type Search struct {
	// Prefix is what is typed so far. Up to its last slash it names a folder, whose
	// folders that begin with the rest are listed; the case of letters does not
	// matter. Without a slash it is looked for in the roots, and anywhere in Recent.
	Prefix string
	Hidden bool // also those that begin with a dot; those asked for by name are listed anyway
	Limit  int  // at most maxListed, which 0 means
	// Recent are folders that come first if they fit to what is typed and are still
	// there, in this order.
	Recent []string
}

// List lists folders inside the roots. A symbolic link that leads to a folder
// inside the same root is one; none is followed out of it. The error is a
// [problem.Error] for a prefix that leads elsewhere; a folder that is not there,
// or cannot be read, has none below it.
func (r Roots) List(s Search) (Listing, error) {
	limit := s.Limit
	if limit <= 0 || limit > maxListed {
		limit = maxListed
	}
	prefix, err := typed(s.Prefix)
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
		if fits && r.there(recent) {
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
			if strings.HasPrefix(fold(root), fold(prefix)) { // on the way to a root
				found, inside = append(found, root), true
			}
			rest, ok := below(root, folder)
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
			return Listing{}, r.outside(prefix)
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

// there reports whether a folder is inside the roots still.
func (r Roots) there(path string) bool {
	return slices.ContainsFunc(r, func(root string) bool {
		rest, ok := below(root, path)
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

// namesIn lists the folders in a folder below a root whose names begin with start,
// sorted; those that have its very letters come first.
func namesIn(root, rest, start string, hidden bool) (names []string, cut bool) {
	in, err := os.OpenRoot(root)
	if err != nil {
		return nil, false
	}
	defer in.Close()
	folder, err := in.OpenRoot(rest) // no link leads out of it
	if err != nil {
		return nil, false
	}
	defer folder.Close()
	list, err := folder.Open(".")
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
			case isFolder(in, rest, e) && plain(name):
				names = append(names, name)
			}
		}
		looked += len(entries)
		if err != nil {
			cut = !errors.Is(err, io.EOF)
			break
		}
		if looked >= maxLooked {
			cut = true
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
	return names, cut
}

// isFolder reports whether an entry is a folder, or a link to one that is inside
// the root.
func isFolder(in *os.Root, rest string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := in.Stat(filepath.Join(rest, e.Name()))
	return err == nil && info.IsDir()
}

// plain reports whether a name could be typed: what could not is no folder to
// work in.
func plain(name string) bool {
	_, err := typed(name)
	return err == nil
}

func fold(s string) string { return strings.ToLower(s) }
