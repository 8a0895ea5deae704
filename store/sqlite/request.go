package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/sqlstore"
)

const answerable = sqlstore.Answerable

var (
	insertRequest  = define(sqlstore.InsertRequest)
	resolveRequest = define(sqlstore.Resolve + " WHERE request_id = $10 AND " + answerable + " AND ($11 = '' OR approver_id = $12)" +
		" AND ($13 = '*' OR held_command = $14) AND ($15 = '' OR instr(taken_back, $16) = 0) RETURNING " + sqlstore.RequestColumns)
	approveRequest = define(sqlstore.Approve + " WHERE request_id = $7 AND " + answerable + " AND approver_id = $8 RETURNING " + sqlstore.RequestColumns)
	extendRequest  = define("UPDATE requests SET expires_at = $1 WHERE request_id = $2 AND " + answerable +
		" AND expires_at <> 0 AND expires_at < $1 RETURNING " + sqlstore.RequestColumns)
	holdRequest = define("UPDATE requests SET held = $1, held_command = $2 WHERE request_id = $3 AND " + answerable +
		" AND held_command = '' AND instr(taken_back, $4) = 0 RETURNING " + sqlstore.RequestColumns)
	unholdRequest = define("UPDATE requests SET held = ?, held_command = '', taken_back = ? WHERE request_id = ? RETURNING " + sqlstore.RequestColumns)
	// The condition answerable is redundant, but lets SQLite use the index of answerable requests.
	orphanRequests   = define("UPDATE requests SET status = 'orphaned', reason = ? WHERE session_id = ? AND status = 'open' AND " + answerable)
	advanceDelivery  = define("UPDATE requests SET delivery = ? WHERE request_id = ? AND status IN ('answered', 'denied') AND " + sqlstore.RankColumn + " < ?")
	markCarried      = define("UPDATE requests SET delivery = 'carried', carried_to = $1 WHERE request_id = $2 AND " + sqlstore.Carriable("$3", "$4"))
	insertCarried    = define(sqlstore.InsertCarried(fmt.Sprintf("requests f WHERE f.request_id = $%d", sqlstore.NewRequestArgs+2)))
	incrementVersion = define("UPDATE processes SET version = version + 1, updated_at = ? WHERE session_id = ?")
)

// bumpVersion increments the version of a session in the transaction that changes it.
func (t tx) bumpVersion(ctx context.Context, sessionID string) error {
	n, err := t.exec(ctx, incrementVersion, t.now.UnixMicro(), sessionID)
	if err == nil && n == 0 {
		err = session.ErrNotFound
	}
	return err
}

// request reads a request within the transaction.
func (t tx) request(ctx context.Context, requestID string) (pending.Request, error) {
	var row sqlstore.RequestRow
	if err := t.queryRow(ctx, row.Dest(), sqlstore.SelectRequest.Statement, requestID); err != nil {
		return pending.Request{}, replaceNoRows(err, pending.ErrNotFound)
	}
	return row.Request()
}

// replaceNoRows replaces [sql.ErrNoRows] with notFound.
func replaceNoRows(err, notFound error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return notFound
	}
	return err
}

// maxNewestInput is the size in bytes up to which the input of a request is cached.
const maxNewestInput = 64 << 10

// OpenRequest implements [pending.Store].
func (s *Store) OpenRequest(ctx context.Context, r pending.Request) (stored pending.Request, opened bool, err error) {
	r = sqlstore.NormalizeRequest(r)
	values, err := sqlstore.NewRequestValues(r, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("sqlite: open request: %w", err)
	}
	err = s.write(ctx, sqlstore.Relaxed, "open request "+r.RequestID, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, insertRequest, values...)
		switch {
		case isForeignKeyViolation(err):
			return session.ErrNotFound
		case err != nil:
			return err
		case n > 0:
			stored, opened = r, true
			if len(r.ToolInput) <= maxNewestInput {
				s.opening = &r
			}
			return t.bumpVersion(ctx, r.SessionID)
		}
		if stored, err = t.request(ctx, r.RequestID); err != nil {
			return err
		}
		if stored.InputHash != r.InputHash {
			return pending.ErrConflict
		}
		return errUnchanged
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return stored, opened, nil
}

// ResolveRequest implements [pending.Store].
func (s *Store) ResolveRequest(ctx context.Context, requestID string, res pending.Resolution) (now pending.Request, won bool, err error) {
	values, err := sqlstore.ResolutionValues(res, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("sqlite: resolve request %s: %w", requestID, err)
	}
	held, notUndone := sqlstore.ResolveGuards(res)
	durability := sqlstore.Relaxed
	if sqlstore.IsDecision(res.Status) {
		durability = sqlstore.Durable
	}
	return s.updateRequestAnd(ctx, durability, "resolve request "+requestID, requestID, func(ctx context.Context, t tx, now pending.Request) error {
		if !sqlstore.IsAudited(res.Status) {
			return nil
		}
		return t.recordAnswer(ctx, now, res)
	}, resolveRequest, append(values, requestID, res.SecondTo, res.SecondTo, held, held, notUndone, notUndone)...)
}

// approve implements [sqlstore.Engine.Approve].
func (s *Store) approve(ctx context.Context, requestID string, c sqlstore.ApprovalChange) (pending.Request, bool, error) {
	return s.updateRequestAnd(ctx, sqlstore.Durable, c.What, requestID, func(ctx context.Context, t tx, now pending.Request) error {
		body, err := c.Audit(now)
		if err != nil {
			return err
		}
		return t.appendAudit(ctx, body)
	}, approveRequest, append(sqlstore.ApprovalValues(c.To), requestID, c.From)...)
}

// HoldRequest implements [pending.Store].
func (s *Store) HoldRequest(ctx context.Context, requestID string, h pending.Held) (now pending.Request, done bool, err error) {
	text, err := sqlstore.EncodeHeld(h)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("sqlite: hold request %s: %w", requestID, err)
	}
	command := sqlstore.SanitizeText(h.CommandID)
	return s.updateRequest(ctx, sqlstore.Durable, "hold request "+requestID, requestID, holdRequest, bind(text), command, requestID, sqlstore.UndoneCommand(command))
}

// UnholdRequest implements [pending.Store].
func (s *Store) UnholdRequest(ctx context.Context, requestID, commandID string, by pending.Actor, why string) (now pending.Request, done bool, err error) {
	err = s.write(ctx, sqlstore.Durable, "unhold request "+requestID, func(ctx context.Context, t tx) error {
		if now, err = t.request(ctx, requestID); err != nil {
			return err
		}
		text, ok, err := sqlstore.ReleasedHold(now, commandID, why)
		switch {
		case err != nil:
			return err
		case !ok:
			return errUnchanged
		}
		body, err := sqlstore.ReleasedHoldAudit(now, by, why, time.Now())
		if err != nil {
			return err
		}
		var row sqlstore.RequestRow
		if err := t.queryRow(ctx, row.Dest(), unholdRequest, bind(text), sqlstore.UndoneCommands(now, commandID), requestID); err != nil {
			return err
		}
		if now, err = row.Request(); err != nil {
			return err
		}
		done = true
		if err := t.appendAudit(ctx, body); err != nil {
			return err
		}
		return t.bumpVersion(ctx, now.SessionID)
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, done, nil
}

// OrphanRequests implements [pending.Store].
func (s *Store) OrphanRequests(ctx context.Context, sessionID, reason string) (int, error) {
	var n int64
	err := s.write(ctx, sqlstore.Relaxed, "orphan requests of "+sessionID, func(ctx context.Context, t tx) (err error) {
		n, err = t.exec(ctx, orphanRequests, sqlstore.SanitizeText(reason), sessionID)
		if err != nil {
			return err
		}
		if n == 0 {
			return errUnchanged
		}
		return t.bumpVersion(ctx, sessionID)
	})
	if err != nil {
		return 0, err
	}
	return int(n), nil
}

// CarryAnswer implements [pending.Store].
func (s *Store) CarryAnswer(ctx context.Context, r pending.Request, from string) (stored pending.Request, carried bool, err error) {
	r = sqlstore.NormalizeRequest(r)
	values, err := sqlstore.NewRequestValues(r, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("sqlite: carry answer to %s: %w", r.RequestID, err)
	}
	err = s.write(ctx, sqlstore.Durable, "carry answer to "+r.RequestID, func(ctx context.Context, t tx) error {
		known, err := t.readCarried(ctx, r, from, &stored, &carried)
		switch {
		case err != nil:
			return err
		case known:
			return errUnchanged
		}
		n, err := t.exec(ctx, markCarried, r.RequestID, from, r.SessionID, r.ProcessID)
		if err != nil {
			return err
		}
		if n == 0 {
			return errUnchanged
		}
		if _, err := t.exec(ctx, insertCarried, append(values, sqlstore.Micros(r.CreatedAt), from)...); err != nil {
			return err
		}
		if err := t.bumpVersion(ctx, r.SessionID); err != nil {
			return err
		}
		if _, err = t.readCarried(ctx, r, from, &stored, &carried); err != nil {
			return err
		}
		return t.recordAnswer(ctx, stored, *stored.Resolution)
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return stored, carried, nil
}

// readCarried reads r within the transaction, if it exists, and whether its answer was carried over
// from the request from.
func (t tx) readCarried(ctx context.Context, r pending.Request, from string, stored *pending.Request, carried *bool) (known bool, err error) {
	var row sqlstore.RequestRow
	err = t.queryRow(ctx, append(row.Dest(), carried), sqlstore.SelectCarrying, from, r.RequestID)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if *stored, err = row.Request(); err != nil {
		return false, err
	}
	if stored.InputHash != r.InputHash {
		return false, pending.ErrConflict
	}
	return true, nil
}

// SetDelivery implements [pending.Store].
func (s *Store) SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error {
	above := sqlstore.DeliveryRank(d)
	if above == 0 {
		return fmt.Errorf("sqlite: set delivery of %s: %q is no step of a delivery", requestID, d)
	}
	return s.write(ctx, sqlstore.Relaxed, "set delivery of "+requestID, func(ctx context.Context, t tx) error {
		n, err := t.exec(ctx, advanceDelivery, string(d), requestID, above)
		if err != nil || n > 0 {
			return err
		}
		return t.checkRequestExists(ctx, requestID)
	})
}

// checkRequestExists distinguishes a request that does not exist from one that needs no change.
func (t tx) checkRequestExists(ctx context.Context, requestID string) error {
	var one int
	if err := t.queryRow(ctx, []any{&one}, sqlstore.SelectRequestExists, requestID); err != nil {
		return replaceNoRows(err, pending.ErrNotFound)
	}
	return errUnchanged
}

// ExtendRequest implements [pending.Store].
func (s *Store) ExtendRequest(ctx context.Context, requestID string, expiresAt time.Time) (now pending.Request, extended bool, err error) {
	return s.updateRequest(ctx, sqlstore.Relaxed, "extend request "+requestID, requestID, extendRequest, sqlstore.Micros(expiresAt), requestID)
}

// updateRequest runs an update of an answerable request. It returns the current row and whether the update
// changed it.
func (s *Store) updateRequest(ctx context.Context, durability sqlstore.Durability, what, requestID string, statement *sqlstore.Statement, args ...any) (now pending.Request, changed bool, err error) {
	return s.updateRequestAnd(ctx, durability, what, requestID, func(context.Context, tx, pending.Request) error { return nil }, statement, args...)
}

// updateRequestAnd is like [Store.updateRequest], but calls also in the same transaction if the row
// changed.
func (s *Store) updateRequestAnd(ctx context.Context, durability sqlstore.Durability, what, requestID string, also func(context.Context, tx, pending.Request) error,
	statement *sqlstore.Statement, args ...any) (now pending.Request, changed bool, err error) {
	err = s.write(ctx, durability, what, func(ctx context.Context, t tx) error {
		var row sqlstore.RequestRow
		err := t.queryRow(ctx, row.Dest(), statement, args...)
		if errors.Is(err, sql.ErrNoRows) {
			if now, err = t.request(ctx, requestID); err != nil {
				return err
			}
			return errUnchanged
		}
		if err != nil {
			return err
		}
		if now, err = row.Request(); err != nil {
			return err
		}
		changed = true
		if err := also(ctx, t, now); err != nil {
			return err
		}
		return t.bumpVersion(ctx, now.SessionID)
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, changed, nil
}

// Request implements [pending.Store].
func (s *Store) Request(ctx context.Context, requestID string) (pending.Request, error) {
	if r := s.newest.Load(); r != nil && r.RequestID == requestID && !s.isClosed() && ctx.Err() == nil {
		return *r, nil
	}
	return s.Shared.Request(ctx, requestID)
}
