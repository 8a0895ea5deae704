package project

import (
	"net"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/lazyregexp"
)

// fileParts returns the parts for a file: its path and where its links lead. dir is the
// folder of a relative path, "?" when unknown.
func (p Project) fileParts(c Call, file, dir string) (parts []part) {
	names := c.pathsOf(file, dir)
	if names == nil {
		return []part{{unread: true}}
	}
	for _, name := range names {
		forms := p.namesIn(c, name)
		parts = append(parts, part{matches: func(r Rule) bool { return slices.ContainsFunc(forms, r.matchesName) }})
	}
	return parts
}

// matchesName compares the pattern with a path of a file. For rules that restrict, case does
// not matter, and a path matches if the file's folder does.
func (r Rule) matchesName(name string) bool {
	if !r.restricts() {
		return matches(r.Pattern, name)
	}
	return r.matchesText(name) || r.matchesText(name+"/")
}

// mayContain reports whether a folder may contain files that the pattern matches.
func (r Rule) mayContain(name string) bool {
	before, _, _ := strings.Cut(strings.ToLower(r.Pattern), "*")
	return name == "" || name == "/" || strings.HasPrefix(before, strings.ToLower(name)+"/")
}

// namesIn returns a file's absolute path and, where it is inside them, its paths relative to
// the session's folder and the project's folders.
func (p Project) namesIn(c Call, name string) []string {
	all := []string{name}
	for _, folder := range p.foldersIn(c) {
		if inside, ok := strings.CutPrefix(strings.TrimSuffix(name, "/")+"/", strings.TrimSuffix(folder, "/")+"/"); ok {
			if inside = strings.TrimSuffix(inside, "/"); !slices.Contains(all, inside) {
				all = append(all, inside)
			}
		}
	}
	return all
}

// foldersIn returns the folders to which patterns are relative: the session's and the project's.
func (p Project) foldersIn(c Call) []string {
	folders := append([]string{c.CWD}, p.Folders...)
	if c.Resolve != nil {
		folders = append(folders, c.Resolve(c.CWD))
	}
	return slices.DeleteFunc(folders, func(folder string) bool { return folder == "" })
}

// pathsOf returns the absolute paths of a file: as it is written, and where it leads. It
// returns none when that is unknown.
func (c Call) pathsOf(file, dir string) (all []string) {
	add := func(name string) {
		if name = path.Clean(name); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	switch {
	case file == "" || file == "?" || strings.ContainsRune(file, 0):
		return nil
	case file == "~" || strings.HasPrefix(file, "~/"):
		if c.Home == "" {
			if c.Resolve != nil {
				return nil
			}
			return []string{file}
		}
		add(file) // patterns may be written this way
		file = c.Home + strings.TrimPrefix(file, "~")
	case otherHomes.MatchString(file):
		return nil
	case !path.IsAbs(file) && (dir == "~" || strings.HasPrefix(dir, "~/")):
		return c.pathsOf(dir+"/"+file, dir)
	case !path.IsAbs(file) && !path.IsAbs(dir):
		return nil
	case !path.IsAbs(file):
		file = dir + "/" + file
	}
	add(file)
	for _, name := range []string{file, path.Clean(file)} {
		// A link may lead to a link of the kernel, and that to another link.
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

// otherHomes matches a path in the home of a user, such as ~root/x, or in a folder that only
// the shell knows: ~+ and ~-. It does not match other texts, such as the version "~> 7.0".
var otherHomes = lazyregexp.New(`^~[^/\s<>=]+(?:/|$)`)

// maxLinks bounds how often a path is resolved.
const maxLinks = 20

// procLinks matches the kernel's links to the folder and the root of a process. Claude's
// commands use them for their own process, so the folder is the session's.
var (
	procLinks  = lazyregexp.New(`^/proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(cwd|root)(?:/|$)`)
	procOthers = lazyregexp.New(`^/(?:proc/(?:self|thread-self|\d+)(?:/task/\d+)?/(?:fd|map_files|exe)|dev/fd)(?:/|$)`)
)

// withoutProc replaces the kernel's links to a process's folder, which is dir, and to its
// root. known is false when the target is unknown, as for links to open files.
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

// cleanPath returns an absolute path without "." and empty elements. It keeps "..", because
// its target depends on the links before it.
func cleanPath(file string) string {
	var names []string
	for _, name := range strings.Split(file, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return "/" + strings.Join(names, "/")
}

// addressParts returns the parts for an address: as it is written, and as a browser would
// read it.
func addressParts(address string) []part {
	plain, ok := plainAddress(address)
	if !ok {
		return []part{{unread: true}}
	}
	written := func(text string, more ...string) part {
		return part{matches: func(r Rule) bool {
			return matches(r.Pattern, text) || r.restricts() && (r.matchesText(text) || slices.ContainsFunc(more, r.matchesText))
		}}
	}
	insecure := "http" + strings.TrimPrefix(plain, "https")
	return []part{written(address), written(plain, insecure, plain+"/", insecure+"/")}
}

// plainAddress normalizes an address as a browser would: https, as in the CLI, a host in
// lower case, and no user name or default port.
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
