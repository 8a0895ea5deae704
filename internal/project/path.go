package project

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// fileParts are the names of a file: where it is in the file system and where its
// links lead. dir is where a relative name begins, "?" when nobody knows.
func (p Project) fileParts(c Call, file, dir string) (parts []part) {
	names := c.names(file, dir)
	if names == nil {
		return []part{{unread: true}}
	}
	for _, name := range names {
		forms := p.from(c, name)
		parts = append(parts, part{fits: func(r Rule) bool { return slices.ContainsFunc(forms, r.fitsName) }})
	}
	return parts
}

// fitsName compares the pattern with one name of a file, whole or from a folder. For
// what makes things harder, case does not count, and a folder fits in place of what
// is in it.
func (r Rule) fitsName(name string) bool {
	if !r.restricts() {
		return matches(r.Pattern, name)
	}
	return r.fitsText(name) || r.fitsText(name+"/")
}

// holds reports whether what the pattern is about may be in a folder of that name.
func (r Rule) holds(name string) bool {
	before, _, _ := strings.Cut(strings.ToLower(r.Pattern), "*")
	return name == "" || name == "/" || strings.HasPrefix(before, strings.ToLower(name)+"/")
}

// from returns a file's name in the file system and, where it is inside of them, the
// names from the folder of the session and those of the project.
func (p Project) from(c Call, name string) []string {
	all := []string{name}
	folders := append([]string{c.CWD}, p.Folders...)
	if c.Resolve != nil {
		if real := c.Resolve(c.CWD); real != "" {
			folders = append(folders, real)
		}
	}
	for _, folder := range folders {
		if folder == "" {
			continue
		}
		if inside, ok := strings.CutPrefix(strings.TrimSuffix(name, "/")+"/", strings.TrimSuffix(folder, "/")+"/"); ok {
			if inside = strings.TrimSuffix(inside, "/"); !slices.Contains(all, inside) {
				all = append(all, inside)
			}
		}
	}
	return all
}

// names are the absolute paths by which a file may be known: as it is written, and
// where it leads. None when nobody can tell.
func (c Call) names(file, dir string) (all []string) {
	add := func(name string) {
		if name = path.Clean(name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	switch {
	case file == "" || file == "?" || strings.ContainsRune(file, 0):
		return nil
	case strings.HasPrefix(file, "~"):
		rest := strings.TrimPrefix(file, "~")
		if c.Home == "" || rest != "" && rest[0] != '/' {
			return []string{file}
		}
		add(file) // patterns may be written so
		file = c.Home + rest
	case !path.IsAbs(file) && (dir == "?" || dir == ""):
		return nil
	case !path.IsAbs(file) && strings.HasPrefix(dir, "~"):
		return c.names(dir+"/"+file, dir)
	case !path.IsAbs(file):
		file = dir + "/" + file
	}
	add(file)
	for _, name := range []string{file, path.Clean(file)} {
		// A link may lead to one of the kernel's, and that to a link.
		for tries := 0; ; tries++ {
			plain, known := withoutProc(name, dir)
			if !known || tries == maxLinks {
				return nil
			}
			add(plain)
			if c.Resolve == nil {
				break
			}
			real := c.Resolve(plain)
			if real == "" {
				return nil
			}
			add(real)
			if real == path.Clean(plain) {
				break
			}
			name = real
		}
	}
	return all
}

// maxLinks bounds how often a name is resolved.
const maxLinks = 20

// procLinks are what the kernel says of a process: its folder and its root. Claude
// names it from inside, so the folder is that of the session.
var (
	procLinks  = lazyregexp.New(`^/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(cwd|root)(?:/|$)`)
	procOthers = lazyregexp.New(`^/(?:proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(?:fd|map_files|exe)|dev/fd)(?:/|$)`)
)

// withoutProc replaces the kernel's links to a process's folder, which is dir, and to its
// root. known is false when nobody can tell where a name leads, as for the kernel's links
// to open files.
func withoutProc(file, dir string) (plain string, known bool) {
	for range maxLinks {
		file = cleanPath(file)
		found := procLinks.FindStringSubmatchIndex(file)
		if found == nil {
			return file, !procOthers.MatchString(file)
		}
		at := "/"
		if file[found[2]:found[3]] == "cwd" {
			at = dir
		}
		if !path.IsAbs(at) {
			return "", false
		}
		file = at + "/" + file[found[1]:]
	}
	return "", false
}

// cleanPath is an absolute name without what leads nowhere. ".." stays: where it leads
// hangs on the links before it.
func cleanPath(file string) string {
	var names []string
	for _, name := range strings.Split(file, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return "/" + strings.Join(names, "/")
}

// addressParts are an address as it is written and as a browser would read it.
func addressParts(address string) []part {
	plain, ok := plainAddress(address)
	if !ok {
		return []part{{unread: true}}
	}
	written := func(text string, more ...string) part {
		return part{fits: func(r Rule) bool {
			return matches(r.Pattern, text) || r.restricts() && (r.fitsText(text) || slices.ContainsFunc(more, r.fitsText))
		}}
	}
	insecure := "http" + strings.TrimPrefix(plain, "https")
	return []part{written(address), written(plain, insecure, plain+"/", insecure+"/")}
}

// plainAddress is the address that a browser would go to: https, as the CLI does, the
// host in lower case, no name of a user, no port that goes without saying.
func plainAddress(address string) (plain string, ok bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return "", false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if port := u.Port(); port != "" && port != "443" && port != "80" {
		host = net.JoinHostPort(host, port)
	}
	name := u.Path
	if name != "" {
		end := strings.HasSuffix(name, "/") && name != "/"
		if name = path.Clean("/" + name); end && name != "/" {
			name += "/"
		}
	}
	plain = "https://" + host + name
	if u.RawQuery != "" {
		plain += "?" + u.RawQuery
	}
	return plain, true
}
