package transcript

import (
	"fmt"
	"maps"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// RateLimit is what the CLI last printed about a limit of the Claude account.
type RateLimit struct {
	Status   string  `json:"status"`              // allowed, allowed_warning or rejected
	Used     float64 `json:"used,omitempty"`      // fraction, from 0 to 1; 0 when unknown
	ResetsAt int64   `json:"resets_at,omitempty"` // Unix seconds; 0 when unknown
}

// maxRateLimits bounds the limits that are remembered, and maxRateLimitName their names and
// statuses, in bytes.
const (
	maxRateLimits    = 16
	maxRateLimitName = 64
)

// applyRateLimit remembers a limit of the Claude account, and adds a note if the limit is near or
// reached.
func (b *Builder) applyRateLimit(l claude.RateLimitInfo, now time.Time) Change {
	b.rememberLimit(l.RateLimitType, RateLimit{l.Status, l.Utilization, int64(l.ResetsAt)})
	which := map[string]string{
		"five_hour": "five-hour", "seven_day": "weekly", "seven_day_opus": "weekly Opus", "seven_day_sonnet": "weekly Sonnet", "overage": "extra usage",
	}[l.RateLimitType]
	if which == "" {
		which = "usage"
	}
	reset := ""
	if l.ResetsAt > 0 {
		reset = time.Unix(int64(l.ResetsAt), 0).UTC().Format("2006-01-02 15:04") + " UTC"
	}
	level, text := "", ""
	switch l.Status {
	case "rejected":
		level, text = "error", statement.New("quota_reached", "quota", which, "at", reset)
	case "allowed_warning":
		level, text = "warning", statement.New("quota_near", "quota", which, "at", reset)
		if l.Utilization > 0 && l.Utilization <= 1 {
			text = statement.New("quota_used", "percent", fmt.Sprintf("%.0f", l.Utilization*100), "quota", which, "at", reset)
		}
	default:
		return Change{}
	}
	// Each period of a limit has one note, which is kept up to date.
	key := fmt.Sprintf("limit:%s:%.0f", l.RateLimitType, l.ResetsAt)
	return Change{Items: []session.Item{Note(key, level, text, now)}}
}

// rememberLimit remembers a limit. It replaces the map, because a Memo that is being stored may
// still refer to the old one.
func (b *Builder) rememberLimit(name string, l RateLimit) {
	_, known := b.Limits[name]
	if name == "" || len(name) > maxRateLimitName || len(l.Status) > maxRateLimitName || !known && len(b.Limits) >= maxRateLimits {
		return
	}
	limits := maps.Clone(b.Limits)
	if limits == nil {
		limits = map[string]RateLimit{}
	}
	limits[name] = l
	b.Limits = limits
}
