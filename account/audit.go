package account

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
)

// ErrTampered: the audit trail is not what was written.
var ErrTampered = errors.New("audit trail was changed")

// AuditEntry is one answer of a person on record. Entries are only ever added.
type AuditEntry struct {
	Seq  int64  // from 1, without gaps
	Body []byte // a JSON object, see docs/operations.md
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
}

// auditPage is how many entries are read at once.
const auditPage = 500

// WalkAudit reads the whole trail, holds each entry against the one before, and
// gives it to each. It ends with ErrTampered at the first that does not follow. An
// end that was cut off is only seen by who has kept the hash of a later entry.
func WalkAudit(ctx context.Context, t Trail, each func(AuditEntry) error) error {
	var last AuditEntry
	for {
		page, err := t.Audit(ctx, last.Seq, auditPage)
		if err != nil {
			return fmt.Errorf("account: read audit trail: %w", err)
		}
		if len(page) == 0 {
			return nil
		}
		for _, e := range page {
			if e.Seq != last.Seq+1 || !bytes.Equal(e.Hash, AuditHash(last.Hash, e.Body)) {
				return fmt.Errorf("account: entry %d does not follow entry %d: %w", e.Seq, last.Seq, ErrTampered)
			}
			if err := each(e); err != nil {
				return err
			}
			last = e
		}
	}
}
