package httpapi

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/internal/refusal"
	"github.com/sayso-dev/sayso/internal/statement"
	"github.com/sayso-dev/sayso/wire"
)

// auditHandlers serves the audit log.
type auditHandlers struct {
	store account.Trail
	log   *slog.Logger
}

const (
	// auditPage is the number of audit entries in one response.
	auditPage = 100
	// auditScan bounds the entries that one filtered request reads; the next request
	// continues from there.
	auditScan = 20_000
)

// auditFilter holds the fields of an entry that can be filtered.
type auditFilter struct {
	What      string    `json:"what"`
	At        time.Time `json:"at"`
	SessionID string    `json:"session_id"`
	By        struct {
		Name string `json:"name"`
	} `json:"by"`
}

// getAudit returns entries after ?after or, with newest=true, backwards, filtered by
// person, session_id, what, since and until.
func (s *auditHandlers) getAudit(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	query := r.URL.Query()
	if query.Get("newest") == "true" {
		return s.getNewestAudit(w, r)
	}
	after := int64(0)
	if text := query.Get("after"); text != "" {
		var err error
		if after, err = strconv.ParseInt(text, 10, 64); err != nil || after < 0 {
			return refusal.For("after", "entry_number")
		}
	}
	entries, err := s.store.Audit(r.Context(), after, auditPage)
	if err != nil {
		return err
	}
	page := wire.AuditPage{Entries: make([]wire.AuditEntry, 0, len(entries)), Next: after}
	for _, e := range entries {
		page.Entries, page.Next = append(page.Entries, wireAudit(e)), e.Seq
	}
	writeJSON(w, http.StatusOK, page)
	return nil
}

func wireAudit(e account.AuditEntry) wire.AuditEntry {
	return wire.AuditEntry{Seq: e.Seq, Hash: hex.EncodeToString(e.Hash), Entry: e.Body}
}

func (s *auditHandlers) getNewestAudit(w http.ResponseWriter, r *http.Request) error {
	query := r.URL.Query()
	before, err := queryNumber(query.Get("before"), "before", 0, wire.MaxSafeInteger)
	if err != nil {
		return err
	}
	since, err := queryNumber(query.Get("since"), "since", 0, wire.MaxSafeInteger)
	if err != nil {
		return err
	}
	until, err := queryNumber(query.Get("until"), "until", wire.MaxSafeInteger, wire.MaxSafeInteger)
	if err != nil {
		return err
	}
	person, sessionID, what := query.Get("person"), query.Get("session_id"), query.Get("what")
	page := wire.AuditPage{Entries: []wire.AuditEntry{}, Next: before}
	for seen := 0; len(page.Entries) < auditPage && seen < auditScan; {
		entries, err := s.store.AuditBefore(r.Context(), page.Next, auditPage)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			page.Next = 0
			break
		}
		for _, e := range entries {
			seen++
			page.Next = e.Seq
			var f auditFilter
			_ = json.Unmarshal(e.Body, &f) // an unreadable entry matches no filter
			at := f.At.Unix()
			if (person == "" || strings.EqualFold(f.By.Name, person)) && (sessionID == "" || f.SessionID == sessionID) &&
				(what == "" || f.What == what) && (f.At.IsZero() || at >= since && at <= until) {
				page.Entries = append(page.Entries, wireAudit(e))
			}
			if len(page.Entries) == auditPage {
				break
			}
		}
	}
	writeJSON(w, http.StatusOK, page)
	return nil
}

// getAuditState verifies the hash chain of the whole trail.
func (s *auditHandlers) getAuditState(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	var state wire.AuditState
	err := account.WalkAudit(r.Context(), s.store, func(e account.AuditEntry) error {
		if state.First == 0 {
			state.First = e.Seq
		}
		state.Verified = e.Seq
		return nil
	})
	switch {
	case errors.Is(err, account.ErrTampered):
		state.Problem = statement.New("audit_entry", "entry", state.Verified)
		if state.Verified == 0 {
			state.Problem = statement.New("audit_start")
		}
		s.log.ErrorContext(r.Context(), "the audit log was changed", "error", err)
	case err != nil:
		return err
	}
	state.At, state.Reasons = wire.Seconds(time.Now()), statement.Reasons("problem", state.Problem)
	writeJSON(w, http.StatusOK, state)
	return nil
}

// getAuditExport streams the whole trail as JSON lines, as sayso audit export does.
func (s *auditHandlers) getAuditExport(w http.ResponseWriter, r *http.Request, _ account.Identity) error {
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Content-Disposition", `attachment; filename="sayso-audit.jsonl"`)
	w.Header().Set("Cache-Control", "no-store")
	out := bufio.NewWriter(w)
	written := 0
	err := account.WalkAudit(r.Context(), s.store, func(e account.AuditEntry) error {
		if written++; written%auditPage == 0 {
			limitResponse(w) // each page gets a new deadline
		}
		return WriteAuditLine(out, e)
	})
	if err != nil && written == 0 && !errors.Is(err, account.ErrTampered) {
		w.Header().Del("Content-Disposition")
		return err
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		// The hashes of the lines show a reader where the export is incomplete.
		s.log.ErrorContext(r.Context(), "the export of the audit log ends early", "error", err)
	}
	_ = out.Flush() // the client may be gone
	return nil
}

// WriteAuditLine writes an entry with the bytes that were hashed.
func WriteAuditLine(out *bufio.Writer, e account.AuditEntry) error {
	_, err := fmt.Fprintf(out, `{"seq":%d,"hash":"%s","entry":%s}`+"\n", e.Seq, hex.EncodeToString(e.Hash), e.Body)
	return err
}
