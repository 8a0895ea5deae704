// Package decision decides who may answer a request, which requests may be approved together,
// and whether a held answer still counts. The edges call it; the stores and package pending
// do not import it.
package decision

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
)

// maxLevels bounds each of the two generations of the cache, in entries of about 150 bytes. It
// exceeds the number of open requests, so a frame computes only the levels of new ones.
const maxLevels = 16384

// RiskLevels computes and caches the risk levels of requests. Every frame of a session for
// every tab contains them.
type RiskLevels struct {
	Private []string // the server's own files; reading them is never low risk

	mu               sync.Mutex // protects the maps; not held while a level is computed
	recent, previous map[levelKey]*riskLevel
}

// Place returns where the tool calls of a session run.
func (l *RiskLevels) Place(cwd string) review.Place {
	return review.Place{Dir: cwd, Private: l.Private, Files: disk{}}
}

// levelKey is the hash of everything a level depends on, except the links on disk, which are
// followed when it is first computed. The strings themselves are too long to keep thousands
// of them.
type levelKey [sha256.Size]byte

// riskLevel is a level that is computed once.
type riskLevel struct {
	once  sync.Once
	level review.Level // the highest one until it is computed
}

// Of returns the risk level of a request of a session in cwd, or "" if it is no tool call.
func (l *RiskLevels) Of(r pending.Request, cwd string) review.Level {
	if r.RequestType != pending.ToolApproval {
		return ""
	}
	key := levelKey(sha256.Sum256([]byte(r.RequestID + "\x00" + r.InputHash + "\x00" + r.BlockedPath + "\x00" + cwd)))
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
	level.once.Do(func() { level.level = LevelOf(r, l.Place(cwd)) })
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

// disk reads the files of this machine, where sessions run.
type disk struct{}

// Real resolves the links of a path. For a missing file it returns where the file would be.
func (disk) Real(path string) (string, bool) {
	rest := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		switch {
		case err == nil:
			return filepath.Join(real, rest), true
		case !errors.Is(err, fs.ErrNotExist) || path == "/":
			return "", false
		}
		if _, err := os.Lstat(path); err == nil { // a dangling link
			return "", false
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

func (disk) IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// maxMatches bounds the paths that a pattern may match, and maxWildcards the folders that are
// read for it.
const (
	maxMatches   = 500
	maxWildcards = 3
)

func (disk) Match(pattern string) ([]string, bool) {
	if strings.Count(filepath.Dir(pattern), "*")+strings.Count(filepath.Dir(pattern), "?")+strings.Count(filepath.Dir(pattern), "[") > maxWildcards {
		return nil, false
	}
	list, err := filepath.Glob(pattern)
	return list, err == nil && len(list) <= maxMatches
}

var levels = []review.Level{review.Low, review.Medium, review.High}

func Higher(a, b review.Level) review.Level {
	return levels[max(slices.Index(levels, a), slices.Index(levels, b))]
}
