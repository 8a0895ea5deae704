package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrTampered: the audit trail is not what was written.
var ErrTampered = errors.New("audit trail was changed")

// AuditEntry is one answer of a person on record. Entries are only ever added.
type AuditEntry struct {
	Seq  int64  // from 1, without gaps
	Body []byte // a JSON object, see docs/operating/audit.md
	Hash []byte // [AuditHash] of the entry before and Body
}

// AuditHash is the hash of an entry after the one whose hash is previous, empty
// for the first.
func AuditHash(previous, body []byte) []byte {
	h := sha256.New()
	h.Write(previous)
	h.Write(body)
	return h.Sum(nil)
}

// Trail reads the audit trail in order, from the entry after one on. It is what
// the engines of package store are.
type Trail interface {
	Audit(ctx context.Context, after int64, limit int) ([]AuditEntry, error)
	// AuditBefore returns those before an entry, the newest first; 0 is behind the
	// last.
	AuditBefore(ctx context.Context, before int64, limit int) ([]AuditEntry, error)
	// AuditBase is the last entry that was removed, without its body; Seq is 0 when
	// none was.
	AuditBase(ctx context.Context) (AuditEntry, error)
	// RemoveAudit removes the entries up to one that is there, and appends an entry
	// with that body, all or nothing.
	RemoveAudit(ctx context.Context, through AuditEntry, body []byte) error
}

// removedBody is the entry that says which entries were removed before it.
type removedBody struct {
	What    string    `json:"what"` // removed
	At      time.Time `json:"at"`
	Through int64     `json:"through_seq"`
	Hash    string    `json:"through_hash"` // of the last of them, hexadecimal
	Days    int       `json:"retention_days"`
}

// PruneAudit removes the entries that are older than so many days, and returns
// how many. The chain goes on from the hash of the last of them, which the entry
// about the removal has sealed.
func PruneAudit(ctx context.Context, t Trail, days int, now time.Time) (removed int64, err error) {
	if days <= 0 {
		return 0, nil
	}
	base, err := t.AuditBase(ctx)
	if err != nil {
		return 0, fmt.Errorf("account: prune audit trail: %w", err)
	}
	through, limit := base, now.AddDate(0, 0, -days)
	for old := true; old; {
		page, err := t.Audit(ctx, through.Seq, auditPage)
		if err != nil {
			return 0, fmt.Errorf("account: prune audit trail: %w", err)
		}
		old = len(page) > 0
		for _, e := range page {
			var body struct {
				At time.Time `json:"at"`
			}
			// What has no time is kept, with all after it.
			if json.Unmarshal(e.Body, &body) != nil || body.At.IsZero() || !body.At.Before(limit) {
				old = false
				break
			}
			through = e
		}
	}
	if through.Seq == base.Seq {
		return 0, nil
	}
	body, err := json.Marshal(removedBody{"removed", now.UTC(), through.Seq, hex.EncodeToString(through.Hash), days})
	if err == nil {
		err = t.RemoveAudit(ctx, through, body)
	}
	if err != nil {
		return 0, fmt.Errorf("account: prune audit trail: %w", err)
	}
	return through.Seq - base.Seq, nil
}

// auditPage is how many entries are read at once.
const auditPage = 500

// WalkAudit reads the whole trail, holds each entry against the one before, and
// gives it to each. It ends with ErrTampered at the first that does not follow,
// or when entries are missing at the beginning and none says that they were
// removed. An end that was cut off is only seen by who has kept the hash of a
// later entry.
func WalkAudit(ctx context.Context, t Trail, each func(AuditEntry) error) error {
	base, err := t.AuditBase(ctx)
	if err != nil {
		return fmt.Errorf("account: read audit trail: %w", err)
	}
	last, sealed := base, base.Seq == 0
	for {
		page, err := t.Audit(ctx, last.Seq, auditPage)
		if err != nil {
			return fmt.Errorf("account: read audit trail: %w", err)
		}
		if len(page) == 0 {
			if !sealed {
				return fmt.Errorf("account: the entries up to %d are missing, and no entry says that they were removed: %w", base.Seq, ErrTampered)
			}
			return nil
		}
		for _, e := range page {
			if e.Seq != last.Seq+1 || !bytes.Equal(e.Hash, AuditHash(last.Hash, e.Body)) {
				return fmt.Errorf("account: entry %d does not follow entry %d: %w", e.Seq, last.Seq, ErrTampered)
			}
			var removal removedBody
			if !sealed && bytes.Contains(e.Body, []byte(`"through_seq"`)) && json.Unmarshal(e.Body, &removal) == nil {
				sealed = removal.What == "removed" && removal.Through == base.Seq && removal.Hash == hex.EncodeToString(base.Hash)
			}
			if err := each(e); err != nil {
				return err
			}
			last = e
		}
	}
}
