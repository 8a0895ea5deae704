// Package decision decides who may answer a request, which requests may be approved
// together, and whether an answer that was held still counts. The edges ask it; the
// stores and package pending do not know it.
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

// maxLevels is of how many requests the level is remembered, twice: more than can be
// open, so that a frame reads only what is new.
const maxLevels = 4096

// RiskLevels remembers how much harm what is asked can do. It stands in every frame of a
// session for every tab, and is read once.
type RiskLevels struct {
	Private []string // what is never of low risk to read: the server's own files

	mu         sync.Mutex // protects following; not held while one is read
	young, old map[levelKey]*riskLevel
}

// Place is where the tool calls of a session run.
func (l *RiskLevels) Place(cwd string) review.Place {
	return review.Place{Dir: cwd, Private: l.Private, Files: disk{}}
}

// levelKey is the hash of all that a level follows from, with what the links on disk lead
// to when it is first asked for. The strings themselves are too long to keep thousands.
type levelKey [sha256.Size]byte

// riskLevel is a level that is read once.
type riskLevel struct {
	once  sync.Once
	level review.Level // the highest until it is read
}

// Of returns the level of a request that was asked in cwd, "" of what is no tool call.
func (l *RiskLevels) Of(r pending.Request, cwd string) review.Level {
	if r.RequestType != pending.ToolApproval {
		return ""
	}
	key := levelKey(sha256.Sum256([]byte(r.RequestID + "\x00" + r.InputHash + "\x00" + r.BlockedPath + "\x00" + cwd)))
	l.mu.Lock()
	level, known := l.young[key]
	if !known {
		if level, known = l.old[key]; !known {
			level = &riskLevel{level: review.High}
		}
		if len(l.young) >= maxLevels || l.young == nil {
			l.young, l.old = map[levelKey]*riskLevel{}, l.young
		}
		l.young[key] = level
	}
	l.mu.Unlock()
	level.once.Do(func() { level.level = LevelOf(r, l.Place(cwd)) })
	return level.level
}

// LevelOf reads the level. Only Claude's own tools are known: what another asker
// calls by the same name may be anything.
func LevelOf(r pending.Request, at review.Place) review.Level {
	level := at.ToolLevel(r.ToolName, r.ToolInput)
	if r.Source != pending.SourceClaude {
		level = Higher(level, review.Medium)
	}
	if r.Policy.Restricts() {
		level = Higher(level, review.Medium)
	}
	if r.BlockedPath != "" {
		// The CLI has followed the links that the input does not show.
		level = Higher(level, at.LookLevel(r.BlockedPath))
	}
	return level
}

// disk is the files of this machine, where sessions run.
type disk struct{}

// Real returns where a path leads, and of a file that is missing, where it would be.
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
		if _, err := os.Lstat(path); err == nil { // a link to nowhere
			return "", false
		}
		path, rest = filepath.Dir(path), filepath.Join(filepath.Base(path), rest)
	}
}

func (disk) IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// maxMatches bounds what a pattern may fit, and maxWildcards the folders that are read
// for it.
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
