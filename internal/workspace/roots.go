// Package workspace is the folders in which Claude may work: which there are,
// and what a person can be shown of them.
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

// Roots are the folders inside which sessions may work, absolute and with
// symlinks resolved.
type Roots []string

// NewRoots resolves the folders. A folder that is not there is an error.
func NewRoots(folders []string) (Roots, error) {
	roots := make(Roots, 0, len(folders))
	for _, f := range folders {
		abs, err := filepath.Abs(f)
		if err != nil {
			return nil, fmt.Errorf("workspace: root %s: %w", f, err)
		}
		real, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, fmt.Errorf("workspace: root: %w", err)
		}
		roots = append(roots, real)
	}
	return roots, nil
}

// Resolve turns what a person typed into the real folder, without symbolic links,
// or says what is wrong with a [problem.Error]. What lies at that path may be
// another folder a moment later: whoever enters it looks again where it is.
func (r Roots) Resolve(cwd string) (string, error) {
	if cwd == "" {
		return "", problem.New("folder_missing")
	}
	cwd, err := typed(cwd)
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
	if !r.Hold(real) {
		return "", r.outside(cwd)
	}
	return real, nil
}

// Hold reports whether a path, absolute and without symbolic links, is one of the
// roots or lies below one.
func (r Roots) Hold(real string) bool {
	return slices.ContainsFunc(r, func(root string) bool { _, ok := below(root, real); return ok })
}

func (r Roots) outside(path string) error {
	return problem.New("folder_outside", "folder", path, "roots", strings.Join(r, ", "))
}

// below is the path of a folder as seen from a root, "." for the root itself.
func below(root, path string) (rest string, ok bool) {
	if path == root {
		return ".", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(root, "/")+"/")
}

// typed takes a path as a person typed it, with their home in place of ~. A path
// that climbs is refused and not cleaned: past a symbolic link, .. is not where it
// seems to be.
func typed(path string) (string, error) {
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
