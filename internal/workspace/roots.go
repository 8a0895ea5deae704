// Package workspace decides in which folders Claude may work, and which of their files people
// may see.
package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Roots are the folders inside which sessions may work, absolute and with symlinks resolved.
type Roots []string

// NewRoots resolves the symlinks of folders. A folder that is missing or is a file is an error.
func NewRoots(folders []string) (Roots, error) {
	roots := make(Roots, 0, len(folders))
	for _, f := range folders {
		abs, err := filepath.Abs(f)
		if err != nil {
			return nil, fmt.Errorf("workspace root %s: %w", f, err)
		}
		real, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, fmt.Errorf("workspace root %s: %w", f, err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("workspace root %s is not a folder", f)
		}
		roots = append(roots, real)
	}
	return roots, nil
}

// Resolve returns the real path, without symbolic links, of a folder that a person typed, or
// a [problem.Error]. The path may lead to another folder a moment later, so code that enters
// it must check again.
func (r Roots) Resolve(cwd string) (string, error) {
	if cwd == "" {
		return "", problem.New("folder_missing")
	}
	cwd, err := expandHome(cwd)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(cwd) {
		return "", problem.New("folder_not_absolute", "folder", cwd)
	}
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", problem.New("folder_not_found", "folder", cwd)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", problem.New("folder_not_a_folder", "folder", cwd)
	}
	if !r.Contains(real) {
		return "", r.outsideError(cwd)
	}
	return real, nil
}

// Contains reports whether a path, absolute and without symbolic links, is a root or below
// one.
func (r Roots) Contains(real string) bool {
	return slices.ContainsFunc(r, func(root string) bool { _, ok := relativeTo(root, real); return ok })
}

// Within returns the intersection of r and others.
func (r Roots) Within(others Roots) Roots {
	inside := Roots{}
	for _, root := range r {
		if others.Contains(root) {
			inside = append(inside, root)
		}
	}
	for _, other := range others {
		if r.Contains(other) && !slices.Contains(inside, other) {
			inside = append(inside, other)
		}
	}
	return inside
}

func (r Roots) outsideError(path string) error {
	return problem.New("folder_outside", "folder", path, "roots", strings.Join(r, ", "))
}

// relativeTo returns path relative to root, "." for the root itself.
func relativeTo(root, path string) (rest string, ok bool) {
	if path == root {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// expandHome replaces ~ with the home folder of the server's user. It refuses a path with "..",
// which leads elsewhere than it appears to when it follows a symbolic link.
func expandHome(path string) (string, error) {
	if !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl) {
		return "", problem.New("folder_characters")
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", problem.New("folder_no_home")
		}
		path = home + path[1:]
	}
	if slices.Contains(strings.Split(path, "/"), "..") {
		return "", problem.New("folder_dots")
	}
	return path, nil
}
