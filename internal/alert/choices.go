package alert

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/problem"
)

// Choices are a person's alert settings. Those of the server apply to its own targets. The
// JSON names are those of the stored column.
type Choices struct {
	// Wanted lists the channels for each occasion.
	Wanted map[Occasion][]Way `json:"wanted"`
	// AllSessions includes sessions that others started.
	AllSessions bool `json:"all_sessions,omitempty"`
	// ShowText includes commands and questions in alerts, which pass through servers of third
	// parties.
	ShowText bool `json:"show_text,omitempty"`
	// RemindAfter and EscalateAfter are minutes, 0 for never. Once a request is escalated,
	// everybody who may answer it is notified.
	RemindAfter   int    `json:"remind_after,omitempty"`
	EscalateAfter int    `json:"escalate_after,omitempty"`
	Quiet         Quiet  `json:"quiet,omitzero"`
	Language      string `json:"language,omitempty"`
}

// Quiet is a person's quiet hours, in the local time of a time zone.
type Quiet struct {
	From string `json:"from"` // "22:00"
	To   string `json:"to"`
	Zone string `json:"zone"` // "Europe/Berlin"
}

// DefaultChoices returns the choices of a person who has made none.
func DefaultChoices() Choices {
	all := []Way{Push, Webhook, Ntfy}
	return Choices{Wanted: map[Occasion][]Way{Waiting: all, Finished: {}, Died: all}}
}

// maxMinutes is one day.
const maxMinutes = 24 * 60

// check returns a *[problem.Error] for invalid choices.
func (c Choices) check() error {
	for occasion, kinds := range c.Wanted {
		if occasion != Waiting && occasion != Finished && occasion != Died {
			return problem.For("wanted", "alert_unknown", "occasion", string(occasion))
		}
		for _, k := range kinds {
			if k != Push && k != Webhook && k != Ntfy {
				return problem.For("wanted", "channel_unknown", "channel", string(k))
			}
		}
	}
	if c.RemindAfter < 0 || c.RemindAfter > maxMinutes {
		return problem.For("remind_after", "reminder_range")
	}
	if c.EscalateAfter < 0 || c.EscalateAfter > maxMinutes {
		return problem.For("escalate_after", "escalation_range")
	}
	if c.Quiet == (Quiet{}) {
		return nil
	}
	if _, err := time.LoadLocation(c.Quiet.Zone); err != nil || c.Quiet.Zone == "" || c.Quiet.Zone == "Local" {
		return problem.For("quiet", "time_zone_unknown")
	}
	for _, at := range []string{c.Quiet.From, c.Quiet.To} {
		if _, err := time.Parse("15:04", at); err != nil {
			return problem.For("quiet", "quiet_hours_time")
		}
	}
	return nil
}

func (c Choices) wants(o Occasion, k Way) bool {
	for _, wanted := range c.Wanted[o] {
		if wanted == k {
			return true
		}
	}
	return false
}

// readChoices parses stored choices. It returns the default if none are stored or they are
// invalid.
func readChoices(stored json.RawMessage) Choices {
	var c Choices
	if len(stored) == 0 || json.Unmarshal(stored, &c) != nil || c.Wanted == nil || c.check() != nil {
		return DefaultChoices()
	}
	return c
}

// endsAt returns the end of the quiet hours that include now, or zero if now is outside them.
// Hours that a change to summer time skips do not count.
func (q Quiet) endsAt(now time.Time) time.Time {
	if q == (Quiet{}) || q.From == q.To {
		return time.Time{}
	}
	zone, err := time.LoadLocation(q.Zone)
	if err != nil {
		return time.Time{}
	}
	local := now.In(zone)
	at := func(clock string, days int) time.Time {
		hour, minute, _ := strings.Cut(clock, ":")
		var h, m int
		_, _ = fmt.Sscan(hour, &h) // checked before it was stored
		_, _ = fmt.Sscan(minute, &m)
		return time.Date(local.Year(), local.Month(), local.Day()+days, h, m, 0, 0, zone)
	}
	// Quiet hours across midnight may have begun yesterday.
	for _, day := range []int{-1, 0} {
		from, to := at(q.From, day), at(q.To, day)
		if !to.After(from) {
			to = at(q.To, day+1)
		}
		if !now.Before(from) && now.Before(to) {
			return to
		}
	}
	return time.Time{}
}
