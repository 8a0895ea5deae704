package launch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sayso-dev/sayso/internal/review"
)

// PrivateFiles returns the files and folders of sayso on this machine.
func (c *CLI) PrivateFiles(context.Context) ([]string, error) { return c.Private, nil }

// Home returns the home folder of the CLI's user, "" when there is none.
func (c *CLI) Home(context.Context) (string, error) { return c.Getenv("HOME"), nil }

// ResolvePath resolves all symbolic links of an absolute path, as far as it exists, with the
// file rights of the CLI's user. It leaves paths below /proc unchanged.
func (c *CLI) ResolvePath(_ context.Context, path string) (string, error) {
	return readAs(c, func() (string, error) { return follow(path) })
}

// maxLinks bounds how many symbolic links of one path are followed.
const maxLinks = 255

// errLoop means that a path has too many symbolic links, which probably form a loop.
var errLoop = errors.New("too many symbolic links")

// follow resolves the symbolic links of an absolute path as the kernel would, as far as it
// exists, and keeps the rest. It leaves paths below /proc unchanged, because they mean something
// else to another process.
func follow(file string) (string, error) {
	at, rest := "/", strings.Split(file, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if next == "/proc" {
			return strings.Join(append([]string{next}, rest...), "/"), nil
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, os.ErrNotExist):
			at = next
			continue
		case err != nil:
			return "", err
		case info.Mode()&os.ModeSymlink == 0:
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", errLoop
		}
		to, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = slices.Concat(strings.Split(to, "/"), rest)
	}
	return at, nil
}

// RealPath calls [review.LocalDisk.RealPath].
func (c *CLI) RealPath(ctx context.Context, path string) (review.RealPath, error) {
	return readAs(c, func() (review.RealPath, error) { return review.LocalDisk{}.RealPath(ctx, path) })
}

// IsFolder calls [review.LocalDisk.IsFolder].
func (c *CLI) IsFolder(ctx context.Context, path string) (bool, error) {
	return readAs(c, func() (bool, error) { return review.LocalDisk{}.IsFolder(ctx, path) })
}

// MatchPaths calls [review.LocalDisk.MatchPaths].
func (c *CLI) MatchPaths(ctx context.Context, pattern string) (review.Matches, error) {
	return readAs(c, func() (review.Matches, error) { return review.LocalDisk{}.MatchPaths(ctx, pattern) })
}
