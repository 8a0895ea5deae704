package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
)

// retentionInterval is how often old sessions are deleted.
const retentionInterval = time.Hour

// expiredSessions returns the sessions without activity for days days, and the number of all. A
// session that runs, waits for a person or for capacity, or belongs to an agent or terminal outside,
// whose token would end with it, does not expire.
func expiredSessions(ctx context.Context, st store.Store, days int, now time.Time) (expired []session.Session, total int, err error) {
	busy := map[string]bool{}
	active, err := st.ActiveProcesses(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, p := range active {
		busy[p.SessionID] = true
	}
	throttled, err := st.ThrottledSessions(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, id := range throttled {
		busy[id] = true
	}
	cutoff := now.AddDate(0, 0, -days)
	q := session.Query{Archived: true, Limit: 200}
	for {
		page, next, err := st.Sessions(ctx, q)
		if err != nil {
			return nil, 0, err
		}
		total += len(page)
		for _, s := range page {
			if days > 0 && s.UpdatedAt.Before(cutoff) && s.Kind == session.Ours && !busy[s.SessionID] {
				expired = append(expired, s)
			}
		}
		if q.Cursor = next; next == "" {
			return expired, total, nil
		}
	}
}

// deleteExpiredSessions is a [job.Job].
func (a *app) deleteExpiredSessions(ctx context.Context, _ int64) error {
	ticker := time.NewTicker(retentionInterval)
	defer ticker.Stop()
	for {
		if days := a.runtime.sessionDays(); days > 0 {
			deleted, err := a.deleteSessionsOlderThan(ctx, days)
			if err != nil && ctx.Err() == nil {
				a.log.ErrorContext(ctx, "cannot delete old sessions", "error", err)
			}
			if deleted > 0 {
				a.log.InfoContext(ctx, "old sessions were deleted", "sessions", deleted, "days", days)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (a *app) deleteSessionsOlderThan(ctx context.Context, days int) (deleted int, err error) {
	expired, _, err := expiredSessions(ctx, a.store, days, time.Now())
	if err != nil {
		return 0, err
	}
	for _, s := range expired {
		// Somebody may have continued it while others were deleted.
		now, err := a.store.Session(ctx, s.SessionID)
		if errors.Is(err, session.ErrNotFound) || err == nil && !now.UpdatedAt.Equal(s.UpdatedAt) {
			continue
		}
		if err != nil {
			return deleted, err
		}
		a.tabs.Deleting(s.SessionID, s.InProject)
		if err := a.orchestrator.Delete(ctx, s.SessionID); err != nil && !errors.Is(err, session.ErrNotFound) {
			return deleted, err
		}
		a.notifier.Notify(s.SessionID)
		deleted++
	}
	return deleted, nil
}

// retentionFlags are the flags of sayso retention.
type retentionFlags struct {
	sessionDays, auditDays int
	serverFlags
}

func (f *retentionFlags) define(flags *flag.FlagSet) {
	flags.IntVar(&f.sessionDays, "session-days", 0, "try this number of `days` for sessions")
	flags.IntVar(&f.auditDays, "audit-days", 0, "try this number of `days` for the audit log")
	f.serverFlags.define(flags)
}

// showRetention prints what is stored and what retention would delete. It deletes nothing.
func showRetention(ctx context.Context, args []string, std streams) error {
	var f retentionFlags
	rest, err := parseFlags(newFlags("retention", f.define), args)
	if err == nil {
		err = noArguments(rest)
	}
	if err != nil {
		return err
	}
	_, opened, err := openReadOnly(ctx, "retention", f.serverFlags)
	if err != nil {
		return err
	}
	defer opened.Close()
	now := time.Now()
	size, err := opened.Size(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Database: %d KB\n", (size+1023)/1024)
	expired, total, err := expiredSessions(ctx, opened, f.sessionDays, now)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Sessions: %d\n", total)
	if f.sessionDays > 0 {
		items := int64(0)
		for _, s := range expired {
			items += s.Items
		}
		fmt.Fprintf(std.out, "  --session-days %d would delete %d, with %d transcript items", f.sessionDays, len(expired), items)
		if len(expired) > 0 {
			oldest := slices.MinFunc(expired, func(a, b session.Session) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
			fmt.Fprintf(std.out, ", the oldest last active on %s", oldest.UpdatedAt.Format(time.DateOnly))
		}
		fmt.Fprintln(std.out)
	}
	entries, old, err := account.CountAudit(ctx, opened, f.auditDays, now)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Audit log: %d entries\n", entries)
	if f.auditDays > 0 {
		fmt.Fprintf(std.out, "  --audit-days %d would remove %d\n", f.auditDays, old)
	}
	return nil
}
