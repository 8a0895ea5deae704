//go:build failpoints

package store

import (
	"context"
	"time"

	"github.com/sayso-dev/sayso/internal/failpoint"
	"github.com/sayso-dev/sayso/pending"
	"github.com/sayso-dev/sayso/session"
)

// failing adds failpoints before and after each write on the path of a request.
func failing(s Store) Store { return points{s} }

// engineOf returns the engine of a store that failing returned.
func engineOf(s Store) Store {
	if p, ok := s.(points); ok {
		return p.Store
	}
	return s
}

// points is a store with failpoints. Methods not listed here have none.
type points struct{ Store }

// commit runs a write between two failpoints. If an error is injected, the results of the write are
// discarded, because no caller may use results returned with an error.
func commit[T any](before, after string, write func() (T, error)) (T, error) {
	var none T
	if err := failpoint.Hit(before); err != nil {
		return none, err
	}
	v, err := write()
	if err == nil {
		if err = failpoint.Hit(after); err != nil {
			return none, err
		}
	}
	return v, err
}

// row is the result of a write of a request.
type row struct {
	request pending.Request
	mine    bool
}

func rowOf(r pending.Request, mine bool, err error) (row, error) { return row{r, mine}, err }

func (s points) OpenRequest(ctx context.Context, r pending.Request) (pending.Request, bool, error) {
	v, err := commit("open.before_commit", "open.after_commit", func() (row, error) { return rowOf(s.Store.OpenRequest(ctx, r)) })
	return v.request, v.mine, err
}

func (s points) ResolveRequest(ctx context.Context, requestID string, res pending.Resolution) (pending.Request, bool, error) {
	write := func() (row, error) { return rowOf(s.Store.ResolveRequest(ctx, requestID, res)) }
	var v row
	var err error
	if res.Status == pending.Answered || res.Status == pending.Denied {
		v, err = commit("answer.before_commit", "answer.after_commit", write)
	} else {
		v, err = commit("withdraw.before_commit", "withdraw.after_commit", write)
	}
	return v.request, v.mine, err
}

func (s points) HoldRequest(ctx context.Context, requestID string, h pending.Held) (pending.Request, bool, error) {
	v, err := commit("hold.before_commit", "hold.after_commit", func() (row, error) { return rowOf(s.Store.HoldRequest(ctx, requestID, h)) })
	return v.request, v.mine, err
}

func (s points) UnholdRequest(ctx context.Context, requestID, commandID string, by pending.Actor, why string) (pending.Request, bool, error) {
	v, err := commit("unhold.before_commit", "unhold.after_commit", func() (row, error) {
		return rowOf(s.Store.UnholdRequest(ctx, requestID, commandID, by, why))
	})
	return v.request, v.mine, err
}

func (s points) CarryAnswer(ctx context.Context, r pending.Request, from string) (pending.Request, bool, error) {
	v, err := commit("carry.before_commit", "carry.after_commit", func() (row, error) { return rowOf(s.Store.CarryAnswer(ctx, r, from)) })
	return v.request, v.mine, err
}

func (s points) OrphanRequests(ctx context.Context, sessionID, reason string) (int, error) {
	return commit("orphan.before_commit", "orphan.after_commit", func() (int, error) { return s.Store.OrphanRequests(ctx, sessionID, reason) })
}

func (s points) SetDelivery(ctx context.Context, requestID string, d pending.Delivery) error {
	write := func() (any, error) { return nil, s.Store.SetDelivery(ctx, requestID, d) }
	var err error
	switch d {
	case pending.Delivered:
		_, err = commit("delivered.before_commit", "delivered.after_commit", write)
	case pending.Consumed:
		_, err = commit("consumed.before_commit", "consumed.after_commit", write)
	default:
		_, err = commit("dropped.before_commit", "dropped.after_commit", write)
	}
	return err
}

func (s points) CreateSession(ctx context.Context, ses session.Session) error {
	_, err := commit("create.before_commit", "create.after_commit", func() (any, error) { return nil, s.Store.CreateSession(ctx, ses) })
	return err
}

func (s points) UpdateSession(ctx context.Context, sessionID string, p session.Patch) (session.Session, error) {
	if p.Begun == nil {
		return s.Store.UpdateSession(ctx, sessionID, p)
	}
	return commit("begun.before_commit", "begun.after_commit", func() (session.Session, error) { return s.Store.UpdateSession(ctx, sessionID, p) })
}

func (s points) SaveProcess(ctx context.Context, p session.ProcessState) (uint64, error) {
	return commit("bury.before_commit", "bury.after_commit", func() (uint64, error) { return s.Store.SaveProcess(ctx, p) })
}

func (s points) SaveProgress(ctx context.Context, sessionID string, p session.Progress) (uint64, error) {
	return commit("flush.before_commit", "flush.after_commit", func() (uint64, error) { return s.Store.SaveProgress(ctx, sessionID, p) })
}

func (s points) TakeLease(ctx context.Context, h session.Hello) (session.Lease, error) {
	return commit("epoch.before_commit", "epoch.after_commit", func() (session.Lease, error) { return s.Store.TakeLease(ctx, h) })
}

func (s points) QueueMessage(ctx context.Context, m session.Message) (bool, error) {
	return commit("queue.before_commit", "queue.after_commit", func() (bool, error) { return s.Store.QueueMessage(ctx, m) })
}

func (s points) MarkSent(ctx context.Context, messageID string, at time.Time) (bool, error) {
	return commit("sent.before_commit", "sent.after_commit", func() (bool, error) { return s.Store.MarkSent(ctx, messageID, at) })
}

func (s points) Requeue(ctx context.Context, sessionID string) (int, error) {
	return requeued(func() (int, error) { return s.Store.Requeue(ctx, sessionID) })
}

func (s points) Unsend(ctx context.Context, messageID string) (bool, error) {
	return requeued(func() (bool, error) { return s.Store.Unsend(ctx, messageID) })
}

// requeued runs a write between the failpoints of requeueing, which serve both for one message and
// for all messages of a session.
func requeued[T any](do func() (T, error)) (T, error) {
	return commit("requeue.before_commit", "requeue.after_commit", do)
}

func (s points) SaveCommand(ctx context.Context, userID, commandID string, ack []byte, at time.Time) ([]byte, error) {
	return commit("command.before_commit", "command.after_commit", func() ([]byte, error) {
		return s.Store.SaveCommand(ctx, userID, commandID, ack, at)
	})
}
