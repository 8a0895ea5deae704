package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

const answerable = sqlstore.Answerable

var (
	openRequest    = define("WITH moved AS (" + sqlstore.InsertRequest + " RETURNING session_id) " + bumpVersion(afterRequest(1)))
	resolveRequest = bumpingUpdate(sqlstore.Resolve+" WHERE request_id = $10 AND "+answerable+" AND ($12 = '' OR approver_id = $12)"+
		" AND ($13 = '*' OR held_command = $13) AND ($14 = '' OR strpos(taken_back, $14) = 0)", "$11")
	approveRequest = bumpingUpdate(sqlstore.Approve+" WHERE request_id = $7 AND "+answerable+" AND approver_id = $8", "$9")
	// If another transaction inserts the same request at the same moment, this insertion violates
	// the unique id, and its update is rolled back too.
	carryAnswer = define("WITH f AS (UPDATE requests SET delivery = 'carried', carried_to = $1 WHERE request_id = " + afterRequest(2) +
		" AND " + sqlstore.Carriable("$2", "$7") + ` AND NOT EXISTS (SELECT 1 FROM requests known WHERE known.request_id = $1)
			RETURNING request_id, status, answer, by_user_id, by_name, by_device, carried_from),
		moved AS (` + sqlstore.InsertCarried("f") + " RETURNING session_id) " + bumpVersion(afterRequest(3)))
	// Rows are locked in a fixed order, so two of these statements cannot deadlock.
	orphanRequests = define(`WITH moved AS (UPDATE requests SET status = 'orphaned', reason = $2 WHERE request_id IN (
			SELECT request_id FROM requests WHERE session_id = $1 AND status = 'open' ORDER BY request_id FOR UPDATE) RETURNING session_id),
		bump AS (` + bumpVersion("$3") + `)
		SELECT count(*) FROM moved`)
	advanceDelivery = define("UPDATE requests SET delivery = $1 WHERE request_id = $2 AND status IN ('answered', 'denied') AND " + sqlstore.RankColumn + " < $3")
	holdRequest     = bumpingUpdate("UPDATE requests SET held = $1, held_command = $4 WHERE request_id = $2 AND "+answerable+
		" AND held_command = '' AND strpos(taken_back, $5) = 0", "$3")
	unholdRequest = bumpingUpdate("UPDATE requests SET held = $1, held_command = '', taken_back = $4 WHERE request_id = $2 AND "+answerable+" AND held_command = $5", "$3")
	extendRequest = bumpingUpdate("UPDATE requests SET expires_at = $1 WHERE request_id = $2 AND "+answerable+" AND expires_at <> 0 AND expires_at < $1", "$3")
)

// afterRequest returns the nth placeholder after those of a new request.
func afterRequest(n int) string { return "$" + strconv.Itoa(sqlstore.NewRequestArgs+n) }

// bumpingUpdate returns an update of one request that also increments the version of its session, and
// returns the updated row; now is the placeholder of the time.
func bumpingUpdate(update, now string) *sqlstore.Statement {
	return define("WITH moved AS (" + update + " RETURNING " + sqlstore.RequestColumns + "), bump AS (" + bumpVersion(now) + ") SELECT " + sqlstore.RequestColumns + " FROM moved")
}

// OpenRequest implements [pending.Store].
func (s *Store) OpenRequest(ctx context.Context, r pending.Request) (stored pending.Request, opened bool, err error) {
	r = sqlstore.NormalizeRequest(r)
	values, err := sqlstore.NewRequestValues(r, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: open request: %w", err)
	}
	var n int64
	err = s.write(ctx, "open request "+r.RequestID,
		step{openRequest, append(values, time.Now().UnixMicro()), countRows(&n)})
	switch {
	case violates(err, foreignKeyRule):
		return pending.Request{}, false, fmt.Errorf("postgres: open request %s: %w", r.RequestID, session.ErrNotFound)
	case err != nil:
		return pending.Request{}, false, err
	case n > 0:
		return r, true, nil
	}
	if stored, err = s.Request(ctx, r.RequestID); err != nil {
		return pending.Request{}, false, err
	}
	if stored.InputHash != r.InputHash {
		return pending.Request{}, false, fmt.Errorf("postgres: open request %s: %w", r.RequestID, pending.ErrConflict)
	}
	return stored, false, nil
}

// ResolveRequest implements [pending.Store].
func (s *Store) ResolveRequest(ctx context.Context, requestID string, res pending.Resolution) (now pending.Request, won bool, err error) {
	values, err := sqlstore.ResolutionValues(res, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: resolve request %s: %w", requestID, err)
	}
	held, notUndone := sqlstore.ResolveGuards(res)
	var found sqlstore.RequestRow
	steps := []step{{resolveRequest, append(values, requestID, time.Now().UnixMicro(), res.SecondTo, held, notUndone), scanRow(&won, found.Dest()...)}}
	if sqlstore.IsAudited(res.Status) {
		// The audit entry contains only columns that no longer change.
		r, err := s.Request(ctx, requestID)
		if err != nil {
			return pending.Request{}, false, err
		}
		if steps, err = withAudit(r, res, steps...); err != nil {
			return pending.Request{}, false, fmt.Errorf("postgres: resolve request %s: %w", requestID, err)
		}
	}
	if err := s.write(ctx, "resolve request "+requestID, steps...); err != nil {
		return pending.Request{}, false, err
	}
	if won {
		now, err = found.Request()
	} else {
		now, err = s.Request(ctx, requestID)
	}
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, won, nil
}

// approve implements [sqlstore.Engine.Approve].
func (s *Store) approve(ctx context.Context, requestID string, c sqlstore.ApprovalChange) (pending.Request, bool, error) {
	asked, err := s.Request(ctx, requestID) // the audit entry contains only columns that no longer change
	if err != nil {
		return pending.Request{}, false, err
	}
	body, err := c.Audit(asked)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: %s: %w", c.What, err)
	}
	return s.updateRequestIn(ctx, c.What, requestID, func(read func(pgx.BatchResults) error) []step {
		return []step{
			{Statement: lockAudit},
			{approveRequest, append(sqlstore.ApprovalValues(c.To), requestID, c.From, time.Now().UnixMicro()), read},
			{Statement: auditApproval, args: []any{body, requestID}},
		}
	})
}

// HoldRequest implements [pending.Store].
func (s *Store) HoldRequest(ctx context.Context, requestID string, h pending.Held) (pending.Request, bool, error) {
	text, err := sqlstore.EncodeHeld(h)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: hold request %s: %w", requestID, err)
	}
	command := sqlstore.SanitizeText(h.CommandID)
	return s.updateRequestIn(ctx, "hold request "+requestID, requestID, func(read func(pgx.BatchResults) error) []step {
		return []step{{holdRequest, []any{bind(text), requestID, time.Now().UnixMicro(), command, sqlstore.UndoneCommand(command)}, read}}
	})
}

// UnholdRequest implements [pending.Store].
func (s *Store) UnholdRequest(ctx context.Context, requestID, commandID string, by pending.Actor, why string) (pending.Request, bool, error) {
	// While the command holds the answer, these columns do not change.
	r, err := s.Request(ctx, requestID)
	if err != nil {
		return pending.Request{}, false, err
	}
	text, ok, err := sqlstore.ReleasedHold(r, commandID, why)
	if err == nil && !ok {
		return r, false, nil
	}
	var body []byte
	if err == nil {
		body, err = sqlstore.ReleasedHoldAudit(r, by, why, time.Now())
	}
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: unhold request %s: %w", requestID, err)
	}
	return s.updateRequestIn(ctx, "unhold request "+requestID, requestID, func(read func(pgx.BatchResults) error) []step {
		return []step{
			{Statement: lockAudit},
			{unholdRequest, []any{bind(text), requestID, time.Now().UnixMicro(), sqlstore.UndoneCommands(r, commandID), sqlstore.SanitizeText(commandID)}, read},
			{Statement: auditApproval, args: []any{body, requestID}},
		}
	})
}

// OrphanRequests implements [pending.Store].
func (s *Store) OrphanRequests(ctx context.Context, sessionID, reason string) (n int, err error) {
	var counted bool
	err = s.write(ctx, "orphan requests of "+sessionID,
		step{orphanRequests, []any{sessionID, reason, time.Now().UnixMicro()}, scanRow(&counted, &n)})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// CarryAnswer implements [pending.Store].
func (s *Store) CarryAnswer(ctx context.Context, r pending.Request, from string) (stored pending.Request, carried bool, err error) {
	r = sqlstore.NormalizeRequest(r)
	what := "carry answer to " + r.RequestID
	values, err := sqlstore.NewRequestValues(r, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: %s: %w", what, err)
	}
	var found sqlstore.RequestRow
	var known bool
	read := step{sqlstore.SelectCarrying, []any{from, r.RequestID}, scanRow(&known, append(found.Dest(), &carried)...)}
	steps := []step{{Statement: carryAnswer, args: append(values, sqlstore.Micros(r.CreatedAt), from, time.Now().UnixMicro())}, read}
	old, err := s.Request(ctx, from)
	if err != nil && !errors.Is(err, pending.ErrNotFound) {
		return pending.Request{}, false, err
	}
	if err == nil && old.Resolution != nil {
		if steps, err = withAudit(r, carriedResolution(old, r.CreatedAt), steps...); err != nil {
			return pending.Request{}, false, fmt.Errorf("postgres: %s: %w", what, err)
		}
	}
	err = s.write(ctx, what, steps...)
	if violates(err, uniqueRule) {
		err = s.write(ctx, what, read) // another transaction was first and has committed
	}
	if err != nil || !known {
		return pending.Request{}, false, err
	}
	if stored, err = found.Request(); err != nil {
		return pending.Request{}, false, err
	}
	if stored.InputHash != r.InputHash {
		return pending.Request{}, false, fmt.Errorf("postgres: %s: %w", what, pending.ErrConflict)
	}
	return stored, carried, nil
}

// SetDelivery implements [pending.Store].
func (s *Store) SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error {
	above := sqlstore.DeliveryRank(d)
	if above == 0 {
		return fmt.Errorf("postgres: set delivery of %s: %q is no step of a delivery", requestID, d)
	}
	var known bool
	var one int
	what := "set delivery of " + requestID
	err := s.write(ctx, what, step{Statement: advanceDelivery, args: []any{string(d), requestID, above}},
		step{sqlstore.SelectRequestExists, []any{requestID}, scanRow(&known, &one)})
	if err == nil && !known {
		err = fmt.Errorf("postgres: %s: %w", what, pending.ErrNotFound)
	}
	return err
}

// ExtendRequest implements [pending.Store].
func (s *Store) ExtendRequest(ctx context.Context, requestID string, expiresAt time.Time) (now pending.Request, extended bool, err error) {
	return s.updateRequest(ctx, "extend request "+requestID, requestID, extendRequest, sqlstore.Micros(expiresAt), requestID, time.Now().UnixMicro())
}

// updateRequest runs an update, and returns the current row and whether the update changed it.
func (s *Store) updateRequest(ctx context.Context, what, requestID string, statement *sqlstore.Statement, args ...any) (now pending.Request, changed bool, err error) {
	return s.updateRequestIn(ctx, what, requestID, func(read func(pgx.BatchResults) error) []step {
		return []step{{statement, args, read}}
	})
}

// updateRequestIn is like [Store.updateRequest] for an update that is one of several steps. That step
// must pass its result to read.
func (s *Store) updateRequestIn(ctx context.Context, what, requestID string, steps func(read func(pgx.BatchResults) error) []step) (now pending.Request, changed bool, err error) {
	var found sqlstore.RequestRow
	if err := s.write(ctx, what, steps(scanRow(&changed, found.Dest()...))...); err != nil {
		return pending.Request{}, false, err
	}
	if changed {
		now, err = found.Request()
	} else {
		now, err = s.Request(ctx, requestID)
	}
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, changed, nil
}
