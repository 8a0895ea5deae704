package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"

	"github.com/sayso-dev/sayso/internal/project"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

var (
	// Deletes the rows of servers that died more than an hour ago.
	sweepServers = define("DELETE FROM servers WHERE expires_at < " + databaseTime + " - 3600000000")
	putServer    = define(`INSERT INTO servers (server_id, name, release, address, public_key, expires_at) VALUES ($1, $2, $3, $4, $5, ` + databaseTime + ` + $6)
		ON CONFLICT (server_id) DO UPDATE SET name = $2, release = $3, address = $4, public_key = $5, expires_at = excluded.expires_at`)
	removeServer  = define("DELETE FROM servers WHERE server_id = $1")
	selectServers = sqlstore.Query{Statement: define("SELECT server_id, name, release, address, public_key FROM servers WHERE expires_at > " + databaseTime)}
	selectDrivers = sqlstore.Query{Statement: define(`SELECT r.runner_id, r.lease_server FROM runners AS r JOIN servers AS s ON s.server_id = r.lease_server
		WHERE r.removed_at = 0 AND r.lease_expires_at > ` + databaseTime + " AND s.expires_at > " + databaseTime)}
)

var (
	proposeSecret = define("INSERT INTO shared_secrets (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING")
	selectSecret  = define("SELECT value FROM shared_secrets WHERE name = $1")
	// Counts every process that is not dead, including unreachable ones.
	selectUse = sqlstore.Query{Statement: define(`SELECT p.session_id, s.cwd, s.owner_id, p.memory, 0 FROM processes AS p
		JOIN sessions AS s ON s.session_id = p.session_id WHERE p.state <> 'dead' AND s.kind = '' AND NOT s.runner_id = ANY ($1)
		UNION ALL SELECT session_id, cwd, owner_id, 0, 0 FROM reservations WHERE expires_at > ` + databaseTime + `
		UNION ALL SELECT '', '', '', 0, mark FROM reservation_marks WHERE name = 'sessions'`)}
	forgetReservations = define("DELETE FROM reservations WHERE expires_at < " + databaseTime)
	advanceMark        = define(`INSERT INTO reservation_marks (name, mark) VALUES ('sessions', $1 + 1)
		ON CONFLICT (name) DO UPDATE SET mark = excluded.mark WHERE reservation_marks.mark = $1`).Require(errMarkMoved)
	putReservation = define(`INSERT INTO reservations (session_id, cwd, owner_id, expires_at) VALUES ($1, $2, $3, ` + databaseTime + ` + $4)
		ON CONFLICT (session_id) DO UPDATE SET expires_at = excluded.expires_at`)
	removeReservation = define("DELETE FROM reservations WHERE session_id = $1")
)

// errMarkMoved: another session was reserved since Use returned the mark.
var errMarkMoved = errors.New("postgres: another session was reserved meanwhile")

// reservationTTL bounds how long a reservation counts if its server dies before the process has a
// row. Starting a process takes only a few calls of the database until then.
const reservationTTL = time.Minute

// Use returns the resource use of all processes, except those of exceptRunners, and of all reserved
// sessions, by session id. Pass mark to [Store.ReserveSession].
func (s *Store) Use(ctx context.Context, exceptRunners []string) (all map[string]project.SessionUse, mark int64, err error) {
	all = map[string]project.SessionUse{}
	err = s.query(ctx, "read what processes use", selectUse, func(row sqlstore.Row) error {
		var sessionID string
		var use project.SessionUse
		var folder []byte
		var memory, here int64
		if err := row.Scan(&sessionID, &folder, &use.OwnerID, &memory, &here); err != nil {
			return err
		}
		use.Folder, use.Memory = string(folder), max(uint64(memory), all[sessionID].Memory)
		if mark = max(mark, here); sessionID != "" {
			all[sessionID] = use
		}
		return nil
	}, append([]string{}, exceptRunners...))
	return all, mark, err
}

// ReserveSession makes Use count a session before its process has a row. It reserves nothing and
// returns false if another session was reserved since Use returned mark.
func (s *Store) ReserveSession(ctx context.Context, mark int64, sessionID string, use project.SessionUse) (reserved bool, err error) {
	err = s.write(ctx, "reserve a session", step{Statement: forgetReservations}, step{Statement: advanceMark, args: []any{mark}},
		step{Statement: putReservation, args: []any{sessionID, []byte(use.Folder), use.OwnerID, reservationTTL.Microseconds()}})
	if errors.Is(err, errMarkMoved) {
		return false, nil
	}
	return err == nil, err
}

// ReleaseSession removes the reservation of a session, once its process has a row or will not start.
func (s *Store) ReleaseSession(ctx context.Context, sessionID string) error {
	return s.write(ctx, "release a session", step{Statement: removeReservation, args: []any{sessionID}})
}

// SharedSecret returns a secret that all servers share: the proposal of the first caller.
func (s *Store) SharedSecret(ctx context.Context, name, proposal string) (value string, err error) {
	var found bool
	err = s.write(ctx, "share a secret", step{Statement: proposeSecret, args: []any{name, proposal}},
		step{selectSecret, []any{name}, scanRow(&found, &value)})
	return value, err
}

// PutServer implements [session.ServerStore].
func (s *Store) PutServer(ctx context.Context, one session.Server) error {
	return s.write(ctx, "store this server", step{Statement: sweepServers}, step{Statement: putServer, args: []any{
		one.ServerID, sqlstore.SanitizeText(one.Name), sqlstore.SanitizeText(one.Release), one.Address, one.Key[:], session.ServerTTL.Microseconds(),
	}})
}

// RemoveServer implements [session.ServerStore].
func (s *Store) RemoveServer(ctx context.Context, serverID string) error {
	return s.write(ctx, "remove this server", step{Statement: removeServer, args: []any{serverID}})
}

// Servers implements [session.ServerStore].
func (s *Store) Servers(ctx context.Context) (map[string]session.Server, error) {
	all := map[string]session.Server{}
	err := s.query(ctx, "read the servers", selectServers, func(row sqlstore.Row) error {
		var one session.Server
		var key []byte
		if err := row.Scan(&one.ServerID, &one.Name, &one.Release, &one.Address, &key); err != nil {
			return err
		}
		if len(key) == sha256.Size { // otherwise the server has no key
			one.Key = [sha256.Size]byte(key)
			all[one.ServerID] = one
		}
		return nil
	})
	return all, err
}

// Drivers implements [session.ServerStore].
func (s *Store) Drivers(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	err := s.query(ctx, "read who drives the runners", selectDrivers, func(row sqlstore.Row) error {
		var runnerID, serverID string
		if err := row.Scan(&runnerID, &serverID); err != nil {
			return err
		}
		all[runnerID] = serverID
		return nil
	})
	return all, err
}
