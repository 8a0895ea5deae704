package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/sayso-dev/sayso/internal/account"
	"github.com/sayso-dev/sayso/session"
	"github.com/sayso-dev/sayso/store"
	"github.com/sayso-dev/sayso/wire"
)

// retentionInterval is how often old sessions are deleted.
const retentionInterval = time.Hour

// retention is how long and how much is kept. Zero values keep all.
type retention struct {
	SessionDays int
	SessionSize int // MB
	Audit       account.AuditRetention
}

func (s settings) retention() retention {
	return retention{s.SessionDays, s.SessionSize, account.AuditRetention{Days: s.AuditDays, Entries: s.AuditEntries}}
}

// expired is what a retention would delete.
type expired struct {
	sessions []session.Session // the oldest first
	bytes    int64             // of their transcripts and files
	total    int               // sessions that are stored
	usage    session.Usage     // read only if measure was given, or the retention needs it
}

// findExpired returns the sessions that a retention deletes: those without activity for too long
// and, if the others are too large, those that have been inactive longest. A session does not expire
// while it runs or waits for a person or for capacity. Neither does the session of an external agent
// or terminal, whose token would end with it.
func findExpired(ctx context.Context, st store.Store, keep retention, measure bool, now time.Time) (x expired, err error) {
	busy := map[string]bool{}
	active, err := st.ActiveProcesses(ctx)
	if err != nil {
		return x, err
	}
	for _, p := range active {
		busy[p.SessionID] = true
	}
	throttled, err := st.ThrottledSessions(ctx)
	if err != nil {
		return x, err
	}
	for _, id := range throttled {
		busy[id] = true
	}
	var candidates []session.Session
	q := session.Query{Archived: true, Limit: 200}
	for more := true; more; more = q.Cursor != "" {
		page, next, err := st.Sessions(ctx, q)
		if err != nil {
			return x, err
		}
		x.total += len(page)
		for _, s := range page {
			if s.Kind == session.Ours && !busy[s.SessionID] {
				candidates = append(candidates, s)
			}
		}
		q.Cursor = next
	}
	slices.SortFunc(candidates, func(a, b session.Session) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	if measure || keep.SessionSize > 0 {
		if x.usage, err = st.Usage(ctx); err != nil {
			return x, err
		}
	}
	size := int64(0)
	for _, b := range x.usage.Sessions {
		size += b.Total()
	}
	cutoff, limit := now.AddDate(0, 0, -keep.SessionDays), int64(keep.SessionSize)<<20
	for _, s := range candidates {
		tooOld := keep.SessionDays > 0 && s.UpdatedAt.Before(cutoff)
		if tooLarge := limit > 0 && size > limit; !tooOld && !tooLarge {
			break // the rest are newer
		}
		bytes := x.usage.Sessions[s.SessionID].Total()
		x.sessions, x.bytes, size = append(x.sessions, s), x.bytes+bytes, size-bytes
	}
	return x, nil
}

// deleteExpiredSessions deletes expired sessions every retentionInterval until ctx ends. It is a
// [job.Job].
func (a *app) deleteExpiredSessions(ctx context.Context, _ int64) error {
	ticker := time.NewTicker(retentionInterval)
	defer ticker.Stop()
	for {
		if keep := a.runtime.retention(); keep.SessionDays > 0 || keep.SessionSize > 0 {
			deleted, err := a.applyRetention(ctx, keep)
			if err != nil && ctx.Err() == nil {
				a.log.ErrorContext(ctx, "cannot delete old sessions", "error", err)
			}
			if deleted > 0 {
				a.log.InfoContext(ctx, "old sessions were deleted", "sessions", deleted, "days", keep.SessionDays, "megabytes", keep.SessionSize)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// applyRetention deletes the sessions that a retention does not keep.
func (a *app) applyRetention(ctx context.Context, keep retention) (deleted int, err error) {
	x, err := findExpired(ctx, a.store, keep, false, time.Now())
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, s := range x.sessions {
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
			failed = append(failed, fmt.Errorf("session %s: %w", s.SessionID, err)) // the next one may be smaller
			continue
		}
		a.notifier.Notify(s.SessionID)
		deleted++
	}
	return deleted, errors.Join(failed...)
}

// Storage returns what is stored, and what the limits in try would delete. Nil limits stand for those
// of the running server. It is an [httpapi.Storage].
func (a *app) Storage(ctx context.Context, try wire.RetentionLimits) (wire.Storage, error) {
	keep := a.runtime.retention()
	for _, one := range []struct {
		limit *int
		given *int
	}{
		{&keep.SessionDays, try.SessionDays}, {&keep.SessionSize, try.SessionSize},
		{&keep.Audit.Days, try.AuditDays}, {&keep.Audit.Entries, try.AuditEntries},
	} {
		if one.given != nil {
			*one.limit = *one.given
		}
	}
	return measureStorage(ctx, a.store, a.settings.StateDir, keep, time.Now())
}

// measureStorage returns what is stored and what a retention would delete.
func measureStorage(ctx context.Context, st store.Store, stateDir string, keep retention, now time.Time) (w wire.Storage, err error) {
	x, err := findExpired(ctx, st, keep, true, now)
	if err != nil {
		return w, err
	}
	if w.DatabaseBytes, err = st.Size(ctx); err != nil {
		return w, err
	}
	if free, _, err := freeDisk(stateDir); err == nil {
		bytes := int64(free)
		w.FreeBytes = &bytes
	}
	if w.AuditEntries, w.ExpiredAuditEntries, err = account.CountAudit(ctx, st, keep.Audit, now); err != nil {
		return w, err
	}
	for _, b := range x.usage.Sessions {
		w.TranscriptBytes += b.Transcript
	}
	w.JournalBytes = sizeOf(shimsIn(stateDir))
	w.Sessions, w.Attachments, w.AttachmentBytes, w.AuditBytes = x.total, x.usage.Attachments, x.usage.AttachmentBytes, x.usage.AuditBytes
	w.ExpiredSessions, w.ExpiredBytes = len(x.sessions), x.bytes
	if len(x.sessions) > 0 {
		last := x.sessions[len(x.sessions)-1]
		at := float64(last.UpdatedAt.UnixMicro()) / 1e6
		w.ExpiredUntil = &at
	}
	w.Limits = wire.RetentionLimits{
		SessionDays: &keep.SessionDays, SessionSize: &keep.SessionSize, AuditDays: &keep.Audit.Days, AuditEntries: &keep.Audit.Entries,
	}
	return w, nil
}

// sizeOf returns the bytes of the files in a folder that this user can see.
func sizeOf(folder string) (bytes int64) {
	_ = filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil // removed meanwhile, or unreadable
		}
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}

// retentionFlags are the flags of sayso retention.
type retentionFlags struct {
	sessionDays, sessionSize, auditDays, auditEntries int
	serverFlags
}

func (f *retentionFlags) define(flags *flag.FlagSet) {
	flags.IntVar(&f.sessionDays, "session-days", 0, "try this number of `days` for sessions")
	flags.IntVar(&f.sessionSize, "session-size", 0, "try this maximum for all sessions, in `MB`")
	flags.IntVar(&f.auditDays, "audit-days", 0, "try this number of `days` for the audit log")
	flags.IntVar(&f.auditEntries, "audit-entries", 0, "try this maximum `number` of entries of the audit log")
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
	read, opened, err := openReadOnly(ctx, "retention", f.serverFlags)
	if err != nil {
		return err
	}
	defer opened.Close()
	keep := retention{f.sessionDays, f.sessionSize, account.AuditRetention{Days: f.auditDays, Entries: f.auditEntries}}
	w, err := measureStorage(ctx, opened, read.StateDir, keep, time.Now())
	if err != nil {
		return err
	}
	printStorage(std.out, w)
	return nil
}

func printStorage(out io.Writer, w wire.Storage) {
	fmt.Fprintf(out, "Database: %d KB\n", kilobytes(w.DatabaseBytes))
	if w.FreeBytes != nil {
		fmt.Fprintf(out, "Free disk space: %d MB\n", *w.FreeBytes>>20)
	}
	fmt.Fprintf(out, "Sessions: %d, transcripts of %d KB\n", w.Sessions, kilobytes(w.TranscriptBytes))
	fmt.Fprintf(out, "Attached files: %d, %d KB\n", w.Attachments, kilobytes(w.AttachmentBytes))
	fmt.Fprintf(out, "Output of running sessions: %d KB\n", kilobytes(w.JournalBytes))
	fmt.Fprintf(out, "Audit log: %d entries, %d KB\n", w.AuditEntries, kilobytes(w.AuditBytes))
	if *w.Limits.SessionDays > 0 || *w.Limits.SessionSize > 0 {
		fmt.Fprintf(out, "Would delete %d sessions with transcripts and files of %d KB", w.ExpiredSessions, kilobytes(w.ExpiredBytes))
		if w.ExpiredUntil != nil {
			fmt.Fprintf(out, ", last active until %s", time.UnixMicro(int64(*w.ExpiredUntil*1e6)).Format(time.DateOnly))
		}
		fmt.Fprintln(out)
	}
	if *w.Limits.AuditDays > 0 || *w.Limits.AuditEntries > 0 {
		fmt.Fprintf(out, "Would remove %d entries of the audit log\n", w.ExpiredAuditEntries)
	}
}

// kilobytes converts bytes to KB, rounding up.
func kilobytes(bytes int64) int64 { return (bytes + 1023) / 1024 }
