package postgres

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/internal/alert"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// Also deletes the rows of servers that died more than an hour ago.
	endPresence = define("DELETE FROM presence WHERE server_id = $1 OR expires_at < " + databaseTime + " - 3600000000")
	putPresence = define(`INSERT INTO presence (server_id, user_id, active, last_active_at, seen, expires_at)
		SELECT $1, user_id, active, CASE WHEN idle < 0 THEN 0 ELSE ` + databaseTime + ` - idle END, seen, ` + databaseTime + ` + $2
		FROM unnest($3::text[], $4::bigint[], $5::bigint[], $6::text[]) AS row (user_id, active, idle, seen)`)
	presenceElsewhere = sqlstore.Query{Statement: define(`SELECT user_id, active, CASE last_active_at WHEN 0 THEN -1 ELSE greatest(` + databaseTime + ` - last_active_at, 0) END, seen
		FROM presence WHERE server_id <> $1 AND expires_at > ` + databaseTime)}
)

// seen is the part of [alert.Seen] that has no column.
type seen struct {
	Everything bool     `json:"everything,omitempty"`
	Sessions   []string `json:"sessions,omitempty"`
	Noticed    []string `json:"noticed,omitempty"`
}

// PutPresence implements [alert.PresenceStore].
func (s *Store) PutPresence(ctx context.Context, serverID string, people []alert.Seen, ttl time.Duration) error {
	var users, texts []string
	var active, idle []int64
	for _, p := range people {
		text, err := json.Marshal(seen{p.Everything, p.Sessions, p.Noticed})
		if err != nil {
			return fmt.Errorf("postgres: presence: %w", err)
		}
		one, since := int64(0), int64(-1)
		if p.Active {
			one = 1
		}
		if !p.LastActive.IsZero() {
			since = max(0, time.Since(p.LastActive).Microseconds())
		}
		users, texts, active, idle = append(users, p.UserID), append(texts, string(text)), append(active, one), append(idle, since)
	}
	return s.write(ctx, "store presence", step{Statement: endPresence, args: []any{serverID}},
		step{Statement: putPresence, args: []any{serverID, ttl.Microseconds(), users, active, idle, texts}})
}

// PresenceElsewhere implements [alert.PresenceStore].
func (s *Store) PresenceElsewhere(ctx context.Context, serverID string) (people []alert.Seen, err error) {
	err = s.query(ctx, "read presence", presenceElsewhere, func(row sqlstore.Row) error {
		var p alert.Seen
		var rest seen
		var active, idle int64
		var text string
		if err := row.Scan(&p.UserID, &active, &idle, &text); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(text), &rest); err != nil {
			return fmt.Errorf("presence of %s: %w", p.UserID, err)
		}
		p.Active, p.Everything, p.Sessions, p.Noticed = active != 0, rest.Everything, rest.Sessions, rest.Noticed
		if idle >= 0 {
			p.LastActive = time.Now().Add(-time.Duration(idle) * time.Microsecond)
		}
		people = append(people, p)
		return nil
	}, serverID)
	return people, err
}
