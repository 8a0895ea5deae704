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

// ErrTampered: the audit log was changed after it was written.
var ErrTampered = errors.New("audit log was changed")

// AuditEntry is one entry of the audit log. Entries are only appended.
type AuditEntry struct {
	Seq  int64  // from 1, without gaps
	Body []byte // a JSON object, see docs/operating/audit.md
	Hash []byte // [AuditHash] of the previous entry's Hash and Body
}

// AuditHash returns the hash of an entry. previous is the hash of the previous entry,
// empty for the first.
func AuditHash(previous, body []byte) []byte {
	h := sha256.New()
	h.Write(previous)
	h.Write(body)
	return h.Sum(nil)
}

// Trail reads and prunes the audit log. The databases of package store implement it.
type Trail interface {
	Audit(ctx context.Context, after int64, limit int) ([]AuditEntry, error)
	// AuditBefore returns entries with a Seq below before, newest first; 0 starts at the end.
	AuditBefore(ctx context.Context, before int64, limit int) ([]AuditEntry, error)
	// AuditBase returns the last removed entry, without its body; Seq is 0 if there is
	// none.
	AuditBase(ctx context.Context) (AuditEntry, error)
	// RemoveAudit removes the entries up to and including through, and appends an entry
	// with body, atomically.
	RemoveAudit(ctx context.Context, through AuditEntry, body []byte) error
}

// removedBody is the body of the entry that records a removal.
type removedBody struct {
	What    string    `json:"what"` // removed
	At      time.Time `json:"at"`
	Through int64     `json:"through_seq"`
	Hash    string    `json:"through_hash"` // of the last removed entry, hexadecimal
	Days    int       `json:"retention_days"`
	Entries int       `json:"retention_entries,omitempty"`
}

// AuditRetention bounds the audit log. A field of 0 sets no bound.
type AuditRetention struct {
	Days    int // maximum age of an entry
	Entries int // maximum number of entries
}

// PruneAudit removes the entries that exceed a retention and returns their number. If there are
// too many entries, it removes another tenth of the allowed number, because each removal adds an
// entry. The hash chain continues from the last removed entry, whose hash is in the entry about
// the removal.
func PruneAudit(ctx context.Context, t Trail, keep AuditRetention, now time.Time) (removed int64, err error) {
	base, through, _, err := oldAudit(ctx, t, keep, now)
	if err != nil {
		return 0, fmt.Errorf("account: prune audit log: %w", err)
	}
	if through.Seq == base.Seq {
		return 0, nil
	}
	for removed < through.Seq-base.Seq {
		part := through
		if last := base.Seq + removed + maxRemoved; last < through.Seq {
			found, err := t.Audit(ctx, last-1, 1)
			if err != nil {
				return removed, fmt.Errorf("account: prune audit log: %w", err)
			}
			if len(found) > 0 {
				part = found[0]
			}
		}
		body, err := json.Marshal(removedBody{"removed", now.UTC(), part.Seq, hex.EncodeToString(part.Hash), keep.Days, keep.Entries})
		if err == nil {
			err = t.RemoveAudit(ctx, part, body)
		}
		if err != nil {
			return removed, fmt.Errorf("account: prune audit log: %w", err)
		}
		removed = part.Seq - base.Seq
	}
	return removed, nil
}

// maxRemoved bounds the entries that one call of RemoveAudit removes. Answers wait for it, because each
// writes an entry.
const maxRemoved = 2000

// oldAudit returns the last removed entry, the last entry that exceeds a retention, and the number
// of entries. through equals base if no entry exceeds it.
func oldAudit(ctx context.Context, t Trail, keep AuditRetention, now time.Time) (base, through AuditEntry, entries int64, err error) {
	if base, err = t.AuditBase(ctx); err != nil {
		return base, base, 0, err
	}
	newest, err := t.AuditBefore(ctx, 0, 1)
	if err != nil || len(newest) == 0 {
		return base, base, 0, err
	}
	entries, through = newest[0].Seq-base.Seq, base
	if limit := int64(keep.Entries); limit > 0 && entries > limit {
		found, err := t.Audit(ctx, newest[0].Seq-limit+max(1, limit/10)-1, 1)
		if err != nil {
			return base, base, 0, err
		}
		if len(found) > 0 {
			through = found[0]
		}
	}
	cutoff := now.AddDate(0, 0, -keep.Days)
	for isOld := keep.Days > 0; isOld; {
		page, err := t.Audit(ctx, through.Seq, auditPage)
		if err != nil {
			return base, through, entries, err
		}
		isOld = len(page) > 0
		for _, e := range page {
			var body struct {
				At time.Time `json:"at"`
			}
			// Keep an entry without a time, and all entries after it.
			if json.Unmarshal(e.Body, &body) != nil || body.At.IsZero() || !body.At.Before(cutoff) {
				isOld = false
				break
			}
			through = e
		}
	}
	return base, through, entries, nil
}

// CountAudit returns the number of entries, and how many of them [PruneAudit] would remove.
func CountAudit(ctx context.Context, t Trail, keep AuditRetention, now time.Time) (entries, old int64, err error) {
	base, through, entries, err := oldAudit(ctx, t, keep, now)
	if err != nil {
		return 0, 0, fmt.Errorf("account: count audit log: %w", err)
	}
	return entries, through.Seq - base.Seq, nil
}

// auditPage is the number of entries in one read.
const auditPage = 500

// WalkAudit verifies the whole trail and calls each for every entry. It returns
// ErrTampered at the first entry whose hash does not follow from the previous one, or if
// entries are missing at the beginning without a record of their removal. It cannot
// detect a truncated end; for that, store the hash of a recent entry elsewhere.
func WalkAudit(ctx context.Context, t Trail, each func(AuditEntry) error) error {
	base, err := t.AuditBase(ctx)
	if err != nil {
		return fmt.Errorf("account: read audit log: %w", err)
	}
	last, removalSeen := base, base.Seq == 0
	for {
		page, err := t.Audit(ctx, last.Seq, auditPage)
		if err != nil {
			return fmt.Errorf("account: read audit log: %w", err)
		}
		if len(page) == 0 {
			if !removalSeen {
				return fmt.Errorf("account: the entries up to %d are missing, and no entry says that they were removed: %w", base.Seq, ErrTampered)
			}
			return nil
		}
		for _, e := range page {
			if e.Seq != last.Seq+1 || !bytes.Equal(e.Hash, AuditHash(last.Hash, e.Body)) {
				return fmt.Errorf("account: entry %d does not follow entry %d: %w", e.Seq, last.Seq, ErrTampered)
			}
			var removal removedBody
			if !removalSeen && bytes.Contains(e.Body, []byte(`"through_seq"`)) && json.Unmarshal(e.Body, &removal) == nil {
				removalSeen = removal.What == "removed" && removal.Through == base.Seq && removal.Hash == hex.EncodeToString(base.Hash)
			}
			if err := each(e); err != nil {
				return err
			}
			last = e
		}
	}
}
