package review_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/sayso-dev/sayso/internal/review"
)

// TestMatchesOfADisk: a pattern matches what it matches for a shell of Go.
func TestMatchesOfADisk(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, file := range []string{"a.go", "b.go", ".hidden.go", "[x].go", "c/a.go", "c/b.txt", "c/d/a.go", "e/d/a.go", "e/d/b.go"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755), os.WriteFile(filepath.Join(root, file), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("c", filepath.Join(root, "link")), os.Symlink("nowhere", filepath.Join(root, "dangling"))); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{
		"", "*", "*.go", "?.go", "[ab].go", "[^a].go", `\[x\].go`, `\a.go`, "a.go", "a.go/*", "missing", "missing/*", "*/a.go", "*/*", "*/d/*.go",
		"*/*/a.go", "?/d/[a-b].go", "link/*", "link/", "*/", "dangling", "dangling/*", "*//a.go", "c/../*.go", "[", `c/\`, "*/[", "*/*/*/*",
	} {
		pattern = root + "/" + pattern
		want, problem := filepath.Glob(pattern)
		got, err := review.LocalDisk{}.MatchPaths(t.Context(), pattern)
		if err != nil || got.Known != (problem == nil) || !slices.Equal(got.Paths, want) {
			t.Errorf("%s: got %+v, %v, want %q, %v", pattern, got, err, want, problem)
		}
	}
}

// TestMatchesOfALargeFolder: what reads or matches too much is unknown, soon, and so is what nobody
// waits for.
func TestMatchesOfALargeFolder(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 20 { // each folder in it has 20 folders, as deep as one looks
		if err := os.Symlink(".", filepath.Join(root, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, known := range map[string]bool{"*/*/*/a.go": false, "*/*/*": false, "*/*/a.go": true, "*/*": true} {
		if got, err := (review.LocalDisk{}).MatchPaths(t.Context(), filepath.Join(root, pattern)); err != nil || got.Known != known {
			t.Errorf("%s: known %t, %v", pattern, got.Known, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := (review.LocalDisk{}).MatchPaths(ended, root+"/*"); !errors.Is(err, context.Canceled) {
		t.Errorf("without a caller: %+v, %v", got, err)
	}
	if got, err := (review.LocalDisk{}).RealPath(ended, root); !errors.Is(err, context.Canceled) {
		t.Errorf("without a caller: %+v, %v", got, err)
	}
}
