package wsapi

import (
	"sync"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/review"
)

// maxLevels is of how many requests the level is remembered, twice: more than can be
// open, so that a frame reads only what is new.
const maxLevels = 4096

// riskLevels remembers how much harm what is asked can do. It stands in every frame of a
// session for every tab, and is read once.
type riskLevels struct {
	mu         sync.Mutex // protects following; not held while one is read
	young, old map[levelKey]func() review.Level
}

// levelKey is all that a level follows from: the hash is that of the input.
type levelKey struct{ requestID, inputHash, blockedPath, cwd string }

// of is the level of a request that was asked in cwd, "" of what is no tool call.
func (l *riskLevels) of(r pending.Request, cwd string) review.Level {
	if r.RequestType != pending.ToolApproval {
		return ""
	}
	key := levelKey{r.RequestID, r.InputHash, r.BlockedPath, cwd}
	l.mu.Lock()
	level, known := l.young[key]
	if !known {
		if level, known = l.old[key]; !known {
			level = sync.OnceValue(func() review.Level { return levelOf(r, cwd) })
		}
		if len(l.young) >= maxLevels || l.young == nil {
			l.young, l.old = map[levelKey]func() review.Level{}, l.young
		}
		l.young[key] = level
	}
	l.mu.Unlock()
	return level()
}

// levelOf reads the level. Only Claude's own tools are known: what another asker
// calls by the same name may be anything.
func levelOf(r pending.Request, cwd string) review.Level {
	level := review.ToolLevel(r.ToolName, r.ToolInput, cwd)
	if r.Source != pending.SourceClaude {
		level = higher(level, review.Medium)
	}
	if r.BlockedPath != "" {
		// The CLI has followed the links that the input does not show.
		level = higher(level, review.LookLevel(r.BlockedPath, cwd))
	}
	return level
}
