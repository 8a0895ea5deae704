// Package pendingtest provides an in-memory [pending.Store] for tests, which can inject the
// failures of databases.
package pendingtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sayso-dev/sayso/pending"
)

// Op names a method of the store.
type Op string

// The methods of [pending.Store].
const (
	OpOpen        Op = "OpenRequest"
	OpResolve     Op = "ResolveRequest"
	OpApprove     Op = "ApproveRequest"
	OpHold        Op = "HoldRequest"
	OpUnhold      Op = "UnholdRequest"
	OpHeld        Op = "HeldRequests"
	OpOrphan      Op = "OrphanRequests"
	OpCarry       Op = "CarryAnswer"
	OpDelivery    Op = "SetDelivery"
	OpRead        Op = "Request"
	OpAnswerable  Op = "AnswerableRequests"
	OpUndelivered Op = "UndeliveredRequests"
	OpUnconsumed  Op = "UnconsumedRequests"
	OpConsumed    Op = "ConsumedRequests"
	OpExtend      Op = "ExtendRequest"
)

// Fault is an injected failure of one call.
type Fault int

const (
	None            Fault = iota
	Fail                  // nothing is stored, an error is returned
	FailAfterCommit       // the change is stored, and an error is returned
	Unavailable           // nothing is stored, and the error is [pending.ErrUnavailable]
)

// ErrFault is the error of an injected [Fault].
var ErrFault = errors.New("pendingtest: injected fault")

// errNoSession is returned for a request of an unknown session.
var errNoSession = errors.New("pendingtest: no such session")

// Store is an in-memory [pending.Store]. It copies rows on the way in and out, as a database
// would.
type Store struct {
	mu       sync.Mutex
	rows     map[string]pending.Request
	order    []string // ids in the order of opening
	versions map[string]uint64
	carried  map[string]string // by request whose answer was carried: the request that got it
	deleted  map[string]bool   // requests whose session was deleted
	fault    func(op Op, id string) Fault
}

// NewStore returns an empty store without faults.
func NewStore() *Store {
	return &Store{rows: map[string]pending.Request{}, versions: map[string]uint64{}, carried: map[string]string{}, deleted: map[string]bool{}}
}

// Inject sets the function that chooses the fault of every call; nil for none. id is the id
// of the request, or of the session for a call about a session. f runs outside the store's
// lock and may call the store, so a test can place one call right before another.
func (s *Store) Inject(f func(op Op, id string) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Version returns how often the rows of a session changed.
func (s *Store) Version(sessionID string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versions[sessionID]
}

// Delete removes a request, as deleting its session does: it cannot be opened again.
func (s *Store) Delete(requestID string) {
	s.Lose(requestID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted[requestID] = true
}

// Lose removes a request, as a database does that is restored from an earlier state.
func (s *Store) Lose(requestID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rows, requestID)
	s.order = slices.DeleteFunc(s.order, func(id string) bool { return id == requestID })
}

// do runs one call: f is the whole transaction.
func (s *Store) do(ctx context.Context, op Op, id string, f func() error) error {
	s.mu.Lock()
	inject := s.fault
	s.mu.Unlock()
	fault := None
	if inject != nil {
		fault = inject(op, id)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch fault {
	case Fail:
		return fmt.Errorf("%s %s: %w", op, id, ErrFault)
	case Unavailable:
		return fmt.Errorf("%s %s: %w", op, id, pending.ErrUnavailable)
	}
	s.mu.Lock()
	err := f()
	s.mu.Unlock()
	if fault == FailAfterCommit {
		return fmt.Errorf("%s %s: %w", op, id, ErrFault)
	}
	return err
}

// OpenRequest implements [pending.Store].
func (s *Store) OpenRequest(ctx context.Context, r pending.Request) (stored pending.Request, opened bool, err error) {
	err = s.do(ctx, OpOpen, r.RequestID, func() error {
		if s.deleted[r.RequestID] {
			return errNoSession
		}
		if row, known := s.rows[r.RequestID]; known {
			if row.InputHash != r.InputHash {
				return pending.ErrConflict
			}
			stored = clone(row)
			return nil
		}
		row := clone(r)
		row.Status, row.Delivery, row.Resolution = pending.Open, pending.NotDelivered, nil
		s.rows[r.RequestID] = row
		s.order = append(s.order, r.RequestID)
		s.versions[r.SessionID]++
		stored, opened = clone(row), true
		return nil
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return stored, opened, nil
}

// ResolveRequest implements [pending.Store].
func (s *Store) ResolveRequest(ctx context.Context, requestID string, res pending.Resolution) (now pending.Request, won bool, err error) {
	if !res.Status.Final() {
		return pending.Request{}, false, fmt.Errorf("pendingtest: cannot resolve to %q", res.Status)
	}
	err = s.do(ctx, OpResolve, requestID, func() error {
		row, known := s.rows[requestID]
		if !known {
			return pending.ErrNotFound
		}
		if !row.Status.Final() && (res.SecondTo == "" || row.Approval != nil && row.Approval.Actor.UserID == res.SecondTo) && !isBlocked(row, res) {
			row.Status = res.Status
			res.HeldSince, res.Overrules = time.Time{}, nil
			row.Resolution = &res
			row.Held = nil
			if res.Status == pending.Answered || res.Status == pending.Denied {
				row.Delivery = pending.Queued
			}
			row = clone(row)
			s.rows[requestID] = row
			s.versions[row.SessionID]++
			won = true
		}
		now = clone(row)
		return nil
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, won, nil
}

// ApproveRequest implements [pending.Store].
func (s *Store) ApproveRequest(ctx context.Context, requestID string, a pending.Approval) (now pending.Request, done bool, err error) {
	return s.change(ctx, OpApprove, requestID, func(row *pending.Request) bool {
		if row.Approval != nil {
			return false
		}
		row.Approval = &a
		return true
	})
}

// UnapproveRequest implements [pending.Store].
func (s *Store) UnapproveRequest(ctx context.Context, requestID, userID string, _ pending.Actor) (now pending.Request, done bool, err error) {
	return s.change(ctx, OpApprove, requestID, func(row *pending.Request) bool {
		if row.Approval == nil || row.Approval.Actor.UserID != userID {
			return false
		}
		row.Approval = nil
		return true
	})
}

func (s *Store) change(ctx context.Context, op Op, requestID string, change func(*pending.Request) bool) (now pending.Request, done bool, err error) {
	err = s.do(ctx, op, requestID, func() error {
		row, known := s.rows[requestID]
		if !known {
			return pending.ErrNotFound
		}
		if !row.Status.Final() && change(&row) {
			s.rows[requestID] = row
			s.versions[row.SessionID]++
			done = true
		}
		now = clone(row)
		return nil
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, done, nil
}

// isBlocked reports whether a hold, or an undone command, blocks a resolution.
func isBlocked(row pending.Request, res pending.Resolution) bool {
	switch {
	case res.Status != pending.Answered && res.Status != pending.Denied:
		return false
	case !res.HeldSince.IsZero():
		return !row.Held.Active() || row.Held.CommandID != res.CommandID
	case res.Overrules != nil && (!row.Held.Active() || row.Held.CommandID != res.Overrules.CommandID):
		return true
	}
	return row.Held.Active() && res.Overrules == nil || slices.Contains(row.Undone, res.CommandID)
}

// HoldRequest implements [pending.Store].
func (s *Store) HoldRequest(ctx context.Context, requestID string, h pending.Held) (now pending.Request, done bool, err error) {
	return s.change(ctx, OpHold, requestID, func(row *pending.Request) bool {
		if row.Held.Active() || slices.Contains(row.Undone, h.CommandID) {
			return false
		}
		row.Held = &h
		return true
	})
}

// UnholdRequest implements [pending.Store].
func (s *Store) UnholdRequest(ctx context.Context, requestID, commandID string, _ pending.Actor, why string) (now pending.Request, done bool, err error) {
	return s.change(ctx, OpUnhold, requestID, func(row *pending.Request) bool {
		if !row.Held.Active() || row.Held.CommandID != commandID {
			return false
		}
		row.Undone = append(slices.Clone(row.Undone), commandID)
		h := *row.Held
		h.Dropped = why
		row.Held = &h
		if why == "" {
			row.Held = nil
		}
		return true
	})
}

// HeldRequests implements [pending.Store].
func (s *Store) HeldRequests(ctx context.Context) ([]pending.Request, error) {
	return s.list(ctx, OpHeld, "", func(r pending.Request) bool { return !r.Status.Final() && r.Held.Active() })
}

// OrphanRequests implements [pending.Store].
func (s *Store) OrphanRequests(ctx context.Context, sessionID, reason string) (n int, err error) {
	err = s.do(ctx, OpOrphan, sessionID, func() error {
		for id, row := range s.rows {
			if row.SessionID != sessionID || row.Status != pending.Open {
				continue
			}
			row.Status = pending.Orphaned
			s.rows[id] = row
			n++
		}
		if n > 0 {
			s.versions[sessionID]++
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// CarryAnswer implements [pending.Store].
func (s *Store) CarryAnswer(ctx context.Context, r pending.Request, from string) (stored pending.Request, carried bool, err error) {
	err = s.do(ctx, OpCarry, r.RequestID, func() error {
		if row, known := s.rows[r.RequestID]; known {
			if row.InputHash != r.InputHash {
				return pending.ErrConflict
			}
			stored, carried = clone(row), s.carried[from] == r.RequestID
			return nil
		}
		old, known := s.rows[from]
		if !known || old.SessionID != r.SessionID || old.ProcessID == r.ProcessID || old.ProcessID == "" || r.ProcessID == "" ||
			old.Delivery != pending.Queued || old.Resolution.Answer == nil || old.Resolution.Actor == (pending.Actor{}) {
			return nil
		}
		row := clone(r)
		row.Status, row.Delivery = old.Status, pending.Queued
		row.Resolution = &pending.Resolution{Status: old.Status, Answer: old.Resolution.Answer, Actor: old.Resolution.Actor,
			At: r.CreatedAt, CarriedFrom: cmp.Or(old.Resolution.CarriedFrom, from)}
		row = clone(row)
		s.rows[r.RequestID] = row
		s.order = append(s.order, r.RequestID)
		old.Delivery = pending.Carried
		s.rows[from] = old
		s.carried[from] = r.RequestID
		s.versions[r.SessionID]++
		stored, carried = clone(row), true
		return nil
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return stored, carried, nil
}

// allowedFrom lists the previous states of each delivery.
var allowedFrom = map[pending.Delivery][]pending.Delivery{
	pending.Queued:    nil, // the first state
	pending.Delivered: {pending.Queued},
	pending.Consumed:  {pending.Queued, pending.Delivered},
	pending.Carried:   {pending.Queued},
	pending.Dropped:   {pending.Queued, pending.Delivered},
}

// SetDelivery implements [pending.Store].
func (s *Store) SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error {
	if _, known := allowedFrom[d]; !known {
		return fmt.Errorf("pendingtest: %q is no step of a delivery", d)
	}
	return s.do(ctx, OpDelivery, requestID, func() error {
		row, known := s.rows[requestID]
		switch {
		case !known:
			return pending.ErrNotFound
		case !slices.Contains(allowedFrom[d], row.Delivery):
			return nil
		}
		row.Delivery = d
		s.rows[requestID] = row
		return nil
	})
}

// ExtendRequest implements [pending.Store].
func (s *Store) ExtendRequest(ctx context.Context, requestID string, expiresAt time.Time) (now pending.Request, extended bool, err error) {
	err = s.do(ctx, OpExtend, requestID, func() error {
		row, known := s.rows[requestID]
		if !known {
			return pending.ErrNotFound
		}
		if !row.Status.Final() && !row.ExpiresAt.IsZero() && row.ExpiresAt.Before(expiresAt) {
			row.ExpiresAt, extended = expiresAt, true
			s.rows[requestID] = row
			s.versions[row.SessionID]++
		}
		now = clone(row)
		return nil
	})
	if err != nil {
		return pending.Request{}, false, err
	}
	return now, extended, nil
}

// Request implements [pending.Store].
func (s *Store) Request(ctx context.Context, requestID string) (r pending.Request, err error) {
	err = s.do(ctx, OpRead, requestID, func() error {
		row, known := s.rows[requestID]
		if !known {
			return pending.ErrNotFound
		}
		r = clone(row)
		return nil
	})
	if err != nil {
		return pending.Request{}, err
	}
	return r, nil
}

// AnswerableRequests implements [pending.Store].
func (s *Store) AnswerableRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return s.list(ctx, OpAnswerable, sessionID, func(r pending.Request) bool {
		return (sessionID == "" || r.SessionID == sessionID) && !r.Status.Final()
	})
}

// UndeliveredRequests implements [pending.Store].
func (s *Store) UndeliveredRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return s.list(ctx, OpUndelivered, sessionID, func(r pending.Request) bool {
		return r.SessionID == sessionID && r.Delivery == pending.Queued
	})
}

// ConsumedRequests implements [pending.Store].
func (s *Store) ConsumedRequests(ctx context.Context, sessionID, processID string, limit int) ([]pending.Request, error) {
	list, err := s.list(ctx, OpConsumed, sessionID, func(r pending.Request) bool {
		return r.SessionID == sessionID && r.ProcessID == processID && r.Delivery == pending.Consumed
	})
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b pending.Request) int { return b.Resolution.At.Compare(a.Resolution.At) })
	return list[:min(limit, len(list))], err
}

// UnconsumedRequests implements [pending.Store].
func (s *Store) UnconsumedRequests(ctx context.Context, sessionID string) ([]pending.Request, error) {
	return s.list(ctx, OpUnconsumed, sessionID, func(r pending.Request) bool {
		return r.SessionID == sessionID && (r.Delivery == pending.Queued || r.Delivery == pending.Delivered)
	})
}

func (s *Store) list(ctx context.Context, op Op, id string, keep func(pending.Request) bool) ([]pending.Request, error) {
	var rows []pending.Request
	err := s.do(ctx, op, id, func() error {
		for _, id := range s.order {
			if row := s.rows[id]; keep(row) {
				rows = append(rows, clone(row))
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(rows, func(a, b pending.Request) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return rows, nil
}

func clone(r pending.Request) pending.Request {
	r.ToolInput = bytes.Clone(r.ToolInput)
	r.PermissionSuggestions = bytes.Clone(r.PermissionSuggestions)
	if r.Earlier != nil {
		earlier := *r.Earlier
		earlier.ToolInput = bytes.Clone(earlier.ToolInput)
		r.Earlier = &earlier
	}
	if r.Form != nil {
		form := *r.Form
		form.Questions = slices.Clone(form.Questions)
		for i := range form.Questions {
			form.Questions[i].Options = slices.Clone(form.Questions[i].Options)
		}
		r.Form = &form
	}
	r.Undone = slices.Clone(r.Undone)
	if r.Held != nil {
		held := *r.Held
		held.Answer = cloneAnswer(held.Answer)
		r.Held = &held
	}
	if r.Resolution != nil {
		res := *r.Resolution
		if res.Answer != nil {
			answer := cloneAnswer(*res.Answer)
			res.Answer = &answer
		}
		r.Resolution = &res
	}
	return r
}

func cloneAnswer(answer pending.Answer) pending.Answer {
	answer.UpdatedInput = bytes.Clone(answer.UpdatedInput)
	answer.UpdatedPermissions = bytes.Clone(answer.UpdatedPermissions)
	answer.Responses = slices.Clone(answer.Responses)
	for i := range answer.Responses {
		answer.Responses[i].Values = slices.Clone(answer.Responses[i].Values)
	}
	return answer
}
