package decision

import (
	"context"

	"github.com/sayso-dev/sayso/internal/review"
	"github.com/sayso-dev/sayso/pending"
)

// LevelsRemembered rates each request and returns how many levels are remembered.
func LevelsRemembered(requests []pending.Request, cwd string) int {
	read := new(RiskLevels)
	for _, r := range requests {
		read.Of(r, "", cwd)
	}
	return len(read.recent) + len(read.previous)
}

// Limits of levels: how many are remembered, how long one is waited for, how many queries it may
// make and after what time it is tried again.
const (
	MaxLevels         = 2 * maxLevels
	LevelWait         = levelWait
	MaxQueries        = maxQueries
	AssessmentTimeout = assessmentTimeout
	RetryLate         = retryLate
)

// RatedLevel returns how much harm a request can do, read anew, where these files are sayso's.
func RatedLevel(r pending.Request, cwd string, private ...string) review.Level {
	f := (&RiskLevels{Disk: func(string) Disk { return diskOf{private: private} }}).files("")
	return LevelOf(r, review.Place{Dir: cwd, Private: f.private, Files: f})
}

// diskOf is this machine, with files of sayso.
type diskOf struct {
	review.LocalDisk
	private []string
}

func (d diskOf) PrivateFiles(context.Context) ([]string, error) { return d.private, nil }
