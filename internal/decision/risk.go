// Package decision decides who may answer a request, which requests may be approved together,
// and whether a held answer still counts. The edges call it; the stores and package pending
// do not import it.
package decision

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
)

// Disk answers questions about the files of a runner.
type Disk = review.FileSystem

// maxLevels bounds each of the two generations of the cache, in entries of about 150 bytes. It
// exceeds the number of open requests, so a frame computes only the levels of new ones.
const maxLevels = 16384

// RiskLevels computes and caches the risk levels of requests. Every frame of a session for
// every tab contains them.
type RiskLevels struct {
	// Disk returns the disk of a runner, where its sessions run; nil for this machine. A call
	// must not block for long.
	Disk func(runnerID string) Disk

	mu               sync.Mutex // protects the maps; not held while a level is computed
	recent, previous map[levelKey]*riskLevel
}

// Place returns where the tool calls of a session run: in cwd on a runner. A query of its Files
// that fails counts as unknown, so that the level is not low.
func (l *RiskLevels) Place(runnerID, cwd string) review.Place {
	place, _ := l.place(runnerID, cwd)
	return place
}

// place also returns the files, which record whether a query has failed.
func (l *RiskLevels) place(runnerID, cwd string) (review.Place, *files) {
	f := &files{disk: review.LocalDisk{}}
	if l.Disk != nil {
		f.disk = l.Disk(runnerID)
	}
	return review.Place{Dir: cwd, Private: f.private, Files: f}, f
}

// diskTimeout bounds one query about a file.
const diskTimeout = 5 * time.Second

// files queries a disk. After the first query that fails, it makes no further ones.
type files struct {
	disk   review.FileSystem
	failed bool
}

func ask[T any](f *files, question func(ctx context.Context) (T, error)) (answer T) {
	if f.failed {
		return answer
	}
	ctx, cancel := context.WithTimeout(context.Background(), diskTimeout)
	defer cancel()
	answer, err := question(ctx)
	f.failed = err != nil
	return answer
}

// private returns the paths of sayso's own files on the disk. Reading them is never low risk.
func (f *files) private() []string { return ask(f, f.disk.PrivateFiles) }

func (f *files) Real(path string) (string, bool) {
	found := ask(f, func(ctx context.Context) (review.RealPath, error) { return f.disk.RealPath(ctx, path) })
	return found.Path, found.Known
}

func (f *files) IsDir(path string) bool {
	return ask(f, func(ctx context.Context) (bool, error) { return f.disk.IsFolder(ctx, path) })
}

func (f *files) Match(pattern string) ([]string, bool) {
	found := ask(f, func(ctx context.Context) (review.Matches, error) { return f.disk.MatchPaths(ctx, pattern) })
	return found.Paths, found.Known
}

// levelKey is the hash of everything a level depends on, except the links on disk, which are
// followed when it is first computed. Keys of the strings themselves would use too much memory.
type levelKey [sha256.Size]byte

// riskLevel is a level that is computed once.
type riskLevel struct {
	once  sync.Once
	level review.Level // the highest one until it is computed
}

// Of returns the risk level of a request, or "" if it is not a tool call. runnerID and cwd are
// those of its session.
func (l *RiskLevels) Of(r pending.Request, runnerID, cwd string) review.Level {
	if r.RequestType != pending.ToolApproval {
		return ""
	}
	key := levelKey(sha256.Sum256([]byte(r.RequestID + "\x00" + r.InputHash + "\x00" + r.BlockedPath + "\x00" + runnerID + "\x00" + cwd)))
	l.mu.Lock()
	level, known := l.recent[key]
	if !known {
		if level, known = l.previous[key]; !known {
			level = &riskLevel{level: review.High}
		}
		if len(l.recent) >= maxLevels || l.recent == nil {
			l.recent, l.previous = map[levelKey]*riskLevel{}, l.recent
		}
		l.recent[key] = level
	}
	l.mu.Unlock()
	level.once.Do(func() {
		place, files := l.place(runnerID, cwd)
		level.level = LevelOf(r, place)
		if files.failed {
			level.level = review.High // the next frame tries again
			l.mu.Lock()
			delete(l.recent, key)
			delete(l.previous, key)
			l.mu.Unlock()
		}
	})
	return level.level
}

// LevelOf computes the risk level. Only Claude's own tools are assessed: another asker may
// use their names for anything.
func LevelOf(r pending.Request, at review.Place) review.Level {
	level := at.ToolLevel(r.ToolName, r.ToolInput)
	if r.Source != pending.SourceClaude {
		level = Higher(level, review.Medium)
	}
	if r.Policy.Restricts() {
		level = Higher(level, review.Medium)
	}
	if r.BlockedPath != "" {
		// The CLI has followed links that the input does not show.
		level = Higher(level, at.ReadLevel(r.BlockedPath))
	}
	return level
}

var levels = []review.Level{review.Low, review.Medium, review.High}

// Higher returns the higher of two levels.
func Higher(a, b review.Level) review.Level {
	return levels[max(slices.Index(levels, a), slices.Index(levels, b))]
}
