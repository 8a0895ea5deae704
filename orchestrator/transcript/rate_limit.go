package transcript

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/claude"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/session"
)

// applyRateLimit notes that a limit of the Claude account is near or reached.
func applyRateLimit(m *claude.Other, now time.Time) Change {
	if m.Type != "rate_limit_event" {
		return Change{}
	}
	var e struct {
		Info struct {
			Status      string  `json:"status"`
			ResetsAt    float64 `json:"resetsAt"` // Unix seconds
			Type        string  `json:"rateLimitType"`
			Utilization float64 `json:"utilization"` // of 1
		} `json:"rate_limit_info"`
	}
	if json.Unmarshal(m.Raw, &e) != nil {
		return Change{}
	}
	which := map[string]string{
		"five_hour": "five-hour", "seven_day": "weekly", "seven_day_opus": "weekly Opus", "seven_day_sonnet": "weekly Sonnet", "overage": "extra usage",
	}[e.Info.Type]
	if which == "" {
		which = "usage"
	}
	reset := ""
	if e.Info.ResetsAt > 0 {
		reset = time.Unix(int64(e.Info.ResetsAt), 0).UTC().Format("2006-01-02 15:04") + " UTC"
	}
	level, text := "", ""
	switch e.Info.Status {
	case "rejected":
		level, text = "error", statement.New("quota_reached", "quota", which, "at", reset)
	case "allowed_warning":
		level, text = "warning", statement.New("quota_near", "quota", which, "at", reset)
		if e.Info.Utilization > 0 && e.Info.Utilization <= 1 {
			text = statement.New("quota_used", "percent", fmt.Sprintf("%.0f", e.Info.Utilization*100), "quota", which, "at", reset)
		}
	default:
		return Change{}
	}
	// One note for each limit and its period, kept up to date.
	key := fmt.Sprintf("limit:%s:%.0f", e.Info.Type, e.Info.ResetsAt)
	return Change{Items: []session.Item{Note(key, level, text, now)}}
}
