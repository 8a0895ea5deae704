package decision

import (
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

// MaxLevels is the most that is remembered of levels.
const MaxLevels = 2 * maxLevels

// RatedLevel returns how much harm a request can do, read anew.
func RatedLevel(r pending.Request, cwd string, private ...string) review.Level {
	return (&RiskLevels{Private: private}).Of(r, "", cwd)
}
