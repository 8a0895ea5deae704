package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store/engine"
)

const answerable = "status IN ('open', 'orphaned')"

var (
	openRequest = "WITH opened AS (" + engine.InsertRequest(placeholder) + ` RETURNING session_id)
		UPDATE processes SET version = version + 1, updated_at = ` + placeholder(engine.NewRequestArgs+1) + " WHERE session_id = (SELECT session_id FROM opened)"
	resolveRequest = "WITH won AS (" + engine.Resolve(placeholder) + " WHERE request_id = $10 AND " + answerable + " AND ($12 = '' OR approver_id = $12)" +
		" AND ($13 = '*' OR held_command = $13) AND ($14 = '' OR strpos(taken_back, $14) = 0) RETURNING " + engine.RequestColumns + `),
		bump AS (UPDATE processes SET version = version + 1, updated_at = $11 WHERE session_id = (SELECT session_id FROM won))
		SELECT ` + engine.RequestColumns + " FROM won"
	approveRequest = "WITH won AS (" + engine.Approve(placeholder) + " WHERE request_id = $7 AND " + answerable + " AND approver_id = $8 RETURNING " + engine.RequestColumns + `),
		bump AS (UPDATE processes SET version = version + 1, updated_at = $9 WHERE session_id = (SELECT session_id FROM won))
		SELECT ` + engine.RequestColumns + " FROM won"
	// Where another makes the same request at the same moment, the insertion breaks
	// the rule of its id and takes the update with it.
	carryAnswer = func() string {
		given := func(n int) string { return placeholder(engine.NewRequestArgs + 1 + n) }
		return "WITH f AS (UPDATE requests SET delivery = 'carried', carried_to = $1 WHERE request_id = " + given(1) +
			" AND " + engine.Carriable("$2", "$7") + ` AND NOT EXISTS (SELECT 1 FROM requests known WHERE known.request_id = $1)
				RETURNING request_id, status, answer, by_user_id, by_name, by_device, carried_from),
			carried AS (` + engine.InsertCarried(placeholder, "f") + ` RETURNING session_id)
			UPDATE processes SET version = version + 1, updated_at = ` + given(2) + " WHERE session_id = (SELECT session_id FROM carried)"
	}()
	selectCarrying = "SELECT " + engine.Carrying("$1") + " FROM requests WHERE request_id = $2"
	// The rows are locked in one order, so that two of these cannot block each
	// other.
	orphanRequests = `WITH gone AS (UPDATE requests SET status = 'orphaned', reason = $2 WHERE request_id IN (
			SELECT request_id FROM requests WHERE session_id = $1 AND status = 'open' ORDER BY request_id FOR UPDATE) RETURNING session_id),
		bump AS (UPDATE processes SET version = version + 1, updated_at = $3 WHERE session_id IN (SELECT session_id FROM gone))
		SELECT count(*) FROM gone`
	advanceDelivery = "UPDATE requests SET delivery = $1 WHERE request_id = $2 AND status IN ('answered', 'denied') AND " + engine.RankColumn + " < $3"
	holdRequest     = alter("held = $1, held_command = $4", "held_command = '' AND strpos(taken_back, $5) = 0")
	unholdRequest   = alter("held = $1, held_command = '', taken_back = $4", "held_command = $5")
	selectHeld      = "SELECT " + engine.RequestColumns + " FROM requests WHERE " + answerable + " AND held_command <> '' ORDER BY created_at, seq"
	extendRequest   = alter("expires_at = $1", "expires_at <> 0 AND expires_at < $1")
	knowsRequest    = "SELECT 1 FROM requests WHERE request_id = $1"

	selectRequest     = "SELECT " + engine.RequestColumns + " FROM requests WHERE request_id = $1"
	selectAnswerable  = "SELECT " + engine.RequestColumns + " FROM requests WHERE session_id = $1 AND " + answerable + " ORDER BY created_at, seq"
	selectAllOpen     = "SELECT " + engine.RequestColumns + " FROM requests WHERE " + answerable + " ORDER BY created_at, seq"
	selectUndelivered = "SELECT " + engine.RequestColumns + " FROM requests WHERE session_id = $1 AND delivery = 'queued' ORDER BY created_at, seq"
	selectUnconsumed  = "SELECT " + engine.RequestColumns + " FROM requests WHERE session_id = $1 AND delivery IN ('queued', 'delivered') ORDER BY created_at, seq"
	selectConsumed    = "SELECT " + engine.RequestColumns + " FROM requests WHERE session_id = $1 AND process_id = $2 AND delivery = 'consumed' ORDER BY resolved_at DESC, seq DESC LIMIT $3"
	selectUnrecorded  = "SELECT " + engine.RequestColumns + ` FROM requests r WHERE session_id = $1
		AND status NOT IN ('open', 'orphaned') AND delivery <> 'carried' AND NOT EXISTS (
			SELECT 1 FROM transcript t WHERE t.session_id = r.session_id AND t.key = convert_to('request:' || r.request_id, 'UTF8'))
		ORDER BY created_at, seq`
)

// OpenRequest implements [pending.Store].
func (s *Store) OpenRequest(ctx context.Context, r pending.Request) (stored pending.Request, opened bool, err error) {
	r = engine.NormalRequest(r)
	values, err := engine.NewRequestValues(r, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: open request: %w", err)
	}
	var n int64
	err = s.write(ctx, "open request "+r.RequestID, relaxed,
		statement{openRequest, append(values, time.Now().UnixMicro()), changed(&n)})
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
	values, err := engine.ResolutionValues(res, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: resolve request %s: %w", requestID, err)
	}
	strong := relaxed
	if engine.Answers(res.Status) {
		strong = durable
	}
	held, back := engine.Outrun(res)
	var found engine.RequestRow
	steps := []statement{{resolveRequest, append(values, requestID, time.Now().UnixMicro(), res.SecondTo, held, back), row(&won, found.Dest()...)}}
	if engine.OnRecord(res.Status) {
		// What goes on record of the request does not change any more.
		r, err := s.Request(ctx, requestID)
		if err != nil {
			return pending.Request{}, false, err
		}
		if steps, err = recorded(r, res, steps...); err != nil {
			return pending.Request{}, false, fmt.Errorf("postgres: resolve request %s: %w", requestID, err)
		}
	}
	if err := s.write(ctx, "resolve request "+requestID, strong, steps...); err != nil {
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

// ApproveRequest implements [pending.Store].
func (s *Store) ApproveRequest(ctx context.Context, requestID string, a pending.Approval) (pending.Request, bool, error) {
	return s.approval(ctx, "approve request "+requestID, requestID, a, "", "approved_first", a.Actor, a.At)
}

// UnapproveRequest implements [pending.Store].
func (s *Store) UnapproveRequest(ctx context.Context, requestID, userID string, by pending.Actor) (pending.Request, bool, error) {
	return s.approval(ctx, "take approval of "+requestID+" back", requestID, pending.Approval{}, userID, "approval_withdrawn", by, time.Now())
}

// approval replaces the approval of the user from by another, and puts that on
// record.
func (s *Store) approval(ctx context.Context, what, requestID string, to pending.Approval, from, entry string, by pending.Actor, at time.Time) (now pending.Request, done bool, err error) {
	asked, err := s.Request(ctx, requestID) // what goes on record of it does not change any more
	if err != nil {
		return pending.Request{}, false, err
	}
	body, err := engine.ApprovalAudit(asked, entry, by, at)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: %s: %w", what, err)
	}
	var found engine.RequestRow
	err = s.write(ctx, what, durable,
		statement{text: lockAudit},
		statement{approveRequest, append(engine.ApprovalValues(to), requestID, from, time.Now().UnixMicro()), row(&done, found.Dest()...)},
		statement{text: recordApproval, args: []any{body, requestID}})
	switch {
	case err != nil:
		return pending.Request{}, false, err
	case done:
		now, err = found.Request()
	default:
		now, err = s.Request(ctx, requestID)
	}
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, done, nil
}

// HoldRequest implements [pending.Store].
func (s *Store) HoldRequest(ctx context.Context, requestID string, h pending.Held) (pending.Request, bool, error) {
	text, err := engine.HeldText(h)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: hold request %s: %w", requestID, err)
	}
	command := engine.Shown(h.CommandID)
	return s.alterAs(ctx, durable, "hold request "+requestID, requestID, func(read func(pgx.BatchResults) error) []statement {
		return []statement{{holdRequest, []any{bind(text), requestID, time.Now().UnixMicro(), command, engine.TakenBack(command)}, read}}
	})
}

// UnholdRequest implements [pending.Store].
func (s *Store) UnholdRequest(ctx context.Context, requestID, commandID string, by pending.Actor, why string) (pending.Request, bool, error) {
	// While the hold of a command stands, what is written here does not change.
	r, err := s.Request(ctx, requestID)
	if err != nil {
		return pending.Request{}, false, err
	}
	text, ok, err := engine.Unheld(r, commandID, why)
	if err == nil && !ok {
		return r, false, nil
	}
	var body []byte
	if err == nil {
		body, err = engine.UnheldAudit(r, by, why, time.Now())
	}
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: unhold request %s: %w", requestID, err)
	}
	return s.alterAs(ctx, durable, "unhold request "+requestID, requestID, func(read func(pgx.BatchResults) error) []statement {
		return []statement{
			{text: lockAudit},
			{unholdRequest, []any{bind(text), requestID, time.Now().UnixMicro(), engine.AllTakenBack(r, commandID), engine.Shown(commandID)}, read},
			{text: recordApproval, args: []any{body, requestID}},
		}
	})
}

// HeldRequests implements [pending.Store].
func (s *Store) HeldRequests(ctx context.Context) ([]pending.Request, error) {
	return s.requests(ctx, "held requests", selectHeld)
}

// OrphanRequests implements [pending.Store].
func (s *Store) OrphanRequests(ctx context.Context, sessionID, reason string) (n int, err error) {
	var counted bool
	err = s.write(ctx, "orphan requests of "+sessionID, relaxed,
		statement{orphanRequests, []any{sessionID, reason, time.Now().UnixMicro()}, row(&counted, &n)})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// CarryAnswer implements [pending.Store].
func (s *Store) CarryAnswer(ctx context.Context, r pending.Request, from string) (stored pending.Request, carried bool, err error) {
	r = engine.NormalRequest(r)
	what := "carry answer to " + r.RequestID
	values, err := engine.NewRequestValues(r, bind)
	if err != nil {
		return pending.Request{}, false, fmt.Errorf("postgres: %s: %w", what, err)
	}
	var found engine.RequestRow
	var known bool
	read := statement{selectCarrying, []any{from, r.RequestID}, row(&known, append(found.Dest(), &carried)...)}
	steps := []statement{{text: carryAnswer, args: append(values, engine.Micros(r.CreatedAt), from, time.Now().UnixMicro())}, read}
	old, err := s.Request(ctx, from)
	if err != nil && !errors.Is(err, pending.ErrNotFound) {
		return pending.Request{}, false, err
	}
	if err == nil && old.Resolution != nil {
		if steps, err = recorded(r, carriedResolution(old, r.CreatedAt), steps...); err != nil {
			return pending.Request{}, false, fmt.Errorf("postgres: %s: %w", what, err)
		}
	}
	err = s.write(ctx, what, durable, steps...)
	if violates(err, uniqueRule) {
		err = s.write(ctx, what, relaxed, read) // another was first and has committed
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
	above := engine.Above(d)
	if above == 0 {
		return fmt.Errorf("postgres: set delivery of %s: %q is no step of a delivery", requestID, d)
	}
	return s.change(ctx, "set delivery of "+requestID, requestID, statement{text: advanceDelivery, args: []any{string(d), requestID, above}})
}

// alter is an update of the answerable request $2, with $3 the time of the change.
func alter(set, where string) string {
	return "WITH moved AS (UPDATE requests SET " + set + " WHERE request_id = $2 AND " + answerable + " AND " + where + " RETURNING " +
		engine.RequestColumns + `), bump AS (UPDATE processes SET version = version + 1, updated_at = $3 WHERE session_id = (SELECT session_id FROM moved))
		SELECT ` + engine.RequestColumns + " FROM moved"
}

// ExtendRequest implements [pending.Store].
func (s *Store) ExtendRequest(ctx context.Context, requestID string, expiresAt time.Time) (now pending.Request, extended bool, err error) {
	return s.alter(ctx, "extend request "+requestID, requestID, extendRequest, engine.Micros(expiresAt), requestID, time.Now().UnixMicro())
}

// alter runs an update that may have nothing to do, and returns the row as it
// stands and whether it changed.
func (s *Store) alter(ctx context.Context, what, requestID, text string, args ...any) (now pending.Request, changed bool, err error) {
	return s.alterAs(ctx, relaxed, what, requestID, func(read func(pgx.BatchResults) error) []statement {
		return []statement{{text, args, read}}
	})
}

// alterAs does the same in a transaction of more than that update, whose result
// goes to read.
func (s *Store) alterAs(ctx context.Context, strong strength, what, requestID string, steps func(read func(pgx.BatchResults) error) []statement) (now pending.Request, changed bool, err error) {
	var found engine.RequestRow
	if err := s.write(ctx, what, strong, steps(row(&changed, found.Dest()...))...); err != nil {
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

// change runs a statement about a request that may have nothing to do, which is
// an error only when there is no such request.
func (s *Store) change(ctx context.Context, what, requestID string, step statement) error {
	var known bool
	var one int
	err := s.write(ctx, what, relaxed, step, statement{knowsRequest, []any{requestID}, row(&known, &one)})
	if err == nil && !known {
		err = fmt.Errorf("postgres: %s: %w", what, pending.ErrNotFound)
	}
	return err
}

// Request implements [pending.Store].
func (s *Store) Request(ctx context.Context, requestID string) (pending.Request, error) {
	return engine.One(ctx, s.query, "request "+requestID, selectRequest, pending.ErrNotFound, engine.ReadRequest, requestID)
}

// AnswerableRequests implements [pending.Store].
func (s *Store) AnswerableRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	if sessionID == "" {
		return s.requests(ctx, "answerable requests", selectAllOpen)
	}
	return s.requests(ctx, "answerable requests of "+sessionID, selectAnswerable, sessionID)
}

// UndeliveredRequests implements [pending.Store].
func (s *Store) UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return s.requests(ctx, "undelivered requests of "+sessionID, selectUndelivered, sessionID)
}

// UnconsumedRequests implements [pending.Store].
func (s *Store) UnconsumedRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return s.requests(ctx, "unconsumed requests of "+sessionID, selectUnconsumed, sessionID)
}

// ConsumedRequests implements [pending.Store].
func (s *Store) ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]pending.Request, error) {
	return s.requests(ctx, "consumed requests of "+sessionID, selectConsumed, sessionID, processID, limit)
}

// UnrecordedRequests implements [session.Store].
func (s *Store) UnrecordedRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return s.requests(ctx, "unrecorded requests of "+sessionID, selectUnrecorded, sessionID)
}

func (s *Store) requests(ctx context.Context, what, text string, args ...any) ([]pending.Request, error) {
	return engine.All(ctx, s.query, what, text, engine.ReadRequest, args...)
}
