package launch

import (
	"context"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/review"
)

const (
	// remoteDiskTimeout bounds one call about a file on another host. Frames wait for such calls.
	remoteDiskTimeout = time.Second
	// remoteDiskPause is how long a host that did not answer in time is not called again.
	remoteDiskPause = 5 * time.Second
	// privateTTL is how long the list of a host's private files is cached. The list changes only
	// when the runner is restarted with other settings.
	privateTTL = time.Minute
)

// NoDisk is the disk of a runner that cannot be reached. Its methods return [ErrUnreachable].
type NoDisk struct{}

func (NoDisk) Home(context.Context) (string, error) { return "", ErrUnreachable }
func (NoDisk) ResolvePath(context.Context, string) (string, error) {
	return "", ErrUnreachable
}
func (NoDisk) RepositoryRoot(context.Context, string) (string, error) {
	return "", ErrUnreachable
}
func (NoDisk) RealPath(context.Context, string) (review.RealPath, error) {
	return review.RealPath{}, ErrUnreachable
}
func (NoDisk) IsFolder(context.Context, string) (bool, error) { return false, ErrUnreachable }
func (NoDisk) MatchPaths(context.Context, string) (review.Matches, error) {
	return review.Matches{}, ErrUnreachable
}

func (NoDisk) PrivateFiles(context.Context) ([]string, error) { return nil, ErrUnreachable }

// RemoteDisk wraps the disk of another host so that it may be read for each frame: a host that does
// not answer in time is not called again for a while.
func RemoteDisk(of Disk) Disk { return &remoteDisk{of: of} }

// remoteDisk is the disk of another host.
type remoteDisk struct {
	of Disk

	mu     sync.Mutex
	paused time.Time // the host is not called before

	private   []string
	privateAt time.Time // when private was read; zero before
}

// askDisk calls question with remoteDiskTimeout. It returns [ErrUnreachable] while the host is paused.
func askDisk[T any](ctx context.Context, d *remoteDisk, question func(ctx context.Context) (T, error)) (answer T, err error) {
	d.mu.Lock()
	paused := time.Now().Before(d.paused)
	d.mu.Unlock()
	if paused {
		return answer, ErrUnreachable
	}
	asking, cancel := context.WithTimeout(ctx, remoteDiskTimeout)
	defer cancel()
	answer, err = question(asking)
	if err != nil && asking.Err() != nil && ctx.Err() == nil {
		d.mu.Lock()
		d.paused = time.Now().Add(remoteDiskPause)
		d.mu.Unlock()
	}
	return answer, err
}

func (d *remoteDisk) Home(ctx context.Context) (string, error) { return askDisk(ctx, d, d.of.Home) }

func (d *remoteDisk) ResolvePath(ctx context.Context, path string) (string, error) {
	return askDisk(ctx, d, func(ctx context.Context) (string, error) { return d.of.ResolvePath(ctx, path) })
}

func (d *remoteDisk) RepositoryRoot(ctx context.Context, folder string) (string, error) {
	return askDisk(ctx, d, func(ctx context.Context) (string, error) { return d.of.RepositoryRoot(ctx, folder) })
}

func (d *remoteDisk) RealPath(ctx context.Context, path string) (review.RealPath, error) {
	return askDisk(ctx, d, func(ctx context.Context) (review.RealPath, error) { return d.of.RealPath(ctx, path) })
}

func (d *remoteDisk) IsFolder(ctx context.Context, path string) (bool, error) {
	return askDisk(ctx, d, func(ctx context.Context) (bool, error) { return d.of.IsFolder(ctx, path) })
}

func (d *remoteDisk) MatchPaths(ctx context.Context, pattern string) (review.Matches, error) {
	return askDisk(ctx, d, func(ctx context.Context) (review.Matches, error) { return d.of.MatchPaths(ctx, pattern) })
}

func (d *remoteDisk) PrivateFiles(ctx context.Context) ([]string, error) {
	d.mu.Lock()
	known, at := d.private, d.privateAt
	d.mu.Unlock()
	if !at.IsZero() && time.Since(at) < privateTTL {
		return known, nil
	}
	files, err := askDisk(ctx, d, d.of.PrivateFiles)
	if err == nil {
		d.mu.Lock()
		d.private, d.privateAt = files, time.Now()
		d.mu.Unlock()
	}
	return files, err
}
